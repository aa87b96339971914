"""What an evaluation takes from its input instead of from its configuration, and says so."""

from collections.abc import Sequence

from ndcg_spark import rules
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.convention.convention import counted_grade
from ndcg_spark.inputs.read import Source
from ndcg_spark.job.outcome import Tell


def adapted(config: EvaluationConfig, sources: Sequence[Source], tell: Tell) -> EvaluationConfig:
    """The configuration for these tables: results without scores are ranked by their ranks. Tells what was recognised.

    The convention of what is returned has the options that are used, so its label and its words tell them too.
    """
    for note in config.notes:
        tell("paths", note)
    for source in (source for each in sources for source in each.sources):
        for note in source.notes:
            tell("read", f"{source.name}: {note}")
    convention, options = config.convention, rules.options_without_scores(config.convention, sources[1].table.columns)
    if not options:
        return config
    changed = [f"{option}={value}" for option, value in options.items() if getattr(convention, option) != value]
    tell("adapted", f"results without scores are ranked by their ranks: {', '.join(changed)}")
    return config.model_copy(update={"convention": convention.replace(**options)})


def with_highest_grade(config: EvaluationConfig, best_grade: float | None) -> EvaluationConfig:
    """The configuration with the highest grade of the judgments in its convention, if a measure needs to know it.

    So it is recorded, and two nights whose judgments have different highest grades differ in their convention.
    """
    convention = config.convention
    if not config.measure_set.needs_highest_grade or convention.max_grade != "highest":
        return config
    highest = 1.0 if best_grade is None or best_grade <= 0 else counted_grade(best_grade, convention)
    return config.model_copy(update={"convention": convention.replace(max_grade=highest or 1.0)})

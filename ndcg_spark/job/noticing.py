"""What is said on the way because it is hardly what was meant. None of it changes a score or an exit code."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import plausibility
from ndcg_spark.contract.tables import CheckedTables
from ndcg_spark.inputs.read import Source
from ndcg_spark.job.outcome import Tell


def tell_doubts(sources: Sequence[Source], checked: CheckedTables, config: EvaluationConfig, tell: Tell) -> None:
    """Tell what the counts of the check make doubtful."""
    shows_ndcg = not config.measures or config.measure_set.has("ndcg")
    if shows_ndcg and not config.chosen_options and all(source.format == "trec" for source in sources):
        _tell("note", plausibility.of_the_default(checked.judgment_counts, config.convention), tell)
    returned = checked.result_counts
    _tell("warning", plausibility.of_unjudged_runs(returned), tell)
    _tell("warning", plausibility.of_ties(returned, config.convention), tell)
    _tell("warning", plausibility.of_ranks(returned, config.convention), tell)
    _tell("warning", plausibility.of_large_scores(returned, sources[1], config.convention), tell)
    _tell("warning", plausibility.of_empty_runs(returned), tell)


def tell_unjudged_runs(rows: Iterable[Mapping[str, Any]], config: EvaluationConfig, tell: Tell) -> None:
    """Tell which runs returned nothing that was judged."""
    _tell("warning", plausibility.of_judged_rates(rows, config.cutoffs[-1]), tell)


def _tell(step: str, sentence: str | None, tell: Tell) -> None:
    if sentence:
        tell(step, sentence)

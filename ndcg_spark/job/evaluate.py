"""One evaluation from its configuration to printed or published scores: read, check, evaluate, publish."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.check import CheckedTables, check_tables
from ndcg_spark.convention.convention import counted_grade
from ndcg_spark.engine import Engine
from ndcg_spark.errors import BUG, ConfigurationError, NdcgSparkError, StorageError
from ndcg_spark.gate.verdict import Verdict
from ndcg_spark.job.consumers import Consumer, InlineComparison
from ndcg_spark.job.outcome import EvaluationOutcome
from ndcg_spark.job.publish import publish
from ndcg_spark.job.scores import (
    MeansOf,
    counted_refusals,
    evaluating,
    refuse_scores,
    report_rows_read,
    runs_table,
    scores_by_part,
    shown_columns,
    sorted_rows,
    warn_of_input,
)
from ndcg_spark.job.setup import Context, context_of, engine_for, slice_tables, translated_failures
from ndcg_spark.nights.publish import log_attempt
from ndcg_spark.scoring.evaluation import dataset_scores, new_id
from ndcg_spark.steps import Clock
from ndcg_spark.text import masked_within


def evaluate(
    config: EvaluationConfig,
    consumer: Consumer | None = None,
    accepted: str | None = None,
) -> EvaluationOutcome:
    """Evaluate as configured, and publish the scores if the configuration names an output.

    With a gate, the verdict on the night comes before it is published, and it is published whatever the verdict.
    `accepted` is the reason why it is a baseline for later nights even if it does not pass.

    The `consumer` gets the query scores after a night is published, else after the dataset scores are computed, so it
    gets no row of an evaluation that is refused.
    """
    clock = Clock()
    if config.gate is not None or accepted is not None:
        # Imported here, because an evaluation without a gate need not wait for statistics.
        from ndcg_spark.job.gate import refuse_unusable

        refuse_unusable(config, accepted)
    with _attempts_logged(config), contextlib.ExitStack() as stack:
        with clock.step("engine", "starting the engine"):
            engine = stack.enter_context(engine_for(config))
        release = engine.close if consumer is None else lambda: None
        return evaluate_on(engine, config, clock, release, consumer, accepted)


@contextlib.contextmanager
def _attempts_logged(config: EvaluationConfig) -> Iterator[None]:
    """Run the block, an evaluation; if its input is refused or its engine fails, the log of its output says so."""
    try:
        yield
    except Exception as error:
        code = error.exit_code if isinstance(error, NdcgSparkError) else BUG
        if config.output and not isinstance(error, ConfigurationError | StorageError):
            date, configuration = config.date.isoformat(), masked_within(config.model_dump(mode="json"))
            output = config.dated(config.output)
            log_attempt(output, date, new_id(), error, code, configuration=configuration, engine=config.engine)
        raise


def evaluate_on(
    engine: Engine,
    config: EvaluationConfig,
    clock: Clock | None = None,
    release: Callable[[], object] = lambda: None,
    consumer: Consumer | None = None,
    accepted: str | None = None,
) -> EvaluationOutcome:
    """Evaluate as configured, on an engine that is open and stays so.

    `release` is called when the engine has done its work and only publishing is left.
    """
    clock = clock or Clock()
    with clock.step("read", "looking at the inputs"):
        context = context_of(engine, config, clock)
        slices = slice_tables(engine, config)
    context = dataclasses.replace(context, release=release, consumer=consumer, accepted=accepted, slices=slices)
    sources = context.sources
    with clock.step("check", "reading judgments and results"), translated_failures(sources):
        checked = check_tables(*sources, context.config)
    config = _with_highest_grade(context.config, checked.judgment_counts.best_grade)
    context = dataclasses.replace(context, config=config, evaluation=context.evaluation.under(config.convention))
    report_rows_read(sources, checked)
    warn_of_input(sources, checked, config)
    if isinstance(consumer, InlineComparison):
        consumer.check_runs([run.run for run in checked.result_counts.runs])
    output = config.dated(config.output) if config.output else None
    verdicts: list[Verdict] = []
    with counted_refusals(context, checked, context.evaluation):
        means, verdicts = (_collected(context, checked), []) if output is None else publish(context, checked, output)
    return EvaluationOutcome(
        context.evaluation.evaluation_id,
        config.convention.label,
        config.convention.formula,
        engine.name,
        means[0],
        counts=checked.counts(len(config.cutoffs)),
        rejected=[dataclasses.asdict(breach) for breach in checked.breaches],
        output=output,
        seconds=clock.with_total(),
        measures=config.measures,
        headline=config.headline,
        slice_scores=means[1],
        verdicts=verdicts,
        datasets_without_results=checked.datasets_without_results,
    )


def _with_highest_grade(config: EvaluationConfig, best_grade: float | None) -> EvaluationConfig:
    """The configuration with the highest grade of the judgments in its convention, if a measure needs to know it.

    In this way it is recorded, and nights whose judgments have different highest grades have different conventions.
    """
    convention = config.convention
    if not config.measure_set.needs_highest_grade or convention.max_grade != "highest":
        return config
    highest = 1.0 if best_grade is None or best_grade <= 0 else counted_grade(best_grade, convention)
    return config.model_copy(update={"convention": convention.replace(max_grade=highest or 1.0)})


def _collected(context: Context, checked: CheckedTables) -> MeansOf:
    """The dataset scores of checked tables, not published."""
    evaluation = context.evaluation
    with context.clock.step("evaluate", evaluating(checked)):
        parts = scores_by_part(context.engine, checked, evaluation)
        materialize = context.sources[1].materialize
        if context.consumer and materialize:
            # Computed once, and of one part at a time.
            parts = [(materialize(scores for scores, _ in parts), runs_table(context.engine, checked))]
        of_queries = context.slices.of_queries
        tables = (dataset_scores(scores, runs, evaluation, of_queries) for scores, runs in parts)
        rows = [row for table in tables for row in table.collect()]
    means = sorted_rows(rows, shown_columns(context))
    refuse_scores(context, checked, means)
    if context.consumer:
        ((per_query, _),) = parts
        context.consumer.consume(per_query, context.slices.attributes)
    return means

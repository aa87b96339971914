"""The inputs of a command: opened on an engine, checked and reported; and their scores, batch by batch."""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row

from ndcg_spark import rules
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import limits
from ndcg_spark.contract.check import CheckedTables, check_tables
from ndcg_spark.contract.doubtful_scores import about_judged_rates, about_no_values
from ndcg_spark.contract.scan import JudgmentCounts, ResultCounts
from ndcg_spark.convention.convention import counted_grade
from ndcg_spark.engine import Engine, failure_reason, failures, lost, open_engine
from ndcg_spark.errors import ConventionError, EngineError, InputError, StorageError
from ndcg_spark.inputs.files import BINARY
from ndcg_spark.inputs.read import Source, read_excluded, read_judgments, read_results, refuse_changed
from ndcg_spark.reference import unjudged_gain
from ndcg_spark.schemas import DATASET_SCORES, measure_first, query_key
from ndcg_spark.scoring import refusals
from ndcg_spark.scoring.counted_queries import Slices
from ndcg_spark.scoring.evaluation import Evaluation, new_id, query_scores
from ndcg_spark.scoring.lists import keep_judged_queries
from ndcg_spark.scoring.ranking import by_window, list_by_list
from ndcg_spark.steps import Clock, report_step
from ndcg_spark.tables.table import without_slices

#: The judgments and the results.
Sources = tuple[Source, Source]
#: The rows of DATASET_SCORES of all queries, and those of slices.
Means = tuple[list[dict[str, Any]], list[dict[str, Any]]]
_TWICE = [refusal.code for refusal in (refusals.JUDGED_TWICE, refusals.RETURNED_TWICE, refusals.RANK_TWICE)]
#: Up to this fraction of results of unjudged queries, leaving them out is not worth reading the judgments once more.
_NOT_WORTH_A_SCAN = 0.1


@dataclasses.dataclass(frozen=True)
class Context:
    engine: Engine
    config: EvaluationConfig
    sources: Sources
    checked: CheckedTables
    evaluation: Evaluation
    clock: Clock
    #: The table QUERY_ATTRIBUTES if there is one, and its slices.
    attributes: DataFrame | None = None
    slices: Slices = dataclasses.field(default_factory=Slices)


@contextlib.contextmanager
def engine_for(config: EvaluationConfig, clock: Clock | None = None) -> Iterator[Engine]:
    with contextlib.ExitStack() as stack:
        with (clock or Clock()).step("engine", "starting the engine"):
            engine = stack.enter_context(open_engine(config.engine, config.remote))
        report_step("engine", engine.name)
        yield engine


def read_inputs(engine: Engine, config: EvaluationConfig, clock: Clock | None = None) -> Context:
    """Both tables of a configuration, checked and reported; the convention has all options that are used."""
    clock = clock or Clock()
    with clock.step("read", "looking at the inputs"):
        # Computed first, so that a Python gain that cannot be imported is reported before any table is read.
        unjudged_gain(config.convention)
        judgments = read_judgments(engine, config.judgments.on(config.date), config.convention.gain != "judged")
        sources = judgments, results_source(engine, config)
        config = adapted(config, *sources)
    with clock.step("check", "reading judgments and results"), translated_failures(sources):
        checked = check_tables(*sources, config)
    report_read(sources[0], checked.judgment_counts)
    report_read(sources[1], checked.result_counts)
    counts = checked.judgment_counts, checked.datasets_without_results, checked.result_counts
    for sentence in limits.about_input(*counts, config.convention):
        report_step("warning", sentence)
    doubts = [
        *limits.about_merged(checked.result_counts, config),
        *limits.about_grades(checked.judgment_counts, config.convention, config.measure_set),
        *limits.about_scores_as_grades(sources[0], checked.judgment_counts),
    ]
    for sentence in doubts:
        report_step("warning", sentence)
    convention, best_grade = config.convention, checked.judgment_counts.best_grade
    if config.measure_set.needs_highest_grade and convention.max_grade == "highest":
        # Recorded, so that nights whose judgments have different highest grades have different conventions.
        highest = 1.0 if best_grade is None or best_grade <= 0 else counted_grade(best_grade, convention)
        config = config.model_copy(update={"convention": convention.replace(max_grade=highest or 1.0)})
    rank = list_by_list if engine.kind == "embedded" else by_window
    named = config.cutoffs, config.date, new_id(), config.dataset
    evaluation = Evaluation(config.convention, *named, rank, config.measure_set)
    return Context(engine, config, sources, checked, evaluation, clock)


def results_source(engine: Engine, config: EvaluationConfig) -> Source:
    """The results and the documents to remove from their lists, found and opened but not read. Raises InputError."""
    source = read_results(engine, config.results.on(config.date))
    exclude = config.exclude and config.exclude.on(config.date)
    return dataclasses.replace(source, without=read_excluded(engine, exclude)) if exclude else source


def adapted(config: EvaluationConfig, *sources: Source) -> EvaluationConfig:
    """The configuration for these tables, the last of which are results: ranks order results without scores."""
    for source in (source for table in sources for source in table.sources):
        for note in source.notes:
            report_step("read", f"{source.name}: {note}")
    convention = config.convention
    options = rules.options_without_scores(convention, sources[-1].table.columns)
    if not options:
        return config
    changed = [f"{option}={value}" for option, value in options.items() if getattr(convention, option) != value]
    report_step("adapted", f"results without scores are ranked by their ranks: {', '.join(changed)}")
    return config.model_copy(update={"convention": convention.replace(**options)})


def report_read(source: Source, counts: JudgmentCounts | ResultCounts) -> None:
    if isinstance(counts, ResultCounts):
        number, one, several = len({run.run for run in counts.runs}), "run", "runs"
    else:
        number, one, several = sum(counts.queries.values()), "query", "queries"
    what = f"{number:,} {one if number == 1 else several}"
    report_step("read", f"{counts.rows:,} {source.name} of {what} from {source.origin}")
    if isinstance(counts, ResultCounts) and source.without:
        if counts.excluded:
            report_step("excluded", f"{counts.excluded:,} results, by {source.without.origin}")
        else:
            advice = "that is right if the results leave them out already, else check that both write ids alike"
            report_step("warning", f"exclude: {source.without.origin} removes no result; {advice}")
    if counts.rejections:
        report_step("rejected", f"{counts.rejected:,} rows of {source.name}: {limits.summary(counts.rejections)}")


class PlanRefusedError(InputError):
    """The engine met a refused row while computing the scores. The message has one example."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@contextlib.contextmanager
def translated_failures(sources: Sequence[Source] = (), output: str | None = None) -> Iterator[None]:
    """Run the block; an engine's exception becomes an error of a row, the convention, the `output` or the engine."""
    try:
        yield
    except failures() as error:
        if refusal := refusals.refused(error):
            is_of_options = refusal[0] == refusals.NOT_FINITE.code
            raise (ConventionError(refusal[1]) if is_of_options else PlanRefusedError(*refusal)) from error
        if lost(error):
            raise
        kind, reason = type(error).__name__, failure_reason(error)
        if kind == "PythonException":
            last = [kind, *(line.strip() for line in str(error).splitlines() if line.strip())][-1]
            raise ConventionError(f"convention: a python: function failed, {last}; correct it") from error
        if output:
            # What is read while the output is written has been read before, so it is at fault only if it has changed.
            refuse_changed(sources)
            raise StorageError(
                f"output: {output} cannot be written, {reason}; check space, rights and address"
            ) from error
        typed = [source.origin for table in sources for source in table.sources if source.format in BINARY]
        damage = f", or a file is damaged, {' or '.join(typed)}" if typed else ""
        raise EngineError(f"engine: {kind}, {reason}; its log may say more{damage}") from error


@contextlib.contextmanager
def counted_refusals(context: Context) -> Iterator[None]:
    """Run the block, which computes scores; if a row is refused, the error says how many are, as far as it is known."""
    checked, convention = context.checked, context.evaluation.convention
    try:
        with translated_failures(context.sources):
            yield
    except PlanRefusedError as refusal:
        if refusal.code in _TWICE:
            with translated_failures(context.sources):
                limits.refuse_duplicates(checked, *context.sources, convention)
        if refusal.code == refusals.MISSING_QUERY.code:
            sentence = f"{checked.counts(0)['missing_queries']} of them, e.g."
            raise InputError(str(refusal).replace("e.g.", sentence, 1)) from refusal
        raise


def scores_by_batch(context: Context) -> list[tuple[DataFrame, DataFrame]]:
    """The table QUERY_SCORES of each batch of checked tables, and the runs of that batch."""
    with_runs = ((batch, runs_table(context, batch)) for batch in context.checked.by_batch)
    return [(_scores(batch, runs, context.evaluation), runs) for batch, runs in with_runs]


def runs_table(context: Context, checked: CheckedTables) -> DataFrame:
    """The table that `evaluation.count_unjudged_queries` computes, built from counts that the check already has."""
    runs = checked.result_counts.runs
    columns = {
        "run": pa.array([run.run for run in runs], pa.string()),
        "unjudged_queries": pa.array([run.unjudged_queries for run in runs], pa.int64()),
    }
    if "dataset" in checked.judgments.columns:
        columns = {"dataset": pa.array([run.dataset for run in runs], pa.string()), **columns}
    # Built from Arrow, because a table built from rows makes classic Spark start Python workers.
    return context.engine.session.createDataFrame(pa.table(columns))


def _scores(checked: CheckedTables, runs: DataFrame, evaluation: Evaluation) -> DataFrame:
    results, rows = checked.needed_results, checked.result_counts.rows
    # Where windows rank the results and the check leaves some out, the others are moved once. Otherwise fewer rows are
    # moved if Spark prunes them itself before it moves any.
    is_moved = evaluation.rank is by_window and checked.cut is not None and 2 * checked.unjudged_rows <= rows
    if is_moved:
        results = results.repartition(*query_key(checked.judgments.columns))
    # Where results are not repartitioned, leaving some out repartitions them.
    if not is_moved or checked.unjudged_rows > _NOT_WORTH_A_SCAN * rows:
        results = results_to_score(checked, results)
    return query_scores(checked.judgments, results, runs, evaluation)


def results_to_score(checked: CheckedTables, results: DataFrame) -> DataFrame:
    """Checked results without those of unjudged queries."""
    return keep_judged_queries(results, checked.judgments) if checked.unjudged_rows else results


def accepted_means(context: Context, rows: Iterable[Row | Mapping[str, Any]]) -> Means:
    """Rows of dataset scores with the requested measures, sorted. InputError if too few documents are judged."""
    columns = measure_first(DATASET_SCORES, context.evaluation.measures.columns)
    means = without_slices({name: row[name] for name in columns} for row in rows)
    refuse_changed(context.sources)
    limits.refuse_lost(context.checked.judgment_counts, context.checked.result_counts, means[0])
    refuse_low_rates(context.config, context.checked, means[0])
    for sentence in about_no_values(means[0], context.evaluation.measures):
        report_step("warning", sentence)
    return means


def refuse_low_rates(config: EvaluationConfig, checked: CheckedTables, rows: Sequence[Mapping[str, Any]]) -> None:
    """InputError if a run's judged_rate at the deepest cutoff is below `min_judged_rate`; a warning if it is 0."""
    deepest, advice = config.cutoffs[-1], ""
    rates = {f"{row['run']} dataset={row['dataset']}": row["judged_rate"] for row in rows if row["cutoff"] == deepest}
    if 0 in rates.values():
        tables, excluded = (checked.judgments, checked.results), checked.result_counts.excluded
        advice = limits.check_ids("document ids", ["doc_id"], *tables, excluded)
    limits.refuse_low_rates(rates, deepest, config.min_judged_rate, advice)
    for sentence in about_judged_rates(rows, deepest, advice):
        report_step("warning", sentence)

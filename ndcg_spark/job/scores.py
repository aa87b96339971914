"""The scores of checked tables, part by part: computed in the fastest way, refused as a whole, sorted, and reported."""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import limits, warnings
from ndcg_spark.contract.check import CheckedTables
from ndcg_spark.contract.limits import refuse_duplicates
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConventionError, InputError
from ndcg_spark.inputs.read import Source, refuse_changed
from ndcg_spark.job.setup import Context, PlanRefusedError, translated_failures
from ndcg_spark.schemas import DATASET_SCORES, measure_first, query_key
from ndcg_spark.scoring.evaluation import Evaluation, query_scores
from ndcg_spark.scoring.lists import of_judged_queries
from ndcg_spark.scoring.ranking import by_window, repartitioned_by_query
from ndcg_spark.scoring.refusals import (
    JUDGED_TWICE,
    MISSING_QUERY,
    NO_RELEVANT,
    NOT_FINITE,
    RANK_TWICE,
    RETURNED_TWICE,
)
from ndcg_spark.slices import NONE
from ndcg_spark.steps import report_step
from ndcg_spark.tables.sorting import without_slices

#: The rows of DATASET_SCORES of all queries, and those of slices.
MeansOf = tuple[list[dict[str, Any]], list[dict[str, Any]]]
#: Up to this fraction of results of unjudged queries, leaving them out is not worth reading the judgments once more.
_NOT_WORTH_A_SCAN = 0.1


def runs_table(engine: Engine, checked: CheckedTables) -> DataFrame:
    """The table that `evaluation.count_unjudged_queries` computes, built from counts that the check already has."""
    runs = checked.result_counts.runs
    columns = {
        "run": pa.array([run.run for run in runs], pa.string()),
        "unjudged_queries": pa.array([run.unjudged_queries for run in runs], pa.int64()),
    }
    if "dataset" in checked.judgments.columns:
        columns = {"dataset": pa.array([run.dataset for run in runs], pa.string()), **columns}
    # Built from Arrow, because a table built from rows makes classic Spark start Python workers.
    return engine.session.createDataFrame(pa.table(columns))


def scores_by_part(engine: Engine, checked: CheckedTables, evaluation: Evaluation) -> list[tuple[DataFrame, DataFrame]]:
    """The table QUERY_SCORES of each part of checked tables, and the runs of that part."""
    of_parts = ((part, runs_table(engine, part)) for part in checked.parts)
    return [(_scores(part, runs, evaluation), runs) for part, runs in of_parts]


def _scores(checked: CheckedTables, runs: DataFrame, evaluation: Evaluation) -> DataFrame:
    """The table QUERY_SCORES of checked tables, computed in the way that is fastest for what the check has found."""
    results, rows = checked.needed_results, checked.result_counts.rows
    # Where windows rank the results and the check leaves some out, the others are moved once. Otherwise fewer rows are
    # moved if Spark prunes them itself before it moves any.
    is_moved = evaluation.rank is by_window and checked.cut is not None and 2 * checked.unjudged_rows <= rows
    if is_moved:
        results = repartitioned_by_query(results, query_key(checked.judgments.columns))
    # Where results are not repartitioned, leaving some out repartitions them.
    if not is_moved or checked.unjudged_rows > _NOT_WORTH_A_SCAN * rows:
        results = results_to_score(checked, results)
    return query_scores(checked.judgments, results, runs, evaluation)


def results_to_score(checked: CheckedTables, results: DataFrame) -> DataFrame:
    """Checked results without those of unjudged queries."""
    return of_judged_queries(results, checked.judgments) if checked.unjudged_rows else results


@contextlib.contextmanager
def counted_refusals(context: Context, checked: CheckedTables, evaluation: Evaluation) -> Iterator[None]:
    """Run the block, which computes scores; if a row is refused, the error says how many are."""
    try:
        with translated_failures(context.sources):
            yield
    except PlanRefusedError as refusal:
        with translated_failures(context.sources):
            if refusal.code in (JUDGED_TWICE.code, RETURNED_TWICE.code, RANK_TWICE.code):
                refuse_duplicates(checked, *context.sources, evaluation.convention)
            if refusal.code == NOT_FINITE.code:
                raise ConventionError(str(refusal)) from refusal
            if refusal.code not in (MISSING_QUERY.code, NO_RELEVANT.code):
                raise
            rows = _refused_rows(refusal.code, context.engine, checked, evaluation)
        raise InputError(str(refusal).replace(", e.g.", f", {rows} of them, e.g.", 1)) from refusal


def _refused_rows(code: str, engine: Engine, checked: CheckedTables, evaluation: Evaluation) -> int:
    """How many queries are refused: those that the same convention would leave out, if it refused none. Runs jobs."""
    missing = "zero" if evaluation.convention.missing_query == "zero" else "skip"
    lenient = evaluation.convention.replace(no_relevant="skip", missing_query=missing)
    relaxed = dataclasses.replace(evaluation, convention=lenient, cutoffs=evaluation.cutoffs[-1:])
    is_missing = (F.col("status") == "missing") & (F.lit(missing) == "skip")
    is_refused = is_missing if code == MISSING_QUERY.code else F.col("ndcg").isNull() & ~is_missing
    return sum(scores.where(is_refused).count() for scores, _ in scores_by_part(engine, checked, relaxed))


def sorted_rows(rows: Iterable[Row | dict[str, Any]], columns: Sequence[str]) -> MeansOf:
    """Rows of dataset scores as dictionaries of these columns: of all queries and of slices, each sorted."""
    return without_slices({name: row[name] for name in columns} for row in rows)


def shown_columns(context: Context) -> tuple[str, ...]:
    """The columns of DATASET_SCORES that are shown, with the requested measures only."""
    return measure_first(DATASET_SCORES, context.evaluation.measures.columns)


def refuse_scores(context: Context, checked: CheckedTables, means: MeansOf) -> None:
    """InputError if the scores do not match the checked tables, or if too few documents are judged.

    Also warns of attributes that no query has.
    """
    rows, of_slices = means
    refuse_changed(context.sources)
    limits.refuse_lost(checked.judgment_counts, checked.result_counts, rows)
    refuse_unjudged(context, rows)
    warn_of_unknown_queries(of_slices)


def refuse_unjudged(context: Context, rows: Sequence[dict[str, Any]]) -> None:
    """InputError if a run's judged_rate at the deepest cutoff is below `min_judged_rate`; a warning if it is 0."""
    deepest = context.config.cutoffs[-1]
    several = len({row["dataset"] for row in rows}) > 1
    rates = {
        (f"{row['run']} dataset={row['dataset']}" if several else row["run"]): row["judged_rate"]
        for row in rows
        if row["cutoff"] == deepest
    }
    limits.refuse_unjudged(rates, deepest, context.config.min_judged_rate)
    for sentence in warnings.about_judged_rates(rows, deepest):
        report_step("warning", sentence)


def evaluating(checked: CheckedTables) -> str:
    """The activity of evaluating these tables."""
    counts = checked.result_counts
    return f"evaluating {counts.rows:,} results of {len(counts.runs):,} runs"


def report_rows_read(sources: Sequence[Source], checked: CheckedTables) -> None:
    """Report how many rows of each table were read, and which were rejected."""
    judgments, results = sources
    judged, returned = checked.judgment_counts, checked.result_counts
    report_step("read", f"{judged.rows:,} judgments of {sum(judged.queries.values()):,} queries from {judgments.place}")
    report_step("read", f"{returned.rows:,} results of {len(returned.runs):,} runs from {results.place}")
    if results.without:
        report_step("excluded", f"{returned.excluded:,} results, by {results.without.place}")
    for source, counts in ((judgments, judged), (results, returned)):
        if counts.breaches:
            report_step("rejected", f"{counts.bad:,} rows of {source.name}: {limits.summary(counts.breaches)}")


def warn_of_input(sources: Sequence[Source], checked: CheckedTables, config: EvaluationConfig) -> None:
    """Warn of probable mistakes that the counts show. Warnings change neither a score nor an exit code."""
    shows_ndcg = not config.measures or config.measure_set.has("ndcg")
    if shows_ndcg and not config.chosen_options and all(source.format == "trec" for source in sources):
        note = warnings.about_gains(checked.judgment_counts, config.convention)
        if note:
            report_step("note", note)
    counts = checked.judgment_counts, checked.datasets_without_results, checked.result_counts
    for sentence in warnings.about_input(*counts, config.convention):
        report_step("warning", sentence)


def warn_of_unknown_queries(of_slices: Iterable[Mapping[str, Any]]) -> None:
    """Report attributes for which no judged query of a dataset has a value; `of_slices` are its dataset scores."""
    values: dict[tuple[str, str], set[str]] = {}
    for row in of_slices:
        values.setdefault((row["dataset"], row["attribute"]), set()).add(row["value"])
    for (dataset, attribute), found in values.items():
        if found == {NONE}:
            sentence = f"no judged query of {dataset} has a value of {attribute}; check the query_id of the table"
            report_step("warning", f"query_attributes: {sentence}")

"""Limits: how many bad rows, duplicates, missing queries and unjudged queries or documents are accepted."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.contract.scan import Breach, Counts, JudgmentCounts, ResultCounts, example_of
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import Cutoff, format_cutoff
from ndcg_spark.errors import DuplicatesError, InputError
from ndcg_spark.inputs.read import Source
from ndcg_spark.rules import RULES

if TYPE_CHECKING:
    from ndcg_spark.contract.check import CheckedTables

_ONE_ROW = "keep one row each, or --set"


def refuse_breaches(source: Source, counts: Counts, allowed: float = 0.0) -> None:
    """InputError if the engine lost rows, there is no good one, or more than the fraction `allowed` is bad."""
    table, rows, place = source.name, counts.rows, source.place
    if source.expected_rows not in (None, rows):
        raise InputError(
            f"{table}: the engine read {rows:,} rows of {place}, which has {source.expected_rows:,}; "
            "rename or write the files again, or read them on another engine"
        )
    if rows == 0:
        raise InputError(f"{table}: no rows in {place}; the table is empty, check the job that writes it")
    if _is_more(counts.bad, allowed, rows) or counts.bad == rows:
        budget = f"{counts.bad} of {rows} rows rejected, max_rejected_fraction is {allowed:g}: " if allowed else ""
        raise InputError(f"{table}: {budget}{summary(counts.breaches)}; correct them in {place}")


def summary(breaches: Iterable[Breach]) -> str:
    """Each breach in words, with its number of rows and an example."""
    return "; ".join(f"{breach.rows} {RULES[breach.reason].words}, e.g. {breach.example}" for breach in breaches)


def refuse_unrelated(counts: ResultCounts, results: Source) -> None:
    """InputError if no run has a judged query: the tables write ids differently, or one is the wrong file."""
    if any(run.judged_queries for run in counts.runs):
        return
    first = counts.runs[0].run
    queries = sum(run.unjudged_queries for run in counts.runs)
    excluded = f"without {counts.excluded:,} results that {results.without.place} excludes, " if results.without else ""
    raise InputError(
        f"results: {excluded}none of {queries} queries of {len(counts.runs)} run(s), e.g. of run={first}, "
        f"is judged; check that both tables write query ids (and datasets) alike, in {results.place}"
    )


def refuse_gaps(judged: JudgmentCounts, returned: ResultCounts, max_missing: float, max_unjudged: float) -> None:
    """InputError if a run lacks more of the judged queries than allowed, or if too many of its queries are unjudged.

    Both limits are fractions from 0 to 1: of the judged queries of its dataset, and of the queries of the run.
    """
    missing, unjudged = [], []
    for run in sorted(returned.runs, key=lambda run: (run.dataset or "", run.run)):
        expected, answered = judged.queries.get(run.dataset, 0), run.judged_queries + run.unjudged_queries
        if _is_more(expected - run.judged_queries, max_missing, expected):
            missing.append(f"run={run.run} lacks {expected - run.judged_queries} of {expected}")
        if _is_more(run.unjudged_queries, max_unjudged, answered):
            unjudged.append(f"run={run.run} has {run.unjudged_queries} of {answered}")
    reasons = [
        f"{len(runs)} run(s) {what}={limit:g}, e.g. {runs[0]}"
        for runs, what, limit in (
            (missing, "lack more of the judged queries than max_missing_fraction", max_missing),
            (unjudged, "have more unjudged queries than max_unjudged_fraction", max_unjudged),
        )
        if runs
    ]
    if reasons:
        raise InputError(f"results: {'; '.join(reasons)}; complete the tables, or allow more")


def refuse_lost(judged: JudgmentCounts, returned: ResultCounts, scores: Sequence[Mapping[str, Any]]) -> None:
    """InputError if a run lacks more queries in its scores, rows of DATASET_SCORES, than when its results were counted.

    Counting and scoring each read the files, which may have changed in between.
    """
    has_datasets = any(run.dataset is not None for run in returned.runs)
    answered = {(run.dataset, run.run): run.judged_queries for run in returned.runs}
    for row in scores:
        dataset = row["dataset"] if has_datasets else None
        missing = judged.queries.get(dataset, 0) - answered.get((dataset, row["run"]), 0)
        if row["missing_queries"] > missing:
            raise InputError(
                f"results: run={row['run']} lacks {row['missing_queries']} judged queries in its scores, but lacked "
                f"{missing} when its results were checked; nothing was published, check what changes the files"
            )


def refuse_unjudged(rates: Mapping[str, float | None], cutoff: Cutoff, least: float) -> None:
    """InputError if less than the fraction `least` of a run's documents down to the cutoff is judged.

    `rates` has the judged_rate of each run; None for a run that returned nothing, which other limits refuse.
    """
    below = {run: rate for run, rate in rates.items() if rate is not None and rate < least}
    if below:
        run = min(below, key=lambda name: (below[name], name))
        to_do = "judge more of what it returns" if below[run] else "check that both tables write document ids alike"
        raise InputError(
            f"results: {len(below)} run(s) with a judged_rate@{format_cutoff(cutoff)} below min_judged_rate={least:g}, "
            f"e.g. run={run} with {below[run]:.4f}; {to_do}, or allow less"
        )


def refuse_duplicates(checked: "CheckedTables", judgments: Source, results: Source, convention: Convention) -> None:
    """DuplicatesError if a document is judged or returned twice for a query, unless an option merges its rows.

    Where ranks are the order, also if two documents of a list share one. Scoring fails where it meets one, as the
    aggregation that makes scores sees it without a further pass; only then, or where nothing is scored, is this called.
    It runs one job for the judgments, and one or two for each part of the results.
    """
    if convention.judgment_duplicates == "error":
        what = "document(s) judged twice for one query"
        _refuse(judgments, [checked.judgments], "doc_id", what, f"{_ONE_ROW} judgment_duplicates=max")
    refuse_in_lists(results, [part.results for part in checked.parts], convention)


def refuse_in_lists(results: Source, parts: Iterable[DataFrame], convention: Convention) -> None:
    """The same for the results alone."""
    if convention.duplicates == "error":
        what = "document(s) returned twice for one query"
        _refuse(results, parts, "doc_id", what, f"{_ONE_ROW} duplicates=best")
    if convention.order == "rank":
        advice = "number each list from 1 or, if there are scores, --set order=score"
        _refuse(results, parts, "rank", "rank(s) with two documents", advice)


def _refuse(source: Source, parts: Iterable[DataFrame], column: str, what: str, advice: str) -> None:
    """DuplicatesError if the column has a value twice for one query (and run)."""
    different, examples = 0, []
    for table in parts:
        key = [name for name in ("dataset", "run", "query_id", column) if name in table.columns]
        # A document that has a rank twice is a document returned twice, not a rank of two documents.
        several: Column = F.count("*") > 1 if column == "doc_id" else F.min("doc_id") < F.max("doc_id")
        twice = table.groupBy(*key).agg(several.alias("several")).where("several")
        example = example_of({name: F.col(name).cast("string") for name in key})
        ((count, first),) = twice.agg(F.count("*"), F.min(example)).collect()
        different += count
        examples += [first] if count else []
    if not different:
        return
    if source.name == "results" and len(source.files) > 1 and not source.runs:
        advice += f"; if the {len(source.files):,} files are runs that share a name, --run-from file"
    raise DuplicatesError(f"{source.name}: {different} {what}, e.g. {min(examples)}; {advice}")


def _is_more(part: int, fraction: float, whole: int) -> bool:
    """Whether a part is more than a fraction of the whole. Exact, so that 29 of 100 is not more than 0.29."""
    return part > Fraction(repr(fraction)) * whole

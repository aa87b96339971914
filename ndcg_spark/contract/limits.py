"""Limits on the counts: how many bad rows, missing queries and unjudged queries or documents are accepted."""

import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import plausibility
from ndcg_spark.contract.checked_tables import CheckedTables
from ndcg_spark.contract.counts import Breach, JudgmentCounts, ResultCounts
from ndcg_spark.convention.cutoffs import Cutoff, format_cutoff
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.read import Source
from ndcg_spark.rules import RULES
from ndcg_spark.schemas import NULL_FOLDER

#: A folder is named dataset=..., in at most 255 bytes on every common file system.
_LONGEST_NAME = 255 - len("dataset=")


def refuse_breaches(table: str, breaches: Sequence[Breach], rows: int, place: str, allowed: float = 0.0) -> None:
    """InputError if the table is empty, has no good row, or a larger fraction than `allowed` of its rows is bad."""
    if rows == 0:
        raise InputError(f"{table}: no rows in {place}; the table is empty, check the job that writes it")
    broken = sum(breach.rows for breach in breaches)
    if _is_more(broken, allowed, rows) or broken == rows:
        budget = f"{broken} of {rows} rows rejected, max_rejected_fraction is {allowed:g}: " if allowed else ""
        question = plausibility.question_about(table, breaches, rows)
        raise InputError(f"{table}: {budget}{summary(breaches)}; correct them in {place}{question}")


def summary(breaches: Iterable[Breach]) -> str:
    """Each breach in words, with its number of rows and an example."""
    return "; ".join(f"{breach.rows} {RULES[breach.reason].words}, e.g. {breach.example}" for breach in breaches)


def refuse_lost_rows(source: Source, rows: int) -> None:
    """InputError if the number of `rows` that the engine read differs from that in the files."""
    if source.expected_rows not in (None, rows):
        raise InputError(
            f"{source.name}: the engine read {rows:,} rows of {source.place}, which has {source.expected_rows:,}; "
            "rename or write the files again, or read them on another engine"
        )


def refuse_names(datasets: Iterable[str]) -> None:
    """InputError if the name of a dataset cannot be the name of the folder of its scores."""
    reserved = [name for name in datasets if name == NULL_FOLDER]
    # Engines percent-encode names, some of them every byte beyond ASCII.
    long = [name for name in datasets if len(urllib.parse.quote(name, safe="")) > _LONGEST_NAME]
    if reserved or long:
        problem = f"{len(long)} name(s) longer than {_LONGEST_NAME} bytes when encoded" if long else "a reserved name"
        name = (long or reserved)[0]
        raise InputError(f"dataset: {problem}, e.g. {name[:40]}; it is the name of a folder, choose another")


def refuse_coverage(tables: CheckedTables, config: EvaluationConfig, place: str) -> None:
    """InputError if no query of the results is judged, or a run lacks more queries than the configuration allows."""
    refuse_unrelated(tables.result_counts, place)
    refuse_gaps(tables.judgment_counts, tables.result_counts, config.max_missing_fraction, config.max_unjudged_fraction)


def refuse_unrelated(counts: ResultCounts, place: str) -> None:
    """InputError if no run has a judged query: the tables write ids differently, or one is the wrong file."""
    if not any(run.judged_queries for run in counts.runs):
        queries = sum(run.unjudged_queries for run in counts.runs)
        raise InputError(
            f"results: none of {queries} queries of {len(counts.runs)} run(s), e.g. of run={counts.runs[0].run}, "
            f"is judged; check that both tables write query ids (and datasets) alike, in {place}"
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
    reasons = []
    if missing:
        limit = f"max_missing_fraction={max_missing:g}"
        reasons.append(f"{len(missing)} run(s) lack more of the judged queries than {limit}, e.g. {missing[0]}")
    if unjudged:
        limit = f"max_unjudged_fraction={max_unjudged:g}"
        reasons.append(f"{len(unjudged)} run(s) have more unjudged queries than {limit}, e.g. {unjudged[0]}")
    if reasons:
        raise InputError(f"results: {'; '.join(reasons)}; complete the tables, or allow more")


def refuse_lost(judged: JudgmentCounts, returned: ResultCounts, scores: Iterable[Mapping[str, Any]]) -> None:
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


def _is_more(part: int, fraction: float, whole: int) -> bool:
    """Whether a part is more than a fraction of the whole. Exact, so that 29 of 100 is not more than 0.29."""
    return part > Fraction(repr(fraction)) * whole

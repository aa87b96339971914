"""Breaches of the input contract: counted in one scan of each table, with an example each, and refused."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, IntegerType

from ndcg_spark.errors import InputError
from ndcg_spark.schemas import as_type, query_key

#: The text of a line that is no row, as reading leaves it.
BROKEN_LINE = "broken_line"

#: Each reason code, in words.
REASONS = {
    "broken_line": "line(s) that are no row",
    "no_dataset": "row(s) without a dataset",
    "no_run": "row(s) without a run",
    "no_query_id": "row(s) without a query_id",
    "no_doc_id": "row(s) without a doc_id",
    "relevance_is_no_number": "relevance value(s) that are no finite number",
    "relevance_negative": "negative grade(s)",
    "relevance_without_gain": "grade(s) without a finite gain: too large for it, or not in its table",
    "score_is_no_number": "score(s) that are no finite number",
    "rank_is_no_rank": "rank(s) that are no whole number from 1",
}
_EXAMPLE_LENGTH = 200


@dataclasses.dataclass(frozen=True)
class Breach:
    """Rows of a table that are refused for one reason."""

    table: str
    reason: str
    rows: int
    example: str


@dataclasses.dataclass(frozen=True)
class JudgmentCounts:
    """What a scan of the judgments found."""

    rows: int
    #: Judged queries by dataset; the dataset is None where the table does not name it.
    queries: Mapping[str | None, int]
    breaches: list[Breach]


@dataclasses.dataclass(frozen=True)
class RunCounts:
    """What a scan of the results found of one run."""

    dataset: str | None
    run: str
    rows: int
    judged_queries: int
    unjudged_queries: int


@dataclasses.dataclass(frozen=True)
class ResultCounts:
    """What a scan of the results found."""

    rows: int
    runs: list[RunCounts]
    breaches: list[Breach]


def judgment_reason(types: Mapping[str, str], gain: Column, refuse_negative: bool, use_negative: bool) -> Column:
    """Why a judgment as read is refused: a code of REASONS, null for a good row. `types` are the table's, by column.

    `gain` is the gain of the grade, null or not finite where there is none; negative grades need one only if used.
    """
    relevance = as_type(F.col("relevance"), DoubleType(), types["relevance"])
    rules = _identity_rules(types, ("dataset", "query_id", "doc_id"))
    rules.append(("relevance_is_no_number", ~_finite(relevance)))
    if refuse_negative:
        rules.append(("relevance_negative", relevance < 0))
    needs_gain = F.lit(True) if use_negative else relevance >= 0
    rules.append(("relevance_without_gain", needs_gain & ~gain.isNotNull()))
    return _first(rules)


def result_reason(types: Mapping[str, str], needs_score: bool, needs_rank: bool) -> Column:
    """Why a result as read is refused: a code of REASONS, null for a good row. `types` are the table's, by column."""
    rules = _identity_rules(types, ("dataset", "run", "query_id", "doc_id"))
    if needs_score:
        rules.append(("score_is_no_number", ~_finite(as_type(F.col("score"), DoubleType(), types["score"]))))
    if needs_rank:
        rank = as_type(F.col("rank"), IntegerType(), types["rank"])
        rules.append(("rank_is_no_rank", ~F.coalesce(rank >= 1, F.lit(False))))
    return _first(rules)


def count_judgments(table: DataFrame, reason: Column) -> JudgmentCounts:
    """Scan the judgments as read. An action."""
    key = query_key(table.columns)
    found = _grouped(table, key, reason)
    dataset = [name for name in key if name == "dataset"]
    rows = (
        found.groupBy(*dataset, "reason")
        .agg(F.sum("rows").alias("rows"), F.min("example").alias("example"), F.count("*").alias("queries"))
        .collect()
    )
    queries = {row["dataset"] if dataset else None: row["queries"] for row in rows if row["reason"] is None}
    return JudgmentCounts(sum(row["rows"] for row in rows), queries, _breaches("judgments", rows))


def count_results(table: DataFrame, reason: Column, judged_queries: DataFrame) -> ResultCounts:
    """Scan the results as read; `judged_queries` has one row per judged query. An action.

    Each run's queries are counted as judged and unjudged.
    """
    key = query_key(table.columns)
    judged = judged_queries.withColumn("judged", F.lit(True))
    found = _grouped(table, ["run", *key], reason).join(judged, on=key, how="left")
    run_key = ["run", *key[:-1]]
    rows = (
        found.groupBy(*run_key, "reason")
        .agg(
            F.sum("rows").alias("rows"),
            F.min("example").alias("example"),
            F.count("judged").alias("judged_queries"),
            F.count_if(F.col("judged").isNull()).alias("unjudged_queries"),
        )
        .collect()
    )
    runs = [
        RunCounts(
            row["dataset"] if "dataset" in run_key else None,
            row["run"],
            row["rows"],
            row["judged_queries"],
            row["unjudged_queries"],
        )
        for row in rows
        if row["reason"] is None
    ]
    return ResultCounts(sum(row["rows"] for row in rows), runs, _breaches("results", rows))


def refuse_breaches(table: str, breaches: list[Breach], rows: int, place: str) -> None:
    """InputError that tells of every breach; nothing where there are none. An empty table is a breach too."""
    if breaches:
        found = "; ".join(f"{breach.rows} {REASONS[breach.reason]}, e.g. {breach.example}" for breach in breaches)
        raise InputError(f"{table}: {found}; correct them in {place}")
    if rows == 0:
        raise InputError(f"{table}: no rows in {place}; an empty table is refused, check what should have written it")


def refuse_strangers(counts: ResultCounts, place: str) -> None:
    """InputError where no run has a single judged query: ids that are written differently, or the wrong file."""
    if not any(run.judged_queries for run in counts.runs):
        queries = sum(run.unjudged_queries for run in counts.runs)
        raise InputError(
            f"results: none of {queries} queries of {len(counts.runs)} run(s), e.g. of run={counts.runs[0].run}, "
            f"was judged; check that both tables write query ids (and datasets) alike, in {place}"
        )


def duplicates(table: DataFrame, where: str) -> str | None:
    """How many documents stand twice for one query, with an example, in words; None where none does. An action."""
    key = [name for name in ("dataset", "run", "query_id", "doc_id") if name in table.columns]
    twice = table.groupBy(*key).count().where(F.col("count") > 1)
    found = twice.agg(F.count("*").alias("documents"), F.min(_example(key)).alias("example")).collect()[0]
    if not found["documents"]:
        return None
    verb, option = ("judged", "judgment_duplicates=max") if where == "judgments" else ("returned", "duplicates=best")
    return (
        f"{where}: {found['documents']} document(s) {verb} twice for one query, e.g. {found['example']}; "
        f"keep one row each, or --set {option}"
    )


def _identity_rules(columns: Iterable[str], names: Iterable[str]) -> list[tuple[str, Column]]:
    """Rules for names and ids; a broken line has none of them, so it comes first."""
    has = list(columns)
    rules = [("broken_line", F.col(BROKEN_LINE).isNotNull())] if BROKEN_LINE in has else []
    for name in names:
        if name in has:
            text = F.col(name).cast("string")
            rules.append((f"no_{name}", text.isNull() | (text == "")))
    return rules


def _finite(number: Column) -> Column:
    return F.coalesce(F.abs(number) < F.lit(float("inf")), F.lit(False))


def _first(rules: list[tuple[str, Column]]) -> Column:
    return F.coalesce(*(F.when(broken, F.lit(code)) for code, broken in rules))


def _grouped(table: DataFrame, key: list[str], reason: Column) -> DataFrame:
    """Rows counted by key and reason, with an example of each reason."""
    names = [name for name in table.columns if name != BROKEN_LINE]
    example = _example(names)
    if BROKEN_LINE in table.columns:
        example = F.coalesce(BROKEN_LINE, example)
    shown = F.when(F.col("reason").isNotNull(), F.substring(example, 1, _EXAMPLE_LENGTH))
    return (
        table.withColumn("reason", reason)
        .withColumn("example", shown)
        .groupBy(*key, "reason")
        .agg(F.count("*").alias("rows"), F.min("example").alias("example"))
    )


def _example(names: Sequence[str]) -> Column:
    return F.concat_ws(
        " ", *(F.concat(F.lit(f"{n}="), F.coalesce(F.col(n).cast("string"), F.lit("null"))) for n in names)
    )


def _breaches(table: str, rows: list[Row]) -> list[Breach]:
    """One breach per reason, in the order of REASONS."""
    found = []
    for reason in REASONS:
        of_reason = [row for row in rows if row["reason"] == reason]
        if of_reason:
            count = sum(row["rows"] for row in of_reason)
            found.append(Breach(table, reason, count, min(row["example"] for row in of_reason)))
    return found

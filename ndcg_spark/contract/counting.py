"""Breaches of the input contract: found row by row, and counted in one scan of each table."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, IntegerType

from ndcg_spark.schemas import BROKEN_LINE, INTERNAL, JUDGMENTS, NO_SCALAR, RESULTS, as_type, query_key
from ndcg_spark.scoring.pruning import MOST_WHOLE_QUERIES, Pruning

#: Each reason code, in words.
REASONS = {
    "broken_line": "line(s) that are no row",
    "value_is_no_scalar": "line(s) with a value that is an array, an object, true or false",
    "no_dataset": "row(s) without a dataset",
    "no_run": "row(s) without a run",
    "no_query_id": "row(s) without a query_id",
    "no_doc_id": "row(s) without a doc_id",
    "relevance_is_no_number": "relevance value(s) that are no finite number",
    "relevance_negative": "negative grade(s)",
    "relevance_without_gain": "grade(s) without a finite gain: too large for it, or not in its table",
    "score_is_no_number": "score(s) that are no finite number",
    "rank_is_no_rank": "rank(s) that are no whole number from 1",
    "judged_twice": "row(s) of documents judged twice for one query",
    "returned_twice": "row(s) of documents returned twice for one query",
}
_EXAMPLE_LENGTH = 200
_LOW = 0xFFFFFFFF
_TYPES = {field.name: field.dataType for schema in (JUDGMENTS, RESULTS) for field in schema}


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
    #: The same for the same rows in any order, from any format: 16 hexadecimal digits.
    fingerprint: str = ""


@dataclasses.dataclass(frozen=True)
class RunCounts:
    """What a scan of the results found of one run."""

    dataset: str | None
    run: str
    rows: int
    judged_queries: int
    unjudged_queries: int
    #: Rows of the queries that nobody judged.
    unjudged_rows: int = 0


@dataclasses.dataclass(frozen=True)
class ResultCounts:
    """What a scan of the results found."""

    rows: int
    runs: list[RunCounts]
    breaches: list[Breach]
    #: As of JudgmentCounts.
    fingerprint: str = ""
    #: Judged queries with a list whose ranks do not tell its best rows; None if nobody asked, or they are too many.
    whole_queries: tuple[str, ...] | None = None


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
    dataset = [name for name in key if name == "dataset"]
    queries = _by_query(table, key, reason).groupBy(*dataset)
    counted = queries.agg(*_totals(), F.count_if(F.col("good") > 0).alias("queries")).collect()
    # Without a dataset to group by, a table without rows has one row of totals, all null.
    rows = [row for row in counted if row["rows"]]
    judged = {row["dataset"] if dataset else None: row["queries"] for row in rows if row["queries"]}
    breaches = _breaches("judgments", table, reason, rows)
    return JudgmentCounts(sum(row["rows"] for row in rows), judged, breaches, _fingerprint(rows))


def count_results(
    table: DataFrame, reason: Column, judged_queries: DataFrame, pruning: Pruning | None = None
) -> ResultCounts:
    """Scan the results as read; `judged_queries` has one row per judged query. An action.

    Each run's queries are counted as judged and unjudged; queries without a good row are no queries of a run. With
    `pruning`, the queries are found whose results must be kept whole.
    """
    key = query_key(table.columns)
    judged = judged_queries.withColumn("judged", F.lit(True))
    queries = _by_query(table, ["run", *key], reason, pruning).join(judged, on=key, how="left")
    is_judged = F.col("judged").isNotNull()
    rows = (
        queries.groupBy("run", *key[:-1])
        .agg(
            *_totals(),
            F.count_if(is_judged & (F.col("good") > 0)).alias("judged_queries"),
            F.count_if(~is_judged & (F.col("good") > 0)).alias("unjudged_queries"),
            F.sum(F.when(~is_judged, F.col("good")).otherwise(0)).alias("unjudged_rows"),
            *([_whole(pruning, is_judged).alias("whole")] if pruning else []),
        )
        .collect()
    )
    runs = [
        RunCounts(
            row["dataset"] if "dataset" in key else None,
            row["run"],
            row["rows"] - row["bad"],
            row["judged_queries"],
            row["unjudged_queries"],
            row["unjudged_rows"],
        )
        for row in rows
        if row["rows"] > row["bad"]
    ]
    breaches = _breaches("results", table, reason, rows)
    whole = {query for row in rows for query in row["whole"]} if pruning else set()
    few = pruning is not None and len(whole) <= MOST_WHOLE_QUERIES
    return ResultCounts(
        sum(row["rows"] for row in rows), runs, breaches, _fingerprint(rows), tuple(sorted(whole)) if few else None
    )


def _identity_rules(columns: Iterable[str], names: Iterable[str]) -> list[tuple[str, Column]]:
    """Rules for names and ids; a broken line has none of them, so it comes first."""
    has = list(columns)
    rules = [("value_is_no_scalar", F.col(NO_SCALAR))] if NO_SCALAR in has else []
    rules += [("broken_line", F.col(BROKEN_LINE).isNotNull())] if BROKEN_LINE in has else []
    for name in names:
        if name in has:
            text = F.col(name).cast("string")
            rules.append((f"no_{name}", text.isNull() | (text == "")))
    return rules


def _finite(number: Column) -> Column:
    return F.coalesce(F.abs(number) < F.lit(float("inf")), F.lit(False))


def _first(rules: list[tuple[str, Column]]) -> Column:
    return F.coalesce(*(F.when(broken, F.lit(code)) for code, broken in rules))


def _by_query(table: DataFrame, key: list[str], reason: Column, pruning: Pruning | None = None) -> DataFrame:
    """Rows, bad and good ones, counted by query, with a hash of all its rows in whatever order they stand."""
    kinds = dict(table.dtypes)
    values = [as_type(F.col(name), _TYPES[name], kinds[name]) for name in _TYPES if name in kinds and name not in key]
    row = F.xxhash64(*values, *([BROKEN_LINE] if BROKEN_LINE in kinds else []))
    places = {name: F.when(reason.isNull(), at) for name, at in (pruning.columns(kinds) if pruning else {}).items()}
    queries = table.select(
        *key, reason.alias("reason"), row.alias("row"), *(place.alias(name) for name, place in places.items())
    ).groupBy(*key)
    counts = {
        "rows": F.count("*"),
        "bad": F.count("reason"),
        # A sum, unlike xor, sees a row that is there twice; of 40 bits, so that 16 million rows cannot overflow.
        "hash": F.sum(F.shiftright("row", 24)),
        **(pruning.aggregates() if pruning else {}),
    }
    counted = queries.agg(*(column.alias(name) for name, column in counts.items()))
    good = F.col("rows") - F.col("bad")
    return counted.withColumns({"good": good, "hash": F.xxhash64(*key, "rows", "hash")})


def _whole(pruning: Pruning, is_judged: Column) -> Column:
    """The judged queries whose results must be kept whole; one more than can be named where there are too many."""
    whole = F.collect_list(F.when(is_judged & pruning.refuted(F.col("good")), F.col("query_id")))
    return F.slice(whole, 1, MOST_WHOLE_QUERIES + 1)


def _totals() -> list[Column]:
    return [
        F.sum("rows").alias("rows"),
        F.sum("bad").alias("bad"),
        F.sum(F.shiftrightunsigned("hash", 32)).alias("high"),
        F.sum(F.col("hash").bitwiseAND(F.lit(_LOW))).alias("low"),
    ]


def _fingerprint(rows: list[Row]) -> str:
    """Both halves of the sum of all queries' hashes, each modulo 2^32."""
    return "".join(f"{sum(row[half] for row in rows) & _LOW:08x}" for half in ("high", "low"))


def example_of(names: Sequence[str], line: str | None = None) -> Column:
    """A row in words, or the text of a line that is none; not longer than a message can be."""
    parts = (F.concat(F.lit(f"{n}="), F.coalesce(F.col(n).cast("string"), F.lit("null"))) for n in names)
    row = F.concat_ws(" ", *parts)
    return F.substring(F.coalesce(line, row) if line else row, 1, _EXAMPLE_LENGTH)


def _breaches(name: str, table: DataFrame, reason: Column, rows: list[Row]) -> list[Breach]:
    """One breach per reason, in the order of REASONS; the table is only read again where `rows` count any."""
    if not any(row["bad"] for row in rows):
        return []
    names = [name for name in table.columns if name not in INTERNAL]
    example = example_of(names, BROKEN_LINE if BROKEN_LINE in table.columns else None)
    shown = table.select(reason.alias("reason"), example.alias("example")).where(F.col("reason").isNotNull())
    counted = shown.groupBy("reason").agg(F.count("*").alias("rows"), F.min("example").alias("example")).collect()
    found = {row["reason"]: Breach(name, row["reason"], row["rows"], row["example"]) for row in counted}
    return [found[code] for code in REASONS if code in found]

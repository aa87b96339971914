"""What both tables contain, each counted in one scan: rows, rows that break a rule, queries, and a fingerprint."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from ndcg_spark.conforming import as_type
from ndcg_spark.contract.counts import Breach, JudgmentCounts, ResultCounts, RunCounts
from ndcg_spark.inputs.run_files import UNIT, SplitRun
from ndcg_spark.rules import RULES
from ndcg_spark.schemas import BROKEN_LINE, INTERNAL, JUDGMENTS, RESULTS, query_key
from ndcg_spark.scoring.pruning import MOST_NAMED, Pruning, Untrusted, untrusted_of

_EXAMPLE_LENGTH = 200
_LOW = 0xFFFFFFFF
_TYPES = {field.name: field.dataType for schema in (JUDGMENTS, RESULTS) for field in schema}


@dataclasses.dataclass(frozen=True)
class _Question:
    """One thing to count: columns of every row, sums over the rows of a query, sums over the queries of a run.

    For judgments the last are over the queries of a dataset. All questions are answered by one scan.
    """

    of_rows: Mapping[str, Column]
    of_queries: Mapping[str, Column]
    of_totals: Mapping[str, Column]


def count_judgments(table: DataFrame, reason: Column) -> JudgmentCounts:
    """Counts of the judgments in one scan; `reason` is the code of the rule that a row breaks, else null. An action."""
    key = query_key(table.columns)
    questions = [_row_counts(reason), _fingerprint_of(table, key), _best_grade(table, reason)]
    queries = _by_query(table, key, questions)
    dataset = [name for name in key if name == "dataset"]
    judged = F.count_if(F.col("good") > 0).alias("queries")
    # Without a dataset to group by, a table without rows has one row of totals, all null.
    rows = [row for row in queries.groupBy(*dataset).agg(*_totals(questions), judged).collect() if row["rows"]]
    by_dataset = {row["dataset"] if dataset else None: row["queries"] for row in rows if row["queries"]}
    return JudgmentCounts(
        sum(row["rows"] for row in rows),
        by_dataset,
        bad=sum(row["bad"] for row in rows),
        fingerprint=_fingerprint(rows),
        best_grade=max((row["best"] for row in rows if row["best"] is not None), default=None),
    )


def count_results(
    table: DataFrame, reason: Column, judged_queries: DataFrame, pruning: Pruning | None = None
) -> ResultCounts:
    """Counts of the results in one scan; `judged_queries` has one row per judged query. An action.

    The queries of each run are counted as judged or unjudged, if at least one of their rows is good. With `pruning`,
    the counts also name the lists whose ranks cannot be trusted.
    """
    key = query_key(table.columns)
    questions = [_row_counts(reason), _fingerprint_of(table, ["run", *key])]
    if pruning:
        questions.append(_untrusted_lists(pruning, reason, dict(table.dtypes)))
    if "score" in table.columns:
        questions.append(_tied_lists(table, reason))
    if UNIT in table.columns:
        questions.append(_split_queries(reason))
    judged = judged_queries.withColumn("judged", F.lit(True))
    queries = _by_query(table, ["run", *key], questions).join(judged, on=key, how="left")
    rows = queries.groupBy("run", *key[:-1]).agg(*_totals(questions), *totals_of_runs()).collect()
    return ResultCounts(
        sum(row["rows"] for row in rows),
        counts_of_runs(rows),
        bad=sum(row["bad"] for row in rows),
        fingerprint=_fingerprint(rows),
        untrusted=_untrusted(rows) if pruning else None,
        split_runs=tuple(SplitRun(row["run"], row["split"], *row["example"]) for row in rows if _is_split(row)),
    )


def breaches_of(name: str, table: DataFrame, reason: Column) -> list[Breach]:
    """One breach per rule that a row of the table breaks, in the order of the rules. An action."""
    names = [name for name in table.columns if name not in (*INTERNAL, UNIT)]
    example = example_of(names, BROKEN_LINE if BROKEN_LINE in table.columns else None)
    shown = table.select(reason.alias("reason"), example.alias("example")).where(F.col("reason").isNotNull())
    counted = shown.groupBy("reason").agg(F.count("*").alias("rows"), F.min("example").alias("example")).collect()
    breaches = {row["reason"]: Breach(name, row["reason"], row["rows"], row["example"]) for row in counted}
    return [breaches[code] for code in RULES if code in breaches]


def count_runs(results: DataFrame, judged_queries: DataFrame) -> list[RunCounts]:
    """The counts of every run of results that are good already, for another set of judged queries. An action."""
    key = query_key(results.columns)
    queries = results.groupBy("run", *key).agg(F.count("*").alias("good"))
    judged = judged_queries.withColumn("judged", F.lit(True))
    queries = queries.join(judged, on=key, how="left")
    return counts_of_runs(queries.groupBy("run", *key[:-1]).agg(*totals_of_runs()).collect())


def totals_of_runs() -> list[Column]:
    """What `counts_of_runs` needs, from a run's queries with the columns `good` (rows) and `judged` (null: nobody)."""
    is_judged, has_rows = F.col("judged").isNotNull(), F.col("good") > 0
    totals = {
        "good_rows": F.sum("good"),
        "judged_queries": F.count_if(is_judged & has_rows),
        "unjudged_queries": F.count_if(~is_judged & has_rows),
        "unjudged_rows": F.sum(F.when(~is_judged, F.col("good")).otherwise(0)),
    }
    return [column.alias(name) for name, column in totals.items()]


def counts_of_runs(rows: Iterable[Row]) -> list[RunCounts]:
    """The counts of every run that has a good row, from rows of `totals_of_runs`."""
    names = ("run", "good_rows", "judged_queries", "unjudged_queries", "unjudged_rows")
    found = []
    for row in rows:
        if row["good_rows"]:
            own = row.asDict()
            counts = RunCounts(own.get("dataset"), *(own[name] for name in names))
            # Only the first scan looks at scores.
            lists, tied = own.get("lists") or 0, own.get("tied_lists") or 0
            found.append(dataclasses.replace(counts, lists=lists, tied_lists=tied))
    return found


def example_of(names: Sequence[str], line: str | None = None) -> Column:
    """A row as `name=value` pairs, or the text of a line that could not be read as a row, cut to fit a message."""
    parts = (F.concat(F.lit(f"{n}="), F.coalesce(F.col(n).cast("string"), F.lit("null"))) for n in names)
    row = F.concat_ws(" ", *parts)
    return F.substring(F.coalesce(line, row) if line else row, 1, _EXAMPLE_LENGTH)


def _row_counts(reason: Column) -> _Question:
    """How many rows there are, and how many of them break a rule."""
    counts = {"rows": F.count("*"), "bad": F.count("reason")}
    return _Question({"reason": reason}, counts, {name: F.sum(name) for name in counts})


def _fingerprint_of(table: DataFrame, key: Sequence[str]) -> _Question:
    """A hash of all rows that does not depend on their order. Values are hashed by row, the key once per query."""
    kinds = dict(table.dtypes)
    values = [as_type(F.col(name), _TYPES[name], kinds[name]) for name in _TYPES if name in kinds and name not in key]
    row = F.xxhash64(*values, *([BROKEN_LINE] if BROKEN_LINE in kinds else []))
    # A sum notices a row that occurs twice, which xor does not. Of 40 bits: 16 million rows cannot overflow it.
    of_query = F.sum(F.shiftright("row", 24))
    high, low = F.sum(F.shiftrightunsigned("hash", 32)), F.sum(F.col("hash").bitwiseAND(F.lit(_LOW)))
    return _Question({"row": row}, {"hash": of_query}, {"high": high, "low": low})


def _best_grade(table: DataFrame, reason: Column) -> _Question:
    grade = as_type(F.col("relevance"), _TYPES["relevance"], dict(table.dtypes)["relevance"])
    return _Question({"grade": F.when(reason.isNull(), grade)}, {"best": F.max("grade")}, {"best": F.max("best")})


def _tied_lists(table: DataFrame, reason: Column) -> _Question:
    """How many queries of a run have at least two results, and of how many of these all results have the same score."""
    score = as_type(F.col("score"), _TYPES["score"], dict(table.dtypes)["score"])
    several = F.col("good") > 1
    tied = several & F.coalesce(F.col("least_score") == F.col("most_score"), F.lit(False))
    return _Question(
        {"scored": F.when(reason.isNull(), score)},
        {"least_score": F.min("scored"), "most_score": F.max("scored")},
        {"lists": F.count_if(several), "tied_lists": F.count_if(tied)},
    )


def _untrusted_lists(pruning: Pruning, reason: Column, kinds: Mapping[str, str]) -> _Question:
    """How many lists of judged queries have ranks that cannot be trusted, and the queries of at most MOST_NAMED."""
    of_rows = {name: F.when(reason.isNull(), at) for name, at in pruning.columns(kinds).items()}
    refuted = F.col("judged").isNotNull() & pruning.refuted(F.col("good"))
    named = F.slice(F.collect_list(F.when(refuted, F.col("query_id"))), 1, MOST_NAMED)
    return _Question(of_rows, pruning.aggregates(), {"untrusted": F.count_if(refuted), "lists": named})


def _untrusted(rows: Iterable[Row]) -> Untrusted:
    """The untrusted lists of the runs that have a good row; others have no name."""
    return untrusted_of((row["run"], row["untrusted"], row["lists"]) for row in rows if row["good_rows"])


def _split_queries(reason: Column) -> _Question:
    """How many queries of a run are spread over two units of files (`inputs.run_files`), and one as an example."""
    split = F.col("first_unit") != F.col("last_unit")
    example = F.min(F.when(split, F.struct("query_id", "first_unit", "last_unit")))
    return _Question(
        {"unit": F.when(reason.isNull(), F.col(UNIT))},
        {"first_unit": F.min("unit"), "last_unit": F.max("unit")},
        {"split": F.count_if(split), "example": example},
    )


def _by_query(table: DataFrame, key: Sequence[str], questions: Sequence[_Question]) -> DataFrame:
    """One row per query: its key as text, the questions' sums over its rows, and `good`, how many break no rule."""
    # Ids may be numbers as they were read. Beside text, some engines would take the text for a number.
    ids = (F.col(name).cast("string").alias(name) for name in key)
    rows = table.select(*ids, *(column.alias(name) for q in questions for name, column in q.of_rows.items()))
    asked = (column.alias(name) for q in questions for name, column in q.of_queries.items())
    queries = rows.groupBy(*key).agg(*asked)
    good = F.col("rows") - F.col("bad")
    return queries.withColumns({"good": good, "hash": F.xxhash64(*key, "rows", "hash")})


def _totals(questions: Sequence[_Question]) -> list[Column]:
    return [column.alias(name) for question in questions for name, column in question.of_totals.items()]


def _fingerprint(rows: Sequence[Row]) -> str:
    """The sums of both halves of all queries' hashes, each modulo 2^32, as 16 hexadecimal digits."""
    return "".join(f"{sum(row[half] for row in rows) & _LOW:08x}" for half in ("high", "low"))


def _is_split(row: Row) -> bool:
    return "split" in row and bool(row["split"])

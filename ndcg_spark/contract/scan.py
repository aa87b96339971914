"""The counts and fingerprints of both tables, each in one scan.

The scans count rows, rows that break a rule, queries and runs.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.inputs.batches import WHOLE, Batch
from ndcg_spark.rules import RULES, shown_columns, typed
from ndcg_spark.schemas import FAULT, JUDGMENTS, LINE, OWN, RESULTS, query_key
from ndcg_spark.scoring.refusals import row_example
from ndcg_spark.scoring.skipping import FLOOR, Aggregates, Floors, Pruning

#: The column that marks the results that the table `exclude` removes from their lists; null for all
#: other results.
EXCLUDED = f"{OWN}excluded"
EXAMPLE_LENGTH = 200
#: Scales of grades rarely go beyond this; counts, such as clicks, do.
USUAL_GRADE = 5.0
_LOW = 0xFFFFFFFF


@dataclasses.dataclass(frozen=True)
class Rejection:
    """How many rows of a table break one rule. `reason` is the code of the rule, a key of
    `rules.RULES`.
    """

    table: str
    reason: str
    rows: int
    example: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Counts:
    rows: int
    rejected: int = 0
    rejections: Sequence[Rejection] = ()
    #: 16 hexadecimal digits for each dataset, or for None if the table names no datasets. They are
    #: the same for the same rows, whatever the order of the rows and the format of the files.
    fingerprints: Mapping[str | None, str] = dataclasses.field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        halves = [(int(text[:8], 16), int(text[8:], 16)) for text in self.fingerprints.values()]
        return _hexadecimal(halves)


@dataclasses.dataclass(frozen=True, kw_only=True)
class JudgmentCounts(Counts):
    #: How many queries are judged, by dataset; None is the dataset of a table that names none.
    queries: Mapping[str | None, int]
    #: The largest grade; None if there are no valid rows.
    best_grade: float | None = None
    #: The largest grade that is not a whole number; None if all are whole numbers.
    fractional_grade: float | None = None
    #: The largest grade up to USUAL_GRADE; None if there is none.
    usual_grade: float | None = None
    #: How many grades are above USUAL_GRADE, and the smallest of them.
    high_grades: int = 0
    lowest_high_grade: float | None = None


@dataclasses.dataclass(frozen=True)
class RunCounts:
    """Counts of the valid rows of one run, without excluded rows."""

    dataset: str | None
    run: str
    rows: int = 0
    judged_queries: int = 0
    unjudged_queries: int = 0
    unjudged_rows: int = 0
    excluded: int = 0
    #: How many queries have at least two results, and how many of these have only one score value.
    lists: int = 0
    tied_lists: int = 0
    #: Lists whose scores differ and that have a rank 0 or 1. Like the next three counts, this is 0
    #: unless scores and ranks are read.
    ranked_lists: int = 0
    #: Those of them whose first rank has the lowest score.
    reversed_lists: int = 0
    #: Lists in which rank 1 occurs with different scores, and the query of one of them.
    merged_lists: int = 0
    merged_query: str | None = None
    #: Lists whose scores number the results from 0 or 1, while the ranks do not.
    swapped_lists: int = 0
    #: How many lists are not proved to be in the order of their ranks; 0 if this is not checked.
    untrusted: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResultCounts(Counts):
    runs: Sequence[RunCounts]

    @property
    def excluded(self) -> int:
        return sum(run.excluded for run in self.runs)


def count_judgments(table: DataFrame, reason: Column) -> JudgmentCounts:
    key = query_key(table.columns)
    grade = typed("relevance", dict(table.dtypes))
    # Not with F.floor, which returns a 64-bit integer.
    fraction = F.when(grade % 1 != 0, grade)
    grades = Aggregates(
        {
            "grade": grade,
            "fraction": fraction,
            "usual": F.when(grade <= USUAL_GRADE, grade),
            "high": F.when(grade > USUAL_GRADE, grade),
        },
        {
            "best": F.max("grade"),
            "fractional": F.max("fraction"),
            "usual": F.max("usual"),
            "high_grades": F.count("high"),
            "lowest_high": F.min("high"),
        },
        {
            "best": F.max("best"),
            "fractional": F.max("fractional"),
            "usual": F.max("usual"),
            "high_grades": F.sum("high_grades"),
            "lowest_high": F.min("lowest_high"),
        },
    )
    queries, totals = _by_query(table, key, reason, [grades])
    judged = F.count_if(F.col("good") > 0).alias("queries")
    by_dataset = queries.groupBy(*key[:-1]).agg(*totals, judged).collect()
    # Without a dataset to group by, an empty table yields one row of null totals.
    rows = [row.asDict() for row in by_dataset if row["rows"]]
    return JudgmentCounts(
        rows=sum(row["rows"] for row in rows),
        rejected=sum(row["rejected"] for row in rows),
        fingerprints=_fingerprints(rows),
        queries={row.get("dataset"): row["queries"] for row in rows if row["queries"]},
        best_grade=_largest(row["best"] for row in rows),
        fractional_grade=_largest(row["fractional"] for row in rows),
        usual_grade=_largest(row["usual"] for row in rows),
        high_grades=sum(row["high_grades"] for row in rows),
        lowest_high_grade=_smallest(row["lowest_high"] for row in rows),
    )


def _largest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _smallest(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def count_results(
    table: DataFrame,
    reason: Column,
    judged_queries: DataFrame | None,
    batches: Sequence[Batch] = WHOLE,
    files: int = 0,
    skipping: Pruning | Floors | None = None,
    materialize: Callable[[Iterable[DataFrame]], DataFrame] | None = None,
) -> tuple[ResultCounts, DataFrame | None]:
    """Count the results in one scan per batch. With Floors, also return one row per list: key and
    FLOOR.

    A query is judged if it is in `judged_queries`; if that is None, all queries are. Ranks are
    compared with scores unless `files`, the number of files, is 0. `materialize` keeps the rows of
    lists if they are read twice.
    """
    key = query_key(table.columns)
    list_key = ["run", *key]
    run_key = list_key[:-1]
    counted = _result_aggregates(table, list_key, files, skipping)
    lists, totals = _by_query(table, list_key, reason, counted)
    totals += _judged_totals()
    by_batch = [batch.select(lists) for batch in batches]
    list_floors = None
    if isinstance(skipping, Floors) and materialize:
        all_lists = materialize(by_batch)
        list_floors = all_lists.select(*list_key, FLOOR)
        by_batch = [all_lists]
    rows: list[dict[str, Any]] = []
    for batch in by_batch:
        queries = _with_judged(batch, judged_queries, key)
        of_runs = queries.groupBy(*run_key).agg(*totals)
        rows.extend(row.asDict() for row in of_runs.collect())
    counts = ResultCounts(
        rows=sum(row["rows"] for row in rows),
        rejected=sum(row["rejected"] for row in rows),
        fingerprints=_fingerprints(rows),
        runs=[_run_counts(row) for row in rows if _is_named(row)],
    )
    return counts, list_floors


def _result_aggregates(
    table: DataFrame,
    list_key: list[str],
    files: int,
    skipping: Pruning | Floors | None,
) -> list[Aggregates]:
    """What to count of the results; see `count_results`."""
    types = dict(table.dtypes)
    counted = []
    if "score" in types:
        counted.append(_scores(types))
    if files:
        counted.append(_ranks_beside_scores(types, files))
    if skipping:
        # Buckets come from the hash of the fingerprint, which is computed anyway.
        counted.append(skipping.counted(types, _row_hash(table, list_key)))
    return counted


def _is_named(row: Mapping[str, Any]) -> bool:
    """Whether rows have a run and a dataset. Rows without are rejected, and are not a run."""
    has_dataset = "dataset" not in row or bool(row["dataset"])
    return bool(row["run"]) and has_dataset


def _with_judged(lists: DataFrame, judged_queries: DataFrame | None, key: list[str]) -> DataFrame:
    """The lists with a column `judged`, which is null if a list's query is not judged."""
    if judged_queries is None:
        return lists.withColumn("judged", F.lit(True))
    known = judged_queries.withColumn("judged", F.lit(True))
    return known.join(lists, on=key, how="right")


def _judged_totals() -> list[Column]:
    is_judged, has_rows = F.col("judged").isNotNull(), F.col("good") > 0
    return [
        F.sum("good").alias("good_rows"),
        F.count_if(is_judged & has_rows).alias("judged_queries"),
        F.count_if(~is_judged & has_rows).alias("unjudged_queries"),
        F.sum(F.when(~is_judged, F.col("good")).otherwise(0)).alias("unjudged_rows"),
    ]


def _run_counts(row: Mapping[str, Any]) -> RunCounts:
    """A row's counts; nulls, such as sums of no values, become the defaults."""
    known = {"dataset": None, **row, "rows": row["good_rows"]}
    counts = {}
    for field in dataclasses.fields(RunCounts):
        if known.get(field.name) is not None:
            counts[field.name] = known[field.name]
    return RunCounts(**{"dataset": None, **counts})


def fingerprints(table: DataFrame) -> dict[str | None, str]:
    """A table's fingerprints, the same as in its counts, from one scan."""
    key = query_key(table.columns)
    of_lists = ["run", *key] if "run" in table.columns else key
    no_reason = F.lit(None).cast("string")
    queries, totals = _by_query(table, of_lists, no_reason, [])
    by_dataset = queries.groupBy(*key[:-1]).agg(*totals).collect()
    return _fingerprints(row.asDict() for row in by_dataset if row["rows"])


def count_rejections(name: str, table: DataFrame, reason: Column) -> list[Rejection]:
    line = LINE if LINE in table.columns else None
    row_as_text = row_example(shown_columns(table.columns), line)
    example = F.substring(row_as_text, 1, EXAMPLE_LENGTH).alias("example")
    rejected = table.select(reason.alias("reason"), example).where(F.col("reason").isNotNull())
    aggregates = (F.count("*").alias("rows"), F.min("example").alias("example"))
    rejections = {}
    for row in rejected.groupBy("reason").agg(*aggregates).collect():
        code = row["reason"]
        rejections[code] = Rejection(name, code, row["rows"], row["example"])
    return [rejections[code] for code in RULES if code in rejections]


def _row_hash(table: DataFrame, key: Sequence[str]) -> Column:
    """A hash of all values of a row except the key, which is hashed once per query."""
    kinds = dict(table.dtypes)
    values = []
    for name in dict.fromkeys(JUDGMENTS.names + RESULTS.names):
        if name in kinds and name not in key:
            values.append(typed(name, kinds))
    if FAULT in kinds:
        # The line of a valid row only repeats its values.
        values.append(F.when(F.col(FAULT).isNotNull(), F.col(LINE)))
    return F.xxhash64(*values)


def _scores(types: Mapping[str, str]) -> Aggregates:
    return Aggregates(
        {"scored": typed("score", types)},
        {"lowest_score": F.min("scored"), "highest_score": F.max("scored")},
        {
            "lists": F.expr("count_if(good > 1)"),
            "tied_lists": F.expr("count_if(good > 1 and lowest_score = highest_score)"),
        },
    )


def _ranks_beside_scores(types: Mapping[str, str], files: int) -> Aggregates:
    """Counts the lists whose ranks contradict their scores: reversed, swapped and merged lists.

    RunCounts describes them. `files` is the number of files of the results.
    """
    rank, score = typed("rank", types), typed("score", types)
    # In a list with only the ranks 0 and 1, the lowest score always belongs to one of them.
    is_ranked = (
        "good > 1 and lowest_score < highest_score and first_score is not null "
        "and ones + zeros < good"
    )
    # A list in which rank 0 or 1 occurs twice is not counted as reversed.
    is_reversed = f"{is_ranked} and first_score = lowest_score and ones < 2 and zeros < 2"
    # Ranks that are all 1 are not ranks, unless each result may be the first one of a file.
    is_merged = f"lowest_top < highest_top and (ones < good or good <= {files})"
    scores_are_numbers = "lowest_score in (0D, 1D) and highest_score - lowest_score = good - 1"
    ranks_are_numbers = "lowest_rank in (0, 1) and highest_rank - lowest_rank = good - 1"
    is_swapped = (
        f"good > 1 and {scores_are_numbers} "
        f"and highest_rank > lowest_rank and not ({ranks_are_numbers})"
    )
    return Aggregates(
        {
            "first_score": F.when(rank.isin(0, 1), score),
            "top_score": F.when(rank == 1, score),
            "is_one": F.when(rank == 1, True),
            "is_zero": F.when(rank == 0, True),
            "any_rank": rank,
        },
        {
            "first_score": F.min("first_score"),
            "lowest_top": F.min("top_score"),
            "highest_top": F.max("top_score"),
            "ones": F.count("is_one"),
            "zeros": F.count("is_zero"),
            "lowest_rank": F.min("any_rank"),
            "highest_rank": F.max("any_rank"),
        },
        {
            "ranked_lists": F.expr(f"count_if({is_ranked})"),
            "reversed_lists": F.expr(f"count_if({is_reversed})"),
            "swapped_lists": F.expr(f"count_if({is_swapped})"),
            "merged_lists": F.expr(f"count_if({is_merged})"),
            "merged_query": F.expr(f"min(case when {is_merged} then query_id end)"),
        },
    )


def _by_query(
    table: DataFrame, key: Sequence[str], reason: Column, counted: Sequence[Aggregates]
) -> tuple[DataFrame, list[Column]]:
    """One row per query, with its key as text and `good`, the number of rows to score.

    Also returns the aggregates that total these rows.
    """
    # Ids may have been read as numbers, and some engines cast text to a number to compare them.
    columns = {name: F.col(name).cast("string") for name in key} | {
        "reason": reason,
        "row": _row_hash(table, key),
    }
    # A sum changes if a row occurs twice; an xor does not. A sum of 40-bit values cannot overflow
    # with 16 million rows.
    by_query = {
        "rows": F.count("*"),
        "rejected": F.count("reason"),
        "hash": F.sum(F.shiftright("row", 24)),
    }
    totals = {"rows": F.sum("rows"), "rejected": F.sum("rejected")}
    totals["high"] = F.sum(F.shiftrightunsigned("hash", 32))
    totals["low"] = F.sum(F.col("hash").bitwiseAND(F.lit(_LOW)))
    good = F.col("rows") - F.col("rejected")
    if EXCLUDED in table.columns:
        counted = [
            *counted,
            Aggregates({"excluded": F.col(EXCLUDED)}, {"excluded": F.count("excluded")}, {}),
        ]
        totals["excluded"] = F.sum("excluded")
        good = good - F.col("excluded")
    for part in counted:
        columns |= {name: F.when(reason.isNull(), column) for name, column in part.columns.items()}
        by_query |= part.by_query
        totals |= part.totals
    queries = table.select(*_named(columns)).groupBy(*key).agg(*_named(by_query))
    queries = queries.withColumns({"good": good, "hash": F.xxhash64(*key, "rows", "hash")})
    return queries, _named(totals)


def _named(columns: Mapping[str, Column]) -> list[Column]:
    return [column.alias(name) for name, column in columns.items()]


def _fingerprints(rows: Iterable[Mapping[str, Any]]) -> dict[str | None, str]:
    """Each dataset's fingerprint: the sums of both halves of its queries' hashes."""
    halves: dict[str | None, list[tuple[int, int]]] = {}
    for row in rows:
        halves.setdefault(row.get("dataset"), []).append((row["high"], row["low"]))
    return {dataset: _hexadecimal(pairs) for dataset, pairs in halves.items()}


def _hexadecimal(halves: Iterable[tuple[int, int]]) -> str:
    """The sum of the pairs, each half modulo 2^32, as 16 hexadecimal digits."""
    high = low = 0
    for more_high, more_low in halves:
        high += more_high
        low += more_low
    return f"{high & _LOW:08x}{low & _LOW:08x}"

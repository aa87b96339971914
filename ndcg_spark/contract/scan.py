"""The counts of both tables, each in one scan: rows, rows that break a rule, queries, and a fingerprint."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from ndcg_spark.contract import aggregates
from ndcg_spark.contract.aggregates import LOW, Aggregates
from ndcg_spark.contract.counts import Breach, JudgmentCounts, ResultCounts, RunCounts
from ndcg_spark.inputs.run_batches import WHOLE, Batch
from ndcg_spark.rules import RULES
from ndcg_spark.schemas import INTERNAL, LINE, WRITTEN, query_key
from ndcg_spark.scoring.floors import FLOOR, Floors
from ndcg_spark.scoring.pruning import Pruning, Untrusted, untrusted_of

_EXAMPLE_LENGTH = 200
#: The fields of RunCounts about the scores and ranks of lists.
_LIST_COUNTS = (
    *("lists", "tied_lists", "counting_lists", "largest_score"),
    *("ranked_lists", "reversed_lists", "repeated_lists", "merged_lists", "merged_query"),
)


def count_judgments(table: DataFrame, reason: Column) -> JudgmentCounts:
    """Counts of the judgments in one scan; `reason` is the code of the rule that a row breaks, else null."""
    key = query_key(table.columns)
    counted = [aggregates.row_counts(reason), aggregates.fingerprint(table, key), aggregates.best_grade(table, reason)]
    queries = _by_query(table, key, counted)
    dataset = [name for name in key if name == "dataset"]
    judged = F.count_if(F.col("good") > 0).alias("queries")
    # If there is no dataset to group by, an empty table yields one row of totals, all null.
    rows = [row for row in queries.groupBy(*dataset).agg(*_totals(counted), judged).collect() if row["rows"]]
    by_dataset = {row["dataset"] if dataset else None: row["queries"] for row in rows if row["queries"]}
    return JudgmentCounts(
        sum(row["rows"] for row in rows),
        by_dataset,
        bad=sum(row["bad"] for row in rows),
        fingerprint=_fingerprint(rows),
        fingerprints=_fingerprints(rows, dataset),
        best_grade=max((row["best"] for row in rows if row["best"] is not None), default=None),
    )


def count_results(
    table: DataFrame,
    reason: Column,
    judged_queries: DataFrame | None,
    pruning: Pruning | None = None,
    further: Sequence[Aggregates] = (),
    batches: Sequence[Batch] = WHOLE,
) -> ResultCounts:
    """Counts of the results in one scan of each batch.

    `judged_queries` has one row per judged query; it is None if all queries count as judged.

    The queries of each run are counted as judged or unjudged, if at least one of their rows is good. With `pruning`,
    the counts also name the lists whose ranks cannot be trusted. The same scan computes the `further` aggregates.
    """
    counted = [*_of_results(table, reason), *further]
    if pruning:
        counted.append(aggregates.untrusted_lists(pruning, reason, dict(table.dtypes)))
    key = query_key(table.columns)
    lists = _by_query(table, ["run", *key], counted)
    return _counts_of([batch.of(lists) for batch in batches], key, counted, judged_queries)


def count_results_and_floors(
    table: DataFrame,
    reason: Column,
    judged_queries: DataFrame | None,
    floors: Floors,
    materialize: Callable[[Iterable[DataFrame]], DataFrame],
    batches: Sequence[Batch] = WHOLE,
) -> tuple[ResultCounts, DataFrame]:
    """The counts of `count_results`, and one row per list: run, the query's key and FLOOR, in one scan.

    `materialize` writes the batches to a place from which they are read twice.
    """
    counted = [*_of_results(table, reason), aggregates.floors_of_lists(floors, table, reason)]
    key = query_key(table.columns)
    of_lists = _by_query(table, ["run", *key], counted)
    lists = materialize(batch.of(of_lists) for batch in batches)
    return _counts_of([lists], key, counted, judged_queries), lists.select("run", *key, FLOOR)


def _of_results(table: DataFrame, reason: Column) -> list[Aggregates]:
    counted = [aggregates.row_counts(reason), aggregates.fingerprint(table, ["run", *query_key(table.columns)])]
    if "score" in table.columns:
        counted.append(aggregates.scores_of_lists(table, reason))
    return counted


def _counts_of(
    lists: Iterable[DataFrame], key: Sequence[str], counted: Sequence[Aggregates], judged_queries: DataFrame | None
) -> ResultCounts:
    """The counts of results from `lists`, which has the aggregates by run and query key."""
    rows = rows_of_runs(lists, key, judged_queries, _totals(counted))
    has_untrusted = any("untrusted" in each.totals for each in counted)
    return ResultCounts(
        sum(row["rows"] for row in rows),
        counts_of_runs(rows),
        bad=sum(row["bad"] for row in rows),
        fingerprint=_fingerprint(rows),
        fingerprints=_fingerprints(rows, key[:-1]),
        untrusted=_untrusted(rows) if has_untrusted else None,
    )


def breaches_of(name: str, table: DataFrame, reason: Column) -> list[Breach]:
    """One breach per rule that a row of the table breaks, in the order of the rules. Runs a Spark job."""
    names = [name for name in table.columns if name not in INTERNAL]
    example = example_of({name: shown_as(table, name) for name in names}, LINE if LINE in table.columns else None)
    bad = table.select(reason.alias("reason"), example.alias("example")).where(F.col("reason").isNotNull())
    rows = bad.groupBy("reason").agg(F.count("*").alias("rows"), F.min("example").alias("example")).collect()
    breaches = {row["reason"]: Breach(name, row["reason"], row["rows"], row["example"]) for row in rows}
    return [breaches[code] for code in RULES if code in breaches]


def count_runs(results: DataFrame, judged_queries: DataFrame, batches: Sequence[Batch]) -> list[RunCounts]:
    """The counts of every run of good results, for another set of judged queries. Runs a Spark job per batch."""
    key = query_key(results.columns)
    queries = results.groupBy("run", *key).agg(F.count("*").alias("good"))
    return counts_of_runs(rows_of_runs([batch.of(queries) for batch in batches], key, judged_queries))


def with_empty_runs(counts: ResultCounts, names: Iterable[tuple[str | None, str]]) -> ResultCounts:
    """The counts with the runs added, by dataset and name, that have no good row; these lack all queries.

    A run without a dataset, among results that have datasets, is added to each of them.
    """
    present = {run.run for run in counts.runs}
    datasets = list(dict.fromkeys(run.dataset for run in counts.runs))
    absent = [(dataset, run) for dataset, run in names if run not in present]
    empty = [
        RunCounts(each, run, 0, 0, 0)
        for dataset, run in absent
        for each in (datasets if dataset is None else [dataset])
    ]
    return dataclasses.replace(counts, runs=[*counts.runs, *empty]) if empty else counts


def of_the_same_runs(before: Iterable[RunCounts], after: Iterable[RunCounts]) -> list[RunCounts]:
    """The counts of `after` for each run of `before`; a run that has nothing left lacks all queries."""
    by_name = {(run.dataset, run.run): run for run in after}
    return [by_name.get((run.dataset, run.run), RunCounts(run.dataset, run.run, 0, 0, 0)) for run in before]


def rows_of_runs(
    batches: Iterable[DataFrame],
    key: Sequence[str],
    judged_queries: DataFrame | None,
    totals: Sequence[Column] = (),
) -> list[Row]:
    """One row per run, with these totals and what `counts_of_runs` needs. Runs a Spark job per batch.

    Each of the `batches` has one row per run and query key, with `good`, how many of its rows are good.
    """
    is_judged, has_rows = F.col("judged").isNotNull(), F.col("good") > 0
    of_runs = {
        "good_rows": F.sum("good"),
        "judged_queries": F.count_if(is_judged & has_rows),
        "unjudged_queries": F.count_if(~is_judged & has_rows),
        "unjudged_rows": F.sum(F.when(~is_judged, F.col("good")).otherwise(0)),
    }
    runs = [*totals, *(column.alias(name) for name, column in of_runs.items())]
    with_judged = (_with_judged(queries, key, judged_queries) for queries in batches)
    return [row for queries in with_judged for row in queries.groupBy("run", *key[:-1]).agg(*runs).collect()]


def _with_judged(queries: DataFrame, key: Sequence[str], judged_queries: DataFrame | None) -> DataFrame:
    """The queries with the column `judged`, null for unjudged ones; all are judged if `judged_queries` is None."""
    if judged_queries is None:
        return queries.withColumn("judged", F.lit(True))
    return queries.join(judged_queries.withColumn("judged", F.lit(True)), on=list(key), how="left")


def counts_of_runs(rows: Iterable[Row]) -> list[RunCounts]:
    """The counts of every run that has a good row, from rows of `rows_of_runs`."""
    names = ("run", "good_rows", "judged_queries", "unjudged_queries", "unjudged_rows")
    runs = []
    for row in (row.asDict() for row in rows if row["good_rows"]):
        # Only the first scan reads scores and ranks.
        of_lists = {name: row[name] for name in _LIST_COUNTS if row.get(name) is not None}
        runs.append(RunCounts(row.get("dataset"), *(row[name] for name in names), **of_lists))
    return runs


def shown_as(table: DataFrame, name: str) -> Column:
    """A column as text: a number as it was written, else the value; null if there is no such column."""
    written = WRITTEN.get(name)
    value = (F.col(name) if name in table.columns else F.lit(None)).cast("string")
    return F.coalesce(F.col(written), value) if written in table.columns else value


def example_of(texts: Mapping[str, Column], line: str | None = None) -> Column:
    """A row as `name=value` pairs, or the text of a line that is not a row, cut to fit a message."""
    parts = (F.concat(F.lit(f"{name}="), F.coalesce(text, F.lit("null"))) for name, text in texts.items())
    row = F.concat_ws(" ", *parts)
    return F.substring(F.coalesce(line, row) if line else row, 1, _EXAMPLE_LENGTH)


def _untrusted(rows: Iterable[Row]) -> Untrusted:
    """The untrusted lists of the runs that have a good row; others have no name."""
    return untrusted_of((row["run"], row["untrusted"], row["untrusted_lists"]) for row in rows if row["good_rows"])


def _by_query(table: DataFrame, key: Sequence[str], counted: Sequence[Aggregates]) -> DataFrame:
    """One row per query: its key as text, the aggregates by query, and `good`, how many rows break no rule."""
    # Ids may have been read as numbers, and some engines cast text to a number to compare the two.
    ids = (F.col(name).cast("string").alias(name) for name in key)
    rows = table.select(*ids, *(column.alias(name) for each in counted for name, column in each.columns.items()))
    by_query = (column.alias(name) for each in counted for name, column in each.by_query.items())
    queries = rows.groupBy(*key).agg(*by_query)
    good = F.col("rows") - F.col("bad")
    return queries.withColumns({"good": good, "hash": F.xxhash64(*key, "rows", "hash")})


def _totals(counted: Sequence[Aggregates]) -> list[Column]:
    return [column.alias(name) for each in counted for name, column in each.totals.items()]


def _fingerprint(rows: Sequence[Row]) -> str:
    """The sums of both halves of all queries' hashes, each modulo 2^32, as 16 hexadecimal digits."""
    return "".join(f"{sum(row[half] for row in rows) & LOW:08x}" for half in ("high", "low"))


def _fingerprints(rows: Sequence[Row], dataset: Sequence[str]) -> dict[str | None, str]:
    """The fingerprint of each dataset's rows; `dataset` is empty where the table names none."""
    of_dataset: dict[str | None, list[Row]] = {}
    for row in rows:
        of_dataset.setdefault(row["dataset"] if dataset else None, []).append(row)
    return {name: _fingerprint(own) for name, own in of_dataset.items()}

"""What both tables contain, each counted in one scan: rows, rows that break a rule, queries, and a fingerprint."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from ndcg_spark.contract import asking
from ndcg_spark.contract.asking import LOW, Question
from ndcg_spark.contract.counts import Breach, JudgmentCounts, ResultCounts, RunCounts
from ndcg_spark.rules import RULES
from ndcg_spark.schemas import INTERNAL, LINE, WRITTEN, query_key
from ndcg_spark.scoring.floors import FLOOR, Floors
from ndcg_spark.scoring.pruning import Pruning, Untrusted, untrusted_of

_EXAMPLE_LENGTH = 200
#: What RunCounts has of the scores and ranks of lists.
_OF_LISTS = (
    *("lists", "tied_lists", "counting_lists", "largest_score"),
    *("ranked_lists", "reversed_lists", "repeated_lists"),
)


def count_judgments(table: DataFrame, reason: Column) -> JudgmentCounts:
    """Counts of the judgments in one scan; `reason` is the code of the rule that a row breaks, else null. An action."""
    key = query_key(table.columns)
    questions = [asking.row_counts(reason), asking.fingerprint(table, key), asking.grades(table, reason)]
    queries = _by_query(table, key, questions)
    dataset = [name for name in key if name == "dataset"]
    judged = F.count_if(F.col("good") > 0).alias("queries")
    # Without a dataset to group by, a table without rows has one row of totals, all null.
    rows = [row for row in queries.groupBy(*dataset).agg(*_totals(questions), judged).collect() if row["rows"]]
    by_dataset = {row["dataset"] if dataset else None: row["queries"] for row in rows if row["queries"]}
    known = [row for row in rows if row["best"] is not None]
    return JudgmentCounts(
        sum(row["rows"] for row in rows),
        by_dataset,
        bad=sum(row["bad"] for row in rows),
        fingerprint=_fingerprint(rows),
        fingerprints=_fingerprints(rows, dataset),
        best_grade=max((row["best"] for row in known), default=None),
        grades={row["dataset"] if dataset else None: (row["worst"], row["best"]) for row in known},
    )


def count_results(
    table: DataFrame,
    reason: Column,
    judged_queries: DataFrame,
    pruning: Pruning | None = None,
    further: Sequence[Question] = (),
) -> ResultCounts:
    """Counts of the results in one scan; `judged_queries` has one row per judged query. An action.

    The queries of each run are counted as judged or unjudged, if at least one of their rows is good. With `pruning`,
    the counts also name the lists whose ranks cannot be trusted. `further` questions are answered by the same scan.
    """
    questions = [*_about_results(table, reason), *further]
    if pruning:
        questions.append(asking.untrusted_lists(pruning, reason, dict(table.dtypes)))
    key = query_key(table.columns)
    return _counts_of(_by_query(table, ["run", *key], questions), key, questions, judged_queries)


def count_results_and_floors(
    table: DataFrame,
    reason: Column,
    judged_queries: DataFrame,
    floors: Floors,
    materialize: Callable[[DataFrame], DataFrame],
) -> tuple[ResultCounts, DataFrame]:
    """The counts of `count_results`, and one row per list: run, the query's key and FLOOR. One scan. An action.

    `materialize` writes a table to a place from which it is read twice.
    """
    questions = [*_about_results(table, reason), asking.floors_of(floors, table, reason)]
    key = query_key(table.columns)
    lists = materialize(_by_query(table, ["run", *key], questions))
    return _counts_of(lists, key, questions, judged_queries), lists.select("run", *key, FLOOR)


def _about_results(table: DataFrame, reason: Column) -> list[Question]:
    questions = [asking.row_counts(reason), asking.fingerprint(table, ["run", *query_key(table.columns)])]
    if "score" in table.columns:
        questions.append(asking.scores_of_lists(table, reason))
    return questions


def _counts_of(
    lists: DataFrame, key: Sequence[str], questions: Sequence[Question], judged_queries: DataFrame
) -> ResultCounts:
    """The counts of results whose `questions` are answered in `lists`, which has one row per run and query key."""
    judged = judged_queries.withColumn("judged", F.lit(True))
    queries = lists.join(judged, on=list(key), how="left")
    rows = queries.groupBy("run", *key[:-1]).agg(*_totals(questions), *totals_of_runs()).collect()
    asked = {name for question in questions for name in question.of_totals}
    return ResultCounts(
        sum(row["rows"] for row in rows),
        counts_of_runs(rows),
        bad=sum(row["bad"] for row in rows),
        fingerprint=_fingerprint(rows),
        fingerprints=_fingerprints(rows, key[:-1]),
        untrusted=_untrusted(rows) if "untrusted" in asked else None,
    )


def breaches_of(name: str, table: DataFrame, reason: Column) -> list[Breach]:
    """One breach per rule that a row of the table breaks, in the order of the rules. An action."""
    names = [name for name in table.columns if name not in INTERNAL]
    example = example_of({name: shown_as(table, name) for name in names}, LINE if LINE in table.columns else None)
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


def with_empty_runs(counts: ResultCounts, names: Sequence[tuple[str | None, str]]) -> ResultCounts:
    """The counts with those runs, named by dataset and run, of which no good row arrived; they lack all queries.

    A name without a dataset, among results that have datasets, is of each of them.
    """
    known = {run.run for run in counts.runs}
    datasets = list(dict.fromkeys(run.dataset for run in counts.runs))
    absent = [(dataset, run) for dataset, run in names if run not in known]
    empty = [
        RunCounts(each, run, 0, 0, 0)
        for dataset, run in absent
        for each in (datasets if dataset is None else [dataset])
    ]
    return dataclasses.replace(counts, runs=[*counts.runs, *empty]) if empty else counts


def of_the_same_runs(before: Iterable[RunCounts], left: Iterable[RunCounts]) -> list[RunCounts]:
    """What is left of each run; a run that has nothing left stays, and lacks all queries."""
    by_name = {(run.dataset, run.run): run for run in left}
    return [by_name.get((run.dataset, run.run), RunCounts(run.dataset, run.run, 0, 0, 0)) for run in before]


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
            # Only the first scan looks at scores and ranks.
            looked_at = {name: own[name] for name in _OF_LISTS if own.get(name) is not None}
            found.append(dataclasses.replace(counts, **looked_at))
    return found


def shown_as(table: DataFrame, name: str) -> Column:
    """A column as text: what was written where a number was, else the value."""
    written = WRITTEN.get(name)
    value = F.col(name).cast("string")
    return F.coalesce(F.col(written), value) if written in table.columns else value


def example_of(texts: Mapping[str, Column], line: str | None = None) -> Column:
    """A row as `name=value` pairs, or the text of a line that could not be read as a row, cut to fit a message."""
    parts = (F.concat(F.lit(f"{name}="), F.coalesce(text, F.lit("null"))) for name, text in texts.items())
    row = F.concat_ws(" ", *parts)
    return F.substring(F.coalesce(line, row) if line else row, 1, _EXAMPLE_LENGTH)


def _untrusted(rows: Iterable[Row]) -> Untrusted:
    """The untrusted lists of the runs that have a good row; others have no name."""
    return untrusted_of((row["run"], row["untrusted"], row["untrusted_lists"]) for row in rows if row["good_rows"])


def _by_query(table: DataFrame, key: Sequence[str], questions: Sequence[Question]) -> DataFrame:
    """One row per query: its key as text, the questions' sums over its rows, and `good`, how many break no rule."""
    # Ids may be numbers as they were read. Beside text, some engines would take the text for a number.
    ids = (F.col(name).cast("string").alias(name) for name in key)
    rows = table.select(*ids, *(column.alias(name) for q in questions for name, column in q.of_rows.items()))
    asked = (column.alias(name) for q in questions for name, column in q.of_queries.items())
    queries = rows.groupBy(*key).agg(*asked)
    good = F.col("rows") - F.col("bad")
    return queries.withColumns({"good": good, "hash": F.xxhash64(*key, "rows", "hash")})


def _totals(questions: Sequence[Question]) -> list[Column]:
    return [column.alias(name) for question in questions for name, column in question.of_totals.items()]


def _fingerprint(rows: Sequence[Row]) -> str:
    """The sums of both halves of all queries' hashes, each modulo 2^32, as 16 hexadecimal digits."""
    return "".join(f"{sum(row[half] for row in rows) & LOW:08x}" for half in ("high", "low"))


def _fingerprints(rows: Sequence[Row], dataset: Sequence[str]) -> dict[str | None, str]:
    """The fingerprint of each dataset's rows; `dataset` is empty where the table names none."""
    of_dataset: dict[str | None, list[Row]] = {}
    for row in rows:
        of_dataset.setdefault(row["dataset"] if dataset else None, []).append(row)
    return {name: _fingerprint(own) for name, own in of_dataset.items()}

"""How the comparison of two sets of judgments is printed."""

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.types import LongType, StringType, StructType

from ndcg_spark.agreement.dead_judgments import DeadJudgments, dead_in_words, dead_judgments
from ndcg_spark.nights.log import committed, read_again_if_replaced
from ndcg_spark.nights.select import select_nights
from ndcg_spark.report.console import print_result
from ndcg_spark.report.night_data import headline
from ndcg_spark.schemas import AGREEMENTS, RANKED_RUNS, SWAPPED_RUNS, UNRETURNED_DOCUMENTS
from ndcg_spark.tables.table import TextTable, counted, name, number, rounded, shortest, text_table

Rows = Sequence[dict[str, Any]]
#: How many of the queries that agree least are shown.
_LEAST = 20
_ALONE = "p values are of one pair of runs alone; where many pairs swap, some are below 0.05 by chance"


def print_judgments(found: Mapping[str, pa.Table], style: str) -> None:
    """Print a comparison of judgments. CSV has the rows of AGREEMENTS alone, JSON every table."""
    rows = {table: found[table].to_pylist() for table in found}
    print_result(style, lambda: _tables(**rows), lambda: rows, AGREEMENTS.names, rows["agreements"])


def print_dead_judgments(output: str, date: str | None, most: int, style: str) -> None:
    """Print the dead judgments of a night, by its headline. CSV has the rows of UNRETURNED_DOCUMENTS alone."""

    def read() -> list[DeadJudgments]:
        known = committed(output)
        nights = select_nights(known, output, date)
        return [dead_judgments(night, known, *headline(night, None), most) for night in nights]

    found = read_again_if_replaced(read)
    rows = [row for each in found for row in each.unreturned]
    notes = [dead_in_words(each) for each in found]
    print_result(
        style,
        lambda: [_table(UNRETURNED_DOCUMENTS, rows, "relevant documents that no run returned", notes)],
        lambda: [dataclasses.asdict(each) for each in found],
        UNRETURNED_DOCUMENTS.names,
        rows,
    )


def _tables(agreements: Rows, grade_pairs: Rows, ranked_runs: Rows, swapped_runs: Rows) -> list[TextTable]:
    whole = [row for row in agreements if row["query_id"] is None]
    of_queries = (row for row in agreements if row["query_id"] is not None and row["measure"] == "agreement")
    least = sorted((row for row in of_queries if row["pairs"]), key=lambda row: (row["value"], -row["pairs"]))
    tables = [_table(AGREEMENTS, whole, "agreement on all queries, with 95 % intervals")]
    tables += [_matrix(each, grade_pairs) for each in dict.fromkeys(row["dataset"] for row in whole)]
    tables.append(_table(AGREEMENTS, least[:_LEAST], "queries that agree least"))
    if ranked_runs:
        tables.append(_table(RANKED_RUNS, ranked_runs, "runs under A and B"))
        surest = sorted(swapped_runs, key=lambda row: max(row["p_value_a"] or 0, row["p_value_b"] or 0))
        tables.append(_table(SWAPPED_RUNS, surest, f"pairs of runs that swap: {len(surest):,}", [_ALONE]))
    return tables


def _table(schema: StructType, rows: Rows, title: str, notes: Sequence[str] = ()) -> TextTable:
    """The columns that have a value, and the dataset if there are several."""
    several = len({row["dataset"] for row in rows}) > 1
    fields = [field for field in schema if any(row[field.name] is not None for row in rows)]
    columns = [
        name(field.name.replace("_", " "))
        if field.dataType == StringType()
        else number(field.name.replace("_", " "), form=counted if field.dataType == LongType() else rounded)
        for field in fields
        if several or field.name != "dataset"
    ]
    return text_table(columns, rows, notes, title=title)


def _matrix(dataset: str, pairs: Rows) -> TextTable:
    """The documents of a dataset by grade in A (rows) and in B (columns); unjudged comes last."""
    counts: dict[Any, dict[Any, int]] = {}
    for row in pairs:
        if row["dataset"] == dataset:
            of_grade = counts.setdefault(row["grade_a"], {})
            of_grade[row["grade_b"]] = of_grade.get(row["grade_b"], 0) + row["pairs"]
    grades = sorted({*counts, *(grade for row in counts.values() for grade in row)}, key=lambda x: (x is None, x or 0))
    rows = [{"A": one, **{other: counts.get(one, {}).get(other, 0) for other in grades}} for one in grades]
    columns = [number(f"B {_grade(each)}", operator.itemgetter(each), counted) for each in grades]
    return text_table([name("A", form=_grade), *columns], rows, title=f"documents of {dataset} by grade", is_whole=True)


def _grade(grade: float | None) -> str:
    return "unjudged" if grade is None else shortest(grade)

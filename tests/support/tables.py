"""Builders of small tables: a row names only what its test is about."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from chispa import assert_approx_df_equality
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ndcg_spark import sql

Row = dict[str, Any]

KINDS = {
    "string": pa.string(),
    "double": pa.float64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
}


def judgment(
    doc_id: str = "d1", relevance: float | None = 1.0, query_id: str | None = "q1", **more: Any
) -> Row:
    return {"query_id": query_id, "doc_id": doc_id, "relevance": relevance, **more}


def result(
    doc_id: str = "d1",
    score: float | None = 1.0,
    query_id: str | None = "q1",
    run: str | None = "r",
    **more: Any,
) -> Row:
    return {"run": run, "query_id": query_id, "doc_id": doc_id, "score": score, **more}


JUDGMENTS = "query_id string, doc_id string, relevance double"
RESULTS = "run string, query_id string, doc_id string, score double"
#: As text is read.
JUDGMENTS_READ, RESULTS_READ = (
    JUDGMENTS.replace("double", "string"),
    RESULTS.replace("double", "string"),
)


def judgments(session: SparkSession, rows: Iterable[Row]) -> DataFrame:
    return table(session, rows, JUDGMENTS)


def results(session: SparkSession, rows: Iterable[Row]) -> DataFrame:
    return table(session, rows, RESULTS)


def table(session: SparkSession, rows: Iterable[Row], columns: str) -> DataFrame:
    """The rows with these columns, and dataset and rank if the first row has them."""
    listed = list(rows)
    # Of Arrow, not of rows: for rows Spark starts Python workers, whenever the plan is run.
    return (
        session.createDataFrame(arrow(listed, columns))
        if listed
        else session.createDataFrame([], columns)
    )


def of_tuples(session: SparkSession, rows: Iterable[Sequence[Any]], columns: str) -> DataFrame:
    """The rows, by the types of the columns, which may be nested; of Arrow, as in `table`."""
    listed = list(rows)
    if not listed:
        return session.createDataFrame([], columns)
    schema = to_arrow_schema(StructType.fromDDL(columns))
    arrays = []
    for at, field in enumerate(schema):
        arrays.append(pa.array([row[at] for row in listed], field.type))
    return session.createDataFrame(pa.table(arrays, schema=schema))


def assert_rows(frame: DataFrame, *rows: tuple[Any, ...]) -> None:
    """The table has these rows, in the order of its columns, in any order, and with doubles to 1e-12."""
    table = frame.toArrow()
    values = [
        pa.array([row[at] for row in rows], field.type) for at, field in enumerate(table.schema)
    ]
    # The embedded engine does not sort exploded rows by what comes after the key that they were grouped by.
    tables = map(frame.sparkSession.createDataFrame, (table, pa.table(values, table.schema.names)))
    assert_approx_df_equality(*tables, 1e-12, ignore_nullable=True, ignore_row_order=True)


def assert_table(found: DataFrame, columns: str, *rows: tuple[Any, ...]) -> None:
    """These columns of the table have the types and the rows that are declared."""
    expected = of_tuples(found.sparkSession, rows, columns)
    assert_tables(found.select(expected.columns), expected)


def assert_values(session: SparkSession, kind: str, cases: Mapping[str, tuple[Any, ...]]) -> None:
    """Each case, by its name, is a text of SQL and its value, and perhaps the columns that the text is about.

    All are one table, so that they cost one job.
    """
    selects = []
    for name, (text, _, *columns) in cases.items():
        row = f"select {', '.join(columns) or '1'}"
        selects.append(f"select {sql.text(name)} as name, {text} as value from ({row})")  # noqa: S608
    found = session.sql(" union all ".join(selects))
    rows = [{"name": name, "value": case[1]} for name, case in cases.items()]
    expected = table(session, rows, f"name string, value {kind}")
    assert_tables(found, expected)


def assert_truths(
    session: SparkSession, predicate: Callable[[str], str], given: Mapping[str, bool]
) -> None:
    """Each text of SQL, as the predicate's argument, is true or false."""
    cases = {text: (predicate(text), is_true) for text, is_true in given.items()}
    assert_values(session, "boolean", cases)


def assert_tables(found: DataFrame, expected: DataFrame) -> None:
    """The rows are the same, in any order, with doubles to 1e-12; NaN is NaN."""
    assert_approx_df_equality(
        found,
        expected,
        1e-12,
        ignore_nullable=True,
        ignore_row_order=True,
        allow_nan_equality=True,
    )


def arrow_judgments(*rows: Row) -> pa.Table:
    return arrow(rows, JUDGMENTS)


def arrow_results(*rows: Row) -> pa.Table:
    return arrow(rows, RESULTS)


def arrow(rows: Iterable[Row], columns: str) -> pa.Table:
    listed = list(rows)
    more = {"dataset": "string", "rank": "int"}
    names = columns + "".join(
        f", {name} {kind}" for name, kind in more.items() if listed and name in listed[0]
    )
    arrays = {}
    for name, kind in (column.split() for column in names.split(", ")):
        values = [row[name] for row in listed]
        arrays[name] = pa.array(
            [None if v is None else str(v) for v in values] if kind == "string" else values,
            KINDS[kind],
        )
    return pa.table(arrays)


def graded_list(grades: Iterable[float], query_id: str = "q1") -> tuple[list[Row], list[Row]]:
    """Judgments and results of a query whose returned documents have these grades, in this order."""
    documents = {f"d{place:02}": float(grade) for place, grade in enumerate(grades)}
    return (
        [judgment(doc, grade, query_id) for doc, grade in documents.items()],
        [result(doc, float(-place), query_id) for place, doc in enumerate(documents)],
    )


def random_rows(queries: int, ranks_repeat: bool = True) -> Iterator[Row]:
    """Lists with ranks in the order of their scores, almost, or not at all; scores tie, and ranks but 1 may too."""
    chance = random.Random(5)  # noqa: S311  # it makes test data
    for number in range(queries):
        scores = sorted(
            (
                chance.choice([-1.0, -0.0, 0.0, 0.5, 2.0, 3.0, 4.0])
                for _ in range(chance.randint(1, 6))
            ),
            reverse=True,
        )
        ranks = list(range(1, len(scores) + 1))
        if chance.random() < 0.3:
            ranks[chance.randrange(len(ranks))] = chance.randint(2, 7) if ranks_repeat else 9
        if chance.random() < 0.2:
            chance.shuffle(ranks)
        names = chance.sample("abcdefgh", len(scores))
        yield from (
            result(d, s, f"q{number}", rank=r) for d, s, r in zip(names, scores, ranks, strict=True)
        )

"""Tables brought into their schemas: values, columns and types."""

import functools

import pyarrow as pa
import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame
from tables import judgment, judgments

from ndcg_spark.errors import InputError
from ndcg_spark.rules import conform
from ndcg_spark.schemas import FAULT, JUDGMENTS, RESULTS

PLAIN = {
    "run": "'r'",
    "query_id": "text",
    "doc_id": "'d'",
    "relevance": "0D",
    "score": "0D",
    "rank": "1",
}
LONG = ["0.412345678901234567", "-0.000000000000000001", "12345678901234567890.123456789012345678"]


#: Of each column, the types that it may be stored in, and what texts are that are cast to them.
VALUES = {
    "doc_id": {
        "string": {"007": "007", "é": "é"},
        "bigint": {"7": "7"},
        "decimal(20,0)": {"18446744073709551615": "18446744073709551615"},
    },
    "relevance": {
        "string": {
            "2": 2.0,
            " 0.5 ": 0.5,
            "2e1": 2e1,
            "+1.5": 1.5,
            ".5": 0.5,
            "-2.": -2.0,
            # Some engines read the first four as numbers.
            **dict.fromkeys(["1d", "0x1p3", "1f", "1_0", "", "high", "1,5"]),
            "-1e-400": 0.0,
            "-0": 0.0,
        },
        "decimal(38,18)": {text: float(text) for text in LONG},
    },
    "score": {
        "tinyint": {"2": 2.0},
        "bigint": {"2": 2.0},
        "double": {"-0.0": 0.0},
        "float": {"2": 2.0, "-0.0": 0.0},
        "decimal(9,2)": {"2": 2.0, "-0.0": 0.0},
    },
    "rank": {
        "string": {"3": 3, "4.0": 4, "2.7": None, "2147483648": None, "first": None},
        "double": {"3": 3, "2.7": None, "2147483648": None},
    },
}


@pytest.mark.parametrize("column", VALUES)
def test_values(session, column):
    typed = []
    for kind, values in VALUES[column].items():
        texts = session.createDataFrame(pa.table({"text": [*values]}))
        columns = PLAIN | {column: f"cast(text as {kind})"}
        stored = texts.selectExpr(*(f"{sql} as {name}" for name, sql in columns.items()))
        rows = conform(stored, JUDGMENTS if column == "relevance" else RESULTS)
        typed.append(rows.selectExpr(f"'{kind}' as kind", "query_id", column))
    found = {kind: {} for kind in VALUES[column]}
    for row in functools.reduce(DataFrame.unionAll, typed).collect():
        found[row["kind"]][row["query_id"]] = row[column]
    # The text of a number shows the sign of zero.
    assert repr(found) == repr(VALUES[column])


def test_columns_have_the_schemas_order_and_a_null_of_no_type_any(session):
    table = session.sql("select null relevance, 'd' doc_id, 'web' dataset, 'q' query_id, 1 other")
    expected = session.sql(
        "select 'web' dataset, 'q' query_id, 'd' doc_id, cast(null as double) relevance"
    )
    assert_df_equality(conform(table, JUDGMENTS), expected, ignore_nullable=True)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            "query_id doc_id grade",
            r"^1 column\(s\) missing, relevance; it has doc_id, grade, query_id",
        ),
        (
            f"query_id {FAULT}",
            r"2 column\(s\) missing, doc_id, relevance; it has query_id; rename its columns",
        ),
        ("query_id doc_id relevance RELEVANCE x X", r"e\.g\. relevance and RELEVANCE; rename them"),
    ],
)
def test_columns_that_are_refused(session, columns, words):
    table = session.createDataFrame(pa.table({name: ["1"] for name in columns.split()}))
    with pytest.raises(InputError, match=words):
        conform(table, JUDGMENTS)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("doc_id", "double"),
        ("doc_id", "boolean"),
        ("relevance", "date"),
        ("relevance", "array<double>"),
    ],
)
def test_types_that_are_refused(session, column, kind):
    table = judgments(session, [judgment()])
    table = table.selectExpr(
        *(f"cast(null as {kind}) as {name}" if name == column else name for name in table.columns)
    )
    with pytest.raises(
        InputError, match=rf"1 column\(s\) of the wrong type, {column} is {kind}; ids are text"
    ):
        conform(table, JUDGMENTS)

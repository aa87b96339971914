"""One column in different types in several files or tables: the same scores and fingerprint as in one type."""

from decimal import Decimal

import checked
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from input_files import written

from ndcg_spark import config
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import source_tables
from ndcg_spark.inputs.dataframes import frame
from ndcg_spark.inputs.memory import to_arrow
from ndcg_spark.schemas import RESULTS

#: A decimal of which a cast makes another double than its text.
TIED = Decimal("0.0996")
FRACTIONS = {
    "double": pa.array([float(TIED)]),
    "decimal": pa.array([TIED], pa.decimal128(10, 4)),
    "wide decimal": pa.array([TIED], pa.decimal128(38, 20)),
    "wider decimal": pa.array([TIED], pa.decimal256(60, 30)),
    "text": pa.array([str(TIED)]),
    "categories": pa.array([str(TIED)]).dictionary_encode(),
}
WHOLE = {
    "int": pa.array([2], pa.int32()),
    "bigint": pa.array([2], pa.int64()),
    "unsigned": pa.array([2], pa.uint64()),
    "float": pa.array([2.0], pa.float32()),
    "half": pa.array(np.array([2.0], np.float16)),
    "double": pa.array([2.0]),
    "decimal": pa.array([Decimal(2)], pa.decimal128(10, 4)),
    "text": pa.array(["2"]),
}
IDS = {
    "int": pa.array([7], pa.int32()),
    "bigint": pa.array([7], pa.int64()),
    "unsigned": pa.array([7], pa.uint64()),
    "decimal": pa.array([Decimal(7)], pa.decimal128(20, 0)),
    "text": pa.array(["7"]),
    "large text": pa.array(["7"], pa.large_string()),
}
QUERIES = ["q", "7", "q0", "q1", "p"]
GRADED = [{"query_id": QUERIES, "doc_id": ["a"] * 5, "relevance": [1.0] * 5}]


def result(document, **columns):
    """A row of results."""
    return {"query_id": ["q"], "doc_id": [document], "score": [1.0], **columns}


@pytest.fixture
def fingerprints(engine, tmp_path):
    """Writes tables as files of judgments and of results, and takes their fingerprints."""

    def taken(judgments, results):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        settings = {"results": {"run": "r"}, "judgments": {}}
        for name, tables in (("judgments", judgments), ("results", results)):
            settings[name]["path"] = str(folder / name)
            for number, table in enumerate(tables):
                written(folder / name / f"{number}.parquet", table)
        wanted = config.validate(settings, "test")
        sources = (
            source_tables.read_judgments(engine, wanted.judgments),
            source_tables.read_results(engine, wanted.results),
        )
        tables = checked.check_tables(*sources, wanted)
        return tables.judgment_counts.fingerprint, tables.result_counts.fingerprint

    return taken


@pytest.mark.embedded
@pytest.mark.parametrize(
    "kinds", [("double", "decimal"), ("decimal", "wide decimal", "wider decimal"), tuple(FRACTIONS)]
)
def test_fractions_of_several_types_are_those_of_one(fingerprints, kinds):
    mixed = [result(kind, score=FRACTIONS[kind]) for kind in kinds]
    alike = [result(kind, score=FRACTIONS["double"]) for kind in kinds]
    assert fingerprints(GRADED, mixed) == fingerprints(GRADED, alike)


NO_TEXT = tuple(kind for kind in WHOLE if kind != "text")


@pytest.mark.embedded
@pytest.mark.parametrize("column", ["relevance", "score", "rank"])
@pytest.mark.parametrize(
    "kinds", [("int", "decimal"), ("int", "bigint"), ("bigint", "unsigned"), NO_TEXT, tuple(WHOLE)]
)
def test_whole_numbers_of_several_types_are_those_of_one(fingerprints, column, kinds):
    def taken(stored):
        rows = [
            {"doc_id": [kind], column: WHOLE[name]}
            for kind, name in zip(kinds, stored, strict=True)
        ]
        if column == "relevance":
            return fingerprints([{"query_id": ["q"], **row} for row in rows], [result("a")])
        return fingerprints(GRADED, [result("a", **row) for row in rows])

    assert taken(kinds) == taken(["double"] * len(kinds))


@pytest.mark.embedded
@pytest.mark.parametrize("column", ["query_id", "doc_id"])
@pytest.mark.parametrize(
    "kinds", [("int", "decimal"), ("bigint", "text"), ("unsigned", "decimal"), tuple(IDS)]
)
def test_ids_of_several_types_are_their_text(fingerprints, column, kinds):
    def taken(stored):
        rows = [{"score": [float(at)], column: IDS[kind]} for at, kind in enumerate(stored)]
        return fingerprints(GRADED, [result("a", **row) for row in rows])

    assert taken(kinds) == taken(["text"] * len(kinds))


#: A whole number that lies between two doubles.
LARGE = 2**53 + 1


@pytest.mark.embedded
@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.decimal128(20, 0), pa.string()])
def test_a_large_whole_number_beside_a_fraction_is_the_nearest_double(fingerprints, kind):
    def taken(value):
        return fingerprints(GRADED, [result("a", score=value), result("b", score=[0.5])])

    assert taken(pa.array([LARGE]).cast(kind)) == taken([float(LARGE)])


@pytest.mark.embedded
def test_lists_of_two_types_are_read_as_those_of_one(fingerprints):
    def taken(kinds):
        tables = []
        for at, kind in enumerate(kinds):
            scores = FRACTIONS[kind].take(pa.array([0, 0]))
            ids = pa.array([[], [f"d{at}", "e"]])
            lists = pa.ListArray.from_arrays([0, 0, 2], scores)
            tables.append({"query_id": ["p", f"q{at}"], "doc_id": ids, "score": lists})
        return fingerprints(GRADED, tables)

    assert taken(["double", "decimal"]) == taken(["double", "double"])


@pytest.mark.embedded
def test_structs_of_two_types_are_read_as_those_of_one(fingerprints):
    def taken(ids, kinds):
        tables = []
        for at, (document, kind) in enumerate(zip(ids, kinds, strict=True)):
            # A note is a number in one file and text in the other.
            fields = [IDS[document], FRACTIONS[kind], pa.array([at] if at else ["x"])]
            items = pa.StructArray.from_arrays(fields, ["doc_id", "score", "note"])
            tables.append(
                {"query_id": [f"q{at}"], "items": pa.ListArray.from_arrays([0, 1], items)}
            )
        return fingerprints(GRADED, tables)

    assert taken(["text", "decimal"], ["double", "decimal"]) == taken(["text"] * 2, ["double"] * 2)


WRONG = {
    "ids that are fractions": ({"doc_id": pa.array([7.0])}, "doc_id is string and double"),
    "a score that is true": ({"score": pa.array([True])}, "score is double and bool"),
    "a list": ({"score": pa.array([[1.0]])}, "score is double and list"),
}


@pytest.mark.embedded
@pytest.mark.parametrize("name", WRONG)
def test_types_that_one_column_cannot_have_are_refused(fingerprints, name):
    column, words = WRONG[name]
    with pytest.raises(InputError, match=f"files with different types: {words}.*; use one type"):
        fingerprints(GRADED, [result("a"), result("b", **column)])


def test_text_that_is_no_number_is_shown_as_it_is(engine, tmp_path):
    for number, score in enumerate(([1.0], ["high"])):
        written(tmp_path / "results" / f"{number}.parquet", result("a", score=score))
    written(tmp_path / "judgments.parquet", GRADED[0])
    paths = {"judgments": f"{tmp_path}/judgments.parquet", "results": f"{tmp_path}/results"}
    checked.is_as_expected(checked.check(engine, paths), "1 score.*score=high")


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pa.table, pl.DataFrame], ids=["pandas", "arrow", "polars"]
)
def test_tables_of_runs_keep_every_number(make):
    ids = {"query_id": ["q"], "doc_id": ["a"]}
    runs = {
        "decimal": make({**ids, "score": [TIED]}),
        "double": make({**ids, "score": [float(TIED)]}),
        "large": make({**ids, "score": [LARGE]}),
    }
    scores = to_arrow(runs, RESULTS.names)["score"].to_pylist()
    assert scores == [float(TIED), float(TIED), float(LARGE)]


def test_dataframes_of_runs_keep_every_number(session):
    values = {
        "decimal": (pa.array([TIED], pa.decimal128(10, 4)), float(TIED)),
        "double": (pa.array([float(TIED)]), float(TIED)),
        "text": (pa.array([str(TIED)]), float(TIED)),
        "float": (pa.array([0.5], pa.float32()), 0.5),
        "large": (pa.array([2**24 + 1]), 2.0**24 + 1),
    }
    runs = {}
    for name, (value, _) in values.items():
        runs[name] = session.createDataFrame(pa.table(result("a", score=value)))
    rows = frame(runs, RESULTS, session).select("run", "score").collect()
    assert dict(rows) == {name: number for name, (_, number) in values.items()}


def test_a_dataframe_of_a_run_whose_ids_are_fractions_is_refused(session):
    runs = {"r": session.createDataFrame(pa.table(result(7.5)))}
    with pytest.raises(
        InputError, match=r"run 'r': 1 column\(s\) of the wrong type, doc_id is double"
    ):
        frame(runs, RESULTS, session)

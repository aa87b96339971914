"""Tables of Parquet and ORC: the types that they are stored with, and those that an engine cannot read."""

import decimal

import pyarrow as pa
import pytest
from input_files import judged
from pyarrow import orc
from pyarrow import parquet as pq

from ndcg_spark.casting import conform
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import stored
from ndcg_spark.inputs.memory import is_readable
from ndcg_spark.schemas import JUDGMENTS


@pytest.mark.parametrize(("kind", "write"), [("parquet", pq.write_table), ("orc", orc.write_table)])
def test_typed_files_keep_the_types_they_were_stored_with(engine, tmp_path, kind, write):
    write(pa.table({"doc_id": ["007"], "query_id": [7], "relevance": [1.5], "by": ["ann"]}), tmp_path / f"a.{kind}")
    source = judged(engine, tmp_path / f"a.{kind}")
    assert source.format == kind
    assert source.table.dtypes == [("query_id", "bigint"), ("doc_id", "string"), ("relevance", "double")]
    assert source.table.collect() == [(7, "007", 1.5)]


def test_categories_and_small_floats_of_parquet_are_plain_values(engine, tmp_path):
    columns = {
        "query_id": pa.array([7, 7]).dictionary_encode(),
        "doc_id": pa.array(["d1", None]).dictionary_encode(),
        "relevance": pa.array([1.5, 2.0], pa.float16()),
        "by": pa.array([1, 2], pa.duration("s")),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert judged(engine, tmp_path / "a.parquet").table.collect() == [(7, "d1", 1.5), (7, None, 2.0)]


#: Types that some engine cannot read, in columns that nobody wants.
UNREAD = {
    "pandas' dates": pa.array([1], pa.timestamp("ns", "UTC")),
    "dates within a list": pa.array([[1]], pa.list_(pa.timestamp("ns"))),
    "times of day in nanoseconds": pa.array([1], pa.time64("ns")),
    "times of day": pa.array([1], pa.time32("ms")),
    "small floats within a struct": pa.StructArray.from_arrays([pa.array([1.0], pa.float16())], ["x"]),
    "categories within a struct": pa.StructArray.from_arrays([pa.array(["a"]).dictionary_encode()], ["x"]),
    "wide decimals": pa.array([decimal.Decimal(1)], pa.decimal256(60, 18)),
}


@pytest.mark.parametrize("name", UNREAD)
def test_a_column_that_nobody_wants_may_be_of_any_type(engine, tmp_path, name):
    pq.write_table(pa.table({"query_id": ["q"], "doc_id": ["d"], "by": UNREAD[name]}), tmp_path / "a.parquet")
    assert judged(engine, tmp_path / "a.parquet").table.collect() == [("q", "d")]


def test_an_engine_is_given_no_type_that_some_cannot_read():
    assert not any(is_readable(column.type) for column in UNREAD.values())


def test_a_wide_decimal_is_the_nearest_double(engine, tmp_path):
    grades = pa.array([decimal.Decimal("1234567890123456789012.000000000000000001")], pa.decimal256(60, 18))
    pq.write_table(pa.table({"query_id": ["q"], "doc_id": ["d"], "relevance": grades}), tmp_path / "a.parquet")
    table = conform(judged(engine, tmp_path / "a.parquet").table, JUDGMENTS, "j")
    assert table.collect() == [("q", "d", 1234567890123456789012.0)]


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.time32("ms")])
def test_a_time_is_no_id_and_its_file_is_named(engine, tmp_path, kind):
    pq.write_table(pa.table({"query_id": ["q"], "doc_id": pa.array([1], kind)}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet: 1 column\(s\) of the wrong type, doc_id is ti"):
        judged(engine, tmp_path / "a.parquet")


def test_a_file_that_the_engine_refuses_is_named_as_its_user_names_it(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "is_readable", lambda _: True)
    pq.write_table(pa.table({"query_id": ["q"], "by": UNREAD["pandas' dates"]}), tmp_path / "a.parquet")
    with pytest.raises(
        InputError, match=rf"^judgments: {tmp_path}/a\.parquet cannot be read as parquet, .*; write"
    ) as told:
        judged(engine, tmp_path / "a.parquet")
    assert "ndcg-spark-" not in str(told.value)


def test_a_duration_is_no_number(engine, tmp_path):
    columns = {"query_id": ["q"], "doc_id": ["d"], "relevance": pa.array([1], pa.duration("s"))}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"1 column\(s\) of the wrong type, relevance is duration\[s\]"):
        judged(engine, tmp_path / "a.parquet")

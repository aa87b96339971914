"""The schema of Parquet files is taken from their footers where Spark would find the same, which takes it a job."""

import datetime

import pyarrow as pa
import pytest
from input_files import judged, returned
from pyarrow import parquet as pq

from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.footers import footers
from ndcg_spark.inputs.known_schema import known_schema

PLAIN = {
    "text": pa.array(["a"]),
    "large_text": pa.array(["a"], pa.large_string()),
    "truth": pa.array([True]),
    **{f"int{bits}": pa.array([1], f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": pa.array([1.0], f"float{bits}") for bits in (32, 64)},
}

#: Of which Spark may say something else than Arrow, or what depends on its settings.
UNSURE = {
    "time": pa.array([datetime.datetime(2026, 11, 16)], pa.timestamp("us")),
    "date": pa.array([datetime.date(2026, 11, 16)]),
    "category": pa.array(["a"]).dictionary_encode(),
    "bytes": pa.array([b"a"]),
    "unsigned": pa.array([1], pa.uint32()),
    "nothing": pa.nulls(1),
    "list": pa.array([["a"]]),
}


def schema_of(*paths):
    return known_schema(footers([File(str(path), path.stat().st_size) for path in paths], "parquet", "judgments"))


def test_spark_finds_the_same_schema(spark, tmp_path):
    pq.write_table(pa.table(PLAIN), tmp_path / "a.parquet")
    assert schema_of(tmp_path / "a.parquet") == spark.read.parquet(str(tmp_path)).schema


def test_spark_finds_the_same_schema_in_what_it_has_written(spark, tmp_path):
    spark.createDataFrame(pa.table(PLAIN)).coalesce(1).write.parquet(str(tmp_path / "a"))
    (file,) = (tmp_path / "a").glob("*.parquet")
    assert schema_of(file) == spark.read.parquet(str(tmp_path / "a")).schema


@pytest.mark.parametrize("name", sorted(UNSURE))
def test_only_spark_can_tell_other_types(tmp_path, name):
    pq.write_table(pa.table({**PLAIN, name: UNSURE[name]}), tmp_path / "a.parquet")
    assert schema_of(tmp_path / "a.parquet") is None


def test_a_number_by_which_spark_means_an_interval_is_none(spark, tmp_path):
    table = spark.sql("SELECT INTERVAL '1' MONTH AS relevance")
    table.coalesce(1).write.parquet(str(tmp_path / "a"))
    (file,) = (tmp_path / "a").glob("*.parquet")
    assert pq.read_schema(file).field("relevance").type == pa.int32()
    assert schema_of(file) is None


@pytest.mark.parametrize("other", [{"text": pa.array([1])}, {"text": pa.array(["a"]), "more": pa.array(["b"])}])
def test_files_with_different_columns_have_no_schema_in_common(tmp_path, other):
    pq.write_table(pa.table({"text": pa.array(["a"])}), tmp_path / "a.parquet")
    pq.write_table(pa.table(other), tmp_path / "b.parquet")
    assert schema_of(tmp_path / "a.parquet", tmp_path / "b.parquet") is None


def jobs(spark, group):
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))


def test_spark_runs_no_job_to_find_columns_and_folders_give_theirs_as_text(engine, spark, tmp_path):
    place = tmp_path / "results" / "run=007" / "a.parquet"
    place.parent.mkdir(parents=True)
    pq.write_table(pa.table({"query_id": ["q"], "doc_id": ["d"], "score": [0.5]}), place)
    pq.write_table(pa.table({"query_id": ["q"], "doc_id": ["d"], "relevance": [1]}), tmp_path / "judged.parquet")
    spark.sparkContext.setJobGroup("found", "reading")
    try:
        results, judgments = returned(engine, tmp_path / "results"), judged(engine, tmp_path / "judged.parquet")
        assert jobs(spark, "found") == 0
        assert results.table.collect() == [("007", "q", "d", 0.5)]
        assert jobs(spark, "found") > 0
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert judgments.table.collect() == [("q", "d", 1)]

"""Files that are damaged, or differ from those beside them: refused by name, and nothing else is."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from input_files import content, file, gzipped, parquet, returned, rows, written
from pyarrow import orc

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.stored import footer, refuse_different_types

LINES = b"q1 Q0 d1 1 0.5 bm25\n" * 1000


def check_parquet(files, columns, where):
    refuse_different_types(files, [footer(each, "parquet", where) for each in files], columns, where)


def test_whole_parquet_files_with_the_same_columns_pass(tmp_path):
    first = parquet(tmp_path / "1.parquet", query_id=["q1"], relevance=[1], note=["x"])
    second = parquet(tmp_path / "2.parquet", relevance=[2], query_id=["q2"], note=[5])
    check_parquet([first, second], ["query_id", "relevance"], "judgments")


@pytest.mark.parametrize("kept", [0, 3, 0.5, -1])
def test_a_truncated_parquet_file_is_refused_by_name(tmp_path, kept):
    whole, cut = (parquet(tmp_path / name, query_id=["q1"] * 99) for name in ("1.parquet", "2.parquet"))
    file(tmp_path / "2.parquet", content(cut)[: int(cut.size * kept) if isinstance(kept, float) else kept])
    with pytest.raises(InputError, match=r"results: .*/2\.parquet is not a complete Parquet file"):
        check_parquet([whole, cut], ["query_id"], "results")


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"query_id": [1]}, r"query_id is string in .*/1\.parquet and int64 in .*/2\.parquet"),
        ({"doc_id": ["d1"]}, r"query_id is string in .*/1\.parquet and absent in .*/2\.parquet"),
    ],
)
def test_parquet_files_whose_columns_differ_are_refused_with_input_paths(tmp_path, other, told):
    files = [parquet(tmp_path / "1.parquet", query_id=["q1"]), parquet(tmp_path / "2.parquet", **other)]
    with pytest.raises(InputError, match=told):
        check_parquet(files, ["query_id", "doc_id"], "results")


GZIPPED = gzipped(LINES)


@pytest.mark.parametrize("stored", [GZIPPED[:-9], GZIPPED[:40], LINES], ids=["cut", "cut short", "text"])
def test_a_gzip_file_that_is_cut_or_no_gzip_is_refused_by_name(no_engine, tmp_path, stored):
    file(tmp_path / "1.run", LINES)
    file(tmp_path / "2.run.gz", stored)
    with pytest.raises(InputError, match=rf"^results: {tmp_path}/2\.run\.gz cannot be read, .*; write it again$"):
        returned(no_engine, tmp_path)


def test_a_gzip_file_of_several_parts_is_whole(no_engine, tmp_path):
    two = gzipped(b"q1 Q0 d1 1 0.5 bm25\n") + gzipped(b"q1 Q0 d2 2 0.4 bm25\n")
    assert rows(returned(no_engine, file(tmp_path / "1.run.gz", two).path), "doc_id") == [("d1",), ("d2",)]


COLUMNS = {"run": [f"r{at}" for at in range(1000)], "query_id": ["q"] * 1000, "doc_id": ["d"] * 1000}


@pytest.mark.parametrize(
    ("name", "write", "more"),
    [
        ("a.orc", orc.write_table, {}),
        # Which no engine is given as it is.
        ("a.parquet", pq.write_table, {"score": pa.array([1.0] * 1000, pa.float16())}),
    ],
)
def test_pages_that_are_damaged_where_a_file_is_written_again_are_refused_by_name(
    no_engine, tmp_path, name, write, more
):
    write(pa.table({**COLUMNS, **more}), tmp_path / name)
    stored = (tmp_path / name).read_bytes()
    written(tmp_path / name, stored[:8] + b"\xff" * 500 + stored[508:])
    with pytest.raises(InputError, match=rf"^results: {tmp_path}/{name} cannot be read, .*; write it again$"):
        returned(no_engine, tmp_path / name)

"""Files that are damaged, or differ from those beside them: refused by name, and nothing else is."""

import functools
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from input_files import content, file, parquet, spoilt

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.copying import write_parquet
from ndcg_spark.inputs.damage import damaged
from ndcg_spark.inputs.files import File, find
from ndcg_spark.inputs.first_lines import common_header
from ndcg_spark.inputs.footers import footers, refuse_different_types
from ndcg_spark.inputs.orc import orc_batches
from ndcg_spark.inputs.plain_parquet import plain_batches

LINES = b"q1 Q0 d1 1 0.5 bm25\n" * 1000


def check_parquet(files, columns, where):
    refuse_different_types(files, footers(files, "parquet", where), columns, where)


def test_whole_parquet_files_with_the_same_columns_pass(tmp_path):
    first = parquet(tmp_path / "1.parquet", query_id=["q1"], relevance=[1], note=["x"])
    second = parquet(tmp_path / "2.parquet", relevance=[2], query_id=["q2"], note=[5])
    check_parquet([first, second], ["query_id", "relevance"], "judgments")


@pytest.mark.parametrize("kept", [0, 3, 0.5, -1])
def test_a_truncated_parquet_file_is_refused_by_name(tmp_path, kept):
    whole, cut = (parquet(tmp_path / name, query_id=["q1"] * 99) for name in ("1.parquet", "2.parquet"))
    spoilt(cut, content(cut)[: int(cut.size * kept) if isinstance(kept, float) else kept])
    with pytest.raises(InputError, match=r"results: .*/2\.parquet is not a complete Parquet file"):
        check_parquet([whole, cut], ["query_id"], "results")


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"query_id": [1]}, r"different types, query_id is string in .*/1\.parquet and int64 in .*/2\.parquet"),
        ({"doc_id": ["d1"]}, r"different columns, .*/1\.parquet has query_id, .*/2\.parquet has doc_id"),
    ],
)
def test_parquet_files_whose_columns_differ_are_refused_with_input_paths(tmp_path, other, told):
    files = [parquet(tmp_path / "1.parquet", query_id=["q1"]), parquet(tmp_path / "2.parquet", **other)]
    with pytest.raises(InputError, match=told):
        check_parquet(files, ["query_id", "doc_id"], "results")


def test_headers_that_are_the_same_line_pass_however_it_ends_or_is_packed(tmp_path):
    headers = [b"run,score\n1,2\n", b"run,score\r\n", b"\xef\xbb\xbfrun,score"]
    plain = [file(tmp_path / f"{number}.csv", header) for number, header in enumerate(headers)]
    common_header([*plain, file(tmp_path / "z.csv.gz", gzip.compress(headers[0]))], "results")


@pytest.mark.parametrize("header", ["score,run\n", "run,score,rank\n", "1,2\n", ""])
def test_headers_that_differ_are_refused_with_input_paths(tmp_path, header):
    files = [file(tmp_path / "1.csv", "run,score\n"), file(tmp_path / "2.csv", header)]
    with pytest.raises(InputError, match=r"different headers, .*/1\.csv has 'run,score', .*/2\.csv has ") as refused:
        common_header(files, "results")
    assert repr(header.strip()) in str(refused.value)


def test_whole_files_are_not_called_damaged(tmp_path):
    assert damaged([parquet(tmp_path / "a.parquet", query_id=["q1"])], "parquet") is None
    assert damaged([file(tmp_path / "a.run", LINES), file(tmp_path / "a.run.gz", gzip.compress(LINES))], "trec") is None
    assert damaged([file(tmp_path / "a.csv", 'run,doc\nr,"a,\nb"\n\n')], "csv") is None


# mtime=0: workers of pytest-xdist must collect the same tests in whatever second they do.
GZIPPED = gzip.compress(LINES, mtime=0)


@pytest.mark.parametrize("stored", [GZIPPED[:-9], GZIPPED[:40], LINES], ids=["cut", "cut short", "text"])
def test_a_gzip_file_that_is_cut_or_no_gzip_is_damaged(tmp_path, stored):
    files = [file(tmp_path / "1.run", LINES), file(tmp_path / "2.run.gz", stored)]
    assert damaged(files, "trec").startswith(f"{files[1].path} cannot be read, ")


def test_a_parquet_file_whose_footer_is_whole_and_whose_pages_are_not_is_damaged(tmp_path):
    whole = parquet(tmp_path / "a.parquet", query_id=[f"q{number}" for number in range(1000)])
    bad = spoilt(whole, content(whole)[:4] + b"\xff" * 500 + content(whole)[504:])
    check_parquet([bad], ["query_id"], "results")
    assert damaged([bad], "parquet").startswith(f"{bad.path} cannot be read, ")


@pytest.mark.parametrize("kind", ["trec", "csv", "jsonl"])
def test_text_that_is_not_utf_8_is_damaged(tmp_path, kind):
    latin = file(tmp_path / "a.txt", "caf\xe9\n".encode("latin-1"))
    assert "'utf-8' codec can't decode byte 0xe9" in damaged([latin], kind)


def test_an_orc_file_is_damaged_only_if_it_is(tmp_path):
    from pyarrow import orc

    orc.write_table(pa.table({"run": ["r"]}), tmp_path / "a.orc")
    (tmp_path / "b.orc").write_bytes((tmp_path / "a.orc").read_bytes()[:-20])
    assert damaged(find(str(tmp_path / "a.orc"), "results"), "orc") is None
    assert "b.orc cannot be read" in str(damaged(find(str(tmp_path / "b.orc"), "results"), "orc"))


def orc_file(path: Path) -> File:
    from pyarrow import orc

    orc.write_table(pa.table({"run": [f"r{number}" for number in range(1000)]}), path)
    return File(str(path), path.stat().st_size)


def parquet_file(path: Path) -> File:
    return parquet(path, run=[f"r{number}" for number in range(1000)])


@pytest.mark.parametrize(("make", "batches"), [(orc_file, orc_batches), (parquet_file, plain_batches)])
def test_a_copy_that_has_no_room_is_not_blamed_on_the_file_nor_damage_on_the_room(tmp_path, make, batches):
    whole = make(tmp_path / "a")
    wanted = functools.partial(batches, ["run"])
    write_parquet(wanted, whole, tmp_path / "copy", "results")
    assert pq.read_table(tmp_path / "copy")["run"].to_pylist() == [f"r{number}" for number in range(1000)]
    with pytest.raises(OSError, match="No space left on device"):
        write_parquet(wanted, whole, Path("/dev/full"), "results")
    spoilt(whole, content(whole)[:8] + b"\xff" * 500 + content(whole)[508:])
    with pytest.raises(InputError, match=r"results: .*/a cannot be read, .*; write it again"):
        write_parquet(wanted, whole, tmp_path / "copy", "results")

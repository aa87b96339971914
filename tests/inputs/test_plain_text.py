"""Which text Arrow reads in place of the engine, and what it makes of it."""

import gzip
import threading

import pyarrow as pa
import pytest
from plain_cases import DAMAGED, ODD, PLAIN, ending
from pyarrow import parquet

from ndcg_spark.engine.scratch import Scratch
from ndcg_spark.inputs import plain_rows, plain_text
from ndcg_spark.inputs.files import File, find
from ndcg_spark.inputs.layouts import LAYOUTS, QRELS, RUN
from ndcg_spark.inputs.plain_files import write_plain
from ndcg_spark.inputs.plain_rows import PlainRows
from ndcg_spark.inputs.plain_text import NotPlainError, blocks, columns_of
from ndcg_spark.inputs.run_files import UNIT
from ndcg_spark.schemas import BROKEN_LINE

TYPES = {"run": "string", "query_id": "string", "doc_id": "string", "score": "double", "rank": "int"}
KINDS = {0: pa.string(), 2: pa.string(), 3: pa.int32(), 4: pa.float64()}


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Temporary folders in one of the test's own."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    scratch = Scratch()
    yield scratch
    scratch.remove()


def read(files, scratch, rows=None):
    """The rows of the plain files, and the paths of the others."""
    folder, others = write_plain(files, rows or PlainRows(RUN, TYPES, {}, {}), scratch)
    tables = [parquet.read_table(path).to_pylist() for path in sorted(folder.iterdir())]
    return [row for table in tables for row in table], [file.path for file in others]


def test_only_text_that_is_plain_in_every_line_is_not_left_to_the_engine(scratch, tmp_path):
    cases = {**PLAIN, **ODD, **DAMAGED}
    for name, text in cases.items():
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / f"a{ending(name)}").write_bytes(text)
    _, others = read(find(str(tmp_path / "runs"), "results"), scratch)
    assert {path.split("/")[-2] for path in others} == ODD.keys() | DAMAGED.keys()


def test_fields_are_read_as_they_stand_and_numbers_as_python_reads_them():
    text = PLAIN["many digits"] + PLAIN["scores in other words"] + PLAIN["zeros"] + PLAIN["numbers next to nothing"]
    lines = [line.split() for line in text.decode().splitlines()]
    found = {at: column.to_pylist() for at, column in columns_of(text, 6, KINDS).items()}
    assert found == {
        0: [line[0] for line in lines],
        2: [line[2] for line in lines],
        3: [int(line[3]) for line in lines],
        4: [float(line[4]) for line in lines],
    }
    # No score is -0.0, which equals 0.0 to Python and not to an engine.
    assert [str(score) for score in found[4] if score == 0] == ["0.0"] * 7


def test_ranks_may_be_written_as_any_whole_number():
    text = PLAIN["ranks in other words"]
    assert columns_of(text, 6, KINDS)[3].to_pylist() == [-3, 0, 100, 1, 7, 2]


@pytest.mark.parametrize("size", [1, 17, 18, 40, 1000])
def test_blocks_are_whole_lines_and_the_whole_text(size):
    text = b"q1 Q0 d1 1 7.5 a\n" * 9 + b"q2 Q0"
    if size < len(b"q1 Q0 d1 1 7.5 a"):
        with pytest.raises(NotPlainError):
            list(blocks(pa.BufferReader(text), size))
    else:
        found = list(blocks(pa.BufferReader(text), size))
        assert b"".join(found) == text
        assert all(block.endswith(b"\n") for block in found[:-1])


def test_blanks_that_slices_part_are_seen(monkeypatch):
    monkeypatch.setattr(plain_text, "_SLICE", 8)
    for at in (1, 2, 3, 4, 5):
        fields = ["q1", "Q0", "d1", "1", "7.5", "a"]
        fields[at - 1] += " "
        with pytest.raises(NotPlainError):
            columns_of(" ".join(fields).encode(), 6, {0: pa.string()})


def test_files_of_many_blocks_and_files_of_one_have_all_their_rows_and_what_their_folders_give(
    scratch, tmp_path, monkeypatch
):
    monkeypatch.setattr(blocks, "__defaults__", (64,))
    monkeypatch.setattr(plain_rows, "_TOGETHER", 5)
    wanted = []
    for number, lines in enumerate([1, 2, 3, 30, 100]):
        folder = tmp_path / "runs" / f"run=r{number}"
        folder.mkdir(parents=True)
        docs = [f"d{at}" for at in range(lines)]
        text = "".join(f"q1 Q0 {doc} {at} 1 x\n" for at, doc in enumerate(docs)).encode()
        (folder / "a.gz").write_bytes(gzip.compress(text))
        wanted += [(f"r{number}", doc, at, number) for at, doc in enumerate(docs)]
    (tmp_path / "runs" / "run=odd").mkdir()
    # Odd after its first blocks, which were written.
    (tmp_path / "runs" / "run=odd" / "a").write_bytes(b"q1 Q0 d 1 1 x\n" * 50 + b"q1 Q0 d  1 1 x\n")
    files = find(str(tmp_path / "runs"), "results")
    numbers = {"odd": 99, **{f"r{number}": number for number in range(5)}}
    units = {file.path: numbers[dict(file.partition)["run"]] for file in files}
    rows = PlainRows(RUN, {**TYPES, BROKEN_LINE: "string", UNIT: "int"}, {}, units)
    found, others = read(files, scratch, rows)
    assert sorted((row["run"], row["doc_id"], row["rank"], row[UNIT]) for row in found) == sorted(wanted)
    assert {row[BROKEN_LINE] for row in found} == {None}
    assert others == [f"{tmp_path}/runs/run=odd/a"]


def test_what_the_configuration_gives_is_in_every_row_and_a_column_from_elsewhere_is_left_to_the_engine(
    scratch, tmp_path
):
    path = tmp_path / "a.qrels"
    path.write_bytes(b"q1 0 d1 1\nq1 0 d2 0\n")
    types = {"query_id": "string", "doc_id": "string", "relevance": "double"}
    rows = PlainRows(QRELS, types, {"relevance": 3.0}, {})
    found, others = read([File(str(path), 1)], scratch, rows)
    assert ([row["relevance"] for row in found], others) == ([3.0, 3.0], [])
    assert rows.can_be_told(File(str(path), 1))
    assert not PlainRows(QRELS, {**types, "run": "string"}, {}, {}).can_be_told(File(str(path), 1))
    excluded = LAYOUTS["exclude"][0]
    assert not PlainRows(excluded, types, {}, {}).can_be_told(File(str(path), 1))
    # A folder's name is text, also where its column is a number.
    folders = (("query_id", "q3"), ("relevance", "1"))
    assert not PlainRows(QRELS, types, {}, {}).can_be_told(File(str(path), 1, folders))
    assert not PlainRows(QRELS, {"query_id": "string"}, {}, {}).can_be_told(File(str(path), 1, folders))


def test_what_cannot_be_written_is_left_to_the_engine(scratch, tmp_path, monkeypatch):
    path = tmp_path / "a.run"
    path.write_bytes(PLAIN["blanks"])

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    assert read([File(str(path), 1)], scratch) == ([], [str(path)])


def test_when_the_scratch_is_removed_while_text_is_read_the_threads_end_and_nothing_is_left(
    scratch, tmp_path, monkeypatch
):
    path, begun = tmp_path / "a.run", threading.Event()
    path.write_bytes(PLAIN["blanks"])
    removing = threading.Thread(target=lambda: begun.wait() and scratch.remove())
    usual = PlainRows.tables

    def tables(self, file):
        begun.set()
        # The folder is being removed while this thread still has a file to write.
        removing.join(0.01)
        return usual(self, file)

    monkeypatch.setattr(PlainRows, "tables", tables)
    removing.start()
    _, others = write_plain([File(str(path), 1)] * 1000, PlainRows(RUN, TYPES, {}, {}), scratch)
    removing.join()
    assert len(others) > 900
    assert list((tmp_path / "temporary").iterdir()) == []

"""What is not Parquet is written as Parquet once: by all threads, and nothing is left where it fails or is stopped."""

import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from input_files import file, returned

from ndcg_spark.errors import EngineError, InputError
from ndcg_spark.inputs import parquet_copy
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.parquet_copy import write_copy
from ndcg_spark.scratch import Scratch

SCHEMA = pa.schema([("at", pa.int64())])
NUMBERS = [File("a", 9), File("b", 1)]


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Temporary folders in one of the test's own, and two threads whatever the machine has."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    scratch = Scratch()
    yield scratch
    scratch.remove()


def to_table(part, _):
    return pa.table([part], SCHEMA)


def test_rows_are_counted_and_written_in_whatever_parts_they_come(scratch, monkeypatch):
    monkeypatch.setattr(parquet_copy, "_MIN_ROWS", 5)

    def parts(file):
        yield from ([at, None] for at in range(file.size))

    copy = write_copy(NUMBERS, parts, to_table, SCHEMA, scratch)
    assert (copy.rows, copy.filled_columns) == (20, {"at"})
    written = pq.read_table(copy.folder)["at"].drop_null().to_pylist()
    assert sorted(written) == [0, *range(9)]
    copy = write_copy(NUMBERS, lambda _: iter([]), to_table, SCHEMA, scratch)
    assert (copy.rows, pq.read_table(copy.folder).schema) == (0, SCHEMA)


def test_the_parts_of_one_large_file_are_taken_by_all_threads(scratch):
    met = threading.Barrier(2, timeout=20)

    def table_of_two(part, _):
        # Neither thread comes past it alone.
        met.wait()
        return pa.table([part], SCHEMA)

    copy = write_copy([File("a", 9)], lambda _: iter([[1], [2]]), table_of_two, SCHEMA, scratch)
    assert len(list(copy.folder.iterdir())) == 2


def test_a_failure_of_one_thread_ends_the_others_and_is_the_one_that_is_told(scratch):
    failed = threading.Event()

    def parts(file):
        if file.path == "b":
            raise InputError("b is damaged")
        for _ in range(10_000_000):
            failed.wait(0.01)
            yield [1]

    with pytest.raises(InputError, match="b is damaged"):
        write_copy(NUMBERS, parts, to_table, SCHEMA, scratch)


def test_no_room_for_the_rows_is_no_fault_of_the_input(engine, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    path = file(tmp_path / "a.run", "q1 Q0 d1 1 0.5 bm25\n").path
    with pytest.raises(
        EngineError,
        match=r"results: the temporary copy cannot be written, .*No space left.*; free disk space, set TMPDIR",
    ):
        returned(engine, path)

"""How an engine gets what this process has written: in its place, or as Arrow."""

import dataclasses

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from input_files import Session, returned, rows, written

from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import engine_files
from ndcg_spark.inputs.engine_files import read_copy
from ndcg_spark.inputs.parquet_copy import ParquetCopy


class Told(Session):
    """A session that notes how it got its tables."""

    def __init__(self):
        self.loads, self.sent = [], []

    def load(self, paths):
        self.loads += paths
        return super().load(paths)

    def createDataFrame(self, table):  # noqa: N802  # its name there
        self.sent.append(table.num_rows)
        return super().createDataFrame(table)


@pytest.fixture
def engine():
    found = Engine(Told(), "connect", "a server", sees_local_files=False)
    yield found
    found.scratch.remove()


@pytest.fixture
def folder(tmp_path):
    """Two files of nine rows in all, which are no more than some hundred bytes as Arrow."""
    place = tmp_path / "rows"
    place.mkdir()
    for name, count in (("0", 4), ("1", 5)):
        pq.write_table(pa.table({"doc_id": [f"d{name}{at}" for at in range(count)]}), place / f"{name}.parquet")
    return place


def written_rows(folder):
    return ParquetCopy(folder, 9, {"doc_id": 9})


def test_an_engine_of_this_machine_reads_what_was_written_in_its_place(engine, folder):
    near = dataclasses.replace(engine, sees_local_files=True)
    assert len(read_copy(near, written_rows(folder), "results").collect()) == 9
    assert near.session.loads == [str(folder)]


def test_another_engine_gets_a_small_table_as_arrow(engine, folder):
    assert len(read_copy(engine, written_rows(folder), "results").collect()) == 9
    assert (engine.session.sent, engine.session.loads) == ([9], [])


@pytest.mark.parametrize(("most", "repeated"), [(10, 1), (1 << 16, 100_000)], ids=["in files", "as Arrow"])
def test_a_larger_one_is_refused(engine, folder, monkeypatch, most, repeated):
    monkeypatch.setattr(engine_files, "_MOST_SENT", most)
    pq.write_table(pa.table({"doc_id": ["d"] * repeated}), folder / "1.parquet")
    with pytest.raises(InputError, match=r"a server does not read; .* ndcg-spark convert IN OUT"):
        read_copy(engine, written_rows(folder), "results")


def test_the_text_of_a_laptop_is_read_by_a_remote_server(engine, tmp_path):
    source = returned(engine, written(tmp_path / "a.run", "q1 Q0 d1 1 2.5 r\n"))
    assert rows(source, "query_id", "doc_id", "score") == [("q1", "d1", 2.5)]
    assert (engine.session.sent, engine.session.loads) == ([1], [])

"""A query's hash of its judgments: the same for the same judgments, whatever their order, format or company."""

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from ndcg_spark import config, read_scores
from ndcg_spark.job import evaluate as job

JUDGED = [
    ("q1", "a", 2),
    ("q1", "b", 0),
    ("q1", "c", 1),
    ("q2", "a", 2),
    ("q3", "a", 2),
    ("q3", "b", 0),
    ("q3", "c", 1),
]


def hashes(session, folder, *names):
    """For each file of judgments, the hash of every query."""
    found = []
    for name in names:
        settings = {"judgments": {"path": str(folder / name)}, "results": {"path": str(folder / "run.txt")}}
        output = str(folder / f"out of {name}")
        job.evaluate(config.validate({**settings, "cutoffs": [1, 10], "output": output}, "test"))
        rows = read_scores(output, "query_scores", session).select("query_id", "judgments_hash").distinct().collect()
        assert len(rows) == len({query for query, _ in rows})
        found.append(dict(map(tuple, rows)))
    return found


def text(folder, name, rows):
    (folder / name).write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in rows), encoding="utf-8")
    return name


@pytest.fixture
def folder(tmp_path):
    lines = "".join(f"{query} Q0 a 1 1.0 {run}\n" for query in ("q1", "q2", "q3") for run in ("r", "s"))
    (tmp_path / "run.txt").write_text(lines, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.embedded
def test_every_format_and_order_gives_the_same_hash_and_every_change_another(session, folder):
    columns = dict(zip(("query_id", "doc_id", "relevance"), zip(*JUDGED, strict=True), strict=True))
    pyarrow.csv.write_csv(pa.table(columns), folder / "qrels.csv")
    floats = pa.table({**columns, "relevance": [float(grade) for _, _, grade in JUDGED]})
    pq.write_table(floats.take(list(range(len(JUDGED)))[::-1]), folder / "qrels.parquet")
    first, *same, regraded, more, fewer = hashes(
        session,
        folder,
        text(folder, "qrels.txt", JUDGED),
        "qrels.csv",
        "qrels.parquet",
        text(folder, "regraded.txt", [("q1", "a", 3), *JUDGED[1:]]),
        text(folder, "more.txt", [*JUDGED, ("q1", "d", 0)]),
        text(folder, "fewer.txt", JUDGED[1:]),
    )
    assert same == [first, first]
    # q3 has the documents and grades of q1; what a query is called does not matter, as it is compared with itself.
    assert first["q1"] == first["q3"] != first["q2"]
    for other in (regraded, more, fewer):
        assert {query for query in first if first[query] != other[query]} == {"q1"}
    assert len({found["q1"] for found in (first, regraded, more, fewer)}) == 4

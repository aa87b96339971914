"""Names of any kind: right scores or a clear refusal, and never a file outside the output."""

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from evaluations import evaluated
from pyarrow import parquet as pq

from ndcg_spark import config, read_scores
from ndcg_spark.errors import InputError

NAMES = [
    "a b",
    " a ",
    "a/b",
    "a%2Fb",
    "/etc/x",
    "../../x",
    "..",
    ".",
    "_x",
    "a=b",
    "x/evaluated_on=2020-01-01",
    "50%",
    "%00",
    "'",
    '"',
    "`a`",
    "a;b,c",
    "a\\b",
    "a\tb",
    "[x]*?{y}",
    "null",
    "007",
    "1e3",
    "true",
    "caf\u00e9",
    "cafe\u0301",
    "\u691c\u7d22",
    "\u0628\u062d\u062b",
    "\U0001f50e",
    "A",
    "a",
    "x" * 200,
]
LONG = "l" * 10_000
SCHEMA = {"judgments": ["relevance"], "results": ["score"]}


def tables(folder: Path, names: list[str], datasets: bool) -> dict:
    """Judgments and results of one query per name, which is also the run's, the document's and maybe the dataset's.

    The named document is judged 1 and returned second, after one that nobody judged: NDCG is 1 / log2(3).
    """
    judged = {"query_id": names, "doc_id": names, "relevance": [1.0] * len(names)}
    returned = {"run": names * 2, "query_id": names * 2, "doc_id": [*names, *("other" for _ in names)]}
    returned["score"] = [*(1.0 for _ in names), *(2.0 for _ in names)]
    if datasets:
        judged["dataset"], returned["dataset"] = names, names * 2
    paths = {}
    for table, columns in (("judgments", judged), ("results", returned)):
        path = folder / f"{table}.parquet"
        pq.write_table(pa.table(columns), path)
        paths[table] = {"path": str(path)}
    return {**paths, "cutoffs": [3], "date": "2026-11-20", "output": str(folder / "out")}


def inside_and_outside(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def scored(folder: Path) -> list[tuple]:
    rows = ds.dataset(folder / "out" / "query_scores", partitioning="hive").to_table().to_pylist()
    return sorted((row["dataset"], row["run"], row["query_id"], round(row["ndcg"], 4)) for row in rows)


def evaluate(settings: dict) -> None:
    evaluated(config.validate(settings, "test"))


def test_a_dataset_a_run_a_query_and_a_document_may_have_any_name(session, tmp_path):
    evaluate(tables(tmp_path, NAMES, datasets=True))
    assert scored(tmp_path) == sorted((name, name, name, 0.6309) for name in NAMES)
    assert inside_and_outside(tmp_path) == {"judgments.parquet", "results.parquet", "out"}
    places = {"query_scores", "dataset_scores", "evaluations", "_evaluations", "_staging"}
    assert inside_and_outside(tmp_path / "out") == places
    read = read_scores(str(tmp_path / "out"), "query_scores", session).select("dataset", "run").collect()
    assert sorted(read) == sorted((name, name) for name in NAMES)


def test_a_run_a_query_and_a_document_may_have_names_of_10_000_characters(tmp_path):
    names = [LONG, LONG + "m"]
    evaluate(tables(tmp_path, names, datasets=False))
    alone, none = 0.6309, 0.0
    pairs = [("default", run, query, alone if run == query else none) for run in names for query in names]
    assert scored(tmp_path) == sorted(pairs)


@pytest.mark.parametrize("name", [LONG, "\u691c" * 28, "__HIVE_DEFAULT_PARTITION__"])
def test_a_dataset_that_cannot_name_a_folder_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"^dataset: .*; it is the name of a folder"):
        evaluate(tables(tmp_path, [name], datasets=True))
    with pytest.raises(InputError, match=r"^dataset: .*; it is the name of a folder"):
        evaluate({**tables(tmp_path, ["q"], datasets=False), "dataset": name})
    assert not (tmp_path / "out").exists()

"""Input that may be read in two ways is asked about until the user says which; runs that arrive empty stay runs."""

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import command_line

QRELS = "q1 0 a 2\nq1 0 b 1\nq2 0 a 1\n"


@pytest.fixture
def evaluated(tmp_path):
    """Evaluates files, and gives the exit code, what is said, and the mean of each run."""

    def evaluate(files, *arguments):
        (tmp_path / "qrels.txt").write_text(QRELS, encoding="utf-8")
        (tmp_path / "runs").mkdir(exist_ok=True)
        for name, content in files.items():
            if isinstance(content, str):
                (tmp_path / "runs" / name).write_text(content, encoding="utf-8")
            else:
                pq.write_table(pa.table(content), tmp_path / "runs" / name)
        given = ("evaluate", "qrels.txt", "runs", "--cutoffs", "10", "--format", "json", *arguments)
        done = command_line(*given, cwd=tmp_path)
        rows = json.loads(done.stdout).get("dataset_scores", [])
        return done.returncode, done.stderr + done.stdout, {row["run"]: row["ndcg"] for row in rows}

    return evaluate


MERGED = {
    "a.run": "q1 Q0 x 1 9 r\nq1 Q0 a 2 8 r\nq2 Q0 a 1 3 r\n",
    "b.run": "q1 Q0 y 1 9.5 r\nq1 Q0 b 2 8.5 r\n",
    "c.run": "q1 Q0 a 1 9 s\nq1 Q0 b 2 8 s\n",
}


def typed(text):
    """A file of TREC as columns."""
    names = ("query_id", "Q0", "doc_id", "rank", "score", "run")
    columns = dict(zip(names, zip(*(line.split() for line in text.splitlines()), strict=True), strict=True))
    return {**columns, "rank": [int(rank) for rank in columns["rank"]], "score": [float(s) for s in columns["score"]]}


@pytest.mark.parametrize("kind", ["run", "parquet"])
@pytest.mark.parametrize("arguments", [(), ("--engine", "spark"), ("--cutoffs", "all")], ids=str)
def test_two_runs_under_one_name_are_refused_with_their_files(evaluated, kind, arguments):
    files = {name.replace("run", kind): text if kind == "run" else typed(text) for name, text in MERGED.items()}
    code, said, _ = evaluated(files, *arguments)
    assert code == 3
    assert "1 list(s) of 1 run(s) have two results of rank 1 with different scores, e.g. run=r query_id=q1: " in said
    files = rf"score 9\.5 in \S*/b\.{kind} and 9\.0 in \S*/a\.{kind}"
    assert re.search(rf"{files}; .* --run-from file; .* order=score", said)


def test_whoever_says_what_names_or_orders_merged_lists_is_not_asked(evaluated):
    code, _, means = evaluated(MERGED, "--run-from", "file")
    assert (code, sorted(means)) == (0, ["a", "b", "c"])
    code, _, means = evaluated(MERGED, "--set", "order=score")
    assert (code, sorted(means)) == (0, ["r", "s"])


NOTHING = pa.table({"query_id": pa.array([], pa.string()), "doc_id": pa.array([], pa.string()), "score": [0.0][:0]})


@pytest.mark.parametrize(
    ("files", "arguments"),
    [
        ({"a.run": "q1 Q0 a 1 9 x\n", "b.run": ""}, ("--run-from", "file")),
        ({"a.json": '{"q1": {"a": 1.5}}', "b.json": "{}"}, ()),
        ({"a.parquet": {"query_id": ["q1"], "doc_id": ["a"], "score": [1.5]}, "b.parquet": NOTHING.to_pydict()}, ()),
    ],
    ids=["TREC", "JSON", "Parquet"],
)
def test_a_run_that_arrived_empty_lacks_every_query_and_is_told(evaluated, files, arguments):
    code, said, means = evaluated(files, *arguments)
    assert (code, means["b"]) == (0, 0.0)
    assert means["a"] > 0
    assert "1 run(s) have no results, e.g. run=b; they lack every query" in said
    code, said, _ = evaluated(files, *arguments, "--max-missing-fraction", "0.5")
    assert (code, "run=b lacks 2 of 2" in said) == (3, True)


def test_what_to_judge_next_is_not_told_of_a_document_that_is_returned_twice(tmp_path):
    (tmp_path / "qrels.txt").write_text(QRELS, encoding="utf-8")
    (tmp_path / "r.run").write_text("q1 Q0 x 1 9 r\nq1 Q0 x 2 8 r\nq2 Q0 y 1 8 r\n", encoding="utf-8")
    arguments = ("judge-next", "qrels.txt", "r.run", "--format", "csv")
    done = command_line(*arguments, cwd=tmp_path)
    assert done.returncode == 3
    assert "1 document(s) returned twice for one query, e.g. run=r query_id=q1 doc_id=x" in done.stderr
    merged = command_line(*arguments, "--set", "duplicates=best", cwd=tmp_path).stdout.splitlines()
    assert [line.split(",")[1:5] for line in merged[1:]] == [["q1", "x", "1", "1"], ["q2", "y", "1", "1"]]

"""Folders, globs and names: which files make one table, and which columns their folders give."""

import json

import pyarrow as pa
import pytest
from commands import command_line
from input_files import documents, judged, returned, written
from pyarrow import csv as pa_csv
from pyarrow import parquet as pq

from ndcg_spark.config import ResultsConfig
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.read import read_results


def test_a_folder_is_all_its_files_gzipped_or_not(no_engine, tmp_path):
    for name in ("a.run", "b.run.gz", "more/c.run", "_SUCCESS", ".hidden.run"):
        written(tmp_path / "runs" / name, f"q1 Q0 {name} 1 2.5 r\n")
    source = returned(no_engine, tmp_path / "runs")
    assert documents(source) == ["a.run", "b.run.gz", "more/c.run"]
    assert source.place == f"{tmp_path}/runs/a.run and 2 more"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_folder_is_read_with_the_folders_in_it(engine, tmp_path, kind):
    for name in ("top", "more/nested"):
        file = written(tmp_path / f"{name}.{kind}", f"query_id,doc_id,relevance\nq1,{name},1\n")
        if kind == "parquet":
            pq.write_table(pa.table({"query_id": ["q1"], "doc_id": [name], "relevance": [1.0]}), file)
    assert documents(judged(engine, tmp_path)) == ["more/nested", "top"]


@pytest.mark.parametrize("name", ["[1]*.run", "a b%20#,.run", "{x}?.csv"])
def test_a_file_that_exists_is_read_whatever_its_name(no_engine, tmp_path, name):
    csv = "run,query_id,doc_id,score\nr,q1,d1,1\n"
    file = written(tmp_path / name, csv if name.endswith("csv") else "q1 Q0 d1 1 2.5 r\n")
    written(tmp_path / "1x.run", "q1 Q0 d2 1 2.5 r\n")
    source = returned(no_engine, file)
    assert (source.place, documents(source)) == (str(file), ["d1"])


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_folder_partitioned_by_run_names_the_run_as_it_is_written(engine, tmp_path, kind):
    for run in ("007", "1e3"):
        file = written(tmp_path / f"run={run}" / f"a.{kind}", "query_id,doc_id,score\nq1,d1,1\n")
        if kind == "parquet":
            pq.write_table(pa.table({"query_id": ["q1"], "doc_id": ["d1"], "score": [1.0]}), file)
    runs = returned(engine, tmp_path).table.select("run").collect()
    assert sorted(row["run"] for row in runs) == ["007", "1e3"]


@pytest.mark.parametrize("name", ["web.qrels", "web.csv", "web.parquet"])
def test_a_file_without_a_byte_is_refused(no_engine, tmp_path, name):
    with pytest.raises(InputError, match=rf"1 empty file\(s\), e\.g\. {tmp_path}/{name}; an empty table"):
        judged(no_engine, written(tmp_path / name, ""))


@pytest.mark.parametrize("kind", ["run", "jsonl", "csv", "csv.gz"])
def test_folders_named_for_a_column_give_it_in_every_format(no_engine, tmp_path, kind):
    content = {
        "run": "q1 Q0 d1 1 2.5 r\n",
        "jsonl": '{"run": "r", "query_id": "q1", "doc_id": "d1", "score": 2.5}\n',
        "csv": "run,query_id,doc_id,score\nr,q1,d1,2.5\n",
    }[kind.removesuffix(".gz")]
    written(tmp_path / "dataset=web" / f"a.{kind}", content)
    written(tmp_path / "dataset=a%2Fb" / f"a.{kind.removesuffix('.gz')}", content)
    for path in (tmp_path, f"{tmp_path}/dataset=*"):
        rows = read_results(no_engine, ResultsConfig(path=[str(path)]), [str(path)]).table.collect()
        assert {(row["dataset"], row["query_id"]) for row in rows} == {("web", "q1"), ("a/b", "q1")}


def test_folders_that_give_different_columns_are_refused(no_engine, tmp_path):
    written(tmp_path / "dataset=web" / "a.qrels", "q1 0 d1 1\n")
    written(tmp_path / "b.qrels", "q1 0 d2 1\n")
    with pytest.raises(InputError, match="folders that give different columns"):
        judged(no_engine, tmp_path)


def test_folders_whose_columns_are_alike_but_for_their_case_are_refused(no_engine, tmp_path):
    written(tmp_path / "RUN=a" / "run=b" / "c.run", "q1 Q0 d1 1 2.5 r\n")
    with pytest.raises(InputError, match="RUN and run"):
        returned(no_engine, tmp_path)


@pytest.mark.parametrize(
    "texts",
    [
        {"empty.run": "", "full.run.gz": "q1 Q0 d1 1 2.5 r\n"},
        {"empty.run.gz": "", "full.run": "q1 Q0 d1 1 2.5 r\n"},
        {"a.csv": "", "b.csv": "qid,docno,score\nq1,d1,2.5\n"},
        {"a.csv.gz": "", "b.csv.gz": "qid,docno,score\nq1,d1,2.5\n"},
        {"a.jsonl.gz": "", "b.jsonl.gz": '{"qid": "q1", "docno": "d1", "score": 2.5}\n'},
    ],
)
def test_a_file_without_a_byte_changes_nothing_beside_others_and_is_told(tmp_path, texts):
    judgments = written(tmp_path / "a.qrels", "q1 0 d1 1\n")
    for name, text in texts.items():
        written(tmp_path / "runs" / name, text)
    done = command_line(
        *("evaluate", "--judgments", judgments, "--results", tmp_path / "runs", "--run", "r", "--format", "json"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert {row["ndcg"] for row in json.loads(done.stdout)["dataset_scores"]} == {1.0}
    assert "1 empty file(s)" in done.stderr


def test_a_name_with_a_colon_is_read(no_engine, tmp_path):
    written(tmp_path / "a:b.run", "q1 Q0 d1 1 2.5 r\n")
    assert documents(returned(no_engine, tmp_path / "a:b.run")) == ["d1"]


#: Rows of two runs, and the same in every format.
ROWS = {"run": ["a", "b"], "query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [2.0, 1.0]}
BY_KIND = {
    "run": "q1 Q0 d1 1 2 a\nq1 Q0 d2 1 1 b\n",
    "csv": "run,query_id,doc_id,score\na,q1,d1,2\nb,q1,d2,1\n",
    "jsonl": "".join(f"{json.dumps(dict(zip(ROWS, row, strict=True)))}\n" for row in zip(*ROWS.values(), strict=True)),
    "json": '{"a": {"q1": {"d1": 2}}, "b": {"q1": {"d2": 1}}}',
    "parquet": None,
}


@pytest.mark.parametrize(("folder", "other"), [("run=a", "run=b"), ("query_id=q2", "query_id=q1"), ("score=2", "1.0")])
@pytest.mark.parametrize("kind", BY_KIND)
def test_a_folder_that_says_something_else_than_the_rows_is_refused(engine, tmp_path, kind, folder, other):
    file = written(tmp_path / folder / f"p.{kind}", BY_KIND[kind] or "")
    if kind == "parquet":
        pq.write_table(pa.table(ROWS), file)
    with pytest.raises(InputError, match=rf"{file} has rows with .*{other}, and its folder is {folder}; correct one"):
        returned(engine, tmp_path)
    assert documents(returned(engine, tmp_path / folder)) == ["d1", "d2"]


@pytest.mark.parametrize("columns", [{"query_id": ["007", None]}, {"query_id": [7, 7], "score": [2, 2]}])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_folder_that_says_the_same_as_the_rows_is_read(engine, tmp_path, kind, columns):
    table = pa.table({**ROWS, **columns})
    query = next(iter(columns["query_id"]))
    file = written(tmp_path / f"query_id={query}" / "score=2.0" / f"p.{kind}", "")
    table = table if "score" in columns else table.drop_columns("score")
    pq.write_table(table, file) if kind == "parquet" else pa_csv.write_csv(table, file)
    rows = returned(engine, tmp_path).table.selectExpr("string(query_id) as query", "double(score) as score").collect()
    assert [tuple(row) for row in rows] == [(str(query), 2.0)] * 2


@pytest.mark.parametrize(("named", "run"), [({"run_from": "file"}, "p"), ({"run": "mine"}, "mine")])
def test_a_run_that_is_named_by_its_file_or_the_user_need_not_be_that_of_its_folder(engine, tmp_path, named, run):
    written(tmp_path / "run=nightly" / "p.csv", BY_KIND["csv"])
    config = ResultsConfig(path=[str(tmp_path)], **named)
    assert {row["run"] for row in read_results(engine, config, config.path).table.collect()} == {run}


def test_a_folder_below_another_of_its_name_is_refused(no_engine, tmp_path):
    written(tmp_path / "run=a" / "run=b" / "p.run", BY_KIND["run"])
    with pytest.raises(InputError, match="run and run"):
        returned(no_engine, tmp_path)

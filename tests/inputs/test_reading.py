"""A table from storage: its columns, its run, a catalog table, and what is refused."""

import re

import pytest
from input_files import documents, judged, returned, rows, written
from tables import assert_table, judgment, judgments

from ndcg_spark.errors import InputError
from ndcg_spark.schemas import LINE
from ndcg_spark.voices import OPTIONS


def test_a_format_that_is_given_goes_before_the_name(engine, tmp_path):
    file = written(tmp_path / "export.txt", "query_id,doc_id,relevance\nq1,d1,2\n")
    source = judged(engine, file, format="csv")
    assert (source.format, documents(source)) == ("csv", ["d1"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "topic,doc.id,final grade,doc_id\nq1,d1,2,other\n"),
        ("a.jsonl", '{"topic": "q1", "doc.id": "d1", "final grade": 2, "doc_id": "other"}\n'),
    ],
)
def test_columns_are_read_by_the_names_they_are_mapped_to(engine, tmp_path, name, text):
    mapped = {"query_id": "topic", "doc_id": "doc.id", "relevance": "final grade"}
    source = judged(engine, written(tmp_path / name, text), columns=mapped)
    assert rows(source) == [("q1", "d1", 2.0)]


def test_a_run_that_is_given_names_every_row_whatever_the_files_say(engine, tmp_path):
    trec = written(tmp_path / "a.run", "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 1.5 dense\n")
    csv = written(tmp_path / "a.csv", "query_id,doc_id,score\nq1,d1,1\n")
    for file, count in ((trec, 2), (csv, 1)):
        assert rows(returned(engine, file, run="mine"), "run") == [("mine",)] * count


def test_a_catalog_table_is_read_by_its_name(engine, session):
    judgments(session, [judgment("007", 2.0)]).withColumnRenamed(
        "doc_id", "item"
    ).createOrReplaceTempView("judged_items")
    source = judged(engine, "table:judged_items", columns={"doc_id": "item"})
    columns = "query_id string, doc_id string, relevance double"
    assert_table(source.table, columns, ("q1", "007", 2.0))
    assert (source.origin, source.files) == ("table:judged_items", [])
    with pytest.raises(InputError, match="judgments: no catalog table no_such_table, "):
        judged(engine, "table:no_such_table")


def test_a_file_behind_two_paths_is_read_once(engine, tmp_path):
    file = written(tmp_path / "a.run", "q1 Q0 d1 1 2.5 r\n")
    assert documents(returned(engine, tmp_path, file)) == ["d1"]


def test_a_table_may_have_a_column_of_any_name(engine, tmp_path):
    csv = written(tmp_path / "a.csv", "query_id,doc_id,relevance,broken_line\nq1,d1,2,x\nq1\n")
    assert rows(judged(engine, csv), "doc_id", LINE) == [("d1", None), (None, "q1")]
    columns = {
        "run": ["r"],
        "query_id": ["q1"],
        "doc_id": ["d1"],
        "rank": [1],
        "broken_line": ["x"],
    }
    stored = written(tmp_path / "a.parquet", columns)
    read = "run string, query_id string, doc_id string, rank bigint"
    assert_table(returned(engine, stored).table, read, ("r", "q1", "d1", 1))


ROW = '{"query_id": "q", "doc_id": "d", "relevance": 1}'
MAPPED = {"columns": {"relevance": "label"}}
CASE = "differ only in case"
REFUSED = [
    (judged, "a.csv", "query_id,doc_id,grade\n", MAPPED, "'label' for relevance; it has query_id"),
    (
        judged,
        "a.csv",
        "a,b\n",
        {},
        "it has a, b; map .*.doc_id=NAME --column judgments.relevance=NAME,",
    ),
    (
        judged,
        "a.csv",
        "May;;\nquery_id;doc_id;relevance\n",
        {},
        "2 columns have no name, next to 'May'; .* a title",
    ),
    (judged, "a.csv", "Of May, 2026;;\nquery_id;doc_id;relevance\n", {}, "2 columns have no name"),
    (judged, "a.csv", "May;\nquery_id;doc_id;relevance\n", {}, "3 column.* missing, .* a title"),
    (returned, "a.txt", "\x1f\ufffd\b", {}, r"gzip; .*\.gz"),
    (judged, "a.csv", "query_id,doc_id,doc_id\n", {}, "occur twice"),
    (judged, "a.jsonl", ROW + '\n{"DOC_ID": 3}', {}, CASE),
    (judged, "a.jsonl", ROW[:-1] + ', "Relevance": 3}', {}, CASE),
    (returned, "a.csv", "query_id,doc_id,score,SCORE\n", {}, CASE),
    (
        returned,
        "a.parquet",
        {"query_id": ["q"], "doc_id": ["d"], "score": [1.0], "SCORE": [2.0]},
        {},
        CASE,
    ),
    (returned, "a.csv", "qid,docno,score\n", {"run_from": "column"}, r"a\.csv has no column run"),
    (returned, "a.txt", "q d 2 1\n", {"columns": {"score": "9"}}, "missing, score; it has "),
    *(
        (judged, "a.json", text, {}, "not JSON lines")
        for text in ("[]", '["q1", "d1", 2]\n', '{"q": 1}')
    ),
]


@pytest.mark.parametrize(("table", "name", "text", "settings", "words"), REFUSED)
def test_what_cannot_be_read_is_refused_with_what_to_write(
    engine, tmp_path, table, name, text, settings, words
):
    with pytest.raises(InputError) as refused:
        table(engine, written(tmp_path / name, text), **settings)
    assert re.search(words, refused.value.worded(OPTIONS))

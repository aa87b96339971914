"""Lines of TREC text, CSV and TSV as people write them, and what is no row."""

import pytest
from input_files import judged, returned, rows, written

from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.schemas import FAULT, WRITTEN

ROW = ("q1", "d1", 2.0)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.qrels", "q1 0 d1 2\n"),
        ("a.qrels", "q1\t0\td1\t2\n"),
        ("a.qrels", "q1  0 \t d1   2\n"),
        ("a.qrels", " \tq1 0 d1 2 \t\n"),
        ("a.qrels", "q1 0 d1 2\r\n"),
        ("a.qrels", "\ufeffq1 0 d1 2\n"),
        ("a.qrels", "\n\nq1 0 d1 2"),
        ("a.csv", "\ufeffquery_id,doc_id,relevance\r\nq1,d1,2\r\n"),
        ("a.tsv", "query_id\tdoc_id\trelevance\nq1\td1\t2\n"),
    ],
    ids=["blanks", "tabs", "several", "around", "crlf", "bom", "blank lines", "csv with both", "tsv"],
)
def test_a_row_is_the_same_however_it_is_spaced(no_engine, tmp_path, name, text):
    source = judged(no_engine, written(tmp_path / name, text))
    assert source.table.columns == ["query_id", "doc_id", "relevance", WRITTEN["relevance"]]
    assert rows(source, *source.table.columns) == [(*ROW, "2")]


def test_run_lines_may_go_on_after_the_run(no_engine, tmp_path):
    lines = "q1 Q0 d1 1 2.5 bm25\nq1\tQ0\td2\t2\t-1e3\tbm25 k1=0.9 b=0.4\n"
    source = returned(no_engine, written(tmp_path / "a.run", lines))
    assert rows(source, "run", "doc_id", "score", "rank") == [("bm25", "d1", 2.5, 1), ("bm25", "d2", -1000.0, 2)]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("qrels", "q1 0 é 1\nq1 0 ? 1\n"),
        ("jsonl", '{"query_id": "q1", "doc_id": "é"}\n{"query_id": "q1", "doc_id": "?"}\n'),
        ("csv", "query_id,doc_id\nq1,é\nq1,?\n"),
        ("tsv", "query_id\tdoc_id\nq1\té\nq1\t?\n"),
    ],
)
def test_a_line_that_is_not_utf_8_is_broken(no_engine, tmp_path, kind, text):
    content = text.encode().replace(b"?", "é".encode("latin-1"))
    source = judged(no_engine, written(tmp_path / f"a.{kind}", content))
    assert rows(source, "doc_id", FAULT) == [("é", None), (None, "broken_line")]


def test_csv_is_text_with_quotes_around_what_needs_them(no_engine, tmp_path):
    long = 'a "quoted", long id ' * 500
    quoted = long.replace('"', '""')
    text = f'doc_id,relevance,query_id\n"d,1",1.50,007\n"say ""hi""",3,\n d 3\\,,"q3"\n"{quoted}",1,q4\n"""""",1,q5\n'
    source = judged(no_engine, written(tmp_path / "a.csv", text))
    assert rows(source, "query_id", "doc_id", "relevance") == [
        ("007", "d,1", 1.5),
        ("q3", " d 3\\", None),
        ("q4", long, 1.0),
        ("q5", '""', 1.0),
        (None, 'say "hi"', 3.0),
    ]


def test_a_header_that_names_a_column_twice_is_refused(no_engine, tmp_path):
    with pytest.raises(
        InputError, match=r"1 column name\(s\) occur twice or differ only in case, e\.g\. doc_id and doc_id; rename"
    ):
        judged(no_engine, written(tmp_path / "a.csv", "query_id,doc_id,doc_id\nq1,d1,d2\n"))


@pytest.mark.parametrize("header", ["query_id,doc_id\rrelevance", 'query_id,"doc_id,relevance'])
def test_a_header_that_is_no_line_of_csv_is_refused(no_engine, tmp_path, header):
    with pytest.raises(InputError, match=r"a\.csv, .* is not a header, "):
        judged(no_engine, written(tmp_path / "a.csv", f"{header}\nq1,d1,2\n"))


@pytest.mark.parametrize("header", ["score,run\n", "run,score,rank\n", "1,2\n"])
def test_files_with_different_headers_are_refused_with_both(no_engine, tmp_path, header):
    for name, text in (("1.csv", "query_id,doc_id\r\n"), ("2.csv.gz", "query_id,doc_id\n"), ("3.csv", header)):
        written(tmp_path / name, text)
    with pytest.raises(InputError, match=r"headers, .*/1\.csv has 'query_id,doc_id', .*/3\.csv has ") as refused:
        judged(no_engine, tmp_path)
    assert repr(header.strip()) in str(refused.value)


def test_trec_text_has_no_columns_to_map(no_engine, tmp_path):
    with pytest.raises(ConfigurationError, match="columns are mapped, and TREC text has no names"):
        judged(no_engine, written(tmp_path / "web.qrels", "q1 0 d1 1\n"), columns={"doc_id": "item"})

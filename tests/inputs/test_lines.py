"""Lines of TREC text, CSV, TSV and JSON as people write them, and what is no row."""

import pytest
from input_files import documents, judged, returned, written

from ndcg_spark.conforming import conform
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.schemas import BROKEN_LINE, JUDGMENTS


@pytest.mark.parametrize(
    "text",
    [
        "q1 0 d1 2\n",
        "q1\t0\td1\t2\n",
        "q1  0 \t d1   2\n",
        " \tq1 0 d1 2 \t\n",
        "q1 0 d1 2\r\n",
        "\ufeffq1 0 d1 2\n",
        "\n\nq1 0 d1 2",
    ],
    ids=["blanks", "tabs", "several", "around", "crlf", "bom", "blank lines"],
)
def test_qrels_are_split_at_whatever_blanks_there_are(engine, tmp_path, text):
    source = judged(engine, written(tmp_path / "web.qrels", text))
    assert source.table.columns == ["query_id", "doc_id", "relevance", BROKEN_LINE]
    assert source.table.collect() == [("q1", "d1", "2", None)]


def test_ids_are_any_text_without_blanks(engine, tmp_path):
    source = judged(engine, written(tmp_path / "web.qrels", '#1 0 #d"1,2 1\n007 0 é 1\n'))
    assert [(row["query_id"], row["doc_id"]) for row in source.table.collect()] == [("#1", '#d"1,2'), ("007", "é")]


def test_run_lines_may_go_on_after_the_run(engine, tmp_path):
    lines = "q1 Q0 d1 1 2.5 bm25\nq1\tQ0\td2\t2\t-1e3\tbm25 k1=0.9 b=0.4\n"
    source = returned(engine, written(tmp_path / "a.run", lines))
    assert source.table.columns == ["query_id", "doc_id", "rank", "score", "run", BROKEN_LINE]
    assert source.table.collect() == [("q1", "d1", "1", "2.5", "bm25", None), ("q1", "d2", "2", "-1e3", "bm25", None)]


@pytest.mark.parametrize(
    ("read", "line"),
    [(judged, "q1 0 d1"), (judged, "q1 0 d1 1 more"), (returned, "q1 Q0 d1 1 2.5"), (returned, "q1")],
)
def test_a_line_with_too_few_or_too_many_fields_is_kept_as_broken(engine, tmp_path, read, line):
    whole = "q2 0 d2 1" if read is judged else "q2 Q0 d2 1 2.5 bm25"
    source = read(engine, written(tmp_path / "trec", f"{line}\n{whole}\n"))
    assert [row[BROKEN_LINE] for row in source.table.collect()] == [line, None]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("q1 0 é 1\nq1 0 ? 1\n", id="qrels"),
        pytest.param('{"query_id": "q1", "doc_id": "é"}\n{"query_id": "q1", "doc_id": "?"}\n', id="jsonl"),
        pytest.param("query_id,doc_id\nq1,é\nq1,?\n", id="csv"),
        pytest.param("query_id\tdoc_id\nq1\té\nq1\t?\n", id="tsv"),
    ],
)
def test_a_line_that_is_not_utf_8_is_broken(engine, tmp_path, request, text):
    file = tmp_path / f"a.{request.node.callspec.id}"
    source = judged(engine, written(file, text.encode().replace(b"?", "é".encode("latin-1"))))
    assert [row[BROKEN_LINE] is None for row in source.table.collect()] == [True, False]


def test_csv_is_text_with_quotes_around_what_needs_them(engine, tmp_path):
    text = 'doc_id,relevance,query_id\n"d,1",1.50,007\n"say ""hi""",x,\n d 3\\,,"q3"\n'
    source = judged(engine, written(tmp_path / "a.csv", text))
    assert source.table.drop(BROKEN_LINE).collect() == [
        ("007", "d,1", "1.50"),
        (None, 'say "hi"', "x"),
        ("q3", " d 3\\", None),
    ]


@pytest.mark.parametrize("line", ["q1,d1", "q1,d1,1,2", 'q1,"d1,1', 'q1,"d1"x,1', "q1,d1,1,", "q1;d1;1"])
def test_a_line_of_csv_that_is_no_row_is_broken_and_no_other_is(engine, tmp_path, line):
    lines = f"query_id,doc_id,relevance\nq0,d0,1\n{line}\nq9,d9,1\n"
    rows = judged(engine, written(tmp_path / "a.csv", lines)).table.collect()
    assert [row["query_id"] for row in rows if row[BROKEN_LINE] is None] == ["q0", "q9"]
    assert sorted(row[BROKEN_LINE] for row in rows if row[BROKEN_LINE]) == sorted(line.split("\n"))


def test_a_field_of_csv_may_be_long_and_full_of_quotes(engine, tmp_path):
    long = 'a "quoted", long id ' * 500
    quoted = long.replace('"', '""')
    file = written(tmp_path / "a.csv", f'query_id,doc_id,relevance\nq1,"{quoted}",1\n')
    assert documents(judged(engine, file)) == [long]


def test_a_header_that_names_a_column_twice_is_refused(engine, tmp_path):
    with pytest.raises(
        InputError, match=r"1 column\(s\) named twice, or alike but for their case, e\.g\. doc_id and doc_id; name each"
    ):
        judged(engine, written(tmp_path / "a.csv", "query_id,doc_id,doc_id\nq1,d1,d2\n"))


@pytest.mark.parametrize("header", ["query_id,doc_id\rrelevance", 'query_id,"doc_id,relevance'])
def test_a_header_that_is_no_line_of_csv_is_refused(engine, tmp_path, header):
    with pytest.raises(InputError, match=r"a\.csv, .* is not a header, "):
        judged(engine, written(tmp_path / "a.csv", f"{header}\nq1,d1,2\n"))


def test_a_line_of_json_with_a_column_that_the_first_lines_lack_is_broken(engine, tmp_path):
    lines = ['{"query_id": "q1", "doc_id": "a", "relevance": 1}'] * 250
    late = '{"dataset": "web", "query_id": "q1", "doc_id": "b", "relevance": 1}'
    rows = judged(engine, written(tmp_path / "a.jsonl", "\n".join([*lines, late]))).table.collect()
    assert [row[BROKEN_LINE] for row in rows if row[BROKEN_LINE]] == [late]


def test_csv_may_begin_with_a_byte_order_mark_and_end_lines_with_crlf(engine, tmp_path):
    file = written(tmp_path / "a.csv", "\ufeffquery_id,doc_id,relevance\r\nq1,d1,2\r\n")
    assert judged(engine, file).table.collect() == [("q1", "d1", "2", None)]


def test_tsv_is_separated_by_tabs_alone(engine, tmp_path):
    file = written(tmp_path / "a.tsv", "query_id\tdoc_id\trelevance\n007\td 1,2\t1\n")
    assert judged(engine, file).table.collect() == [("007", "d 1,2", "1", None)]


def test_json_lines_are_text_by_key_and_other_lines_are_broken(engine, tmp_path):
    lines = [
        '{"query_id": 7, "doc_id": "007", "relevance": 2}',
        '{"doc_id": "\\u00e9", "by": "ann"}',
        '{"query_id": "q',
    ]
    source = judged(engine, written(tmp_path / "a.jsonl", "\n".join(lines)))
    assert source.table.collect() == [
        ("7", "007", "2", None, False),
        (None, "é", None, None, False),
        (None, None, None, '{"query_id": "q', False),
    ]


def test_json_lines_are_found_by_any_of_their_names_and_gzipped(engine, tmp_path):
    for name in ("a.json", "b.ndjson", "c.jsonl.gz"):
        written(tmp_path / "in" / name, f'{{"query_id": "q1", "doc_id": "{name}", "relevance": 1}}\n')
    assert documents(judged(engine, tmp_path / "in")) == ["a.json", "b.ndjson", "c.jsonl.gz"]


def test_trec_text_has_no_columns_to_map(engine, tmp_path):
    with pytest.raises(ConfigurationError, match="columns are mapped, and TREC text has no names"):
        judged(engine, written(tmp_path / "web.qrels", "q1 0 d1 1\n"), columns={"doc_id": "item"})


def test_csv_files_with_different_headers_are_refused_by_name(engine, tmp_path):
    written(tmp_path / "a.csv", "query_id,doc_id,relevance\nq1,d1,1\n")
    written(tmp_path / "b.csv", "doc_id,query_id,relevance\nd1,q1,1\n")
    with pytest.raises(
        InputError, match=f"different headers, {tmp_path}/a.csv has .*, {tmp_path}/b.csv has 'doc_id,query"
    ):
        judged(engine, tmp_path)


def test_json_lines_without_an_object_are_refused(engine, tmp_path):
    with pytest.raises(InputError, match=r"no line of .* is a JSON object"):
        judged(engine, written(tmp_path / "a.jsonl", '["q1", "d1", 2]\n'))


def test_a_field_of_csv_may_be_all_quotes(engine, tmp_path):
    text = 'query_id,doc_id,relevance\nq1,"' + '""' * 20_000 + '",1\nq1,"' + 'a""b,' * 20_000 + '",1\nq1,"a"""b",1\n'
    rows = judged(engine, written(tmp_path / "a.csv", text)).table.collect()
    assert [row["doc_id"] for row in rows[:2]] == ['"' * 20_000, 'a"b,' * 20_000]
    assert [row[BROKEN_LINE] for row in rows] == [None, None, 'q1,"a"""b",1']


def test_a_number_of_text_is_read_by_one_rule_about_blanks(engine, tmp_path):
    text = ["\t1 ", "\x0c1", "\x0b1", "1\x0b", "1\u00a0", "1\x85", "1\x00", "\u0661"]
    lines = "".join(f"q,{number},{value}\n" for number, value in enumerate(text))
    source = judged(engine, written(tmp_path / "a.csv", f"query_id,doc_id,relevance\n{lines}"))
    assert [row["relevance"] for row in conform(source.table, JUDGMENTS, "j").collect()] == [1, 1] + [None] * 6

"""Tables from storage, each format as its users write it."""

import decimal
import gzip
import re

import pyarrow as pa
import pytest
from pyarrow import orc
from pyarrow import parquet as pq
from tables import judgment, judgments

from ndcg_spark.config import JudgmentsConfig, ResultsConfig
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.inputs import format_readers
from ndcg_spark.inputs.plain_parquet import must_be_copied
from ndcg_spark.inputs.reading import read_judgments, read_results
from ndcg_spark.schemas import BROKEN_LINE, JUDGMENTS, NO_SCALAR, conform


def written(file, text):
    """The file with the text, gzipped if its name says so."""
    file.parent.mkdir(parents=True, exist_ok=True)
    content = text if isinstance(text, bytes) else text.encode()
    file.write_bytes(gzip.compress(content) if file.suffix == ".gz" else content)
    return file


def judged(engine, *paths, **config):
    names = [str(path) for path in paths]
    return read_judgments(engine, JudgmentsConfig(path=names, **config), names)


def returned(engine, *paths, **config):
    names = [str(path) for path in paths]
    return read_results(engine, ResultsConfig(path=names, **config), names)


def documents(source):
    return sorted(row["doc_id"] for row in source.table.select("doc_id").collect())


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


@pytest.mark.parametrize("name", ["qrels", "input.bm25", "2026.01.31", "run.txt", "bm25.run.gz"])
def test_a_name_that_says_nothing_is_trec(engine, tmp_path, name):
    source = returned(engine, written(tmp_path / name, "q1 Q0 d1 1 2.5 bm25\n"))
    assert source.format == "trec"
    assert documents(source) == ["d1"]


def test_a_folder_is_all_its_files_gzipped_or_not(engine, tmp_path):
    for name in ("a.run", "b.run.gz", "more/c.run", "_SUCCESS", ".hidden.run"):
        written(tmp_path / "runs" / name, f"q1 Q0 {name} 1 2.5 r\n")
    source = returned(engine, tmp_path / "runs")
    assert documents(source) == ["a.run", "b.run.gz", "more/c.run"]
    assert source.place == f"{tmp_path}/runs/a.run and 2 more"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_folder_is_read_with_the_folders_in_it(engine, tmp_path, kind):
    for name in ("top", "more/nested"):
        file = written(tmp_path / f"{name}.{kind}", f"query_id,doc_id,relevance\nq1,{name},1\n")
        if kind == "parquet":
            pq.write_table(pa.table({"query_id": ["q1"], "doc_id": [name], "relevance": [1.0]}), file)
    assert documents(judged(engine, tmp_path)) == ["more/nested", "top"]


def test_a_glob_is_the_files_that_match_it(engine, tmp_path):
    for name in ("a.run", "b.run", ".c.run", "d.qrels"):
        written(tmp_path / name, f"q1 Q0 {name} 1 2.5 r\n")
    source = returned(engine, tmp_path / "*.run")
    assert (source.place, documents(source)) == (f"{tmp_path}/a.run and 1 more", ["a.run", "b.run"])


@pytest.mark.parametrize("name", ["[1]*.run", "a b%20#,.run", "{x}?.csv"])
def test_a_file_that_exists_is_read_whatever_its_name(engine, tmp_path, name):
    csv = "run,query_id,doc_id,score\nr,q1,d1,1\n"
    file = written(tmp_path / name, csv if name.endswith("csv") else "q1 Q0 d1 1 2.5 r\n")
    written(tmp_path / "1x.run", "q1 Q0 d2 1 2.5 r\n")
    source = returned(engine, file)
    assert (source.place, documents(source)) == (str(file), ["d1"])


@pytest.mark.parametrize(("kind", "write"), [("parquet", pq.write_table), ("orc", orc.write_table)])
def test_typed_files_keep_the_types_they_were_stored_with(engine, tmp_path, kind, write):
    write(pa.table({"doc_id": ["007"], "query_id": [7], "relevance": [1.5], "by": ["ann"]}), tmp_path / f"a.{kind}")
    source = judged(engine, tmp_path / f"a.{kind}")
    assert source.format == kind
    assert source.table.dtypes == [("query_id", "bigint"), ("doc_id", "string"), ("relevance", "double")]
    assert source.table.collect() == [(7, "007", 1.5)]


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
    with pytest.raises(InputError, match=r"a\.csv, .* is no header, "):
        judged(engine, written(tmp_path / "a.csv", f"{header}\nq1,d1,2\n"))


def test_a_line_of_json_with_a_column_that_the_first_lines_lack_is_broken(engine, tmp_path):
    lines = ['{"query_id": "q1", "doc_id": "a", "relevance": 1}'] * 250
    late = '{"dataset": "web", "query_id": "q1", "doc_id": "b", "relevance": 1}'
    rows = judged(engine, written(tmp_path / "a.jsonl", "\n".join([*lines, late]))).table.collect()
    assert [row[BROKEN_LINE] for row in rows if row[BROKEN_LINE]] == [late]


def test_csv_may_begin_with_a_byte_order_mark_and_end_lines_with_crlf(engine, tmp_path):
    file = written(tmp_path / "a.csv", "\ufeffquery_id,doc_id,relevance\r\nq1,d1,2\r\n")
    assert judged(engine, file).table.collect() == [("q1", "d1", "2", None)]


def test_a_folder_of_csv_may_be_gzipped_in_part(engine, tmp_path):
    for name in ("a.csv", "b.csv.gz"):
        written(tmp_path / "qrels" / name, f"query_id,doc_id,relevance\nq1,{name},2\n")
    assert documents(judged(engine, tmp_path / "qrels")) == ["a.csv", "b.csv.gz"]


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


def test_a_format_that_is_given_goes_before_the_name(engine, tmp_path):
    file = written(tmp_path / "export.txt", "query_id,doc_id,relevance\nq1,d1,2\n")
    source = judged(engine, file, format="csv")
    assert (source.format, documents(source)) == ("csv", ["d1"])


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_folder_partitioned_by_run_names_the_run_as_it_is_written(engine, tmp_path, kind):
    for run in ("007", "1e3"):
        file = written(tmp_path / f"run={run}" / f"a.{kind}", "query_id,doc_id,score\nq1,d1,1\n")
        if kind == "parquet":
            pq.write_table(pa.table({"query_id": ["q1"], "doc_id": ["d1"], "score": [1.0]}), file)
    runs = returned(engine, tmp_path).table.select("run").collect()
    assert sorted(row["run"] for row in runs) == ["007", "1e3"]


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
    assert source.table.drop(NO_SCALAR).collect() == [("q1", "d1", "2", None)]


def test_a_run_that_is_given_names_every_row_whatever_the_files_say(engine, tmp_path):
    trec = written(tmp_path / "a.run", "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 1.5 dense\n")
    csv = written(tmp_path / "a.csv", "query_id,doc_id,score\nq1,d1,1\n")
    for file, rows in ((trec, 2), (csv, 1)):
        named = returned(engine, file, run="mine").table.select("run").collect()
        assert [row["run"] for row in named] == ["mine"] * rows


def test_a_catalog_table_is_read_by_its_name(engine, spark):
    judgments(spark, [judgment("007", 2.0)]).withColumnRenamed("doc_id", "item").createOrReplaceTempView("judged_items")
    source = judged(engine, "table:judged_items", columns={"doc_id": "item"})
    assert source.table.collect() == [("q1", "007", 2.0)]
    assert (source.place, source.files, source.seen) == ("table:judged_items", [], False)


def test_a_catalog_table_that_is_not_there_is_refused(engine, tmp_path):
    with pytest.raises(InputError, match="judgments: no catalog table no_such_table, "):
        judged(engine, "table:no_such_table")
    with pytest.raises(InputError, match="2 paths, among them table:no_such_table; give a catalog table alone"):
        judged(engine, tmp_path, "table:no_such_table")


@pytest.mark.parametrize("name", ["missing.qrels", "missing/*.qrels", "*.qrels"])
def test_a_path_that_is_not_there_is_refused(engine, tmp_path, name):
    with pytest.raises(InputError, match=f"judgments: no such path, {re.escape(str(tmp_path / name))}; check"):
        judged(engine, tmp_path / name)


def test_an_empty_folder_is_refused(engine, tmp_path):
    written(tmp_path / "out" / "_SUCCESS", "done")
    with pytest.raises(InputError, match=f"judgments: no files in {tmp_path}/out, an empty folder"):
        judged(engine, tmp_path / "out")


@pytest.mark.parametrize("name", ["web.qrels", "web.csv", "web.parquet"])
def test_a_file_without_a_byte_is_refused(engine, tmp_path, name):
    with pytest.raises(InputError, match=rf"1 file\(s\) without a byte, e\.g\. {tmp_path}/{name}; an empty table"):
        judged(engine, written(tmp_path / name, ""))


def test_a_mapped_column_that_is_missing_is_refused_with_what_there_is(engine, tmp_path):
    file = written(tmp_path / "a.csv", "query_id,doc_id,grade\nq1,d1,2\n")
    with pytest.raises(InputError, match=r"columns\.relevance = 'label'; it has query_id, doc_id, grade"):
        judged(engine, file, columns={"relevance": "label"})


def test_a_table_without_any_column_of_the_schema_is_refused(engine, tmp_path):
    with pytest.raises(
        InputError, match="csv: none of dataset, query_id, doc_id, relevance is a column; it has a, b; map"
    ):
        judged(engine, written(tmp_path / "a.csv", "a,b\n1,2\n"))


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


def test_a_folder_of_several_formats_is_refused_with_a_file_of_each(engine, tmp_path):
    names = [written(tmp_path / name, "x\n") for name in ("a.csv", "b.qrels")]
    with pytest.raises(InputError, match=rf"2 formats in one place, csv \({names[0]}\), trec \({names[1]}\); name one"):
        judged(engine, tmp_path)


def test_json_lines_without_an_object_are_refused(engine, tmp_path):
    with pytest.raises(InputError, match=r"no line of .* is a JSON object"):
        judged(engine, written(tmp_path / "a.jsonl", '["q1", "d1", 2]\n'))


@pytest.mark.parametrize("kind", ["run", "jsonl", "csv", "csv.gz"])
def test_folders_named_for_a_column_give_it_in_every_format(engine, tmp_path, kind):
    content = {
        "run": "q1 Q0 d1 1 2.5 r\n",
        "jsonl": '{"run": "r", "query_id": "q1", "doc_id": "d1", "score": 2.5}\n',
        "csv": "run,query_id,doc_id,score\nr,q1,d1,2.5\n",
    }[kind.removesuffix(".gz")]
    written(tmp_path / "dataset=web" / f"a.{kind}", content)
    written(tmp_path / "dataset=a%2Fb" / f"a.{kind.removesuffix('.gz')}", content)
    for path in (tmp_path, f"{tmp_path}/dataset=*"):
        rows = read_results(engine, ResultsConfig(path=[str(path)]), [str(path)]).table.collect()
        assert {(row["dataset"], row["query_id"]) for row in rows} == {("web", "q1"), ("a/b", "q1")}


def test_a_glob_over_folders_of_parquet_gives_their_columns(engine, tmp_path):
    for name in ("web", "shop"):
        (tmp_path / f"dataset={name}").mkdir()
        table = pa.table({"query_id": ["q1"], "doc_id": ["d1"], "relevance": [1.0]})
        pq.write_table(table, tmp_path / f"dataset={name}" / "p.parquet")
    rows = judged(engine, f"{tmp_path}/dataset=*").table.collect()
    assert {row["dataset"] for row in rows} == {"web", "shop"}


def test_folders_that_give_different_columns_are_refused(engine, tmp_path):
    written(tmp_path / "dataset=web" / "a.qrels", "q1 0 d1 1\n")
    written(tmp_path / "b.qrels", "q1 0 d2 1\n")
    with pytest.raises(InputError, match="folders that give different columns"):
        judged(engine, tmp_path)


def test_a_name_with_a_colon_is_read(engine, tmp_path):
    written(tmp_path / "a:b.run", "q1 Q0 d1 1 2.5 r\n")
    assert documents(returned(engine, tmp_path / "a:b.run")) == ["d1"]


def test_a_table_may_have_a_column_of_any_name(engine, tmp_path):
    csv = written(tmp_path / "a.csv", "query_id,doc_id,relevance,broken_line\nq1,d1,2,x\nq1\n")
    rows = judged(engine, csv).table.collect()
    assert [(row["doc_id"], row[BROKEN_LINE]) for row in rows] == [("d1", None), (None, "q1")]
    pq.write_table(pa.table({"query_id": ["q1"], "doc_id": ["d1"], "broken_line": ["x"]}), tmp_path / "a.parquet")
    assert judged(engine, tmp_path / "a.parquet").table.collect() == [("q1", "d1")]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_that_differ_by_case_only_are_refused_with_both(engine, tmp_path, kind):
    file = written(tmp_path / f"a.{kind}", "query_id,doc_id,score,SCORE\nq1,d1,1,2\n")
    if kind == "parquet":
        pq.write_table(pa.table({"query_id": ["q1"], "doc_id": ["d1"], "score": [1.0], "SCORE": [2.0]}), file)
    with pytest.raises(InputError, match=r"alike but for their case, e\.g\. score and SCORE; name each once"):
        returned(engine, file)


def test_a_field_of_csv_may_be_all_quotes(engine, tmp_path):
    text = 'query_id,doc_id,relevance\nq1,"' + '""' * 20_000 + '",1\nq1,"' + 'a""b,' * 20_000 + '",1\nq1,"a"""b",1\n'
    rows = judged(engine, written(tmp_path / "a.csv", text)).table.collect()
    assert [row["doc_id"] for row in rows[:2]] == ['"' * 20_000, 'a"b,' * 20_000]
    assert [row[BROKEN_LINE] for row in rows] == [None, None, 'q1,"a"""b",1']


def test_categories_and_small_floats_of_parquet_are_plain_values(engine, tmp_path):
    columns = {
        "query_id": pa.array([7, 7]).dictionary_encode(),
        "doc_id": pa.array(["d1", None]).dictionary_encode(),
        "relevance": pa.array([1.5, 2.0], pa.float16()),
        "by": pa.array([1, 2], pa.duration("s")),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert judged(engine, tmp_path / "a.parquet").table.collect() == [(7, "d1", 1.5), (7, None, 2.0)]


#: Types that some engine cannot read, in columns that nobody wants.
UNREAD = {
    "pandas' dates": pa.array([1], pa.timestamp("ns", "UTC")),
    "dates within a list": pa.array([[1]], pa.list_(pa.timestamp("ns"))),
    "times of day in nanoseconds": pa.array([1], pa.time64("ns")),
    "times of day": pa.array([1], pa.time32("ms")),
    "small floats within a struct": pa.StructArray.from_arrays([pa.array([1.0], pa.float16())], ["x"]),
    "categories within a struct": pa.StructArray.from_arrays([pa.array(["a"]).dictionary_encode()], ["x"]),
    "wide decimals": pa.array([decimal.Decimal(1)], pa.decimal256(60, 18)),
}


@pytest.mark.parametrize("name", UNREAD)
def test_a_column_that_nobody_wants_may_be_of_any_type(engine, tmp_path, name):
    pq.write_table(pa.table({"query_id": ["q"], "doc_id": ["d"], "by": UNREAD[name]}), tmp_path / "a.parquet")
    assert judged(engine, tmp_path / "a.parquet").table.collect() == [("q", "d")]


def test_the_embedded_engine_is_given_no_type_that_it_cannot_read():
    copied = {name: must_be_copied([{"by": column.type}], [], "embedded") for name, column in UNREAD.items()}
    assert [name for name, is_copied in copied.items() if not is_copied] == ["times of day", "wide decimals"]


def test_a_wide_decimal_is_the_nearest_double(engine, tmp_path):
    grades = pa.array([decimal.Decimal("1234567890123456789012.000000000000000001")], pa.decimal256(60, 18))
    pq.write_table(pa.table({"query_id": ["q"], "doc_id": ["d"], "relevance": grades}), tmp_path / "a.parquet")
    table = conform(judged(engine, tmp_path / "a.parquet").table, JUDGMENTS, "j")
    assert table.collect() == [("q", "d", 1234567890123456789012.0)]


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.time32("ms")])
def test_a_time_is_no_id_and_its_file_is_named(engine, tmp_path, kind):
    pq.write_table(pa.table({"query_id": ["q"], "doc_id": pa.array([1], kind)}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet: 1 column\(s\) of the wrong type, doc_id is ti"):
        judged(engine, tmp_path / "a.parquet")


def test_a_file_that_the_engine_refuses_is_named_as_its_user_names_it(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(format_readers, "must_be_copied", lambda *_: False)
    pq.write_table(pa.table({"query_id": ["q"], "by": UNREAD["pandas' dates"]}), tmp_path / "a.parquet")
    with pytest.raises(
        InputError, match=rf"^judgments: {tmp_path}/a\.parquet cannot be read as parquet, .*; write"
    ) as told:
        judged(engine, tmp_path / "a.parquet")
    assert "ndcg-spark-" not in str(told.value)


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_a_column_named_as_those_that_reading_adds_is_refused(engine, tmp_path, name):
    if name == "a.csv":
        written(tmp_path / name, "query_id,doc_id,ndcg_own_unit\nq,d,x\n")
    else:
        pq.write_table(pa.table({"query_id": ["q"], "doc_id": ["d"], "ndcg_own_unit": ["x"]}), tmp_path / name)
    with pytest.raises(
        InputError, match=rf"{name}: 1 column\(s\) named ndcg_own_\.\.\., e\.g\. ndcg_own_unit, .*; rename"
    ):
        judged(engine, tmp_path / name)


def test_a_duration_is_no_number(engine, tmp_path):
    pq.write_table(pa.table({"query_id": ["q"], "relevance": pa.array([1], pa.duration("s"))}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"1 column\(s\) of the wrong type, relevance is duration\[s\]"):
        judged(engine, tmp_path / "a.parquet")


def test_an_id_of_parquet_that_is_not_utf_8_is_none(engine, tmp_path):
    ids = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"d"]).buffers())
    pq.write_table(pa.table({"query_id": ["q", "q"], "doc_id": ids}), tmp_path / "a.parquet")
    assert judged(engine, tmp_path / "a.parquet").table.collect() == [("q", None), ("q", "d")]


def test_a_number_of_text_is_read_by_one_rule_about_blanks(engine, tmp_path):
    text = ["\t1 ", "\x0c1", "\x0b1", "1\x0b", "1\u00a0", "1\x85", "1\x00", "\u0661"]
    lines = "".join(f"q,{number},{value}\n" for number, value in enumerate(text))
    source = judged(engine, written(tmp_path / "a.csv", f"query_id,doc_id,relevance\n{lines}"))
    assert [row["relevance"] for row in conform(source.table, JUDGMENTS, "j").collect()] == [1, 1] + [None] * 6


def test_parquet_is_copied_only_where_the_engine_cannot_read_it():
    plain, unsigned = {"query_id": pa.int64()}, {"query_id": pa.uint32()}
    category = {"by": pa.dictionary(pa.int32(), pa.int64())}
    for schema, embedded, spark in ((plain, False, False), (unsigned, True, False), (category, True, False)):
        assert must_be_copied([plain, schema], ["query_id"], "embedded") is embedded
        assert must_be_copied([plain, schema], ["query_id"], "spark") is spark
    assert not must_be_copied([unsigned], ["doc_id"], "embedded")

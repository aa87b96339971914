"""Text and JSON: how lines are spaced and quoted, what they lack, and what is quoted of a row that is refused."""

import bz2
import lzma
import re

import pyarrow as pa
import pytest
from input_files import documents, file, judged, returned, rows, written
from sessions import paired

from ndcg_spark.errors import InputError
from ndcg_spark.inputs import delimited
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.source_tables import without_broken
from ndcg_spark.schemas import FAULT, LINE
from ndcg_spark.voices import OPTIONS, Do, NameColumns

pytestmark = pytest.mark.embedded

ROW = ("q1", "d1", 2.0)
BROKEN = "broken_line"
RUN = ["q1 Q0 d1 1 7.5 a", "q2 Q0 d2 2 1 a"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.qrels", " \tq1 0\fd1 2 \t\n"),
        ("a.qrels", "q1 0 d1 2\r"),
        ("a.qrels", "\ufeffq1 0 d1 2\n"),
        ("a.qrels", "\n\nq1 0 d1 2"),
        ("a.csv", "\ufeffquery_id,doc_id,relevance\r\nq1,d1,2\r\n"),
        ("a.csv", "query_id;doc_id;relevance\n\nq1;d1;2"),
        ("a.json.gz", '\n{"q0": {}, "q1": {"d1": 2}}'),
    ],
)
def test_a_row_is_the_same_however_it_is_spaced(engine, tmp_path, name, text):
    source = judged(engine, written(tmp_path / name, text))
    assert source.table.columns == ["query_id", "doc_id", "relevance"]
    assert rows(source) == [ROW]


def test_fields_after_a_run_belong_to_its_name_unless_the_document_has_a_blank(engine, tmp_path):
    blank = "q1 Q0 iphone 12 1 9.5 bm25"
    lines = "q1 Q0 d1 1 2.5 bm25\nq1\tQ0\td2\t2\t-1e3\tbm25 k1=0.9 b=0.4\n" + blank
    source = returned(engine, written(tmp_path / "a.run", lines))
    assert rows(source, "run", "doc_id", "score", "rank", LINE) == [
        ("bm25", "d1", 2.5, 1, None),
        ("bm25", "d2", -1000.0, 2, None),
        (None, None, None, None, blank),
    ]


@pytest.mark.parametrize("line", ['"q1,d1,1', 'q1,d1,"1', 'q"1,d1,"1', '"q1"",d1,1'])
@pytest.mark.parametrize("after", ["", "q2,d2,2\n", 'q2,"d2",2\n'])
def test_a_quote_that_does_not_end_breaks_its_own_line_alone(engine, tmp_path, line, after):
    text = f"query_id,doc_id,relevance\nq0,d0,0\n{line}\n{after}"
    read = rows(judged(engine, written(tmp_path / "a.csv", text)), "doc_id", LINE)
    assert read == [("d0", None), *([("d2", None)] if after else []), (None, line)]


@pytest.mark.parametrize(
    ("name", "lines", "bad"),
    [
        ("a.qrels", "q 0 a 1\nq 0 b high\nq\n", "q 0 b high"),
        ("a.csv", 'query_id,doc_id,relevance\nq,a,1\nq,"b",0x1F\n', 'q,"b",0x1F'),
        (
            "a.jsonl",
            '{"query_id":"q","doc_id":"a","relevance":1}\n{"query_id":"q","doc_id":"b","relevance":"x"}',
            None,
        ),
        ("a.json", '{"q": {"a": 1, "b": "x"}}', '{"q": {"b": "x"}}'),
    ],
)
def test_a_row_with_a_number_that_is_none_keeps_its_line(engine, tmp_path, name, lines, bad):
    source = judged(engine, written(tmp_path / name, lines))
    whole = [row for row in rows(source, "doc_id", "relevance", LINE) if row[0]]
    assert whole == [("a", 1.0, None), ("b", None, bad or lines.splitlines()[-1])]


@pytest.mark.parametrize(
    ("name", "lines", "bad"),
    [
        ("r.run", "q Q0 a 9.5 1 x\nq Q0 b 2 8.5 x\n", ["a"]),
        ("r.csv", "query_id,doc_id,score,rank\nq,a,1,x\nq,b,2,\nq,c,3,1\n", ["a"]),
        (
            "r.jsonl",
            '{"query_id":"q","doc_id":"a","score":1,"rank":9.5}\n'
            + '{"query_id":"q","doc_id":"b","score":2,"rank":null}\n',
            ["a"],
        ),
    ],
)
def test_a_bad_rank_keeps_its_line_and_an_absent_one_does_not(engine, tmp_path, name, lines, bad):
    source = returned(engine, written(tmp_path / name, lines))
    assert [row[0] for row in rows(source, "doc_id", LINE) if row[1]] == bad


@pytest.mark.parametrize(
    ("encoding", "error"), [("utf-16", "in UTF-16; save"), ("cp1252", "as UTF-8")]
)
def test_text_that_is_not_utf8_is_refused_with_what_to_do(engine, tmp_path, encoding, error):
    (tmp_path / "a.csv").write_bytes(
        "query_id,doc_id,relevance\nq,d,1\nf\xfcr,d,1".encode(encoding)
    )
    with pytest.raises(InputError, match=error):
        without_broken(judged(engine, tmp_path / "a.csv"))


@pytest.mark.parametrize(
    ("suffix", "end"), paired(["run", "run.gz", "csv", "tsv"], ["", "\n", "\r\n", "\r"])
)
def test_a_last_line_without_an_end_is_warned_of(engine, tmp_path, caplog, suffix, end):
    separator = {"csv": ",", "tsv": "\t"}.get(suffix, " ")
    names = ["run", "x", "doc_id", "rank", "score", "query_id"]
    lines = [line.split() for line in RUN]
    if separator != " ":
        lines.insert(0, names)
    text = (end or "\n").join(separator.join(line) for line in lines) + end
    returned(engine, written(tmp_path / f"r.{suffix}", text))
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warned) == (not end)
    assert all(repr(separator.join(lines[-1])) in sentence for sentence in warned)


@pytest.mark.parametrize("empty", ["", "\n \n"])
@pytest.mark.parametrize("suffix", ["run", "run.gz"])
def test_a_file_without_rows_is_warned_of(engine, tmp_path, caplog, empty, suffix):
    written(tmp_path / f"a.{suffix}", empty)
    written(tmp_path / f"b.{suffix}", "\n".join([*RUN, ""]))
    returned(engine, tmp_path)
    (warned,) = (record.getMessage() for record in caplog.records if record.levelname == "WARNING")
    assert f"a.{suffix}" in warned
    caplog.clear()
    returned(engine, tmp_path, run_from="file")
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize("kind", ["bzip2", "xz", "zstd", "lz4"])
def test_a_compression_that_is_not_read_is_named(engine, tmp_path, kind):
    compress = {"bzip2": bz2.compress, "xz": lzma.compress}.get(kind) or pa.Codec(kind).compress
    content = compress(b"q 0 d 1\n")
    with pytest.raises(InputError, match=f"compressed with {kind}; compress it with gzip"):
        judged(engine, written(tmp_path / "a.qrels", bytes(content)))


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_columns_of_results_without_scores_and_ranks_are_listed(engine, tmp_path, kind):
    text = (
        "query_id,doc_id,scroe\nq,d,1\n"
        if kind == "csv"
        else '{"query_id": "q", "doc_id": "d", "scroe": 1}\n'
    )
    with pytest.raises(
        InputError, match=r"score or rank; it has query_id, doc_id, scroe;"
    ) as refused:
        returned(engine, written(tmp_path / f"a.{kind}", text))
    order, names, swapped = refused.value.advice.ways
    assert (order.option, order.value) == ("order", "file")
    missing = ("score or rank",)
    assert names == NameColumns(missing, may_be_numbers=kind == "csv", table="results")
    assert isinstance(swapped, Do)


@pytest.mark.parametrize("header", ["score,run\n", "run,score,rank\n", "1,2\n", "query_id\n"])
def test_files_with_different_headers_are_refused_with_both(engine, tmp_path, header):
    for name, text in (
        ("1.csv", "query_id,doc_id\r\n"),
        ("2.csv.gz", "query_id,doc_id\n"),
        ("3.csv", header),
    ):
        written(tmp_path / name, text)
    with pytest.raises(
        InputError, match=r"headers, .*/1\.csv has 'query_id,doc_id', .*/3\.csv has "
    ) as refused:
        judged(engine, tmp_path)
    assert repr(header.strip()) in str(refused.value)


@pytest.mark.parametrize("size", [1, 17, 18, 40, 1000])
@pytest.mark.parametrize("packed", [False, True])
def test_blocks_are_whole_lines_and_the_whole_text_without_a_mark(tmp_path, size, packed):
    text = "\n".join(RUN * 9).encode()
    stored = "\ufeff".encode() + text
    path = file(tmp_path / ("a.gz" if packed else "a"), stored.decode()).path
    blocks = list(delimited.blocks(File(path, 1), size))
    assert b"".join(blocks) == text
    assert all(block.endswith(b"\n") for block in blocks[:-1])
    assert max(map(len, blocks)) < size + len(RUN[0]) + 1


@pytest.mark.parametrize("size", [1, 17, 40, 1000])
def test_marks_of_files_that_were_put_together_are_left_out_wherever_blocks_end(tmp_path, size):
    mark = "\ufeff"
    path = file(tmp_path / "a", mark.join(["", *(f"{line}\n" for line in RUN * 5)])).path
    read = [delimited.valid_lines(block) for block in delimited.blocks(File(path, 1), size)]
    assert b"".join(block for block, _ in read).decode() == "".join(f"{line}\n" for line in RUN * 5)
    assert not any(broken for _, broken in read)


# ---- JSON

GOOD = '{"query_id": "q", "doc_id": "d", "relevance": 1}'
#: What the random lines of odd_files do not have, and the document that is read.
LINES = {
    **{
        f'{{"query_id": "q", "doc_id": {value}, "relevance": 1}}': read
        for value, read in {
            '"x\\"y: 5}"': 'x"y: 5}',
            '"\\\\ud800"': "\\ud800",
            '"a", "doc\\u005fid": "a"': BROKEN,
            '"a", "z": 1, "z": 2': "a",
        }.items()
    },
    GOOD + GOOD: BROKEN,
    '{"by": 1}': BROKEN,
    '{"z": %s, "doc_id": "x", "query_id": "q", "relevance": 1}'
    % ("[" * 100_000 + "]" * 100_000): BROKEN,
    '{"dataset": "web", "query_id": "q1", "doc_id": "b", "relevance": 1}': BROKEN,
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:60])
def test_a_line_is_one_object_of_strict_json_with_the_keys_of_the_first_lines(
    engine, tmp_path, line
):
    source = judged(engine, written(tmp_path / "a.jsonl", "\n".join([*[GOOD] * 200, line])))
    other = [row for row in source.table.collect() if row["doc_id"] != "d"]
    assert [(FAULT in row and row[FAULT]) or row["doc_id"] for row in other] == [LINES[line]]


# ---- layouts


@pytest.mark.parametrize(
    ("table", "lines", "fields"),
    [
        (judged, ["1 0 a 2"], "query_id 2 doc_id relevance"),
        (judged, ["1 a 2", "1 b -1"], "query_id doc_id relevance"),
        (judged, ["1 31 4 881250949", "1 31 4 1"], "query_id 2 doc_id relevance"),
        (judged, ["1 31 4 881250949"], "is a time"),
        (judged, ["u i r t", "1 31 4 881250949", "1 32 4"], "is a time"),
        (judged, ["user_id item_id rating timestamp", "1 31 4 881250949"], "are column names"),
        (judged, ["query_id doc_id", "1 31"], "are column names"),
        (judged, ["item_id user_id rating", "31 1 4"], "are column names"),
        (returned, ["qid Q0 docno rank score tag", "1 Q0 a 1 2.5 x"], "are column names"),
        (returned, ["qid docno score", "1 a 2.5"], "are column names"),
        (judged, ["1 Q0 a 1 2 x"], "give the judgments first"),
        (judged, ['{"1": {"a": 1}}'], "--input-format"),
        (returned, ["1 Q0 a 0 2.5 x and more"], "query_id 2 doc_id rank score run"),
        (returned, ["1 a 1", "1 b 2", "2 a 1"], "query_id doc_id rank"),
        *(
            (returned, lines, "results.rank=3")
            for lines in (["1 a 9.5"], ["1 a 2", "1 b 1"], ["1 a 0", "1 b 1"])
        ),
        (returned, ["1 a 1", "1 b 2", "1 c 0"], "results.score=3"),
        (returned, ["1 a 1 9.5"], "results.score=4"),
        (returned, ["1 Q0 a 1 9.5"], "results.score=5"),
        (returned, ["1 a"], "--column results.query_id=1"),
    ],
)
def test_a_layout_is_read_by_the_number_of_fields_or_refused_with_what_to_write(
    engine, tmp_path, table, lines, fields
):
    path = written(tmp_path / "a", "\n".join(lines))
    if "query_id" not in fields.split():
        with pytest.raises(InputError, match=re.escape(repr(lines[0]))) as refused:
            table(engine, path)
        assert fields in refused.value.worded(OPTIONS)
        return
    names = [name for name in fields.split() if name not in ("2", "run")]
    assert rows(table(engine, path), *names)[0][0] == "1"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("above", ["", "sep=,"])
def test_a_header_within_files_that_were_put_together_is_no_row(engine, tmp_path, end, above):
    lines = ["query_id,doc_id", "q1,a", "query_id,doc_id", "q2,b", ""]
    text = end.join(lines)
    path = written(tmp_path / "a.csv", above + end + text if above else text)
    source = judged(engine, path, relevance=1.0)
    assert rows(source, "query_id", LINE) == [("q1", None), ("q2", None), (None, lines[0])]


@pytest.mark.parametrize("suffix", ["txt", "tsv", "csv"])
def test_fields_may_be_numbered_in_text_without_a_header(engine, tmp_path, suffix):
    line = {"txt": " ", "tsv": "\t", "csv": ","}[suffix].join(["0.5", "q", "d", "more"])
    path = written(tmp_path / f"r.{suffix}", line)
    source = returned(engine, path, columns={"query_id": "2", "doc_id": "3", "score": "1"})
    assert rows(source, "query_id", "doc_id", "score") == [("q", "d", 0.5)]


@pytest.mark.parametrize("text", ["ORC1 0 d1 1\n", "PAR1 0 d1 1\n"])
def test_letters_of_a_magic_number_are_text(engine, tmp_path, text):
    assert documents(judged(engine, written(tmp_path / "a.qrels", text))) == ["d1"]

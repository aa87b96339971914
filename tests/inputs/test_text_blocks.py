"""Blocks of text as columns: by Arrow where every line is regular, and as the rule says, whichever way they go."""

import gzip

import pyarrow as pa
import pytest
from input_files import file

from ndcg_spark.inputs import trec_text
from ndcg_spark.inputs.csv_text import CsvText
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.json_lines import JsonLines
from ndcg_spark.inputs.text_blocks import blocks, columns_of
from ndcg_spark.inputs.text_to_parquet import _of_block, _of_lines
from ndcg_spark.inputs.trec_layouts import RUN
from ndcg_spark.inputs.trec_text import TrecText
from ndcg_spark.inputs.values import schema_of
from ndcg_spark.schemas import FAULT

TREC = TrecText(RUN)
HEADER = "doc_id,query_id,by,score"
CSV = CsvText(",", HEADER, {"query_id": "query_id", "doc_id": "doc_id", "score": "score"})
TSV = CsvText("\t", HEADER.replace(",", "\t"), CSV.names)
JSON = JsonLines({"query_id": "q", "doc_id": "d", "score": "s"}, absent=["dataset"])

_TREC = ["q1 Q0 d1 1 7.5 a", "q2 Q0 d2 2 1 a"]


def _field(at, *texts):
    """Lines of a run that have these texts as one of their fields."""
    fields = [["q1", "Q0", "d1", "1", "7.5", "a"] for _ in texts]
    for row, text in zip(fields, texts, strict=True):
        row[at] = text
    return [*_TREC, *map(" ".join, fields)]


def _json(*values):
    return [f'{{"q": {q}, "d": {d}, "s": {s}}}' for q, d, s in values]


#: By name, a format and the lines of a block that Arrow reads.
REGULAR = {
    "blanks": (TREC, _TREC),
    "tabs": (TREC, [line.replace(" ", "\t") for line in _TREC]),
    "aligned columns": (TREC, [f"{'q1':<12} Q0 {f'd{at}':<30} {at:>4} {9.5 - at:>12} a" for at in range(1, 6)]),
    "blanks and tabs around and between": (TREC, [" q1 \tQ0  d1\t1 7.5 a\t", *_TREC, "\t"]),
    "blank lines": (TREC, ["", *_TREC, "  ", "", *_TREC]),
    "CR LF": (TREC, [f"{line}\r" for line in _TREC]),
    "CR LF after blanks": (TREC, [f"{line} \r" for line in _TREC]),
    "form feeds": (TREC, ["q1\fQ0 d1 1 7.5 a", *_TREC]),
    "letters of all kinds": (TREC, _field(2, "日本\u00a0é\u0301\u2028\u0085😀", "a\x0bb\x1cc\x7f", "#q\\")),
    "quotes": (TREC, _field(2, 'a"b', '"', "'x'", '"q"')),
    "names that say null": (TREC, _field(2, "NULL", "nan", "N/A", "null") + _field(0, "NULL")),
    "ranks in other words": (TREC, _field(3, "007", "1.0", "1e2", "2.", "+3")),
    "ranks that are none": (TREC, _field(3, "0", "-3", "1.5", "2147483647", "1e400")),
    "scores in other words": (TREC, _field(4, ".5", "5.", "1E3", "1e+3", "-1e-3", "007", "-7.25")),
    "zeros": (TREC, _field(4, "-0.0", "-0", "-0e5", "0", "1e-400", "-1e-400")),
    "numbers next to nothing": (TREC, _field(4, "4.9e-324", "2.5e-324", "2.4e-324", "1e-320")),
    # The exact middle of two numbers, a little more than it, and more digits than are needed.
    "many digits": (
        TREC,
        _field(
            4,
            "9007199254740993",
            "9007199254740993." + "0" * 40 + "1",
            "0.1000000000000000055511151231257827021181583404541015625",
            "1" * 300 + "." + "3" * 300,
            "1.7976931348623157e308",
        ),
    ),
    "CSV": (CSV, [HEADER, "d1,q1,ann,1.5", "d2,q1,,2", "d 3,q2,x y,-3e2"]),
    "CSV with CR LF": (CSV, [f"{line}\r" for line in (HEADER, "d1,q1,ann,1.5", "d2,q1,ann,2")]),
    "CSV with empty fields": (CSV, [",q1,ann,1.5", "d2,,ann,", '"",q1,ann,2']),
    "CSV with quotes": (CSV, ['"d,1",q1,"a ""b""",1.5', '"""",q1,,"2"', '"a""b,""",q2,"",3', '"é",007,x,4']),
    "CSV with blanks in fields": (CSV, [" d1 ,q1,a, 1.5", "d2,q1,a\tb,2\t"]),
    "TSV": (TSV, ["d1\tq1\tann\t1.5", 'd,2\tq1\t"a"\t2']),
    "JSON": (JSON, _json(('"q1"', '"d1"', "1.5"), ('"q1"', '"é\u2028"', "-2"), ('"q2"', '""', "1e3"))),
    "JSON with ids that are numbers": (JSON, _json((7, 12, 1), (8, -3, 2), (9223372036854775807, 0, 3))),
    "JSON with escapes": (JSON, _json(('"q\\u00e9"', '"\\ud83d\\ude00\\"\\\\"', 1), ('"q\\n"', '"\\/"', 2))),
    "JSON with more in it": (JSON, ['{"x": [1, {"d": 2}], "q": "q1", "d": "d1", "s": 1}', '{"q":"q2","d":"d2","s":2}']),
    "JSON with a value less": (JSON, [*_json(('"q"', '"d"', 1), ('"q"', "null", 1)), '{"q": "q", "d": "d"}']),
    "JSON with CR LF": (JSON, [f"{line}\r" for line in _json(('"q1"', '"d1"', "1.5"), ('"q1"', '"d2"', "1"))]),
}

#: By name, a format and the lines of a block that Arrow must leave to the rule.
ODD = {
    "a field more": (TREC, [*_TREC, "q1 Q0 d1 1 7.5 a more"]),
    "a field less": (TREC, [*_TREC, "q1 Q0 d1 1 7.5"]),
    "no last field but a blank": (TREC, [*_TREC, "q1 Q0 d1 1 7.5 "]),
    "old Macs": (TREC, ["\r".join(_TREC)]),
    "the rank is text": (TREC, _field(3, "x")),
    **{f"the score {text}": (TREC, _field(4, text)) for text in ("x", "1d", "1_0", "1,5", "--1", "NULL", "\u0663")},
    "a byte order mark in a line": (TREC, _field(2, "d\ufeff1")),
    "bytes that are no text": (TREC, [*_TREC, "q1 Q0 d\udcff 1 7.5 a"]),
    "half a pair": (TREC, [*_TREC, "q1 Q0 d\udced\udca0\udc80 1 7.5 a"]),
    "CSV with a field more": (CSV, ["d1,q1,ann,1.5", "d1,q1,ann,1.5,"]),
    "CSV with a field less": (CSV, ["d1,q1,ann,1.5", "d1,q1,ann"]),
    "CSV with the header within": (CSV, ["d1,q1,ann,1.5", HEADER, "d1,q1,ann,1.5"]),
    "CSV with a quote within a field": (CSV, ['d"1,q1,ann,1.5', 'd"2,q1,ann,1.5']),
    "CSV with text after a quote": (CSV, ['"d1"x,q1,ann,1.5', "d1,q1,ann,1.5"]),
    "CSV with a quote that does not end": (CSV, ['"d1,q1,ann,1.5', "d1,q1,ann,1.5"]),
    "CSV with a field of two lines": (CSV, ['"d', '1",q1,ann,1.5', "d1,q1,ann,1.5"]),
    "CSV with a carriage return": (CSV, ["d\r1,q1,ann,1.5"]),
    "CSV with a byte order mark": (CSV, ["d1,q1,ann,1.5", "d\ufeff1,q1,ann,1.5"]),
    "CSV with bytes that are no text": (CSV, ["d1,q1,ann,1.5", "d\udcff1,q1,ann,1.5"]),
    "CSV with a score that is none": (CSV, ["d1,q1,ann,best"]),
    "JSON with a line without a value": (JSON, [*_json(('"q"', '"d"', 1)), '{"q": null, "d": null}']),
    "JSON with a long number for an id": (JSON, _json((7, 1, 1), (12345678901234567890123, 1, 1))),
    "JSON with a fraction for an id": (JSON, _json(("1.0", '"d"', 1), ("1.0", '"d"', 1))),
    "JSON with -0 for an id": (JSON, _json((7, 1, 1), ("-0", 1, 1))),
    "JSON with a key that the first lines lack": (JSON, ['{"dataset": "x", "q": "q", "d": "d", "s": 1}']),
    "JSON with bytes that are no text": (JSON, _json(('"q"', '"d"', 1), ('"q"', '"\udcff"', 1))),
    "JSON with a blank line": (JSON, ['{"q": "q", "d": "d", "s": 1}', "", '{"q": "q", "d": "d", "s": 1}']),
}


def block_of(texts):
    """The lines as bytes; half of a pair from U+DC80 on is a byte that is no text."""
    return "".join(f"{text}\n" for text in texts).encode("utf-8", "surrogateescape")


def both_ways(form, block, constants=None):
    """The table of a block, as it comes and as the rule alone has it."""
    schema = schema_of(list(form.columns))
    ways = [way(form, block, constants or {}, schema).to_pylist() for way in (_of_block, _of_lines)]
    return [sorted(map(repr, rows)) for rows in ways]


@pytest.mark.parametrize("name", REGULAR)
@pytest.mark.parametrize("end", ["\n", ""])
def test_regular_lines_are_read_by_arrow_as_the_rule_says(name, end):
    form, texts = REGULAR[name]
    block = block_of(texts) if end else block_of(texts).rstrip(b"\r\n")
    expected = pa.table(next(columns_of(form.columns, form.rows(block)))).to_pylist()
    found = form.quick(block, as_text=True) or form.quick(block, as_text=False)
    assert found is not None
    texts_found = {ours: column.cast(pa.string()) for ours, column in found.items()}
    is_json = isinstance(form, JsonLines)
    wanted = [ours for ours in form.columns if not (is_json and ours == "score")]
    assert pa.table(texts_found).select(wanted).to_pylist() == [
        {ours: row[ours] for ours in wanted} for row in expected
    ]
    assert {row[FAULT] for row in expected} == {None}
    quick, slow = both_ways(form, block)
    assert quick == slow


@pytest.mark.parametrize("name", ODD)
def test_an_odd_line_among_regular_ones_is_what_the_rule_says(name):
    form, texts = ODD[name]
    block = block_of(texts)
    assert form.quick(block, as_text=False) is None
    quick, slow = both_ways(form, block)
    assert quick == slow


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999"])
@pytest.mark.parametrize("key", ["s", "x"])
def test_what_is_no_number_of_json_breaks_a_line_wherever_it_is(value, key):
    block = block_of([*_json(('"q"', '"d"', 1)), f'{{"q": "q", "d": "e", "s": 2, "{key}": {value}}}'])
    quick, slow = both_ways(JSON, block)
    assert quick == slow


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
def test_blanks_are_seen_where_slices_part_them(monkeypatch, size):
    monkeypatch.setattr(trec_text, "_SLICE", size)
    for number in range(1, 4):
        block = block_of([" " * number + (" " * number).join(_TREC[0].split()), *_TREC, "", "a  b c  d e f  "])
        assert [*map(str, TREC.quick(block, as_text=True)["run"].to_pylist())] == ["a", "a", "a", "f"]


@pytest.mark.parametrize("size", [1, 17, 18, 40, 1000])
@pytest.mark.parametrize("packed", [False, True])
def test_blocks_are_whole_lines_and_the_whole_text_without_a_mark(tmp_path, size, packed):
    text = block_of(_TREC * 9) + b"q2 Q0"
    stored = "\ufeff".encode() + text
    path = file(tmp_path / ("a.gz" if packed else "a"), gzip.compress(stored) if packed else stored).path
    found = list(blocks(File(path, 1), "results", size))
    assert b"".join(found) == text
    assert all(block.endswith(b"\n") for block in found[:-1])
    assert max(map(len, found)) < size + len(_TREC[0]) + 1


def test_a_line_that_is_too_long_for_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("ndcg_spark.inputs.text_blocks._LONGEST_LINE", 1 << 20)
    path = file(tmp_path / "a.run", b"x" * (3 << 20)).path
    with pytest.raises(Exception, match=r"results: .*a\.run has a line of more than 1 MiB; write one row a line"):
        list(blocks(File(path, 1), "results", 1 << 16))

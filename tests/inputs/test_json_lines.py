"""JSON lines: one rule of what a line is, and files of JSON that have no lines."""

import json
from json import dumps

import pytest
from input_files import documents, judged, rows, written

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.json_lines import JsonLines
from ndcg_spark.schemas import FAULT, LINE

BROKEN, NO_SCALAR = "broken_line", "value_is_no_scalar"
GOOD = '{"query_id": "q", "doc_id": "d", "relevance": 1}'
FORM = JsonLines({name: name for name in ("query_id", "doc_id", "relevance")})

#: The doc_id of a line, as JSON has it, and what is read.
DOC_IDS = {
    "12345678901234567890123": "12345678901234567890123",
    "1.0": "1.0",
    "1e3": "1e3",
    "-0": "-0",
    '"true"': "true",
    '"[x]"': "[x]",
    '"x\\"y: 5}"': 'x"y: 5}',
    '"\\ud83d\\ude00"': "\U0001f600",
    '"\\\\ud800"': "\\ud800",
    "[1240, 1265]": NO_SCALAR,
    '{"a": 1}': NO_SCALAR,
    "true": NO_SCALAR,
    "false": NO_SCALAR,
    '"\\ud800"': BROKEN,
    "NaN": BROKEN,
    "-Infinity": BROKEN,
    "007": BROKEN,
    "+1": BROKEN,
    "'d'": BROKEN,
    '"a\tb"': BROKEN,
    "1 /* one */": BROKEN,
    '"a", "doc_id": "b"': BROKEN,
    '"a", "doc\\u005fid": "a"': BROKEN,
    '"a", "z": 1, "z": 2': "a",
}

#: Whole lines, and the doc_id that is read.
LINES = {
    **{f'{{"query_id": "q", "doc_id": {value}, "relevance": 1}}': read for value, read in DOC_IDS.items()},
    GOOD + " more": BROKEN,
    GOOD + ",": BROKEN,
    GOOD + GOOD: BROKEN,
    GOOD + "," + GOOD: BROKEN,
    GOOD + "],[" + GOOD: BROKEN,
    GOOD[:-1] + ",}": BROKEN,
    GOOD + "\x0b": BROKEN,
    f"[{GOOD}]": BROKEN,
    '{"by": 1}': BROKEN,
    '{"z": %s, "doc_id": "x"}' % ("[" * 100 + "]" * 100): "x",
    '{"z": %s, "doc_id": "x"}' % ("[" * 100_000 + "]" * 100_000): BROKEN,
    '{"z": [%s[]], "doc_id": "x"}' % ("[]," * 500): "x",
    '{"z": "%s", "doc_id": "x"}' % ("[" * 500): "x",
    '{"\\ud800": 1, "doc_id": "x"}': BROKEN,
    '{"z": {"doc_id": [1]}, "doc_id": "x"}': "x",
    '{"doc_id": "x", "DOC_ID": "y"}': "x",
    '{"query_id" :\t"q" , "doc_id": 5 }': "5",
}

_QUERIES = {f"q{query}": {f"d{document}": document for document in range(9)} for query in range(900)}
#: Files that are JSON and no JSON lines: the number of rows, or what a refusal calls them.
SHAPES = [
    (dumps(_QUERIES), 900 * 9),
    (dumps(_QUERIES, indent=1), 900 * 9),
    ('{"q": {"d": 1}}', 1),
    (f"[{GOOD}, {GOOD}]", "one JSON array"),
    (f"[\n{GOOD},\n{GOOD}\n]\n", "one JSON array"),
]


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_exactly_one_object_of_strict_json(line):
    (row,) = FORM.rows(line.encode())
    assert (row.fault or row.values[1]) == LINES[line]
    assert (row.line is None) == (row.fault is None)


@pytest.mark.parametrize("line", LINES)
def test_what_arrow_reads_of_a_line_is_what_the_rule_says_or_nothing(line):
    found = FORM.quick(f"{GOOD}\n{line}\n{GOOD}".encode(), as_text=False)
    if found is not None:
        assert found["doc_id"].to_pylist() == ["d", LINES[line], "d"]


@pytest.mark.parametrize(("text", "expected"), SHAPES)
def test_json_of_another_shape_is_read_whole_or_refused_with_what_to_write(no_engine, tmp_path, text, expected):
    file = written(tmp_path / "a.json", text)
    if isinstance(expected, int):
        assert len(documents(judged(no_engine, file))) == expected
    else:
        with pytest.raises(InputError, match=f"{expected}, not JSON lines; .*, with the keys query_id, doc_id, rel"):
            judged(no_engine, file)


def test_a_line_with_a_column_that_the_first_lines_lack_is_broken(no_engine, tmp_path):
    late = '{"dataset": "web", "query_id": "q1", "doc_id": "b", "relevance": 1}'
    source = judged(no_engine, written(tmp_path / "a.jsonl", "\n".join([*[GOOD] * 250, late])))
    assert rows(source, FAULT, LINE) == [(BROKEN, late), *[(None, None)] * 250]


def test_a_line_with_a_column_twice_is_broken(no_engine, tmp_path):
    twice = '{"query_id": "q", "doc_id": "d", "relevance": 0, "relevance": 3}'
    source = judged(no_engine, written(tmp_path / "a.jsonl", f"{GOOD}\n{twice}\n{GOOD}\n"))
    assert rows(source, FAULT, LINE) == [(BROKEN, twice), (None, None), (None, None)]


@pytest.mark.parametrize("other", ["Relevance", "DOC_ID"])
@pytest.mark.parametrize("line", ['{"query_id": "q", "doc_id": "d", "relevance": 0, "%s": 3}', GOOD + '\n{"%s": 3}'])
def test_keys_that_differ_only_in_case_are_refused(no_engine, tmp_path, other, line):
    with pytest.raises(InputError, match=f"differ only in case, e.g. {other.lower()} and {other}; rename"):
        judged(no_engine, written(tmp_path / "a.jsonl", line % other))


def test_files_of_json_lines_are_found_by_any_of_their_names_and_gzipped(no_engine, tmp_path):
    for name in ("a.json", "b.ndjson", "c.jsonl.gz"):
        written(tmp_path / "in" / name, json.dumps({"query_id": 7, "doc_id": name, "relevance": 1}) + "\n")
    source = judged(no_engine, tmp_path / "in")
    assert rows(source, "query_id", "doc_id") == [("7", "a.json"), ("7", "b.ndjson"), ("7", "c.jsonl.gz")]


def test_a_file_without_an_object_is_refused(no_engine, tmp_path):
    with pytest.raises(InputError, match=r"no line is a JSON object"):
        judged(no_engine, written(tmp_path / "a.jsonl", '["q1", "d1", 2]\n'))

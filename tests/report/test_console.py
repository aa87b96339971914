"""How text leaves the program: escaped, masked, and told where stdout cannot take it."""

import json
import unicodedata
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import pytest
from commands import command_line

from ndcg_spark.tables.writers import as_json
from ndcg_spark.text import message, printable

SIGNS = "\x00 \x1b \n \t \x7f \x9b \u200e \u2066 \ufeff \U000e0041 \ufe0f \u3164 \ufffe"


def test_what_could_steer_a_terminal_is_spelled_out_and_all_else_stays():
    text = "système 日本語 🎉 a-b_c [x] \\ 'q'"
    assert printable(text) == text
    for sign in SIGNS.split(" "):
        assert printable(f"a{sign}b") == "a" + sign.encode("unicode_escape").decode() + "b"
    text = printable("".join(map(chr, range(0x30000))))
    assert ET.fromstring(f"<a>{escape(text)}</a>").text == text  # noqa: S314  # we have written it
    assert not {unicodedata.category(sign) for sign in text} & {
        "Cc",
        "Cf",
        "Cs",
        "Co",
        "Cn",
        "Zl",
        "Zp",
    }
    assert message("no storage for s3://KEY:SECRET@b/x,\ncheck sc://h/;token=t") == (
        r"no storage for s3://***@b/x,\ncheck sc://h/;token=***"
    )


def test_json_has_no_sign_that_steers_a_terminal_and_reads_back_the_same():
    value = {"run": "système\x1b[31m\x9b\x7f\u202e\ufe0f\n", "score": 0.5, "none": None}
    text = as_json(value)
    assert json.loads(text) == value
    assert printable(text) == text


#: A name of a dataset, a run, a query, a document, an attribute or its value.
HOSTILE = "n\x1b]0;x\x07\x1b[2J\r\n\t\x7f\x9b\u202e"
#: Commands that print names, in a folder with tables and an output.
PRINTING = [
    "evaluate qrels.jsonl new.jsonl --slices attributes.jsonl",
    "evaluate qrels.jsonl new.jsonl --baseline web",
    "evaluate qrels.jsonl new.jsonl --per-query",
    "check qrels.jsonl new.jsonl",
    "judge-next qrels.jsonl new.jsonl",
    "judgments qrels.jsonl other.jsonl --results new.jsonl",
    pytest.param("conventions --compare qrels.jsonl new.jsonl", marks=pytest.mark.slow),
    f"explain qrels.jsonl new.jsonl --dataset {HOSTILE} --query {HOSTILE} --run web --baseline {HOSTILE}",
    f"explain out --dataset {HOSTILE} --query {HOSTILE}",
    "compare out --baseline web --queries 3",
    "compare out --baseline-date 2026-11-19 --slices attributes.jsonl",
    "compare-lists old.jsonl new.jsonl",
    "gate out --config gate.toml",
    "gate out --config gate.toml --rehearse",
    f"note out {HOSTILE} --date 2026-11-20",
    "trend out",
    "nights out",
]


def json_lines(file, rows):
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Tables whose every name is hostile, beside harmless ones, and an output with two nights of them."""
    folder = tmp_path_factory.mktemp("hostile")
    lists = [
        {"dataset": dataset, "query_id": query}
        for dataset in ("web", HOSTILE)
        for query in ("q", HOSTILE)
    ]
    for name, relevant in (("qrels", HOSTILE), ("other", "d")):
        grades = {relevant: 2, "e": 1}
        rows = [
            {**pair, "doc_id": doc, "relevance": grade}
            for pair in lists
            for doc, grade in grades.items()
        ]
        json_lines(folder / f"{name}.jsonl", rows)
    for name, documents in (("old", [HOSTILE, "d"]), ("new", ["d", HOSTILE])):
        returned = {"web": documents, HOSTILE: [*documents, f"{HOSTILE}2", "e"]}
        ranked = [
            (run, rank, doc) for run, docs in returned.items() for rank, doc in enumerate(docs, 1)
        ]
        rows = [
            {**pair, "run": run, "doc_id": doc, "score": -rank}
            for pair in lists
            for run, rank, doc in ranked
        ]
        json_lines(folder / f"{name}.jsonl", rows)
    attributes = [
        {"query_id": query, "attribute": HOSTILE, "value": HOSTILE} for query in (HOSTILE, "q")
    ]
    json_lines(folder / "attributes.jsonl", attributes)
    gate = "[gate]\nmin_queries = 2\ncheck = [{cutoff = 3, max_drop = 0.1}]\n"
    (folder / "gate.toml").write_text(
        f'cutoffs = [3]\ndocuments = "all"\nengine = "embedded"\n{gate}'
    )
    night = ["evaluate", "--output", "out", "--config", "gate.toml", "--accept-baseline", HOSTILE]
    for date, *tables in (
        ("2026-11-19", "other.jsonl", "old.jsonl"),
        ("2026-11-20", "qrels.jsonl", "new.jsonl"),
    ):
        done = command_line(*night, *tables, "--date", date, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.usefixtures("few_presets")
@pytest.mark.parametrize("command", PRINTING)
def test_no_name_that_is_printed_can_control_a_terminal(hostile, command):
    done = command_line(*command.split(" "), cwd=hostile, NO_COLOR="1")
    assert done.returncode in (0, 6), done.stderr
    assert [
        line for line in (done.stdout + done.stderr).split("\n") if printable(line) != line
    ] == []
    assert printable(HOSTILE) in done.stdout

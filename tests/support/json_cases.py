"""Lines of JSON and what they are read as; on the embedded engine: `main`, in a process of its own."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from ndcg_spark.config import JudgmentsConfig
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.read import read_judgments

BROKEN, NO_SCALAR = "broken", "no scalar"
GOOD = '{"query_id": "q", "doc_id": "d", "relevance": 1}'

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
    '"a", "doc_id": "b"': "b",
}

#: Whole lines, and the doc_id that is read.
LINES = {
    GOOD + " more": BROKEN,
    GOOD + ",": BROKEN,
    GOOD + GOOD: BROKEN,
    GOOD + "," + GOOD: BROKEN,
    GOOD + "],[" + GOOD: BROKEN,
    GOOD[:-1] + ",}": BROKEN,
    GOOD + "\x0b": BROKEN,
    f"[{GOOD}]": BROKEN,
    '{"by": 1}': BROKEN,
    '{"z": %s, "doc_id": "x"}' % ("[" * 15 + "]" * 15): "x",
    '{"z": %s, "doc_id": "x"}' % ("[" * 16 + "]" * 16): BROKEN,
    '{"z": %s, "doc_id": "x"}' % ("[" * 5000 + "]" * 5000): BROKEN,
    '{"z": [%s[]], "doc_id": "x"}' % ("[]," * 500): "x",
    '{"z": "%s", "doc_id": "x"}' % ("[" * 500): "x",
    '{"\\ud800": 1, "doc_id": "x"}': BROKEN,
    '{"z": {"doc_id": [1]}, "doc_id": "x"}': "x",
    '{"doc_id": "x", "DOC_ID": "y"}': "x",
    '{"query_id" :\t"q" , "doc_id": 5 }': "5",
}

_QUERIES = {f"q{query}": {f"d{document}": document for document in range(9)} for query in range(900)}
#: Files that are JSON and no JSON lines, and what a refusal calls them; the number of rows if they are read.
SHAPES = {
    json.dumps(_QUERIES): 900 * 9,
    json.dumps(_QUERIES, indent=1): 900 * 9,
    '{"q": {"d": 1}}': 1,
    f"[{GOOD}, {GOOD}]": "one JSON array",
    f"[\n{GOOD},\n{GOOD}\n]\n": "one JSON array",
}


def outcomes(engine: Engine) -> list[Any]:
    """What is read of every line above, in order, and what is said of every shape."""
    lines = [f'{{"query_id": "q", "doc_id": {value}, "relevance": 1}}' for value in DOC_IDS] + list(LINES)
    with tempfile.TemporaryDirectory() as folder:
        rows = _read(engine, Path(folder) / "a.jsonl", "\n".join([GOOD, *lines]))
        found: list[Any] = [NO_SCALAR if row[-1] else BROKEN if row[-2] is not None else row["doc_id"] for row in rows]
        for number, text in enumerate(SHAPES):
            try:
                found.append(len(_read(engine, Path(folder) / f"{number}.json", text)))
            except InputError as error:
                found.append(str(error))
    return found[1:]


def _read(engine: Engine, file: Path, text: str) -> list[Any]:
    file.write_text(text, encoding="utf-8")
    return list(read_judgments(engine, JudgmentsConfig(path=[str(file)]), [str(file)]).table.collect())


def main() -> None:
    """Print the outcomes on the embedded engine as JSON."""
    with open_engine("embedded") as opened:
        sys.stdout.write(json.dumps(outcomes(opened)))

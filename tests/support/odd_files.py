"""Makes files with odd lines among regular ones, in every format of text and JSON; each is made of its seed alone.

A table is a folder of part files, so that queries and runs may be in several of them.
"""

import dataclasses
import functools
import gzip
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reading_rules import FIRST, QRELS, RUN, Found, Layout, found

Values = dict[str, Any]

#: Files of so many lines are large; the document of their longest line is four times LONG characters long.
MANY, LONG = 100_000, 1 << 21
#: So many regular lines are made at most; a file has them again and again.
POOL = 1000
NUMBERS = (
    *("", " ", "NaN", "nan", "nan(1)", "inf", "-Infinity", "1e999", "-1e999", "high", "1d", "1f", "1L", "0x1p3"),
    *("0x1F", "1_0", "1,5", "\u0661", "--1", "+-1", "-3", "-0.0", "-0", "-0e5", "+5", "5.", ".", ".5", "1e", "1E+3"),
    *("1e-400", "-1e-400", "4.9e-324", "2.4e-324", "2000", "996", "997", "1e2", "1.0", "1.00", "1.5", "007", "0"),
    *("2147483647", "2147483647.0", "2147483648", "-2147483648", "9007199254740993", "1" * 300 + "." + "3" * 30),
    *("0.1000000000000000055511151231257827021181583404541015625", "9007199254740993." + "0" * 40 + "1", "null"),
    *("NULL", "true", "1\x0b", "\u00a01", "1\x00", "\ufeff1", "1 2", "\t1", "1\r", "\x0c1", '"1"'),
    "1.7976931348623157e308",
)
IDS = (
    *("", " ", "\u00a0", "\x00", "a\x00b", "q\u0301", "é", "日本", "\U0001f600", '"', 'a"b', '"a"', "a,b", "a\tb"),
    "a b",
    *("%", "..", "a/b=c", "null", "NULL", "nan", "None", "007", "1e3", "-0", "0.0", "true", "x" * 250, "x" * 3000, "'"),
    *("\\", "\\n", "#q", "\ufeff", "a\ufeffb", "\x0b", "\x1c", "a\x7f", "a\u2028b", "\u0085", "a\x0cb", "a\rb", "{"),
    *("[x]", "{}", "\ue000", "é" * 150, "query_id", " d1", "d1 ", "\u3000"),
)
#: What the first line of a JSON object of all queries must not have as a key.
OURS = ("query_id", "run")
PIECES = (
    *(b" ", b"  ", b"\t", b" \t ", b"\x0c", b"\r", b"\x00", b'"', b'""', b"'", b",", b";", b"\xef\xbb\xbf", b"\xff"),
    *(b"\xc3", b"\xed\xa0\x80", b"\xe2\x82", b"\xf5", b"{", b"}", b"[", b"]", b":", b"\\", b"\x0b", b"#", b"\xc2\xa0"),
    *("\u2028".encode(), b"\xc2\x85", b"\x1c", b"\x7f", b"NaN", b"e", b"-", b"0"),
)
LINES = (
    *(b"", b" ", b"   ", b"\t", b"\t\t", b"\r", b"\x0c", b"\xef\xbb\xbf", b" \xef\xbb\xbf ", b"\x0b", b"\x00", b'"'),
    *(b'""', b",", b",,", b",,,,", b"#", b"nan", b"{}", b"{", b"[]", b"null", b"1", b'"q"', b"q1", b"\xff", b"q1 d1"),
)
#: Members that a line of JSON may have besides, and values of any of its keys.
MEMBERS = (
    *('"z": [[[]]]', '"z": {"doc_id": [1]}', '"z": NaN', '"z": "\\ud800"', '"\\ud800": 1', '"z": 1 // one', '"z": 01'),
    *('"z": "\\ud83d\\ude00"', '"z": "\\\\ud800"', "'z': 1", '"z": "a\tb"', '"z": ' + "[" * 40 + "]" * 40, '"z": 1,'),
    *('"z": "[["', '"z": "\\u00e"', '"z": "\\x41"', '"z": ' + "1" * 5000, '"doc_id": "again"', '"z"'),
)
JSON_VALUES = (
    *("null", "true", "false", "[]", "{}", '[1, "a"]', '{"a": 1}', '"[1]"', '"true"', "1e3", "-0", "1.50", "1E400"),
    *("12345678901234567890123", "NaN", "-Infinity", "007", "+1", "'d'", '"a\\"b: 5}"', '"\\u00e9"'),
    '"\\ud83d\\ude00"',
    *('"\\ud800"', '"\\\\ud800"', '"a\\nb"', '"a\\tb"', '"\\u0000"', '""', '" "', '"a\tb"', ".5", "1.", "0x1", "nan"),
)


@dataclasses.dataclass(frozen=True)
class Table:
    """The files of a table by their names, without compression, and what a configuration says of it."""

    name: str
    kind: str
    files: Mapping[str, bytes]
    settings: Mapping[str, Any]
    layout: Layout | None
    constants: Mapping[str, str | float]
    has_scores: bool
    has_ranks: bool

    @functools.cached_property
    def found(self) -> Found:
        """What the definition says of the files."""
        files = [content for _, content in sorted(self.files.items()) if content]
        return found(self.name, self.kind, files, self.layout, self.constants)

    def written(self, folder: Path) -> dict[str, Any]:
        """The settings of the table, whose files are in the folder afterwards."""
        folder.mkdir(parents=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(gzip.compress(content, 1, mtime=0) if name.endswith(".gz") else content)
        return {"path": str(folder), **self.settings}


@dataclasses.dataclass(frozen=True)
class Format:
    """How a table is written in one format."""

    kind: str
    suffix: str
    columns: tuple[str, ...]
    layout: Layout | None = None
    constants: Mapping[str, str | float] = dataclasses.field(default_factory=dict)
    #: Whether the configuration gives the number of each field.
    numbered: bool = False

    def settings(self) -> dict[str, Any]:
        """What a configuration says of a table that is written so."""
        positions = self.layout.positions if self.layout and self.numbered else {}
        mapped = {"columns": {name: str(at + 1) for name, at in positions.items()}} if positions else {}
        return {**mapped, **self.constants}

    def header(self) -> list[bytes]:
        """The first line of every file, if there is one."""
        return [self.line({name: name for name in self.columns})] if self.kind in ("csv", "tsv") else []

    def line(self, values: Values) -> bytes:
        """A line with these values; one that is absent is left out."""
        if self.kind in ("csv", "tsv"):
            separator = "," if self.kind == "csv" else "\t"
            fields = (values[name] for name in self.columns if name in values)
            return separator.join(_in_quotes(str(field), separator) for field in fields).encode()
        if self.layout is not None:
            fields = ["Q0"] * self.layout.fields
            for name, at in self.layout.positions.items():
                fields[at] = str(values.get(name, ""))
            return " ".join(fields).encode()
        return json.dumps(values, ensure_ascii=False).encode()


def _in_quotes(field: str, separator: str) -> str:
    doubled = field.replace('"', '""')
    return f'"{doubled}"' if separator in field or '"' in field else field


_GRADED, _LISTED = ("query_id", "doc_id", "relevance"), ("query_id", "doc_id")
_RANKED, _SCORED, _BOTH = (*_LISTED, "rank"), (*_LISTED, "score"), (*_LISTED, "rank", "score")
_RUN = ("run", *_BOTH)
_ONE = {"run": "one"}


def _text(
    layout: Layout, constants: Mapping[str, str | float], *, numbered: bool = False, suffix: str = ".txt"
) -> Format:
    return Format("trec", suffix, tuple(layout.positions), layout, constants, numbered)


def _fields(*columns: str) -> Layout:
    return Layout(len(columns), {name: at for at, name in enumerate(columns) if name != "Q0"})


#: By table and name, the ways to write one.
FORMATS: Mapping[str, Mapping[str, Format]] = {
    "judgments": {
        "TREC": _text(QRELS, {}, suffix=".qrels"),
        "three fields": _text(_fields(*_GRADED), {}),
        "two fields": _text(_fields(*_LISTED), {"relevance": 1.0}),
        "CSV": Format("csv", ".csv", ("relevance", "iteration", "doc_id", "query_id")),
        "CSV with datasets": Format("csv", ".csv", ("dataset", *_GRADED)),
        "TSV": Format("tsv", ".tsv", _GRADED),
        "JSON lines": Format("jsonl", ".jsonl", _GRADED),
        "JSON lines with datasets": Format("jsonl", ".ndjson", ("dataset", *_GRADED)),
        "JSON lines with lists": Format("lists", ".jsonl", _GRADED),
        "JSON": Format("json", ".json", _GRADED),
    },
    "results": {
        "TREC": _text(RUN, {}, suffix=".run"),
        "five fields": _text(_fields("query_id", "Q0", "doc_id", "rank", "score"), _ONE, numbered=True),
        "four fields": _text(_fields(*_BOTH), _ONE, numbered=True),
        "ranks": _text(_fields(*_RANKED), _ONE, numbered=True),
        "scores": _text(_fields(*_SCORED), _ONE, numbered=True),
        "CSV": Format("csv", ".csv", ("doc_id", "score", "run", "query_id", "time")),
        "CSV with datasets": Format("csv", ".csv", ("dataset", *_RUN)),
        "TSV": Format("tsv", ".tsv", _RUN),
        "JSON lines": Format("jsonl", ".jsonl", _RUN),
        "JSON lines with datasets": Format("jsonl", ".jsonl", ("dataset", *reversed(_RUN))),
        "JSON lines with lists": Format("lists", ".jsonl", ("run", *_SCORED)),
        "JSON": Format("json", ".json", _SCORED, constants=_ONE),
        "JSON with runs": Format("json", ".json", ("run", *_SCORED)),
    },
}


def tables(seed: int, *, regular: int = 150, some: slice = slice(None)) -> dict[str, tuple[Table, Table]]:
    """By name, judgments and results that are evaluated together: every format at least once, or `some` of these pairs.

    The first file of a table has about so many `regular` lines. Of many lines few are odd, and one is longer than what
    is read at once.
    """
    pairs = {}
    for number, result in [*enumerate(FORMATS["results"])][some]:
        alike = [name for name in FORMATS["judgments"] if ("dataset" in name) == ("dataset" in result)]
        both = {"judgments": alike[number % len(alike)], "results": result}
        rng = random.Random(f"{seed} {both}")  # noqa: S311  # it makes test data
        judged, returned = (table(name, FORMATS[name][how], rng, regular) for name, how in both.items())
        pairs[" and ".join(both.values())] = (judged, returned)
    return pairs


def table(name: str, how: Format, rng: random.Random, regular: int) -> Table:
    """A table of a few files in one format."""
    files: dict[str, bytes] = {}
    for number in range(rng.choice([1, 2, 3, 4])):
        packed = ".gz" if rng.random() < 0.4 else ""
        lines = rng.choice([0, 1, regular, regular // 10]) if number else regular
        is_empty = number and how.kind != "json" and rng.random() < 0.1
        content = b"" if is_empty else _file(how, rng, lines, first=not number)
        files[f"part-{number:05}{how.suffix}{packed}"] = content
    has_scores, has_ranks = "score" in how.columns, "rank" in how.columns or how.kind == "lists"
    return Table(name, how.kind, files, how.settings(), how.layout, how.constants, has_scores, has_ranks)


def _file(how: Format, rng: random.Random, lines: int, *, first: bool) -> bytes:
    if how.kind == "json":
        return _object(how, rng)
    # What the first lines tell of all files is told by regular ones.
    told = FIRST + 1 if how.layout not in (None, QRELS, RUN) else 1
    some = [how.line(_row(how, rng)) for _ in range(min(told + lines, POOL))]
    good = (some * -(-told // len(some)))[:told] if first else []
    good += rng.choices(some, k=lines)
    few = [0.3, 0.9] if first else [0.0, 0.02, 0.2, 0.9]
    share = rng.choice(few if lines < MANY else [0.0, 0.0001, 0.02])
    for at in range(told if first else 0, len(good)):
        if rng.random() < share:
            line = _odd(how, rng)
            good[at] = good[at] if b"\n" in line else line
    if lines >= MANY and how.kind != "lists":
        good.insert(rng.randrange(told, len(good)), how.line({**_row(how, rng), "doc_id": "long" * LONG}))
    if how.layout and rng.random() < 0.2:
        good = [line.replace(b" ", rng.choice([b"\t", b"    ", b" \t"])) for line in good]
    end = rng.choice([b"\n", b"\n", b"\r\n"])
    content = end.join([*how.header(), *good]) + (end if rng.random() < 0.8 else b"")
    return b"\xef\xbb\xbf" + content if rng.random() < 0.2 else content


def _row(how: Format, rng: random.Random) -> Values:
    """A row as people write them."""
    documents = [rng.choice(["d", "é", "0", "日-", "doc/"]) + str(rng.randrange(10**6)) for _ in range(3)]
    row = {
        "dataset": rng.choice(["web", "news"]),
        "run": rng.choice(["a", "b", "bm25 k1=0.9"] if how.kind != "trec" else ["a", "b", "bm25"]),
        "query_id": rng.choice(["q1", "q2", "é3", "4", "007"]),
        "doc_id": documents if how.kind == "lists" else documents[0],
        "iteration": "0",
        "time": "12:00",
    }
    numbers = {"relevance": lambda: rng.randrange(4), "score": lambda: round(rng.random() * 9, 3)}
    for column, number in numbers.items():
        row[column] = [number() for _ in documents] if how.kind == "lists" else number()
    row["rank"] = rng.randrange(1, 100)
    return {column: row[column] for column in how.columns}


def _odd(how: Format, rng: random.Random) -> bytes:
    """A line that is odd in one way or a few."""
    if rng.random() < 0.1:
        return rng.choice(LINES)
    row = _row(how, rng)
    damages = rng.choice([0, 0, 0, 1, 1, 2])
    if not damages or rng.random() < 0.2:
        row = rng.choice([_with_odd_value, _with_odd_value, _without_value])(row, rng)
    line = _odd_json(row, rng) if how.kind in ("jsonl", "lists") and rng.random() < 0.7 else how.line(row)
    for _ in range(damages):
        line = _damaged(line, how, rng)
    return line


def _with_odd_value(row: Values, rng: random.Random) -> Values:
    name = rng.choice([*row])
    odd = rng.choice(NUMBERS if name in ("relevance", "score", "rank") else IDS)
    if not isinstance(row[name], list):
        return {**row, name: odd}
    return {**row, name: rng.choice([[*row[name][:-1], odd], [*row[name], odd], row[name][:-1], [], odd, None])}


def _without_value(row: Values, rng: random.Random) -> Values:
    left_out = rng.choice([*row])
    return {name: value for name, value in row.items() if name != left_out}


def _odd_json(row: Values, rng: random.Random) -> bytes:
    """A row as an object of JSON, in words that not everybody uses."""
    blank = rng.choice(["", " ", "\t", "  "])
    members = []
    for name, value in row.items():
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
        if isinstance(value, str) and name in ("relevance", "score", "rank") and rng.random() < 0.5:
            text = value
        elif rng.random() < 0.1:
            odd = rng.choice(JSON_VALUES)
            text = f"[{odd}, {odd}, 1]" if isinstance(value, list) and rng.random() < 0.7 else odd
        members.append(f'"{name}"{blank}:{blank}{text}')
    if rng.random() < 0.3:
        members.insert(rng.randrange(len(members) + 1), rng.choice(MEMBERS))
    return f"{{{blank}{f',{blank}'.join(members)}{blank}}}".encode("utf-8", "surrogatepass")


def _damaged(line: bytes, how: Format, rng: random.Random) -> bytes:
    """A line with something put in, taken out or put around it."""
    at = rng.randrange(len(line) + 1)
    separator = {"csv": b",", "tsv": b"\t"}.get(how.kind, b" ")
    fields = line.split(separator)
    field = rng.randrange(len(fields))
    more = rng.choice([b"more", b"1", b"1 2", b"3 7.5 tag", b"x 3 7.5 tag", b"", b"k1=0.9 b=0.4"])
    blanks = [b"", b" ", b"\t", b"\xef\xbb\xbf", b"\x0c", b"\r"]
    inserted = line[:at] + rng.choice(PIECES) + line[at:]
    ways = [
        *(inserted, inserted, inserted),
        rng.choice(blanks) + line + rng.choice(blanks),
        line[:at],
        line[at:],
        line[:at] + line[rng.randrange(at, len(line) + 1) :],
        line + rng.choice([b"", separator]) + line,
        separator.join(fields[:field] + fields[field + 1 :]),
        separator.join([*fields[: field + 1], more, *fields[field + 1 :]]),
        *how.header(),
    ]
    return rng.choice(ways)


def _object(how: Format, rng: random.Random) -> bytes:
    """One object of all queries, some of whose values are odd."""
    runs = ["a", "b", "é", "a"] if "run" in how.columns else [None]
    of_runs = [(run, _queries(how, rng, first=not number)) for number, run in enumerate(runs)]
    text = ", ".join(f"{json.dumps(run)}: {{{queries}}}" for run, queries in of_runs) if runs[0] else of_runs[0][1]
    if runs[0] and rng.random() < 0.3:
        text += ', "empty": {}'
    content = f"{{{text}}}".encode()
    return b"\xef\xbb\xbf" + content if rng.random() < 0.2 else content


def _queries(how: Format, rng: random.Random, *, first: bool) -> str:
    parts = ['"q1": {"d1": 1, "d2": 0}'] if first else []
    for _ in range(20):
        query = json.dumps(
            rng.choice(["q1", "q2", "é3", *(text for text in IDS if text not in OURS)]), ensure_ascii=rng.random() < 0.5
        )
        documents = []
        for _ in range(rng.randrange(4)):
            value = rng.choice([str(rng.randrange(4)), "0.5", json.dumps(rng.choice(NUMBERS)), rng.choice(JSON_VALUES)])
            document = json.dumps(rng.choice(["d1", "d2", "é", *IDS]))
            documents.append(f"{document}: {value if _is_json(value) else 'NaN'}")
        odd = rng.choice(["null", "1", "[1]", "true", '"x"']) if rng.random() < 0.1 and "run" not in how.columns else ""
        parts.append(f"{query}: {odd or '{' + ', '.join(documents) + '}'}")
    return ", ".join(parts)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True

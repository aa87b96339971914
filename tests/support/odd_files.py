"""Files with odd lines among regular ones, in every format of text, and what is a row of them: in plain Python."""

import dataclasses
import json
import math
import random
import re

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"[+-]?[0-9]+(\.0*)?")
BLANKS = " \t\f"
COLUMNS = {
    "judgments": ("query_id", "doc_id", "relevance"),
    "results": ("run", "query_id", "doc_id", "score", "rank"),
}
#: What may stand where a number or an id is expected, and what may be put into a line.
VALUES = (
    *(
        "",
        " ",
        "NaN",
        "inf",
        "-Infinity",
        "1e999",
        "high",
        "1d",
        "0x1F",
        "1_0",
        "1,5",
        "\u0661",
        "--1",
        "-3",
        "-0.0",
    ),
    *(
        "+5",
        "5.",
        ".",
        ".5",
        "1e",
        "1E+3",
        "1e-400",
        "4.9e-324",
        "1.0",
        "1.5",
        "007",
        "0",
        "2147483647",
        "2147483648",
    ),
    *(
        "9007199254740993",
        "null",
        "true",
        "\u00a01",
        "1 2",
        '"1"',
        "é",
        "日本",
        "😀",
        '"',
        'a"b',
        '"a"',
        "a,b",
        "a\tb",
    ),
    *(
        "a b",
        "\\",
        "\\n",
        "#q",
        "\ufeff",
        "a\ufeffb",
        "a\u2028b",
        "\u0085",
        "{",
        "[x]",
        "query_id",
        " d1",
        "d1 ",
    ),
)
PIECES = (
    *(
        b" ",
        b"  ",
        b"\t",
        b"\x0c",
        b"\r",
        b"\x00",
        b'"',
        b'""',
        b"'",
        b",",
        b"\xef\xbb\xbf",
        b"\xff",
        b"\xc3",
    ),
    *(
        b"\xed\xa0\x80",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b"\\",
        b"\x0b",
        b"\x1c",
        b"e",
        b"-",
        b"0",
        b"\n",
        b"\r\n",
    ),
)
LINES = (
    b"",
    b" ",
    b"\t",
    b"\x0c",
    b"\x0b",
    b'"',
    b",,,,",
    b"#",
    b"{}",
    b"{",
    b"[]",
    b"null",
    b"q1",
    b"\xff",
    b"q1 d1",
)
MEMBERS = (
    *(
        "null",
        "true",
        "[]",
        "{}",
        '[1, "a"]',
        '{"a": 1}',
        '"[1]"',
        "1e3",
        "1.50",
        "12345678901234567890123",
        "NaN",
    ),
    *(
        "007",
        "'d'",
        '"\\u00e9"',
        '"\\ud83d\\ude00"',
        '"\\ud800"',
        '"a\\nb"',
        '"a\tb"',
        '""',
        ".5",
        "1 // one",
    ),
)


@dataclasses.dataclass(frozen=True)
class Format:
    """One way to write a table: the fields of a line, "" for one that is not read."""

    table: str
    suffix: str
    fields: tuple[str, ...]
    columns: dict[str, str] = dataclasses.field(default_factory=dict)
    has_lists: bool = False

    @property
    def separator(self):
        return {".csv": ",", ".tsv": "\t"}.get(self.suffix)


_RUN = ("query_id", "", "doc_id", "rank", "score", "run")
FORMATS = (
    Format("judgments", ".qrels", ("query_id", "", "doc_id", "relevance")),
    Format("judgments", ".txt", ("query_id", "doc_id", "relevance")),
    Format("judgments", ".csv", ("relevance", "by", "doc_id", "query_id")),
    Format("judgments", ".jsonl", COLUMNS["judgments"]),
    Format("judgments", ".jsonl", COLUMNS["judgments"], has_lists=True),
    Format("results", ".run", _RUN),
    Format("results", ".txt", ("query_id", "doc_id", "score"), {"score": "3"}),
    Format("results", ".csv", ("doc_id", "score", "run", "query_id", "time")),
    Format("results", ".tsv", COLUMNS["results"]),
    Format("results", ".jsonl", COLUMNS["results"]),
)


# ---- what is a row


def rows(how, content):
    """The accepted rows of a file, as values of the columns that it has, and how many are rejected."""
    lines = re.split(b"\r\n|\r|\n", content.removeprefix("\ufeff".encode()))
    if how.separator:
        lines = lines[1:]
    good, bad = [], 0
    for line in lines:
        try:
            text = line.decode().removeprefix("\ufeff")
        except UnicodeDecodeError:
            bad += 1
            continue
        if is_comment(how, text):
            bad += is_unclear(how, text)
            continue
        read = line_rows(how, text)
        accepted = [row for row in map(typed, read or ()) if row is not None]
        bad += bool(text.strip(BLANKS)) if read is None else len(read) - len(accepted)
        good += [tuple(row[name] for name in COLUMNS[how.table] if name in row) for row in accepted]
    return good, bad


def is_comment(how, text):
    is_trec = how.separator is None and how.suffix != ".jsonl"
    return is_trec and text.strip(BLANKS).startswith("#")


def is_unclear(how, text):
    """Whether a comment has the fields of a row."""
    fields = re.split(f"[{BLANKS}]+", text.strip(BLANKS))
    if how.fields == _RUN:
        fields = fields[:6]
    if not fields[0].strip("#") or len(fields) != len(how.fields):
        return False
    row = dict(zip(how.fields, fields, strict=True))
    return all(NUMBER.fullmatch(row.get(name, "0")) for name in ("relevance", "score", "rank"))


def line_rows(how, text):
    """The rows of a line as text by column; None if it is broken."""
    if how.suffix == ".jsonl":
        return json_rows(how, text)
    if how.separator:
        fields = [field or None for field in separated(text, how.separator) or []]
    else:
        fields = re.split(f"[{BLANKS}]+", text.strip(BLANKS))
        if how.fields == _RUN and len(fields) > 6:
            is_run = NUMBER.fullmatch(fields[3])
            is_document = WHOLE.fullmatch(fields[-3]) and NUMBER.fullmatch(fields[-2])
            fields = fields[:6] if is_run and not is_document else []
    return [dict(zip(how.fields, fields, strict=True))] if len(fields) == len(how.fields) else None


def separated(text, separator):
    """The values of a line; None if a quote in CSV does not end, or text follows one that does."""
    quoted = re.compile(f'"([^"]*(?:""[^"]*)*)"(?={separator}|$)')
    fields, at = [], 0
    while at <= len(text):
        match = quoted.match(text, at)
        plain = text[at:].partition(separator)[0]
        if match is None and plain.startswith('"') and separator == ",":
            return None
        needs_quotes = match and (not match[1] or '""' in match[1] or separator in match[1])
        is_quoted = match and (separator == "," or needs_quotes)
        fields.append(match[1].replace('""', '"') if is_quoted else plain)
        at += len(match[0] if is_quoted else plain) + 1
    return fields


def json_rows(how, text):
    twice = []

    def members(pairs):
        keys = [key for key, _ in pairs]
        twice.extend([None] for name in how.fields if keys.count(name) > 1)
        return dict(pairs)

    try:
        value = json.loads(
            text, object_pairs_hook=members, parse_int=str, parse_float=str, parse_constant=float
        )
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        return None
    if not isinstance(value, dict) or twice or not {*how.fields} & {*value}:
        return None
    row = {name: value.get(name) for name in how.fields}
    many = [row]
    if how.has_lists:
        lists = {
            name: given for name, given in row.items() if name != "query_id" and given is not None
        }
        if (
            any(not isinstance(given, list) for given in lists.values())
            or len({*map(len, lists.values())}) > 1
        ):
            return None
        documents = zip(*lists.values(), strict=True) if lists else [()]
        many = [{**row, **dict(zip(lists, document, strict=True))} for document in documents]
    is_plain = all(
        given is None or isinstance(given, str) for one in many for given in one.values()
    )
    return many if is_plain else None


def typed(row):
    """The row with its numbers; None if an id is missing or a number is none."""
    numbers = {}
    for name, text in row.items():
        if name in ("query_id", "doc_id", "run"):
            numbers[name] = text or None
        elif name in ("relevance", "score", "rank"):
            plain = (text or "").strip(BLANKS + "\r\n")
            number = float(plain) if NUMBER.fullmatch(plain) else math.nan
            is_good = math.isfinite(number) and (
                name != "rank" or (number.is_integer() and 1 <= number < 2**31)
            )
            numbers[name] = number + 0.0 if is_good else None
    return None if None in numbers.values() else numbers


# ---- files


def file(how, rng, lines=200):
    """The bytes of a file whose first line is regular."""
    written = [written_line(how, log_row(how, rng)) for _ in range(lines)]
    # The number of fields in most lines tells what they are.
    share = rng.choice([0.0, 0.02, 0.3] if how.suffix == ".txt" else [0.0, 0.02, 0.3, 0.9])
    for at in range(1, lines):
        if rng.random() < share:
            written[at] = odd_line(how, rng)
    if not how.separator and how.suffix != ".jsonl" and rng.random() < 0.2:
        written = [line.replace(b" ", rng.choice([b"\t", b"    ", b" \t"])) for line in written]
    header = (
        [how.separator.join(name or "x" for name in how.fields).encode()] if how.separator else []
    )
    end = rng.choice([b"\n", b"\n", b"\r\n"])
    content = end.join([*header, *written]) + rng.choice([end, b""])
    return rng.choice([b"", b"", "\ufeff".encode()]) + content


def log_row(how, rng):
    documents = [rng.choice(["d", "é", "0", "日-"]) + str(rng.randrange(10**6)) for _ in range(3)]
    row = {name: rng.choice(["a", "007", "é3"]) for name in how.fields}
    row |= {"doc_id": documents if how.has_lists else documents[0], "rank": rng.randrange(1, 100)}
    row |= {
        "score": round(rng.random() * 9, 3),
        "relevance": [1, 0, 3] if how.has_lists else rng.randrange(4),
    }
    return {name: row[name] for name in how.fields}


def written_line(how, row):
    if how.suffix == ".jsonl":
        return json.dumps(row, ensure_ascii=False).encode()
    fields = [str(value) for value in row.values()]
    if not how.separator:
        return " ".join(fields).encode()
    quoted = (field.replace('"', '""') for field in fields)
    is_special = re.compile(f'[{how.separator}"]')
    return how.separator.join(
        f'"{text}"' if is_special.search(text) else text for text in quoted
    ).encode()


def odd_line(how, rng):
    if rng.random() < 0.1:
        return rng.choice(LINES)
    row = log_row(how, rng)
    name = rng.choice([*row])
    way = rng.randrange(4)
    if way == 0:
        del row[name]
    elif way == 1:
        row[name] = (
            rng.choice([[rng.choice(VALUES)] * 3, [], None])
            if how.has_lists
            else rng.choice(VALUES)
        )
    line = written_line(how, row)
    if how.suffix == ".jsonl" and way == 2:
        value = rng.choice(MEMBERS)
        value = f"[{value}, 1, 2]" if how.has_lists and rng.random() < 0.5 else value
        end = f', "{rng.choice([name, "z"])}": {value}}}'.encode("utf-8", "surrogatepass")
        line = line[:-1] + end
    if way == 3:
        at, until = sorted(rng.choices(range(len(line) + 1), k=2))
        line = rng.choice(
            [
                line[:at] + rng.choice(PIECES) + line[at:],
                line[:at] + line[until:],
                line + b" " + line,
            ]
        )
    return line


def some(seed):
    """A way to write a table, and a file that is written so."""
    rng = random.Random(seed)  # noqa: S311  # it makes test data
    how = FORMATS[seed % len(FORMATS)]
    return how, file(how, rng)

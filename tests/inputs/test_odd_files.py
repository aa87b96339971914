"""Odd files of every format are read by the definition (support/reading_rules.py) on every engine.

Seeds make the files (support/odd_files.py): the same rows, counts, reasons, quoted examples and kept rows are found.
"""

import operator
import re
from collections import Counter

import odd_files
import odd_readings
import pytest
from staying import returned

#: What is read otherwise as yet, and so not generated: by name, on which engines, and whether a line of a format is so.
AS_YET = {
    "bytes that are no text, for which the file is refused": (
        "embedded",
        lambda kind, line: not _is_text(line),
    ),
    "bytes that are no text in a list, for which the file is refused": (
        "spark",
        lambda kind, line: kind == "lists" and not _is_text(line),
    ),
    "half of a surrogate pair as bytes, quoted as one character, and parts of a byte order mark, which are trimmed": (
        "spark",
        lambda kind, line: not _is_text(line) and re.search(rb"[\xed\xef\xbb\xbf]", line),
    ),
    "a carriage return within a line, which ends the line": (
        "embedded, spark",
        lambda kind, line: kind != "lists" and b"\r" in line.strip(b"\r"),
    ),
    "JSON nested deeper than 16, which makes a line broken": (
        "embedded, spark",
        lambda kind, line: kind == "jsonl" and b"[" * 17 in line,
    ),
    "a number too large or too long under a key that nobody wants, which makes a line broken": (
        "embedded, spark",
        lambda kind, line: kind == "jsonl" and re.search(rb"[0-9]{1001}", line),
    ),
    "half of an escape, for which the value is null and not the line broken": (
        "spark",
        lambda kind, line: kind == "jsonl" and re.search(rb"\\u[0-9a-fA-F]{0,3}[^0-9a-fA-F]", line),
    ),
    "the same key in an inner object, by which the text true, [x] or {} is taken for no text": (
        "embedded, spark",
        lambda kind, line: kind == "jsonl" and b'{"doc_id": [1]}' in line,
    ),
    "a byte order mark around a line with lists, which makes it broken": (
        "embedded, spark",
        lambda kind, line: kind == "lists" and b"\xef\xbb\xbf" in line,
    ),
    "NaN or half of a surrogate pair in a line with lists, of which only the document's row is broken": (
        "embedded, spark",
        lambda kind, line: kind == "lists" and re.search(rb"NaN|Infinity|\\ud8", line),
    ),
    "half of a surrogate pair in one JSON object, quoted as its values and not as JSON": (
        "embedded, spark",
        lambda kind, line: kind == "json" and b"\\ud800" in line,
    ),
}


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def on(engine):
    """Whether a line is read otherwise on the engine as yet."""
    rules = [is_so for engines, is_so in AS_YET.values() if engine in engines]
    return lambda kind, line: any(is_so(kind, line) for is_so in rules)


def check(tables, found):
    """What was found is what the definition says."""
    assert found.keys() == tables.keys()
    for name, pair in tables.items():
        for table, (accepted, breaches, kept) in zip(pair, found[name], strict=True):
            expected, where = table.found, f"{table.name} of {name}"
            assert differences(accepted, map(repr, expected.accepted)) == {}, where
            assert differences(kept, expected.kept) == {}, where
            assert breaches == expected.breaches, where


def differences(found, expected):
    """A few of the rows that are not found as often as expected, and how often more."""
    counts = Counter(found)
    counts.subtract(Counter(expected))
    return dict([*filter(operator.itemgetter(1), counts.items())][:5])


@pytest.mark.parametrize("number", [0, 5, 8])
def test_some_odd_files_are_read_by_the_definition_on_the_embedded_engine(tmp_path, number):
    tables = odd_files.tables(0, on("embedded"), some=slice(number, number + 1))
    check(tables, returned(odd_readings.readings, tmp_path, tables))


@pytest.mark.slow
def test_odd_files_are_read_by_the_definition_on_the_embedded_engine(tmp_path, thorough):
    for seed in range(1, 40 if thorough else 2):
        tables = odd_files.tables(seed, on("embedded"))
        check(tables, returned(odd_readings.readings, tmp_path / f"{seed}", tables))


@pytest.mark.slow
def test_odd_files_are_read_by_the_definition_on_spark(spark, tmp_path, thorough):
    for seed in range(1, 8 if thorough else 2):
        tables = odd_files.tables(seed, on("spark"), some=slice(None, None, 1 if thorough else 3))
        check(tables, odd_readings.readings(tmp_path / f"{seed}", tables))


@pytest.mark.slow
def test_large_odd_files_are_read_by_the_definition_on_the_embedded_engine(tmp_path, thorough):
    for seed, pairs in [(0, slice(1)), *([(seed, slice(2, 11, 3)) for seed in range(1, 4)] if thorough else [])]:
        tables = odd_files.tables(seed, on("embedded"), regular=100_000, some=pairs)
        check(tables, returned(odd_readings.readings, tmp_path / f"{seed}", tables))

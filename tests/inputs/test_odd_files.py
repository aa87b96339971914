"""Odd files of every format have the rows that their definition in plain Python says (support/odd_files.py)."""

import json
import random
from collections import Counter

import odd_files
import pytest
from input_files import judged, returned, written
from sessions import many

from ndcg_spark.errors import InputError
from ndcg_spark.schemas import FAULT


def read(engine, folder, how, content):
    """The accepted rows of a file, and how many are not."""
    path = written(folder / f"table{how.suffix}", content)
    table = (judged if how.table == "judgments" else returned)(
        engine, path, columns=how.columns
    ).table
    names = [name for name in odd_files.COLUMNS[how.table] if name in how.fields]
    good, bad = [], 0
    for row in table.collect():
        values = tuple(row[name] for name in names)
        is_bad = (
            (FAULT in row and row[FAULT])
            or {None, ""} & {*values}
            or ("rank" in row and row["rank"] < 1)
        )
        bad += bool(is_bad)
        good += [] if is_bad else [values]
    return Counter(good), bad


def check(engine, folder, seeds):
    for seed in seeds:
        how, content = odd_files.some(seed)
        good, bad = odd_files.rows(how, content)
        assert read(engine, folder, how, content) == (Counter(good), bad), seed


def test_files_are_read_by_their_definition(engine, tmp_path):
    check(engine, tmp_path, range(many(30, 10, 30)))


@pytest.mark.slow
@pytest.mark.embedded
def test_many_files_are_read_by_their_definition(engine, tmp_path, thorough):
    check(engine, tmp_path, range(30, 3_000 if thorough else 120))


#: The values of documents in one object of all queries, and those with which it is refused as a whole.
NUMBERS = (
    "1",
    "0",
    "2.50",
    "-3",
    "1e999",
    '"2"',
    '"high"',
    "null",
    "1E+3",
    "12345678901234567890123",
    '"0x1F"',
)
NONE = ("true", "NaN", "[1]", '{"a": 1}', "007", '"\\ud800"')


@pytest.mark.embedded
@pytest.mark.parametrize("seed", range(20))
def test_one_object_is_a_row_for_every_document(engine, tmp_path, seed):
    rng = random.Random(seed)  # noqa: S311  # it makes test data
    ids = [text for text in odd_files.VALUES if text.strip() and text != "query_id"]
    number = rng.choice([NUMBERS, NUMBERS, (*NUMBERS, *NONE)])
    queries = [
        (rng.choice(ids), [(rng.choice(ids), rng.choice(number)) for _ in range(rng.randrange(5))])
        for _ in range(9)
    ]
    members = (
        (query, ", ".join(f"{json.dumps(doc)}: {value}" for doc, value in docs))
        for query, docs in queries
    )
    content = "{" + ", ".join(f"{json.dumps(query)}: {{{text}}}" for query, text in members) + "}"
    how = odd_files.Format("judgments", ".json", odd_files.COLUMNS["judgments"])
    if {value for _, docs in queries for _, value in docs} & {*NONE}:
        with pytest.raises(InputError, match="is not"):
            read(engine, tmp_path, how, content)
        return
    pairs = [
        (query, doc, json.loads(value, parse_float=str))
        for query, docs in queries
        for doc, value in docs
    ]
    rows = [odd_files.typed(dict(zip(how.fields, map(str, pair), strict=True))) for pair in pairs]
    good = Counter(tuple(row.values()) for row in rows if row)
    assert read(engine, tmp_path, how, content) == (good, len(rows) - good.total())

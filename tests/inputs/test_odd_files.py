"""Odd files of every format have the rows that their definition in plain Python says (support/odd_files.py)."""

from collections import Counter

import odd_files
import pytest
from input_files import judged, returned, written

from ndcg_spark.schemas import FAULT


def read(engine, folder, how, content):
    """The accepted rows of a file, and how many are not."""
    path = written(folder / f"table{how.suffix}", content)
    table = (judged if how.table == "judgments" else returned)(engine, path, columns=how.columns).table
    names = [name for name in odd_files.COLUMNS[how.table] if name in how.fields]
    good, bad = [], 0
    for row in table.collect():
        values = tuple(row[name] for name in names)
        is_bad = (FAULT in row and row[FAULT]) or {None, ""} & {*values} or ("rank" in row and row["rank"] < 1)
        bad += bool(is_bad)
        good += [] if is_bad else [values]
    return Counter(good), bad


def check(engine, folder, seeds):
    for seed in seeds:
        how, content = odd_files.some(seed)
        good, bad = odd_files.rows(how, content)
        assert read(engine, folder, how, content) == (Counter(good), bad), seed


def test_files_are_read_by_their_definition(engine, tmp_path):
    check(engine, tmp_path, range(30))


@pytest.mark.slow
@pytest.mark.embedded
def test_many_files_are_read_by_their_definition(engine, tmp_path, thorough):
    check(engine, tmp_path, range(30, 10_000 if thorough else 300))

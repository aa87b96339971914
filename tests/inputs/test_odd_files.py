"""Odd files of every format are read by the definition (support/reading_rules.py) on every engine.

Seeds make the files (support/odd_files.py): the same rows, counts, reasons, quoted examples and kept rows are found.
"""

import operator
from collections import Counter

import odd_files
import odd_readings
import pytest
import sessions


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
def test_some_odd_files_are_read_by_the_definition(session, tmp_path, number):
    tables = odd_files.tables(0, some=slice(number, number + 1))
    check(tables, odd_readings.readings(tmp_path, tables))


@pytest.mark.slow
def test_odd_files_are_read_by_the_definition(session, tmp_path, thorough):
    few = sessions.choice == "spark" and not thorough
    for seed in range(1, 40 if thorough else 2):
        tables = odd_files.tables(seed, some=slice(None, None, 3 if few else 1))
        check(tables, odd_readings.readings(tmp_path / f"{seed}", tables))


@pytest.mark.slow
@pytest.mark.embedded
def test_large_odd_files_are_read_by_the_definition(session, tmp_path, thorough):
    for seed, pairs in [(0, slice(1)), *([(seed, slice(2, 11, 3)) for seed in range(1, 4)] if thorough else [])]:
        tables = odd_files.tables(seed, regular=100_000, some=pairs)
        check(tables, odd_readings.readings(tmp_path / f"{seed}", tables))

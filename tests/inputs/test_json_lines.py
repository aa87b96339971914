"""JSON lines: one rule of what a line is, on every engine."""

import json
from pathlib import Path

import json_cases
import pytest
from json_cases import DOC_IDS, LINES, SHAPES
from programs import forked


def check(found):
    lines = {**DOC_IDS, **LINES}
    assert dict(zip(lines, found, strict=False)) == lines
    said = found[len(lines) :]
    for shape, expected in zip(said, SHAPES.values(), strict=True):
        if isinstance(expected, int):
            assert shape == expected
        else:
            assert expected in shape
            assert "not JSON lines; write one object a line, with the keys query_id, doc_id, relevance" in shape


def test_lines_are_read_by_the_rule_on_spark(engine):
    check(json_cases.outcomes(engine))


def test_lines_are_read_by_the_rule_on_the_embedded_engine():
    pytest.importorskip("pysail")
    done = forked(json_cases.main, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-2000:]
    check(json.loads(done.stdout))

"""Evaluates a small case on the engine named, under the conventions named or all, and prints the scores as JSON.

A process is either classic or Connect, so the tests, which are classic, do this in a process of its own:
evaluate_on.py ENGINE [CONVENTION]...
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tables
from programs import forked
from pyspark.sql import SparkSession
from tables import judgment, result

from ndcg_spark import Convention, evaluate
from ndcg_spark.convention.measures import COLUMNS, MEASURES
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.engine import open_engine

Scores = dict[str, list[list[Any]]]

JUDGED = [("101", "a", 2.0), ("101", "b", 0.0), ("101", "c", 1.0), ("101", "z", 3.0), ("102", "a", 0.0)]
JUDGED += [("102", "b", 0.0), ("103", "a", 1.0)]
RETURNED = [("101", "x", 3.0, 1), ("101", "a", 2.0, 2), ("101", "b", 2.0, 3), ("101", "c", 1.0, 4)]
RETURNED += [("102", "a", 2.0, 1), ("102", "b", 1.0, 2), ("104", "a", 1.0, 1)]


#: Conventions under which all measures are asked for, but those that ties cannot be averaged for.
MEASURED = {
    "python, measures": Convention(gain="python:numpy.square", discount="python:numpy.reciprocal"),
    "averaged, measures": Convention(ties="average", unjudged="drop"),
}


@contextmanager
def session_of(name: str) -> Iterator[SparkSession]:
    """A session of the engine: embedded, connect for a server of its own, or the URL of a server."""
    remote = {"embedded": None, "connect": "local[2]"}.get(name, name)
    with open_engine("auto" if remote else "embedded", remote) as engine:
        yield engine.session


def scores(session: SparkSession, names: Iterable[str]) -> Scores:
    """The query scores of presets and of `MEASURED`."""
    judged = [judgment(doc, grade, query) for query, doc, grade in JUDGED]
    returned = [result(doc, score, query, rank=rank) for query, doc, score, rank in RETURNED]
    judgments, results = tables.judgments(session, judged), tables.results(session, returned)
    found = {}
    for name in names:
        convention = MEASURED[name] if name in MEASURED else Convention.preset(name)
        asked = [of for of, measure in MEASURES.items() if measure.averages or convention.ties != "average"]
        measures, more = (asked, COLUMNS) if name in MEASURED else ("ndcg", ())
        table = evaluate(judgments, results, [1, 3, None], convention, measures=measures).query_scores
        counts = ["status", "returned", "judged", "judgments_hash"]
        columns = ["query_id", "cutoff", *counts, "ndcg", "dcg", "ideal_dcg", "cg", *more]
        rows = [list(row) for row in table.select(*columns).collect()]
        found[name] = sorted(rows, key=lambda row: (row[0], row[1] or 0))
    return found


def scores_on(engine: str, *names: str, **environment: str) -> Scores:
    """The same of another process."""
    if engine != "connect":
        done = forked(main, engine, *names, cwd=Path.cwd(), **environment)
    else:
        # What starts a Java machine of its own is not forked from a process that may have one.
        command = [sys.executable, __file__, engine, *names]
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def check_same(found: Scores, embedded: Scores, names: Iterable[str]) -> None:
    """The scores of an engine are those of the embedded one, under these conventions."""
    assert found.keys() == {*names}
    for name, rows in found.items():
        assert [row[:6] for row in rows] == [row[:6] for row in embedded[name]], name
        numbers = [value for row in embedded[name] for value in row[6:]]
        assert [value for row in rows for value in row[6:]] == pytest.approx(numbers, abs=1e-12, nan_ok=False), name


def main(engine: str, *names: str) -> None:
    """Print the scores on an engine."""
    with session_of(engine) as started:
        sys.stdout.write(json.dumps(scores(started, names or [*PRESETS, *MEASURED])))


if __name__ == "__main__":
    main(*sys.argv[1:])

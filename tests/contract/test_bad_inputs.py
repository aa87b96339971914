"""Generated bad Parquet ends in scores that account for every row, or is refused with a reason.

Every input is made of its number alone. Text and JSON are read by their definition in inputs/test_odd_files.py.
"""

import contextlib
import random
from collections import Counter

import odd_files
import pyarrow as pa
import pytest
from evaluations import evaluated
from pyarrow import parquet as pq

from ndcg_spark import config
from ndcg_spark.errors import EngineError, InputError
from ndcg_spark.text import message

COLUMNS = {
    "judgments": ["query_id", "doc_id", "relevance"],
    "results": ["run", "query_id", "doc_id", "score", "rank"],
}
NUMBERS = ("relevance", "score", "rank")


def table(names, rng):
    columns = {name: [] for name in names}
    for number in range(rng.randint(1, 30)):
        for name in names:
            grade = number + 1 if name == "rank" else rng.randint(1, 3)
            good = str(grade) if name in NUMBERS else f"{name}{number if name == 'doc_id' else 1}"
            odd = rng.choice([None, *odd_files.VALUES])
            columns[name].append(odd if rng.random() < 0.02 else good)
    for name in NUMBERS:
        with contextlib.suppress(ValueError, KeyError):
            columns[name] = [None if value is None else float(value) for value in columns[name]]
    if rng.random() < 0.1:
        del columns[rng.choice(names)]
    elif rng.random() < 0.1:
        columns[rng.choice(names)] = [rng.choice([True, None]) for _ in columns["query_id"]]
    return pa.table(columns)


def ending(number, folder):
    """How an input ended: scored, with rejects or without, or refused. Asserts that every row is accounted for."""
    rng = random.Random(number)  # noqa: S311  # it makes test data
    settings, rows = {"cutoffs": "all", "max_rejected_fraction": rng.choice([0, 0.3, 1, 1])}, {}
    for name, columns in COLUMNS.items():
        path = folder / f"{number}-{name}.parquet"
        made = table(columns, rng)
        pq.write_table(made, path)
        settings[name], rows[name] = {"path": str(path)}, made.num_rows
        if rng.random() < 0.1:
            content, at = path.read_bytes(), rng.randrange(path.stat().st_size)
            path.write_bytes(
                content[:at] + rng.choice(odd_files.PIECES) + content[at + rng.randint(0, 9) :]
            )
            # That is for the engine's decoder to say.
            del rows[name]
    output = folder / f"{number}-out" if rng.random() < 0.2 else None
    try:
        outcome = evaluated(
            config.validate({**settings, "output": output and str(output)}, "fuzz")
        )[0]
    except (InputError, EngineError) as error:
        is_told = isinstance(error, InputError) or "or a file is damaged, " in str(error)
        return "refused" if is_told and len(message(str(error))) < 2000 else f"{number}: {error}"
    counts = outcome.counts
    assert {name: counts[name] for name in rows} == rows, number
    if output:
        listed = sum(pq.read_table(output / "query_scores")["returned"].to_pylist())
        unlisted = counts["rejected_results"] + counts["results_of_unjudged_queries"]
        assert listed == counts["results"] - unlisted, number
        kept = pq.read_table(output / "rejected_rows").num_rows if outcome.rejected else 0
        assert kept == sum(row["rows"] for row in outcome.rejected), number
    return "scored with rejects" if outcome.rejected else "scored"


@pytest.mark.slow
@pytest.mark.embedded
def test_bad_inputs_end_in_scores_or_a_reason_and_no_row_is_lost(session, tmp_path, thorough):
    inputs = 1000 if thorough else 32
    endings = Counter(ending(number, tmp_path) for number in range(inputs))
    kinds = "scored", "scored with rejects", "refused"
    assert endings.keys() == {*kinds}
    assert min(endings.values()) > inputs / 20

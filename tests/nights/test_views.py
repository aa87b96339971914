"""The views of the guide show what the program shows, also of logs that no evaluation alone writes."""

import random
import re

import duckdb
import pytest
from kept_nights import date, record
from pages import RECIPES

from ndcg_spark.nights.log import ACCEPTANCE, ACKNOWLEDGEMENT, append, committed, log_row
from ndcg_spark.nights.store import Store

OF_DUCKDB, OF_SPARK = re.findall(
    r"```sql\n(.*?)\n```", RECIPES.read_text(encoding="utf-8"), re.DOTALL
)[:2]
SHOWN = (
    *("dataset", "evaluated_on", "number", "evaluation_id", "revision"),
    *("accepted", "accepted_runs", "acknowledged", "is_baseline", "notes"),
)
#: What a row withdraws.
WITHDRAWN = ([ACCEPTANCE], [ACKNOWLEDGEMENT], [ACCEPTANCE, ACKNOWLEDGEMENT])
SHOW = f"SELECT {', '.join(SHOWN)} FROM evaluations"  # noqa: S608


def statements(text, output):
    """The views of the log alone, which come first."""
    views = text.replace("OUTPUT", str(output)).split(";\n")
    return views[: next(at for at, view in enumerate(views) if "evaluations AS" in view) + 1]


def write_odd_log(output, rng):
    """Rows of the log in any order: what people say at once, and withdraw, of superseded and of expired evaluations."""
    store = Store(str(output))
    times = [f"2026-11-20T10:0{minute}:00+00:00" for minute in range(3)]
    for _ in range(40):
        published = rng.random() < 0.9
        revision = rng.choice([0, 0, 0, 1, 1, 2])
        row = log_row(
            record(files={}),
            dataset=rng.choice(["web", "shop"]),
            evaluation_id=rng.choice("abc"),
            status="published" if published else "refused",
            number=rng.randint(1, 3) if published else None,
            revision=revision,
            revised_at=rng.choice(times) if revision else None,
            note=rng.choice([None, None, "new", "old", "Äpfel"]) if revision else None,
            accepted=rng.choice([None, None, "why", "because"]),
            accepted_runs=rng.choice([None, ["bm25"], ["dense"]]),
            acknowledged=rng.choice([None, None, {"reason": "known", "until": "2026-12-01"}]),
            withdrawn=rng.choice([None, None, None, *WITHDRAWN]) if revision else None,
            is_baseline=rng.random() < 0.3,
        )
        append(store, date(rng.randrange(4)), [row])


def shown_by_program(output):
    shown = []
    for night in committed(str(output)):
        values = {**night.row, "is_baseline": night.is_good, "notes": [*night.notes]}
        shown.append(tuple(values[name] for name in SHOWN))
    return shown


def comparable(rows):
    return sorted((*row[:1], str(row[1]), *row[2:-1], [*(row[-1] or [])]) for row in rows)


def by_duckdb(output):
    with duckdb.connect(config={"threads": 1}) as connection:
        for view in statements(OF_DUCKDB, output):
            connection.execute(view)
        return comparable(connection.execute(SHOW).fetchall())


@pytest.mark.parametrize("seed", range(8))
def test_the_view_for_duckdb_shows_what_counts_with_its_acceptance_and_notes(tmp_path, seed):
    write_odd_log(tmp_path, random.Random(seed))  # noqa: S311
    assert by_duckdb(tmp_path) == comparable(shown_by_program(tmp_path))


@pytest.mark.classic
def test_so_does_that_for_spark(tmp_path, session):
    for seed in range(3):
        output = tmp_path / str(seed)
        write_odd_log(output, random.Random(seed))  # noqa: S311
        for view in statements(OF_SPARK, output):
            session.sql(view)
        rows = session.sql(SHOW).collect()
        shown = comparable(map(tuple, rows))
        for name in ("evaluations", "log"):
            session.catalog.dropTempView(name)
        assert shown == comparable(shown_by_program(output))

"""The SQL of the guide, which dashboards use: DuckDB runs it on nights of which one was evaluated twice."""

import datetime
import re
from pathlib import Path

import duckdb
import pytest
from gated_nights import evaluated, settings

GUIDE = Path(__file__).parents[2] / "conf" / "README.md"
DATES = ["2026-11-16", "2026-11-17"]


def statements(output: Path) -> list[str]:
    blocks = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    found = [each.strip() for block in blocks for each in block.replace("OUTPUT", str(output)).split(";\n")]
    return [each for each in found if each]


@pytest.mark.slow
def test_the_queries_of_the_guide_answer_from_the_evaluations_that_count(tmp_path):
    first, again, worse = (
        settings(tmp_path, date, **more, cutoffs=[10], gate={"check": [CHECK]}) for date, more in NIGHTS
    )
    told = evaluated(tmp_path, {**first, "accepted": "the first night"}, {**again, "accepted": "again"}, worse)
    *views, verdicts, seconds, trend, means, lost, changed = statements(tmp_path / "out")
    days = [datetime.date.fromisoformat(date) for date in DATES]
    with duckdb.connect() as connection:
        for view in views:
            connection.execute(view)
        found = [connection.execute(query).fetchall() for query in (verdicts, seconds, trend, lost, changed, means)]
    assert [row[1:3] for row in found[0]] == [(days[1], told[2]["verdict"]), (days[0], told[1]["verdict"])]
    assert [row[4] for row in found[0]] == [None, "again"]
    assert [row[0] for row in found[1]] == days
    assert all(total > evaluate > 0 for _, total, evaluate in found[1])
    assert [(row[1], row[2], row[4]) for row in found[2]] == [
        (run, day, 60) for run in ("bm25", "hybrid") for day in days
    ]
    assert ("hybrid", "q4", days[1]) in [row[1:4] for row in found[3]]
    assert all(difference < 0 for *_, difference in found[3])
    assert [row[:3] for row in found[5]] == [row[:3] for row in found[2]]
    assert all(mean == pytest.approx(row[3]) for row, (*_, mean, _, _) in zip(found[2], found[5], strict=True))
    assert all(low < mean < high for *_, mean, low, high in found[5])
    assert [row[1:] for row in found[4]] == [(days[1], 120, 8 * 60)]


CHECK = {"runs": ["hybrid"], "cutoff": 10, "max_drop": 0.01}
#: Of each night its date, and what is made of its files.
NIGHTS = [(DATES[0], {}), (DATES[0], {}), (DATES[1], {"worse": 5, "regraded": 3})]

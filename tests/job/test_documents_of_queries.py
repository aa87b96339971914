"""Nights that keep the documents of the queries that changed most against the baseline of the gate, and no others."""

import pytest
from commands import command_line
from gated_nights import GATE, evaluated, settings

from ndcg_spark.nights.log import committed
from ndcg_spark.nights.reader import read_rows

BEFORE, TONIGHT = "2026-11-20", "2026-11-21"


def kept(folder, date=TONIGHT):
    nights = [night for night in committed(str(folder / "out")) if night.evaluated_on == date]
    rows = read_rows(nights, "ranked_documents").to_pylist()
    return {(row["run"], row["query_id"]) for row in rows}, rows


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """A night that is accepted, and one on which `hybrid` loses in queries whose document had not stood fourth."""
    folder = tmp_path_factory.mktemp("changed")
    first = settings(folder, BEFORE, documents=50, accepted="the first")
    evaluated(folder, first, settings(folder, TONIGHT, documents=50, worse=9))
    return folder


def test_the_documents_are_kept_of_the_lists_that_changed_and_of_no_others(nights):
    lists, rows = kept(nights)
    lost = {f"q{n}" for n in range(9)}
    assert {query for run, query in lists if run == "hybrid"} == lost
    # No check is of the other run; the ideal rankings of these queries are kept too.
    assert {run for run, _ in lists} == {"hybrid", None}
    assert {query for run, query in lists if run is None} == lost
    assert {row["rank"] for row in rows if row["run"] == "hybrid"} == {1, 2, 3}
    # The night before is compared with nothing.
    assert kept(nights, BEFORE) == (set(), [])


def test_a_query_that_changed_is_explained_and_one_that_is_not_kept_is_refused(nights):
    arguments = ("explain", "out", "--date", TONIGHT, "--format", "json", "--query")
    done = command_line(*arguments, "q1", cwd=nights)
    assert done.returncode == 0, done.stderr
    assert "hybrid" in done.stdout
    for query, more in (("q30", []), ("q1", ["--run", "bm25"]), ("q1", ["--baseline", "bm25"])):
        refused = command_line(*arguments, query, *more, cwd=nights)
        assert refused.returncode == 2
        assert f"keeps none for query {query!r}" in refused.stderr


def test_with_a_baseline_of_the_same_night_its_documents_are_kept_beside(tmp_path):
    gate = {**GATE, "baseline": "run bm25"}
    evaluated(tmp_path, settings(tmp_path, TONIGHT, gate, documents=50, worse=9))
    lists, _ = kept(tmp_path)
    own = {query for run, query in lists if run == "hybrid"}
    assert own == {query for run, query in lists if run == "bm25"} == {f"q{n}" for n in range(9)}


@pytest.mark.parametrize("worse", [(0, 9), (9, 0)])
def test_no_more_than_so_many_queries_of_a_run_are_kept_whether_they_lost_or_won(tmp_path, worse):
    first = settings(tmp_path, BEFORE, worse=worse[0], accepted="the first")
    evaluated(tmp_path, first, settings(tmp_path, TONIGHT, documents=4, worse=worse[1]))
    lists, _ = kept(tmp_path)
    # The document of every third query moves between the first and the fourth rank, the others move less.
    assert {query for run, query in lists if run == "hybrid"} == {"q0", "q1", "q3", "q6"}

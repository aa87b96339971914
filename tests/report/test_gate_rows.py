"""A page shows the rows that the gate has published, and compares only what the gate has not."""

import dataclasses

import numpy as np
import pytest
from gates import N, evaluate, gate, spread

from ndcg_spark.comparison.baselines import Baseline, Kind
from ndcg_spark.comparison.differences import (
    ComparisonOptions,
    causes,
    comparison_rows,
    slice_causes,
)
from ndcg_spark.comparison.matrix import read_attributes
from ndcg_spark.comparison.sources import ScoreCache, both_sides, published_rows
from ndcg_spark.comparison.trend import History
from ndcg_spark.nights.log import Nights, committed, revise
from ndcg_spark.nights.reader import read_rows
from ndcg_spark.report import charts
from ndcg_spark.report.night import load_night
from ndcg_spark.report.outline import Request, outline, shown_rows

BASE = 0.6 + spread(0, 0.1)
BROKEN = BASE - np.where(np.arange(N) < 20, 0.3 + spread(0, 0.01), 0)
LANGUAGE = {"language": ["de"] * 20 + ["en"] * (N - 23) + [None] * 3}
RUNS = {"hybrid": BASE, "bm25": BASE - 0.1}
#: The columns of a row that say which row it is.
KEY = ("run", "attribute", "value")
DE, EN, REST = (("hybrid", "language", value) for value in ("de", "en", "(none)"))


def page(output, *, slices=None, config=None):
    """The rows that a page shows of the second of two nights, and what it has made them of."""
    config = config or gate({"runs": ["hybrid"]})
    evaluate(output, config, "2026-11-01", RUNS, attributes=LANGUAGE, accepted="first")
    lost = {"hybrid": BROKEN, "bm25": BASE - 0.1 + spread(0, 0.01)}
    evaluate(output, config, "2026-11-02", lost, attributes=LANGUAGE)
    history = History(committed(str(output)))
    night = history.nights[-1]
    shown = outline(history, night, Request(attributes=slices))
    sides = both_sides(shown.baseline, night, shown.metric, ScoreCache(history.scores))
    options = ComparisonOptions(attributes=read_attributes([night]))
    return shown_rows(shown, sides, options), shown, sides, options


def keys(rows):
    return [tuple(row[name] for name in KEY) for row in rows]


def test_the_gate_s_rows_are_shown_and_other_runs_are_compared(tmp_path, monkeypatch):
    compared = []

    def noted(sides, options):
        compared.extend(sides.pairs)
        return comparison_rows(sides, options)

    monkeypatch.setattr("ndcg_spark.report.outline.comparison_rows", noted)
    rows, shown, _, _ = page(tmp_path)
    assert compared == [("bm25", "bm25")]
    others = [("bm25", *key[1:]) for key in (DE, EN, REST)]
    whole = [(run, None, None) for run in ("bm25", "hybrid")]
    assert keys(rows) == [whole[0], *others, whole[1], DE, EN, REST]
    published = published_rows(shown.night, shown.baseline, shown.metric)
    names = ("mean", "baseline_mean", "difference", "p_value", "interval_low")
    for row, own in zip(rows[4:7], published[:3], strict=True):
        assert [row[name] for name in names] == [own[name] for name in names]
    # A slice of three queries is tested by the gate, and by the page it is not.
    assert (published[3]["p_value"] is None, rows[7]["p_value"]) == (False, None)


@pytest.mark.parametrize("runs", [["hybrid"], None])
def test_the_rows_of_a_page_are_as_if_it_had_compared_all_runs(tmp_path, runs):
    rows, _, sides, options = page(tmp_path, config=gate({"runs": runs}))
    computed = comparison_rows(sides, options)
    assert len(rows) == len(computed) == 8
    for row, own in zip(rows, computed, strict=True):
        for name, value in row.items():
            is_number = isinstance(value, float)
            assert value == (pytest.approx(own[name], rel=1e-9) if is_number else own[name])


def test_other_slices_than_those_of_the_night_are_compared(tmp_path):
    rows, shown, sides, options = page(tmp_path, slices=True)
    names = set(rows[0])
    assert names == set(published_rows(shown.night, shown.baseline, shown.metric)[0])
    computed = comparison_rows(sides, options)
    assert rows == [{name: row[name] for name in names} for row in computed]


def test_published_rows_have_the_causes_of_computed_ones(tmp_path):
    rows, _, sides, options = page(tmp_path)
    pair = dataclasses.replace(sides, pairs=[("hybrid", "hybrid")])
    whole, *parts = comparison_rows(pair, options)
    own = slice_causes(sides, rows[4], rows[5:], options.attributes)
    assert own == causes(whole, parts)
    assert own[0]["value"] == "de"


@pytest.mark.parametrize(
    "baseline",
    [
        # What no gate has named, what it has not compared with, and other nights of its baseline.
        Baseline(Kind.NIGHTS),
        Baseline(Kind.RUN, "run bm25", "bm25"),
        Baseline(Kind.GOOD, "good"),
    ],
)
def test_nothing_is_published_of_other_baselines(tmp_path, baseline):
    _, shown, _, _ = page(tmp_path)
    own = shown.night, shown.metric
    assert published_rows(own[0], shown.baseline, own[1])
    assert published_rows(own[0], shown.baseline, ("ndcg", 5)) == []
    assert published_rows(own[0], baseline, own[1]) == []


def test_a_baseline_of_the_night(tmp_path):
    rows, shown, _, _ = page(tmp_path, config=gate(baseline="run bm25"))
    assert (shown.baseline.run, keys(rows)[0]) == ("bm25", ("hybrid", None, None))
    published = published_rows(shown.night, shown.baseline, shown.metric)
    assert [row["difference"] for row in rows] == [row["difference"] for row in published]


#: The scores until the night that was accepted for b alone.
BEFORE = {
    "2026-11-01": {"a": BASE, "b": BASE},
    "2026-11-02": {"a": BASE, "b": BASE - 0.1},
}


def accepted_for_b(output, drop=0.0):
    """The verdict on a night after one that was accepted for b alone."""
    first, second = BEFORE
    evaluate(output, gate(), first, BEFORE[first], accepted="first")
    evaluate(output, gate(), second, BEFORE[second])
    revise(committed(str(output))[-1], accepted="intended", accepted_runs=["b"])
    scores = {"a": BASE + spread(0, 0.001), "b": BASE - 0.1 - drop + spread(0, 0.001)}
    return evaluate(output, gate(), "2026-11-03", scores)["web"]


def loaded(output, run=None, without=()):
    """The page of the last night, or as if some nights had expired."""
    nights = committed(str(output))
    kept = [night for night in nights if night.evaluated_on not in without]
    history = History(Nights(kept, [night.row for night in kept], {}))
    return load_night(history, kept[-1], Request(run=run))


def differences_by_gate(verdict):
    return {one.run: one.difference for one in verdict.results if one.baseline == "good"}


def differences_on(page):
    return {run: row["difference"] for run, row in page.compared.items()}


@pytest.mark.parametrize("run", [None, "a", "b"])
@pytest.mark.parametrize("again", BEFORE)
def test_each_run_has_its_own_nights_after_some_were_evaluated_again(tmp_path, again, run):
    verdict = accepted_for_b(tmp_path)
    evaluate(tmp_path, gate(), again, BEFORE[again])
    shown = loaded(tmp_path, run)
    assert differences_on(shown) == pytest.approx(differences_by_gate(verdict))
    assert (shown.new, shown.left_out) == ([], [])


@pytest.mark.parametrize(
    ("gone", "run", "compared", "left_out"),
    [
        ("2026-11-02", "a", {"a"}, ["b"]),
        ("2026-11-01", "b", {"b"}, ["a"]),
        # The gate's nights are gone, so the page compares with the last night.
        ("2026-11-02", "b", {"a", "b"}, []),
    ],
)
def test_a_run_whose_own_nights_are_gone_is_not_new(tmp_path, gone, run, compared, left_out):
    accepted_for_b(tmp_path)
    shown = loaded(tmp_path, run, without=[gone])
    assert (shown.run, set(shown.compared)) == (run, compared)
    assert (shown.new, shown.left_out) == ([], left_out)
    listed = [one.why for one in charts.uncompared(shown)]
    assert listed == ["not compared"] * len(left_out)


@pytest.mark.parametrize(("drop", "about"), [(0.0, "a"), (0.05, "b")])
def test_each_run_is_shown_against_the_nights_that_the_gate_compared_it_with(tmp_path, drop, about):
    verdict = accepted_for_b(tmp_path, drop)
    shown = loaded(tmp_path)
    by_page = differences_on(shown)
    assert by_page == pytest.approx(differences_by_gate(verdict))
    assert by_page["b"] == pytest.approx(-drop, abs=1e-3)
    dates = {"a": "2026-11-01", "b": "2026-11-02"}
    assert (shown.run, shown.baseline.newest) == (about, dates[about])
    # What is published are only the rows that the gate decided by.
    rows = read_rows([shown.night], "comparisons").to_pylist()
    nights = {(row["run"], str(row["baseline_night"])) for row in rows if row["reading"] == 1}
    assert nights == set(dates.items())

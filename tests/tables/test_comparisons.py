"""Comparisons as people are shown them."""

from ndcg_spark.tables.comparisons import comparison_table

UNCHANGED = {
    "dataset": "web",
    "run": "new",
    "measure": "ndcg",
    "cutoff": 10,
    "attribute": None,
    "value": None,
    "baseline": "new",
    "baseline_night": None,
    "queries": 11,
    "mean": 0.5,
    "baseline_mean": 0.5,
    "difference": 1e-17,
    "interval_low": -2e-17,
    "interval_high": 4e-17,
    "p_adjusted": 1.0,
    "test": "t",
    "wins": 0,
    "ties": 11,
    "losses": 0,
    "flags": ["unchanged"],
}


def test_an_interval_that_is_but_the_rounding_of_sums_is_not_drawn():
    found = comparison_table([UNCHANGED], "holm", 0.05)
    (cells,) = found.rows
    assert dict(zip(found.headings, cells, strict=True))["interval"] == ""
    assert not any("on a line from" in note for note in found.notes)


def test_a_run_that_has_not_changed_does_not_decide_which_test_is_named():
    changed = {**UNCHANGED, "run": "other", "interval_high": 0.5, "test": "randomization", "flags": ["few_changed"]}
    notes = comparison_table([UNCHANGED, changed], "none", 0.05).notes
    assert "p: two-sided randomization test" in notes

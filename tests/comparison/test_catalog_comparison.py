"""Comparisons by measures of the catalog: numbers of runs without a test, and no word of a loss."""

import pandas as pd
import pyarrow as pa
import pytest
import shown

from ndcg_spark import compare, evaluate
from ndcg_spark.comparison.over_datasets import compare_over_datasets
from ndcg_spark.comparison.run_numbers import RunNumber, mean_numbers, rows_of_runs, run_numbers
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.comparisons import FLAGS, counts

KEY = {"dataset": "web", "baseline_night": None}
METRIC = ("coverage", 10)


def numbers(**values):
    return {run: RunNumber(value, 100) for run, value in values.items()}


def row(now, before):
    (made,) = rows_of_runs(numbers(a=now), numbers(b=before), METRIC, KEY, [("a", "b")])
    return made


@pytest.mark.parametrize(
    ("now", "before", "conclusion", "flags"),
    [
        (0.5, 0.4, "higher", ["one_number"]),
        (0.4, 0.5, "lower", ["one_number"]),
        (0.4, 0.4, "same", ["one_number", "unchanged"]),
        (0.4 + 1e-12, 0.4, "same", ["one_number", "unchanged"]),
        (0.4 + 1e-8, 0.4, "higher", ["one_number"]),
        # Of large numbers, an error is relative to them.
        (1e9 + 0.1, 1e9, "same", ["one_number", "unchanged"]),
        (1e9 + 10, 1e9, "higher", ["one_number"]),
    ],
)
def test_a_number_is_higher_or_lower_without_a_test(now, before, conclusion, flags):
    made = row(now, before)
    assert made["conclusion"] == conclusion
    assert made["flags"] == flags
    assert made["p_value"] is made["interval_low"] is made["queries"] is None
    assert made["difference"] == now - before
    assert made["relative_difference"] == (now - before) / before


@pytest.mark.parametrize(
    ("now", "before", "flags"),
    [
        (RunNumber(None, 0), RunNumber(0.4, 100), ["run_missing"]),
        (RunNumber(0.4, 100), RunNumber(None, 0), ["baseline_missing"]),
        # Such as Personalization of a single list.
        (RunNumber(None, 1), RunNumber(0.4, 100), ["no_value"]),
        (RunNumber(0.4, 100), RunNumber(None, 1), ["no_value"]),
    ],
)
def test_a_side_without_a_value_is_missing_only_if_it_has_no_list(now, before, flags):
    (made,) = rows_of_runs({"a": now}, {"b": before}, METRIC, KEY, [("a", "b")])
    assert made["flags"] == ["one_number", *flags]
    assert made["conclusion"] is None


def test_a_baseline_of_zero_has_no_relative_difference():
    assert row(0.4, 0.0)["relative_difference"] is None


def test_the_mean_of_nights_is_over_those_with_a_number():
    nights = [numbers(a=0.1, b=0.5), numbers(a=0.4), numbers(a=None, b=0.7)]
    means = mean_numbers(nights)
    assert means["a"].value == pytest.approx((0.1 + 0.4) / 2)
    assert means["b"].value == pytest.approx((0.5 + 0.7) / 2)
    lists = [{"a": RunNumber(0.1, 10)}, {"a": RunNumber(0.1, 21)}]
    assert mean_numbers(lists)["a"].lists == round((10 + 21) / 2)
    # A run with lists but without a value in any night is not missing.
    without_value = [{"a": RunNumber(None, 10)}, {"a": RunNumber(None, 20)}]
    before = mean_numbers(without_value)
    assert before == {"a": RunNumber(None, 15)}
    (made,) = rows_of_runs(numbers(a=0.4), before, METRIC, KEY, [("a", "a")])
    assert made["flags"] == ["one_number", "no_value"]


def test_numbers_are_of_their_cutoff_and_of_no_slice():
    rows = []
    for cutoff, attribute, value in ((10, None, 0.5), (5, None, 0.3), (10, "language", 0.1)):
        own = {"run": "a", "cutoff": cutoff, "attribute": attribute}
        rows.append({**own, "coverage": value, "lists": 7})
    assert run_numbers(rows, METRIC) == {"a": RunNumber(0.5, 7)}


def test_over_datasets_more_is_higher_and_not_better():
    rows = []
    for at in range(8):
        (made,) = rows_of_runs(
            numbers(a=0.5 + 0.01 * at),
            numbers(b=0.4),
            METRIC,
            {**KEY, "dataset": f"d{at}"},
            [("a", "b")],
        )
        rows.append(made)
    names = [one["dataset"] for one in rows]
    (found,) = compare_over_datasets(rows, names, "holm", 0.05).rows
    assert found["difference"] == pytest.approx(0.1 + 0.01 * sum(range(8)) / 8)
    assert (found["p_value"], found["conclusion"]) == (2 / 2**8, "higher")
    lower = [{**one, "difference": -one["difference"]} for one in rows]
    (found,) = compare_over_datasets(lower, names, "holm", 0.05).rows
    assert found["conclusion"] == "lower"


def test_conclusions_are_counted_and_the_flag_has_words():
    assert counts([row(0.5, 0.4), row(0.3, 0.4)]) == "coverage@10: 1 lower, 1 higher"
    assert "one_number" in FLAGS


MEASURES = "nDCG@5 Novelty@5 Coverage@5 Items@5"


@pytest.fixture(scope="module")
def shop():
    """Tables of judgments, of results and of items, as pandas has them."""
    judged, returned, items = shown.tables(shown.shop(21, runs=2, queries=30))
    return pd.DataFrame(judged), pd.DataFrame(returned), items.to_pandas()


@pytest.fixture(scope="module")
def scored(shop):
    return scores_of(*shop)


def scores_of(judged, returned, items, measures=MEASURES):
    # Some items that are shown are in no table, which a warning says.
    with pytest.warns(UserWarning, match="are not in the table"):
        return evaluate(judged, returned, measures=measures, items=items, items_users=50)


def test_python_compares_what_was_evaluated(scored):
    table = compare(scored, "r0").set_index("measure")
    means = scored.dataset_scores.set_index("run")
    assert [*table.index] == ["ndcg", "novelty", "coverage", "items"]
    for measure in ("coverage", "items"):
        difference = means[measure]["r1"] - means[measure]["r0"]
        assert table["difference"][measure] == difference
        assert table["conclusion"][measure] == ("higher" if difference > 0 else "lower")
        assert pd.isna(table["p_value"][measure])
    alone = compare(scored, "r0", measures="items")
    assert [*alone["measure"]] == ["items"]


def test_python_compares_with_another_evaluation(scored, shop):
    judged, returned, items = shop
    first = returned.groupby(["run", "query_id"]).head(2)
    before = scores_of(judged, first, items)
    table = compare(scored, before, measures="items@5").set_index("run")
    for run in ("r0", "r1"):
        now, then = (one.dataset_scores.set_index("run")["items"][run] for one in (scored, before))
        assert table["difference"][run] == now - then > 0
    other = scores_of(judged, returned, items, "nDCG@5 Novelty(unseen=drop)@5 Items@5")
    with pytest.raises(ConfigurationError, match=r"novelty.*novelty\(unseen=drop\)"):
        compare(scored, other, measures="novelty@5")
    assert len(compare(scored, other, measures="items@5")) == 2


def test_python_needs_what_was_evaluated(scored):
    with pytest.raises(ConfigurationError, match="give what evaluate returns"):
        compare(scored.query_scores, "r0", measures="coverage@5")
    with pytest.raises(ConfigurationError, match="gini was not evaluated"):
        compare(scored, "r0", measures="gini@5")
    with pytest.raises(ConfigurationError, match="coverage@10 was not evaluated"):
        compare(scored, "r0", measures="coverage@10")


def test_python_needs_an_evaluation_of_every_run(scored, shop):
    judged, returned, items = shop
    alone = {run: scores_of(judged, own, items) for run, own in returned.groupby("run")}
    mixed = {**alone, "r1": alone["r1"].query_scores}
    for tables, name in (((mixed, "r0"), "query_scores"), ((scored, mixed), "baseline")):
        with pytest.raises(ConfigurationError, match=f"{name}: .* give what evaluate returns"):
            compare(*tables, measures="items@5")


def test_slices_of_numbers_of_runs_are_not_ignored_silently(scored):
    slices = pa.table({"query_id": ["q0"], "language": ["de"]})
    with pytest.warns(UserWarning, match="slices and weights do not apply"):
        assert len(compare(scored, "r0", measures="items@5", attributes=slices)) == 1


def test_python_compares_runs_that_were_evaluated_one_by_one(shop):
    judged, returned, items = shop
    alone = {}
    for run, own in returned.groupby("run"):
        alone[run] = scores_of(judged, own, items)
    both = scores_of(judged, returned, items)
    table = compare(alone, "r0", measures="items@5 coverage@5")
    pd.testing.assert_frame_equal(table, compare(both, "r0", measures="items@5 coverage@5"))


def test_python_compares_no_measure_that_looked_up_other_items(scored, shop):
    judged, returned, items = shop
    other = scores_of(judged, returned, pa.Table.from_pandas(pd.DataFrame(items).iloc[1:]))
    with pytest.raises(ConfigurationError, match="different tables of items"):
        compare(scored, other, measures="coverage@5")
    assert len(compare(scored, other, measures="items@5")) == 2

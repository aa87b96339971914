"""Comparisons from tables to rows, beside those of pandas, scipy and statsmodels."""

import datetime
import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from paired import NIGHT, attributes, compare_rows, compared, matrix, pairs_of, scores, weights
from scipy import stats

from ndcg_spark import compare
from ndcg_spark.comparison.differences import (
    ComparisonOptions,
    Sides,
    causes,
    comparison_rows,
    explains_change,
    in_one_family,
    rows_of_sides,
)
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.schemas import COMPARISONS

BEFORE = datetime.date(2026, 11, 19)
MANY = 400


def checked_with_scipy(row, run, baseline):
    """That a row is what scipy says of both scores."""
    expected = stats.ttest_rel(run, baseline)
    low, high = expected.confidence_interval(0.95)
    assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-12)
    assert [row["interval_low"], row["interval_high"]] == pytest.approx(
        [low, high], rel=1e-12, abs=1e-14
    )
    assert row["effect_size"] == pytest.approx(expected.statistic / len(run) ** 0.5, rel=1e-10)


def checked_with_weights(row, apart, weight):
    """That a row is what weighted least squares say, with fewer degrees of freedom than statsmodels has."""
    api = pytest.importorskip(
        "statsmodels.api", reason="needs statsmodels: pip install --group parity"
    )
    fitted = api.WLS(apart, np.ones(len(apart)), weights=weight).fit(cov_type="HC1", use_t=True)
    effective = weight.sum() ** 2 / (weight**2).sum()
    low, high = fitted.params[0] + fitted.bse[0] * stats.t.ppf([0.025, 0.975], effective - 1)
    assert row["weight_effective_n"] == pytest.approx(effective)
    assert row["p_value"] == pytest.approx(
        2 * stats.t.sf(abs(fitted.tvalues[0]), effective - 1), rel=1e-10
    )
    assert [row["interval_low"], row["interval_high"]] == pytest.approx([low, high], rel=1e-10)


@pytest.mark.filterwarnings("ignore:.* queries have no weight")
@pytest.mark.parametrize("seed", range(3))
def test_every_row_is_what_pandas_and_scipy_make_of_the_scores(seed):
    """Cutoffs, runs that lack queries, slices by two attributes, of which some queries have none, and weights."""
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="needs statsmodels")
    chance, queries = np.random.default_rng(seed), [f"q{at}" for at in range(60)]
    frames, tables = {}, []
    for cutoff in (5, 10, None):
        frame = pd.DataFrame(
            chance.random((60, 3)).round(1), index=queries, columns=["a", "b", "old"]
        )
        frames[cutoff] = frame.mask(chance.random(frame.shape) < 0.1)
        tables.append(
            scores({run: frames[cutoff][run].dropna().to_dict() for run in frame}, cutoff=cutoff)
        )
    kinds = {query: {"kind": str(chance.choice(["x", "y"]))} for query in queries[:50]}
    kinds |= {query: {"kind": ["x", "y"], "size": "s"} for query in queries[:12]}
    weight = pd.Series(chance.uniform(0.5, 2, 55), index=queries[:55])
    rows = compare_rows(
        pa.concat_tables(tables),
        "old",
        attributes=attributes(kinds),
        weights=weights(list(weight)),
        correction="bh",
    )
    slices = {
        (None, None): set(queries),
        ("kind", "(none)"): {*queries[50:]},
        ("size", "s"): {*queries[:12]},
    }
    slices |= {("size", "(none)"): {*queries[12:]}}
    slices |= {
        ("kind", value): {query for query, of in kinds.items() if value in of["kind"]}
        for value in "xy"
    }
    assert len(rows) == 3 * 2 * len(slices) * 2
    for row in rows:
        is_weighted = row["weight_effective_n"] is not None
        frame = frames[row["cutoff"]].loc[
            sorted(slices[row["attribute"], row["value"]], key=queries.index)
        ]
        frame = frame.loc[frame.index.isin(weight.index)] if is_weighted else frame
        both = frame[[row["run"], "old"]].dropna()
        run, old = both[row["run"]].to_numpy(), both["old"].to_numpy()
        won, lost = int((run - old > 1e-9).sum()), int((old - run > 1e-9).sum())
        known = {"queries": len(both), "wins": won, "losses": lost, "ties": len(both) - won - lost}
        known |= {"changed_queries": won + lost}
        known |= {
            "unpaired_queries": int(frame[[row["run"], "old"]].isna().sum(axis=1).eq(1).sum())
        }
        assert row | known == row
        of_each = weight[both.index].to_numpy() if is_weighted else None
        means = [np.average(values, weights=of_each) for values in (run, old, run - old)]
        assert [row["mean"], row["baseline_mean"], row["difference"]] == pytest.approx(
            means, rel=1e-12, abs=1e-15
        )
        assert row["relative_difference"] == pytest.approx(means[2] / means[1], rel=1e-9)
        is_small = row["attribute"] is not None and len(both) < 10
        assert ("below_min_queries" in row["flags"]) == is_small
        if is_weighted:
            leaves_few = of_each.sum() ** 2 / (of_each**2).sum() < min(10, len(both))
            assert ("few_effective" in row["flags"]) == leaves_few
            is_small |= leaves_few
        assert (row["p_value"] is None) == is_small
        if is_weighted and not is_small:
            checked_with_weights(row, run - old, of_each)
        elif not is_small:
            checked_with_scipy(row, run, old)
            assert row["p_randomization"] == pytest.approx(row["p_value"], abs=0.1)
            pairs = (("p_value", "p_randomization"), ("p_adjusted", "p_decides"))
            is_doubted = any((row[one] < 0.05) != (row[other] < 0.05) for one, other in pairs)
            assert ("doubt" in row["flags"]) == is_doubted
        if row["conclusion"] in ("better", "worse"):
            assert (row["conclusion"] == "better", row["p_decides"] < 0.05) == (
                row["difference"] > 0,
                True,
            )
    for cutoff, is_weighted in itertools.product(frames, (False, True)):
        kind = [row for row in rows if row["cutoff"] == cutoff and row["p_value"] is not None]
        kind = [row for row in kind if (row["weight_effective_n"] is not None) == is_weighted]
        larger = [max(row["p_value"], row["p_randomization"] or 0) for row in kind]
        for name, p_values in (
            ("p_adjusted", [row["p_value"] for row in kind]),
            ("p_decides", larger),
        ):
            expected = multitest.multipletests(p_values, method="fdr_bh")[1]
            assert [row[name] for row in kind] == pytest.approx(list(expected), rel=1e-12)
        assert {row["family_size"] for row in kind} == {len(kind)}


def test_differences_far_from_zero_keep_their_digits():
    old, new = pairs_of("skewed", 500, 13)
    (row,) = compare_rows(scores({"old": old, "new": new + 1e5}), "old")
    checked_with_scipy(row, new + 1e5, old)


def test_the_example_of_the_guide_is_as_it_is_worked_out_there():
    old = [0.50, 0.40, 0.90, 0.10, 0.60, 0.70, 0.30, 0.80]
    new = [0.65, 0.45, 0.90, 0.30, 0.50, 0.80, 0.35, 0.95]
    (row,) = compare_rows(scores({"old": old, "new": new}), "old")
    assert list(row) == COMPARISONS.names
    assert (row["wins"], row["ties"], row["losses"], row["flags"]) == (6, 1, 1, ["few_changed"])
    printed = {
        "difference": 0.0750,
        "effect_size": 0.7783,
        "minimum_detectable": 0.1111,
        "p_value": 0.0636,
    }
    interval = {"interval_low": -0.0056, "interval_high": 0.1556}
    assert {name: round(row[name], 4) for name in printed | interval} == printed | interval
    assert row["p_randomization"] == row["p_decides"] == 24 / 256
    assert (row["family_size"], row["conclusion"]) == (1, "cannot_tell")


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        (
            [0.0] * MANY,
            {"flags": ["unchanged"], "p_value": 1.0, "interval_low": None, "family_size": None},
        ),
        (
            [-0.1] * 60,
            {
                "flags": ["no_variation"],
                "p_value": 2.0**-59,
                "interval_low": None,
                "conclusion": "worse",
            },
        ),
        ([0.01] * 200 + [0.5, -0.3] * 10, {"flags": []}),
        (
            [0.1],
            {
                "flags": ["too_few"],
                "p_value": None,
                "interval_low": None,
                "difference": pytest.approx(0.1),
            },
        ),
        ([0.0], {"flags": ["too_few", "unchanged"], "p_value": 1.0, "interval_low": None}),
        ([0.1, -0.3], {"flags": ["few_changed"], "p_randomization": 1.0, "p_decides": 1.0}),
        ([0.0] * 50 + [0.5, -0.1] * 4, {"flags": ["few_changed"]}),
        ([1e308] * 9, {"mean": None, "difference": None, "p_value": None, "interval_low": None}),
    ],
    ids=["unchanged", "the same", "skewed", "one", "one unchanged", "two", "few changed", "huge"],
)
def test_what_is_unusual_is_a_flag(apart, expected):
    baseline = np.full(len(apart), -1e308 if apart[0] > 1 else 0.5)
    (row,) = compare_rows(
        scores({"old": baseline, "new": baseline + apart if apart[0] < 1 else apart}), "old"
    )
    assert row | expected == row


def test_tests_that_disagree_once_they_are_adjusted_conclude_nothing():
    # Of the 64 ways to give six gains a sign, 2 have a sum as far from 0.
    runs = {"new": [0.6, 0.61, 0.62] * 2, "old": [0.5] * 6}
    (alone,), (_, row) = (
        compare_rows(scores(more | runs), "old") for more in ({}, {"flat": [0.6, 0.4] * 3})
    )
    assert (alone["p_decides"], alone["flags"], alone["conclusion"]) == (
        2 / 64,
        ["few_changed"],
        "better",
    )
    assert (row["p_decides"], row["flags"], row["conclusion"]) == (
        4 / 64,
        ["few_changed", "doubt"],
        "cannot_tell",
    )


def test_runs_that_certainly_differ_by_less_than_the_margin_are_the_same():
    chance = np.random.default_rng(6)
    baseline = chance.random(MANY)
    table = scores({"old": baseline, "new": baseline + chance.normal(0.001, 0.05, MANY)})
    at_90 = stats.ttest_rel(table["ndcg"].to_numpy()[MANY:], baseline).confidence_interval(0.9)
    reach = max(-at_90.low, at_90.high)
    for margin, conclusion in ((reach * 1.01, "same"), (reach * 0.99, "cannot_tell")):
        (row,) = compare_rows(table, "old", margin=margin)
        assert row["conclusion"] == conclusion


@pytest.mark.parametrize(("kind", "n", "shift"), [("skewed", MANY, 0.0), ("zeros", 10_000, -0.004)])
def test_random_signs_give_the_same_p_value_whatever_the_order_of_the_rows(kind, n, shift):
    """Above 4,096 queries, of buckets of them."""
    baseline, run = pairs_of(kind, n, 4)
    table = scores({"old": baseline, "new": run + shift})
    turned = table.take(np.random.default_rng(1).permutation(table.num_rows))
    one, other = (compare_rows(query_scores, "old")[0] for query_scores in (table, turned))
    assert one["p_randomization"] == pytest.approx(other["p_randomization"], rel=1e-9)
    assert one["p_randomization"] == pytest.approx(one["p_value"], abs=0.05)


# Pairing


def test_queries_are_named_in_the_order_of_the_comparisons_and_equal_ones_by_their_ids():
    tables = [
        scores({"old": [0.5, 0.1, one, other], "new": [0.1, 0.2, 0.0, 0.0]}, cutoff=cutoff)
        # The order of a sum changes nothing.
        for cutoff, (one, other) in {10: (0.1 + 0.2, 0.3), None: (0.3, 0.1 + 0.2)}.items()
    ]
    queries = compared(pa.concat_tables(tables), None, "old", queries=2).queries
    assert [(row["cutoff"], row["query_id"]) for row in queries] == [
        (cutoff, query) for cutoff in (10, None) for query in ("q0", "q2", "q1")
    ]


def test_a_night_is_paired_with_another_by_the_names_of_runs_and_nothing_is_lost():
    tonight = scores(
        {"a": {"q1": 0.5, "q2": 0.75, "q3": 0.0, "q5": None}, "b": {"q1": 1.0}}, evaluated_on=NIGHT
    )
    before = scores(
        {"a": {"q1": 0.25, "q3": 0.5, "q4": 1.0, "q5": None}, "c": {"q1": 0.5}}, evaluated_on=BEFORE
    )
    a, b, c = compared(tonight, before).rows
    # q1 and q3 pair; q2 is new, q4 is gone, and q5 is in neither mean.
    assert (
        a | {"run": "a", "queries": 2, "unpaired_queries": 2, "difference": (0.25 - 0.5) / 2} == a
    )
    assert a | {"baseline": "a", "evaluated_on": NIGHT, "baseline_night": BEFORE} == a
    assert (
        b
        | {
            "queries": 0,
            "unpaired_queries": 1,
            "flags": ["baseline_missing", "too_few"],
            "mean": None,
        }
        == b
    )
    assert (
        c
        | {
            "queries": 0,
            "unpaired_queries": 1,
            "flags": ["run_missing", "too_few"],
            "p_value": None,
        }
        == c
    )
    # Or every run with one run of the other night.
    rows = compared(tonight, before, "c").rows
    assert [(row["run"], row["baseline"], row["difference"]) for row in rows] == [
        ("a", "c", 0.0),
        ("b", "c", 0.5),
    ]


def answers(old, new, policy=0.0, status=True):
    """Scores of two runs by query; for None the run returned nothing, which scores `policy`."""
    table = scores({"old": old, "new": new})
    nothing = np.asarray(table["ndcg"].is_null())
    table = table.set_column(
        3, "ndcg", table["ndcg"].fill_null(policy) if policy is not None else table["ndcg"]
    )
    if status:
        table = table.append_column("status", pa.array(np.where(nothing, "missing", "scored")))
    return table.append_column("returned", pa.array(np.where(nothing, 0, 10)))


OLD, NONE = [0.5 + at / 100 for at in range(20)], [None] * 20


@pytest.mark.parametrize("policy", [0.0, None])
@pytest.mark.parametrize("status", [True, False])
def test_a_run_that_returned_nothing_is_missing_on_either_side(policy, status):
    for old, new, flag in ((OLD, NONE, "run_missing"), (NONE, OLD, "baseline_missing")):
        (missing,) = compared(answers(old, new, policy, status), None, "old").rows
        assert flag in missing["flags"]
        untested = (
            "mean",
            "difference",
            "p_value",
            "p_decides",
            "interval_low",
            "conclusion",
            "family_size",
        )
        assert [missing[name] for name in untested] == [None] * len(untested)
        assert (missing["queries"], missing["unpaired_queries"]) == (0, 20)
    both = compared(answers(NONE, NONE, policy, status), None, "old").rows[0]
    assert {"run_missing", "baseline_missing"} <= {*both["flags"]}


def test_a_run_that_returned_nothing_is_in_no_family_of_tests():
    better = [score + 0.1 + at / 1000 for at, score in enumerate(OLD)]
    table = scores({"old": OLD, "new": better, "lost": [0.0] * 20})
    table = table.append_column("returned", pa.array([10] * 40 + [0] * 20))
    by_run = {row["run"]: row for row in compared(table, None, "old").rows}
    assert (by_run["new"]["family_size"], by_run["lost"]["p_adjusted"]) == (1, None)


@pytest.mark.parametrize(("answered", "is_few"), [(20, False), (19, False), (18, True), (3, True)])
def test_a_side_that_answered_a_tenth_fewer_queries_is_flagged_and_counted(answered, is_few):
    few = [*OLD[:answered], *NONE[answered:]]
    for old, new, counts in ((OLD, few, (answered, 20)), (few, OLD, (20, answered))):
        (row,) = compared(answers(old, new), None, "old").rows
        assert ("few_answered" in row["flags"]) == is_few
        assert (
            row["answered_queries"],
            row["baseline_answered_queries"],
            row["judged_queries"],
        ) == (*counts, 20)
    # Both lack the same queries.
    (row,) = compared(answers(few, few), None, "old").rows
    assert "few_answered" not in row["flags"]


def test_a_run_that_only_one_of_the_datasets_lacks_is_named():
    tables = [scores({"old": OLD, "new": OLD}, dataset=name) for name in ("web", "news")]
    tables.append(scores({"old": OLD}, dataset="shop"))
    warnings = compared(pa.concat_tables(tables), None, "old").warnings
    assert [*map(str, warnings)] == [
        "shop: 1 run(s) in other datasets have no results here, e.g. new"
    ]
    assert compared(pa.concat_tables(tables), None, "old", runs=["old"]).warnings == []


def test_a_slice_that_a_run_did_not_answer_is_not_tested_and_still_explains_the_loss():
    halves = attributes({f"q{at}": {"half": "first" if at < 10 else "second"} for at in range(20)})
    new = [*[score + 0.001 * at for at, score in enumerate(OLD[:10])], *NONE[10:]]
    rows = compared(answers(OLD, new), None, "old", attributes=halves).rows
    by_value = {row["value"]: row for row in rows}
    assert by_value["second"]["flags"][0] == "run_missing"
    untested = ("p_value", "conclusion", "mean", "difference")
    assert [by_value["second"][name] for name in untested] == [None] * 4
    assert (by_value["second"]["queries"], by_value["second"]["unpaired_queries"]) == (0, 10)
    assert by_value["first"]["p_value"] is not None
    assert by_value[None]["conclusion"] == "worse"


def test_tables_of_others_may_have_a_status_of_their_own():
    table = scores({"old": OLD, "new": OLD}).append_column("status", pa.array([200] * 40))
    assert compared(table, None, "old").rows[0]["flags"] == ["unchanged"]


def test_scores_of_several_nights_or_without_a_dataset_of_the_other_night_are_refused():
    one, two = (scores({"old": [0.5], "new": [0.6]}, evaluated_on=date) for date in (BEFORE, NIGHT))
    with pytest.raises(
        InputError,
        match=r"^query_scores: the scores come from 2 nights, e\.g\. 2026-11-19 and 2026-11-20",
    ):
        compare_rows(pa.concat_tables([one, two]), "old")
    with pytest.raises(
        ConfigurationError, match=r"^baseline: it has no scores for the dataset default"
    ):
        compare_rows(two, scores({"old": [0.5]}, dataset="web"))


def rejudged(hashes, **more):
    """The scores of one run of queries q0, q1, ... with these hashes of their judgments."""
    table = scores({"a": [0.5 + 0.1 * at for at in range(len(hashes))]}, **more)
    return table.append_column("judgments_hash", pa.array(hashes, pa.int64()))


def test_queries_with_other_judgments_are_left_out_and_counted():
    tonight = rejudged([1, 2, 3, 4], evaluated_on=NIGHT)
    before = rejudged([1, 2, 3, 5], evaluated_on=BEFORE).set_column(3, "ndcg", pa.array([0.1] * 4))
    comparison = compared(tonight, before)
    (row,) = comparison.rows
    assert (row["queries"], row["unpaired_queries"], row["side"]) == (3, 0, None)
    assert row["difference"] == pytest.approx(np.mean([0.5, 0.6, 0.7]) - 0.1)
    assert comparison.warnings == comparison.left_out
    (warning,) = comparison.warnings
    assert "1 of 4 queries" in warning.sentence


@pytest.mark.parametrize("theirs", [[1, 2], [1, 2, 0], [0, 0, 0]])
def test_queries_that_one_night_does_not_judge_or_say_nothing_of_are_not_judged_otherwise(theirs):
    comparison = compared(rejudged([1, 2, 3]), rejudged(theirs))
    assert (comparison.warnings, comparison.rows[0]["queries"]) == ([], len(theirs))
    assert comparison.rows[0]["unpaired_queries"] == 3 - len(theirs)


def sides_of(old, new, value=None, **options):
    """By run and side, the rows of a slice of a change of judgments: what each run scores more than a baseline."""
    both = []
    for side, apart in (("old", old), ("new", new)):
        own = {run: 0.5 + np.asarray(values) for run, values in apart.items()}
        of_side = matrix({**own, "base": np.full(len(next(iter(own.values()))), 0.5)})
        names = ("dataset", "evaluated_on", "evaluation_id", "baseline_night", "baseline_nights")
        key = {**dict.fromkeys(names), "side": side, "reading": 1}
        both.append(Sides(of_side, of_side, ("ndcg", 10), key, [(run, "base") for run in own]))
    rows = rows_of_sides(both, ComparisonOptions(**options))
    return {(row["run"], row["side"]): row for row in rows if row["value"] == value}


NOISE = np.tile([0.03, -0.03, 0.01, -0.01], 15)


@pytest.mark.parametrize(
    ("old", "new", "conclusion", "is_disagreement"),
    [
        (-0.05, -0.06, "worse", False),
        (0.05, 0.06, "better", False),
        (-0.05, 0.06, "cannot_tell", True),
        (-0.05, 0.003, "cannot_tell", False),
        (0.001, -0.001, "same", False),
    ],
)
def test_of_two_sides_only_what_both_say_is_concluded(old, new, conclusion, is_disagreement):
    rows = sides_of({"r": old + NOISE}, {"r": new + NOISE})
    assert {row["conclusion"] for row in rows.values()} == {conclusion}
    assert {"sides_disagree" in row["flags"] for row in rows.values()} == {is_disagreement}
    assert rows["r", "old"]["difference"] == pytest.approx(old)
    assert rows["r", "new"]["difference"] == pytest.approx(new)


def test_both_sides_are_one_hypothesis_whose_p_is_the_larger():
    old = {"r": -0.006 + NOISE, "s": -0.05 + NOISE}
    new = {"r": -0.05 + NOISE, "s": -0.007 + NOISE}
    rows = sides_of(old, new)
    larger = {run: max(rows[run, side]["p_value"] for side in ("old", "new")) for run in "rs"}
    # Two hypotheses, of which the smaller p is of s.
    expected = {"s": 2 * larger["s"], "r": max(2 * larger["s"], larger["r"])}
    for (run, _), row in rows.items():
        assert row["family_size"] == 2
        assert row["p_adjusted"] == pytest.approx(expected[run])
    assert larger["s"] < larger["r"]


def test_what_is_not_tested_on_one_side_is_tested_on_none():
    kinds = attributes({f"q{at}": {"kind": "x" if at < 12 else "y"} for at in range(60)})
    few = np.where(np.arange(60) < 5, np.nan, -0.05 + NOISE)
    rows = sides_of({"r": -0.05 + NOISE}, {"r": few}, "x", attributes=kinds)
    old, new = rows["r", "old"], rows["r", "new"]
    assert (old["queries"], new["queries"]) == (12, 12 - 5)
    assert (old["p_value"] is None, new["p_value"] is None) == (False, True)
    for row in (old, new):
        assert [row[name] for name in ("p_adjusted", "p_decides", "conclusion")] == [None] * 3


# Slices and weights


@pytest.mark.parametrize(
    ("lost", "won", "shares"),
    [
        (560, 440, {"x": 1.0, "y": 0.0}),
        # A tenth and less of all change is left, though it is no chance, or it may be chance.
        (540, 460, {}),
        (30, 20, {}),
    ],
)
def test_slices_have_no_share_where_gains_and_losses_cancel_or_it_may_be_chance(lost, won, shares):
    apart = np.repeat([-0.1, 0.1, 0.0], [lost, won, lost])
    both = matrix({"new": 0.5 + apart, "old": np.full(len(apart), 0.5)})
    names = (
        "dataset",
        "evaluated_on",
        "evaluation_id",
        "baseline_night",
        "baseline_nights",
        "side",
    )
    key = {**dict.fromkeys(names), "reading": 1}
    sides = Sides(both, both, ("ndcg", 10), key, [("new", "old")])
    kinds = attributes(
        {f"q{at}": {"kind": "x" if change else "y"} for at, change in enumerate(apart)}
    )
    whole, *parts = comparison_rows(sides, ComparisonOptions(attributes=kinds))
    few = {"queries": 1, "of_queries": 1000}
    assert [explains_change({**few, "share": share}) for share in (0.04, 0.06)] == [False, True]
    assert {
        cause["value"]: pytest.approx(cause["share"]) for cause in causes(whole, parts)
    } == shares


@pytest.mark.parametrize("dataset", ["default", "other"])
def test_attributes_of_which_no_query_has_scores_are_told(dataset):
    sliced = {"dataset": [dataset, "other"], "query_id": ["q0", "q1"], "kind": ["a", "a"]}
    comparison = compared(
        scores({"old": [0.5], "new": [0.6]}), None, "old", attributes=pa.table(sliced)
    )
    assert ["none of its queries" in warning.sentence for warning in comparison.warnings] == [
        True
    ] * (dataset == "other")


def test_attributes_of_queries_that_are_all_left_out_are_not_said_to_be_of_none():
    before, now = (scores({"new": [0.5, 0.6]}, judgments_hash=text) for text in "12")
    given = {"attributes": attributes({"q0": {"kind": "x"}}), "weights": weights([1.0])}
    comparison = compared(now, before, **given)
    assert [row["queries"] for row in comparison.rows if row["attribute"] is None] == [0] * 2
    assert len(comparison.warnings) == 1
    # Where there is no other run, nothing is said of them either.
    assert compared(now, None, "new", **given).warnings == []


@pytest.mark.parametrize(("values", "is_compared"), [(50, True), (51, False)])
def test_an_attribute_with_too_many_values_is_left_out(values, is_compared):
    baseline, run = pairs_of("normal", 60, 4)
    kinds = {}
    for at in range(60):
        kinds[f"q{at}"] = {"size": str(at % 2), "traffic": str(at % values)}
    given = scores({"old": baseline, "new": run})
    comparison = compared(given, None, "old", attributes=attributes(kinds))
    assert ("traffic" in {row["attribute"] for row in comparison.rows}) == is_compared
    assert "size" in {row["attribute"] for row in comparison.rows}
    said = [warning.sentence for warning in comparison.warnings]
    assert ["51 values" in one and "a weight?" in one for one in said] == [True] * (not is_compared)


def weights_with(heaviest, n=60):
    """Weights of which the first query has this share, and the others have equal ones."""
    return [heaviest, *[(1 - heaviest) / (n - 1)] * (n - 1)]


@pytest.mark.parametrize(("heaviest", "is_tested"), [(0.86, False), (0.33, False), (0.25, True)])
def test_a_row_with_few_effective_queries_is_not_tested(heaviest, is_tested):
    baseline, run = pairs_of("normal", 60, 4)
    given = scores({"old": baseline, "new": run})
    weight = weights_with(heaviest)
    comparison = compared(given, None, "old", weights=weights(weight))
    plain, weighted = comparison.rows
    assert weighted["weight_effective_n"] == pytest.approx(1 / np.sum(np.square(weight)))
    assert ("few_effective" in weighted["flags"]) == (not is_tested)
    tests = ("p_value", "interval_low", "interval_high", "minimum_detectable", "conclusion")
    assert {weighted[name] is None for name in tests} == {not is_tested}
    assert weighted["difference"] == pytest.approx(np.average(run - baseline, weights=weight))
    assert plain["p_value"] is not None
    said = [warning.sentence for warning in comparison.warnings]
    assert [f"q0 has {round(100 * heaviest)} %" in one for one in said] == [True] * (not is_tested)
    # Rows that were computed for a gate, which states its own number, are as strict.
    of_gate = compared(given, None, "old", weights=weights(weight), min_queries=2).rows
    together = in_one_family(of_gate, ComparisonOptions())
    assert [row["p_value"] is None for row in together] == [False, not is_tested]


def test_equal_weights_leave_all_queries():
    baseline, run = pairs_of("normal", 5, 4)
    given = scores({"old": baseline, "new": run})
    _, weighted = compare_rows(given, "old", weights=weights([2.0] * 5))
    assert weighted["p_value"] is not None


@pytest.mark.parametrize("weight", [1e-100, 1e100])
def test_the_smallest_and_the_largest_weight_change_nothing(weight):
    baseline, run = pairs_of("normal", MANY, 4)
    plain, weighted = compare_rows(
        scores({"old": baseline, "new": run}), "old", weights=weights([weight] * MANY)
    )
    for name in ("difference", "interval_low", "interval_high", "p_value"):
        assert weighted[name] == pytest.approx(plain[name], rel=1e-9)


REFUSED = [
    ({"baseline": "odl"}, ConfigurationError, "no run is called 'odl'"),
    (
        {"measures": "query_id"},
        ConfigurationError,
        "the table has no column of numbers 'query_id'; it has ndcg",
    ),
    ({"correction": "tukey"}, ConfigurationError, "choose holm, bonferroni, bh, none"),
    ({"alpha": 5}, ConfigurationError, "alpha: 5 is not between 0 and 1"),
    (
        {"query_scores": {"old": {"a": 0.1}}},
        InputError,
        "it has old; give the columns run, query_id and a measure",
    ),
    ({"baseline": None}, ConfigurationError, "it is missing"),
    ({"query_scores": {"run": ["old"], "query_id": [1.0], "ndcg": [1.0]}}, InputError, "is double"),
    (
        {"attributes": attributes({"q0": {"a": ["x", "x"]}})},
        InputError,
        "1 row(s) repeat the query_id and attribute",
    ),
    ({"attributes": attributes({"q0": {"a": ""}})}, InputError, "1 row(s) with an empty value"),
    ({"attributes": {"query_id": ["q0"]}}, InputError, "give query_id, attribute and value"),
    (
        {"attributes": {"query_id": [f"q{at}" for at in range(1001)], "v": range(1001)}},
        InputError,
        "1,001 slices",
    ),
    (
        {"weights": weights([1.0, 0.0])},
        InputError,
        "1 weight(s) are not numbers from 1e-100 to 1e+100, e.g. for q",
    ),
    ({"weights": weights([float("nan"), 1e200])}, InputError, "2 weight(s) are not numbers"),
    ({"weights": weights([1.0, None])}, InputError, "1 row(s) with an empty weight"),
    (
        {"weights": {"query_id": ["q0"] * 2, "weight": [1.0] * 2}},
        InputError,
        "1 row(s) repeat the query_id",
    ),
    ({"weights": {"query_id": [None, "q1"], "weight": [1.0, 1.0]}}, InputError, "empty query_id"),
    (
        {"weights": {"user": ["q0"], "revenue": [1.0]}},
        InputError,
        "column(s) missing, weight; it has user, revenue",
    ),
    (
        {"weights": {"q0": 1.0}},
        InputError,
        "'q0' has float, which is not a column; give a table with query_id and weight",
    ),
]


@pytest.mark.parametrize(("options", "error", "words"), REFUSED, ids=str)
def test_what_cannot_be_compared_is_refused(options, error, words):
    given = {
        "query_scores": scores({"old": [0.5, 0.25], "new": [0.6, 0.25]}),
        "baseline": "old",
    } | options
    with pytest.raises(error) as refused:
        compare(**given)
    assert words in str(refused.value)

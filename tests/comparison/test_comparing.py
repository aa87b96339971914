"""Comparisons from tables to rows."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from paired import NIGHT, attributes, compare_rows, compared, pairs_of, scores, weights
from scipy import stats

from ndcg_spark.comparison import statistics
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.schemas import COMPARISONS

BEFORE = datetime.date(2026, 11, 19)
MANY = 400


def of_run(found, run, **more):
    """The one row of a run, on all queries and without weights unless `more` says otherwise."""
    wanted = {"run": run, "attribute": None, "value": None, **more}
    same = [row for row in found if all(row[name] == value for name, value in wanted.items())]
    assert len(same) == 1, found
    return same[0]


def checked_with_scipy(row, run, baseline):
    """That a row is what scipy says of both scores."""
    expected = stats.ttest_rel(run, baseline)
    low, high = expected.confidence_interval(0.95)
    assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-12)
    assert [row["interval_low"], row["interval_high"]] == pytest.approx([low, high], rel=1e-12, abs=1e-14)
    assert row["difference"] == pytest.approx(np.mean(run) - np.mean(baseline), rel=1e-10, abs=1e-15)
    assert [row["mean"], row["baseline_mean"]] == pytest.approx([np.mean(run), np.mean(baseline)], rel=1e-12)
    assert row["relative_difference"] == pytest.approx(np.mean(run) / np.mean(baseline) - 1, rel=1e-9)


def test_a_comparison_is_that_of_scipy_and_counts_wins_and_losses():
    baseline, run = pairs_of("normal", MANY, 0)
    run[:3] = baseline[:3] + np.array([1e-10, 0.0, -0.25])
    rows = compare_rows(scores({"old": baseline, "new": run}, dataset="d", evaluated_on=NIGHT), "old")
    assert [list(row) for row in rows] == [COMPARISONS.names]
    checked_with_scipy(rows[0], run, baseline)
    apart = run - baseline
    assert rows[0] | {"wins": (apart > 1e-9).sum(), "losses": (apart < -1e-9).sum()} == rows[0]
    assert rows[0] | {"ties": 2, "changed_queries": MANY - 2, "large_losses": (apart <= -0.2).sum()} == rows[0]
    assert rows[0]["large_losses"] >= 1
    keys = {"dataset": "d", "evaluated_on": NIGHT, "run": "new", "baseline": "old", "baseline_night": None}
    assert rows[0] | {**keys, "measure": "ndcg", "cutoff": 10, "flags": [], "queries": MANY} == rows[0]


def test_the_example_of_the_guide_is_as_it_is_worked_out_there():
    old = [0.50, 0.40, 0.90, 0.10, 0.60, 0.70, 0.30, 0.80]
    new = [0.65, 0.45, 0.90, 0.30, 0.50, 0.80, 0.35, 0.95]
    named = {name: dict(zip("abcdefgh", values, strict=True)) for name, values in (("old", old), ("new", new))}
    (row,) = compare_rows(scores(named), "old")
    assert (row["wins"], row["ties"], row["losses"], row["flags"]) == (6, 1, 1, ["few_changed"])
    printed = {"difference": 0.0750, "effect_size": 0.7783, "minimum_detectable": 0.1111, "p_value": 0.0636}
    interval = {"interval_low": -0.0056, "interval_high": 0.1556}
    assert {name: round(row[name], 4) for name in printed | interval} == printed | interval
    assert row["p_randomization"] == row["p_decides"] == 24 / 256
    assert (row["family_size"], row["conclusion"]) == (1, "cannot_tell")


def test_many_runs_and_cutoffs_are_adjusted_together():
    chance = np.random.default_rng(1)
    baseline = chance.random(MANY)
    runs = {f"r{at}": baseline + chance.normal(0.01 * at, 0.1, MANY) for at in range(8)}
    tables = [scores({"old": baseline, **runs}, cutoff=cutoff) for cutoff in (5, 10, None)]
    rows = compare_rows(pa.concat_tables(tables), "old")
    assert [(row["run"], row["cutoff"]) for row in rows] == [(run, cutoff) for cutoff in (5, 10, None) for run in runs]
    for row in rows:
        checked_with_scipy(row, runs[row["run"]], baseline)
    # Every cutoff is a family of its own.
    for cutoff in (5, 10, None):
        family = [row for row in rows if row["cutoff"] == cutoff]
        assert {row["family_size"] for row in family} == {8}
        expected = statistics.holm([row["p_value"] for row in family])
        assert [row["p_adjusted"] for row in family] == pytest.approx(list(expected), rel=1e-12)
    only = compare_rows(pa.concat_tables(tables), "old", cutoffs=[None], correction="none")
    assert [(row["cutoff"], row["p_adjusted"] == row["p_value"]) for row in only] == [(None, True)] * 8


def test_any_column_of_numbers_is_a_measure():
    baseline, run = pairs_of("normal", MANY, 2)
    table = scores({"old": baseline, "new": run}).rename_columns({"ndcg": "precision"})
    (row,) = compare_rows(table, "old", measure="precision")
    assert row["measure"] == "precision"
    checked_with_scipy(row, run, baseline)


def test_differences_far_from_zero_keep_their_digits():
    baseline, run = pairs_of("normal", MANY, 3)
    (row,) = compare_rows(scores({"old": baseline, "new": run + 1e5}), "old")
    checked_with_scipy(row, run + 1e5, baseline)


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        ([0.0] * MANY, {"flags": ["unchanged"], "p_value": 1.0, "interval_low": None, "family_size": None}),
        (
            [-0.1] * 60,
            {"flags": ["no_variation"], "p_value": 2.0**-59, "interval_low": None, "conclusion": "worse"},
        ),
        ([0.01] * 200 + [0.5, -0.3] * 10, {"flags": []}),
        ([0.1], {"flags": ["too_few"], "p_value": None, "interval_low": None, "difference": pytest.approx(0.1)}),
        ([0.0], {"flags": ["too_few", "unchanged"], "p_value": 1.0, "interval_low": None}),
        ([0.1, -0.3], {"flags": ["few_changed"], "p_randomization": 1.0, "p_decides": 1.0}),
        ([0.0] * 50 + [0.5, -0.1] * 4, {"flags": ["few_changed"]}),
    ],
    ids=["unchanged", "the same", "skewed", "one", "one unchanged", "two", "few changed"],
)
def test_what_is_unusual_is_a_flag(apart, expected):
    baseline = np.full(len(apart), 0.5)
    (row,) = compare_rows(scores({"old": baseline, "new": baseline + apart}), "old")
    assert row | expected == row


def test_the_larger_p_value_decides_and_where_the_tests_disagree_nothing_is_concluded():
    chance = np.random.default_rng(5)
    both = [pairs_of("zeros", 60, seed) for seed in range(40)]
    runs = {f"r{at}": 0.5 + run - old + chance.normal(0, 0.001, 60) for at, (old, run) in enumerate(both)}
    found = compare_rows(scores({"old": [0.5] * 60, **runs}), "old", correction="none")
    for row in found:
        assert row["p_decides"] == max(row["p_value"], row["p_randomization"])
        assert ("doubt" in row["flags"]) == ((row["p_value"] < 0.05) != (row["p_randomization"] < 0.05))
        assert not ("doubt" in row["flags"] and row["conclusion"] != "cannot_tell")
    assert any("doubt" in row["flags"] for row in found)


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
    one, other = (compare_rows(each, "old", seed=3)[0] for each in (table, turned))
    assert one["p_randomization"] == pytest.approx(other["p_randomization"], rel=1e-9)
    assert one["p_randomization"] == pytest.approx(one["p_value"], abs=0.05)


# Pairing


def test_the_queries_come_in_the_order_of_the_comparisons():
    first = scores({"old": [0.5, 0.1], "new": [0.1, 0.2]})
    whole = first.set_column(first.schema.get_field_index("cutoff"), "cutoff", pa.nulls(4, pa.int32()))
    found = compared(pa.concat_tables([first, whole]), None, "old", queries=1)
    assert [row["cutoff"] for row in found.rows] == [10, None]
    assert [(row["cutoff"], row["query_id"]) for row in found.queries] == [
        (10, "q0"),
        (10, "q1"),
        (None, "q0"),
        (None, "q1"),
    ]


def test_of_queries_that_lost_the_same_but_for_the_order_of_a_sum_the_first_is_named():
    for one, other in ((0.1 + 0.2, 0.3), (0.3, 0.1 + 0.2)):
        table = scores({"old": {"q0": one, "q1": other}, "new": {"q0": 0.0, "q1": 0.0}})
        assert [row["query_id"] for row in compared(table, None, "old", queries=1).queries] == ["q0"]


def test_a_night_is_paired_with_another_by_the_names_of_runs_and_nothing_is_lost():
    tonight = pa.concat_tables(
        [
            scores({"a": {"q1": 0.5, "q2": 0.75}, "b": {"q1": 1.0}}, evaluated_on=NIGHT, status="scored"),
            scores({"a": {"q3": 0.0}}, evaluated_on=NIGHT, status="missing"),
            scores({"a": {"q5": None}}, evaluated_on=NIGHT, status="no_relevant"),
        ]
    )
    before = pa.concat_tables(
        [
            scores({"a": {"q1": 0.25, "q3": 0.5, "q4": 1.0}, "c": {"q1": 0.5}}, evaluated_on=BEFORE, status="scored"),
            scores({"a": {"q5": None}}, evaluated_on=BEFORE, status="no_relevant"),
        ]
    )
    found = compared(tonight, before)
    a, b, c = found.rows
    # q1 and q3 pair; q2 is new, q4 is gone, and q5 is in neither mean.
    assert a | {"run": "a", "queries": 2, "unpaired_queries": 2, "difference": (0.25 - 0.5) / 2} == a
    assert a | {"baseline": "a", "evaluated_on": NIGHT, "baseline_night": BEFORE} == a
    assert b | {"queries": 0, "unpaired_queries": 1, "flags": ["baseline_missing", "too_few"], "mean": None} == b
    assert c | {"queries": 0, "unpaired_queries": 1, "flags": ["run_missing", "too_few"], "p_value": None} == c


def test_every_night_of_a_table_is_compared_with_its_own_baseline():
    one = scores({"old": [0.1, 0.2], "new": [0.2, 0.4]}, evaluated_on=BEFORE)
    two = scores({"old": [0.5, 0.6], "new": [0.5, 0.5]}, evaluated_on=NIGHT)
    rows = compare_rows(pa.concat_tables([one, two]), "old")
    assert [(row["evaluated_on"], row["difference"]) for row in rows] == [
        (BEFORE, pytest.approx(0.15)),
        (NIGHT, pytest.approx(-0.05)),
    ]


def test_every_run_can_be_compared_with_one_run_of_another_night():
    tonight, before = scores({"a": [0.5], "b": [0.75]}), scores({"a": [0.1], "b": [0.25]}, evaluated_on=BEFORE)
    found = compared(tonight, before, "b")
    assert [(row["run"], row["baseline"], row["difference"]) for row in found.rows] == [
        ("a", "b", 0.25),
        ("b", "b", 0.5),
    ]


@pytest.mark.parametrize("column", ["dataset", "cutoff", "status", "evaluated_on", "evaluation_id"])
def test_a_table_may_do_without_columns_that_it_has_no_use_for(column):
    more = {"dataset": "d", "status": "scored", "evaluated_on": NIGHT, "evaluation_id": "e"}
    table = scores({"old": [0.5, 0.25], "new": [0.6, 0.25]}, **more).drop_columns([column])
    (row,) = compare_rows(table, "old")
    assert row[column if column in row else "queries"] == {"dataset": "default", "status": 2}.get(column)
    assert row["queries"] == 2


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"baseline": "odl"}, ConfigurationError, "no run is called 'odl' (did you mean 'old'?); there are new, old"),
        ({"measure": "ndgc"}, ConfigurationError, "no column 'ndgc' in query_scores (did you mean 'ndcg'?)"),
        ({"measure": "query_id"}, ConfigurationError, "query_id is string in query_scores; name one of ndcg"),
        ({"cutoffs": [3, 10]}, ConfigurationError, "no scores at 3; there are scores at 10"),
        ({"cutoffs": 0}, ConfigurationError, "cutoffs: invalid cutoff 0"),
        (
            {"correction": "tukey"},
            ConfigurationError,
            "correction: unknown correction 'tukey'; choose holm, bonferroni, bh, none",
        ),
        ({"alpha": 5}, ConfigurationError, "alpha: 5 is not between 0 and 1"),
        ({"tie": -1.0}, ConfigurationError, "tie: -1.0"),
        ({"baseline": None}, InputError, "NoneType is not a table"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_in_words(options, error, words):
    table = scores({"old": [0.5, 0.25], "new": [0.6, 0.25]})
    with pytest.raises(error) as refused:
        compare_rows(table, **{"baseline": "old", **options})
    assert words in str(refused.value)


def test_scores_that_are_there_twice_are_refused():
    old, new = scores({"old": [0.5, 0.25]}), scores({"new": [0.6, 0.25]})
    twice = pa.concat_tables([new, new])
    # Also a query that the baseline does not have.
    for table in (pa.concat_tables([old, twice]), pa.concat_tables([scores({"old": {"a": 1.0}}), twice])):
        with pytest.raises(InputError, match=r"^query_scores: 2 row\(s\) repeat a query at cutoff 10"):
            compare_rows(table, "old")
    with pytest.raises(InputError, match=r"^query_scores: 1 row\(s\) repeat a query at cutoff 10"):
        compare_rows(pa.concat_tables([old, old.slice(0, 1), new]), "old")


def test_a_baseline_of_several_nights_is_refused():
    nights = [scores({"a": [0.5, 0.25]}, evaluated_on=night) for night in (BEFORE, NIGHT)]
    with pytest.raises(InputError, match=r"^baseline: scores of 2 nights, e\.g\. 2026-11-19 and 2026-11-20"):
        compare_rows(nights[1], pa.concat_tables(nights))


def rejudged(hashes, **more):
    """The scores of one run of queries q0, q1, ... with these hashes of their judgments."""
    table = scores({"a": [0.5 + 0.1 * at for at in range(len(hashes))]}, **more)
    return table.append_column("judgments_hash", pa.array(hashes, pa.int64()))


def test_a_comparison_of_queries_with_other_judgments_says_so_and_concludes_nothing():
    tonight = rejudged([1, 2, 3, 4], evaluated_on=NIGHT)
    before = rejudged([1, 2, 3, 5], evaluated_on=BEFORE).set_column(3, "ndcg", pa.array([0.1] * 4))
    found = compared(tonight, before)
    (row,) = found.rows
    assert ("other_judgments" in row["flags"], row["conclusion"], row["queries"]) == (True, "cannot_tell", 4)
    sentence = "default: 1 of 4 queries have other judgments than on 2026-11-19"
    assert found.warnings == [f"{sentence}, which changes scores, too; unchanged_queries leaves them out"]
    found = compared(tonight, before, unchanged_queries=True)
    (row,) = found.rows
    assert ("other_judgments" in row["flags"], row["queries"], row["unpaired_queries"]) == (False, 3, 0)
    assert row["difference"] == pytest.approx((0.5 + 0.6 + 0.7) / 3 - 0.1)
    assert found.warnings == [f"{sentence}, and were left out"]


def test_the_same_judgments_are_no_reason_for_doubt():
    before = rejudged([1, 2], evaluated_on=BEFORE)
    assert compared(rejudged([1, 2], evaluated_on=NIGHT), before).warnings == []
    # Nor are those of a query that only one night has.
    (row,) = compared(rejudged([1, 2, 3], evaluated_on=NIGHT), before).rows
    assert row["flags"] == ["unchanged"]


# Families


def test_an_adjusted_p_value_does_not_depend_on_what_else_is_looked_at():
    chance = np.random.default_rng(14)
    baseline = chance.random(MANY)
    runs = {f"r{at}": baseline + chance.normal(0.01 * at, 0.1, MANY) for at in range(3)}
    at_10, at_5 = (scores({"old": baseline, **runs}, cutoff=cutoff) for cutoff in (10, 5))
    kinds = attributes({f"q{at}": {"kind": "abcdefgh"[at % 8], "half": "xy"[at % 2]} for at in range(MANY)})
    alone = compare_rows(at_10, "old")
    beside = compare_rows(pa.concat_tables([at_10, at_5]), "old", attributes=kinds, weights=weights([1.0] * MANY))
    # Slices are in the family, weights are not, and each cutoff has its own.
    assert [row for row in beside if row["cutoff"] == 5] != alone
    assert {row["family_size"] for row in beside} == {3 * (1 + 8 + 2)}
    assert compare_rows(pa.concat_tables([at_10, at_5]), "old")[3:] == alone


def test_rows_that_did_not_change_are_in_no_family():
    baseline, run = pairs_of("normal", MANY, 15)
    rows = compare_rows(scores({"old": baseline, "new": run, "same": baseline}), "old")
    assert [(row["run"], row["family_size"]) for row in rows] == [("new", 1), ("same", None)]
    assert rows[1]["p_adjusted"] == 1.0


def test_600_large_losses_are_all_significant():
    chance = np.random.default_rng(16)
    baseline = chance.random(30)
    runs = {f"r{at:03}": np.where(np.arange(30) < 28, baseline * chance.random(30) / 10, baseline) for at in range(600)}
    rows = compare_rows(scores({"old": baseline, **runs}), "old")
    assert {row["family_size"] for row in rows} == {600}
    assert {row["conclusion"] for row in rows} == {"worse"}


# Slices


def test_each_value_of_an_attribute_is_compared_and_so_are_queries_without_any():
    baseline, run = pairs_of("normal", 200, 6)
    languages = {f"q{at}": {"language": ("de", "en")[at % 2]} for at in range(150)}
    both = {"q0": {"language": ["de", "en"]}, "nowhere": {"language": "de"}}
    found = compared(scores({"old": baseline, "new": run}), None, "old", attributes=attributes(languages | both))
    assert [(row["attribute"], row["value"], row["queries"]) for row in found.rows] == [
        (None, None, 200),
        ("language", "de", 75),
        ("language", "en", 76),
        ("language", "(none)", 50),
    ]
    de = np.arange(0, 150, 2)
    checked_with_scipy(found.rows[1], run[de], baseline[de])
    checked_with_scipy(found.rows[3], run[150:], baseline[150:])
    checked_with_scipy(found.rows[0], run, baseline)
    assert found.warnings == ["query_attributes: 1 of its 151 queries have no scores here and were ignored"]


def test_a_wide_table_has_a_slice_for_each_value_of_each_column():
    table = scores({"old": [0.5] * 4, "new": [0.5, 0.6, 0.7, 0.8]})
    wide = pa.table({"query_id": ["q0", "q1", "q2"], "language": ["de", None, "en"], "words": [1, 2, 2]})
    rows = compare_rows(table, "old", attributes=wide)
    assert {(row["attribute"], row["value"]): (row["queries"], row["difference"]) for row in rows} == {
        (None, None): (4, pytest.approx(0.15)),
        ("language", "de"): (1, 0.0),
        ("language", "en"): (1, pytest.approx(0.2)),
        ("language", "(none)"): (2, pytest.approx(0.2)),
        ("words", "1"): (1, 0.0),
        ("words", "2"): (2, pytest.approx(0.15)),
        ("words", "(none)"): (1, pytest.approx(0.3)),
    }


def test_a_slice_of_few_queries_is_shown_and_not_tested():
    baseline, run = pairs_of("normal", MANY, 7)
    table, sizes = scores({"old": baseline, "new": run}), {f"q{at}": {"size": "small"} for at in range(9)}
    rows = compare_rows(table, "old", attributes=attributes(sizes))
    small = of_run(rows, "new", attribute="size", value="small")
    assert small["difference"] == pytest.approx((run - baseline)[:9].mean())
    assert small["flags"][:2] == ["below_min_queries", "few_changed"]
    assert [small[name] for name in ("p_value", "p_adjusted", "interval_low", "p_decides")] == [None] * 4
    # Two comparisons are tested: all queries, and those without a size.
    tested = [row for row in rows if row["p_value"] is not None]
    assert [row["family_size"] for row in tested] == [2, 2]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (attributes({"q0": {"a": ["x", "x"]}}), "1 row(s) are repeated, e.g. of query_id=q0"),
        (attributes({"q0": {"a": ""}}), "1 row(s) with an empty value"),
        (pa.table({"query_id": ["q0"], "value": ["x"]}), "only one of the columns attribute and value"),
        (pa.table({"query_id": ["q0"]}), "no query_id, or no other column"),
        (pa.table({"query_id": [f"q{at}" for at in range(1001)], "v": range(1001)}), "1,001 slices, e.g. v=0"),
    ],
    ids=["twice", "empty", "half", "nothing", "many"],
)
def test_attributes_that_break_their_contract_are_refused(table, words):
    with pytest.raises(InputError, match=r"^query_attributes: ") as refused:
        compare_rows(scores({"old": [0.5], "new": [0.6]}), "old", attributes=table)
    assert words in str(refused.value)


# Weights


def test_weights_give_a_second_row_with_the_error_of_weighted_least_squares():
    api = pytest.importorskip("statsmodels.api", reason="needs statsmodels: pip install --group parity")
    baseline, run = pairs_of("normal", 200, 8)
    weight = np.random.default_rng(9).uniform(0.5, 2.0, 200)
    plain, weighted = compare_rows(scores({"old": baseline, "new": run}), "old", weights=weights(weight))
    checked_with_scipy(plain, run, baseline)
    assert (plain["weight_effective_n"], weighted["p_randomization"]) == (None, None)
    fitted = api.WLS(run - baseline, np.ones(200), weights=weight).fit(cov_type="HC1", use_t=True)
    # statsmodels has n - 1 degrees of freedom; the weights leave fewer.
    freedom = weight.sum() ** 2 / (weight**2).sum() - 1
    low, high = fitted.params[0] + fitted.bse[0] * stats.t.ppf([0.025, 0.975], freedom)
    assert weighted["difference"] == pytest.approx(fitted.params[0], rel=1e-12)
    assert weighted["p_value"] == pytest.approx(2 * stats.t.sf(abs(fitted.tvalues[0]), freedom), rel=1e-10)
    assert [weighted["interval_low"], weighted["interval_high"]] == pytest.approx([low, high], rel=1e-10)
    assert weighted["mean"] == pytest.approx(np.average(run, weights=weight))
    assert weighted["weight_effective_n"] == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert (weighted["flags"], weighted["queries"], weighted["wins"]) == ([], 200, plain["wins"])


def test_weights_that_hang_on_few_queries_and_queries_without_any_are_told():
    baseline, run = pairs_of("normal", MANY, 10)
    table = scores({"old": baseline, "new": run})
    found = compared(table, None, "old", weights=weights([100.0, *[1.0] * 39]))
    assert found.rows[1]["flags"] == ["without_weight", "few_effective", "one_weighs_much"]
    # Counts and flags are those of the queries with a weight.
    counts = [found.rows[1][name] for name in ("queries", "changed_queries", "unpaired_queries")]
    assert counts == [40, 40, 0]
    apart = (run - baseline)[:40]
    assert (found.rows[1]["wins"], found.rows[1]["losses"]) == ((apart > 1e-9).sum(), (apart < -1e-9).sum())
    assert found.warnings == []
    found = compared(table, None, "old", weights=weights([1.0] * (MANY + 3)))
    assert found.warnings == ["query_weights: 3 of its 403 queries have no scores here and were ignored"]


def test_a_weighted_row_of_which_no_query_with_a_weight_changed_says_so():
    apart = np.concatenate([np.zeros(30), np.full(30, -0.2)])
    rows = compare_rows(scores({"old": [0.5] * 60, "new": 0.5 + apart}), "old", weights=weights([1.0] * 30))
    assert [row["changed_queries"] for row in rows] == [30, 0]
    assert rows[1]["flags"] == ["without_weight", "unchanged"]


@pytest.mark.parametrize("weight", [1e-100, 1e100])
def test_the_smallest_and_the_largest_weight_change_nothing(weight):
    baseline, run = pairs_of("normal", MANY, 4)
    given = scores({"old": baseline, "new": run})
    plain, weighted = compare_rows(given, "old", weights=weights([weight] * MANY))
    for name in ("difference", "interval_low", "interval_high", "p_value"):
        assert weighted[name] == pytest.approx(plain[name], rel=1e-9)


def test_means_that_leave_the_range_of_a_double_are_null_and_not_0():
    (row,) = compare_rows(scores({"old": [1e308] * MANY, "new": [-1e308] * MANY}), "old")
    assert (row["queries"], row["mean"], row["baseline_mean"], row["difference"]) == (MANY, None, None, None)
    assert (row["p_value"], row["interval_low"]) == (None, None)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (weights([1.0, 0.0]), "1 weight(s) are not numbers from 1e-100 to 1e+100, e.g. of query_id=q1"),
        (weights([float("nan"), 1.0]), "1 weight(s) are not numbers from 1e-100 to 1e+100, e.g. of query_id=q0"),
        (weights([1.0, 1e200, 1e308]), "2 weight(s) are not numbers from 1e-100 to 1e+100, e.g. of query_id=q1"),
        (weights([5e-324]), "1 weight(s) are not numbers from 1e-100 to 1e+100, e.g. of query_id=q0"),
        (weights([None]), "1 weight(s) are not numbers from 1e-100 to 1e+100"),
        (pa.concat_tables([weights([1.0])] * 2), "1 queries have more than one weight, e.g. query_id=q0"),
        (pa.table({"query_id": [None], "weight": [1.0]}), "1 row(s) with an empty query_id"),
        (pa.table({"query_id": ["q0"]}), "1 column(s) missing, weight"),
    ],
    ids=["zero", "nan", "large", "small", "null", "twice", "empty", "none"],
)
def test_weights_that_break_their_contract_are_refused(table, words):
    with pytest.raises(InputError, match=r"^query_weights: ") as refused:
        compare_rows(scores({"old": [0.5], "new": [0.6]}), "old", weights=table)
    assert words in str(refused.value)


# Other tools


@pytest.mark.slow
def test_wins_ties_and_losses_are_those_of_ranx():
    ranx = pytest.importorskip("ranx", reason="needs ranx: pip install --group parity")
    chance = np.random.default_rng(12)
    grades = {f"q{q}": {f"d{d}": int(chance.integers(0, 3)) for d in range(10)} for q in range(40)}
    lists = {
        run: {query: {doc: float(chance.integers(0, 5)) for doc in of_query} for query, of_query in grades.items()}
        for run in ("old", "new", "other")
    }
    judged = {
        query: {doc: grade for doc, grade in of_query.items() if grade} or {"d0": 1}
        for query, of_query in grades.items()
    }
    runs = [ranx.Run(lists[name], name=name) for name in lists]
    report = ranx.compare(ranx.Qrels(judged), runs, metrics=["precision@5"], make_comparable=True)
    per_query = {run.name: {query: float(value) for query, value in run.scores["precision@5"].items()} for run in runs}
    rows = compare_rows(scores(per_query), "old")
    for row in rows:
        theirs = report.win_tie_loss[row["run"], "old"]["precision@5"]
        assert (row["wins"], row["ties"], row["losses"]) == (theirs["W"], theirs["T"], theirs["L"])
        if row["interval_low"] is not None:
            values = [[per_query[name][query] for query in per_query["old"]] for name in (row["run"], "old")]
            checked_with_scipy(row, *values)
    assert len(rows) == 2


@pytest.mark.parametrize("kind", ["normal", "skewed", "discrete", "zeros"])
def test_random_pairs_are_those_of_scipy_however_few_or_many(kind):
    pairs = {n: pairs_of(kind, n, 13) for n in (1, 2, 3, 5, 10, 30, 100, 500)}
    tables = [scores({"old": old, "new": new}, dataset=f"{n:03}") for n, (old, new) in pairs.items()]
    rows = compare_rows(pa.concat_tables(tables), "old")
    for (old, new), row in zip(pairs.values(), rows, strict=True):
        apart = new - old
        assert row["difference"] == pytest.approx(apart.mean(), rel=1e-10, abs=1e-15)
        assert row["wins"] - row["losses"] == (apart > 1e-9).sum() - (apart < -1e-9).sum()
        if len(old) > 1 and np.ptp(apart) > 0:
            checked_with_scipy(row, new, old)

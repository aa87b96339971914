"""Runs compared over datasets: by the numbers of scipy, in Python and from nights; and what has no such comparison."""

import csv
import io
import json

import folds
import numpy as np
import pandas as pd
import pytest
import scipy
from commands import command_line
from scipy import stats

from ndcg_spark import compare
from ndcg_spark.comparison.over_datasets import compare_over_datasets, fewest_datasets
from ndcg_spark.comparison.statistics import signed_ranks
from ndcg_spark.errors import ConfigurationError

exact_scipy = pytest.mark.skipif(
    tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 15),
    reason="before 1.15 scipy approximates where sizes tie",
)
#: By dataset, the differences of two queries; no mean difference has the size of another.
APART = {f"fold{n}": (0.01 * n, 0.02 * n + 0.03) for n in range(7)} | {"fold7": (-0.05, 0.01)}


def scores(apart=APART, runs=("old", "new")):
    """Scores of two queries per dataset; each run is better than the one before it by the differences."""
    rows = []
    for dataset, differences in apart.items():
        for number, difference in enumerate(differences):
            for step, run in enumerate(runs):
                value = 0.3 + 0.1 * number + step * difference
                rows.append((dataset, run, f"q{number}", 10, value))
    return pd.DataFrame(rows, columns=["dataset", "run", "query_id", "cutoff", "ndcg"])


def means(apart):
    return np.array([np.mean(differences) for differences in apart.values()])


def test_each_dataset_is_one_observation_of_the_signed_rank_test():
    table = compare(scores(), "old", over_datasets=True)
    (row,) = table.to_dict("records")
    apart = means(APART)
    assert row["p_value"] == pytest.approx(stats.wilcoxon(apart.round(12)).pvalue, abs=1e-12)
    assert row["difference"] == pytest.approx(apart.mean())
    assert (row["wins"], row["ties"], row["losses"]) == (7, 0, 1)
    assert [*row["differences"].values()] == pytest.approx([*apart])
    assert (row["datasets"], row["family_size"], row["conclusion"]) == (8, 1, "better")
    assert row["mean"] - row["baseline_mean"] == pytest.approx(row["difference"])


def test_p_is_adjusted_for_the_runs():
    table = compare(scores(runs=("old", "new", "newer")), "old", over_datasets=True)
    p = stats.wilcoxon(means(APART).round(12)).pvalue
    assert table["p_adjusted"].tolist() == pytest.approx([2 * p] * 2)
    assert table["run"].tolist() == ["newer", "new"]


def test_two_nights_are_compared_run_by_run():
    before, after = scores(runs=("r",)), scores(runs=("x", "r"))
    after = after[after["run"] == "r"]
    (row,) = compare(after, before, over_datasets=True).to_dict("records")
    assert (row["run"], row["baseline"]) == ("r", "r")
    assert row["difference"] == pytest.approx(means(APART).mean())


@exact_scipy
@pytest.mark.parametrize("many", [2, 3, 5, 6, 9, 13, 50, 51, 90])
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_signed_ranks_are_those_of_scipy(many):
    chance = np.random.default_rng(many)
    for shift in (0.0, 0.3, 1.5):
        apart = chance.normal(shift, 1, many)
        assert signed_ranks(apart) == pytest.approx(stats.wilcoxon(apart).pvalue, abs=1e-12)
        # With zeros and equal sizes scipy is exact up to 13.
        tied = apart.round(0 if many > 50 else 1)
        if np.count_nonzero(tied) > 1 and not 13 < many <= 50:
            assert signed_ranks(tied) == pytest.approx(stats.wilcoxon(tied).pvalue, abs=1e-12)


@exact_scipy
def test_equal_sizes_are_exact_also_where_scipy_approximates():
    apart = np.array([0.1] * 7 + [0.2] * 5 + [-0.1] * 2)
    every = stats.PermutationMethod(n_resamples=2 ** len(apart))
    exact = stats.wilcoxon(apart, method=every).pvalue
    assert signed_ranks(apart) == pytest.approx(exact, rel=1e-12)
    assert stats.wilcoxon(apart).pvalue != pytest.approx(exact, rel=1e-3)


def test_without_a_difference_p_is_1():
    assert signed_ranks(np.zeros(4)) == 1.0
    assert signed_ranks(np.array([0.0, 0.2])) == 1.0


@pytest.mark.parametrize(("alpha", "fewest"), [(0.5, 3), (0.05, 6), (0.01, 8)])
def test_so_many_datasets_are_needed(alpha, fewest):
    assert fewest_datasets(alpha) == fewest
    assert stats.wilcoxon(np.arange(1.0, fewest + 1)).pvalue < alpha
    assert stats.wilcoxon(np.arange(1.0, fewest)).pvalue >= alpha


def compared(dataset, difference, side=None, **more):
    """A row of COMPARISONS."""
    row = {"dataset": dataset, "run": "r", "baseline": "b", "measure": "ndcg", "cutoff": 10}
    row |= {"attribute": None, "weight_effective_n": None, "baseline_night": None, "side": side}
    return {**row, "mean": 0.5, "baseline_mean": 0.4, "difference": difference, **more}


def test_both_sides_of_new_judgments_are_one_comparison():
    rows = [compared(f"d{n}", 0.01 * n, side) for n in range(1, 7) for side in ("old", "new")]
    rows[-1]["difference"] = -0.2
    # The judgments of one dataset have not changed.
    rows.append(compared("d7", 0.07))
    datasets = [f"d{n}" for n in range(1, 8)]
    old, new = compare_over_datasets(rows, datasets, "holm", 0.05).rows
    assert [row["side"] for row in (old, new)] == ["old", "new"]
    assert (old["datasets"], new["datasets"]) == (7, 7)
    assert old["p_value"] < 0.05 < new["p_value"]
    assert old["p_adjusted"] == new["p_adjusted"] == new["p_value"]
    assert {old["conclusion"], new["conclusion"]} == {"cannot_tell"}


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (scores({"fold1": (0.1, 0.2)}), "over_datasets: the scores cover only one dataset"),
        (
            scores().query("run == 'old' or dataset != 'fold3'"),
            "new could not be compared in 1 of 8 datasets, e.g. fold3; choose different runs",
        ),
        (
            scores().assign(ndcg=lambda rows: rows["ndcg"].where(rows["dataset"] != "fold5")),
            "new could not be compared in 1 of 8 datasets, e.g. fold5",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:fold3:UserWarning")
def test_what_cannot_be_compared_over_datasets_is_refused_with_the_reason(table, reason):
    with pytest.raises(ConfigurationError, match=reason):
        compare(table, "old", over_datasets=True)


def test_a_run_that_a_dataset_lacks_has_no_row_and_a_warning():
    table = scores(runs=("old", "new", "half")).query("run != 'half' or dataset != 'fold3'")
    with pytest.warns(UserWarning, match="half") as told:
        over = compare(table, "old", over_datasets=True)
    assert over["run"].tolist() == ["new"]
    assert any("in 1 of 8 datasets, e.g. fold3" in str(one.message) for one in told)


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    judgments, results = folds.tables()
    judgments.to_csv(folder / "judgments.csv", index=False)
    results.to_csv(folder / "results.csv", index=False)
    tables = ("judgments.csv", "results.csv", "--cutoffs", "10", "--output", "out")
    done = command_line("evaluate", *tables, "--date", "2026-11-20", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "out"


def said(output, *arguments):
    return command_line("compare", output, "--baseline", "bm25", *arguments, cwd=output)


def test_the_command_compares_over_the_datasets_of_a_night(output):
    value = json.loads(said(output, "--format", "json").stdout)
    rows = [row for row in value["comparisons"] if row["run"] == "dense"]
    (over,) = value["over_datasets"]
    apart = [row["difference"] for row in rows]
    assert over["difference"] == pytest.approx(np.mean(apart))
    assert over["p_value"] == pytest.approx(stats.wilcoxon(apart).pvalue)
    alone = json.loads(said(output, "--over-datasets", "--format", "json").stdout)
    assert alone["over_datasets"] == [over]
    (row,) = csv.DictReader(io.StringIO(said(output, "--over-datasets", "--format", "csv").stdout))
    assert (row["run"], float(row["p_value"])) == ("dense", over["p_value"])
    assert json.loads(row["differences"]) == over["differences"]
    shown = said(output).stdout
    assert (
        "3 datasets that differ cannot give a p value below 0.2500; at least 6 are needed" in shown
    )
    assert "half could not be compared in 1 of 3 datasets, e.g. fiqa" in shown


def test_the_command_refuses_one_dataset(output):
    done = said(output, "--over-datasets", "--dataset", "fiqa")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the scores cover only one dataset" in done.stderr

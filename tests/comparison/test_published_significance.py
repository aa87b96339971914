"""Significance that others published for real scores, and a whole TREC task beside scipy."""

import csv

import numpy as np
import pytest
from commands import command_line
from paired import compare_rows, scores
from scipy import stats

from ndcg_spark import read_scores

pytestmark = pytest.mark.embedded

#: Of the rows 2 to 4 of the matrix of PermTest against row 1: difference, t, p, interval, wins, ties and losses, and
#: the p value of every sign counted out. The upper end of row 4 is scipy's own (0.0476...); the README of the data has
#: 0.0475622790 there, which is not as far from the difference as the lower end is.
PERMTEST = {
    "2": (
        0.00117549,
        1.8535340832839975,
        0.0647175091269526,
        -7.217185e-05,
        0.0024231595,
        33,
        267,
        24,
        0.060973,
    ),
    "3": (
        0.00310673,
        0.9771648337085989,
        0.3292188362245391,
        -0.0031480786,
        0.0093615353,
        86,
        143,
        95,
        0.332143,
    ),
    "4": (
        0.03525858,
        5.61041332225996,
        4.34324854325424e-08,
        0.0228948815,
        0.0476222790,
        152,
        113,
        59,
        2.563e-09,
    ),
}


def test_two_systems_of_trec_8_have_the_significance_that_was_published(shared_data):
    with (shared_data / "significance" / "adhoc8_ap_125_126.csv").open(encoding="utf-8") as file:
        topics = list(csv.DictReader(file))
    both = {
        name: {topic["query_id"]: float(topic[name]) for topic in topics}
        for name in ("baseline", "experimental")
    }
    (row,) = compare_rows(scores(both), "baseline", correction="none")
    assert row["queries"] == 50
    # Urbano, Lima and Hanjalic (2019): t test 0.0013193972, permutation test 0.001188.
    assert row["effect_size"] * 50**0.5 == pytest.approx(3.4072971704672885, rel=1e-10)
    assert row["p_value"] == pytest.approx(0.0013193972019333376, rel=1e-12)
    assert row["p_randomization"] == pytest.approx(0.001188, rel=0.15)


def test_four_systems_on_324_queries_have_the_significance_that_was_published(shared_data):
    matrix = np.loadtxt(shared_data / "significance" / "permtest_ndcg.tsv")
    table = scores({str(at): values for at, values in enumerate(matrix, 1)})
    rows = {row["run"]: row for row in compare_rows(table, "1", correction="none")}
    assert rows.keys() == PERMTEST.keys()
    for run, (difference, t, p_value, low, high, wins, ties, losses, exact) in PERMTEST.items():
        row = rows[run]
        assert row["difference"] == pytest.approx(difference, abs=5e-9)
        assert row["effect_size"] * 324**0.5 == pytest.approx(t)
        assert row["interval_low"] == pytest.approx(low, abs=5e-11 + abs(low) * 1e-6)
        assert row["interval_high"] == pytest.approx(high, abs=5e-11 + high * 1e-6)
        assert (row["wins"], row["ties"], row["losses"]) == (wins, ties, losses)
        assert row["p_value"] == pytest.approx(p_value, rel=1e-10)
        assert row["p_randomization"] == pytest.approx(exact, rel=0.15)


@pytest.mark.slow
# Some runs returned hardly any judged document, and a warning says so.
@pytest.mark.filterwarnings("ignore:down to rank 10, the share of judged documents")
def test_142_runs_of_trec_covid_against_one_are_those_of_scipy(shared_data, tmp_path):
    folder = shared_data / "trec-covid-round1"
    done = command_line(
        *(
            "evaluate",
            folder / "qrels.txt",
            folder / "runs",
            "--convention",
            "trec_eval_9",
            "--set",
            "order=score",
        ),
        *("--cutoffs", "10", "--engine", "embedded", "--output", tmp_path, "--date", "2020-05-01"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    scores_of = read_scores(tmp_path, "query_scores")
    topics = scores_of.pivot_table("ndcg", "query_id", "run", dropna=False)
    baseline = topics.pop("sab20.1.meta.docs")
    rows = compare_rows(scores_of, "sab20.1.meta.docs")
    assert [row["run"] for row in rows] == sorted(topics)
    assert len(rows) == 142
    for row in rows:
        expected = stats.ttest_rel(topics[row["run"]], baseline)
        interval = expected.confidence_interval(0.95)
        assert row["queries"] == 30
        assert [row["interval_low"], row["interval_high"]] == pytest.approx(
            list(interval), rel=1e-12, abs=1e-14
        )
        assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-12)
        # The two tests of the same differences are never far apart.
        assert row["p_randomization"] == pytest.approx(expected.pvalue, abs=0.05)
    assert min(row["p_adjusted"] for row in rows) == pytest.approx(
        142 * min(row["p_value"] for row in rows)
    )

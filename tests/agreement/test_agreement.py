"""Two sets of judgments: coefficients beside other implementations, runs ranked under both, and the command."""

import csv
import itertools
import json
import math
import random

import numpy as np
import pandas as pd
import pytest
from commands import command_line

from ndcg_spark import Convention, compare_judgments, evaluate
from ndcg_spark.comparison.agreement import kappa, krippendorff_alpha, tau_ap, tau_b
from ndcg_spark.errors import InputError
from ndcg_spark.schemas import AGREEMENTS

#: The coincidences of Krippendorff's example of four observers and twelve units (2011, section C), whose ordinal alpha
#: he publishes as 0.815; and of his two observers of ten units with the grades 0 and 1 (section A), 0.095.
FOUR_OBSERVERS = [
    [7, 4 / 3, 1 / 3, 1 / 3, 0],
    [4 / 3, 10, 4 / 3, 1 / 3, 0],
    [1 / 3, 4 / 3, 8, 1 / 3, 0],
    [1 / 3, 1 / 3, 1 / 3, 4, 0],
    [0, 0, 0, 0, 3],
]
MEG, OWEN = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]


def matrix(a, b, grades):
    counts = np.zeros((grades, grades))
    np.add.at(counts, (a, b), 1)
    return counts


def test_published_alphas():
    assert krippendorff_alpha(FOUR_OBSERVERS) == pytest.approx(0.815, abs=5e-4)
    counts = matrix(MEG, OWEN, 2)
    assert krippendorff_alpha(counts + counts.T) == pytest.approx(0.095, abs=5e-4)


@pytest.mark.slow
def test_kappa_is_that_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    for seed, weights in itertools.product(range(5), (None, "quadratic")):
        a, b = np.random.default_rng(seed).integers(0, 4, (2, 50))
        expected = metrics.cohen_kappa_score(a, b, labels=range(4), weights=weights)
        assert kappa(matrix(a, b, 4), weights == "quadratic") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("counts", [[[5, 0], [0, 0]], [[0, 0], [0, 0]]])
def test_one_grade_has_no_agreement_beyond_chance(counts):
    assert np.isnan(
        [kappa(counts), kappa(counts, is_quadratic=True), krippendorff_alpha(counts)]
    ).all()


@pytest.mark.parametrize("levels", [3, 1000])
def test_tau_b_is_that_of_scipy(levels):
    from scipy import stats

    a, b = np.random.default_rng(levels).integers(0, levels, (2, 40)) / levels
    assert tau_b(a, b) == pytest.approx(stats.kendalltau(a, b).statistic, abs=1e-12)
    # A rounding error is no difference.
    assert np.isnan(tau_b([0.1 + 0.2, 0.3], [0.5, 0.6]))


def test_tau_ap_by_its_definition_and_with_ties_the_mean_of_all_orders():
    reference = [4, 3, 2, 1]
    assert [tau_ap(reference, reference), tau_ap(reference, [1, 2, 3, 4])] == pytest.approx([1, -1])
    # 2 / 3 * (C(2) / 1 + C(3) / 2 + C(4) / 3) - 1
    assert tau_ap(reference, [3, 4, 2, 1]) == pytest.approx(2 / 3 * (0 / 1 + 2 / 2 + 3 / 3) - 1)
    assert tau_ap(reference, [4, 3, 1, 2]) == pytest.approx(2 / 3 * (1 / 1 + 2 / 2 + 2 / 3) - 1)
    a, b = [5, 4, 4, 2, 1, 3], [0.3, 0.7, 0.3, 0.7, 0.3, 0.1]
    every = []
    for order in itertools.permutations(range(6)):
        if all(b[one] >= b[other] for one, other in itertools.pairwise(order)):
            right = [
                sum((np.sign(a[j] - a[order[rank]]) + 1) / 2 for j in order[:rank]) / rank
                for rank in range(1, 6)
            ]
            every.append(2 / 5 * sum(right) - 1)
    assert tau_ap(a, b) == pytest.approx(np.mean(every), abs=1e-12)


def compared(a, b, *more, **options):
    """The rows by dataset, nan for what is not defined."""
    agreements = compare_judgments(a, b, *more, **options)
    assert list(agreements.columns) == AGREEMENTS.names
    return {row["dataset"]: row for row in agreements.to_dict("records")}


def table_of(rows):
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])


def random_judgments(seed, queries=6):
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    documents = [(f"q{query}", f"d{doc}") for query in range(queries) for doc in range(12)]
    return [
        (*key, float(chance.choice([-1, 0, 0, 1, 2, 4])))
        for key in documents
        if chance.random() < 0.8
    ]


def test_random_judgments_are_compared_as_in_plain_python():
    rows = [random_judgments(seed) for seed in (1, 2)]
    row = compared(*map(table_of, rows))["default"]
    a, b = ({(query, doc): grade for query, doc, grade in side if grade >= 0} for side in rows)
    both = [(a[key], b[key]) for key in {*a} & {*b}]
    counts = np.array(
        [[both.count((one, other)) for other in (0, 1, 2, 4)] for one in (0, 1, 2, 4)]
    )
    expected = {
        "pairs": len(both),
        "only_a": len({*a} - {*b}),
        "only_b": len({*b} - {*a}),
        "kappa": kappa(counts),
        "kappa_quadratic": kappa(counts, is_quadratic=True),
        "alpha": krippendorff_alpha(counts + counts.T),
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert math.isnan(row["tau_b"])


@pytest.mark.parametrize(
    ("options", "pairs", "only_a", "kappa"),
    [
        ({}, 2, 2, 0),
        ({"negative": "keep"}, 4, 1, 1 - 2 / (4 - 3 / 4)),
        ({"min_relevance": 1}, 2, 2, math.nan),
    ],
)
def test_grades_count_as_the_convention_says(options, pairs, only_a, kappa):
    a, b = (
        {"q": {"a": 1, "b": 2, "c": -2, "d": 0, "e": 3}},
        {"q": {"a": 1, "b": 1, "c": -2, "d": -1}},
    )
    row = compared(a, b, convention=Convention(**options))["default"]
    assert (row["pairs"], row["only_a"], row["kappa"]) == (
        pairs,
        only_a,
        pytest.approx(kappa, nan_ok=True),
    )


def test_refusals():
    twice, once = (
        table_of([("q", "d", 1.0), ("q", "d", 2.0), ("q", "e", 0)]),
        table_of([("q", "d", 2.0), ("q", "e", 0)]),
    )
    many, other = {"q": {f"d{n}": n / 100 for n in range(101)}}, table_of([("r", "d", 1.0)])
    runs = {"q": {"d": 0.5}}
    for refused in (
        (twice, once),
        (many, many),
        (once, once.assign(dataset="web")),
        (once, other, runs),
    ):
        with pytest.raises(InputError):
            compared(*refused)
    assert (
        compared(twice, once, convention=Convention(judgment_duplicates="max"))["default"]["kappa"]
        == 1
    )


def test_datasets_are_compared_each_by_itself():
    grades = {"one": [(1, 1), (0, 1), (1, 0), (0, 0)], "two": [(1, 1), (0, 0)]}
    rows = [
        (f"d{n}", name, *pair) for name, pairs in grades.items() for n, pair in enumerate(pairs)
    ]
    frame = pd.DataFrame(rows, columns=["doc_id", "dataset", "a", "b"]).assign(query_id="q")
    sides = [
        frame.rename(columns={side: "relevance"})[["dataset", *table_of([]).columns]]
        for side in "ab"
    ]
    assert {name: row["kappa"] for name, row in compared(*sides).items()} == {"one": 0, "two": 1}


def test_runs_are_ranked_by_their_means_over_the_queries_that_both_judge():
    a, b = table_of(random_judgments(3, 8)), table_of(random_judgments(14, 7))
    chance = random.Random(7)  # noqa: S311  # it makes test data
    results = {
        run: {f"q{query}": chance.sample([f"d{n}" for n in range(12)], 8) for query in range(8)}
        for run in "wxyz"
    }
    row = compared(a, b, results, 5)["default"]
    scores = [
        evaluate(judgments, results, 5).query_scores for judgments in (a[a["query_id"] != "q7"], b)
    ]
    means = [side.pivot(index="query_id", columns="run", values="ndcg").mean() for side in scores]
    assert (row["runs"], row["queries"]) == (4, 7)
    assert (row["tau_b"], row["tau_ap"]) == pytest.approx(
        (tau_b(*means), tau_ap(*means)), abs=1e-12
    )
    assert row["tau_b"] < 1


def test_the_command(session, tmp_path):
    (tmp_path / "a.qrels").write_text("q1 0 d1 2\nq1 0 d2 1\nq1 0 d3 0\nq2 0 d1 0\nq2 0 d2 2\n")
    (tmp_path / "b.qrels").write_text("q1 0 d1 2\nq1 0 d2 2\nq1 0 d4 1\nq2 0 d1 1\nq2 0 d2 0\n")
    rows = [
        ("q1", "d1", "good"),
        ("q2", "d2", "good"),
        ("q1", "d3", "other"),
        ("q2", "d1", "other"),
    ]
    (tmp_path / "x.run").write_text(
        "".join(f"{query} Q0 {doc} 1 1 {run}\n" for query, doc, run in rows)
    )
    arguments = ["judgments", "a.qrels", "b.qrels", "--results", "x.run", "--format"]
    (row,) = json.loads(command_line(*arguments, "json", cwd=tmp_path).stdout)
    assert (row["runs"], row["queries"], row["tau_b"]) == (2, 2, -1)
    (row,) = csv.DictReader(
        command_line(*arguments[:3], "--format", "csv", cwd=tmp_path).stdout.splitlines()
    )
    assert (row["pairs"], float(row["kappa"]), row["tau_b"]) == (
        "4",
        pytest.approx(1 - 3 / (4 - 6 / 4)),
        "",
    )
    table = command_line(*arguments, "table", "--cutoffs", "3,5", cwd=tmp_path).stdout
    assert table.splitlines()[-1] == "tau: over the runs, ranked by ndcg@5, convention standard"
    (tmp_path / "b.qrels").write_text("1 0 d1 2\n")
    done = command_line(*arguments[:3], "--format", "json", cwd=tmp_path)
    assert '"kappa": null, "kappa_quadratic": null, "alpha": null' in done.stdout
    assert "is judged by both" in done.stderr
    for broken in ("q1 0 d1 2\nq1 0 d2 many\n", "q1 0 d1 2\nq1 0 d1 1\n"):
        (tmp_path / "b.qrels").write_text(broken)
        assert command_line(*arguments[:3], cwd=tmp_path).returncode == 3


@pytest.mark.slow
def test_the_judgments_of_trec_covid_rank_its_runs_as_published(shared_data, tmp_path):
    folder = shared_data / "trec-covid-round1"
    every = (folder / "qrels.txt").read_text(encoding="utf-8").splitlines()
    # What was judged before the runs came in, and what was judged because of them.
    (tmp_path / "early.txt").write_text(
        "\n".join(line for line in every if line.split()[1] == "0.5") + "\n"
    )
    more = [
        "--results",
        str(folder / "runs"),
        "--convention",
        "trec_eval_9",
        "--set",
        "order=score",
    ]
    more += ["--cutoffs", "10", "--format", "json"]
    done = command_line("judgments", "early.txt", str(folder / "qrels.txt"), *more, cwd=tmp_path)
    (row,) = json.loads(done.stdout)
    assert [row[name] for name in ("pairs", "only_a", "only_b", "runs")] == [2627, 0, 6064, 143]
    assert [f"{row[name]:.2f}" for name in ("tau_b", "tau_ap")] == ["0.79", "0.65"]

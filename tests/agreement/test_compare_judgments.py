"""Judgments compared on an engine: beside plain Python, under other conventions, with runs, and as a command."""

import csv
import json
import random
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from embedded import examples_of
from staying import command_line

from ndcg_spark import Convention, compare_judgments, evaluate
from ndcg_spark.agreement import api
from ndcg_spark.agreement.coefficients import coefficients
from ndcg_spark.errors import InputError


def compared(_, a, b, *more, **options):
    return {name: table.to_pylist() for name, table in compare_judgments(a, b, *more, **options).items()}


def table_of(rows):
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])


def of_all(found, measure="agreement"):
    (row,) = [row for row in found["agreements"] if (row["query_id"], row["measure"]) == (None, measure)]
    return row


def random_judgments(seed, queries=6):
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    documents = [(f"q{query}", f"d{doc}") for query in range(queries) for doc in range(12)]
    return [(*key, float(chance.choice([-1, 0, 0, 1, 2, 4]))) for key in documents if chance.random() < 0.8]


def plain(a, b):
    """The coefficients of two sets of judgments without an engine: each grade by its place among all."""
    both = [(one, b[key]) for key, one in a.items() if key in b]
    grades = sorted({grade for pair in both for grade in pair})
    counts = np.zeros((len(grades), len(grades)))
    for one, other in both:
        counts[grades.index(one), grades.index(other)] += 1
    return coefficients(counts)


def test_random_judgments_have_the_agreement_of_plain_python(evaluate_embedded):
    rows = [random_judgments(seed) for seed in (1, 2)]
    found = evaluate_embedded.call(compared, *map(table_of, rows))
    a, b = ({(query, doc): grade for query, doc, grade in side if grade >= 0} for side in rows)
    expected = Counter((key[0], a.get(key), b.get(key)) for key in {*a, *b})
    assert {(row["query_id"], row["grade_a"], row["grade_b"]): row["pairs"] for row in found["grade_pairs"]} == expected
    queries = sorted({query for query, _ in a})
    for measure, value in plain(a, b).items():
        row = of_all(found, measure)
        assert row["value"] == pytest.approx(float(value), abs=1e-12)
        without = [
            float(plain(*({key: grade for key, grade in side.items() if key[0] != query} for side in (a, b)))[measure])
            for query in queries
        ]
        # The standard error of Efron and Stein, times t(0.975) with five degrees of freedom.
        error = np.sqrt(5 / 6 * sum((each - np.mean(without)) ** 2 for each in without))
        assert row["interval_low"] == pytest.approx(float(value) - 2.570581835636314 * error, abs=1e-9)
    assert of_all(found)["pairs"] == len({*a} & {*b})
    assert (of_all(found)["only_a"], of_all(found)["only_b"]) == (len({*a} - {*b}), len({*b} - {*a}))


def test_the_grades_of_a_query_are_on_the_scale_of_all_queries(evaluate_embedded):
    # Between its grades 0 and 2 there is a grade 1 of another query, so they are two steps apart.
    a = {"q": {"a": 0, "b": 2, "c": 2, "d": 0}, "other": {"a": 1}}
    b = {"q": {"a": 0, "b": 2, "c": 0, "d": 0}, "other": {"a": 1}}
    rows = evaluate_embedded.call(compared, a, b)["agreements"]
    (own,) = [row["value"] for row in rows if (row["query_id"], row["measure"]) == ("q", "kappa_quadratic")]
    # Marginals 2, 0, 2 in A and 3, 0, 1 in B.
    assert own == pytest.approx(1 - 4 / ((2 * 1 * 4 + 2 * 3 * 4) / 4))


@pytest.mark.parametrize(
    ("options", "pairs", "only_a", "agreement"),
    [({}, 2, 2, 1 / 2), ({"negative": "keep"}, 4, 1, 2 / 4), ({"min_relevance": 1}, 2, 2, 1.0)],
)
def test_grades_count_as_the_convention_says(evaluate_embedded, options, pairs, only_a, agreement):
    a, b = {"q": {"a": 1, "b": 2, "c": -2, "d": 0, "e": 3}}, {"q": {"a": 1, "b": 1, "c": -2, "d": -1}}
    row = of_all(evaluate_embedded.call(compared, a, b, convention=Convention(**options)))
    assert (row["pairs"], row["only_a"], row["value"]) == (pairs, only_a, agreement)


def test_a_document_judged_twice_is_refused_or_merged(evaluate_embedded):
    a, b = table_of([("q", "d", 1.0), ("q", "d", 2.0)]), table_of([("q", "d", 2.0)])
    with pytest.raises(RuntimeError, match=r"\[judged_twice\] judgments: a document judged twice, e\.g\. query_id=q"):
        evaluate_embedded.call(compared, a, b)
    merged = evaluate_embedded.call(compared, a, b, convention=Convention(judgment_duplicates="max"))
    assert of_all(merged)["value"] == 1


def test_more_grades_than_a_scale_has_are_refused(evaluate_embedded):
    judged = {"q": {f"d{n}": n / 100 for n in range(101)}}
    with pytest.raises(InputError, match=r"judgments: 101 grades, e\.g\. 0\.01, .* at most 100; round them"):
        evaluate_embedded.call(compared, judged, judged)


def test_datasets_are_compared_each_by_itself(evaluate_embedded):
    sides = [
        table_of([("q", "a", 1.0), ("q", "b", 0.0), ("q", "c", 1.0)]).assign(dataset=["one", "one", "two"]),
        table_of([("q", "a", 1.0), ("q", "b", 1.0), ("q", "c", 1.0)]).assign(dataset=["one", "one", "two"]),
    ]
    rows = evaluate_embedded.call(compared, *sides)["agreements"]
    whole = {row["dataset"]: row["value"] for row in rows if (row["query_id"], row["measure"]) == (None, "agreement")}
    assert whole == {"one": 0.5, "two": 1.0}
    with pytest.raises(InputError, match="only one of the two sets has a column dataset"):
        evaluate_embedded.call(compared, sides[0], sides[1].drop(columns="dataset"))


RUNS = ("w", "x", "y", "z")


def lists(seed=7, queries=8):
    """Results of four runs, z a copy of y."""
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    return pd.DataFrame(
        [
            (run, f"q{query}", doc, float(-rank))
            for run in RUNS[:3]
            for query in range(queries)
            for rank, doc in enumerate(chance.sample([f"d{n}" for n in range(12)], 8))
        ],
        columns=["run", "query_id", "doc_id", "score"],
    ).pipe(lambda frame: pd.concat([frame, frame[frame["run"] == "y"].assign(run="z")]))


def with_scores(_, a, b, results):
    sides = [evaluate(each, results, 5).query_scores.toArrow().to_pandas() for each in (a, b)]
    return [side.pivot(index="query_id", columns="run", values="ndcg") for side in sides]


def test_runs_are_ranked_by_their_means_over_the_queries_that_both_judge(evaluate_embedded):
    from scipy import stats

    a, b = table_of(random_judgments(3, 8)), table_of(random_judgments(14, 7))
    found = evaluate_embedded.call(compared, a, b, lists(), 5)
    common = a[a["query_id"] != "q7"]
    scores = evaluate_embedded.call(with_scores, common, b, lists())
    ranked = {row["run"]: row for row in found["ranked_runs"]}
    for side, of_side in zip("ab", scores, strict=True):
        means = of_side.mean()
        assert {run: row[f"ndcg_{side}"] for run, row in ranked.items()} == pytest.approx(means.to_dict(), abs=1e-12)
        better = {run: sum(other > mean + 1e-9 for other in means) for run, mean in means.items()}
        assert {run: row[f"rank_{side}"] - 1 for run, row in ranked.items()} == better
        assert {row[f"queries_{side}"] for row in ranked.values()} == {7}
    means = [side.mean() for side in scores]
    swaps = {
        (r, s) for r in RUNS for s in RUNS if means[0][r] > means[0][s] + 1e-9 and means[1][r] < means[1][s] - 1e-9
    }
    assert swaps
    assert {(row["run"], row["other"]) for row in found["swapped_runs"]} == swaps
    for row in found["swapped_runs"]:
        for side, of_side in zip("ab", scores, strict=True):
            pair = of_side[[row["run"], row["other"]]].dropna()
            expected = stats.ttest_rel(pair[row["run"]], pair[row["other"]])
            assert row[f"p_value_{side}"] == pytest.approx(expected.pvalue, rel=1e-9)
            assert row[f"difference_{side}"] == pytest.approx((pair[row["run"]] - pair[row["other"]]).mean(), abs=1e-12)
    expected = stats.kendalltau(*(side.round(9) for side in means)).statistic
    assert of_all(found, "tau_b")["value"] == pytest.approx(expected, abs=1e-12)


def test_runs_of_judgments_without_a_common_query_are_refused(evaluate_embedded):
    with pytest.raises(InputError, match="no query of default is judged by both sets"):
        evaluate_embedded.call(compared, {"q1": {"a": 1}}, {"q2": {"a": 1}}, {"q1": {"a": 0.5}})


def test_the_examples_of_the_docstrings_run(evaluate_embedded):
    failed, attempted, said = evaluate_embedded.call(examples_of, api.__name__)
    assert (failed, attempted) == (0, 2), said


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.qrels").write_text("q1 0 d1 2\nq1 0 d2 1\nq1 0 d3 0\nq2 0 d1 0\nq2 0 d2 2\n")
    (tmp_path / "b.qrels").write_text("q1 0 d1 2\nq1 0 d2 2\nq1 0 d4 1\nq2 0 d1 1\nq2 0 d2 0\n")
    rows = [("q1", "d1", "good"), ("q2", "d2", "good"), ("q1", "d3", "other"), ("q2", "d1", "other")]
    (tmp_path / "x.run").write_text("".join(f"{query} Q0 {doc} 1 1 {run}\n" for query, doc, run in rows))
    return tmp_path


def test_the_command_prints_tables_json_and_csv(folder):
    arguments = ["judgments", "a.qrels", "b.qrels", "--results", "x.run"]
    printed = command_line(*arguments, cwd=folder)
    assert printed.returncode == 0, printed.stderr
    assert "agreement            4       1       1   0.2500" in printed.stdout
    assert "unjudged    0    1    0           0" in printed.stdout
    assert "pairs of runs that swap: 1" in printed.stdout
    found = json.loads(command_line(*arguments, "--format", "json", cwd=folder).stdout)
    assert set(found) == {"agreements", "grade_pairs", "ranked_runs", "swapped_runs"}
    assert [(row["run"], row["rank_a"], row["rank_b"]) for row in found["ranked_runs"]] == [
        ("good", 1, 2),
        ("other", 2, 1),
    ]
    lines = command_line("judgments", "a.qrels", "b.qrels", "--format", "csv", cwd=folder).stdout.splitlines()
    assert len(list(csv.DictReader(lines))) == 3 * 5


def test_judgments_are_checked_by_the_contract(folder):
    (folder / "b.qrels").write_text("q1 0 d1 2\nq1 0 d2 many\n")
    done = command_line("judgments", "a.qrels", "b.qrels", cwd=folder)
    assert done.returncode == 3
    assert "judgments: 1 relevance value(s)" in done.stderr
    (folder / "b.qrels").write_text("q1 0 d1 2\nq1 0 d1 1\n")
    done = command_line("judgments", "a.qrels", "b.qrels", cwd=folder)
    assert (done.returncode, "a document judged twice" in done.stderr) == (3, True)


def test_classic_spark_finds_the_same(spark, evaluate_embedded):
    sides = table_of(random_judgments(3)), table_of(random_judgments(4))
    expected = evaluate_embedded.call(compared, *sides)
    found = compared(spark, *(spark.createDataFrame(pa.Table.from_pandas(side)) for side in sides))
    assert found["grade_pairs"] == expected["grade_pairs"]
    for table in expected:
        for ours, theirs in zip(found[table], expected[table], strict=True):
            assert ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.slow
def test_the_judgments_of_trec_covid_rank_its_runs_as_published(shared_data, tmp_path):
    from scipy import stats

    folder = shared_data / "trec-covid-round1"
    every = (folder / "qrels.txt").read_text(encoding="utf-8").splitlines()
    # What was judged before the runs came in, and what was judged because of them.
    (tmp_path / "early.txt").write_text("\n".join(line for line in every if line.split()[1] == "0.5") + "\n")
    more = ["--results", str(folder / "runs"), "--convention", "trec_eval_9", "--set", "order=score"]
    more += ["--cutoffs", "10", "--format", "json"]
    done = command_line("judgments", "early.txt", str(folder / "qrels.txt"), *more, cwd=tmp_path)
    found = json.loads(done.stdout)
    with (folder / "leaderboard.csv").open(encoding="utf-8") as file:
        published = {row["run"]: float(row["ndcg@10"]) for row in csv.DictReader(file)}
    runs = {row["run"]: row for row in found["ranked_runs"]}
    assert {run: row["ndcg_b"] for run, row in runs.items()} == pytest.approx(published, rel=0, abs=5.0001e-5)
    assert (of_all(found)["pairs"], of_all(found)["only_a"], of_all(found)["only_b"]) == (2627, 0, 6064)
    a, b = ([round(row[name], 9) for row in runs.values()] for name in ("ndcg_a", "ndcg_b"))
    assert of_all(found, "tau_b")["value"] == pytest.approx(stats.kendalltau(a, b).statistic, abs=1e-12)
    assert f"{of_all(found, 'tau_ap')['value']:.2f}" == "0.65"
    means = list(zip(a, b, strict=True))
    assert len(found["swapped_runs"]) == sum(x > u and y < v for x, y in means for u, v in means) == 1044

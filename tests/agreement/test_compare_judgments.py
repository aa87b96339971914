"""Judgments compared on an engine: beside plain Python, under other conventions, with runs, and as a command."""

import csv
import json
import math
import random

import numpy as np
import pandas as pd
import pytest
from commands import command_line
from scored import examples_of

from ndcg_spark import Convention, agreement, compare_judgments, evaluate
from ndcg_spark.errors import InputError
from ndcg_spark.schemas import AGREEMENTS


def compared(a, b, *more, **options):
    """The rows by dataset, nan for what is not defined."""
    found = compare_judgments(a, b, *more, **options)
    assert list(found.columns) == AGREEMENTS.names
    return {row["dataset"]: row for row in found.to_dict("records")}


def table_of(rows):
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])


def random_judgments(seed, queries=6):
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    documents = [(f"q{query}", f"d{doc}") for query in range(queries) for doc in range(12)]
    return [(*key, float(chance.choice([-1, 0, 0, 1, 2, 4]))) for key in documents if chance.random() < 0.8]


def test_random_judgments_have_the_agreement_of_plain_python(session):
    rows = [random_judgments(seed) for seed in (1, 2)]
    found = compared(*map(table_of, rows))["default"]
    a, b = ({(query, doc): grade for query, doc, grade in side if grade >= 0} for side in rows)
    both = [(a[key], b[key]) for key in {*a} & {*b}]
    grades = [0, 1, 2, 4]
    counts = np.array([[both.count((one, other)) for other in grades] for one in grades])
    expected = {
        "pairs": len(both),
        "only_a": len({*a} - {*b}),
        "only_b": len({*b} - {*a}),
        "kappa": agreement.kappa(counts),
        "kappa_quadratic": agreement.kappa(counts, is_quadratic=True),
        "alpha": agreement.krippendorff_alpha(counts + counts.T),
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert math.isnan(found["tau_b"])


def test_a_grade_that_only_one_side_gives_is_on_the_scale(session):
    a = {"q": {"a": 0, "b": 2, "c": 2, "d": 0, "e": 1}}
    b = {"q": {"a": 0, "b": 2, "c": 0, "d": 0}}
    # Marginals 2, 0, 2 in A and 3, 0, 1 in B; 0 and 2 are two steps apart.
    expected = 1 - 4 / ((2 * 1 * 4 + 2 * 3 * 4) / 4)
    assert compared(a, b)["default"]["kappa_quadratic"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "pairs", "only_a", "kappa"),
    [({}, 2, 2, 0), ({"negative": "keep"}, 4, 1, 1 - 2 / (4 - 3 / 4)), ({"min_relevance": 1}, 2, 2, math.nan)],
)
def test_grades_count_as_the_convention_says(session, options, pairs, only_a, kappa):
    a, b = {"q": {"a": 1, "b": 2, "c": -2, "d": 0, "e": 3}}, {"q": {"a": 1, "b": 1, "c": -2, "d": -1}}
    row = compared(a, b, convention=Convention(**options))["default"]
    assert (row["pairs"], row["only_a"], row["kappa"]) == (pairs, only_a, pytest.approx(kappa, nan_ok=True))


def test_a_document_judged_twice_is_refused_or_merged(session):
    a, b = table_of([("q", "d", 1.0), ("q", "d", 2.0), ("q", "e", 0)]), table_of([("q", "d", 2.0), ("q", "e", 0)])
    with pytest.raises(InputError, match="judged twice"):
        compared(a, b)
    merged = compared(a, b, convention=Convention(judgment_duplicates="max"))
    assert merged["default"]["kappa"] == 1


def test_more_grades_than_a_scale_has_are_refused(session):
    judged = {"q": {f"d{n}": n / 100 for n in range(101)}}
    with pytest.raises(InputError, match="judgments: 101 grades"):
        compared(judged, judged)


def test_datasets_are_compared_each_by_itself(session):
    grades = {"one": [(1, 1), (0, 1), (1, 0), (0, 0)], "two": [(1, 1), (0, 0)]}
    sides = [
        table_of([("q", f"d{n}", pair[side]) for of in grades.values() for n, pair in enumerate(of)]).assign(
            dataset=[name for name, of in grades.items() for _ in of]
        )
        for side in (0, 1)
    ]
    found = compared(*sides)
    assert {name: row["kappa"] for name, row in found.items()} == {"one": 0, "two": 1}
    with pytest.raises(InputError, match="only one of the two sets has a column dataset"):
        compared(sides[0], sides[1].drop(columns="dataset"))


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


def with_scores(a, b, results):
    sides = [evaluate(each, results, 5).query_scores for each in (a, b)]
    return [side.pivot(index="query_id", columns="run", values="ndcg") for side in sides]


def test_runs_are_ranked_by_their_means_over_the_queries_that_both_judge(session):
    a, b = table_of(random_judgments(3, 8)), table_of(random_judgments(14, 7))
    found = compared(a, b, lists(), 5)["default"]
    scores = with_scores(a[a["query_id"] != "q7"], b, lists())
    means = [side.mean() for side in scores]
    assert (found["runs"], found["queries"]) == (4, 7)
    assert found["tau_b"] == pytest.approx(agreement.tau_b(*means), abs=1e-12)
    assert found["tau_ap"] == pytest.approx(agreement.tau_ap(*means), abs=1e-12)
    assert found["tau_b"] < 1


def test_runs_of_judgments_without_a_common_query_are_refused(session):
    with pytest.raises(InputError, match="no query is judged by both sets"):
        compared({"q1": {"a": 1}}, {"q2": {"a": 1}}, {"q1": {"a": 0.5}})


def test_the_examples_of_the_docstrings_run(session):
    failed, attempted, said = examples_of(session, agreement.__name__)
    assert (failed, attempted) == (0, 2), said


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.qrels").write_text("q1 0 d1 2\nq1 0 d2 1\nq1 0 d3 0\nq2 0 d1 0\nq2 0 d2 2\n")
    (tmp_path / "b.qrels").write_text("q1 0 d1 2\nq1 0 d2 2\nq1 0 d4 1\nq2 0 d1 1\nq2 0 d2 0\n")
    rows = [("q1", "d1", "good"), ("q2", "d2", "good"), ("q1", "d3", "other"), ("q2", "d1", "other")]
    (tmp_path / "x.run").write_text("".join(f"{query} Q0 {doc} 1 1 {run}\n" for query, doc, run in rows))
    return tmp_path


def test_the_command_prints_a_table_json_and_csv(folder):
    arguments = ["judgments", "a.qrels", "b.qrels", "--results", "x.run"]
    printed = command_line(*arguments, cwd=folder)
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.split()[-10:-6] == ["4", "1", "1", f"{1 - 3 / (4 - 6 / 4):.4f}"]
    (found,) = json.loads(command_line(*arguments, "--format", "json", cwd=folder).stdout)
    assert (found["runs"], found["queries"], found["tau_b"]) == (2, 2, -1)
    (row,) = csv.DictReader(command_line(*arguments[:3], "--format", "csv", cwd=folder).stdout.splitlines())
    assert (row["pairs"], row["tau_b"]) == ("4", "")


def test_judgments_are_checked_by_the_contract(folder):
    (folder / "b.qrels").write_text("q1 0 d1 2\nq1 0 d2 many\n")
    done = command_line("judgments", "a.qrels", "b.qrels", cwd=folder)
    assert done.returncode == 3
    assert "judgments: 1 relevance value(s)" in done.stderr
    (folder / "b.qrels").write_text("q1 0 d1 2\nq1 0 d1 1\n")
    done = command_line("judgments", "a.qrels", "b.qrels", cwd=folder)
    assert (done.returncode, "a document judged twice" in done.stderr) == (3, True)


@pytest.mark.slow
def test_the_judgments_of_trec_covid_rank_its_runs_as_published(shared_data, tmp_path):
    folder = shared_data / "trec-covid-round1"
    every = (folder / "qrels.txt").read_text(encoding="utf-8").splitlines()
    # What was judged before the runs came in, and what was judged because of them.
    (tmp_path / "early.txt").write_text("\n".join(line for line in every if line.split()[1] == "0.5") + "\n")
    more = ["--results", str(folder / "runs"), "--convention", "trec_eval_9", "--set", "order=score"]
    more += ["--cutoffs", "10", "--format", "json"]
    done = command_line("judgments", "early.txt", str(folder / "qrels.txt"), *more, cwd=tmp_path)
    (found,) = json.loads(done.stdout)
    assert [found[name] for name in ("pairs", "only_a", "only_b", "runs")] == [2627, 0, 6064, 143]
    assert [f"{found[name]:.2f}" for name in ("tau_b", "tau_ap")] == ["0.79", "0.65"]

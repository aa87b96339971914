"""What made the means change since an earlier night: lists, judgments and queries, which sum to the change."""

import json
import random

import numpy as np
import pandas as pd
import pytest
from staying import command_line

from ndcg_spark import compare_judgments, evaluate
from ndcg_spark.agreement.changes import change_parts
from ndcg_spark.errors import InputError

PARTS = ("of_lists", "of_judgments", "of_queries")


def scores(rows):
    return pd.DataFrame(rows, index=["q1", "q2", "q3"], dtype=float)


def test_the_parts_are_those_of_the_queries_that_all_three_score():
    nothing = float("nan")
    before = scores({"r": [0.5, 0.1, 0.9]})
    between = scores({"r": [0.7, 0.2, nothing]})
    after = scores({"r": [0.6, 0.5, nothing]})
    (row,) = change_parts(before, between, after).to_dict("records")
    assert (row["run"], row["queries"]) == ("r", 2)
    assert row["change"] == pytest.approx((0.6 + 0.5) / 2 - (0.5 + 0.1 + 0.9) / 3)
    assert row["of_lists"] == pytest.approx((0.2 + 0.1) / 2)
    assert row["of_judgments"] == pytest.approx((-0.1 + 0.3) / 2)
    # The third query was above the mean of the others.
    assert row["of_queries"] == pytest.approx((0.5 + 0.1) / 2 - (0.5 + 0.1 + 0.9) / 3)


def test_the_parts_of_random_scores_sum_to_the_change():
    chance = np.random.default_rng(1)
    sides = []
    for _ in range(3):
        values = chance.random((50, 4))
        values[chance.random((50, 4)) < 0.3] = np.nan
        sides.append(pd.DataFrame(values, columns=list("abcd")))
    found = change_parts(*sides)
    assert np.abs(found[list(PARTS)].sum(axis=1) - found["change"]).max() < 1e-12
    assert (found["change"] - (sides[2].mean() - sides[0].mean()).to_numpy()).abs().max() < 1e-12


def judged(seed, queries):
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    return {f"q{query}": {f"d{doc}": float(chance.choice([0, 0, 1, 2, 3])) for doc in range(8)} for query in queries}


def returned(seed, queries):
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    return {
        f"q{q}": {doc: float(-n) for n, doc in enumerate(chance.sample([f"d{d}" for d in range(12)], 8))}
        for q in queries
    }


def changes(_, a, b, results, last, last_judgments):
    before = evaluate(last_judgments, last, 5).query_scores
    found = compare_judgments(a, b, results, 5, before=before)["change_parts"].to_pylist()
    means = [evaluate(*each, 5).dataset_scores.first()["ndcg"] for each in ((last_judgments, last), (b, results))]
    return found, means[1] - means[0]


@pytest.mark.parametrize(
    ("new_lists", "new_judgments", "queries", "moved"),
    [
        (True, True, range(6), set(PARTS[:2])),
        (True, False, range(6), {"of_lists"}),
        (False, True, range(6), {"of_judgments"}),
        (False, False, range(7), {"of_queries"}),
        (True, True, range(1, 8), set(PARTS)),
    ],
)
def test_only_what_differs_from_the_earlier_night_has_a_part(
    evaluate_embedded, new_lists, new_judgments, queries, moved
):
    old = judged(1, range(6))
    new = judged(2 if new_judgments else 1, queries)
    lists = returned(3, range(9)), returned(4 if new_lists else 3, range(9))
    (row,), change = evaluate_embedded.call(changes, old, new, lists[1], lists[0], old)
    assert row["change"] == pytest.approx(change, abs=1e-12)
    assert sum(row[name] for name in PARTS) == pytest.approx(change, abs=1e-12)
    assert {name for name in PARTS if abs(row[name]) > 1e-12} == moved


def test_judgments_that_are_not_those_of_the_earlier_night_are_refused(evaluate_embedded):
    old, new, lists = judged(1, range(6)), judged(2, range(6)), returned(3, range(6))
    other = {**old, "q3": {**old["q3"], "d1": 7.0}}
    with pytest.raises(InputError, match=r"before: 1 of 6 queries have other judgments than A, e\.g\. query_id=q3"):
        evaluate_embedded.call(changes, other, new, lists, lists, old)


def test_the_command_says_what_changed_since_the_last_night(tmp_path):
    (tmp_path / "old").write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1\n")
    (tmp_path / "new").write_text("q1 0 d1 0\nq1 0 d2 1\nq2 0 d1 1\n")
    (tmp_path / "x.run").write_text("q1 Q0 d1 1 2 r\nq1 Q0 d2 2 1 r\nq2 Q0 d1 1 1 r\n")
    night = ["evaluate", "old", "x.run", "--output", "out", "--date", "2026-11-01"]
    assert command_line(*night, cwd=tmp_path).returncode == 0
    arguments = ["judgments", "old", "new", "--results", "x.run", "--since", "out", "--date", "2026-11-02"]
    done = command_line(*arguments, cwd=tmp_path)
    # One of two queries has its document at rank 2.
    change = f"{(1 / np.log2(3) - 1) / 2:.4f}"
    assert f"r: of {change}, {change} are other judgments" in done.stdout, done.stderr
    (row,) = json.loads(command_line(*arguments, "--format", "json", cwd=tmp_path).stdout)["change_parts"]
    assert (row["of_lists"], row["of_queries"]) == (0, 0)
    wrong = command_line("judgments", "new", "old", *arguments[3:], cwd=tmp_path)
    assert (wrong.returncode, "1 of 2 queries have other judgments than A" in wrong.stderr) == (3, True)
    other = command_line(*arguments, "--set", "gain=linear", cwd=tmp_path)
    assert (other.returncode, "has another convention, gain=exp2 there and linear here" in other.stderr) == (
        2,
        True,
    )
    lacking = command_line("judgments", "old", "new", "--since", "out", cwd=tmp_path)
    assert (lacking.returncode, "give --results" in lacking.stderr) == (2, True)

"""The bounds of NDCG as columns of the scores, and the documents that are to be judged next."""

import itertools
import json
import math
import random

import pytest
from programs import command_line

from ndcg_spark import Convention, evaluate
from ndcg_spark.errors import ConventionError

RNG = random.Random(6)  # noqa: S311  # it makes test data
GRADES = {f"q{query}": {f"d{doc}": RNG.choice([0, 0, 1, 2]) for doc in RNG.sample(range(15), 5)} for query in range(4)}
SCORES = {query: {f"d{doc}": round(RNG.random(), 6) for doc in RNG.sample(range(15), 6)} for query in GRADES}
CUTOFFS = (1, 3, None)


def extremes(query, cutoff, capped):
    """The least and the largest NDCG (exp2) over all grades from 0 to 2 of the unjudged documents within the cutoff."""
    listed = sorted(SCORES[query], key=SCORES[query].get, reverse=True)
    within = listed[:cutoff]
    unjudged = [doc for doc in within if doc not in GRADES[query]]
    found = []
    for assigned in itertools.product((0, 1, 2), repeat=len(unjudged)):
        grades = {**GRADES[query], **dict(zip(unjudged, assigned, strict=True))}
        dcg = sum((2 ** grades.get(doc, 0) - 1) / math.log2(at + 2) for at, doc in enumerate(within))
        ideal = sorted(grades.values(), reverse=True)[: len(within) if capped else cutoff]
        ideal_dcg = sum((2**grade - 1) / math.log2(at + 2) for at, grade in enumerate(ideal))
        found += [dcg / ideal_dcg] if ideal_dcg else []
    return min(found), max(found)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bounds")
    (folder / "qrels.json").write_text(json.dumps(GRADES), encoding="utf-8")
    (folder / "run.json").write_text(json.dumps(SCORES), encoding="utf-8")
    return folder


def test_the_bounds_of_every_query_are_the_extremes_of_all_its_judgments(files):
    for convention, capped in (("standard", False), ("elasticsearch", True)):
        printed = command_line(
            *("evaluate", "qrels.json", "run.json", "--bounds", "--cutoffs", "1,3,all", "--convention", convention),
            *("--set", "no_relevant=skip", "--per-query", "--format", "json"),
            cwd=files,
        )
        rows = [json.loads(line) for line in printed.stdout.splitlines()]
        assert len(rows) == len(GRADES) * len(CUTOFFS), printed.stderr
        for row in rows:
            expected = extremes(row["query_id"], row["cutoff"], capped)
            assert (row["ndcg_low"], row["ndcg_high"]) == pytest.approx(expected, abs=1e-12)


def test_spark_has_the_same_bounds_and_a_dataset_the_means_of_the_queries_that_count(spark):
    assert spark
    scores = evaluate(GRADES, SCORES, [3], bounds=True)
    expected = {query: extremes(query, 3, False) for query in GRADES}
    rows = scores.query_scores.collect()
    assert {row["query_id"]: (row["ndcg_low"], row["ndcg_high"]) for row in rows} == {
        query: pytest.approx(bounds, abs=1e-12) for query, bounds in expected.items()
    }
    counted = [expected[row["query_id"]] for row in rows if row["ndcg"] is not None]
    means = [sum(side) / len(counted) for side in zip(*counted, strict=True)]
    dataset = scores.dataset_scores.first()
    assert [dataset["ndcg_low"], dataset["ndcg_high"]] == pytest.approx(means)
    assert dataset["ndcg_low"] <= dataset["ndcg"] <= dataset["ndcg_high"]


@pytest.mark.parametrize("options", [{"ideal": "retrieved"}, {"unjudged": "drop"}, {"ties": "average"}])
def test_a_convention_under_which_a_judgment_changes_more_than_a_gain_has_no_bounds(evaluate_embedded, options):
    with pytest.raises(ConventionError, match="bounds: not defined under this convention"):
        evaluate_embedded(GRADES, SCORES, bounds=True, convention=Convention(**options))


def test_the_document_to_judge_next_is_the_unjudged_one_with_the_largest_discounts(tmp_path):
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n", encoding="utf-8")
    lists = {"one": ["x", "a", "y"], "two": ["a", "x", "y"]}
    for run, documents in lists.items():
        rows = (f"q1 Q0 {doc} {at} {-at}.0 {run}\n" for at, doc in enumerate(documents, start=1))
        (tmp_path / f"{run}.run").write_text("".join(rows), encoding="utf-8")
    arguments = ("judge-next", "qrels.txt", "one.run", "two.run", "--cutoffs", "2", "--format", "csv")
    printed = command_line(*arguments, cwd=tmp_path).stdout
    assert printed == (f"dataset,query_id,doc_id,runs,best_rank,weight\ndefault,q1,x,2,1,{1 + 1 / math.log2(3)!r}\n")
    # A list that unjudged documents leave has the same ones to judge.
    assert command_line(*arguments, "--set", "unjudged=drop", cwd=tmp_path).stdout == printed
    table = command_line(*arguments[:-2], "--documents", "1", cwd=tmp_path).stdout
    assert table.splitlines()[1].split() == ["q1", "x", "2", "1", f"{1 + 1 / math.log2(3):.4f}"]

"""Copies: the scores of kept lists under other judgments are those of an evaluation of the original results."""

import random

import pytest
import rejudged
import sessions
from rejudged import DATES, publish, random_case

from ndcg_spark.job.rescore import Wanted, make_copies
from ndcg_spark.nights.copies import read_copy, why_not_copied, why_not_rescored
from ndcg_spark.nights.log import committed
from ndcg_spark.nights.reader import read_rows

KEY = ("dataset", "run", "query_id", "cutoff")
MEASURES = ["ndcg@5", "P@3", "AP@5", "RR@5", "recall@3", "success@1", "RBP(p=0.5)@5", "ERR@5", "judged@3"]
CONVENTIONS = {
    "standard": {},
    "trec_eval": {"preset": "trec_eval"},
    "its query": {"exclude_query_as_document": True, "missing_query": "skip"},
    "its query, capped": {"exclude_query_as_document": True, "ideal": "judged_capped"},
    "ranks": {"order": "rank", "discount": [1, 0.5, 0.25]},
    "ties of ranks": {"ties": "rank", "unjudged": 1.0, "no_relevant": "one"},
    "negative": {"negative": "keep", "gain": "linear", "no_relevant": "zero"},
    "as unjudged": {"negative": "as_unjudged", "gain": "binary", "no_relevant": "skip"},
    "floats": {"score_precision": "float32", "ties": "doc_id_num_asc"},
    "twice": {"judgment_duplicates": "mean"},
    "first": {"judgment_duplicates": "max", "relevant_from": 2.0, "max_grade": "highest_of_query"},
    "own gain": {"gain": "python:numpy.expm1", "discount": "python:numpy.reciprocal"},
}


def rows_of(table, judged=None):
    rows = {tuple(row[name] for name in KEY): row for row in table.to_pylist()}
    if judged is not None:
        rows = {key: row for key, row in rows.items() if (key[0], key[2]) in judged}
    return rows


def assert_same(copy, expected):
    """The rows are equal, but for what only says which evaluation they are of."""
    assert copy.keys() == expected.keys()
    for key, row in expected.items():
        actual = copy[key]
        for column, value in row.items():
            if column in ("evaluated_on", "evaluation_id"):
                continue
            assert actual[column] == (
                pytest.approx(value, rel=1e-12, abs=1e-12) if column not in KEY and isinstance(value, float) else value
            ), (key, column)


def both_ways(folder, case, **more):
    """Both nights and, for each, the query scores of its results under the judgments of the other."""
    output = [publish(folder, case, night, night, **more) for night in (0, 1)][0]
    expected = []
    for night in (0, 1):
        whole = publish(folder, case, night, 1 - night, **{**more, "output": str(folder / f"expected-{night}")})
        expected.append(committed(whole))
    return committed(output), expected


def queries_of(judgments):
    return {(row["dataset"], row["query_id"]) for row in judgments}


@pytest.mark.slow
@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_copy_is_an_evaluation_of_the_original_results(tmp_path, engine, name):
    convention = {"order": "score", **CONVENTIONS[name]}
    grades = (-1.0, 0.0, 1.0, 3.0) if "negative" in convention else (0.0, 1.0, 2.0, 4.0)
    is_twice = "judgment_duplicates" in convention
    case = random_case([*CONVENTIONS].index(name), grades, judged_again=is_twice)
    measures = [*MEASURES] if name != "ranks" else ["ndcg@3"]
    nights, expected = both_ways(tmp_path, case, convention=convention, measures=measures)
    both = queries_of(case.judgments[0]) & queries_of(case.judgments[1])
    prints = {(night.dataset, night.evaluated_on): night.row["judgments_fingerprint"] for night in nights}
    wanted = []
    for night in nights:
        (other,) = [date for date in DATES if date != night.evaluated_on]
        wanted.append(Wanted(night, prints[night.dataset, other]))
    assert make_copies(engine, wanted) == []
    for night, fingerprint in wanted:
        whole = [one for one in expected[DATES.index(night.evaluated_on)] if one.dataset == night.dataset]
        rows = rows_of(read_rows(whole, "query_scores"), both)
        copy = rows_of(read_copy(night, fingerprint))
        differs = {one.record["options"]["max_grade"] for one in (*whole, night)}
        if len(differs) > 1:
            assert all(row["err"] is None and row["rbp"] is None for row in copy.values())
            for row in rows.values():
                row.update(dict.fromkeys(("err", "rbp", "rbp_residual")))
        assert_same(copy, rows)


def gated(folder, lists, judged, case, **more):
    check = {"runs": ["s"], "cutoff": 3, "max_drop": 0.5}
    return publish(folder, case, lists, judged, documents=None, gate={"check": [check]}, **more)


def test_an_evaluation_with_a_gate_keeps_what_it_needs_and_makes_the_copies_before_the_verdict(tmp_path):
    case = random_case(3)
    accepted = {"accepted": "the first night"}
    output = gated(tmp_path, 0, 0, case, **accepted)
    first = {night.dataset: night for night in committed(output)}
    assert not list((tmp_path / "out").glob("rescored/*/*"))
    gated(tmp_path, 1, 1, case)
    nights = {(night.dataset, night.evaluated_on): night for night in committed(output)}
    for dataset, night in first.items():
        newer = nights[dataset, DATES[1]]
        theirs = newer.row["judgments_fingerprint"]
        assert night.record["configuration"]["documents"] == "all"
        assert read_copy(night, theirs) is not None
        assert read_copy(newer, night.row["judgments_fingerprint"]) is not None
    assert len(list((tmp_path / "out").glob("rescored/*/*"))) == 2 * 2
    assert len(list((tmp_path / "out").glob("kept_judgments/*"))) == 2 * 2

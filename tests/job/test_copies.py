"""Copies: the scores of kept lists under other judgments are those of an evaluation of the original results."""

import zlib

import pytest
from rejudged import DATES, publish, random_case

from ndcg_spark.job.rescore import Wanted, make_copies
from ndcg_spark.nights.copies import OF_HIGHEST_GRADE, read_copy, why_not_rescored
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
    "nothing missing": {"missing_query": "skip", "no_relevant": "skip", "ties": "doc_id_asc"},
    "own gain": {"gain": "python:numpy.expm1", "discount": "python:numpy.reciprocal"},
}
#: Of these, the lists of queries that are not judged are kept, too.
EVERYTHING = ("trec_eval", "its query", "nothing missing")


def rows_of(table):
    return {tuple(row[name] for name in KEY): row for row in table.to_pylist()}


def without_measures(rows, names):
    for row in rows.values():
        row.update(dict.fromkeys(names))
    return rows


def assert_same(copy, expected):
    """The rows are equal, but for what only says which evaluation they are of."""
    assert copy.keys() == expected.keys()
    for key, row in expected.items():
        of_copy = copy[key]
        for column in row.keys() - {"evaluated_on", "evaluation_id"}:
            assert of_copy[column] == near(row[column]), (key, column)


def near(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12) if isinstance(value, float) else value


def published(folder, case, **more):
    """Both nights, and for each an evaluation of its results under the judgments of the other."""
    for night in (0, 1):
        output = publish(folder, case, night, night, **more)
    others = []
    for night in (0, 1):
        other = publish(folder, case, night, 1 - night, **{**more, "output": str(folder / f"other-{night}")})
        others.extend(committed(other))
    return committed(output), others


def queries_of(judgments):
    return {(row["dataset"], row["query_id"]) for row in judgments}


def wanted_copies(nights):
    """Each of two nights under the judgments of the other."""
    prints = {(night.dataset, night.evaluated_on): night.row["judgments_fingerprint"] for night in nights}
    other = dict(zip(DATES, reversed(DATES), strict=True))
    return [Wanted(night, prints[night.dataset, other[night.evaluated_on]]) for night in nights]


@pytest.mark.slow
@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_copy_is_an_evaluation_of_the_original_results(tmp_path, engine, name):
    convention = {"order": "score", **CONVENTIONS[name]}
    grades = (-1.0, 0.0, 1.0, 3.0) if "negative" in convention else (0.0, 1.0, 2.0, 4.0)
    case = random_case(hash_of(name), grades, judged_again="judgment_duplicates" in convention)
    measures = ["ndcg@3"] if name == "ranks" else MEASURES
    documents = "everything" if name in EVERYTHING else "all"
    nights, others = published(tmp_path, case, convention=convention, measures=measures, documents=documents)
    judged = [queries_of(rows) for rows in case.judgments]
    wanted = wanted_copies(nights)
    assert make_copies(engine, wanted) == []
    compared = 0
    for night, fingerprint in wanted:
        (other,) = [one for one in others if (one.dataset, one.evaluated_on) == (night.dataset, night.evaluated_on)]
        own = judged[DATES.index(night.evaluated_on)]
        expected = {
            key: row
            for key, row in rows_of(read_rows([other], "query_scores")).items()
            if (key[0], key[2]) in own or (name in EVERYTHING and row["returned"])
        }
        copy = rows_of(read_copy(night, fingerprint))
        if other.record["options"]["max_grade"] != night.record["options"]["max_grade"]:
            assert why_not_rescored(night, ("err", 5), fingerprint) is not None
            expected = without_measures(expected, OF_HIGHEST_GRADE)
        assert_same(copy, expected)
        compared += len(copy)
    assert compared > 4 * 100


def hash_of(name):
    """A seed for a name, the same in every process."""
    return zlib.crc32(name.encode())


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

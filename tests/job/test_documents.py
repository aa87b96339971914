"""The documents that a night keeps: what its scores are made of, and explained without the inputs."""

import math
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cases import make
from evaluations import configuration, evaluated
from kept_nights import date
from page_nights import night

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.query import ExplainRequest
from ndcg_spark.job import evaluate_inputs as job
from ndcg_spark.job.explain_query import explain_night, explain_on
from ndcg_spark.job.inputs import engine_for
from ndcg_spark.nights.log import committed
from ndcg_spark.nights.reader import read_rows
from ndcg_spark.schemas import RANKED_DOCUMENTS
from ndcg_spark.voices import Give

CONVENTIONS = {
    "standard": {"preset": "standard"},
    "beir": {"preset": "beir"},
    "sklearn": {"preset": "sklearn", "negative": "as_unjudged"},
    "xgboost": {"preset": "xgboost", "negative": "as_unjudged"},
    "elasticsearch": {"preset": "elasticsearch"},
    "dropped": {"unjudged": "drop", "negative": "drop"},
    "worst": {"ties": "worst", "unjudged": 1.0},
    "python": {"gain": "python:numpy.square", "negative": "keep"},
}


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """A night of random rankings under every convention."""
    folder, case = tmp_path_factory.mktemp("nights"), make([7, 8])
    judged = [
        f"{q} 0 {doc} {grade}\n"
        for q, grades in case.judged.items()
        for doc, grade in grades.items()
    ]
    rows = [
        f"{q} Q0 {doc} {rank} {sign * score!r} {run}\n"
        for run, sign in (("one", 1.0), ("two", -1.0))
        for q, listed in case.returned.items()
        for doc, score, rank in listed
    ]
    with_ = configuration(folder)
    with_({"qrels.txt": "".join(judged), "run.txt": "".join(rows)})
    for name, convention in CONVENTIONS.items():
        settings = {"output": str(folder / name), "documents": "all", "cutoffs": [1, 4, "all"]}
        evaluated(with_(convention=convention, **settings))
    return folder


def rows(output, table):
    return [
        row
        for path in (output / table).rglob("*.parquet")
        for row in pq.ParquetFile(path).read().to_pylist()
    ]


@pytest.mark.parametrize("name", CONVENTIONS)
def test_the_documents_of_a_night_add_up_to_its_scores(nights, name):
    documents, scores = rows(nights / name, "ranked_documents"), rows(nights / name, "query_scores")
    added, ranks = defaultdict(list), defaultdict(list)
    for row in documents:
        ranks[row["run"], row["query_id"]].append(row["rank"])
        for cutoff in (1, 4):
            if row["rank"] <= cutoff:
                added[row["run"], row["query_id"], cutoff].append(row["gain"] * row["discount"])
    assert len(scores) == 2 * 3 * len({row["query_id"] for row in scores})
    for score in scores:
        query, cutoff = score["query_id"], score["cutoff"]
        if cutoff is None:
            continue
        assert math.fsum(added[score["run"], query, cutoff]) == pytest.approx(
            score["dcg"], abs=1e-12
        )
        assert sorted(ranks[score["run"], query])[:cutoff] == [*range(1, score["returned"] + 1)]
        if name not in ("sklearn", "xgboost", "elasticsearch"):
            assert math.fsum(added[None, query, cutoff]) == pytest.approx(
                score["ideal_dcg"], abs=1e-12
            )
    own_ideal = name in ("sklearn", "xgboost")
    assert (None in {row["run"] for row in documents}) == (not own_ideal)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_night_is_explained_with_the_losses_that_its_scores_have(nights, name):
    known = 0
    queries = sorted({row["query_id"] for row in rows(nights / name, "query_scores")})
    for query in queries[:12]:
        for explanation in explain_night(
            str(nights / name), None, ExplainRequest(query)
        ).explanations:
            score = explanation.facts.score
            within = math.fsum(line["contribution"] or 0.0 for line in explanation.lines)
            assert within == pytest.approx(score.dcg, abs=1e-12)
            if explanation.ideal_known:
                known += 1
                lost = math.fsum(row["loss"] for row in explanation.losses)
                assert lost == pytest.approx(score.ideal_dcg - score.dcg, abs=1e-12)
    # An ideal of the returned documents is known where the night keeps all of them that gain.
    assert (
        known == 2 * 12 or (name == "xgboost" and known > 0) or (name == "sklearn" and known == 0)
    )


@pytest.mark.parametrize(("query", "ideal"), [("q1", ["b", "d", "e"]), ("q2", ["a", None])])
def test_what_a_night_explains_is_what_its_inputs_explain(configured, query, ideal):
    # More documents have the best grade than count, and a negative grade has no place in an ideal.
    judged = "".join(f"q1 0 {doc} 2\n" for doc in "abcde") + "q2 0 a 1\nq2 0 y -1\n"
    lists = [
        f"{q} Q0 {doc} 0 {-at} r\n"
        for q, docs in (("q1", "bxd"), ("q2", "ya"))
        for at, doc in enumerate(docs)
    ]
    settings = configured(
        {"qrels.txt": judged, "run.txt": "".join(lists)}, cutoffs=3, output="out", documents="all"
    )
    evaluated(settings)
    with engine_for(settings) as engine:
        request = ExplainRequest(query)
        explained = explain_night("out", None, request), explain_on(engine, settings, request)
    stored, scored = (one.explanations[0] for one in explained)
    assert (stored.lines, stored.facts.score) == (scored.lines, scored.facts.score)
    losses = [
        {(row["doc_id"], row["ideal_rank"], row["loss"]) for row in one.losses}
        for one in (stored, scored)
    ]
    assert losses[0] == losses[1]
    assert [line["ideal_doc_id"] for line in stored.lines] == ideal


def test_a_night_keeps_which_documents_tie(configured):
    # As floats of 32 bits, b and c have the same score, and so have d and e: 0.0 and -0.0.
    scores = {"a": 2.0, "b": 1.0, "c": 1.0 + 1e-12, "d": 0.0, "e": -1e-60}
    lists = "".join(f"q1 Q0 {doc} 0 {score!r} r\n" for doc, score in scores.items())
    convention = {"ties": "average", "score_precision": "float32"}
    files = {"qrels.txt": "q1 0 b 2\nq1 0 e 1\n", "run.txt": lists}
    settings = configured(files, cutoffs=4, output="out", documents="all", convention=convention)
    evaluated(settings)
    returned = [row for row in rows(Path("out"), "ranked_documents") if row["run"]]
    kept = {row["doc_id"]: row["tie_group"] for row in returned}
    assert len(kept) == 4
    assert kept["a"] < kept["b"] == kept["c"] < min(kept[doc] for doc in kept.keys() - {*"abc"})
    with engine_for(settings) as engine:
        request = ExplainRequest("q1")
        explained = explain_night("out", None, request), explain_on(engine, settings, request)
    stored, scored = (one.explanations[0].facts for one in explained)
    groups = {row.doc_id: row.tie_group for row in scored.listed}
    assert {row.doc_id: row.tie_group for row in stored.listed}.items() <= groups.items()
    assert groups["d"] == groups["e"]


@pytest.mark.parametrize("ties", ["average", "doc_id_desc"])
def test_a_night_without_tie_groups_is_explained_as_far_as_they_are_not_needed(tmp_path, ties):
    for number, listed in enumerate(["ab", "ba"]):
        lists = {"one": {"q1": [*listed]}, "two": {"q1": ["b"]}}
        night(tmp_path, number, lists, options={"ties": ties})
    (first, _) = explain_night(str(tmp_path), None, ExplainRequest("q1")).explanations
    assert [line["doc_id"] for line in first.lines][:2] == [*"ba"]
    for compared in ({"baseline": "two"}, {"baseline_date": date(0)}):
        request = ExplainRequest("q1", run="one", **compared)
        if ties == "average":
            with pytest.raises(ConfigurationError, match="tie groups"):
                explain_night(str(tmp_path), None, request)
        else:
            assert explain_night(str(tmp_path), None, request).baselines


def test_a_query_is_explained_at_the_cutoff_of_the_headline(configured):
    settings = configured(cutoffs=None, measures="nDCG@1 R@3", output="out", documents="all")
    evaluated(settings)
    explained = explain_night("out", None, ExplainRequest("q1"))
    assert [one.facts.cutoff for one in explained.explanations] == [1]


def test_a_rerun_without_documents_leaves_none_of_the_old(session, configured):
    job.evaluate(configured(output="out", documents="all"))
    kept = pq.read_table("out/ranked_documents")
    assert sorted(kept.column_names) == sorted(RANKED_DOCUMENTS.names)
    assert kept.num_rows == len([("q1", "a"), ("q1", "b")]) + len(
        [("q1", "a"), ("q1", "b"), ("q2", "c")]
    )
    evaluated(configured(output="out"))
    (night,) = committed("out")
    assert read_rows([night], "ranked_documents").num_rows == 0
    with pytest.raises(ConfigurationError, match=r"keeps none for query 'q1' ") as refused:
        explain_night("out", None, ExplainRequest("q1"))
    assert refused.value.advice.ways[0] == Give("documents", "all", words="evaluate it with")

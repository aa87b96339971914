"""Files that the tools themselves write, evaluated as they are: the number is the tool's own."""

import json
import random

import pytest
from evaluations import evaluated

from ndcg_spark import config

CHANCE = random.Random(7)  # noqa: S311  # it makes test data
QUERIES, DOCUMENTS = [f"q{at}" for at in range(9)], [f"d{at}" for at in range(30)]
#: No two scores of a list are equal, as tools order those differently.
GRADES = {
    query: {doc: CHANCE.randint(0, 3) for doc in CHANCE.sample(DOCUMENTS, 12)} for query in QUERIES
}
SCORES = {
    query: {doc: at / 8 - 1 for at, doc in enumerate(CHANCE.sample(DOCUMENTS, 20))}
    for query in CHANCE.sample(QUERIES, 8)
}


def ndcg(judgments, results, preset, cutoff=5, **more):
    settings = {
        "judgments": {"path": str(judgments)},
        "results": {"path": str(results), **more},
        "cutoffs": [cutoff],
        "convention": preset,
    }
    (row,) = evaluated(config.validate(settings, "test"))[0].dataset_scores
    return row["ndcg"]


@pytest.fixture(scope="module")
def ranx():
    return pytest.importorskip("ranx")


# Its JSON is that of pytrec_eval below; interpreted, as it is in these tests, ranx cannot write it.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["parquet", "trec"])
def test_what_ranx_saves_scores_as_ranx_scores_it(tmp_path, ranx, kind):
    qrels, run = ranx.Qrels(GRADES), ranx.Run(SCORES, name="one")
    for entry, name in ((qrels, "qrels"), (run, "run")):
        entry.save(str(tmp_path / f"{name}.{kind}"), kind=kind)
    expected = ranx.evaluate(qrels, run, "ndcg@5", make_comparable=True)
    assert ndcg(tmp_path / f"qrels.{kind}", tmp_path / f"run.{kind}", "ranx") == pytest.approx(
        expected, abs=1e-9
    )


def test_the_dictionaries_of_pytrec_eval_score_as_it_scores_them(tmp_path):
    tool = pytest.importorskip("pytrec_eval")
    scores = tool.RelevanceEvaluator(GRADES, {"ndcg_cut.5"}).evaluate(SCORES)
    expected = sum(score["ndcg_cut_5"] for score in scores.values()) / len(scores)
    for name, value in (("qrels", GRADES), ("run", SCORES)):
        (tmp_path / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    assert ndcg(tmp_path / "qrels.json", tmp_path / "run.json", "pytrec_eval") == pytest.approx(
        expected, abs=1e-9
    )


def test_the_tables_of_ir_measures_score_as_it_scores_them(tmp_path):
    tool = pytest.importorskip("ir_measures")
    pandas = pytest.importorskip("pandas")
    judged = [(query, doc, grade) for query, docs in GRADES.items() for doc, grade in docs.items()]
    returned = [
        (query, doc, score) for query, docs in SCORES.items() for doc, score in docs.items()
    ]
    qrels = pandas.DataFrame(judged, columns=["query_id", "doc_id", "relevance"])
    run = pandas.DataFrame(returned, columns=["query_id", "doc_id", "score"])
    expected = tool.calc_aggregate([tool.nDCG @ 5], qrels, run)[tool.nDCG @ 5]
    qrels.to_csv(tmp_path / "qrels.tsv", sep="\t", index=False)
    run.to_parquet(tmp_path / "run.parquet")
    assert ndcg(tmp_path / "qrels.tsv", tmp_path / "run.parquet", "ir_measures") == pytest.approx(
        expected, abs=1e-9
    )

"""Scores that others published for real rankings, reproduced from the same files."""

import csv
import json
from collections import defaultdict
from pathlib import Path

import pytest
from programs import called, command_line

from ndcg_spark import evaluate
from ndcg_spark.config import JudgmentsConfig, ResultsConfig
from ndcg_spark.conforming import conform
from ndcg_spark.engine import open_engine
from ndcg_spark.inputs.reading import read_judgments, read_results
from ndcg_spark.schemas import JUDGMENTS, RESULTS

#: Each output of trec_eval's own tests, with the files and options it was made from.
TREC_EVAL_TESTS = {
    "out.test.aq": ("qrels.test", "results.test", "pytrec_eval"),
    "out.test.aqc": ("qrels.test", "results.trunc", "trec_eval_9"),
    "out.test.aql": ("qrels.rel_level", "results.test", "trec_eval_9"),
}


def scores_of(judgments, results, *options):
    """The dataset scores that the command prints with --json, on the embedded engine."""
    arguments = ["evaluate", "--judgments", str(judgments), "--results", str(results), "--engine", "embedded", "--json"]
    done = command_line(*arguments, *options, cwd=Path.cwd())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["dataset_scores"]


def test_trec_covid_round_1_has_its_143_published_scores(shared_data):
    folder = shared_data / "trec-covid-round1"
    with (folder / "leaderboard.csv").open(encoding="utf-8") as file:
        published = {row["run"]: row["ndcg@10"] for row in csv.DictReader(file)}
    rows = scores_of(folder / "qrels.txt", folder / "runs", "--convention", "trec_eval_9", "--cutoffs", "10")
    assert {row["run"]: f"{row['ndcg']:.4f}" for row in rows} == published


def test_trec_deep_learning_2019_has_its_published_score(shared_data):
    folder = shared_data / "trec-dl-2019"
    rows = scores_of(folder / "qrels.txt", folder / "bm25.run.gz", "--convention", "trec_eval_9", "--cutoffs", "10")
    assert [f"{row['ndcg']:.4f}" for row in rows] == ["0.4973"]


def scores_like(folder, output):
    """What trec_eval printed, and what we find on a session that runs or on the embedded engine."""
    qrels, run, convention = TREC_EVAL_TESTS[output]
    printed = defaultdict(dict)
    for line in (folder / output).read_text(encoding="utf-8").splitlines():
        measure, query, value = line.split()
        if measure.startswith("ndcg_cut_"):
            printed[query][int(measure.removeprefix("ndcg_cut_"))] = value
    found = defaultdict(dict)
    with open_engine() as engine:
        judged = read_judgments(engine, JudgmentsConfig(path=[str(folder / qrels)]), [str(folder / qrels)])
        returned = read_results(engine, ResultsConfig(path=[str(folder / run)]), [str(folder / run)])
        tables = conform(judged.table, JUDGMENTS, "judgments"), conform(returned.table, RESULTS, "results")
        scores = evaluate(*tables, sorted(printed["all"]), convention)
        for row in scores.query_scores.where("ndcg is not null").collect():
            found[row["query_id"]][row["cutoff"]] = f"{row['ndcg']:.4f}"
        found["all"] = {row["cutoff"]: f"{row['ndcg']:.4f}" for row in scores.dataset_scores.collect()}
    return printed, found


@pytest.mark.parametrize("output", TREC_EVAL_TESTS)
def test_trec_eval_prints_the_same_for_its_own_tests(shared_data, output):
    check_same(*called(scores_like, shared_data / "trec-eval-tests", output))


def test_so_it_does_as_classic_spark_computes_them(spark, shared_data):
    assert spark
    check_same(*scores_like(shared_data / "trec-eval-tests", "out.test.aqc"))


def check_same(printed, found):
    expected = {query: values for query, values in printed.items() if query == "all" or query in found}
    assert found == expected
    assert len(printed) == len(found)

"""Scores that others published for real rankings, reproduced from the same files."""

import csv
import json
from collections import defaultdict
from pathlib import Path

import pytest
from commands import command_line
from input_files import judged, returned
from scored import scored
from sessions import on_spark

from ndcg_spark import Convention, evaluate
from ndcg_spark.rules import conform
from ndcg_spark.schemas import JUDGMENTS, RESULTS

#: Each output of trec_eval's own tests, with the files and options it was made from.
TREC_EVAL_TESTS = {
    "out.test.aq": ("qrels.test", "results.test", "pytrec_eval"),
    "out.test.aqc": ("qrels.test", "results.trunc", "trec_eval_9"),
    "out.test.aql": ("qrels.rel_level", "results.test", "trec_eval_9"),
}
#: The cutoff and the column of each measure that the leaderboard publishes.
LEADERBOARD = {
    "ndcg@10": (10, "ndcg"),
    "p@5": (5, "precision"),
    "RBP(p=.5)": (None, "rbp"),
    "bpref": (None, "bpref"),
    "MAP": (None, "ap"),
}
#: What each output of trec_eval's tests calls our columns: at the cutoff that ends its name, or of the whole ranking.
AT = {"P": "precision", "recall": "recall", "map_cut": "ap", "success": "success"}
WHOLE = {
    "map": "ap",
    "recip_rank": "rr",
    "bpref": "bpref",
    "Rprec": "rprec",
    "rbp": "rbp",
    "rbp_resid": "rbp_residual",
}


def scores_of(judgments, results, *options):
    """The dataset scores that the command prints with --format json."""
    done = command_line(
        "evaluate", judgments, results, "--format", "json", *options, cwd=Path.cwd()
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["dataset_scores"]


@pytest.mark.slow
def test_trec_covid_round_1_has_its_715_published_scores(shared_data):
    folder = shared_data / "trec-covid-round1"
    with (folder / "leaderboard.csv").open(encoding="utf-8") as file:
        published = {
            (row["run"], name): float(row[name])
            for row in csv.DictReader(file)
            for name in row
            if name in LEADERBOARD
        }
    measures = ["--measures", "nDCG@10 P@5 RBP(p=0.5) Bpref AP"]
    judgments, runs = folder / "qrels.txt", folder / "runs"
    rows = scores_of(judgments, runs, "--convention", "trec_eval_9", *measures)
    assert {row["convention"] for row in rows} == {"trec_eval_9 rbp_persistence=0.5 max_grade=2"}
    row_at = {(row["run"], row["cutoff"]): row for row in rows}
    ours = {
        (run, name): row_at[run, LEADERBOARD[name][0]][LEADERBOARD[name][1]]
        for run, name in published
    }
    assert len(ours) == 715
    # Four decimals, and the sum of 30 numbers may be rounded either way.
    assert ours == pytest.approx(published, rel=0, abs=5.0001e-5)


def test_trec_deep_learning_2019_has_its_published_score(shared_data):
    folder = shared_data / "trec-dl-2019"
    rows = scores_of(
        folder / "qrels.txt",
        folder / "bm25.run.gz",
        "--convention",
        "trec_eval_9",
        "--cutoffs",
        "10",
    )
    assert [f"{row['ndcg']:.4f}" for row in rows] == ["0.4973"]


def inputs_of(engine, folder, output):
    """The judgments, the results and the convention that trec_eval's output was made from."""
    qrels, run, convention = TREC_EVAL_TESTS[output]
    judgments = conform(judged(engine, folder / qrels).table, JUDGMENTS)
    return judgments, conform(returned(engine, folder / run).table, RESULTS), convention


def scores_like(engine, folder, output, deepest):
    """What trec_eval printed down to a cutoff, and what we find."""
    printed = defaultdict(dict)
    for line in (folder / output).read_text(encoding="utf-8").splitlines():
        measure, query, value = line.split()
        if measure.startswith("ndcg_cut_") and int(measure.removeprefix("ndcg_cut_")) <= deepest:
            printed[query][int(measure.removeprefix("ndcg_cut_"))] = value
    ours = defaultdict(dict)
    judgments, results, convention = inputs_of(engine, folder, output)
    scores = evaluate(judgments, results, sorted(printed["all"]), convention)
    for row in scores.query_scores.where("ndcg is not null").collect():
        ours[row["query_id"]][row["cutoff"]] = f"{row['ndcg']:.4f}"
    ours["all"] = {row["cutoff"]: f"{row['ndcg']:.4f}" for row in scores.dataset_scores.collect()}
    return printed, ours


@pytest.mark.parametrize("output", on_spark(TREC_EVAL_TESTS, "out.test.aqc"))
def test_trec_eval_prints_the_same_for_its_own_tests(engine, shared_data, output):
    # A plan of a thousand cutoffs takes classic Spark minutes.
    deepest = 1000 if engine.kind == "embedded" else 10
    printed, ours = scores_like(engine, shared_data / "trec-eval-tests", output, deepest)
    assert ours == {
        query: values for query, values in printed.items() if query == "all" or query in ours
    }
    assert len(printed) == len(ours)


def column_of(line):
    """The column and cutoff of a measure as trec_eval names it: P_10, map; None for one that is not computed here."""
    name, _, cutoff = line.rpartition("_")
    return (WHOLE[line], None) if line in WHOLE else (AT[name], int(cutoff)) if name in AT else None


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("output", TREC_EVAL_TESTS)
def test_trec_eval_prints_the_same_measures_for_its_own_tests(engine, shared_data, output):
    folder = shared_data / "trec-eval-tests"
    judgments, results, convention = inputs_of(engine, folder, output)
    # The last output is of trec_eval -l 2; -c is of the second.
    convention = Convention.preset("pytrec_eval" if output.endswith("l") else convention)
    options = {"max_grade": "highest_of_query", "relevant_from": 2 if output.endswith("l") else 1}
    lines = [line.split() for line in (folder / output).read_text(encoding="utf-8").splitlines()]
    printed = {(query, *column_of(name)): value for name, query, value in lines if column_of(name)}
    assert len(printed) == 144
    names = ["precision", "recall", "ap", "success"]
    asked = [
        f"{name}@{k}"
        for name in names
        for k in sorted({k for _, column, k in printed if column == name and k})
    ]
    measures = [*asked, "AP", "RR", "bpref", "Rprec", "RBP(p=0.9)", "Judged@5 Judged@10 Judged@20"]
    convention = convention.replace(**options)
    scores = scored(engine.session, judgments, results, convention=convention, measures=measures)
    ours = {
        (query, column, k): (scores.mean(k) if query == "all" else scores.of(query, k))[column]
        for query, column, k in printed
    }
    assert {key: f"{value:.4f}" for key, value in ours.items()} == printed
    unjudged = {
        (query, int(name.removeprefix("unj_"))): v
        for name, query, v in lines
        if name.startswith("unj_")
    }
    # Of a missing query, which the second output has, trec_eval says that nothing is unjudged.
    answered = {
        (query, k): scores.mean(k) if query == "all" else scores.of(query, k)
        for query, k in unjudged
    }
    if convention.missing_query == "skip":
        assert {key: f"{1 - row['judged_share']:.4f}" for key, row in answered.items()} == unjudged

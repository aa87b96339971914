"""Whole evaluations with measures beside NDCG: what is printed, kept, listed, recorded and refused."""

import csv
import io
import json
import math

import pyarrow.parquet as pq
import pytest
from commands import command_line
from kept_nights import only_night

from ndcg_spark.convention.measures import COLUMNS

QRELS = "q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 c 1\nq3 0 d 0\n"
#: `first` finds a document of q1 at rank 1, and one of q2 at rank 2; `second` finds both of q1, late.
FIRST = "q1 Q0 a 1 3 first\nq1 Q0 x 2 2 first\nq1 Q0 b 3 1 first\nq2 Q0 x 1 2 first\nq2 Q0 c 2 1 first\n"
SECOND = "q1 Q0 x 1 4 second\nq1 Q0 b 2 3 second\nq1 Q0 c 3 2 second\nq1 Q0 a 4 1 second\n"


@pytest.fixture
def folder(tmp_path):
    config = 'measures = ["ndcg", "judged@2", "AP"]\ncutoffs = [3]\njudgments = "qrels.txt"\nresults = "runs.txt"\n'
    for name, text in {
        "qrels.txt": QRELS,
        "runs.txt": FIRST + SECOND,
        "night.toml": config,
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(folder, *arguments, code=0):
    done = command_line(*arguments, cwd=folder, COLUMNS="100", NO_COLOR="1")
    assert done.returncode == code, done.stderr
    return done


def evaluate(folder, *arguments, code=0):
    return run(folder, "evaluate", "qrels.txt", "runs.txt", *arguments, code=code)


def table(text):
    return [line.split() for line in text.splitlines() if line.strip()]


def test_the_table_has_the_measures_in_their_order_and_the_best_by_the_first_on_top(folder):
    heading, *runs, _ = table(evaluate(folder, "--measures", "R@4 RR nDCG@4").stdout)
    assert heading[:7] == ["run", "recall@4", "rr@all", "ndcg@4", "queries", "relevant", "queries"]
    assert [row[:3] for row in runs] == [
        ["first", f"{(1 / 2 + 1) / 2:.4f}", f"{(1 + 1 / 2) / 2:.4f}"],
        ["second", f"{(1 + 0) / 2:.4f}", f"{1 / 3 / 2:.4f}"],
    ]
    assert [row[4:6] for row in runs] == [["2", "2"], ["2", "2"]]
    skipping = ["--set", "missing_query=skip"]
    _, *runs, _ = table(
        evaluate(folder, "--measures", "nDCG@5 R(rel=2)@4 RR(rel=2)@4", *skipping).stdout
    )
    # After the score its standard error, of two values half their distance; one has none.
    discount = 1 / math.log2(3)
    assert [[row[0], *row[2:7]] for row in runs] == [
        ["first", f"{abs(3 / (3 + discount) - discount) / 2:.4f}", "1.0000", "1.0000", "2", "1"],
        ["second", "-", "1.0000", "0.2500", "1", "1"],
    ]


def test_csv_and_json_have_the_columns_that_are_asked_for_and_the_same_table_is_kept(folder):
    asked = ["--measures", "P@2 RBP(p=0.5)@2", "--date", "2026-11-20", "--output", "out"]
    outcome = json.loads(evaluate(folder, *asked, "--format", "json").stdout)
    assert outcome["measures"] == ["precision@2", "rbp(p=0.5)@2"]
    assert outcome["convention"] == "standard rbp_persistence=0.5 max_grade=2"
    assert (
        "persistence 0.5 in RBP; the highest grade that RBP and ERR use is 2" in outcome["formula"]
    )
    assert {"counts", "rejected", "output", "seconds", "evaluation_id"} <= outcome.keys()
    first, second = outcome["dataset_scores"]
    assert list(first)[6:10] == ["ndcg", "precision", "rbp", "rbp_residual"]
    values = (1 / 2 + 1 / 2) / 2, (0.5 * 2 / 2 + 0.25 * 1 / 2) / 2, (0.25 + 0.5) / 2
    assert (first["precision"], first["rbp"], first["rbp_residual"]) == values
    assert (second["precision"], second["rbp"], second["relevant_queries"]) == (0.0, 0.0, 2)
    assert "recall" not in first
    kept = only_night(folder / "out").record
    assert kept["configuration"]["measures"] == outcome["measures"]
    assert (kept["options"]["max_grade"], kept["options"]["rbp_persistence"]) == (2, 0.5)
    for name in ("query_scores", "dataset_scores"):
        file, *others = folder.glob(f"out/{name}/**/*.parquet")
        assert name == "query_scores" or not others
        columns = pq.ParquetFile(file).schema_arrow.names
        assert [column for column in columns if column in COLUMNS] == list(COLUMNS)


def test_rows_of_queries_have_the_measures_after_ndcg_and_can_be_sorted_by_them(folder):
    asked = ["--measures", "P@2 RR", "--per-query"]
    heading, *rows = table(evaluate(folder, *asked, "--sort", "RR:asc").stdout)
    assert heading[3:7] == ["cutoff", "ndcg", "precision", "rr"]
    at_all = [row for row in rows if row[3] == "all"]
    assert [row[6] for row in at_all] == ["0.0000", "0.3333", "0.5000", "1.0000", "-", "-"]
    rows = csv.DictReader(io.StringIO(evaluate(folder, *asked, "--format", "csv").stdout))
    precision = {
        (row["run"], row["cutoff"]): row["precision"] for row in rows if row["query_id"] == "q1"
    }
    assert precision == {
        ("first", "2"): "0.5",
        ("first", "all"): "",
        ("second", "2"): "0.0",
        ("second", "all"): "",
    }


def test_a_configuration_names_measures_and_a_check_does_without_them(folder):
    heading, *_ = table(run(folder, "evaluate", "--config", "night.toml").stdout)
    assert heading[:6] == ["run", "ndcg@3", "std", "error", "judged@2", "ap@all"]
    heading, *_ = table(
        run(folder, "evaluate", "--config", "night.toml", "--measures", "success").stdout
    )
    assert heading[:3] == ["run", "success@3", "queries"]
    check_outcome = json.loads(
        run(folder, "check", "--config", "night.toml", "--format", "json").stdout
    )
    assert [row["cutoff"] for row in check_outcome["judged_rate"]] == [None, None]

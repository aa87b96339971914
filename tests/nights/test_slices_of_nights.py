"""Slices of a published night by a table that its evaluation did not have: as if it had had it."""

import csv
import io
import json

import folds
import pandas as pd
import pytest
from commands import command_line

from ndcg_spark import evaluate, read_scores
from ndcg_spark.errors import ConfigurationError, InputError

MEASURES = "nDCG@10 P@5 Rprec R_cap@3"
#: Some queries have no size, one has two languages, one is not judged, and letters are of one dataset.
SLICES = "query_id,attribute,value\nf0,size,big\nn0,size,small\nn1,size,big\nf1,lang,de\nf1,lang,en\ns0,lang,de\nx9,lang,fr\n"
FILES = {
    "slices.csv": SLICES,
    "wide.csv": "dataset,query_id,size,lang\nfiqa,f0,big,\nfiqa,n0,big,\nscifact,s0,small,de\n",
    "unknown.csv": "query_id,size\nx1,big\nx2,small\n",
    "twice.csv": "query_id,attribute,value\nf0,size,big\nf0,size,big\n",
    "no_id.csv": "colour,attribute,value\nf0,size,big\n",
    "empty.csv": "query_id,attribute,value\nf0,size,\n",
}
DATE = ("--date", "2026-11-20")
KEY = ("dataset", "run", "cutoff", "attribute", "value")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nights")
    judgments, results = folds.tables()
    # A query without a relevant document, and one that no run answers.
    empty = judgments["query_id"] == "n2"
    judgments["relevance"] = judgments["relevance"].mask(empty, 0)
    results = results[results["query_id"] != "n3"]
    judgments.to_csv(folder / "judgments.csv", index=False)
    results.to_csv(folder / "results.csv", index=False)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    assert evaluated(folder, "--output", "out").returncode == 0
    return folder


def evaluated(folder, *arguments):
    asked = ("--measures", MEASURES, *DATE)
    return command_line("evaluate", "judgments.csv", "results.csv", *asked, *arguments, cwd=folder)


def nights(folder, *arguments):
    return command_line("nights", "out", *arguments, cwd=folder)


def by_key(rows):
    return {tuple(str(row[name]) for name in KEY): row for row in rows}


def assert_same(ours, theirs):
    """The same rows, but for the evaluation."""
    ours, theirs = by_key(ours), by_key(theirs)
    assert ours.keys() == theirs.keys()
    for key, row in theirs.items():
        for name, value in row.items():
            is_number = isinstance(value, float)
            expected = pytest.approx(value, rel=1e-12, abs=1e-14) if is_number else value
            assert name == "evaluation_id" or ours[key][name] == expected, (key, name)


@pytest.mark.parametrize("file", ["slices.csv", "wide.csv"])
@pytest.mark.parametrize("dataset", [(), ("--dataset", "nfcorpus")])
def test_the_slices_are_those_of_an_evaluation_that_had_the_table(folder, file, dataset):
    theirs = json.loads(evaluated(folder, "--slices", file, "--format", "json").stdout)
    ours = json.loads(nights(folder, "--slices", file, *dataset, "--format", "json").stdout)
    for part in ("dataset_scores", "slice_scores"):
        expected = [row for row in theirs[part] if not dataset or row["dataset"] == dataset[1]]
        assert len(expected) >= 9
        assert_same(ours[part], expected)
    if not dataset:
        assert_same(ours["macro_means"], theirs["macro_means"])


def test_csv_has_the_rows_of_an_evaluation(folder):
    ours = csv.DictReader(
        io.StringIO(nights(folder, "--slices", "slices.csv", "--format", "csv").stdout)
    )
    theirs = csv.DictReader(
        io.StringIO(evaluated(folder, "--slices", "slices.csv", "--format", "csv").stdout)
    )
    names = ("dataset", "run", "cutoff", "attribute", "value", "queries")
    rows = [[[row[name] for name in names] for row in table] for table in (ours, theirs)]
    assert rows[0] == rows[1]
    assert ours.fieldnames == theirs.fieldnames


def test_python_reads_the_scores_with_slices(folder, session):
    table = pd.read_csv(folder / "slices.csv")
    ours = read_scores(folder / "out", attributes=table, date="2026-11-20")
    theirs = evaluate(
        *(pd.read_csv(folder / name) for name in ("judgments.csv", "results.csv")),
        measures=MEASURES,
        attributes=table,
    ).dataset_scores
    assert len(ours) == len(theirs)
    both = [frame.sort_values([*KEY], ignore_index=True) for frame in (ours, theirs)]
    names = ["ndcg", "ndcg_stderr", "ndcg_pooled", "precision", "rprec", "recall_cap", "queries"]
    pd.testing.assert_frame_equal(both[0][[*KEY, *names]], both[1][[*KEY, *names]], rtol=1e-12)
    lazy = read_scores(folder / "out", attributes=table, session=session)
    assert lazy.count() == len(ours)


def test_a_table_without_a_known_query_is_a_warning(folder):
    done = nights(folder, "--slices", "unknown.csv", "--format", "json")
    assert "query_attributes: none of its queries has scores here, e.g. x1" in done.stderr
    assert {row["value"] for row in json.loads(done.stdout)["slice_scores"]} == {"(none)"}
    with pytest.warns(UserWarning, match="none of its queries has scores"):
        read_scores(folder / "out", attributes=pd.read_csv(folder / "unknown.csv"))


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("--slices", "twice.csv"), 3, "1 row(s) repeat the query_id and attribute and value"),
        (("--slices", "no_id.csv"), 3, "it has colour, attribute, value; give query_id"),
        (("--slices", "empty.csv"), 3, "1 row(s) with an empty value"),
        (("--slices", "slices.csv", "--all"), 2, "list different things; give one"),
        (("--slices", "slices.csv", "--date", "2026-11-19"), 2, "there is no night on 2026-11-19"),
        (("--slices", "slices.csv", "--dataset", "figa"), 2, "no dataset is called 'figa'"),
        (DATE, 2, "--date and --dataset choose a night for --slices"),
    ],
)
def test_what_is_wrong_is_refused_with_the_reason(folder, arguments, code, reason):
    done = nights(folder, *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert reason in done.stderr


def test_what_is_wrong_in_python_is_refused_with_the_reason(folder):
    table = pd.read_csv(folder / "slices.csv")
    for wrong in ({"table": "query_scores"}, {"judgments": "newest"}):
        with pytest.raises(ConfigurationError, match="attributes work only with dataset_scores"):
            read_scores(folder / "out", attributes=table, **wrong)
    with pytest.raises(InputError, match="repeat the query_id"):
        read_scores(folder / "out", attributes=pd.concat([table, table[:1]]))

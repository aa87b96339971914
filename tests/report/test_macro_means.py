"""The mean over datasets: what evaluate, Python, nights and pages show of it, and which runs have none."""

import csv
import io
import json
import re
import statistics

import folds
import pandas as pd
import pytest
from commands import command_line
from kept_nights import night

from ndcg_spark import evaluate, latex, read_scores, report_night
from ndcg_spark.tables.macro import MACRO, macro_means

tool = pytest.importorskip("ir_measures")

ASKED = ["--convention", "ir_measures", "--measures", "nDCG@10 P@5"]


@pytest.fixture(scope="module")
def expected():
    """By run that all datasets have, the mean of the means of ir_measures."""
    found = folds.means(tool, *folds.tables())
    return {
        run: pytest.approx(statistics.mean(values), abs=1e-9)
        for run, values in found.items()
        if len(values) == len(folds.DATASETS)
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("datasets")
    judgments, results = folds.tables()
    judgments.to_csv(folder / "judgments.csv", index=False)
    results.to_csv(folder / "results.csv", index=False)
    for date in ("2026-11-19", "2026-11-20"):
        done = evaluated(folder, "--output", "out", "--date", date)
        assert done.returncode == 0, done.stderr
    return folder


def evaluated(folder, *arguments, judgments="judgments.csv"):
    return command_line("evaluate", judgments, "results.csv", *ASKED, *arguments, cwd=folder)


def at_10(rows):
    """By run, the ndcg at 10 of the rows over all datasets."""
    own = [row for row in rows if row["dataset"] == MACRO and str(row["cutoff"]) == "10"]
    return {row["run"]: float(row["ndcg"]) for row in own}


@pytest.mark.parametrize("style", ["json", "csv"])
def test_an_evaluation_has_a_row_over_its_datasets_per_run(folder, expected, style):
    out = evaluated(folder, "--format", style).stdout
    rows = (
        json.loads(out)["macro_means"] if style == "json" else [*csv.DictReader(io.StringIO(out))]
    )
    assert at_10(rows) == expected
    macro = [row for row in rows if row["dataset"] == MACRO]
    assert {int(row["datasets"]) for row in macro} == {3}
    assert {int(row["queries"]) for row in macro} == {16}
    # The datasets have as many rows as before, and the means none of their errors.
    assert {row["ndcg_stderr"] for row in macro} <= {None, ""}
    if style == "json":
        assert {row["dataset"] for row in json.loads(out)["dataset_scores"]} == {*folds.DATASETS}


@pytest.mark.parametrize("style", ["table", "markdown", "latex"])
def test_tables_end_with_the_means_and_say_which_runs_have_none(folder, expected, style):
    out = evaluated(folder, "--format", style).stdout
    lines = [
        line.split() for line in out.splitlines() if "(macro" in line and "unweighted" not in line
    ]
    shown = {word for line in lines for word in line}
    for mean in expected.values():
        assert any(f"{mean.expected:.4f}" in word for word in shown)
    assert len(lines) == 2
    assert "half has no results in 1 of 3 datasets, e.g. fiqa" in out


def test_python_has_the_means_below_the_datasets(session, expected):
    judgments, results = folds.tables()
    for tables in ((judgments, results), map(session.createDataFrame, (judgments, results))):
        scores = evaluate(*tables, [5, 10], "ir_measures", measures="nDCG@10 P@5").to_pandas()
        assert at_10(scores.macro_means.to_dict("records")) == expected
        table = scores.table()["ndcg@10"]
        assert table.loc[MACRO].to_dict() == expected
        assert [*table.index.get_level_values("dataset").unique()] == [*folds.DATASETS, MACRO]
        assert MACRO not in set(scores.dataset_scores["dataset"])
        assert "half has no results" in repr(scores)
        assert latex(scores).count(MACRO) == 3


def test_nights_are_as_they_were_and_their_means_are_taken_where_they_are_read(folder, expected):
    out = folder / "out"
    assert set(read_scores(out)["dataset"]) == {*folds.DATASETS}
    means = read_scores(out, "macro_means")
    for date in ("2026-11-19", "2026-11-20"):
        assert at_10(means[means["evaluated_on"] == date].to_dict("records")) == expected
    listed = command_line("nights", out, "--format", "json", cwd=folder)
    for entry in json.loads(listed.stdout):
        assert at_10(entry["macro_means"]) == expected
        assert {row["dataset"] for row in entry["dataset_scores"]} == {entry["dataset"]}
    rows = csv.DictReader(
        io.StringIO(command_line("nights", out, "--format", "csv", cwd=folder).stdout)
    )
    assert at_10(rows) == expected
    best = max(expected, key=lambda run: expected[run].expected)
    lines = command_line("nights", out, cwd=folder).stdout.splitlines()
    assert [line.split()[3] for line in lines if line.startswith(MACRO) and ":" not in line] == [
        best
    ] * 2


def test_a_page_of_several_datasets_shows_the_means(folder, expected):
    page = report_night(folder / "out").html
    for mean in expected.values():
        assert f"{mean.expected:.4f}" in page
    assert "half has no results in 1 of 3 datasets" in page
    assert "over the datasets" not in report_night(folder / "out", dataset="fiqa").html


def test_a_dataset_that_was_judged_and_has_no_results_is_one_that_every_run_lacks(folder):
    judgments, _ = folds.tables()
    more = judgments[judgments["dataset"] == "fiqa"].assign(dataset="trec-covid")
    both = pd.concat([judgments, more])
    both.to_csv(folder / "more.csv", index=False)
    night = ("--output", "absent", "--date", "2026-11-20")
    done = evaluated(folder, *night, "--format", "json", judgments="more.csv")
    assert json.loads(done.stdout)["macro_means"] == []
    assert read_scores(folder / "absent", "macro_means").empty
    listed = command_line("nights", "absent", cwd=folder).stdout
    assert "3 run(s) have no mean over the datasets" in listed
    with pytest.warns(UserWarning, match="trec-covid"):
        scores = evaluate(both, folds.tables()[1], 10)
    assert scores.macro_means.empty
    assert "3 run(s) have no mean over the datasets" in repr(scores)


def row(dataset, run="r", ndcg: float | None = 0.5, cutoff: int | None = 10, **more):
    known = {"dataset": dataset, "run": run, "cutoff": cutoff, "ndcg": ndcg, "queries": 3}
    return {**known, "convention": "standard", "formula": "f", "attribute": None, **more}


def test_a_convention_under_two_names_is_one():
    (mean,) = macro_means(
        [row("a", ndcg=0.2), row("b", ndcg=0.6, convention="standard gain=exp2")]
    )[0]
    assert (mean["ndcg"], mean["queries"], mean["datasets"]) == (pytest.approx(0.4), 6, 2)
    assert (mean["convention"], mean["formula"]) == (None, "f")


def test_of_one_dataset_there_is_no_mean_over_datasets():
    assert macro_means([row("a"), row("a", attribute="size")]) == ([], [])


@pytest.mark.parametrize(
    ("rows", "absent", "said"),
    [
        (
            [row("a"), row("b", "s"), row("a", "s")],
            (),
            "r has no results in 1 of 2 datasets, e.g. b",
        ),
        ([row("a"), row("b")], ["c"], "r has no results in 1 of 3 datasets, e.g. c"),
        (
            [row("a"), row("b", convention="beir")],
            (),
            "their conventions differ; a has standard, b has beir",
        ),
        (
            [row("a"), row("b", convention="standard relevant_from=2")],
            (),
            "their conventions differ; .* b has standard relevant_from=2",
        ),
        ([row("a"), row("b", cutoff=5)], (), "b was not evaluated at cutoff 10"),
        ([row("a"), row("b", ndcg=None)], (), "no mean of ndcg@10 .* no value in 1 of 2, e.g. b"),
    ],
)
def test_a_mean_is_never_over_fewer_datasets(rows, absent, said):
    means = macro_means(rows, absent)
    assert [one for one in means.rows if one["run"] == "r" and one["ndcg"] is not None] == []
    assert any(re.search(said, sentence) for sentence in means.sentences)


def test_nights_of_one_date_with_other_conventions_have_no_mean(tmp_path):
    night(tmp_path, 0, {"a": 0.5}, dataset="web")
    night(tmp_path, 0, {"b": 0.5}, dataset="shop")
    assert read_scores(tmp_path, "macro_means").empty
    listed = command_line("nights", tmp_path, cwd=tmp_path).stdout
    assert "2 run(s) have no mean over the datasets" in listed

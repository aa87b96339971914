"""The commands on published nights as functions of the library: what they show, and that it is what is printed."""

import csv
import io
import json
import pickle
import re

import pandas as pd
import pytest
from commands import command_line
from gated_nights import GATE, evaluated, settings

from ndcg_spark import evaluate, explain, gate_night, read_scores, report_night
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.schemas import DATASET_SCORES

pytestmark = pytest.mark.embedded


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """Two nights with their documents: one that was accepted, and one that is worse."""
    folder = tmp_path_factory.mktemp("nights")
    first = {**settings(folder, "2026-11-01", documents="all"), "accepted": "the first night"}
    nights = evaluated(folder, first, settings(folder, "2026-11-02", worse=30, documents="all"))
    assert [night["verdict"] for night in nights] == ["none", "fail"]
    return folder / "out"


def printed(output, *arguments):
    """What the command prints."""
    return command_line(*arguments, cwd=output.parent).stdout


@pytest.mark.parametrize("function", [report_night, lambda output: gate_night(output, {})])
def test_scores_that_are_not_published_are_refused_by_what_reads_nights(session, function):
    scores = evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, 5)
    with pytest.raises(ConfigurationError, match="not a Scores"):
        function(scores)


@pytest.mark.parametrize(("option", "paths"), [("--compare", 2), ("--like", 3)])
def test_paths_after_those_of_an_option_are_refused(session, tmp_path, option, paths):
    done = command_line("conventions", option, *"abcdef"[: paths + 2], cwd=tmp_path)
    assert done.returncode == 2
    assert f"so {'abcdef'[paths]} is one too many" in done.stderr


def test_a_gate_in_python_decides_as_the_command_and_as_the_night_has_it(session, output):
    toml = output.parent / "gate.toml"
    toml.write_text('[[gate.check]]\nruns = ["hybrid"]\ncutoff = 3\nmax_drop = 0.01\n')
    view, command = gate_night(output, {"gate": GATE}), ("gate", "out", "--config", "gate.toml")
    (verdict,) = view.json()
    assert (verdict["verdict"], verdict["exit_code"]) == ("fail", 5)
    assert (str(view), "<td" in view._repr_html_()) == (
        printed(output, *command).rstrip("\n"),
        True,
    )
    rows = list(csv.DictReader(io.StringIO(printed(output, *command, "--format", "csv"))))
    assert [list(view.to_pandas()), view.to_arrow().column_names] == [list(rows[0])] * 2
    assert view.to_pandas()["difference"].tolist() == [float(row["difference"]) for row in rows]
    assert gate_night(str(output), toml).json() == [verdict]
    assert gate_night(output, toml, date="2026-11-01").json()[0]["reason"] == "no_baseline"


def test_a_query_in_python_is_explained_as_the_command_does(session, output):
    view = explain(str(output), query="q0", run="hybrid", cutoff=3)
    command = ("explain", "out", "--query", "q0", "--run", "hybrid", "--cutoff", "3")
    assert (str(view), "<table" in view._repr_html_()) == (
        printed(output, *command).rstrip("\n"),
        True,
    )
    (value,) = view.json()
    assert json.loads(printed(output, *command, "--format", "json")) == [value]
    assert view.to_pandas()["contribution"].tolist() == [
        line["contribution"] for line in value["lines"]
    ]
    with pytest.raises(ConfigurationError, match="'7' is not one of"):
        explain(str(output), query=7)


JUDGED = {"q": {"a": 2, "b": 1}, "p": {"a": 1}}
RUNS = {
    "old": {"q": {"b": 2.0, "a": 1.0}},
    "new": pd.DataFrame({"qid": ["q", "q"], "docno": ["a", "b"], "score": [2, 1]}),
}


def test_tables_are_explained_without_a_night(session):
    view = explain(JUDGED, RUNS, query="q", run="new", baseline="old", convention="trec_eval")
    (value,) = view.json()
    assert (value["run"], value["ndcg"], value["convention"]) == ("new", 1.0, "trec_eval")
    assert "Compared with old" in str(view)
    assert view.to_pandas()["doc_id"].tolist() == ["a", "b"]
    for returned, ideals in ({"b": 1}, ["1.0000 to 2.6309"]), ({"b": 2, "a": 1}, []):
        runs = {**RUNS, "old": {"q": returned}}
        view = explain(
            JUDGED,
            runs,
            query="q",
            run="new",
            baseline="old",
            convention="trec_eval ideal=retrieved",
        )
        assert re.findall("changes sum to .*; ideal DCG (.*)", str(view)) == ideals
    numbers = {"query_id": [7] * 9, "doc_id": [*range(9)], "score": [*range(9)]}
    runs = {run: pd.DataFrame(numbers) for run in RUNS}
    (value,) = explain({7: {0: 1}}, runs, query=7, run="new", baseline="old").json()
    assert (len(value["lines"]), value["status"]) == (9, "scored")
    (value,) = explain({"q": ["a"]}, {"q": ["b", "a"]}, query="q", relevance=1).json()
    assert [line["relevance"] for line in value["lines"]] == [None, 1.0]
    excluded = {"query_id": ["q"], "doc_id": ["b"]}
    (value,) = explain(
        {"q": ["a"]}, {"q": ["b", "a"]}, query="q", relevance=1, exclude=excluded
    ).json()
    assert [line["doc_id"] for line in value["lines"]] == ["a"]


def test_scores_are_pickled_without_the_files_that_explain_them():
    scores = evaluate(JUDGED, RUNS, measures="AP")
    with pytest.raises(ConfigurationError, match="results"):
        explain(scores, RUNS, query="q")
    copy = pickle.loads(pickle.dumps(scores))  # noqa: S301  # made here
    assert (repr(copy), copy.query_scores.equals(scores.query_scores)) == (repr(scores), True)
    with pytest.raises(ConfigurationError, match="pickled scores and the scores of Spark"):
        explain(copy, query="q")


def test_what_is_neither_a_night_nor_two_tables_is_not_explained(output):
    for arguments, options in (
        ((JUDGED,), {}),
        ((JUDGED, RUNS), {"date": "2026-11-01"}),
        ((output,), {"relevance": 1}),
        ((output,), {"exclude": JUDGED}),
    ):
        with pytest.raises(ConfigurationError):
            explain(*arguments, query="q0", **options)


def test_what_is_read_of_nights_is_a_frame_of_pandas(output):
    scores, log, compared = (
        read_scores(output, name) for name in ("dataset_scores", "evaluations", "comparisons")
    )
    assert (len(scores), list(scores)) == (2 * 2, DATASET_SCORES.names)
    assert log["accepted"].fillna("").tolist() == ["the first night", ""]
    assert compared["evaluated_on"].astype(str).unique().tolist() == ["2026-11-02"]
    assert (
        len(read_scores(output, date="2026-11-01"))
        == len(read_scores(output, date=pd.Timestamp("2026-11-01")))
        == 2
    )
    with pytest.raises(ConfigurationError):
        read_scores(output, date="2026-10-01")


def test_a_report_in_python_shows_the_page_and_writes_it(session, output):
    file = output.parent / "report.html"
    page = report_night(str(output), file, date="2026-11-02")
    assert page._repr_html_().startswith("<iframe srcdoc=")
    assert file.read_text(encoding="utf-8") == page.html
    assert repr(page).splitlines()[0].startswith("default: ")

"""Paths and arguments as people write them in a shell and in a configuration file."""

import datetime
from pathlib import Path

import pytest

from ndcg_spark import paths
from ndcg_spark.cli.app import main
from ndcg_spark.cli.configuration import _columns, _input_paths
from ndcg_spark.config import load, validate
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.job import check as job

DATE = datetime.date(2026, 11, 20)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/d/{date}/{date:%Y/%m}.run", "/d/2026-11-20/2026/11.run"),
        ("/d/{date:%Y%m%d}*", "/d/20261120*"),
        ("/d/{x}", "/d/{x}"),
    ],
)
def test_a_date_stands_in_a_path_in_whatever_form(path, found):
    assert paths.dated(path, DATE) == found
    assert paths.without_dates("/d/{date}/{date:%Y%m%d}") == "/d//"


def test_home_and_variables_are_replaced_but_not_in_a_name_that_is_there(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("RUNS", "/runs")
    settings = {"judgments": {"path": "~/q"}, "results": {"path": ["$RUNS/a", "s3://b/${RUNS}"]}, "output": "~/out"}
    found = validate(settings, "test")
    assert (found.judgments.path, found.results.path) == (["/home/me/q"], ["/runs/a", "s3://b//runs"])
    assert found.output == "/home/me/out"
    (tmp_path / "$RUNS").touch()
    assert paths.expanded(str(tmp_path / "$RUNS")) == str(tmp_path / "$RUNS")


def test_a_variable_that_is_not_set_is_refused(monkeypatch):
    monkeypatch.delenv("NOWHERE", raising=False)
    with pytest.raises(
        ConfigurationError, match=r"judgments.path: \$NOWHERE/q: the environment variable NOWHERE is not set"
    ):
        validate({"judgments": {"path": "$NOWHERE/q"}, "results": {"path": "r"}}, "test")


@pytest.fixture
def toml(tmp_path, monkeypatch):
    """A configuration in a folder beside the one that is the current folder."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "here").mkdir()
    file = tmp_path / "conf" / "c.toml"
    file.write_text('judgments = "q/{date:%d}*.txt"\nresults = "r"\noutput = "out"\ndate = "2026-11-20"\n', "utf-8")
    monkeypatch.chdir(tmp_path / "here")
    return file


def put(folder, name):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).touch()


def test_a_path_that_leads_to_nothing_here_is_looked_for_beside_the_configuration(toml):
    put(toml.parent, "q/20a.txt")
    found = load(toml, {"date": None})
    assert found.judgments.path == [str(toml.parent / "q/{date:%d}*.txt")]
    assert (found.results.path, found.output, found.notes) == (["r"], "out", ())


def test_a_path_that_leads_to_two_places_leads_here_and_that_is_said(toml):
    for folder in (toml.parent, Path.cwd()):
        put(folder, "r")
    found = load(toml, {})
    assert found.results.path == ["r"]
    (note,) = found.notes
    assert note == f"results: r is in {Path.cwd()}, and beside the configuration in {toml.parent}; the first is used"


def test_a_path_of_the_command_line_is_never_looked_for_beside_the_configuration(toml):
    put(toml.parent, "other")
    assert load(toml, {"results": {"path": ["other"]}}).results.path == ["other"]


@pytest.fixture
def read(monkeypatch, capsys):
    """The paths of judgments, results and excludes of a command line, or what is said of it."""

    def of(*arguments):
        found = []
        monkeypatch.setattr(job, "check_inputs", lambda config: found.append(config) or {"judged_rate": []})
        with pytest.raises(SystemExit):
            main(["check", *arguments, "--format", "json"])
        for config in found:
            return [table and table.path for table in (config.judgments, config.results, config.exclude)]
        return capsys.readouterr().err

    return of


def test_an_option_takes_one_path_and_leaves_the_next_to_the_positions(read):
    assert read("--exclude", "seen.csv", "q", "a", "b") == [["q"], ["a", "b"], ["seen.csv"]]
    assert read("--exclude", "s", "--exclude", "t", "q", "a") == [["q"], ["a"], ["s", "t"]]
    assert read("--judgments", "q", "--results", "a", "--results", "b") == [["q"], ["a", "b"], None]
    said = read("--judgments", "q", "--results", "a", "b")
    assert "b and --judgments are both given; repeat the option before every" in said


def test_two_arguments_are_the_judgments_and_the_results():
    assert _input_paths(["q", "a", "b"], (), ()) == (["q"], ["a", "b"])
    assert _input_paths((), ["q"], ["a"]) == (["q"], ["a"])
    with pytest.raises(ConfigurationError, match="a and --results are both given"):
        _input_paths(["a", "b"], (), ["r"])
    with pytest.raises(ConfigurationError, match="only q is given; give the judgments, then the results"):
        _input_paths(["q"], (), ())


def test_a_column_is_mapped_for_every_table_that_has_it_or_for_one():
    assert _columns(["query_id=a=b", "results.doc_id=docno", "relevance=g"]) == {
        "judgments": {"query_id": "a=b", "relevance": "g"},
        "results": {"query_id": "a=b", "doc_id": "docno"},
    }


@pytest.mark.parametrize("text", ["doc_id", "doc_id=", "nothing=x", "runs.doc_id=x"])
def test_what_maps_no_column_is_refused(text):
    with pytest.raises(ConfigurationError, match=r"arguments: --column .* does not map a column; write OURS=YOURS"):
        _columns([text])


def test_columns_of_the_command_line_are_added_to_those_of_the_file(tmp_path):
    file = tmp_path / "c.toml"
    file.write_text('judgments = "q"\n[results]\npath = "r"\ncolumns.query_id = "a"\n', "utf-8")
    found = load(file, {"results": {"columns": {"doc_id": "b"}}, "judgments": {"columns": None}})
    assert found.results.columns == {"query_id": "a", "doc_id": "b"}


@pytest.mark.parametrize(
    ("word", "run", "run_from"), [("file", None, "file"), ("column", None, "column"), ("x", "x", None)]
)
def test_run_from_is_where_runs_are_named_or_the_name(word, run, run_from):
    found = validate({"judgments": {"path": "q"}, "results": {"path": "r", "run_from": word}}, "test").results
    assert (found.run, found.run_from) == (run, run_from)


def test_a_run_is_named_in_one_way():
    settings = {"judgments": {"path": "q"}, "results": {"path": "r", "run": "x", "run_from": "file"}}
    with pytest.raises(ConfigurationError, match="run and run_from both name the runs; remove one of them"):
        validate(settings, "test")

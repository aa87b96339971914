"""Paths and arguments as people write them in a shell and in a configuration file."""

import pytest

from ndcg_spark.cli.app import main
from ndcg_spark.cli.configuration import _columns, _input_paths
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.job import check as job


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

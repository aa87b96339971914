"""A file and the command line become one configuration, or one message with all that is wrong."""

import datetime
from pathlib import Path

import pytest

from ndcg_spark.config import EvaluationConfig, load, validate
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import ConfigurationError

CONF = Path(__file__).parents[1] / "conf"


def settings(**more):
    return {"judgments": {"path": "qrels"}, "results": {"path": "run"}, **more}


def configured(**more) -> EvaluationConfig:
    return validate(settings(**more), "arguments")


def written(folder: Path, text: str = "") -> Path:
    """A configuration file with both paths and this text."""
    file = folder / "night.toml"
    file.write_text(f'judgments.path = "qrels"\nresults.path = "run"\n{text}', encoding="utf-8")
    return file


def test_two_paths_are_enough_and_the_rest_has_defaults():
    config = configured()
    assert (config.judgments.path, config.results.path, config.output) == (["qrels"], ["run"], None)
    assert (config.dataset, config.cutoffs, config.engine) == ("default", [1, 3, 5, 10], "auto")
    assert config.convention == Convention()


def test_the_command_line_goes_before_the_file(tmp_path):
    file = written(tmp_path, 'dataset = "web"\ncutoffs = [1]\nresults.run = "bm25"')
    config = load(file, {"results": {"path": ["other"]}, "cutoffs": "5,all"})
    assert (config.results.path, config.results.run) == (["other"], "bm25")
    assert (config.dataset, config.cutoffs) == ("web", [5, None])


def test_arguments_that_were_not_given_leave_the_file_as_it_is(tmp_path):
    file = written(tmp_path, 'dataset = "web"\nconvention.gain = "linear"')
    absent = {"judgments": {"path": None, "format": None}, "dataset": None, "convention": {}}
    assert load(file, absent) == load(file, {})


def test_all_problems_stand_in_one_message():
    wrong = {"judgments": {"path": ""}, "results": {"path": "run"}, "cutoffs": "0", "convention": "no", "engine": "gpu"}
    places = "judgments.path.*cutoffs.*convention.*engine"
    with pytest.raises(ConfigurationError, match=rf"arguments: 4 problem\(s\): {places}"):
        validate(wrong, "arguments")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cutoff = [1]", r"cutoff: no such key \(did you mean 'cutoffs'\?\)"),
        ('results.name = "x"', "results.name: no such key"),
        ('convention.gian = "exp2"', "unknown option gian"),
    ],
)
def test_an_unknown_key_is_refused_by_name(tmp_path, text, problem):
    with pytest.raises(ConfigurationError, match=problem):
        load(written(tmp_path, text), {})


@pytest.mark.parametrize("given", ['"docno"', "[]", "5", "{rank = 5}"])
@pytest.mark.parametrize("overrides", [{}, {"results": {"columns": {"doc_id": "docno"}}}, {"results": {"run": "r"}}])
def test_columns_that_are_no_table_of_names_are_refused(tmp_path, given, overrides):
    with pytest.raises(ConfigurationError, match=r"1 problem\(s\): results\.columns"):
        load(written(tmp_path, f"results.columns = {given}"), overrides)


def test_missing_paths_are_refused_with_the_arguments_that_give_them():
    with pytest.raises(ConfigurationError, match=r"2 problem\(s\).*give --judgments.*give --results"):
        load(None, {})


@pytest.mark.parametrize(
    ("given", "cutoffs"),
    [
        ("1,3,10,all", [1, 3, 10, None]),
        ("all, 10,1,10", [1, 10, None]),
        ([5, "all", 2], [2, 5, None]),
        (["3", 3], [3]),
        (7, [7]),
        ("all", [None]),
    ],
)
def test_cutoffs_are_kept_once_ascending_and_the_whole_ranking_last(given, cutoffs):
    assert configured(cutoffs=given).cutoffs == cutoffs


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("1,0", "0"),
        ("0,1,x", "s 0, 'x'"),
        ([-1], "'-1'"),
        ("1,,3", "''"),
        ([1.5], "'1.5'"),
        ([True], "'True'"),
        ("ten", "'ten'"),
    ],
)
def test_what_is_no_cutoff_is_refused_by_its_text(given, named):
    with pytest.raises(ConfigurationError, match=rf"cutoffs: invalid cutoff *{named}; use positive integers or 'all'"):
        configured(cutoffs=given)


def test_a_date_of_the_file_and_one_of_the_command_line_are_the_same(tmp_path):
    file = written(tmp_path, "date = 2026-11-20")
    assert load(file, {}).date == load(None, settings(date="2026-11-20")).date == datetime.date(2026, 11, 20)


def test_a_convention_is_a_name_or_a_table():
    assert configured(convention="trec_eval").convention.label == "trec_eval"
    table = {"preset": "trec_eval", "gain": "exp2", "ties": "average"}
    assert configured(convention=table).convention.label == "trec_eval gain=exp2 ties=average"
    assert configured(convention={"gain": "linear"}).convention.label == "standard gain=linear"


def test_a_convention_of_the_command_line_replaces_that_of_the_file_options_and_all(tmp_path):
    file = written(tmp_path, 'convention.preset = "pytrec_eval"\nconvention.ties = "average"')
    assert load(file, {"convention": {"preset": "trec_eval"}}).convention.label == "trec_eval"


@pytest.mark.parametrize("text", ['convention = "trec_eval"', 'convention.preset = "trec_eval"'])
def test_options_of_the_command_line_change_the_convention_of_the_file(tmp_path, text):
    loaded = load(written(tmp_path, text), {"convention": {"ties": "average"}})
    assert loaded.convention.label == "trec_eval ties=average"


def test_a_wrong_convention_is_refused_with_all_its_values_and_its_place_once():
    with pytest.raises(ConfigurationError, match=r"1 problem\(s\): convention: unknown gain=a, ties=b; "):
        configured(convention={"gain": "a", "ties": "b"})


@pytest.mark.parametrize(("table", "column"), [("judgments", "score"), ("results", "relevance"), ("results", "docno")])
def test_only_a_column_of_the_table_can_be_mapped(table, column):
    assert configured(**{table: {"path": "p", "columns": {"doc_id": "sku"}}})
    with pytest.raises(ConfigurationError, match=rf"{table}: columns maps {column}; only dataset, .*can be mapped"):
        configured(**{table: {"path": "p", "columns": {column: "theirs"}}})


def test_a_server_and_the_embedded_engine_exclude_each_other():
    with pytest.raises(ConfigurationError, match="engine is embedded and remote names a server"):
        configured(engine="embedded", remote="sc://spark:15002")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("date", "yesterday"),
        ("date", "2026-13-01"),
        ("remote", "https://spark"),
        ("engine", "gpu"),
        ("cutoffs", []),
        ("dataset", ""),
        ("output", ""),
    ],
)
def test_a_value_without_a_meaning_is_refused_by_its_key(key, value):
    with pytest.raises(ConfigurationError, match=rf"arguments: 1 problem\(s\): {key}: "):
        configured(**{key: value})


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path):
    with pytest.raises(ConfigurationError, match=r"absent\.toml: cannot be read, No such file"):
        load(tmp_path / "absent.toml", {})


@pytest.mark.parametrize("content", [b"cutoffs = ", b'dataset = "\xe9"'])
def test_a_file_that_is_no_toml_is_refused_by_name(tmp_path, content):
    file = tmp_path / "night.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"night\.toml: not valid TOML"):
        load(file, {})


def test_the_example_loads_and_its_files_are_there():
    config = load(CONF / "example.toml", {})
    assert (config.dataset, config.output, config.cutoffs[-1]) == ("shop-search", None, None)
    tables = (config.judgments, config.results, config.query_attributes)
    assert all((CONF.parent / path).exists() for table in tables for path in table.path)


def test_the_nightly_configuration_loads_and_reads_the_date_that_is_scored():
    config = load(CONF / "nightly.toml", {"date": "2026-11-20"})
    assert all("2026-11-20" in config.dated(path) for path in [*config.judgments.path, *config.results.path])
    assert config.convention == Convention()
    assert (config.max_rejected_fraction, config.max_missing_fraction) == (0.001, 0.05)
    assert config.output is not None


@pytest.mark.parametrize(
    "name", ["max_rejected_fraction", "max_missing_fraction", "max_unjudged_fraction", "min_judged_rate"]
)
def test_limits_are_fractions_and_the_default_refuses_any_breach_and_allows_any_gap(name):
    assert getattr(configured(), name) == (1.0 if name in ("max_missing_fraction", "max_unjudged_fraction") else 0.0)
    assert getattr(configured(**{name: 0.25}), name) == 0.25
    for wrong in (-0.1, 1.1, "nan", "few"):
        with pytest.raises(ConfigurationError, match=name):
            configured(**{name: wrong})


def test_a_gain_table_of_the_command_line_replaces_that_of_the_file(tmp_path):
    file = tmp_path / "night.toml"
    file.write_text('judgments = "q"\nresults = "r"\nconvention.gain = { 0 = 0, 1 = 1 }\n', encoding="utf-8")
    assert load(file, {"convention": {"gain": {1: 0.5, 2: 3}}}).convention.gain == {1.0: 0.5, 2.0: 3.0}
    with pytest.raises(ConfigurationError, match=r"gain={}"):
        load(file, {"convention": {"gain": {}}})


@pytest.mark.parametrize("output", ["/scores[1]", "/scores/*", "/scores/{day}"])
def test_an_output_with_wildcards_is_refused(output):
    with pytest.raises(ConfigurationError, match="wildcards"):
        configured(output=output)


@pytest.mark.parametrize("columns", [{"doc_id": ""}, {"doc_id": "x", "query_id": "x"}])
def test_columns_are_mapped_to_a_name_each(columns):
    with pytest.raises(ConfigurationError, match="an empty name, or to one name twice"):
        configured(results={"path": "r", "columns": columns})

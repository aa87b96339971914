"""A file and the command line become one configuration, or one message with all that is wrong."""

import datetime
from pathlib import Path

import pytest

from ndcg_spark.config import NightConfig, dated, load, validate
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import ConfigurationError

CONF = Path(__file__).parents[1] / "conf"
TABLES = {"judgments": "qrels", "results": "run"}
GATE = {"check": [{"cutoff": 10, "max_drop": 0.01}]}


def configured(**settings):
    return validate({**TABLES, **settings}, "test")


def results(**settings):
    return {"results": {"path": "run", **settings}}


@pytest.fixture
def written(tmp_path):
    """Writes a configuration file with both paths and this text."""

    def write(text=""):
        file = tmp_path / "night.toml"
        file.write_text(f'judgments = "qrels"\nresults.path = "run"\n{text}', encoding="utf-8")
        return file

    return write


@pytest.mark.parametrize(
    ("text", "overrides", "expected"),
    [
        ('dataset = "web"', {"dataset": None}, {"dataset": "web"}),
        ('dataset = "web"', {"dataset": "shop"}, {"dataset": "shop"}),
        ("cutoffs = [1]", {"cutoffs": "5,all"}, {"cutoffs": [5, None]}),
        ("date = 2026-11-20", {}, {"date": datetime.date(2026, 11, 20)}),
        ("", {"date": "2026-11-20"}, {"date": datetime.date(2026, 11, 20)}),
        (
            'results.run = "bm25"',
            {"results": {"path": ["a", "b"]}},
            {"results": {"path": ["a", "b"], "run": "bm25"}},
        ),
        (
            "",
            {"judgments": {"path": None, "format": "csv"}},
            {"judgments": {"path": ["qrels"], "format": "csv"}},
        ),
        (
            'results.columns.query_id = "a"',
            results(columns={"doc_id": "b"}),
            results(path=["run"], columns={"query_id": "a", "doc_id": "b"}),
        ),
        (
            'convention = "trec_eval"',
            {"convention": {"ties": "average"}},
            {"convention": "trec_eval ties=average"},
        ),
        (
            'convention.ties = "average"',
            {"convention": {"preset": "trec_eval"}},
            {"convention": "trec_eval"},
        ),
        ('convention.gain = "linear"', {"convention": {}}, {"convention": "standard gain=linear"}),
        (
            "convention.gain = { 0 = 0, 1 = 1 }",
            {"convention": {"gain": {1: 0.5, 2: 3}}},
            {"convention": "standard gain={1: 0.5, 2: 3}"},
        ),
    ],
)
def test_overrides(written, text, overrides, expected):
    config = load(written(text), overrides)
    values = {**dict(config), "convention": config.convention.label}
    for table in ("judgments", "results"):
        values[table] = values[table].model_dump(include=set(expected.get(table, ())))
    assert {name: values[name] for name in expected} == expected


def test_labels_that_are_not_given_again_have_no_grade(written):
    file = written("judgments = { path = 'qrels', grades = { E = 3, S = 2 } }")
    file.write_text(file.read_text(encoding="utf-8").replace('judgments = "qrels"\n', "", 1))
    config = load(file, {"judgments": {"grades": {"E": 4}}})
    assert config.judgments.grades == {"E": 4}


@pytest.mark.parametrize("overrides", [{}, {"judgments": {"columns": {"doc_id": "d"}}}], ids=str)
@pytest.mark.parametrize("key", ["columns", "grades"])
def test_a_text_is_no_path_where_a_table_is_needed(tmp_path, key, overrides):
    file = tmp_path / "night.toml"
    file.write_text(f'judgments = {{path = "q", {key} = "x"}}\nresults = "run"', encoding="utf-8")
    with pytest.raises(ConfigurationError) as refused:
        load(file, overrides)
    assert [problem.option for problem in refused.value.problems] == [f"judgments.{key}"]


def test_measures_set_cutoffs_and_options():
    config = configured(measures="AP(rel=2) P(rel=2)@5", cutoffs=[3])
    assert (config.cutoffs, config.measures) == (
        [3, 5, None],
        ["ap(rel=2)@all", "precision(rel=2)@5"],
    )
    assert config.convention.label == "standard relevant_from=2"
    chosen = Convention(relevant_from=2)
    assert configured(measures="P(rel=2)@5", convention=chosen).chosen_options == {
        "preset",
        "relevant_from",
    }
    assert config.headline == "ap@all"


@pytest.mark.parametrize(
    ("settings", "places"),
    [
        ({"cutoff": [1]}, ["cutoff"]),
        (results(name="x"), ["results.name"]),
        ({"judgments": {"path": ""}, "cutoffs": "0", "convention": "no", "engine": "gpu"}, 4),
        ({"judgments": None, "results": None}, ["judgments", "results"]),
        ({"remote": "https://spark"}, ["remote"]),
        ({"cutoffs": []}, ["cutoffs"]),
        ({"output": ""}, ["output"]),
        ({"output": "/scores/{day}"}, ["output"]),
        ({"output": "s3:/bucket/scores"}, ["output"]),
        ({"output": __file__}, ["output"]),
        ({"documents": 200, "output": "out"}, ["documents"]),
        ({"documents": "all"}, ["documents"]),
        ({"documents": "everything"}, ["documents"]),
        ({"documents": "top", "output": "out"}, ["documents"]),
        ({"documents": 0, "output": "out"}, ["documents"]),
        ({"documents": True, "output": "out"}, ["documents"]),
        ({"convention": {"gain": "a", "ties": "b"}}, ["convention"]),
        ({"convention": {"gain": {}}}, ["convention"]),
        ({"convention": {"relevant_from": 2}, "measures": "P(rel=1)@5"}, ["measures"]),
        ({"convention": Convention(rbp_persistence=0.9), "measures": "RBP(p=0.5)"}, ["measures"]),
        ({"query_weights": "w.csv"}, ["query_weights"]),
        ({"metrics_file": "a.prom"}, ["metrics_file"]),
        (results(columns="docno"), ["results.columns"]),
        (results(columns={"docno": "x"}), ["results.columns"]),
        (results(columns={"doc_id": "x", "query_id": "x"}), ["results.columns"]),
        (results(run_from="bm25"), ["results.run_from"]),
        (results(path="$NOWHERE/q"), ["results.path[1]"]),
        (results(as_of="yesterday"), ["results.as_of"]),
        (results(as_of=-1), ["results.as_of.constrained-int", "results.as_of.str"]),
    ],
)
def test_problems_are_named_by_their_keys_at_once(monkeypatch, settings, places):
    monkeypatch.delenv("NOWHERE", raising=False)
    with pytest.raises(ConfigurationError) as refused:
        configured(**settings)
    start, problems = str(refused.value).split(" problem(s): ")
    assert start == f"test: {places if isinstance(places, int) else len(places)}"
    if not isinstance(places, int):
        assert [problem.split(": ")[0] for problem in problems.split("; ")][: len(places)] == places


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({}, None),
        ({"output": "out", "documents": "all"}, "all"),
        ({"output": "out", "gate": GATE}, "all"),
        ({"output": "out", "gate": GATE, "documents": 20}, 20),
        ({"output": "out", "gate": GATE, "documents": "everything"}, "everything"),
        # Where there is no output, the gate is refused, and not the documents that nobody has asked for.
        ({"gate": GATE}, None),
    ],
)
def test_with_a_gate_all_documents_are_kept_unless_something_else_is_said(settings, kept):
    config = configured(**settings)
    assert (config.kept_documents, config.for_log()["documents"]) == (kept, kept)


@pytest.mark.parametrize(
    ("given", "cutoffs"),
    [
        *(
            ("1,3,10,all", [1, 3, 10, None]),
            ("all, 10,1,10", [1, 10, None]),
            ([5, "all", 2], [2, 5, None]),
            (7, [7]),
        ),
        *((wrong, None) for wrong in ("1,0", [-1], "1,,3", [1.5], [True], "ten")),
    ],
)
def test_cutoffs_are_ascending_and_the_whole_ranking_last(given, cutoffs):
    if cutoffs is None:
        with pytest.raises(ConfigurationError, match=r"1 problem.*: cutoffs: "):
            configured(cutoffs=given)
    else:
        assert configured(cutoffs=given).cutoffs == cutoffs


@pytest.mark.parametrize("given", ["judgments", "results", None])
def test_a_command_needs_only_the_tables_that_it_reads(given):
    config = validate({given: "path"} if given else {}, "test", NightConfig)
    assert [name for name in TABLES if getattr(config, name)] == ([given] if given else [])


@pytest.mark.parametrize("content", [None, b"cutoffs = ", b'dataset = "\xe9"'])
def test_a_file_that_cannot_be_read(tmp_path, content):
    if content is not None:
        (tmp_path / "night.toml").write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"night\.toml[:;] "):
        load(tmp_path / "night.toml", {})


def test_the_nightly_configuration_reads_the_date_that_is_scored():
    config = load(CONF / "nightly.toml", {"date": "2026-11-20"})
    assert all(
        "2026-11-20" in config.dated(path)
        for path in [*config.judgments.path, *config.results.path]
    )
    assert config.convention == Convention()
    assert (config.max_rejected_fraction, config.max_missing_fraction) == (0.001, 0.05)
    assert config.output is not None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/d/{date}/{date:%Y/%m}.run", "/d/2026-11-20/2026/11.run"),
        ("/d/{date:%Y%m%d}*", "/d/20261120*"),
        ("/d/{x}", "/d/{x}"),
    ],
)
def test_dates_in_paths(path, expected):
    assert dated(path, datetime.date(2026, 11, 20)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [("12", 12), (3, 3), ("{date:%Y-%m-%d}T06:00:00Z",) * 2, (datetime.date(2026, 11, 1),) * 2],
)
def test_versions_of_tables(given, expected):
    assert configured(**results(as_of=given)).results.as_of == (
        expected.isoformat() if isinstance(expected, datetime.date) else expected
    )


def test_home_and_variables_are_replaced_except_in_a_name_that_exists(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("RUNS", "/runs")
    (tmp_path / "$RUNS").touch()
    config = configured(
        judgments="~/q", output="~/out", **results(path=["s3://b/${RUNS}", str(tmp_path / "$RUNS")])
    )
    assert (config.judgments.path, config.output) == (["/home/me/q"], "/home/me/out")
    assert config.results.path == ["s3://b//runs", str(tmp_path / "$RUNS")]


@pytest.mark.parametrize(
    ("settings", "inside"),
    [
        ({"baseline": "good"}, "baseline: unknown key; it belongs inside gate"),
        ({"max_drop": 0.1}, "max_drop: unknown key; it belongs inside gate.check"),
        (
            {"gate": {"cutoff": 3, "check": []}},
            "gate.cutoff: unknown key; it belongs inside gate.check",
        ),
    ],
)
def test_a_key_of_the_gate_that_stands_beside_it_is_told_where_it_belongs(settings, inside):
    with pytest.raises(ConfigurationError) as refused:
        load(settings, {}, NightConfig)
    assert inside in [str(problem) for problem in refused.value.problems]

"""Nights with a gate, from their files to what is published: whole, with the verdict, whatever it is."""

import json
import re
import shutil
from xml.etree import ElementTree as ET

import pytest
from commands import command_line
from gated_nights import QUERIES, evaluated, in_a_session, settings, write_night
from kept_nights import damage

from ndcg_spark.nights.log import committed
from ndcg_spark.nights.read import read_rows


@pytest.fixture(scope="module")
def two_good_nights(tmp_path_factory):
    """An output with two good nights, the first of which was accepted."""
    folder = tmp_path_factory.mktemp("good")
    first = {**settings(folder, "2026-11-01"), "accepted": "the first night"}
    found = short(evaluated(folder, first, settings(folder, "2026-11-02")))
    assert [(word, code) for word, _, code, _ in found] == [("none", 0), ("pass", 0)]
    return folder


@pytest.fixture
def after_two(two_good_nights, tmp_path):
    """A folder whose output has these two nights, as files that are its own."""
    shutil.copytree(two_good_nights / "out", tmp_path / "out")
    return tmp_path


def records(folder):
    return {night.evaluated_on: night.record for night in committed(str(folder / "out"))}


def rows(folder, table, date):
    nights = [night for night in committed(str(folder / "out")) if night.evaluated_on == date]
    return read_rows(nights, table).to_pylist()


def short(found):
    return [(night["verdict"], night["code"], night["exit_code"], night["nights"]) for night in found]


@pytest.mark.slow
def test_a_week_of_nights_each_beside_the_last_good_one(tmp_path):
    first = settings(tmp_path, "2026-11-01")
    unchanged = {"on_changed_judgments": "unchanged_queries"}
    found = evaluated(
        tmp_path,
        first,
        {**first, "accepted": "the first night"},
        settings(tmp_path, "2026-11-02"),
        settings(tmp_path, "2026-11-03", worse=30),
        settings(tmp_path, "2026-11-04", worse=2),
        settings(tmp_path, "2026-11-05", regraded=6),
        settings(tmp_path, "2026-11-06", unchanged, regraded=6),
        settings(tmp_path, "2026-11-07", regraded=6, runs=["bm25"]),
        settings(tmp_path, "2026-11-08", {"on_same_results": "fail"}, regraded=6),
        settings(tmp_path, "2026-11-09", regraded=6, convention={"gain": "linear"}),
    )
    assert short(found) == [
        ("none", "no_baseline", 6, [None]),
        ("none", "no_baseline", 0, [None]),
        ("pass", "passed", 0, ["2026-11-01"]),
        ("fail", "dropped", 5, ["2026-11-02"]),
        ("none", "drop_not_significant", 6, ["2026-11-02"]),
        ("none", "other_judgments", 6, ["2026-11-02"]),
        ("pass", "passed", 0, ["2026-11-02"]),
        ("none", "missing_run", 6, ["2026-11-06"]),
        ("fail", "same_results", 5, ["2026-11-06"]),
        ("none", "other_convention", 6, ["2026-11-06"]),
    ]
    assert found[5]["reason"].startswith("6 of 60 queries have other judgments than on 2026-11-02, e.g. q0;")
    # What was compared tonight are the queries that both nights judged alike.
    assert found[6]["findings"][0]["queries"] == QUERIES - 6
    assert found[6]["warnings"][-1].startswith("54 of 60 queries (90.00%) were compared with last_good (2026-11-02)")
    kept = records(tmp_path)
    assert [record["verdict"]["verdict"] for record in kept.values()] == [
        *("none", "pass", "fail", "none", "none", "pass", "none", "fail", "none")
    ]
    assert [record["verdict"]["previous"] for record in kept.values()] == [
        *(None, "none", "pass", "fail", "none", "none", "pass", "none", "fail")
    ]
    assert kept["2026-11-01"]["accepted"]["reason"] == "the first night"
    # The night that failed is published whole, with what its verdict rests on.
    (row,) = rows(tmp_path, "comparisons", "2026-11-03")
    assert (row["run"], row["baseline"], str(row["baseline_night"]), row["queries"]) == (
        "hybrid",
        "hybrid",
        "2026-11-02",
        60,
    )
    assert row["evaluation_id"] == kept["2026-11-03"]["evaluation_id"]
    assert kept["2026-11-03"]["verdict"]["findings"][0]["value"] == row["difference"]
    assert len(rows(tmp_path, "query_scores", "2026-11-03")) == 2 * QUERIES


@pytest.mark.slow
@pytest.mark.parametrize(("baseline", "check"), [([], {"min_value": 0.1}), ([{"run": "bm25"}], {"max_drop": 0.9})])
def test_a_gate_that_compares_no_nights_misses_a_run_until_a_night_without_it_is_accepted(tmp_path, baseline, check):
    gate = {"baseline": baseline, "check": [{"cutoff": 3, **check}]}
    runs = ["bm25", "dense"]
    found = evaluated(
        tmp_path,
        settings(tmp_path, "2026-11-01", gate, runs=["hybrid", *runs]),
        settings(tmp_path, "2026-11-02", gate, runs=runs),
        {**settings(tmp_path, "2026-11-03", gate, runs=runs), "accepted": "hybrid was given up"},
        settings(tmp_path, "2026-11-04", gate, runs=runs),
    )
    assert [(night["code"], night["exit_code"]) for night in found] == [
        *(("passed", 0), ("missing_run", 6), ("missing_run", 0), ("passed", 0))
    ]


@pytest.mark.slow
def test_a_night_that_was_last_good_and_is_run_again_is_not_compared_with_itself(after_two):
    found = evaluated(after_two, settings(after_two, "2026-11-02", worse=30), settings(after_two, "2026-11-03"))
    assert short(found) == [
        ("fail", "dropped", 5, ["2026-11-01"]),
        # It is no longer the last good one.
        ("pass", "passed", 0, ["2026-11-01"]),
    ]


@pytest.mark.slow
def test_slices_have_their_own_tolerance_and_an_absent_one_has_no_verdict(after_two):
    lines = "".join(f"q{n},language,{'de' if n < 50 else 'fr'}\n" for n in range(QUERIES))
    (after_two / "attributes.csv").write_text(f"query_id,attribute,value\n{lines}", encoding="utf-8")
    cut = {"query_attributes": {"path": str(after_two / "attributes.csv")}}
    german = {"runs": ["hybrid"], "cutoff": 3, "slice": "language=de", "max_drop": 0.01}
    english = {**german, "slice": "language=en"}
    few = {**german, "slice": "language=fr", "severity": "warn"}
    found = evaluated(
        after_two,
        settings(after_two, "2026-11-02", {"check": [{**german, "max_drop": 0.5}, few]}, worse=30, **cut),
        settings(after_two, "2026-11-03", {"check": [german], "baseline": [{"night": "2026-11-01"}]}, worse=30, **cut),
        settings(after_two, "2026-11-04", {"check": [english]}, **cut),
    )
    assert [night[:3] for night in short(found)] == [
        ("pass", "passed", 0),
        ("fail", "dropped", 5),
        ("none", "missing_slice", 6),
    ]
    assert found[0]["findings"][1]["code"] == "too_few_queries"


def test_a_night_is_published_without_a_verdict_where_another_has_lost_its_files(after_two):
    for file in (after_two / "out/query_scores").rglob("*.parquet"):
        file.unlink()
    (found,) = evaluated(after_two, settings(after_two, "2026-11-03"))
    assert short([found]) == [("none", "nights_unreadable", 6, [None])]
    assert len(rows(after_two, "query_scores", "2026-11-03")) == 2 * QUERIES


def query_scores(folder, date):
    """A file of a night's query scores."""
    file, *_ = (folder / "out/query_scores").glob(f"evaluated_on={date}/*/*.parquet")
    return file


def test_a_night_is_published_whatever_files_are_damaged(after_two):
    # Of another night than the baseline, whatever is left of it; of the baseline, bytes that a size does not tell.
    query_scores(after_two, "2026-11-01").write_bytes(b"PAR1")
    baseline = query_scores(after_two, "2026-11-02")
    (found,) = evaluated(after_two, settings(after_two, "2026-11-03"))
    assert short([found]) == [("pass", "passed", 0, ["2026-11-02"])]
    baseline.write_bytes(bytes(baseline.stat().st_size))
    (found,) = evaluated(after_two, settings(after_two, "2026-11-03"))
    assert short([found]) == [("none", "nights_unreadable", 6, [None])]
    assert "query_scores" in found["reason"]
    assert len(rows(after_two, "query_scores", "2026-11-03")) == 2 * QUERIES


def test_a_damaged_log_that_is_older_than_the_last_good_night_disturbs_no_verdict(after_two):
    damage(after_two / "out", "2026-11-01")
    (found,) = evaluated(after_two, settings(after_two, "2026-11-03"))
    assert short([found]) == [("pass", "passed", 0, ["2026-11-02"])]


#: A gate that judges every run of a night.
GATE_OF_ALL = (
    'engine = "embedded"\n[gate]\n[[gate.baseline]]\nnight = "last_good"\n'
    '[[gate.check]]\ncutoff = "all"\nmax_drop = 0.01\n'
)


def of_datasets(folder, date, *datasets, gate=None, absent=None, **worse):
    """The settings of a night of these datasets, so many queries of each worse; files with a column `dataset`.

    The dataset `absent` is judged but has no results.
    """
    columns = {"judgments": "dataset,query_id,doc_id,relevance", "results": "dataset,run,query_id,doc_id,rank"}
    lines = {name: [header] for name, header in columns.items()}
    for dataset in datasets:
        for n in range(QUERIES):
            documents = ["x", "a"] if n < worse.get(dataset, 0) else ["a", "x"]
            lines["judgments"].append(f"{dataset},q{n},a,1")
            lines["results"] += (
                [] if dataset == absent else [f"{dataset},r,q{n},{doc},{rank}" for rank, doc in enumerate(documents, 1)]
            )
    for name, text in lines.items():
        (folder / f"{date}-{name}.csv").write_text("\n".join(text), encoding="utf-8")
    paths = {name: {"path": str(folder / f"{date}-{name}.csv")} for name in columns}
    check = {"cutoff": "all", "max_relative_drop": 0.05}
    return {**settings(folder, date, gate or {"check": [check]}), **paths, "cutoffs": "all"}


@pytest.mark.slow
def test_every_dataset_has_a_verdict_of_its_own_in_the_record_of_its_night(tmp_path):
    first = {**of_datasets(tmp_path, "2026-11-01", "shop", "web"), "accepted": "the first night"}
    second = of_datasets(tmp_path, "2026-11-02", "shop", "web", web=40)
    found = in_a_session(_codes_of_nights, tmp_path, first, second)
    assert found == [[["shop", "no_baseline"], ["web", "no_baseline"]], [["shop", "passed"], ["web", "dropped"]]]
    words = [
        (night.dataset, night.evaluated_on, night.record["verdict"]["verdict"])
        for night in committed(str(tmp_path / "out"))
    ]
    assert words[1::2] == [("shop", "2026-11-02", "pass"), ("web", "2026-11-02", "fail")]


@pytest.mark.slow
def test_a_dataset_that_does_not_arrive_has_no_verdict_until_somebody_accepts_that(tmp_path):
    first = {**of_datasets(tmp_path, "2026-11-01", "shop", "web"), "accepted": "the first night"}
    found = in_a_session(
        _codes_of_nights,
        tmp_path,
        first,
        of_datasets(tmp_path, "2026-11-02", "shop"),
        of_datasets(tmp_path, "2026-11-03", "shop", gate={"check": [{"cutoff": "all", "min_value": 0.1}]}),
    )
    assert found[1:] == [[["shop", "missing_dataset"]], [["shop", "missing_dataset"]]]
    (tmp_path / "gate.toml").write_text(GATE_OF_ALL, encoding="utf-8")
    judge = ("gate", "out", "--config", "gate.toml")
    assert program(tmp_path, *judge).returncode == 6
    assert program(tmp_path, *judge, "--accept-baseline", "web was given up").returncode == 0
    (night,) = in_a_session(_codes_of_nights, tmp_path, of_datasets(tmp_path, "2026-11-04", "shop"))
    assert night == [["shop", "passed"]]
    assert program(tmp_path, *judge).returncode == 0


@pytest.mark.slow
def test_a_dataset_that_is_judged_but_has_no_results_has_no_verdict_even_where_its_date_is_evaluated_again(tmp_path):
    first = {**of_datasets(tmp_path, "2026-11-01", "shop", "web"), "accepted": "the first night"}
    in_a_session(_codes_of_nights, tmp_path, first, of_datasets(tmp_path, "2026-11-02", "shop", "web"))
    again = of_datasets(tmp_path, "2026-11-02", "shop", "web", absent="web")
    (rerun,) = in_a_session(_codes_of_nights, tmp_path, again)
    assert rerun == [["shop", "missing_dataset"], ["web", "missing_dataset"]]
    (tmp_path / "gate.toml").write_text(GATE_OF_ALL, encoding="utf-8")
    for only in ([], ["--dataset", "shop"], ["--dataset", "web"]):
        judged = program(tmp_path, "gate", "out", "--config", "gate.toml", "--format", "json", *only)
        verdicts = [[each["dataset"], each["code"]] for each in json.loads(judged.stdout)]
        assert (judged.returncode, verdicts) == (6, [each for each in rerun if each[0] in (only or each)])
    # A dataset that nobody knew before, and a gate that compares no nights.
    alone = {"baseline": [], "check": [{"cutoff": "all", "min_value": 0.1}]}
    (new,) = in_a_session(
        _codes_of_nights, tmp_path, of_datasets(tmp_path, "2026-11-03", "shop", "web", "new", absent="new", gate=alone)
    )
    assert new == [["shop", "passed"], ["web", "passed"], ["new", "missing_dataset"]]
    night, _ = [each for each in committed(str(tmp_path / "out")) if each.evaluated_on == "2026-11-03"]
    assert (night.dataset, night.record["verdict"]["verdict"]) == ("shop", "pass")
    assert night.record["datasets_without_results"] == ["new"]


@pytest.mark.slow
def test_a_dataset_that_is_evaluated_alone_and_does_not_arrive_has_no_verdict_of_its_own(tmp_path):
    nights = [of_datasets(tmp_path, f"2026-11-0{n}", name) for n, name in ((1, "web"), (2, "shop"), (3, "shop"))]
    accepted = [{**night, "accepted": "the first night"} for night in nights[:2]]
    found = in_a_session(_codes_of_nights, tmp_path, *accepted, nights[2])
    # Other datasets of the same output are of no concern to an evaluation.
    assert found[1:] == [[["shop", "no_baseline"]], [["shop", "passed"]]]
    (tmp_path / "gate.toml").write_text(GATE_OF_ALL, encoding="utf-8")
    judge = ("gate", "out", "--config", "gate.toml", "--date", "2026-11-03")
    again = program(tmp_path, *judge, "--format", "json", "--junit", "gate.xml")
    assert again.returncode == 6
    words = [(each["dataset"], each["verdict"], each["code"]) for each in json.loads(again.stdout)]
    assert words == [("shop", "pass", "passed"), ("web", "none", "missing_dataset")]
    assert [suite.get("errors") for suite in junit(tmp_path / "gate.xml")] == ["0", "1"]
    assert program(tmp_path, *judge, "--dataset", "shop").returncode == 0
    # A gate that compares no nights expects none, and says which it leaves out.
    least = '[gate]\n[[gate.check]]\ncutoff = "all"\nmin_value = 0.1\n'
    (tmp_path / "least.toml").write_text(least, encoding="utf-8")
    alone = program(tmp_path, "gate", "out", "--config", "least.toml", "--engine", "embedded")
    assert (alone.returncode, "left out: web (its last is of 2026-11-01)" in alone.stderr) == (0, True)
    assert "left out" not in again.stderr


def _codes_of_nights(_, *nights):
    from ndcg_spark.config import validate
    from ndcg_spark.job.evaluate import evaluate

    found = []
    for night in nights:
        given = dict(night)
        accepted = given.pop("accepted", None)
        outcome = evaluate(validate(given, "test"), None, accepted)
        found.append([(verdict.dataset, verdict.code) for verdict in outcome.verdicts])
    return found


@pytest.fixture(scope="module")
def nights(two_good_nights, tmp_path_factory):
    """An output with a good night and one that failed, and a configuration."""
    folder = tmp_path_factory.mktemp("gate")
    shutil.copytree(two_good_nights / "out", folder / "out")
    evaluated(folder, settings(folder, "2026-11-02", worse=30))
    paths = write_night(folder, worse=30)
    (folder / "gate.toml").write_text(
        f'engine = "embedded"\ncutoffs = [3]\njudgments = "{paths["judgments"]["path"]}"\n'
        f'results = "{paths["results"]["path"]}"\n[gate]\n[[gate.baseline]]\nnight = "last_good"\n'
        '[[gate.check]]\nruns = ["hybrid"]\ncutoff = 3\nmax_drop = 0.01\n',
        encoding="utf-8",
    )
    return folder


def program(folder, *arguments):
    return command_line(*arguments, cwd=folder, COLUMNS="100", NO_COLOR="1")


def junit(file):
    return ET.parse(file).getroot()  # noqa: S314  # we have written it


def test_the_exit_code_is_the_verdict_and_stdout_stays_one_object_of_json(nights):
    night = ("evaluate", "--config", "gate.toml", "--output", "more", "--junit", "gate.xml")
    done = program(nights, *night, "--date", "2026-11-01", "--format", "json")
    assert done.returncode == 6, done.stderr
    (verdict,) = json.loads(done.stdout)["verdicts"]
    assert (verdict["verdict"], verdict["code"]) == ("none", "no_baseline")
    (case,) = junit(nights / "gate.xml").findall("testsuite/testcase")
    assert (case.get("name"), case.find("error").get("type")) == ("drop ndcg@3 hybrid against last_good", "no_baseline")


def test_a_night_is_judged_again_by_another_gate_and_stays_as_it_was(nights):
    before = records(nights)
    failed = program(nights, "gate", "out", "--config", "gate.toml", "--junit", "again.xml")
    assert failed.returncode == 5, failed.stderr
    assert failed.stdout.splitlines()[1].split()[:4] == ["ndcg@3", "hybrid", "last_good", "2026-11-01"]
    suite = junit(nights / "again.xml").find("testsuite")
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("default of 2026-11-02", "1", "1")
    # What is evaluated, and at which cutoffs, need not be said again.
    loose = '[gate]\nbaseline = [{night = "2026-11-01"}]\ncheck = [{runs = ["hybrid"], cutoff = 3, max_drop = 0.9}]\n'
    (nights / "loose.toml").write_text(loose, encoding="utf-8")
    passed = program(nights, "gate", "out", "--config", "loose.toml", "--date", "2026-11-02", "--format", "json")
    assert (passed.returncode, json.loads(passed.stdout)[0]["verdict"]) == (0, "pass")
    assert records(nights) == before
    assert listed(nights, "out") == [("2026-11-01", "no verdict (accepted)"), ("2026-11-02", "fail")]


def listed(folder, output):
    """The date of each night and its verdict, as `nights` prints them."""
    cells = (re.split(r"  +", line) for line in program(folder, "nights", output).stdout.splitlines()[1:])
    return [(row[1], row[2]) for row in cells]


def test_a_night_shows_the_same_verdict_whichever_command_has_accepted_it(nights):
    night = ("--config", "gate.toml", "--date", "2026-11-01")
    codes = [
        program(nights, "evaluate", *night, "--output", "by-evaluate", "--accept-baseline", "the first").returncode,
        program(nights, "evaluate", *night, "--output", "by-gate").returncode,
        program(nights, "gate", "by-gate", *night, "--accept-baseline", "the first").returncode,
    ]
    assert codes == [0, 6, 0]
    # It is accepted, too, where it is judged again without a word about that.
    again = program(nights, "gate", "by-evaluate", *night, "--format", "json")
    assert (again.returncode, json.loads(again.stdout)[0]["accepted"]) == (0, "the first")
    assert listed(nights, "by-evaluate") == listed(nights, "by-gate") == [("2026-11-01", "no verdict (accepted)")]


def test_a_night_that_is_accepted_later_says_why_and_nothing_else_of_it_changes(nights):
    before = records(nights)["2026-11-02"]
    done = program(nights, "gate", "out", "--config", "gate.toml", "--accept-baseline", "the new index")
    assert done.returncode == 5, done.stderr
    assert "accepted default of 2026-11-02, as a baseline of later nights: the new index" in done.stderr
    after = records(nights)["2026-11-02"]
    assert after.pop("accepted")["reason"] == "the new index"
    # A revision of the same evaluation, and nothing else.
    changes = {name for name in after if after[name] != before.get(name)}
    assert changes == {"revision", "revised_at", "accepted_at", "is_baseline", "file", "written"}
    (found,) = evaluated(nights, settings(nights, "2026-11-03", worse=30))
    assert short([found]) == [("pass", "passed", 0, ["2026-11-02"])]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (
            ["gate", "out", "--config", "gate.toml", "--date", "2026-11-09"],
            2,
            "no night of 2026-11-09; the newest is of",
        ),
        (["gate", "out", "--config", "gate.toml", "--dataset", "defualt"], 2, "did you mean 'default'"),
        (["evaluate", "--config", "gate.toml"], 2, "there is no output; give --output"),
        (
            ["evaluate", "--config", "gate.toml", "--output", "o", "--junit", "gate.toml/gate.xml"],
            2,
            "gate.toml/gate.xml cannot be written",
        ),
    ],
)
def test_what_cannot_be_judged_is_told_before_anything_is_computed(nights, arguments, code, words):
    done = program(nights, *arguments)
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr

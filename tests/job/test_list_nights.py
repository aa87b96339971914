"""Nights that keep their lists: what is published of how these changed, and what the gate says of it."""

import json
from xml.etree import ElementTree as ET

import pyarrow.parquet as pq
import pytest
from commands import command_line
from gated_nights import QUERIES, evaluated, in_a_session, settings

from ndcg_spark.nights.records import committed

#: Half of the lists of `hybrid` change in the second night, and one query is not judged.
LISTS = {"lists": [{"cutoff": 3, "max_changed_share": 0.4}, {"cutoff": 3, "runs": ["bm25"], "min_changed_share": 0.1}]}


def night(folder, date, *, worse=0, gate=None, **more):
    """The settings of a night whose lists are kept; the query `u` is not judged."""
    given = settings(folder, date, gate or LISTS, worse=worse, documents="lists", **more)
    (folder / "u.run").write_text("u Q0 x 1 1 hybrid\n", encoding="utf-8")
    return {**given, "results": {"path": [given["results"]["path"], str(folder / "u.run")]}}


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """An output with two nights that keep their lists, and what they came to."""
    folder = tmp_path_factory.mktemp("lists")
    first = {**night(folder, "2026-11-01"), "accepted": "the first night"}
    return folder, evaluated(folder, first, night(folder, "2026-11-02", worse=30))


def changes(folder, date):
    (found,) = (each for each in committed(str(folder / "out")) if each.evaluated_on == date)
    files = [folder / "out" / path for path in found.files("list_changes")]
    return found, [row for file in files for row in pq.read_table(file).to_pylist()]


@pytest.mark.slow
def test_a_night_publishes_how_its_lists_changed_since_the_baseline_of_its_gate(nights):
    folder, _ = nights
    assert changes(folder, "2026-11-01")[1] == []
    found, rows = changes(folder, "2026-11-02")
    assert len(rows) == 2 * QUERIES + 1
    assert sum(row["run"] == "hybrid" and not row["same_order"] for row in rows) == 30
    assert [row["query_id"] for row in rows if not row["judged"]] == ["u"]
    assert {(row["baseline"] == row["run"], str(row["baseline_night"])) for row in rows} == {(True, "2026-11-01")}
    assert sum(file["rows"] for file in found.record["files"]["list_changes"].values()) == len(rows)


@pytest.mark.slow
def test_the_gate_says_in_the_record_that_lists_changed_or_did_not(nights):
    folder, (first, second) = nights
    # Checks of lists only warn unless they are told to fail, and a failure of the scores goes before.
    assert {each["code"] for each in first["findings"] if each["measure"] == "changed_share"} == {"no_baseline"}
    assert (first["verdict"], second["verdict"], second["code"]) == ("none", "fail", "dropped")
    (found,) = (each for each in committed(str(folder / "out")) if each.evaluated_on == "2026-11-02")
    of_lists = [each for each in found.record["verdict"]["findings"] if each["measure"] == "changed_share"]
    assert [(each["run"], each["effect"], each["code"], each["value"]) for each in of_lists] == [
        ("bm25", "pass", "within_limit", 0.0),
        ("hybrid", "warning", "lists_changed", 30 / (QUERIES + 1)),
        ("bm25", "warning", "lists_unchanged", 0.0),
    ]
    assert any(warning.startswith("lists@3 of bm25: the share of queries") for warning in second["warnings"])


def _without_gate(_, given):
    from ndcg_spark.config import validate
    from ndcg_spark.job.evaluate import evaluate

    evaluate(validate(given, "test"), lambda *_: None)


@pytest.mark.slow
def test_without_a_gate_lists_are_compared_with_those_of_the_night_before(nights):
    folder, _ = nights
    for date, worse in (("2026-12-01", 0), ("2026-12-02", 0), ("2026-12-03", 12)):
        given = night(folder, date, worse=worse)
        del given["gate"]
        in_a_session(_without_gate, folder, {**given, "dataset": "web"})
    _, rows = changes(folder, "2026-12-03")
    assert {str(row["baseline_night"]) for row in rows} == {"2026-12-02"}
    assert sum(not row["same_order"] for row in rows) == 12


@pytest.mark.slow
def test_a_published_night_is_judged_by_its_lists_and_rehearsed(nights):
    folder, _ = nights
    gate = '[[gate.baseline]]\nnight = "2026-11-01"\n[[gate.lists]]\ncutoff = 3\nmax_changed_share = 0.4\n'
    (folder / "lists.toml").write_text(f'{gate}severity = "fail"\n', encoding="utf-8")
    judge = ("gate", "out", "--dataset", "default", "--config", "lists.toml", "--engine", "embedded")
    done = command_line(*judge, "--date", "2026-11-02", "--junit", "gate.xml", cwd=folder)
    assert (done.returncode, "lists_changed" in done.stdout) == (5, True), done.stderr
    cases = ET.parse(folder / "gate.xml").findall(".//testcase[failure]")  # noqa: S314  # we have written it
    assert [case.get("name") for case in cases] == ["max_changed_share changed_share@3 hybrid against 2026-11-01"]
    done = command_line(*judge, "--rehearse", "--format", "json", cwd=folder)
    assert [(each["evaluated_on"], each["code"]) for each in json.loads(done.stdout)] == [
        ("2026-11-02", "lists_changed")
    ]


@pytest.mark.slow
def test_a_baseline_without_lists_is_no_pass(tmp_path):
    gate = {"lists": [{"cutoff": 3, "min_rbo": 0.0, "severity": "fail"}]}
    plain = settings(tmp_path, "2026-11-01")
    first = {**plain, "accepted": "the first night"}
    _, second = evaluated(tmp_path, first, night(tmp_path, "2026-11-02", gate=gate))
    assert (second["verdict"], second["code"], second["exit_code"]) == ("none", "no_lists", 6)
    assert changes(tmp_path, "2026-11-02")[1] == []


def test_checks_of_lists_need_nights_that_keep_them(tmp_path):
    given = json.dumps(settings(tmp_path, "2026-11-01")["results"]["path"])
    text = f'judgments = {given}\nresults = {given}\noutput = "out"\n[gate]\nlists = [{{cutoff = 10, min_rbo = 0.5}}]\n'
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    done = command_line("evaluate", "--config", "c.toml", cwd=tmp_path)
    message = 'gate.lists: nights do not keep lists to compare; set documents = "lists"'
    assert (done.returncode, message in done.stderr) == (2, True)

"""Nights with a gate, from their files to what is published, and the command `gate`."""

import json
import re
import shutil
from xml.etree import ElementTree as ET

import gates
import pytest
import sessions
from commands import command_line
from gated_nights import QUERIES, evaluated, settings, write_night
from kept_nights import damage

from ndcg_spark.config import validate
from ndcg_spark.job.evaluate_inputs import evaluate
from ndcg_spark.job.gate import report_verdicts
from ndcg_spark.nights.log import committed
from ndcg_spark.nights.reader import read_rows


@pytest.fixture(scope="module")
def two_good_nights(tmp_path_factory):
    """An output with two good nights, the first of which was accepted."""
    folder = tmp_path_factory.mktemp("good")
    first = {**settings(folder, "2026-11-01"), "accepted": "the first night"}
    summary = short(evaluated(folder, first, settings(folder, "2026-11-02")))
    assert summary == [("none", "no_baseline", 0, []), ("pass", None, 0, ["2026-11-01"])]
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


def short(evaluated_nights):
    return [
        (night["verdict"], night["reason"], night["exit_code"], night["nights"])
        for night in evaluated_nights
    ]


@pytest.mark.parametrize(
    ("again", "code", "accepted"),
    [
        ({}, 0, "the first night"),
        ({"worse": 1}, 6, None),
        ({"regraded": 1}, 6, None),
        ({"convention": {"gain": "linear"}}, 6, None),
    ],
)
def test_an_acceptance_ends_with_its_scores(after_two, again, code, accepted, caplog):
    night = settings(after_two, "2026-11-01", **again)
    assert short(evaluated(after_two, night)) == [("none", "no_baseline", code, [])]
    assert records(after_two)["2026-11-01"]["accepted"] == accepted
    assert ("--accept-baseline REASON" in caplog.text) == (accepted is None)


@pytest.mark.parametrize(
    ("reason", "baseline", "told"),
    [
        ("other_judgments", "2026-11-19", True),
        ("new_run", "2026-11-19", True),
        ("dropped", "2026-11-19", True),
        ("missing_run", "2026-11-19", False),
        ("other_judgments", "good", False),
    ],
)
def test_who_accepts_a_night_is_told_that_a_date_in_baseline_stays(caplog, reason, baseline, told):
    refused = gates.result("not_comparable", reason, baseline=baseline)
    with caplog.at_level("INFO"):
        report_verdicts([gates.verdict(refused, accepted="judged again")], "out")
    assert ("let `baseline` name 2026-11-20 instead" in caplog.text) == told


def test_a_night_that_fails_is_published_with_what_its_verdict_rests_on(after_two):
    lines = "".join(f"q{n},language,{'de' if n < 30 else 'fr'}\n" for n in range(QUERIES))
    (after_two / "attributes.csv").write_text(
        f"query_id,attribute,value\n{lines}", encoding="utf-8"
    )
    cut = {"query_attributes": {"path": str(after_two / "attributes.csv")}}
    (night,) = evaluated(after_two, settings(after_two, "2026-11-03", worse=30, documents=5, **cut))
    both = ["2026-11-01", "2026-11-02"]
    assert short([night]) == [("fail", "dropped", 5, both)]
    assert night["sentence"].endswith("language=de: 30 of 60 queries, all of the loss")
    row, *of_slices = [
        row for row in rows(after_two, "comparisons", "2026-11-03") if row["reading"] == 1
    ]
    named = ("run", "baseline", "baseline_night", "baseline_nights")
    assert [str(row[name]) for name in named] == ["hybrid", "hybrid", "2026-11-02", "2"]
    assert [(part["attribute"], part["value"]) for part in of_slices] == [
        ("language", "de"),
        ("language", "fr"),
    ]
    record = records(after_two)["2026-11-03"]
    assert row["evaluation_id"] == record["evaluation_id"]
    assert row["difference"] == record["verdict"]["results"][0]["difference"]
    assert (record["run"], record["is_baseline"]) == ("hybrid", False)
    assert len(rows(after_two, "query_scores", "2026-11-03")) == 2 * QUERIES
    documents = {
        doc["query_id"] for doc in rows(after_two, "ranked_documents", "2026-11-03") if doc["run"]
    }
    assert len(documents) == 5


@pytest.mark.parametrize("table", ["query_scores", "dataset_scores"])
def test_a_night_is_published_whatever_files_are_damaged(after_two, table):
    # Bytes that a size does not tell; then another size; then none.
    one = {"nights": 1}
    file, *_ = (after_two / "out" / table).glob("evaluated_on=2026-11-02/*/*.parquet")
    for damaged in (
        lambda: file.write_bytes(bytes(file.stat().st_size)),
        lambda: file.write_bytes(b"P"),
        file.unlink,
    ):
        damaged()
        (night,) = evaluated(after_two, settings(after_two, "2026-11-03", one))
        assert short([night]) == [("none", "no_baseline", 6, ["2026-11-02"])]
        assert table in night["sentence"]
    assert len(rows(after_two, "query_scores", "2026-11-03")) == 2 * QUERIES


@pytest.mark.parametrize(("date", "reason"), [("2026-11-01", None), ("2026-11-02", "no_baseline")])
def test_a_damaged_log_matters_where_it_is_not_older_than_the_last_good_night(
    after_two, date, reason
):
    damage(after_two / "out", date)
    (night,) = evaluated(after_two, settings(after_two, "2026-11-03"))
    assert night["reason"] == reason


def test_weights_count_in_a_comparison_with_a_run_too(tmp_path):
    sessions.engine()
    (tmp_path / "weights.csv").write_text(
        "query_id,weight\n" + "".join(f"q{n},{n + 1}\n" for n in range(QUERIES))
    )
    weighted = settings(tmp_path, "2026-11-01", query_weights=str(tmp_path / "weights.csv"))
    rows = evaluate(validate(weighted, "test"), baseline="bm25").comparison.rows
    assert [row["weight_effective_n"] is None for row in rows] == [True, False]


@pytest.fixture(scope="module")
def nights(two_good_nights, tmp_path_factory):
    """An output with a good night and one that failed, and a configuration."""
    folder = tmp_path_factory.mktemp("gate")
    shutil.copytree(two_good_nights / "out", folder / "out")
    evaluated(folder, settings(folder, "2026-11-02", worse=30))
    paths = write_night(folder, worse=30)
    (folder / "gate.toml").write_text(
        f'engine = "embedded"\ncutoffs = [3]\njudgments = "{paths["judgments"]["path"]}"\n'
        f'results = "{paths["results"]["path"]}"\n'
        '[[gate.check]]\nruns = ["hybrid"]\ncutoff = 3\nmax_drop = 0.01\n',
        encoding="utf-8",
    )
    return folder


def program(folder, *arguments):
    return command_line(*arguments, cwd=folder, COLUMNS="130", NO_COLOR="1")


def verdicts(folder, *arguments):
    """The exit code, and the verdict and the reason of each night."""
    done = program(folder, *arguments, "--format", "json")
    nights = json.loads(done.stdout)
    nights = nights["verdicts"] if isinstance(nights, dict) else nights
    return done.returncode, [(night["verdict"], night["reason"]) for night in nights]


def listed(folder, output):
    """The date of each night and its verdict, as `nights` prints them."""
    cells = (
        re.split(r"  +", line) for line in program(folder, "nights", output).stdout.splitlines()[1:]
    )
    return [(row[0], row[1]) for row in cells]


def test_the_exit_code_is_the_verdict_and_stdout_stays_one_object_of_json(nights):
    night = (
        "evaluate",
        "--config",
        "gate.toml",
        "--output",
        "more",
        "--junit",
        "gate.xml",
        "--date",
        "2026-11-01",
    )
    assert verdicts(nights, *night) == (6, [("none", "no_baseline")])
    (case,) = ET.parse(nights / "gate.xml").getroot().findall("testsuite/testcase")  # noqa: S314  # we have written it
    assert (case.get("name"), case.find("error").get("type")) == (
        "ndcg@3 hybrid against good",
        "no_baseline",
    )


def test_a_night_is_judged_again_by_another_gate_and_stays_as_it_was(nights):
    before = records(nights)
    failed = program(nights, "gate", "out", "--config", "gate.toml", "--junit", "again.xml")
    assert failed.returncode == 5, failed.stderr
    logged = program(
        nights, "gate", "out", "--config", "gate.toml", "--quiet", "--log-format", "json"
    )
    assert (logged.stdout, json.loads(logged.stderr.splitlines()[-1])["level"]) == ("", "error")
    assert failed.stdout.splitlines()[1].split()[:4] == ["ndcg@3", "hybrid", "good", "2026-11-01"]
    # What is evaluated, and at which cutoffs, need not be said again.
    loose = '[gate]\nbaseline = "2026-11-01"\ncheck = [{runs = ["hybrid"], cutoff = 3, max_drop = 0.9}]\n'
    (nights / "loose.toml").write_text(loose, encoding="utf-8")
    assert verdicts(nights, "gate", "out", "--config", "loose.toml", "--date", "2026-11-02") == (
        0,
        [("pass", None)],
    )
    rehearse = ("gate", "--rehearse", "out", "--config", "gate.toml")
    assert verdicts(nights, *rehearse) == (0, [("none", "no_baseline"), ("fail", "dropped")])
    table = program(nights, *rehearse)
    assert (table.returncode, table.stdout.splitlines()[2].split()) == (
        0,
        ["2026-11-02", "fail", "dropped"],
    )
    assert records(nights) == before
    assert listed(nights, "out") == [
        ("2026-11-01", "no verdict (accepted)"),
        ("2026-11-02", "fail"),
    ]


def test_a_night_that_is_accepted_later_says_why_and_nothing_else_of_it_changes(nights):
    before, file = records(nights)["2026-11-02"], nights / "ndcg_spark.default.prom"
    config = 'metrics_file = "."\n' + (nights / "gate.toml").read_text(encoding="utf-8")
    (nights / "told.toml").write_text(config, encoding="utf-8")
    file.write_text("# The night of 2026-11-02\n", encoding="utf-8")
    done = program(
        nights, "gate", "out", "--config", "told.toml", "--accept-baseline", "the new index"
    )
    assert done.returncode == 5, done.stderr
    assert 'ndcg_spark_verdict{dataset="default"} 1\n' in file.read_text(encoding="utf-8")
    assert (
        "accepted default of 2026-11-02, as a baseline for later nights: the new index"
        in done.stderr
    )
    after = records(nights)["2026-11-02"]
    assert after.pop("accepted") == "the new index"
    # A revision of the same evaluation, and nothing else.
    changes = {name for name in after if after[name] != before.get(name)}
    assert changes == {"revision", "revised_at", "is_baseline", "file", "written"}
    (night,) = evaluated(nights, settings(nights, "2026-11-03", {"nights": 1}, worse=30))
    assert short([night]) == [("pass", None, 0, ["2026-11-02"])]


def test_each_dataset_of_an_evaluation_has_a_verdict(tmp_path):
    toml = 'cutoffs = "all"\n[[gate.check]]\ncutoff = "all"\nmax_drop = 0.05\n'
    pairs = [(dataset, n) for dataset in ("shop", "web") for n in range(QUERIES)]
    judged = "dataset,query_id,doc_id,relevance\n" + "".join(
        f"{dataset},q{n},a,1\n" for dataset, n in pairs
    )
    for day, worse, more in ((1, 0, ["--accept-baseline", "the first"]), (2, 40, [])):
        lists = {pair: "xa" if pair[0] == "web" and pair[1] < worse else "ax" for pair in pairs}
        rows = [
            f"{name},r,q{n},{doc},{at}\n"
            for (name, n), docs in lists.items()
            for at, doc in enumerate(docs, 1)
        ]
        files = {
            "gate.toml": toml,
            "j.csv": judged,
            "r.csv": "dataset,run,query_id,doc_id,rank\n" + "".join(rows),
        }
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        night = ("--config", "gate.toml", "--output", "out", "--date", f"2026-11-0{day}", *more)
        evaluation = verdicts(tmp_path, "evaluate", "j.csv", "r.csv", *night)
    expected = (5, [("pass", None), ("fail", "dropped")])
    assert evaluation == verdicts(tmp_path, "gate", "out", "--config", "gate.toml") == expected

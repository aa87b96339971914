"""Dates that are evaluated one after the other, by one engine; and what the log keeps of each evaluation."""

import json
import math

import pytest
import sessions
from commands import command_line
from gated_nights import write_night

from ndcg_spark.cli.evaluation_commands import _evaluate_range
from ndcg_spark.config import validate
from ndcg_spark.errors import ConfigurationError, EngineError, InputError
from ndcg_spark.job.evaluate_range import Evaluated, dates_between, evaluate_range, worst_of
from ndcg_spark.nights.log import committed

GATE = {"check": [{"runs": ["hybrid"], "cutoff": 3, "max_drop": 0.01}]}
#: How many queries are worse on each date; on the third nothing arrived.
WORSE = {"2026-11-01": 0, "2026-11-02": 0, "2026-11-04": 30, "2026-11-05": 0}


def arrived(folder, worse):
    for date, queries in worse.items():
        paths = write_night(folder, worse=queries)
        for name in ("judgments", "results"):
            (folder / f"{name}-{date}").unlink(missing_ok=True)
            (folder / f"{name}-{date}").symlink_to(paths[name]["path"])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("range")
    arrived(folder, WORSE)
    return folder


def night(folder, out, date, **more):
    paths = {
        name: {"path": str(folder / f"{name}-{{date}}"), "format": "trec"}
        for name in ("judgments", "results")
    }
    known = {"output": str(out), "engine": "embedded", "cutoffs": [3, "all"], "gate": GATE}
    return validate({**paths, **known, "date": date, **more}, "test")


def run(folder, out, first, last, reason=None, **more):
    sessions.engine()
    configs = [night(folder, out, date, **more) for date in dates_between(first, last)]
    return list(evaluate_range(configs, reason))


def accepted(output):
    return {
        one.evaluated_on: one.row["accepted"]
        for one in committed(str(output))
        if one.row["accepted"]
    }


def test_dates_are_evaluated_in_order_and_what_did_not_arrive_is_told(files, tmp_path):
    done = run(files, tmp_path, "2026-11-01", "2026-11-05", "the first of the month")
    codes = {one.date: one.exit_code for one in done}
    assert [*codes.values()] == [0, 0, 3, 5, 0]
    assert [one.date for one in done if one.has_no_input] == ["2026-11-03"]
    assert worst_of(done) == 3
    assert accepted(tmp_path) == {"2026-11-01": "the first of the month"}


def test_nothing_is_accepted_unless_somebody_says_so(files, tmp_path):
    done = run(files, tmp_path, "2026-11-01", "2026-11-02")
    assert ([one.exit_code for one in done], worst_of(done), accepted(tmp_path)) == ([6, 6], 6, {})


def test_the_first_night_that_is_published_is_accepted(files, tmp_path):
    done = run(files, tmp_path, "2026-11-03", "2026-11-05", "the first")
    assert ([one.exit_code for one in done], accepted(tmp_path)) == (
        [3, 0, 0],
        {"2026-11-04": "the first"},
    )


def test_a_range_stops_before_the_night_that_follows_an_ended_acceptance(tmp_path):
    output = tmp_path / "out"
    arrived(tmp_path, dict.fromkeys(("2026-11-01", "2026-11-02"), 0))
    run(tmp_path, output, "2026-11-01", "2026-11-02", "the first")
    # Of the same rows and options, the acceptance is taken over.
    again = run(tmp_path, output, "2026-11-01", "2026-11-02")
    assert ([one.exit_code for one in again], accepted(output)) == (
        [0, 0],
        {"2026-11-01": "the first"},
    )
    arrived(tmp_path, {"2026-11-01": 1})
    changed = run(tmp_path, output, "2026-11-01", "2026-11-02")
    assert [(one.date, len(one.stopped)) for one in changed] == [("2026-11-01", 1)]
    assert (worst_of(changed), accepted(output)) == (6, {})
    # Nothing follows the last date.
    run(tmp_path, output, "2026-11-01", "2026-11-01", "again")
    arrived(tmp_path, {"2026-11-01": 2})
    (alone,) = run(tmp_path, output, "2026-11-01", "2026-11-01")
    assert alone.stopped == ()
    more = run(tmp_path, output, "2026-11-01", "2026-11-02", "the first of all")
    assert ([one.exit_code for one in more], accepted(output)) == (
        [0, 0],
        {"2026-11-01": "the first of all"},
    )


def test_an_acceptance_without_a_gate_ends_too(tmp_path, caplog):
    output = tmp_path / "out"
    arrived(tmp_path, dict.fromkeys(("2026-11-01", "2026-11-02"), 0))
    run(tmp_path, output, "2026-11-01", "2026-11-01", "the first")
    done = run(tmp_path, output, "2026-11-01", "2026-11-02", gate=None)
    assert [len(one.stopped) for one in done] == [1]
    told = [
        record.step for record in caplog.records if "--accept-baseline REASON" in record.message
    ]
    assert told == ["warning", "stopped"]


@pytest.mark.parametrize(
    ("first", "last", "reason", "more", "about"),
    [
        ("2026-11-02", "2026-11-01", None, {}, "to"),
        ("2026-11-01", "2026-11-02", None, {"output": None, "gate": None}, "from"),
        ("2026-11-01", "2026-11-02", " ", {}, "accept-first"),
        ("2026-11-01", "2026-11-02", "first", {"gate": None}, ""),
        ("2026-11-01", "2026-11-02", None, {"results": "same.run"}, ""),
    ],
)
def test_a_range_that_cannot_be_meant_is_refused(files, tmp_path, first, last, reason, more, about):
    with pytest.raises(ConfigurationError) as refused:
        run(files, tmp_path, first, last, reason, **more)
    assert (refused.value.option, committed(str(tmp_path))) == (about, [])


def test_the_log_keeps_the_means_of_an_evaluation_that_is_replaced(tmp_path):
    output = tmp_path / "out"
    for worse in (0, 30):
        arrived(tmp_path, {"2026-11-01": worse})
        run(
            tmp_path,
            output,
            "2026-11-01",
            "2026-11-01",
            measures=["precision@3", "ndcg@3"],
            cutoffs=[3],
        )
    done = command_line("nights", "out", "--all", "--format", "json", cwd=tmp_path)
    evaluations = json.loads(done.stdout)
    assert [one["counts"] for one in evaluations] == [False, True]
    means = [{mean["run"]: mean for mean in one["means"]} for one in evaluations]
    # A third of the queries has the document of grade 2 at each of the first ranks; then 30 have that of grade 1 at 3.
    ideal = 3 + 1 / math.log2(3)
    better = [3 / math.log2(2 + n % 3) / ideal for n in range(60)]
    worse = [1 / math.log2(4) / ideal for _ in range(30)]
    for by_run, lists in ((means[0], better), (means[1], worse + better[30:])):
        assert by_run["hybrid"]["ndcg"] == pytest.approx(sum(lists) / 60)
        assert by_run["bm25"]["ndcg"] == pytest.approx(sum(better) / 60)
        for mean in by_run.values():
            assert (mean["cutoff"], mean["precision"]) == (3, pytest.approx(1 / 3))
    table = command_line("nights", "out", "--all", "--format", "csv", cwd=tmp_path)
    assert len(table.stdout.splitlines()) == 1 + 2 * 2 * 2


def test_the_command_prints_a_row_for_each_date(files, tmp_path):
    (tmp_path / "night.toml").write_text(
        f'engine = "embedded"\noutput = "out"\ncutoffs = [3]\non_end = "sh hook.sh"\n'
        f'judgments = {{path = "{files}/judgments-{{date}}", format = "trec"}}\n'
        f'results = {{path = "{files}/results-{{date}}", format = "trec"}}\n',
        encoding="utf-8",
    )
    (tmp_path / "hook.sh").write_text("cat >>told; echo >>told\n", encoding="utf-8")
    evaluate = ("evaluate", "--config", "night.toml")
    done = command_line(
        *evaluate, "--from", "2026-11-02", "--to", "2026-11-04", "--format", "json", cwd=tmp_path
    )
    dates = json.loads(done.stdout)
    assert (done.returncode, [one["exit_code"] for one in dates]) == (3, [0, 3, 0])
    assert dates[1]["error"]["code"] == "missing_input"
    # Other programs are told of each date.
    told = [
        json.loads(line) for line in (tmp_path / "told").read_text(encoding="utf-8").splitlines()
    ]
    assert [one["evaluated_on"] for one in told] == ["2026-11-02", "2026-11-03", "2026-11-04"]
    for wrong in (["--to", "2026-11-04"], ["--from", "2026-11-02"], ["--accept-first", "why"]):
        assert command_line(*evaluate, *wrong, cwd=tmp_path).returncode == 2


@pytest.mark.parametrize(("done", "failed"), [(1, "2026-11-02"), (2, "2026-11-02")])
def test_a_failure_is_told_for_its_date_even_after_the_last_one(
    tmp_path, monkeypatch, done, failed
):
    def fail(configs, _):
        for config in configs[:done]:
            yield Evaluated(config, refusal=InputError("refused"))
        raise EngineError("the engine fails")

    told = []
    monkeypatch.setattr("ndcg_spark.job.evaluate_range.evaluate_range", fail)
    monkeypatch.setattr(
        "ndcg_spark.monitoring.hook.notify_failure",
        lambda config, error, *_: told.append((str(config.date), type(error))),
    )
    paths = {"judgments": "j.csv", "results": "r.csv", "output": str(tmp_path)}
    with pytest.raises(EngineError):
        _evaluate_range(("2026-11-01", "2026-11-02"), None, None, None, **paths)
    assert told[done:] == [(failed, EngineError)]

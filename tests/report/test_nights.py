"""The nights as a list and as a line, notes on them, and rows that are printed without words of their own."""

import csv
import datetime
import io
import json
import random
import re
import runpy
from pathlib import Path

import pytest
from commands import command_line
from kept_nights import committed_night, damage, date, night, publish, record, written
from programs import forked

from ndcg_spark import __main__ as cli
from ndcg_spark import trend as trend_of
from ndcg_spark.comparison.trend import Point, TrendLine, lines
from ndcg_spark.nights.log import Nights, committed, revise
from ndcg_spark.report.night_tables import print_nights, trend_view
from ndcg_spark.report.past_means import print_evaluations
from ndcg_spark.report.printed_scores import print_check, print_documents

ROOT = Path(__file__).parents[2]


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main([str(argument) for argument in arguments])
    return ended.value.code, *capsys.readouterr()


def test_a_night_has_its_own_runs_and_queries_though_several_datasets_were_evaluated_together(
    capsys, tmp_path
):
    datasets = {"shop": ["a", "b"], "web": ["c"]}
    row = {"cutoff": 5, "ndcg": 0.5, "queries": 60}
    scores = [
        [{**row, "dataset": name, "run": run} for run in runs] for name, runs in datasets.items()
    ]
    written(str(tmp_path), "e", 0.5, datasets=["shop", "web"]).commit(
        record(), {"shop": {}, "web": {}}
    )
    print_nights(committed(str(tmp_path)), scores, "table")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[5:7] for line in lines[1:3]] == [["2", "60"], ["1", "60"]]
    # No run is in both datasets.
    assert [line.split()[0] for line in lines[3:] if line] == ["3"]


@pytest.mark.parametrize(
    ("measures", "best"),
    [
        (["ndcg@5", "recall@1000"], ("a", "ndcg@5", "0.9000")),
        (["precision@5", "ndcg@5"], ("precision@5", "-", "2", "60")),
    ],
)
def test_the_best_run_of_a_night_is_by_the_first_measure_if_it_has_values(capsys, measures, best):
    settings = {"configuration": {"measures": measures, "headline": measures[0]}}
    scores = {("a", 5): 0.9, ("b", 5): 0.1, ("a", 1000): 0.1, ("b", 1000): 0.9}
    rows = [
        {"dataset": "web", "run": run, "cutoff": cutoff, "ndcg": ndcg, "queries": 60}
        for (run, cutoff), ndcg in scores.items()
    ]
    print_nights(Nights([committed_night("web", "2026-11-20", settings)]), [rows], "table")
    assert " ".join(best) in " ".join(capsys.readouterr().out.splitlines()[1].split())


def test_json_has_the_record_of_every_night_and_nothing_of_the_program(capsys, tmp_path):
    publish(str(tmp_path), "e", 0.5)
    nights = committed(str(tmp_path))
    print_nights(nights, [[]], "json")
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["record"] == nights[0].record
    assert (shown["dataset"], shown["evaluated_on"], "store" in shown) == (
        "web",
        "2026-11-16",
        False,
    )
    print_nights(Nights(), [], "table")
    assert capsys.readouterr().out.splitlines()[-1] == "there are no nights; check the path"


def test_what_needs_no_words_is_printed_as_it_is(capsys):
    print_documents([], "table", 100)
    assert (
        capsys.readouterr().out.splitlines()[-1]
        == "every document that matters within the cutoff is judged"
    )
    rates = [
        {"dataset": "web", "run": run, "cutoff": None, "judged_rate": rate}
        for run, rate in (("a", 0.5), ("b", 1.0))
    ]
    print_check({"counts": {"judged_queries": 1200}, "judged_rate": rates}, "table")
    assert [line.split() for line in capsys.readouterr().out.splitlines() if line] == [
        *(["counted", "number"], ["judged", "queries", "1,200"]),
        *(["run", "cutoff", "judged", "rate"], ["a", "all", "0.5000"], ["b", "all", "1.0000"]),
    ]


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """Seventy nights of two runs: other judgments from night 40 on, and a bad night 60 of one run."""
    folder, chance = tmp_path_factory.mktemp("nights"), random.Random(3)  # noqa: S311  # it makes test data
    for number in range(70):
        level = 0.06 if number >= 40 else 0.0
        scores = {
            run: base + level + chance.uniform(-0.003, 0.003)
            for run, base in (("bm25", 0.52), ("dense", 0.6))
        }
        scores["dense"] -= 0.05 if number == 60 else 0.0
        verdict = ("fail" if number == 60 else "pass") if number > 50 else None
        night(folder, number, scores, judgments="new" if number >= 40 else "old", verdict=verdict)
    return folder


@pytest.mark.slow
def test_the_nights_of_the_example_are_shown_and_compared_as_it_was_agreed(capsys, tmp_path):
    done = forked(example_nights, str(tmp_path / "nights"), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    shown = run(capsys, "trend", tmp_path / "nights")[1]
    assert shown == (ROOT / "tests/golden/trend.txt").read_text(encoding="utf-8")
    # The night on which a ranker was broken.
    asked = (
        "--date",
        "2026-11-17",
        "--baseline-date",
        "2026-11-16",
        "--measures",
        "ndcg@10",
        "--queries",
        "2",
    )
    utf8 = {"PYTHONIOENCODING": "utf-8"}
    done = command_line("compare", "nights", *asked, cwd=tmp_path, **utf8)
    assert done.stdout == (ROOT / "tests/golden/compare.txt").read_text(encoding="utf-8"), (
        done.stderr
    )


def example_nights(output):
    runpy.run_path("scripts/example_nights.py")["main"](output)


@pytest.mark.parametrize("lacking", [0, 1])
def test_an_evaluation_without_means_has_a_line_with_the_same_columns(capsys, tmp_path, lacking):
    for number in (0, 1):
        night(tmp_path, number, {"bm25": 0.5})
    nights = committed(str(tmp_path))
    means = json.dumps([{"run": "bm25", "cutoff": 10, "ndcg": 0.5}])
    rows = [{**night.row, "means": means} for night in nights]
    rows[lacking]["means"] = None
    print_evaluations(Nights(nights, rows, {}), "table")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[-3:] == ["run", "measure", "mean"]
    assert lines[1 + lacking].endswith("-")


def test_a_trend_says_once_what_is_true_of_every_run(capsys, output):
    said = run(capsys, "trend", output)[1].partition("Unusual nights")[2].splitlines()[2:]
    assert [re.split("  +", line)[1:] for line in said[:2]] == [
        ["bm25, dense", date(40), "break", "different judgments from the night before"],
        ["dense", date(60), "fail", "dense fell"],
    ]
    assert re.split("  +", said[2])[1:4] == ["dense", date(60), "low"]
    # No check was for the other run.
    assert trend_of(str(output), run="bm25")["verdict"].isna().all()


def test_csv_json_and_python_have_a_row_per_night_with_its_flags_and_its_band(capsys, output):
    rows = list(
        csv.DictReader(
            io.StringIO(run(capsys, "trend", output, "--run", "dense", "--format", "csv")[1])
        )
    )
    assert [row["evaluated_on"] for row in rows] == [date(number) for number in range(10, 70)]
    assert {row["evaluated_on"]: row["flags"] for row in rows if row["flags"]} == {date(60): "low"}
    assert {row["evaluated_on"]: row["breaks"] for row in rows if row["breaks"]} == {
        date(40): "judgments"
    }
    assert [row["verdict"] for row in rows][40:] == ["", *["pass"] * 9, "fail", *["pass"] * 9]
    assert (
        float(rows[50]["value"])
        < float(rows[50]["low"])
        < float(rows[50]["median"])
        < float(rows[50]["high"])
    )
    frame = trend_of(str(output), run="dense", measures="nDCG@10")
    assert (list(frame), frame["value"].tolist()) == (
        list(rows[0]),
        [float(row["value"]) for row in rows],
    )
    assert (set(frame["cutoff"]), str(frame["cutoff"].dtype)) == ({10}, "Int64")
    asked = ("--measures", "ndcg@10,judged_rate", "--last", "5", "--format", "json")
    trends = json.loads(run(capsys, "trend", output, *asked)[1])
    places = [(line["run"], line["measure"], line["cutoff"]) for line in trends]
    assert places == [
        (run, measure, 10) for run in ("bm25", "dense") for measure in ("ndcg", "judged_rate")
    ]
    assert [point["value"] for point in trends[1]["points"]] == [1.0] * 5


def test_a_run_that_was_not_evaluated_one_night_has_the_nights_that_it_was(tmp_path):
    for number in range(4):
        night(tmp_path, number, {"a": 0.5, **({} if number == 2 else {"b": 0.1 * number})})
    points = lines(str(tmp_path), run="b")[0][0].points
    assert [point.date for point in points] == [date(0), date(1), date(3)]


def test_the_last_nights_are_dates_and_what_is_said_of_a_stretch_is_of_all_of_it(capsys, tmp_path):
    for number in range(6):
        runs = {"a": 0.1 * number, **({} if number == 4 else {"b": 0.5})}
        night(tmp_path, number, runs, judgments="old" if number < 2 else "new")
    shown = run(capsys, "trend", tmp_path, "--last", "2")[1].splitlines()[2:4]
    assert [line.split()[1:5] for line in shown] == [
        ["a", "2", date(2), "0.2000"],
        ["b", "1", date(2), "0.5000"],
    ]
    assert [point.date for point in lines(str(tmp_path), run="b", last=2)[0][0].points] == [
        date(3),
        date(5),
    ]


def test_a_date_whose_log_is_damaged_is_warned_of_once(tmp_path):
    for number in range(2):
        night(tmp_path, number, {"a": 0.5})
    damage(tmp_path, date(0))
    done = command_line("trend", tmp_path, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("its nights are left out")) == (0, 1)
    assert date(0) in done.stderr


def notes(output):
    nights = committed(str(output))
    return {
        (night.dataset, night.evaluated_on): list(night.notes) for night in nights if night.notes
    }


def test_the_known_losses_that_hold_are_listed(capsys, tmp_path):
    for number in range(6):
        night(tmp_path, number, {"dense": 0.5}, verdict="fail")
    for number, until in ((1, 3), (2, 5), (3, 9)):
        (one,) = [one for one in committed(str(tmp_path)) if one.evaluated_on == date(number)]
        revise(one, acknowledged={"reason": f"of {number}", "until": date(until)})
    printed = run(capsys, "nights", tmp_path, "--acknowledged", "--format", "json")[1]
    listed = [(one["on"], one["until"], one["reason"]) for one in json.loads(printed)]
    assert listed == [(date(2), date(5), "of 2"), (date(3), date(9), "of 3")]
    (one,) = [one for one in committed(str(tmp_path)) if one.evaluated_on == date(3)]
    revise(one, withdrawn=["acknowledgement"], acknowledged=None)
    assert date(3) not in run(capsys, "nights", tmp_path, "--acknowledged")[1]
    assert run(capsys, "nights", tmp_path, "--all", "--acknowledged")[0] == 2
    words = [line.split() for line in run(capsys, "nights", tmp_path)[1].splitlines()]
    marked = [row[0] for row in words if "(acknowledged)" in row]
    assert marked == [date(1), date(2)]


def test_a_note_is_kept_for_every_dataset_of_a_night_or_for_one_and_a_trend_shows_it(
    capsys, tmp_path
):
    for dataset in ("web", "shop"):
        for number in range(2):
            night(tmp_path, number, {"bm25": 0.5}, dataset=dataset)
    said = "".join(f"noted for the night {date(1)} of {name}\n" for name in ("shop", "web"))
    assert run(capsys, "note", tmp_path, "new ranker", "--date", date(1))[:2] == (0, said)
    run(capsys, "note", tmp_path, "index rebuilt", "--dataset", "web")
    assert notes(tmp_path) == {
        ("shop", date(1)): ["new ranker"],
        ("web", date(1)): ["new ranker", "index rebuilt"],
    }
    shown = run(capsys, "trend", tmp_path, "--dataset", "shop")[1]
    assert shown.splitlines()[-1].split()[-4:] == [date(1), "note", "new", "ranker"]
    assert [run(capsys, "note", tmp_path, text)[0] for text in ("", " \t")] == [2, 2]
    assert run(capsys, "note", tmp_path, "x", "--date", "2025-01-01")[0] == 2


@pytest.mark.parametrize(("nights", "left_out"), [(30, 0), (31, 1), (45, 15)])
def test_unusual_nights_that_are_left_out_are_counted(nights, left_out):
    dates = [str(datetime.date(2026, 10, 1) + datetime.timedelta(at)) for at in range(nights)]
    points = [Point(date, 0.5, notes=["a note"]) for date in dates]
    *_, unusual = trend_view([TrendLine("web", "r", "ndcg", 10, points)]).tables
    assert [row["date"] for row in unusual.rows] == dates[left_out:]
    assert [note.split()[0] for note in unusual.notes] == [str(left_out)] * bool(left_out)

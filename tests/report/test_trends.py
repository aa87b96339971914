"""The nights as a line: what a person sees of it, and what a program gets."""

import csv
import io
import json
import random
import runpy
from pathlib import Path

import pandas as pd
import pytest
from commands import command_line
from kept_nights import date, night
from programs import forked

from ndcg_spark import trend as trend_of
from ndcg_spark.cli import app as cli
from ndcg_spark.comparison.trend import Point, lines
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.nights import drawn

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """Seventy nights of two runs: other judgments from night 40 on, and a bad night 60 of one run."""
    folder, chance = tmp_path_factory.mktemp("nights"), random.Random(3)  # noqa: S311  # it makes test data
    for number in range(70):
        better = 0.06 if number >= 40 else 0.0
        scores = {
            run: level + better + chance.uniform(-0.003, 0.003) for run, level in (("bm25", 0.52), ("dense", 0.6))
        }
        scores["dense"] -= 0.05 if number == 60 else 0.0
        verdict = ("fail" if number == 60 else "pass") if number > 50 else None
        night(folder, number, scores, judgments="new" if number >= 40 else "old", verdict=verdict)
    return folder


def trend(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main(["trend", *map(str, arguments)])
    printed = capsys.readouterr()
    return ended.value.code, printed.out, printed.err


@pytest.mark.slow
def test_the_nights_of_the_example_are_shown_and_compared_as_it_was_agreed(capsys, tmp_path):
    done = forked(example_nights, str(tmp_path / "nights"), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert trend(capsys, tmp_path / "nights")[1] == (ROOT / "tests/golden/trend.txt").read_text(encoding="utf-8")
    # The night on which a ranker was broken.
    asked = ("--date", "2026-11-17", "--baseline-date", "2026-11-16", "--measures", "ndcg@10", "--queries", "2")
    utf8 = {"PYTHONIOENCODING": "utf-8"}
    done = command_line("compare", "nights", *asked, "--engine", "embedded", cwd=tmp_path, **utf8)
    assert done.stdout == (ROOT / "tests/golden/compare.txt").read_text(encoding="utf-8"), done.stderr


def test_a_trend_in_python_has_the_rows_of_the_command_and_whole_cutoffs(output, capsys):
    _, printed, _ = trend(capsys, output, "--run", "dense", "--measures", "nDCG@10", "--last", "3", "--format", "csv")
    frame = trend_of(str(output), run="dense", measures="nDCG@10", last=3)
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert list(frame) == list(rows[0])
    assert frame["value"].tolist() == [float(row["value"]) for row in rows]
    assert (frame["cutoff"].tolist(), str(frame["cutoff"].dtype)) == ([10] * 3, "Int64")


def test_the_whole_ranking_is_no_number_in_pandas(tmp_path):
    night(tmp_path, 0, {"a": 0.5}, cutoff=None)
    shown = trend_of(str(tmp_path))
    assert (shown["cutoff"].tolist(), str(shown["cutoff"].dtype)) == ([pd.NA], "Int64")


def test_without_measures_a_trend_is_of_the_first_that_the_newest_night_was_asked_for(tmp_path):
    for number in range(2):
        for cutoff in (3, 10):
            asked = (
                {"measures": ["judged@10", "ndcg@10"], "headline": "judged@10"} if (number, cutoff) == (1, 10) else {}
            )
            night(tmp_path, number, {"a": 0.5}, dataset=f"d{cutoff}", cutoff=cutoff, configuration=asked)
    found, _ = lines(str(tmp_path), "d3")
    assert [(each.measure, each.cutoff) for each in found] == [("ndcg", 3)]
    with pytest.raises(ConfigurationError, match="judged_share@10 was not evaluated"):
        lines(str(tmp_path), "d10")
    assert lines(str(tmp_path), "d10", measures="ndcg")[0][0].cutoff == 10


def example_nights(output):
    runpy.run_path("scripts/example_nights.py")["main"](output)


def test_what_is_said_of_every_run_is_said_once(capsys, output):
    said = [line.split() for line in trend(capsys, output)[1].partition("Unusual nights")[2].splitlines()[2:]]
    assert [row[:4] for row in said] == [
        ["ndcg@10", "all", date(40), "break"],
        ["ndcg@10", "all", date(60), "fail"],
        ["ndcg@10", "dense", date(60), "low"],
    ]


def test_csv_has_a_row_per_night_with_its_flags_and_its_band(capsys, output):
    rows = list(csv.DictReader(io.StringIO(trend(capsys, output, "--run", "dense", "--format", "csv")[1])))
    assert [row["evaluated_on"] for row in rows] == [date(number) for number in range(10, 70)]
    assert {row["evaluated_on"]: row["flags"] for row in rows if row["flags"]} == {date(60): "low"}
    assert {row["evaluated_on"]: row["breaks"] for row in rows if row["breaks"]} == {date(40): "judgments"}
    assert [row["verdict"] for row in rows][40:] == ["", *["pass"] * 9, "fail", *["pass"] * 9]
    assert float(rows[50]["value"]) < float(rows[50]["low"]) < float(rows[50]["median"]) < float(rows[50]["high"])


def test_json_has_all_measures_that_are_asked_for_at_their_cutoffs(capsys, output):
    found = json.loads(trend(capsys, output, "--measures", "ndcg@10,judged_rate", "--last", "5", "--format", "json")[1])
    assert [(line["run"], line["measure"], line["cutoff"]) for line in found] == [
        (run, measure, 10) for run in ("bm25", "dense") for measure in ("ndcg", "judged_rate")
    ]
    assert [point["value"] for point in found[1]["points"]] == [1.0] * 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--run", "dens"], "no run is called 'dens' (did you mean 'dense'?)"),
        (["--dataset", "wbe"], "no dataset is called 'wbe' (did you mean 'web'?)"),
        (["--measures", "P@10"], "precision@10 was not evaluated in these nights"),
        (["--measures", "ndcg@7"], "ndcg@7 was not evaluated in these nights; the cutoffs are 10"),
    ],
)
def test_what_is_not_kept_is_an_error_that_names_what_is(capsys, output, arguments, said):
    code, out, err = trend(capsys, output, *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_a_folder_without_a_night_is_an_error(capsys, tmp_path):
    assert trend(capsys, tmp_path)[0] == 2


def test_datasets_are_not_joined_and_have_their_own_runs(capsys, tmp_path):
    for number in range(3):
        night(tmp_path, number, {"a": 0.5}, dataset="one")
        night(tmp_path, number, {"b": 0.7}, dataset="two", judgments="others")
    found, _ = lines(str(tmp_path))
    assert [(line.dataset, line.run, len(line.points)) for line in found] == [("one", "a", 3), ("two", "b", 3)]
    assert [point.breaks for line in found for point in line.points] == [()] * 6


def test_a_run_that_was_not_evaluated_one_night_has_the_nights_that_it_was(tmp_path):
    for number in range(4):
        night(tmp_path, number, {"a": 0.5, **({} if number == 2 else {"b": 0.1 * number})})
    of_b = lines(str(tmp_path), run="b")[0][0]
    assert [point.date for point in of_b.points] == [date(0), date(1), date(3)]
    assert drawn(of_b.points) == "▁▃█"


def test_a_sum_in_another_order_is_drawn_as_no_change():
    assert len(set(drawn([Point("2026-11-01", value) for value in (0.1 + 0.2, 0.3)]))) == 1

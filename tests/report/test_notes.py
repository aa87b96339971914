"""Notes on nights: who adds one, where it is shown, and that it outlives another evaluation of its night."""

import json

import pytest
from evaluations import configuration, evaluated
from kept_nights import date, night

from ndcg_spark.cli import app as cli
from ndcg_spark.nights.log import committed


@pytest.fixture
def output(tmp_path):
    for number in range(3):
        for dataset in ("web", "shop"):
            night(tmp_path, number, {"bm25": 0.5}, dataset=dataset)
    return tmp_path


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return ended.value.code, printed.out, printed.err


def notes(output):
    return {(each.dataset, each.evaluated_on): each.notes for each in committed(str(output)) if each.notes}


def test_a_note_is_kept_for_every_dataset_of_a_night_or_for_one(capsys, output):
    assert run(capsys, "note", output, date(1), "new ranker")[:2] == (
        0,
        f"noted for the night {date(1)} of shop\nnoted for the night {date(1)} of web\n",
    )
    run(capsys, "note", output, date(1), "index rebuilt", "--dataset", "web")
    assert notes(output) == {("shop", date(1)): ["new ranker"], ("web", date(1)): ["new ranker", "index rebuilt"]}


def test_a_trend_shows_notes(capsys, output):
    run(capsys, "note", output, date(1), "new ranker", "--dataset", "web")
    _, printed, _ = run(capsys, "trend", output, "--dataset", "web")
    (line,) = [line for line in printed.splitlines() if "new ranker" in line]
    assert line.split()[-4:] == [date(1), "note", "new", "ranker"]
    _, printed, _ = run(capsys, "trend", output, "--format", "json")
    (line,) = [line for line in json.loads(printed) if line["dataset"] == "web"]
    assert [point["notes"] for point in line["points"]] == [[], ["new ranker"], []]


def test_a_night_that_is_evaluated_again_keeps_its_notes(capsys, tmp_path):
    settings = configuration(tmp_path)(output=str(tmp_path / "out"))
    evaluated(settings)
    run(capsys, "note", tmp_path / "out", "2026-11-20", "new ranker")
    evaluated(settings)
    assert notes(tmp_path / "out") == {("default", "2026-11-20"): ["new ranker"]}


@pytest.mark.parametrize(
    ("date_", "text", "message"),
    [("2026-01-02", " ", "the note is empty"), ("2025-01-01", "x", "there is no night of 2025-01-01")],
)
def test_a_note_that_says_nothing_or_has_no_night_is_refused(capsys, output, date_, text, message):
    code, _, said = run(capsys, "note", output, date_, text)
    assert code == 2
    assert message in said

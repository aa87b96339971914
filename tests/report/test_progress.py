"""The steps of a command, on stderr."""

import os
import re
from pathlib import Path

import pytest

from ndcg_spark.report.progress import shown_steps
from ndcg_spark.steps import LOGGER, report_step


@pytest.fixture(autouse=True)
def _narrow_and_no_terminal(monkeypatch):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "40")


def test_steps_are_lines_on_stderr_and_nothing_on_stdout(capsys):
    with shown_steps():
        report_step("read", "10 results of 2 runs from [a]/b.run")
        report_step("scored", "2 query scores")
    lines = ["read     10 results of 2 runs from [a]/b.run", "scored   2 query scores"]
    assert capsys.readouterr() == ("", "\n".join(lines) + "\n")


def test_on_a_terminal_it_is_said_what_a_step_does_and_for_how_long(capsys, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    seconds = iter(range(0, 10_000, 7))
    monkeypatch.setattr("ndcg_spark.report.progress.time.monotonic", lambda: next(seconds))
    with shown_steps():
        report_step("read", "10 results")
        LOGGER.debug("evaluating 3,509,493 results of 143 runs")
    shown = capsys.readouterr().err
    assert "\x1b[" in shown
    assert re.search(r"\d s  starting", shown)
    assert re.search(r" [1-9]\d* s  evaluating 3,509,493 results of 143 runs", shown)


def test_without_a_terminal_there_are_lines_alone(capsys):
    with shown_steps():
        LOGGER.debug("evaluating 10 results of 2 runs")
        report_step("documents", "kept for 57 lists")
        report_step("wrote", "/data/" + "x" * 300)
    lines = ["documents kept for 57 lists", "wrote    /data/" + "x" * 300]
    assert capsys.readouterr() == ("", "\n".join(lines) + "\n")


@pytest.mark.parametrize("terminal", ["0", "1"])
def test_under_spark_submit_no_step_stands_between_rows_for_programs(capsys, monkeypatch, terminal):
    monkeypatch.setenv("TTY_COMPATIBLE", terminal)
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with shown_steps("csv"):
        report_step("read", "10 results")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("bm25[v2]", "bm25[v2]"),
        ("a:fire:b", "a:fire:b"),
        ("\x1b[31mred\n", r"\x1b[31mred\n"),
        ("a\u202eb", r"a\u202eb"),
    ],
)
def test_a_name_is_shown_as_it_is_and_cannot_steer_the_terminal(capsys, name, shown):
    with shown_steps():
        report_step("read", f"10 results of {name}")
    assert capsys.readouterr().err == f"read     10 results of {shown}\n"


def test_a_step_tells_no_secret(capsys):
    with shown_steps():
        report_step("wrote", "s3://KEY:SECRET@bucket/out?token=abc")
    assert capsys.readouterr().err == "wrote    s3://***@bucket/out?token=***\n"


def test_an_evaluation_goes_on_where_its_steps_cannot_be_told(monkeypatch):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr("sys.stderr", full)
        with shown_steps():
            report_step("read", "10 results")
            report_step("scored", "2 query scores")
        # What is in its buffer must go somewhere, or closing it fails.
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())


def test_a_step_of_the_library_prints_nothing(capsys):
    report_step("read", "10 results")
    assert capsys.readouterr() == ("", "")

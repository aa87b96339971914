"""The steps of a command, on stderr."""

import json
import os
from datetime import datetime
from pathlib import Path

import pytest
from commands import command_line

from ndcg_spark.report.console import Messages
from ndcg_spark.steps import LOGGER, report_step


@pytest.fixture(autouse=True)
def _narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")


def test_on_a_terminal_the_last_line_says_what_is_being_done(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Messages([]).printed():
        LOGGER.debug("reading")
        report_step("read", "10 results")
        LOGGER.debug("evaluating " + "x" * 40)
    erased = "\r\x1b[K"
    lines = ["", "reading", "read     10 results\n", "evaluating " + "x" * 28, ""]
    assert capsys.readouterr().err == erased.join(lines)


def test_without_a_terminal_there_are_lines_alone(capsys):
    with Messages([]).printed():
        LOGGER.debug("evaluating 10 results of 2 runs")
        report_step("documents", "kept for 57 lists of [a]/b.run")
        report_step("wrote", "/data/" + "x" * 300)
    lines = ["documents kept for 57 lists of [a]/b.run", "wrote    /data/" + "x" * 300]
    assert capsys.readouterr() == ("", "\n".join(lines) + "\n")


@pytest.mark.parametrize("terminal", [False, True])
def test_under_spark_submit_no_step_stands_between_rows_for_programs(capsys, monkeypatch, terminal):
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with Messages(["--format", "csv"]).printed():
        report_step("read", "10 results")
    assert capsys.readouterr() == ("", "")


def test_a_name_cannot_steer_the_terminal(capsys):
    with Messages([]).printed():
        report_step("read", "10 results of \x1b[31mred\n a\u202eb")
    assert capsys.readouterr().err == "read     10 results of \\x1b[31mred\\n a\\u202eb\n"


def test_a_step_tells_no_secret(capsys):
    with Messages([]).printed():
        report_step("wrote", "s3://KEY:SECRET@bucket/out?token=abc")
    assert capsys.readouterr().err == "wrote    s3://***@bucket/out?token=***\n"


def test_an_evaluation_goes_on_where_its_steps_cannot_be_told(monkeypatch):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr("sys.stderr", full)
        with Messages([]).printed():
            report_step("read", "10 results")
            report_step("scored", "2 query scores")
        # What is in its buffer must go somewhere, or closing it fails.
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())


def test_a_step_of_the_library_prints_nothing(capsys):
    report_step("read", "10 results")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ([], ["engine", "read", "read", "warning", "warning"]),
        (["--quiet"], ["warning", "warning"]),
        (["--log-format", "text"], ["INFO engine", "INFO read", "INFO read", "WARNING warning", "WARNING warning"]),
        (["--quiet", "--log-format", "json"], [{"level": "warning", "step": "warning"}] * 2),
        (["--quiet", "--min-judged-rate", "1"], ["warning", "ndcg-spark:"]),
        (["--quiet", "--log-format", "text", "--min-judged-rate", "1"], ["WARNING warning", "ERROR results"]),
        (["--log-format", "json", "--cutoffs", "x"], [{"level": "error", "step": None}]),
    ],
)
def test_log(tmp_path, options, lines):
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\n", encoding="utf-8")
    (tmp_path / "run.txt").write_text("q1 Q0 x 1 1 r\nq1 Q0 y 2 1 r\n", encoding="utf-8")
    said = command_line("evaluate", "qrels.txt", "run.txt", "--cutoffs", "2", *options, cwd=tmp_path).stderr
    if "json" in options:
        logged = [json.loads(line) for line in said.splitlines()]
        assert all(datetime.fromisoformat(line["time"]).tzinfo for line in logged)
        assert [{name: line[name] for name in ("level", "step")} for line in logged] == lines
        assert all(line["message"] for line in logged)
    elif "text" in options:
        logged = [line.split() for line in said.splitlines()]
        assert [f"{level} {step.removesuffix(':')}" for _, level, step, *_ in logged] == lines
        assert all(datetime.fromisoformat(time).tzinfo for time, *_ in logged)
    else:
        assert [line.split()[0] for line in said.splitlines()] == lines

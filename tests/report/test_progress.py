"""The steps of a command, on stderr."""

import json
import os
from datetime import datetime
from pathlib import Path

import pytest
from commands import command_line

from ndcg_spark.cli.commands import message_options
from ndcg_spark.report.console import Messages, print_view
from ndcg_spark.steps import LOGGER, report_step
from ndcg_spark.tables.table import Table
from ndcg_spark.tables.writers import View
from ndcg_spark.voices import KEYS, OPTIONS


def test_on_a_terminal_the_last_line_says_what_is_being_done(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Messages().printed():
        LOGGER.debug("reading")
        report_step("read", "10 results")
        LOGGER.debug("evaluating " + "x" * 40)
    erased = "\r\x1b[K"
    lines = ["", "reading", "read     10 results\n", "evaluating " + "x" * 28, ""]
    assert capsys.readouterr().err == erased.join(lines)


def test_without_a_terminal_there_are_lines_alone_without_secrets_and_signs_that_steer_it(capsys):
    with Messages(is_quiet=True).printed():
        report_step("read", "10 results")
        report_step("rejected", "1 rows of results")
    assert capsys.readouterr() == ("", "rejected 1 rows of results\n")
    with Messages().printed():
        LOGGER.debug("evaluating 10 results of 2 runs")
        report_step("documents", "kept for 57 lists of \x1b[31m[a]/b.run")
        report_step("wrote", "s3://KEY:SECRET@bucket/" + "x" * 300)
    # A step of the library prints nothing.
    report_step("read", "10 results")
    lines = [
        r"documents kept for 57 lists of \x1b[31m[a]/b.run",
        "wrote    s3://***@bucket/" + "x" * 300,
    ]
    assert capsys.readouterr() == ("", "\n".join(lines) + "\n")


def test_no_step_stands_between_rows_for_programs_and_an_evaluation_goes_on_without_them(
    capsys, monkeypatch
):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr("sys.stderr", full)
        with Messages().printed():
            report_step("read", "10 results")
            report_step("scored", "2 query scores")
        # What is in its buffer must go somewhere, or closing it fails.
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())
    monkeypatch.undo()
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with Messages("csv").printed():
        report_step("read", "10 results")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ([], ["engine", "read", "read", "warning", "warning"]),
        (["--quiet"], ["warning", "warning"]),
        (
            ["--log-format", "text"],
            ["INFO engine", "INFO read", "INFO read", "WARNING warning", "WARNING warning"],
        ),
        (["--quiet", "--log-format", "json"], [{"level": "warning", "step": "warning"}] * 2),
        (["--quiet", "--min-judged-rate", "1"], ["warning", "ndcg-spark:"]),
        (
            ["--quiet", "--log-format", "text", "--min-judged-rate", "1"],
            ["WARNING warning", "ERROR results"],
        ),
        (["--log-format", "json", "--cutoffs", "x"], [{"level": "error", "step": "error"}]),
    ],
)
def test_log(tmp_path, options, lines):
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\n", encoding="utf-8")
    (tmp_path / "run.txt").write_text("q1 Q0 x 1 1 r\nq1 Q0 y 2 1 r\n", encoding="utf-8")
    done = command_line(
        "evaluate", "qrels.txt", "run.txt", "--cutoffs", "2", *options, cwd=tmp_path
    )
    assert bool(done.stdout) == (done.returncode == 0 and "--quiet" not in options)
    said = done.stderr
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


@pytest.mark.parametrize(
    ("arguments", "style", "log_format", "is_quiet"),
    [
        ("", None, None, False),
        ("evaluate a --format=json --oops --quiet", "json", None, True),
        # As everywhere, the last one counts.
        ("trend out --format csv --format json", "json", None, False),
        ("trend out --log-format json --format", None, "json", False),
        ("trend out --log-format xml", None, None, False),
        # A value is no option, whatever it looks like.
        ("gate out --accept-baseline --quiet", None, None, False),
        ("gate out --acknowledge --format --log-format json", None, "json", False),
        ("no-command --acknowledge --quiet", None, None, True),
    ],
)
def test_messages_are_as_they_are_asked_for_though_other_arguments_are_wrong(
    arguments, style, log_format, is_quiet
):
    asked = {"style": style, "log_format": log_format, "is_quiet": is_quiet, "voice": OPTIONS}
    assert message_options(arguments.split()) == asked
    command, others = arguments.split()[:1], arguments.split()[1:]
    of_file = message_options([*command, "--config", "a.toml", *others])
    assert of_file["voice"] is KEYS
    of_no_file = message_options([*command, "--config=", *others])
    assert of_no_file["voice"] is OPTIONS


def test_a_view_without_a_format_is_not_printed(capsys):
    print_view(View([Table([{"run": "a"}], ["run"])], {}), None)
    assert capsys.readouterr().out == ""

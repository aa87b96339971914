"""What a person sees: the table of scores on stdout, the steps on stderr."""

import os
import re
from pathlib import Path

import pytest

from ndcg_spark.job.outcome import Outcome
from ndcg_spark.report.progress import Progress
from ndcg_spark.report.scores import print_outcome


@pytest.fixture(autouse=True)
def _narrow_and_no_terminal(monkeypatch):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "40")


def score(run: str = "r", ndcg: float | None = 0.5, cutoff: int | None = 10, **more) -> dict:
    counts = {"queries": 3, "missing_queries": 0, "no_relevant_queries": 0, "unjudged_queries": 0}
    return {"dataset": "web", "run": run, "cutoff": cutoff, "ndcg": ndcg, "judged_rate": 1.0, **counts, **more}


def printed(capsys, *rows: dict, formula: str = "gain relevance") -> list[list[str]]:
    """The words of each printed line that is not blank: the header, the rows, the formula."""
    print_outcome(Outcome("id", "trec_eval", formula, "embedded", [*rows], {}, [], None, {}), "table")
    return [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]


def test_a_run_has_one_row_with_its_score_at_every_cutoff(capsys):
    rows = [score(run, ndcg, cutoff) for run in ("bm25", "dense") for cutoff, ndcg in ((1, 0.25), (None, 0.75))]
    header, *runs, _ = printed(capsys, *rows)
    assert header[:3] == ["run", "ndcg@1", "ndcg@all"]
    assert [row[:3] for row in runs] == [["bm25", "0.2500", "0.7500"], ["dense", "0.2500", "0.7500"]]


def test_the_best_run_at_the_deepest_cutoff_comes_first_and_one_without_a_score_last(capsys):
    deep = {"none": None, "worse": 0.1, "better": 0.2}
    rows = [
        score(run, ndcg, cutoff) for run, last in deep.items() for cutoff, ndcg in ((1, 1 - (last or 0)), (5, last))
    ]
    assert [row[0] for row in printed(capsys, *rows)[1:-1]] == ["better", "worse", "none"]


def test_runs_with_the_same_score_come_by_name(capsys):
    assert [row[0] for row in printed(capsys, score("b"), score("c"), score("a"))[1:-1]] == ["a", "b", "c"]


def test_what_has_no_value_is_a_dash_and_never_zero(capsys):
    _, row, _ = printed(capsys, score("empty", None, queries=0, judged_rate=None))
    assert row == ["empty", "-", "0", "0", "0", "0", "-"]


def test_a_score_of_zero_is_no_dash(capsys):
    assert printed(capsys, score("bad", 0.0, judged_rate=0.0))[1] == ["bad", "0.0000", "3", "0", "0", "0", "0.0000"]


def test_a_score_stands_with_the_counts_it_is_a_mean_of(capsys):
    counts = {"queries": 1234567, "missing_queries": 4, "no_relevant_queries": 5, "unjudged_queries": 6}
    header, row, _ = printed(capsys, score(judged_rate=0.125, **counts))
    assert " ".join(header) == "run ndcg@10 queries missing no relevant unjudged judged rate"
    assert row[2:] == ["1,234,567", "4", "5", "6", "0.1250"]


def test_datasets_are_named_where_there_are_several(capsys):
    runs = [("web", "a", 0.1), ("web", "b", 0.9), ("shop", "c", 0.5)]
    header, *rows, _ = printed(capsys, *(score(run, ndcg, dataset=dataset) for dataset, run, ndcg in runs))
    assert header[:2] == ["dataset", "run"]
    assert [row[:2] for row in rows] == [["shop", "c"], ["web", "b"], ["web", "a"]]


def test_the_convention_and_its_formula_stand_below_the_table(capsys):
    formula = "gain [1, 0.5]; ties by document id"
    assert " ".join(printed(capsys, score(), formula=formula)[-1]) == f"trec_eval: {formula}"


def test_no_line_is_cut_or_wrapped_where_there_is_no_terminal(capsys):
    run, formula = "r" * 200, "gain " + "relevance " * 30 + "end"
    rows = [score(run, cutoff=cutoff) for cutoff in range(1, 31)]
    header, row, last = printed(capsys, *rows, formula=formula)
    assert (len(header), row[0], len(row)) == (1 + 30 + 7, run, 1 + 30 + 5)
    assert last == ["trec_eval:", *formula.split()]


def test_steps_are_lines_on_stderr_and_nothing_on_stdout(capsys):
    with Progress().running() as progress:
        progress.report_step("read", "10 results of 2 runs from [a]/b.run")
        progress.report_step("scored", "2 query scores")
    lines = ["read     10 results of 2 runs from [a]/b.run", "scored   2 query scores"]
    assert capsys.readouterr() == ("", "\n".join(lines) + "\n")


def test_a_long_name_of_a_step_does_not_run_into_its_sentence(capsys):
    Progress().report_step("documents", "kept for 57 lists")
    assert capsys.readouterr().err == "documents kept for 57 lists\n"


def test_a_long_step_is_one_line(capsys):
    Progress().report_step("wrote", "/data/" + "x" * 300)
    assert capsys.readouterr().err == "wrote    /data/" + "x" * 300 + "\n"


def test_without_a_terminal_there_is_no_spinner(capsys):
    with Progress().running() as progress:
        progress.report_step("read", "10 results")
    assert [sign for sign in capsys.readouterr().err if not sign.isprintable()] == ["\n"]


def test_on_a_terminal_a_spinner_says_what_is_under_way(capsys, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with Progress().running() as progress:
        progress.report_step("read", "10 results")
    shown = capsys.readouterr().err
    assert "\x1b[" in shown
    assert "0 s  starting" in shown


def test_on_a_terminal_it_is_said_what_a_step_does_and_for_how_long(capsys, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    seconds = iter(range(0, 10_000, 7))
    monkeypatch.setattr("ndcg_spark.report.progress.time.monotonic", lambda: next(seconds))
    with Progress().running() as progress:
        progress.doing("evaluating 3,509,493 results of 143 runs")
    assert re.search(r" [1-9]\d* s  evaluating 3,509,493 results of 143 runs", capsys.readouterr().err)


def test_without_a_terminal_nothing_is_said_of_what_is_under_way(capsys):
    with Progress().running() as progress:
        progress.doing("evaluating 10 results of 2 runs")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("terminal", ["0", "1"])
def test_under_spark_submit_no_step_stands_between_rows_for_programs(capsys, monkeypatch, terminal):
    monkeypatch.setenv("TTY_COMPATIBLE", terminal)
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with Progress("csv").running() as progress:
        progress.report_step("read", "10 results")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["bm25[v2]", "a[/b]", "a:fire:b", "[red]x"])
def test_a_name_is_printed_as_it_is(capsys, name):
    assert printed(capsys, score(name))[1][0] == name
    Progress().report_step("read", name)
    assert capsys.readouterr().err.split() == ["read", name]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\nb", r"a\nb"),
        ("\x9b31m\x7f", r"\x9b31m\x7f"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("ab\u202edc", r"ab\u202edc"),
        ("a\u2028b\u200b", r"a\u2028b\u200b"),
        ("lost\udce9", r"lost\udce9"),
    ],
)
def test_a_name_cannot_steer_the_terminal(capsys, name, shown):
    assert printed(capsys, score(name), formula=name)[1:] == [
        [shown, *printed(capsys, score())[1][1:]],
        ["trec_eval:", shown],
    ]
    Progress().report_step("read", f"10 results of {name}")
    assert capsys.readouterr().err == f"read     10 results of {shown}\n"


def test_a_step_tells_no_secret(capsys):
    Progress().report_step("wrote", "s3://KEY:SECRET@bucket/out?token=abc")
    assert capsys.readouterr().err == "wrote    s3://***@bucket/out?token=***\n"


def test_an_evaluation_goes_on_where_its_steps_cannot_be_told(monkeypatch):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr("sys.stderr", full)
        progress = Progress()
        progress.report_step("read", "10 results")
        progress.report_step("scored", "2 query scores")
        # What is in its buffer must go somewhere, or closing it fails.
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())


def test_a_table_has_fifty_rows_at_most_and_says_how_many_more_there_are(capsys):
    _, *runs, more, _ = printed(capsys, *(score(f"run{number:04}") for number in range(1234)))
    assert (len(runs), " ".join(more)) == (50, "and 1,184 more in --format json")


def test_fifty_rows_are_a_whole_table(capsys):
    assert len(printed(capsys, *(score(f"run{number}") for number in range(50)))) == 1 + 50 + 1

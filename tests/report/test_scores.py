"""The formats in which results are printed for programs, and the order of their rows."""

import csv
import io
import itertools
import json
import re

import pandas as pd
import pytest

from ndcg_spark.convention.parsing import parse_measure_set
from ndcg_spark.job.evaluate_inputs import EvaluationOutcome
from ndcg_spark.report.printed_scores import print_outcome, print_query_scores


def score(run="r", ndcg=0.5, cutoff=10, **more):
    counts = {"queries": 3, "missing_queries": 0, "no_relevant_queries": 0, "unjudged_queries": 0}
    return {
        "dataset": "web",
        "run": run,
        "cutoff": cutoff,
        "ndcg": ndcg,
        "judged_rate": 1.0,
        **counts,
        **more,
    }


def query_score(query_id="q1", ndcg=0.5, cutoff=10, **more):
    row = {
        "dataset": "web",
        "evaluated_on": "2026-11-20",
        "run": "r",
        "query_id": query_id,
        "cutoff": cutoff,
    }
    row |= {
        "ndcg": ndcg,
        "dcg": 1.0,
        "ideal_dcg": 2.0,
        "cg": 1.0,
        "returned": 3,
        "judged": 2,
        "judgments_hash": 7,
    }
    row |= {"judged_discount_share": 0.75}
    return {**row, "status": "scored", "evaluation_id": "id", **more}


def printed(capsys, style, *rows, measures=()):
    asked = parse_measure_set(measures)
    outcome = EvaluationOutcome(
        "id", "trec_eval", "gain", "embedded", [*rows], {}, [], None, {}, asked
    )
    print_outcome(outcome, style)
    return capsys.readouterr().out


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text)))


NAMES = [
    'a,"b"',
    "a\nb",
    "système",
    "=1+1",
    "a\x1bb",
    "a\rb",
    "\r",
    "a\r\nb",
    " a ",
    "'a",
    "\ta",
    "🙂\u202e",
]


def test_csv_gives_back_every_name_as_it_was(capsys, tmp_path):
    file = tmp_path / "scores.csv"
    file.write_bytes(printed(capsys, "csv", *map(score, NAMES)).encode())
    with file.open(encoding="utf-8", newline="") as stream:
        assert sorted(row["run"] for row in csv.DictReader(stream)) == sorted(NAMES)
    assert sorted(pd.read_csv(file)["run"]) == sorted(NAMES)
    assert b"\r\n" not in file.read_bytes().replace(b"a\r\nb", b"")


@pytest.mark.parametrize("style", ["table", "csv", "markdown", "latex", "json"])
def test_the_best_run_is_first_in_every_format_and_those_without_a_score_are_last(capsys, style):
    # Sums in another order are equal, and come by name.
    scores = {"c": None, "d": 0.3, "a": 0.1 + 0.2, "b": 0.6}
    rows = [score(f"run-{run}", ndcg, cutoff) for run, ndcg in scores.items() for cutoff in (1, 10)]
    order = "cdab" if style == "json" else "badc"
    assert "".join(dict.fromkeys(re.findall("run-(.)", printed(capsys, style, *rows)))) == order


def test_query_scores_are_lines_of_text_or_json_or_csv(capsys):
    rows = [query_score("q1", 0.25, 1), query_score("q2", None, None, status="no_relevant")]
    print_query_scores(rows, "table")
    assert [line.split()[:5] for line in capsys.readouterr().out.splitlines()] == [
        *(["dataset", "run", "query_id", "cutoff", "ndcg"], ["web", "r", "q1", "1", "0.2500"]),
        ["web", "r", "q2", "all", "-"],
    ]
    print_query_scores(rows, "json")
    values = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["cutoff"], row["ndcg"]) for row in values] == [(1, 0.25), (None, None)]
    print_query_scores(rows, "csv")
    assert [row["ndcg"] for row in read_csv(capsys.readouterr().out)] == ["0.25", ""]
    print_query_scores(
        [query_score(f"q{n}") for n in range(600)] + [query_score("q" * 40)], "table"
    )
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines), len({len(line) for line in lines[1:-1]})) == (602, 1)


@pytest.mark.parametrize("style", ["table", "json", "csv"])
def test_query_scores_are_printed_as_they_come_and_never_all_at_once(monkeypatch, style):
    class Few(io.StringIO):
        lines = 0

        def write(self, text):
            self.lines += text.count("\n")
            if self.lines > 2000:
                raise BrokenPipeError
            return len(text)

    taken = []
    endless = (taken.append(n) or query_score(f"q{n}") for n in itertools.count())
    monkeypatch.setattr("sys.stdout", Few())
    with pytest.raises(SystemExit):
        print_query_scores(endless, style)
    assert len(taken) < 3000

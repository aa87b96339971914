"""Scores, comparisons and verdicts as people are shown them: tables, papers, JUnit."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from gates import result, verdict
from paired import compared, scores

from ndcg_spark.comparison.runs import Comparison
from ndcg_spark.convention.parsing import parse_measure_set
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.comparisons import (
    FLAGS,
    comparison_notes,
    comparison_tables,
    significance_marks,
    stars,
)
from ndcg_spark.report.console import refuse_unwritable
from ndcg_spark.report.night_tables import verdict_table, write_junit
from ndcg_spark.report.printed_scores import paper_table, score_table
from ndcg_spark.schemas import COMPARISONS
from ndcg_spark.tables.writers import latex

UNCHANGED = dict.fromkeys(COMPARISONS.names) | {
    "dataset": "web",
    "run": "new",
    "baseline": "new",
    "measure": "ndcg",
}
UNCHANGED |= {"cutoff": 10, "queries": 11, "mean": 0.5, "baseline_mean": 0.5, "difference": 1e-17}
UNCHANGED |= {
    "interval_low": -2e-17,
    "interval_high": 4e-17,
    "p_value": 1.0,
    "p_adjusted": 1.0,
    "p_decides": 1.0,
}
UNCHANGED |= {
    "wins": 0,
    "ties": 11,
    "losses": 0,
    "conclusion": "cannot_tell",
    "flags": ["unchanged"],
}


def row(run, difference=0.1, **more):
    """A row that changed, with an interval of 0.05 to either side."""
    interval = {"interval_low": difference - 0.05, "interval_high": difference + 0.05}
    tests = {
        "family_size": 3,
        "p_value": 0.002,
        "p_adjusted": 0.004,
        "p_decides": 0.004,
        "flags": [],
    }
    return {**UNCHANGED, "run": run, "difference": difference, **interval, **tests, **more}


def shown(rows, queries=(), **more):
    return comparison_tables(Comparison(rows, queries, [], **more))[-1 if queries else 0]


MANY = [
    row("good", conclusion="better"),
    row("a-run-with-a-long-name", -0.2, conclusion="worse", flags=["few_changed"]),
    row("other", 0.01, p_adjusted=0.6),
    row("other", -3.0, measure="dcg"),
    {**UNCHANGED, "run": "same", "difference": 0.0},
]


def test_the_worst_run_comes_first_below_a_count_of_conclusions():
    table = shown(MANY)
    assert (
        table.title
        == "ndcg@10: 1 worse, 1 better, 1 cannot tell, 1 unchanged; dcg@10: 1 cannot tell"
    )
    assert [cells["conclusion"] for cells in table.rows[:2]] == ["worse (few changed)", "unchanged"]
    runs = ["a-run-with-a-long-name", "same", "other", "good", "other"]
    assert [cells["run"] for cells in table.rows] == runs


def test_rows_with_weights_come_after_those_without_and_baselines_are_named_where_there_are_several():
    rows = [
        row("a", 0.2),
        row("a", -0.5, weight_effective_n=3.0),
        row("b", 0.1),
        row("b", 9.0, weight_effective_n=3.0),
    ]
    lines = [(line["run"], line["measure"]) for line in shown(rows).rows]
    assert lines == [
        ("b", "ndcg@10"),
        ("a", "ndcg@10"),
        ("a", "ndcg@10 weighted"),
        ("b", "ndcg@10 weighted"),
    ]
    table = shown([row("a", baseline="old"), row("a", baseline="older")])
    assert (table.headings[:2], table.notes[0]) == (["run", "against"], "baseline: old, older")
    alone = shown([UNCHANGED, {**UNCHANGED, "run": "old", "baseline": "old"}])
    assert (alone.headings[:2], alone.notes[0]) == (
        ["run", "mean"],
        "baseline: the run with the same name",
    )
    query = {**UNCHANGED, "query_id": "q", "baseline_score": 0.25, "score": 0.5}
    assert shown([], [query, {**query, "dataset": "news"}]).headings[:3] == [
        "dataset",
        "run",
        "measure",
    ]


def test_only_what_is_shown_is_explained():
    flagged = row("a", flags=["few_changed"], baseline="old", p_decides=0.01)
    notes = comparison_notes([flagged], "bh", 0.01)
    assert notes[0] == "baseline: old"
    assert "adjusted for 3 comparisons (Benjamini-Hochberg); conclusions" in notes[1]
    assert notes[2].startswith("interval: 99%")
    assert notes[3] == FLAGS["few_changed"]
    unsure = [
        row("a", minimum_detectable=size, measure=name)
        for name, size in (("ap", 0.2), ("dcg", 4), ("dcg", 3))
    ]
    unsure.append(row("a", minimum_detectable=9.0, flags=["doubt"]))
    assert (
        ": a difference of 0.2000 in ap@10, 3.0000 to 4.0000 in dcg@10"
        in comparison_notes(unsure, "bh", 0.01)[3]
    )
    assert len(comparison_notes([row("a", interval_low=None)], "holm", 0.05)) == 2
    assert [stars(row("a", p_decides=p)) for p in (None, 0.05, 0.049, 0.0099, 0.00099)] == [
        "",
        "",
        "*",
        "**",
        "***",
    ]
    assert [stars({**flagged, "flags": [flag]}) for flag in ("other_judgments", "doubt")] == [
        "",
        "?",
    ]


COUNTS = {
    "queries": 3,
    "missing_queries": 0,
    "no_relevant_queries": 0,
    "unjudged_queries": 0,
    "judged_rate": 1.0,
}


def score(run="r", ndcg=0.5, cutoff=10, dataset="web", **more):
    return {"dataset": dataset, "run": run, "cutoff": cutoff, "ndcg": ndcg, **COUNTS, **more}


def test_a_run_has_one_row_with_its_scores_and_the_counts_of_its_mean():
    more = {
        "queries": 1234567,
        "missing_queries": 4,
        "no_relevant_queries": 5,
        "unjudged_queries": 6,
    }
    table = score_table([score(ndcg=0.25, cutoff=1, **more), score(ndcg=0.75, cutoff=None, **more)])
    assert table.headings == [
        *(
            "run",
            "ndcg@1",
            "ndcg@all",
            "queries",
            "missing",
            "no relevant",
            "unjudged",
            "judged rate",
        )
    ]
    assert table.cells == [["r", "0.2500", "0.7500", "1,234,567", "4", "5", "6", "1.0000"]]
    table = score_table(
        [score("empty", None, queries=0, judged_rate=None), score("bad", 0.0, judged_rate=0.0)]
    )
    assert [[cells[at] for at in (0, 1, 2, -1)] for cells in table.cells] == [
        ["bad", "0.0000", "3", "0.0000"],
        ["empty", "-", "0", "-"],
    ]


def between_rules(table):
    lines = latex(table)
    return lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]


def test_a_paper_has_the_measures_that_were_asked_for_as_the_field_writes_them():
    requested = parse_measure_set(["ndcg@10", "precision@10", "ap@all", "bpref@all"])
    rows = [score("a", 0.5, precision=0.4), score("a", 0.6, None, ap=0.3, bpref=0.2)]
    table = paper_table(rows, measure_set=requested)
    assert table.headings == ["run", "nDCG@10", "P@10", "AP", "Bpref"]
    assert table.cells == [["a", "0.5000", "0.4000", "0.3000", "0.2000"]]


def test_the_best_of_each_column_and_dataset_is_bold_and_so_is_what_looks_the_same():
    rows = [score("a", 0.70001), score("b", 0.70002), score("c", 0.1), score("e", None)]
    rows += [score("d", -0.1, dataset="shop"), score("f", -0.2, dataset="shop")]
    assert between_rules(paper_table(rows)) == [
        r"shop & d & \textbf{$-$0.1000} \\",
        r"shop & f & $-$0.2000 \\",
        r"web & b & \textbf{0.7000} \\",
        r"web & a & \textbf{0.7000} \\",
        r"web & c & 0.1000 \\",
        r"web & e & - \\",
    ]


def test_what_is_significant_has_stars_behind_it_and_slices_and_weights_have_none():
    significant = {"p_decides": 0.0001}
    rows = [row("new", p_decides=0.004), row("new", **significant, attribute="a", value="b")]
    rows.append(row("new", **significant, weight_effective_n=3.0))
    table = paper_table([score("new", 0.5), score("bm25", 0.4)], marks=significance_marks(rows))
    assert between_rules(table) == [
        r"new & \textbf{0.5000}\textsuperscript{**} \\",
        r"bm25 & 0.4000 \\",
    ]


def test_a_result_is_a_row():
    numbers = {
        "mean": 0.55,
        "difference": -0.05,
        "allowed": 0.01,
        "interval_low": -0.06,
        "interval_high": -0.04,
    }
    failed = result("fail", "dropped", slice="language=de", p=0.001, queries=100, **numbers)
    table = verdict_table(verdict(failed).as_json())
    shown = {
        "check": "ndcg@10 for language=de",
        "run": "hybrid",
        "against": "good 2026-11-19",
        "mean": "0.5500",
    }
    shown |= {
        "difference": "-0.0500",
        "allowed": "-0.0100",
        "interval low": "-0.0600",
        "interval high": "-0.0400",
    }
    shown |= {"p": "0.0010", "queries": "100", "result": "fail, dropped"}
    assert dict(zip(table.headings, table.cells[0], strict=True)) == shown
    assert table.notes == ["fail: a sentence"]


def test_what_is_no_pass_comes_first():
    gone = result("not_comparable", "missing_run", check="gate", measure=None, baseline=None)
    unsure, warned = (
        result("undecided", "may_be_chance"),
        result("fail", "dropped", severity="warn"),
    )
    table = verdict_table(verdict(gone, *[result()] * 60, unsure, warned).as_json())
    assert [row["result"] for row in table.rows[:4]] == [
        *(
            "warning: fail, dropped",
            "undecided, may_be_chance",
            "not comparable, missing_run",
            "pass",
        )
    ]


def suite(tmp_path, *results, **more):
    write_junit(tmp_path / "gate.xml", [verdict(*results, **more)])
    (junit,) = ET.parse(tmp_path / "gate.xml").getroot()  # noqa: S314  # we have written it
    return junit


def test_results_are_cases_of_junit(tmp_path):
    dropped, gone = (
        result("fail", "dropped"),
        result("not_comparable", "missing_run", measure=None, baseline=None),
    )
    odd = result(run='a<b>&"c\x1b\u202e')
    junit = suite(tmp_path, dropped, odd, gone, result("fail", "dropped", severity="warn"))
    assert [junit.get(name) for name in ("name", "tests", "failures", "errors")] == [
        "web of 2026-11-20",
        "4",
        "1",
        "1",
    ]
    assert [
        (case.get("name"), case[0].tag, case[0].get("type") or case[0].text) for case in junit
    ] == [
        ("ndcg@10 hybrid against good", "failure", "dropped"),
        ('ndcg@10 a<b>&"c\\x1b\\u202e against good', "system-out", "pass: a sentence"),
        ("missing_run hybrid", "error", "missing_run"),
        ("ndcg@10 hybrid against good", "system-out", "warning: a sentence"),
    ]


@pytest.mark.parametrize(
    ("severity", "more", "counts"),
    [("warn", {}, ("2", "1")), ("fail", {"accepted": "x", "exit_code": 0}, ("1", "0"))],
)
def test_a_night_without_a_verdict_is_an_error_of_junit_unless_it_was_accepted(
    tmp_path, severity, more, counts
):
    junit = suite(tmp_path, result("not_comparable", "no_baseline", severity=severity), **more)
    assert (junit.get("tests"), junit.get("errors")) == counts


@pytest.mark.parametrize("exit_code", [0, 5])
def test_an_acknowledged_failure_is_skipped_in_junit(tmp_path, exit_code):
    known = {"on": "2026-11-18", "reason": "new index", "until": "2026-12-02"}
    results = result("fail", "dropped"), result()
    junit = suite(tmp_path, *results, acknowledged=known, exit_code=exit_code)
    counts = [junit.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["2", "0", "0", "1"]
    (skipped,) = junit.findall("testcase/skipped")
    assert skipped.get("message").startswith(
        "still failing, acknowledged until 2 December: new index"
    )
    value = verdict(*results, acknowledged=known).as_json()
    assert value["acknowledged"] == known
    assert [note.split(":")[0] for note in verdict_table(value).notes[:1]] == [
        "fail (acknowledged)"
    ]


def test_a_file_of_an_earlier_night_is_removed_and_one_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "gate.xml").write_text("of yesterday", encoding="utf-8")
    refuse_unwritable("junit", tmp_path / "gate.xml", remove=True)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(
        ConfigurationError, match=r"junit: .*file/gate.xml cannot be written, "
    ) as refused:
        refuse_unwritable("junit", tmp_path / "file" / "gate.xml")
    assert refused.value.advice.option == "junit"
    refuse_unwritable("junit", Path("/dev/null"), remove=True)
    assert Path("/dev/null").is_char_device()


def test_scores_of_one_night_are_not_before_and_now():
    both = scores({"old": [0.5, 0.2], "new": [0.6, 0.1]})
    *_, table = comparison_tables(compared(both, None, "old", queries=1))
    assert {"baseline", "this run"} <= {*table.headings}
    assert {"before", "now"}.isdisjoint(table.headings)

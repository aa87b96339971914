"""The gate's checks of lists as a function of plain data: how much lists may and must change, and what is unknown."""

import pytest
from gates import gate, night, row, spread, verdict

from ndcg_spark.config import validate
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate.lists import NO_LISTS, ComparedLists
from ndcg_spark.gate.verdict import Code, exit_code_of

SAME = row(spread(0.001, 0.01))


def lists_of(*rows, runs=("hybrid",), **more):
    """What the lists of 100 queries are compared with: half of them changed a little, unless told otherwise."""
    usual = {"run": "hybrid", "cutoff": 10, "queries": 100, "changed_share": 0.5, "moved_discount": 0.1, "rbo": 0.9}
    found = [{**usual, **each} for each in rows or [{}]]
    return ComparedLists("last_good", "2026-11-19", runs, rows=found, **more)


def judged(check, lists, *, severity="fail", tonight=None, **settings):
    """The verdict of a gate with this check of lists, and a check of scores that passes."""
    held = gate(lists=[{"cutoff": 10, "severity": severity, **check}], **settings)
    return verdict(held, SAME, tonight=tonight, lists=lists)


@pytest.mark.parametrize(
    ("check", "measured", "code"),
    [
        ({"max_changed_share": 0.5}, {}, "passed"),
        ({"max_changed_share": 0.4}, {}, "lists_changed"),
        ({"max_moved_discount": 0.1}, {}, "passed"),
        ({"max_moved_discount": 0.09}, {}, "lists_changed"),
        ({"min_rbo": 0.9}, {}, "passed"),
        ({"min_rbo": 0.91}, {}, "lists_changed"),
        # A stale night: nothing changed at all.
        ({"min_changed_share": 0.01}, {"changed_share": 0.0}, "lists_unchanged"),
        ({"min_changed_share": 0.01}, {"changed_share": 0.01}, "passed"),
        ({"max_moved_discount": 1.0}, {"moved_discount": float("nan")}, "lists_changed"),
    ],
)
def test_a_limit_of_lists_fails_where_it_is_exceeded_and_only_warns_by_default(check, measured, code):
    found = judged(check, lists_of(measured))
    assert (found.code, found.exit_code) == (code, 0 if code == "passed" else 5)
    warned = judged(check, lists_of(measured), severity="warn")
    assert (warned.verdict, len(warned.warnings)) == ("pass", int(code != "passed"))


def test_a_failure_says_which_run_changed_how_much_and_since_when():
    found = judged({"max_changed_share": 0.4}, lists_of())
    assert found.reason == (
        "lists@10 of hybrid: the share of queries whose list changed is 0.5000 against 2026-11-19 (100 queries); at "
        "most 0.4000 is allowed"
    )
    finding = next(each for each in found.findings if each.criterion == "max_changed_share")
    assert (finding.measure, finding.cutoff, finding.value, finding.threshold) == ("changed_share", "10", 0.5, 0.4)
    assert (finding.baseline, finding.baseline_night, finding.queries) == ("last_good", "2026-11-19", 100)


@pytest.mark.parametrize(
    ("lists", "runs", "code"),
    [
        (NO_LISTS, None, "no_lists"),
        (ComparedLists(refused=(Code.NO_BASELINE, "there is none")), None, "no_baseline"),
        (lists_of({"cutoff": 5}), None, "other_cutoffs"),
        (lists_of({"run": "bm25"}, runs=["bm25"]), ["hybrid"], "missing_run"),
        (lists_of(), ["bm25"], "missing_run"),
        (lists_of({"run": "bm25"}, runs=["bm25", "hybrid"]), ["hybrid"], "not_measured"),
    ],
)
def test_what_is_not_known_of_lists_is_no_pass(lists, runs, code):
    check = {"min_rbo": 0.0, **({"runs": runs} if runs else {})}
    found = judged(check, lists)
    assert (found.verdict, found.code, found.exit_code) == ("none", code, 6)
    warned = judged(check, lists, severity="warn")
    assert (warned.verdict, len(warned.warnings)) == ("pass", 1)


def test_a_gate_of_lists_alone_decides_by_them_and_has_no_verdict_where_it_measured_nothing():
    held = gate(lists=[{"cutoff": 10, "max_changed_share": 0.5}]).model_copy(update={"check": ()})
    assert verdict(held, lists=lists_of()).verdict == "pass"
    assert (verdict(held, lists=NO_LISTS).verdict, verdict(held, lists=NO_LISTS).code) == ("none", "no_lists")
    assert exit_code_of([verdict(held, tonight=night(runs=[]), lists=ComparedLists())]) == 6


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ({"cutoff": 10}, "gate.lists.0: no limit; give max_changed_share"),
        ({"cutoff": 7, "min_rbo": 0.5}, "gate.lists.0.cutoff: 7 is not evaluated"),
        ({"cutoff": "all", "min_rbo": 0.5}, "gate.lists.0.cutoff"),
        ({"cutoff": 10, "min_rbo": 1.5}, "gate.lists.0.min_rbo"),
    ],
)
def test_a_check_of_lists_that_cannot_be_is_refused(check, words):
    settings = {"judgments": {"path": "q"}, "results": {"path": "r"}, "gate": {"lists": [check]}}
    with pytest.raises(ConfigurationError, match=words):
        validate(settings, "test")

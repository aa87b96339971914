"""A verdict as people are shown it."""

from gates import result, verdict

from ndcg_spark.tables.verdicts import verdict_table


def test_a_result_is_a_row():
    numbers = {"mean": 0.55, "difference": -0.05, "allowed": 0.01, "interval_low": -0.06, "interval_high": -0.04}
    failed = result("fail", "dropped", slice="language=de", p=0.001, queries=100, **numbers)
    table = verdict_table(verdict(failed).as_json())
    assert dict(zip(table.headings, table.rows[0], strict=True)) == {
        "check": "ndcg@10 language=de",
        "run": "hybrid",
        "against": "good 2026-11-19",
        "mean": "0.5500",
        "difference": "-0.0500",
        "allowed": "-0.0100",
        "low": "-0.0600",
        "high": "-0.0400",
        "p": "0.001",
        "queries": "100",
        "result": "fail, dropped",
    }
    assert table.notes == ["fail: a sentence"]


def test_what_is_no_pass_comes_first_and_is_never_left_out():
    gone = result("not_comparable", "missing_run", check="gate", measure=None, baseline=None)
    unsure, warned = result("undecided", "may_be_chance"), result("fail", "dropped", severity="warn")
    table = verdict_table(verdict(gone, *[result()] * 60, unsure, warned).as_json())
    assert [cells[-1] for cells in table.rows[:4]] == [
        *("warning: fail, dropped", "undecided, may_be_chance", "not comparable, missing_run", "pass")
    ]
    assert (len(table.rows), table.notes[0]) == (50, "13 more results pass; --format json has all")
    assert len(verdict_table(verdict(*[result("fail", "dropped")] * 70).as_json()).rows) == 70

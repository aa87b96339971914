"""A verdict as people are shown it."""

from gates import against, gate, night, row, spread, verdict
from ndcg_spark.gate.decision import decide

from ndcg_spark.tables.verdicts import verdict_table

DROPPED, SAME = spread(-0.05, 0.05), spread(0.0, 0.01)


def test_a_finding_is_a_row_with_what_was_measured_and_what_is_allowed():
    found = verdict_table(
        verdict(
            gate({"max_drop": 0.01, "slice": "language=de"}), row(DROPPED, attribute="language", value="de")
        ).as_json()
    )
    (cells,) = found.rows
    assert dict(zip(found.headings, cells, strict=True)) | {"low": "", "high": "", "p": ""} == {
        "check": "ndcg@10 language=de",
        "run": "hybrid",
        "against": "last_good 2026-11-19",
        "measured": "-0.0500",
        "allowed": "-0.0100",
        "low": "",
        "high": "",
        "p": "",
        "queries": "100",
        "finding": "fail: dropped",
    }
    assert found.notes[0].startswith("fail: ndcg@10 of hybrid for language=de fell by 0.0500")


def test_a_finding_without_a_verdict_is_called_what_the_verdict_is_called():
    every, tonight = gate({"max_drop": 0.01}), night()
    found = verdict_table(decide(every, tonight, [against(every, tonight=tonight, night=None)]).as_json())
    assert found.rows[0][-1] == "no verdict: no_baseline"
    assert found.notes[0].startswith("no verdict: ")


def test_what_speaks_against_a_night_comes_first_and_is_never_left_out():
    runs = [f"r{n:02}" for n in range(70)]
    every = gate({"max_drop": 0.01}, correction="none")
    tonight, before = night(runs=runs), night("2026-11-19", runs=runs)
    rows = [row(DROPPED if run > "r58" else SAME, run=run) for run in runs]
    found = verdict_table(decide(every, tonight, [against(every, *rows, tonight=tonight, night=before)]).as_json())
    assert [cells[-1] for cells in found.rows] == ["fail: dropped"] * 11 + ["pass: interval_within_limit"] * 39
    assert found.notes[0] == "20 more findings pass; --format json has all"
    rows = [row(DROPPED, run=run) for run in runs]
    found = verdict_table(decide(every, tonight, [against(every, *rows, tonight=tonight, night=before)]).as_json())
    assert len(found.rows) == 70

"""Nights whose judgments change: both sides of a change, and the chain to the night that was accepted."""

import numpy as np
import pytest
from gates import N, copied, evaluate, fingerprint, gate, spread

from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.gate.decide import rehearse
from ndcg_spark.gate.needed import needed_copies
from ndcg_spark.nights.log import committed
from ndcg_spark.nights.reader import read_rows

BASE = 0.6 + spread(0, 0.1)
#: How the scores of any lists differ under the judgments of another month.
MONTHS = {month: spread(0.02 * month, 0.05)[::-1] for month in range(1, 5)}
GOOD, ACCEPTED = gate(baseline="good"), gate(baseline="accepted")


def judgments(month, changed=N):
    """The hashes of the judgments of a month: the queries after the first `changed` are those of the first."""
    return tuple([month] * changed + [1] * (N - changed))


def night(output, held, day, level=BASE, month=1, *, months=(), old_bias=0.0, new_bias=0.0, **more):
    """A night under the judgments of a month, with copies of it under those of other `months`.

    `old_bias` is added to what its lists score there.
    """
    under = {judgments(other): {"r": level + MONTHS[other] + old_bias} for other in months}
    date = f"2026-{9 + (day - 1) // 28:02}-{(day - 1) % 28 + 1:02}"
    scores = {"r": level + MONTHS[month] + new_bias}
    return evaluate(output, held, date, scores, hashes=judgments(month), under=under, **more)["web"]


def again(output, date, level, *months):
    """The copies of a published night under other judgments."""
    (one,) = [one for one in committed(str(output)) if one.evaluated_on == date]
    for month in months:
        copied(one, judgments(month), {"r": level + MONTHS[month]})


def changed(output, held, drop, *, old_bias=0.0, new_bias=0.0, **more):
    """The verdict on a night of new judgments, on which lists lost `drop`."""
    night(output, held, 1, accepted="first")
    again(output, "2026-09-01", BASE, 2)
    level = BASE - drop + spread(0, 0.005)
    return night(
        output, held, 2, level, 2, months=[1], old_bias=old_bias, new_bias=new_bias, **more
    )


@pytest.mark.parametrize(
    ("drop", "old_bias", "new_bias", "expected"),
    [
        (0.0, 0.0, 0.0, ("pass", None)),
        (0.03, 0.0, 0.0, ("fail", "dropped")),
        (0.03, 0.0, 0.1, ("none", "sides_disagree")),
        (0.0, -0.05, 0.05, ("none", "sides_disagree")),
    ],
)
def test_a_night_of_new_judgments_is_decided_by_both_sides(
    tmp_path, drop, old_bias, new_bias, expected
):
    verdict = changed(tmp_path, GOOD, drop, old_bias=old_bias, new_bias=new_bias)
    assert (verdict.verdict, verdict.reason) == expected
    (result,) = verdict.results
    noise = spread(0, 0.005)
    sides = {side["side"]: side["difference"] for side in result.sides}
    means = {"old": old_bias - drop + noise.mean(), "new": new_bias - drop + noise.mean()}
    assert sides == pytest.approx(means)
    assert result.difference == pytest.approx(sum(means.values()) / 2)
    rows = read_rows(committed(str(tmp_path))[-1:], "comparisons").to_pylist()
    assert {row["side"] for row in rows} == {"old", "new"}
    assert result.queries == N


def test_without_copies_there_is_no_verdict(tmp_path):
    night(tmp_path, GOOD, 1, accepted="first")
    verdict = night(tmp_path, GOOD, 2, BASE, 2)
    assert (verdict.verdict, verdict.reason) == ("none", "other_judgments")
    # The accepted night cannot be reached, so that nothing at all was compared.
    assert night(tmp_path, ACCEPTED, 3, BASE, 2).reason == "no_baseline"


def test_only_queries_that_both_sets_judge_are_compared(tmp_path):
    night(tmp_path, GOOD, 1, accepted="first")
    # Ten queries are judged no longer.
    new = (0,) * 10 + (2,) * (N - 10)
    (one,) = committed(str(tmp_path))
    copied(one, new, {"r": BASE})
    under = {judgments(1): {"r": BASE + MONTHS[1]}}
    scores = {"r": [None] * 10 + [*BASE[10:]]}
    verdict = evaluate(tmp_path, GOOD, "2026-09-02", scores, hashes=new, under=under)["web"]
    assert verdict.results[0].queries == N - 10
    assert verdict.verdict == "pass"


OLD_IDS = (1,) * (N // 2) + (0,) * (N // 2)
NEW_IDS = (0,) * (N // 2) + (2,) * (N // 2)


@pytest.mark.parametrize("check", [{}, {"slice": "kind=all"}])
def test_renamed_queries_are_not_a_run_without_results(tmp_path, check):
    held = gate(check, baseline="good")
    attributes = {"kind": ["all"] * N}
    before = {"r": [*BASE[: N // 2], *[None] * (N // 2)]}
    evaluate(
        tmp_path, held, "2026-09-01", before, hashes=OLD_IDS, attributes=attributes, accepted="ok"
    )
    (one,) = committed(str(tmp_path))
    copied(one, NEW_IDS, {"r": BASE}, of=OLD_IDS)
    under = {OLD_IDS: {"r": BASE}}
    renamed = {"r": [*[None] * (N // 2), *BASE[: N // 2]]}
    verdict = evaluate(
        tmp_path,
        held,
        "2026-09-02",
        renamed,
        hashes=NEW_IDS,
        under=under,
        attributes=attributes,
    )["web"]
    assert {one.reason for one in verdict.results} == {"few_queries"}
    assert "(q0 / q30)" in verdict.sentence
    (change,) = verdict.changes
    assert "changed by" not in change


def test_a_slice_without_a_query_in_both_sets_has_too_few_queries(tmp_path):
    held = gate({"slice": "kind=new"}, baseline="good")
    old = (1,) * (N - 5) + (0,) * 5
    new = (2,) * N
    attributes = {"kind": ["kept"] * (N - 5) + ["new"] * 5}
    scores = {"r": [*BASE[: N - 5], *[None] * 5]}
    more = {"attributes": attributes}
    evaluate(tmp_path, held, "2026-09-01", scores, hashes=old, accepted="first", **more)
    (one,) = committed(str(tmp_path))
    copied(one, new, {"r": BASE}, of=old)
    under = {old: {"r": BASE}}
    verdict = evaluate(tmp_path, held, "2026-09-02", {"r": BASE}, hashes=new, under=under, **more)[
        "web"
    ]
    assert {one.reason for one in verdict.results} == {"few_queries"}


def test_a_loss_that_was_not_accepted_is_asked_about_until_a_night_is(tmp_path):
    change = changed(tmp_path, GOOD, 0.03, new_bias=0.1)
    assert change.reason == "sides_disagree"
    assert "(-0.0300 fails, +0.0700 passes)" in change.sentence
    level = BASE - 0.03
    unknown = [
        night(tmp_path, GOOD, day, level + spread(0, 0.001 * day), 2, months=[1], new_bias=0.1)
        for day in (3, 4)
    ]
    assert all("(-0.03" in verdict.warnings[-1] for verdict in unknown)
    night(tmp_path, GOOD, 5, level, 2, accepted="looked at it", new_bias=0.1)
    after = night(tmp_path, GOOD, 6, level + spread(0, 0.001), 2, new_bias=0.1)
    assert after.warnings == ()


def test_a_drift_over_changes_of_judgments_is_found(tmp_path):
    held = gate()
    levels = [BASE - 0.0012 * day + spread(0, 0.0005) for day in range(12)]
    months = [1] * 5 + [2] * 7
    verdicts = []
    for day, (level, month) in enumerate(zip(levels, months, strict=True), 1):
        if day == 6:
            for earlier, one in enumerate(levels[:5], 1):
                again(tmp_path, f"2026-09-{earlier:02}", one, 2)
        accepted = "first" if day == 1 else None
        verdicts.append(
            night(
                tmp_path, held, day, level, month, months=[1] if day == 6 else [], accepted=accepted
            )
        )
    words = [(verdict.verdict, verdict.results[-1].baseline) for verdict in verdicts[1:]]
    # The reference is the mean of five nights, of which the third is the middle.
    fell = [0.0012 * (day - 2) > 0.01 for day in range(1, 12)]
    assert [word == "fail" for word, _ in words] == fell
    assert {name for _, name in words} == {"accepted"}
    last = verdicts[-1].results[-1]
    assert (last.since, last.reason) == ("2026-09-01", "dropped")
    assert last.difference == pytest.approx(-0.0012 * 9, abs=2e-4)


def test_within_one_set_of_judgments_the_chain_is_the_paired_difference(tmp_path):
    night(tmp_path, ACCEPTED, 1, accepted="first")
    for day, month in ((2, 2), (3, 3)):
        again(tmp_path, f"2026-09-{day - 1:02}", BASE, month)
        night(tmp_path, ACCEPTED, day, BASE, month, months=[month - 1])
    # Back under the judgments of the first night, whatever lies between.
    verdict = night(tmp_path, ACCEPTED, 4, BASE - 0.03 + spread(0, 0.01))
    (result,) = verdict.results
    assert result.difference == pytest.approx(-0.03, abs=1e-12)
    assert {side["side"] for side in result.sides} == {None}


def test_a_loss_that_only_fewer_judged_documents_explain_is_told(tmp_path):
    night(tmp_path, gate(), 1, accepted="first")
    aged = night(tmp_path, ACCEPTED, 2, (BASE + MONTHS[1]) * 0.9 - MONTHS[1], judged=0.9)
    assert aged.reason == "no_baseline"
    assert "have these judged" in aged.sentence
    # Beside the good nights unjudged documents count as they are.
    assert (
        night(tmp_path, GOOD, 2, (BASE + MONTHS[1]) * 0.9 - MONTHS[1], judged=0.9).reason
        == "dropped"
    )
    # A true loss is one in both readings.
    lost = night(tmp_path, ACCEPTED, 2, BASE - 0.05 + spread(0, 0.01))
    assert (lost.verdict, lost.reason) == ("fail", "dropped")


def test_a_chain_begins_after_a_change_whose_sides_are_far_apart(tmp_path):
    held = gate()
    night(tmp_path, held, 1, accepted="first")
    again(tmp_path, "2026-09-01", BASE, 2)
    night(tmp_path, held, 2, BASE - 0.03, 2, months=[1], new_bias=0.1)
    # No night of the new judgments is good yet but those without a failure.
    verdict = night(tmp_path, held, 3, BASE - 0.03 + spread(0, 0.001), 2, new_bias=0.1)
    assert verdict.verdict == "pass"
    (accepted,) = [one for one in verdict.results if one.baseline == "accepted"]
    assert accepted.since == "2026-09-02"


def test_a_slice_that_breaks_is_a_warning_on_a_night_of_new_judgments(tmp_path):
    language = {"language": ["en"] * 40 + ["de"] * (N - 40)}
    held = gate({"max_drop": 0.05}, min_queries=20)
    night(tmp_path, held, 1, accepted="first", attributes=language)
    again(tmp_path, "2026-09-01", BASE, 2)
    level = BASE - np.where(np.arange(N) < 40, 0, 0.11) + spread(0, 0.01)
    verdict = night(tmp_path, held, 2, level, 2, months=[1], attributes=language)
    assert verdict.verdict == "pass"
    (warning,) = verdict.warnings
    assert "language=de changed by -0.1" in warning


def test_what_is_needed_before_a_verdict(tmp_path):
    held = gate(nights=2)
    for day in (1, 2, 3):
        night(tmp_path, held, day, accepted="first" if day == 1 else None)
    for day in (1, 2, 3):
        again(tmp_path, f"2026-09-{day:02}", BASE, 2)
    night(tmp_path, held, 4, BASE, 2, months=[1])
    nights = committed(str(tmp_path))
    first, second, third, tonight = nights
    old, new = fingerprint(judgments(1)), fingerprint(judgments(2))
    needed = needed_copies(held, tonight, nights, ScoreCache())
    assert set(needed) == {(second, new), (third, new), (tonight, old)}
    assert needed_copies(held, third, nights, ScoreCache()) == []
    assert first not in {night for night, _ in needed}


def test_a_rehearsal_says_what_was_said(tmp_path):
    held = gate()
    said = [night(tmp_path, held, 1, accepted="first")]
    again(tmp_path, "2026-09-01", BASE, 2)
    said.append(night(tmp_path, held, 2, BASE - 0.03, 2, months=[1]))
    said.append(night(tmp_path, held, 3, BASE, 2, months=[1]))
    again_said = list(rehearse(held, committed(str(tmp_path)), ComparisonOptions(only_losses=True)))
    assert [(one.verdict, one.sentence) for one in again_said] == [
        (one.verdict, one.sentence) for one in said
    ]

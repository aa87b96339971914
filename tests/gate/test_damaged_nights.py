"""What the gate and those who compare nights say where the log of a date cannot be read."""

import gates
import pytest
from gates import SAME, gate
from kept_nights import damage

from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.comparison.runs import compare_nights
from ndcg_spark.errors import StorageError
from ndcg_spark.gate.decide import rehearse
from ndcg_spark.gate.verdict import can_begin
from ndcg_spark.job.gate import date_to_judge
from ndcg_spark.nights.log import committed
from ndcg_spark.nights.reader import gaps_in_words

DAYS = [f"2026-11-{day:02}" for day in range(1, 6)]


def verdict(output, config, date, score, accepted=None):
    (verdict,) = gates.evaluate(output, config, date, {"hybrid": score}, accepted=accepted).values()
    return verdict


def code(output, config, date, score):
    said = verdict(output, config, date, score)
    return said.verdict, said.reason, said.exit_code


@pytest.fixture
def output(tmp_path):
    """Four nights, the first of which was accepted."""
    for number, day in enumerate(DAYS[:4]):
        verdict(
            tmp_path, gate(nights=2), day, SAME + number / 100, "the first" if number == 0 else None
        )
    return tmp_path


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        (None, ("fail", "dropped", 5)),
        # They are older than the two nights that are used.
        (DAYS[0], ("fail", "dropped", 5)),
        (DAYS[1], ("fail", "dropped", 5)),
        # Without them an older, lower night would be used, and the loss would pass.
        (DAYS[2], ("none", "no_baseline", 6)),
        (DAYS[3], ("none", "no_baseline", 6)),
    ],
)
def test_a_damaged_date_among_the_good_nights_refuses_the_baseline(output, lost, expected):
    if lost:
        damage(output, lost)
    assert code(output, gate(nights=2), DAYS[4], SAME) == expected


def test_a_damaged_acceptance_does_not_bring_back_the_nights_before_it(tmp_path):
    for day, score in ((DAYS[0], SAME), (DAYS[1], SAME)):
        verdict(tmp_path, gate(), day, score, "the first" if day == DAYS[0] else None)
    assert verdict(tmp_path, gate(), DAYS[2], SAME - 0.1, "a new way to judge").reason == "dropped"
    assert code(tmp_path, gate(), DAYS[3], SAME - 0.1) == ("pass", None, 0)
    damage(tmp_path, DAYS[2])
    refused = verdict(tmp_path, gate(), DAYS[4], SAME - 0.1)
    assert (refused.verdict, refused.reason) == ("none", "no_baseline")
    assert "cannot be read" in refused.sentence
    # An acceptance would not make it the first baseline.
    assert not can_begin(refused.as_json())


def test_a_damaged_date_before_all_good_nights_is_a_warning_while_they_are_few(output):
    damage(output, DAYS[0])
    (warning,) = verdict(output, gate(nights=4), DAYS[4], SAME + 0.05).warnings
    assert warning.startswith(f"{DAYS[0]} is not in the baseline")
    assert verdict(output, gate(nights=2), DAYS[4], SAME + 0.06).warnings == ()


def test_a_baseline_whose_date_is_damaged_says_so(output):
    damage(output, DAYS[1])
    refused = verdict(output, gate(baseline=[DAYS[1]]), DAYS[4], SAME + 0.03)
    assert (refused.reason, "cannot be read" in refused.sentence) == ("no_baseline", True)


def test_a_rehearsal_begins_with_no_night_after_a_damaged_date(tmp_path):
    for day in DAYS[:3]:
        gates.evaluate(tmp_path, None, day, {"hybrid": SAME})
    verdicts = rehearse(gate(), committed(str(tmp_path)), ComparisonOptions())
    assert [verdict.verdict for verdict in verdicts] == ["none", "pass", "pass"]
    damage(tmp_path, DAYS[0])
    verdicts = rehearse(gate(), committed(str(tmp_path)), ComparisonOptions())
    assert [verdict.verdict for verdict in verdicts] == ["none", "none"]


def test_the_newest_night_is_not_known_where_a_later_date_is_damaged(output):
    damage(output, DAYS[3])
    with pytest.raises(StorageError, match=DAYS[3]):
        date_to_judge(str(output))


@pytest.mark.parametrize(("lost", "baseline"), [(DAYS[2], "good"), (DAYS[1], DAYS[1])])
def test_nights_are_not_compared_with_another_one_in_place_of_a_damaged_one(output, lost, baseline):
    compare_nights(str(output), ComparisonOptions(), DAYS[3], None, baseline)
    damage(output, lost)
    with pytest.raises(StorageError, match=lost):
        compare_nights(str(output), ComparisonOptions(), DAYS[3], None, baseline)
    # An older one is not needed.
    compare_nights(
        str(output), ComparisonOptions(), DAYS[3], None, DAYS[2] if lost == DAYS[1] else DAYS[0]
    )


def test_a_damaged_date_is_named_where_nights_are_listed(output):
    damage(output, DAYS[1])
    assert gaps_in_words(committed(str(output)))[0].startswith(f"{DAYS[1]} is left out")

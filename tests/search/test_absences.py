"""How scores are read: which lists the job left out, and which were only not given."""

import pytest

from ndcg_spark.inputs.old_scores import OldRow
from ndcg_spark.search.absences import readings
from ndcg_spark.search.old_lists import OldList, is_always_scored
from ndcg_spark.search.targets import make_targets
from ndcg_spark.spot_check.plain_rows import Pair

#: A list that every convention scores, and two that some leave out.
SCORED, UNSURE, MISSING = "scored", "unsure", "missing"


def one_list(kind, at):
    judged = [("a", 2.0), ("b", 1.0)]
    returned = {
        SCORED: [("a", 2.0, 1), ("b", 1.0, 2)],
        UNSURE: [("b", 2.0, 1), ("a", 1.0, 2)],
        MISSING: [],
    }
    return OldList(Pair(None, "r", f"q{at}"), "default", judged, returned[kind])


def ways(scores, *, cutoff=None, mean=False):
    """The readings of kinds of lists, each with a score, None for an empty one, or no row."""
    lists, rows = [], [OldRow(None, "r", "other", cutoff, cutoff is not None, "0.5")]
    for at, (kind, given) in enumerate(scores):
        lists.append(one_list(kind, at))
        if given != "absent":
            rows.append(OldRow(None, "r", f"q{at}", cutoff, cutoff is not None, given))
    if mean:
        rows.append(OldRow(None, "r", None, cutoff, cutoff is not None, "0.5"))
    return readings(make_targets(rows, [(None, "r")], "default"), lists)


@pytest.mark.parametrize(
    ("scores", "absent"),
    [
        ([(SCORED, "0.5")], ["left_out"]),
        ([(SCORED, "0.5"), (MISSING, "absent")], ["left_out", "unknown"]),
        ([(SCORED, "0.5"), (UNSURE, None)], ["left_out", "unknown"]),
        ([(SCORED, "absent"), (MISSING, "absent")], ["unknown"]),
        ([(SCORED, None)], ["unknown"]),
        ([(SCORED, "absent"), (MISSING, None)], ["left_out_if_empty", "unknown"]),
        (
            [(UNSURE, "absent"), (MISSING, None)],
            ["left_out", "left_out_if_empty", "unknown"],
        ),
    ],
)
def test_absent_scores_are_read_in_the_ways_that_can_be(scores, absent):
    assert [reading.absent for reading in ways(scores)] == absent


def test_means_say_what_is_left_out():
    assert [one.absent for one in ways([(UNSURE, "absent")], mean=True)] == ["unknown"]


def test_the_only_cutoff_may_be_called_otherwise():
    *named, other = ways([(SCORED, "0.5")], cutoff=5)
    assert [one.targets.knows_cutoffs for one in named] == [True]
    assert (other.targets.knows_cutoffs, other.named_cutoff) == (False, 5)


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ([("a", 2.0, 1), ("b", 1.0, 2)], True),
        ([("a", 2.0, 2), ("b", 1.0, 1)], False),
        ([("a", 2.0, 1), ("b", 2.0, 2)], False),
        ([("a", 2.0, None), ("b", 1.0, None)], True),
        ([("a", None, 1), ("b", None, 2)], True),
        ([("b", 2.0, 1)], False),
        ([], False),
    ],
)
def test_a_list_is_always_scored_if_its_first_document_is_the_best(returned, expected):
    judged = [("a", 2.0), ("b", 1.0)]
    one = OldList(Pair(None, "r", "q"), "default", judged, returned)
    assert is_always_scored(one, 2.0) == expected

"""What explains scores that no convention gives, and the means of a job beside ours."""

import pytest

from ndcg_spark.convention.convention import Convention
from ndcg_spark.inputs.old_scores import OldRow
from ndcg_spark.search.hints import hint_at_order_of_rows, run_means
from ndcg_spark.search.judges import Compared
from ndcg_spark.search.old_lists import OldList
from ndcg_spark.search.targets import ScoreKey, make_targets
from ndcg_spark.search.trials import Trial
from ndcg_spark.spot_check.plain_rows import Pair

NUMBER = 12


def place(at, run="r"):
    return ScoreKey("default", run, f"q{at}", None)


def one_list(at, scores):
    returned = [(f"d{n}", score, n + 1) for n, score in enumerate(scores)]
    return OldList(Pair(None, "r", f"q{at}"), "default", [("d0", 1.0)], returned)


def targets(numbers):
    rows = [OldRow(None, "r", f"q{at}", None, False, one) for at, one in enumerate(numbers)]
    return make_targets(rows, [(None, "r")], "default")


def compared(given, ours):
    known = targets(given)
    rows = []
    for at, (number, score) in enumerate(zip(given, ours, strict=True)):
        differs = abs(float(number) - score) > known.tolerance
        rows.append(Compared(place(at), float(number), score, differs))
    return known, rows


@pytest.mark.parametrize(
    ("tied", "is_hint"), [(range(6), True), (range(5), False), (range(12), False)]
)
def test_lists_that_differ_and_have_ties_are_told_from_others(tied, is_hint):
    given = ["0.123456789"] * NUMBER
    ours = [0.5 if at < 6 else 0.123456789 for at in range(NUMBER)]
    lists = [one_list(at, [2.0, 2.0] if at in tied else [2.0, 1.0]) for at in range(NUMBER)]
    _, rows = compared(given, ours)
    assert bool(hint_at_order_of_rows(rows, lists, Convention())) == is_hint
    assert not hint_at_order_of_rows(rows, lists, Convention(order="file"))


def test_means_have_the_queries_that_nobody_judged():
    known, rows = compared(["0.5", "1.0"], [0.5, 1.0])
    known.unjudged[place(7)] = 0.0
    rows.append(Compared(place(2), None, 0.3, False))
    (mean,) = run_means(rows, known, Trial(Convention(), 5))
    assert (mean.given_queries, mean.given) == (3, (0.5 + 1.0 + 0.0) / 3)
    assert (mean.queries, mean.ours) == (3, pytest.approx((0.5 + 1.0 + 0.3) / 3))
    assert mean.cutoff == 5


def test_a_mean_that_the_job_gives_stands_beside_ours():
    rows = [OldRow(None, "r", None, 3, True, "0.25")]
    known = make_targets(rows, [(None, "r")], "default")
    row = Compared(ScoreKey("default", "r", None, 3), 0.25, 0.2501, False)
    (mean,) = run_means([row], known, Trial(Convention()))
    assert (mean.given_queries, mean.given, mean.ours, mean.cutoff) == (None, 0.25, 0.2501, 3)
    assert mean.differs(1e-5)
    assert not mean.differs(1e-3)

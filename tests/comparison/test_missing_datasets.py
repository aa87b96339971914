"""Which datasets an output is expected to have a night of, told from the records of its nights."""

import contextlib

import pytest
from gates import TONIGHT, YESTERDAY, gate, night
from kept_nights import committed_night

from ndcg_spark.comparison.judging import Kept, judge, judge_absent
from ndcg_spark.comparison.sides import of_record


def kept(dataset, date, *together):
    """A kept night of a dataset, evaluated together with others."""
    return committed_night(dataset, date, {"datasets": sorted([dataset, *together])})


def verdict_on_shop(*nights, **settings):
    """The code of the verdict on `shop`, of which tonight has nothing, beside `web`; None if it is not expected."""
    found = judge_absent(gate(**settings), "shop", TONIGHT, ["web"], Kept("out", nights, None))
    return found and (found.code, found.exit_code)


def test_a_dataset_that_is_evaluated_alone_is_expected_once_it_has_a_night():
    assert verdict_on_shop(kept("shop", YESTERDAY), kept("web", YESTERDAY)) == ("missing_dataset", 6)
    # A record without the names of its datasets is no reason to expect less.
    assert verdict_on_shop(committed_night("shop", YESTERDAY, {})) == ("missing_dataset", 6)
    assert verdict_on_shop(kept("shop", "2026-11-21")) is None


def test_a_dataset_that_was_evaluated_together_is_left_to_the_verdict_on_the_others():
    assert verdict_on_shop(kept("shop", "2026-11-18"), kept("shop", YESTERDAY, "web")) is None
    assert verdict_on_shop(kept("shop", "2026-11-18", "web"), kept("shop", YESTERDAY)) == ("missing_dataset", 6)


@pytest.mark.parametrize("baseline", [[], [{"run": "bm25"}]])
def test_a_gate_that_compares_no_nights_expects_no_dataset(baseline):
    held = gate({"min_value": 0.1}, baseline=baseline)
    assert judge_absent(held, "shop", TONIGHT, ["web"], Kept("out", [kept("shop", YESTERDAY)], None)) is None


class KeptNight(Kept):
    """An output of which one night is looked up, and no scores can be read."""

    def find(self, *_):
        return unjudged(YESTERDAY)

    def scores(self, _):
        return None

    def unreplaced(self, _):
        return contextlib.nullcontext()


def unjudged(date):
    """A night of two runs of which no query is judged."""
    counts = {"queries": 0, "missing_queries": 0, "no_relevant_queries": 0, "ndcg": None}
    return night(date, scores=[{"run": run, "cutoff": 10, **counts} for run in ("bm25", "hybrid")])


@pytest.mark.parametrize("baseline", [{"run": "bm25"}, {"night": "last_good"}])
@pytest.mark.parametrize("check", [{"max_drop": 0.01}, {"min_value": 0.0}, {"max_share_losing": {"by": 1, "share": 1}}])
def test_a_dataset_without_a_judged_query_is_not_measured(baseline, check):
    found = judge(
        gate({"runs": ["hybrid"], **check}, baseline=[baseline]), unjudged(TONIGHT), None, KeptNight("o", [], None)
    )
    assert (found.verdict.verdict, found.verdict.code, found.verdict.exit_code) == ("none", "not_measured", 6)


def test_a_night_knows_the_datasets_of_its_record():
    assert of_record("web", YESTERDAY, kept("web", YESTERDAY, "shop").record, []).datasets == ["shop", "web"]

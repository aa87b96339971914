"""Which datasets an output is expected to have a night of, told from the records of its nights."""

import contextlib

import pytest
from gates import ANCHOR, TONIGHT, YESTERDAY, gate, night, verdict
from kept_nights import committed_night
from ndcg_spark.gate.baseline import Night
from ndcg_spark.gate.history import History

from ndcg_spark.comparison.comparable import arrived, expected_datasets
from ndcg_spark.gate.run import run_gate, run_gate_on_absent


def kept(dataset, date, *together):
    """A kept night of a dataset, evaluated together with others."""
    return committed_night(dataset, date, {"datasets": sorted([dataset, *together])})


def verdict_on_shop(*nights, **settings):
    """The code of the verdict on `shop`, of which tonight has nothing, beside `web`; None if it is not expected."""
    found = run_gate_on_absent(gate(**settings), "shop", TONIGHT, ["web"], History(nights, None))
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
    assert run_gate_on_absent(held, "shop", TONIGHT, ["web"], History([kept("shop", YESTERDAY)], None)) is None


class OneNight(History):
    """An output of which one night is looked up, and no scores can be read."""

    def find(self, *_):
        return unjudged(YESTERDAY)

    def scores(self, _):
        return None

    def read_whole(self, _):
        return contextlib.nullcontext()


def unjudged(date):
    """A night of two runs of which no query is judged."""
    counts = {"queries": 0, "missing_queries": 0, "no_relevant_queries": 0, "ndcg": None}
    return night(date, scores=[{"run": run, "cutoff": 10, **counts} for run in ("bm25", "hybrid")])


@pytest.mark.parametrize("baseline", [{"run": "bm25"}, {"night": "last_good"}])
@pytest.mark.parametrize("check", [{"max_drop": 0.01}, {"min_value": 0.0}, {"max_share_losing": {"by": 1, "share": 1}}])
def test_a_dataset_without_a_judged_query_is_not_measured(baseline, check):
    found = run_gate(gate({"runs": ["hybrid"], **check}, baseline=[baseline]), unjudged(TONIGHT), None, OneNight([]))
    assert (found.verdict.verdict, found.verdict.code, found.verdict.exit_code) == ("none", "not_measured", 6)


def together(*nights):
    """The datasets that are expected beside `web` tonight."""
    found = expected_datasets(nights, "web", TONIGHT)
    return {name: date for name, date in found.items() if name != "web"}


def web(date, *others, verdict="fail"):
    """A night of `web`, evaluated together with others."""
    return committed_night("web", date, {"datasets": ["web", *others], "verdict": {"verdict": verdict}})


def test_a_dataset_that_came_after_the_last_good_night_is_expected_until_a_good_night_is_without_it():
    first = web("2026-11-10", "shop", verdict="pass")
    assert together(first) == {"shop": "2026-11-10"}
    assert together(first, web("2026-11-11", "shop", "new"), web("2026-11-12")) == {
        "shop": "2026-11-11",
        "new": "2026-11-11",
    }
    assert together(first, web("2026-11-11", "new"), web("2026-11-12", verdict="pass")) == {}
    # Neither tonight, evaluated again, nor a later night says what tonight must have.
    assert together(first, web(TONIGHT, "new"), web("2026-11-21", "newer")) == {"shop": "2026-11-10"}


@pytest.mark.parametrize("baseline", ["last_good", ANCHOR])
def test_a_dataset_that_is_newer_than_the_baseline_and_does_not_arrive_has_no_verdict(baseline):
    held = gate({"min_value": 0.1}, baseline=[{"night": baseline}])
    found = verdict(held, tonight=night(datasets=["web"]), expected={"new": "2026-11-18"})
    assert (found.verdict, found.code) == ("none", "missing_dataset")
    assert found.reason == (
        "the dataset new of 2026-11-18 has no results in this night; find out why, or if it was given up, accept this "
        "night with --accept-baseline REASON"
    )
    assert verdict(held, tonight=night(datasets=["new", "web"]), expected={"new": "2026-11-18"}).verdict == "pass"


def test_a_dataset_is_missed_although_no_night_was_good():
    held = gate({"min_value": 0.1})
    found = verdict(held, night=None, tonight=night(datasets=["web"]), expected={"new": "2026-11-18"})
    assert (found.verdict, found.code) == ("none", "missing_dataset")


def test_a_dataset_is_not_forgotten_where_another_of_its_night_is_evaluated_again_alone():
    shop = kept("shop", "2026-11-18", "web")
    assert together(web("2026-11-18", verdict="pass"), shop) == {"shop": "2026-11-18"}
    # Nor where it was evaluated again itself, or was always evaluated alone.
    assert together(web("2026-11-18", "shop", verdict="pass"), kept("shop", "2026-11-18")) == {"shop": "2026-11-18"}
    assert together(web("2026-11-18", verdict="pass"), kept("shop", "2026-11-18")) == {}


def test_a_dataset_that_was_evaluated_before_on_its_own_date_is_there_tonight():
    history = History([kept("shop", TONIGHT), kept("web", YESTERDAY, "shop")])
    assert history.known_of(night(datasets=["web"])).datasets == ["shop", "web"]


def test_a_night_of_the_same_date_from_before_its_dataset_had_no_results_is_no_arrival():
    history = History([kept("shop", TONIGHT)])
    assert history.known_of(night(datasets=["web"], without_results=["shop"])).datasets == ["web"]

    def datasets(shop_at, web_at):
        lacking = {"datasets_without_results": ["shop"], "committed_at": web_at}
        nights = [committed_night("shop", TONIGHT, {"committed_at": shop_at}), committed_night("web", TONIGHT, lacking)]
        return arrived(nights, TONIGHT)

    assert datasets("2026-11-20T01:00:00+00:00", "2026-11-20T02:00:00+00:00") == {"web"}
    assert datasets("2026-11-20T03:00:00+00:00", "2026-11-20T02:00:00+00:00") == {"shop", "web"}


def test_a_night_knows_the_datasets_of_its_record():
    assert Night.of_record("web", YESTERDAY, kept("web", YESTERDAY, "shop").record, []).datasets == ["shop", "web"]

"""Simulated shops: what the gate says of their nights, and whether that is right."""

import pytest
from shop_nights import GATE, acknowledged, write_night, year
from shops import INDEPENDENT, MONTHLY, NEVER, NEWEST, WORLDS, Event, Shop
from year_levels import counts, measured, normal_signs

from ndcg_spark.comparison import statistics
from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.errors import DONE
from ndcg_spark.gate.decide import rehearse
from ndcg_spark.nights.log import committed

SMALL = GATE.model_copy(update={"min_queries": 20})
LTR = Event("loss", 4, 30, loss=0.06)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Drawing random signs takes longest."""
    monkeypatch.setattr(statistics, "random_signs", normal_signs)


def said(shop, nights, **more):
    """The verdicts of a shop, by night."""
    return {one.at: one.verdict for one in year(shop, nights, **more)}


def numbers(verdict):
    """What a verdict says, but for words."""
    results = []
    for result in verdict.results:
        difference = None if result.difference is None else round(result.difference, 9)
        p = None if result.p is None else round(result.p, 9)
        results.append((result.run, result.baseline, result.result, result.reason, difference, p))
    return verdict.verdict, verdict.reason, verdict.exit_code, verdict.lost_slices, results


@pytest.mark.slow
def test_what_is_judged_in_memory_is_what_is_written(tmp_path):
    events = [
        Event("missing", 3, 3, "vector"),
        Event("ids", 5, 5, "bm25"),
        Event("nothing", 6, 6),
        Event("identical", 7, 7),
        Event("loss", 8, 10, loss=0.15),
    ]
    shop = Shop(60, 1, NEWEST, 4, events)
    written = {at: write_night(tmp_path, shop, at, SMALL) for at in range(11)}
    in_memory = said(shop, 11, held=SMALL)
    assert written.pop(6) is None
    assert {at: numbers(one) for at, one in written.items()} == {
        at: numbers(one) for at, one in in_memory.items()
    }
    words = [in_memory[at].verdict for at in (3, 5, 7, 9)]
    assert words == ["none", "none", "pass", "fail"]
    rehearsed = list(rehearse(SMALL, committed(str(tmp_path)), ComparisonOptions()))
    assert [numbers(one) for one in rehearsed] == [numbers(one) for one in written.values()]


@pytest.mark.parametrize("period", [NEVER, 4])
def test_a_known_loss_is_acknowledged_to_its_last_night(period):
    shop = Shop(120, 2, INDEPENDENT, period, [LTR])
    verdicts = said(shop, 12, held=SMALL, decisions={5: acknowledged("known", 9)})
    assert {verdicts[at].verdict for at in range(4, 12)} == {"fail"}
    codes = [verdicts[at].exit_code == DONE for at in range(4, 12)]
    assert codes == [False, False, True, True, True, True, False, False]


@pytest.mark.parametrize("period", [NEVER, 4])
@pytest.mark.parametrize(
    "others",
    [
        # Another run begins as the first recovers.
        [Event("loss", 4, 7, loss=0.06), Event("loss", 8, 30, "bm25", loss=0.08)],
        # The same run loses as much, in another language.
        [
            Event("loss", 4, 7, loss=0.12, language="en"),
            Event("loss", 8, 30, loss=0.2, language="de"),
        ],
        [LTR, Event("missing", 8, 30, "vector")],
        [LTR, Event("ids", 8, 30, "vector")],
        # It gets worse.
        [LTR, Event("loss", 8, 30, loss=0.06)],
        # Two were known, and one gets worse.
        [LTR, Event("loss", 4, 30, "bm25", 0.08), Event("loss", 8, 30, "bm25", 0.06)],
    ],
)
def test_what_begins_beside_a_known_loss_is_not_silent(period, others):
    shop = Shop(120, 3, INDEPENDENT, period, others)
    verdicts = said(shop, 10, held=SMALL, decisions={5: acknowledged("known", 20)})
    assert [verdicts[at].exit_code == DONE for at in range(4, 10)] == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
@pytest.mark.parametrize("period", [NEVER, 3])
def test_identical_lists_pass(world, period):
    shop = Shop(120, 4, world, period, [Event("identical", 1, 9)])
    verdicts = said(shop, 10)
    assert {verdicts[at].verdict for at in range(1, 10)} == {"pass"}


def test_a_slice_that_breaks_on_a_night_of_new_judgments_is_named():
    shop = Shop(300, 5, INDEPENDENT, 4, [Event("loss", 4, 9, loss=0.06, language="en")])
    verdicts = said(shop, 8)
    assert verdicts[4].verdict == "fail"
    assert all("language=en" in verdicts[at].lost_slices[0] for at in range(4, 8))


@pytest.mark.slow
def test_a_year_of_events():
    """The figures of GATE.md, on a part of what they were measured on."""
    found = counts(measured("events", 800, MONTHLY, 0, 5, 110)["nights"])
    assert found["alarm"] >= 0.95 * found["deserve"] > 15
    assert found["silent"] == found["identical no pass"] == 0
    assert found["false"] <= 0.025 * found["quiet"]
    assert found["quiet none"] <= 0.05 * found["quiet"]

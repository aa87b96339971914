"""What is said of a comparison, and how often that is wrong."""

import numpy as np
import pytest

from ndcg_spark.comparison.conclusions import conclusion, rules_out_drop
from ndcg_spark.comparison.moments import Moments
from ndcg_spark.comparison.statistics import DOUBTS, doubts, paired_t


def row(**more):
    interval = {"difference": 0.002, "interval_low": -0.004, "interval_high": 0.008, "p_adjusted": 0.5}
    counts = {"queries": 2_000, "changed_queries": 400, "weight_effective_n": None, "measure": "ndcg", "flags": []}
    return {**interval, **counts, **more}


@pytest.mark.parametrize(
    ("values", "margin", "expected"),
    [
        ({}, None, "cannot_tell"),
        ({}, 0.01, "same"),
        ({}, 0.008, "cannot_tell"),
        ({"p_adjusted": 0.01}, None, "better"),
        ({"p_adjusted": 0.01, "difference": -0.002}, None, "worse"),
        # Better, but by less than matters.
        ({"p_adjusted": 0.01}, 0.01, "same"),
        ({"p_adjusted": 0.05}, 0.005, "cannot_tell"),
        ({"p_adjusted": None}, 0.01, None),
        ({"p_adjusted": 0.01, "flags": ["other_judgments"]}, 0.01, "cannot_tell"),
        # The difference may be 0.008, and what 1,842 queries may miss is more than the 0.002 that are left.
        ({"queries": 1_842}, 0.01, "cannot_tell"),
        ({"queries": 1_843}, 0.01, "same"),
        # Of scores whose range is unknown only the interval is known.
        ({"queries": 367, "measure": "dcg"}, 0.01, "same"),
        ({"weight_effective_n": 300.0}, 0.01, "cannot_tell"),
        # However skewed, 20 of 10,000 queries cannot lose 0.01 of the mean.
        ({"flags": ["few_changed", "skewed"], "queries": 10_000, "changed_queries": 20}, 0.01, "same"),
        ({"flags": ["unchanged"], "queries": 400, "changed_queries": 0, "p_adjusted": 1.0}, 0.01, "same"),
        ({"flags": ["unchanged"], "queries": 50, "changed_queries": 0, "p_adjusted": 1.0}, 0.01, "cannot_tell"),
    ],
    ids=str,
)
def test_a_conclusion_is_drawn_from_the_interval_the_adjusted_p_value_and_the_flags(values, margin, expected):
    assert conclusion(row(**values), 0.05, margin) == expected


def test_where_judgments_differ_not_even_hardly_changed_scores_prove_anything():
    few = {"queries": 10_000, "changed_queries": 20}
    assert rules_out_drop(row(**few, flags=["few_changed"]), 0.01, 0.05)
    assert not rules_out_drop(row(**few, flags=["few_changed", "other_judgments"]), 0.01, 0.05)


@pytest.mark.parametrize("flag", [*sorted(DOUBTS), "other_judgments"])
def test_an_interval_that_a_flag_doubts_rules_nothing_out(flag):
    assert rules_out_drop(row(), 0.01, 0.05)
    assert not rules_out_drop(row(flags=[flag]), 0.01, 0.05)
    assert not rules_out_drop(row(interval_low=None, flags=["too_few"]), 0.01, 0.05)


def _rare(share, loss, other_share, other):
    def draw(chance, n):
        place = chance.random((1_000, n))
        return np.where(place < share, -loss, np.where(place < share + other_share, other(chance, n), 0.0))

    return draw


#: Differences whose true mean is -0.015, where a drop of 0.010 is allowed.
SCENARIOS = {
    "normal": lambda chance, n: chance.normal(-0.015, 0.1, (1_000, n)),
    "2 % lose 0.75 and 30 % wobble": _rare(0.02, 0.75, 0.3, lambda chance, n: chance.normal(0, 0.01, (1_000, n))),
    "3 % lose 0.7 and 20 % gain 0.03": _rare(0.03, 0.7, 0.2, lambda chance, n: 0.03),
    "2 % lose 0.75 and all others are the same": _rare(0.02, 0.75, 0.0, lambda chance, n: 0.0),
    "0.8 % lose all and all others 0.007": _rare(
        0.008, 1.0, 1.0, lambda chance, n: chance.normal(-0.007, 1e-4, (1_000, n))
    ),
    "5 % lose 0.3 and all others wobble": _rare(0.05, 0.3, 0.95, lambda chance, n: chance.normal(0, 0.02, (1_000, n))),
}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_drop_that_is_there_is_hardly_ever_ruled_out(scenario):
    for n in (50, 100, 200, 400, 1000):
        apart = SCENARIOS[scenario](np.random.default_rng(n), n)
        center, spread = apart.mean(axis=1), apart.std(axis=1, ddof=1)
        third = np.where(spread > 0, ((apart - center[:, None]) ** 3).mean(axis=1), 0.0)
        skewness = np.divide(third, spread**3, out=np.zeros(1_000), where=spread > 0)
        t = paired_t(n, center, spread, skewness=skewness / np.sqrt(n))
        changed = (np.abs(apart) > 1e-9).sum(axis=1)
        wrong = 0
        for at in range(1_000):
            moments = Moments.of([(n, center[at], spread[at] ** 2 * (n - 1) / n, skewness[at])])
            flags = doubts(moments, int(changed[at]))
            found = {"queries": n, "changed_queries": int(changed[at]), "flags": flags}
            wrong += rules_out_drop(row(**found, interval_low=float(t.interval_low[at])), 0.01, 0.05)
        assert wrong <= 25, n

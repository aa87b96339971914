"""The rule of the gate on rows of comparisons: what fails, what is undecided, and p values over many rows."""

import pytest
from gate_levels import SHAPES, shares
from gates import gate, result, verdict
from scipy.stats import binom

from ndcg_spark.comparison.baselines import Baseline, Kind, NotComparable
from ndcg_spark.gate.checks import Case, Part
from ndcg_spark.gate.results import decide_cases, finding_of
from ndcg_spark.gate.verdict import worst_exit_code

#: How many nights of systems that do not change are decided.
NIGHTS = 1_000
GATE = gate()
GOOD = Baseline(Kind.GOOD, "good")
DATED = Baseline(Kind.NIGHTS)
RUN_A = Baseline(Kind.RUN, "run a", "a")


def case(
    p=0.001, drop=0.05, *, run="hybrid", check=0, config=GATE, baseline=GOOD, flags=(), **more
):
    """A drop of the mean from 0.6, by a check of a gate."""
    row = {
        "run": run,
        "measure": "ndcg",
        "cutoff": 10,
        "attribute": None,
        "value": None,
        "weight_effective_n": None,
    }
    row |= {"side": None, "reading": 1}
    row |= {
        "mean": 0.6 - drop,
        "baseline_mean": 0.6,
        "difference": -drop,
        "queries": 100,
        "flags": [*flags],
    }
    row |= {
        "interval_low": -drop - 0.01,
        "interval_high": -drop + 0.01,
        "p_value": p,
        "p_randomization": p,
        **more,
    }
    return Case(f"gate.check.{check}", config.check[check], run, baseline, (Part(row),))


def decided(*cases, config=GATE):
    return [(decision.result, decision.reason) for decision in decide_cases(config, cases)]


FAIL, CHANCE, PASS = ("fail", "dropped"), ("undecided", "may_be_chance"), ("pass", None)
NOT_MEASURED = ("not_comparable", "not_measured")
RULE = [
    (case(), FAIL),
    (case(p=0.06), CHANCE),
    # The larger p value of the two tests decides.
    (case(p_randomization=0.06), CHANCE),
    (case(p_value=0.06), CHANCE),
    (case(p_randomization=None), FAIL),
    (case(drop=0.01 + 1e-15), PASS),
    (case(drop=0.0100001), FAIL),
    (case(drop=-0.3), PASS),
    (case(drop=0.0, p=1.0, flags=["unchanged"]), PASS),
    # A loss of all queries alike, whose p is 2^(1 - n).
    (case(p=2.0**-4, interval_low=None, interval_high=None, p_randomization=None), CHANCE),
    (case(p=2.0**-5, interval_low=None, interval_high=None, p_randomization=None), FAIL),
    (case(p=None), NOT_MEASURED),
    *(
        (case(drop=drop, **{name: None}), NOT_MEASURED)
        for name in ("mean", "difference")
        for drop in (0.05, -0.05)
    ),
]


@pytest.mark.parametrize(("case", "expected"), RULE)
def test_rule(case, expected):
    assert decided(case) == [expected]


def test_holm_over_all_rows_of_a_family():
    others = [case(p=0.9, drop=0.001, run=f"r{n}") for n in range(9)]
    decisions = decide_cases(GATE, [case(p=0.01), *others])
    assert (decisions[0].result, decisions[0].p) == ("undecided", pytest.approx(0.1))
    # A row that did not change, or that was not measured, is in no family.
    unchanged = [case(p=1.0, drop=0.0, run=f"r{n}", flags=["unchanged"]) for n in range(9)]
    refused = [
        case(run=f"s{n}")._replace(parts=(Part(None, NotComparable("few_queries", "few")),))
        for n in range(9)
    ]
    assert decided(case(p=0.01), *unchanged, *refused)[0] == FAIL
    # Of checks that warn and of those that fail each is a family; a row of two checks is one hypothesis.
    both = gate({}, {"max_drop": 0.02}, {"severity": "warn"})
    warned = [case(p=0.9, drop=0.001, run=f"r{n}", check=2, config=both) for n in range(9)]
    shared = case(p=0.01, config=both)
    decisions = decide_cases(both, [shared, shared._replace(check=both.check[1]), *warned])
    assert [decision.p for decision in decisions[:3]] == [
        pytest.approx(0.01),
        pytest.approx(0.01),
        pytest.approx(1.0),
    ]
    # As is one of two baselines that stand for the same nights, but not of a run of this night.
    decisions = decide_cases(
        GATE, [shared, shared._replace(baseline=DATED), case(p=0.01, baseline=RUN_A)]
    )
    assert [decision.p for decision in decisions] == [pytest.approx(0.02)] * 3


def refused(sentence, about):
    return case()._replace(parts=(Part(None, NotComparable("few_queries", sentence, (about,))),))


STRICT = gate({}, {"severity": "warn"}, {"max_drop": 0.02})


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        # What a check that warns says of a mean is what one that fails says, whatever their p values are.
        (case(config=STRICT), case(config=STRICT, check=1, p=0.002), True),
        (case(config=STRICT), case(config=STRICT, check=2), False),
        (case(), case(run="bm25"), False),
        (case(), case(baseline=DATED), True),
        (case(), case(p=0.06), False),
        # Refusals are one by their code and by what they are about, not by their words.
        (refused("x", 1), refused("y", 1), True),
        (refused("x", 1), refused("x", 2), False),
    ],
)
def test_what_is_one_finding(one, other, is_one):
    first, second = (finding_of(each, *decide_cases(STRICT, [each])) for each in (one, other))
    assert (first == second) == is_one


def test_a_sentence_has_as_many_digits_as_show_what_is_larger():
    (beyond,) = decide_cases(GATE, [case(drop=0.01002)])
    assert "fell by 0.01002 " in beyond.sentence
    assert "; 0.01000 is allowed" in beyond.sentence


def test_what_is_identical_did_not_rise():
    (same,) = decide_cases(GATE, [case(p=1.0, drop=0.0, flags=["unchanged"])])
    assert "did not change against" in same.sentence


def test_exit_codes():
    passed, failed, none = (verdict(result(*pair)) for pair in (PASS, FAIL, CHANCE))
    assert worst_exit_code([passed, none, failed]) == 5
    assert worst_exit_code([none, passed]) == 6
    assert worst_exit_code([passed]) == worst_exit_code([]) == 0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [30, 200])
def test_a_system_that_does_not_change_seldom_fails(shape, n):
    # At a rate of 2.5 %, so many nights fail or fewer in 99.5 %; in a chain, of which the rate is 3 %, some more.
    alone, chain = (binom.ppf(0.995, NIGHTS, rate) / NIGHTS for rate in (0.025, 0.03))
    assert shares(shape, n, 7, NIGHTS, seed=1)[0] <= alone
    assert shares(shape, n, 7, NIGHTS, seed=1, is_chain=True)[0] <= chain

"""How often a gate fails or has no verdict although the system does not change: simulated nights, decided by the code.

python tests/support/gate_levels.py [NIGHTS] [SEED] prints shares of nights, in some minutes;
guides/GATE.md has those of a chain, as nights a year.
"""

import datetime
import sys

import numpy as np
from gates import gate
from paired import matrix

from ndcg_spark.comparison.baselines import Baseline, Kind
from ndcg_spark.comparison.differences import ComparisonOptions, Sides, comparison_rows
from ndcg_spark.comparison.statistics import paired_t
from ndcg_spark.gate.checks import Case, Part
from ndcg_spark.gate.results import decide_cases

GATE = gate({"max_drop": 0.01}, min_queries=2)
#: How the scores of queries move in a night, with a mean of 0.
SHAPES = {
    "normal, sd 0.05": lambda chance, shape: chance.normal(0, 0.05, shape),
    "normal, sd 0.1": lambda chance, shape: chance.normal(0, 0.1, shape),
    "80 % do not move": lambda chance, shape: (
        chance.normal(0, 0.2, shape) * (chance.random(shape) < 0.2)
    ),
    "exponential losses": lambda chance, shape: 0.1 - chance.exponential(0.1, shape),
    "5 % lose 0.4": lambda chance, shape: np.where(chance.random(shape) < 0.05, -0.38, 0.02),
}
#: So many systems have their nights side by side.
SYSTEMS = 100


def fails(apart: np.ndarray) -> bool:
    """Whether the only check of a gate fails by these differences per query."""
    key = {"dataset": "web", "evaluated_on": datetime.date(2026, 11, 20), "evaluation_id": "e"}
    key |= {"baseline_night": None, "baseline_nights": None, "side": None, "reading": 1}
    ours = matrix({"r": 0.5 + apart})
    sides = Sides(
        ours,
        matrix({"r": np.full(len(apart), 0.5)}, queries=ours.queries),
        ("ndcg", 10),
        key,
        [("r", "r")],
    )
    (row,) = comparison_rows(sides, ComparisonOptions(alpha=GATE.alpha, only_losses=True))
    case = Case("gate.check.0", GATE.check[0], "r", Baseline(Kind.GOOD, "good"), (Part(row),))
    (decision,) = decide_cases(GATE, [case])
    return decision.result == "fail"


def shares(
    shape: str, n: int, of: int, nights: int, seed: int = 0, is_chain: bool = False
) -> tuple[float, float]:
    """The shares of nights that fail and that have no verdict, of systems that do not change, beside `of` nights.

    These are new ones for each night; in a chain, they are the last that did not fail. Without any (0), the differences
    themselves have the shape.
    """
    move, chance = SHAPES[shape], np.random.default_rng([seed, n, of, [*SHAPES].index(shape)])
    failed = undecided = 0
    good = move(chance, (SYSTEMS, of, n))
    for _ in range(nights // SYSTEMS):
        if not is_chain:
            good = move(chance, (SYSTEMS, of, n))
        own = move(chance, (SYSTEMS, n))
        apart = own - (good.mean(1) if of else 0)
        mean, deviation = apart.mean(1), apart.std(1, ddof=1)
        is_beyond = mean < -GATE.check[0].max_drop
        # The larger of the two p values decides, so that nothing else can fail.
        may_fail = is_beyond & (
            paired_t(np.full(SYSTEMS, n), mean, deviation)["p_value"] < GATE.alpha
        )
        has_failed = np.array(
            [may and fails(row) for may, row in zip(may_fail, apart, strict=True)]
        )
        failed, undecided = (
            failed + int(has_failed.sum()),
            undecided + int((is_beyond & ~has_failed).sum()),
        )
        if is_chain:
            good[~has_failed] = np.concatenate([good, own[:, None]], 1)[~has_failed, 1:]
    return failed / nights, undecided / nights


def main() -> None:
    """Print the table."""
    nights, seed = (int(text) for text in [*sys.argv[1:], "2000", "0"][:2])
    sys.stdout.write(
        "| differences | against | n = 30 | n = 50 | n = 200 |\n|---|---|---|---|---|\n"
    )
    for shape in SHAPES:
        for of, is_chain, name in (
            (0, False, "one night"),
            (7, False, "mean of 7"),
            (7, True, "mean of 7, chain"),
        ):
            cells = (shares(shape, n, of, nights, seed, is_chain) for n in (30, 50, 200))
            shown = (f"{100 * failed:.2f} / {100 * undecided:.0f}" for failed, undecided in cells)
            sys.stdout.write(f"| {shape} | {name} | {' | '.join(shown)} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

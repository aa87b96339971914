"""How often a gate fails or has no verdict although the system does not change: simulated nights, decided by the code.

python tests/support/gate_levels.py [NIGHTS] [SEED] prints the table of conf/README.md, in some minutes.
"""

import datetime
import sys
from collections import Counter, deque

import numpy as np
from gates import gate
from paired import matrix

from ndcg_spark.comparison.differences import ComparisonOptions, Sides, rows_of
from ndcg_spark.gate.baselines import Baseline
from ndcg_spark.gate.config import GateConfig
from ndcg_spark.gate.decide import Case, results_of

#: How a query's score moves in a night, with a mean of 0.
SHAPES = {
    "normal, sd 0.05": lambda chance, n: chance.normal(0, 0.05, n),
    "normal, sd 0.1": lambda chance, n: chance.normal(0, 0.1, n),
    "80 % do not move": lambda chance, n: chance.normal(0, 0.2, n) * (chance.random(n) < 0.2),
    "exponential losses": lambda chance, n: 0.1 - chance.exponential(0.1, n),
    "5 % lose 0.4": lambda chance, n: np.where(chance.random(n) < 0.05, -0.38, 0.02),
}


def result(config: GateConfig, own: np.ndarray, baseline: np.ndarray) -> str:
    """The result of the only check of a gate on these scores per query."""
    key = {"dataset": "web", "evaluated_on": datetime.date(2026, 11, 20), "evaluation_id": "e"}
    key |= {"baseline_night": None, "baseline_nights": None}
    ours = matrix({"r": own})
    sides = Sides(ours, matrix({"r": baseline}, queries=ours.queries), ("ndcg", 10), key, [("r", "r")])
    (row,) = rows_of(sides, ComparisonOptions(alpha=config.alpha, only_losses=True))
    (found,) = results_of(config, [Case("gate.check.0", config.check[0], "r", Baseline("good"), row)])
    return found.result


def shares(shape: str, n: int, of: int, nights: int, seed: int = 0, is_chain: bool = False) -> dict[str, float]:
    """The share of each result on nights of a system that does not change, beside the mean of `of` nights.

    These are new ones for each night; in a chain, they are the last that did not fail. Without any (0), the differences
    themselves have the shape.
    """
    config, move = gate({"max_drop": 0.01}, min_queries=2), SHAPES[shape]
    chance = np.random.default_rng([seed, n, of])
    good = deque([move(chance, n) for _ in range(of)], maxlen=of)
    found: Counter[str] = Counter()
    for _ in range(nights):
        own = move(chance, n)
        if not is_chain:
            good.extend(move(chance, n) for _ in range(of))
        outcome = result(config, 0.5 + own, 0.5 + (np.mean(good, axis=0) if of else np.zeros(n)))
        found[outcome] += 1
        if outcome != "fail":
            good.append(own)
    return {outcome: count / nights for outcome, count in found.items()}


def main() -> None:
    """Print the table."""
    nights, seed = (int(text) for text in [*sys.argv[1:], "2000", "0"][:2])
    sys.stdout.write("| differences | against | n = 30 | n = 50 | n = 200 |\n|---|---|---|---|---|\n")
    for shape in SHAPES:
        for of, is_chain, name in ((0, False, "one night"), (7, False, "mean of 7"), (7, True, "mean of 7, chain")):
            cells = (shares(shape, n, of, nights, seed, is_chain) for n in (30, 50, 200))
            shown = (f"{100 * cell.get('fail', 0):.1f} / {100 * cell.get('undecided', 0):.0f}" for cell in cells)
            sys.stdout.write(f"| {shape} | {name} | {' | '.join(shown)} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

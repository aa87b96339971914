"""Checks the difference corrected by human grades with a simulation: bias, coverage and width in every cell.

    python scripts/simulate_corrected.py [--draws 2000] [--seed 1]

Prints the figures of ndcg_spark/guides/CORRECTED.md, and ends with 1 if a cell is beyond its limit. It takes minutes.
Fewer than 2,000 draws only show the figures: their own error is larger than the distance to a limit.
"""

import argparse
import itertools
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import judges

from ndcg_spark.comparison.human_sample import probabilities

QUERIES, SIZES = 150, (20, 50, 100)
#: The coverage that the interval must reach, and by how many standard errors a mean may be off, for this many cells.
COVERS, OFF = 0.935, 4.0
#: With this many draws, a coverage of 0.95 is three standard errors above COVERS.
FEWEST_DRAWS = 2_000


def these_queries(draws: int, rng: np.random.Generator) -> bool:
    """One population for each cell, and many samples from it."""
    print(
        "judge, movement, graded | moved, truth, judge | mean, off (std errors) | covered, width, true width"
    )
    is_right = True
    for judge, movement in itertools.product(judges.JUDGES, judges.MOVEMENTS):
        population = judges.population(QUERIES, movement, judge, rng)
        for size in SIZES:
            pi = probabilities(population.moved, size)
            found = [population.estimate(pi, rng) for _ in range(draws)]
            means = np.array([one.difference for one in found])
            ends = np.array([one.these_queries[1:3] for one in found])
            is_covered = (ends[:, 0] <= population.truth) & (population.truth <= ends[:, 1])
            deviation = means.std(ddof=1)
            off = (
                (means.mean() - population.truth) / (deviation / math.sqrt(draws))
                if deviation
                else 0.0
            )
            width = np.diff(ends, axis=1).mean()
            is_right &= is_covered.mean() >= COVERS and (abs(off) < OFF or deviation < 1e-5)
            told = f"{len(population.moved):5}, {population.truth:+.4f}, {found[0].machine:+.4f}"
            shown = f"{means.mean():+.4f}, {off:+.1f} | {is_covered.mean():.3f}, {width:.4f}, {3.92 * deviation:.4f}"
            print(f"{judge:12} {movement:9} {size:3} | {told} | {shown}", flush=True)
    return is_right


def all_queries(draws: int, rng: np.random.Generator) -> bool:
    """Queries drawn from many, and a sample of their documents."""
    print("\nall queries: judge, queries, graded | covered, width")
    is_right = True
    for judge, queries, size in itertools.product(judges.JUDGES, (50, 150, 500), (20, 50)):
        whole = judges.population(5_000, "inserted", judge, rng)
        covered, widths = 0, []
        for _ in range(draws):
            some = whole.of_queries(rng.integers(0, len(whole.moved.queries), queries))
            found = some.estimate(probabilities(some.moved, size), rng).all_queries
            covered += found.low <= whole.truth <= found.high
            widths.append(found.high - found.low)
        is_right &= covered / draws >= COVERS
        print(
            f"{judge:12} {queries:4} {size:3} | {covered / draws:.3f}, {np.mean(widths):.4f}",
            flush=True,
        )
    return is_right


def beside_chance(draws: int, rng: np.random.Generator) -> bool:
    """How wide the interval is compared with the same number of documents drawn at random."""
    print("\nwidth beside documents drawn at random: movement | found, 1 / sqrt(1 + CV^2)")
    is_right = True
    for movement in judges.MOVEMENTS:
        # Enough documents to make a sample of 50 a small part.
        population = judges.population(4_000, movement, "useless", rng)
        sizes = np.abs(population.moved.weight)
        theory = 1 / math.sqrt(1 + (sizes.std() / sizes.mean()) ** 2)
        ways = probabilities(population.moved, 50), np.full(len(sizes), 50 / len(sizes))
        widths = []
        for pi in ways:
            # Widths of samples, from the true variance of the estimates.
            errors = (population.human - population.moved.gain) ** 2
            widths.append(math.sqrt(np.sum((1 - pi) / pi * sizes**2 * errors)))
        shown = []
        for pi in ways:
            found = [population.estimate(pi, rng).these_queries for _ in range(draws)]
            shown.append(np.mean([one.high - one.low for one in found]))
        exact, seen = widths[0] / widths[1], shown[0] / shown[1]
        is_right &= abs(exact / theory - 1) < 0.05
        print(f"{movement:9} | {exact:.3f} (intervals {seen:.3f}), {theory:.3f}", flush=True)
    return is_right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=FEWEST_DRAWS)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    checks = (beside_chance, these_queries, all_queries)
    passed = [check(asked.draws, rng) for check in checks]
    if asked.draws < FEWEST_DRAWS:
        print(f"\n{asked.draws:,} draws cannot decide; {FEWEST_DRAWS:,} are needed")
        return 0
    return 0 if all(passed) else 1


if __name__ == "__main__":
    raise SystemExit(main())

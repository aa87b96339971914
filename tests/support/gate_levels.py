"""How often a gate fails, has no verdict, or is wrong: nights at random, decided on by the functions of the program.

python tests/support/gate_levels.py prints the tables of conf/README.md, in a quarter of an hour. With OUTPUT, a folder
of `evaluate`, the noise of a night is also that of pairs of its runs.
"""

import datetime
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow.dataset as ds
from gates import TONIGHT, against, gate, night
from ndcg_spark.gate.baseline import key_of
from ndcg_spark.gate.decision import decide
from paired import attributes, matrix

from ndcg_spark.comparison.differences import Sides, rows_of
from ndcg_spark.comparison.options import ComparisonOptions
from ndcg_spark.comparison.slices import Attributes
from ndcg_spark.gate.config import GateConfig
from ndcg_spark.gate.verdict import Verdict

Scores = np.ndarray
Noise = Callable[[np.random.Generator, int, float], Scores]
#: How many nights a chain has after the first, which is the anchor.
CHAIN = 50


def compared(run: Scores, baseline: Scores, config: GateConfig, part: int = 0) -> list[dict[str, Any]]:
    """The rows of COMPARISONS of these scores per query; the first `part` queries are a slice."""
    key = {"dataset": "web", "evaluated_on": datetime.date.fromisoformat(TONIGHT), "evaluation_id": "e"}
    key |= {"baseline_night": None, "baseline_nights": None}
    own = matrix({"hybrid": run})
    sides = Sides(own, matrix({"hybrid": baseline}, queries=own.queries), ("ndcg", 10), key, [("hybrid", "hybrid")])
    sliced = Attributes(attributes({f"q{at}": {"language": "de"} for at in range(part)})) if part else None
    options = ComparisonOptions(alpha=config.alpha, min_queries=config.min_queries)
    return [row for row in rows_of(sides, options, sliced) if row["value"] in (None, "de")]


def verdict(config: GateConfig, run: Scores, baselines: Sequence[Scores], part: int = 0) -> Verdict:
    """The verdict on these scores beside those of each baseline; the first `part` queries are a slice."""
    sides = [against(config, *compared(run, scores, config, part), at=place) for place, scores in enumerate(baselines)]
    rows = [(least, row) for least in _minimums(config) for row in compared(run, np.full(len(run), least), config)]
    return decide(config, night(), sides, minimums={(least, key_of(row)): row for least, row in rows})


def _minimums(config: GateConfig) -> set[float]:
    return {check.min_value for check in config.check if check.min_value is not None}


def example(drop: float = 0.01, *slices: str) -> GateConfig:
    """The gate of conf/gate.toml, with another drop, and checks of slices."""
    tolerance = {"max_drop": drop, "max_relative_drop": 2 * drop}
    check = {**tolerance, "min_value": 0.4, "max_share_losing": {"by": 0.2, "share": 0.2}}
    baselines = [{"night": "recent_good"}, {"night": "2026-11-01"}]
    return gate(check, *({**tolerance, "slice": name} for name in slices), baseline=baselines, min_queries=10)


def symmetric(chance: np.random.Generator, n: int, deviation: float) -> Scores:
    """The noise of a night: every query moves."""
    return chance.normal(0, deviation, n)


def zero_inflated(chance: np.random.Generator, n: int, deviation: float) -> Scores:
    """The noise of a night of the same deviation in which a fifth of the queries move."""
    return chance.normal(0, deviation / np.sqrt(0.2), n) * (chance.random(n) < 0.2)


def resampled(matrix: Scores) -> Noise:
    """The noise of a night as runs differ: the differences of a pair at random, by its columns, centred and scaled."""

    def noise(chance: np.random.Generator, n: int, deviation: float) -> Scores:
        one, other = chance.choice(matrix.shape[1], 2, replace=False)
        apart = matrix[:, one] - matrix[:, other]
        if apart.std() < 0.01:
            return noise(chance, n, deviation)
        return chance.choice((apart - apart.mean()) * deviation / apart.std(), n)

    return noise


def scores_of(output: str) -> Scores:
    """The NDCG@10 of the runs of an output with one night: a row per query, a column per run."""
    rows = ds.dataset(f"{output}/query_scores").to_table(filter=ds.field("cutoff") == 10).to_pandas()
    return rows.pivot(index="query_id", columns="run", values="ndcg").fillna(0.0).to_numpy()


def nights_of(
    config: GateConfig, n: int, deviation: float, noise: Noise, nights: int, seed: int = 1, drift: float = 0.0
) -> Iterator[tuple[int, Verdict]]:
    """The verdicts on nights of a system that loses `drift` a night, with the number of each in its chain.

    Every chain begins with a night that was accepted, which is the anchor, too.
    """
    chance = np.random.default_rng([n, int(1e4 * deviation), seed])
    for _ in range(nights // CHAIN):
        level = chance.uniform(0.35, 0.85, n)
        anchor = level + noise(chance, n, deviation)
        recent = deque([anchor], 7)
        for number in range(1, CHAIN + 1):
            run = level - drift * number + noise(chance, n, deviation)
            found = verdict(config, run, [np.mean(recent, axis=0), anchor])
            # As CommittedNight.is_not_worse has it.
            if all(finding.outcome in ("pass", "inconclusive") for finding in found.findings):
                recent.append(run)
            yield number, found


def shares(found: Iterator[tuple[int, Verdict]]) -> dict[str, float]:
    """The share of nights with each verdict."""
    counts = Counter(str(each.verdict) for _, each in found)
    return {word: counts[word] / counts.total() for word in ("pass", "fail", "none")}


def replaced_tops(config: GateConfig, nights: int, seed: int = 2) -> float:
    """The share of nights that fail, where in 20 % of 200 queries an irrelevant document takes the first rank."""
    chance, failed = np.random.default_rng(seed), 0
    discounts = 1 / np.log2(np.arange(2, 12))
    for _ in range(nights):
        # Graded lists of ten, of which the first document is relevant.
        gains = 2.0 ** chance.choice([0, 0, 1, 2], (200, 10)) - 1
        gains[:, 0] = 2.0 ** chance.choice([1, 2, 3], 200) - 1
        ideal = (-np.sort(-gains, axis=1) * discounts).sum(axis=1)
        level = (gains * discounts).sum(axis=1) / ideal
        before = [level + symmetric(chance, 200, 0.02) for _ in range(7)]
        run = level - gains[:, 0] / ideal * (np.arange(200) < 40) + symmetric(chance, 200, 0.02)
        failed += verdict(config, run, [np.mean(before, axis=0), before[0]]).verdict == "fail"
    return failed / nights


def broken_slices(n: int, deviation: float, nights: int, seed: int = 3) -> float:
    """The share of nights in which the check of a slice of 5 % of n queries fails, all of which lose 0.1."""
    config = example(0.01, "language=de")
    chance, failed = np.random.default_rng([n, seed]), 0
    for _ in range(nights):
        level = chance.uniform(0.35, 0.85, n)
        before = [level + symmetric(chance, n, deviation) for _ in range(7)]
        run = level - 0.1 * (np.arange(n) < n // 20) + symmetric(chance, n, deviation)
        findings = verdict(config, run, [np.mean(before, axis=0), before[0]], n // 20).findings
        failed += any(finding.slice and finding.outcome == "fail" for finding in findings)
    return failed / nights


def _rare(share: float, loss: float, others: float, other: Callable[[np.random.Generator, int], Any]) -> Any:
    def draw(chance: np.random.Generator, n: int) -> Scores:
        place = chance.random(n)
        return np.where(place < share, -loss, np.where(place < share + others, other(chance, n), 0.0))

    return draw


#: Differences whose true mean is about -0.015, where a drop of 0.010 is allowed.
LOSSES = {
    "normal": lambda chance, n: chance.normal(-0.015, 0.1, n),
    "2 % lose 0.75, 30 % wobble": _rare(0.02, 0.75, 0.3, lambda chance, n: chance.normal(0, 0.01, n)),
    "3 % lose 0.7, 20 % gain 0.03": _rare(0.03, 0.7, 0.2, lambda _, __: 0.03),
    "2 % lose 0.75, others the same": _rare(0.02, 0.75, 0.0, lambda _, __: 0.0),
    "2 % lose 0.75, others wobble": _rare(0.02, 0.75, 0.98, lambda chance, n: chance.normal(0, 0.01, n)),
}


def falsely_ruled_out(shape: str, n: int, nights: int, seed: int = 4) -> float:
    """The share of nights of which it is said that a drop of more than 0.01 is ruled out, though it is 0.015."""
    config = gate(min_queries=10)
    chance, wrong = np.random.default_rng([n, seed]), 0
    level = np.full(n, 0.8)
    for _ in range(nights):
        (finding,) = verdict(config, level + LOSSES[shape](chance, n), [level]).findings
        wrong += finding.code == "drop_ruled_out"
    return wrong / nights


def main(nights: int, *outputs: str) -> None:
    """Print the tables."""
    noises = [symmetric, zero_inflated, *(resampled(scores_of(output)) for output in outputs)]
    for n in (50, 200, 1000):
        for deviation in (0.02, 0.05, 0.1):
            cells = [
                shares(nights_of(example(drop), n, deviation, noise, nights))
                for noise in noises
                for drop in (0.01, 0.02)
            ]
            _print(f"{n:,}", deviation, *(f"{100 * each['fail']:.1f} / {100 * each['none']:.1f}" for each in cells))
    for shape in LOSSES:
        _print(shape, *(f"{falsely_ruled_out(shape, n, nights):.1%}" for n in (50, 100, 200, 400, 1000)))
    _print("top documents replaced", f"{replaced_tops(example(), nights):.1%}")
    for n, deviation in ((200, 0.02), (200, 0.05), (1000, 0.05), (1000, 0.1)):
        _print("broken slice", n, deviation, f"{broken_slices(n, deviation, nights):.1%}")


def _print(*cells: object) -> None:
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["1000"])[0]), *sys.argv[2:])

"""Random rankings that are hard on conventions: few distinct scores, tiny differences, gaps on both sides."""

import dataclasses
import random
from collections.abc import Iterable

#: Every cutoff up to past the longest list.
LONGEST = 14
CUTOFFS = [*range(1, LONGEST + 2), 40]


@dataclasses.dataclass(frozen=True)
class Case:
    """Judgments, and results of one run, by query; a result is (document, score, rank)."""

    judged: dict[str, dict[str, int]]
    returned: dict[str, list[tuple[str, float, int]]]

    def graded_lists(self) -> dict[str, tuple[list[int], list[float]]]:
        """For tools that see only what was returned: labels (0 if unjudged) and scores by rank, of judged queries."""
        return {
            query: (
                [self.judged[query].get(doc, 0) for doc, _, _ in rows],
                [score for _, score, _ in rows],
            )
            for query, rows in self.returned.items()
            if query in self.judged
        }

    def qrels_and_run(self) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
        return self.judged, {
            query: {doc: s for doc, s, _ in rows} for query, rows in self.returned.items()
        }


def make(seeds: Iterable[int], *, negative: bool = True, tied: bool = True) -> Case:
    """The case of several seeds at once. Without `tied`, all scores of a list differ, also as float32."""
    judged: dict[str, dict[str, int]] = {}
    returned: dict[str, list[tuple[str, float, int]]] = {}
    for seed in seeds:
        chance = random.Random(seed)  # noqa: S311  # cases that repeat are what is wanted
        for number in range(16):
            query = f"s{seed}-{number:02}"
            documents = [query, *(f"{chance.choice('aZé9#')}{n}" for n in range(20))]
            grades = [0] if number == 1 else [0, 0, 1, 2, 3, 4, *([-1] if negative else [])]
            if number != 2:
                pool = chance.sample(documents, chance.randint(1, 15))
                judged[query] = {doc: chance.choice(grades) for doc in pool}
            if number != 3:
                length = 1 if number == 4 else chance.randint(1, LONGEST)
                returned[query] = _ranked(chance, chance.sample(documents, length), tied)
    return Case(judged, returned)


def _ranked(
    chance: random.Random, documents: list[str], tied: bool
) -> list[tuple[str, float, int]]:
    scores = [float(place) for place in range(len(documents))]
    if tied:
        base = [chance.choice([-1.5, 0.0, -0.0, 0.1, 2.0, 16777216.0]) for _ in documents]
        scores = [score + chance.choice([0.0, 0.0, 1e-9, 1.0]) for score in base]
    chance.shuffle(scores)
    ranks = [*range(1, len(documents) + 1)]
    return [(doc, score, rank) for doc, score, rank in zip(documents, scores, ranks, strict=True)]

"""Machines that grade in place of people, and rankings whose documents they grade."""

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ndcg_spark.comparison.corrected import Corrected, MovedDocuments, corrected_difference

Numbers = NDArray[np.float64]
GAINS = 2.0 ** np.arange(4) - 1
DEPTH, KNOWN = 10, 16
DISCOUNTS = 1 / np.log2(np.arange(2, DEPTH + 2))
#: How often people give each grade.
GRADES = (0.45, 0.25, 0.2, 0.1)
_SAME = np.eye(4)
_ANY = np.full((4, 4), 0.25)
_NEIGHBOUR = np.array([[0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [0, 0, 1, 0]])
#: How often a machine gives each grade, by the grade of people. The biased one is noisy, and likes what moved up.
JUDGES: Mapping[str, Numbers] = {
    "good": 0.9 * _SAME + 0.1 * _NEIGHBOUR,
    "rarely wrong": 0.98 * _SAME + 0.02 * _NEIGHBOUR,
    "noisy": 0.4 * _SAME + 0.6 * _ANY,
    "biased": 0.4 * _SAME + 0.6 * _ANY,
    "useless": _ANY,
    "reversed": _SAME[::-1],
}
MOVEMENTS = ("swapped", "inserted", "reordered")
#: Two language models against the official grades of TREC DL 2019: rows are people's grades, columns the machine's.
MODELS: Mapping[str, Numbers] = {
    "8 B": np.array(
        [[1505, 1054, 2271, 328], [63, 106, 1086, 346], [36, 51, 1136, 581], [69, 64, 243, 321]]
    ),
    "70 B": np.array(
        [[1834, 1931, 1287, 106], [56, 342, 1021, 182], [25, 112, 967, 700], [85, 67, 214, 331]]
    ),
}


@dataclasses.dataclass(frozen=True)
class Population:
    """Documents that moved, with the gains that people would give them."""

    moved: MovedDocuments
    human: Numbers

    @property
    def truth(self) -> float:
        return float(self.moved.sums(self.moved.weight * self.human).mean())

    def estimate(self, pi: Numbers, rng: np.random.Generator) -> Corrected:
        """What one sample says."""
        drawn = rng.random(len(pi)) < pi
        while not drawn.any():
            drawn = rng.random(len(pi)) < pi
        return corrected_difference(self.moved, pi, np.where(drawn, self.human, np.nan), drawn)

    def of_queries(self, chosen: NDArray[np.int64]) -> "Population":
        """Some of its queries, of which one may occur twice."""
        starts = np.searchsorted(self.moved.query, np.arange(len(self.moved.queries) + 1))
        parts = [np.arange(starts[query], starts[query + 1]) for query in chosen]
        at = np.concatenate(parts)
        places = np.repeat(np.arange(len(chosen)), [len(part) for part in parts])
        moved = dataclasses.replace(
            self.moved,
            queries=[str(place) for place in range(len(chosen))],
            query=places,
            doc_ids=[self.moved.doc_ids[one] for one in at],
            weight=self.moved.weight[at],
            grade=self.moved.grade[at],
            gain=self.moved.gain[at],
            baseline=self.moved.baseline[chosen],
        )
        return Population(moved, self.human[at])


def population(queries: int, movement: str, judge: str, rng: np.random.Generator) -> Population:
    """Two rankings of this many queries, by the grades of people and of a machine."""
    parts: dict[str, list[Numbers]] = {}
    baseline = []
    while len(baseline) < queries:
        before, after = _lists(movement, rng)
        human = rng.choice(4, KNOWN, p=GRADES)
        change = after - before
        grades = graded(human, JUDGES[judge], rng)
        if judge == "biased":
            liked = (change > 0) & (rng.random(KNOWN) < 0.5)
            disliked = (change < 0) & (rng.random(KNOWN) < 0.5)
            grades = np.clip(grades + liked - disliked, 0, 3)
        ideal = np.sort(GAINS[grades])[::-1][:DEPTH] @ DISCOUNTS
        if not ideal:
            continue
        at = np.flatnonzero(change)
        own = {"weight": change[at] / ideal, "grade": grades[at], "human": GAINS[human[at]]}
        own["query"] = np.full(len(at), len(baseline))
        for name, values in own.items():
            parts.setdefault(name, []).append(values)
        baseline.append(before @ GAINS[grades] / ideal)
    whole = {name: np.concatenate(values) for name, values in parts.items()}
    moved = MovedDocuments(
        queries=[str(query) for query in range(queries)],
        query=whole["query"].astype(np.int64),
        doc_ids=[f"d{at}" for at in range(len(whole["query"]))],
        weight=whole["weight"],
        grade=whole["grade"].astype(np.float64),
        gain=GAINS[whole["grade"]],
        baseline=np.array(baseline),
        gains=GAINS,
    )
    return Population(moved, whole["human"])


def graded(
    human: NDArray[np.int64], confusion: Numbers, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The grades of a machine, drawn by those of people."""
    shares = np.cumsum(confusion / confusion.sum(axis=1, keepdims=True), axis=1)
    numbers = rng.random((len(human), 1))
    return (numbers > shares[human, :-1]).sum(axis=1)


def _lists(movement: str, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
    """The discounts of the known documents of a query in both rankings."""
    before = rng.permutation(KNOWN)
    after = before.copy()
    if movement == "swapped" and rng.random() < 0.5:
        at = rng.integers(0, DEPTH - 1)
        after[[at, at + 1]] = before[[at + 1, at]]
    elif movement == "inserted":
        comes_in = rng.integers(DEPTH, KNOWN)
        rest = np.delete(before, comes_in)
        after = np.insert(rest, rng.integers(0, DEPTH), before[comes_in])
    elif movement == "reordered":
        after = rng.permutation(KNOWN)
    discounts = np.zeros((2, KNOWN))
    for side, order in enumerate((before, after)):
        discounts[side, order[:DEPTH]] = DISCOUNTS
    return discounts[0], discounts[1]


def of_lists(
    human: Mapping[tuple[str, str], int],
    machine: Mapping[tuple[str, str], int],
    before: Mapping[str, list[str]],
    after: Mapping[str, list[str]],
) -> Population:
    """Two rankings by query, and the grades of people and of a machine; a document without one has 0."""
    ideals: dict[str, list[float]] = {}
    for (query, _), grade in machine.items():
        ideals.setdefault(query, []).append(GAINS[grade])
    queries, rows, baseline = [], [], []
    for query in sorted(ideals.keys() & before.keys() & after.keys()):
        best = sorted(ideals[query], reverse=True)[:DEPTH]
        ideal = float(np.array(best) @ DISCOUNTS[: len(best)])
        if not ideal:
            continue
        sides = [dict(zip(side[query], DISCOUNTS, strict=False)) for side in (before, after)]
        for document in sorted(sides[0].keys() | sides[1].keys()):
            change = sides[1].get(document, 0.0) - sides[0].get(document, 0.0)
            if change:
                grades = machine.get((query, document)), human.get((query, document), 0)
                rows.append((len(queries), document, change / ideal, *grades))
        own = [GAINS[machine.get((query, document), 0)] for document in before[query][:DEPTH]]
        baseline.append(float(np.array(own) @ DISCOUNTS[: len(own)]) / ideal)
        queries.append(query)
    places, documents, weights, grades, people = zip(*rows, strict=True)
    grade = np.array([np.nan if one is None else one for one in grades], float)
    moved = MovedDocuments(
        queries=queries,
        query=np.array(places),
        doc_ids=documents,
        weight=np.array(weights),
        grade=grade,
        gain=GAINS[np.nan_to_num(grade).astype(int)],
        baseline=np.array(baseline),
        gains=GAINS,
    )
    return Population(moved, GAINS[np.array(people)])

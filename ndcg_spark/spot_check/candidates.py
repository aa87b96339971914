"""Choose the lists to recompute: some at random, and some of each kind that was wrong before."""

import random
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.reference import Returned
from ndcg_spark.spot_check.plain_rows import Listed, Pair

#: How many lists are recomputed, and how many of these are drawn from the inputs.
LISTS, FROM_INPUTS = 50, 25
#: Up to this many datasets and runs have their own list.
_DATASETS, _RUNS = 10, 5
#: The probability that a later file replaces the list of a kind.
_REPLACED = 0.2


class Drawn:
    """Lists drawn from files of scores: some at random, and one of each kind that occurs."""

    def __init__(self, has_datasets: bool, chance: random.Random) -> None:
        self._has_datasets, self._chance = has_datasets, chance
        #: The drawn list by kind, with the longest list first.
        self._of_kind: dict[Any, Pair | None] = {}
        #: The datasets and the runs that have their own list.
        self._names: dict[str, list[str]] = {"dataset": [], "run": []}
        self._at_random: list[Pair] = []
        self._longest = -1

    @property
    def pairs(self) -> list[Pair]:
        """One list of each kind, followed by all other lists in random order."""
        others = self._chance.sample(self._at_random, len(self._at_random))
        of_kinds = [pair for pair in self._of_kind.values() if pair is not None]
        return list(dict.fromkeys([*of_kinds, *others]))

    def add(self, table: pa.Table) -> None:
        """Draw from the rows of a file at one cutoff."""
        places = range(len(table))
        some = self._chance.sample(places, min(LISTS, len(table)))
        self._at_random += [self._pair(table, at) for at in some]
        longest = pc.max(table["returned"]).as_py() if len(table) else -1
        if longest > self._longest:
            self._longest = longest
            self._of_kind["longest"] = None
        self._keep("longest", table, pc.equal(table["returned"], self._longest))
        for status in ("missing", "no_relevant"):
            self._keep(status, table, pc.equal(table["status"], status))
        for column, most in (("dataset", _DATASETS), ("run", _RUNS)):
            names = self._names[column]
            new = set(pc.unique(table[column]).to_pylist()).difference(names)
            names += sorted(new)[: most - len(names)]
            for name in names:
                self._keep((column, name), table, pc.equal(table[column], name))

    def _keep(self, kind: Any, table: pa.Table, mask: pa.ChunkedArray) -> None:
        """Draw a marked row for this kind; sometimes it replaces the row of an earlier file."""
        places = pc.indices_nonzero(mask.combine_chunks()).to_pylist()
        is_new = self._of_kind.get(kind) is None or self._chance.random() < _REPLACED
        if places and is_new:
            self._of_kind[kind] = self._pair(table, self._chance.choice(places))

    def _pair(self, table: pa.Table, at: int) -> Pair:
        dataset = table["dataset"][at].as_py() if self._has_datasets else None
        return Pair(dataset, table["run"][at].as_py(), table["query_id"][at].as_py())


def chosen_pairs(
    required: Iterable[Pair],
    from_scores: Iterable[Pair],
    from_inputs: Iterable[Pair],
    listed: Listed,
    cutoffs: Sequence[Cutoff],
) -> list[Pair]:
    """The lists to recompute among the drawn lists; `listed` has their documents.

    The required lists come first, followed by some lists from the inputs, the lists from the
    scores, and the rest from the inputs. Among the lists from the inputs, one with a tie at a
    cutoff comes first.
    """
    of_inputs = list(dict.fromkeys(from_inputs))
    for pair in of_inputs:
        if is_tied(listed.get(pair, ()), cutoffs):
            of_inputs.remove(pair)
            of_inputs.insert(0, pair)
            break
    in_order = [*required, *of_inputs[:FROM_INPUTS], *from_scores, *of_inputs]
    without_repeats = list(dict.fromkeys(in_order))
    return without_repeats[:LISTS]


def is_tied(documents: Sequence[Returned], cutoffs: Sequence[Cutoff]) -> bool:
    """Whether the document at a cutoff and the next one have the same score."""
    scores = [score for _, score, _ in documents if score is not None]
    scores.sort(reverse=True)
    depths = [cutoff for cutoff in cutoffs if cutoff is not None and cutoff < len(scores)]
    return any(scores[depth - 1] == scores[depth] for depth in depths)

"""Choose the lists to recompute: some at random, and one of each kind that an engine once got
wrong, such as the longest list, a missing one, and one without relevant documents.
"""

import random
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.reference import Returned
from ndcg_spark.spot_check.plain_rows import Listed, Pair

#: How many lists are recomputed, and how many of these are drawn from the inputs.
LISTS, FROM_INPUTS = 50, 25
#: For up to this many datasets and runs, a list of each is drawn.
_DATASETS, _RUNS = 10, 5
#: The probability that the list of a kind is replaced by one in a later file.
_REPLACED = 0.2
#: The kind of a list: `longest`, a status, or a column with its value, such as ("run", "bm25").
Kind = str | tuple[str, str]


class DrawnFromScores:
    """Lists drawn from files of scores: some at random, and one of each kind that occurs."""

    def __init__(self, has_datasets: bool, chance: random.Random) -> None:
        self._has_datasets, self._chance = has_datasets, chance
        #: The list that was drawn for each kind, or None.
        self._of_kind: dict[Kind, Pair | None] = {}
        #: The datasets and the runs that are kinds.
        self._names: dict[str, list[str]] = {"dataset": [], "run": []}
        self._at_random: list[Pair] = []
        self._longest = -1

    @property
    def pairs(self) -> list[Pair]:
        """One list of each kind, followed by the lists drawn at random, in random order."""
        others = self._chance.sample(self._at_random, len(self._at_random))
        of_kinds = [pair for pair in self._of_kind.values() if pair is not None]
        return list(dict.fromkeys(of_kinds + others))

    def add(self, table: pa.Table) -> None:
        """Draw from the rows of a file, which have one cutoff."""
        row_numbers = self._chance.sample(range(len(table)), min(LISTS, len(table)))
        self._at_random += [self._pair(table, number) for number in row_numbers]
        longest = pc.max(table["returned"]).as_py() if len(table) else -1
        if longest > self._longest:
            self._longest = longest
            # The list that was drawn from an earlier file is shorter.
            self._of_kind["longest"] = None
        self._draw("longest", table, pc.equal(table["returned"], self._longest))
        for status in ("missing", "no_relevant"):
            self._draw(status, table, pc.equal(table["status"], status))
        for column, most in (("dataset", _DATASETS), ("run", _RUNS)):
            names = self._names[column]
            new = set(pc.unique(table[column]).to_pylist()).difference(names)
            names.extend(sorted(new)[: most - len(names)])
            for name in names:
                self._draw((column, name), table, pc.equal(table[column], name))

    def _draw(self, kind: Kind, table: pa.Table, is_of_kind: pa.ChunkedArray) -> None:
        """Draw a list of this kind, which sometimes replaces the list from an earlier file."""
        row_numbers = pc.indices_nonzero(is_of_kind.combine_chunks()).to_pylist()
        is_wanted = self._of_kind.get(kind) is None or self._chance.random() < _REPLACED
        if row_numbers and is_wanted:
            self._of_kind[kind] = self._pair(table, self._chance.choice(row_numbers))

    def _pair(self, table: pa.Table, number: int) -> Pair:
        """The list of the row with this number."""
        dataset = table["dataset"][number].as_py() if self._has_datasets else None
        return Pair(dataset, table["run"][number].as_py(), table["query_id"][number].as_py())


def chosen_pairs(
    required: Iterable[Pair],
    from_scores: Iterable[Pair],
    from_inputs: Iterable[Pair],
    listed: Listed,
    cutoffs: Sequence[Cutoff],
) -> list[Pair]:
    """The lists to recompute, chosen from the drawn ones; `listed` has their documents.

    The required lists come first, followed by some lists from the inputs, the lists from the
    scores, and the other lists from the inputs. Among the lists from the inputs, one with a tie at
    a cutoff comes first.
    """
    inputs = list(dict.fromkeys(from_inputs))
    for pair in inputs:
        if is_tied(listed.get(pair, ()), cutoffs):
            inputs.remove(pair)
            inputs.insert(0, pair)
            break
    in_order = list(required) + inputs[:FROM_INPUTS] + list(from_scores) + inputs
    without_repeats = list(dict.fromkeys(in_order))
    return without_repeats[:LISTS]


def is_tied(documents: Sequence[Returned], cutoffs: Sequence[Cutoff]) -> bool:
    """Whether the document at a cutoff and the next one have the same score."""
    scores = [score for _, score, _ in documents if score is not None]
    scores.sort(reverse=True)
    depths = [cutoff for cutoff in cutoffs if cutoff is not None and cutoff < len(scores)]
    return any(scores[depth - 1] == scores[depth] for depth in depths)

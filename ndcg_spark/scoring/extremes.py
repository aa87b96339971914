"""The lowest and the highest NDCG that any judgments of a list's unjudged documents could give.

Plain numpy, so that it can be sent to the workers of a cluster by value and tested on its own.

The gain of a document counts in the DCG and in the ideal DCG, so judging a document at a low rank can lower the NDCG,
and the highest NDCG need not come from the best grades. Both extremes are exact:

* Among assignments of the same gains, which have the same ideal DCG, the DCG is lowest with the largest gains at the
  deepest ranks, and highest with them at the first ranks.
* The ideal DCG is convex in the gains, so the quotient is lowest at a corner: some of the deepest documents have the
  best gain, and all others the worst. There are only as many such corners as documents.
* With the gains split into layers (a document with the third gain is in the layers 1 to 3), the DCG and the ideal DCG
  are sums over layers, and in each layer only the number of its documents matters. Dinkelbach's method finds the
  largest quotient: each layer separately maximizes DCG - t * ideal DCG for the best t so far. Layers of larger gains
  get no more documents than those of smaller ones, because discounts do not increase.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

#: The largest number of elements in one array.
_AT_ONCE = 2_000_000


@dataclasses.dataclass(frozen=True)
class Rules:
    """The rules of a convention that bounds depend on."""

    cutoffs: Sequence[int | None]
    #: The discounts of the ranks from 1 to a rank.
    discounts: Callable[[int], Sequence[float]]
    #: The gain of an unjudged document in the DCG.
    unjudged_gain: float
    #: Whether the ideal ranking has at most as many ranks as the list has documents.
    capped: bool
    #: The score of a list whose ideal DCG is 0; NaN if it is left out.
    nothing: float


def at_cutoffs(
    dcg: Sequence[Array],
    ranks: Sequence[Array],
    returned: Sequence[int],
    judged_gains: Sequence[Array],
    gains: Array,
    rules: Rules,
) -> list[list[float]]:
    """For each list, the lowest and the highest NDCG at each cutoff, in turn; NaN where there is none.

    `dcg` has each list's DCG at each cutoff, `ranks` those of all its unjudged documents, ascending, `judged_gains` the
    gains of its query's judged documents, and `gains` those that any document can get.
    """
    gains = np.sort(gains)
    counts = np.array([(own[:, None] >= gains[None, :]).sum(axis=0) for own in judged_gains])
    counts = counts.reshape(len(dcg), len(gains))
    # The ideal ranking of the whole list has every judged and every unjudged document.
    whole = np.array([len(own) + len(judged) for own, judged in zip(ranks, judged_gains, strict=True)], dtype=np.int64)
    deepest = max([1, *(int(own[-1]) for own in ranks if len(own)), *whole.tolist(), *(k or 1 for k in rules.cutoffs)])
    discounts = np.array(rules.discounts(deepest))
    if (np.diff(discounts) > 0).any():
        raise ValueError("bounds need discounts that do not increase with the rank")
    columns: list[Array] = []
    for at, k in enumerate(rules.cutoffs):
        within = [own if k is None else own[own <= k] for own in ranks]
        assumed = np.array([discounts[own - 1].sum() * rules.unjudged_gain for own in within])
        depths = whole if k is None else np.full(len(dcg), k)
        depths = np.minimum(depths, returned) if rules.capped else depths
        judged_dcg = np.array([own[at] for own in dcg], dtype=float) - assumed
        columns += extremes(judged_dcg, within, counts, depths, gains, discounts, rules.nothing)
    return np.stack(columns, axis=1).tolist() if len(dcg) else []


def extremes(
    dcg: Array, ranks: list[Array], counts: Array, depths: Array, gains: Array, discounts: Array, nothing: float
) -> tuple[Array, Array]:
    """The lowest and the highest NDCG of each list, NaN where no assignment gives one.

    Parameters
    ----------
    dcg : shape (lists,)
        The DCG of each list's judged documents.
    ranks : lists arrays of int
        The ranks, from 1, ascending, of each list's unjudged documents within its cutoff.
    counts : shape (lists, gains)
        How many judged documents of the query gain at least each of `gains`.
    depths : shape (lists,)
        How many ranks the ideal ranking has at most.
    gains : shape (gains,)
        The gains that a document can get, ascending, the first at least 0.
    discounts : shape (ranks,)
        The discount of every rank from 1 that is needed, not increasing.
    nothing : float
        The score of a list whose ideal DCG is 0; NaN if it is left out.
    """
    low, high = np.full(len(dcg), np.nan), np.full(len(dcg), np.nan)
    most = max((len(own) for own in ranks), default=0)
    size = max(_AT_ONCE // ((most + 1) * len(gains)), 1)
    for start in range(0, len(dcg), size):
        part = slice(start, start + size)
        low[part], high[part] = _of_part(dcg[part], ranks[part], counts[part], depths[part], gains, discounts, nothing)
    return low, high


def _of_part(
    dcg: Array, ranks: list[Array], counts: Array, depths: Array, gains: Array, discounts: Array, nothing: float
) -> tuple[Array, Array]:
    lists, most = len(dcg), max((len(own) for own in ranks), default=0)
    number = np.array([len(own) for own in ranks], dtype=np.int64)
    weights = np.zeros((lists, most))
    for at, own in enumerate(ranks):
        weights[at, : len(own)] = discounts[own - 1]
    up_to = np.concatenate([[0.0], np.cumsum(discounts)])
    first = np.concatenate([np.zeros((lists, 1)), np.cumsum(weights, axis=1)], axis=1)
    documents = np.arange(most + 1)
    last = first[:, -1:] - np.take_along_axis(first, np.maximum(number[:, None] - documents[None, :], 0), axis=1)
    filled = np.minimum(counts[:, :, None] + documents[None, None, :], depths[:, None, None])
    ideal = up_to[np.minimum(filled, len(discounts))]
    layers = np.diff(gains, prepend=0.0)
    # Every document has at least the smallest gain, so it is in the first layer.
    of_all = np.take_along_axis(ideal[:, 0, :], number[:, None], axis=1)[:, 0]
    exists = documents[None, :] <= number[:, None]
    own_dcg, own_ideal = dcg + layers[0] * first[:, -1], layers[0] * of_all
    part = _Layers(own_dcg, own_ideal, first, last, ideal[:, 1:], layers[1:], exists, nothing)
    return part.lowest(), part.highest()


@dataclasses.dataclass(frozen=True)
class _Layers:
    """Lists whose unjudged documents have at least the smallest gain, and may be in further layers."""

    #: The DCG and the ideal DCG with all of them at the smallest gain, by list.
    dcg: Array
    ideal_dcg: Array
    #: The discounts of the first m unjudged documents, and of the last m, by list and m.
    first: Array
    last: Array
    #: What a layer adds to the ideal DCG, per gain, if m documents join the judged ones in it, by list, layer and m.
    ideal: Array
    #: The gain that each layer adds.
    gains: Array
    #: Whether the list has m unjudged documents, by list and m.
    exists: Array
    nothing: float

    def lowest(self) -> Array:
        """The least quotient over the corners at which the last m documents have the best gain."""
        ideal_dcg = self.ideal_dcg[:, None] + np.einsum("l,blm->bm", self.gains, self.ideal)
        quotients = self._quotients(self.dcg[:, None] + self.gains.sum() * self.last, ideal_dcg)
        low = np.where(self.exists & ~np.isnan(quotients), quotients, np.inf).min(axis=1)
        return np.where(np.isinf(low), np.nan, low)

    def highest(self) -> Array:
        """The largest quotient, by Dinkelbach's method."""
        best = np.full(len(self.dcg), -np.inf)
        # Begins with every document at the worst and at the best gain; one of these has a quotient if any has.
        worst = np.zeros((len(self.dcg), len(self.gains)), dtype=np.int64)
        for start in (worst, worst + self.exists.sum(axis=1)[:, None] - 1):
            best = np.fmax(best, self._quotients_of(start))
        while True:
            so_far = np.where(np.isinf(best), 0.0, best)[:, None, None]
            worth = np.where(self.exists[:, None, :], self.first[:, None, :] - so_far * self.ideal, -np.inf)
            quotients = self._quotients_of(worth.argmax(axis=2))
            better = quotients > best * (1 + 1e-15)
            if not better.any():
                return np.where(np.isinf(best), np.nan, best)
            best = np.where(better, quotients, best)

    def _quotients_of(self, chosen: Array) -> Array:
        """The NDCG if the first `chosen` documents of each list are in each layer."""
        lists, levels = np.arange(len(self.dcg))[:, None], np.arange(len(self.gains))[None, :]
        dcg = self.dcg + (self.first[lists, chosen] * self.gains).sum(axis=1)
        return self._quotients(dcg, self.ideal_dcg + (self.ideal[lists, levels, chosen] * self.gains).sum(axis=1))

    def _quotients(self, dcg: Array, ideal_dcg: Array) -> Array:
        return np.where(ideal_dcg > 0, dcg / np.where(ideal_dcg > 0, ideal_dcg, 1.0), self.nothing)

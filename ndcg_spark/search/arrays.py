"""Scores many lists at once as arrays, with the same results as `reference`, but faster.

Plain Python would take a second for each convention. A convention that the arrays find is compared
with the engine before it is shown.
"""

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ndcg_spark import reference
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.convention.options import TIES
from ndcg_spark.errors import ConventionError, InputError
from ndcg_spark.search.old_lists import OldList

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

#: The options that affect a list's order.
_OF_ORDER = ("order", "ties", "score_precision")
#: The options that affect the grades of documents.
_OF_GRADES = ("judgment_duplicates", "negative")
#: The options that affect the gains of documents.
_OF_GAINS = ("gain", "min_relevance", *_OF_GRADES)
#: The options that affect the gains in a list.
_OF_LISTS = (*_OF_ORDER, *_OF_GAINS, "unjudged", "duplicates", "exclude_query_as_document")
#: The options that affect the sums of discounted gains.
_OF_SUMS = (*_OF_LISTS, "discount")
#: The number of values of each step that are kept for other conventions.
_MOST_NUMBERS = 20_000_000


class _RefusedError(Exception):
    """A convention refuses one of the lists."""


class _Grades(NamedTuple):
    """The grades of all documents."""

    #: The position of each judged document's list, in ascending order.
    at: Whole
    #: Each judged document's grade.
    judged: Floats
    #: The grade of each returned document, or NaN if it has no grade.
    returned: Floats


class _Gains(NamedTuple):
    """The gains of all documents, in the order of `_Grades`; NaN if a grade has no gain."""

    at: Whole
    judged: Floats
    returned: Floats


class _Lists(NamedTuple):
    """Tables with a row for each list and a column for each rank, padded with 0."""

    #: Each document's gain.
    of_documents: Floats
    #: The gain at each rank, which differs from the document's if ties are averaged.
    at_ranks: Floats
    lengths: Whole


class ArrayScorer:
    """Scores lists. Steps that conventions share are computed once."""

    def __init__(self, lists: Sequence[OldList]) -> None:
        # The arrays have a value for each returned document of all lists, list by list.
        self._lists = lists
        self._ids: list[str] = []
        lengths = [len(one.returned) for one in lists]
        scores: list[float] = []
        ranks: list[float] = []
        is_query: list[bool] = []
        for one in lists:
            for doc_id, score, rank in one.returned:
                self._ids.append(doc_id)
                scores.append(score or 0.0)
                ranks.append(rank or 0)
                is_query.append(doc_id == one.pair.query_id)
        #: The position of the list of each returned document.
        self._at = np.repeat(np.arange(len(lists)), lengths)
        self._scores = np.array(scores, np.float64)
        self._ranks = np.array(ranks, np.float64)
        #: Whether each returned document is the query itself.
        self._is_query = np.array(is_query, bool)
        #: Whether each list has documents.
        self._is_answered = np.array([bool(one.returned) for one in lists], bool)
        pairs = set(zip(self._at.tolist(), self._ids, strict=True))
        #: Whether a list has a document twice.
        self._has_twice = len(pairs) < len(self._ids)
        #: The results of each step, by the values of the options that affect it.
        self._kept: dict[str, dict[tuple[Any, ...], Any]] = {}

    def scores(self, convention: Convention, cutoffs: Sequence[Cutoff]) -> Floats | None:
        """Return NDCG of every list, with a column for each cutoff, and NaN for a skipped list.

        A column is infinite if the convention refuses a list at that cutoff. Return None if it
        refuses a list at every cutoff.
        """
        try:
            with np.errstate(all="ignore"):
                return self._ndcg(convention, tuple(cutoffs))
        except (_RefusedError, InputError, ConventionError):
            return None

    def _ndcg(self, convention: Convention, cutoffs: tuple[Cutoff, ...]) -> Floats:
        """Return NDCG of every list at every cutoff. Raise _RefusedError if a list is refused."""
        is_missing = ~self._is_answered
        if convention.missing_query == "error" and is_missing.any():
            raise _RefusedError
        sums = self._shared(self._sums, _OF_SUMS, convention)
        dcg = sums[:, _columns(cutoffs, sums)]
        ideal = self._ideal(convention, cutoffs)
        has_no_gain = ideal == 0
        if convention.no_relevant == "one":
            # As in `reference`: tools with no_relevant=one treat a negative ideal like no gain.
            has_no_gain |= ideal < 0
        without_gain = {"zero": 0.0, "one": 1.0}.get(convention.no_relevant, math.nan)
        ndcg = np.where(has_no_gain, without_gain, dcg / np.where(has_no_gain, 1.0, ideal))
        is_refused = ~has_no_gain & ~np.isfinite(ndcg)
        if convention.no_relevant == "error":
            # A missing query without gain is refused only if missing queries are scored.
            is_scored = convention.missing_query == "zero" or self._is_answered[:, None]
            is_refused |= has_no_gain & is_scored
        if convention.missing_query == "skip":
            ndcg[is_missing] = math.nan
        # A cutoff at which any list is refused gives no scores.
        ndcg[:, is_refused.any(axis=0)] = math.inf
        return ndcg

    def _shared(
        self,
        step: Callable[..., Any],
        options: Iterable[str],
        convention: Convention,
        *more: Any,
    ) -> Any:
        """Return the result of a step, computed once for conventions with the same `options`."""
        kept = self._kept.setdefault(step.__name__, {})
        values = tuple(str(getattr(convention, option)) for option in options)
        key = (*values, *more)
        if key not in kept:
            if len(kept) * len(self._ids) > _MOST_NUMBERS:
                kept.clear()
            kept[key] = step(convention, *more)
        return kept[key]

    def _grades(self, convention: Convention) -> _Grades:
        """Return every document's grade, combined if it was judged several times."""
        grades_of_lists = []
        counts = []
        judged: list[float] = []
        for one in self._lists:
            grades = reference.merged_grades(one.pair.query_id, one.judged, convention)
            grades_of_lists.append(grades)
            counts.append(len(grades))
            judged.extend(grades.values())
        returned = []
        for position, doc_id in zip(self._at.tolist(), self._ids, strict=True):
            returned.append(grades_of_lists[position].get(doc_id, math.nan))
        at = np.repeat(np.arange(len(self._lists)), counts)
        return _Grades(at, np.array(judged, np.float64), np.array(returned, np.float64))

    def _gains(self, convention: Convention) -> _Gains:
        """Return every document's gain."""
        grades = self._shared(self._grades, _OF_GRADES, convention)
        judged = _gains_of(grades.judged, convention)
        if convention.judgment_duplicates == "mean" and isinstance(convention.gain, Mapping):
            # A mean of grades may be missing in the table of gains.
            needs_gain = np.ones(len(judged), bool)
            if convention.negative != "keep":
                needs_gain = grades.judged >= 0
            if np.isnan(judged[needs_gain]).any():
                raise _RefusedError
        return _Gains(grades.at, judged, _gains_of(grades.returned, convention))

    def _listed(self, convention: Convention) -> _Lists:
        """Return the lists in the convention's order, without removed documents."""
        grades = self._shared(self._grades, _OF_GRADES, convention)
        gains = self._shared(self._gains, _OF_GAINS, convention).returned
        is_judged = ~np.isnan(gains)
        gain = np.where(is_judged, gains, reference.unjudged_gain(convention))
        order = self._order(convention, gain)
        if self._has_twice and convention.duplicates == "best":
            order = self._first_of_each(order)
        is_removed = np.zeros(len(order), bool)
        if convention.exclude_query_as_document:
            is_removed |= self._is_query[order]
        if convention.unjudged == "drop":
            is_removed |= ~is_judged[order]
        if convention.negative == "drop":
            is_removed |= grades.returned[order] < 0
        order = order[~is_removed]
        if self._has_twice and convention.duplicates == "error":
            self._refuse_twice(order)
        return self._as_lists(order, gain[order], convention)

    def _as_lists(self, order: Whole, gain: Floats, convention: Convention) -> _Lists:
        """Return the lists of documents in this order, which have these gains."""
        at = self._at[order]
        lengths = np.bincount(at, minlength=len(self._lists))
        of_documents = _as_table(at, gain, lengths)
        at_ranks = of_documents
        if convention.ties == "average" and len(order):
            group = _groups(at, self._keys(convention)[order])
            means = np.bincount(group, gain) / np.bincount(group)
            at_ranks = _as_table(at, means[group], lengths)
        return _Lists(of_documents, at_ranks, lengths)

    def _keys(self, convention: Convention) -> Floats:
        """Return the keys by which lists are sorted, ascending."""
        if convention.ranks_decide:
            return self._ranks
        if convention.score_precision == "float32":
            return -self._scores.astype(np.float32).astype(np.float64)
        return -self._scores

    def _order(self, convention: Convention, gain: Floats) -> Whole:
        """Return the positions of the returned documents, list by list, best first.

        If ties are in their best or worst order, tied documents are sorted by `gain`.
        """
        order: Whole = self._shared(self._order_without_gains, _OF_ORDER, convention)
        if convention.ties not in ("worst", "best"):
            return order
        by_gain = gain if convention.ties == "worst" else -gain
        _, places = np.unique(by_gain[order], return_inverse=True)
        tied_groups = self._shared(self._tied_groups, _OF_ORDER, convention)
        # The keys are nearly sorted, so a stable sort is fast.
        return order[np.argsort(tied_groups * len(order) + places, kind="stable")]

    def _tied_groups(self, convention: Convention) -> Whole:
        """Return a number for each group of tied documents, in their order."""
        order = self._shared(self._order_without_gains, _OF_ORDER, convention)
        return _groups(self._at[order], self._keys(convention)[order])

    def _order_without_gains(self, convention: Convention) -> Whole:
        """Return the positions of the returned documents in an order that needs no gains."""
        rule = TIES[convention.ties]
        by_id = -self._text_order
        if rule.by == "doc_id" and rule.ascending:
            by_id = self._text_order
        elif rule.by == "number":
            by_id = self._ascending_numbers if rule.ascending else self._descending_numbers
        ranks = self._ranks if rule.by == "rank" else np.zeros(len(self._ranks))
        # lexsort sorts by its last key first.
        return np.lexsort((by_id, ranks, self._keys(convention), self._at))

    @functools.cached_property
    def _text_order(self) -> Whole:
        """The position of each document id among all ids, in the order of UTF-8 bytes."""
        # Python sorts text by code points, which is the same order.
        return self._places(sorted(set(self._ids)))

    @functools.cached_property
    def _ascending_numbers(self) -> Whole:
        by_number = functools.partial(reference.by_number, ascending=True)
        return self._places(sorted(set(self._ids), key=by_number))

    @functools.cached_property
    def _descending_numbers(self) -> Whole:
        by_number = functools.partial(reference.by_number, ascending=False)
        return self._places(sorted(set(self._ids), key=by_number, reverse=True))

    def _places(self, order: Iterable[str]) -> Whole:
        """Return the position of each document id in this order."""
        places = {doc_id: place for place, doc_id in enumerate(order)}
        return np.array([places[doc_id] for doc_id in self._ids], np.int64)

    def _first_of_each(self, order: Whole) -> Whole:
        """Return the order without repeated occurrences of a document in a list."""
        pairs = self._pairs(order)
        _, first = np.unique(pairs, return_index=True)
        return order[np.sort(first)]

    def _refuse_twice(self, order: Whole) -> None:
        """Raise _RefusedError if a list has a document twice."""
        pairs = self._pairs(order)
        if len(np.unique(pairs)) < len(pairs):
            raise _RefusedError

    def _pairs(self, order: Whole) -> Whole:
        """Return a number for each pair of list and document."""
        return self._at[order] * len(self._ids) + self._text_order[order]

    def _sums(self, convention: Convention) -> Floats:
        """Return every list's DCG at every rank."""
        lists = self._shared(self._listed, _OF_LISTS, convention)
        return _sums_to_each_rank(lists.at_ranks, convention)

    def _ideal(self, convention: Convention, cutoffs: tuple[Cutoff, ...]) -> Floats:
        """Return every list's ideal DCG at every cutoff."""
        if convention.ideal == "retrieved_at_k":
            at_cutoffs: Floats = self._shared(self._retrieved_at, _OF_SUMS, convention, cutoffs)
            return at_cutoffs
        if convention.ideal == "retrieved":
            retrieved: Floats = self._shared(self._retrieved_sums, _OF_SUMS, convention)
            return retrieved[:, _columns(cutoffs, retrieved)]
        sums = self._shared(self._judged_sums, (*_OF_GAINS, "discount"), convention)
        ideal: Floats = sums[:, _columns(cutoffs, sums)]
        if convention.ideal == "judged_capped":
            lengths = self._shared(self._listed, _OF_LISTS, convention).lengths
            depths = np.minimum(lengths[:, None], _columns(cutoffs, sums))
            ideal = np.take_along_axis(sums, depths, axis=1)
        if convention.ideal == "k_relevant":
            ideal = self._with_k_relevant(ideal, convention, cutoffs)
        return ideal

    def _with_k_relevant(
        self,
        ideal: Floats,
        convention: Convention,
        cutoffs: tuple[Cutoff, ...],
    ) -> Floats:
        """Return the ideal DCG for k relevant documents, if a list has a relevant document."""
        gains = self._shared(self._gains, _OF_GAINS, convention)
        relevant = np.bincount(gains.at, gains.judged > 0, minlength=len(self._lists))
        longest = max((cutoff for cutoff in cutoffs if cutoff is not None), default=0)
        # Every relevant document has gain 1.
        full_sums = np.cumsum(_weights(longest, convention))
        found = ideal.copy()
        for column, cutoff in enumerate(cutoffs):
            if cutoff is not None:
                found[relevant > 0, column] = full_sums[cutoff - 1]
        return found

    def _retrieved_at(self, convention: Convention, cutoffs: tuple[Cutoff, ...]) -> Floats:
        """Return the DCG of the documents down to each cutoff, in their best order."""
        lists = self._shared(self._listed, _OF_LISTS, convention)
        by_depth: dict[int, Floats] = {}
        depths = _depths(cutoffs, longest=lists.of_documents.shape[1])
        for depth in set(depths):
            lengths = np.minimum(lists.lengths, depth)
            best = _sorted_gains(lists.of_documents[:, :depth], lengths)
            by_depth[depth] = best @ _weights(depth, convention)
        return np.column_stack([by_depth[depth] for depth in depths])

    def _retrieved_sums(self, convention: Convention) -> Floats:
        """Return the DCG of the returned documents in their best order, at every rank."""
        lists = self._shared(self._listed, _OF_LISTS, convention)
        best = _sorted_gains(lists.of_documents, lists.lengths)
        return _sums_to_each_rank(best, convention)

    def _judged_sums(self, convention: Convention) -> Floats:
        """Return the DCG of the judged documents in their best order, at every rank."""
        gains = self._shared(self._gains, _OF_GAINS, convention)
        has_gain = ~np.isnan(gains.judged)
        at = gains.at[has_gain]
        lengths = np.bincount(at, minlength=len(self._lists))
        best = _sorted_gains(_as_table(at, gains.judged[has_gain], lengths), lengths)
        return _sums_to_each_rank(best, convention)


def _groups(at: Whole, key: Floats) -> Whole:
    """Return a number for each group of equal neighbours in the same list."""
    begins_group = (np.diff(at) != 0) | (np.diff(key) != 0)
    first = np.zeros(min(len(at), 1), np.int64)
    return np.concatenate([first, np.cumsum(begins_group)])


def _gains_of(grades: Floats, convention: Convention) -> Floats:
    """Return the gain of each grade, or NaN if there is none."""
    # Few grades differ, so the gain of each is computed once.
    distinct, place = np.unique(grades, return_inverse=True)
    gains = []
    for grade in distinct.tolist():
        gain = None if math.isnan(grade) else reference.gain(grade, convention)
        gains.append(math.nan if gain is None else gain)
    return np.array(gains, np.float64)[place]


def _as_table(at: Whole, values: Floats, lengths: Whole) -> Floats:
    """Return a table with a row for each list, padded with 0.

    `values` has the values of all lists, one list after another, and `at` each value's list.
    """
    table = np.full((len(lengths), int(lengths.max(initial=0))), 0.0)
    starts = np.cumsum(lengths) - lengths
    places_in_list = np.arange(len(at)) - starts[at]
    table[at, places_in_list] = values
    return table


def _sorted_gains(gains: Floats, lengths: Whole) -> Floats:
    """Return the gains of each list in their best order."""
    ranks = np.arange(gains.shape[1])
    # Padding comes last, even after negative gains.
    known = np.where(ranks < lengths[:, None], gains, -np.inf)
    best = -np.sort(-known, axis=1)
    return np.where(np.isneginf(best), 0.0, best)


def _sums_to_each_rank(gains: Floats, convention: Convention) -> Floats:
    """Return the cumulative discounted gains: a column for rank 0, then one for each rank."""
    sums = np.cumsum(gains * _weights(gains.shape[1], convention), axis=1)
    return np.hstack([np.zeros((len(gains), 1)), sums])


def _weights(depth: int, convention: Convention) -> Floats:
    """Return the discounts down to a depth."""
    return np.array(reference.discounts(depth, convention.discount), np.float64)


def _columns(cutoffs: Iterable[Cutoff], sums: Floats) -> list[int]:
    """Return the column of each cutoff in a table of `_sums_to_each_rank`."""
    return _depths(cutoffs, longest=sums.shape[1] - 1)


def _depths(cutoffs: Iterable[Cutoff], longest: int) -> list[int]:
    """Return the depth of each cutoff, which is at most the length of the longest list."""
    return [longest if cutoff is None else min(cutoff, longest) for cutoff in cutoffs]

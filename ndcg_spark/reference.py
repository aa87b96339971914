"""NDCG and the other measures in plain Python, which everything else is checked against.

A list is scored in four steps, each a function below:

1. `merged_grades`: each judged document's grade, combined if several people judged it.
2. `judged_gains`: the gain of each grade that is used.
3. `scored_list`: the returned documents in the convention's order, without removed ones.
4. `score_at`: DCG, the sum of the discounted gains down to a cutoff, divided by the ideal DCG.

It is not in `convention`, because users' gain functions need pandas, which that package avoids.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ndcg_spark.convention.convention import Convention, Discount, counted_grade, named_gain
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.convention.options import DISCOUNTS, GAINS
from ndcg_spark.convention.refused_queries import (
    JUDGED_TWICE,
    MEAN_WITHOUT_GAIN,
    MISSING_QUERY,
    NEGATIVE,
    NO_RELEVANT,
    NOT_FINITE,
    RETURNED_TWICE,
    QueryRefusal,
)
from ndcg_spark.errors import InputError
from ndcg_spark.user_functions import call_function

#: How means of grades are rounded: below each bound, to this many steps per unit.
MEAN_STEPS = ((1e3, 1e12), (1e6, 1e9), (1e9, 1e6), (1e12, 1e3))

#: A returned document: its id, its score and its rank, such as ("d7", 12.5, None).
Returned = tuple[str, float | None, int | None]


class RefusedQueryError(InputError):
    """A query that the convention refuses, and the rule that it breaks."""

    def __init__(self, refusal: QueryRefusal, example: str) -> None:
        super().__init__(refusal.sentence(example))
        self.refusal = refusal
        self.example = example


@dataclasses.dataclass(frozen=True)
class Score:
    """The columns of QUERY_SCORES about NDCG.

    `ndcg` is None if the convention leaves the query out of the mean.
    """

    status: str
    returned: int
    judged: int
    dcg: float
    ideal_dcg: float
    ndcg: float | None
    judged_discount_share: float | None = None


@dataclasses.dataclass(frozen=True)
class Document:
    """A document in the list that is scored."""

    doc_id: str
    #: The key that the list is sorted by, ascending; documents with equal keys are tied.
    key: float
    #: Its grade, or None.
    grade: float | None
    #: Whether its grade has a gain. A negative grade that is ignored has none.
    is_judged: bool
    gain: float


@dataclasses.dataclass(frozen=True)
class Ranking:
    """A run's list for a query as the convention ranks it, and the query's judgments."""

    documents: Sequence[Document]
    #: The gain at each rank: with averaged ties, the mean of the documents that are tied there.
    gains: Sequence[float]
    #: Every judged document's grade.
    grades: Mapping[str, float]
    #: The gain of every judged document whose grade has one.
    judged: Mapping[str, float]
    #: Whether the run returned anything for the query.
    is_answered: bool


def score(
    query_id: str,
    judged: Iterable[tuple[str, float]],
    returned: Iterable[Returned],
    convention: Convention,
    cutoff: Cutoff,
) -> Score:
    """A query's score.

    `judged` has a document and its grade in each pair, `returned` a document, its score and its
    rank. Raises InputError for a query that the convention refuses.
    """
    ranking = rank_documents(query_id, judged, returned, convention)
    return score_at(ranking, convention, cutoff, query_id)


def rank_documents(
    query_id: str,
    judged: Iterable[tuple[str, float]],
    returned: Iterable[Returned],
    convention: Convention,
    depth: int | None = None,
) -> Ranking:
    """A query's list as the convention ranks it, with the gain at every rank.

    Raises InputError for a query that the convention refuses. A document that is returned twice
    is refused only if its second rank is at most `depth`; None means any rank.
    """
    grades = merged_grades(query_id, judged, convention)
    gains = judged_gains(grades, convention)
    if convention.judgment_duplicates == "mean":
        _refuse_means_without_gain(query_id, grades, gains, convention)
    rows = list(returned)
    documents = scored_list(query_id, rows, grades, gains, convention)
    if convention.duplicates == "error":
        _refuse_returned_twice(query_id, documents[:depth])
    own_gains = [document.gain for document in documents]
    return Ranking(
        documents=documents,
        gains=averaged(documents, own_gains, convention),
        grades=grades,
        judged=gains,
        is_answered=bool(rows),
    )


# Step 1: each judged document's grade.


def merged_grades(
    query_id: str,
    judged: Iterable[tuple[str, float]],
    convention: Convention,
) -> dict[str, float]:
    """Each judged document's grade. Raises InputError if the convention refuses the query."""
    rule = convention.judgment_duplicates
    grades_of: dict[str, list[float]] = {}
    for document, grade in judged:
        grades_of.setdefault(document, []).append(grade)
    merged = {}
    for document, grades in grades_of.items():
        if rule == "error" and len(grades) > 1:
            raise RefusedQueryError(JUDGED_TWICE, f"{document} for {_query_in_words(query_id)}")
        merged[document] = merged_grade(grades, rule)
    if convention.negative == "error":
        for document, grade in merged.items():
            if grade < 0:
                raise RefusedQueryError(NEGATIVE, f"{document} for {_query_in_words(query_id)}")
    return merged


def merged_grade(grades: Sequence[float], rule: str) -> float:
    """The grade of a document that has these grades, whose order does not matter."""
    if rule == "mean":
        return mean_grade(grades)
    return min(grades) if rule == "min" else max(grades)


def mean_grade(grades: Sequence[float]) -> float:
    """The mean, rounded so that the mean of 0.3, 0.4 and 2.3 is 1 and not slightly less."""
    if min(grades) == max(grades):
        return grades[0]
    total = 0.0
    # Not sum(), which adds differently from the engines.
    for grade in sorted(grades):
        total += grade
    mean = total / len(grades)
    for bound, steps in MEAN_STEPS:
        if abs(mean) < bound:
            return math.floor(mean * steps + 0.5) / steps
    return mean


# Step 2: the gain of each grade.


def judged_gains(grades: Mapping[str, float], convention: Convention) -> dict[str, float]:
    """The gain of each document whose grade has one."""
    # Documents share few grades, and a user's function may be slow.
    gain_of_grade = {grade: gain(grade, convention) for grade in set(grades.values())}
    gains = {}
    for document, grade in grades.items():
        document_gain = gain_of_grade[grade]
        if document_gain is not None:
            gains[document] = document_gain
    return gains


def gain(grade: float, convention: Convention) -> float | None:
    """The gain of a judged document with this grade.

    None if the grade counts as unjudged, or if a table of gains lacks it.
    """
    if grade < 0 and convention.negative != "keep":
        return None
    rule = convention.gain
    used_grade = counted_grade(grade, convention)
    if isinstance(rule, Mapping):
        return rule.get(used_grade)
    if rule in GAINS:
        return named_gain(rule, used_grade)
    return call_function(rule, [used_grade])[0]


def unjudged_gain(convention: Convention) -> float:
    """The gain of a document that nobody judged: 0, unless the convention gives it a grade."""
    if convention.gain == "judged":
        return 0.0
    grade = convention.unjudged if isinstance(convention.unjudged, float) else 0.0
    return gain(grade, convention) or 0.0


def _refuse_means_without_gain(
    query_id: str, grades: Mapping[str, float], gains: Mapping[str, float], convention: Convention
) -> None:
    """Raise InputError if a table of gains lacks the mean of a document's grades.

    A grade that is not a mean was already checked with its row.
    """
    for document, grade in grades.items():
        needs_gain = grade >= 0 or convention.negative == "keep"
        if needs_gain and document not in gains:
            example = f"{grade:g} of {document} for {_query_in_words(query_id)}"
            raise RefusedQueryError(MEAN_WITHOUT_GAIN, example)


# Step 3: the returned documents in the convention's order.


def scored_list(
    query_id: str,
    returned: Sequence[Returned],
    grades: Mapping[str, float],
    gains: Mapping[str, float],
    convention: Convention,
) -> list[Document]:
    """The returned documents in the convention's order, without removed documents."""
    listed = []
    seen: set[str] = set()
    gain_if_unjudged = unjudged_gain(convention)
    for key, doc_id in _sorted_documents(returned, convention):
        if doc_id in seen and convention.duplicates == "best":
            continue
        seen.add(doc_id)
        document = Document(
            doc_id,
            key,
            grade=grades.get(doc_id),
            is_judged=doc_id in gains,
            gain=gains.get(doc_id, gain_if_unjudged),
        )
        if not _is_removed(document, query_id, convention):
            listed.append(document)
    if convention.ties == "worst":
        listed.sort(key=lambda document: (document.key, document.gain))
    if convention.ties == "best":
        listed.sort(key=lambda document: (document.key, -document.gain))
    return listed


def _is_removed(document: Document, query_id: str, convention: Convention) -> bool:
    """Whether a returned document is removed from the list before it is scored."""
    if convention.exclude_query_as_document and document.doc_id == query_id:
        return True
    if convention.unjudged == "drop" and not document.is_judged:
        return True
    return convention.negative == "drop" and document.grade is not None and document.grade < 0


def _sorted_documents(rows: Iterable[Returned], convention: Convention) -> list[tuple[float, str]]:
    """The documents in the order of the convention, each with its key; equal keys are tied."""
    in_order_of_ties = _sorted_for_ties(rows, convention.ties)
    keyed = [(_sort_key(row, convention), row[0]) for row in in_order_of_ties]
    # The sort is stable: tied documents keep their order.
    return sorted(keyed, key=lambda pair: pair[0])


def _sorted_for_ties(rows: Iterable[Returned], ties: str) -> list[Returned]:
    """The rows in the order that tied documents have."""
    if ties == "doc_id_num_asc":
        return sorted(rows, key=lambda row: by_number(row[0], ascending=True))
    if ties == "doc_id_num_desc":
        return sorted(rows, key=lambda row: by_number(row[0], ascending=False), reverse=True)
    if ties == "doc_id_asc":
        return sorted(rows, key=_id_bytes)
    # All other rules start from larger ids first; `scored_list` then sorts by gain.
    larger_ids_first = sorted(rows, key=_id_bytes, reverse=True)
    if ties == "rank":
        return sorted(larger_ids_first, key=_rank_or_zero)
    return larger_ids_first


def _id_bytes(row: Returned) -> bytes:
    return row[0].encode()


def _rank_or_zero(row: Returned) -> int:
    return row[2] or 0


def by_number(document: str, ascending: bool) -> tuple[float, str, bytes]:
    """A key that sorts ids that are whole numbers by their value, and other ids after them.

    A number with more digits is larger, so the key of "0042" begins with 2 digits, then "42".
    """
    if not (document.isascii() and document.isdecimal()):
        return math.inf if ascending else -1.0, "", document.encode()
    digits = document.lstrip("0")
    return float(len(digits)), digits, document.encode()


def _sort_key(row: Returned, convention: Convention) -> float:
    """The key that the list is sorted by, ascending: the rank, or the negated score."""
    _, number, _ = row
    if convention.ranks_decide:
        return float(_rank_or_zero(row))
    exact = number or 0.0
    return -(_as_float32(exact) if convention.score_precision == "float32" else exact)


def _as_float32(number: float) -> float:
    """The nearest 32-bit float, which is infinite for a number that is too large for one."""
    with np.errstate(over="ignore"):
        return float(np.float32(number))


def averaged(
    documents: Sequence[Document],
    values: Sequence[float],
    convention: Convention,
) -> list[float]:
    """A value at every rank: with averaged ties, the mean over the documents tied there."""
    if convention.ties != "average":
        return list(values)
    groups: dict[float, list[float]] = {}
    for document, value in zip(documents, values, strict=True):
        groups.setdefault(document.key, []).append(value)
    means = {key: math.fsum(group) / len(group) for key, group in groups.items()}
    return [means[document.key] for document in documents]


def _refuse_returned_twice(query_id: str, documents: Iterable[Document]) -> None:
    seen: set[str] = set()
    for document in documents:
        if document.doc_id in seen:
            example = f"{document.doc_id} for {_query_in_words(query_id)}"
            raise RefusedQueryError(RETURNED_TWICE, example)
        seen.add(document.doc_id)


def _query_in_words(query_id: str) -> str:
    return f"query {query_id}" if query_id else "a query"


# Step 4: DCG, ideal DCG and NDCG.


def score_at(
    ranking: Ranking,
    convention: Convention,
    cutoff: Cutoff,
    query_id: str = "",
    weights: Sequence[float] | None = None,
) -> Score:
    """The score of a ranked list at a cutoff. Raises InputError if the convention refuses it.

    `weights` are the discounts of the first ranks, if the caller has computed them.
    """
    terms, ideal_terms = discounted_gains(ranking, convention, cutoff, weights)
    dcg, ideal_dcg = _sum(terms), _sum(ideal_terms)
    ndcg, status = ndcg_of(ranking, dcg, ideal_dcg, convention, query_id)
    listed = ranking.documents[:cutoff]
    return Score(
        status=status,
        returned=len(listed),
        judged=sum(document.is_judged for document in listed),
        dcg=dcg,
        ideal_dcg=ideal_dcg,
        ndcg=ndcg,
        judged_discount_share=_judged_discount_share(ranking, convention, cutoff, weights),
    )


def discounted_gains(
    ranking: Ranking, convention: Convention, cutoff: Cutoff, weights: Sequence[float] | None = None
) -> tuple[list[float], list[float]]:
    """The terms whose sums are DCG and ideal DCG."""
    gains = ranking.gains[:cutoff]
    ideal = ideal_gains(ranking, convention, cutoff)
    depth = max(len(gains), len(ideal))
    # An ideal of k relevant documents may be longer than any list.
    if weights is None or len(weights) < depth:
        weights = discounts(depth, convention.discount)
    return _products(gains, weights), _products(ideal, weights)


def discounts(depth: int, rule: Discount) -> list[float]:
    """The discounts of the ranks from 1 to `depth`."""
    ranks = range(1, depth + 1)
    if isinstance(rule, tuple):
        # A list of discounts that ends early gives 0 to all later ranks.
        zeros = max(depth - len(rule), 0)
        return list(rule[:depth]) + [0.0] * zeros
    if rule not in DISCOUNTS:
        return call_function(rule, [float(rank) for rank in ranks])
    named = DISCOUNTS[rule]
    return [float(named.compute(rank)) for rank in ranks]


def ideal_gains(ranking: Ranking, convention: Convention, cutoff: Cutoff) -> list[float]:
    """The gains of the ideal ranking, by rank."""
    gains = ranking.judged
    if convention.has_own_ideal:
        documents = ranking.documents
        if convention.ideal == "retrieved_at_k":
            documents = documents[:cutoff]
        gains = {document.doc_id: document.gain for document in documents}
    ideal = ideal_ranking(gains, convention, cutoff, len(ranking.documents))
    return [ideal_gain for _, ideal_gain in ideal]


def ideal_ranking(
    gains: Mapping[str, float],
    convention: Convention,
    cutoff: int | None,
    returned: int,
    first: Iterable[str] = (),
) -> list[tuple[str | None, float]]:
    """The documents of the ideal ranking and their gains, by rank, such as [("d3", 7.0)].

    `gains` has the documents that the ideal is made of, and `returned` is the length of the run's
    list. Among equal gains, the documents in `first` come first, in that order, then larger ids.
    A document that is None stands for any relevant one: the convention needs more than there are.
    """
    position = {document: index for index, document in enumerate(first)}
    last = len(position)
    larger_ids_first = sorted(gains, key=lambda document: document.encode(), reverse=True)
    best_first = sorted(
        larger_ids_first,
        key=lambda document: (-gains[document], position.get(document, last)),
    )
    ideal: list[tuple[str | None, float]] = [(name, gains[name]) for name in best_first]
    if convention.ideal == "k_relevant" and cutoff is not None:
        relevant = [entry for entry in ideal if entry[1] > 0]
        if relevant:
            added = max(cutoff - len(relevant), 0)
            ideal = relevant + [(None, 1.0)] * added
    depth = len(ideal) if cutoff is None else cutoff
    if convention.ideal == "judged_capped":
        depth = min(depth, returned)
    return ideal[:depth]


def ndcg_of(
    ranking: Ranking,
    dcg: float,
    ideal_dcg: float,
    convention: Convention,
    query_id: str = "",
) -> tuple[float | None, str]:
    """NDCG of these sums, and the status. Raises InputError if the convention refuses the query."""
    query = _query_in_words(query_id)
    without_gain = _is_without_gain(ideal_dcg, convention)
    _refuse_missing_or_irrelevant(ranking, without_gain, convention, query)
    if without_gain:
        ndcg = {"zero": 0.0, "one": 1.0}.get(convention.no_relevant)
    else:
        ndcg = dcg / ideal_dcg
    _refuse_infinite([dcg, ideal_dcg, ndcg or 0.0], query)
    if not ranking.is_answered and convention.missing_query == "skip":
        ndcg = None
    return ndcg, _status(ranking, without_gain, convention)


def _is_without_gain(ideal_dcg: float, convention: Convention) -> bool:
    """Whether the query counts as one without a relevant document."""
    if ideal_dcg < 0:
        # Tools that give 1 to a query without gain also give 1 if its ideal DCG is negative.
        return convention.no_relevant == "one"
    return ideal_dcg == 0


def _status(ranking: Ranking, without_gain: bool, convention: Convention) -> str:
    """Whether a query is `scored`, `missing` from the run, or has `no_relevant` document."""
    if ranking.is_answered:
        return "no_relevant" if without_gain else "scored"
    # An ideal made of the run's own list is also empty for a query that has relevant documents.
    ideal_is_of_judgments = convention.ideal in ("judged", "k_relevant")
    if convention.missing_query == "zero" and without_gain and ideal_is_of_judgments:
        return "no_relevant"
    return "missing"


def _refuse_missing_or_irrelevant(
    ranking: Ranking,
    without_gain: bool,
    convention: Convention,
    query: str,
) -> None:
    """Raise RefusedQueryError if the convention does not allow a missing query, or one without a
    relevant document.
    """
    is_missing = not ranking.is_answered
    if is_missing and convention.missing_query == "error":
        raise RefusedQueryError(MISSING_QUERY, query)
    # A query that is left out because it is missing needs no relevant document.
    if is_missing and convention.missing_query != "zero":
        return
    if without_gain and convention.no_relevant == "error":
        raise RefusedQueryError(NO_RELEVANT, query)


def _refuse_infinite(numbers: Sequence[float], query: str) -> None:
    if not all(map(math.isfinite, numbers)):
        raise RefusedQueryError(NOT_FINITE, query)


def _judged_discount_share(
    ranking: Ranking,
    convention: Convention,
    cutoff: Cutoff,
    weights: Sequence[float] | None,
) -> float | None:
    """The share of judged documents in the list's discounts, or None if they sum to 0."""
    is_judged = [float(document.is_judged) for document in ranking.documents]
    judged_at_ranks = averaged(ranking.documents, is_judged, convention)[:cutoff]
    depth = len(judged_at_ranks)
    if weights is None:
        weights = discounts(depth, convention.discount)
    total = _sum(weights[:depth])
    if total == 0:
        return None
    return _sum(_products(judged_at_ranks, weights)) / total


def _products(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Each value multiplied by its weight; there may be more weights than values."""
    return [value * weight for value, weight in zip(values, weights, strict=False)]


def _sum(terms: Sequence[float]) -> float:
    """The exact sum, rounded once; infinite if it is too large for a double."""
    try:
        return math.fsum(terms)
    except OverflowError:
        return math.inf


# The measures other than NDCG.


def measures(
    ranking: Ranking,
    convention: Convention,
    cutoff: Cutoff,
    highest: float,
) -> dict[str, float]:
    """Every measure other than NDCG of a ranked list at a cutoff, by its column.

    `highest` is the highest grade that RBP and ERR use. The convention decides the value for a
    query without relevant documents; see `value_after_rules`.
    """
    relevant = relevant_documents(ranking, convention)
    documents = ranking.documents
    depth = cutoff or max(len(documents), 1)
    is_relevant = [float(document.doc_id in relevant) for document in documents]
    hits = averaged(documents, is_relevant, convention)[:cutoff]
    is_judged = [float(document.is_judged) for document in documents]
    judged = averaged(documents, is_judged, convention)[:cutoff]
    ranks_of_hits = [rank for rank, hit in enumerate(hits, start=1) if hit > 0]
    precisions = [number / rank for number, rank in enumerate(ranks_of_hits, start=1)]
    found = math.fsum(hits)
    # Without a relevant document nothing is found, and 0 / 1 is 0.
    possible = max(len(relevant), 1)
    possible_at_cutoff = min(possible, cutoff or possible)
    values = {
        "precision": found / depth,
        "recall": found / possible,
        "recall_cap": found / possible_at_cutoff,
        "ap": math.fsum(precisions) / possible,
        "rr": 1 / ranks_of_hits[0] if ranks_of_hits else 0.0,
        "success": float(bool(ranks_of_hits)),
        "err": _expected_reciprocal_rank(ranking, convention, cutoff, highest),
        "judged_share": math.fsum(judged) / depth,
    }
    values |= _rank_biased_precision(ranking, convention, cutoff, highest)
    if not cutoff:
        values["bpref"] = _bpref(ranking, relevant)
        values["rprec"] = _r_precision(ranking, relevant)
    return values


def relevant_documents(ranking: Ranking, convention: Convention) -> set[str]:
    """The judged documents of the query that are relevant."""
    least = convention.relevant_from
    if isinstance(least, str):
        return set(ranking.judged)
    grades = ranking.grades
    return {doc for doc in ranking.judged if counted_grade(grades[doc], convention) >= least}


def value_after_rules(
    ranking: Ranking,
    convention: Convention,
    value: float,
    is_ratio: bool,
    relevant: int,
) -> float | None:
    """The value of a measure after the convention's rules for missing queries and for queries
    without relevant documents, or None if they leave the query out.

    `relevant` is the number of relevant documents of the query. A measure that divides by it
    (`is_ratio`) has the value that the convention gives to a query without any.
    """
    is_missing = not ranking.is_answered
    if is_missing and convention.missing_query == "skip":
        return None
    if relevant:
        return 0.0 if is_missing else value
    if convention.no_relevant == "skip":
        return None
    if is_ratio:
        return {"zero": 0.0, "one": 1.0}.get(convention.no_relevant)
    return value


def _grades_at_ranks(ranking: Ranking, convention: Convention) -> list[float]:
    """The grade at every rank as RBP and ERR use it: 0 for unjudged and negative ones."""
    grades = []
    for document in ranking.documents:
        grade = 0.0
        if document.is_judged and document.grade is not None:
            grade = document.grade
        grades.append(max(counted_grade(grade, convention), 0.0))
    return grades


def _rank_biased_precision(
    ranking: Ranking, convention: Convention, cutoff: Cutoff, highest: float
) -> dict[str, float]:
    """RBP and its residual: what the unjudged documents could add (Moffat and Zobel 2008)."""
    documents = ranking.documents
    persistence = convention.rbp_persistence
    shares = [0.0] * len(documents)
    if highest > 0:
        shares = [grade / highest for grade in _grades_at_ranks(ranking, convention)]
    relevances = averaged(documents, shares, convention)
    is_unjudged = [float(not document.is_judged) for document in documents]
    unjudged = averaged(documents, is_unjudged, convention)
    depth = len(documents[:cutoff])
    weights = [(1 - persistence) * persistence**position for position in range(depth)]
    rbp = math.fsum(_products(relevances[:depth], weights))
    residual = math.fsum(_products(unjudged[:depth], weights))
    if cutoff is None and residual > 0:
        # trec_eval also adds the part beyond the end of the list, but only to a residual above 0.
        residual += persistence ** len(documents)
    return {"rbp": rbp, "rbp_residual": residual}


def _expected_reciprocal_rank(
    ranking: Ranking,
    convention: Convention,
    cutoff: Cutoff,
    highest: float,
) -> float:
    """ERR (Chapelle et al. 2009): the mean of 1 / rank at which a reader stops.

    The higher the grade at a rank, the likelier it is that the reader stops there.
    """
    if highest <= 0:
        return 0.0
    total = 0.0
    still_reading = 1.0
    for rank, grade in enumerate(_grades_at_ranks(ranking, convention)[:cutoff], start=1):
        stops = 2.0 ** (grade - highest) - 2.0**-highest
        if stops > 0:
            total += still_reading * stops / rank
            still_reading *= 1 - stops
    return total


def _bpref(ranking: Ranking, relevant: set[str]) -> float:
    """The bpref of trec_eval 9: how few judged documents that are not relevant are ranked above
    relevant ones.
    """
    if not relevant:
        return 0.0
    irrelevant = len(ranking.judged) - len(relevant)
    # No more irrelevant documents are counted than there are relevant ones.
    most = max(min(irrelevant, len(relevant)), 1)
    irrelevant_above = 0
    terms = []
    for document in ranking.documents:
        if document.doc_id in relevant:
            terms.append(1 - min(irrelevant_above, len(relevant)) / most)
        elif document.is_judged:
            irrelevant_above += 1
    return math.fsum(terms) / len(relevant)


def _r_precision(ranking: Ranking, relevant: set[str]) -> float:
    """The precision at rank R, where R is the number of relevant documents."""
    if not relevant:
        return 0.0
    first = ranking.documents[: len(relevant)]
    found = sum(document.doc_id in relevant for document in first)
    return found / len(relevant)

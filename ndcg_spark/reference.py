"""NDCG and the measures beside it in plain Python: everything else is checked against it.

A list is scored in four steps, each a function below:

1. `merged_grades`: the grade of each judged document, one where several people judged it.
2. `judged_gains`: the gain of each grade that counts.
3. `scored_list`: the returned documents in the order of the convention, without those that leave.
4. `score_at`: the discounted gains down to a cutoff, over those of the ideal ranking.

It is not in `convention`, because gains that users write take pandas, which that room does without.
"""

import contextlib
import contextvars
import dataclasses
import importlib
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ndcg_spark import user_modules
from ndcg_spark.convention.convention import Convention, Discount, counted_grade, named_gain
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.convention.options import DISCOUNTS, GAINS, TIES
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
from ndcg_spark.errors import ConventionError, InputError

if TYPE_CHECKING:
    import pandas as pd

#: How means of grades are rounded: below each bound, to a whole number of steps, so many in 1.
MEAN_STEPS = ((1e3, 1e12), (1e6, 1e9), (1e9, 1e6), (1e12, 1e3))

#: A returned document: its id, its score and its rank.
Returned = tuple[str, float | None, int | None]
#: A gain or a discount that a user has written.
Function = Callable[["pd.Series"], "pd.Series"]


class RefusedQueryError(InputError):
    """A query that the convention refuses, and which rule it breaks."""

    def __init__(self, refusal: QueryRefusal, example: str) -> None:
        super().__init__(refusal.sentence(example))
        self.refusal = refusal
        self.example = example


@dataclasses.dataclass(frozen=True)
class Score:
    """What QUERY_SCORES has about NDCG.

    `ndcg` is None where the convention leaves the query out of the mean.
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
    """A document on the list that is scored."""

    doc_id: str
    #: What the list is ordered by, ascending; documents with equal keys are tied.
    key: float
    #: Its grade; None if it has none.
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
    #: The grade of every judged document.
    grades: Mapping[str, float]
    #: The gain of every judged document whose grade has one.
    judged: Mapping[str, float]
    #: Whether the run returned anything for the query.
    is_answered: bool


def gain(grade: float, convention: Convention) -> float | None:
    """The gain of a judged document with this grade.

    None if the grade counts as unjudged, or a table of gains lacks it.
    """
    if grade < 0 and convention.negative != "keep":
        return None
    rule = convention.gain
    counted = counted_grade(grade, convention)
    if isinstance(rule, Mapping):
        return rule.get(counted)
    if rule in GAINS:
        return named_gain(rule, counted)
    (worth,) = computed(rule, [counted])
    return worth


def merged_grade(grades: Sequence[float], rule: str) -> float:
    """The one grade of a document that was judged more than once, in whatever order."""
    if rule == "mean":
        return mean_grade(grades)
    return min(grades) if rule == "min" else max(grades)


def mean_grade(grades: Sequence[float]) -> float:
    """The mean, rounded so that the mean of 0.3, 0.4 and 2.3 is 1 and not a little less."""
    if min(grades) == max(grades):
        return grades[0]
    total = 0.0
    # Not sum(), which adds in another way than the engines do.
    for grade in sorted(grades):
        total += grade
    mean = total / len(grades)
    for bound, steps in MEAN_STEPS:
        if abs(mean) < bound:
            return math.floor(mean * steps + 0.5) / steps
    return mean


_Functions = Mapping[str, Function]
#: Functions that are used in place of those that modules have, by their names.
_GIVEN: contextvars.ContextVar[_Functions] = contextvars.ContextVar("functions", default={})  # noqa: B039


@contextlib.contextmanager
def using(functions: Mapping[str, Function]) -> Iterator[None]:
    """A context in which these functions are used, whatever the module of their name has by now."""
    token = _GIVEN.set(functions)
    try:
        yield
    finally:
        _GIVEN.reset(token)


def load_function(name: str) -> Function:
    if name in _GIVEN.get():
        return _GIVEN.get()[name]
    module, _, function = name.removeprefix("python:").rpartition(".")
    try:
        loaded = getattr(importlib.import_module(module), function)
        if not callable(loaded):
            raise TypeError(f"{function} is not a function")
    except Exception as error:  # whatever a user's module raises while it is imported
        raise ConventionError(
            f"convention: {name} cannot be imported, {type(error).__name__}: {error}; "
            "put its folder on PYTHONPATH, on a cluster in spark.submit.pyFiles"
        ) from error
    return loaded  # type: ignore[no-any-return]  # the type of a user's object is unknown


def pack_function(name: str) -> bytes:
    """A user's function as bytes, for Python workers, whose module may be another version."""
    function = load_function(name)
    try:
        return user_modules.packed(function)
    except Exception as error:  # whatever a user's objects raise while they are pickled
        raise ConventionError(
            f"convention: {name} cannot be sent to Python workers, "
            f"{type(error).__name__}: {error}; "
            "it must not use what cannot be pickled, such as locks and connections"
        ) from error


def computed(name: str, values: Sequence[float]) -> list[float]:
    # Imported here, because only a user's function takes pandas.
    import pandas as pd

    function = load_function(name)
    try:
        results = pd.Series(function(pd.Series(values, dtype="float64"))).astype("float64").tolist()
        if len(results) != len(values) or not all(map(math.isfinite, results)):
            raise ValueError(f"it returns {results[:5]}")
    except Exception as error:  # whatever a user's function raises
        raise ConventionError(
            f"convention: {name} fails for {values[0]:g} to {values[-1]:g}, "
            f"{type(error).__name__}: {error}; "
            "it takes a pandas Series and returns one with a finite number for each value"
        ) from error
    return results


def unjudged_gain(convention: Convention) -> float:
    if convention.gain == "judged":
        return 0.0
    grade = 0.0
    if isinstance(convention.unjudged, float):
        grade = convention.unjudged
    return gain(grade, convention) or 0.0


def discounts(depth: int, rule: Discount) -> list[float]:
    """The discounts of the ranks from 1 to `depth`."""
    ranks = range(1, depth + 1)
    if isinstance(rule, tuple):
        absent = max(depth - len(rule), 0)
        return list(rule[:depth]) + [0.0] * absent
    if rule not in DISCOUNTS:
        return computed(rule, list(map(float, ranks)))
    named = DISCOUNTS[rule]
    return [float(named.compute(rank)) for rank in ranks]


def ideal_ranking(
    gains: Mapping[str, float],
    convention: Convention,
    cutoff: int | None,
    returned: int,
    first: Iterable[str] = (),
) -> list[tuple[str | None, float]]:
    """The documents of the ideal ranking and their gains, by rank, as deep as the convention says.

    `gains` are those of the documents in the ideal. Among equal gains, the documents in `first`
    come first, in that order, then larger ids. None stands for any relevant document if there are
    fewer than k.
    """
    position = {document: at for at, document in enumerate(first)}
    by_id = sorted(gains, key=lambda document: document.encode(), reverse=True)
    last = len(position)
    order = sorted(by_id, key=lambda document: (-gains[document], position.get(document, last)))
    ideal: list[tuple[str | None, float]] = [(document, gains[document]) for document in order]
    if convention.ideal == "k_relevant" and cutoff is not None:
        relevant = [entry for entry in ideal if entry[1] > 0]
        if not relevant:
            return ideal[:cutoff]
        absent = max(cutoff - len(relevant), 0)
        return (relevant + [(None, 1.0)] * absent)[:cutoff]
    depth = len(ideal) if cutoff is None else cutoff
    if convention.ideal == "judged_capped":
        depth = min(depth, returned)
    return ideal[:depth]


def score(
    query_id: str,
    judged: Iterable[tuple[str, float]],
    returned: Iterable[Returned],
    convention: Convention,
    cutoff: Cutoff,
) -> Score:
    """The score of a query, from graded documents, and returned ones with scores and ranks.

    Raises InputError for what the convention refuses.
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
    """The list of a query as the convention ranks it, with the gain at every rank.

    A document that is returned twice is refused down to `depth`, by default everywhere. Raises
    InputError for what the convention refuses.
    """
    grades = merged_grades(query_id, judged, convention)
    gains = judged_gains(grades, convention)
    if convention.judgment_duplicates == "mean":
        _refuse_means_without_gain(grades, gains, _named(query_id), convention)
    rows = list(returned)
    documents = scored_list(query_id, rows, grades, gains, convention)
    if convention.duplicates == "error":
        _refuse_twice(query_id, documents[:depth])
    return Ranking(documents, _gains_at_ranks(documents, convention), grades, gains, bool(rows))


def merged_grades(
    query_id: str,
    judged: Iterable[tuple[str, float]],
    convention: Convention,
) -> dict[str, float]:
    """The grade of each judged document. InputError for what the convention refuses."""
    given: dict[str, list[float]] = {}
    for document, grade in judged:
        given.setdefault(document, []).append(grade)
    twice = [document for document, grades in given.items() if len(grades) > 1]
    if convention.judgment_duplicates == "error" and twice:
        raise RefusedQueryError(JUDGED_TWICE, f"{twice[0]} for {_named(query_id)}")
    rule = convention.judgment_duplicates
    merged = {document: merged_grade(grades, rule) for document, grades in given.items()}
    negative = [document for document, grade in merged.items() if grade < 0]
    if negative and convention.negative == "error":
        raise RefusedQueryError(NEGATIVE, f"{negative[0]} for {_named(query_id)}")
    return merged


def judged_gains(grades: Mapping[str, float], convention: Convention) -> dict[str, float]:
    """The gain of each document whose grade has one."""
    worth = {grade: gain(grade, convention) for grade in set(grades.values())}
    gains = {}
    for document, grade in grades.items():
        value = worth[grade]
        if value is not None:
            gains[document] = value
    return gains


def _refuse_means_without_gain(
    grades: Mapping[str, float], gains: Mapping[str, float], query: str, convention: Convention
) -> None:
    """InputError if a table of gains lacks a mean; rules for rows find other such grades."""
    for document, grade in grades.items():
        needs_gain = grade >= 0 or convention.negative == "keep"
        if needs_gain and document not in gains:
            raise RefusedQueryError(MEAN_WITHOUT_GAIN, f"{grade:g} of {document} for {query}")


def scored_list(
    query_id: str,
    returned: Sequence[Returned],
    grades: Mapping[str, float],
    gains: Mapping[str, float],
    convention: Convention,
) -> list[Document]:
    """The returned documents in the order of the convention, without those that leave the list."""
    listed = []
    seen: set[str] = set()
    unjudged = unjudged_gain(convention)
    for key, doc_id in _in_order(returned, convention):
        if doc_id in seen and convention.duplicates == "best":
            continue
        seen.add(doc_id)
        grade, is_judged = grades.get(doc_id), doc_id in gains
        if _leaves(doc_id == query_id, grade, is_judged, convention):
            continue
        listed.append(Document(doc_id, key, grade, is_judged, gains.get(doc_id, unjudged)))
    if convention.ties == "worst":
        listed.sort(key=lambda document: (document.key, document.gain))
    if convention.ties == "best":
        listed.sort(key=lambda document: (document.key, -document.gain))
    return listed


def _leaves(is_query: bool, grade: float | None, is_judged: bool, convention: Convention) -> bool:
    """Whether a returned document leaves the list before it is scored."""
    if is_query and convention.exclude_query_as_document:
        return True
    if convention.unjudged == "drop" and not is_judged:
        return True
    return convention.negative == "drop" and grade is not None and grade < 0


def _refuse_twice(query_id: str, documents: Iterable[Document]) -> None:
    seen: set[str] = set()
    for document in documents:
        if document.doc_id in seen:
            raise RefusedQueryError(RETURNED_TWICE, f"{document.doc_id} for {_named(query_id)}")
        seen.add(document.doc_id)


def _named(query_id: str) -> str:
    return f"query {query_id}" if query_id else "a query"


def _gains_at_ranks(documents: Sequence[Document], convention: Convention) -> list[float]:
    return averaged(documents, [document.gain for document in documents], convention)


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


def discounted_gains(
    ranking: Ranking, convention: Convention, cutoff: Cutoff, weights: Sequence[float] | None = None
) -> tuple[list[float], list[float]]:
    """The terms whose sums are DCG and ideal DCG.

    `weights` are the discounts of the first ranks, if they are known.
    """
    ideal = ideal_gains(ranking, convention, cutoff)
    depth = max(len(ranking.gains[:cutoff]), len(ideal))
    # An ideal of k relevant documents is longer than any list may be.
    if weights is None or len(weights) < depth:
        weights = discounts(depth, convention.discount)
    terms = [worth * weight for worth, weight in zip(ranking.gains[:cutoff], weights, strict=False)]
    best = [worth * weight for worth, weight in zip(ideal, weights, strict=False)]
    return terms, best


def ideal_gains(ranking: Ranking, convention: Convention, cutoff: Cutoff) -> list[float]:
    gains = ranking.judged
    if convention.has_own_ideal:
        documents = ranking.documents
        if convention.ideal == "retrieved_at_k":
            documents = documents[:cutoff]
        gains = {document.doc_id: document.gain for document in documents}
    ideal = ideal_ranking(gains, convention, cutoff, len(ranking.documents))
    return [worth for _, worth in ideal]


def score_at(
    ranking: Ranking,
    convention: Convention,
    cutoff: Cutoff,
    query_id: str = "",
    weights: Sequence[float] | None = None,
) -> Score:
    """The score of a ranked list at a cutoff. InputError for what the convention refuses."""
    dcg, ideal_dcg = dcg_at(ranking, convention, cutoff, weights)
    ndcg, status = ndcg_of(ranking, dcg, ideal_dcg, convention, query_id)
    listed = ranking.documents[:cutoff]
    judged = sum(document.is_judged for document in listed)
    share = _judged_discount_share(ranking, convention, cutoff, weights)
    return Score(status, len(listed), judged, dcg, ideal_dcg, ndcg, share)


def dcg_at(
    ranking: Ranking,
    convention: Convention,
    cutoff: Cutoff,
    weights: Sequence[float] | None = None,
) -> tuple[float, float]:
    """DCG and ideal DCG. They do not depend on what the convention says of whole queries."""
    terms, best = discounted_gains(ranking, convention, cutoff, weights)
    return _sum(terms), _sum(best)


def ndcg_of(
    ranking: Ranking,
    dcg: float,
    ideal_dcg: float,
    convention: Convention,
    query_id: str = "",
) -> tuple[float | None, str]:
    """NDCG of these sums, and the status. InputError for what the convention refuses."""
    query = _named(query_id)
    without_gain = _is_without_gain(ideal_dcg, convention)
    _refuse_lacking(ranking, without_gain, convention, query)
    if without_gain:
        ndcg = {"zero": 0.0, "one": 1.0}.get(convention.no_relevant)
    else:
        ndcg = dcg / ideal_dcg
    _refuse_infinite([dcg, ideal_dcg, ndcg or 0.0], query)
    if not ranking.is_answered and convention.missing_query == "skip":
        ndcg = None
    return ndcg, _status(ranking, without_gain, convention)


def _judged_discount_share(
    ranking: Ranking,
    convention: Convention,
    cutoff: Cutoff,
    weights: Sequence[float] | None,
) -> float | None:
    """The share of judged documents in the discounts of the list; None if these add up to 0."""
    is_judged = [float(document.is_judged) for document in ranking.documents]
    known = averaged(ranking.documents, is_judged, convention)[:cutoff]
    if weights is None:
        weights = discounts(len(known), convention.discount)
    total, judged = [], []
    for share, weight in zip(known, weights, strict=False):
        total.append(weight)
        judged.append(share * weight)
    if _sum(total) == 0:
        return None
    return _sum(judged) / _sum(total)


def _is_without_gain(ideal_dcg: float, convention: Convention) -> bool:
    if ideal_dcg < 0:
        # For the tools that score a query without gain 1, a negative ideal DCG is none.
        return convention.no_relevant == "one"
    return ideal_dcg == 0


def _status(ranking: Ranking, without_gain: bool, convention: Convention) -> str:
    """Whether a query is scored, missing, or without a relevant document."""
    # An ideal of the returned documents says nothing about a query without any.
    knows = ranking.is_answered or convention.ideal in ("judged", "k_relevant")
    nothing_relevant = without_gain and knows
    if not ranking.is_answered and convention.missing_query != "zero":
        return "missing"
    if nothing_relevant:
        return "no_relevant"
    return "scored" if ranking.is_answered else "missing"


def _refuse_lacking(
    ranking: Ranking,
    without_gain: bool,
    convention: Convention,
    query: str,
) -> None:
    """RefusedQueryError if the convention forbids what a query lacks."""
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


def _sum(terms: Sequence[float]) -> float:
    """The exact sum, rounded once; infinite if it is too large for a double."""
    try:
        return math.fsum(terms)
    except OverflowError:
        return math.inf


def _in_order(rows: Iterable[Returned], convention: Convention) -> list[tuple[float, str]]:
    """The documents in the order of the convention, each after its key; equal keys are tied."""
    rule = TIES[convention.ties]
    ascending = rule.ascending and rule.by in ("doc_id", "number")
    order_of_ties = {"number": _by_number, "rank": _by_rank}.get(rule.by, _by_text)
    tied = sorted(rows, key=lambda row: order_of_ties(row, ascending), reverse=not ascending)
    keys = [(_sort_key(row, convention), row[0]) for row in tied]
    return sorted(keys, key=lambda pair: pair[0])


def _sort_key(row: Returned, convention: Convention) -> float:
    """What the list is ordered by, ascending: the rank, or the score with the sign changed."""
    _, number, rank = row
    if convention.ranks_decide:
        return float(rank or 0)
    exact = number or 0.0
    return -(_as_float32(exact) if convention.score_precision == "float32" else exact)


def _as_float32(score: float) -> float:
    """The nearest float of 32 bits, which is infinite for a score that is too large for one."""
    with np.errstate(over="ignore"):
        return float(np.float32(score))


def _by_text(row: Returned, _ascending: bool) -> tuple[bytes]:
    return (row[0].encode(),)


def _by_rank(row: Returned, _ascending: bool) -> tuple[int, bytes]:
    document, _, rank = row
    return -(rank or 0), document.encode()


def _by_number(row: Returned, ascending: bool) -> tuple[float, str, bytes]:
    return by_number(row[0], ascending)


def by_number(document: str, ascending: bool) -> tuple[float, str, bytes]:
    """Ids that are whole numbers, by their size; other ids come last."""
    if not (document.isascii() and document.isdecimal()):
        return math.inf if ascending else -1.0, "", document.encode()
    digits = document.lstrip("0")
    return float(len(digits)), digits, document.encode()


def measures(
    ranking: Ranking,
    convention: Convention,
    cutoff: Cutoff,
    highest: float,
) -> dict[str, float]:
    """Every measure beside NDCG of a ranked list at a cutoff, by its column.

    `highest` is the highest grade that RBP and ERR use. What stands for a query without relevant
    documents is the convention's to say: see `measured`.
    """
    relevant = relevant_documents(ranking, convention)
    documents, depth = ranking.documents, cutoff or max(len(ranking.documents), 1)
    is_hit = [float(document.doc_id in relevant) for document in documents]
    hits = averaged(documents, is_hit, convention)[:cutoff]
    is_known = [float(document.is_judged) for document in documents]
    known = averaged(documents, is_known, convention)[:cutoff]
    ranks = [rank for rank, hit in enumerate(hits, start=1) if hit > 0]
    found, possible = math.fsum(hits), max(len(relevant), 1)
    most = min(possible, cutoff or possible)
    precisions = [at / rank for at, rank in enumerate(ranks, start=1)]
    return {
        "precision": found / depth,
        "recall": found / possible,
        "recall_cap": found / most,
        "ap": math.fsum(precisions) / possible,
        "rr": 1 / ranks[0] if ranks else 0.0,
        "success": float(bool(ranks)),
        "err": _expected_reciprocal_rank(ranking, convention, cutoff, highest),
        "judged_share": math.fsum(known) / depth,
        **_rank_biased_precision(ranking, convention, cutoff, highest),
        **({} if cutoff else _whole_measures(ranking, relevant)),
    }


def _whole_measures(ranking: Ranking, relevant: set[str]) -> dict[str, float]:
    """The measures that have no cutoff."""
    return {"bpref": _bpref(ranking, relevant), "rprec": _r_precision(ranking, relevant)}


def relevant_documents(ranking: Ranking, convention: Convention) -> set[str]:
    """The judged documents of the query that count as relevant."""
    least = convention.relevant_from
    if isinstance(least, str):
        return set(ranking.judged)
    grades = ranking.grades
    return {doc for doc in ranking.judged if counted_grade(grades[doc], convention) >= least}


def measured(
    ranking: Ranking,
    convention: Convention,
    value: float,
    is_ratio: bool,
    relevant: int,
) -> float | None:
    """The value of a measure as QUERY_SCORES has it; None if the convention leaves the query out.

    `relevant` is the number of relevant documents that the query has. A measure that divides by it,
    `is_ratio`, has the value that the convention gives a query without any.
    """
    missing = not ranking.is_answered
    if missing and convention.missing_query == "skip":
        return None
    if missing and relevant:
        return 0.0
    if relevant:
        return value
    if convention.no_relevant == "skip":
        return None
    if is_ratio:
        return {"zero": 0.0, "one": 1.0}.get(convention.no_relevant)
    return value


def _grades(ranking: Ranking, convention: Convention) -> list[float]:
    """The grade at every rank as RBP and ERR use it, which is 0 for unjudged and negative ones."""
    grades = []
    for document in ranking.documents:
        grade = document.grade if document.is_judged and document.grade is not None else 0.0
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
        shares = [grade / highest for grade in _grades(ranking, convention)]
    relevances = averaged(documents, shares, convention)
    is_unjudged = [float(not document.is_judged) for document in documents]
    unknown = averaged(documents, is_unjudged, convention)
    depth = len(documents[:cutoff])
    weights = [(1 - persistence) * persistence**position for position in range(depth)]
    rbp = math.fsum(map(operator.mul, weights, relevances[:depth]))
    residual = math.fsum(map(operator.mul, weights, unknown[:depth]))
    if cutoff is None and residual > 0:
        # trec_eval also adds what is beyond the end of the list, but only to a residual above 0.
        residual += persistence ** len(documents)
    return {"rbp": rbp, "rbp_residual": residual}


def _expected_reciprocal_rank(
    ranking: Ranking,
    convention: Convention,
    cutoff: Cutoff,
    highest: float,
) -> float:
    """ERR (Chapelle et al. 2009): the reader stops at a rank with a probability of its grade."""
    reading, total = 1.0, 0.0
    if highest <= 0:
        return total
    for rank, grade in enumerate(_grades(ranking, convention)[:cutoff], start=1):
        stops = 2.0 ** (grade - highest) - 2.0**-highest
        if stops > 0:
            total += reading * stops / rank
            reading *= 1 - stops
    return total


def _bpref(ranking: Ranking, relevant: set[str]) -> float:
    """As trec_eval 9 has it: how few judged, not relevant documents stand above relevant ones."""
    if not relevant:
        return 0.0
    others = len(ranking.judged) - len(relevant)
    above, terms = 0, []
    for document in ranking.documents:
        if document.doc_id in relevant:
            least = max(min(others, len(relevant)), 1)
            terms.append(1 - min(above, len(relevant)) / least)
        elif document.is_judged:
            above += 1
    return math.fsum(terms) / len(relevant)


def _r_precision(ranking: Ranking, relevant: set[str]) -> float:
    """The precision at rank R, where R is the number of relevant documents."""
    if not relevant:
        return 0.0
    first = ranking.documents[: len(relevant)]
    found = sum(document.doc_id in relevant for document in first)
    return found / len(relevant)

"""NDCG in plain Python, with what users write, for explanations and as the reference of the tests."""

import dataclasses
import importlib
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from ndcg_spark.convention.convention import Convention, Discount, counted_grade, named_gain
from ndcg_spark.convention.options import DISCOUNTS, GAINS, TIES, Numbers
from ndcg_spark.errors import ConventionError, InputError

_MERGED: Mapping[str, Callable[[list[float]], float]] = {"min": min, "mean": statistics.fmean}


@dataclasses.dataclass(frozen=True)
class Score:
    """What QUERY_SCORES has about NDCG; `ndcg` is None where the convention leaves the query out of the mean."""

    status: str
    returned: int
    judged: int
    dcg: float
    ideal_dcg: float
    ndcg: float | None


def gain(grade: float, convention: Convention) -> float | None:
    """The gain of a judged document with this grade; None if the grade counts as unjudged, or a table lacks it."""
    if grade < 0 and convention.negative != "keep":
        return None
    rule, counted = convention.gain, counted_grade(grade, convention)
    if isinstance(rule, Mapping):
        return rule.get(counted)
    return named_gain(rule, counted) if rule in GAINS else computed(rule, [counted])[0]


def load_function(name: str) -> Callable[[pd.Series], pd.Series]:
    module, _, function = name.removeprefix("python:").rpartition(".")
    try:
        loaded = getattr(importlib.import_module(module), function)
        if not callable(loaded):
            raise TypeError(f"{function} is not a function")
    except Exception as error:  # whatever a user's module raises while it is imported
        raise ConventionError(
            f"convention: {name} cannot be imported, {type(error).__name__}: {error}; "
            "put its folder on PYTHONPATH, on a cluster in --py-files"
        ) from error
    return loaded  # type: ignore[no-any-return]  # the type of a user's object is unknown


def computed(name: str, values: Sequence[float]) -> list[float]:
    function = load_function(name)
    try:
        results = pd.Series(function(pd.Series(values, dtype="float64"))).astype("float64").tolist()
        if len(results) != len(values) or not all(map(math.isfinite, results)):
            raise ValueError(f"it returns {results[:5]}")
    except Exception as error:  # whatever a user's function raises
        raise ConventionError(
            f"convention: {name} fails for {values[0]:g} to {values[-1]:g}, {type(error).__name__}: {error}; "
            "it takes a pandas Series and returns one with a finite number for each value"
        ) from error
    return results


def unjudged_gain(convention: Convention) -> float:
    grade = convention.unjudged if isinstance(convention.unjudged, float) else 0.0
    return 0.0 if convention.gain == "judged" else gain(grade, convention) or 0.0


def discounts(depth: int, rule: Discount) -> list[float]:
    if isinstance(rule, tuple):
        return [*rule[:depth], *[0.0] * (depth - len(rule))]
    if rule not in DISCOUNTS:
        return computed(rule, [float(rank) for rank in range(1, depth + 1)])
    return [float(DISCOUNTS[rule].compute(rank, Numbers())) for rank in range(1, depth + 1)]


def ideal_ranking(
    gains: Mapping[str, float], convention: Convention, cutoff: int | None, returned: int, first: Iterable[str] = ()
) -> list[tuple[str | None, float]]:
    """The documents of the ideal ranking and their gains, by rank, as deep as the convention allows.

    `gains` are those of the documents in the ideal. Among equal gains, the documents in `first` come first, in that
    order, then larger ids. None stands for any relevant document if there are fewer than k.
    """
    position = {document: at for at, document in enumerate(first)}
    by_id = sorted(gains, key=lambda document: document.encode(), reverse=True)
    order = sorted(by_id, key=lambda document: (-gains[document], position.get(document, len(position))))
    ideal: list[tuple[str | None, float]] = [(document, gains[document]) for document in order]
    if convention.ideal == "k_relevant" and cutoff is not None:
        relevant = [entry for entry in ideal if entry[1] > 0]
        return (relevant + [(None, 1.0)] * max(cutoff - len(relevant), 0) if relevant else ideal)[:cutoff]
    depth = len(ideal) if cutoff is None else cutoff
    return ideal[: min(depth, returned) if convention.ideal == "judged_capped" else depth]


def score(
    query_id: str,
    judged: Iterable[tuple[str, float]],
    returned: Iterable[tuple[str, float | None, int | None]],
    convention: Convention,
    cutoff: int | None,
) -> Score:
    """The score of a query, from graded documents, and returned ones with scores and ranks. InputError if refused."""
    c, grades = convention, dict[str, list[float]]()
    query = f"query {query_id}" if query_id else "a query"
    for document, grade in judged:
        grades.setdefault(document, []).append(grade)
    if c.judgment_duplicates == "error" and (twice := [d for d, given in grades.items() if len(given) > 1]):
        advice = "keep one, or set judgment_duplicates=max"
        raise InputError(f"judgments: a document is judged twice, e.g. {twice[0]} for {query}; {advice}")
    merged = {document: _MERGED.get(c.judgment_duplicates, max)(given) for document, given in grades.items()}
    if c.negative == "error" and any(grade < 0 for grade in merged.values()):
        raise InputError(f"judgments: a negative grade, e.g. for {query}; remove it, or set negative=as_unjudged")
    gains = {document: worth for document, grade in merged.items() if (worth := gain(grade, c)) is not None}
    rows, unjudged = _in_order(returned, c), unjudged_gain(c)
    #: What each listed document is ordered by, and its gain.
    items: dict[str, tuple[float, float]] = {}
    for key, document in rows:
        if document in items and c.duplicates == "error":
            advice = "keep one, or set duplicates=best"
            raise InputError(f"results: a document is returned twice, e.g. {document} for {query}; {advice}")
        is_query = c.exclude_query_as_document and document == query_id
        is_dropped = (c.unjudged == "drop" and document not in gains) or (
            c.negative == "drop" and merged.get(document, 0.0) < 0
        )
        if not (is_query or is_dropped):
            items.setdefault(document, (key, gains.get(document, unjudged)))
    listed = list(items)
    if c.ties in ("worst", "best"):
        sign = 1.0 if c.ties == "worst" else -1.0
        listed.sort(key=lambda document: (items[document][0], sign * items[document][1]))
    counting = {document: worth for document, (_, worth) in items.items()} if c.ideal == "retrieved" else gains
    ideal = [worth for _, worth in ideal_ranking(counting, c, cutoff, len(listed))]
    weights = discounts(max(len(listed), len(ideal)), c.discount)
    counted = _counted([items[document] for document in listed], c)[:cutoff]
    dcg, ideal_dcg = _dcg(counted, weights), _dcg(ideal, weights)
    without = ideal_dcg == 0 or (ideal_dcg < 0 and c.no_relevant == "one")
    value = {"zero": 0.0, "one": 1.0}.get(c.no_relevant) if without else dcg / ideal_dcg
    nothing = without and (bool(rows) or c.ideal in ("judged", "k_relevant"))
    is_missing = not rows and not (nothing and c.missing_query == "zero")
    if (is_missing and c.missing_query == "error") or (nothing and c.no_relevant == "error"):
        raise InputError(f"results: {query} {'is missing' if is_missing else 'has no relevant document'}")
    return Score(
        "missing" if is_missing else "no_relevant" if nothing else "scored",
        len(listed[:cutoff]),
        sum(document in gains for document in listed[:cutoff]),
        dcg,
        ideal_dcg,
        None if not rows and c.missing_query == "skip" else value,
    )


def _counted(listed: Sequence[tuple[float, float]], convention: Convention) -> list[float]:
    """The gain at every rank, by keys and gains: with averaged ties, the mean of those with the same key."""
    if convention.ties != "average":
        return [worth for _, worth in listed]
    groups: dict[float, list[float]] = {}
    for key, worth in listed:
        groups.setdefault(key, []).append(worth)
    means = {key: math.fsum(group) / len(group) for key, group in groups.items()}
    return [means[key] for key, _ in listed]


def _dcg(gains: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(worth * weight for worth, weight in zip(gains, weights, strict=False))


def _in_order(rows: Iterable[tuple[str, float | None, int | None]], convention: Convention) -> list[tuple[float, str]]:
    """The documents in the order of the convention, each after what it is ordered by; equal keys are tied."""
    rule = TIES[convention.ties]
    ascending = rule.ascending and rule.by in ("doc_id", "number")

    def key(row: tuple[str, float | None, int | None]) -> float:
        _, number, rank = row
        if convention.order == "rank":
            return float(rank or 0)
        exact = number or 0.0
        # A float is the nearest one, or infinite.
        return -(float(np.float32(exact)) if convention.score_precision == "float32" else exact)

    def among_ties(row: tuple[str, float | None, int | None]) -> tuple[object, ...]:
        document, _, rank = row
        digits = document.lstrip("0") if document.isascii() and document.isdecimal() else None
        number = (math.inf if ascending else -1, "") if digits is None else (len(digits), digits)
        return {"number": number, "rank": -(rank or 0)}.get(rule.by), document.encode()

    listed = sorted(rows, key=among_ties, reverse=not ascending)
    return sorted(((key(row), row[0]) for row in listed), key=lambda row: row[0])

"""The scores of one query in plain Python: lists as the options of a convention say, with `ndcg_spark.reference`."""

import math
import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from ndcg_spark import Convention, reference
from ndcg_spark.convention.options import TIES

#: The document, its score and its rank.
Returned = tuple[str, float, int | None]


def ndcg(
    judged: Mapping[str, float], returned: Mapping[str, float], cutoff: int | None, convention: Convention
) -> float | None:
    """NDCG with ties in descending order of document ids in UTF-8; None where nothing is relevant."""
    rows = [(doc, score, None) for doc, score in returned.items()]
    found: float | None = scores("", judged.items(), rows, cutoff, convention)["ndcg"]
    return found


def scores(
    query: str, judged: Iterable[tuple[str, float]], rows: list[Returned], cutoff: int | None, convention: Convention
) -> dict[str, Any]:
    """The columns of QUERY_SCORES that are about NDCG."""
    grades = _grades(judged, convention)
    gains = {doc: gain for doc, grade in grades.items() if (gain := reference.gain(grade, convention)) is not None}
    listed = _listed(query, grades, gains, _in_order(rows, convention), convention)
    unjudged = reference.unjudged_gain(convention)
    items = [reference.Item(doc, group, gains.get(doc, unjudged)) for doc, group in listed]
    items = reference.with_ties_broken(items, convention)
    of_ideal = {item.doc_id: item.gain for item in items} if convention.ideal == "retrieved" else gains
    ideal = [gain for _, gain in reference.ideal_ranking(of_ideal, convention, cutoff, len(items))]
    weights = reference.discounts(max(len(items), len(ideal)), convention.discount)
    ideal_dcg = math.fsum(gain * weight for gain, weight in zip(ideal, weights, strict=False))
    found = {
        "returned": len(items[:cutoff]),
        "judged": sum(item.doc_id in gains for item in items[:cutoff]),
        "ideal_dcg": ideal_dcg,
        "ndcg": reference.ndcg(items, of_ideal, convention, cutoff) if ideal_dcg > 0 else None,
    }
    return found | _by_policy(found["ndcg"], bool(rows), convention)


def _grades(judged: Iterable[tuple[str, float]], convention: Convention) -> dict[str, float]:
    found = defaultdict(list)
    for doc, grade in judged:
        found[doc].append(grade)
    merge = {"min": min, "mean": lambda grades: sum(grades) / len(grades)}.get(convention.judgment_duplicates, max)
    return {doc: merge(grades) for doc, grades in found.items()}


def _place(row: Returned, convention: Convention) -> float:
    """What tied documents share; the least comes first."""
    _, score, rank = row
    if convention.order == "rank":
        return float(rank or 0)
    return -(struct.unpack("f", struct.pack("f", score))[0] if convention.score_precision == "float32" else score)


def _in_order(rows: list[Returned], convention: Convention) -> list[tuple[str, float]]:
    """The documents as they are ranked, each with its place."""
    rule = TIES[convention.ties]
    ascending = rule.ascending and rule.by in ("doc_id", "number")
    order = sorted(rows, key=lambda row: row[0].encode(), reverse=not ascending)
    if rule.by == "number":
        # Ids that are no numbers come last.
        number = lambda doc: int(doc) if doc.isdigit() and doc.isascii() else -1  # noqa: E731
        order.sort(key=lambda row: number(row[0]), reverse=not ascending)
        order.sort(key=lambda row: number(row[0]) < 0)
    if rule.by == "rank":
        order.sort(key=lambda row: row[2] or 0)
    order.sort(key=lambda row: _place(row, convention))
    return [(row[0], _place(row, convention)) for row in order]


def _listed(
    query: str,
    grades: Mapping[str, float],
    gains: Mapping[str, float],
    order: list[tuple[str, float]],
    convention: Convention,
) -> list[tuple[str, int]]:
    """The documents that stay on the list, by rank, each with its tie group."""
    found: list[tuple[str, int]] = []
    groups: dict[float, int] = {}
    for doc, place in order:
        leaves = (
            (convention.exclude_query_as_document and doc == query)
            or (convention.duplicates == "best" and doc in dict(found))
            or (convention.unjudged == "drop" and doc not in gains)
            or (convention.negative == "drop" and grades.get(doc, 0) < 0)
        )
        if not leaves:
            found.append((doc, groups.setdefault(place, len(groups))))
    return found


def _by_policy(value: float | None, answered: bool, convention: Convention) -> dict[str, Any]:
    """The status of a query, and its NDCG as the convention counts it."""
    of_judged = convention.ideal in ("judged", "k_relevant")
    nothing = value is None and (answered or of_judged)
    missing = not answered and (convention.missing_query != "zero" or not nothing)
    without = {"zero": 0.0, "one": 1.0}.get(convention.no_relevant)
    status = "missing" if missing else "no_relevant" if nothing else "scored"
    skipped = not answered and convention.missing_query == "skip"
    return {"status": status, "ndcg": None if skipped else without if value is None else value}

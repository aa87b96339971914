"""The scores of one query of one run from its rows, by `ndcg_spark.reference` and plain sorting."""

import math
import re
import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from tables import Row, judgment, result

from ndcg_spark import Convention, reference
from ndcg_spark.convention.options import TIES

_MERGED: Mapping[str, Callable[[list[float]], float]] = {"min": min, "mean": statistics.fmean}


def ndcg(
    judged: Mapping[str, float], returned: Mapping[str, float], cutoff: int | None, convention: Convention
) -> float | None:
    """NDCG from grades and scores by document."""
    rows = [judgment(*each) for each in judged.items()], [result(*each) for each in returned.items()]
    found: float | None = scores(*rows, cutoff, convention)["ndcg"]
    return found


def scores(judged: Iterable[Row], returned: Iterable[Row], cutoff: int | None, convention: Convention) -> Row:
    """The columns of QUERY_SCORES that are about NDCG, which is None where the convention leaves the query out."""
    c, rows = convention, _in_order(returned, convention)
    grades: dict[str, list[float]] = {}
    for row in judged:
        grades.setdefault(row["doc_id"], []).append(row["relevance"])
    merged = {doc: _MERGED.get(c.judgment_duplicates, max)(of) for doc, of in grades.items()}
    gains = {doc: gain for doc, grade in merged.items() if (gain := reference.gain(grade, c)) is not None}
    items: dict[str, reference.Item] = {}
    groups = sorted({_better(row, c) for row in rows})
    for row in rows:
        doc = row["doc_id"]
        is_query = c.exclude_query_as_document and doc == row["query_id"]
        by_judgment = (c.unjudged == "drop" and doc not in gains) or (c.negative == "drop" and merged.get(doc, 0.0) < 0)
        if not (is_query or by_judgment):
            gain = gains.get(doc, reference.unjudged_gain(c))
            items.setdefault(doc, reference.Item(doc, groups.index(_better(row, c)), gain))
    listed = [*items.values()]
    if c.ties in ("worst", "best"):
        sign = 1.0 if c.ties == "worst" else -1.0
        listed.sort(key=lambda item: (item.tie_group, sign * item.gain))
    counting = {item.doc_id: item.gain for item in listed} if c.ideal == "retrieved" else gains
    ideal = reference.ideal_ranking(counting, c, cutoff, len(listed))
    weights = reference.discounts(max(len(listed), len(ideal), 1), c.discount)
    ideal_dcg = math.fsum(gain * weight for (_, gain), weight in zip(ideal, weights, strict=False))
    # The ideal of one document with gain 1 has the DCG weights[0].
    beside_one = reference.ndcg(listed, {"": 1.0}, c.replace(ideal="judged"), cutoff)
    dcg = (beside_one or 0.0) * weights[0]
    without = ideal_dcg == 0 or (ideal_dcg < 0 and c.no_relevant == "one")
    ndcg = {"zero": 0.0, "one": 1.0}.get(c.no_relevant) if without else dcg / ideal_dcg
    nothing = without and (bool(rows) or c.ideal in ("judged", "k_relevant"))
    missing = not rows and not (nothing and c.missing_query == "zero")
    return {
        "status": "missing" if missing else "no_relevant" if nothing else "scored",
        "returned": len(listed[:cutoff]),
        "judged": sum(item.doc_id in gains for item in listed[:cutoff]),
        "dcg": dcg,
        "ideal_dcg": ideal_dcg,
        "ndcg": None if not rows and c.missing_query == "skip" else ndcg,
    }


def _better(row: Row, convention: Convention) -> float:
    """What documents are ordered by, smaller first; those with the same value are tied."""
    if convention.order == "rank":
        return float(row["rank"])
    return -float(np.float32(row["score"])) if convention.score_precision == "float32" else -row["score"]


def _in_order(rows: Iterable[Row], convention: Convention) -> list[Row]:
    """The rows by `_better`, and ties by their ids or ranks."""
    rule = TIES[convention.ties]
    ascending = rule.ascending and rule.by in ("doc_id", "number")

    def among_ties(row: Row) -> tuple[Any, ...]:
        doc = row["doc_id"]
        digits = doc.lstrip("0") if re.fullmatch("[0-9]+", doc) else None
        number = (math.inf if ascending else -1, "") if digits is None else (len(digits), digits)
        first = {"number": number, "rank": -row.get("rank", 0)}.get(rule.by)
        return first, doc.encode()

    return sorted(sorted(rows, key=among_ties, reverse=not ascending), key=lambda row: _better(row, convention))

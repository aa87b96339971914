"""The measures beside NDCG in plain Python, written from their definitions and not from the program."""

from collections.abc import Mapping, Sequence


def sorted_runs(returned: Mapping[str, float]) -> list[str]:
    """The documents by falling score; ties go to the document whose id is larger in UTF-8."""
    return sorted(returned, key=lambda doc: (returned[doc], doc.encode()), reverse=True)


def measures(
    judged: Mapping[str, float],
    listed: Sequence[str],
    cutoff: int | None,
    *,
    highest: float,
    relevant_from: float = 1.0,
    persistence: float = 0.8,
) -> dict[str, float]:
    """Every measure of one list of documents, in the order of their ranks; `judged` are all documents that count."""
    relevant = {doc for doc, grade in judged.items() if grade >= relevant_from}
    others = judged.keys() - relevant
    top = listed[:cutoff]
    depth = cutoff or max(len(listed), 1)
    hits = [rank for rank, doc in enumerate(top, start=1) if doc in relevant]
    weights = {doc: (1 - persistence) * persistence ** (rank - 1) for rank, doc in enumerate(top, start=1)}
    unknown = sum(weight for doc, weight in weights.items() if doc not in judged)
    # As trec_eval has it: of the whole ranking also what is beyond its end, if anything in it is unjudged.
    beyond = persistence ** len(listed) if cutoff is None and unknown else 0.0
    values = {
        "precision": len(hits) / depth,
        "recall": len(hits) / len(relevant) if relevant else 0.0,
        "ap": sum(place / rank for place, rank in enumerate(hits, start=1)) / len(relevant) if relevant else 0.0,
        "rr": 1 / hits[0] if hits else 0.0,
        "success": float(bool(hits)),
        "rbp": sum(weight * max(judged.get(doc, 0.0), 0.0) / highest for doc, weight in weights.items()),
        "rbp_residual": unknown + beyond,
        "err": _err([max(judged.get(doc, 0.0), 0.0) for doc in top], highest),
        "judged_share": sum(doc in judged for doc in top) / depth,
    }
    return values if cutoff else {**values, "bpref": _bpref(listed, relevant, others)}


def _err(grades: Sequence[float], highest: float) -> float:
    reading, total = 1.0, 0.0
    for rank, grade in enumerate(grades, start=1):
        satisfied = (2**grade - 1) / 2**highest
        total += reading * satisfied / rank
        reading *= 1 - satisfied
    return total


def _bpref(listed: Sequence[str], relevant: set[str], others: set[str]) -> float:
    above, total = 0, 0.0
    for doc in listed:
        above += doc in others
        if doc in relevant:
            total += 1 - (min(above, len(relevant)) / min(len(others), len(relevant)) if above else 0)
    return total / len(relevant) if relevant else 0.0

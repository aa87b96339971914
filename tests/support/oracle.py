"""NDCG of one query from its grades and scores, as `ndcg_spark.reference` defines it."""

from collections.abc import Mapping

from ndcg_spark import Convention, reference


def ndcg(
    judged: Mapping[str, float], returned: Mapping[str, float], cutoff: int | None, convention: Convention
) -> float | None:
    """NDCG with ties in descending order of document ids in UTF-8; None where nothing is relevant."""
    gains = {doc: gain for doc, grade in judged.items() if (gain := reference.gain(grade, convention)) is not None}
    order = sorted(returned, key=lambda doc: (returned[doc], doc.encode()), reverse=True)
    items = [reference.Item(doc, at, gains.get(doc, 0.0)) for at, doc in enumerate(order)]
    return reference.ndcg(items, gains, convention, cutoff)

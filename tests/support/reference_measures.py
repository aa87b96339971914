"""The measures beside NDCG of `ndcg_spark.reference`, for a list whose judged documents and order a test says."""

import math
from collections.abc import Mapping, Sequence

from ndcg_spark import Convention, reference
from ndcg_spark.reference import Document, Ranking


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
    # Every judged document is relevant.
    least = "judged" if relevant_from == -math.inf else relevant_from
    convention = Convention(relevant_from=least, rbp_persistence=persistence)
    documents = [
        Document(doc_id, float(rank), judged.get(doc_id), doc_id in judged, 0.0)
        for rank, doc_id in enumerate(listed, start=1)
    ]
    ranking = Ranking(documents, [0.0] * len(documents), judged, judged, is_answered=True)
    return reference.measures(ranking, convention, cutoff, highest)

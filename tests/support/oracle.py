"""The scores of one query of one run from its rows, by `ndcg_spark.reference`."""

import dataclasses
from collections.abc import Iterable, Mapping

from tables import Row, judgment, result

from ndcg_spark import Convention, reference


def ndcg(
    judged: Mapping[str, float],
    returned: Mapping[str, float],
    cutoff: int | None,
    convention: Convention,
) -> float | None:
    rows = (
        [judgment(*pair) for pair in judged.items()],
        [result(*pair) for pair in returned.items()],
    )
    value: float | None = scores(*rows, cutoff, convention)["ndcg"]
    return value


def scores(
    judged: Iterable[Row], returned: Iterable[Row], cutoff: int | None, convention: Convention
) -> Row:
    """The columns of QUERY_SCORES that are about NDCG, which is None where the convention leaves the query out."""
    grades = [(row["doc_id"], row["relevance"]) for row in judged]
    rows = list(returned)
    query = next((row["query_id"] for row in rows), "")
    listed = [(row["doc_id"], row.get("score"), row.get("rank")) for row in rows]
    return dataclasses.asdict(reference.score(query, grades, listed, convention, cutoff))

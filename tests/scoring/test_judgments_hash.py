"""A query's hash of its judgments: the same for the same judgments, whatever their order, types or company."""

import pytest
from tables import judgment, judgments

from ndcg_spark import Convention
from ndcg_spark.scoring import ideal

JUDGED = [("a", 2.0), ("b", 0.0), ("c", 1.0)]


def hashes(session, *lists):
    """The hash of each list of judgments, as a query among the others."""
    rows = [judgment(doc, grade, f"q{at}") for at, judged in enumerate(lists) for doc, grade in judged]
    judged = ideal.judged_documents(judgments(session, rows[::-1]), ["query_id"], Convention())
    queries = ideal.judged_queries(judged, ["query_id"], 1)
    found = {row["query_id"]: row["judgments_hash"] for row in queries.collect()}
    return [found[f"q{at}"] for at in range(len(lists))]


@pytest.mark.parametrize("other", [[("a", 3.0), *JUDGED[1:]], [*JUDGED, ("d", 0.0)], JUDGED[1:]], ids=str)
def test_only_other_judgments_have_another_hash(session, other):
    first, same, changed = hashes(session, JUDGED, JUDGED[::-1], other)
    assert first == same != changed
    assert hashes(session, JUDGED) == [first]

"""Which queries two nights have judged alike, told from the hashes of their judgments."""

import dataclasses

import pyarrow as pa
import pytest

from ndcg_spark.comparison.comparability import changed_judgments, unchanged_queries

pytestmark = pytest.mark.embedded

#: The hash of each query in a night and in its baseline.
CASES = {
    "the same": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "one judged anew": ({"a": 1, "b": 3, "c": 3}, {"a": 1, "b": 2, "c": 3}),
    "one more and one fewer": ({"a": 1, "c": 3}, {"a": 1, "b": 2}),
    "nothing alike": ({"a": 1}, {"b": 1}),
}
EXPECTED = {
    "the same": ((2, 0, None), ["a", "b"]),
    "one judged anew": ((3, 1, "b"), ["a", "c"]),
    "one more and one fewer": ((3, 2, "b"), ["a"]),
    "nothing alike": ((2, 2, "a"), []),
}


def scores(session, hashes):
    """The hash of each query, of two runs."""
    rows = [{"query_id": query, "run": run, "judgments_hash": n} for query, n in hashes.items() for run in ("r", "s")]
    return session.createDataFrame(pa.Table.from_pylist(rows))


@pytest.mark.parametrize("case", CASES)
def test_a_query_has_changed_if_its_hash_differs_or_only_one_night_has_judged_it(session, case):
    ours, theirs = (scores(session, hashes) for hashes in CASES[case])
    alike = sorted(row["query_id"] for row in unchanged_queries(ours, theirs).collect())
    assert (dataclasses.astuple(changed_judgments(ours, theirs)), alike) == EXPECTED[case]

"""Which queries two nights have judged alike, told from the hashes of their judgments."""

import dataclasses

import pytest
from gated_nights import in_a_session

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


def _changes(_, cases):
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from ndcg_spark.comparison.comparability import changed_judgments, unchanged_queries

    def scores(hashes):
        rows = [(query, run, number) for query, number in hashes.items() for run in ("r", "s")]
        names = ("query_id", "run", "judgments_hash")
        kinds = (pa.string(), pa.string(), pa.int64())
        columns = zip(names, zip(*rows, strict=True), kinds, strict=True)
        table = pa.table({name: pa.array(values, kind) for name, values, kind in columns})
        return SparkSession.getActiveSession().createDataFrame(table)

    found = {}
    for name, both in cases.items():
        ours, theirs = map(scores, both)
        alike = sorted(row["query_id"] for row in unchanged_queries(ours, theirs).collect())
        found[name] = (dataclasses.astuple(changed_judgments(ours, theirs)), alike)
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return in_a_session(_changes, tmp_path_factory.mktemp("changes"), CASES)


@pytest.mark.parametrize("case", CASES)
def test_a_query_has_changed_if_its_hash_differs_or_only_one_night_has_judged_it(found, case):
    changes, alike = EXPECTED[case]
    assert found[case] == [changes and list(changes), alike]

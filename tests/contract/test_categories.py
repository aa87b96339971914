"""A column `tag`, `system`, `engine` or `model` names runs only if the rows prove it."""

import contextlib
import warnings

import pandas as pd
import pyarrow as pa
import pytest
from input_files import written
from tables import assert_table

from ndcg_spark import evaluate
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.dataframes import frame
from ndcg_spark.schemas import RESULTS

JUDGED = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}
#: Query, document, score and value of the column.
ONE_LIST = [("q1", "a", 2.0, "shoes"), ("q1", "b", 1.0, "hats"), ("q2", "a", 1.0, "hats")]
BY_QUERY = [("q1", "a", 2.0, "head"), ("q1", "b", 1.0, "head"), ("q2", "a", 1.0, "tail")]
TWO_TAGS = [("q1", "a", 2.0, "red"), ("q1", "a", 2.0, "large"), ("q2", "a", 1.0, "red")]
TWO_RUNS = [("q1", "a", 2, "x"), ("q1", "a", 7, "y"), ("q2", "a", 3, "x"), ("q2", "a", 8, "y")]
ONE_RUN = [("q1", "a", 2.0, "bm25"), ("q2", "b", 1.0, "bm25")]


def table(rows, column):
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "score", column])


def scored_runs(results, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = evaluate(JUDGED, results, [10], **options)
    return sorted({*scores.dataset_scores["run"]})


@pytest.mark.embedded
@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "pandas"])
@pytest.mark.parametrize(
    ("rows", "runs"),
    [
        (ONE_LIST, None),
        (BY_QUERY, None),
        (TWO_TAGS, None),
        (TWO_RUNS, ["x", "y"]),
        (ONE_RUN, ["bm25"]),
    ],
)
def test_a_category_never_splits_a_run(tmp_path, kind, rows, runs):
    results = table(rows, "tag")
    path = tmp_path / f"r.{kind}"
    if kind == "csv":
        results.to_csv(path, index=False)
    elif kind == "parquet":
        results.to_parquet(path)
    elif kind == "jsonl":
        results.to_json(path, orient="records", lines=True)
    given = results if kind == "pandas" else path
    refused = pytest.raises(InputError, match=r"column tag .*(results.run=tag|rename it to run)")
    with refused if runs is None else contextlib.nullcontext():
        assert scored_runs(given) == runs


@pytest.mark.embedded
def test_a_name_that_is_given_or_a_better_column_decides(tmp_path):
    results = table(ONE_LIST, "system")
    assert scored_runs(results, run="bm25") == ["bm25"]
    assert scored_runs(results.assign(run_name="dense")) == ["dense"]
    both = {"mine": results, "yours": results.assign(system=[1, 2, 3])}
    assert scored_runs(both) == ["mine", "yours"]
    path = written(tmp_path / "r.csv", results.to_csv(index=False))
    assert scored_runs(path, run="bm25") == ["bm25"]


def test_a_table_of_spark_with_such_a_column_is_refused(session):
    rows = session.createDataFrame(pa.Table.from_pandas(table(TWO_RUNS, "model")))
    with pytest.raises(InputError, match="rename it to run, or drop it"):
        frame(rows, RESULTS, session)
    named = frame({"mine": rows}, RESULTS, session)
    assert_table(named.select("run").distinct(), "run string", ("mine",))

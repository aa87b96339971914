"""The library's `compare` with whatever people have for a table."""

import datetime

import paired
import pandas as pd
import pyarrow as pa
import pytest
from paired import compare_rows
from scored import examples_of

from ndcg_spark import evaluate
from ndcg_spark.comparison import api
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.schemas import COMPARISONS

COLUMNS = {
    "run": ["old", "old", "old", "new", "new", "new"],
    "query_id": [1, 2, 3, 1, 2, 3],
    "cutoff": [10] * 6,
    "ndcg": [0.25, 0.5, 0.75, 0.5, 0.5, 1.0],
}
TABLES = {
    "a dictionary of columns": lambda: COLUMNS,
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas with dates and categories": lambda: (
        pd.DataFrame(COLUMNS)
        .astype({"run": "category", "query_id": "uint32"})
        .assign(evaluated_on=pd.Timestamp("2026-11-20"), more=[[1]] * 6)
    ),
    "pyarrow": lambda: pa.table(COLUMNS),
}


def compared(scores, baseline="old", **options):
    return compare_rows(scores, baseline, **options)


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_of_any_kind_is_compared(kind):
    (row,) = compared(TABLES[kind]())
    assert list(row) == COMPARISONS.names
    assert (row["queries"], row["cutoff"], row["difference"]) == (3, 10, pytest.approx(0.5 / 3))
    assert row["evaluated_on"] == (datetime.date(2026, 11, 20) if "dates" in kind else None)


def test_a_dataframe_of_the_session_is_compared_with_a_frame_of_pandas(session):
    scores = session.createDataFrame(pa.table(COLUMNS)).where("run = 'new'")
    # Runs of two tables are paired by name.
    (row,) = compared(scores, pd.DataFrame(COLUMNS).query("run == 'old'").assign(run="new"))
    assert (row["run"], row["queries"], row["difference"]) == ("new", 3, pytest.approx(0.5 / 3))


def test_a_measure_is_compared_at_the_cutoffs_at_which_it_was_evaluated():
    of_ap = {**COLUMNS, "cutoff": [None] * 6, "ap": COLUMNS["ndcg"]}
    of_ndcg = {**COLUMNS, "ap": [None] * 6}
    scores = {name: of_ndcg[name] + of_ap[name] for name in of_ap}
    (row,) = compared(scores, measure="ap")
    assert (row["cutoff"], row["queries"]) == (None, 3)
    # What is named is compared, and says that there is nothing.
    (row,) = compared(scores, measure="ap", cutoffs=10)
    assert (row["cutoff"], row["queries"]) == (10, 0)
    rows = compared(scores)
    assert [row["cutoff"] for row in rows] == [10, None]


def test_so_are_frames_of_polars_with_slices_and_weights():
    polars = pytest.importorskip("polars")
    slices = polars.DataFrame({"query_id": ["1", "2"], "kind": ["a", "b"]})
    weights = {"query_id": [1, 2], "weight": [1, 2]}
    rows = compared(polars.DataFrame(COLUMNS), attributes=slices, weights=weights)
    assert [(row["value"], row["queries"]) for row in rows] == [
        *((None, 3), (None, 2), ("a", 1), ("a", 1), ("b", 1), ("b", 1), ("(none)", 1), ("(none)", 0))
    ]


def compared_as_evaluated(judgments, results, date):
    scores = evaluate(judgments, results, [1], evaluated_on=date)
    rows = compared(scores.query_scores)
    assert compared(scores) == rows
    return rows, scores.query_scores["evaluation_id"].iloc[0]


def test_the_scores_of_an_evaluation_are_compared_as_they_are(session):
    judgments = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}, "q3": {"a": 0}}
    results = {
        "old": {"q1": {"b": 2.0, "a": 1.0}, "q2": {"a": 1.0}, "q3": {"a": 1.0}},
        "new": {"q1": {"a": 2.0, "b": 1.0}},
    }
    date = datetime.date(2026, 11, 20)
    (row,), evaluation_id = compared_as_evaluated(judgments, results, date)
    # q1 is won and q2 lost; q3 has no relevant document, so that neither mean is over it.
    assert (row["queries"], row["unpaired_queries"], row["wins"], row["losses"]) == (2, 0, 1, 1)
    assert (row["evaluated_on"], row["mean"], row["baseline_mean"]) == (date, 0.5, 0.5)
    assert row["evaluation_id"] == evaluation_id


def test_the_examples_of_the_docstring_run(session):
    failed, attempted, said = examples_of(session, api.__name__)
    assert (failed, attempted > 3) == (0, True), said


def test_several_baselines_are_each_compared_with_every_other_run_in_one_family():
    means = {"old": 0.25, "older": 0.5, "new": 0.75, "newest": 0.5}
    apart = [at / 100 for at in range(-5, 6)]
    scores = pd.DataFrame(
        [(run, f"q{at}", mean + each * len(run)) for run, mean in means.items() for at, each in enumerate(apart)],
        columns=["run", "query_id", "ndcg"],
    )
    rows = compared(scores, ["old", "older"])
    assert [(row["run"], row["baseline"], round(row["difference"], 9)) for row in rows] == [
        ("new", "old", 0.5),
        ("new", "older", 0.25),
        ("newest", "old", 0.25),
        ("newest", "older", 0.0),
    ]
    # The mean of the last did not change, but its queries did; the first has one difference for all queries.
    assert [row["family_size"] for row in rows] == [4] * 4
    alone = [row for name in ("old", "older") for row in compared(scores, name)]
    known = {(row["run"], row["baseline"]): row["p_value"] for row in alone}
    assert [row["p_value"] for row in rows] == [known[row["run"], row["baseline"]] for row in rows]
    assert min(row["p_adjusted"] for row in rows) == pytest.approx(min(row["p_value"] for row in rows) * 4)
    with pytest.raises(ConfigurationError, match="baseline: no run is called 'oldest'"):
        compared(scores, ["old", "oldest"])
    with pytest.raises(ConfigurationError, match="there is no run to compare with the baseline"):
        compared(scores, list(means))


def test_a_baseline_alone_is_nothing_to_compare():
    alone = pd.DataFrame({"run": ["old"] * 2, "query_id": ["1", "2"], "ndcg": [0.5, 0.25]})
    with pytest.raises(ConfigurationError, match="there is no run to compare with the baseline"):
        compared(alone)


def test_what_lacks_a_column_is_told_what_to_do_in_python():
    scores = pd.DataFrame(COLUMNS)
    with pytest.raises(ConfigurationError, match="no column 'ap' in query_scores; it has ndcg"):
        compared(scores, measure="ap")
    with pytest.raises(
        InputError, match=r"1 column.s. missing, weight; it has query_id; name its columns query_id and"
    ):
        compared(scores, weights={"query_id": ["1"]})
    (row,) = compared(scores.rename(columns={"query_id": "qid"}))
    assert row["queries"] == 3


def test_attributes_and_weights_name_queries_as_other_tools_do():
    slices, weights = {"user_id": [1, 2, 3], "kind": ["a", "a", "b"]}, {"qid": [1, 2, 3], "weight": [1, 1, 2]}
    rows = compared(COLUMNS, attributes=slices, weights=weights)
    assert [(row["value"], row["queries"]) for row in rows if row["weight_effective_n"] is None] == [
        *((None, 3), ("a", 2), ("b", 1))
    ]
    assert next(row["difference"] for row in rows if row["weight_effective_n"]) == pytest.approx((0.25 + 2 * 0.25) / 4)


SLICED = {
    "a row per attribute, in capitals": {"User_Id": [1, 2, 3], "Attribute": ["kind"] * 3, "Value": ["a", "a", "b"]},
    "names of slices": {"qid": [1, 2, 3], "slice": ["kind"] * 3, "slice_value": ["a", "a", "b"]},
    "an attribute that is called slice": {"qid": [1, 2, 3], "slice": ["a", "a", "b"]},
}


@pytest.mark.parametrize("names", SLICED)
def test_attributes_and_weights_have_the_names_of_other_tools_in_every_column(names):
    weights = {"user_id": [1, 2, 3], "Frequency": [1, 1, 2]}
    rows = compared(COLUMNS, attributes=SLICED[names], weights=weights)
    found = [(row["attribute"], row["value"], row["queries"]) for row in rows if row["weight_effective_n"] is None]
    name = "slice" if "called slice" in names else "kind"
    assert found == [(None, None, 3), (name, "a", 2), (name, "b", 1)]
    assert next(row["difference"] for row in rows if row["weight_effective_n"]) == pytest.approx((0.25 + 2 * 0.25) / 4)


def test_runs_to_compare_may_be_a_dictionary_of_tables():
    scores = pd.DataFrame(COLUMNS)
    runs = {name: scores[scores["run"] == name].drop(columns="run") for name in ("old", "new")}
    assert compared(runs) == compared(scores)


MEASURED = {
    "run": ["old", "old", "new", "new"],
    "query_id": [1, 1, 1, 1],
    "cutoff": [5, 10, 5, 10],
    "ndcg": [0.1, 0.2, 0.5, 0.7],
    "precision": [0.2, None, 0.6, None],
}


@pytest.mark.parametrize(
    ("measure", "found"),
    [
        ("P@5", [("precision", 5, 0.6 - 0.2)]),
        ("nDCG@10", [("ndcg", 10, 0.7 - 0.2)]),
        (["P@5", "nDCG@10"], [("precision", 5, 0.6 - 0.2), ("ndcg", 10, 0.7 - 0.2)]),
        ("precision@5,ndcg@10", [("precision", 5, 0.6 - 0.2), ("ndcg", 10, 0.7 - 0.2)]),
        ("P@5 ndcg@10", [("precision", 5, 0.6 - 0.2), ("ndcg", 10, 0.7 - 0.2)]),
    ],
)
def test_a_measure_may_be_written_as_the_field_writes_it(measure, found):
    rows = compared(MEASURED, measure=measure)
    assert [(row["measure"], row["cutoff"], row["difference"]) for row in rows] == [
        (name, cutoff, pytest.approx(difference)) for name, cutoff, difference in found
    ]


def test_a_column_that_is_called_like_a_measure_is_that_column():
    scores = {"run": ["old", "new"], "qid": [1, 1], "P@5": [0.25, 0.5]}
    (row,) = compared(scores, measure="P@5")
    assert (row["measure"], row["difference"]) == ("P@5", 0.25)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"query_id": [1.0, 2.0, 3.0] * 2}, "query_id is double; ids are text or whole numbers"),
        ({"run": [None, *COLUMNS["run"][1:]]}, "1 row(s) with an empty run"),
        ({"query_id": [None, 2, 3] * 2}, "2 row(s) with an empty query_id"),
        ({"ndcg": [float("inf"), 0.5, 0.75] * 2}, "infinite score(s) in ndcg"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_ids_and_scores_are_checked_as_those_of_an_evaluation_are(broken, words):
    with pytest.raises(InputError) as refused:
        compared({**COLUMNS, **broken})
    assert words in str(refused.value)


def test_a_table_that_names_datasets_is_not_blamed_for_other_ones():
    sliced = pa.table({"dataset": ["default", "other"], "query_id": ["1", "1"], "kind": ["a", "a"]})
    found = paired.compared(pa.table({**COLUMNS, "query_id": list("123123")}), None, "old", attributes=sliced)
    assert found.warnings == []


def test_a_cutoff_is_named_once():
    with pytest.raises(ConfigurationError, match="measure='P@5' names its own cutoff; leave cutoffs out"):
        compared(MEASURED, measure="P@5", cutoffs=5)

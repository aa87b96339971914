"""The library's `compare` with whatever people have for a table, and what it shows."""

import datetime
import functools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from paired import compare_rows

from ndcg_spark import compare, compare_lists, evaluate
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.schemas import COMPARISONS

COLUMNS = {
    "run": ["old", "old", "old", "new", "new", "new"],
    "query_id": [1, 2, 3, 1, 2, 3],
    "cutoff": [10] * 6,
    "ndcg": [0.25, 0.5, 0.75, 0.5, 0.5, 1.0],
}
FRAME = pd.DataFrame(COLUMNS)
TABLES = {
    "a dictionary of columns": COLUMNS,
    "pandas": FRAME.rename(columns={"query_id": "qid"}),
    "pandas with dates and categories": FRAME.astype(
        {"run": "category", "query_id": "uint32"}
    ).assign(evaluated_on=pd.Timestamp("2026-11-20"), more=[[1]] * 6),
    "pyarrow": pa.table(COLUMNS),
    "runs": {name: FRAME[FRAME["run"] == name].drop(columns="run") for name in ("old", "new")},
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_of_any_kind_is_compared(kind):
    (row,) = compare_rows(TABLES[kind], "old")
    assert (row["queries"], row["cutoff"], row["difference"]) == (3, 10, pytest.approx(0.5 / 3))
    assert row["evaluated_on"] == (datetime.date(2026, 11, 20) if "dates" in kind else None)


def test_the_only_numbers_are_compared_whatever_they_are_called(session):
    frame = FRAME.rename(columns={"ndcg": "my score"})
    for table in (frame, session.createDataFrame(frame)):
        assert compare(table, "old")["difference"].tolist() == [pytest.approx(0.5 / 3)]
    with pytest.raises(ConfigurationError, match="it has my score, other; name one with measures="):
        compare(frame.assign(other=1), "old")


@pytest.mark.filterwarnings("ignore:the weights leave 2.8 effective queries")
def test_a_series_is_a_table_with_its_index():
    weights = pd.Series([1.0, 2.0, 2.0], pd.Index([1, 2, 3], name="user"), name="weight")
    _, row = compare_rows(COLUMNS, "old", weights=weights)
    assert row["difference"] == pytest.approx((0.25 + 2 * 0.25) / 5)


def test_frames_of_polars_are_compared():
    polars = pytest.importorskip("polars")
    slices = polars.DataFrame({"query_id": ["1", "2"], "kind": ["a", "b"]})
    rows = compare_rows(polars.DataFrame(COLUMNS), "old", attributes=slices)
    assert [(row["value"], row["queries"]) for row in rows] == [
        (None, 3),
        ("a", 1),
        ("b", 1),
        ("(none)", 1),
    ]


def test_a_dataframe_of_the_session_is_compared_with_a_frame_of_pandas(session):
    scores = session.createDataFrame(pa.table(COLUMNS)).where("run = 'new'")
    # Runs of two tables are paired by name.
    (row,) = compare_rows(scores, FRAME.query("run == 'old'").assign(run="new"))
    assert (row["run"], row["queries"], row["difference"]) == ("new", 3, pytest.approx(0.5 / 3))


def test_the_scores_of_an_evaluation_are_compared_as_they_are():
    judgments = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}, "q3": {"a": 0}}
    old = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"a": 1.0}, "q3": {"a": 1.0}}
    results = {"old": old, "new": {"q1": {"a": 2.0, "b": 1.0}}}
    scores = evaluate(judgments, results, [1], evaluated_on=datetime.date(2026, 11, 20))
    (row,) = compare_rows(scores, "old")
    assert compare_rows(scores.query_scores, "old") == [row]
    # q1 is won and q2 lost; q3 has no relevant document, so that neither mean is over it.
    assert (row["queries"], row["unpaired_queries"], row["wins"], row["losses"]) == (2, 0, 1, 1)
    assert (str(row["evaluated_on"]), row["mean"], row["baseline_mean"]) == ("2026-11-20", 0.5, 0.5)


JUDGED, LISTED = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}


def under(convention, session=None, **more):
    return evaluate(JUDGED, LISTED, 1, convention, session=session, **more)


@pytest.fixture(scope="module")
def evaluated(session):
    """The scores under a convention, lazy or not, which are computed once."""
    return functools.cache(
        lambda convention, is_lazy: under(convention, session if is_lazy else None)
    )


@pytest.mark.parametrize("lazy", [(False, False), (False, True), (True, True)])
@pytest.mark.parametrize("by_run", [False, True])
def test_scores_of_two_conventions_are_not_compared(evaluated, lazy, by_run):
    def pair(*conventions):
        new, old = map(evaluated, conventions, lazy)
        return ({"new": new, "old": old}, "old") if by_run else (new, old)

    with pytest.raises(ConfigurationError, match="trec_eval"):
        compare(*pair("standard", "trec_eval"))
    # Two names of the same options.
    assert len(compare(*pair("ranx", "trec_eval"))) == 1


def test_a_baseline_by_run_is_of_the_convention_of_the_scores():
    with pytest.raises(ConfigurationError, match="trec_eval"):
        compare(under("standard"), {"run": under("trec_eval")})


def test_a_measure_of_the_catalog_has_the_same_arguments_in_both_evaluations():
    items = {"doc_id": ["a", "b"], "popularity": [3.0, 1.0]}
    bits, share = (
        under("standard", measures=f"ndcg {measure}@1", items=items, items_users=4)
        for measure in ("Popularity", "Popularity(scale=share)")
    )
    with pytest.raises(ConfigurationError, match="scale=share"):
        compare(bits, share)
    assert len(compare(bits, share, measures="ndcg")) == 1


def test_runs_that_were_evaluated_apart_are_compared_by_what_they_were_asked_for(session):
    kinds = {"query_id": ["q"], "kind": ["x"]}
    for at in (None, session):
        evaluated = {
            name: under("standard", at, measures=measures, attributes=kinds)
            for name, measures in (("new", "P@1 AP"), ("old", "P@1 RR"))
        }
        rows = compare_rows(evaluated, "old")
        expected = [("precision", None), ("precision", "x")]
        assert [(row["measure"], row["value"]) for row in rows] == expected
    evaluated["old"] = under("standard", attributes={"query_id": ["q"], "kind": ["y"]})
    with pytest.raises(ConfigurationError, match="attributes"):
        compare(evaluated, "old")


def keys(names):
    return dict.fromkeys(names).keys()


@pytest.mark.parametrize(
    "several",
    [list, tuple, set, iter, np.array, pd.Index, pd.Series, keys],
    ids=lambda several: several.__name__,
)
def test_names_may_come_in_any_collection(several):
    scores = shifted({"old": 0.0, "low": -0.1, "high": 0.2})
    assert set(compare(scores, several(["old"]))["run"]) == {"low", "high"}
    assert set(compare(scores, "old", runs=several(["low"]))["run"]) == {"low"}
    assert set(compare(scores, "old", measures=several(["ndcg"]))["measure"]) == {"ndcg"}
    assert list(evaluate(JUDGED, LISTED, measures=several(["P@1"])).table()) == ["P@1"]
    with pytest.raises(ConfigurationError, match="baseline"):
        compare(scores, several([]))


def test_a_cutoff_may_be_a_number_of_numpy():
    for number in (np.array(1), np.int32(1)):
        assert list(evaluate(JUDGED, LISTED, number).table()) == ["ndcg@1"]


def test_excluded_documents_leave_both_sides():
    excluded = {"query_id": ["q"], "doc_id": ["a"]}
    (row,) = compare_lists({"q": ["a", "b"]}, {"q": ["b", "a"]}, 2, exclude=excluded).to_dict(
        "records"
    )
    assert row["same_order"]


def shifted(runs):
    """Scores of 20 queries, each run higher by that much of its query's number."""
    rows = [(run, f"q{at}", 0.5 + by * at / 20) for run, by in runs.items() for at in range(20)]
    return pd.DataFrame(rows, columns=["run", "query_id", "ndcg"])


def test_what_is_shown_are_the_columns_that_people_read_and_the_best_run_first():
    scores = shifted({"old": 0.0, "low": -0.1, "high": 0.2})
    shown = compare(scores, "old")
    assert shown["run"].tolist() == ["high", "low"]
    assert (list(shown)[:4], len(shown.columns)) == (["run", "measure", "cutoff", "mean"], 14)
    # What tells rows apart is shown too, and all queries come before the slices.
    kinds = {"query_id": [f"q{at}" for at in range(20)], "kind": ["a"] * 20}
    with pytest.warns(UserWarning, match="19 of 20 queries have no weight"):
        more = compare(
            scores, ["old", "low"], attributes=kinds, weights={"query_id": ["q1"], "weight": [1]}
        )
    assert {*more} - {*shown} == {"baseline", "attribute", "value", "flags", "weight_effective_n"}
    assert more["attribute"].isna().tolist() == [True] * 4 + [False] * 4
    assert list(compare(scores, "old", full=True)) == COMPARISONS.names
    assert compare(scores, "old", runs=["low"])["run"].tolist() == ["low"]
    # Runs of one side alone come last.
    assert compare(scores, shifted({"old": 0.0}))["run"].tolist()[0] == "old"


def test_a_baseline_may_be_several_runs_which_are_one_family():
    rows = compare_rows(
        shifted({"old": 0.0, "older": 0.1, "new": 0.2, "newest": 0.4}), ["old", "older"]
    )
    pairs = [(run, baseline) for run in ("new", "newest") for baseline in ("old", "older")]
    assert [(row["run"], row["baseline"], row["family_size"]) for row in rows] == [
        (*pair, 4) for pair in pairs
    ]
    assert min(row["p_adjusted"] for row in rows) == pytest.approx(
        min(row["p_value"] for row in rows) * 4
    )


MEASURED = {"run": ["old", "old", "new", "new"], "query_id": [1] * 4, "cutoff": [5, None] * 2}
MEASURED |= {"ndcg": [0.1, 0.2, 0.5, 0.7], "precision": [0.2, None, 0.6, None], "P@7": [1, 1, 2, 2]}
PRECISION, NDCG = ("precision", 5, 0.6 - 0.2), ("ndcg", None, 0.7 - 0.2)


@pytest.mark.parametrize(
    ("measures", "expected"),
    [
        *(
            ("P@5", [PRECISION]),
            ("precision", [PRECISION]),
            ("ndcg", [("ndcg", 5, 0.5 - 0.1), NDCG]),
        ),
        *((["P@5", "ndcg@all"], [PRECISION, NDCG]), ("P@5 ndcg@all", [PRECISION, NDCG])),
        # A column of this name.
        ("P@7", [("P@7", 5, 1.0), ("P@7", None, 1.0)]),
    ],
    ids=str,
)
def test_a_measure_may_be_written_as_the_field_writes_it(measures, expected):
    rows = compare_rows(MEASURED, "old", measures=measures)
    assert [(row["measure"], row["cutoff"], round(row["difference"], 9)) for row in rows] == [
        (name, cutoff, round(difference, 9)) for name, cutoff, difference in expected
    ]

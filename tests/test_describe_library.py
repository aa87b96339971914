"""The library's `describe` with whatever people have for a table, beside plain Python; and what it shows of measures of
the catalog.
"""

import pandas as pd
import pyarrow as pa
import pytest
import shown
from pyarrow import parquet
from sessions import on_spark

from ndcg_spark import describe, evaluate, latex
from ndcg_spark.convention.measures import catalog_definitions
from ndcg_spark.errors import ConfigurationError, InputError

ALL = "novelty popularity categories items coverage gini personalization"
CUTOFFS = [1, 3, None]


@pytest.fixture(scope="module")
def shop():
    return shown.shop(31)


def path_of(table, folder):
    parquet.write_table(table, folder / "results.parquet")
    return folder / "results.parquet"


#: What people have for results: of a table of Arrow, a session and a folder.
KINDS = {
    "pandas": lambda table, session, folder: table.to_pandas(),
    "Arrow": lambda table, session, folder: table,
    "a path": lambda table, session, folder: path_of(table, folder),
    "runs by name": lambda table, session, folder: by_name(table.to_pandas()),
    "Spark": lambda table, session, folder: session.createDataFrame(table).repartition(3),
}


def by_name(frame):
    return {run: own.drop(columns="run") for run, own in frame.groupby("run")}


def results_of(shop):
    return pa.table(shown.tables(shop)[1])


def check(view, shop, options):
    rows = view.to_pandas()
    assert len(rows) == len(shop.lists) * len(CUTOFFS)
    for row in rows.to_dict("records"):
        cutoff = None if pd.isna(row["cutoff"]) else row["cutoff"]
        of_run = shown.of_run(shop, row["run"], options, cutoff)
        for name in ("items", "coverage", "gini", "personalization"):
            expected = getattr(of_run, name)
            assert (
                pd.isna(row[name])
                if expected is None
                else row[name] == pytest.approx(expected, abs=1e-12)
            )
        assert (row["lists"], row["unknown_items"]) == (of_run.lists, of_run.unknown)
        for name in ("novelty", "popularity", "categories"):
            values = []
            for own in shop.lists[row["run"]].values():
                value = shown.of_list(shop, own, options, cutoff)[name]
                if value is not None:
                    values.append(value)
            assert row[name] == pytest.approx(sum(values) / len(values), abs=1e-12)


#: On classic Spark its own tables alone: all others are described by the worker's embedded engine.
TWO_KINDS = on_spark(["pandas", "Spark"], "Spark")


@pytest.mark.parametrize("kind", on_spark(KINDS, "Spark"))
@pytest.mark.filterwarnings("ignore:items")
def test_results_of_any_kind_are_described(session, shop, kind, tmp_path):
    results = KINDS[kind](results_of(shop), session, tmp_path)
    items = shown.item_rows(shop.catalog)
    check(describe(results, CUTOFFS, measures=ALL, items=items, items_users=shop.users), shop, {})


@pytest.mark.parametrize("kind", TWO_KINDS)
def test_items_that_the_table_does_not_know_are_a_warning(session, kind, tmp_path):
    table = pa.table({"query_id": ["u"], "doc_id": ["new"], "score": [1.0]})
    results = KINDS[kind](table, session, tmp_path)
    with pytest.warns(UserWarning, match="1 item.s. that run shows are not in the table"):
        view = describe(results, 1, items={"doc_id": ["a"]}, measures="coverage")
    assert view.to_pandas()["coverage"].item() == 0.0


@pytest.mark.parametrize("kind", TWO_KINDS)
def test_what_is_excluded_is_not_shown(session, kind, tmp_path):
    columns = {"query_id": ["u", "u", "v"], "doc_id": ["a", "b", "a"], "score": [2.0, 1.0, 1.0]}
    results = KINDS[kind](pa.table(columns), session, tmp_path)
    exclude = pd.DataFrame({"query_id": ["u", "v"], "doc_id": ["a", "a"]})
    (row,) = describe(results, 1, exclude=exclude).to_pandas().to_dict("records")
    assert (row["items"], row["lists"]) == (1.0, 1)


TWICE = {"query_id": ["u", "u"], "doc_id": ["a", "a"], "score": [2.0, 1.0]}
MERGED = {
    "query_id": ["u"] * 3,
    "doc_id": ["a", "b", "c"],
    "score": [3.0, 2.0, 1.0],
    "rank": [1, 1, 2],
}
ONE_RANK = {"query_id": ["u", "u"], "doc_id": ["a", "b"], "rank": [1, 1]}


def result_rows(query, ranks):
    """Rows of a list whose scores fall, with these ranks."""
    scores = range(len(ranks), 0, -1)
    rows = zip(ranks, scores, strict=True)
    return [(query, f"d{score}", float(score), rank) for rank, score in rows]


def two_firsts(merged, single):
    """Results in which so many lists have two results of rank 1, and so many have one."""
    rows = []
    for number in range(merged):
        rows += result_rows(f"m{number}", [1, 1, 2])
    for number in range(single):
        rows += result_rows(f"s{number}", [1, 2, 3])
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "rank"])


@pytest.mark.parametrize("kind", TWO_KINDS)
def test_two_results_of_rank_1_in_some_lists_are_a_warning(session, kind, tmp_path):
    table = pa.Table.from_pandas(two_firsts(merged=1, single=1))
    results = KINDS[kind](table, session, tmp_path)
    with pytest.warns(UserWarning, match="1 run.s. have lists with two results of rank 1"):
        view = describe(results, 2)
    assert view.to_pandas()["lists"].item() == 2


@pytest.mark.parametrize(("merged", "single"), on_spark([(2, 1), (1, 0)], (2, 1)))
def test_a_table_of_spark_with_mostly_such_lists_is_refused(session, merged, single):
    results = session.createDataFrame(two_firsts(merged, single))
    with pytest.raises(InputError, match=f"rank 1 .*, {merged} of them, e.g. run=run query_id=m0"):
        describe(results, 2)


@pytest.mark.parametrize(
    "options",
    on_spark([{"order": "score"}, {"convention": "trec_eval order=score"}], {"order": "score"}),
    ids=str,
)
def test_a_chosen_order_needs_no_warning(session, options):
    view = describe(session.createDataFrame(two_firsts(merged=2, single=0)), 2, **options)
    assert view.to_pandas()["lists"].item() == 2


@pytest.mark.parametrize(
    ("columns", "reason"),
    [(TWICE, "twice"), (MERGED, "two results of rank 1"), (ONE_RANK, "rank")],
)
def test_a_plan_of_spark_refuses_a_list_that_breaks_a_rule(session, columns, reason):
    with pytest.raises(InputError, match=reason):
        describe(session.createDataFrame(pa.table(columns)), 10)


def test_the_best_of_a_document_is_kept_if_the_convention_says_so(session):
    table = session.createDataFrame(pa.table(TWICE))
    (row,) = describe(table, 10, duplicates="best").to_pandas().to_dict("records")
    assert row["items"] == 1.0


@pytest.mark.parametrize("kind", TWO_KINDS)
@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"measures": "P@5"}, "precision needs judgments"),
        ({"measures": "Coverage@5"}, "coverage needs the catalog's items; give items="),
        ({"measures": "items", "ties": "average"}, "ties=average"),
        ({"measure": "items"}, "describe: unknown argument measure .did you mean 'measures'"),
    ],
)
def test_what_cannot_be_described_is_said(session, kind, asked, reason, tmp_path):
    results = KINDS[kind](pa.table({**TWICE, "doc_id": ["a", "b"]}), session, tmp_path)
    with pytest.raises(ConfigurationError, match=reason):
        describe(results, 5, **asked)


def test_a_view_says_what_the_numbers_are():
    used = [("u", "a"), ("v", "b"), ("v", "c")]
    view = describe({"u": ["a", "b"], "v": ["a", "c"]}, 2, interactions=used)
    text = repr(view)
    for name in ("novelty", "popularity", "items", "coverage", "gini", "personalization"):
        assert f"\n{name}: " in text
    # Nobody is judged here.
    assert "judged" not in text
    assert "Gini" in view._repr_html_()


def test_scores_say_what_the_measures_of_the_catalog_are():
    columns = {"dataset": list("xxyy"), "query_id": list("uvuv"), "doc_id": list("abaa")}
    judged = pd.DataFrame({**columns, "relevance": 1.0})
    results = pd.DataFrame({**columns, "score": 1.0})
    scores = evaluate(judged, results, 1, measures="ndcg@1 Items@1 Personalization@1")
    text, page = repr(scores), scores._repr_html_()
    for sentence in catalog_definitions(scores.measures):
        assert sentence in text
        assert sentence in latex(scores)
    assert "items: how many" in page
    # A number of items is whole, and has no mean over datasets.
    shown_items = [line.split()[-2] for line in text.splitlines()[2:5]]
    assert shown_items == ["2", "1", "-"]
    assert ">2<" in page


def test_why_a_measure_of_the_catalog_has_no_value_is_not_told_of_grades():
    with pytest.warns(
        UserWarning, match="personalization@1: no run has two lists; check the item ids"
    ):
        evaluate({"u": {"a": 1}}, {"u": {"a": 1.0}}, 1, measures="ndcg personalization")


@pytest.mark.parametrize("has_session", on_spark([False, True], True))
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"items_users": 0}, "greater than 0"),
        ({"items_users": 5, "interactions": {"user": ["u"], "item": ["a"]}}, "leave users out"),
        ({"split_ids": {"items": "comma"}}, "'items' is not one of the given tables"),
        ({"split_ids": {"exclude": "comma"}}, "'exclude' is not one of the given tables"),
    ],
)
def test_what_files_refuse_is_refused_for_sessions(session, has_session, given, reason):
    items = {"doc_id": ["a"], "popularity": [1]}
    asked = {"items": items, "measures": "novelty", **given}
    asked |= {"session": session} if has_session else {}
    with pytest.raises(ConfigurationError, match=reason):
        describe({"u": ["a"]}, 1, **asked)


@pytest.mark.parametrize("has_session", on_spark([False, True], True))
def test_an_evaluation_has_no_date_in_the_future(session, has_session):
    asked = {"session": session} if has_session else {}
    with pytest.raises(ConfigurationError, match="in the future"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, 1, evaluated_on="2999-01-01", **asked)

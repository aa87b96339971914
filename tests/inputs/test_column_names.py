"""What other tools call our columns: which names count only where no better one is, and which only in one table."""

import pytest

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.column_names import is_known, of_attributes, resolve
from ndcg_spark.schemas import JUDGMENTS, QUERY_ATTRIBUTES, QUERY_WEIGHTS, RESULTS

BASIC = ["query", "docid", "rating"]
DETAILED = ["Team Name", "Case Name", "Case ID", "Query Text", "Doc ID", "Doc Position", "Title", "Rating", "brand"]
SNAPSHOT = ["Snapshot Name", "Snapshot Time", "Case ID", "Query Text", "Doc ID", "Doc Position", "rating", "brand"]
BEIR = ["query-id", "corpus-id", "score"]


def found(table, has, given=()):
    return resolve(dict(given), table.names, has, "table")


@pytest.mark.parametrize(
    ("has", "columns"),
    [
        (BASIC, {"query_id": "query", "doc_id": "docid", "relevance": "rating"}),
        (DETAILED, {"query_id": "Query Text", "doc_id": "Doc ID", "relevance": "Rating"}),
        (BEIR, {"query_id": "query-id", "doc_id": "corpus-id", "relevance": "score"}),
        (["qid", "docno", "score", "rank"], {"query_id": "qid", "doc_id": "docno"}),
        (["qid", "docno", "score", "Tag"], {"query_id": "qid", "doc_id": "docno"}),
        (["text", "title"], {}),
    ],
    ids=["Quepid's basic export", "its detailed export", "BEIR", "beside ranks", "beside runs", "none"],
)
def test_judgments_of_the_field_are_found_under_their_names(has, columns):
    assert found(JUDGMENTS, has) == columns


@pytest.mark.parametrize(
    ("has", "columns"),
    [
        (DETAILED, {"query_id": "Query Text", "doc_id": "Doc ID", "rank": "Doc Position"}),
        (SNAPSHOT, {"run": "Snapshot Name", "query_id": "Query Text", "doc_id": "Doc ID", "rank": "Doc Position"}),
        (["user_query", "doc-id", "position"], {"query_id": "user_query", "doc_id": "doc-id", "rank": "position"}),
        (["QUERY TEXT", "Doc-ID", "Score"], {"query_id": "QUERY TEXT", "doc_id": "Doc-ID", "score": "Score"}),
    ],
    ids=["Quepid's detailed export", "Quepid's snapshot", "positions", "any case"],
)
def test_results_of_the_field_are_found_under_their_names(has, columns):
    assert found(RESULTS, has) == columns


@pytest.mark.parametrize(
    ("has", "columns"),
    [
        ("qid query docno score rank", {"query_id": "qid", "doc_id": "docno", "score": "score", "rank": "rank"}),
        ("qid docid docno rank score", {"query_id": "qid", "doc_id": "docno", "score": "score", "rank": "rank"}),
        ("query_id user_query docno score", {"query_id": "query_id", "doc_id": "docno", "score": "score"}),
        ("topic query docno score position", {"query_id": "topic", "doc_id": "docno", "score": "score"}),
        ("user item rating position", {"query_id": "user", "doc_id": "item", "score": "rating"}),
        ("user item rank position", {"query_id": "user", "doc_id": "item", "rank": "rank"}),
    ],
    ids=[
        "PyTerrier",
        "its number of a document",
        "our own",
        "position beside a score",
        "beside a rating",
        "beside a rank",
    ],
)
def test_a_second_name_never_counts_beside_a_first_one(has, columns):
    assert found(RESULTS, has.split()) == columns


def test_positions_are_no_ranks_where_the_user_has_named_the_scores():
    assert "rank" not in found(RESULTS, ["qid", "docno", "points", "position"], {"score": "points"})


def test_ratings_of_quepid_are_no_scores_even_if_the_user_has_named_the_ranks():
    assert "score" not in found(RESULTS, DETAILED, {"rank": "Doc Position"})


def test_two_second_names_are_refused_unless_one_is_given():
    has = ["query", "user_query", "docid", "rating"]
    with pytest.raises(InputError, match="table: 2 columns may be the query_id, query and user_query; say which"):
        found(JUDGMENTS, has)
    assert found(JUDGMENTS, has, {"query_id": "query"})["query_id"] == "query"


@pytest.mark.parametrize("table", [QUERY_ATTRIBUTES, QUERY_WEIGHTS])
def test_the_text_of_a_query_names_it_only_where_documents_are_listed(table):
    assert "query_id" not in found(table, ["id", "query", "lang"])


@pytest.mark.parametrize(("name", "column"), [("query_id", "User Input"), ("rank", "Doc Position")])
def test_every_name_that_may_count_is_known(name, column):
    assert is_known(name, column)


def test_what_may_be_another_thing_is_not_known():
    assert not is_known("doc_id", "title")
    assert not is_known("rank", "query")


def test_a_snapshot_names_its_run_beyond_doubt():
    with pytest.raises(InputError, match="2 columns may be the run, Snapshot Name and model"):
        found(RESULTS, [*SNAPSHOT, "model"])


@pytest.mark.parametrize(
    ("has", "columns"),
    [
        ("qid Attribute Value", {"query_id": "qid", "attribute": "Attribute", "value": "Value"}),
        ("qid slice slice_value", {"query_id": "qid", "attribute": "slice", "value": "slice_value"}),
        ("attribute value slice", {"attribute": "attribute", "value": "value"}),
        ("user_id slice lang", {"query_id": "user_id"}),
        ("dataset qid value lang", {"dataset": "dataset", "query_id": "qid"}),
    ],
)
def test_attributes_are_in_rows_only_where_both_columns_of_rows_are_there(has, columns):
    assert of_attributes({}, has.split(), "query_attributes") == columns


@pytest.mark.parametrize("name", ["weight", "Weights", "Query Weight", "frequency", "traffic"])
def test_weights_of_the_field_are_found_under_their_names(name):
    assert found(QUERY_WEIGHTS, ["qid", name])["weight"] == name

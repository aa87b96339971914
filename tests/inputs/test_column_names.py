"""What other tools call our columns: which names count only where no better one is, and which only in one table."""

import pytest

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.column_names import doubtful_run, resolve_columns
from ndcg_spark.schemas import JUDGMENTS, QUERY_ATTRIBUTES, QUERY_WEIGHTS, RESULTS

DETAILED = [
    "Team Name",
    "Case Name",
    "Case ID",
    "Query Text",
    "Doc ID",
    "Doc Position",
    "Title",
    "Rating",
    "brand",
]
SNAPSHOT = [
    "Snapshot Name",
    "Snapshot Time",
    "Case ID",
    "Query Text",
    "Doc ID",
    "Doc Position",
    "rating",
    "brand",
]


def resolved(table, has, given=()):
    return resolve_columns(dict(given), table.names, has)


@pytest.mark.parametrize(
    ("table", "has", "columns"),
    [
        (JUDGMENTS, ["query", "docid", "rating"], "query_id=query doc_id=docid relevance=rating"),
        (JUDGMENTS, DETAILED, "query_id=Query_Text doc_id=Doc_ID relevance=Rating"),
        (
            JUDGMENTS,
            ["query-id", "corpus-id", "score"],
            "query_id=query-id doc_id=corpus-id relevance=score",
        ),
        (JUDGMENTS, ["qid", "docno", "score", "rank"], "query_id=qid doc_id=docno"),
        (JUDGMENTS, ["text", "title"], ""),
        (RESULTS, ["query", "docid", "rating"], "query_id=query doc_id=docid"),
        (RESULTS, DETAILED, "query_id=Query_Text doc_id=Doc_ID rank=Doc_Position"),
        (
            RESULTS,
            SNAPSHOT,
            "run=Snapshot_Name query_id=Query_Text doc_id=Doc_ID rank=Doc_Position",
        ),
        (
            RESULTS,
            ["user_query", "doc-id", "position", "Engine"],
            "run=Engine query_id=user_query doc_id=doc-id rank=position",
        ),
        (RESULTS, ["qid", "query", "docno", "rank"], "query_id=qid doc_id=docno rank=rank"),
        (RESULTS, ["qid", "docid", "docno", "score"], "query_id=qid doc_id=docno score=score"),
        (
            RESULTS,
            ["topic", "docno", "score", "position"],
            "query_id=topic doc_id=docno score=score",
        ),
        (RESULTS, ["user", "item", "rating", "position"], "query_id=user doc_id=item score=rating"),
        (
            JUDGMENTS,
            ["uid", "query", "iid", "docid", "r_ui"],
            "query_id=query doc_id=docid relevance=r_ui",
        ),
        (RESULTS, ["uid", "iid", "rating", "est"], "query_id=uid doc_id=iid score=rating"),
        (RESULTS, ["documentId", "qid", "est"], "query_id=qid doc_id=documentId score=est"),
        (
            RESULTS,
            ["query_id:string", "item-id:token", "Score:double"],
            "query_id=query_id:string doc_id=item-id:token score=Score:double",
        ),
        (
            RESULTS,
            ["query_id", "query_id:token", "productId", "score:float_seq"],
            "query_id=query_id doc_id=productId score=score:float_seq",
        ),
        (RESULTS, ["qid:tokens", "a:token"], ""),
        (QUERY_ATTRIBUTES, ["uid:token", "lang"], "query_id=uid:token"),
        (QUERY_ATTRIBUTES, ["qid", "query", "lang"], "query_id=qid"),
        (QUERY_WEIGHTS, ["query", "traffic"], "query_id=query weight=traffic"),
        (QUERY_WEIGHTS, ["qid", "Traffic"], "query_id=qid weight=Traffic"),
        (
            QUERY_ATTRIBUTES,
            ["qid", "Attribute", "value"],
            "query_id=qid attribute=Attribute value=value",
        ),
    ],
)
def test_columns_of_the_field_are_found_under_their_names(table, has, columns):
    expected = dict(pair.split("=") for pair in columns.split())
    assert {
        ours: theirs.replace(" ", "_") for ours, theirs in resolved(table, has).items()
    } == expected


@pytest.mark.parametrize("other", ["tag", "System", "engine", "model", "Algorithm"])
def test_what_may_be_a_category_names_no_run_where_another_column_does(other):
    has = ["qid", "docno", "score", other]
    assert doubtful_run(resolved(RESULTS, has), {}) == other
    assert doubtful_run(resolved(RESULTS, has, {"run": other}), {"run": other}) is None
    for name in ("run", "run_id", "runid", "Run Name"):
        assert resolved(RESULTS, [*has, name])["run"] == name


def test_names_of_the_user_may_differ_in_case():
    assert resolve_columns({"doc_id": "url"}, ["doc_id"], ["URL"]) == {"doc_id": "URL"}
    assert resolve_columns({"doc_id": "url"}, ["doc_id"], ["URL", "url"]) == {"doc_id": "url"}


def test_what_the_user_names_counts_first():
    assert "rank" not in resolved(
        RESULTS, ["qid", "docno", "points", "position"], {"score": "points"}
    )
    assert "score" not in resolved(RESULTS, DETAILED, {"rank": "Doc Position"})


@pytest.mark.parametrize(
    ("table", "has", "name", "both"),
    [
        (
            JUDGMENTS,
            ["query", "user_query", "docid", "rating"],
            "query_id",
            ("query", "user_query"),
        ),
        (RESULTS, ["qid", "query-id", "docno", "score"], "query_id", ("qid", "query-id")),
        (RESULTS, [*SNAPSHOT, "Run Name"], "run", ("Snapshot Name", "Run Name")),
        (RESULTS, ["qid", "docno", "score", "system", "model"], "run", ("system", "model")),
    ],
)
def test_two_columns_that_may_be_one_of_ours_are_refused_unless_one_is_given(
    table, has, name, both
):
    with pytest.raises(
        InputError, match=f"2 columns may be the {name}, {both[0]} and {both[1]}; drop or rename"
    ):
        resolved(table, has)
    assert resolved(table, has, {name: both[0]})[name] == both[0]

"""Judgment lists of OpenSearch and Quepid and logs of UBI as rows, without an engine."""

import io
import json

import field_files
import pytest

from ndcg_spark.errors import InputError
from ndcg_spark.inputs import strict_json, tool_exports

LISTS = {"judgmentRatings": [{"query": "q", "ratings": [{"docId": "d", "rating": 1}]}]}


def read(content, table="judgments", **more):
    text = content if isinstance(content, str) else json.dumps(content)
    return list(tool_exports.rows(io.StringIO(text), table, f"{table}: a.json", **more))


def values(found):
    assert all(text is None and why is None for _, text, why in found)
    return sorted(tuple(row) for row, _, _ in found)


def graded(found):
    return [(query, doc, str(int(float(grade)))) for query, doc, grade in values(found)]


@pytest.mark.parametrize(
    "build",
    [
        field_files.quepid_case,
        field_files.quepid_older_case,
        field_files.quepid_ratings,
        field_files.quepid_book,
        field_files.opensearch_sent,
        field_files.opensearch_sent_numbers,
        field_files.opensearch_returned,
    ],
)
@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_judgments_of_every_tool_are_read_however_the_file_is_cut(tmp_path, monkeypatch, build, piece):
    monkeypatch.setattr(strict_json, "_PIECE", piece)
    text = build(tmp_path).read_text(encoding="utf-8")
    assert tool_exports.is_export(text)
    assert graded(read(text)) == field_files.JUDGED_ROWS


@pytest.mark.parametrize("build", [field_files.ubi_returned, field_files.ubi_dumped, field_files.ubi_bulk])
def test_logs_of_ubi_are_results_whatever_is_around_them(tmp_path, build):
    text = build(tmp_path).read_text(encoding="utf-8")
    assert tool_exports.is_export(text)
    assert values(read(text, "results", query_key="user_query")) == field_files.RETURNED_ROWS
    ids = {query["query_id"] for query in field_files.ubi_queries() if query["query_response_hit_ids"]}
    assert {query for query, _, _ in values(read(text, "results"))} == ids


@pytest.mark.parametrize(
    "text",
    [
        '{"hits": {"d1": 3, "d2": 0}}',
        '{"queries": {"judgmentRatings": 3}}',
        '{"_index": {"d1": 1}}',
        '{"index": {"_index": 1}}',
        '{"a": [{"judgmentRatings": [1]}]}',
        '{"q": {"queries": [1]}}',
        '{"query_id": "q", "items": ["queries", "hits"]}\n{"queries": []}',
        '["queries", {"queries": []}]',
        "q1 0 d1 1\n",
        "",
    ],
)
def test_other_json_is_never_taken_for_it(text):
    assert not tool_exports.is_export(text)


@pytest.mark.parametrize("length", [60, 200, 10_000])
def test_a_beginning_tells_it_as_soon_as_its_key_is_there(length):
    text = json.dumps({"name": '{[\\"', "n": 1, "scorer": {"queries": {}, "code": "x" * 90}, **LISTS})
    assert tool_exports.is_export(text[:length]) is (length > 100)


@pytest.mark.parametrize(
    ("content", "table", "words"),
    [
        ({"took": 1, "hits": {"total": 0}}, "judgments", "has an object without judgmentRatings, queries, query_doc"),
        ({**LISTS, "_source": {"name": "x"}}, "judgments", 'has an object without .* {"name": "x"}; write one object'),
        (
            {"hits": {"hits": [{"_id": "1"}]}},
            "results",
            "has an object without .* with the keys query_id, doc_id, rank",
        ),
        ({**LISTS, "queries": []}, "judgments", "has more than one list of judgments; write each to a file of its own"),
        ({"_source": LISTS, **LISTS}, "judgments", "has more than one list of judgments"),
        (field_files.found_by_opensearch(LISTS, LISTS), "judgments", "has more than one list of judgments"),
        (LISTS, "results", "has judgmentRatings, which are judgments; is this the judgments file"),
        ({"query_id": "q", "query_response_hit_ids": []}, "judgments", "has query_response_hit_ids, which are results"),
        (
            {"judgmentRatings": [{"query": "red hat"}]},
            "judgments",
            'has no ratings for the query "red hat", which Open',
        ),
        (
            {"queries": [{"query": "a", "query_text": "b"}]},
            "judgments",
            "has a query with both of query and query_text",
        ),
        ({"queries": [{"placeholders": {}}]}, "judgments", "has a query with neither of query and query_text"),
        ('{"queries": [{"query": "a", "ratings": {"d": 1}}', "judgments", "is not valid JSON, .*; write it again"),
        ('{"queries": [] "more": 1}', "judgments", "is not valid JSON, ',' is expected, not '\"'"),
        ('{"queries": ' + "[" * 100_000, "judgments", "is not valid JSON, its values nest too deep"),
    ],
)
def test_what_cannot_be_read_for_certain_is_refused_with_what_to_do(content, table, words):
    with pytest.raises(InputError, match=f"^{table}: a\\.json {words}"):
        read(content, table)


@pytest.mark.parametrize(
    ("ratings", "row"),
    [
        ([{"docId": "d"}], (["q", "d", None], None, None)),
        ([{"rating": 1}], (["q", None, "1"], None, None)),
        ([{"docId": "d", "rating": None}], (["q", "d", None], None, None)),
        (
            [{"docId": "d", "rating": True}],
            ([None] * 3, "value_is_no_scalar", '{"query_id": "q", "doc_id": "d", "relevance": true}'),
        ),
        ([3], ([None] * 3, "broken_line", '{"query": "q", "ratings": ["3"]}')),
        ("d", ([None] * 3, "broken_line", '{"query": "q", "ratings": "d"}')),
        (None, ([None] * 3, "broken_line", '{"query": "q", "ratings": null}')),
    ],
)
def test_a_judgment_of_opensearch_that_is_none_is_a_row_to_refuse(ratings, row):
    ((given, *why),) = read({"judgmentRatings": [{"query": "q", "ratings": ratings}]})
    assert (list(given), *why) == row


def test_an_entry_that_is_no_query_is_a_broken_row():
    assert read({"queries": ["q"]}) == [([None] * 3, "broken_line", '"q"')]


@pytest.mark.parametrize(
    ("fields", "row"),
    [
        ({}, (["q", None, None], None)),
        ({"query_response_hit_ids": None}, (["q", None, None], None)),
        ({"query_response_hit_ids": "a"}, ([None] * 3, '{"query_id": "q", "query_response_hit_ids": "a"}')),
    ],
)
def test_a_query_of_ubi_without_a_list_is_a_row_to_refuse(fields, row):
    ((given, _, text),) = read({"query_id": "q", **fields}, "results")
    assert (list(given), text) == row


def test_only_one_query_is_in_memory():
    read_so_far = []

    class Text(io.StringIO):
        def read(self, size=-1):
            read_so_far.append(size)
            return super().read(size)

    entry = json.dumps({"query": "q", "ratings": {f"d{at}": 1 for at in range(9_000)}})
    text = Text('{"queries": [' + ",".join([entry] * 60) + "]}")
    next(tool_exports.rows(text, "judgments", "judgments: a.json"))
    assert sum(read_so_far) < len(text.getvalue()) / 2
    assert max(read_so_far) == strict_json._PIECE


def test_what_somebody_has_read_from_json_is_the_same():
    value = field_files.found_by_opensearch(field_files.opensearch_list())
    for one in (value, field_files.opensearch_list()):
        assert tool_exports.is_export_object(one)
        assert graded(list(tool_exports.object_rows(one, "judgments", "judgments"))) == field_files.JUDGED_ROWS


@pytest.mark.parametrize(
    "table",
    [
        {"queries": ["d1", "d2"]},
        {"queries": [("d1", 0.5)]},
        {"queries": {"d1": 1}},
        {"hits": {"hits": 1}},
        {"hits": {"hits": []}},
        {"query_id": ["q"], "items": [["d"]]},
        {},
    ],
)
def test_dictionaries_of_queries_are_not_taken_for_it(table):
    assert not tool_exports.is_export_object(table)


def test_an_object_that_no_json_can_hold_is_refused():
    with pytest.raises(InputError, match=r"judgments: it cannot be written as JSON, .*; give what json\.load gives"):
        tool_exports.object_rows({"judgmentRatings": [{"query": {1, 2}}]}, "judgments", "judgments")

"""The items of the catalog: a table, interactions that are counted, or both."""

import pyarrow as pa
import pytest

from ndcg_spark.catalog_reference import Item, Usage
from ndcg_spark.config import ItemsConfig
from ndcg_spark.convention.parsing import parse_measures
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.items import make_items, read_items

USED = pa.table(
    {"query_id": ["u1", "u1", "u2", "u3"], "doc_id": ["a", "a", "a", "b"]},
)


def measures(text):
    return parse_measures(text, None, [10]).measure_set


def test_interactions_are_counted_by_user_and_by_row():
    table = make_items(None, USED, None, measures("Novelty@5"))
    assert table.items(["a", "b", "c"]) == {"a": Item(2.0, 3.0), "b": Item(1.0, 1.0)}
    assert table.usage == Usage(3.0, 4.0, 2.0, 3.0)
    assert table.catalog_size == 2


def test_a_table_says_what_the_catalog_is_and_interactions_how_popular():
    rows = pa.table({"doc_id": ["a", "new"], "category": ["x", "y"]})
    table = make_items(rows, USED, None, measures("Novelty@5 Coverage@5"))
    assert table.catalog_size == 2
    assert table.usage == Usage(3.0, 4.0, 2.0, 3.0)
    known = table.items(["a", "b", "new"])
    assert known == {"a": Item(2.0, 3.0, "x"), "b": Item(1.0, 1.0), "new": Item(None, None, "y")}


def test_the_names_of_columns_are_those_of_other_tools_or_mapped(tmp_path):
    (tmp_path / "items.csv").write_text("movie_id,watched\n1,3\n2,0\n")
    path = str(tmp_path / "items.csv")
    config = ItemsConfig.model_validate(
        {"path": path, "users": 4, "columns": {"popularity": "watched"}}
    )
    table = read_items(config, measures("Popularity@5"))
    assert table.items(["1", "2"]) == {"1": Item(3.0), "2": Item(0.0)}


def test_a_fingerprint_is_that_of_what_the_table_says():
    rows = {"doc_id": ["a", "b"], "popularity": [1, 2]}
    first = make_items(pa.table(rows), None, 5, measures("Coverage@5")).fingerprint
    again = {"popularity": [2.0, 1.0], "doc_id": ["b", "a"]}
    assert make_items(pa.table(again), None, 5, measures("Coverage@5")).fingerprint == first
    others = [
        make_items(pa.table(rows), None, 6, measures("Coverage@5")),
        make_items(pa.table({**rows, "popularity": [1, 3]}), None, 5, measures("Coverage@5")),
        make_items(pa.table({**rows, "category": ["x", "x"]}), None, 5, measures("Coverage@5")),
    ]
    assert len({first, *(other.fingerprint for other in others)}) == 4


def test_counts_that_are_given_twice_are_refused():
    rows = pa.table({"doc_id": ["a"], "popularity": [1]})
    with pytest.raises(InputError, match="popularity are in the table, and interactions give"):
        make_items(rows, USED, None, measures("Coverage@5"))


def test_interactions_without_users_are_refused():
    with pytest.raises(InputError, match="interactions: columns item; give a user and an item"):
        make_items(None, pa.table({"item": ["a"]}), None, measures("Coverage@5"))

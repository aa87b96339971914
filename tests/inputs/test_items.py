"""The items of the catalog: a table, interactions that are counted, or both."""

import json

import pyarrow as pa
import pytest
from commands import command_line

from ndcg_spark.catalog_reference import Item, Usage
from ndcg_spark.config import ItemsConfig
from ndcg_spark.convention.parsing import parse_measures
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.items import make_items, read_items
from ndcg_spark.voices import OPTIONS

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
        make_items(pa.table({**rows, "category": ["x", None]}), None, 5, measures("Coverage@5")),
        make_items(pa.table({**rows, "category": ["x", ""]}), None, 5, measures("Coverage@5")),
        make_items(pa.table({**rows, "popularity": [1, 0]}), None, 5, measures("Coverage@5")),
        make_items(pa.table({**rows, "popularity": [1, None]}), None, 5, measures("Coverage@5")),
    ]
    assert len({first, *(other.fingerprint for other in others)}) == 1 + len(others)
    part = pa.concat_tables([pa.table(rows), pa.table(rows)]).slice(1, 2)
    assert make_items(part, None, 5, measures("Coverage@5")).fingerprint == first


def test_counts_that_are_given_twice_are_refused():
    rows = pa.table({"doc_id": ["a"], "popularity": [1]})
    with pytest.raises(
        InputError, match="the table has popularity, which the interactions also give"
    ):
        make_items(rows, USED, None, measures("Coverage@5"))


def test_interactions_without_users_are_refused():
    with pytest.raises(InputError, match="interactions: it has item; give a user and an item"):
        make_items(None, pa.table({"item": ["a"]}), None, measures("Coverage@5"))


def test_interactions_have_the_names_that_are_mapped(tmp_path):
    (tmp_path / "used.csv").write_text("customer,article\nu,a\nv,a\nv,b\n")
    (tmp_path / "runs.csv").write_text("query_id,doc_id,score\nu,a,1\n")
    asked = ["describe", "runs.csv", "--measures", "Popularity@1", "--format", "json"]
    asked += ["--interactions", "used.csv"]
    refused = command_line(*asked, cwd=tmp_path)
    assert refused.returncode == 3
    mapped = [
        "--column",
        "interactions.query_id=customer",
        "--column",
        "interactions.doc_id=article",
    ]
    for option in mapped[1::2]:
        assert f"--column {option.partition('=')[0]}=NAME" in refused.stderr
    said = command_line(*asked, *mapped, cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    (row,) = json.loads(said.stdout)
    assert row["popularity"] == 2.0
    text = '[items.interactions]\npath = "used.csv"\ncolumns = {query_id = "customer", doc_id = "article"}'
    (tmp_path / "night.toml").write_text(text)
    by_config = [*asked[:-2], "--config", "night.toml"]
    assert json.loads(command_line(*by_config, cwd=tmp_path).stdout) == [row]


def test_columns_of_interactions_that_are_not_given_are_refused(tmp_path):
    (tmp_path / "runs.csv").write_text("query_id,doc_id,score\nu,a,1\n")
    asked = ["describe", "runs.csv", "--column", "interactions.doc_id=article"]
    refused = command_line(*asked, cwd=tmp_path)
    assert refused.returncode == 2
    assert "--interactions FILE" in refused.stderr


def test_an_option_of_interactions_changes_those_of_a_configuration(tmp_path):
    (tmp_path / "used.csv").write_text("customer,article\nu,a\nv,a\nv,b\n")
    (tmp_path / "newer.csv").write_text("customer,article\nu,a\n")
    (tmp_path / "runs.csv").write_text("query_id,doc_id,score\nu,a,1\n")
    text = '[items.interactions]\npath = "used.csv"\ncolumns = {query_id = "customer"}'
    (tmp_path / "night.toml").write_text(text)
    asked = ["describe", "runs.csv", "--measures", "Popularity@1", "--format", "json"]
    asked += ["--config", "night.toml", "--column", "interactions.doc_id=article"]
    for more, users in (([], 2), (["--interactions", "newer.csv"], 1)):
        said = command_line(*asked, *more, cwd=tmp_path)
        assert said.returncode == 0, said.stderr
        assert json.loads(said.stdout)[0]["popularity"] == users


def test_a_column_that_a_measure_needs_can_be_named():
    rows = pa.table({"doc_id": ["a"], "count": [1]})
    with pytest.raises(InputError) as refused:
        make_items(rows, None, 3, measures("Popularity@5"))
    assert "--column items.popularity=NAME" in refused.value.advice.text(OPTIONS)

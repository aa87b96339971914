"""Attributes and weights of queries from files."""

import gzip
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from ndcg_spark.config import AttributesConfig, WeightsConfig
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.query_tables import attribute_rows, read_query_table

WIDE = [
    {"qid": "q1", "language": "de", "words": "2"},
    {"qid": "q2", "language": None, "words": "3"},
]
EXPECTED = {("q1", "language", "de"), ("q1", "words", "2"), ("q2", "words", "3")}
FRAME = pd.DataFrame(WIDE)
WRITE = {
    "a.csv": lambda path: FRAME.to_csv(path, index=False),
    "a.tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    "a.csv.gz": lambda path: path.write_bytes(gzip.compress(FRAME.to_csv(index=False).encode())),
    "a.jsonl": lambda path: path.write_text(
        "".join(json.dumps(row) + "\n" for row in WIDE), encoding="utf-8"
    ),
    "a.parquet": lambda path: pq.write_table(pa.table(FRAME), path),
    "a.orc": lambda path: orc.write_table(pa.table(FRAME), path),
}


def read(*paths, config=AttributesConfig, **more):
    return read_query_table(config(path=[str(path) for path in paths], **more), "query_attributes")


def rows(table):
    return {
        (row["query_id"], row["attribute"], row["value"])
        for row in attribute_rows(table).to_pylist()
    }


@pytest.mark.parametrize("name", WRITE)
def test_a_wide_table_of_any_format_is_read_with_all_of_its_columns(tmp_path, name):
    WRITE[name](tmp_path / name)
    for given in (tmp_path / name, tmp_path, tmp_path / "a.*"):
        assert rows(read(given)) == EXPECTED


def test_a_table_of_a_catalog_or_a_version_of_one_is_refused(tmp_path):
    for path, more in (("table:c.db.t", {}), (tmp_path, {"as_of": 1})):
        with pytest.raises(InputError, match="is a table or a version of one"):
            read(path, **more)


def test_columns_are_mapped_or_have_the_names_of_other_tools(tmp_path):
    (tmp_path / "w.tsv").write_text("topic\tshare\nq1\t2.5\n", encoding="utf-8")
    table = read(tmp_path / "w.tsv", config=WeightsConfig, columns={"weight": "share"})
    assert table.to_pylist() == [{"query_id": "q1", "weight": "2.5"}]
    with pytest.raises(InputError, match="no column traffic; it has topic, share"):
        read(tmp_path / "w.tsv", config=WeightsConfig, columns={"weight": "traffic"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Slices;;\nquery_id;lang;kind\nq1;de;x\n",
            "2 columns have no name, next to 'Slices'; .* a title",
        ),
        ("Slices;\nquery_id;lang\nq1;de\n", "it has Slices, ; .* a title"),
        ("Nr,lang\nq1,de\n", "it has Nr, lang; .*; rename its columns to query_id$"),
    ],
)
def test_a_file_without_ids_is_refused_with_its_columns_and_what_to_do(tmp_path, text, words):
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        attribute_rows(read(tmp_path / "a.csv"))


@pytest.mark.parametrize(
    ("name", "text"), [("a.txt", "q1 de\n"), ("a.csv", "qid,lang\nq1,de,en\n"), ("a.jsonl", "{")]
)
def test_what_is_no_table_is_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=name):
        read(tmp_path / name)

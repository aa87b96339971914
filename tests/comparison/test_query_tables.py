"""Attributes and weights of queries from files and catalogs, whether this process sees the files or not."""

import dataclasses
import gzip
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.read import read_attributes, read_weights
from ndcg_spark.slices import long

pytestmark = pytest.mark.embedded

WIDE = [{"qid": "q1", "language": "de", "words": "2"}, {"qid": "q2", "language": None, "words": "3"}]
EXPECTED = {("q1", "language", "de"), ("q1", "words", "2"), ("q2", "words", "3")}


def write(path):
    """The wide table in the format that the file's name names."""
    frame = pd.DataFrame(WIDE)
    if path.suffix == ".parquet":
        pq.write_table(pa.table(frame), path)
    elif path.suffix == ".orc":
        orc.write_table(pa.table(frame), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in WIDE), encoding="utf-8")
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


def rows(table):
    return {(row["query_id"], row["attribute"], row["value"]) for row in long(table).collect()}


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.jsonl", "a.parquet", "a.orc"])
def test_a_wide_table_of_any_format_is_read_with_all_of_its_columns(engine, tmp_path, name, seen, thorough):
    if not (seen or thorough or name in ("a.csv.gz", "a.jsonl", "a.parquet")):
        pytest.skip("the engine reads its names as those of another format; with --thorough")
    write(tmp_path / name)
    table = read_attributes(dataclasses.replace(engine, sees_local_files=seen), [str(tmp_path / name)])
    assert rows(table) == EXPECTED


def test_a_table_of_the_catalog_is_read_and_one_that_is_not_there_is_refused(engine):
    engine.session.createDataFrame(pa.table(pd.DataFrame(WIDE))).createOrReplaceTempView("attributes_of_queries")
    assert rows(read_attributes(engine, ["table:attributes_of_queries"])) == EXPECTED
    with pytest.raises(InputError, match=r"^query_attributes: no catalog table nowhere"):
        read_attributes(engine, ["table:nowhere"])


def test_names_of_other_tools_are_known_and_a_long_table_stays_as_it_is(engine, tmp_path):
    (tmp_path / "long.csv").write_text("topic,attribute,value,more\nq1,language,de,x\n", encoding="utf-8")
    assert rows(read_attributes(engine, [str(tmp_path / "long.csv")])) == {("q1", "language", "de")}
    (tmp_path / "weights.tsv").write_text("topic\tweight\nq1\t2.5\n", encoding="utf-8")
    table = read_weights(engine, [str(tmp_path / "weights.tsv")])
    assert [(row["query_id"], row["weight"]) for row in table.collect()] == [("q1", "2.5")]


@pytest.mark.parametrize("name", ["a.txt", "a"])
def test_text_without_the_names_of_its_columns_is_refused(engine, tmp_path, name):
    (tmp_path / name).write_text("q1 de\n", encoding="utf-8")
    with pytest.raises(InputError, match="has no ending of a format"):
        read_attributes(engine, [str(tmp_path / name)])


@pytest.mark.parametrize("line", [r'{"query_id": "q1", "lang\ud800": "de"}', r'{"query_id": "q1", "lang": "\ud800"}'])
def test_half_of_a_surrogate_pair_breaks_its_line(engine, tmp_path, line):
    (tmp_path / "a.jsonl").write_text(f'{{"query_id": "q1", "lang": "de"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"1 line\(s\) of .* that are not rows, e\.g\. .*ud800"):
        read_attributes(engine, [str(tmp_path / "a.jsonl")])

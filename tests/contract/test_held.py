"""The rows that were held to the rules: what is tested again when they are read again."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from input_files import judged
from pyspark.sql import functions as F

from ndcg_spark import rules
from ndcg_spark.contract.counts import JudgmentCounts
from ndcg_spark.contract.held import held
from ndcg_spark.schemas import JUDGMENTS


@pytest.fixture
def grades(engine, tmp_path):
    """Two judgments, of which the first has an id that is not UTF-8, held to the rules for names."""
    ids = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"d"]).buffers())
    columns = {"query_id": ["q", "q"], "doc_id": ids, "relevance": [1.0, 2.0]}
    pq.write_table(pa.table(columns), tmp_path / "judgments.parquet")
    source = judged(engine, tmp_path / "judgments.parquet")
    return held(source, JUDGMENTS, lambda table: rules.reason_of(rules.broken_names(dict(table.dtypes), ["doc_id"])))


def test_text_that_is_not_utf_8_is_found_and_left_out(grades):
    assert [row["reason"] for row in grades.rows.select(grades.reason.alias("reason")).collect()] == ["no_doc_id", None]
    assert grades.good(JudgmentCounts(2, {None: 1}, bad=1)).select("doc_id").collect() == [("d",)]


def test_text_is_not_tested_again_where_all_rows_are_good(grades):
    known = grades.good(JudgmentCounts(2, {None: 1}))
    # Nothing became null: the rows are those of the file.
    assert known.select(F.hex("doc_id")).collect() == [("FF",), ("64",)]

"""A night is there entirely or not at all, and a rerun replaces its own date and nothing else."""

import datetime
import json
from pathlib import Path

import pyarrow as pa
import pytest
from chispa import assert_df_equality
from publish_and_die import Staged
from pyarrow.dataset import dataset, partitioning
from pyspark.sql.pandas.types import to_arrow_schema

from ndcg_spark.errors import StorageError
from ndcg_spark.nights.publication import Publication
from ndcg_spark.schemas import DATASET_SCORES, QUERY_SCORES

MONDAY, TUESDAY = datetime.date(2026, 11, 16), datetime.date(2026, 11, 17)


def score(ndcg: float = 0.5, dataset: str = "web", evaluated_on: datetime.date = MONDAY, **more) -> dict:
    return {"dataset": dataset, "evaluated_on": evaluated_on, "run": "r", "cutoff": 10, "ndcg": ndcg, **more}


def scores(schema, rows: list[dict]) -> pa.Table:
    """A table of the schema; what a row does not name is null."""
    named = [{name: row.get(name) for name in schema.names} for row in rows]
    return pa.Table.from_pylist(named, to_arrow_schema(schema))


def staged(output: Path, *rows: dict, evaluation_id: str = "first", spark=None) -> Publication:
    """A publication whose two tables have these rows, not committed; they are written by Spark if it is given."""
    publication = Publication(str(output), evaluation_id)
    for name, schema in (("query_scores", QUERY_SCORES), ("dataset_scores", DATASET_SCORES)):
        table = scores(schema, [*rows] or [score()])
        publication.stage(name, spark.createDataFrame(table) if spark else Staged(table))
        publication.verify(name, len(rows) or 1)
    return publication


def published(output: Path, table: str = "query_scores") -> list[tuple[str, datetime.date, float]]:
    """What a reader of the table sees."""
    kinds = pa.schema([("dataset", pa.string()), ("evaluated_on", pa.date32())])
    read = dataset(output / table, partitioning=partitioning(kinds, flavor="hive")).to_table()
    return sorted((row["dataset"], row["evaluated_on"], row["ndcg"]) for row in read.to_pylist())


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_nothing_is_visible_before_the_commit(tmp_path):
    staged(tmp_path / "scores").verify("query_scores", 1)
    assert [path.name for path in (tmp_path / "scores").iterdir()] == ["_staging"]


def test_rows_that_are_read_back_are_those_that_spark_reads(spark, tmp_path):
    publication = staged(tmp_path, score(0.25, "a/b=é %7"), score(None, "shop", TUESDAY), spark=spark)
    read = publication.read("dataset_scores", spark, DATASET_SCORES).collect()
    by_dataset = {row["dataset"]: row for row in publication.rows("dataset_scores", DATASET_SCORES)}
    assert by_dataset == {row["dataset"]: row.asDict() for row in read}
    assert {name: row["ndcg"] for name, row in by_dataset.items()} == {"a/b=é %7": 0.25, "shop": None}


def test_the_commit_puts_both_tables_in_place(spark, tmp_path):
    staged(tmp_path, score(0.25), score(0.75, "shop", TUESDAY), spark=spark).commit({})
    expected = [("shop", TUESDAY, 0.75), ("web", MONDAY, 0.25)]
    assert published(tmp_path, "query_scores") == published(tmp_path, "dataset_scores") == expected


def test_the_commit_leaves_nothing_staged(tmp_path):
    staged(tmp_path).commit({})
    staged(tmp_path, evaluation_id="rerun").commit({})
    assert list((tmp_path / "_staging").iterdir()) == []


def test_every_partition_has_the_record_under_the_name_of_its_evaluation(tmp_path):
    record = {"evaluation_id": "first", "counts": {"results": 2}, "formula": "gain \u2265 0"}
    staged(tmp_path, score(), score(evaluated_on=TUESDAY)).commit(record)
    places = [f"_evaluations/dataset=web/evaluated_on={day}/first.json" for day in (MONDAY, TUESDAY)]
    for place in places:
        kept = json.loads((tmp_path / place).read_text(encoding="utf-8"))
        night = place.removeprefix("_evaluations/").removesuffix("/first.json")
        tables = {
            table: list((tmp_path / table / night).glob("*.parquet")) for table in ("query_scores", "dataset_scores")
        }
        assert kept == {**record, "files": {table: {path.name: 1 for path in paths} for table, paths in tables.items()}}
        assert all(tables.values())


def test_a_rerun_of_a_date_replaces_that_date_only(tmp_path):
    staged(tmp_path, score(0.1, evaluated_on=MONDAY), score(0.2, evaluated_on=TUESDAY)).commit({})
    staged(tmp_path, score(0.3, evaluated_on=TUESDAY), evaluation_id="rerun").commit({})
    assert published(tmp_path) == [("web", MONDAY, 0.1), ("web", TUESDAY, 0.3)]
    assert published(tmp_path, "dataset_scores") == published(tmp_path)


def test_a_rerun_of_a_dataset_replaces_that_dataset_only(tmp_path):
    staged(tmp_path, score(0.1, "shop"), score(0.2, "web")).commit({})
    staged(tmp_path, score(0.3, "web"), evaluation_id="rerun").commit({})
    assert published(tmp_path) == [("shop", MONDAY, 0.1), ("web", MONDAY, 0.3)]


def test_until_its_commit_a_rerun_leaves_the_night_as_it_was(tmp_path):
    staged(tmp_path, score(0.1)).commit({})
    staged(tmp_path, score(0.2), evaluation_id="rerun")
    assert published(tmp_path) == [("web", MONDAY, 0.1)]


def test_a_dataset_may_have_any_name_that_a_folder_may_not(spark, tmp_path):
    for evaluation_id, ndcg in (("first", 0.1), ("rerun", 0.2)):
        staged(tmp_path, score(ndcg, "caf\u00e9/de 50%"), evaluation_id=evaluation_id, spark=spark).commit({})
    assert published(tmp_path) == [("caf\u00e9/de 50%", MONDAY, 0.2)]


def test_a_staged_table_is_read_as_it_was_written(spark, tmp_path):
    rows = [score(query_id="q1", status="scored", returned=2**40), score(None, query_id="q2", cutoff=None)]
    read = staged(tmp_path, *rows, spark=spark).read("query_scores", spark, QUERY_SCORES)
    expected = spark.createDataFrame(scores(QUERY_SCORES, rows))
    assert_df_equality(read.select(*QUERY_SCORES.names), expected, ignore_row_order=True, ignore_nullable=True)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_table_with_another_number_of_rows_than_expected_is_refused(tmp_path, rows):
    night = staged(tmp_path, score(0.1), score(0.2))
    night.verify("query_scores", 2)
    with pytest.raises(StorageError, match=rf"2 of {rows} rows of query_scores .*nothing was published"):
        night.verify("query_scores", rows)


def test_a_table_that_this_machine_cannot_see_is_refused(tmp_path):
    with pytest.raises(StorageError, match=r"0 of 5 rows of query_scores .*a URI that this machine sees too"):
        Publication(str(tmp_path), "first").verify("query_scores", 5)


def test_a_staged_file_that_is_damaged_is_refused(tmp_path):
    night = staged(tmp_path)
    for path in (tmp_path / "_staging" / "first" / "query_scores").rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(StorageError, match=r"query_scores cannot be read back, .*nothing was published"):
        night.verify("query_scores", 1)


def test_what_is_abandoned_leaves_the_staging_of_others_and_what_was_published(tmp_path):
    staged(tmp_path, score(0.1)).commit({})
    other, abandoned = (staged(tmp_path, score(0.2), evaluation_id=name) for name in ("other", "abandoned"))
    abandoned.abandon()
    other.verify("query_scores", 1)
    assert [path.name for path in (tmp_path / "_staging").iterdir()] == ["other"]
    assert published(tmp_path) == [("web", MONDAY, 0.1)]


def test_a_night_that_staged_nothing_can_be_abandoned(tmp_path):
    Publication(str(tmp_path / "scores"), "first").abandon()
    assert not (tmp_path / "scores").exists()


@pytest.mark.parametrize("output", ["taken", "taken/scores"])
def test_an_output_that_cannot_be_a_folder_is_refused_by_name(tmp_path, output):
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    with pytest.raises(StorageError, match=rf"output: .*/{output} cannot be made, "):
        staged(tmp_path / output)


def test_an_output_of_an_unknown_scheme_is_refused():
    with pytest.raises(StorageError, match="output: no storage for nope://scores"):
        Publication("nope://scores", "first")


def test_a_commit_that_cannot_move_is_refused_and_leaves_no_record(tmp_path):
    night = staged(tmp_path)
    (tmp_path / "query_scores").write_text("a file", encoding="utf-8")
    with pytest.raises(StorageError, match=r"output: .*/query_scores"):
        night.commit({})
    assert not (tmp_path / "_evaluations").exists()


def test_a_rerun_without_query_scores_leaves_none_of_the_old_night(tmp_path):
    staged(tmp_path, evaluation_id="old").commit({})
    night = Publication(str(tmp_path), "new")
    night.stage("query_scores", Staged(scores(QUERY_SCORES, [])))
    night.verify("query_scores", 0)
    night.stage("dataset_scores", Staged(scores(DATASET_SCORES, [score(0.75)])))
    night.verify("dataset_scores", 1)
    night.commit({})
    assert published(tmp_path, "query_scores") == []
    assert published(tmp_path, "dataset_scores") == [("web", MONDAY, 0.75)]

"""Files of copies and kept judgments beside the nights: damage, leftovers, and who still needs them."""

import dataclasses
import datetime
import json
import os
import random
from pathlib import Path

import pyarrow as pa
import pytest
from kept_nights import date, publish, record, with_rows
from pyarrow import parquet

from ndcg_spark.nights import copies
from ndcg_spark.nights.commit import Publication
from ndcg_spark.nights.copies import (
    copy_path,
    has_copy,
    judgments_path,
    keep_copy,
    keep_judgments,
    kept_judgments,
    read_copy,
    unneeded_copies,
    why_not_copied,
    why_not_rescored,
)
from ndcg_spark.nights.expire import leftovers, removable, remove
from ndcg_spark.nights.log import committed
from ndcg_spark.nights.reader import read_nights, read_rows
from ndcg_spark.nights.store import Store
from ndcg_spark.schemas import QUERY_SCORES

HOUR, DAY = 3600, 24 * 3600
JUDGED = pa.table({"query_id": ["q1", "q2"], "doc_id": ["a", "é"], "relevance": [1.0, 0.5]})


def publish_night(
    output, number, judgments, *, dataset="web", documents="all", cutoffs=(10,), name="", **more
):
    """A night without scores, whose documents were kept."""
    publication = Publication(output, date(number), f"e{number}{name}-{dataset}")
    rows = {
        "query_scores": [{"dataset": dataset, "ndcg": 1.0}],
        "ranked_documents": [{"dataset": dataset}],
    }
    own = record(
        inputs={"judgments": {"fingerprint": judgments}},
        configuration={"documents": documents, "cutoffs": list(cutoffs)},
    )
    own["options"] |= more
    with_rows(publication, rows).commit(own, {dataset: {}})


def scores(ndcg=0.5):
    row = {
        "dataset": "web",
        "run": "r",
        "query_id": "q1",
        "cutoff": 10,
        "status": "scored",
        "ndcg": ndcg,
    }
    return pa.Table.from_pylist([row], QUERY_SCORES)


def aged(output, path, seconds):
    """A file that was written so long ago."""
    file = Path(output, path)
    then = file.stat().st_mtime - seconds
    os.utime(file, (then, then))


@pytest.fixture
def output(tmp_path):
    return str(tmp_path / "out")


def test_a_copy_is_read_as_it_was_written_and_a_damaged_one_is_none(output):
    publish_night(output, 0, "j1")
    (night,) = committed(output)
    keep_copy(night, "j2", scores())
    rows = read_copy(night, "j2")
    day = datetime.date.fromisoformat(date(0))
    assert rows.schema.names == QUERY_SCORES.names
    assert (rows["ndcg"][0].as_py(), rows["evaluated_on"][0].as_py()) == (0.5, day)
    assert rows["evaluation_id"][0].as_py() == night.evaluation_id
    assert (has_copy(night, "j3"), read_copy(night, "j3")) == (False, None)
    file = Path(output, copy_path(night, "j2"))
    whole = file.read_bytes()
    chance = random.Random(1)  # noqa: S311  # no secret
    for _ in range(300):
        flipped = bytearray(whole)
        flipped[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        file.write_bytes(flipped)
        found = read_copy(night, "j2")
        assert found is None or found.equals(rows)
    file.write_bytes(whole[: len(whole) // 2])
    assert (has_copy(night, "j2"), read_copy(night, "j2")) == (True, None)
    # It is made again in its place.
    keep_copy(night, "j2", scores(0.25))
    assert read_copy(night, "j2")["ndcg"][0].as_py() == 0.25


def test_judgments_are_kept_once(output):
    store = Store(output)
    keep_judgments(store, "web", "j1", JUDGED)
    keep_judgments(store, "web", "j1", JUDGED.slice(0, 1))
    assert kept_judgments(store, "web", "j1").equals(JUDGED)
    assert kept_judgments(store, "shop", "j1") is None


@pytest.mark.parametrize(
    "more",
    [
        {"documents": 200},
        {"documents": None},
        {"ties": "average"},
        {"ties": "worst"},
        {"unjudged": "drop"},
        {"negative": "drop"},
        {"ideal": "retrieved"},
        {"cutoffs": [None]},
    ],
    ids=str,
)
def test_a_night_whose_lists_depend_on_grades_or_were_not_kept_is_not_copied(output, more):
    publish_night(output, 0, "j1", **more)
    (night,) = committed(output)
    assert why_not_copied(night) is not None
    assert why_not_rescored(night, ("ndcg", 10)) is not None


def test_what_is_not_within_the_kept_lists_is_not_scored_again(output):
    publish_night(output, 0, "j1", documents="everything", cutoffs=[3, 10, None])
    (night,) = committed(output)
    refused = {
        metric
        for metric in (
            ("ndcg", 3),
            ("ap", 10),
            ("ndcg", 11),
            ("ndcg", None),
            ("bpref", None),
            ("recall", None),
        )
        if why_not_rescored(night, metric) is not None
    }
    assert refused == {("ndcg", 11), ("ndcg", None), ("bpref", None), ("recall", None)}


def test_copies_of_the_newest_judgments_and_of_both_sides_of_a_change_stay(output):
    judged = ["j1", "j1", "j2", "j2", "j3", "j4"]
    for number, judgments in enumerate(judged):
        publish_night(output, number, judgments)
    nights = committed(output)
    store, kept = nights[0].store, []
    for night in nights:
        for judgments in sorted({*judged} - {night.row["judgments_fingerprint"]}):
            keep_copy(night, judgments, scores())
            aged(output, copy_path(night, judgments), HOUR + 60)
            number = nights.index(night)
            is_side = judgments in (judged[max(number - 1, 0)], judged[min(number + 1, 5)])
            if judgments in ("j3", "j4") or is_side:
                kept.append(copy_path(night, judgments))
    gone = unneeded_copies(store, nights)
    assert {*store.files("rescored")} - {*gone} == {*kept}
    (removal,) = leftovers(output)
    assert len(removal.paths) == len(gone)
    remove(output, leftovers(output))
    assert {*store.files("rescored")} == {*kept}


def test_what_the_log_does_not_explain_stays_for_a_day(output):
    publish_night(output, 0, "j1")
    (night,) = committed(output)
    store = night.store
    other = Publication(output, date(1), "e1-web").night("web", record(inputs={}))
    keep_copy(other, "j1", scores())
    for judgments in ("j1", "j2"):
        keep_judgments(store, "web", judgments, JUDGED)
    paths = [copy_path(other, "j1"), judgments_path("web", "j2"), judgments_path("web", "j1")]
    for path in paths:
        aged(output, path, DAY - 60)
    assert unneeded_copies(store, committed(output)) == []
    for path in paths:
        aged(output, path, 120)
    # Those of the night are needed for any others to come.
    assert sorted(unneeded_copies(store, committed(output))) == sorted(paths[:2])


def test_a_copy_goes_with_its_night_and_an_hour_after_another_evaluation_counts(output):
    publish_night(output, 0, "j1")
    publish_night(output, 1, "j2")
    first, second = committed(output)
    keep_copy(first, "j2", scores())
    keep_copy(second, "j1", scores())
    publish_night(output, 1, "j2", name="again")
    nights = committed(output)
    assert [read_copy(night, "j1") for night in nights if night.evaluated_on == date(1)] == [None]
    aged(output, copy_path(second, "j1"), HOUR + 60)
    assert unneeded_copies(first.store, nights) == [copy_path(second, "j1")]
    removals, _ = removable(output, date=date(0), needed=lambda *_: set())
    remove(output, removals)
    assert not first.store.files("rescored", "")


def test_nothing_is_removed_where_the_log_of_a_date_is_damaged(output):
    publish(output, "e-1", 0.5)
    store = Store(output)
    keep_judgments(store, "web", "j9", JUDGED)
    aged(output, judgments_path("web", "j9"), 2 * DAY)
    assert unneeded_copies(store, committed(output)) == [judgments_path("web", "j9")]
    (file,) = store.files("evaluations")
    Path(output, file).write_bytes(b"damaged")
    assert unneeded_copies(store, committed(output)) == []


def test_a_copy_of_another_version_of_the_table_is_none(output):
    publish_night(output, 0, "j1")
    (night,) = committed(output)
    copies._write(
        night.store,
        copy_path(night, "j2"),
        scores().drop_columns(["ndcg", "evaluated_on", "evaluation_id"]),
    )
    assert read_copy(night, "j2") is None


def test_a_night_of_a_version_without_the_share_of_judged_discounts_reads_null(output, session):
    publish_night(output, 0, "j1")
    (night,) = committed(output)
    (path,) = night.files("query_scores")
    rows = parquet.read_table(Path(output, path), partitioning=None).drop_columns(
        ["judged_discount_share"]
    )
    older = Path(output, path).with_name("older.parquet")
    parquet.write_table(rows, older)
    described = night.store.describe(str(older.relative_to(output)), older.stat().st_size)
    files = {"query_scores": {older.name: described}}
    before = dataclasses.replace(night, row={**night.row, "files": json.dumps(files)})
    assert read_rows([before], "query_scores")["judged_discount_share"].to_pylist() == [None]
    shares = read_nights([before], "query_scores", session).select("ndcg", "judged_discount_share")
    assert [(*row,) for row in shares.collect()] == [(1.0, None)]

"""What counts, what an evaluation leaves behind, and what people add to it."""

import datetime

import pytest
from commands import command_line
from kept_nights import DATE, SHOP, WEB, committed_night, publish, record, seen, whole, written

from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.nights.commit import Publication, log_attempt
from ndcg_spark.nights.log import Nights, append, committed, log_row, revise
from ndcg_spark.nights.reader import (
    ReplacedError,
    datasets_left_out,
    gaps_in_words,
    read_again,
    read_dataset_scores,
    read_rows,
    read_scores,
    select_nights,
)
from ndcg_spark.nights.store import LOG, Store
from ndcg_spark.schemas import COMPARISONS, EVALUATIONS


def test_a_night_counts_once_its_row_is_there_and_a_rerun_replaces_it(output):
    night = written(output, "a", 0.1, datasets=["web", "shop"])
    assert committed(output) == []
    assert night.commit(record(), {"web": {}, "shop": {}}) == []
    night.abandon()
    assert seen(output) == {WEB: whole(0.1, "a"), SHOP: whole(0.1, "a")}
    publish(output, "b", 0.2, datasets=["shop"])
    assert (
        seen(output)
        == seen(output, "dataset_scores")
        == {WEB: whole(0.1, "a"), SHOP: whole(0.2, "b")}
    )
    known = committed(output)
    assert [(night.number, {*night.record["files"]}) for night in known] == [
        (2, {"query_scores", "dataset_scores"}),
        (1, {"query_scores", "dataset_scores"}),
    ]
    assert [{row["evaluation_id"] for row in rows} for rows in read_dataset_scores(known)] == [
        {"b"},
        {"a"},
    ]


def test_the_greatest_number_counts_then_the_id_then_the_revision(tmp_path):
    store = Store(str(tmp_path))
    # Nothing is left of what the last two revise.
    keys = [
        (1, "c", 0),
        (2, "a", 0),
        (2, "b", 0),
        (2, "a", 5),
        (2, "b", 1),
        (None, "z", 0),
        (3, "d", 1),
        (2, "e", 1),
    ]
    for number, name, revision in keys:
        status = "published" if number else "failed"
        row = log_row(
            {}, dataset="web", evaluation_id=name, status=status, number=number, revision=revision
        )
        append(store, DATE, [row])
    (night,) = committed(store)
    assert (night.number, night.evaluation_id, night.row["revision"]) == (2, "b", 1)


def test_what_was_abandoned_or_lost_is_not_published(output):
    publish(output, "a", 0.1)
    before = {*Store(output).files("")}
    written(output, "b", 0.2).abandon()
    assert {*Store(output).files("")} == before
    lost = written(output, "c", 0.3)
    Store(output).delete(
        next(path for path in Store(output).files("query_scores") if "=c/" in path)
    )
    with pytest.raises(StorageError):
        lost.commit(record(), {"web": {}})
    with pytest.raises(StorageError):
        written(output, "d", 0.3).verify("query_scores", 4)
    assert seen(output) == {WEB: whole(0.1, "a")}


def test_notes_and_acceptances_at_once_are_all_kept_and_change_nothing_that_counts(
    output, monkeypatch
):
    publish(output, "a", 0.1, verdict="fail")
    (night,) = committed(output)
    for minute, column in enumerate(("note", "accepted", "note")):
        monkeypatch.setattr(
            "ndcg_spark.nights.log.utc_now",
            lambda minute=minute: f"2026-11-17T00:0{minute}:00+00:00",
        )
        revise(night, **{column: f"{minute}"})
    (changed,) = committed(output)
    assert (changed.notes, changed.record["accepted"], changed.number) == (["0", "2"], "1", 1)
    revise(changed, note="z")
    (noted,) = committed(output)
    assert (night.is_good, noted.is_good, noted.record["accepted"]) == (False, True, "1")
    publish(output, "b", 0.2)
    (later,) = committed(output)
    assert (later.notes[-1], later.is_good) == ("z", False)
    with pytest.raises(StorageError):
        revise(night, accepted="too late")
    assert not committed(output)[0].is_good


def test_what_published_nothing_is_no_night_and_says_why(tmp_path):
    output = str(tmp_path)
    for day in (1, 2, 3, 6, 7):
        publish(output, f"e{day}", 0.1, date=f"2026-11-{day:02}")
    log_attempt(output, "2026-11-04", "x", StorageError("disk full"), 4)
    log_attempt(output, "2026-11-05", "y", StorageError("one row is broken"), 3)
    for day, year in ((6, 2025), (7, 2099)):
        row = {
            "evaluation_id": "z",
            "exit_code": 3,
            "reason": "empty",
            "committed_at": f"{year}-11-08T00:00:00+00:00",
        }
        append(Store(output), f"2026-11-{day:02}", [log_row({}, status="refused", **row)])
    known = committed(output)
    assert [(row["status"], row["exit_code"]) for row in known.attempts] == [
        ("failed", 4),
        *[("refused", 3)] * 3,
    ]
    assert [night.evaluation_id for night in known] == ["e1", "e2", "e3", "e6", "e7"]
    assert gaps_in_words(known) == [
        "2026-11-04 was failed with exit code 4: disk full",
        "2026-11-05 was refused with exit code 3: one row is broken",
        "evaluated again, 2026-11-07 was refused with exit code 3: empty",
        "web has no night between 2026-11-03 and 2026-11-06: none was published, or expire removed it",
    ]
    assert len(gaps_in_words(known, "shop")) == 4


def test_a_file_that_is_missing_or_has_another_size_is_named(tmp_path):
    output = str(tmp_path)
    publish(output, "a", 0.1)
    (path,) = (tmp_path / "query_scores").rglob("*.parquet")
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(StorageError, match="query_scores"):
        seen(output)
    path.unlink()
    with pytest.raises(StorageError, match=path.name) as failed:
        seen(output)
    assert not isinstance(failed.value, ReplacedError)
    nights = committed(output)
    path.write_bytes(content)
    publish(output, "b", 0.2)
    path.unlink()
    with pytest.raises(ReplacedError):
        read_rows(nights, "query_scores")
    # Readers that read the log themselves do so once more.
    logs = iter([nights, committed(output)])
    assert set(
        read_again(lambda: read_rows(next(logs), "query_scores"))()["evaluation_id"].to_pylist()
    ) == {"b"}


def test_every_published_file_is_for_its_owner_and_group(session, tmp_path):
    output = str(tmp_path)
    night = Publication(output, DATE, "a")
    columns = "dataset string, evaluated_on string, evaluation_id string, ndcg double"
    night.write("query_scores", session.createDataFrame([("web", DATE, "a", 0.5)], columns))
    night.verify("query_scores", 1)
    night.write_rows("dataset_scores", [{"dataset": "web"}])
    night.verify("dataset_scores", 1)
    night.commit(record(), {"web": {}})
    files = [*tmp_path.rglob("*.parquet")]
    assert {file.relative_to(tmp_path).parts[0] for file in files} == {
        "query_scores",
        "dataset_scores",
        LOG,
    }
    assert {oct(file.stat().st_mode & 0o777) for file in files} == {"0o640"}
    (night,) = committed(output)
    assert all(
        "crc32" in file
        for name in ("query_scores", "dataset_scores")
        for file in night.files(name).values()
    )


def test_a_date_before_the_year_1000_is_one(tmp_path):
    first = datetime.date(999, 12, 31)
    publish(str(tmp_path), "a", 0.1, date="0999-12-31")
    assert len(read_scores(str(tmp_path), date=first)) == 3
    done = command_line("expire", tmp_path, "--date", "0999-12-31", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "removed the nights of 0999-12-31\n")


def test_engines_leave_nothing_that_a_glob_for_tables_meets(session, tmp_path):
    output = str(tmp_path / "out put=%41")
    night = Publication(output, DATE, "a")
    columns = "dataset string, evaluated_on string, evaluation_id string, ndcg double"
    night.write(
        "query_scores",
        session.createDataFrame([("web", DATE, "a", 0.5), ("shop", DATE, "a", 0.1)], columns),
    )
    night.verify("query_scores", 2)
    rows = night.read("query_scores", session).collect()
    assert sorted((row["ndcg"], row["evaluation_id"]) for row in rows) == [(0.1, "a"), (0.5, "a")]
    night.commit(record(), {"web": {}})
    assert seen(output) == {WEB: (("a", 0.5),)}
    (row,) = read_scores(output, "query_scores", session=session).collect()
    assert (row["ndcg"], str(row["evaluated_on"]), row["evaluation_id"]) == (0.5, DATE, "a")
    assert read_scores(output, "comparisons", session=session).columns == COMPARISONS.names
    log = read_scores(output, LOG, date=DATE)
    assert (log["dataset"][0], log["number"][0], {*log}) == ("web", 1, {*EVALUATIONS.names})
    with pytest.raises(ConfigurationError):
        read_scores(output, "query_score")


def test_the_newest_date_is_taken_and_datasets_that_lack_it_are_counted():
    dates = {
        "shop": (18, 19, 20),
        "web": (18, 19),
        "new": (20,),
        **{f"d{number}": (1,) for number in range(11)},
    }
    nights = Nights(
        committed_night(name, f"2026-11-{day:02}", {})
        for name, days in dates.items()
        for day in days
    )
    assert [night.dataset for night in select_nights(nights, "out")] == ["shop", "new"]
    assert [night.evaluated_on for night in select_nights(nights, "out", dataset="web")] == [
        "2026-11-19"
    ]
    assert len(select_nights(nights, "out", "2026-11-18")) == 2
    assert datasets_left_out(nights, "2026-11-20").startswith("12 dataset(s)")
    assert {
        datasets_left_out(nights, "2026-11-20", "shop"),
        datasets_left_out(nights[:1], "2026-11-18"),
    } == {None}
    for date, dataset in (("2026-11-17", None), ("1.11.2026", None), (None, "shops")):
        with pytest.raises(ConfigurationError):
            select_nights(nights, "out", date, dataset)

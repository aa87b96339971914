"""Full disks, read-only folders, damaged files, wrong clocks, and what is removed."""

import errno
import os
import time
from pathlib import Path

import pytest
from kept_nights import DATE, SHOP, WEB, damage, publish, record, seen, whole, written

from ndcg_spark.comparison.needed_nights import needed_dates
from ndcg_spark.errors import ConfigurationError, InputError, StorageError
from ndcg_spark.nights.commit import log_attempt
from ndcg_spark.nights.expire import leftovers, removable, remove
from ndcg_spark.nights.log import append, committed, revise
from ndcg_spark.nights.reader import select_nights
from ndcg_spark.nights.store import LOG, REMOVING, Store
from ndcg_spark.voices import KEYS, OPTIONS, Give, voice_of

DAY = 24 * 3600
#: A date after all nights.
LATER = "2026-12-16"


def aged(output, seconds, part=""):
    """Let the files whose paths contain a text be this old by the storage's clock."""
    for path in Path(output).rglob("*.parquet*"):
        if part in str(path):
            os.utime(path, (time.time() - seconds,) * 2)


def ids(output):
    """The evaluations that have rows."""
    return sorted(
        {path.split("=")[2].split("/")[0] for path in Store(output).files("query_scores")}
    )


def clean(output, before=""):
    """Remove what can be removed, baselines too; returns how much that was."""
    return len(
        remove(output, removable(output, before=before, baselines=True, needed=needed_dates)[0])
    )


def test_a_full_disk_publishes_nothing_and_says_so(tmp_path, monkeypatch):
    output = str(tmp_path)
    publish(output, "a", 0.1)
    before, space, sync = {*tmp_path.rglob("*.*")}, [99], os.fsync

    def fail(number):
        space[0] -= 1
        if space[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(number)

    def finish(night, left):
        space[0] = left
        with night:
            for _ in range(2):
                night.write_rows("comparisons", [{"dataset": "web"}])
            night.verify("comparisons", 2)
            night.commit(record(), {"web": {}})

    monkeypatch.setattr(os, "fsync", fail)
    for left in range(3):
        space[0] = 99
        night = written(output, f"b{left}", 0.2)
        with pytest.raises(StorageError, match="No space left"):
            finish(night, left)
        log_attempt(output, DATE, "c", StorageError("full"), 4)
        with pytest.raises(StorageError, match="No space left"):
            revise(committed(output)[0], note="lost")
        assert {*tmp_path.rglob("*.*")} == before
    assert seen(output) == {WEB: whole(0.1, "a")}


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_is_read_only_stays_readable(tmp_path):
    publish(str(tmp_path), "a", 0.1)
    for path in [*tmp_path.rglob("*"), tmp_path]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert seen(str(tmp_path)) == {WEB: whole(0.1, "a")}
        with pytest.raises(StorageError):
            revise(committed(str(tmp_path))[0], accepted="why")
    finally:
        for path in [tmp_path, *tmp_path.rglob("*")]:
            path.chmod(0o755)


def test_a_damaged_file_of_the_log_makes_its_date_unreadable_and_no_other(tmp_path, caplog):
    output = str(tmp_path)
    publish(output, "a", 0.1, date="2026-11-15")
    publish(output, "b", 0.2)
    (path,) = (tmp_path / LOG / f"evaluated_on={DATE}").iterdir()
    content = path.read_bytes()
    for damaged in (
        b"",
        content[:-1],
        content[: len(content) // 2],
        b"x" + content[1:-4] + b"yyyy",
    ):
        path.write_bytes(damaged)
        caplog.clear()
        known = committed(output)
        assert [night.evaluation_id for night in known] == ["a"]
        assert path.name in caplog.text
        assert select_nights(known, output, "2026-11-15") == known
        for date in (None, DATE):
            with pytest.raises(StorageError, match=path.name):
                select_nights(known, output, date)
        with pytest.raises(StorageError):
            written(output, "c", 0.3).commit(record(), {"web": {}})
        assert (
            removable(output, before=LATER, baselines=True, needed=needed_dates)[0][-1][0]
            == "the nights of 2026-11-15"
        )
    # What is not a file of ours is nobody's concern.
    path.write_bytes(content)
    for other in (
        path.parent / "notes.txt",
        tmp_path / LOG / "x.parquet",
        tmp_path / LOG / "evaluated_on=now" / "x",
    ):
        other.parent.mkdir(exist_ok=True)
        other.touch()
    assert [night.evaluation_id for night in committed(output)] == ["a", "b"]


def test_superseded_rows_stay_for_an_hour_and_others_without_a_row_for_a_day(tmp_path):
    output = str(tmp_path)
    publish(output, "a", 0.1, datasets=["web", "shop"])
    publish(output, "b", 0.2)
    aged(output, 2 * DAY, "query_scores")
    # It counts for the other dataset.
    assert clean(output) == 0
    publish(output, "c", 0.3, datasets=["shop"])
    log = {*(tmp_path / LOG).rglob("*.parquet")}
    # Its rows are old, but only now are they superseded.
    aged(output, DAY, "=a/")
    assert clean(output) == 0
    aged(output, 3601, LOG)
    written(output, "d", 0.4)
    # What is not ours is left alone.
    (tmp_path / "query_scores" / "notes.txt").touch()
    aged(output, DAY - 60, "=d/")
    assert (clean(output), ids(output)) == (1, ["b", "c", "d"])
    aged(output, DAY + 1, "=d/")
    # A slow evaluation has written another table since.
    aged(output, DAY - 60, f"dataset_scores/evaluated_on={DATE}/evaluation_id=d/")
    assert clean(output) == 0
    aged(output, DAY + 1, "=d/")
    assert (clean(output), clean(output), ids(output)) == (1, 0, ["b", "c"])
    assert {*(tmp_path / LOG).rglob("*.parquet")} == log
    assert seen(output) == {WEB: whole(0.2, "b"), SHOP: whole(0.3, "c")}


def test_a_machine_whose_clock_is_ahead_removes_nothing_that_is_written_or_read(
    tmp_path, monkeypatch
):
    output = str(tmp_path)
    publish(output, "a", 0.1)
    publish(output, "b", 0.2)
    writing, now = written(output, "c", 0.3), time.time
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: now() + 25 * 3600)
        publish(output, "0-of-another-clock", 0.4)
    assert ids(output) == ["0-of-another-clock", "a", "b", "c"]
    writing.commit(record(), {"web": {}})
    # The later commit counts, whatever the clocks say.
    assert seen(output) == {WEB: whole(0.3, "c")}


def test_a_date_expires_with_all_its_nights_and_baselines_stay(output):
    publish(output, "a", 0.1, date="2026-11-10", datasets=["web", "shop"], verdict="pass")
    publish(output, "b", 0.2, date="2026-11-11", datasets=["web", "shop"], verdict="pass")
    publish(output, "c", 0.3, date="2026-11-11", verdict="fail")
    log_attempt(output, "2026-11-12", "x", StorageError("why"), 3)
    publish(output, "d", 0.4, date="2026-11-12")
    old, kept = removable(output, before="2026-11-14", needed=needed_dates)
    # The last good night of web is a; that of shop is b.
    assert ([what for what, *_ in old], len(kept)) == (["the nights of 2026-11-12"], 1)
    assert (
        removable(output, date="2026-11-10", needed=needed_dates)[0][-1][0]
        == "the nights of 2026-11-10"
    )
    remove(output, old)
    assert ids(output) == ["a", "b", "c"]
    clean(output, "2026-11-14")
    assert (committed(output), Store(output).files("")) == ([], {})


def test_who_is_killed_while_a_date_expires_leaves_no_older_night_to_count(tmp_path):
    output = str(tmp_path)
    publish(output, "a", 0.1)
    publish(output, "b", 0.2, datasets=["web", "shop"])
    publish(output, "c", 0.3, datasets=["shop"])
    revise(committed(output)[0], note="of shop")
    left = [seen(output)]
    (removal,), _ = removable(output, before=LATER, baselines=True, needed=needed_dates)
    for path in removal.paths:
        Store(output).delete(path)
        left += [seen(output)] if seen(output) != left[-1] else []
    assert left == [{WEB: whole(0.2, "b"), SHOP: whole(0.3, "c")}, {SHOP: whole(0.3, "c")}, {}]
    assert Store(output).files("") == {}


@pytest.mark.parametrize(
    ("configuration", "kept"),
    [
        ({}, {5}),
        ({"gate": {"baseline": ["2026-11-01"]}}, {1, 5}),
        ({"gate": {"baseline": ["good"], "nights": 3}}, {3, 4, 5}),
    ],
)
def test_what_the_gate_of_the_newest_night_compares_with_is_kept(configuration, kept, tmp_path):
    for day in range(1, 7):
        verdict = "fail" if day == 6 else "pass"
        publish(
            str(tmp_path),
            "e",
            0.1,
            date=f"2026-11-{day:02}",
            verdict=verdict,
            configuration=configuration,
        )
    old, sentences = removable(str(tmp_path), before=DATE, needed=needed_dates)
    assert {what for what, *_ in old} == {
        f"the nights of 2026-11-{day:02}" for day in {1, 2, 3, 4, 5, 6} - kept
    }
    # One sentence names all dates.
    assert len(sentences) == 1


def test_what_the_gates_of_nights_that_stay_compare_with_is_kept_whatever_the_newest_has(tmp_path):
    gated = {"gate": {"baseline": ["good", "2026-11-02"], "nights": 3}}
    for day in range(1, 9):
        # The last one was evaluated once without a gate.
        configuration, verdict = ({}, None) if day == 8 else (gated, "pass")
        publish(
            str(tmp_path),
            "e",
            0.1,
            date=f"2026-11-{day:02}",
            verdict=verdict,
            configuration=configuration,
        )
    old, _ = removable(str(tmp_path), before="2026-11-07", needed=needed_dates)
    assert [what for what, *_ in old] == [f"the nights of 2026-11-0{day}" for day in (1, 3, 4)]
    # Without any night that stays by its age, those that stay as baselines tell.
    old, _ = removable(str(tmp_path), before="2026-12-01", needed=needed_dates)
    assert [what for what, *_ in old] == [f"the nights of 2026-11-0{day}" for day in (1, 3, 4, 8)]


def test_no_night_expires_by_its_age_while_the_gate_of_a_date_cannot_be_read(tmp_path):
    output = str(tmp_path)
    for day in (1, 2, 3):
        publish(output, "e", 0.1, date=f"2026-11-0{day}", verdict="pass")
    damage(tmp_path, "2026-11-02")
    removals, (sentence,) = removable(output, before=LATER, needed=needed_dates)
    assert (removals, str(sentence).startswith("2 old night(s) are kept")) == ([], True)
    assert clean(output, LATER) == 1
    with pytest.raises(StorageError, match="2026-11-02"):
        removable(output, date="2026-11-02", needed=needed_dates)


def test_an_evaluation_whose_rows_were_removed_while_it_was_published_counts_for_nothing(
    tmp_path, monkeypatch
):
    output = str(tmp_path)
    publish(output, "a", 0.1)
    slow = written(output, "b", 0.2)
    aged(output, 2 * DAY, "=b/")
    found = leftovers(output)

    def append_late(*arguments):
        # Right after the last look at the files, and right before the row.
        removed = remove(output, found)
        assert len(removed) == 1
        return append(*arguments)

    monkeypatch.setattr("ndcg_spark.nights.commit.append", append_late)
    with pytest.raises(StorageError, match="nothing was published"), slow:
        slow.commit(record(), {"web": {}})
    assert (seen(output), ids(output)) == ({WEB: whole(0.1, "a")}, ["a"])


def test_leftovers_that_were_published_meanwhile_stay(tmp_path):
    output = str(tmp_path)
    slow = written(output, "b", 0.2)
    aged(output, 2 * DAY, "=b/")
    found = leftovers(output)
    slow.commit(record(), {"web": {}})
    assert remove(output, found) == []
    assert seen(output) == {WEB: whole(0.2, "b")}
    assert not [*tmp_path.rglob(".removing")]


def test_an_evaluation_whose_rows_are_about_to_be_removed_is_not_published(tmp_path):
    output = str(tmp_path)
    slow = written(output, "b", 0.2)
    Store(output).add(f"query_scores/evaluated_on={DATE}/evaluation_id=b/{REMOVING}", b"")
    with pytest.raises(StorageError, match="nothing was published"):
        slow.commit(record(), {"web": {}})
    assert committed(output) == []


def test_links_that_lead_back_end_no_command(tmp_path):
    output = str(tmp_path)
    publish(output, "a", 0.1, verdict="pass")
    shown = seen(output)
    for folder in [tmp_path, *(path for path in tmp_path.rglob("*") if path.is_dir())]:
        for name in ("a", "b", "evaluated_on=2026-11-01", "evaluation_id=x"):
            (folder / name).symlink_to("..", target_is_directory=True)
    began = time.monotonic()
    assert seen(output) == shown
    removable(output, before=LATER, needed=needed_dates)
    assert time.monotonic() - began < 5


def test_the_folders_of_a_date_and_an_evaluation_may_be_links(tmp_path):
    output, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    publish(str(output), "a", 0.1)
    shown = seen(str(output))
    elsewhere.mkdir()
    for number, path in enumerate([*output.glob("*/evaluated_on=*")]):
        path.rename(elsewhere / str(number))
        path.symlink_to(elsewhere / str(number), target_is_directory=True)
    assert seen(str(output)) == shown
    assert ids(str(output)) == ["a"]


def test_an_old_night_that_is_being_written_does_not_expire(tmp_path):
    output = str(tmp_path)
    publish(output, "a", 0.1)
    writing = written(output, "b", 0.2)
    removals, _ = removable(output, before=LATER, baselines=True, needed=needed_dates)
    writing.commit(record(), {"web": {}})
    remove(output, removals)
    assert seen(output) == {WEB: whole(0.2, "b")}


def test_a_night_that_was_refused_is_no_night_without_a_reason(tmp_path):
    publish(str(tmp_path), "a", 0.1)
    log_attempt(str(tmp_path), LATER, "b", InputError("results: 1 line(s)"), InputError.exit_code)
    with pytest.raises(
        ConfigurationError, match=rf"{LATER} was refused with exit code 3: results: 1 line"
    ):
        select_nights(committed(str(tmp_path)), str(tmp_path), LATER)


@pytest.mark.parametrize("file", ["night.toml", None])
def test_the_log_says_what_to_do_as_the_evaluation_was_asked(tmp_path, file):
    error = InputError("results: no", Give("max_rejected_fraction"))
    log_attempt(str(tmp_path), DATE, "b", error, InputError.exit_code, voice_of(file))
    (row,) = committed(str(tmp_path)).attempts
    assert row["reason"] == error.worded(KEYS if file else OPTIONS)
    assert error.worded(KEYS) != error.worded(OPTIONS)

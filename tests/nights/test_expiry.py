"""What is removed: nights that are too old but no baseline, and what dead evaluations have left."""

import contextlib
import datetime
import os
import time

import pytest
from changes import failing, killed
from commands import command_line
from publish_and_die import EVALUATED_ON, NEW, OLD, WEB, publish, record, staged, whole
from readers import cleaned, counting, files, seen

from ndcg_spark.errors import StorageError
from ndcg_spark.nights import publication as publication_module
from ndcg_spark.nights.expire import SECONDS_WITHOUT_RECORD, old_nights, remove, still_staged, waste
from ndcg_spark.nights.layout import STAGING
from ndcg_spark.nights.records import committed

DAY = datetime.timedelta(days=1)


def night(output, days, dataset="web", **more):
    """A night so many days after the first, with this in its record."""
    publication = staged(
        str(output), f"{days:02}-{dataset}", 0.5, dataset=dataset, evaluated_on=EVALUATED_ON + days * DAY
    )
    publication.commit(record(**more))


def expired(output, keep_days, today, **options):
    """What is said when so old nights are removed: of those that go, and of those that stay."""
    removals, kept = old_nights(str(output), keep_days, EVALUATED_ON + today * DAY, **options)
    return remove(str(output), removals), kept


def gate(*nights):
    return {"gate": {"baseline": [{"night": name} for name in nights]}}


def test_the_nights_of_which_recent_good_is_the_mean_stay(tmp_path):
    several = {"gate": {"baseline": [{"night": "recent_good", "nights": 2}]}}
    for days, word in enumerate(("pass", "pass", "fail", "pass")):
        night(tmp_path, days, configuration=several, verdict=verdict(word))
    done, kept = expired(tmp_path, 0, 9)
    assert done == ["removed web of 2026-11-16", "removed web of 2026-11-18"]
    assert kept == [
        "kept web of 2026-11-17, one of the 2 nights of recent_good",
        "kept web of 2026-11-19, the newest that passed or was accepted; --baselines removes it, too",
    ]


def verdict(word):
    return {"verdict": word, "reason": "r"}


def test_only_older_nights_go_and_the_removed_are_named(tmp_path):
    night(tmp_path, 0)
    night(tmp_path, 1, "shop")
    assert expired(tmp_path, 3, 3) == ([], [])
    assert expired(tmp_path, 3, 4) == (["removed web of 2026-11-16"], [])
    assert [each.dataset for each in committed(str(tmp_path))] == ["shop"]
    assert all("dataset=shop" in path for path in files(tmp_path))


@pytest.mark.parametrize("days", [1_000_000, 10**12])
def test_nothing_is_older_than_the_first_date_there_is(tmp_path, days):
    night(tmp_path, 0)
    assert expired(tmp_path, days, 400) == ([], [])


def test_the_newest_good_night_and_the_anchors_of_the_gate_stay(tmp_path):
    """Nights 0 to 6 of web; the gate of the newest names the first, an older one named another."""
    night(tmp_path, 0)
    night(tmp_path, 1, verdict=verdict("pass"), configuration=gate("2026-11-18"))
    night(tmp_path, 2, verdict=verdict("pass"))
    night(tmp_path, 3, verdict=verdict("fail"), accepted={"reason": "known", "at": "now"})
    night(tmp_path, 4, verdict=verdict("fail"))
    night(tmp_path, 5, configuration=gate("last_good", "2026-11-16"))
    night(tmp_path, 6, "shop", verdict=verdict("pass"))
    removed, kept = expired(tmp_path, 0, 30)
    assert removed == [f"removed web of 2026-11-{day}" for day in (17, 18, 20, 21)]
    assert [sentence.split(",")[0] for sentence in kept] == [
        "kept shop of 2026-11-22",
        "kept web of 2026-11-16",
        "kept web of 2026-11-19",
    ]
    assert "a baseline of the gate of 2026-11-21" in kept[1]
    assert "--baselines" in kept[2]
    # The night that named the anchor is gone.
    assert expired(tmp_path, 0, 30, dataset="web") == (["removed web of 2026-11-16"], kept[2:])
    assert expired(tmp_path, 0, 30, dataset="web", baselines=True) == (["removed web of 2026-11-19"], [])
    assert counting(tmp_path) == ["06-shop"]


def test_the_command_says_what_goes_and_what_stays_and_a_dry_run_changes_nothing(tmp_path):
    night(tmp_path / "out", 0)
    night(tmp_path / "out", 1, verdict=verdict("pass"))
    night(tmp_path / "out", 1, "shop")
    before = files(tmp_path)
    kept = "kept web of 2026-11-17, the newest that passed or was accepted; --baselines removes it, too"

    def expire(*arguments):
        done = command_line("expire", "out", "--keep-days", "0", *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return [line.removeprefix("ndcg-spark: ") for line in (done.stderr + done.stdout).splitlines()]

    assert expire("--dataset", "web", "--dry-run") == ["would remove web of 2026-11-16", kept]
    every = ["would remove shop of 2026-11-17", "would remove web of 2026-11-16", "would remove web of 2026-11-17"]
    assert expire("--baselines", "--dry-run") == every
    assert files(tmp_path) == before
    assert expire("--dataset", "web") == ["removed web of 2026-11-16", kept]
    assert expire("--baselines") == ["removed shop of 2026-11-17", "removed web of 2026-11-17"]
    assert expire() == ["nothing to remove"]
    assert files(tmp_path) == set()


def test_a_removal_that_is_killed_after_any_change_never_brings_an_old_evaluation_back(tmp_path, numbers):
    for number in numbers:
        output = str(tmp_path / str(number))
        publish(output, OLD, 0.25, rejected=True)
        # The superseded evaluation is still there, with its record.
        assert killed(publish, output, NEW, 0.7, after=rf"_evaluations/\S+{NEW}\.json$")
        was_killed = killed(expired, output, 3, 9, after=number)
        # Rows may be gone only where no record counts.
        assert counting(output) in ([NEW], [])
        assert seen(output) in ({WEB: whole(0.7, NEW)}, {}), number
        expired(output, 3, 9)
        # The publication was killed, too, and left its staging: what it has moved may wait for a day.
        cleaned(output)
        assert files(output) == set(), number
        if not was_killed:
            break
    assert number > 10


@pytest.mark.parametrize("old", [0, 1], ids=["first", "again"])
def test_a_night_that_is_published_while_it_expires_is_there_whole_or_not_at_all(tmp_path, numbers, old):
    outcomes = set()
    for number in numbers:
        output, happened = str(tmp_path / str(number)), []
        for _ in range(old):
            publish(output, OLD, 0.1)
        publication = staged(output, NEW, 0.7, rejected=True)

        def expires(tried, change, output=output, happened=happened, number=number):
            if tried == number and not change and not happened:
                happened.append(expired(output, 3, 9))
            return False

        # The folder of the night may go just before something is moved into it.
        with contextlib.suppress(StorageError):
            failing(publication.commit, record(formula="0.7"), fails=expires)
        assert seen(output) in ({WEB: whole(0.7, NEW, rejected=True)}, {}), number
        outcomes.add(bool(seen(output)))
        if not happened:
            break
    assert outcomes == {True, False}


def test_a_night_that_expires_before_its_publication_has_cleaned_up_is_published_all_the_same(tmp_path, monkeypatch):
    publication = staged(str(tmp_path), NEW, 0.7)
    write = publication_module.write_record

    def written(*given):
        write(*given)
        expired(tmp_path, 3, 9)

    monkeypatch.setattr(publication_module, "write_record", written)
    assert publication.commit(record()) == []
    assert seen(tmp_path) == {}


def test_what_is_no_evaluation_does_not_expire_and_no_empty_folder_is_left_of_a_night(tmp_path):
    night(tmp_path, 0)
    stray = tmp_path / "query_scores/web/2020-01-01/evaluation_id=x/part.parquet"
    stray.parent.mkdir(parents=True)
    stray.touch()
    assert expired(tmp_path, 3, 9) == (["removed web of 2026-11-16"], [])
    assert files(tmp_path) == {str(stray.relative_to(tmp_path))}
    assert list(tmp_path.rglob("evaluated_on=*")) == []


def aged(folder, seconds):
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (time.time() - seconds,) * 2)


@pytest.mark.parametrize(
    ("seconds", "is_waste"), [(SECONDS_WITHOUT_RECORD - 60, False), (SECONDS_WITHOUT_RECORD + 60, True)]
)
def test_what_was_staged_within_a_day_is_left_alone(tmp_path, seconds, is_waste):
    staged(str(tmp_path), NEW, 0.5)
    aged(tmp_path / STAGING / NEW, seconds)
    assert [removal.what for removal in waste(str(tmp_path))] == [f"{NEW}, which had not published"] * is_waste
    # One file of it that was written just now, deep below, is a sign of life.
    next((tmp_path / STAGING).rglob("*.parquet")).touch()
    assert waste(str(tmp_path)) == []
    assert still_staged(str(tmp_path)) == [f"left {NEW}, which may be running; after a day it counts as dead"]


def test_recover_removes_what_is_dead_and_names_what_may_be_alive(tmp_path):
    for name in (OLD, NEW):
        staged(str(tmp_path / "out"), name, 0.5)
    aged(tmp_path / "out" / STAGING / OLD, SECONDS_WITHOUT_RECORD + 60)
    done = command_line("recover", "out", cwd=tmp_path)
    assert [line.removeprefix("ndcg-spark: ") for line in (done.stderr + done.stdout).splitlines()] == [
        f"removed {OLD}, which had not published",
        f"left {NEW}, which may be running; after a day it counts as dead",
    ]
    assert [path.name for path in (tmp_path / "out" / STAGING).iterdir()] == [NEW]


@pytest.mark.parametrize("do", [committed, waste, lambda output: old_nights(output, 1, EVALUATED_ON)])
def test_an_output_that_is_a_file_is_named(tmp_path, do):
    (tmp_path / "scores").write_text("no folder", encoding="utf-8")
    with pytest.raises(StorageError, match=r"scores is a file, not a folder; check its path"):
        do(str(tmp_path / "scores"))


def test_an_output_that_does_not_exist_has_nothing_to_remove(tmp_path):
    none = str(tmp_path / "none")
    assert waste(none) == old_nights(none, 0, EVALUATED_ON)[0] == still_staged(none) == []
    assert list(tmp_path.iterdir()) == []

"""What is in an output's small files is checked before anything is done by it, whoever wrote it."""

import copy
import json
import os
import stat
import time

import pytest
from changes import killed
from kills import JOURNALLED, MIXED, NEW, NEXT, OLD, RECORD_GONE, recovered, seen, whole
from publish_and_die import EVALUATED_ON, publish

from ndcg_spark.errors import StorageError
from ndcg_spark.nights import lock, recovery
from ndcg_spark.nights.journal import JOURNAL, REPLACED
from ndcg_spark.nights.lock import CLAIM
from ndcg_spark.nights.recovery import OWNER
from ndcg_spark.nights.store import RECORDS, STAGING, Store

NIGHT = f"dataset=web/evaluated_on={EVALUATED_ON}"
OUTSIDE = "../../outside/target"


def set_in(content, value, *keys):
    *above, last = keys
    for key in above:
        content = content[key]
    content[last] = value


def everything(folder):
    """All files and folders but the claims of dead processes, which are revoked before any journal is read."""
    found = (path for path in folder.rglob("*") if path.name != CLAIM)
    return {str(path): path.read_bytes() if path.is_file() else None for path in found}


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        ([OUTSIDE], ["nights"]),
        ([NIGHT, "dataset=web/evaluated_on=2026-11-16/.."], ["nights"]),
        (["dataset=web/evaluated_on=../../x"], ["nights"]),
        (["dataset=a%2fb/evaluated_on=2026-11-16"], ["nights"]),
        (NIGHT, ["nights"]),
        (None, ["nights"]),
        (OUTSIDE, ["evaluation_id"]),
        (OLD, ["evaluation_id"]),
        (1, ["evaluation_id"]),
        ({}, ["staged", "query_scores", NIGHT]),
        (OUTSIDE, ["staged", "query_scores", NIGHT, "folder"]),
        ("dataset=shop/evaluated_on=2026-11-16", ["staged", "query_scores", NIGHT, "folder"]),
        ([OUTSIDE], ["staged", "query_scores", NIGHT, "files"]),
        ([".."], ["staged", "query_scores", NIGHT, "files"]),
        ([""], ["staged", "query_scores", NIGHT, "files"]),
        ({"x": "many"}, ["staged", "query_scores", NIGHT, "rows"]),
        ({NIGHT: {"folder": NIGHT, "files": []}}, ["staged", OUTSIDE]),
        ([], ["staged"]),
        ({OUTSIDE: ["x"]}, ["replaced", "query_scores"]),
        ({NIGHT: [OUTSIDE]}, ["replaced", "query_scores"]),
        ({NIGHT: ["x"]}, ["replaced", OUTSIDE]),
        ([], ["record"]),
    ],
)
def test_a_journal_that_names_what_it_must_not_is_refused_and_nothing_is_touched(tmp_path, value, keys):
    folder = tmp_path / "scores"
    publish(str(folder), OLD, 0.1)
    (tmp_path / "outside" / "target").mkdir(parents=True)
    assert killed(publish, str(folder), NEW, 0.7, after=JOURNALLED)
    journal = folder / STAGING / NEW / JOURNAL
    content = json.loads(journal.read_text(encoding="utf-8"))
    changed = copy.deepcopy(content)
    set_in(changed, value, *keys)
    journal.write_text(json.dumps(changed), encoding="utf-8")
    before = everything(tmp_path)
    with pytest.raises(StorageError, match=rf"{NEW}/{JOURNAL} is no journal of a commit, .*; nothing was moved"):
        recovery.recover(str(folder))
    with pytest.raises(StorageError, match="is no journal of a commit"):
        publish(str(folder), NEXT, 0.5)
    assert everything(tmp_path) == before
    journal.write_text(json.dumps(content), encoding="utf-8")
    recovered(str(folder))
    assert seen(str(folder)) == whole(0.7, NEW, False)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "{", '{"a": ' * 5000, "\udcff", '{"evaluation_id": {}}'])
def test_a_journal_that_is_none_is_refused_without_a_traceback(tmp_path, text):
    assert killed(publish, str(tmp_path), NEW, 0.7, after=JOURNALLED)
    (tmp_path / STAGING / NEW / JOURNAL).write_bytes(text.encode(errors="surrogateescape"))
    before = everything(tmp_path)
    with pytest.raises(StorageError, match=f"{NEW}/{JOURNAL} is no "):
        recovery.recover(str(tmp_path))
    assert everything(tmp_path) == before


BROKEN = [
    "",
    "{}",
    "[1]",
    "{",
    '{"host": 1, "pid": "x", "started": [], "at": "now"}',
    '{"at": 1e18}',
    '{"at": NaN}',
    '{"pid": -1, "at": {}}',
    "\udcff",
]


@pytest.mark.parametrize("text", BROKEN)
def test_an_owner_or_claim_that_cannot_be_understood_counts_by_its_age(tmp_path, text):
    output = str(tmp_path)
    for name in (OLD, NEW):
        (tmp_path / STAGING / name).mkdir(parents=True)
        for note in (OWNER, CLAIM):
            (tmp_path / STAGING / name / note).write_bytes(text.encode(errors="surrogateescape"))
    long_ago = time.time() - 13 * 3600
    for path in (tmp_path / STAGING / OLD).iterdir():
        os.utime(path, (long_ago, long_ago))
    assert list(lock.standing(Store(output))) == [NEW]
    assert recovery.recover(output) == [f"removed {OLD}, which had not committed"]
    os.utime(tmp_path / STAGING / NEW / CLAIM, (long_ago, long_ago))
    publish(output, NEXT, 0.5)
    assert seen(output) == whole(0.5, NEXT, False)


def test_who_waits_for_a_claim_that_cannot_be_understood_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "SECONDS_TO_WAIT", 0.0)
    monkeypatch.setattr(lock, "SECONDS_BETWEEN_LOOKS", 0.0)
    Store(str(tmp_path)).write_json(f"{STAGING}/{OLD}/{CLAIM}", {})
    with pytest.raises(StorageError, match=f"e.g. {OLD}, process unknown on an unknown machine since 20"):
        publish(str(tmp_path), NEW, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "inside_the_record"),
    [(JOURNALLED, False), (RECORD_GONE, False), (MIXED, False), (MIXED, True), (r"-> _evaluations/", False)],
)
@pytest.mark.parametrize("rejected", [False, True])
@pytest.mark.usefixtures("at_once")
def test_a_journal_of_an_earlier_version_is_finished(tmp_path, change, rejected, inside_the_record):
    output = str(tmp_path)
    publish(output, OLD, 0.1, rejected=not rejected)
    assert killed(publish, output, NEW, 0.7, rejected=rejected, after=change)
    found = Store(output)
    # It staged no record, wrote it in place, and knew neither rows nor what was replaced.
    found.delete(f"{STAGING}/{NEW}/{RECORDS}")
    journal = found.read_json(f"{STAGING}/{NEW}/{JOURNAL}")
    del journal["replaced"]
    for partitions in journal["staged"].values():
        del partitions[NIGHT]["rows"]
    found.write_json(f"{STAGING}/{NEW}/{JOURNAL}", journal)
    if inside_the_record:
        (tmp_path / RECORDS / NIGHT).mkdir(parents=True, exist_ok=True)
        (tmp_path / RECORDS / NIGHT / f"{NEW}.json.part").write_text('{"eval', encoding="utf-8")
        assert found.exists(f"{STAGING}/{NEW}/{REPLACED}/{RECORDS}/{NIGHT}")
    assert recovered(output) == [f"finished {NEW}, which had committed: {NIGHT}"]
    assert seen(output) == whole(0.7, NEW, rejected)
    publish(output, NEXT, 0.5)
    assert seen(output) == whole(0.5, NEXT, False)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o640), (0o077, 0o600), (0o000, 0o640)])
def test_a_small_file_is_read_by_its_owner_and_group_at_most(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        publish(str(tmp_path), NEW, 0.7)
    finally:
        os.umask(before)
    [record] = (tmp_path / RECORDS).rglob("*.json")
    assert stat.S_IMODE(record.stat().st_mode) == mode

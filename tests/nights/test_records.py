"""Records: whole or absent, refused by name if they are damaged, and written anew when a night is accepted."""

import json
import os
import stat

import duckdb
import pytest
from changes import killed
from commands import command_line
from kept_nights import night as kept_night
from publish_and_die import NEW, OLD, WEB, publish, record, whole
from readers import files, seen

from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import StorageError
from ndcg_spark.nights.records import ReplacedError, accept, all_records, committed, read_again_if_replaced

DAMAGED = {
    "an empty object": "{}",
    "empty": "",
    "cut short": '{"options": {',
    "a list": "[]",
    "nested too deep": '{"a": ' * 100_000,
    "not UTF-8": b"\xff\xfe{}",
    "without options": record(files={}, options=None),
    "with an unknown option": record(files={}, options={**Convention().options(), "colour": "red"}),
    "with a value that an option does not have": record(files={}, options={**Convention().options(), "ties": "x"}),
    "with a verdict that is a word": record(files={}, verdict="pass"),
    "with a verdict without a reason": record(files={}, verdict={"verdict": "pass"}),
    "with an acceptance that is a word": record(files={}, accepted="yes"),
    "with inputs that are a list": record(files={}, inputs=["judgments"]),
    "with datasets that are a number": record(files={}, datasets=2),
    "with files of an earlier version": record(files={"dataset_scores": ["part.parquet"]}),
}


def damage(path, content):
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_record_is_refused_by_name(tmp_path, kind):
    publish(str(tmp_path), OLD, 0.1)
    (path,) = (tmp_path / "_evaluations").rglob("*.json")
    damage(path, DAMAGED[kind])
    (night,) = committed(str(tmp_path))
    name = f"_evaluations/dataset=web/evaluated_on=2026-11-16/000001-{OLD}.json"
    with pytest.raises(StorageError, match=f"{name} is not a record that this version can read, .*; restore the file"):
        _ = night.record
    # An evaluation of that night puts it right, as it need not be read for that.
    publish(str(tmp_path), NEW, 0.7)
    assert seen(tmp_path) == {WEB: whole(0.7, NEW)}


@pytest.mark.parametrize(
    "kind", ["an empty object", "cut short", "with an unknown option", "with a verdict that is a word"]
)
def test_every_command_refuses_a_damaged_record_by_its_name(tmp_path, kind):
    kept_night(tmp_path / "out", 0, {"a": 0.5, "b": 0.4})
    (path,) = (tmp_path / "out/_evaluations").rglob("*.json")
    damage(path, DAMAGED[kind])
    for command in (
        ["nights", "out"],
        ["explain", "out", "--query", "q1"],
        ["compare", "out", "--baseline", "a"],
        ["report", "out", "--html", "page.html"],
        ["trend", "out"],
    ):
        done = command_line(*command, cwd=tmp_path)
        said = done.stderr.splitlines()[-1]
        assert (done.returncode, "000001-e0.json is not a record" in said) == (4, True), (command, done.stderr)


def test_a_record_has_its_files_with_their_rows_and_bytes(tmp_path):
    publish(str(tmp_path), NEW, 0.7, rejected=True)
    (night,) = committed(str(tmp_path))
    assert night.record["formula"] == "0.7"
    for table in ("query_scores", "dataset_scores", "rejected_rows", "comparisons", "evaluations"):
        paths = list((tmp_path / table / night.folder).iterdir())
        expected = {path.name: {"rows": 3, "bytes": path.stat().st_size} for path in paths}
        if table == "evaluations":
            expected = {path.name: {"rows": 1, "bytes": None} for path in paths}
        assert night.record["files"][table] == expected


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o640), (0o077, 0o600), (0o000, 0o640)])
def test_a_record_is_read_by_its_owner_and_group_at_most(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        publish(str(tmp_path), NEW, 0.7)
    finally:
        os.umask(before)
    (path,) = (tmp_path / "_evaluations").rglob("*.json")
    assert stat.S_IMODE(path.stat().st_mode) == mode


def evaluations(output):
    """The rows of EVALUATIONS as DuckDB reads them."""
    with duckdb.connect() as connection:
        return connection.execute(
            "select evaluation_id, accepted from read_parquet(?)", [f"{output}/evaluations/**/*.parquet"]
        ).fetchall()


def test_an_accepted_night_says_so_in_its_record_and_its_row_and_its_scores_stay(tmp_path):
    publish(str(tmp_path), NEW, 0.7, rejected=True)
    scores = {path for path in files(tmp_path) if path.endswith(".parquet") and not path.startswith("evaluations/")}
    assert evaluations(tmp_path) == [(NEW, None)]
    for reason in ("a new index", "and a new analyzer: é"):
        (night,) = committed(str(tmp_path))
        assert not night.is_good or night.record["accepted"]["reason"] == "a new index"
        accept(night, reason)
        (night,) = committed(str(tmp_path))
        assert (night.is_good, night.record["accepted"]["reason"]) == (True, reason)
        assert evaluations(tmp_path) == [(NEW, reason)]
        assert seen(tmp_path) == {WEB: whole(0.7, NEW, rejected=True)}
        assert scores < files(tmp_path)
        assert len(files(tmp_path)) == len(scores) + 2


def test_an_acceptance_that_is_killed_after_any_change_is_there_or_not(tmp_path, numbers):
    for number in numbers:
        output = str(tmp_path / str(number))
        publish(output, NEW, 0.7)
        was_killed = killed(accept, committed(output)[0], "known", after=number)
        # A row of EVALUATIONS for every night, though it was killed while it wrote another.
        assert seen(output) == {WEB: whole(0.7, NEW)}, number
        accept(committed(output)[0], "still known")
        assert seen(output) == {WEB: whole(0.7, NEW)}, number
        assert evaluations(output) == [(NEW, "still known")], number
        if not was_killed:
            break
    assert number > 2  # it was killed


def test_a_night_that_was_evaluated_again_is_not_accepted(tmp_path):
    publish(str(tmp_path), OLD, 0.1)
    (night,) = committed(str(tmp_path))
    publish(str(tmp_path), NEW, 0.7)
    with pytest.raises(
        ReplacedError, match=r"the night 2026-11-16 of web in .* was replaced while it was read; run this"
    ):
        accept(night, "known")
    assert seen(tmp_path) == {WEB: whole(0.7, NEW)}


def test_what_is_no_record_is_not_taken_for_one(tmp_path):
    publish(str(tmp_path), NEW, 0.7)
    folder = tmp_path / "_evaluations/dataset=web/evaluated_on=2026-11-16"
    for name in ("notes.json", "000009-x.json.part", "x-000009.json", ".000009-x.json.crc"):
        (folder / name).touch()
    (folder / "more").mkdir()
    (folder / "more" / f"000009-{OLD}.json").touch()
    (night,) = committed(str(tmp_path))
    assert (night.number, night.evaluation_id) == (1, NEW)
    assert len(all_records(night.store)) == 1


def test_a_thousandth_evaluation_of_a_night_counts_more_than_the_ninth(tmp_path):
    folder = tmp_path / "_evaluations/dataset=web/evaluated_on=2026-11-16"
    folder.mkdir(parents=True)
    for number in (9, 999_999, 1_000_000):
        damage(folder / f"{number:06}-{OLD}.json", record(files={}))
    assert committed(str(tmp_path))[0].number == 1_000_000


@pytest.mark.parametrize("times", [0, 1, 2])
def test_what_is_read_is_read_once_more_where_it_was_replaced(tmp_path, times):
    publish(str(tmp_path), OLD, 0.1)
    reruns = []

    def read():
        (night,) = committed(str(tmp_path))
        if len(reruns) < times:
            reruns.append(f"{NEW}{len(reruns)}")
            publish(str(tmp_path), reruns[-1], 0.3)
        return night.record["formula"]

    if times == 2:
        with pytest.raises(ReplacedError):
            read_again_if_replaced(read)
    else:
        assert read_again_if_replaced(read) == ("0.3" if times else "0.1")

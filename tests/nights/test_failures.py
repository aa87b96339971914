"""A storage that fails at any change: the old night or the new, and a message that says which."""

import functools
import re

import pytest
from changes import failing
from publish_and_die import NEW, NEXT, OLD, SHOP, WEB, publish, record, staged, whole
from pyspark.errors import PySparkException
from readers import files, seen

from ndcg_spark.errors import StorageError
from ndcg_spark.job.failures import translated_failures
from ndcg_spark.nights.layout import STAGING, Store

WAYS = {
    "is not made": lambda number, tried, change: tried == number and not change,
    "is made and not confirmed": lambda number, tried, change: tried == number and bool(change),
    "is the last for which there is space": lambda number, tried, change: (
        tried > number and change.startswith(("make", "write", "copy"))
    ),
    "is the last that is made": lambda number, tried, change: tried > number,
}
OTHER_WAYS = ("is made and not confirmed", "is the last that is made")


@pytest.mark.parametrize("how", WAYS)
def test_after_a_change_that_fails_the_message_says_which_nights_are_new(tmp_path, numbers, thorough, how):
    if how in OTHER_WAYS and not thorough:
        pytest.skip("fails at the same changes; with --thorough")
    outcomes, old, new = set(), whole(0.1, OLD, rejected=True), whole(0.7, NEW)
    for number in numbers:
        output = str(tmp_path / str(number))
        publish(output, OLD, 0.1, rejected=True, dataset="shop+web")
        publication = staged(output, NEW, 0.7, dataset="shop+web")
        fails = functools.partial(WAYS[how], number)
        try:
            _, total = failing(publication.commit, record(formula="0.7"), fails=fails)
        except StorageError as error:
            message = re.fullmatch(
                r"output: .* cannot be written, .*No space left on device.*; "
                r"(nothing was published|everything was published|only (.*) was published|ndcg-spark nights .*), "
                r"check space and rights",
                str(error),
            )
            names = {night: f"{night[0]} of {night[1]}" for night in (WEB, SHOP)}
            published = [n for n, name in names.items() if "everything" in message[1] or name in (message[2] or "")]
            if "nights" not in message[1]:
                assert seen(output) == {WEB: old, SHOP: old} | dict.fromkeys(published, new), (how, number)
            outcomes.add(message[1].partition(" ")[0])
            # What could not be removed can be when the storage works again; some of it was staged only.
            if how != "is the last that is made":
                assert not any(path.startswith(STAGING) for path in files(output)), (how, number)
            publication.abandon()
        else:
            assert seen(output) == {WEB: new, SHOP: new}, (how, number)
            if number > total:
                break
        counted = {(NEW, *night) for night, tables in seen(output).items() if tables == new}
        for path in files(output):
            if NEW in path and not path.endswith(".part") and not path.startswith(STAGING):
                _, dataset, date, *_ = path.split("/")
                assert (NEW, dataset.partition("=")[2], date.partition("=")[2]) in counted, (how, number, path)
        publish(output, NEXT, 0.5, dataset="shop+web")
        assert seen(output) == {WEB: whole(0.5, NEXT), SHOP: whole(0.5, NEXT)}, (how, number)
    assert "nothing" in outcomes
    assert number > 20


@pytest.mark.parametrize("lost", ["everything", "a table", "a night", "a file"])
def test_what_is_lost_before_the_commit_is_named_and_nothing_is_published(tmp_path, lost):
    output = str(tmp_path)
    publish(output, OLD, 0.1)
    before = files(tmp_path)
    publication = staged(output, NEW, 0.7, rejected=True)
    store = Store(output)
    store.delete(
        {
            "everything": f"{STAGING}/{NEW}",
            "a table": f"{STAGING}/{NEW}/comparisons",
            "a night": f"{STAGING}/{NEW}/query_scores/dataset=web",
            "a file": next(iter(store.files(f"{STAGING}/{NEW}/query_scores", ".parquet"))),
        }[lost]
    )
    with pytest.raises(StorageError, match=r"output: .* cannot be written, .*; nothing was published"):
        publication.commit(record())
    assert files(tmp_path) == before
    assert seen(output) == {WEB: whole(0.1, OLD)}


@pytest.mark.usefixtures("at_once")
def test_a_file_that_is_cut_short_while_it_is_moved_is_noticed(tmp_path):
    output = str(tmp_path)
    publication = staged(output, NEW, 0.7)

    def cut(_, change):
        for path in tmp_path.glob("query_scores/**/*.parquet") if "-> query_scores/" in change else ():
            path.write_bytes(path.read_bytes()[:-1])
        return False

    with pytest.raises(StorageError, match=r"1 verified file\(s\) of query_scores are gone, e\.g\. .*nothing was"):
        failing(publication.commit, record(), fails=cut)
    assert files(tmp_path) == set()


@pytest.mark.parametrize("rows", [2, 4])
def test_a_staged_table_with_another_number_of_rows_than_expected_is_refused(tmp_path, rows):
    night = staged(str(tmp_path), NEW, 0.7)
    with pytest.raises(StorageError, match=rf"3 of {rows} rows of query_scores .*a URI that this machine sees too"):
        night.verify("query_scores", rows)


def test_a_staged_file_that_is_damaged_is_refused(tmp_path):
    night = staged(str(tmp_path), NEW, 0.7)
    for path in tmp_path.glob(f"_staging/{NEW}/query_scores/**/*.parquet"):
        path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(StorageError, match=r"query_scores cannot be read back, .*nothing was published"):
        night.verify("query_scores", 3)


def test_an_abandoned_evaluation_leaves_the_staging_of_others_and_what_was_published(tmp_path):
    output = str(tmp_path)
    publish(output, OLD, 0.1)
    staged(output, NEXT, 0.5)
    others = files(tmp_path)
    staged(output, NEW, 0.7).abandon()
    assert files(tmp_path) == others
    staged(str(tmp_path / "new"), NEW, 0.7).abandon()
    assert files(tmp_path / "new") == set()


def test_an_output_that_is_a_file_is_refused_by_name(tmp_path):
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    with pytest.raises(StorageError, match=r"output: .*/taken is a file, not a folder; check its path"):
        staged(str(tmp_path / "taken"), NEW, 0.7)


def test_an_engine_that_may_not_write_in_hdfs_is_a_failure_of_the_output():
    said = 'AccessControlException: Permission denied: user=alice, access=WRITE, inode="/":root:supergroup:drwxr-xr-x'
    with (
        pytest.raises(StorageError, match=f"^output: the engine cannot write, {said}; nothing was published, check"),
        translated_failures([]),
    ):
        raise PySparkException(f"An error occurred while calling o1.parquet.\n: {said}\n\tat org.apache")

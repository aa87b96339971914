"""A storage that fails at any change: the old night or the new, and a message that says which."""

import functools
import re

import pytest
from changes import failing, killed
from kills import JOURNALLED, MIXED, NEW, NEXT, OLD, RECORD_GONE, recovered, seen, whole
from publish_and_die import EVALUATED_ON, publish, staged
from readers import NOTHING, by_pyarrow, records

from ndcg_spark.errors import StorageError
from ndcg_spark.nights import recovery
from ndcg_spark.nights.store import STAGING, Store


def waiting(output, evaluation_id, ndcg, rejected=False):
    """A publication that only waits for its commit."""
    return staged(output, evaluation_id, ndcg, rejected=rejected, dataset="web", evaluated_on=EVALUATED_ON)


def stands(output):
    return by_pyarrow(output), records(output)


WAYS = {
    "is not made": lambda number, tried, change: tried == number and not change,
    "is made and not confirmed": lambda number, tried, change: tried == number and bool(change),
    "is the last for which there is space": lambda number, tried, change: (
        tried > number and change.startswith(("make", "write", "copy"))
    ),
    "is the last that is made": lambda number, tried, change: tried > number,
}


@pytest.mark.parametrize(
    "how",
    [
        "is not made",
        "is the last for which there is space",
        *(
            pytest.param(how, marks=pytest.mark.slow)
            for how in ("is made and not confirmed", "is the last that is made")
        ),
    ],
)
def test_a_change_that_fails_keeps_the_old_night_and_the_message_says_so(tmp_path, numbers, how):
    when, outcomes = WAYS[how], set()
    for number in numbers:
        output = str(tmp_path / str(number))
        publish(output, OLD, 0.1, rejected=True)
        publication = waiting(output, NEW, 0.7)
        before, after = whole(0.1, OLD, True), whole(0.7, NEW, False)
        try:
            total = failing(publication.commit, {"evaluation_id": NEW}, fails=functools.partial(when, number))
        except StorageError as error:
            told = str(error)
            assert "No space left on device" in told
            publication.abandon()
            if "goes on" in told:
                recovered(output)
                assert stands(output) in (before, after), (how, number, told)
            else:
                assert "the old night was kept" in told or "nothing was published" in told
                assert stands(output) == before, (how, number, told)
            outcomes.add(told.rpartition("; ")[2].partition(",")[0])
        else:
            assert stands(output) == after, (how, number)
            if number > total:
                break
        publish(output, NEXT, 0.5)
        assert stands(output) == whole(0.5, NEXT, False), (how, number)
    assert "the old night was kept" in {*outcomes} or how == "is the last that is made"
    assert number > 20


@pytest.mark.parametrize(
    "lost",
    [
        f"{STAGING}/{NEW}",
        f"{STAGING}/{NEW}/query_scores",
        f"{STAGING}/{NEW}/dataset_scores/dataset=web/evaluated_on={EVALUATED_ON}",
        f"{STAGING}/{NEW}/rejected_rows",
        "a file",
    ],
)
def test_what_is_lost_before_the_commit_is_told_and_nothing_is_moved(tmp_path, lost):
    output = str(tmp_path)
    publish(output, OLD, 0.1)
    publication = waiting(output, NEW, 0.7, rejected=True)
    found = Store(output)
    found.delete(found.files(f"{STAGING}/{NEW}", ".parquet")[0] if lost == "a file" else lost)
    with pytest.raises(StorageError, match=r"is not staged as it was verified, 0 of 1 .* nothing was published"):
        publication.commit({"evaluation_id": NEW})
    publication.abandon()
    assert seen(output) == whole(0.1, OLD, False)
    assert recovered(output) == []


def test_an_output_that_is_renamed_before_the_commit_is_told(tmp_path):
    output = tmp_path / "scores"
    publish(str(output), OLD, 0.1)
    publication = waiting(str(output), NEW, 0.7)
    output.rename(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="is not staged as it was verified"):
        publication.commit({"evaluation_id": NEW})
    assert seen(str(tmp_path / "elsewhere")) == whole(0.1, OLD, False)
    assert not list(output.rglob("*.parquet"))


@pytest.mark.usefixtures("at_once")
def test_what_is_lost_while_it_is_moved_puts_the_old_night_back(tmp_path):
    output = str(tmp_path)
    publish(output, OLD, 0.1)
    publication = waiting(output, NEW, 0.7)
    found = Store(output)

    def lose(_, change):
        if re.search(RECORD_GONE, change):
            found.delete(found.files(f"{STAGING}/{NEW}/dataset_scores", ".parquet")[0])
        return False

    with pytest.raises(
        StorageError, match=r"1 file.*, e\.g\. dataset_scores/.* did not come .*; the old night was kept"
    ):
        failing(publication.commit, {"evaluation_id": NEW}, fails=lose)
    publication.abandon()
    assert seen(output) == whole(0.1, OLD, False)
    assert recovered(output) == []


def test_a_table_that_was_never_verified_is_not_published(tmp_path):
    publication = waiting(str(tmp_path), NEW, 0.7)
    publication._verified["query_scores"] = None
    with pytest.raises(StorageError, match="query_scores is not staged as it was verified"):
        publication.commit({})
    assert by_pyarrow(str(tmp_path)) == NOTHING


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("change", [JOURNALLED, RECORD_GONE, MIXED])
def test_a_journal_whose_files_are_lost_is_undone_by_the_next(tmp_path, change):
    output = str(tmp_path)
    publish(output, OLD, 0.1, rejected=True)
    assert killed(publish, output, NEW, 0.7, after=change)
    found = Store(output)
    for path in [*found.files(f"{STAGING}/{NEW}/query_scores"), *found.files("query_scores")]:
        if change == MIXED or path.startswith(STAGING):
            found.delete(path)
    told = recovery.recover(output)
    assert told[0].startswith(f"undid {NEW}, which has lost 1 file(s), e.g. query_scores/")
    assert told[0].endswith("what stood before stands again")
    assert seen(output) == whole(0.1, OLD, True)

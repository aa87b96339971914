"""A process that is stopped midway, taken for dead, and wakes after another has gone on: it destroys nothing."""

import contextlib

import pytest
from changes import failing, killed
from kills import JOURNALLED, NEW, NEXT, OLD, RECORD_GONE, recovered, whole
from publish_and_die import EVALUATED_ON, publish, staged
from readers import by_pyarrow, records

from ndcg_spark.errors import StorageError
from ndcg_spark.nights import recovery
from ndcg_spark.nights.lock import CLAIM, LostClaimError, claimed
from ndcg_spark.nights.store import STAGING, Store


def stands(output):
    return by_pyarrow(output), records(output)


def asleep(number, meanwhile):
    """Before a change, which may be after its claim was looked at, all of something else happens."""
    awake = [True]

    def fails(tried, change):
        if awake[0] and tried == number and not change:
            awake[0] = False
            meanwhile()
        # What others do meanwhile is not counted.
        return False

    return fails


@pytest.mark.parametrize("earlier", [OLD, None])
def test_a_publication_that_wakes_after_it_was_taken_over_leaves_the_other_night_whole(tmp_path, numbers, earlier):
    lost = 0
    for number in numbers:
        output = str(tmp_path / str(number))
        if earlier:
            publish(output, OLD, 0.1, rejected=True)
        publication = staged(output, NEW, 0.7, rejected=True, dataset="web", evaluated_on=EVALUATED_ON)
        happened = []

        def meanwhile(output=output, happened=happened):
            happened.append(True)
            publish(output, NEXT, 0.5)

        try:
            failing(publication.commit, {"evaluation_id": NEW}, fails=asleep(number, meanwhile))
        except StorageError as error:
            lost += isinstance(error, LostClaimError)
            publication.abandon()
            possible = [whole(0.5, NEXT, False)]
        else:
            # It had not begun to move when the other was done, or was done itself.
            possible = [whole(0.7, NEW, True), whole(0.5, NEXT, False)]
        assert stands(output) in possible, number
        recovered(output)
        assert stands(output) in possible, number
        if not happened:
            break
    assert lost > 1


@pytest.mark.slow
def test_a_recovery_that_wakes_after_it_was_taken_over_leaves_the_other_night_whole(tmp_path, numbers):
    for number in numbers:
        output = str(tmp_path / str(number))
        publish(output, OLD, 0.1, rejected=True)
        assert killed(publish, output, NEW, 0.7, rejected=True, after=RECORD_GONE)
        happened = []

        def meanwhile(output=output, happened=happened):
            happened.append(True)
            publish(output, NEXT, 0.5)

        with contextlib.suppress(StorageError):
            failing(recovery.recover, output, fails=asleep(number, meanwhile))
        if not happened:
            break
        assert stands(output) == whole(0.5, NEXT, False), number
        recovered(output)
        assert stands(output) == whole(0.5, NEXT, False), number
    assert stands(output) == whole(0.7, NEW, True)


@pytest.mark.parametrize("what", ["gone", "another's"])
def test_a_claim_that_is_gone_or_anothers_is_not_held(tmp_path, what):
    found = Store(str(tmp_path))
    with claimed(found, NEW) as claim:
        claim.hold()
        path = f"{STAGING}/{NEW}/{CLAIM}"
        if what == "gone":
            found.delete(path)
        else:
            found.write_json(path, {**found.read_json(path), "pid": 1})
        with pytest.raises(LostClaimError, match=f"evaluation {NEW} has lost its claim"):
            claim.hold()


def test_who_takes_over_revokes_the_claim_before_it_moves_anything(tmp_path):
    output = str(tmp_path)
    assert killed(publish, output, NEW, 0.7, after=JOURNALLED)
    changes = []
    failing(recovery.recover, output, fails=lambda _, change: bool(changes.append(change)))
    revoked = changes.index(f"remove {STAGING}/{NEW}/{CLAIM}")
    assert not [change for change in changes[:revoked] if change.startswith("move") and "-> query_scores" in change]

"""What must hold of an output, on whatever storage, after a publication was killed at any of its changes."""

from unittest import mock

from changes import killed
from publish_and_die import publish, rows
from readers import NOTHING, by_pyarrow, plain, records

from ndcg_spark.nights import recovery
from ndcg_spark.nights.store import STAGING, Store

OLD, NEW, NEXT = "20261116T000000Z-old", "20261117T000000Z-new", "20261118T000000Z-next"
#: Which of the old night, if there is one, and of the new has rejected rows.
KINDS = {"first": (None, True), "rerun": (False, True), "rerun of rejected rows": (True, False)}

#: Changes to be killed after: the journal is whole, the old record is away, one of the new tables is in place.
JOURNALLED = r"(-> |write )\S+/_commit\.json$"
RECORD_GONE = r"-> \S+/_replaced/_evaluations/"
MIXED = r"-> dataset_scores/"


def whole(ndcg, evaluation_id, rejected):
    """The tables and records of one night."""
    scores = rows(ndcg, evaluation_id)
    return {
        **NOTHING,
        "query_scores": scores,
        "dataset_scores": scores,
        "rejected_rows": scores if rejected else [],
        "comparisons": scores if rejected else [],
    }, [evaluation_id]


def seen(output):
    return plain(output), records(output)


def recovered(output):
    """What a recovery tells that comes ten minutes later, when a staging folder without an owner is waste."""
    with mock.patch.object(recovery, "SECONDS_TO_BEGIN", -1):
        told = recovery.recover(output)
    assert Store(output).folders(STAGING) == []
    return told


def rerun(output, kind, after):
    """The old night, and the new one that is killed after a change; whether it was, or came to its end before."""
    old, new = KINDS[kind]
    if old is not None:
        publish(output, OLD, 0.1 + 0.2, rejected=old)
    return killed(publish, output, NEW, 0.7, rejected=new, after=after)


def check_what_is_left(output, kind, *, at_once):
    """Readers see no mixture, committed nights are whole, and the next runs converge to the same scores."""
    old, new = KINDS[kind]
    before = (NOTHING, []) if old is None else whole(0.1 + 0.2, OLD, old)
    after = whole(0.7, NEW, new)
    tables, committed = found = by_pyarrow(output), records(output)
    assert len({row[0] for listed in tables.values() for row in listed}) <= 1
    if at_once:
        assert all(tables[name] in ([], before[0][name], after[0][name]) for name in tables)
    if committed:
        assert found in (before, after)
    recovered(output)
    assert (by_pyarrow(output), records(output)) in (before, after)
    publish(output, NEXT, 0.7, rejected=new)
    assert (by_pyarrow(output), records(output)) == whole(0.7, NEXT, new)
    assert recovery.recover(output) == []

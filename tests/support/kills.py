"""What must hold of an output, on whatever storage, after a publication was killed at one of its steps."""

import signal

from publish_and_die import NEVER, publish, rows, run
from readers import NOTHING, plain, records

from ndcg_spark.nights import recovery
from ndcg_spark.nights.store import Store

OLD, NEW, NEXT = "20261116T000000Z-old", "20261117T000000Z-new", "20261118T000000Z-next"
#: Which of the old night, if there is one, and of the new has rejected rows.
KINDS = {"first": (None, True), "rerun": (False, True), "rerun of rejected rows": (True, False)}


def whole(ndcg, evaluation_id, rejected):
    """The tables and records of one night."""
    scores = rows(ndcg, evaluation_id)
    return {
        "query_scores": scores,
        "dataset_scores": scores,
        "rejected_rows": scores if rejected else [],
    }, [evaluation_id]


def seen(output):
    return plain(output), records(output)


def rerun(output, kind, step=NEVER):
    """The old night, and the new one that is killed after a step; the exit code."""
    old, new = KINDS[kind]
    if old is not None:
        run(publish, output, OLD, 0.1 + 0.2, rejected=old)
    return run(publish, output, NEW, 0.7, rejected=new, die_after=step)


def check_a_kill(output, kind, step, *, at_once):
    """Readers see no mixture, committed nights are whole, and the next runs converge to the same scores."""
    old, new = KINDS[kind]
    before = (NOTHING, []) if old is None else whole(0.1 + 0.2, OLD, old)
    after = whole(0.7, NEW, new)
    assert rerun(output, kind, step) == -signal.SIGKILL
    tables, committed = found = seen(output)
    assert len({row[0] for listed in tables.values() for row in listed}) <= 1
    if at_once:
        assert all(tables[name] in ([], before[0][name], after[0][name]) for name in tables)
    if committed:
        assert found in (before, after)
    recovery.recover(output)
    assert seen(output) in (before, after)
    assert Store(output).folders("_staging") == []
    run(publish, output, NEXT, 0.7, rejected=new)
    assert seen(output) == whole(0.7, NEXT, new)
    assert recovery.recover(output) == []

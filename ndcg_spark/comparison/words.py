"""What a finding says to people: one sentence with its numbers."""

from ndcg_spark.comparison.deciding import Row
from ndcg_spark.comparison.sides import Against
from ndcg_spark.comparison.verdict import Code
from ndcg_spark.gate_config import CheckConfig, GateConfig
from ndcg_spark.tables.table import at


def subject(check: CheckConfig, run: str | None) -> str:
    """What a check measures: `ndcg@10 of hybrid for language=de`."""
    of_run = f" of {run}" if run else ""
    of_slice = f" for {check.slice}" if check.slice else ""
    weighted = "weighted " if check.weighted else ""
    return f"{weighted}{check.measure}@{at(check.cutoff)}{of_run}{of_slice}"


def named(against: Against | None) -> str:
    """What a run is compared with: a night by its date, or another run."""
    return against.name if against else "nothing"


def of_changes(against: Against) -> str:
    """That only the queries were compared whose judgments have not changed."""
    changes = against.changes
    same = changes.queries - changes.changed
    return (
        f"{same:,} of {changes.queries:,} queries ({same / changes.queries:.2%}) were compared with {against.name}, as "
        "the judgments of the others have changed"
    )


def of_drop(code: Code, what: str, against: str, row: Row, allowed: float, p: float | None, gate: GateConfig) -> str:
    """The sentence of a check that limits a drop."""
    difference, queries = row["difference"], f"{row['queries']:,} queries"
    moved = f"{'fell' if difference < 0 else 'rose'} by {abs(difference):.4f}"
    begun = f"{what} {moved} against {against}, from {row['baseline_mean']:.4f} to {row['mean']:.4f}"
    if code is Code.UNCHANGED:
        return f"{what} is the same as against {against} for each of {queries}"
    if code is Code.DEGENERATE:
        return f"{begun}: the differences of {queries} have no spread that a test could use"
    if code is Code.WITHIN:
        return f"{begun} ({queries}), within the {allowed:.4f} allowed"
    sure = _evidence(row, p, gate)
    if code is Code.DROPPED:
        return f"{begun} ({sure}{queries}); {allowed:.4f} is allowed"
    detectable = row["minimum_detectable"]
    seen = "" if detectable is None else f"; detectable: {detectable:.4f}"
    said = {
        Code.PROVED: f"a drop of more than {allowed:.4f} is ruled out",
        Code.NOT_DISPROVED: f"no drop of more than {allowed:.4f} was seen, but it could be as low as "
        f"{row['interval_low']:+.4f}{seen}",
        Code.NOT_SIGNIFICANT: f"more than the {allowed:.4f} allowed, but it may be chance{seen}",
        Code.NOT_RULED_OUT: f"a drop of more than {allowed:.4f} is not ruled out{seen}",
    }[code]
    return f"{begun} ({sure}{queries}): {said}"


def _evidence(row: Row, p: float | None, gate: GateConfig) -> str:
    if row["interval_low"] is None or p is None:
        return ""
    interval = f"{100 * (1 - gate.alpha):g} % interval {row['interval_low']:+.4f} to {row['interval_high']:+.4f}"
    adjusted = "adjusted " if gate.correction == "holm" and gate.rule == "regression" else ""
    return f"{interval}, {adjusted}p {p:.2g}, "

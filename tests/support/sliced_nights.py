"""A night that lost in one slice, with a check of another, published by the engine of the tests."""

from pathlib import Path

import sessions
from gated_nights import QUERIES, settings

from ndcg_spark.config import validate
from ndcg_spark.job.evaluate_inputs import EvaluationOutcome, evaluate
from ndcg_spark.nights.log import Night, committed

SLICES = {"language": ("de", "fr"), "size": ("big", "small"), "device": ("phone", "tablet")}
#: The slice that lost, which a warning names, and that of the check.
NAMED = {("language", "de"), ("size", "small")}
GATE = {
    "min_queries": 20,
    "check": [
        # Twice as much is a warning about a slice, which only German lost.
        {"runs": ["hybrid"], "cutoff": 3, "max_drop": 0.15},
        {"cutoff": 3, "max_drop": 0.9, "slice": "size=small"},
    ],
}


def published(folder: Path) -> tuple[EvaluationOutcome, Night]:
    """The outcome of the night, and the night as it is published."""
    sessions.engine()
    more = {"query_attributes": _slices(folder), "gate": GATE, "measures": ["precision"]}
    for date, worse in (("2026-11-19", 0), ("2026-11-20", QUERIES // 2)):
        night = settings(folder, date, worse=worse, cutoffs=[1, 3], **more)
        outcome = evaluate(validate(night, "test"), None if worse else "first")
    return outcome, committed(str(folder / "out"))[-1]


def _slices(folder: Path) -> dict[str, str]:
    """A file of attributes; the first half of the queries, which get worse, is German."""
    lines = ["query_id,attribute,value"]
    for attribute, values in SLICES.items():
        for n in range(QUERIES):
            at = n >= QUERIES // 2 if attribute == "language" else n % 2
            lines.append(f"q{n},{attribute},{values[at]}")
    (folder / "slices.csv").write_text("\n".join(lines), encoding="utf-8")
    return {"path": str(folder / "slices.csv")}

"""Nights of a gate, evaluated one after the other: what each came to, as plain data."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import sessions

from ndcg_spark.config import validate
from ndcg_spark.job.evaluate_inputs import evaluate

QUERIES = 60
GATE = {"check": [{"runs": ["hybrid"], "cutoff": 3, "max_drop": 0.01}]}


def write_night(
    folder: Path, *, worse: int = 0, regraded: int = 0, runs: Iterable[str] = ("hybrid", "bm25")
) -> dict[str, Any]:
    """Files of a night, and the paths of a configuration: so many queries of `hybrid` are worse, or judged anew."""
    judged = [
        (f"q{n}", doc, grade + (n < regraded))
        for n in range(QUERIES)
        for doc, grade in (("a", 2), ("b", 1))
    ]
    qrels = "".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in judged)
    lines = []
    for run in runs:
        for n in range(QUERIES):
            # Whole lists, of which the relevant document stands first, second or third; a worse one has it fourth.
            others = ["x", "y", "b"]
            place = 3 if run == "hybrid" and n < worse else n % 3
            documents = [*others[:place], "a", *others[place:]]
            lines += [
                f"q{n} Q0 {doc} {rank} {-rank} {run}\n" for rank, doc in enumerate(documents, 1)
            ]
    name = f"{worse}-{regraded}-{'-'.join(runs)}"
    for end, text in (("qrels", qrels), ("run", "".join(lines))):
        (folder / f"{name}.{end}").write_text(text, encoding="utf-8")
    return {
        "judgments": {"path": str(folder / f"{name}.qrels")},
        "results": {"path": str(folder / f"{name}.run")},
    }


def settings(
    folder: Path, date: str, gate: dict[str, Any] | None = None, **night: Any
) -> dict[str, Any]:
    """The settings of one night; `night` as for `write_night`, and other keys of the configuration."""
    made = {name: night.pop(name) for name in ("worse", "regraded", "runs") if name in night}
    paths = write_night(folder, **made)
    known = {
        "output": str(folder / "out"),
        "engine": "embedded",
        "cutoffs": [3],
        "gate": {**GATE, **(gate or {})},
    }
    return {**paths, **known, "date": date, **night}


def evaluated(_: Path, *nights: dict[str, Any]) -> list[dict[str, Any]]:
    """What each night came to, on the session of the tests: verdict, reason, exit_code, sentence and the like.

    A night with the key `accepted` is accepted for that reason.
    """
    sessions.engine()
    outcomes = []
    for night in nights:
        settings = {name: value for name, value in night.items() if name != "accepted"}
        outcome = evaluate(validate(settings, "test"), night.get("accepted"))
        (verdict,) = outcome.verdicts
        values = verdict.as_json()
        baselines = [date for baseline in values["baselines"] for date in baseline["nights"]]
        outcomes.append({**values, "nights": baselines, "evaluation_id": outcome.evaluation_id})
    return json.loads(json.dumps(outcomes, default=str))

"""Report scores about which an engine and plain Python disagree, and save their rows."""

import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.spot_check.expected import Definition
from ndcg_spark.spot_check.recompute import Difference, Outcome, Subject

#: The most differences that a file contains.
_MOST_WRITTEN = 1_000


def report_findings(
    engine: str,
    name: str,
    subject: Subject,
    outcome: Outcome,
    differences: Sequence[Difference],
    hint: str = "",
) -> str:
    """A message with the differences in an evaluation, a hint, and the file with their rows.

    `name` is the evaluation id, which becomes part of the file name.
    """
    sentence = _in_words(engine, len(outcome.lists), differences)
    saved = _write_case(engine, name, subject.definition, outcome, differences)
    return "; ".join(part for part in (sentence, hint, saved) if part)


def _in_words(engine: str, lists: int, differences: Sequence[Difference]) -> str:
    """The number of values that differ, with an example."""
    first = differences[0]
    cutoff = "" if first.cutoff is None else f"@{format_cutoff(first.cutoff)}"
    names = {"dataset": first.dataset, "run": first.run, "query_id": first.query_id}
    place = " ".join(f"{name}={value}" for name, value in names.items() if value)
    where = f" of {place}" if place else ""
    return (
        f"engine: {engine} and plain Python disagree about {len(differences)} value(s) "
        f"of {lists} list(s) and their means, "
        f"e.g. {first.column}{cutoff}{where}: {first.engine!r} and {first.python!r}"
    )


def _write_case(
    engine: str,
    name: str,
    definition: Definition,
    outcome: Outcome,
    differences: Iterable[Difference],
) -> str:
    """Write the lists that differ, their rows and both values to a file.

    Returns a sentence that names the file.
    """
    written = list(differences)[:_MOST_WRITTEN]
    differing = {(difference.run, difference.query_id) for difference in written}
    lists = []
    for pair in outcome.lists:
        if (pair.run, pair.query_id) in differing:
            judged = outcome.inputs.judged.get(pair.query, [])
            listed = outcome.inputs.listed.get(pair, [])
            lists.append({**pair._asdict(), "judgments": judged, "results": listed})
    case = {
        "engine": engine,
        "options": definition.convention.options(),
        "cutoffs": list(definition.cutoffs),
        "differences": [difference._asdict() for difference in written],
        "lists": lists,
    }
    path = Path(tempfile.gettempdir()) / f"ndcg-spark-not-verified-{name}.json"
    try:
        # The rows may be confidential.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(case, file, ensure_ascii=False, default=str, indent=1)
    except OSError as error:
        return f"the rows could not be saved ({error})"
    return f"the rows are in {path}, for the authors of the engine"

"""Runs that answered fewer judged queries than on their last good night; this never decides."""

from collections.abc import Iterable

from ndcg_spark.comparison.baselines import Baseline, Kind
from ndcg_spark.errors import InputError, StorageError
from ndcg_spark.gate.gate_inputs import GateInputs
from ndcg_spark.nights.log import Night
from ndcg_spark.tables.format import count


def fewer_answers(inputs: GateInputs, baselines: Iterable[Baseline]) -> list[str]:
    """A sentence for each such run: `bm25 has no results for 9 judged queries, but [...]`."""
    sentences = []
    for baseline in baselines:
        # Under different judgments, other queries are judged.
        is_comparable = bool(baseline.nights) and not baseline.has_other_judgments(inputs.tonight)
        if baseline.kind is not Kind.GOOD or not is_comparable:
            continue
        last = baseline.nights[-1]
        try:
            now, before = _unanswered(inputs, inputs.tonight), _unanswered(inputs, last)
        except (InputError, StorageError):
            # A comparison with this night says why it cannot be read.
            continue
        for run in filter(baseline.is_for, inputs.runs):
            if run in before and now.get(run, 0) > before[run]:
                sentences.append(_sentence(run, now[run], before[run], last))
    return sentences


def _unanswered(inputs: GateInputs, night: Night) -> dict[str, int]:
    """The number of judged queries without results, by run."""
    missing = {}
    for row in inputs.scores.mean_rows(night):
        missing[row["run"]] = row["missing_queries"] or 0
    return missing


def _sentence(run: str, now: int, before: int, last: Night) -> str:
    queries = count(now, "judged query", "judged queries")
    was = f"it lacked {before:,}" if before else "it lacked none"
    return f"{run} has no results for {queries}; on {last.evaluated_on}, the last good night, {was}"

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
        if baseline.kind is not Kind.GOOD or not baseline.nights:
            continue
        # Under different judgments, other queries are judged.
        if baseline.has_other_judgments(inputs.tonight):
            continue
        try:
            sentences.extend(_since_last_night(inputs, baseline))
        except (InputError, StorageError):
            # A comparison with this night says why it cannot be read.
            continue
    return sentences


def _since_last_night(inputs: GateInputs, baseline: Baseline) -> list[str]:
    """The sentences about the runs that are compared with these nights."""
    last = baseline.nights[-1]
    now = _unanswered(inputs, inputs.tonight)
    before = _unanswered(inputs, last)
    sentences = []
    for run in inputs.runs:
        is_in_both = run in now and run in before
        if baseline.is_for(run) and is_in_both and now[run] > before[run]:
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

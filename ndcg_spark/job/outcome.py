"""What remains of an evaluation: the outcome that is printed, and what the log keeps of it."""

import dataclasses
import functools
import platform
from collections.abc import Sequence
from typing import Any

import pyspark

import ndcg_spark
from ndcg_spark.contract.check import CheckedTables
from ndcg_spark.convention.measures import MeasureSet
from ndcg_spark.convention.parsing import measure_set_of
from ndcg_spark.gate.verdict import Verdict, exit_code_of
from ndcg_spark.inputs.read import Source
from ndcg_spark.job.setup import Context
from ndcg_spark.text import masked_within


@dataclasses.dataclass(frozen=True)
class EvaluationOutcome:
    """The outcome of an evaluation, which `--format json` prints."""

    evaluation_id: str
    convention: str
    formula: str
    engine: str
    #: The rows of the table DATASET_SCORES for all queries, by dataset, run and cutoff, the whole ranking last, with
    #: ndcg after the key. Besides NDCG, they have only the requested measures.
    dataset_scores: list[dict[str, Any]]
    counts: dict[str, int]
    #: How many rows of which table were rejected for which reason, with an example each.
    rejected: list[dict[str, Any]]
    output: str | None
    #: The duration of each step in seconds.
    seconds: dict[str, float]
    #: The requested measures, each with its cutoff, such as precision@5; empty for NDCG alone.
    measures: list[str] = dataclasses.field(default_factory=list)
    #: The verdict on each night; empty without a gate.
    verdicts: Sequence[Verdict] = ()
    #: What the runs are ordered by, such as ndcg@10.
    headline: str | None = None
    #: The rows of DATASET_SCORES of slices, by attribute and value and then as the others, which are of all queries.
    slice_scores: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    #: The datasets that are judged but have no results, and so no scores.
    datasets_without_results: list[str] = dataclasses.field(default_factory=list)

    @property
    def datasets(self) -> list[str]:
        """The datasets that have scores, sorted."""
        return sorted({row["dataset"] for row in self.dataset_scores})

    @functools.cached_property
    def measure_set(self) -> MeasureSet:
        """The measures, each with the cutoffs at which it was computed."""
        return measure_set_of(self.measures, self.headline)

    @property
    def exit_code(self) -> int:
        """0, or the exit code that follows from the verdicts."""
        return exit_code_of(self.verdicts)


def night_record(context: Context, checked: CheckedTables) -> dict[str, Any]:
    """What the log keeps of an evaluation, as JSON values without secrets: what was computed from what.

    `seconds` has the duration of each step so far.
    """
    config = context.config
    record = {
        "evaluation_id": context.evaluation.evaluation_id,
        "evaluated_on": config.date.isoformat(),
        "configuration": {**config.model_dump(mode="json", exclude={"convention"}), "file": config.file},
        "convention": config.convention.label,
        "options": config.convention.options(),
        "formula": config.convention.formula,
        "datasets": [config.dataset if name is None else name for name in checked.datasets],
        "datasets_without_results": checked.datasets_without_results,
        "engine": context.engine.name,
        "versions": {
            "ndcg_spark": ndcg_spark.__version__,
            "pyspark": pyspark.__version__,
            "python": platform.python_version(),
        },
        "inputs": {
            # Inputs with equal fingerprints have the same rows, in any order and format.
            source.name: {
                "rows": counts.rows,
                "fingerprint": counts.fingerprint,
                "fingerprints": {name or config.dataset: each for name, each in counts.fingerprints.items()},
                **_files(source),
            }
            for source, counts in zip(context.sources, (checked.judgment_counts, checked.result_counts), strict=True)
        }
        | {other.name: _files(other) for source in context.sources for other in source.sources if other is not source},
        "counts": checked.counts(len(context.evaluation.cutoffs)),
        "rejected": [dataclasses.asdict(breach) for breach in checked.breaches],
        "seconds": context.clock.with_total(),
    }
    # Paths and server names are kept; passwords and keys in them are not.
    return {name: masked_within(value) for name, value in record.items()}


def _files(source: Source) -> dict[str, Any]:
    """Where a table came from, and what was recognised in it."""
    return {
        "format": source.format,
        "files": [
            {"path": file.path, "version": file.snapshot.version} | ({"size": file.size} if file.size else {})
            if file.snapshot
            else {"path": file.path, "size": file.size}
            for file in source.files
        ],
        "recognised": list(source.notes),
    }

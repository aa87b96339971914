"""The record of an evaluation: its configuration, convention, inputs, counts, and the versions that computed it."""

import dataclasses
import datetime
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import pyspark

import ndcg_spark
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.tables import CheckedTables
from ndcg_spark.engine import Engine
from ndcg_spark.inputs.read import Source
from ndcg_spark.masking import masked_within
from ndcg_spark.scoring.evaluation import Evaluation


def commit_record(
    config: EvaluationConfig,
    evaluation: Evaluation,
    opened: Engine,
    sources: Sequence[Source],
    checked: CheckedTables,
    seconds: Mapping[str, float],
) -> dict[str, Any]:
    """The record of a night as JSON values without secrets; `seconds` has the duration of each step so far."""
    record = {
        "evaluation_id": evaluation.evaluation_id,
        "evaluated_on": config.date.isoformat(),
        "committed_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "configuration": config.model_dump(mode="json", exclude={"convention"}),
        "convention": config.convention.label,
        "options": config.convention.options(),
        "formula": config.convention.formula,
        "datasets": [config.dataset if name is None else name for name in checked.datasets],
        "engine": opened.name,
        "versions": {
            "ndcg_spark": ndcg_spark.__version__,
            "pyspark": pyspark.__version__,
            "python": platform.python_version(),
        },
        "inputs": {
            source.name: {
                **_input(source, counts.rows, counts.fingerprint),
                "fingerprints": {name or config.dataset: each for name, each in counts.fingerprints.items()},
            }
            for source, counts in zip(sources, checked.both_counts, strict=True)
        }
        | {other.name: _files(other) for source in sources for other in source.sources if other is not source},
        # The smallest and the largest of each dataset, for what judging more documents could change.
        "grades": {dataset or config.dataset: both for dataset, both in checked.judgment_counts.grades.items()},
        "counts": checked.counts(len(evaluation.cutoffs)),
        "rejected": [dataclasses.asdict(breach) for breach in checked.breaches],
        "seconds": dict(seconds),
    }
    # Paths and server names are kept; passwords and keys in them are not.
    return {name: masked_within(value) for name, value in record.items()}


def _input(source: Source, rows: int, fingerprint: str) -> dict[str, Any]:
    """What identifies an input: inputs with equal fingerprints have the same rows, in any order and format."""
    return {
        "rows": rows,
        "fingerprint": fingerprint,
        **_files(source),
    }


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

"""The commit record: what was evaluated, how, from what and by which versions."""

import dataclasses
import datetime
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import pyspark

import ndcg_spark
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.checked import Checked
from ndcg_spark.engine import Engine
from ndcg_spark.inputs.reading import Source
from ndcg_spark.masking import masked_within
from ndcg_spark.scoring.evaluation import Evaluation


def commit_record(
    config: EvaluationConfig,
    plan: Evaluation,
    opened: Engine,
    sources: Sequence[Source],
    checked: Checked,
    seconds: Mapping[str, float],
) -> dict[str, Any]:
    """What a night's record says, in JSON and without secrets; `seconds` are of the steps before the commit."""
    record = {
        "evaluation_id": plan.evaluation_id,
        "evaluated_on": config.date.isoformat(),
        "committed_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "configuration": config.model_dump(mode="json", exclude={"convention"}),
        "convention": config.convention.label,
        "options": config.convention.options(),
        "formula": config.convention.formula,
        "engine": opened.name,
        "versions": {
            "ndcg_spark": ndcg_spark.__version__,
            "pyspark": pyspark.__version__,
            "python": platform.python_version(),
        },
        "inputs": {
            source.name: _input(source, counts.rows, counts.fingerprint)
            for source, counts in zip(sources, checked.both, strict=True)
        },
        "counts": checked.counts(len(plan.cutoffs)),
        "rejected": [dataclasses.asdict(breach) for breach in checked.breaches],
        "seconds": dict(seconds),
    }
    # Paths and servers are kept, and who logs in to them is not.
    return {name: masked_within(value) for name, value in record.items()}


def _input(source: Source, rows: int, fingerprint: str) -> dict[str, Any]:
    """Equal fingerprints: the same rows, in whatever order and format."""
    return {
        "format": source.format,
        "rows": rows,
        "fingerprint": fingerprint,
        "files": [{"path": file.path, "size": file.size} for file in source.files],
    }

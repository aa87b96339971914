"""What a gate needs before anything is read, and what an evaluation knows of its verdicts at the end.

What runs the gate is in `gate_nights`, which is only imported where there is one: its statistics take long to import.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql.types import DoubleType

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate.config import GateConfig
from ndcg_spark.gate.verdict import Verdict
from ndcg_spark.job.outcome import Tell
from ndcg_spark.schemas import QUERY_SCORES
from ndcg_spark.text import did_you_mean


@dataclasses.dataclass(frozen=True)
class GatedNights:
    """The verdicts on the nights of one evaluation."""

    verdicts: Sequence[Verdict]
    #: What the record of each dataset's night has of them.
    of_records: Mapping[str, Mapping[str, Any]]
    #: The dataset, the run and the id of the queries that lost most, if they were requested.
    lost: Sequence[tuple[str, str, str]] = ()


def refuse_unusable(config: EvaluationConfig, accepted: str | None) -> None:
    """ConfigurationError where a gate cannot decide: it measures what is not there, or its verdict has no place."""
    refuse_without_reason(accepted)
    if config.gate is None:
        if accepted is not None:
            raise ConfigurationError("arguments: --accept-baseline needs a gate; add [gate] to the configuration")
        return
    if config.output is None:
        raise ConfigurationError("gate: a verdict is published with its night, and there is no output; give --output")
    refuse_unknown_measures(config.gate)


def refuse_without_reason(accepted: str | None) -> None:
    """ConfigurationError where a night is to be accepted without a reason."""
    if accepted is not None and not accepted.strip():
        raise ConfigurationError("arguments: --accept-baseline needs a reason, which the record keeps; say why")


def refuse_unknown_measures(gate: GateConfig) -> None:
    """ConfigurationError for a check of a measure that is not a column of scores."""
    known = [field.name for field in QUERY_SCORES if field.dataType == DoubleType()]
    for number, check in enumerate(gate.check):
        if check.measure not in known:
            near = did_you_mean(check.measure, known)
            raise ConfigurationError(
                f"gate.check.{number}.measure: unknown measure {check.measure!r}{near}; choose {', '.join(known)}"
            )


def report_verdicts(verdicts: Sequence[Verdict], tell: Tell) -> None:
    """Report each verdict in a sentence, and its warnings."""
    for verdict in verdicts:
        of_dataset = f"{verdict.dataset}: " if len(verdicts) > 1 else ""
        for warning in verdict.warnings:
            tell("warning", of_dataset + warning)
        tell("gate", f"{of_dataset}{verdict.in_words}: {verdict.reason}")
        if verdict.accepted is not None:
            night = f"{verdict.dataset} of {verdict.evaluated_on}"
            tell("accepted", f"{night}, as a baseline of later nights: {verdict.accepted}")

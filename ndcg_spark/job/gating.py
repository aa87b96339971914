"""What a gate must have before anything is read, and what an evaluation knows of its verdicts at the end.

What judges is in `judging_tonight`, which is only imported where there is a gate: its statistics take long to import.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql.types import DoubleType

from ndcg_spark.comparison.verdict import Verdict
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate_config import GateConfig
from ndcg_spark.job.outcome import Tell
from ndcg_spark.schemas import QUERY_SCORES
from ndcg_spark.text import did_you_mean


def refuse_without_meaning(config: EvaluationConfig, accepted: str | None) -> None:
    """ConfigurationError where a gate cannot judge: it measures nothing that there is, or its verdict has no place."""
    refuse_without_reason(accepted)
    if config.gate is None:
        if accepted is not None:
            raise ConfigurationError("arguments: --accept-baseline needs a gate; add [gate] to the configuration")
        return
    if config.output is None:
        raise ConfigurationError("gate: a verdict is published with its night, and there is no output; give --output")
    refuse_unknown_measures(config.gate)


def refuse_without_reason(accepted: str | None) -> None:
    """ConfigurationError where a night is to be accepted and nobody says why."""
    if accepted is not None and not accepted.strip():
        raise ConfigurationError("arguments: --accept-baseline has no reason; say why, as the record keeps it")


def refuse_unknown_measures(gate: GateConfig) -> None:
    """ConfigurationError for a check of a measure that is no column of scores."""
    known = [field.name for field in QUERY_SCORES if field.dataType == DoubleType()]
    wrong = [(place, check.measure) for place, check in enumerate(gate.check) if check.measure not in known]
    if wrong:
        place, name = wrong[0]
        raise ConfigurationError(
            f"gate.check.{place}.measure: {name!r} is not a measure{did_you_mean(name, known)}; "
            f"one of {', '.join(known)}"
        )


@dataclasses.dataclass(frozen=True)
class Gated:
    """The verdicts on the nights of one evaluation."""

    verdicts: Sequence[Verdict]
    #: What the record of each dataset's night has of them.
    of_records: Mapping[str, Mapping[str, Any]]
    #: The dataset, the run and the id of the queries that lost most, if they were asked for.
    lost: Sequence[tuple[str, str, str]] = ()


def tell_verdicts(verdicts: Iterable[Verdict], tell: Tell) -> None:
    """Tell each verdict in a sentence, and its warnings."""
    every = list(verdicts)
    for verdict in every:
        of_dataset = f"{verdict.dataset}: " if len(every) > 1 else ""
        for warning in verdict.warnings:
            tell("warning", of_dataset + warning)
        tell("gate", f"{of_dataset}{verdict.in_words}: {verdict.reason}")
        if verdict.accepted is not None:
            night = f"{verdict.dataset} of {verdict.evaluated_on}"
            tell("accepted", f"{night}, as a baseline of later nights: {verdict.accepted}")

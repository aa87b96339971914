"""The same data scored under every preset, which shows why two tools disagree."""

import dataclasses
from typing import Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.parsing import parse_measures
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConventionError, InputError, MissingColumnError
from ndcg_spark.job.evaluate import evaluate_on
from ndcg_spark.job.setup import engine_for
from ndcg_spark.steps import hidden, report_step


@dataclasses.dataclass(frozen=True)
class PresetScores:
    """The dataset scores under one preset, or the reason why the preset refuses the data."""

    preset: str
    rows: list[dict[str, Any]]
    refused: str | None = None


def compare_presets(config: EvaluationConfig) -> list[PresetScores]:
    """The configured data scored under every preset, in the order of PRESETS. Presets with equal options run once.

    If the results have no ranks, a preset that breaks ties by rank breaks them by document id, as its name then says. A
    preset that does not have a score at one of the cutoffs refuses them. InputError if every preset refuses the data.
    """
    options = parse_measures(config.measures, None, ()).options if config.measures else {}
    scored: dict[Convention, PresetScores] = {}
    compared = []
    with engine_for(config) as engine:
        for name in PRESETS:
            convention = Convention.preset(name).replace(**options)
            if convention not in scored:
                scored[convention] = _scored(engine, config, convention)
                report_step("scored", name)
            same = scored[convention]
            changed = same.preset.partition(" ")[1:]
            compared.append(dataclasses.replace(same, preset=name + "".join(changed)))
    if all(entry.refused for entry in compared):
        raise InputError(str(compared[0].refused))
    return compared


def _scored(engine: Engine, config: EvaluationConfig, convention: Convention) -> PresetScores:
    changed = {"convention": convention, "query_attributes": None}
    try:
        with hidden():
            outcome = evaluate_on(engine, config.model_copy(update=changed))
    except (InputError, ConventionError) as error:
        if convention.ties == "rank" and isinstance(error, MissingColumnError) and error.column == "rank":
            return _scored(engine, config, convention.replace(ties="doc_id_asc"))
        return PresetScores(convention.label, [], str(error))
    return PresetScores(outcome.convention, outcome.dataset_scores)

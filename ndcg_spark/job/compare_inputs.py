"""Inputs compared, checked as for an evaluation: two sets of judgments or results, or one under every preset."""

import dataclasses
from typing import Any, NamedTuple

import pandas as pd
from pyspark.sql import DataFrame

from ndcg_spark import agreement
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.check import check_judgments, check_lists
from ndcg_spark.contract.limits import refuse_in_lists
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import by_run
from ndcg_spark.convention.parsing import parse_measures
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConventionError, InputError, MissingColumnError
from ndcg_spark.inputs.engine_files import materializer
from ndcg_spark.inputs.read import Source, read_judgments, refuse_changed
from ndcg_spark.job.evaluate import evaluate_on
from ndcg_spark.job.inputs import (
    PlanRefusedError,
    adapted,
    engine_for,
    read_inputs,
    report_read,
    results_source,
    translated_failures,
)
from ndcg_spark.list_comparison import checked_cutoffs, compared_runs, list_changes, most_changed, summarized
from ndcg_spark.steps import hidden, report_step


def compare_judgments(config: EvaluationConfig, other: str) -> pd.DataFrame:
    """The judgments of the configuration, A, compared with those of the path `other`, B.

    With results, the runs of the configuration are ranked under both at its deepest cutoff.
    """

    def read(engine: Engine, paths: list[str]) -> DataFrame:
        table = config.judgments.model_copy(update={"path": paths}).on(config.date)
        source = read_judgments(engine, table, config.convention.gain != "judged")
        with translated_failures([source]):
            good, counts, _ = check_judgments(source, config)
        report_read(source, counts)
        return good

    with engine_for(config) as engine:
        convention, results = config.convention, None
        if config.results:
            context = read_inputs(engine, config)
            a, convention = context.checked.judgments, context.config.convention
            results = context.checked.needed_results
            # Where scores decide, ranks that contradict them are no reason to refuse the results.
            results = results if convention.needs_rank else results.drop("rank")
        else:
            a = read(engine, config.judgments.path)
        b = read(engine, [other])
        with translated_failures():
            return agreement.compare_judgments(a, b, results, config.cutoffs[-1], convention, dataset=config.dataset)


@dataclasses.dataclass(frozen=True)
class ListComparison:
    """How much the lists changed, as plain data."""

    #: The rows of `summarized`, by dataset, run and cutoff.
    rows: list[dict[str, Any]]
    #: The rows of LIST_CHANGES of the queries that changed most, for each run and cutoff, the most changed first.
    queries: list[dict[str, Any]]


class _Side(NamedTuple):
    """The checked results of one side: the good rows, and those of them that are not too deep."""

    source: Source
    convention: Convention
    good: DataFrame
    needed: DataFrame
    runs: set[str]


def compare_lists(
    old: EvaluationConfig, new: EvaluationConfig, baseline: str | None, persistence: float, queries: int
) -> ListComparison:
    """Compare the lists of new results with those of old results.

    `queries` is how many of the most changed queries are named for each run and cutoff.
    ConfigurationError if the baseline or every run is unknown, or ties need judgments.
    """
    cutoffs = checked_cutoffs(old.convention, old.cutoffs, persistence)
    with engine_for(old) as engine:
        sides = [_side(engine, config) for config in (new, old)]
        sources = [side.source for side in sides]
        if len({"dataset" in side.good.columns for side in sides}) > 1:
            raise InputError("results: only one side has a column dataset; name it in both or in neither")
        runs = compared_runs(sides[0].runs, sides[1].runs, baseline)
        how = (runs, baseline, old.convention, cutoffs, persistence, old.dataset)
        try:
            with translated_failures(sources):
                changes = list_changes(sides[0].needed, sides[1].needed, *how)
                materialize = materializer(engine, "list_changes")
                # It is read twice.
                table = materialize([changes]) if materialize else changes.persist()
                rows = [row.asDict() for row in summarized(table).collect()]
                most = [row.asDict() for row in most_changed(table, queries).collect()] if queries else []
        except PlanRefusedError:
            for side in sides:
                with translated_failures(sources):
                    refuse_in_lists(side.source, [side.good], side.convention)
            raise
        refuse_changed(sources)
    report_step("compared", f"{len(runs):,} runs with {baseline or 'the runs of the same names'}")
    most.sort(key=lambda row: (*by_run(row), row["place"]))
    return ListComparison(sorted(rows, key=by_run), most)


def _side(engine: Engine, config: EvaluationConfig) -> _Side:
    source = results_source(engine, config)
    config = adapted(config, source)
    with translated_failures([source]):
        good, counts, needed = check_lists(source, config)
    report_read(source, counts)
    return _Side(source, config.convention, good, needed, {run.run for run in counts.runs})


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

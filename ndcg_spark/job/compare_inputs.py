"""Compare inputs that are checked as for an evaluation: two sets of judgments or results, or the
same data under every preset.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame

from ndcg_spark.comparison import agreement
from ndcg_spark.comparison.list_changes import KEY, checked_cutoffs, compared_runs, list_changes
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.changes import Seen, refuse_changed
from ndcg_spark.contract.counting import check_judgments
from ndcg_spark.contract.limits import summary
from ndcg_spark.contract.scan import Rejection
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import NDCG_ONLY
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConventionError, InputError, MissingColumnError
from ndcg_spark.inputs.source_tables import read_judgments
from ndcg_spark.job.checked_lists import counted_refusals, read_lists
from ndcg_spark.job.evaluate_inputs import evaluate
from ndcg_spark.job.inputs import (
    Context,
    count_refusals,
    engine_for,
    read_inputs,
    report_read,
    translated_failures,
)
from ndcg_spark.schemas import AGREEMENTS, query_key
from ndcg_spark.scoring.evaluation import query_scores
from ndcg_spark.scoring.lists import keep_judged_queries
from ndcg_spark.scoring.prepare import prepare_judgments
from ndcg_spark.steps import hidden, report_step
from ndcg_spark.tables.writers import to_pandas
from ndcg_spark.voices import Notice


def compare_judgments(
    engine: Engine, a: EvaluationConfig, b: EvaluationConfig
) -> tuple[pa.Table, Convention]:
    """The table AGREEMENTS for two configurations' judgments, and the convention that is used.

    If the first has results, their runs are ranked under both, at its deepest cutoff.
    """
    context = read_inputs(engine, a) if a.results else None
    convention = context.evaluation.convention if context else a.convention
    sides, seen = _both_judgments(engine, context, a, b)
    with translated_failures():
        rows = agreement.grade_pairs(sides[0], sides[1], a.convention, a.dataset)
        pairs = rows.toArrow().to_pandas()
    means = pd.DataFrame({"dataset": []})
    if context:
        means = _means_under_both(context, sides)
    with translated_failures():
        refuse_changed(seen)
    agreements = _agreements(pairs, means)
    # As in pandas, nan is null.
    frame = pd.DataFrame(agreements, columns=AGREEMENTS.names)
    return pa.Table.from_pandas(frame, AGREEMENTS, preserve_index=False), convention


def _both_judgments(
    engine: Engine, context: Context | None, a: EvaluationConfig, b: EvaluationConfig
) -> tuple[list[DataFrame], list[Seen]]:
    """Both sides' valid judgments, and all inputs that were read.

    The judgments of `a` are those of the context, if there is one.
    """
    sides: list[DataFrame] = []
    seen: list[Seen] = []
    unread = [a, b]
    if context is not None:
        sides.append(context.checked.judgments)
        seen.extend(context.checked.seen)
        unread = [b]
    needs_grades = a.convention.gain != "judged"
    for config in unread:
        source = read_judgments(engine, config.judgments.on(config.date), needs_grades=needs_grades)
        with translated_failures([source]):
            tests = prepare_judgments(source, config.convention)
            good, counts, _ = check_judgments(source, config, tests)
        report_read(source, counts)
        sides.append(good)
        seen.append(Seen(source, counts.fingerprints))
    if query_key(sides[0].columns) != query_key(sides[1].columns):
        raise InputError(
            "judgments: only one of the two sets has a column dataset; "
            "name it in both or in neither"
        )
    return sides, seen


def _means_under_both(context: Context, sides: Sequence[DataFrame]) -> pd.DataFrame:
    """Each run's mean NDCG under the judgments of either side, at the deepest cutoff."""
    deepest = context.config.cutoffs[-1:]
    evaluation = dataclasses.replace(context.evaluation, cutoffs=deepest, measures=NDCG_ONLY)
    results, runs = context.checked.needed_results, context.checked.runs()
    with count_refusals(context):
        scores = []
        for side in sides:
            judged = keep_judged_queries(results, side)
            scores.append(query_scores(side, judged, runs, evaluation))
        means: pd.DataFrame = agreement.mean_scores(*scores).toArrow().to_pandas()
    if means.empty:
        raise InputError("judgments: no query is judged by both sets; use the same query ids")
    return means


def _agreements(pairs: pd.DataFrame, means: pd.DataFrame) -> list[dict[str, Any]]:
    """A row of AGREEMENTS for each dataset.

    Warns if the two sides have no judged documents in common.
    """
    means_by_dataset = dict(iter(means.groupby("dataset")))
    rows = []
    for name, own in pairs.groupby("dataset"):
        rows.append({"dataset": name, **agreement.agreement(own, means_by_dataset.get(name))})
    different = "ids such as q1 and 1, or 007 and 7, are different"
    for row in rows:
        if not row["pairs"]:
            what = f"{row['dataset']}: no document of any query is judged by both"
            report_step("warning", f"{what}; {different}")
    return rows


def compare_lists(
    engine: Engine,
    old: EvaluationConfig,
    new: EvaluationConfig,
    baseline: str | None,
    persistence: float,
) -> pd.DataFrame:
    """The table LIST_CHANGES of new and old results, in its order.

    Raises ConfigurationError if the baseline or every run is unknown, or if ties need judgments.
    """
    cutoffs = checked_cutoffs(old.convention, old.cutoffs, persistence)
    now = read_lists(engine, new)
    before = read_lists(engine, old)
    if ("dataset" in now.results.columns) != ("dataset" in before.results.columns):
        raise InputError(
            "results: only one side has a column dataset; name it in both or in neither"
        )
    runs = compared_runs(now.runs, before.runs, baseline)
    changes = list_changes(
        now.results,
        before.results,
        runs,
        baseline,
        (now.convention, before.convention),
        cutoffs,
        persistence,
        old.dataset,
    )
    with counted_refusals(now, before):
        rows = to_pandas(changes)
        refuse_changed([*now.seen, *before.seen])
    what = "1 run" if len(runs) == 1 else f"{len(runs):,} runs"
    report_step("compared", f"{what} with {baseline or 'the old results'}")
    return rows.sort_values([*KEY, "query_id"], ignore_index=True)


@dataclasses.dataclass(frozen=True)
class PresetScores:
    """The dataset scores under one preset, or the reason why the preset refuses the data."""

    preset: str
    rows: list[dict[str, Any]]
    refused: Notice | None = None
    #: The input rows that were left out, in the form used by EvaluationOutcome.
    rejected: Sequence[Mapping[str, Any]] = ()


def compare_presets(
    config: EvaluationConfig, changed: Mapping[str, Any] | None = None
) -> list[PresetScores]:
    """The configured data, scored under every preset, in the order of PRESETS.

    `changed` are options to set in every preset. If the results have no ranks, a preset that breaks
    ties by rank breaks them by document id instead, and its name shows that. A preset that has no
    score at one of the cutoffs refuses the data. Raises InputError if every preset refuses the
    data.
    """
    compared = []
    # Nothing is published, whatever the configuration says.
    unused = ("output", "documents", "gate", "query_weights", "query_attributes")
    config = config.model_copy(update=dict.fromkeys(unused))
    options = {**config.measure_set.options, **(changed or {})}
    with engine_for(config) as engine:
        for name in PRESETS:
            scores = _scored(engine, config, name, options)
            compared.append(scores)
            if scores.refused is None:
                report_step("scored", name)
    first = compared[0].refused
    if first is not None and all(entry.refused for entry in compared):
        raise InputError(first.sentence, first.advice, first.option)
    return compared


def _scored(
    engine: Engine, config: EvaluationConfig, preset: str, options: Mapping[str, Any]
) -> PresetScores:
    """The scores under a preset with these options."""
    convention = Convention.preset(preset)
    try:
        convention = convention.replace(**options)
        with hidden():
            outcome = evaluate(config.model_copy(update={"convention": convention}), engine=engine)
    except (InputError, ConventionError) as error:
        lacks_ranks = isinstance(error, MissingColumnError) and error.column == "rank"
        if lacks_ranks and convention.ties == "rank":
            return _scored(engine, config, preset, {**options, "ties": "doc_id_asc"})
        why = Notice(error.sentence, error.advice, error.option)
        return PresetScores(convention.label, [], why)
    for entry in outcome.rejected:
        what = f"{entry['rows']:,} rows of {entry['table']}: {summary([Rejection(**entry)])}"
        report_step("rejected", f"{outcome.convention}: {what}")
    return PresetScores(outcome.convention, outcome.dataset_scores, rejected=outcome.rejected)

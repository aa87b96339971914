"""Inputs that are not scored: checked as for an evaluation, searched for documents to judge, or
converted.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

from pyspark.sql import functions as F

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.counting import check_lists, refuse_duplicates
from ndcg_spark.contract.limits import refuse_category
from ndcg_spark.convention.measures import NDCG_ONLY
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.errors import InputError, NdcgSparkError, StorageError
from ndcg_spark.inputs.source_tables import read_judgments, read_results, without_broken
from ndcg_spark.job.inputs import (
    Context,
    count_refusals,
    engine_for,
    partitions_for,
    read_inputs,
    refuse_low_judged_rates,
    results_source,
    scores_by_batch,
    translated_failures,
)
from ndcg_spark.job.to_judge import KEY, first_to_judge
from ndcg_spark.nights.store import Store
from ndcg_spark.scoring.evaluation import dataset_scores, to_judge
from ndcg_spark.scoring.prepare import prepare_lists
from ndcg_spark.tables.table import split_slices
from ndcg_spark.tolerance import DECIMALS
from ndcg_spark.voices import Notice

_RATE = ("dataset", "run", "cutoff", "judged_rate")


@contextlib.contextmanager
def _checked(config: EvaluationConfig) -> Iterator[Context]:
    """The checked inputs, as long as their engine is open."""
    with engine_for(config, partitions=partitions_for(config)) as engine:
        try:
            context = read_inputs(engine, config)
        except InputError as error:
            other = None
            if error.table == "judgments":
                other = _fault_of_results(engine, config)
            if other is None:
                raise
            problems = [Notice(one.sentence, one.advice, one.option) for one in (error, other)]
            raise InputError.of_problems("inputs", problems) from error
        with translated_failures(context.sources):
            # Duplicates are refused at any rank.
            refuse_duplicates(context.checked, *context.sources, context.evaluation.convention)
            yield context


def _fault_of_results(engine: Engine, config: EvaluationConfig) -> NdcgSparkError | None:
    """What is wrong with the results, whatever the judgments are; None if nothing is."""
    try:
        results = results_source(engine, config)
        with translated_failures([results]):
            check_lists(results, config, prepare_lists(results, results.without, config.options))
    except NdcgSparkError as error:
        return error
    return None


def check_inputs(config: EvaluationConfig) -> dict[str, Any]:
    """Validate both tables by the rules of the configured convention; the result is for JSON."""
    with _checked(config) as context:
        checked = context.checked
        # The judged rates are those at the deepest cutoff.
        evaluation = dataclasses.replace(
            context.evaluation, cutoffs=config.cutoffs[-1:], measures=NDCG_ONLY
        )
        at_deepest = dataclasses.replace(context, evaluation=evaluation)
        means: list[dict[str, Any]] = []
        with count_refusals(at_deepest):
            for batch in scores_by_batch(at_deepest):
                table = dataset_scores(batch.query_scores, batch.runs, evaluation).select(*_RATE)
                means.extend(row.asDict() for row in table.collect())
        rows = split_slices(means).all_queries
        # While the engine is open, because it reads the examples for the message.
        refuse_low_judged_rates(config, checked, rows)
    return {
        "counts": checked.input_counts(),
        "rejected": [dataclasses.asdict(rejection) for rejection in checked.rejections],
        "datasets_without_results": checked.datasets_without_results,
        "judged_rate": rows,
    }


def documents_to_judge(config: EvaluationConfig, limit: int) -> list[dict[str, Any]]:
    """The first rows of TO_JUDGE for the inputs, at most `limit`."""
    with _checked(config) as context:
        checked = context.checked
        # `unjudged=drop` removes unjudged documents from the lists, so none would be found.
        convention = context.evaluation.convention.replace(unjudged="zero")
        evaluation = dataclasses.replace(context.evaluation, convention=convention)
        results = checked.of_judged_queries(checked.needed_results)
        table = to_judge(checked.judgments, results, evaluation)
        # There may be millions, so the engine chooses the first ones, and `first_to_judge` sorts
        # these as it does for nights.
        heaviest = F.round("weight", DECIMALS).desc()
        first = table.orderBy(heaviest, *KEY).limit(limit)
        return first_to_judge(first.toArrow(), limit)


def convert(config: EvaluationConfig, folder: str) -> int:
    """Write the judgments, or the results if there are no judgments, to a new folder as Parquet.

    Returns the number of rows.
    """
    store = Store(folder)
    if store.files("", suffix=""):
        raise StorageError(f"output: there are files in {store.location}; name a new folder")
    with open_engine("embedded") as engine:
        if config.judgments:
            source = read_judgments(engine, config.judgments, needs_grades=False)
        else:
            # With order=file, the positions of the rows are written as ranks.
            is_ordered = config.convention.order == "file"
            source = read_results(engine, config.results, is_ordered=is_ordered)
        with translated_failures([source]):
            refuse_category(source)
            without_broken(source).write.parquet(store.for_engine(""), mode="append")
            return engine.session.read.parquet(store.for_engine("")).count()

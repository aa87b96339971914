"""Inputs that are not scored: checked as for an evaluation, searched for documents to judge, or converted."""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

from pyspark.sql import functions as F

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.check import CheckedTables, check_tables
from ndcg_spark.contract.limits import refuse_duplicates
from ndcg_spark.convention.measures import NDCG_ONLY
from ndcg_spark.engine import open_engine
from ndcg_spark.errors import StorageError
from ndcg_spark.inputs.read import read_judgments, read_results, without_broken
from ndcg_spark.job.scores import (
    counted_refusals,
    refuse_unjudged,
    report_rows_read,
    results_to_score,
    scores_by_part,
    sorted_rows,
    warn_of_input,
)
from ndcg_spark.job.setup import Context, context_of, engine_for, translated_failures
from ndcg_spark.nights.store import Store
from ndcg_spark.schemas import TO_JUDGE
from ndcg_spark.scoring.evaluation import dataset_scores, to_judge
from ndcg_spark.tables.sorting import DECIMALS

_RATE = ("dataset", "run", "cutoff", "judged_rate")


@contextlib.contextmanager
def _checked(config: EvaluationConfig) -> Iterator[tuple[Context, CheckedTables]]:
    """Both tables, checked on an open engine.

    A document that occurs twice for one query is refused at any depth, unless an option merges its rows.
    """
    with engine_for(config) as engine:
        context = context_of(engine, config)
        with translated_failures(context.sources):
            checked = check_tables(*context.sources, context.config)
            refuse_duplicates(checked, *context.sources, context.config.convention)
        report_rows_read(context.sources, checked)
        yield context, checked


def check_inputs(config: EvaluationConfig) -> dict[str, Any]:
    """Validate both tables by the rules of the configured convention: for JSON.

    Returns `counts`, `rejected`, `datasets_without_results` and `judged_rate`.
    """
    with _checked(config) as (context, checked):
        warn_of_input(context.sources, checked, context.config)
        deepest = dataclasses.replace(context.evaluation, cutoffs=config.cutoffs[-1:], measures=NDCG_ONLY)
        with counted_refusals(context, checked, deepest):
            parts = scores_by_part(context.engine, checked, deepest)
            means = (dataset_scores(scores, runs, deepest).select(*_RATE) for scores, runs in parts)
            rates = [row for of_part in means for row in of_part.collect()]
    rows, _ = sorted_rows(rates, _RATE)
    refuse_unjudged(context, rows)
    counts = {name: count for name, count in checked.counts(0).items() if not name.endswith("_scores")}
    return {
        "counts": counts,
        "rejected": [dataclasses.asdict(breach) for breach in checked.breaches],
        "datasets_without_results": checked.datasets_without_results,
        "judged_rate": rows,
    }


def documents_to_judge(config: EvaluationConfig, most: int) -> list[dict[str, Any]]:
    """The first rows of TO_JUDGE, at most `most`, the largest weight first, then by dataset, query and document.

    Documents that `unjudged=drop` removes from their lists are included, at their ranks in the results.
    """
    with _checked(config) as (context, checked), translated_failures(context.sources):
        # Lists without their unjudged documents would have none to find.
        evaluation = context.evaluation.under(context.config.convention.replace(unjudged="zero"))
        table = to_judge(checked.judgments, results_to_score(checked, checked.needed_results), evaluation)
        order = F.round("weight", DECIMALS).desc(), "dataset", "query_id", "doc_id"
        rows = table.orderBy(*order).limit(most).collect()
    return [{name: row[name] for name in TO_JUDGE.names} for row in rows]


def convert(config: EvaluationConfig, folder: str) -> int:
    """Write the judgments, or else the results, to a new folder; returns the number of rows.

    InputError if a line is not a row; StorageError if there is something in the folder.
    """
    store = Store(folder)
    if store.files("", suffix=""):
        raise StorageError(f"output: there are files in {store.place}; name a new folder")
    with open_engine("embedded") as engine:
        if config.judgments:
            source = read_judgments(engine, config.judgments, config.judgments.path, graded=False)
        else:
            source = read_results(engine, config.results, config.results.path)
        with translated_failures([source]):
            without_broken(source).write.parquet(store.for_engine(""), mode="append")
            return engine.session.read.parquet(store.for_engine("")).count()

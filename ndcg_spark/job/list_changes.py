"""The table LIST_CHANGES of staged nights that keep their lists."""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.contract.checked_tables import CheckedTables
from ndcg_spark.gate.lists import ComparedLists, compared_lists
from ndcg_spark.inputs.engine_files import materializer
from ndcg_spark.job.outcome import night_record
from ndcg_spark.job.setup import Context
from ndcg_spark.lists.nights import KeptLists
from ndcg_spark.nights.publication import Publication
from ndcg_spark.nights.records import committed, read_again_if_replaced
from ndcg_spark.schemas import KEPT


def stage_list_changes(
    context: Context,
    checked: CheckedTables,
    publication: Publication,
    output: str,
    rows: Iterable[Mapping[str, Any]],
) -> dict[str, ComparedLists]:
    """Compare the staged lists of each dataset with an earlier night's, and stage and verify what changed, if any.

    `rows` are those of DATASET_SCORES. Returns what was compared, by dataset.
    """
    session, gate, record = context.engine.session, context.config.gate, night_record(context, checked)
    staged = {name: publication.read(name, session, KEPT[name]) for name in ("ranked_documents", "query_scores")}
    materialize = materializer(context.engine, "list_changes")
    runs: dict[str, set[str]] = {}
    for row in rows:
        runs.setdefault(row["dataset"], set()).add(row["run"])

    def keep(changes: DataFrame) -> DataFrame:
        return materialize([changes]) if materialize else changes.persist()

    def compared(dataset: str) -> ComparedLists:
        documents, scores = (table.where(F.col("dataset") == F.lit(dataset)) for table in staged.values())
        kept = KeptLists(dataset, record, documents, scores, runs[dataset])
        return compared_lists(gate, committed(output), kept, keep)

    found = {dataset: read_again_if_replaced(functools.partial(compared, dataset)) for dataset in runs}
    tables = [each.changes for each in found.values() if each.changes is not None]
    if tables:
        publication.stage("list_changes", functools.reduce(DataFrame.unionByName, tables))
        publication.verify("list_changes", sum(row["queries"] for each in found.values() for row in each.rows))
    return found

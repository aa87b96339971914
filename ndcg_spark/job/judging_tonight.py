"""The gate within an evaluation: what is staged is compared with the nights that are there, before it is committed."""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.comparison.comparisons import as_table
from ndcg_spark.comparison.judging import Judged, judge
from ndcg_spark.comparison.kept import kept_in
from ndcg_spark.comparison.sides import Night
from ndcg_spark.contract.checked import Checked
from ndcg_spark.gate_config import GateConfig
from ndcg_spark.job.gating import Gated
from ndcg_spark.job.preparing import SliceTables
from ndcg_spark.nights.publish import Publication
from ndcg_spark.nights.record_format import acceptance
from ndcg_spark.nights.records import read_again_if_replaced
from ndcg_spark.schemas import KEPT, QUERY_SCORES
from ndcg_spark.scoring.evaluation import Evaluation


def gated(
    gate: GateConfig,
    publication: Publication,
    output: str,
    session: SparkSession,
    evaluation: Evaluation,
    checked: Checked,
    rows: Iterable[Mapping[str, Any]],
    tables: SliceTables,
    accepted: str | None,
    lost: int = 0,
) -> Gated:
    """Judge every staged night, and stage the comparisons that the verdicts rest on. An action.

    `rows` are those of DATASET_SCORES. `lost` is how many of the queries that lost most are named for each run.
    """
    scores = publication.read("query_scores", session, QUERY_SCORES)
    date = evaluation.evaluated_on.isoformat()
    of_datasets: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        of_datasets.setdefault(row["dataset"], []).append(row)
    found: dict[str, Judged] = {}
    for dataset, own in of_datasets.items():
        tonight = Night(
            dataset,
            date,
            evaluation.evaluation_id,
            evaluation.convention.options(),
            checked.judgment_counts.fingerprint,
            checked.result_counts.fingerprint,
            own,
            sorted(of_datasets),
        )
        of_dataset = scores.where(F.col("dataset") == F.lit(dataset))
        decide = functools.partial(_judged, gate, tonight, of_dataset, output, session, tables, accepted, lost)
        found[dataset] = read_again_if_replaced(decide)
    compared = [row for judged in found.values() for row in judged.rows]
    if compared:
        publication.stage("comparisons", as_table(compared, session).select(*KEPT["comparisons"].names))
        publication.verify("comparisons", len(compared))
    accepts = {} if accepted is None else {"accepted": acceptance(accepted)}
    of_records = {name: {"verdict": judged.verdict.as_json(), **accepts} for name, judged in found.items()}
    most = [(dataset, *query) for dataset, judged in found.items() for query in judged.lost]
    return Gated([judged.verdict for judged in found.values()], of_records, most)


def _judged(
    gate: GateConfig,
    tonight: Night,
    scores: DataFrame,
    output: str,
    session: SparkSession,
    tables: SliceTables,
    accepted: str | None,
    lost: int,
) -> Judged:
    kept = kept_in(output, session)
    return judge(gate, tonight, scores, kept, tables.attributes, tables.weights, accepted, lost)

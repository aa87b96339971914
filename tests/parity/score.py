"""Scores the cases of some seeds under a preset, as JSON.

{"queries": {query: {cutoff: ndcg}}, "mean": {cutoff: ndcg}}, and with the measures beside NDCG also
"measures": {query: {cutoff: {column: value}}} and "means": {cutoff: {column: value}}.
"""

import dataclasses
import json

from cases import CUTOFFS, Case, make
from pyspark.sql import SparkSession
from scored import in_turn, scored
from tables import Row, judgment, result

from ndcg_spark.convention.measures import COLUMNS
from ndcg_spark.convention.presets import PRESETS

#: The measures that are asked for of a tool that has more than NDCG.
NAMES = (
    *("ndcg", "precision", "recall", "recall_cap", "ap", "rr", "success"),
    *("bpref", "rprec", "judged"),
)
#: Presets of tools that sort ties as they please: compared where there are none.
UNTIED = {"ranx", "ranx_burges", "replay", "tfma"}
#: The presets are scored on all roads, each on one.
_ROAD_OF = dict(in_turn(PRESETS))


def case_for(preset: str, seeds: list[int]) -> Case:
    """The hardest case that the tool of the preset takes."""
    takes_negative = PRESETS[preset].options.get("negative") != "error" and not preset.startswith(
        "ranx"
    )
    case = make(seeds, negative=takes_negative, tied=preset not in UNTIED)
    if preset == "search_relevance":
        # An ideal DCG below 0 is what its preset excepts.
        positive = {
            query: grades for query, grades in case.judged.items() if max(grades.values()) > 0
        }
        case = dataclasses.replace(case, judged=positive)
    return case


def scores(
    session: SparkSession, preset: str, seeds: list[int], measured: bool
) -> dict[str, dict[str, object]]:
    case = case_for(preset, seeds)
    judged = [
        judgment(d, float(g), q) for q, grades in case.judged.items() for d, g in grades.items()
    ]
    returned = [
        result(d, s, q, rank=rank) for q, rows in case.returned.items() for d, s, rank in rows
    ]
    evaluation = scored(
        session,
        judged,
        returned,
        [*CUTOFFS, None] if measured else CUTOFFS,
        preset,
        road=_ROAD_OF[preset],
        measures=NAMES if measured else ["ndcg"],
    )
    queries: dict[str, dict[str, object]] = {}
    measures: dict[str, dict[str, object]] = {}
    for row in evaluation.query_scores:
        if row["ndcg"] is None:
            continue
        queries.setdefault(row["query_id"], {})[row["cutoff"] or "all"] = row["ndcg"]
        measures.setdefault(row["query_id"], {})[row["cutoff"] or "all"] = _measures(row)
    means = {row["cutoff"] or "all": row for row in evaluation.dataset_scores}
    of_ndcg = {"queries": queries, "mean": {at: row["ndcg"] for at, row in means.items()}}
    of_measures = {"measures": measures, "means": {at: _measures(row) for at, row in means.items()}}
    return {**of_ndcg, **of_measures} if measured else of_ndcg


def _measures(row: Row) -> dict[str, float]:
    return {name: row[name] for name in COLUMNS if row[name] is not None}


def as_json(preset: str, seeds: list[int], measured: bool) -> str:
    """The scores of a preset as JSON, with or without the measures beside NDCG, in a process that has a session."""
    return json.dumps(scores(SparkSession.active(), preset, seeds, measured))

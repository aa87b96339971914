"""Scores the cases of some seeds under a preset, as JSON.

{"queries": {query: {cutoff: ndcg}}, "mean": {cutoff: ndcg}}, and with the measures beside NDCG also
"measures": {query: {cutoff: {column: value}}} and "means": {cutoff: {column: value}}.
"""

import dataclasses
import json

from cases import CUTOFFS, Case, make
from pyspark.sql import Row, SparkSession

from ndcg_spark import Convention, evaluate
from ndcg_spark.convention.measures import COLUMNS
from ndcg_spark.convention.presets import PRESETS

#: The measures that are asked for of a tool that has more than NDCG.
NAMES = ("ndcg", "precision", "recall", "ap", "rr", "success", "bpref", "judged")
#: Presets of tools that sort ties as they please: compared where there are none.
UNTIED = {"ranx", "ranx_burges", "replay", "tfma"}


def case_for(preset: str, seeds: list[int]) -> Case:
    """The hardest case that the tool of the preset takes."""
    takes_negative = PRESETS[preset].options.get("negative") != "error" and not preset.startswith("ranx")
    case = make(seeds, negative=takes_negative, tied=preset not in UNTIED)
    if preset == "search_relevance":
        # An ideal DCG below 0 is what its preset excepts.
        positive = {query: grades for query, grades in case.judged.items() if max(grades.values()) > 0}
        case = dataclasses.replace(case, judged=positive)
    return case


def scores(session: SparkSession, preset: str, seeds: list[int], measured: bool) -> dict[str, dict[str, object]]:
    case = case_for(preset, seeds)
    judgments = [(q, d, float(g)) for q, grades in case.judged.items() for d, g in grades.items()]
    results = [("r", q, d, s, rank) for q, rows in case.returned.items() for d, s, rank in rows]
    evaluation = evaluate(
        session.createDataFrame(judgments, "query_id string, doc_id string, relevance double"),
        session.createDataFrame(results, "run string, query_id string, doc_id string, score double, rank int"),
        [*CUTOFFS, None] if measured else CUTOFFS,
        Convention.preset(preset),
        measures=NAMES if measured else ["ndcg"],
    )
    queries: dict[str, dict[str, object]] = {}
    measures: dict[str, dict[str, object]] = {}
    for row in evaluation.query_scores.where("ndcg is not null").collect():
        queries.setdefault(row["query_id"], {})[row["cutoff"] or "all"] = row["ndcg"]
        measures.setdefault(row["query_id"], {})[row["cutoff"] or "all"] = _measures(row)
    means = {row["cutoff"] or "all": row for row in evaluation.dataset_scores.collect()}
    scored = {"queries": queries, "mean": {at: row["ndcg"] for at, row in means.items()}}
    of_measures = {"measures": measures, "means": {at: _measures(row) for at, row in means.items()}}
    return {**scored, **of_measures} if measured else scored


def _measures(row: Row) -> dict[str, float]:
    return {name: row[name] for name in COLUMNS if row[name] is not None}


def scored(preset: str, seeds: list[int], measured: bool) -> str:
    """The scores of a preset as JSON, with or without the measures beside NDCG, in a process that has a session."""
    return json.dumps(scores(SparkSession.active(), preset, seeds, measured))

"""Scores the cases of some seeds under every preset on the embedded engine, and prints them as JSON.

{preset: {"queries": {query: {cutoff: ndcg}}, "mean": {cutoff: ndcg}}}
"""

import json
import sys

from cases import CUTOFFS, Case, make
from pyspark.sql import SparkSession

from ndcg_spark import Convention, evaluate
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.engine import open_engine

#: Presets of tools that sort ties as they please: compared where there are none.
UNTIED = {"ranx", "ranx_burges", "replay"}


def case_for(preset: str, seeds: list[int]) -> Case:
    """The hardest case that the tool of the preset takes."""
    takes_negative = PRESETS[preset].options.get("negative") != "error" and not preset.startswith("ranx")
    return make(seeds, negative=takes_negative, tied=preset not in UNTIED)


def scores(session: SparkSession, preset: str, seeds: list[int]) -> dict[str, dict[str, object]]:
    case = case_for(preset, seeds)
    judgments = [(q, d, float(g)) for q, grades in case.judged.items() for d, g in grades.items()]
    results = [("r", q, d, s, rank) for q, rows in case.returned.items() for d, s, rank in rows]
    found = evaluate(
        session.createDataFrame(judgments, "query_id string, doc_id string, relevance double"),
        session.createDataFrame(results, "run string, query_id string, doc_id string, score double, rank int"),
        CUTOFFS,
        Convention.preset(preset),
    )
    queries: dict[str, object] = {}
    for row in found.query_scores.where("ndcg is not null").collect():
        queries.setdefault(row["query_id"], {})[row["cutoff"]] = row["ndcg"]  # type: ignore[index]
    return {"queries": queries, "mean": {row["cutoff"]: row["ndcg"] for row in found.dataset_scores.collect()}}


def main(seeds: list[int]) -> None:
    """Print the scores of every preset."""
    with open_engine("embedded") as engine:
        sys.stdout.write(json.dumps({preset: scores(engine.session, preset, seeds) for preset in PRESETS}))

"""Presets of recommender tools on whole-number ids with tied scores, against what the live tools said."""

import importlib.util
import json
from pathlib import Path

import movies
import pyarrow as pa
import pytest

from ndcg_spark import Convention, evaluate
from ndcg_spark.scoring import ranking

SAID = json.loads((Path(__file__).parents[1] / "golden" / "movies.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def tables(spark):
    ranks = {(user, item): rank for user, item, rank in movies.ranks()}
    judged, returned = movies.ratings(), movies.predictions()
    return (
        spark.createDataFrame(pa.table(_columns(judged, "relevance"))),
        spark.createDataFrame(
            pa.table(
                {
                    **_columns(returned, "score"),
                    "run": ["r"] * len(returned),
                    "rank": pa.array([ranks[user, item] for user, item, _ in returned], pa.int32()),
                }
            )
        ),
    )


def _columns(rows, value):
    users, items, values = zip(*rows, strict=True)
    return {"query_id": [str(user) for user in users], "doc_id": [str(item) for item in items], value: [*values]}


def scored(tables, convention):
    rows = evaluate(*tables, movies.CUTOFFS, convention).dataset_scores.collect()
    return {str(row["cutoff"]): pytest.approx(row["ndcg"], abs=1e-12) for row in rows}


def said(preset):
    return {name: value for name, value in SAID[preset].items() if name not in ("tool", "measures")}


@pytest.mark.parametrize("rank", [ranking.by_window, ranking.list_by_list], ids=["window", "lists"])
@pytest.mark.parametrize("preset", SAID)
def test_a_preset_has_the_mean_that_its_tool_printed(tables, monkeypatch, thorough, preset, rank):
    if rank is ranking.list_by_list and preset not in ("recommenders", "rectools") and not thorough:
        pytest.skip("both ways rank alike, as scoring/test_ranking.py shows; with --thorough")
    monkeypatch.setattr("ndcg_spark.library.by_window", rank)
    assert said(preset) == scored(tables, Convention.preset(preset))


@pytest.mark.parametrize("preset", movies.MEASURES)
def test_a_preset_has_the_measures_that_its_tool_printed(evaluate_embedded, preset):
    ranks = {(user, item): rank for user, item, rank in movies.ranks()}
    returned = movies.predictions()
    by_rank = {"run": ["r"] * len(returned), "rank": [ranks[user, item] for user, item, _ in returned]}
    # Of recommenders, only NDCG counts the users without predictions.
    convention = Convention.preset(preset).replace(**({"missing_query": "skip"} if preset == "recommenders" else {}))
    said = SAID[preset]["measures"]
    results = {**_columns(returned, "score"), **by_rank}
    found = evaluate_embedded(
        _columns(movies.ratings(), "relevance"), results, movies.CUTOFFS, convention, measures=[*said]
    )
    for name, values in said.items():
        assert {str(k): found.mean(k)[name] for k in movies.CUTOFFS} == pytest.approx(values, abs=1e-12), name


@pytest.mark.parametrize(
    ("preset", "ties"), [("replay", "doc_id_desc"), ("recommenders", "doc_id_asc"), ("recommenders", "doc_id_num_desc")]
)
def test_ids_in_another_order_give_another_mean(tables, preset, ties):
    assert said(preset) != scored(tables, Convention.preset(preset).replace(ties=ties))


def test_ties_in_the_order_of_the_predictions_are_ties_by_a_rank_column(tables):
    assert said("recommenders") == scored(tables, Convention.preset("recommenders").replace(ties="rank"))


@pytest.mark.parametrize("preset", movies.TOOLS)
@pytest.mark.filterwarnings("ignore")
def test_the_installed_tool_still_says_so(preset):
    module = {"replay": "replay", "recommenders": "recommenders"}.get(preset, "rectools")
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    assert said(preset) == pytest.approx(movies.TOOLS[preset][1](), abs=1e-12)
    for name, values in movies.MEASURES.get(preset, dict)().items():
        assert SAID[preset]["measures"][name] == pytest.approx(values, abs=1e-12)

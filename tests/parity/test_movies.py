"""Presets of recommender tools on whole-number ids with tied scores, against what the live tools said."""

import importlib.util
import json
from pathlib import Path

import movies
import pytest
from scored import in_turn, scored

from ndcg_spark import Convention

pytestmark = pytest.mark.embedded

SAID = json.loads(
    (Path(__file__).parents[1] / "golden" / "movies.json").read_text(encoding="utf-8")
)


def _columns(rows, value):
    users, items, values = zip(*rows, strict=True)
    return {
        "query_id": [str(user) for user in users],
        "doc_id": [str(item) for item in items],
        value: [*values],
    }


def tables():
    ranks = {(user, item): rank for user, item, rank in movies.ranks()}
    returned = movies.predictions()
    by_rank = {
        "run": ["r"] * len(returned),
        "rank": [ranks[user, item] for user, item, _ in returned],
    }
    return _columns(movies.ratings(), "relevance"), {**_columns(returned, "score"), **by_rank}


def means(session, convention, road="lazy"):
    scores = scored(session, *tables(), movies.CUTOFFS, convention, road=road)
    return {str(k): pytest.approx(scores.mean(k)["ndcg"], abs=1e-12) for k in movies.CUTOFFS}


def said(preset):
    return {name: value for name, value in SAID[preset].items() if name not in ("tool", "measures")}


@pytest.mark.parametrize(("preset", "road"), in_turn(SAID))
def test_a_preset_has_the_mean_that_its_tool_printed(session, preset, road):
    assert said(preset) == means(session, Convention.preset(preset), road)


@pytest.mark.parametrize(("preset", "road"), in_turn(movies.MEASURES))
def test_a_preset_has_the_measures_that_its_tool_printed(session, preset, road):
    # Of recommenders, only NDCG counts the users without predictions.
    convention = Convention.preset(preset).replace(
        **({"missing_query": "skip"} if preset == "recommenders" else {})
    )
    said = SAID[preset]["measures"]
    scores = scored(session, *tables(), movies.CUTOFFS, convention, road=road, measures=[*said])
    for name, values in said.items():
        assert {str(k): scores.mean(k)[name] for k in movies.CUTOFFS} == pytest.approx(
            values, abs=1e-12
        ), name


@pytest.mark.parametrize(
    ("preset", "ties"),
    [
        ("replay", "doc_id_desc"),
        ("recommenders", "doc_id_asc"),
        ("recommenders", "doc_id_num_desc"),
    ],
)
def test_ids_in_another_order_give_another_mean(session, preset, ties):
    assert said(preset) != means(session, Convention.preset(preset).replace(ties=ties))


def test_ties_in_the_order_of_the_predictions_are_ties_by_a_rank_column(session):
    assert said("recommenders") == means(
        session, Convention.preset("recommenders").replace(ties="rank")
    )


@pytest.mark.parametrize("preset", movies.TOOLS)
@pytest.mark.filterwarnings("ignore")
def test_the_installed_tool_still_says_so(preset):
    module = {"replay": "replay", "recommenders": "recommenders"}.get(preset, "rectools")
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    assert said(preset) == pytest.approx(movies.TOOLS[preset][1](), abs=1e-12)
    for name, values in movies.MEASURES.get(preset, dict)().items():
        assert SAID[preset]["measures"][name] == pytest.approx(values, abs=1e-12)

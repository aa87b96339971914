"""The measures of the catalog on an engine, beside their definitions in plain Python."""

import pyarrow as pa
import pytest
import shown
from scored import in_turn, scored
from sessions import on_spark

from ndcg_spark import Convention
from ndcg_spark.convention.catalog import CATALOG_OPTIONS, resolved_options
from ndcg_spark.convention.measures import RUN_COLUMNS
from ndcg_spark.engine import failures
from ndcg_spark.errors import ConfigurationError, ConventionError, DuplicatesError, InputError

CUTOFFS = [1, 3, 20]
OF_LISTS = ("novelty", "popularity", "categories")
ALL = (*OF_LISTS, *RUN_COLUMNS)
#: Every value of every option is in one of them.
VARIANTS = [
    {},
    {"coverage_unknown": "count", "gini_of": "shown", "novelty_unseen": "drop"},
    {"gini_p": "0.85", "novelty_of": "interactions", "popularity_of": "interactions"},
    {"gini_divisor": "n-1", "novelty_over": "k", "popularity_scale": "share"},
    {"novelty_scale": "share", "novelty_unseen": "zero", "popularity_unseen": "drop"},
    {"gini_of": "shown", "gini_divisor": "n-1", "gini_p": "0.5", "popularity_scale": "max"},
]


def written(options, cutoff="all cutoffs"):
    """The measures with these options as arguments."""
    texts = []
    for measure in ALL:
        own = {name: value for name, value in options.items() if name.startswith(f"{measure}_")}
        arguments = ",".join(f"{name.partition('_')[2]}={value}" for name, value in own.items())
        texts.append(f"{measure}({arguments})")
    return texts


def evaluated(session, shop, options, road, cutoffs=CUTOFFS, **more):
    judged, returned, items = shown.tables(shop)
    more = {"measures": written(options), "items": items, "items_users": shop.users, **more}
    return scored(session, judged, returned, cutoffs, road=road, **more)


def test_every_value_of_an_option_is_in_a_variant():
    asked = {(name, value) for options in VARIANTS for name, value in options.items()}
    for name, option in CATALOG_OPTIONS.items():
        others = [value for value in option.words if value != option.default]
        assert {(name, value) for value in others} <= asked
        assert not option.number or any(one == name for one, _ in asked)


@pytest.mark.parametrize(
    ("options", "road"),
    on_spark(in_turn(VARIANTS), (VARIANTS[1], "parquet"), (VARIANTS[3], "lazy")),
)
def test_measures_are_those_of_their_definitions(session, options, road):
    shop = shown.shop(VARIANTS.index(options))
    scores = evaluated(session, shop, options, road, [*CUTOFFS, None])
    assert len(scores.query_scores) == len(shop.lists) * len(shop.judged) * 4
    means = {}
    for row in scores.query_scores:
        items = shop.lists[row["run"]].get(row["query_id"], [])
        expected = shown.of_list(shop, items, options, row["cutoff"])
        assert {name: row[name] for name in OF_LISTS} == pytest.approx(expected, abs=1e-12)
        for name in OF_LISTS:
            if row[name] is not None:
                means.setdefault((row["run"], row["cutoff"], name), []).append(row[name])
    for row in scores.dataset_scores:
        for name in OF_LISTS:
            own = means.get((row["run"], row["cutoff"], name))
            expected = None if own is None else sum(own) / len(own)
            assert row[name] == pytest.approx(expected, abs=1e-12)
        counted = [len(means.get((row["run"], row["cutoff"], name), [])) for name in OF_LISTS]
        assert row["listed_queries"] == max(counted)
        of_run = shown.of_run(shop, row["run"], options, row["cutoff"])
        assert row["lists"] == of_run.lists
        assert row["unknown_items"] == of_run.unknown
        expected = {name: getattr(of_run, name) for name in RUN_COLUMNS}
        assert {name: row[name] for name in RUN_COLUMNS} == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("missing_query", on_spark(["zero", "skip"], "zero"))
def test_a_judged_query_without_a_list_has_no_novelty_whatever_it_scores(session, missing_query):
    judged = {"q1": {"a": 1.0}, "q2": {"a": 1.0}}
    items = pa.table({"doc_id": ["a", "b"], "popularity": [1, 4]})
    convention = Convention(missing_query=missing_query)
    scores = scored(
        session,
        judged,
        {"q1": {"a": 1.0}},
        [5],
        convention,
        measures="ndcg Novelty@5 Coverage@5",
        items=items,
        items_users=4,
    )
    assert scores.of("q1", 5)["novelty"] == 2.0
    assert scores.of("q2", 5)["novelty"] is None
    assert scores.mean(5)["novelty"] == 2.0
    assert (scores.mean(5)["listed_queries"], scores.mean(5)["coverage"]) == (1, 0.5)


@pytest.mark.parametrize("road", on_spark(["lazy", "parquet"], "lazy"))
def test_lists_that_nobody_judged_count_for_a_run_and_not_for_a_query(session, road):
    returned = {"q1": {"a": 1.0}, "other": {"b": 2.0, "c": 1.0}}
    items = pa.table({"doc_id": ["a", "b", "c", "d"], "category": ["x", "x", "y", "y"]})
    asked = "Coverage@2 Items@2 Categories@2"
    scores = scored(
        session, {"q1": {"a": 1.0}}, returned, [2], road=road, measures=asked, items=items
    )
    mean = scores.mean(2)
    assert (mean["coverage"], mean["items"], mean["lists"]) == (0.75, 3.0, 2)
    assert (mean["categories"], mean["listed_queries"]) == (0.5, 1)


@pytest.mark.parametrize("road", on_spark(["lazy", "parquet"], "lazy"))
def test_ranks_that_contradict_scores_of_unjudged_lists_cut_no_item_away(session, road):
    # By its ranks, an unjudged list would lose the item that its score puts first.
    results = {
        "query_id": ["q1", "q1", "u", "u"],
        "doc_id": ["a", "b", "c", "d"],
        "score": [2.0, 1.0, 1.0, 2.0],
        "rank": [1, 2, 1, 2],
    }
    items = pa.table({"doc_id": ["a", "b", "c", "d"]})
    judged = {"query_id": ["q1"], "doc_id": ["a"], "relevance": [1.0]}
    more = {"measures": "Items@1 Coverage@1", "items": items}
    scores = scored(session, judged, results, [1], "standard order=score", road=road, **more)
    assert scores.mean(1)["items"] == 2.0


TWICE = {
    "query_id": ["q1", "u", "u", "u"],
    "doc_id": ["a", "b", "b", "c"],
    "score": [1.0, 3.0, 2.0, 1.0],
}


@pytest.mark.parametrize("rank", on_spark([None, [1, 1, 2, 3]], None))
def test_an_item_that_is_twice_in_a_list_that_nobody_judged_is_counted_and_refused(session, rank):
    results = TWICE if rank is None else {**TWICE, "rank": rank}
    with pytest.raises(
        DuplicatesError, match=r"1 document.s. returned twice .* query_id=u doc_id=b"
    ):
        scored(session, {"q1": {"a": 1.0}}, results, [2], road="parquet", measures="Items@2")


def test_an_item_that_is_twice_in_a_list_fails_a_lazy_plan_if_lists_are_measured(session):
    judged = {"q1": {"a": 1.0}}
    assert scored(session, judged, TWICE, [2]).mean(2)["unjudged_queries"] == 1
    with pytest.raises(failures(), match=r"returned_twice.*query_id=u"):
        scored(session, judged, TWICE, [2], measures="Items@2").mean(2)


@pytest.mark.parametrize("road", on_spark(["lazy", "parquet"], "lazy"))
@pytest.mark.parametrize(
    ("convention", "cutoff", "items"),
    [("standard duplicates=best", 2, 3.0), ("standard", 1, 2.0)],
    ids=["the best rank", "beyond the cutoff"],
)
def test_an_item_that_is_twice_counts_once_where_it_may(session, road, convention, cutoff, items):
    asked = {"measures": f"Items@{cutoff}", "road": road}
    scores = scored(session, {"q1": {"a": 1.0}}, TWICE, [cutoff], convention, **asked)
    assert (scores.mean(cutoff)["items"], scores.mean(cutoff)["lists"]) == (items, 2)


@pytest.mark.embedded
def test_the_scores_of_lists_that_are_ranked_once_are_those_without_the_catalog(session):
    shop = shown.shop(4, queries=30)
    judged, returned, _ = shown.tables(shop)
    scores = []
    for measures in ((), "nDCG@3 P@2 AP Items@1 Personalization@2"):
        more = {"measures": measures, "road": "parquet"}
        rows = scored(session, judged, returned, [1, 3, 20], **more).query_scores
        scores.append({(row["run"], row["query_id"], row["cutoff"]): row["ndcg"] for row in rows})
    for key, ndcg in scores[0].items():
        assert scores[1][key] == pytest.approx(ndcg, abs=1e-12)


@pytest.mark.embedded
def test_a_document_that_leaves_the_list_is_not_shown(session):
    returned = {"q1": {"q1": 3.0, "a": 2.0, "b": 1.0}}
    convention = Convention(exclude_query_as_document=True)
    scores = scored(session, {"q1": {"a": 1.0}}, returned, [1], convention, measures="Items@1 P@1")
    assert (scores.mean(1)["items"], scores.mean(1)["precision"]) == (1.0, 1.0)


@pytest.mark.embedded
def test_slices_have_the_measures_of_queries_and_none_of_runs(session):
    from ndcg_spark import evaluate

    judged = {"q1": {"a": 1.0}, "q2": {"a": 1.0}}
    returned = {"q1": {"a": 1.0}, "q2": {"b": 1.0}}
    attributes = {"query_id": ["q1"], "attribute": ["l"], "value": ["de"]}
    items = {"doc_id": ["a", "b"], "popularity": [1, 2]}
    asked = {"measures": "Popularity@1 Items@1", "items": items, "attributes": attributes}
    scores = evaluate(judged, returned, 1, session=session, **asked).dataset_scores.collect()
    found = {row["value"]: (row["popularity"], row["items"], row["lists"]) for row in scores}
    assert found == {None: (1.5, 2.0, 2), "de": (1.0, None, None), "(none)": (2.0, None, None)}


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("convention", "reason"),
    [
        ({"ties": "average"}, "ties=average"),
        ({"ties": "worst"}, "ties=worst"),
        ({"unjudged": "drop"}, "unjudged=drop"),
        ({"negative": "drop"}, "negative=drop"),
    ],
)
def test_what_makes_lists_depend_on_judgments_is_refused(session, convention, reason):
    with pytest.raises(ConventionError, match=reason):
        scored(
            session,
            {"q": {"a": 1.0}},
            {"q": {"a": 1.0}},
            1,
            Convention(**convention),
            measures="items",
        )


ITEMS_REFUSED = [
    (None, None, "Coverage@1", "coverage needs the catalog's items"),
    ({"doc_id": ["a", "a"]}, None, "Coverage@1", "1 row.s. repeat the item of another row, "),
    ({"doc_id": ["a"]}, 3, "Novelty@1", "novelty needs the column popularity"),
    ({"doc_id": ["a"], "popularity": [1]}, None, "Novelty@1", "number of users"),
    ({"doc_id": ["a"], "popularity": [5]}, 3, "Novelty@1", "popularity of 5, more than the 3"),
    ({"doc_id": ["a"], "popularity": [-1.0]}, 3, "Popularity@1", "1 row.s. whose popularity"),
    ({"doc_id": ["a", ""]}, None, "Coverage@1", "1 row.s. with an empty doc_id"),
    ({"popularity": [1]}, None, "Coverage@1", "doc_id"),
]


@pytest.mark.parametrize("road", on_spark(["lazy", "parquet"], "lazy"))
@pytest.mark.parametrize("case", on_spark(range(len(ITEMS_REFUSED)), 3, 4))
def test_items_that_say_too_little_are_refused(session, case, road):
    items, users, measures, reason = ITEMS_REFUSED[case]
    table = None if items is None else pa.table(items)
    more = {"measures": measures, "items": table, "items_users": users}
    if table is None:
        del more["items_users"]
    with pytest.raises((ConfigurationError, InputError), match=reason):
        scored(session, {"q": {"a": 1.0}}, {"q": {"a": 1.0}}, 1, road=road, **more)


def test_options_that_are_given_go_before_those_of_a_preset():
    given = {"novelty_preset": "evidently", "novelty_of": "interactions"}
    assert resolved_options(given) == {"novelty_unseen": "drop", "novelty_of": "interactions"}

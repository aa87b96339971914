"""Classic Spark, which a cluster computes with, gives the scores of the embedded engine, which the metric is tested on.

Four presets, gains and discounts written in Python, and every measure are compared by job/test_engines.py.
"""

import functools

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tables import tables_for

from ndcg_spark import Convention, evaluate
from ndcg_spark.convention.options import OPTIONS
from ndcg_spark.convention.values import show

#: The other presets whose plans differ, with options that no preset has, so that every value of an option is here.
CONVENTIONS = [
    Convention.preset(preset).replace(**options)
    for preset, options in [
        ("ranx_burges", {"ties": "average", "discount": "position", "unjudged": 1, "judgment_duplicates": "max"}),
        ("standard", {"unjudged": "drop", "relevant_from": "judged", "max_grade": "highest_of_query"}),
        ("beir", {"discount": "jarvelin", "duplicates": "best", "negative": "drop"}),
        ("torchmetrics", {"discount": [1, 0.5]}),
        ("xgboost", {"discount": "ln", "min_relevance": 2}),
        ("catboost", {"gain": {-1: -0.5, 0: 0, 1: 1, 2: 5, 4: 7}, "judgment_duplicates": "min"}),
        ("mllib_binary", {"ties": "doc_id_asc", "discount": "none", "ideal": "judged_capped"}),
        ("recommenders", {"judgment_duplicates": "mean"}),
        ("replay", {"ties": "doc_id_num_desc", "exclude_query_as_document": True}),
        ("rectools", {}),
        ("mllib", {"ties": "best", "relevant_from": 2, "rbp_persistence": 0.5, "max_grade": 5}),
    ]
]
#: These fail a plan: see test_evaluation.py.
REFUSED = {("no_relevant", "error"), ("missing_query", "error")}
#: What the options concern that are about the measures beside NDCG alone.
MEASURES = ["precision", "rbp", "err"]
EXACT = ("status", "returned", "judged", "judgments_hash")
CLOSE = ("ndcg", "dcg", "ideal_dcg", "cg", "rbp_residual", *MEASURES)


def asked(case, convention):
    """What both engines are asked; every other convention without the whole ranking, so that lists are cut."""
    measures = MEASURES if convention.max_grade != "highest" else ["ndcg"]
    return (*tables_for(convention, 40), [1, 3, None] if case % 2 else [1, 3], convention), {"measures": measures}


def test_every_value_of_every_option_is_compared():
    for option, known in OPTIONS.items():
        values = {show(getattr(convention, option)) for convention in CONVENTIONS}
        assert known.words.keys() <= values | {word for of, word in REFUSED if of == option}, option
        assert (values > known.words.keys() & values) == bool(known.other), option


@pytest.mark.usefixtures("spark")
def test_query_scores_are_those_of_the_embedded_engine(evaluate_embedded):
    cases = [asked(case, convention) for case, convention in enumerate(CONVENTIONS)]
    # One plan: most of an evaluation is planning it and starting its jobs.
    plans = [
        evaluate(*arguments, **named).query_scores.withColumn("case", F.lit(case))
        for case, (arguments, named) in enumerate(cases)
    ]
    rows = functools.reduce(DataFrame.unionAll, plans).collect()
    found = {(row["case"], row["run"], row["query_id"], row["cutoff"]): row for row in rows}
    assert len(rows) == len(found)
    for case, (arguments, named) in enumerate(cases):
        for row in evaluate_embedded.queries(*arguments, **named).query_scores:
            ours = found.pop((case, row["run"], row["query_id"], row["cutoff"]))
            assert [ours[name] for name in EXACT] == [row[name] for name in EXACT], (CONVENTIONS[case].label, row)
            expected = pytest.approx([row[name] for name in CLOSE], abs=1e-12)
            assert [ours[name] for name in CLOSE] == expected, (CONVENTIONS[case].label, row)
    assert not found

"""The evaluator of Spark ML: numbers by hand, both shapes, and models that are chosen by it."""

import math

import pytest
from scored import scored

from ndcg_spark import Convention
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.ml import NdcgEvaluator

LONG = "user int, item int, rating double, prediction double"
LISTS = "prediction array<int>, label array<int>"
#: One query whose best document is second.
ROWS = [(1, 7, 5.0, 0.2), (1, 8, 0.0, 0.9), (1, 9, 1.0, 0.1)]
NDCG = (5 / math.log2(3) + 1 / math.log2(4)) / (5 + 1 / math.log2(3))


def evaluated(session, rows, columns, **params):
    return NdcgEvaluator(**params).evaluate(session.createDataFrame(rows, columns))


def of_rows(session, *rows, **params):
    params = {"queryCol": "user", "convention": "trec_eval", **params}
    return evaluated(session, [*ROWS, *rows], LONG, **params)


def of_lists(session, *rows, columns=LISTS, **params):
    return evaluated(session, list(rows), columns, **{"convention": "mllib_binary", **params})


def test_rows_of_a_query_and_a_document_are_graded(session):
    assert of_rows(session) == pytest.approx(NDCG)


@pytest.mark.parametrize(
    "options", [{"gain": "exp2"}, {"gain": {0: 0, 1: 1, 5: 3}}, {"discount": [1, 0.5], "unjudged": 1.0}]
)
def test_the_label_of_any_convention_is_one(session, options):
    convention = Convention.preset("trec_eval").replace(**options)
    graded, scores = ({"q": {str(row[1]): row[column] for row in ROWS}} for column in (2, 3))
    expected = scored(session, graded, scores, [10], convention=convention).of("q", 10)["ndcg"]
    assert of_rows(session, convention=convention.label) == pytest.approx(expected)


def test_the_cutoff_is_k(session):
    assert of_rows(session, k=1) == 0
    for k in (0, -1):
        for refuse in (lambda k: NdcgEvaluator(k=k), NdcgEvaluator().setK):
            with pytest.raises(ConfigurationError, match=f"invalid cutoff {k};"):
                refuse(k)


def test_the_metric_of_mllib_is_binary(session):
    binary = (1 / math.log2(3) + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    rows = session.createDataFrame(ROWS, LONG)
    assert NdcgEvaluator(queryCol="user", metricName="ndcgAtK").evaluate(rows) == pytest.approx(binary)
    for metric in ("AP", "ndcgAtK"):
        with pytest.raises(ConfigurationError, match="metricName"):
            of_rows(session, metricName=metric, convention="rectools")


@pytest.mark.parametrize("score", [math.nan, None])
def test_what_als_cannot_predict_is_judged_and_not_returned(session, score):
    unknown_user = (2, 7, 3.0, score)
    mean = of_rows(session, unknown_user, convention="trec_eval missing_query=zero")
    assert mean == pytest.approx(NDCG / 2)


def test_a_row_without_a_grade_is_unjudged(session):
    pushed = (5 / math.log2(4) + 1 / math.log2(5)) / (5 + 1 / math.log2(3))
    assert of_rows(session, (1, 6, None, 0.3)) == pytest.approx(pushed)


@pytest.mark.parametrize("item", [6, None])
def test_a_grade_of_nan_is_none_and_a_row_without_an_item_no_document(session, item):
    assert of_rows(session, (1, item, math.nan, None if item else 9.0)) == pytest.approx(NDCG)


def test_parameters_of_lists_are_refused_where_rows_are_long(session):
    with pytest.raises(ConfigurationError, match="set gradeCol"):
        of_rows(session, labelCol="clicked")


def test_what_spark_s_evaluator_takes_is_taken(session):
    rows = session.createDataFrame([([1, 2], [1, 1])], LISTS)
    evaluator = NdcgEvaluator().setMetricName("ndcgAtK").setK(1).setPredictionCol("prediction").setLabelCol("label")
    assert (evaluator.evaluate(rows), evaluator.getK()) == (1, 1)


def test_equal_lists_are_as_many_queries(session):
    right, wrong = ([1, 2], [1]), ([3, 4], [1])
    assert of_lists(session, right, right, right, wrong) == pytest.approx(3 / 4)


def test_a_list_that_is_null_is_empty_and_labels_that_are_null_are_no_query(session):
    assert of_lists(session, ([1], [1]), (None, [1]), ([1], None)) == pytest.approx(1 / 2)


@pytest.mark.parametrize("param", ["queryCol", "itemCol", "scoreCol", "gradeCol", "excludeCol"])
def test_a_column_that_is_not_there_is_no_function_of_spark(session, param):
    with pytest.raises(InputError, match=f"'current_date', which {param} names; it has user, item, .*; set {param}"):
        of_rows(session, **{param: "current_date"})
    if param != "excludeCol":
        assert of_rows(session, queryCol="USER") == of_rows(session)


@pytest.mark.parametrize("param", ["predictionCol", "labelCol", "excludeCol"])
def test_a_list_that_is_not_there_is_refused_too(session, param):
    with pytest.raises(InputError, match=f"no column 'user', which {param} names"):
        of_lists(session, ([1], [1]), **{param: "user"})


def test_recommendations_and_graded_labels_are_arrays_of_structs(session):
    columns = "recommendations array<struct<item:int,rating:float>>, label array<struct<item:int,rating:float>>"
    row = ([(8, 0.9), (7, 0.2), (9, 0.1)], [(7, 5.0), (9, 1.0)])
    params = {"predictionCol": "recommendations", "convention": "trec_eval"}
    assert of_lists(session, row, columns=columns, **params) == pytest.approx(NDCG)


def test_the_fields_of_structs_are_named_by_the_parameters_of_the_long_format_or_refused(session):
    columns = "prediction array<struct<item:int,odds:float>>, label array<struct<thing:int,stars:float>>"
    rows = ([(8, 0.9), (7, 0.2), (9, 0.1)][::-1], [(7, 5.0), (9, 1.0)])
    named = columns.replace("thing", "item")
    params = {"convention": "trec_eval", "scoreCol": "odds", "gradeCol": "stars"}
    assert of_lists(session, rows, columns=named, **params) == pytest.approx(NDCG)
    for unnamed, lost in (("scoreCol", "score"), ("gradeCol", "relevance")):
        less = {name: value for name, value in params.items() if name != unnamed}
        with pytest.raises(InputError, match=f"no field for the {lost}, but item, .*; set {unnamed}"):
            of_lists(session, rows, columns=named, **less)
    with pytest.raises(InputError, match="no field for the document, but thing, stars; set itemCol"):
        of_lists(session, rows, columns=columns, **params)
    with pytest.raises(InputError, match="no field for the relevance, but item, stars; set gradeCol"):
        of_lists(session, rows, columns=named, **{**params, "gradeCol": "rating"})
    ranked = "prediction array<struct<item:int,rank:int>>, label array<int>"
    assert of_lists(session, ([(7, 1), (8, 2)], [7]), columns=ranked) == 1


@pytest.mark.parametrize(
    ("row", "columns", "message"),
    [
        (([1], "1"), "prediction array<int>, label string", "label is string, not an array"),
        (([1], [(1,)]), "prediction array<int>, label array<struct<x:int>>", "label has no field for the document"),
        (([1], None), LISTS, "no query counts"),
        (
            (["7.0"], [7.0]),
            "prediction array<string>, label array<double>",
            "documents are string and relevant ones double",
        ),
    ],
)
def test_what_has_no_mean_is_refused_and_never_nan(session, row, columns, message):
    with pytest.raises(InputError, match=message):
        of_lists(session, row, columns=columns)


def test_a_dataframe_without_rows_is_refused(session):
    with pytest.raises(InputError, match="it has no rows"):
        of_lists(session)


def test_a_document_twice_in_a_list_has_a_cure(session):
    with pytest.raises(InputError, match=r"e\.g\. 31 for a query; .* duplicates=best"):
        of_lists(session, ([31, 31], [31]), convention="standard")
    assert of_lists(session, ([31, 31], [31]), convention="standard duplicates=best") == 1


@pytest.mark.usefixtures("session")
def test_it_is_saved_and_loaded(tmp_path):
    NdcgEvaluator(queryCol="user", k=3).save(str(tmp_path / "evaluator"))
    loaded = NdcgEvaluator.load(str(tmp_path / "evaluator"))
    params = {param.name: value for param, value in loaded.extractParamMap().items()}
    assert (params["queryCol"], params["k"], params["convention"]) == ("user", 3, "standard")


# CrossValidator leaves its pool of threads to the garbage collector.
@pytest.mark.filterwarnings("ignore:.*Pool.__del__:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.classic
def test_als_is_tuned(session, thorough):
    if not thorough:
        pytest.skip("five models are fitted, for half a minute; with --thorough")
    from pyspark.ml.recommendation import ALS
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    # Two tastes: users like the items whose number is even or odd like theirs.
    rows = [(user, item, float(1 + 4 * (user % 2 == item % 2))) for user in range(12) for item in range(10)]
    ratings = session.createDataFrame(
        [row for row in rows if (row[0] * 7 + row[1] * 3) % 5], "user int, item int, rating float"
    )
    als = ALS(rank=2, maxIter=3, seed=1, numUserBlocks=1, numItemBlocks=1)
    grid = ParamGridBuilder().addGrid(als.regParam, [0.01, 100.0]).build()
    tuned = CrossValidator(
        estimator=als, estimatorParamMaps=grid, evaluator=NdcgEvaluator(queryCol="user", k=3), numFolds=2, seed=2
    ).fit(ratings)
    assert tuned.avgMetrics[0] > tuned.avgMetrics[1]


@pytest.mark.parametrize(
    ("convention", "grade", "said"),
    [
        ("trec_eval", 0.9, "trec_eval itself truncates .* e.g. 0.9"),
        ("lightgbm ties=doc_id_asc", 31.0, "lightgbm itself refuses grades above 30"),
    ],
)
def test_grades_that_a_tool_does_not_take_are_a_warning(session, convention, grade, said):
    with pytest.warns(UserWarning, match=said):
        of_rows(session, (2, 7, grade, 0.5), convention=convention)


def test_grades_that_a_tool_takes_are_no_warning(session):
    assert of_rows(session, (2, 7, 2.0, 0.5)) == pytest.approx((NDCG + 1) / 2)
    of_rows(session, (2, 7, 0.9, 0.5), convention="trec_eval min_relevance=0.5")

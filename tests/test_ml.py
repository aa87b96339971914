"""The evaluator of Spark ML: numbers by hand, both shapes, and models that are chosen by it."""

import contextlib
import itertools
import math
import re
from decimal import Decimal
from random import Random

import pytest
import sessions
from jvm_calls import count_calls
from sessions import on_spark
from tables import of_tuples

from ndcg_spark import Convention, evaluate, ml_queries, ml_rows, reference
from ndcg_spark.engine import failures
from ndcg_spark.errors import ConfigurationError, InputError, MissingColumnError
from ndcg_spark.ml import NdcgEvaluator
from ndcg_spark.scoring.prepare import ordered
from ndcg_spark.scoring.refusals import refused

LONG = "user int, item int, rating double, prediction double"
LISTS = "prediction array<int>, label array<int>"
#: One query whose best document is second.
ROWS = [(1, 7, 5.0, 0.2), (1, 8, 0.0, 0.9), (1, 9, 1.0, 0.1)]
NDCG = (5 / math.log2(3) + 1 / math.log2(4)) / (5 + 1 / math.log2(3))


def evaluated(session, rows, columns, **params):
    return NdcgEvaluator(**params).evaluate(of_tuples(session, rows, columns))


def of_rows(session, *rows, **params):
    params = {"queryCol": "user", "convention": "trec_eval", **params}
    return evaluated(session, [*ROWS, *rows], LONG, **params)


def of_lists(session, *rows, columns=LISTS, **params):
    return evaluated(session, list(rows), columns, **{"convention": "mllib_binary", **params})


def test_rows_of_a_query_and_a_document_are_graded(session):
    assert of_rows(session) == pytest.approx(NDCG)


def test_the_cutoff_is_k(session):
    assert of_rows(session, k=1) == 0
    for k in (0, -1):
        for refuse in (lambda k: NdcgEvaluator(k=k), NdcgEvaluator().setK):
            with pytest.raises(ConfigurationError, match=f"invalid cutoff {k};"):
                refuse(k)


def test_the_metric_of_mllib_is_binary(session):
    binary = (1 / math.log2(3) + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    rows = of_tuples(session, ROWS, LONG)
    assert NdcgEvaluator(queryCol="user", metricName="ndcgAtK").evaluate(rows) == pytest.approx(
        binary
    )
    for metric in ("AP", "ndcgAtK"):
        with pytest.raises(ConfigurationError, match="metricName"):
            of_rows(session, metricName=metric, convention="rectools")


def test_what_als_cannot_predict_is_judged_and_not_returned(session):
    unknown_users = (2, 7, 3.0, math.nan), (3, 7, 3.0, None)
    mean = of_rows(session, *unknown_users, convention="trec_eval missing_query=zero")
    assert mean == pytest.approx(NDCG / 3)


def test_a_row_without_a_grade_is_unjudged(session):
    pushed = (5 / math.log2(4) + 1 / math.log2(5)) / (5 + 1 / math.log2(3))
    assert of_rows(session, (1, 6, None, 0.3)) == pytest.approx(pushed)


def test_a_grade_of_nan_is_none_and_a_row_without_grade_and_score_no_document(session):
    no_documents = (1, 6, math.nan, None), (1, None, math.nan, None)
    assert of_rows(session, *no_documents) == pytest.approx(NDCG)


def test_parameters_of_lists_are_refused_where_rows_are_long(session):
    with pytest.raises(ConfigurationError, match="set gradeCol"):
        of_rows(session, labelCol="clicked")


def test_what_spark_s_evaluator_takes_is_taken(session):
    rows = of_tuples(session, [([1, 2], [1, 1])], LISTS)
    evaluator = (
        NdcgEvaluator()
        .setMetricName("ndcgAtK")
        .setK(1)
        .setPredictionCol("prediction")
        .setLabelCol("label")
    )
    assert (evaluator.evaluate(rows), evaluator.getK()) == (1, 1)


def test_equal_lists_are_as_many_queries(session):
    right, wrong = ([1, 2], [1]), ([3, 4], [1])
    assert of_lists(session, right, right, right, wrong) == pytest.approx(3 / 4)


def test_a_list_that_is_null_is_empty_and_labels_that_are_null_are_no_query(session):
    assert of_lists(session, ([1], [1]), (None, [1]), ([1], None)) == pytest.approx(1 / 2)


def test_a_column_that_is_not_there_is_no_function_of_spark(session):
    for param in ("queryCol", "itemCol", "scoreCol", "gradeCol", "excludeCol"):
        said = f"'current_date', which {param} names; it has user, item, .*; set {param}"
        with pytest.raises(InputError, match=said):
            of_rows(session, **{param: "current_date"})
    for param in ("predictionCol", "labelCol", "excludeCol"):
        with pytest.raises(InputError, match=f"no column 'user', which {param} names"):
            of_lists(session, ([1], [1]), **{param: "user"})
    assert of_rows(session, queryCol="USER") == pytest.approx(NDCG)


def test_recommendations_and_graded_labels_are_arrays_of_structs(session):
    columns = "recommendations array<struct<item:int,rating:float>>, label array<struct<item:int,rating:float>>"
    row = ([(8, 0.9), (7, 0.2), (9, 0.1)], [(7, 5.0), (9, 1.0)])
    params = {"predictionCol": "recommendations", "convention": "trec_eval"}
    assert of_lists(session, row, columns=columns, **params) == pytest.approx(NDCG)


def test_the_fields_of_structs_are_named_by_the_parameters_of_the_long_format_or_refused(session):
    columns = (
        "prediction array<struct<item:int,odds:float>>, label array<struct<thing:int,stars:float>>"
    )
    rows = ([(8, 0.9), (7, 0.2), (9, 0.1)][::-1], [(7, 5.0), (9, 1.0)])
    named = columns.replace("thing", "item")
    params = {"convention": "trec_eval", "scoreCol": "odds", "gradeCol": "stars"}
    assert of_lists(session, rows, columns=named, **params) == pytest.approx(NDCG)
    for unnamed, lost in (("scoreCol", "score"), ("gradeCol", "relevance")):
        less = {name: value for name, value in params.items() if name != unnamed}
        with pytest.raises(
            InputError, match=f"no field for the {lost}, but item, .*; set {unnamed}"
        ):
            of_lists(session, rows, columns=named, **less)
    with pytest.raises(
        InputError, match="no field for the document, but thing, stars; set itemCol"
    ):
        of_lists(session, rows, columns=columns, **params)
    with pytest.raises(
        InputError, match="no field for the relevance, but item, stars; set gradeCol"
    ):
        of_lists(session, rows, columns=named, **{**params, "gradeCol": "rating"})
    ranked = "prediction array<struct<item:int,rank:int>>, label array<int>"
    assert of_lists(session, ([(7, 1), (8, 2)], [7]), columns=ranked) == 1


@pytest.mark.parametrize(
    ("row", "columns", "message"),
    [
        (([1], "1"), "prediction array<int>, label string", "label is string, not an array"),
        (
            ([1], [(1,)]),
            "prediction array<int>, label array<struct<x:int>>",
            "label has no field for the document",
        ),
        (([1], None), LISTS, "no query is in the mean"),
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


#: The type of documents, a row, and what is said of it.
ODD_DOCUMENTS = [
    ("string", ([None, "x"], [None, "z"]), r"label: row\(s\) without a doc_id, e\.g\. doc_id=null"),
    ("string", (["", "x"], ["z"]), r"prediction: row\(s\) without a doc_id, e\.g\. doc_id= "),
    ("double", ([1.2], [1.7]), r"doc_id\(s\) that are not whole numbers, e\.g\. doc_id=1\.[27]"),
    ("double", ([1.0, 2.0**53], [1.0]), r"prediction: doc_id\(s\) that are not whole numbers"),
    ("boolean", ([True], [True]), r"1 column\(s\) of the wrong type, label is boolean; ids are"),
]


@pytest.mark.parametrize(
    ("columns", "row", "message"),
    on_spark(ODD_DOCUMENTS, ODD_DOCUMENTS[0], ODD_DOCUMENTS[3]),
)
def test_documents_are_those_that_evaluate_takes(session, columns, row, message):
    columns = f"prediction array<{columns}>, label array<{columns}>"
    with pytest.raises(InputError, match=f"dataset: .*{message}"):
        of_lists(session, row, columns=columns)


WHOLE = {"decimal(10,2)": Decimal("7.00"), "double": 7.0, "float": 7.0}


@pytest.mark.parametrize(("kind", "seven"), on_spark(WHOLE.items(), ("double", 7.0)))
def test_whole_numbers_meet_whatever_their_type(session, kind, seven):
    columns = f"prediction array<int>, label array<{kind}>"
    assert of_lists(session, ([8, 7], [seven]), columns=columns) == pytest.approx(1 / math.log2(3))


def test_a_user_without_a_grade_is_no_query(session):
    assert of_rows(
        session, (2, 7, None, 0.5), convention="trec_eval no_relevant=zero"
    ) == pytest.approx(NDCG)


def test_a_row_without_a_user_is_refused(session):
    with pytest.raises(
        InputError, match=r"dataset: row\(s\) without a query_id, e\.g\. query_id=null doc_id=7"
    ):
        of_rows(session, (None, 7, 1.0, 0.5))


def test_excluded_documents_leave_the_list(session):
    columns = f"{LONG}, seen boolean"
    rows = [(*row, True if row[1] == 8 else None) for row in ROWS]
    params = {"convention": "trec_eval", "excludeCol": "seen"}
    assert evaluated(session, rows, columns, queryCol="user", **params) == 1
    columns = f"{LISTS}, seen array<int>"
    with pytest.raises(InputError, match=r"seen: row\(s\) without a doc_id"):
        evaluated(session, [([8], [7], [None])], columns, **params)
    with pytest.raises(InputError, match="seen is string, not a boolean"):
        evaluated(session, [(*ROWS[0], "yes")], f"{LONG}, seen string", queryCol="user", **params)
    with pytest.raises(
        InputError, match="documents are int and excluded ones string; cast one of them"
    ):
        evaluated(session, [([8], [8], ["8"])], f"{LISTS}, seen array<string>", **params)


def test_ranks_that_structs_have_are_the_order(session):
    columns = "prediction array<struct<item:int,rank:int>>, label array<int>"
    assert of_lists(session, ([(8, 2), (7, 1)], [7]), columns=columns) == 1
    for rank, message in (
        (1, "a rank with two rows"),
        (0, r"rank\(s\) that are not whole numbers from 1"),
    ):
        with pytest.raises(InputError, match=f"dataset: prediction: {message}"):
            of_lists(session, ([(8, rank), (7, 1)], [7]), columns=columns)


@pytest.mark.parametrize("convention", ["rectools", "standard ties=rank"])
def test_rows_have_no_ranks(session, convention):
    with pytest.raises(MissingColumnError, match="by rank, but rows have none"):
        of_rows(session, convention=convention)


def test_lists_have_no_query_that_could_be_a_document(session):
    with pytest.raises(
        ConfigurationError, match="convention: lists name no query, but the convention beir"
    ):
        of_lists(session, ([1], [1]), convention="beir")


def test_a_document_twice_in_a_list_has_a_cure(session):
    with pytest.raises(InputError, match=r"e\.g\. 31 for a query; .* duplicates=best"):
        of_lists(session, ([31, 31], [31]), convention="standard")
    assert of_lists(session, ([31, 31], [31]), convention="standard duplicates=best") == 1


#: The numbers of a document in a list: nothing, the score or the grade, or both.
NAN, INFINITE = math.nan, math.inf
CONVENTIONS = [
    "standard",
    "trec_eval",
    "beir",
    "mllib_binary",
    "standard negative=error",
    "standard negative=keep",
    "standard negative=drop",
    "standard unjudged=drop ideal=judged_capped",
    "standard gain={-1: 0, 0: 0, 1: 1, 2: 3}",
    "standard judgment_duplicates=mean gain={0: 0, 1: 1, 2: 3}",
    "standard duplicates=best judgment_duplicates=max",
    "standard no_relevant=error",
    "standard missing_query=error",
    "standard ties=average",
]
#: Rows of the query 1 as (user, item, grade, score), beside documents 1 to 4, and the types that can hold them.
ODD_ROWS = [
    (None, 5, 1, 0.5),
    (1, None, 1, None),
    (1, None, None, 0.5),
    (1, None, None, None),
    (1, "", 1, 0.5),
    (1, 1.5, 1, 0.5),
    (1, NAN, 1, 0.5),
    (1, 5, 1, INFINITE),
    (1, 5, INFINITE, 0.5),
    (1, 5, 1, "high"),
    (1, 5, "good", 0.5),
    (1, 5, -1, 0.5),
    (1, 5, 3, 0.5),
    (1, 5, 5000, 0.5),
    (1, 5, None, 0.5),
    (1, 5, NAN, NAN),
    (1, 1, 2, None),
    (1, 1, None, 0.5),
    (9, 5, 0, 0.5),
    (9, 5, 1, None),
    (8, 5, None, 0.5),
]
ID_TYPES = ["int", "string", "decimal(10,2)", "double"]
GRADE_TYPES = ["double", "int", "string", "decimal(6,1)", "float"]
SCORE_TYPES = ["double", "string", "decimal(6,3)", "float"]


def as_type(value, kind):
    """The value as Python gives it to a column of this type; ValueError if it cannot."""
    if value is None:
        return None
    if kind == "string":
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(value)
        return str(value)
    if isinstance(value, str) or (kind in ("int", "bigint") and not isinstance(value, int)):
        raise ValueError(value)
    if kind.startswith("decimal"):
        if not math.isfinite(value):
            raise ValueError(value)
        return Decimal(str(value))
    return int(value) if kind in ("int", "bigint") else float(value)


def one_id(value):
    """An id as `evaluate` has it; ValueError if it is not whole."""
    if value is None or isinstance(value, str):
        return value
    if value % 1 != 0:
        raise ValueError(value)
    return str(int(value))


def is_number(value):
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def outcome(evaluated):
    """A mean, or the code of a refusal and its words: what is wrong, and what to do."""
    try:
        mean = evaluated()
    except failures() as error:
        code, sentence = refused(error)
    except InputError as error:
        if "no query is in the mean" in str(error):
            return None
        code, sentence = refused(error.__cause__)
    else:
        return mean
    # Labels are given grades where tables are, and not to an evaluator.
    sentence = sentence.removesuffix(", or give each label a grade, grades={label: grade}")
    sentence = re.sub(
        "^(judgments|results|(dataset: )?(prediction|label|seen)|dataset): ", "", sentence
    )
    return code, re.sub(", e\\.g\\. .*; ", "; ", sentence)


def of_tables(session, judged, returned, kinds, convention, has="scores"):
    """The same of `evaluate`, for rows of (query, document, grade) and (query, document, score, rank)."""
    grade_kind, score_kind = kinds
    ids = "query_id string, doc_id string"
    judgments = of_tuples(session, judged, f"{ids}, relevance {grade_kind}")
    results = of_tuples(session, returned, f"{ids}, score {score_kind}, rank int")
    results = results.drop(*{"scores": ["rank"], "ranks": ["score"]}.get(has, []))
    scores = evaluate(judgments, results, 10, convention).dataset_scores
    return outcome(lambda: scores.collect()[0]["ndcg"])


def same(ours, theirs):
    # A document that is judged twice is found as one that counts twice in a list, too.
    twice = {"judged_twice", "returned_twice"}
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        # Only `evaluate` can be told the grades of labels, and says so.
        return ours[0] == theirs[0] or {ours[0], theirs[0]} == twice
    return ours == (pytest.approx(theirs) if isinstance(theirs, float) else theirs)


def random_rows(random, odd):
    """Rows of the long format: a good query, perhaps one without a relevant document, and an odd row."""
    good = [(1, item, random.randint(0, 2), random.randint(1, 5) / 8) for item in (1, 2, 3, 4)]
    good[0] = (1, 1, 2, 0.25)
    other = [(2, item, 0, random.randint(1, 5) / 8) for item in (3, 1)]
    rows = [*good, *random.choice([[], other]), odd]
    random.shuffle(rows)
    return rows


def long_case(session, random, odd):
    given, rows, convention = random_rows(random, odd), None, random.choice(CONVENTIONS)
    if "no_relevant=error" in convention:
        # One refusal at a time.
        given = [row for row in given if row[0] != 2]
    while rows is None:
        kinds = [
            random.choice(kinds) for kinds in (ID_TYPES[:2], ID_TYPES, GRADE_TYPES, SCORE_TYPES)
        ]
        with contextlib.suppress(ValueError):
            rows = [
                [as_type(value, kind) for value, kind in zip(row, kinds, strict=True)]
                for row in given
            ]
    _, _, grade_kind, score_kind = kinds
    columns = ", ".join(
        f"{name} {one}"
        for name, one in zip(("user", "item", "rating", "prediction"), kinds, strict=True)
    )
    frame = of_tuples(session, rows, columns)
    evaluator = NdcgEvaluator(queryCol="user", convention=convention)
    ours = outcome(lambda: evaluator.evaluate(frame))
    try:
        ids = [(one_id(user), one_id(item), grade, score) for user, item, grade, score in rows]
    except ValueError:
        assert ours[0] == "doc_id_is_not_whole", (ours, rows)
        return
    judged = [(user, item, grade) for user, item, grade, _ in ids if is_number(grade)]
    returned = [(user, item, score, None) for user, item, _, score in ids if is_number(score)]
    theirs = of_tables(session, judged, returned, (grade_kind, score_kind), convention)
    assert same(ours, theirs), (ours, theirs, convention, columns, rows)


#: An odd document of a list as (document, number).
ODD_ENTRIES = [
    (None, 1),
    ("", 1),
    (1.5, 1),
    (5, None),
    (5, NAN),
    (5, INFINITE),
    (5, "x"),
    (5, -1),
    (5, 3),
    (1, 1),
    (5, 1),
]


def list_case(session, random, odd, side):
    """A good query with an odd document in one of its lists, a query without a list, and one without labels."""
    lists = {
        name: [(item, random.randint(0, 2)) for item in (1, 2, 3, 4)]
        for name in ("label", "prediction")
    }
    lists["label"][0] = (1, 2)
    lists[side].insert(random.randint(0, 4), odd)
    convention = random.choice([*CONVENTIONS, "rectools", "retrieved_list"])
    # Lists have no query that could be a document.
    convention = convention.replace("beir", "beir exclude_query_as_document=false")
    entries = None
    while entries is None:
        is_graded, is_scored = random.random() < 0.7, random.random() < 0.5
        numbers = {"label": random.choice(GRADE_TYPES), "prediction": random.choice(SCORE_TYPES)}
        ids = random.choice(
            [["string"] * 2, [random.choice(ID_TYPES[::2]), random.choice(ID_TYPES[::2])]]
        )
        kinds = dict(zip(lists, ids, strict=True))
        with contextlib.suppress(ValueError):
            typed = {}
            for name, rows in lists.items():
                typed[name] = [
                    (as_type(item, kinds[name]), as_type(number, numbers[name]))
                    for item, number in rows
                ]
            entries = typed
    named = {"label": is_graded, "prediction": is_scored}
    columns = []
    for name, has_number in named.items():
        kind = f"struct<item:{kinds[name]},rating:{numbers[name]}>" if has_number else kinds[name]
        columns.append(f"{name} array<{kind}>")
    given = [[row if named[name] else row[0] for row in rows] for name, rows in entries.items()]
    lists = [given, [given[0][:1], None], [None, given[1]]]
    frame = of_tuples(session, lists, ", ".join(columns))
    ours = outcome(lambda: NdcgEvaluator(convention=convention).evaluate(frame))
    judged, returned = [], []
    try:
        for query, some in (("1", entries["label"]), ("2", entries["label"][:1])):
            documents = [
                (query, one_id(item), number if is_graded else as_type(1, numbers["label"]))
                for item, number in some
            ]
            judged += documents if is_graded else dict.fromkeys(documents)
        for rank, (item, score) in enumerate(entries["prediction"], 1):
            returned.append(("1", one_id(item), score, rank))
    except ValueError:
        assert ours[0] == "doc_id_is_not_whole", (ours, given)
        return
    theirs = of_tables(
        session,
        judged,
        returned,
        numbers.values(),
        convention,
        "ranks" if not is_scored else "both",
    )
    assert same(ours, theirs), (ours, theirs, convention, columns, given)


@pytest.mark.slow
@pytest.mark.parametrize("side", ["label", "prediction"])
def test_lists_have_the_mean_or_the_refusal_of_evaluate(session, thorough, side):
    random = Random(11)  # noqa: S311  # the same
    odd_entries = ODD_ENTRIES * (6 if thorough else 1)
    if sessions.choice == "spark" and not thorough:
        odd_entries = ODD_ENTRIES[0 if side == "label" else 2 :: 9]
    for odd in odd_entries:
        list_case(session, random, odd, side)


@pytest.mark.slow
def test_rows_have_the_mean_or_the_refusal_of_evaluate(session, thorough):
    random = Random(7)  # noqa: S311  # cases that repeat are what is wanted
    odd_rows = ODD_ROWS * (6 if thorough else 1)
    if sessions.choice == "spark" and not thorough:
        odd_rows = ODD_ROWS[::11]
    for odd in odd_rows:
        long_case(session, random, odd)


#: Every value of every option that changes a score.
EXPRESSED = [
    "standard",
    "trec_eval",
    "mllib_binary",
    "standard gain=linear discount=ln ties=doc_id_asc",
    "standard gain=judged discount=position ties=doc_id_num_desc",
    "standard gain={0: 0, 1: 1, 2: 3, 3: 9} discount=jarvelin ties=doc_id_num_asc",
    "standard discount=none ties=average",
    "standard discount=[1, 0.5, 0.25] ties=worst",
    "standard ties=best score_precision=float32",
    "standard ideal=retrieved",
    "standard ideal=retrieved_at_k ties=best",
    "standard ideal=judged_capped unjudged=drop",
    "standard gain=binary ideal=k_relevant",
    "standard unjudged=1 negative=drop",
    "standard negative=as_unjudged no_relevant=zero",
    "standard no_relevant=one missing_query=skip",
    "standard min_relevance=2 duplicates=best judgment_duplicates=max",
]


def random_queries(random):
    """Judged documents with grades, and returned ones with scores that tie, by query."""
    queries = {}
    for query in range(1, 13):
        items = random.sample(range(1, 120), 14)
        judged = {str(item): float(random.choice([-1, 0, 0, 1, 2, 3])) for item in items[:8]}
        returned = {str(item): random.choice([0.25, 0.5, 0.1, -1.0]) for item in items[4:]}
        queries[query] = judged, returned
    queries[13] = {"1": 0.0}, {"1": 0.5}
    queries[14] = {"1": 2.0}, {}
    return queries


def mean_by_definition(queries, convention, k, ranked=False):
    scores = []
    for judged, returned in queries.values():
        documents = enumerate(returned.items(), 1)
        rows = [(item, None if ranked else score, rank) for rank, (item, score) in documents]
        ndcg = reference.score("", judged.items(), rows, convention, k).ndcg
        if ndcg is not None:
            scores.append(ndcg)
    return sum(scores) / len(scores)


def refuse_python(*_):
    raise AssertionError("this is scored in Python")


@pytest.fixture
def without_python(monkeypatch):
    monkeypatch.setattr(ml_rows, "_mean_in_python", refuse_python)


@pytest.mark.usefixtures("without_python")
@pytest.mark.parametrize("label", on_spark(EXPRESSED, *EXPRESSED[::2]))
def test_rows_are_scored_as_by_the_definition_and_without_python(session, label):
    queries = random_queries(Random(label))  # noqa: S311  # the same
    rows = []
    for query, (judged, returned) in queries.items():
        for item in judged | returned:
            rows.append((query, int(item), judged.get(item), returned.get(item)))
    expected = mean_by_definition(queries, Convention.parse(label), 4)
    mean = evaluated(session, rows, LONG, queryCol="user", convention=label, k=4)
    assert mean == pytest.approx(expected, abs=1e-12)


#: With scores and without; on classic Spark the options that no rows have there, one way or the other.
OF_LISTS = [*itertools.product([*EXPRESSED, "standard ties=rank", "rectools"], [True, False])]
LISTS_ON_SPARK = [*OF_LISTS[2::8], *OF_LISTS[7::8], ("rectools", False)]


@pytest.mark.parametrize(("label", "has_scores"), on_spark(OF_LISTS, *LISTS_ON_SPARK))
def test_lists_are_scored_as_by_the_definition(session, monkeypatch, label, has_scores):
    queries = random_queries(Random(label))  # noqa: S311  # the same
    convention = Convention.parse(label)
    columns = "prediction array<struct<item:int,score:double>>"
    if convention.ranks_decide or not has_scores:
        columns = "prediction array<int>"
        convention = ordered(convention, ["rank"])
    if not ml_queries.needs_all_gains(convention):
        monkeypatch.setattr(ml_rows, "_mean_in_python", refuse_python)
    rows = []
    for judged, returned in queries.values():
        listed = [(int(item), score) for item, score in returned.items()]
        if "struct" not in columns:
            listed = [item for item, _ in listed]
        rows.append((listed, [(int(item), grade) for item, grade in judged.items()]))
    expected = mean_by_definition(queries, convention, 4, ranked="struct" not in columns)
    columns += ", label array<struct<item:int,rating:double>>"
    mean = evaluated(session, rows, columns, convention=label, k=4)
    assert mean == pytest.approx(expected, abs=1e-12)


@pytest.mark.usefixtures("without_python")
@pytest.mark.parametrize(
    "discount",
    on_spark(["log2", "ln", "position", "jarvelin", "none", "[1, 0.5]"], "log2", "[1, 0.5]"),
)
def test_lists_that_are_empty_are_scored_without_python(session, discount):
    convention = f"standard no_relevant=zero discount={discount}"
    rows = [([], []), ([], [1]), (None, [1]), ([2], []), ([2], None), (None, None)]
    assert of_lists(session, *rows, convention=convention) == 0
    assert of_lists(session, *rows[-3:], convention=convention) == 0


@pytest.mark.parametrize(("columns", "params"), [(LONG, {"queryCol": "user"}), (LISTS, {})])
def test_what_is_quicker_in_python_is_scored_there(session, monkeypatch, columns, params):
    monkeypatch.setattr(ml_rows, "mean_of_queries", refuse_python)
    rows = ROWS if columns == LONG else [([1, 2], [1])]
    assert (
        evaluated(session, rows, columns, k=501, convention="standard ties=average", **params) > 0
    )


@pytest.mark.usefixtures("without_python")
def test_a_document_that_is_excluded_is_scored_without_python(session):
    columns = f"{LISTS}, seen array<int>"
    params = {"excludeCol": "seen", "convention": "mllib_binary"}
    assert evaluated(session, [([8, 7], [7], [8, 8]), ([7], [7], None)], columns, **params) == 1


@pytest.mark.classic
@pytest.mark.usefixtures("without_python")
@pytest.mark.parametrize(
    ("rows", "columns", "params"),
    [
        (ROWS, LONG, {"queryCol": "user", "convention": "trec_eval"}),
        ([([1, 2], [1])], LISTS, {"metricName": "ndcgAtK"}),
    ],
)
def test_one_job_and_few_calls_of_the_jvm(session, rows, columns, params):
    frame = session.createDataFrame(rows, columns)
    evaluator = NdcgEvaluator(**params)
    evaluator.evaluate(frame)
    context = session.sparkContext
    group = f"evaluator of {columns}"
    context.setJobGroup(group, "")
    calls, _ = count_calls(lambda: evaluator.evaluate(frame))
    jobs = context.statusTracker().getJobIdsForGroup(group)
    context.setLocalProperty("spark.jobGroup.id", None)
    assert len(jobs) == 1
    assert 10 < calls <= 260


@pytest.mark.classic
def test_lists_have_the_mean_of_spark_s_evaluator(session):
    from pyspark.ml.evaluation import RankingEvaluator

    random = Random(5)  # noqa: S311  # the same
    rows = []
    for _ in range(30):
        sides = random.sample(range(40), 12), random.sample(range(40), random.randint(0, 9))
        rows.append([[float(item) for item in side] for side in sides])
    frame = session.createDataFrame(rows, "prediction array<double>, label array<double>")
    theirs = RankingEvaluator(metricName="ndcgAtK", k=10).evaluate(frame)
    ours = NdcgEvaluator(metricName="ndcgAtK", k=10).evaluate(frame)
    assert ours == pytest.approx(theirs, abs=1e-12)


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
    rows = [
        (user, item, float(1 + 4 * (user % 2 == item % 2)))
        for user in range(12)
        for item in range(10)
    ]
    ratings = session.createDataFrame(
        [row for row in rows if (row[0] * 7 + row[1] * 3) % 5], "user int, item int, rating float"
    )
    als = ALS(rank=2, maxIter=3, seed=1, numUserBlocks=1, numItemBlocks=1)
    grid = ParamGridBuilder().addGrid(als.regParam, [0.01, 100.0]).build()
    tuned = CrossValidator(
        estimator=als,
        estimatorParamMaps=grid,
        evaluator=NdcgEvaluator(queryCol="user", k=3),
        numFolds=2,
        seed=2,
    ).fit(ratings)
    assert tuned.avgMetrics[0] > tuned.avgMetrics[1]


@pytest.mark.embedded
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
    columns = "prediction array<int>, label array<struct<item:int,rating:double>>"
    with pytest.warns(UserWarning, match=said):
        evaluated(session, [([7], [(7, grade)])], columns, convention=convention)


@pytest.mark.embedded
def test_grades_that_a_tool_takes_are_no_warning(session):
    assert of_rows(session, (2, 7, 2.0, 0.5)) == pytest.approx((NDCG + 1) / 2)
    of_rows(session, (2, 7, 0.9, 0.5), convention="trec_eval min_relevance=0.5")

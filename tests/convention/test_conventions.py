"""Which NDCG: presets, options, what is refused and why, and the formula in words."""

import json
import math
import re

import pytest

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.options import OPTIONS, parse_option, show
from ndcg_spark.errors import ConventionError


def test_the_default_of_every_option_is_its_first_word():
    defaults = {option: show(value) for option, value in Convention().options().items()}
    assert defaults == {option: next(iter(known.words)) for option, known in OPTIONS.items()}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Convention.preset("trec"), r"\(did you mean 'trec_eval'\?\)"),
        (lambda: Convention().replace(gian="exp2"), r"\(did you mean 'gain'\?\)"),
        (
            lambda: Convention(gain="cubic", ties="random", unjudged=-1),
            "gain=cubic, ties=random, unjudged=-1; ",
        ),
        (
            lambda: Convention(gain={grade: grade for grade in range(501)}),
            "gain takes .* of up to 500 grades",
        ),
        (lambda: parse_option("linear"), "'linear' has no value"),
    ],
)
def test_what_is_unknown_is_refused_with_what_there_is(make, words):
    with pytest.raises(ConventionError, match=words):
        make()


@pytest.mark.parametrize(
    ("option", "given", "kept"),
    [
        ("gain", {"2": 3, 0: "0"}, {0.0: 0.0, 2.0: 3.0}),
        ("gain", "python:shop.gains.by_price", "python:shop.gains.by_price"),
        ("discount", [1, "0.5", 0.5, 0], (1.0, 0.5, 0.5, 0.0)),
        ("discount", "python:shop.gains.patience", "python:shop.gains.patience"),
        ("unjudged", "0.5", 0.5),
        ("unjudged", 0, 0.0),
        ("exclude_query_as_document", "true", True),
    ],
)
def test_tables_lists_grades_and_functions_are_taken_in_their_own_form(option, given, kept):
    value = getattr(Convention(**{option: given}), option)
    assert (value, type(value)) == (kept, type(kept))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *((option, "nonsense") for option in OPTIONS),
        ("gain", {}),
        ("gain", {"high": 1}),
        ("gain", {1: math.inf}),
        ("gain", 2),
        ("gain", "python:by_price"),
        ("discount", []),
        ("discount", [0.5, 1]),
        ("discount", [1, -1]),
        ("discount", [1, "half"]),
        ("ties", "python:shop.gains.by_price"),
        ("unjudged", "nan"),
        ("unjudged", True),
        ("exclude_query_as_document", 1),
        *(("relevant_from", value) for value in (0, -1, "nan", "all")),
        *(("rbp_persistence", value) for value in (0, 1, 2, "high")),
        *(("max_grade", value) for value in (0, -1, "inf", "lowest")),
    ],
)
def test_a_value_that_means_nothing_is_refused_by_its_option(option, value):
    with pytest.raises(ConventionError, match=rf"unknown {option}=.*; {option} takes "):
        Convention(**{option: value})


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"order": "rank", "ties": "rank"}, "order=rank and ties=rank use the same ranks"),
        ({"order": "rank", "score_precision": "float32"}, "score_precision=float32 has no effect"),
        ({"ideal": "retrieved", "unjudged": 1}, "lists could score above 1"),
        ({"ideal": "retrieved_at_k", "unjudged": 1}, "lists could score above 1"),
        ({"ideal": "retrieved_at_k", "ties": "average"}, "set a different ties"),
        ({"gain": "judged", "unjudged": 1}, "gain=judged ignores grades"),
        ({"gain": "exp2", "unjudged": 1000}, "unjudged=1000 is too large for gain=exp2"),
        (
            {"gain": "judged", "min_relevance": 4},
            "gain=judged ignores grades, so min_relevance=4 has no effect",
        ),
        ({"gain": {0: 0, 1: 1}, "unjudged": 0.5}, "the gain table lacks the grade of unjudged=0.5"),
        (
            {"min_relevance": 2, "relevant_from": 2},
            "turns every grade into 0 or 1, so none reaches relevant_from=2",
        ),
        ({"min_relevance": 2, "max_grade": 3}, "makes the highest grade 1 instead of max_grade=3"),
        *(
            ({"ideal": "k_relevant", **options}, "ideal=k_relevant")
            for options in ({}, {"gain": "linear"}, {"gain": "binary", "unjudged": 1.0})
        ),
    ],
)
def test_options_that_mean_nothing_together_are_refused_with_the_reason(options, reason):
    with pytest.raises(ConventionError, match=re.escape(reason)):
        Convention(**options)


def test_conventions_are_their_options():
    convention = Convention(
        gain={0: 0, 1: 2.5}, discount=[1, 0.5], unjudged=1, exclude_query_as_document=True
    )
    assert Convention(**json.loads(json.dumps(convention.options()))) == convention
    assert Convention.preset("ir_measures") == Convention.preset("trec_eval_9")
    assert Convention.preset("trec_eval") == Convention(gain="linear", no_relevant="zero")


@pytest.mark.parametrize("option", OPTIONS)
def test_the_formula_tells_every_value_of_an_option_from_the_others(option):
    # A gain of 1, with which every word has a meaning, unless it is the gain that is said.
    base = {} if option in ("gain", "unjudged") else {"gain": "binary"}
    formulas = {Convention(**(base | {option: word})).formula for word in OPTIONS[option].words}
    assert len(formulas) == len(OPTIONS[option].words)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" gain = -0.5 ", -0.5),
        ("gain=[1, 0.5]", [1, 0.5]),
        ("gain={0: 0, 1: 2.5}", {0: 0, 1: 2.5}),
        ("gain=python:shop.gains.by_price", "python:shop.gains.by_price"),
        ("gain={0: 0", "{0: 0"),
        ("gain=None", "None"),
    ],
)
def test_an_option_is_parsed_as_a_word_a_number_a_list_or_a_table(text, value):
    assert parse_option(text) == ("gain", value)


def test_equal_conventions_have_one_hash_and_grades_keep_all_their_digits():
    table = {1234567: 1.0, 1234568: 2.0}
    assert hash(Convention(gain=table)) == hash(Convention(gain=dict(reversed(table.items()))))
    assert list(Convention(gain=table).options()["gain"]) == ["1234567", "1234568"]

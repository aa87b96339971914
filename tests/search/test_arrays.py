"""The arrays of a search are the scores of plain Python, under any convention."""

import random

import cases
import numpy as np
import pytest

from ndcg_spark import reference
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.errors import ConventionError, InputError
from ndcg_spark.search.arrays import ArrayScorer
from ndcg_spark.search.old_lists import OldList
from ndcg_spark.search.space import DECIDING, Space, facts_of
from ndcg_spark.spot_check.plain_rows import Pair

CUTOFFS = (1, 2, 5, 10, 40, None)


def lists_of(case):
    lists = []
    for query, judged in case.judged.items():
        returned = case.returned.get(query, [])
        lists.append(OldList(Pair(None, "r", query), "default", list(judged.items()), returned))
    return lists


LISTS = lists_of(cases.make(range(4)))
PLAIN = lists_of(cases.make(range(4, 8), negative=False))
ANSWERED = [one for one in PLAIN if one.returned and any(grade > 0 for _, grade in one.judged)]


def twice(lists):
    """Some documents are returned twice, and some are judged twice."""
    chance = random.Random(5)  # noqa: S311  # the same rows every time
    found = []
    for one in lists:
        judged, returned = list(one.judged), list(one.returned)
        document, grade = chance.choice(judged)
        judged.append((document, grade + 1))
        if returned:
            document, score, rank = chance.choice(returned)
            returned.append((document, score - 1, rank + 30))
        found.append(OldList(one.pair, one.dataset, judged, returned))
    return found


def in_plain_python(lists, convention, cutoff):
    """NaN where a query is left out; None if a list is refused."""
    scores = []
    for one in lists:
        try:
            score = reference.score(one.pair.query_id, one.judged, one.returned, convention, cutoff)
        except (InputError, ConventionError):
            return None
        scores.append(np.nan if score.ndcg is None else score.ndcg)
    return scores


def conventions(number, **fixed):
    """Presets with up to three options changed at random, and these."""
    chance = random.Random(64)  # noqa: S311  # the same conventions every time
    space = Space(facts_of(LISTS), {}, (None,))
    found = list(map(Convention.preset, PRESETS))
    while len(found) < number:
        options = chance.sample(DECIDING, chance.choice([1, 2, 3]))
        changed = {option: chance.choice([*space.values(option), "error"]) for option in options}
        changed |= {option: chance.choice(values) for option, values in fixed.items()}
        try:
            found.append(Convention.preset(chance.choice(list(PRESETS))).replace(**changed))
        except ConventionError:
            continue
    gains = {-1.0: -3.0, 0.0: 0.5, 1.0: 2.0, 2.0: 2.0, 3.0: 7.0, 4.0: 11.0, 5.0: 13.0}
    return [*found, Convention(gain=gains), Convention(discount=[1, 0.5, 0.25], unjudged=1.0)]


def assert_same(lists, tried, least):
    """At least so many scores of all lists are the same."""
    scorer = ArrayScorer(lists)
    number = 0
    for convention in tried:
        scores = scorer.scores(convention, CUTOFFS)
        for column, cutoff in enumerate(CUTOFFS):
            label = f"{convention.label} at {cutoff}"
            expected = in_plain_python(lists, convention, cutoff)
            is_refused = scores is None or np.isinf(scores[:, column]).any()
            assert is_refused == (expected is None), label
            if expected is not None:
                found = scores[:, column]
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=label)
                number += 1
    assert number >= least


@pytest.mark.parametrize(
    "lists",
    [LISTS, PLAIN, ANSWERED, []],
    ids=["any", "no negative grades", "answered", "none"],
)
def test_arrays_are_the_scores_of_plain_python(lists):
    assert_same(lists, conventions(100), 100)


def test_so_they_are_where_documents_come_twice():
    fixed = {"duplicates": ["best"], "judgment_duplicates": ["max", "min", "mean"]}
    assert_same(twice(ANSWERED), conventions(100, **fixed), 200)

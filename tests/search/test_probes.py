"""What would tell conventions apart: a probe has it, and where none does, they are the same."""

import random

import cases
import pytest

from ndcg_spark import reference
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.errors import ConventionError, InputError
from ndcg_spark.search.probes import NOTHING, separated_by
from ndcg_spark.search.space import DECIDING, Facts, Space, changed_or_none
from ndcg_spark.search.trials import Trial

CASES = [cases.make(range(3)), cases.make(range(3, 6), negative=False)]
FACTS = Facts(True, True, [2.0, 3.0], frozenset())


def score(query, judged, returned, trial):
    try:
        found = reference.score(query, judged, returned, trial.convention, trial.cutoff)
    except (InputError, ConventionError):
        return "refused"
    return None if found.ndcg is None else round(found.ndcg, 9)


def differ_on_a_case(a, b):
    for case in CASES:
        for query, judged in case.judged.items():
            rows = case.returned.get(query, [])
            if score(query, judged.items(), rows, a) != score(query, judged.items(), rows, b):
                return True
    return False


def neighbours(number):
    """Pairs of conventions that differ in one option."""
    chance = random.Random(64)  # noqa: S311  # the same pairs every time
    space = Space(FACTS, {}, (None,))
    pairs = []
    while len(pairs) < number:
        base = Convention.preset(chance.choice(list(PRESETS)))
        fixed = chance.choice(DECIDING)
        base = changed_or_none(base, {fixed: chance.choice(space.values(fixed))}) or base
        option = chance.choice(DECIDING)
        other = changed_or_none(base, {option: chance.choice(space.values(option))})
        if other is not None:
            pairs.append((base, other))
    return pairs


def test_no_random_list_tells_apart_what_no_probe_does():
    same = 0
    for a, b in neighbours(150):
        for cutoff in (1, 4, None):
            first, second = Trial(a, cutoff), Trial(b, cutoff)
            if separated_by(first, second, []) == NOTHING:
                same += 1
                assert not differ_on_a_case(first, second), (a.label, b.label, cutoff)
    assert same > 10


@pytest.mark.parametrize(
    ("options", "other"),
    [
        ({"order": "rank"}, {"ties": "doc_id_asc"}),
        ({"min_relevance": 2.0}, {"gain": "linear"}),
        ({"ideal": "retrieved_at_k"}, {"missing_query": "skip"}),
    ],
)
def test_some_options_mean_the_same(options, other):
    here = Convention(**options)
    assert separated_by(Trial(here, 10), Trial(here.replace(**other), 10), []) == NOTHING


@pytest.mark.parametrize(
    ("here", "other", "apart"),
    [
        ({"ties": "doc_id_asc"}, {"ties": "doc_id_num_asc"}, {"ties": "doc_id_desc"}),
        ({}, {"ideal": "judged_capped"}, {"ideal": "retrieved"}),
        ({"ties": "rank"}, {"ties": "doc_id_asc"}, {"score_precision": "float32"}),
        ({}, {"gain": "linear"}, {"no_relevant": "zero"}),
    ],
    ids=str,
)
def test_different_options_need_different_data(here, other, apart):
    base = Convention(**here)
    words = [
        separated_by(Trial(base, 10), Trial(base.replace(**changed), 10), [])
        for changed in (other, apart)
    ]
    assert words[0] != words[1]
    assert NOTHING not in words


def test_cutoffs_are_what_tells_apart_by_ranks_below_the_smaller():
    assert "20" in separated_by(Trial(Convention(), None), Trial(Convention(), 20), [])

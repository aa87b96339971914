"""Scores that plain Python makes under a convention are found again from their digits."""

import random
import time

import cases
import pytest

from ndcg_spark import reference
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.errors import ConventionError, InputError
from ndcg_spark.inputs.old_scores import OldRow
from ndcg_spark.search.finder import Deadline, Search
from ndcg_spark.search.judges import ListJudge
from ndcg_spark.search.old_lists import OldList
from ndcg_spark.search.space import CUTOFFS, DECIDING, Space, facts_of
from ndcg_spark.search.targets import make_targets
from ndcg_spark.search.trials import Trial
from ndcg_spark.spot_check.plain_rows import Pair

#: The lists of one run, with ties, negative and unjudged documents, and queries of every kind.
CASE = cases.make(range(4))
#: The same without negative grades, which some presets refuse.
PLAIN = cases.make(range(4, 8), negative=False)
DIGITS = 4


def lists_of(case, run="r"):
    lists = []
    for query, judged in case.judged.items():
        returned = case.returned.get(query, [])
        lists.append(OldList(Pair(None, run, query), "default", list(judged.items()), returned))
    return lists


def rows_of(lists, convention, cutoff, *, has_cutoff=True, digits=DIGITS):
    """What a job would have written; InputError if the convention refuses a list."""
    rows = []
    for one in lists:
        query = one.pair.query_id
        score = reference.score(query, one.judged, one.returned, convention, cutoff)
        if score.ndcg is not None:
            written = f"{score.ndcg:.{digits}f}"
            named = cutoff if has_cutoff else None
            rows.append(OldRow(None, one.pair.run, query, named, has_cutoff, written))
    return rows


def means_of(lists, convention, cutoffs, digits=DIGITS):
    rows = []
    for run in sorted({one.pair.run for one in lists}):
        own = [one for one in lists if one.pair.run == run]
        for cutoff in cutoffs:
            values = [float(row.number) for row in rows_of(own, convention, cutoff, digits=15)]
            mean = f"{sum(values) / len(values):.{digits}f}"
            rows.append(OldRow(None, run, None, cutoff, True, mean))
    return rows


def search_of(lists, rows, cutoffs=CUTOFFS, seconds=60.0, **fixed):
    runs = [(None, run) for run in sorted({one.pair.run for one in lists})]
    targets = make_targets(rows, runs, "default")
    absent = "left_out" if targets.scores else "unknown"
    tried = (None,) if targets.knows_cutoffs else cutoffs
    judge = ListJudge(lists, targets, absent, is_whole=True, cutoffs=tried)
    space = Space(facts_of(lists), fixed, tried)
    return Search(judge, space, Deadline.after(seconds))


def assert_found(search, true, cutoff=None):
    """What is found gives the same scores as the true convention, which then is exact as well."""
    found = search.exact()
    assert found
    assert not search.judge.differs(found[0])
    assert not search.judge.differs(Trial(true, cutoff))
    least = min(search.space.distance(trial.convention) for trial in found)
    assert search.space.distance(found[0].convention) == least <= search.space.distance(true)
    return found


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_found_again(preset):
    true = Convention.preset(preset)
    lists = lists_of(PLAIN if true.negative == "error" else CASE)
    assert_found(search_of(lists, rows_of(lists, true, 5)), true)


def random_conventions(number):
    """Presets with one or two options changed at random, which plain Python can score."""
    chance = random.Random(64)  # noqa: S311  # the same conventions every time
    space = Space(facts_of(lists_of(CASE)), {}, (None,))
    found = []
    while len(found) < number:
        base = Convention.preset(chance.choice(["standard", *PRESETS]))
        options = chance.sample(DECIDING, chance.choice([1, 2]))
        changed = {option: chance.choice(space.values(option)) for option in options}
        try:
            true = base.replace(**changed)
            rows_of(lists_of(PLAIN if true.negative == "error" else CASE), true, 5)
        except (ConventionError, InputError):
            continue
        found.append(true)
    return found


@pytest.mark.parametrize("true", random_conventions(30), ids=lambda true: true.label)
def test_conventions_with_one_or_two_options_are_found_again(true):
    lists = lists_of(PLAIN if true.negative == "error" else CASE)
    assert_found(search_of(lists, rows_of(lists, true, 5)), true)


@pytest.mark.parametrize("cutoff", [1, 3, 10, None])
def test_a_cutoff_that_the_job_does_not_name_is_found(cutoff):
    true, lists = Convention(gain="linear", no_relevant="zero"), lists_of(CASE)
    found = assert_found(
        search_of(lists, rows_of(lists, true, cutoff, has_cutoff=False)), true, cutoff
    )
    longest = max(len(one.judged) for one in lists)
    # Beyond the longest list, every cutoff gives the same.
    alike = {trial.cutoff for trial in found}
    assert cutoff in alike or (cutoff is None and min(alike) >= longest)


def test_the_nearest_to_standard_comes_first_and_presets_that_give_the_same_are_named():
    lists = [one for one in lists_of(PLAIN) if one.returned and any(g > 0 for _, g in one.judged)]
    search = search_of(lists, rows_of(lists, Convention.preset("trec_eval"), 5))
    found = search.exact()
    # Every query has a relevant document, so it does not matter what others score.
    assert found[0].convention == Convention(gain="linear")
    presets = {trial.convention.based_on for trial in search.presets_like(found[0])}
    assert {"trec_eval", "ranx"} <= presets
    assert "standard" not in presets
    others = {(option, value) for option, value, _ in search.alternatives(found[0])}
    assert {("no_relevant", "zero"), ("no_relevant", "one"), ("missing_query", "skip")} <= others
    assert not [value for option, value in others if option in ("gain", "ideal")]


@pytest.mark.parametrize("option", ["retrieved", "retrieved_at_k"])
def test_ideals_of_returned_documents_are_what_tells_apart(option):
    lists = lists_of(PLAIN)
    true = Convention(ideal=option, no_relevant="zero")
    found = assert_found(search_of(lists, rows_of(lists, true, 5)), true)
    assert {trial.convention.ideal for trial in found} == {option}


@pytest.mark.slow
def test_means_alone_are_compared_over_all_queries_of_each_run():
    lists = [*lists_of(CASE, "a"), *lists_of(PLAIN, "b")]
    true = Convention(gain="linear", missing_query="skip")
    search = search_of(lists, means_of(lists, true, [3, 10]))
    assert_found(search, true)
    other = Convention(gain="linear")
    assert search.judge.differs(Trial(other))
    rows = list(search.judge.compared(Trial(true)))
    assert [(row.place.run, row.place.cutoff, row.differs) for row in rows] == [
        ("a", 3, False),
        ("a", 10, False),
        ("b", 3, False),
        ("b", 10, False),
    ]


def test_queries_that_the_job_left_out_tell_its_policies():
    lists = lists_of(CASE)
    skipped = search_of(lists, rows_of(lists, Convention(missing_query="skip"), 5)).exact()
    assert {trial.convention.missing_query for trial in skipped} == {"skip"}
    kept = search_of(lists, rows_of(lists, Convention(), 5)).exact()
    assert {trial.convention.missing_query for trial in kept} == {"zero"}


def test_wrong_scores_have_a_nearest_convention():
    lists = lists_of(PLAIN)
    true = Convention(gain="linear", no_relevant="zero")
    rows = rows_of(lists, true, 5)
    at = next(at for at, row in enumerate(rows) if 0 < float(row.number) < 0.9)
    rows[at] = rows[at]._replace(number="0.9876")
    search = search_of(lists, rows)
    assert search.exact() == []
    nearest = search.nearest()
    wrong = [row for row in search.judge.compared(nearest) if row.differs]
    assert [row.place.query_id for row in wrong] == [rows[at].query_id]
    assert nearest.convention.gain == "linear"


def test_a_search_ends_with_its_time_and_says_so():
    lists = lists_of(CASE)
    rows = [row._replace(number="0.1234") for row in rows_of(lists, Convention(), 5)]
    search = search_of(lists, rows, seconds=0.2)
    started = time.monotonic()
    assert search.exact() == []
    assert time.monotonic() - started < 5
    assert search.deadline.has_passed
    # There still is a best so far.
    assert search.nearest() is not None


def test_gains_of_2_to_the_grade_are_found():
    lists = lists_of(PLAIN)
    gains = {grade: 2.0**grade for grade in range(5)}
    found = search_of(lists, rows_of(lists, Convention(gain=gains), 5)).exact()
    assert found[0].convention.gain == {0: 1, 1: 2, 2: 4, 3: 8, 4: 16}


def test_of_options_that_mean_the_same_the_common_one_comes_first():
    lists = lists_of(PLAIN)
    true = Convention(gain="binary", min_relevance=2.0, ties="doc_id_asc")
    found = assert_found(search_of(lists, rows_of(lists, true, 5)), true)
    assert found[0].convention == true


def test_the_nearest_is_not_that_which_gives_most_scores_of_0_and_1():
    lists = lists_of(PLAIN)
    gains = {0.0: 0.0, 1.0: 1.0, 2.0: 5.0, 3.0: 6.0, 4.0: 20.0}
    search = search_of(lists, rows_of(lists, Convention(gain=gains, no_relevant="one"), 5))
    assert search.exact() == []
    nearest = search.nearest()
    true = search.distance(Trial(Convention(no_relevant="one"), None))
    assert search.distance(nearest) <= true


def test_an_option_that_is_fixed_stays():
    lists = lists_of(PLAIN)
    rows = rows_of(lists, Convention(gain="linear"), 5)
    assert search_of(lists, rows, gain="exp2").exact() == []
    found = search_of(lists, rows, no_relevant="skip").exact()
    assert {trial.convention.no_relevant for trial in found} == {"skip"}


def test_a_discount_that_counts_the_first_two_ranks_fully_is_jarvelin():
    """The mistake of 1/log2(i + 1) with i from 0."""
    lists = lists_of(PLAIN)
    found = search_of(lists, rows_of(lists, Convention(discount="jarvelin"), 5)).exact()
    assert found[0].convention.discount == "jarvelin"


def test_the_nearest_is_reached_over_several_options():
    lists = lists_of(PLAIN)
    true = Convention.preset("sklearn").replace(ties="rank", ideal="retrieved_at_k", gain="exp2")
    rows = rows_of(lists, true, 5)
    # Cut off in place of rounded, so that no convention is exact.
    cut = [row._replace(number=row.number[:4]) for row in rows_of(lists, true, 5, digits=9)]
    assert len(cut) == len(rows)
    search = search_of(lists, cut)
    assert search.exact() == []
    nearest = search.nearest()
    assert search.distance(nearest) <= search.distance(Trial(true, None))

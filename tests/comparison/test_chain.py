"""The difference of a run from its reference over changes of judgments, and the second reading of scores."""

import itertools
import math
import types

import numpy as np
import pyarrow as pa
import pytest
from gates import copied, evaluate
from scipy import stats

from ndcg_spark import Convention
from ndcg_spark import evaluate as evaluated
from ndcg_spark.comparison.baselines import Baseline, Kind
from ndcg_spark.comparison.chain import (
    HIGH,
    LOW,
    Chain,
    Limits,
    LinkSides,
    Piece,
    RunScores,
    chain,
    chain_row,
    usable_reference,
)
from ndcg_spark.comparison.differences import ComparisonOptions, comparison_rows
from ndcg_spark.comparison.readings import FIRST_READING, has_second_reading, second_reading
from ndcg_spark.comparison.references import Link, Reference
from ndcg_spark.comparison.sources import BOTH, ScoreCache, both_sides
from ndcg_spark.comparison.statistics import total_of_pieces
from ndcg_spark.inputs.query_tables import weight_rows
from ndcg_spark.nights.log import committed

N = 60
METRIC = ("ndcg", 10)
WEIGHTS = np.linspace(0.5, 3, N)
#: What a chain and a comparison have in common.
NUMBERS = ("difference", "interval_low", "interval_high", "p_value", "queries")


def everything(queries):
    return lambda newer, older: np.ones(len(queries), np.bool_)


def row_of(made, side, scores, tonight, weights=None):
    """The row of a chain on all queries."""
    matrix = scores.matrix(tonight, FIRST_READING)
    queries = matrix.queries
    return chain_row(
        {}, made, side, matrix.scores("r"), everything(queries), weights, queries.buckets, 0.05
    )


def compared_row(baseline, tonight, cache, side=None, weights=None):
    """The row of COMPARISONS of the run beside nights, weighted if there are weights."""
    sides = both_sides(Baseline(Kind.NIGHTS, nights=baseline), tonight, METRIC, cache, side)
    table = None
    if weights is not None:
        ids = [f"q{at}" for at in range(len(weights))]
        table = weight_rows(pa.table({"query_id": ids, "weight": pa.array(weights)}))
    rows = comparison_rows(sides.with_same_judgments(), ComparisonOptions(weights=table))
    return rows[0 if weights is None else 1]


def assert_same_numbers(row, expected):
    for name in NUMBERS:
        assert row[name] == pytest.approx(expected[name], rel=1e-9, abs=1e-12), name
    assert row["difference"] == pytest.approx(expected["difference"], abs=1e-12)


def written(output, day, scores, hashes, under=None):
    """A published night of a run, with copies of it under other hashes of judgments."""
    values = [score if judged else None for score, judged in zip(scores, hashes, strict=True)]
    copies = {other: {"r": own} for other, own in (under or {}).items()}
    evaluate(output, None, f"2026-11-{day:02}", {"r": values}, hashes=hashes, under=copies)


# Without a change, and with one.


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("many", [1, 3])
def test_within_one_set_of_judgments_a_chain_is_the_paired_difference(tmp_path, many, weights):
    chance = np.random.default_rng(many)
    for day in range(1, 5):
        written(tmp_path, day, chance.uniform(0.3, 0.8, N), (1,) * N)
    *before, tonight = committed(str(tmp_path))
    cache = ScoreCache()
    scores = RunScores("r", METRIC, cache)
    made = chain(Reference(tuple(before[:many])), tonight, scores, FIRST_READING)
    expected = compared_row(tuple(before[:many]), tonight, cache, weights=weights)
    for side in (HIGH, LOW):
        row = row_of(made, side, scores, tonight, weights)
        assert_same_numbers(row, expected)
        assert row["baseline_mean"] == pytest.approx(expected["baseline_mean"], abs=1e-12)
        assert row["weight_effective_n"] == pytest.approx(expected["weight_effective_n"])


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("seed", range(3))
def test_from_the_night_before_a_change_the_chain_is_both_sides_of_the_change(
    tmp_path, seed, weights
):
    chance = np.random.default_rng(seed)
    old = tuple(int(at < 50) for at in range(N))
    new = tuple(2 * int(at >= 10) for at in range(N))
    levels = chance.uniform(0.3, 0.8, (4, N))
    written(tmp_path, 1, levels[0], old)
    (first,) = committed(str(tmp_path))
    copied(first, new, {"r": levels[1]}, of=old)
    written(tmp_path, 2, levels[2] - 0.1, new, {old: levels[3] - 0.1})
    tonight = committed(str(tmp_path))[-1]
    cache = ScoreCache()
    scores = RunScores("r", METRIC, cache)
    made = chain(Reference((first,), (Link(first, tonight),)), tonight, scores, FIRST_READING)
    assert (len(made.links), made.pieces) == (1, ())
    sides = [compared_row((first,), tonight, cache, side, weights) for side in BOTH]
    lower, higher = sorted(sides, key=lambda row: row["difference"])
    for side, expected in ((LOW, lower), (HIGH, higher)):
        row = row_of(made, side, scores, tonight, weights)
        assert_same_numbers(row, expected)
        assert row["queries"] == 40
    # A loss is also tested with random signs.
    assert weights is not None or row_of(made, LOW, scores, tonight)[
        "p_randomization"
    ] == pytest.approx(lower["p_randomization"], rel=0.1)


@pytest.mark.parametrize("changes", [1, 4])
def test_a_chain_over_judgments_that_move_all_lists_alike_is_the_difference_of_the_lists(
    tmp_path, changes
):
    """Each query adds to all pieces, so that what it adds is summed up before it is squared."""
    chance = np.random.default_rng(changes)
    moved = chance.normal(0, 0.05, (changes + 1, N))
    levels = chance.uniform(0.3, 0.8, (2 * changes + 2, N))
    judged = [(month + 1,) * N for month in range(changes + 1)]
    day = itertools.count(1)
    # Each set of judgments has two nights.
    for at, level in enumerate(levels):
        month = at // 2
        others = [other for other in (month - 1, month + 1) if 0 <= other <= changes]
        under = {judged[other]: level + moved[other] for other in others}
        written(tmp_path, next(day), level + moved[month], judged[month], under)
    nights = committed(str(tmp_path))
    tonight = nights[-1]
    scores = RunScores("r", METRIC, ScoreCache())
    links = tuple(Link(nights[at], nights[at + 1]) for at in range(1, len(nights) - 1, 2))
    made = chain(Reference((nights[0],), links), tonight, scores, FIRST_READING)
    assert (len(made.links), len(made.pieces)) == (changes, changes + 1)
    expected = stats.ttest_rel(levels[-1], levels[0])
    low, high = expected.confidence_interval(0.95)
    for side in (HIGH, LOW):
        row = row_of(made, side, scores, tonight)
        assert row["difference"] == pytest.approx((levels[-1] - levels[0]).mean(), abs=1e-12)
        assert [row["interval_low"], row["interval_high"]] == pytest.approx([low, high], abs=1e-12)
        assert row["p_value"] == pytest.approx(expected.pvalue, rel=1e-9)


# Where a chain begins later.


def fake(day, judgments="j1"):
    """A night of which only the date and the judgments are asked."""
    return types.SimpleNamespace(
        dataset="web",
        evaluated_on=f"2026-11-{day:02}",
        row={"judgments_fingerprint": judgments, "accepted": None},
        is_good=True,
        unverified=None,
        unmeasured={},
    )


class Known:
    """Scores of which only the sides of the links are known; a night scores 0.5."""

    run = "r"

    def __init__(self, sides):
        self._sides = sides

    def sides(self, link, _reading):
        pair = self._sides[link.after.evaluated_on]
        if pair is None:
            return None
        return LinkSides(link, old=np.full(N, pair[0]), new=np.full(N, pair[1]))

    def matrix(self, _night, _reading):
        return types.SimpleNamespace(scores=lambda run: np.full(N, 0.5))

    def piece(self, newer, older, _reading):
        return Piece(newer, older[-1], np.zeros(N))


NIGHTS = [fake(1), fake(2), fake(3, "j2"), fake(4, "j2"), fake(5, "j3"), fake(6, "j3")]
LINKS = (Link(NIGHTS[1], NIGHTS[2]), Link(NIGHTS[3], NIGHTS[4]))
FINE = (0.009, -0.01)


@pytest.mark.parametrize(
    ("first", "second", "least", "expected"),
    [
        (FINE, FINE, N, ([1, 2], 2)),
        # Sides that are further apart than is allowed, a missing copy, and too few queries.
        ((0.011, -0.01), FINE, N, ([3, 4], 1)),
        (None, FINE, N, ([3, 4], 1)),
        (FINE, None, N, ([5, 6], 0)),
        (None, None, N, ([5, 6], 0)),
        (FINE, FINE, N + 1, ([5, 6], 0)),
    ],
)
def test_a_chain_begins_after_the_newest_change_that_cannot_be_crossed(
    first, second, least, expected
):
    scores = Known({"2026-11-03": first, "2026-11-05": second})
    limits = Limits(
        allowed=lambda mean: 0.04 * mean, min_queries=least, mask_of=everything(range(N))
    )
    tonight = fake(7, "j3")
    reference = Reference(tuple(NIGHTS[:2]), LINKS)
    used = usable_reference(reference, tonight, NIGHTS, 7, scores, limits)
    days = [int(night.evaluated_on[-2:]) for night in used.nights]
    assert (days, len(used.links)) == expected
    assert used.begins_later == (len(used.links) < 2)


def test_without_a_good_night_after_a_change_that_cannot_be_crossed_there_is_no_reference():
    scores = Known({"2026-11-03": FINE, "2026-11-05": None})
    limits = Limits(allowed=lambda mean: 0.02, min_queries=1, mask_of=everything(range(N)))
    tonight = NIGHTS[4]
    assert (
        usable_reference(
            Reference(tuple(NIGHTS[:2]), LINKS), tonight, NIGHTS[:4], 7, scores, limits
        )
        is None
    )


# The variance, and how often an interval holds the truth.


def plain_total(pieces, weights):
    """The sum of weighted means, its error and its degrees of freedom, query by query."""
    total = 0.0
    contributions = {}
    freedoms = []
    for apart, weight in zip(pieces, weights, strict=True):
        known = [
            at
            for at in range(len(apart))
            if not math.isnan(apart[at]) and not math.isnan(weight[at])
        ]
        size = sum(weight[at] for at in known)
        mean = sum(weight[at] * apart[at] for at in known) / size
        total += mean
        freedoms.append(size**2 / sum(weight[at] ** 2 for at in known) - 1)
        for at in known:
            contributions[at] = contributions.get(at, 0.0) + weight[at] * (apart[at] - mean) / size
    many = len(contributions)
    variance = many / (many - 1) * sum(value**2 for value in contributions.values())
    return total, math.sqrt(variance), min(freedoms)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("pieces", [1, 2, 5])
def test_the_variance_of_a_chain_adds_what_a_query_adds_to_all_pieces(pieces, is_weighted):
    chance = np.random.default_rng(pieces)
    apart = chance.normal(0.01, 0.1, (pieces, 40))
    apart[chance.random(apart.shape) < 0.3] = np.nan
    weight = chance.uniform(0.1, 3, 40) if is_weighted else np.ones(40)
    if is_weighted:
        weight[:3] = np.nan
    made = total_of_pieces(list(apart), [weight] * pieces)
    total, error, freedom = plain_total(apart.tolist(), [weight.tolist()] * pieces)
    assert (made.total, made.error, made.freedom) == pytest.approx(
        (total, error, freedom), rel=1e-12
    )
    # What random signs are given to is the sum itself.
    assert made.units.sum() == pytest.approx(total, abs=1e-14)
    if not is_weighted:
        counts = [int(np.count_nonzero(~np.isnan(piece))) for piece in apart]
        assert freedom == pytest.approx(min(counts) - 1)


JUDGED, REPLACED, WORLDS = 100, 0.3, 250
#: Between two nights the mean of the lists changes by this, and each query by a part of its own.
STEP, OWN = 0.004, 0.05


def world(chance, changes):
    """A chain of a shop whose judgments do not depend on the lists; and the true change of the mean.

    Each set of judgments has two nights, and sees each list with an error of its own.
    """
    many = JUDGED + changes * round(JUDGED * REPLACED)
    nights = 2 * changes + 2
    change = STEP + chance.normal(0, OWN, (nights - 1, many))
    # Few queries change between two nights.
    change = STEP + (change - STEP) * (chance.random(change.shape) < 0.4)
    lists = np.vstack([np.zeros(many), np.cumsum(change, axis=0)])
    judged = np.zeros((changes + 1, many), np.bool_)
    judged[0, :JUDGED] = True
    for month in range(changes):
        judged[month + 1] = judged[month]
        gone = chance.choice(np.flatnonzero(judged[month]), round(JUDGED * REPLACED), replace=False)
        judged[month + 1, gone] = False
        new = JUDGED + month * len(gone)
        judged[month + 1, new : new + len(gone)] = True
    seen = lists + chance.normal(0, 0.02, (changes + 1, *lists.shape))
    seen[~np.repeat(judged[:, None], nights, axis=1)] = np.nan
    dates = [fake(at + 1) for at in range(nights)]
    pieces, links = [], []
    for month in range(changes + 1):
        start, end = 2 * month, 2 * month + 1
        pieces.append(Piece(dates[end], dates[start], seen[month, end] - seen[month, start]))
        if month < changes:
            old, new = (seen[of, end + 1] - seen[of, end] for of in (month, month + 1))
            is_in_both = judged[month] & judged[month + 1]
            sides = [np.where(is_in_both, apart, np.nan) for apart in (old, new)]
            links.append(LinkSides(Link(dates[end], dates[end + 1]), *sides))
    return Chain(tuple(pieces), tuple(links)), STEP * (nights - 1)


def interval(made):
    """From the lowest to the highest that the chain of the lower and of the higher sides say."""
    many = len(made.pieces[0].differences)
    given = np.zeros(many), everything(range(many)), None, np.zeros(many, np.int64), 0.05
    low, high = (chain_row({}, made, side, *given) for side in (LOW, HIGH))
    return low["interval_low"], high["interval_high"]


@pytest.mark.parametrize("changes", [1, 3, 12])
def test_the_interval_of_a_chain_holds_the_true_change(changes):
    chance = np.random.default_rng(changes)
    held, held_by_new = 0, 0
    for _ in range(WORLDS):
        made, truth = world(chance, changes)
        low, high = interval(made)
        held += low <= truth <= high
        # With one side alone nothing is chosen, so that the interval is neither too narrow nor too wide.
        links = tuple(LinkSides(link.link, link.new, link.new) for link in made.links)
        low, high = interval(Chain(made.pieces, links))
        held_by_new += low <= truth <= high
    assert held / WORLDS >= 0.93
    assert 0.93 <= held_by_new / WORLDS <= 0.975


# The second reading.

QUERIES = [f"q{at}" for at in range(30)]


def random_lists(seed, levels):
    """Judgments, and lists of which some documents are unjudged; few `levels` of scores make ties."""
    chance = np.random.default_rng(seed)
    judgments, results = {}, {}
    for query in QUERIES:
        documents = [f"d{at}" for at in chance.permutation(14)]
        judgments[query] = {doc: int(chance.integers(0, 4)) for doc in documents[:6]}
        judgments[query][documents[0]] = 2
        listed = chance.permutation(documents)[: chance.integers(1, 11)]
        scores = (
            chance.permutation(100)[: len(listed)]
            if levels is None
            else chance.integers(0, levels, len(listed))
        )
        results[query] = {str(doc): float(score) for doc, score in zip(listed, scores, strict=True)}
    # One list of unjudged documents alone.
    results["q0"] = {"other": 2.0, "another": 1.0}
    del results["q1"]
    # A query without a relevant document.
    judgments["q2"] = dict.fromkeys(judgments["q2"], 0)
    return judgments, results


def ranked(scores):
    """By rank, the documents among which the rank is shared."""
    by_score = {}
    for doc, score in scores.items():
        by_score.setdefault(score, []).append(doc)
    shared = []
    for score in sorted(by_score, reverse=True):
        shared += [by_score[score]] * len(by_score[score])
    return shared


def gain_of(grade):
    return 2.0**grade - 1


def plain_reading(grades, scores, cutoff, measure):
    """A score as if unjudged documents were as relevant as the judged ones of the list."""
    of_judged, judged, returned = 0.0, 0.0, 0.0
    for rank, documents in enumerate(ranked(scores)[:cutoff], 1):
        weight = 1 / math.log2(rank + 1) if measure in ("ndcg", "dcg") else 1.0
        for doc in documents:
            part = weight / len(documents)
            returned += part
            if doc in grades:
                judged += part
                worth = (
                    float(grades[doc] >= 1) / cutoff
                    if measure == "precision"
                    else gain_of(grades[doc])
                )
                of_judged += part * worth
    value = of_judged / (judged / returned) if judged else 0.0
    if measure != "ndcg":
        return value
    best = sorted((gain_of(grade) for grade in grades.values()), reverse=True)[:cutoff]
    return value / sum(gain / math.log2(rank + 1) for rank, gain in enumerate(best, 1))


def readings(label, seed, levels, measure, cutoff):
    """By query, the published row, the row in the second reading, and what it should be."""
    judgments, results = random_lists(seed, levels)
    scores = evaluated(judgments, {"r": results}, [cutoff], label, measures=[f"P@{cutoff}"])
    frame = scores.query_scores
    frame = frame[frame["cutoff"] == cutoff]
    table = pa.Table.from_pandas(frame, preserve_index=False)
    read = second_reading(table, measure, Convention.parse(label)).to_pylist()
    for first, second in zip(table.to_pylist(), read, strict=True):
        query = first["query_id"]
        expected = first[measure]
        if first["status"] == "scored":
            expected = plain_reading(judgments[query], results[query], cutoff, measure)
        yield first, second, expected


CASES = [
    ("standard", None, 5),
    ("standard unjudged=1", None, 5),
    ("standard unjudged=0.5", None, 20),
    ("standard unjudged=1 ties=average", 2, 20),
]
#: Documents are counted whole, so that of those that are tied across a cutoff no share is counted.
ACROSS = [("standard ties=average", 3, 5), ("standard unjudged=1 ties=average", 3, 5)]
OF_MEASURES = [
    *itertools.product(CASES, ("ndcg", "dcg", "cg", "precision")),
    *itertools.product(ACROSS, ("ndcg", "dcg")),
]


@pytest.mark.parametrize(("case", "measure"), OF_MEASURES, ids=str)
def test_the_second_reading_takes_unjudged_documents_for_judged_ones(case, measure):
    label, levels, cutoff = case
    is_changed, statuses = 0, set()
    for first, second, expected in readings(label, 5, levels, measure, cutoff):
        if expected is None or math.isnan(expected):
            assert second[measure] is None
        else:
            assert second[measure] == pytest.approx(expected, rel=1e-12, abs=1e-14), first
            is_changed += second[measure] != first[measure]
        statuses.add(first["status"])
    assert is_changed > 10
    assert statuses == {"scored", "missing", "no_relevant"}


def test_a_list_of_which_nothing_is_judged_scores_0_in_the_second_reading():
    ((first, second, _),) = [
        found
        for found in readings("standard unjudged=1", 5, None, "ndcg", 5)
        if found[0]["query_id"] == "q0"
    ]
    assert (first["ndcg"] > 0, second["ndcg"]) == (True, 0.0)


@pytest.mark.parametrize(
    ("share", "returned", "expected"), [(None, 5, None), (None, 0, 0.0), (0.5, 5, 0.8)]
)
def test_a_list_of_which_the_judged_share_is_not_known_has_no_second_reading(
    share, returned, expected
):
    row = {"status": "scored", "returned": returned, "judged_discount_share": share}
    table = pa.Table.from_pylist([{**row, "ndcg": 0.4, "dcg": 1.2, "ideal_dcg": 3.0}])
    table = table.set_column(2, "judged_discount_share", pa.array([share], pa.float64()))
    (value,) = second_reading(table, "ndcg", Convention())["ndcg"].to_pylist()
    assert value == (expected and pytest.approx(expected))


def test_other_measures_have_no_second_reading():
    assert [has_second_reading(name) for name in ("ndcg", "dcg", "cg", "precision")] == [True] * 4
    assert [has_second_reading(name) for name in ("ap", "recall", "rr", "judged_rate")] == [
        False
    ] * 4

"""How much lists changed: published values, plain Python, and the largest change that any judgments can cause."""

import itertools
import math
import random

import pytest
import tables

from ndcg_spark import Convention, compare_lists
from ndcg_spark.comparison import list_changes as lists
from ndcg_spark.errors import ConfigurationError, ConventionError, InputError
from ndcg_spark.schemas import LIST_CHANGES

#: List A, list B, persistence, cutoff: jaccard, rbo, moved_discount. Webber, Moffat and Zobel (2010),
#: figure 5, and others that three implementations agree on; None where another depth would be needed.
PUBLISHED = {
    ("abcdefg", "zcavwxy", 0.9, 7): (0.166667, 0.288217, None),
    ("abcdefg", "zcavwxy", 0.5, 7): (0.166667, 0.136756, None),
    ("abcdefg", "zcavwxy", 0.98, 7): (0.166667, 0.288720, None),
    ("abcdefg", "zcavwxy", 0.9, 5): (None, None, 0.660840),
    ("abcde", "bacde", 0.9, 5): (1, 0.9, 0.125174),
    ("abcde", "abced", 0.9, 5): (1, 0.981775, 0.014863),
    ("abcde", "edcba", 0.9, 5): (1, 0.737775, 0.275873),
    ("abcde", "abcdefg", 0.9, 7): (0.714286, 1, None),
    ("abcde", "abcdefg", 0.9, 5): (1, 1, 0),
    ("abc", "acb", 0.9, 3): (1, 0.955, None),
    ("abcde", "fghij", 0.9, 5): (0, 0, 1),
    ("abcde", "abc", 0.9, 5): (0.6, 1, 0.277273),
    ("abc", "", 0.9, 3): (0, 0, 1),
}
SCORED = {"q": {"a": 1.0}}
MEASURES = ("jaccard", "rbo", "moved_discount")


def changes(new, old, cutoffs=5, convention="standard", **options):
    """The rows of two sets of lists, by query and cutoff."""
    rows = compare_lists(old, new, cutoffs, convention, **options).to_dict("records")
    return {(row["query_id"], row["cutoff"]): row for row in rows}


@pytest.mark.parametrize(
    "p", [0.9, *(pytest.param(p, marks=pytest.mark.slow) for p in (0.5, 0.98))]
)
def test_the_measures_are_those_that_are_published(p):
    cases = {f"q{n}": case for n, case in enumerate(PUBLISHED) if case[2] == p}
    # An empty list is of a query that only one side has.
    old, new = ({q: [*case[side]] for q, case in cases.items() if case[side]} for side in (0, 1))
    rows = changes(new, old, sorted({case[3] for case in cases.values()}), persistence=p)
    for query, case in cases.items():
        row = rows[query, case[3]]
        for name, value in zip(MEASURES, PUBLISHED[case], strict=True):
            assert value is None or row[name] == pytest.approx(value, abs=6e-7), (case, name)
    assert list(row) == LIST_CHANGES.names


def extrapolated(one, other, p):
    """Equation 32 of Webber, Moffat and Zobel, depth by depth."""
    short, long = sorted((one, other), key=len)
    s, deepest = len(short), len(long)
    x = [len({*short[:d]} & {*long[:d]}) for d in range(deepest + 1)]
    within = sum(x[d] / d * p**d for d in range(1, deepest + 1))
    beyond = sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, deepest + 1))
    return (1 - p) / p * (within + beyond) + ((x[-1] - x[s]) / deepest + x[s] / s) * p**deepest


def moved(one, other, k):
    """The largest difference of DCG that any judgments of grade 0 or 1 cause, tried one by one."""
    weight = [1 / math.log2(rank + 1) for rank in range(1, k + 1)]
    shares = [dict(zip(side, weight, strict=False)) for side in (one, other)]
    documents = sorted({*shares[0], *shares[1]})
    differences = [shares[0].get(doc, 0.0) - shares[1].get(doc, 0.0) for doc in documents]
    judged = itertools.product([0, 1], repeat=len(documents))
    return max(
        abs(sum(g * d for g, d in zip(grades, differences, strict=True))) for grades in judged
    ) / sum(weight)


def test_random_lists_of_unequal_length_are_as_in_plain_python_and_under_all_judgments():
    chance, k = random.Random(29), 5  # noqa: S311  # it makes test data
    sides = [
        {f"q{n}": chance.sample("abcdefgh", chance.randint(0, 7)) for n in range(150)}
        for _ in range(2)
    ]
    new, old = ({query: listed for query, listed in side.items() if listed} for side in sides)
    rows = changes(new, old, [1, 3, k, 9], persistence=0.8)
    assert {query for query, _ in rows} == {*new, *old}
    for (query, cutoff), row in rows.items():
        ours, theirs = (side.get(query, [])[:cutoff] for side in (new, old))
        common = {*ours} & {*theirs}
        expected = {
            "returned": len(ours),
            "baseline_returned": len(theirs),
            "entered": len(ours) - len(common),
            "left": len(theirs) - len(common),
            "same_order": ours == theirs,
            "top_changed": ours[:1] != theirs[:1],
            "jaccard": len(common) / len({*ours, *theirs}),
            "rbo": extrapolated(ours, theirs, 0.8) if ours and theirs else 0.0,
            "moved_discount": moved(ours, theirs, cutoff) if ours and theirs else 1.0,
        }
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-12), (
            query,
            cutoff,
        )


def test_lists_are_ordered_by_the_convention_and_its_discount_weighs_what_moved():
    new = {"q": {"a": 1.0, "b": 1.0, "c": 0.5}}
    old = {"q": {"a": 2.0, "b": 1.0, "c": 0.5}}
    descending = changes(new, old, 3, Convention(ties="doc_id_desc", discount="position"))["q", 3]
    assert not descending["same_order"]
    assert descending["moved_discount"] == pytest.approx((1 - 1 / 2) / (1 + 1 / 2 + 1 / 3))
    assert changes(new, old, 3, Convention(ties="doc_id_asc"))["q", 3]["same_order"]


def test_every_run_is_compared_with_one_of_them_or_with_the_run_of_its_name():
    runs = {"one": {"q": ["a", "b"]}, "two": {"q": ["b", "a"]}, "three": {"q": ["a"], "u": ["z"]}}
    rows = compare_lists(runs, runs, 2, baseline="one").to_dict("records")
    assert {(row["run"], row["baseline"], row["query_id"], row["entered"]) for row in rows} == {
        ("one", "one", "q", 0),
        ("two", "one", "q", 0),
        ("three", "one", "q", 0),
        ("three", "one", "u", 1),
    }
    rows = compare_lists({"two": {"q": ["b", "c"]}}, runs, 2).to_dict("records")
    assert [(row["run"], row["baseline"], row["entered"], row["left"]) for row in rows] == [
        ("two", "two", 1, 1)
    ]


@pytest.mark.parametrize(
    ("error", "new", "old", "cutoffs", "options"),
    [
        *(
            (ConventionError, SCORED, SCORED, 5, {"convention": ties})
            for ties in (Convention(ties="best"), Convention(ties="average"))
        ),
        (ConfigurationError, SCORED, SCORED, [5, None], {}),
        (ConfigurationError, SCORED, SCORED, 5, {"persistence": 1}),
        (ConfigurationError, {"a": SCORED}, {"b": SCORED}, 5, {}),
        (
            InputError,
            {"query_id": ["q", "q"], "doc_id": ["a", "a"], "score": [2.0, 1.0]},
            SCORED,
            5,
            {},
        ),
    ],
)
def test_refusals(error, new, old, cutoffs, options):
    with pytest.raises(error):
        changes(new, old, cutoffs, **options)


def test_no_list_is_collected_and_no_python_runs(session, capsys):
    sides = [tables.results(session, [tables.result("a", score)]) for score in (1.0, 2.0)]
    lists.list_changes(
        *sides, ["r"], None, (Convention(), Convention()), [5, 10], 0.9, "default"
    ).explain()
    plan = capsys.readouterr().out.lower()
    assert "aggregate" in plan
    for word in ("collect_list", "array_agg", "udf", "python"):
        assert word not in plan, word

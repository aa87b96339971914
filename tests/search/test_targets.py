"""What scores of a job are: their digits, their runs, and what is refused."""

import pytest

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.old_scores import OldRow
from ndcg_spark.search.targets import LEAST_TOLERANCE, make_targets, tolerance_of
from ndcg_spark.tolerance import EQUAL
from ndcg_spark.voices import name_column

RUNS = [(None, "a"), (None, "b")]


def row(number="0.5", query_id="q1", run="a", **more):
    fields = {"dataset": None, "cutoff": 10, "has_cutoff": True, **more}
    return OldRow(run=run, query_id=query_id, number=number, **fields)


@pytest.mark.parametrize(
    ("numbers", "unit"),
    [
        (["0.1234", "0.5"], 1e-4),
        (["0.12", None], 1e-2),
        (["1e-3"], 1e-3),
        (["0", "1"], 1),
    ],
)
def test_the_tolerance_is_half_a_unit_of_the_last_digit_given(numbers, unit):
    assert tolerance_of(numbers) == pytest.approx(unit / 2 + EQUAL, rel=1e-9)


def test_the_tolerance_leaves_room_for_floats_of_32_bits():
    assert tolerance_of([repr(1 / 3)]) == pytest.approx(LEAST_TOLERANCE + EQUAL, rel=1e-9)


def test_the_only_run_of_both_sides_is_the_same_whatever_it_is_called():
    targets = make_targets([row(run=None)], [(None, "dense")], "default")
    assert {place.run for place in targets.scores} == {"dense"}


def test_runs_that_the_results_lack_are_left_aside_and_named():
    targets = make_targets([row(), row(run="old")], RUNS, "default")
    assert targets.runs == {("default", "a")}
    assert len(targets.notes) == 1


IN_SHOP, IN_BOOKS = row(dataset="shop"), row("0.3", dataset="books")


@pytest.mark.parametrize(
    ("rows", "runs", "kept"),
    [
        ([IN_SHOP], [(None, "a")], {"default": 0.5}),
        ([IN_SHOP, IN_BOOKS], [("shop", "a"), ("books", "a")], {"shop": 0.5, "books": 0.3}),
        ([IN_SHOP, IN_BOOKS], [("shop", "a")], {"shop": 0.5}),
        ([IN_SHOP, row("0.3", run="c", dataset="books")], RUNS, {"default": 0.5}),
        ([row()], [("shop", "a")], {"shop": 0.5}),
    ],
    ids=["unnamed", "both", "one of two", "that of a run of ours", "named by ours alone"],
)
def test_scores_are_of_the_dataset_of_their_run(rows, runs, kept):
    targets = make_targets(rows, runs, "default")
    assert {place.dataset: value for place, value in targets.scores.items()} == kept


def test_scores_of_a_dataset_that_the_option_names_are_those_of_tables_that_name_none():
    targets = make_targets([IN_SHOP, IN_BOOKS], [(None, "a")], "shop")
    assert list(targets.scores.values()) == [0.5]
    assert len(targets.notes) == 1


@pytest.mark.parametrize(
    ("rows", "runs", "names"),
    [
        ([row(dataset="shop-eu")], [("shop", "a")], "a of shop-eu.*a of shop$"),
        ([IN_BOOKS], [("shop", "a"), ("books", "b")], "a of books.*b of books, a of shop$"),
        ([IN_SHOP, IN_BOOKS._replace(query_id="q2")], [(None, "a")], "2 datasets.*books and shop"),
    ],
    ids=["another dataset", "a run of another", "two where ours name none"],
)
def test_datasets_that_differ_are_refused_as_datasets(rows, runs, names):
    with pytest.raises(InputError, match=names):
        make_targets(rows, runs, "default")


def test_a_dataset_that_both_sides_name_is_not_another_though_an_option_names_it_too():
    with pytest.raises(InputError, match=r"a of shop-eu.*a of shop$"):
        make_targets([row(dataset="shop-eu")], [("shop", "a")], "shop")


def test_digits_of_runs_that_are_left_aside_do_not_count():
    targets = make_targets([row("0.5"), row("0.54321", run="old")], RUNS, "default")
    assert targets.tolerance == pytest.approx(0.05 + EQUAL, rel=1e-9)


@pytest.mark.parametrize(
    "rows",
    [
        [row(run=None)],
        [row(run="c"), row(run="d")],
        [row("0.5"), row("0.6")],
        [row("high")],
        [row("inf")],
        [row("1_000")],
        [row("\uff10.\uff15")],
        [row("1e999")],
        [row(), row(query_id="q2", has_cutoff=False)],
    ],
    ids=[
        "no run",
        "other runs",
        "two values",
        "text",
        "infinite",
        "underscore",
        "wide digits",
        "too large",
        "some cutoffs",
    ],
)
def test_what_cannot_be_compared_is_refused(rows):
    with pytest.raises(InputError):
        make_targets(rows, RUNS, "default")


def test_means_are_rows_without_a_query():
    targets = make_targets([row(query_id=None), row("0.123")], RUNS, "default")
    assert list(targets.means.values()) == [0.5]
    assert targets.mean_tolerance == pytest.approx(0.05 + EQUAL, rel=1e-9)
    assert targets.tolerance == pytest.approx(0.0005 + EQUAL, rel=1e-9)


@pytest.mark.parametrize(
    ("numbers", "values", "unit"),
    [
        (["81.14", "0", "100"], [0.8114, 0.0, 1.0], 1e-4),
        (["0.8114", "0", "1"], [0.8114, 0.0, 1.0], 1e-4),
        (["0.81", "0.9", "1.2"], [0.81, 0.9, 1.2], 1e-2),
        (["12.5", "250.0"], [12.5, 250.0], 1e-1),
    ],
    ids=["percent", "fractions", "some above 1", "DCG"],
)
def test_percent_are_divided_by_100(numbers, values, unit):
    rows = [row(number, f"q{at}") for at, number in enumerate(numbers)]
    targets = make_targets(rows, RUNS, "default")
    assert list(targets.scores.values()) == pytest.approx(values)
    assert targets.tolerance == pytest.approx(unit / 2 + EQUAL)
    is_odd = max(map(float, numbers)) > 1
    assert len(targets.notes) == is_odd


def test_scores_of_a_named_cutoff_can_be_those_of_any():
    targets = make_targets([row(), row("0.3", "q2")], RUNS, "default").with_any_cutoff()
    assert (targets.knows_cutoffs, targets.cutoffs) == (False, [None])
    assert list(targets.scores.values()) == [0.5, 0.3]


def test_two_means_of_a_run_may_be_scores_of_queries_whose_column_has_another_name():
    rows = [row(query_id=None), row("0.6", query_id=None)]
    with pytest.raises(InputError) as refused:
        make_targets(rows, RUNS, "default")
    assert refused.value.advice == name_column("scores", "query_id")
    with pytest.raises(InputError) as refused:
        make_targets([row(), row("0.6")], RUNS, "default")
    assert refused.value.advice is None

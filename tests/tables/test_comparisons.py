"""Comparisons as people are shown them."""

from ndcg_spark.schemas import COMPARISONS
from ndcg_spark.tables.comparisons import SORT_COLUMNS, comparison_table, query_table
from ndcg_spark.tables.sorting import order_of
from ndcg_spark.tables.writers import text

UNCHANGED = {
    **dict.fromkeys(COMPARISONS.names),
    "dataset": "web",
    "run": "new",
    "baseline": "new",
    "measure": "ndcg",
    "cutoff": 10,
    "queries": 11,
    "mean": 0.5,
    "baseline_mean": 0.5,
    "difference": 1e-17,
    "interval_low": -2e-17,
    "interval_high": 4e-17,
    "p_value": 1.0,
    "p_adjusted": 1.0,
    "p_decides": 1.0,
    "wins": 0,
    "ties": 11,
    "losses": 0,
    "conclusion": "cannot_tell",
    "flags": ["unchanged"],
}


def row(run, difference=0.1, **more):
    """A row that changed, with an interval of 0.05 to either side."""
    interval = {"interval_low": difference - 0.05, "interval_high": difference + 0.05}
    family = {"family_size": 3, "conclusion": "cannot_tell", "flags": []}
    tests = {"p_value": 0.002, "p_adjusted": 0.004, "p_decides": 0.004, "minimum_detectable": 0.36}
    return {**UNCHANGED, "run": run, "difference": difference, **interval, **family, **tests, **more}


def shown(rows, **more):
    return comparison_table(rows, "holm", 0.05, **more)


MANY = [
    row("good", conclusion="better"),
    row("a-run-with-a-long-name", -0.2, conclusion="worse", flags=["few_changed"]),
    row("other", 0.01, p_adjusted=0.6),
    row("other", -3.0, measure="dcg"),
    {**UNCHANGED, "run": "same", "difference": 0.0},
]


def test_the_worst_run_comes_first_below_a_count_of_conclusions():
    table = shown(MANY)
    assert table.title == "ndcg@10: 1 worse, 1 better, 1 cannot tell, 1 unchanged"
    runs = ["a-run-with-a-long-name", "same", "other", "good", "other"]
    assert [cells[0] for cells in table.rows] == runs
    for sort, first in (("difference", "good"), ("run", "a-run-with-a-long-name"), ("p_adjusted:desc", "same")):
        table = shown(MANY, order=order_of(sort, SORT_COLUMNS, ()))
        assert table.rows[0][0] == first
    table = shown(MANY, top=2)
    assert [cells[0] for cells in table.rows] == runs[:2]
    assert table.notes[0] == "and 3 more without --top"


def test_a_table_of_one_measure_fits_a_hundred_columns():
    long = row("a" * 10, -0.1, conclusion="cannot_tell", wins=100, ties=1000, losses=100)
    table = shown([long, UNCHANGED])
    assert table.headings == [
        *("run", "mean", "baseline", "difference", "interval", "p (adjusted)", "won/tied/lost", "conclusion")
    ]
    assert max(map(len, text(table)[:4])) <= 100
    assert [cells[-2:] for cells in table.rows] == [["100/1,000/100", "cannot tell"], ["0/11/0", "unchanged"]]


def test_a_flag_names_the_runs_that_have_it():
    table = shown([row("a", flags=["few_changed"]), row("b")])
    assert next(note for note in table.notes if "few_changed" in note).startswith("a: few_changed: ")
    assert shown([row("a", flags=["few_changed"])]).notes[-1].startswith("few_changed: ")


def test_a_row_with_weights_stays_below_the_one_without():
    weighted = [row(run, -0.5 - at, weight_effective_n=3.0) for at, run in enumerate("ab")]
    rows = [row("a", 0.2), weighted[0], row("b", 0.1), weighted[1]]
    table = shown(rows)
    assert [cells[:2] for cells in table.rows] == [
        ["b", "ndcg@10"],
        ["b", "ndcg@10 weighted"],
        ["a", "ndcg@10"],
        ["a", "ndcg@10 weighted"],
    ]


def test_a_run_with_several_baselines_names_the_one_of_each_row():
    both = [{**UNCHANGED, "baseline": name, "p_adjusted": p} for name, p in (("old", 1.0), ("older", 0.5))]
    weighted = [{**row, "weight_effective_n": 5.0} for row in both]
    table = comparison_table([both[0], weighted[0], both[1], weighted[1]], "holm", 0.05)
    assert table.headings[:3] == ["run", "against", "measure"]
    assert [row[1:3] for row in table.rows] == [
        [name, f"ndcg@10{kind}"] for name in ("old", "older") for kind in ("", " weighted")
    ]
    assert table.notes[0] == "baseline: old, older"
    # A run that is compared with that of its own name has one.
    alone = comparison_table([UNCHANGED, {**UNCHANGED, "run": "old", "baseline": "old"}], "holm", 0.05)
    assert alone.headings[:2] == ["run", "mean"]
    assert alone.notes[0] == "baseline: the run of the same name"


def test_rows_of_several_datasets_say_of_which_they_are():
    query = {**UNCHANGED, "query_id": "q", "baseline_score": 0.25, "score": 0.5}
    assert query_table([query]).headings[0] == "run"
    both = query_table([query, {**query, "dataset": "news"}])
    assert (both.headings[0], {cells[0] for cells in both.rows}) == ("dataset", {"web", "news"})

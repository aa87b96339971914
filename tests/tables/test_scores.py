"""Tables of scores: for a terminal with counts; for papers the best in bold, significance as superscripts."""

import pytest

from ndcg_spark.convention.parsing import measure_set_of
from ndcg_spark.tables.scores import compared_paper_table, marks_of, paper_table, score_table
from ndcg_spark.tables.writers import latex, text


def score(run, ndcg, cutoff=10, dataset="web", **more):
    return {"dataset": dataset, "run": run, "cutoff": cutoff, "ndcg": ndcg, "queries": 50, **more}


COUNTS = {"queries": 3, "missing_queries": 0, "no_relevant_queries": 0, "unjudged_queries": 0, "judged_rate": 1.0}


def counted(run="r", ndcg=0.5, cutoff=10, dataset="web", **more):
    return score(run, ndcg, cutoff, dataset, **{**COUNTS, **more})


def test_a_run_has_one_row_with_its_score_at_every_cutoff_and_the_counts_of_its_mean():
    more = {"queries": 1234567, "missing_queries": 4, "no_relevant_queries": 5, "unjudged_queries": 6}
    table = score_table([counted(ndcg=0.25, cutoff=1, **more), counted(ndcg=0.75, cutoff=None, **more)])
    counts = ["queries", "missing", "no relevant", "unjudged", "judged rate"]
    assert table.headings == ["run", "ndcg@1", "ndcg@all", *counts]
    assert table.rows == [["r", "0.2500", "0.7500", "1,234,567", "4", "5", "6", "1.0000"]]


def test_what_has_no_value_is_a_dash_and_zero_is_none():
    table = score_table([counted("empty", None, queries=0, judged_rate=None), counted("bad", 0.0, judged_rate=0.0)])
    assert table.rows == [["bad", "0.0000", "3", "0", "0", "0", "0.0000"], ["empty", "-", "0", "0", "0", "0", "-"]]


def test_datasets_are_named_where_there_are_several_and_the_best_of_each_comes_first():
    runs = [("web", "a", 0.1), ("web", "b", 0.9), ("web", "c", 0.9), ("web", "none", None), ("shop", "d", 0.5)]
    table = score_table([counted(run, ndcg, dataset=dataset) for dataset, run, ndcg in runs])
    assert table.headings[:2] == ["dataset", "run"]
    assert [row[1] for row in table.rows] == ["d", "b", "c", "a", "none"]


def test_a_table_has_no_more_rows_than_are_wanted_and_says_how_many_there_are():
    table = score_table([counted(f"run{number}") for number in range(60)], notes=["formula"])
    assert table.first(60, "") is table
    short = table.first(50, "in --format json")
    assert (len(short.rows), short.notes) == (50, ["and 10 more in --format json", "formula"])


def test_columns_are_aligned_and_no_line_is_cut():
    heading, latin, wide, _, note = text(score_table([counted("r" * 200), counted("検索", 0.1)], notes=["gain " * 40]))
    assert heading.index(" queries") == latin.index("0.5000") + len("0.5000") + 1
    # The letters of Japanese are two places wide.
    assert (wide.index("0.1000"), note) == (latin.index("0.5000") - 2, "gain " * 40)


def comparison(run, mean, p=0.5, baseline_mean=0.4, measure="ndcg", cutoff=10, **more):
    row = {"dataset": "web", "run": run, "baseline": "bm25", "baseline_night": None, "measure": measure}
    row |= {"cutoff": cutoff, "attribute": None, "weight_effective_n": None, "mean": mean, "family_size": 2}
    row |= {"p_adjusted": p, "p_value": p, "p_decides": p, "flags": []}
    return {**row, "baseline_mean": baseline_mean, **more}


def rows(table):
    """The lines between the rules."""
    lines = latex(table)
    return lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]


def test_the_columns_are_the_measures_that_were_asked_for_as_the_field_writes_them():
    requested = measure_set_of(["ndcg@10", "precision@10", "ap@all", "bpref@all"])
    found = [score("a", 0.5, precision=0.4), score("a", 0.6, None, ap=0.3, bpref=0.2)]
    table = paper_table(found, measure_set=requested)
    assert table.headings == ["run", "nDCG@10", "P@10", "AP", "Bpref"]
    assert table.rows == [["a", "0.5000", "0.4000", "0.3000", "0.2000"]]


def test_the_best_of_each_column_and_dataset_is_bold_and_so_is_what_looks_the_same():
    found = [score("a", 0.70001), score("b", 0.70002), score("c", 0.1), score("e", None)]
    found += [score("d", -0.1, dataset="shop"), score("f", -0.2, dataset="shop")]
    assert rows(paper_table(found)) == [
        r"shop & d & \textbf{-0.1000} \\",
        r"shop & f & -0.2000 \\",
        r"web & b & \textbf{0.7000} \\",
        r"web & a & \textbf{0.7000} \\",
        r"web & c & 0.1000 \\",
        r"web & e & - \\",
    ]


def test_what_is_significant_has_stars_behind_it_and_slices_and_weights_have_none():
    compared = [comparison("new", 0.5, p=0.004), comparison("new", 0.1, p=0.0001, attribute="a", value="b")]
    compared.append(comparison("new", 0.9, p=0.0001, weight_effective_n=3.0))
    table = paper_table([score("new", 0.5), score("bm25", 0.4)], marks=marks_of(compared))
    assert rows(table) == [r"new & \textbf{0.5000}\textsuperscript{**} \\", r"bm25 & 0.4000 \\"]


def test_a_comparison_is_a_table_of_its_runs_and_their_baseline():
    compared = [
        *(comparison("new", 0.5, p=0.04), comparison("new", 0.3, measure="precision", cutoff=5, baseline_mean=0.6)),
        *(comparison("odd", 0.2, p=None), comparison("odd", 0.1, measure="precision", cutoff=5, baseline_mean=0.6)),
    ]
    table = compared_paper_table(compared, "holm", ["precision", "ndcg"])
    assert table.headings == ["run", "P@5", "nDCG@10"]
    assert rows(table) == [
        r"bm25 & \textbf{0.6000} & 0.4000 \\",
        r"new & 0.3000 & \textbf{0.5000}\textsuperscript{*} \\",
        r"odd & 0.1000 & 0.2000 \\",
    ]
    assert table.notes[0] == "baseline: bm25"
    assert table.notes[1].endswith("adjusted for 2 comparisons (Holm); * below 0.05, ** below 0.01, *** below 0.001")


@pytest.mark.parametrize(
    "more", [{"attribute": "a"}, {"weight_effective_n": 3.0}, {"baseline": "other"}, {"baseline_mean": 0.41}]
)
def test_what_is_no_such_table_has_none(more):
    assert compared_paper_table([comparison("a", 0.5), comparison("b", 0.5, **more)], "holm") is None

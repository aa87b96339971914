"""Tables for papers: what was measured, the best in bold, significance as superscripts, and no counts."""

import pytest

from ndcg_spark.convention.parsing import measure_set_of
from ndcg_spark.sheets.markup import latex
from ndcg_spark.sheets.papers import compared_paper_sheet, marks_of, paper_sheet


def score(run, ndcg, cutoff=10, dataset="web", **more):
    return {"dataset": dataset, "run": run, "cutoff": cutoff, "ndcg": ndcg, "queries": 50, **more}


def comparison(run, mean, p=0.5, baseline_mean=0.4, measure="ndcg", cutoff=10, **more):
    row = {"dataset": "web", "run": run, "baseline": "bm25", "baseline_night": None, "measure": measure}
    row |= {
        "cutoff": cutoff,
        "attribute": None,
        "weight_effective_n": None,
        "mean": mean,
        "p_adjusted": p,
        "flags": [],
        "test": "t",
    }
    return {**row, "baseline_mean": baseline_mean, **more}


def rows(table):
    """The lines between the rules."""
    lines = latex(table)
    return lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]


def test_the_columns_are_the_measures_that_were_asked_for_as_the_field_writes_them():
    asked = measure_set_of(["ndcg@10", "precision@10", "ap@all", "bpref@all"])
    found = [score("a", 0.5, precision=0.4), score("a", 0.6, None, ap=0.3, bpref=0.2)]
    table = paper_sheet(found, asked=asked)
    assert table.headings == ["run", "nDCG@10", "P@10", "AP", "Bpref"]
    assert table.rows == [["a", "0.5000", "0.4000", "0.3000", "0.2000"]]


def test_the_best_of_each_column_and_dataset_is_bold_and_so_is_what_looks_the_same():
    found = [
        score("a", 0.70001),
        score("b", 0.70002),
        score("c", 0.1),
        score("d", 0.2, dataset="shop"),
        score("e", None),
    ]
    assert rows(paper_sheet(found)) == [
        r"shop & d & \textbf{0.2000} \\",
        r"web & b & \textbf{0.7000} \\",
        r"web & a & \textbf{0.7000} \\",
        r"web & c & 0.1000 \\",
        r"web & e & {-} \\".replace("{-}", "-"),
    ]


def test_what_is_significant_has_stars_behind_it_and_slices_and_weights_have_none():
    compared = [comparison("new", 0.5, p=0.004), comparison("new", 0.1, p=0.0001, attribute="a", value="b")]
    compared.append(comparison("new", 0.9, p=0.0001, weight_effective_n=3.0))
    table = paper_sheet([score("new", 0.5), score("bm25", 0.4)], marks=marks_of(compared))
    assert rows(table) == [r"new & \textbf{0.5000}\textsuperscript{**} \\", r"bm25 & 0.4000 \\"]


def test_a_comparison_is_a_table_of_its_runs_and_their_baseline():
    compared = [
        *(comparison("new", 0.5, p=0.04), comparison("new", 0.3, measure="precision", cutoff=5, baseline_mean=0.6)),
        *(comparison("odd", 0.2, p=None), comparison("odd", 0.1, measure="precision", cutoff=5, baseline_mean=0.6)),
    ]
    table = compared_paper_sheet(compared, "holm", ["precision", "ndcg"])
    assert table.headings == ["run", "P@5", "nDCG@10"]
    assert rows(table) == [
        r"bm25 & \textbf{0.6000} & 0.4000 \\",
        r"new & 0.3000 & \textbf{0.5000}\textsuperscript{*} \\",
        r"odd & 0.1000 & 0.2000 \\",
    ]
    assert table.notes[0] == "baseline: bm25"
    assert table.notes[1].endswith("adjusted for 3 comparisons (Holm); * below 0.05, ** below 0.01, *** below 0.001")


@pytest.mark.parametrize(
    "more", [{"attribute": "a"}, {"weight_effective_n": 3.0}, {"baseline": "other"}, {"baseline_mean": 0.41}]
)
def test_what_is_no_such_table_has_none(more):
    assert compared_paper_sheet([comparison("a", 0.5), comparison("b", 0.5, **more)], "holm") is None

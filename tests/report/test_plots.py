"""Scores in memory as charts and as the table of a paper."""

import re
from xml.etree import ElementTree

import pytest

from ndcg_spark import compare, evaluate, latex, plot_queries, plot_runs
from ndcg_spark.errors import ConfigurationError

JUDGED = {f"q{n}": {"a": 1, "b": 0, "c": 0} for n in range(12)}
#: Better for most queries, worse for one; the worst run has an odd name.
RUNS = {
    "old": {query: {"b": 2.0, "a": 1.0} for query in JUDGED} | {"q0": {"a": 1.0}},
    "new": {query: {"a": 1.0} for query in JUDGED}
    | {"q0": {"b": 2.0, "a": 1.0}, "q1": {"b": 2.0, "a": 1.0}},
    "<b>&": {query: {"c": 1.0} for query in JUDGED},
}


@pytest.fixture(scope="module")
def scores():
    return evaluate(JUDGED, RUNS, measures="ndcg@10 P@1")


def test_what_is_no_scores_is_refused_in_a_sentence(scores):
    with pytest.raises(ConfigurationError, match="not a DataFrame"):
        latex(compare(scores, "old"))


def test_queries_have_a_dot_each_and_a_bar_where_they_changed(scores, tmp_path):
    plot = plot_queries(scores, "new", "old")
    assert (
        re.findall(r'<rect x=\S+ width=\S+ y=\S+ height=\S+ class="(\w+)"', plot.svg)
        == ["bad"] + ["ok"] * 10
    )
    assert plot.svg.count("<circle") == len(JUDGED)
    assert "1 lost, 1 unchanged, 10 won" in plot.svg
    plot.save(tmp_path / "queries.svg")
    assert (tmp_path / "queries.svg").read_text() == plot._repr_svg_()


@pytest.mark.parametrize(
    ("baseline", "tones"),
    [(None, ["mid"] * 3), ("old", ["ok", "mid"])],
    ids=["means", "differences"],
)
def test_runs_are_shown_the_best_first_in_a_drawing_that_is_xml(scores, baseline, tones):
    drawing = ElementTree.fromstring(plot_runs(scores, baseline, measure="P@1").svg)  # noqa: S314  # it is ours
    svg = "{http://www.w3.org/2000/svg}"
    assert [circle.get("class") for circle in drawing.iter(f"{svg}circle")] == tones
    names = [text.text for text in drawing.iter(f"{svg}text") if text.get("class") == "end"]
    assert (names[0], names[-1]) == ("new", "<b>&")


@pytest.mark.parametrize("names", [("nwe", "old"), ("new", "odl")])
def test_a_run_that_is_not_there_is_refused(scores, names):
    with pytest.raises(ConfigurationError, match=r"^(run|baseline): "):
        plot_queries(scores, *names)


def test_a_measure_that_was_not_computed_is_refused(scores):
    with pytest.raises(
        ConfigurationError, match=r"P@10 was not computed; choose one of ndcg@10, P@1"
    ):
        plot_runs(scores, "old", "P@10")


def test_a_paper_has_the_best_in_bold_and_stars_where_runs_differ(scores):
    table = latex(scores, "old")
    assert (
        r"new & \textbf{0.9385}\textsuperscript{*} & \textbf{0.8333}\textsuperscript{*} \\" in table
    )
    assert "% baseline: old" in table
    assert "(Holm)" in table
    assert "(Bonferroni)" in latex(scores, "old", correction="bonferroni")
    assert "textsuperscript" not in latex(scores)

"""Scores in memory as charts and as the table of a paper."""

from xml.etree import ElementTree

import pytest

from ndcg_spark import evaluate, latex, plot_queries, plot_runs
from ndcg_spark.errors import ConfigurationError

JUDGED = {f"q{n}": {"a": 1} for n in range(12)}
#: Better for most queries, worse for one; the worst run has an odd name.
RUNS = {
    "old": {query: {"b": 2.0, "a": 1.0} for query in JUDGED} | {"q0": {"a": 1.0}},
    "new": {query: {"a": 1.0} for query in JUDGED} | {"q0": {"b": 2.0, "a": 1.0}, "q1": {"b": 2.0, "a": 1.0}},
    "<b>&": {query: {"c": 1.0} for query in JUDGED},
}


@pytest.fixture(scope="module")
def scores():
    with pytest.warns(UserWarning, match="judged"):
        return evaluate(JUDGED, RUNS, measures="ndcg@10 P@1")


def shapes(plot, tag):
    """The elements of a chart, which must be well-formed XML, by their class."""
    assert plot._repr_svg_() == plot.svg
    return [each.get("class") for each in ElementTree.fromstring(plot.svg).iter(f"{{http://www.w3.org/2000/svg}}{tag}")]  # noqa: S314  # our own


def test_queries_have_a_bar_each_and_a_dot_each(scores, tmp_path):
    plot = plot_queries(scores, "new", "old")
    assert shapes(plot, "rect") == ["bad"] + ["ok"] * 10
    assert len(shapes(plot, "circle")) == 12
    assert "1 lost, 1 unchanged, 10 won" in plot.svg
    plot.save(tmp_path / "queries.svg")
    assert (tmp_path / "queries.svg").read_text() == plot.svg


def test_runs_are_shown_with_their_means_or_against_a_baseline(scores):
    assert shapes(plot_runs(scores, measure="P@1"), "circle") == ["mid"] * 3
    assert shapes(plot_runs(scores, "old"), "circle") == ["ok", "bad"]


@pytest.mark.parametrize("names", [("nwe", "old"), ("new", "odl")])
def test_a_run_that_is_not_there_is_refused(scores, names):
    with pytest.raises(ConfigurationError, match=r"^(run|baseline): "):
        plot_queries(scores, *names)


def test_a_paper_has_the_best_in_bold_and_says_what_is_better(scores):
    table = latex(scores, "old")
    assert r"new & \textbf{0.9385}\textsuperscript{+} & \textbf{0.8333}\textsuperscript{+} \\" in table
    assert r"\textless{}b\textgreater{}\& & 0.0000\textsuperscript{$-$}" in table
    assert r"\begin{tabular}{llll}"[:-2] in table
    assert "textsuperscript" not in latex(scores)

"""What a page says where people have graded a sample: by the kind of its sentences, and what it draws."""

import csv
import dataclasses
import io
import math
import re

import pytest
from kept_nights import date
from page_nights import DEPTH, GRADES, lists_of, night

from ndcg_spark.comparison.corrected import Corrected, Interval
from ndcg_spark.comparison.human_grades import HumanEstimate, HumanGrades, sample_to_grade
from ndcg_spark.errors import InputError
from ndcg_spark.report.advice import next_steps
from ndcg_spark.report.human_chart import both_intervals
from ndcg_spark.report.human_words import doubts, judged_by_people, kind_of
from ndcg_spark.report.outline import Request
from ndcg_spark.report.page import read_page

QUERIES = 40


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    output = tmp_path_factory.mktemp("human") / "nights"
    more = {
        "options": {"gain": "linear"},
        "configuration": {"documents": "all", "cutoffs": [DEPTH]},
    }
    runs = {"one": 0.7, "two": 0.6}
    night(output, 0, lists_of(runs, QUERIES, lost={"one": QUERIES}), **more)
    night(output, 1, lists_of(runs, QUERIES), **more)
    return output


def graded(nights, folder, documents, people):
    """A sample of the newest night, with the grades that people give to documents."""
    sample = sample_to_grade(str(nights), documents, 7, run="one", baseline_date=date(0))
    header, _, rows = sample.text().partition("query_id,")
    text = io.StringIO()
    lines = list(csv.reader(io.StringIO(f"query_id,{rows}")))
    for line in lines[1:]:
        line[3] = people(line[1])
    csv.writer(text).writerows(lines)
    file = folder / "graded.csv"
    file.write_text(header + text.getvalue(), encoding="utf-8")
    return HumanGrades(file)


def page_of(nights, human, **asked):
    (part,) = (page := read_page(str(nights), None, Request(human=human, **asked))).parts
    return page, part


def estimate(nights, tmp_path, machine, difference, low, high, **more):
    """An estimate with these numbers."""
    human = graded(nights, tmp_path, 20, lambda document: 1)
    made = page_of(nights, human)[1].human
    interval = Interval(0.01, low, high, 0.03)
    values = {"machine": machine, "difference": difference, "these_queries": interval, **more}
    return dataclasses.replace(made, corrected=dataclasses.replace(made.corrected, **values))


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ((0.02, 0.018, 0.01, 0.03), "confirmed"),
        ((-0.02, -0.018, -0.03, -0.01), "confirmed"),
        ((0.04, 0.018, 0.01, 0.03), "overstated"),
        ((0.005, 0.018, 0.01, 0.03), "understated"),
        ((0.02, -0.018, -0.03, -0.01), "contradicted"),
        ((0.0, -0.018, -0.03, -0.01), "contradicted"),
        ((0.02, 0.01, -0.01, 0.03), "undecided"),
        ((0.04, 0.01, -0.01, 0.03), "doubted"),
    ],
)
def test_the_sentence_says_whether_people_agree_with_the_judge(nights, tmp_path, numbers, kind):
    made = estimate(nights, tmp_path, *numbers)
    assert kind_of(made) == judged_by_people(made).kind == kind
    assert f"{abs(numbers[1]):.4f}" in judged_by_people(made).text
    assert f"{numbers[0]:+.4f}" in judged_by_people(made).text


def test_what_makes_the_numbers_rough_is_said(nights, tmp_path):
    numbers = (0.02, 0.018, 0.01, 0.03)
    flags = {
        "flags": ["few_errors", "missing_grades"],
        "errors": 3,
        "graded": 18,
        "without_ideal": 2,
    }
    kinds = [one.kind for one in doubts(estimate(nights, tmp_path, *numbers, **flags))]
    assert kinds == ["few_errors", "missing_grades", "without_ideal"]
    assert doubts(estimate(nights, tmp_path, *numbers, flags=[])) == []


def test_a_judge_that_people_contradict_makes_no_green_page(nights, tmp_path):
    # Every document that the judge likes is worthless to people.
    human = graded(nights, tmp_path, 60, lambda document: 0 if document in GRADES else 3)
    page, part = page_of(nights, human)
    assert part.run == "one"
    (top,) = page.answers
    kinds = [one.kind for one in top.sentences]
    assert (top.tone, kinds[-1]) == ("mid", "contradicted")
    assert top.headline.text.startswith("By the judge, ")
    assert next_steps(part)[0].kind == "do_not_trust_judge"
    agreed, _ = page_of(nights, None, run="one", baseline_date=date(0))
    assert agreed.answers[0].tone == "ok"
    assert "forest" in page.html
    assert ", by the judge</h" in page.html
    assert ", by the judge" not in agreed.html
    assert page.html.count("the judge says") == 1


def test_where_people_leave_it_open_more_are_to_be_graded(nights, tmp_path):
    human = graded(nights, tmp_path, 5, lambda document: 1)
    _, part = page_of(nights, human)
    kind = kind_of(part.human)
    assert kind in ("undecided", "doubted")
    steps = {step.kind: step.text.striptags() for step in next_steps(part)}
    command = steps["have_more_graded"]
    assert "--sample 10 --seed 7" in command
    assert str(human.source) in command


def test_the_picture_has_both_intervals_within_it(nights, tmp_path):
    made = estimate(nights, tmp_path, 0.02, -0.018, -0.03, -0.01)
    forest = both_intervals(made)
    judge, people = forest.rows
    assert [line.kind.split()[0] for line in judge.lines] == ["zero", "thin", "dot"]
    assert [line.kind.split()[0] for line in people.lines] == ["zero", "thin", "ci", "dot"]
    places = [float(end) for row in forest.rows for line in row.lines for end in (line.x1, line.x2)]
    assert 0 <= min(places) <= max(places) <= 100
    zero, _, thick, dot = people.lines
    assert float(thick.x2) < float(zero.x1)
    assert (judge.tone, people.tone) == ("mid", "bad")
    # The places are in the order of the numbers.
    width = (float(thick.x2) - float(thick.x1)) / (0.03 - 0.01)
    assert (float(zero.x1) - float(dot.x1)) / width == pytest.approx(0.018, abs=1e-3)
    flat = dataclasses.replace(made.corrected, these_queries=Interval(0.0, -0.018, -0.018, None))
    exact = HumanEstimate(made.pair, flat, made.documents, made.seed)
    assert exact.conclusion == "worse"


def test_a_sample_of_another_night_is_refused(nights, tmp_path):
    human = graded(nights, tmp_path, 20, lambda document: 1)
    with pytest.raises(InputError, match="show that night"):
        read_page(str(nights), date(0), Request(human=human))


def test_names_and_numbers_of_a_page_are_escaped(nights, tmp_path):
    human = graded(nights, tmp_path, 60, lambda document: 0 if document in GRADES else 3)
    page, part = page_of(nights, human)
    found = re.search(r"Human grades for (\d+) documents", page.html)
    assert int(found[1]) == part.human.corrected.graded
    assert math.isfinite(part.human.corrected.difference)
    assert isinstance(part.human.corrected, Corrected)

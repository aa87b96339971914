"""Pages of nights that are checked by measures of the catalog, of which less is no loss."""

import html
import re

import numpy as np
import pytest
from gates import N, Shown, evaluate, gate, spread

from ndcg_spark.comparison.trend import History, Point
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import committed
from ndcg_spark.report import advice, answer, charts, words
from ndcg_spark.report.cards import layout
from ndcg_spark.report.night import load_night
from ndcg_spark.report.outline import Request
from ndcg_spark.report.page import make_page
from ndcg_spark.report.site import write_site
from ndcg_spark.report.usual_range import usual_range

BASE = 0.6 + spread(0, 0.1)
POPULAR = 1_000 + spread(0, 100)
POPULARITY = {"measure": "popularity", "cutoff": 10, "max_rise": 50.0, "max_relative_drop": 0.1}
COVERAGE = {"measure": "coverage", "cutoff": 10, "max_relative_drop": 0.1}
NDCG = {"cutoff": 10, "max_drop": 0.03}
#: Words of what has a direction.
DIRECTED = re.compile(r"\b(better|worse|lost|won|loss|losses|gain|gains|falling|ahead|behind)\b")


def publish(folder, day, *checks, popularity=POPULAR, coverage=0.5, ndcg=BASE, items="i1"):
    held = gate(*({"max_drop": None, **check} for check in checks))
    shown = Shown({"popularity": {"als": popularity}}, {"coverage": {"als": coverage}}, items=items)
    night = {
        "shown": shown,
        "accepted": "first" if day == 1 else None,
        "configuration": {"gate": {"check": list(checks)}, "file": "gate.toml"},
        "attributes": {"language": ["de"] * 20 + ["en"] * (N - 20)},
    }
    scores = {"als": ndcg + spread(0, 0.001) * day}
    return evaluate(folder, held, f"2026-11-{day:02}", scores, **night)["web"]


@pytest.fixture
def output(tmp_path):
    """Three nights by a gate whose first check is of the catalog."""
    for day in (1, 2, 3):
        noise = spread(0, 1) * day
        publish(tmp_path, day, POPULARITY, COVERAGE, NDCG, popularity=POPULAR + noise)
    return tmp_path


def page_of(folder, measure=None, date=None):
    history = History(committed(str(folder)))
    nights = [night for night in history.nights if date in (None, night.evaluated_on)]
    return load_night(history, nights[-1], Request(measure=measure), str(folder))


def text_of(folder, measure):
    """The words of a page, without its checks, which say what they measure."""
    history = History(committed(str(folder)))
    made = make_page(history, [history.nights[-1]], Request(measure=measure), str(folder))
    body = re.sub(r"(?s)<(style|script).*?</\1>", " ", made.html)
    labels = re.findall(r'aria-label="([^"]*)"', body)
    text = html.unescape(" ".join([re.sub(r"<[^>]+>", " ", body), *labels]))
    # So definitions say that there is no direction.
    return text.replace("neither better nor worse", "")


def kinds(page):
    top = answer.answer(page)
    return [top.headline.kind, *(one.kind for one in top.sentences)]


def card(page):
    """The lines of the card of the catalog, as text."""
    (section,) = layout([page], [answer.answer(page)], None, in_site=False).sections
    (own,) = [one for one in section.cards if str(one.title) == "Catalog checks"]
    table = own.blocks[0].content
    return [
        [
            cell.content.striptags() if hasattr(cell.content, "striptags") else cell.content
            for cell in row
        ]
        for row in table.rows
    ]


def test_a_page_is_about_relevance_unless_it_is_asked_for_more(output):
    assert page_of(output).metric == ("ndcg", 10)
    assert page_of(output, "popularity@10").metric == ("popularity", 10)
    with pytest.raises(ConfigurationError, match=r"^measure: coverage"):
        page_of(output, "coverage@10")


def test_a_rise_is_the_headline_and_relevance_is_said_by_its_name(output):
    verdict = publish(output, 4, POPULARITY, COVERAGE, NDCG, popularity=POPULAR + spread(60, 5))
    page = page_of(output)
    top = answer.answer(page)
    assert (verdict.reason, top.word, top.headline.kind) == ("rose", "FAIL", "verdict")
    assert top.headline.text.startswith("popularity@10 of als rose by 60.0000")
    assert "By NDCG@10, " in top.sentences[0].text


def test_the_card_of_the_catalog_has_each_check_once_the_worst_first(output):
    shown = {"popularity": POPULAR + spread(60, 5), "coverage": 0.44}
    publish(output, 4, POPULARITY, COVERAGE, NDCG, **shown)
    rows = card(page_of(output))
    assert [row[0] for row in rows] == ["popularity@10 of als", "coverage@10 of als"]
    assert [row[-1] for row in rows] == ["rose too far", "fell too far"]
    assert rows[0][2:6] == ["1060.0000", "1000.0000", "+60.0000", "-100.0000 to +50.0000"]
    assert rows[1][2:6] == ["0.4400", "0.5000", "-0.0600", "-0.0500"]
    publish(output, 5, POPULARITY, COVERAGE, NDCG, coverage=0.5, items="i2")
    assert [row[-1] for row in card(page_of(output))] == ["other items"] * 2


def test_a_gate_without_the_catalog_has_no_card(tmp_path):
    for day in (1, 2):
        publish(tmp_path, day, NDCG)
    page = page_of(tmp_path)
    (section,) = layout([page], [answer.answer(page)], None, in_site=False).sections
    assert "Catalog checks" not in [str(one.title) for one in section.cards]


@pytest.mark.parametrize(
    ("rise", "kind", "says"), [(60, "higher", "The rise is larger"), (-120, "lower", "The drop is")]
)
def test_a_page_about_the_catalog_has_no_words_of_loss(output, rise, kind, says):
    german = np.where(np.arange(N) < 20, rise * N / 20, 0)
    publish(output, 4, POPULARITY, COVERAGE, NDCG, popularity=POPULAR + german + spread(0, 5))
    page = page_of(output, "popularity@10")
    assert kinds(page)[0] == kind
    assert page.row["conclusion"] == kind
    (evidence,) = [one for one in answer.answer(page).sentences if one.kind == "real"]
    assert evidence.text.startswith(says)
    assert words.cause(page) is not None
    text = text_of(output, "popularity@10")
    # What the gate calls an acknowledgement is a name.
    assert DIRECTED.findall(text) == []
    assert DIRECTED.findall(text_of(output, "ndcg@10"))
    tones = {box.kind for box in charts.split(page.row).boxes}
    assert tones <= {"mid", "faint"}


def test_the_limit_that_is_drawn_is_on_the_side_of_the_change(output):
    publish(output, 4, POPULARITY, NDCG, popularity=POPULAR + spread(40, 5))
    note = charts.forest(page_of(output, "popularity@10")).note
    assert "+50.0000" in note
    publish(output, 5, POPULARITY, NDCG, popularity=POPULAR - spread(40, 5))
    note = charts.forest(page_of(output, "popularity@10")).note
    assert "-101" in note


def test_other_items_are_said_and_nothing_is_compared(output):
    publish(output, 4, POPULARITY, COVERAGE, NDCG, items="i2")
    page = page_of(output, "popularity@10")
    assert page.compared == {}
    # The verdict says it, so that it is not said twice.
    assert kinds(page) == ["verdict"]
    assert answer.headline_of(page).kind == "other_items"
    assert page.trend.points[-1].breaks == ("items",)
    steps = [step.kind for step in advice.next_steps(page)]
    assert steps[:2] == ["restore_items", "accept_night"]
    # What does not look them up is compared.
    assert page_of(output).compared["als"]["difference"] is not None


def test_an_undecided_rise_is_no_loss_whose_queries_are_opened(output):
    publish(output, 4, POPULARITY, NDCG, popularity=POPULAR + spread(60, 500))
    page = page_of(output, "popularity@10")
    assert page.result("als")["result"] == "undecided"
    # Some queries show less popular items, which in a score would be losses.
    assert page.ends[0].change < 0
    assert not words.is_lost(page)
    assert "open_queries" not in [step.kind for step in advice.next_steps(page)]


@pytest.mark.parametrize(("measure", "is_far"), [("ndcg@10", True), ("popularity@10", False)])
def test_only_by_relevance_does_a_change_beyond_the_margin_stand_out(tmp_path, measure, is_far):
    for day in (1, 2):
        shown = Shown({"popularity": {"als": POPULAR - 20 * day}})
        evaluate(tmp_path, None, f"2026-11-{day:02}", {"als": BASE - 0.02 * day}, shown=shown)
    site = tmp_path / "site"
    write_site(str(tmp_path), site, Request(measure=measure))
    index = (site / "index.html").read_text(encoding="utf-8")
    assert ("down 0.0200 from the night before" in index) is is_far
    assert ("from the night before" in index) is is_far


def test_new_judgments_are_no_sides_of_a_page_about_the_catalog(output):
    night = {"shown": Shown({"popularity": {"als": POPULAR + 20}}, {"coverage": {"als": 0.5}})}
    held = gate({**POPULARITY, "max_drop": None})
    evaluate(output, held, "2026-11-04", {"als": BASE}, hashes=(2,) * N, **night)
    page = page_of(output, "popularity@10")
    assert (page.over_change, page.row["sides"]) == (False, [])
    assert page.row["difference"] == pytest.approx(20, abs=1e-6)


def test_the_usual_range_is_as_wide_as_values_are_large():
    points = [Point(f"2026-11-{at + 1:02}", 1_000.0 + at % 2 * 0.02, queries=N) for at in range(12)]
    for point in points:
        point.chained = point.value
    narrow, wide = usual_range(points), usual_range(points, is_of_catalog=True)
    assert narrow.high - narrow.low < 1
    assert wide.high - wide.low == pytest.approx(2 * 0.005 * 1_000, rel=0.01)
    falls = [Point(point.date, point.value - at) for at, point in enumerate(points)]
    for point in falls:
        point.chained = point.value
    assert usual_range(falls, is_of_catalog=True).falling is None

"""Pages of nights whose judgments changed, or that are compared with the accepted night."""

import numpy as np
import pytest
from gates import N, copied, evaluate, gate, spread
from night_pages import changed as with_fields
from night_pages import kinds
from pages import Page

from ndcg_spark.comparison.trend import History
from ndcg_spark.nights.copies import RESCORED
from ndcg_spark.nights.log import committed, revise
from ndcg_spark.report.answer import answer
from ndcg_spark.report.night import load_night
from ndcg_spark.report.outline import Request
from ndcg_spark.report.site import write_site

BASE = 0.6 + spread(0, 0.1)
#: How the scores of any lists differ under the judgments of another month.
MONTHS = {1: spread(0.02, 0.05)[::-1], 2: spread(0.04, 0.05)[::-1]}
OLD, NEW = (1,) * N, (2,) * N
LANGUAGE = {"language": ["en"] * 40 + ["de"] * 20}


def night(output, held, day, level=BASE, month=1, *, under=(), bias=0.0, **more):
    """A night under the judgments of a month, with copies under those of others."""
    copies = {(other,) * N: {"r": level + MONTHS[other]} for other in under}
    scores = {"r": level + MONTHS[month] + bias}
    date = f"2026-09-{day:02}"
    evaluate(output, held, date, scores, hashes=(month,) * N, under=copies, **more)


def again(output, day, level=BASE):
    """The copies of a published night under the new judgments."""
    (one,) = [one for one in committed(str(output)) if one.evaluated_on == f"2026-09-{day:02}"]
    copied(one, NEW, {"r": level + MONTHS[2]})


def page_of(output, **asked):
    history = History(committed(str(output)))
    return load_night(history, history.nights[-1], Request(**asked), str(output))


def changed(output, drop, *, bias=0.0, held=None, **more):
    """The page of a night of new judgments, on which lists lost `drop`."""
    held = held or gate(baseline="good")
    night(output, held, 1, accepted="first", **more)
    again(output, 1)
    level = BASE - drop + spread(0, 0.005)
    night(output, held, 2, level, 2, under=[1], bias=bias, **more)
    return page_of(output)


@pytest.mark.parametrize(
    ("drop", "bias", "kind", "conclusion"),
    [
        (0.03, 0.0, "worse", "worse"),
        (0.0, 0.0, "same", "same"),
        (0.03, 0.1, "sides_disagree", "cannot_tell"),
    ],
)
def test_both_sides_of_a_change_and_their_mean_are_shown(tmp_path, drop, bias, kind, conclusion):
    page = changed(tmp_path, drop, bias=bias)
    noise = spread(0, 0.005).mean()
    sides = {side["side"]: side["difference"] for side in page.row["sides"]}
    assert sides == pytest.approx({"old": noise - drop, "new": noise - drop + bias})
    assert page.row["difference"] == pytest.approx(noise - drop + bias / 2)
    assert page.row["baseline_mean"] == pytest.approx(page.row["mean"] - page.row["difference"])
    (result,) = page.verdict["results"]
    names = ("difference", "interval_low", "interval_high", "queries")
    assert [page.row[name] for name in names] == pytest.approx([result[name] for name in names])
    assert (answer(page).headline.kind, page.row["conclusion"]) == (kind, conclusion)
    # Queries are compared under the new judgments.
    assert np.mean([query.change for query in page.queries]) == pytest.approx(sides["new"])


def test_the_sentence_of_the_change_is_in_the_answer(tmp_path):
    page = changed(tmp_path, 0.03)
    # The log keeps the facts of the change, of which the verdict has the sentence.
    (measure, cutoff), names = page.metric, ("queries_in_both", "queries", "old", "new")
    link = {"run": "r", "measure": measure, "cutoff": cutoff, "new_queries": 0}
    link |= dict(zip(names, (N, N, -0.03, -0.03), strict=True))
    link |= {"before": "2026-09-01", "mean": 0.61, "before_mean": 0.62}
    said = answer(with_fields(page, record={"links": [link]}))
    assert page.verdict["changes"][0] in said.text
    assert "both_sides" not in {one.kind for one in said.sentences}
    # Without a gate there is no sentence, and both sides are said all the same.
    night(tmp_path, None, 2, BASE, 2, under=[1])
    assert "both_sides" in kinds(page_of(tmp_path))


def test_without_copies_a_page_says_how_to_make_them_and_shows_no_difference(tmp_path):
    night(tmp_path, None, 1)
    night(tmp_path, None, 2, BASE, 2)
    page = page_of(tmp_path)
    assert (page.compared, page.new) == ({}, [])
    assert {"no_copies", "make_copies"} <= kinds(page)
    site = tmp_path / "site"
    write_site(str(tmp_path), site, Request())
    assert f"ndcg-spark rescore {tmp_path}" in Page(site / "2026-09-02.html").words
    # With copies the page is another.
    again(tmp_path, 1)
    copied(committed(str(tmp_path))[-1], OLD, {"r": BASE + MONTHS[1]})
    write_site(str(tmp_path), site, Request())
    assert "both sides" not in Page(site / "2026-09-02.html").words
    assert page_of(tmp_path).row["difference"] == pytest.approx(0.0)
    for file in (tmp_path / RESCORED).rglob("*.parquet"):
        file.unlink()
    write_site(str(tmp_path), site, Request())
    assert "ndcg-spark rescore" in Page(site / "2026-09-02.html").words


def drifted(output, nights=13, **more):
    """Nights of a slow loss, the last of which fails against the accepted night."""
    for day in range(1, nights + 1):
        accepted = "first" if day == 1 else None
        level = BASE - 0.0012 * day + spread(0, 0.0005)
        night(output, gate(), day, level, accepted=accepted, **more)
    return page_of(output)


def test_a_page_shows_what_fell_since_when_against_the_accepted_night(tmp_path):
    page = drifted(tmp_path)
    (result,) = [row for row in page.results if row["result"] == "fail"]
    assert (result["baseline"], page.baseline.name) == ("accepted", "accepted")
    dates = [one.evaluated_on for one in page.baseline.nights]
    assert dates == [f"2026-09-{day:02}" for day in range(1, 8)]
    assert page.row["difference"] == pytest.approx(result["difference"])
    assert np.mean([query.change for query in page.queries]) == pytest.approx(result["difference"])
    assert "since 1 September" in answer(page).headline.text
    # The range is that of nights before the level began to move, which it never did not.
    assert page.usual.low > page.row["mean"]


def test_an_accepted_night_over_a_change_of_judgments(tmp_path):
    held = gate(baseline="accepted")
    night(tmp_path, held, 1, accepted="first")
    again(tmp_path, 1)
    night(tmp_path, held, 2, BASE, 2, under=[1])
    lost = BASE - 0.03 + spread(0, 0.001)
    night(tmp_path, held, 3, lost, 2)
    page = page_of(tmp_path)
    (result,) = page.results
    assert [side["side"] for side in page.row["sides"]] == ["chain_low", "chain_high"]
    assert page.row["difference"] == pytest.approx(result["difference"])
    assert np.mean([query.change for query in page.queries]) == pytest.approx(result["difference"])
    assert page.row["losses"] == N
    assert (page.row["conclusion"], answer(page).headline.kind) == ("worse", "worse")
    assert "since 1 September" in answer(page).headline.text


def test_a_slice_that_lost_much_is_a_warning_on_a_pass_and_in_the_index(tmp_path):
    held = gate({"max_drop": 0.05}, min_queries=20)
    night(tmp_path, held, 1, accepted="first", attributes=LANGUAGE)
    again(tmp_path, 1)
    level = BASE - np.where(np.arange(N) < 40, 0, 0.11) + spread(0, 0.01)
    night(tmp_path, held, 2, level, 2, under=[1], attributes=LANGUAGE)
    page = page_of(tmp_path)
    assert (page.verdict["verdict"], len(page.verdict["lost_slices"])) == ("pass", 1)
    write_site(str(tmp_path), tmp_path / "site", Request())
    for name in ("index", "latest"):
        assert "language=de changed by -0.1" in Page(tmp_path / "site" / f"{name}.html").words


def test_the_index_lists_the_acknowledgements_in_force_and_the_page_says_so(tmp_path):
    night(tmp_path, gate(), 1, accepted="first")
    night(tmp_path, gate(), 2, BASE - 0.05 + spread(0, 0.01))
    site = tmp_path / "site"
    write_site(str(tmp_path), site, Request())
    revise(
        committed(str(tmp_path))[-1], acknowledged={"reason": "the index", "until": "2026-09-09"}
    )
    night(tmp_path, gate(), 3, BASE - 0.05 + spread(0, 0.01))
    write_site(str(tmp_path), site, Request())
    words = {
        name: Page(site / f"{name}.html").words for name in ("index", "2026-09-02", "2026-09-03")
    }
    assert "the loss of 2 September is acknowledged until 9 September: the index" in words["index"]
    assert "Acknowledged until 9 September: the index" in words["2026-09-02"]
    assert "Still failing, acknowledged until 9 September: the index" in words["2026-09-03"]
    assert "FAIL (ACKNOWLEDGED)" in words["2026-09-03"]

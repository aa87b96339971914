"""The page of a night: its numbers, its states, its commands, and how it looks in a real browser."""

import base64
import hashlib
import html
import json
import math
import re
import shlex
import shutil
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from commands import command_line
from kept_nights import date
from logged import logged_steps
from page_nights import DEPTH, GRADES, dcg, lists_of, night, verdict
from pages import Page
from scipy import stats

from ndcg_spark.comparison.trend import History
from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.nights.log import committed, revise
from ndcg_spark.nights.publish import log_attempt
from ndcg_spark.nights.read import night_rows
from ndcg_spark.report.baselines import Request
from ndcg_spark.report.labels import Labels, read_labels
from ndcg_spark.report.night import NightData
from ndcg_spark.report.page import read_page, write_report
from ndcg_spark.report.shapes import trend
from ndcg_spark.report.site import write_site
from ndcg_spark.report.words import WHAT, banner, since, uncompared
from ndcg_spark.tables.table import cell
from ndcg_spark.text import printable

ROOT = Path(__file__).parents[2]
RUNS = {"hybrid": 0.8, "dense": 0.75, "bm25": 0.6}
LANGUAGES = ("en", "fr", "de")
HOSTILE = ["<script>alert(1)</script>", "\"'>&lt;{{7*7}}", "שלום עולם", "🙂 é\u202e\x1b\x07\ufe0f", "x" * 3_000]


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """Ten nights; in the last one hybrid has lost German queries, and failed a gate on the mean of seven."""
    folder = tmp_path_factory.mktemp("nights")
    for number in range(9):
        night(folder, number, lists_of(RUNS, 60, seed=number), languages=LANGUAGES)
    lost = lists_of(RUNS, 60, seed=9, lost={"hybrid": 36})
    failed = verdict(nights=range(2, 9), p=0.00001)
    configuration = {"file": "/conf/nightly.toml", "gate": {"check": [{"measure": "ndcg", "cutoff": 10}]}}
    night(folder, 9, lost, languages=LANGUAGES, verdict=failed, configuration=configuration)
    return folder


def data_of(output, date=None, **request):
    history = History(committed(str(output)))
    shown = next(night for night in reversed(history.nights) if date in (None, night.evaluated_on))
    return NightData(history, shown, Request(**request))


def scores(output, number, run):
    shown = next(night for night in committed(str(output)) if night.evaluated_on == date(number))
    return {row["query_id"]: row["ndcg"] for row in night_rows(shown, "query_scores", cutoff=[10], run=[run])}


def test_every_number_is_against_the_mean_of_the_good_nights(output):
    data = data_of(output)
    assert (data.run, data.baseline.label) == ("hybrid", "the mean of 7 good nights, 3 to 9 January")
    own = scores(output, 9, "hybrid")
    before = [scores(output, number, "hybrid") for number in range(2, 9)]
    means = {query: np.mean([scores_before[query] for scores_before in before]) for query in own}
    assert {query.query_id: query.before for query in data.queries} == pytest.approx(means)
    interval = stats.ttest_rel([own[query] for query in own], [means[query] for query in own]).confidence_interval()
    assert [data.row["interval_low"], data.row["interval_high"]] == pytest.approx([interval.low, interval.high])
    assert data.row["difference"] == pytest.approx(np.mean([own[query] - means[query] for query in own]))
    # The gate's own p value and warnings.
    assert data.warnings == ["a warning of the gate"]
    assert data.row["p_decides"] == 0.00001
    assert data.decided_by_gate == ["hybrid"]
    assert "For hybrid it is that of the gate, adjusted for its checks." in read_page(str(output)).html
    assert data.row["losses"] == sum(query.change < -1e-9 for query in data.queries)


def test_parts_sum_to_the_difference_and_are_named(output):
    data = data_of(output)
    assert sum(data.parts["sums"].values()) == pytest.approx(data.row["difference"])
    assert data.parts["sums"]["left"] < 0
    assert data.parts["sums"].keys() <= WHAT.keys()
    assert data.parts["share"] == pytest.approx(1)
    assert 0 <= data.parts["unjudged"] <= 1
    for query in data.queries:
        if query.query_id in data.documents:
            changes = data.documents[query.query_id].changes
            assert sum(change["part"] for change in changes) == pytest.approx(query.change)


def test_parts_are_of_all_queries_whose_documents_are_kept(tmp_path):
    # d0 and d1 have one grade, so that q0 scores the same; x0 and x1 have none.
    lists = {"q0": ["d0", "d1"], "q1": ["d4", "x1"]}, {"q0": ["d1", "d0"], "q1": ["x1", "d4"]}
    for number, queries in enumerate(lists):
        night(tmp_path, number, {"hybrid": queries})
    ideal = dcg(sorted(GRADES.values(), reverse=True))
    second, moved = 1 / math.log2(3), {"q0": 3.0, "q1": 1.0}
    parts, lost = data_of(tmp_path).parts, sum(moved.values()) * (1 - second) / ideal / 2
    assert (parts["sums"], parts["queries"]) == ({"down": pytest.approx(-lost), "up": pytest.approx(3 / 4 * lost)}, 2)


def test_a_page_of_partly_kept_documents_says_of_which_queries_they_are(tmp_path):
    queries = {f"q{at}": ["d0", "d1"] for at in range(3)}
    for number in range(2):
        lists = {query: listed[number:] for query, listed in queries.items()}
        night(tmp_path, number, {"hybrid": lists}, kept_only=("q0", f"q{number + 1}"))
    assert data_of(tmp_path).parts["queries"] == 1
    assert "Of the 1 query whose documents all these nights keep, which have 33 %" in read_page(str(tmp_path)).html


#: Of 60 queries these 12 have lost, and q0001 gains 1 where it is changed.
LOST = tuple(f"q{number:04}" for number in range(2, 36, 3))


@pytest.mark.parametrize(
    ("kept", "gains", "said"),
    [
        (("q0000", "q0003"), False, "are of queries with less than 1 % of all change, so what moved"),
        (LOST[:1], False, "% of all change, so what moved"),
        (("q0001",), True, "% of all change, which did not change as the run did, so what moved"),
        (LOST[:3], False, None),
        ((*LOST[:3], "q0001"), True, None),
    ],
)
def test_documents_of_few_changes_or_of_others_are_no_cause_of_a_loss(tmp_path, kept, gains, said):
    for number in range(2):
        lists = lists_of({"hybrid": 0.8}, 60, lost={"hybrid": 36 * number})
        if gains:
            lists["hybrid"]["q0001"] = list(GRADES) if number else ["x5"]
        night(tmp_path, number, lists, kept_only=kept)
    page = Page(read_page(str(tmp_path)).html)
    is_drawn = any("causes" in attributes.get("class", "") for _, attributes in page.tags)
    assert (is_drawn, "The documents that are kept" in page.words) == (said is None, said is not None)
    assert said is None or said in page.words
    before, now = (scores(tmp_path, number, "hybrid") for number in range(2))
    changes = {query: abs(now[query] - before[query]) for query in now}
    share = sum(changes[query] for query in kept) / sum(changes.values())
    assert data_of(tmp_path).kept_share == pytest.approx(share)


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ("hhhl", "first seen tonight."),
        ("hlhl", "also seen on 2 January."),
        ("hlllllhl", "also seen in 5 earlier nights, the last on 6 January."),
        ("llhl", "also seen in 2 earlier nights, the last on 2 January."),
        # One night lacks the run, and then the judgments changed.
        ("hl-hl", "also seen on 2 January."),
        ("lljhhl", "first seen tonight."),
        ("h" * 29 + "l", "first seen tonight in 28 nights."),
        ("l" * 2 + "h" * 28 + "l", "first seen tonight in 28 nights."),
    ],
)
def test_a_level_is_first_seen_if_no_comparable_night_that_is_shown_had_it(tmp_path, levels, said):
    judgments = "j1"
    for number, level in enumerate(levels):
        judgments = "j2" if level == "j" else judgments
        name = "other" if level == "-" else "hybrid"
        lists = lists_of({"hybrid": 0.8}, 36, lost={"hybrid": 36 * (level == "l")})
        night(tmp_path, number, {name: lists["hybrid"]}, documents=False, judgments=judgments)
    assert f"; {said}" in banner(data_of(tmp_path)).headline.striptags()


def test_causes_are_shares_of_the_difference(output):
    data = data_of(output)
    assert data.causes[0]["value"] == "de"
    assert sum(cause["share"] for cause in data.causes) == pytest.approx(1)


FIRST = verdict("none", run=None, reason="no_baseline", sentence="no good night", result="not_comparable")
MISSING = verdict(
    "none", run="x", check="gate", reason="missing_run", sentence="x has no results", result="not_comparable"
)
REJUDGED = verdict(
    "none", nights=range(7), reason="other_judgments", sentence="other judgments", result="not_comparable", allowed=None
)
CHANCE = verdict("none", reason="may_be_chance", nights=range(7), sentence="may be chance", result="undecided")


@pytest.mark.parametrize(
    ("nights", "lost", "options", "expected"),
    [
        (9, 36, {}, ("NO GATE", "bad", "hybrid is worse: 0.443, down 0.1")),
        (9, 0, {}, ("NO GATE", "mid", "We cannot tell whether hybrid changed")),
        (0, 0, {}, ("NO GATE", "mid", "hybrid scores 0.557; there is no earlier night")),
        (0, 0, {"runs": {"hybrid": 0.8}}, ("NO GATE", "mid", "hybrid scores 0.557; there is no earlier night")),
        (7, 36, {"verdict": verdict(nights=range(7))}, ("FAIL", "bad", "hybrid is worse: 0.443, down 0.1")),
        (7, 0, {"verdict": verdict("pass", nights=range(7))}, ("PASS", "ok", "We cannot tell")),
        (7, 0, {"verdict": CHANCE}, ("NO VERDICT", "mid", "may be chance.")),
        (7, 36, {"verdict": REJUDGED}, ("NO VERDICT", "mid", "other judgments.")),
        (7, 0, {"verdict": MISSING, "documents": False}, ("NO VERDICT", "mid", "x has no results.")),
        (0, 0, {"verdict": FIRST, "accepted": "the first"}, ("NO VERDICT (ACCEPTED)", "mid", "hybrid scores 0.557")),
        (7, 36, {"judgments": "j2"}, ("NO GATE", "mid", "dense scores 0.524; the judgments changed")),
        (7, 36, {"documents": False}, ("NO GATE", "bad", "hybrid is worse: 0.443, down 0.1")),
    ],
)
def test_states(tmp_path, nights, lost, options, expected):
    runs = options.pop("runs", RUNS)
    for number in range(nights):
        night(tmp_path, number, lists_of(runs, 60, seed=number), languages=LANGUAGES)
    night(tmp_path, nights, lists_of(runs, 60, lost={"hybrid": lost}), languages=LANGUAGES, **options)
    top = banner(data_of(tmp_path))
    assert (top.word, top.tone, top.headline.striptags()[: len(expected[2])]) == expected
    page = Page(read_page(str(tmp_path)).html)
    assert "nan" not in page.words
    # What is missing is listed, and is the reason.
    is_missing = options.get("verdict") is MISSING
    assert (any(row[:1] == ["x"] for row in page.rows), page.words.count("x has no results.")) == (
        is_missing,
        2 * is_missing,
    )
    assert ("without its documents" in page.words) == (not is_missing and options.get("documents") is False)
    # Nothing to test, nothing shown.
    tested = data_of(tmp_path).row is not None and "unchanged" not in data_of(tmp_path).row["flags"]
    assert ("95 % interval" in top.sentence.striptags()) <= tested


@pytest.mark.parametrize(("grades", "advised"), [(GRADES, True), (dict.fromkeys(GRADES, 1.0), False)])
def test_a_loss_since_an_earlier_night_has_its_note_and_of_clicks_nothing_is_to_be_judged(
    monkeypatch, tmp_path, grades, advised
):
    monkeypatch.setattr("page_nights.GRADES", grades)
    for number in range(10):
        lost, said = {"hybrid": 36 * (number > 7)}, verdict(nights=range(7)) if number == 9 else None
        night(tmp_path, number, lists_of(RUNS, 60, seed=number, lost=lost), unjudged=10, verdict=said)
    write_site(str(tmp_path), tmp_path / "site", Request())
    revise(committed(str(tmp_path))[8], note="new index")
    write_site(str(tmp_path), tmp_path / "site", Request())
    page = Page(tmp_path / "site" / f"{date(9)}.html")
    assert ("since 9 January" in page.words, "Note of 9 January: new index" in page.words) == (True, True)
    assert ("that nobody has judged" in page.words, "judge-next" in page.words) == (advised, advised)
    again = f"--baseline-date {date(6)}, then evaluate the nights from 1 January to this one again"
    assert (again in page.words, "--accept-baseline" in page.words) == (advised, advised)
    assert "Warning: a warning of the gate" in page.words


def test_a_loss_whose_first_night_cannot_be_compared_has_no_first_night(tmp_path):
    # Of the nights that have lost, only the last was evaluated again with the new judgments.
    for number in range(10):
        lost, judgments = {"hybrid": 36 * (number > 6)}, "j1" if number in (7, 8) else "j2"
        said = verdict(nights=range(7)) if number == 9 else None
        night(tmp_path, number, lists_of(RUNS, 60, seed=number, lost=lost), judgments=judgments, verdict=said)
    data = data_of(tmp_path)
    assert (data.row["conclusion"], since(data)) == ("worse", None)
    # Seven nights give the last one its range, which is drawn with a width.
    ((first, *more),) = trend(data.trend)["areas"]
    assert {point.partition(",")[0] for point in more} - {first.partition(",")[0]}


@pytest.mark.parametrize(
    ("third", "missing", "said"),
    [
        (2, 0, "of the loss comes from the 20 of 60 queries with language = de."),
        (None, 0, "has clearly more than its share of the loss"),
        (None, 20, "hybrid returned nothing for 20 of 60 queries (before: 0), all of the loss."),
    ],
)
def test_a_loss_is_of_a_kind_of_queries_or_of_those_without_results_or_spread_over_all(tmp_path, third, missing, said):
    for number in range(2):
        lists = lists_of(RUNS, 60, seed=1, lost={"hybrid": 60 * number})
        languages = LANGUAGES if third else ("en", "fr")
        night(tmp_path, number, lists, languages=languages, missing=bool(number * missing))
    page = Page(read_page(str(tmp_path)).html).words
    assert ("it is unlikely to be chance" in page.lower(), said in page, "could well be" in page) == (True, True, False)
    # Slices are named by themselves where none explains the loss.
    assert len(re.findall(r"language = \w+ is worse by", page)) == (0 if third else 2)
    if missing:
        assert re.search(r"0\.1\d\d below 1 January, the best of the comparable nights", page)
        # A query that has results in neither night does not count.
        night(tmp_path, 2, lists_of(RUNS, 60, seed=1, lost={"hybrid": 3}), languages=languages, missing=True)
        page = Page(read_page(str(tmp_path)).html).words
        assert "hybrid has results again for 19 queries that had none, of 60, all of the gain." in page


def test_a_run_that_returns_nothing_for_some_queries_is_shown_though_another_is_best_and_it_may_be_chance(tmp_path):
    for number in range(2):
        lists = lists_of(RUNS, 60, seed=1, lost={"bm25": 6 * number, "dense": 60 * number})
        night(tmp_path, number, lists, missing=bool(number))
    page = Page(read_page(str(tmp_path)).html).words
    assert "dense returned nothing for 20 of 60 queries" in page
    # What is said about another run is to be done, too.
    page = Page(read_page(str(tmp_path), request=Request(run="hybrid")).html).words
    assert re.findall(r"Look at (\w+), which is worse: ndcg-spark report .* --run (\w+) --html", page) == [
        ("dense",) * 2
    ]
    night(tmp_path, 2, {**lists, "new": lists["hybrid"]}, missing=True)
    night(tmp_path, 3, lists_of({"late": 0.6}, 60))
    data = data_of(tmp_path, date(2))
    assert (data.new, [words[0] for words in uncompared(data)]) == (["new"], ["new"])
    write_site(str(tmp_path), tmp_path / "site", Request())
    index = Page(tmp_path / "site" / "index.html")
    assert [row[3] for row in index.rows if row[:1] and row[0].startswith("2026")] == [
        "late",
        "new",
        "hybrid",
        "hybrid",
    ]


@pytest.mark.parametrize(("languages", "adjusted"), [((), ""), (LANGUAGES, ", adjusted for all runs and slices")])
def test_an_interval_without_0_beside_what_may_be_chance_is_explained(tmp_path, languages, adjusted):
    # All signs of five changes are the same with a probability of 2 / 2**5.
    for number in range(2):
        night(tmp_path, number, lists_of(RUNS, 30, seed=1, lost={"dense": 15 * number}), languages=languages)
    data = data_of(tmp_path, run="dense")
    assert (data.row["conclusion"], data.row["interval_high"] < 0) == ("cannot_tell", True)
    assert f", the larger of two tests{adjusted}." in banner(data).sentence


def test_slices_that_differ_in_both_directions_are_named_though_the_whole_may_be_chance(tmp_path):
    lists = lists_of({"old": 0.8}, 60)["old"]
    for number, lost in enumerate((1, 2)):
        old = {query: listed if int(query[1:]) % 3 != lost else ["x5"] for query, listed in lists.items()}
        night(tmp_path, number, {"old": old, **({} if number else {"gone": lists})}, languages=LANGUAGES)
    page = Page(read_page(str(tmp_path)).html).words
    assert re.findall(r"language = (\w+) is (\w+) by 0\.\d+ \(20 queries\)", page) == [
        ("fr", "better"),
        ("de", "worse"),
    ]
    assert ("Look at the queries of language = de, which are worse." in page, "Nothing has to" in page) == (True, False)
    assert "Warning: gone had scores on 1 January and has none tonight." in page
    assert ("9,560 rows, 2 files: old.csv and 1 more" in page, cell("share of the change", -0.001)) == (True, "0%")
    write_site(str(tmp_path), tmp_path / "site", Request())
    index = Page(tmp_path / "site" / "index.html")
    assert index.rows[1][3:] == ["old", "0.390; gone: no score (0.577 the night before)"]


GONE = {"check": "gate", "baseline": None, "reason": "missing_run", "result": "not_comparable"}


@pytest.mark.parametrize(
    ("result", "accepts", "changes"),
    [
        ({}, True, ""),
        ({"baseline": "run <b>"}, False, "another baseline than <b>."),
        ({"baseline": date(0)}, False, f"in place of {date(0)}."),
        ({**GONE, "run": "x"}, True, ""),
        ({**GONE, "run": "y"}, False, "If y is given up"),
        ({**GONE, "run": "z"}, False, "If z is given up"),
        ({**GONE, "run": "z", "check": "gate.check[1]", "baseline": "run y"}, False, "another baseline than y."),
        ({**GONE, "reason": "missing_dataset"}, True, "If a dataset is given up"),
        ({**GONE, "reason": "not_measured"}, False, "was not measured"),
        ({**GONE, "severity": "warn", "reason": "few_queries"}, False, "lower min_queries"),
    ],
)
def test_accepting_a_night_is_advised_where_it_changes_the_verdict_on_later_ones(tmp_path, result, accepts, changes):
    said = verdict("none" if "check" in result else "fail", nights=[0], **{"reason": "dropped", **result})
    checks = [{"measure": "ndcg", "cutoff": DEPTH, "runs": runs} for runs in (None, ["z"])]
    gate = {"baseline": ["good", "run y"], "check": checks}
    for number, known in enumerate((verdict("pass"), said)):
        lists = lists_of(RUNS, 60, lost={"hybrid": 60 * number})
        night(tmp_path, number, lists, verdict=known, configuration={"file": "/conf/nightly.toml", "gate": gate})
    page = Page(read_page(str(tmp_path)).html).words
    assert ("accept the night as the new baseline" in page, changes in page) == (accepts, True)
    assert ("[gate]" in page or "does not help" in page) == bool(changes)


def test_documents_are_compared_with_the_newest_night_that_keeps_them(tmp_path):
    for number in range(3):
        said = verdict(nights=[0, 1]) if number == 2 else verdict("pass")
        lists = lists_of(RUNS, 60, lost={"hybrid": 60 * (number == 2)})
        night(tmp_path, number, lists, verdict=said, documents=number != 1)
    page = read_page(str(tmp_path)).html
    explained = [command for command in commands_of(page) if " explain " in command]
    assert explained
    assert all(command.endswith(f"--run hybrid --cutoff 10 --baseline-date {date(0)}") for command in explained)
    assert ("<bdi>hybrid</bdi> of 1 January" in page, "<bdi>hybrid</bdi> of 2 January" in page) == (True, False)


@pytest.mark.parametrize(("word", "result"), [("pass", "pass"), ("none", "undecided")])
def test_a_loss_is_as_certain_as_the_gate_says_and_of_what_passes_it_may_know_one_test_alone(tmp_path, word, result):
    for number in range(2):
        said = verdict(word, result=result, nights=range(1), p=0.25, reason="few_queries") if number else None
        configuration = {"file": "/conf/nightly.toml"}
        lists = lists_of(RUNS, 60, seed=1, lost={"hybrid": 60 * number})
        night(tmp_path, number, lists, verdict=said, configuration=configuration, languages=LANGUAGES)
    data, page = data_of(tmp_path, run="hybrid"), Page(read_page(str(tmp_path)).html).words
    conclusion, decided = ("worse", []) if word == "pass" else ("cannot_tell", ["hybrid"])
    assert (data.row["conclusion"], data.decided_by_gate) == (conclusion, decided)
    assert (data.row["p_decides"] == 0.25) == bool(decided)
    assert ("For hybrid it is that of the gate, adjusted for its checks." in page) == bool(decided)
    # Accepting the night would not make the next one have more queries.
    assert ("lower min_queries" in page, "accept the night as the new" in page) == (bool(decided), False)


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ([False, True], "1 of the 2 nights of the baseline keep no documents"),
        ([False] * 2, "The baseline keeps no doc"),
    ],
)
def test_a_page_says_which_nights_keep_no_documents_where_it_cannot_tell_what_moved(tmp_path, kept, said):
    for number, documents in enumerate([*kept, True]):
        # No query of the second night scores as the mean of both.
        lists = lists_of(RUNS if number else dict.fromkeys(RUNS, 0.0), 60)
        said_before = verdict(nights=range(2)) if number == 2 else None
        night(tmp_path, number, lists, documents=documents, verdict=said_before)
    assert said in read_page(str(tmp_path)).html
    assert "shown only for NDCG" in read_page(str(tmp_path), request=Request(measure="precision@10")).html


def test_a_run_that_returns_nothing_is_named_beside_another_run_too(tmp_path):
    lists = lists_of({"old": 0.9, "new": 0.9}, 60, lost={"new": 60})
    night(tmp_path, 0, lists, missing=True)
    for asked in ({}, {"baseline": "old"}):
        page = Page(read_page(str(tmp_path), request=Request(run="new", **asked)).html).words
        assert "new returned nothing for 20 of 60 queries (old: " in page
        assert ("Find out why new returned nothing" in page, "Nothing has to be done" in page) == (True, False)


def test_a_run_that_returned_nothing_is_not_compared_and_its_night_has_no_score(tmp_path):
    lists = lists_of({"old": 0.9, "new": 0.8}, 30)
    lost = {**lists, "new": {query: [] for query in lists["new"]}}
    for number, of_night in enumerate((lists, lists, lost)):
        night(tmp_path, number, of_night, missing=True)
    (data,) = read_page(str(tmp_path)).parts
    assert (data.runs, data.new, [row["run"] for row in data.missing]) == (["old"], [], ["new"])
    words = Page(read_page(str(tmp_path)).html).words
    assert "new returned nothing in this night" in words
    for other in (Request(run="new"), Request(run="new", baseline="old")):
        words = Page(read_page(str(tmp_path), request=other).html).words
        assert "new returned nothing." in words
        assert "It returned nothing on 3 January, so it has no score there." in words
        assert "chance" not in words
    # Nor is it a baseline.
    night(tmp_path, 3, lists)
    (data,) = read_page(str(tmp_path)).parts
    assert data.new == ["new"]
    night(tmp_path, 4, {run: {query: [] for query in lists[run]} for run in lists}, missing=True)
    assert "returned nothing." in Page(read_page(str(tmp_path)).html).words


def test_the_table_of_queries_says_of_how_many_nights_the_score_before_is_the_mean(tmp_path):
    lists = lists_of({"hybrid": 0.9}, 30)
    late = {run: {query: of[query] for query in list(of)[1:]} for run, of in lists.items()}
    for number, of_night in enumerate((late, late, lists)):
        night(tmp_path, number, of_night, verdict=verdict("pass"))
    night(tmp_path, 3, lists, verdict=verdict("pass", nights=(0, 1, 2)))
    (data,) = read_page(str(tmp_path)).parts
    first = next(iter(lists["hybrid"]))
    assert {query.query_id: query.nights for query in data.queries if query.nights != 3} == {first: 1}
    assert "nights before" in Page(read_page(str(tmp_path)).html).words


def test_the_measure_is_that_of_the_first_check_for_the_dataset_and_a_score_of_queries(tmp_path):
    checks = [{"measure": "ndcg", "cutoff": DEPTH, "datasets": ["web"]}, {"measure": "precision", "cutoff": DEPTH}]
    known = {"configuration": {"gate": {"check": checks}}, "verdict": verdict(), "accepted": "why not"}
    night(tmp_path, 0, lists_of(RUNS, 10), **known)
    assert data_of(tmp_path).measure == "precision@10"
    assert "Accepted: why not" in read_page(str(tmp_path)).html
    with pytest.raises(ConfigurationError, match="judged_rate has no score of a query"):
        data_of(tmp_path, measure="judged_rate")


def test_a_run_that_is_named_is_the_baseline(output):
    data = data_of(output, baseline="bm25")
    assert (data.baseline.label, set(data.compared)) == ("bm25", {"dense", "hybrid"})
    with pytest.raises(ConfigurationError, match="no run is called 'bm26'"):
        data_of(output, baseline="bm26", baseline_date=date(0))
    # The verdict stays the gate's, which compared with something else.
    top = banner(data)
    assert (top.word, top.headline.striptags()) == ("FAIL", "hybrid dropped by more than is allowed.")
    assert top.sentence.striptags().startswith("We cannot tell whether hybrid differs from bm25: 0.441, down 0.032")


def test_a_baseline_that_was_evaluated_again_is_compared_as_it_is_now_and_no_longer_called_the_gate_s(output, tmp_path):
    shutil.copytree(output, tmp_path / "out")
    night(tmp_path / "out", 8, lists_of(RUNS, 60, seed=80), evaluation_id="another")
    (data,) = read_page(str(tmp_path / "out")).parts
    assert (data.baseline.nights[-1].evaluation_id, data.compares, data.result("hybrid")) == ("another", True, None)
    assert banner(data).headline.striptags() == data.verdict["sentence"] + "."


def test_a_night_of_another_convention_is_not_compared(output, tmp_path):
    shutil.copytree(output, tmp_path / "out")
    night(tmp_path / "out", 10, lists_of(RUNS, 60), options={"gain": "linear"})
    with pytest.raises(ConfigurationError, match="another convention"):
        data_of(tmp_path / "out", baseline_date=date(9))
    with pytest.raises(ConfigurationError, match="compared with itself"):
        data_of(tmp_path / "out", baseline_date=date(10))
    assert data_of(tmp_path / "out").baseline.label == ""


def test_a_site_of_good_baselines_has_nights_before_the_first_good_one(tmp_path):
    good = {"verdict": verdict("pass")}
    for number, options in enumerate([{}, good, {}, {}]):
        night(tmp_path, number, lists_of(RUNS, 60, seed=number), **options)
    write_site(str(tmp_path), tmp_path / "site", Request(baseline_date="good"))
    pages = [Page(tmp_path / "site" / f"{date(number)}.html").words for number in range(4)]
    compared = [re.findall(r"compared with (hybrid|the night of \S+ January)", page) for page in pages]
    assert compared == [["hybrid"], ["the night of 1 January"], *[["the night of 2 January"]] * 2]
    night(tmp_path, 4, lists_of({"dense": 0.7}, 60))
    write_site(str(tmp_path), tmp_path / "other", Request(run="hybrid"))
    assert "dense, the last 5 nights" in Page(tmp_path / "other" / f"{date(4)}.html").words
    for unknown in ({"run": "hybird"}, {"baseline": "hybird"}, {"baseline_date": "2025-01-01"}):
        with pytest.raises(ConfigurationError, match=next(iter(unknown)).replace("_", "-")):
            write_site(str(tmp_path), tmp_path / "none", Request(**unknown))
    assert not (tmp_path / "none").exists()


def test_a_difference_under_other_judgments_says_nothing_about_the_run(tmp_path):
    for number in range(2):
        night(tmp_path, number, lists_of(RUNS, 60, seed=number), judgments=f"j{number}")
    assert "Find out why the judgments changed." in Page(read_page(str(tmp_path)).html).words
    said = banner(data_of(tmp_path, baseline_date=date(0))).sentence.striptags()
    assert ("so the difference says nothing about the run" in said, "chance" in said) == (True, False)


def commands_of(page):
    return [html.unescape(code) for code in re.findall(r"<code>(ndcg-spark [^<]+)</code>", page)]


def test_who_accepts_a_night_of_other_judgments_is_told_of_the_failed_one_before(tmp_path):
    rejudged = {
        "judgments": "j2",
        "configuration": {"file": "/conf/nightly.toml"},
        "verdict": {**REJUDGED, "results": [{**REJUDGED["results"][0], "baseline_night": date(0)}]},
    }
    states = [{"verdict": verdict("pass")}, {"verdict": verdict("fail", nights=[0])}, rejudged, rejudged]
    for number, options in enumerate(states):
        night(tmp_path, number, lists_of(RUNS, 60, seed=number), **options)
    page = read_page(str(tmp_path)).html
    assert "The night of 2 January failed" in page
    (compare,) = [command for command in commands_of(page) if "compare" in command]
    assert compare.endswith(
        f"--date {date(3)} --dataset shop --baseline-date {date(0)} --unchanged-queries --measures ndcg@10"
    )
    for number, advised in ((2, False), (3, True)):
        assert ("accept the first of them" in read_page(str(tmp_path), date(number)).html) == advised
    assert command_line(*shlex.split(compare)[1:], cwd=tmp_path).returncode == 0
    # Where the run is compared with a night before the failed one, and has recovered, there is no loss to accept.
    back = {"verdict": {**MISSING, "baselines": verdict(nights=[0])["baselines"]}, "configuration": {"file": "x.toml"}}
    for number, options in enumerate([*states[:2], back]):
        night(tmp_path / "back", number, lists_of(RUNS, 60), **options)
    page = read_page(str(tmp_path / "back")).html
    assert ("as the new baseline" in page, "accepting this one accepts" in page) == (True, False)
    revise(committed(str(tmp_path))[1], accepted="known")
    assert "January failed" not in read_page(str(tmp_path)).html
    dated = {**REJUDGED["results"][0], "baseline": date(1), "baseline_night": date(1)}
    night(tmp_path, 4, lists_of(RUNS, 60), **{**rejudged, "verdict": {**REJUDGED, "results": [dated]}})
    assert f"--baseline-date {date(1)} --unchanged-queries" in read_page(str(tmp_path)).html


@pytest.mark.slow
def test_the_commands_of_a_page_run(tmp_path):
    from gated_nights import settings

    nights = [settings(tmp_path, f"2026-11-{19 + at}", worse=30 * at, documents="all") for at in range(2)]
    for number, known in enumerate(nights):
        gate = '[gate]\nbaseline = "good"\ncheck = [{ cutoff = 3, max_drop = 0.01 }]\n'
        paths = "".join(f'[{name}]\npath = "{known[name]["path"]}"\n' for name in ("judgments", "results"))
        toml = tmp_path / f"{number}.toml"
        toml.write_text(f'output = "{known["output"]}"\ncutoffs = [3]\nengine = "embedded"\n{paths}{gate}')
        (tmp_path / "labels.csv").write_text("Query ID,Text\nq0,wireless mouse\n")
        options = ("--config", toml, "--date", known["date"], "--documents", "all", "--report", "r.html")
        accept = () if number else ("--accept-baseline", "the first night")
        command_line("evaluate", *options, *accept, "--labels", "labels.csv", cwd=tmp_path)
    page = (tmp_path / "r.html").read_text("utf-8")
    commands = commands_of(page)
    assert "wireless mouse" in page
    names = {shlex.split(command)[1] for command in commands}
    assert names >= {"gate", "explain", "judge-next"}
    for name in names:
        command = next(command for command in commands if shlex.split(command)[1] == name)
        done = command_line(*shlex.split(command)[1:], cwd=tmp_path.parent)
        assert done.returncode in (0, 5), (command, done.stderr)


def test_labels_stand_for_ids_and_link_to_addresses_only(output, tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text(
        "Query ID,Doc ID,Text,LINK\nq0035,,phone case red,\n,d0,A <b>case</b>,https://shop.example/1\n"
        ",d1,bad,javascript:alert(1)\n",
        encoding="utf-8",
    )
    labels = read_labels(file)
    assert labels.queries == {"q0035": "phone case red"}
    page = read_page(str(output), request=Request(labels=labels)).html
    assert "phone case red" in page
    assert '<a href="https://shop.example/1" rel="noreferrer">' in page
    assert "A &lt;b&gt;case" in page
    assert "javascript:" not in page
    with pytest.raises(ConfigurationError, match="has columns query_id, language, segment; give"):
        read_labels(Path(__file__).parents[2] / "conf/example/queries.csv")
    file.write_text("query;text\nq0035;phone\nq0035;phone\nq0035;case\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="query_id=q0035"):
        read_labels(file)


@pytest.mark.parametrize("write", [write_report, write_site])
def test_slices_and_labels_of_which_no_id_is_on_a_page_are_warned_of_once(output, tmp_path, write):
    def told(**asked):
        arguments = (None, None) if write == write_report else (tmp_path,)
        with logged_steps() as steps:
            write(str(output), *arguments, Request(**asked))
        return [sentence.partition(":")[0] for step, sentence in steps if step == "warning"]

    kinds = [pa.table({"query_id": [name], "attribute": ["a"], "value": ["b"]}) for name in ("q0001", "Q1")]
    assert [told(attributes=kind) for kind in kinds] == [[], ["query_attributes"]]
    labels = [Labels({"q0001": "a"}), Labels({"Q1": "a"}, {"d0": ("b", None)}), Labels({"Q1": "a"})]
    assert [told(labels=label) for label in labels] == [[], [], ["labels"]]


@pytest.mark.slow
def test_a_site_has_a_page_per_night_and_writes_what_is_new(output, tmp_path):
    shutil.copytree(output, tmp_path / "out")
    out, site = str(tmp_path / "out"), tmp_path / "site"
    write_site(out, site, Request())
    assert len(list(site.glob("2026-*.html"))) == 10
    log_attempt(out, date(11), "x", StorageError("disk full"), 4)
    command_line("note", out, "a note", "--date", date(3), cwd=tmp_path)
    before = {page.name: page.stat().st_mtime_ns for page in site.glob("2026-*.html")}
    write_site(out, site, Request())
    assert [name for name in before if (site / name).stat().st_mtime_ns != before[name]] == [f"{date(3)}.html"]
    index = Page(site / "index.html")
    assert [row[0] for row in index.rows if row] == [date(number) for number in (11, *reversed(range(10)))]
    assert [index.rows[at][2] for at in (1, 2)] == ["failed", "fail"]
    assert index.rows[1][4] == "disk full"
    # Without a gate the run of the chart above is named, with its score.
    assert index.rows[3][3] == "hybrid"
    assert index.rows[3][4].startswith(
        f"{data_of(out, date(8), run='hybrid').mean['ndcg']:.3f}; dense: 0.541 (up 0.022"
    )
    assert (site / "index.html").read_text(encoding="utf-8").count("<svg") == len(RUNS)
    assert "Note: a note" in index.rows[8][4]
    assert 'href="index.html"' in (site / "latest.html").read_text(encoding="utf-8")
    assert (site / "latest.html").read_bytes() == (site / f"{date(9)}.html").read_bytes()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """The page of two datasets whose every name wants to be something else."""
    folder = tmp_path_factory.mktemp("hostile")
    runs = {name: 0.8 - 0.1 * at for at, name in enumerate(HOSTILE)}
    for dataset in (HOSTILE[0], HOSTILE[2]):
        for number in range(2):
            lists = lists_of(runs, 30, seed=number, lost={HOSTILE[2]: 29 * number})
            night(folder, number, lists, dataset=dataset, languages=HOSTILE)
    labels = Labels({"q0002": HOSTILE[2]}, {"d0": (HOSTILE[0], HOSTILE[0])})
    (folder / "r.html").write_text(read_page(str(folder), request=Request(labels=labels)).html, encoding="utf-8")
    return folder / "r.html"


def test_names_are_escaped_and_visible(hostile):
    text = hostile.read_text(encoding="utf-8")
    assert {sign for sign in text if printable(sign) != sign} <= {"\n"}
    assert text.count("<script>") == 1
    assert "49" not in re.findall(r"&lt;(\d\d)", text)
    # The script that the page allows is its own.
    (script,) = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in text


@pytest.mark.slow
def test_143_runs_take_three_seconds_and_a_megabyte(tmp_path):
    runs = {f"run-{number:03}-of-a-long-name": 0.4 + 0.003 * number for number in range(143)}
    for number in range(2):
        night(tmp_path, number, lists_of(runs, 30, seed=number))
    start = time.process_time()
    page = read_page(str(tmp_path)).html
    assert (len(page) < 1e6, time.process_time() - start < 3) == (True, True)
    assert len(set(re.findall(r"run-\d{3}-of-a-long-name", page))) == 143


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Debian's Chromium with a fresh profile, which logs what it is asked for."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium, which check.sh installs")
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("needs Debian's chromium and chromium-driver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    profile = tmp_path_factory.mktemp("profile")
    for argument in ("--headless=new", "--no-sandbox", "--window-size=1280,900", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield opened
    opened.quit()


@pytest.fixture(scope="module")
def page(output):
    """The file of the page of the failed night."""
    file = output.parent / "page.html"
    write_report(str(output), file, None, Request())
    return file


def opened(browser, file, **emulated):
    browser.get("about:blank")
    for log in ("performance", "browser"):
        browser.get_log(log)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
    browser.get(file.as_uri())


@pytest.mark.slow
@pytest.mark.parametrize("which", ["page", "hostile"])
def test_a_page_opens_without_a_request_and_fits_every_width(request, browser, which):
    file = request.getfixturevalue(which)
    opened(browser, file)
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [entry for entry in messages if entry["method"] == "Network.requestWillBeSent"]
    asked = {entry["params"]["request"]["url"] for entry in sent}
    assert ({url for url in asked if not url.startswith("data:,")}, browser.get_log("browser")) == ({file.as_uri()}, [])
    browser.execute_script("document.querySelectorAll('details').forEach((element) => { element.open = true; });")
    for width in (390, 768, 1280):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        # Only tables scroll sideways, within themselves.
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        is_cut = "element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1"
        cards = "Array.from(document.querySelectorAll('.card *'))"
        assert (
            browser.execute_script(f"return {cards}.filter((element) => {is_cut}).map((element) => element.outerHTML)")
            == []
        )
        # No column of names is a letter wide.
        names = "Array.from(document.querySelectorAll('.part .wide td:not(.n)'))"
        assert browser.execute_script(f"return Math.min(...{names}.map((element) => element.clientWidth))") > 60


@pytest.mark.slow
def test_the_first_screen_answers(browser, page):
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.set_window_size(1280, 1040)
    opened(browser, page)
    height = browser.execute_script("return innerHeight")
    headings = browser.find_elements("css selector", ".headline, .card :is(h2, h3)")
    shown = [element.text for element in headings if element.rect["y"] + element.rect["height"] < height]
    assert shown[0].startswith("hybrid is worse: 0.441, down 0.113 from 0.554; first seen tonight")
    assert shown[1:] == [
        "Every run against the mean of 7 good nights, 3 to 9 January",
        *("hybrid, the last 10 nights", "Which queries", "Why hybrid lost", "What to do"),
    ]


@pytest.mark.slow
def test_tables_are_sorted_by_numbers_and_filtered_and_links_open(browser, page):
    opened(browser, page)

    def column(label, place):
        cells = browser.find_elements("css selector", f"[aria-label='{label}'] tbody tr td:nth-child({place})")
        return [cell.get_attribute("textContent") for cell in cells]

    browser.find_element("css selector", "nav a[href^='#runs']").click()
    headings = browser.find_elements("css selector", "[aria-label='Runs'] th button")
    names = [element.text for element in headings]
    button = headings[names.index("p (decides)")]
    for order, place in (("descending", 2), ("ascending", 0)):
        button.click()
        assert button.find_element("xpath", "..").get_attribute("aria-sort") == order
        assert column("Runs", 1).index("hybrid") == place
    link = browser.find_element("css selector", ".card td a")
    anchor = link.get_attribute("hash")[1:]
    browser.execute_script("arguments[0].click()", link)
    assert browser.find_element("id", anchor).is_displayed()
    browser.find_element("css selector", "input[type=search]").send_keys(link.get_attribute("textContent"))
    rows = browser.find_elements("css selector", "[aria-label=Queries] tbody tr")
    assert [element.is_displayed() for element in rows].count(True) == 1
    assert "1 of 60 queries" in browser.find_element("css selector", "[role=status]").text


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser, page, scheme):
    axe = pytest.importorskip("axe_selenium_python", reason="needs axe, which check.sh installs")
    opened(browser, page, features=[{"name": "prefers-color-scheme", "value": scheme}])
    opening = "Array.from(document.querySelectorAll('details')).slice(0, 12).forEach((e) => { e.open = true; });"
    browser.execute_script(opening)
    script = Path(axe.__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
    browser.execute_script(script.read_text(encoding="utf-8"))
    # Half a minute is not enough where the machine is busy.
    browser.set_script_timeout(120)
    result = browser.execute_async_script("axe.run(arguments[0]).then(arguments[1]);", {"resultTypes": ["violations"]})
    assert [(element["id"], element["nodes"][0]["html"][:200]) for element in result["violations"]] == []

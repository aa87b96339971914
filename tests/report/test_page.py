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
from night_pages import kinds
from page_nights import DEPTH, GRADES, dcg, lists_of, night, verdict
from pages import Page
from scipy import stats

import ndcg_spark
from ndcg_spark.comparison.trend import History
from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.nights.commit import log_attempt
from ndcg_spark.nights.log import committed, revise
from ndcg_spark.nights.reader import night_rows
from ndcg_spark.report.answer import answer, first_seen, since
from ndcg_spark.report.charts import place_trend, split, uncompared
from ndcg_spark.report.labels import Label, Labels, read_labels
from ndcg_spark.report.night import load_night
from ndcg_spark.report.outline import Request
from ndcg_spark.report.page import read_page, write_report
from ndcg_spark.report.site import write_site
from ndcg_spark.report.words import standing_out, unexplained, warnings
from ndcg_spark.text import printable

ROOT = Path(__file__).parents[2]
RUNS = {"hybrid": 0.8, "dense": 0.75, "bm25": 0.6}
LANGUAGES = ("en", "fr", "de")
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'>&lt;{{7*7}}",
    "שלום עולם",
    "🙂 é\u202e\x1b\x07\ufe0f",
    "x" * 3_000,
]


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """Ten nights; in the last one hybrid has lost German queries, and failed a gate on the mean of seven."""
    folder = tmp_path_factory.mktemp("nights")
    for number in range(9):
        night(folder, number, lists_of(RUNS, 60, seed=number), languages=LANGUAGES)
    lost = lists_of(RUNS, 60, seed=9, lost={"hybrid": 36})
    failed = verdict(nights=range(2, 9), p=0.00001)
    configuration = {
        "file": "/conf/nightly.toml",
        "gate": {"check": [{"measure": "ndcg", "cutoff": 10}]},
    }
    night(folder, 9, lost, languages=LANGUAGES, verdict=failed, configuration=configuration)
    return folder


def data_of(output, date=None, **request):
    history = History(committed(str(output)))
    shown = next(night for night in reversed(history.nights) if date in (None, night.evaluated_on))
    return load_night(history, shown, Request(**request), str(output))


def scores(output, number, run):
    shown = next(night for night in committed(str(output)) if night.evaluated_on == date(number))
    return {
        row["query_id"]: row["ndcg"]
        for row in night_rows(shown, "query_scores", cutoff=[10], run=[run])
    }


def test_every_number_is_against_the_mean_of_the_good_nights(output):
    data = data_of(output)
    assert (data.run, data.baseline.label) == (
        "hybrid",
        "the mean of 7 good nights, 3 to 9 January",
    )
    own = scores(output, 9, "hybrid")
    before = [scores(output, number, "hybrid") for number in range(2, 9)]
    means = {query: np.mean([scores_before[query] for scores_before in before]) for query in own}
    assert {query.query_id: query.before for query in data.queries} == pytest.approx(means)
    interval = stats.ttest_rel(
        [own[query] for query in own], [means[query] for query in own]
    ).confidence_interval()
    assert [data.row["interval_low"], data.row["interval_high"]] == pytest.approx(
        [interval.low, interval.high]
    )
    assert data.row["difference"] == pytest.approx(
        np.mean([own[query] - means[query] for query in own])
    )
    # The gate's own p value and warnings.
    assert [str(warning.text) for warning in warnings(data)] == ["Warning: a warning of the gate."]
    assert data.row["p_decides"] == 0.00001
    assert data.compared_with.decided_by_gate == ["hybrid"]
    assert data.row["losses"] == sum(query.change < -1e-9 for query in data.queries)


def test_parts_sum_to_the_difference_and_are_named(output):
    data = data_of(output)
    assert sum(data.moved.sums.values()) == pytest.approx(data.row["difference"])
    assert data.moved.sums["left"] < 0
    assert data.moved.share == pytest.approx(1)
    assert 0 <= data.moved.unjudged <= 1
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
    parts, lost = data_of(tmp_path).moved, sum(moved.values()) * (1 - second) / ideal / 2
    assert (parts.sums, parts.queries) == (
        {"down": pytest.approx(-lost), "up": pytest.approx(3 / 4 * lost)},
        2,
    )


def test_a_page_of_partly_kept_documents_says_of_which_queries_they_are(tmp_path):
    queries = {f"q{at}": ["d0", "d1"] for at in range(3)}
    for number in range(2):
        lists = {query: listed[number:] for query, listed in queries.items()}
        night(tmp_path, number, {"hybrid": lists}, kept_only=("q0", f"q{number + 1}"))
    assert data_of(tmp_path).moved.queries == 1
    assert data_of(tmp_path).moved.share == pytest.approx(1 / 3)
    assert "partly" in kinds(data_of(tmp_path))


#: Of 60 queries these 12 have lost, and q0001 gains 1 where it is changed.
LOST = tuple(f"q{number:04}" for number in range(2, 36, 3))


@pytest.mark.parametrize(
    ("kept", "gains", "said"),
    [
        (("q0000", "q0003"), False, "few_kept"),
        (LOST[:1], False, "few_kept"),
        (("q0001",), True, "few_kept"),
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
    found = kinds(data_of(tmp_path)) & {"few_kept"}
    assert (is_drawn, found) == (said is None, {said} - {None})
    before, now = (scores(tmp_path, number, "hybrid") for number in range(2))
    changes = {query: abs(now[query] - before[query]) for query in now}
    share = sum(changes[query] for query in kept) / sum(changes.values())
    assert data_of(tmp_path).moved.share == pytest.approx(share)


@pytest.mark.parametrize(
    ("levels", "kind", "seen"),
    [
        ("hhhl", "first", []),
        ("hlhl", "seen_before", [1]),
        ("hlllllhl", "seen_before", [1, 2, 3, 4, 5]),
        ("llhl", "seen_before", [0, 1]),
        # One night lacks the run, and then the judgments changed.
        ("hl-hl", "seen_before", [1]),
        ("lljhhl", "first", []),
        ("h" * 29 + "l", "first_of_all", []),
        ("l" * 2 + "h" * 28 + "l", "first_of_all", []),
    ],
)
def test_a_level_is_first_seen_if_no_comparable_night_that_is_shown_had_it(
    tmp_path, levels, kind, seen
):
    judgments = "j1"
    for number, level in enumerate(levels):
        judgments = "j2" if level == "j" else judgments
        name = "other" if level == "-" else "hybrid"
        lists = lists_of({"hybrid": 0.8}, 36, lost={"hybrid": 36 * (level == "l")})
        night(tmp_path, number, {name: lists["hybrid"]}, documents=False, judgments=judgments)
    found = first_seen(data_of(tmp_path))
    assert (found.kind, [*found.dates]) == (kind, [date(number) for number in seen])


def test_an_axis_is_of_what_is_drawn(tmp_path):
    for number in range(2):
        night(tmp_path, number, {"hybrid": {f"q{at}": ["x5"] for at in range(10)}})
    chart = place_trend(data_of(tmp_path).trend)
    # A score of 0 needs no axis below it.
    assert (chart.low, float(chart.high) < 0.01) == ("0.0000", True)


def test_causes_are_shares_of_the_difference(output):
    data = data_of(output)
    assert data.causes[0]["value"] == "de"
    assert sum(cause["share"] for cause in data.causes) == pytest.approx(1)


FIRST = verdict(
    "none", run=None, reason="no_baseline", sentence="no good night", result="not_comparable"
)
MISSING = verdict(
    "none",
    run="x",
    check="gate",
    reason="missing_run",
    sentence="x has no results",
    result="not_comparable",
)
REJUDGED = verdict(
    "none",
    nights=range(2),
    reason="other_judgments",
    sentence="other judgments",
    result="not_comparable",
    allowed=None,
)
CHANCE = verdict(
    "none", reason="may_be_chance", nights=range(2), sentence="may be chance", result="undecided"
)


@pytest.mark.parametrize(
    ("nights", "lost", "options", "expected"),
    [
        (1, 36, {}, ("NO GATE", "bad", "worse")),
        (2, 0, {}, ("NO GATE", "mid", "cannot_tell")),
        (0, 0, {}, ("NO GATE", "mid", "first_night")),
        (0, 0, {"runs": {"hybrid": 0.8}}, ("NO GATE", "mid", "first_night")),
        (2, 36, {"verdict": verdict(nights=range(2))}, ("FAIL", "bad", "worse")),
        (2, 0, {"verdict": verdict("pass", nights=range(2))}, ("PASS", "ok", "cannot_tell")),
        (2, 0, {"verdict": CHANCE}, ("NO VERDICT", "mid", "cannot_tell")),
        (2, 36, {"verdict": REJUDGED}, ("NO VERDICT", "mid", "verdict")),
        (2, 0, {"verdict": MISSING, "documents": False}, ("NO VERDICT", "mid", "verdict")),
        (
            0,
            0,
            {"verdict": FIRST, "accepted": "the first"},
            ("NO VERDICT (ACCEPTED)", "mid", "first_night"),
        ),
        (2, 36, {"judgments": "j2"}, ("NO GATE", "mid", "no_copies")),
        (2, 36, {"documents": False}, ("NO GATE", "bad", "worse")),
    ],
)
def test_states(tmp_path, nights, lost, options, expected):
    runs = options.pop("runs", RUNS)
    for number in range(nights):
        night(tmp_path, number, lists_of(runs, 60, seed=number), languages=LANGUAGES)
    night(
        tmp_path, nights, lists_of(runs, 60, lost={"hybrid": lost}), languages=LANGUAGES, **options
    )
    data = data_of(tmp_path)
    top = answer(data)
    assert (top.word, top.tone, top.headline.kind) == expected
    page = Page(read_page(str(tmp_path)).html)
    assert "nan" not in page.words
    # What is missing is listed.
    is_missing = options.get("verdict") is MISSING
    assert any(row[:1] == ["x"] for row in page.rows) == is_missing
    assert ("missing" in kinds(data)) == is_missing
    is_without = options.get("documents") is False
    assert ("no_documents" in kinds(data)) == (is_without and not is_missing)
    # Nothing to test, nothing shown.
    tested = data.row is not None and "unchanged" not in data.row["flags"]
    assert ("95% interval" in top.text.striptags()) <= tested


def test_without_a_verdict_the_run_of_the_first_check_is_shown_and_nothing_is_concluded(tmp_path):
    configuration = {"gate": {"check": [{"measure": "ndcg", "cutoff": 10, "runs": ["dense"]}]}}
    lists = lists_of(RUNS, 60, lost={"bm25": 6})
    night(tmp_path, 0, lists_of(RUNS, 60), verdict=verdict("pass"), configuration=configuration)
    baselines = verdict(nights=[0])["baselines"]
    said = {**MISSING, "baselines": baselines}
    # One run answers fewer queries, another one is the best.
    night(tmp_path, 1, lists, missing=True, verdict=said, configuration=configuration)
    data = data_of(tmp_path)
    assert (data.run, data.baseline.nights[0].evaluated_on) == ("dense", date(0))
    drawn = split({**data.row, "losses": 3, "wins": 2, "conclusion": "cannot_tell"})
    assert (drawn.lost_tone, drawn.won_tone) == ("mid", "mid")
    assert {box.kind for box in drawn.boxes} == {"mid", "faint"}


@pytest.mark.parametrize(
    ("grades", "advised"), [(GRADES, True), (dict.fromkeys(GRADES, 1.0), False)]
)
def test_a_loss_since_an_earlier_night_has_its_note_and_of_clicks_nothing_is_to_be_judged(
    monkeypatch, tmp_path, grades, advised
):
    monkeypatch.setattr("page_nights.GRADES", grades)
    for number in range(10):
        lost, said = (
            {"hybrid": 36 * (number > 7)},
            verdict(nights=range(7)) if number == 9 else None,
        )
        night(
            tmp_path, number, lists_of(RUNS, 60, seed=number, lost=lost), unjudged=10, verdict=said
        )
    if advised:
        write_site(str(tmp_path), tmp_path / "site", Request())
    revise(committed(str(tmp_path))[8], note="new index")
    page = Page(read_page(str(tmp_path)).html)
    if advised:
        # The page of a later night is written again.
        write_site(str(tmp_path), tmp_path / "site", Request())
        page = Page(tmp_path / "site" / f"{date(9)}.html")
    assert first_seen(data_of(tmp_path)).dates == [date(8)]
    assert "new index" in page.words
    assert (f"--baseline-date {date(6)}, then" in page.words) == advised
    found = kinds(data_of(tmp_path))
    assert {"unjudged_loss", "judge_documents"} & found == (
        {"unjudged_loss", "judge_documents"} if advised else set()
    )
    assert {"note", "gate"} <= found


def test_a_loss_whose_first_night_cannot_be_compared_has_no_first_night(tmp_path):
    # Of the nights that have lost, only the last was evaluated again with the new judgments.
    for number in range(10):
        lost, judgments = {"hybrid": 36 * (number > 6)}, "j1" if number in (7, 8) else "j2"
        said = verdict(nights=range(7)) if number == 9 else None
        night(
            tmp_path,
            number,
            lists_of(RUNS, 60, seed=number, lost=lost),
            judgments=judgments,
            verdict=said,
        )
    data = data_of(tmp_path)
    assert (data.row["conclusion"], since(data)) == ("worse", None)
    # The last two nights alone can be compared: too few for a range.
    assert (data.usual, place_trend(data.trend, "bad", data.usual).areas) == (None, [])


@pytest.mark.parametrize(
    ("third", "missing", "said"),
    [(2, 0, "cause"), (None, 0, "spread"), (None, 20, "unanswered")],
)
def test_a_loss_is_of_a_kind_of_queries_or_of_those_without_results_or_spread_over_all(
    tmp_path, third, missing, said
):
    for number in range(2):
        lists = lists_of(RUNS, 60, seed=1, lost={"hybrid": 60 * number})
        languages = LANGUAGES if third else ("en", "fr")
        night(tmp_path, number, lists, languages=languages, missing=bool(number * missing))
    data = data_of(tmp_path)
    found = kinds(data)
    assert found & {"cause", "spread", "unanswered"} == {said}
    assert found & {"real", "may_be_chance"} == {"real"}
    # Slices are named by themselves where none explains the loss.
    assert len(standing_out(data)) == (0 if third else 2)
    if missing:
        assert (data.unanswered.now, data.unanswered.before, data.unanswered.share) == (
            20,
            0,
            pytest.approx(1),
        )
        # A query that has results in neither night does not count.
        night(
            tmp_path,
            2,
            lists_of(RUNS, 60, seed=1, lost={"hybrid": 3}),
            languages=languages,
            missing=True,
        )
        again = data_of(tmp_path).answered
        assert (again.queries, again.share) == (19, pytest.approx(1))
        assert "answered" in kinds(data_of(tmp_path))


def test_a_run_that_returns_nothing_for_some_queries_is_shown_though_another_is_best_and_it_may_be_chance(
    tmp_path,
):
    for number in range(2):
        lists = lists_of(RUNS, 60, seed=1, lost={"bm25": 6 * number, "dense": 60 * number})
        night(tmp_path, number, lists, missing=bool(number))
    data = data_of(tmp_path)
    assert (data.run, data.unanswered.now) == ("dense", 20)
    # What is said about another run is to be done, too.
    assert "look_at_others" in kinds(data_of(tmp_path, run="hybrid"))
    night(tmp_path, 2, {**lists, "new": lists["hybrid"]}, missing=True)
    night(tmp_path, 3, lists_of({"late": 0.6}, 60))
    data = data_of(tmp_path, date(2))
    assert (data.new, [other.run.striptags() for other in uncompared(data)]) == (["new"], ["new"])
    write_site(str(tmp_path), tmp_path / "site", Request())
    index = Page(tmp_path / "site" / "index.html")
    assert [row[3] for row in index.rows if row[:1] and row[0].startswith("2026")] == [
        "late",
        "hybrid",
        "hybrid",
        "hybrid",
    ]


@pytest.mark.parametrize(
    ("languages", "adjusted"), [((), ""), (LANGUAGES, ", adjusted for all runs and slices")]
)
def test_an_interval_without_0_beside_what_may_be_chance_is_explained(
    tmp_path, languages, adjusted
):
    # All signs of five changes are the same with a probability of 2 / 2**5.
    for number in range(2):
        night(
            tmp_path,
            number,
            lists_of(RUNS, 30, seed=1, lost={"dense": 15 * number}),
            languages=languages,
        )
    data = data_of(tmp_path, run="dense")
    assert (data.row["conclusion"], data.row["interval_high"] < 0) == ("cannot_tell", True)
    assert f", the larger of two tests{adjusted}." in answer(data).text


def test_slices_that_differ_in_both_directions_are_named_though_the_whole_may_be_chance(tmp_path):
    lists = lists_of({"old": 0.8}, 60)["old"]
    for number, lost in enumerate((1, 2)):
        old = {
            query: listed if int(query[1:]) % 3 != lost else ["x5"]
            for query, listed in lists.items()
        }
        night(
            tmp_path,
            number,
            {"old": old, **({} if number else {"gone": lists})},
            languages=LANGUAGES,
        )
    data = data_of(tmp_path)
    slices = [(row["value"], row["conclusion"], row["queries"]) for row in standing_out(data)]
    assert slices == [("fr", "better", 20), ("de", "worse", 20)]
    assert {"look_at_slices", "gone"} <= kinds(data)
    assert "9,560 rows, 2 files: old.csv and 1 more" in Page(read_page(str(tmp_path)).html).words
    write_site(str(tmp_path), tmp_path / "site", Request())
    index = Page(tmp_path / "site" / "index.html")
    assert index.rows[1][3:] == [
        "old",
        "0.3902",
        "+0.0054",
        "gone: no score (0.5773 the night before)",
    ]


def test_documents_are_compared_with_the_newest_night_that_keeps_them(tmp_path):
    for number in range(3):
        said = verdict(nights=[0, 1]) if number == 2 else verdict("pass")
        lists = lists_of(RUNS, 60, lost={"hybrid": 60 * (number == 2)})
        night(tmp_path, number, lists, verdict=said, documents=number != 1)
    page = read_page(str(tmp_path)).html
    explained = [command for command in commands_of(page) if " explain " in command]
    assert explained
    assert all(
        command.endswith(f"--run hybrid --cutoff 10 --baseline-date {date(0)}")
        for command in explained
    )
    assert ("<bdi>hybrid</bdi> on 1 January" in page, "<bdi>hybrid</bdi> on 2 January" in page) == (
        True,
        False,
    )


@pytest.mark.parametrize(
    ("word", "result", "loses", "p", "conclusion"),
    [
        ("none", "undecided", 1, 0.25, "cannot_tell"),
        # A loss that is allowed was tested as well.
        ("pass", "pass", 1, 0.25, "cannot_tell"),
        ("pass", "pass", 1, 0.03, "worse"),
        # Of a gain the gate may know one test alone.
        ("pass", "pass", 0, 0.25, "better"),
    ],
)
def test_a_loss_is_as_certain_as_the_gate_says(tmp_path, word, result, loses, p, conclusion):
    for number in range(2):
        said = (
            verdict(word, result=result, nights=range(1), p=p, reason="few_queries", queries=40)
            if number
            else None
        )
        configuration = {"file": "/conf/nightly.toml"}
        lists = lists_of(RUNS, 60, seed=1, lost={"hybrid": 60 * (number == loses)})
        night(
            tmp_path, number, lists, verdict=said, configuration=configuration, languages=LANGUAGES
        )
    data = data_of(tmp_path, run="hybrid")
    decided = ["hybrid"] if loses else []
    assert (data.row["conclusion"], data.compared_with.decided_by_gate) == (conclusion, decided)
    assert (data.row["p_decides"] == p) == bool(decided)
    # Accepting the night would not make the next one have more queries.
    asked = {"few_queries"} if result == "undecided" else set()
    assert kinds(data) & {"few_queries", "accept_night"} == asked


@pytest.mark.parametrize(
    "kept",
    [[False, True], [False] * 2],
)
def test_a_page_says_which_nights_keep_no_documents_where_it_cannot_tell_what_moved(tmp_path, kept):
    for number, documents in enumerate([*kept, True]):
        # No query of the second night scores as the mean of both.
        lists = lists_of(RUNS if number else dict.fromkeys(RUNS, 0.0), 60)
        said_before = verdict(nights=range(2)) if number == 2 else None
        night(tmp_path, number, lists, documents=documents, verdict=said_before)
    said = unexplained(data_of(tmp_path))
    assert (said.kind, "1 of the 2 nights" in said.text) == ("none_kept", any(kept))
    assert unexplained(data_of(tmp_path, measure="precision@10")).kind == "only_ndcg"


def test_a_run_that_returns_nothing_is_named_beside_another_run_too(tmp_path):
    lists = lists_of({"old": 0.9, "new": 0.9}, 60, lost={"new": 60})
    night(tmp_path, 0, lists, missing=True)
    for asked in ({}, {"baseline": "old"}):
        data = data_of(tmp_path, run="new", **asked)
        assert data.unanswered.now == 20
        assert {"unanswered", "find_out_why_silent"} <= kinds(data)


def test_a_run_that_returned_nothing_is_not_compared_and_its_night_has_no_score(tmp_path):
    lists = lists_of({"old": 0.9, "new": 0.8}, 30)
    lost = {**lists, "new": {query: [] for query in lists["new"]}}
    for number, of_night in enumerate((lists, lists, lost)):
        night(tmp_path, number, of_night, missing=True)
    (data,) = read_page(str(tmp_path)).parts
    assert (data.runs, data.new, [row["run"] for row in data.missing]) == (["old"], [], ["new"])
    assert "missing" in kinds(data)
    for other in ({"run": "new"}, {"run": "new", "baseline": "old"}):
        found = kinds(data_of(tmp_path, **other))
        assert {"silent", "silent_nights"} <= found
        assert not found & {"real", "may_be_chance", "same"}
    # Nor is it a baseline.
    night(tmp_path, 3, lists)
    (data,) = read_page(str(tmp_path)).parts
    assert data.new == ["new"]
    night(tmp_path, 4, {run: {query: [] for query in lists[run]} for run in lists}, missing=True)
    assert "silent" in kinds(data_of(tmp_path))


def test_the_table_of_queries_says_of_how_many_nights_the_score_before_is_the_mean(tmp_path):
    lists = lists_of({"hybrid": 0.9}, 30)
    late = {run: {query: of[query] for query in list(of)[1:]} for run, of in lists.items()}
    for number, of_night in enumerate((late, late, lists)):
        night(tmp_path, number, of_night, verdict=verdict("pass"))
    night(tmp_path, 3, lists, verdict=verdict("pass", nights=(0, 1, 2)))
    (data,) = read_page(str(tmp_path)).parts
    first = next(iter(lists["hybrid"]))
    assert {query.query_id: query.nights for query in data.queries if query.nights != 3} == {
        first: 1
    }
    assert "nights before" in Page(read_page(str(tmp_path)).html).words


def test_the_measure_is_that_of_the_first_check_for_the_dataset_and_a_score_of_queries(tmp_path):
    checks = [
        {"measure": "ndcg", "cutoff": DEPTH, "datasets": ["web"]},
        {"measure": "precision", "cutoff": DEPTH},
    ]
    known = {
        "configuration": {"gate": {"check": checks}},
        "verdict": verdict(),
        "accepted": "why not",
    }
    night(tmp_path, 0, lists_of(RUNS, 10), **known)
    assert data_of(tmp_path).measure == "precision@10"
    assert "accepted" in kinds(data_of(tmp_path))
    with pytest.raises(ConfigurationError, match="judged_rate has no query scores"):
        data_of(tmp_path, measure="judged_rate")


def test_a_run_that_is_named_is_the_baseline(output):
    data = data_of(output, baseline="bm25")
    assert (data.baseline.label, set(data.compared)) == ("bm25", {"dense", "hybrid"})
    with pytest.raises(ConfigurationError, match="no run is called 'bm26'"):
        data_of(output, baseline="bm26", baseline_date=date(0))
    # The verdict stays the gate's, which compared with something else.
    top = answer(data)
    assert (top.word, top.headline.kind, top.sentences[0].kind) == (
        "FAIL",
        "verdict",
        "cannot_tell",
    )


def test_a_baseline_that_was_evaluated_again_is_compared_as_it_is_now_and_no_longer_called_the_gate_s(
    output, tmp_path
):
    shutil.copytree(output, tmp_path / "out")
    night(tmp_path / "out", 8, lists_of(RUNS, 60, seed=80), evaluation_id="another")
    (data,) = read_page(str(tmp_path / "out")).parts
    assert (data.baseline.nights[-1].evaluation_id, data.compares, data.result("hybrid")) == (
        "another",
        True,
        None,
    )
    assert answer(data).headline.kind == "verdict"


def test_a_night_of_another_convention_is_not_compared(output, tmp_path):
    shutil.copytree(output, tmp_path / "out")
    night(tmp_path / "out", 10, lists_of(RUNS, 60), options={"gain": "linear"})
    with pytest.raises(ConfigurationError, match="a different convention"):
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
    compared = [
        re.findall(r"compared with (hybrid|the night of \S+ January)", page) for page in pages
    ]
    assert compared == [["hybrid"], ["the night of 1 January"], *[["the night of 2 January"]] * 2]
    night(tmp_path, 4, lists_of({"dense": 0.7}, 60))
    write_site(str(tmp_path), tmp_path / "other", Request(run="hybrid"))
    assert "dense, the last 5 nights" in Page(tmp_path / "other" / f"{date(4)}.html").words
    for unknown in ({"run": "hybird"}, {"baseline": "hybird"}, {"baseline_date": "2025-01-01"}):
        with pytest.raises(ConfigurationError, match=next(iter(unknown))):
            write_site(str(tmp_path), tmp_path / "none", Request(**unknown))
    assert not (tmp_path / "none").exists()


def test_a_difference_under_other_judgments_says_nothing_about_the_run(tmp_path):
    for number in range(2):
        night(tmp_path, number, lists_of(RUNS, 60, seed=number), judgments=f"j{number}")
    for asked in ({}, {"baseline_date": date(0)}):
        found = kinds(data_of(tmp_path, **asked))
        assert {"no_copies", "find_out_why_judgments_changed"} <= found
        assert not found & {"other_judgments", "real", "may_be_chance"}


def commands_of(page):
    return [html.unescape(code) for code in re.findall(r"<code>(ndcg-spark [^<]+)</code>", page)]


def test_who_accepts_a_night_of_other_judgments_is_told_of_the_failed_one_before(tmp_path):
    rejudged = {
        "judgments": "j2",
        "configuration": {"file": "/conf/nightly.toml"},
        "verdict": {**REJUDGED, "results": [{**REJUDGED["results"][0], "baseline_night": date(0)}]},
    }
    states = [
        {"verdict": verdict("pass")},
        {"verdict": verdict("fail", nights=[0])},
        rejudged,
        rejudged,
    ]
    for number, options in enumerate(states):
        night(tmp_path, number, lists_of(RUNS, 60, seed=number), **options)
    assert "accepts_loss" in kinds(data_of(tmp_path))
    # Where the run is compared with a night before the failed one, and has recovered, there is no loss to accept.
    back = {
        "verdict": {**MISSING, "baselines": verdict(nights=[0])["baselines"]},
        "configuration": {"file": "x.toml"},
    }
    for number, options in enumerate([*states[:2], back]):
        night(tmp_path / "back", number, lists_of(RUNS, 60), **options)
    assert kinds(data_of(tmp_path / "back")) & {"accept_night", "accepts_loss"} == {"accept_night"}
    revise(committed(str(tmp_path))[1], accepted="known")
    assert "accepts_loss" not in kinds(data_of(tmp_path))


@pytest.mark.slow
def test_the_commands_of_a_page_run(tmp_path):
    from gated_nights import settings

    nights = [
        settings(tmp_path, f"2026-11-{19 + at}", worse=30 * at, documents="all") for at in range(2)
    ]
    for number, known in enumerate(nights):
        gate = '[gate]\nbaseline = "good"\ncheck = [{ cutoff = 3, max_drop = 0.01 }]\n'
        paths = "".join(
            f'[{name}]\npath = "{known[name]["path"]}"\n' for name in ("judgments", "results")
        )
        toml = tmp_path / f"{number}.toml"
        toml.write_text(
            f'output = "{known["output"]}"\ncutoffs = [3]\nengine = "embedded"\n{paths}{gate}'
        )
        (tmp_path / "labels.csv").write_text("Query ID,Text\nq0,wireless mouse\n")
        options = (
            "--config",
            toml,
            "--date",
            known["date"],
            "--documents",
            "all",
            "--report",
            "r.html",
        )
        accept = () if number else ("--accept-baseline", "the first night")
        command_line("evaluate", *options, *accept, "--labels", "labels.csv", cwd=tmp_path)
    page = (tmp_path / "r.html").read_text("utf-8")
    commands = commands_of(page)
    assert "wireless mouse" in page
    names = {shlex.split(command)[1] for command in commands}
    assert names >= {"gate", "explain", "judge-next"}
    for name in names:
        command = next(command for command in commands if shlex.split(command)[1] == name)
        # A reason is refused until it is written.
        command = command.replace("say why", "known")
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
def test_slices_and_labels_of_which_no_id_is_on_a_page_are_warned_of_once(tmp_path, write):
    for number in range(2):
        night(tmp_path / "out", number, lists_of(RUNS, 30, seed=number))

    def told(**asked):
        arguments = (None, None) if write == write_report else (tmp_path / "site",)
        with logged_steps() as steps:
            write(str(tmp_path / "out"), *arguments, Request(**asked))
        return [sentence.partition(":")[0] for step, sentence in steps if step == "warning"]

    kinds = [
        pa.table({"query_id": [name], "attribute": ["a"], "value": ["b"]})
        for name in ("q0001", "Q1")
    ]
    assert [told(attributes=kind) for kind in kinds] == [[], ["query_attributes"]]
    labels = [Labels({"q0001": "a"}), Labels({"Q1": "a"}, {"d0": Label("b")}), Labels({"Q1": "a"})]
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
    assert [name for name in before if (site / name).stat().st_mtime_ns != before[name]] == [
        f"{date(3)}.html"
    ]
    index = Page(site / "index.html")
    assert [row[0] for row in index.rows if row] == [
        date(number) for number in (11, *reversed(range(10)))
    ]
    assert [index.rows[at][2] for at in (1, 2)] == ["failed", "fail"]
    assert index.rows[1][6] == "disk full"
    # Every row has a run, its score and its difference: without a gate from the night before.
    score = f"{data_of(out, date(8), run='hybrid').mean['ndcg']:.4f}"
    assert index.rows[3][3:5] == ["hybrid", score]
    assert all(row[5][0] in "+-" for row in index.rows if row)
    assert index.rows[3][6].startswith("dense: 0.5415 (up 0.0216")
    assert (site / "index.html").read_text(encoding="utf-8").count("<svg") == len(RUNS)
    assert "Note: a note" in index.rows[8][6]
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
    labels = Labels({"q0002": HOSTILE[2]}, {"d0": Label(HOSTILE[0], HOSTILE[0])})
    (folder / "r.html").write_text(
        read_page(str(folder), request=Request(labels=labels)).html, encoding="utf-8"
    )
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
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="needs selenium, which check.sh installs"
    )
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("needs Debian's chromium and chromium-driver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    profile = tmp_path_factory.mktemp("profile")
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--window-size=1280,900",
        f"--user-data-dir={profile}",
    ):
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


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The file of a page on which people have graded a sample, in Python."""
    folder = tmp_path_factory.mktemp("graded")
    more = {
        "options": {"gain": "linear"},
        "configuration": {"documents": "all", "cutoffs": [DEPTH]},
    }
    for number in range(2):
        night(folder / "out", number, lists_of({"one": 0.5 + 0.2 * number, "two": 0.6}, 40), **more)
    asked = {"run": "one", "baseline_date": date(0)}
    sample = ndcg_spark.judge_next(folder / "out", sample=50, **asked)
    sample["grade"] = 1
    file = folder / "graded.html"
    ndcg_spark.report_night(folder / "out", file, human=sample)
    return file


def opened(browser, file, **emulated):
    browser.get("about:blank")
    for log in ("performance", "browser"):
        browser.get_log(log)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
    browser.get(file.as_uri())


@pytest.mark.slow
@pytest.mark.parametrize("which", ["page", "hostile", "graded"])
def test_a_page_opens_without_a_request_and_fits_every_width(request, browser, which):
    file = request.getfixturevalue(which)
    opened(browser, file)
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [entry for entry in messages if entry["method"] == "Network.requestWillBeSent"]
    asked = {entry["params"]["request"]["url"] for entry in sent}
    assert ({url for url in asked if not url.startswith("data:,")}, browser.get_log("browser")) == (
        {file.as_uri()},
        [],
    )
    browser.execute_script(
        "document.querySelectorAll('details').forEach((element) => { element.open = true; });"
    )
    for width in (390, 768, 1280):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        # Only tables scroll sideways, within themselves.
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        is_cut = "element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1"
        cards = "Array.from(document.querySelectorAll('.card *'))"
        assert (
            browser.execute_script(
                f"return {cards}.filter((element) => {is_cut}).map((element) => element.outerHTML)"
            )
            == []
        )
        # No column of names is a letter wide.
        names = "Array.from(document.querySelectorAll('.part .wide td:not(.n)'))"
        assert (
            browser.execute_script(
                f"return Math.min(...{names}.map((element) => element.clientWidth))"
            )
            > 60
        )


@pytest.mark.slow
def test_the_first_screen_answers(browser, page):
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.set_window_size(1280, 1040)
    opened(browser, page)
    height = browser.execute_script("return innerHeight")
    headings = browser.find_elements("css selector", ".headline, .card :is(h2, h3)")
    shown = [
        element.text for element in headings if element.rect["y"] + element.rect["height"] < height
    ]
    assert shown[0].startswith(
        "hybrid is worse: 0.4409, down 0.1128 from 0.5537; first seen tonight"
    )
    assert shown[1:] == [
        "Every run against the mean of 7 good nights, 3 to 9 January",
        *("hybrid, the last 10 nights", "Which queries", "Why hybrid lost", "What to do"),
    ]


@pytest.mark.slow
def test_tables_are_sorted_by_numbers_and_filtered_and_links_open(browser, page):
    opened(browser, page)

    def column(label, place):
        cells = browser.find_elements(
            "css selector", f"[aria-label='{label}'] tbody tr td:nth-child({place})"
        )
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
    browser.find_element("css selector", "input[type=search]").send_keys(
        link.get_attribute("textContent")
    )
    rows = browser.find_elements("css selector", "[aria-label=Queries] tbody tr")
    assert [element.is_displayed() for element in rows].count(True) == 1
    assert "1 of 60 queries" in browser.find_element("css selector", "[role=status]").text


@pytest.fixture(scope="module")
def index(output):
    """The file of an index, with an evaluation that failed."""
    log_attempt(str(output), date(11), "x", StorageError("disk full"), 4)
    write_site(str(output), output.parent / "site", Request())
    return output.parent / "site" / "index.html"


@pytest.mark.slow
def test_an_index_is_filtered_by_verdicts_and_nothing_in_it_scrolls(browser, index):
    opened(browser, index)
    select = browser.find_element("css selector", "select[data-filter=verdict]")
    for option, shown in (("fail", 1), ("failed", 1), ("no gate", 9), ("all", 11)):
        select.find_element("xpath", f"option[text()='{option}']").click()
        rows = browser.find_elements("css selector", "table.nights tbody tr")
        assert [row.is_displayed() for row in rows].count(True) == shown
    for width in (390, 1280):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        every = "Array.from(document.querySelectorAll('main *'))"
        scrolls = "['auto', 'scroll'].includes(getComputedStyle(element).overflowY)"
        assert browser.execute_script(f"return {every}.filter((element) => {scrolls}).length") == 0
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "scheme"),
    [("page", "light"), ("page", "dark"), ("index", "dark"), ("graded", "light")],
)
def test_axe_finds_nothing(request, browser, which, scheme):
    axe = pytest.importorskip("axe_selenium_python", reason="needs axe, which check.sh installs")
    file = request.getfixturevalue(which)
    opened(browser, file, features=[{"name": "prefers-color-scheme", "value": scheme}])
    opening = "Array.from(document.querySelectorAll('details')).slice(0, 12).forEach((e) => { e.open = true; });"
    browser.execute_script(opening)
    script = Path(axe.__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
    browser.execute_script(script.read_text(encoding="utf-8"))
    # Half a minute is not enough where the machine is busy.
    browser.set_script_timeout(120)
    result = browser.execute_async_script(
        "axe.run(arguments[0]).then(arguments[1]);", {"resultTypes": ["violations"]}
    )
    assert [
        (element["id"], element["nodes"][0]["html"][:200]) for element in result["violations"]
    ] == []

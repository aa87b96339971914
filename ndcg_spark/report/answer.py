"""The answer at the top of a page: the verdict, what happened to the run, and how certain it is."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from ndcg_spark.comparison.trend import Point, last_stretch
from ndcg_spark.convention.measures import conclusion_words
from ndcg_spark.gate.acknowledged import acknowledged_in_words
from ndcg_spark.gate.links import changes_in_words
from ndcg_spark.gate.past_changes import SIDES_DISAGREE
from ndcg_spark.report.comparisons import CONCLUSIONS, conclusion_in_words
from ndcg_spark.report.human_words import is_judge_doubted, judged_by_people
from ndcg_spark.report.night import NightPage
from ndcg_spark.report.outline import NIGHTS, deciding_result
from ndcg_spark.report.sentences import Rule, Sentence, apply_rules, sentence, together
from ndcg_spark.report.words import (
    CONCLUDED,
    DRAWN,
    TONES,
    answered,
    capital,
    cause,
    falling,
    is_unchanged,
    unanswered,
    verdict_label,
)
from ndcg_spark.tables.format import capital_first, count, difference, level, p_in_words, score
from ndcg_spark.tables.html import joined, marked, name_markup
from ndcg_spark.text import day, message

Row = Mapping[str, Any]
#: The answer names a cause if it accounts for at least this share of the difference.
_MAIN_CAUSE = 0.5
#: The smallest difference that four digits show.
_SMALLEST = 0.0001
#: The words for a run that the baseline does not have.
NEW = "not in the baseline"
_BY_INTERVAL = "by its {level} interval"
_SAYS_NOTHING = "so the difference says nothing about the run"
#: Whether a difference may be due to chance, by the kind of sentence.
_CHANCE = {
    "real": "it is unlikely to be due to chance",
    "same": "any difference is smaller than {margin}, this report's margin, " + _BY_INTERVAL,
    "doubt": "the two tests disagree about whether it is due to chance",
    "may_be_chance": "it could well be due to chance",
    "other_judgments": "the judgments of some queries changed, " + _SAYS_NOTHING,
    "too_few": "{queries} queries are too few to test it",
}

#: A change's sides in words.
SIDES = {
    "old": "under the old judgments",
    "new": "under the new ones",
    "chain_low": "with the lower side of each change",
    "chain_high": "with the higher side",
}


class Answer(NamedTuple):
    word: str
    tone: str
    headline: Sentence
    sentences: Sequence[Sentence]

    @property
    def text(self) -> Markup:
        return together(self.sentences)


def answer(page: NightPage) -> Answer:
    """A night's verdict, and what happened to the page's run.

    The headline is about the run, unless the verdict is about something else.
    """
    label = verdict_label(page.record)
    tone = label.tone
    headline = headline_of(page)
    sentences = apply_rules(EVIDENCE, page)
    verdict = page.verdict
    if page.baseline.is_first and verdict.get("reason") in (None, "no_baseline"):
        sentences = [headline, *sentences] if page.row else []
        headline = first_night(page)
    elif not verdict:
        tone = _tone_of_difference(page)
    elif verdict.get("reason") == SIDES_DISAGREE and _has_sides(page):
        headline = _not_known(page)
    elif _is_about_something_else(page):
        # If the run is not compared, the verdict already says what happened to it.
        is_said_by_verdict = page.row is None and page.run == verdict["run"]
        sentences = [] if is_said_by_verdict else [_by_measure(page, headline)]
        text = capital(message(verdict["sentence"]).rstrip("."))
        headline = sentence("verdict", "{}.", text)
    sentences += apply_rules([others, human_grades], page)
    return Answer(label.text.upper(), tone, headline, sentences)


def _tone_of_difference(page: NightPage) -> str:
    """The colour of an answer without a gate, which depends only on the run's difference."""
    if page.row is None or not page.baseline.nights:
        return "mid"
    if _is_doubted_by_people(page):
        return "mid"
    return TONES.get(str(page.row["conclusion"]), "mid")


def _is_doubted_by_people(page: NightPage) -> bool:
    """Whether the people who graded a sample disagree with the judge about the run."""
    human = page.human
    return human is not None and human.pair.run == page.run and is_judge_doubted(human)


def is_by_judge(page: NightPage) -> bool:
    """Whether the headline attributes its conclusion to the judge, because people disagree."""
    return page.is_concluded and _is_doubted_by_people(page)


def _is_about_something_else(page: NightPage) -> bool:
    """Whether the verdict is about something other than the run's difference."""
    if page.row is None:
        return True
    result = page.result(page.run) or {}
    verdict = page.verdict["verdict"]
    if verdict == "none" and result.get("result") == "undecided":
        return deciding_result(page.night) != result
    return verdict not in ("pass", result.get("result"))


def _by_measure(page: NightPage, headline: Sentence) -> Sentence:
    """What happened to the run, with the measure if the verdict is about a different one."""
    decided = deciding_result(page.night) or {}
    if page.row is None or decided.get("measure") in (None, page.metric[0]):
        return headline
    text = headline.text
    if text.startswith("We "):
        # It no longer begins the sentence.
        text = Markup("we") + text[2:]
    return sentence(headline.kind, "By {}, {}", page.measure, text)


# The headline.


def first_night(page: NightPage) -> Sentence:
    best = page.runs[0]
    text = "{} scores {}; there is no earlier night to compare it with yet."
    return sentence("first_night", text, name_markup(best), score(page.value(best)))


def _has_sides(page: NightPage) -> bool:
    """Whether the verdict is about the page's run across a change of judgments."""
    return bool(page.row and page.row["sides"]) and page.verdict["run"] in (None, page.run)


def _not_known(page: NightPage) -> Sentence:
    """The headline if the two sides of a change of judgments disagree."""
    text = "It is unclear whether {} changed when the judgments did: {}."
    return sentence(SIDES_DISAGREE, text, name_markup(page.run), _both_sides(page))


def headline_of(page: NightPage) -> Sentence:
    """What happened to the run."""
    row = page.row
    run = name_markup(page.run)
    if row is None or row["difference"] is None:
        return _not_compared(page)
    if is_unchanged(page):
        text = "{} is unchanged: {}{}."
        return sentence("unchanged", text, run, score(row["mean"]), _still_falling(page))
    conclusion = _conclusion(page, row)
    size = score(abs(row["difference"]))
    if abs(row["difference"]) < _SMALLEST / 2:
        size = f"less than {score(_SMALLEST)}"
    way = "down" if row["difference"] < 0 else "up"
    mean = score(row["mean"])
    change = marked("{}, {} {} from {}", mean, way, size, score(row["baseline_mean"]))
    since = _since_in_words(page)
    return sentence(conclusion.kind, "{}: {}{}.", conclusion.text, change, since)


def _not_compared(page: NightPage) -> Sentence:
    """Why the run has no difference, with its score if it has one."""
    run = name_markup(page.run)
    if page.run in page.silent:
        return sentence("silent", "{} returned nothing.", run)
    if page.run in page.unknown_ids:
        return sentence("unknown_ids", "{}.", capital(page.unknown_ids[page.run]))
    value = score(page.value(page.run))
    refused = page.compared_with.refused
    if refused is not None and refused.is_of_items:
        text = "{} scores {}; {}, so it was not compared."
        return sentence("other_items", text, run, value, refused.reason)
    if refused is not None:
        missing = refused.reason or "both sides of the change are not scored yet"
        text = "{} scores {}; the judgments changed, and {}."
        return sentence("no_copies", text, run, value, missing)
    why = "it cannot be compared"
    breaks = page.trend.points[-1].breaks
    if breaks and not page.baseline.label:
        changed = " and the ".join(breaks)
        why = f"the {changed} changed, so it cannot be compared with earlier nights"
    return sentence("not_compared", "{} scores {}; {}.", run, value, why)


def _conclusion(page: NightPage, row: Row) -> Sentence:
    """The conclusion about the run in words, without a full stop: `hybrid is worse than bm25`."""
    run, baseline = name_markup(page.run), page.baseline
    label = name_markup(baseline.label)
    conclusion = str(row["conclusion"])
    if conclusion == "same":
        than = marked(" as {}", label) if baseline.run else ""
        return sentence(conclusion, "{} is about the same{}", run, than)
    if conclusion in CONCLUDED:
        below, above = conclusion_words(page.metric[0])
        side = above if row["difference"] > 0 else below
        than = marked(" than {}", label) if baseline.run else ""
        by_whom = "By the judge, " if is_by_judge(page) else ""
        return sentence(conclusion, "{}{} is {}{}", by_whom, run, side, than)
    differs = marked("differs from {}", label) if baseline.run else "changed"
    return sentence("cannot_tell", "We cannot tell whether {} {}", run, differs)


class FirstSeen(NamedTuple):
    """When a run first scored as it does tonight."""

    #: `since` a date; `seen_before` on earlier dates, but not the night before; `first` tonight;
    #: `first_of_all`: the first of a whole trend.
    kind: str
    dates: Sequence[str] = ()


def first_seen(page: NightPage) -> FirstSeen | None:
    """When the run first scored as it does tonight; None if it is not known or not concluded."""
    first = since(page)
    if first is None:
        return None
    if first != page.night.evaluated_on:
        return FirstSeen("since", [first])
    stretch = last_stretch(page.trend.points)
    before = [point.date for point in stretch[:-1] if _is_as_tonight(page, point)]
    if before:
        return FirstSeen("seen_before", before)
    # A trend is no longer than this, so nights before it are not considered.
    return FirstSeen("first_of_all" if len(stretch) == NIGHTS else "first")


def _since_in_words(page: NightPage) -> str:
    """The end of the headline: ` since 3 November`, or `; first seen tonight`."""
    if page.baseline.is_reference:
        first = page.baseline.nights[0].evaluated_on
        return f" since {day(first)}{_still_falling(page)}"
    if falling(page) is not None:
        return _still_falling(page)
    found = first_seen(page)
    return "" if found is None else f"; {_first_seen_in_words(found)}"


def _first_seen_in_words(found: FirstSeen) -> str:
    if found.kind == "since":
        return f"since {day(found.dates[0])}"
    if found.kind == "seen_before":
        last = day(found.dates[-1])
        if len(found.dates) == 1:
            return f"also seen on {last}"
        return f"also seen in {len(found.dates)} earlier nights, the last on {last}"
    if found.kind == "first_of_all":
        return f"first seen tonight in {NIGHTS} nights"
    return "first seen tonight"


def _still_falling(page: NightPage) -> str:
    """Words on a falling line, even if no loss was found: the baseline may have fallen with it."""
    found = falling(page)
    if found is None:
        return ""
    if page.row is not None and page.row["conclusion"] == "worse":
        return f"; {found.in_words}"
    return f"; but it has been {found.in_words}"


def since(page: NightPage) -> str | None:
    """The date since which every night has scored like this one.

    None if it is not known: all comparable nights scored like it, or nothing was concluded.
    """
    row = page.row
    if row is None or row["conclusion"] not in CONCLUDED or not page.baseline.nights:
        return None
    if row["queries"] < page.counted(page.run):
        # The trend is computed over all queries, the difference only over some.
        return None
    first = None
    for point in reversed(last_stretch(page.trend.points)):
        if not _is_as_tonight(page, point):
            return first
        first = point.date
    return None


def _is_as_tonight(page: NightPage, point: Point) -> bool:
    """Whether a night is closer to this one than to the baseline."""
    row = page.row
    if row is None or point.value is None:
        return False
    now = abs(point.value - row["mean"])
    before = abs(point.value - row["baseline_mean"])
    return bool(now <= before)


def notes(page: NightPage) -> list[Sentence]:
    """Why the night was accepted; notes on it and on the first night that scored like it."""
    found = accepted_or_known(page.record)
    dates = (page.night.evaluated_on, since(page))
    for point in page.trend.points:
        if point.date in dates:
            for text in point.notes:
                found.append(sentence("note", "Note on {}: {}", day(point.date), text))
    return found


def accepted_or_known(record: Row) -> list[Sentence]:
    """Why a night was accepted, or its loss acknowledged, from its record in the log."""
    found = []
    if record["accepted"]:
        runs = record.get("accepted_runs")
        whose = marked(" for {}", joined(map(name_markup, runs))) if runs else ""
        found.append(sentence("accepted", "Accepted{}: {}", whose, record["accepted"]))
    known = (record["verdict"] or {}).get("acknowledged")
    tonight = record.get("acknowledged")
    if known:
        # An earlier night's loss, which this night repeats.
        text = capital_first(acknowledged_in_words(known))
        found.append(sentence("acknowledged", "{}", text))
    elif tonight:
        values = (day(tonight["until"]), tonight["reason"])
        found.append(sentence("acknowledged", "Acknowledged until {}: {}", *values))
    return found


# How certain it is.


def all_same(page: NightPage) -> Sentence | None:
    """A sentence that every query scores the same as before, if the run is unchanged."""
    row = page.row
    if row is None or not row["queries"] or not is_unchanged(page):
        return None
    if row["queries"] == 1:
        return sentence("all_same", "Its only query scores the same.")
    return sentence("all_same", "All {:,} queries score the same.", row["queries"])


def _is_tested(page: NightPage) -> bool:
    return page.row is not None and page.row["difference"] is not None and not is_unchanged(page)


def lost_answers(page: NightPage) -> Sentence | None:
    return unanswered(page) if _is_tested(page) else None


def new_answers(page: NightPage) -> Sentence | None:
    return answered(page) if _is_tested(page) else None


def main_cause(page: NightPage) -> Sentence | None:
    if page.cause is None or page.cause["share"] < _MAIN_CAUSE or not _is_tested(page):
        return None
    return cause(page)


def evidence(page: NightPage) -> Sentence | None:
    """Whether the difference may be due to chance, with its interval and p value."""
    row = page.row
    if row is None or not _is_tested(page):
        return None
    kind = _chance(row)
    numbers = _numbers_in_words(page, row)
    if not numbers and kind != "other_judgments":
        kind = "too_few"
    options = page.compared_with.options
    text = _CHANCE[kind].format(
        margin=score(options.margin),
        level=level(2 * options.alpha),
        queries=row["queries"],
    )
    if kind not in ("too_few", "other_judgments"):
        text = f"{text}: {', '.join(numbers)}"
    limit = _limit_in_words(page, row)
    if limit:
        text = f"{limit}, and {text}"
    return sentence(kind, "{}.", capital_first(text))


def _limit_in_words(page: NightPage, row: Row) -> str:
    """`the drop is larger than the allowed 0.0100`; empty if the gate has no such limit."""
    is_rise = row["difference"] > 0
    way = "rise" if is_rise else "drop"
    limit = "allowed_rise" if is_rise else "allowed"
    allowed = (page.result(page.run) or {}).get(limit)
    if allowed is None:
        return ""
    size = "larger than" if abs(row["difference"]) > allowed else "within"
    return f"the {way} is {size} the allowed {score(allowed)}"


def _chance(row: Row) -> str:
    """Whether a row's difference may be due to chance, as a key of `_CHANCE`."""
    for flag in ("other_judgments", "doubt"):
        if flag in row["flags"]:
            return flag
    if row["conclusion"] in CONCLUDED:
        return "real"
    return "same" if row["conclusion"] == "same" else "may_be_chance"


def _numbers_in_words(page: NightPage, row: Row) -> list[str]:
    """The interval and the p value, and what they cover."""
    p, low, high = row["p_decides"], row["interval_low"], row["interval_high"]
    alpha = page.compared_with.options.alpha
    numbers = []
    if low is not None:
        ends = f"{difference(low)} to {difference(high)}"
        numbers.append(f"{level(alpha)} interval {ends}")
    if p is not None:
        numbers.append(p_in_words(p, alpha))
    if not numbers:
        return []
    if low is not None and low * high > 0 and row["conclusion"] not in CONCLUDED:
        # The interval comes from the t test only and covers only this run.
        numbers[-1] += ", the larger of two tests"
    if p is not None:
        numbers[-1] += _adjusted_for(page, row)
    return numbers


def _adjusted_for(page: NightPage, row: Row) -> str:
    """What p is adjusted for: `, adjusted for all runs`; empty for a single comparison."""
    if page.run in page.compared_with.decided_by_gate:
        return ", adjusted for the gate's checks"
    if (row["family_size"] or 0) <= 1:
        return ""
    family = "all runs and slices" if page.slices else "all runs"
    return f", adjusted for {family}"


def change_of_judgments(page: NightPage) -> Sentence | None:
    """By how much the run changed across a change of judgments, under the old and the new ones."""
    for link in page.links:
        metric = (link["measure"], link["cutoff"])
        if link["run"] == page.run and metric == page.metric:
            text = changes_in_words([link])[0]
            return sentence("change_of_judgments", "{}", text)
    row = page.row
    if row is None or not row["sides"] or page.verdict.get("reason") == SIDES_DISAGREE:
        return None
    text = "Across the change of judgments, it changed by {}, on {}."
    queries = count(row["queries"], "query", "queries")
    return sentence("both_sides", text, _both_sides(page), queries)


def _both_sides(page: NightPage) -> str:
    """`-0.0120 under the old judgments and +0.0031 under the new ones`."""
    texts = []
    for side in page.row["sides"] if page.row else ():
        texts.append(f"{difference(side['difference'])} {SIDES[side['side']]}")
    return " and ".join(texts)


def human_grades(page: NightPage) -> Sentence | None:
    """What human grades say about the change, compared with the machine judge."""
    if page.human is None:
        return None
    return judged_by_people(page.human)


EVIDENCE: Sequence[Rule] = (
    change_of_judgments,
    all_same,
    lost_answers,
    new_answers,
    main_cause,
    evidence,
)


def others(page: NightPage) -> Sentence | None:
    """The number of other runs by conclusion, if the chart does not show all of them."""
    if len(page.compared) <= DRAWN:
        return None
    counts: Counter[str] = Counter()
    for run, row in page.compared.items():
        if run != page.run:
            counts[conclusion_in_words(row)] += 1
    counts[NEW] = len([run for run in page.new if run != page.run])
    total = counts.total()
    if not total:
        return None
    texts = [f"{counts[word]:,} {word}" for word in (*CONCLUSIONS, NEW) if counts[word]]
    return sentence("others_counted", "Of {:,} other runs: {}.", total, ", ".join(texts))

"""What a page says about a night: lists of rules, each of which returns a sentence or None."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ndcg_spark.comparison.trend import NOTHING, Falling, Point
from ndcg_spark.convention.measures import conclusion_words
from ndcg_spark.gate.missing import gone_in_words
from ndcg_spark.gate.verdict import falls_in_words
from ndcg_spark.report.moved import EXPLAINED
from ndcg_spark.report.sentences import (
    ALL_KEPT,
    Rule,
    Sentence,
    apply_rules,
    sentence,
    slice_name,
)
from ndcg_spark.tables.format import capital_first, count, difference, part, score, share
from ndcg_spark.tables.html import joined, marked, name_markup
from ndcg_spark.tables.table import verdict_in_words
from ndcg_spark.text import day
from ndcg_spark.tolerance import DECIMALS
from ndcg_spark.voices import KEYS, OPTIONS

if TYPE_CHECKING:
    from ndcg_spark.report.night import NightPage

Row = Mapping[str, Any]
#: The most runs or slices that are named individually.
NAMED = 3
#: The most runs that are drawn.
DRAWN = 6
#: The colour of a conclusion, and of a verdict.
TONES = {"better": "ok", "worse": "bad", "pass": "ok", "fail": "bad"}
#: The conclusions that give the direction of a change.
CONCLUDED = ("better", "worse", "higher", "lower")
#: Movements are shown if their queries have at least this share of the total change.
_LEAST_SHARE = 0.1
#: The losses at unjudged ranks are mentioned if they have at least this share of all losses.
_UNJUDGED = 0.05
#: Below this, a share of a difference is not mentioned.
_NOTICED = 0.005
#: From this on, a share is shown as 100%.
_WHOLE = 0.995


class VerdictLabel(NamedTuple):
    """A verdict in words, such as `fail (acknowledged)`, and its colour."""

    text: str
    tone: str


def verdict_label(row: Row) -> VerdictLabel:
    """A log row's verdict, which may be a word or the whole verdict."""
    verdict = row["verdict"]
    if isinstance(verdict, Mapping):
        word = verdict["verdict"]
        text = verdict_in_words({"verdict": word, "accepted": row["accepted"]})
        if verdict.get("acknowledged"):
            text += " (acknowledged)"
        return VerdictLabel(text, TONES.get(word, "mid"))
    if verdict:
        return VerdictLabel(verdict_in_words(row), TONES.get(verdict, "mid"))
    # Rows that were not published have no number.
    return VerdictLabel("no gate", "mid") if row["number"] else VerdictLabel(row["status"], "bad")


def capital(text: str) -> str:
    """The text with a capital first letter, unless it begins with a name."""
    if text.startswith(("the ", "there ", "no ")):
        return capital_first(text)
    return text


def is_lost(page: "NightPage") -> bool:
    """Whether there is a loss to investigate: a proven one, or one larger than allowed.

    A first night only compares runs.
    """
    if page.baseline.is_first or page.is_of_catalog:
        return False
    result = page.result(page.run) or {}
    is_worse = page.row is not None and page.row["conclusion"] == "worse"
    return is_worse or result.get("result") == "undecided"


def standing_out(page: "NightPage") -> list[Row]:
    """At most three slices that are better or worse (catalog measures: higher or lower).

    If a cause is named, only slices that moved in the opposite direction to the whole.
    """
    down, up = conclusion_words(page.metric[0])
    conclusions = [down, up]
    if page.row and page.cause:
        conclusions.remove(down if page.row["difference"] < 0 else up)
    found = [row for row in page.slices if row["conclusion"] in conclusions]
    return sorted(found, key=lambda row: -abs(round(row["difference"], DECIMALS)))[:NAMED]


def worse_others(page: "NightPage") -> list[str]:
    """The first few other runs that are worse than before."""
    if not page.baseline.nights:
        return []
    others = [row for row in page.compared.values() if row["run"] != page.run]
    worse = [row["run"] for row in others if row["conclusion"] == "worse"]
    return worse[:NAMED]


def change_in_words(page: "NightPage", difference: float) -> str:
    """The word for a change: a lower catalog measure is not a loss."""
    if page.is_of_catalog:
        return "drop" if difference < 0 else "rise"
    return "loss" if difference < 0 else "gain"


def explains(page: "NightPage") -> bool:
    """Whether the movements of documents explain why the run changed.

    Their queries need enough of the total change, and must have changed like the run if it is
    better or worse.
    """
    moved, row = page.moved, page.row
    if moved is None or moved.share < _LEAST_SHARE:
        return False
    if row is None or row["conclusion"] not in TONES:
        return True
    return bool(sum(moved.sums.values()) * row["difference"] > 0)


def is_unchanged(page: "NightPage") -> bool:
    return page.row is not None and "unchanged" in page.row["flags"]


# Below the chart of the last nights.


def falling(page: "NightPage") -> Falling | None:
    """When the run's level fell, judged only by its trend; None if it is not lower."""
    return page.usual.falling if page.usual else None


def usual_range(page: "NightPage") -> Sentence | None:
    usual = page.usual
    if usual is None:
        return None
    # Also nights with other judgments, which the line shifts; the trend calls only nights with the
    # same judgments comparable.
    nights = count(usual.nights, "night")
    if usual.moved_on is None:
        text = "Shaded: the usual range of the previous {} on this line."
        return sentence("usual_range", text, nights)
    text = "Shaded: the usual range of {} on this line before the level moved on {}."
    return sentence("usual_range", text, nights, day(usual.moved_on))


def judgments_changed(page: "NightPage") -> Sentence | None:
    """Where the line continues across new judgments, and how far earlier nights are shifted."""
    sentences = changes_in_words(page.trend.points)
    return sentence("judgments_changed_on", "{}", " ".join(sentences)) if sentences else None


def changes_in_words(points: Sequence[Point]) -> list[str]:
    """A sentence for each change of judgments that a line crosses after its first night."""
    sentences = []
    for point in points[1:]:
        change = point.change
        if change is not None:
            ends = f"{difference(change.old)} (old) to {difference(change.new)} (new)"
            moved = f"earlier nights are shifted by {difference(change.shift)}"
            sentences.append(f"New judgments on {day(point.date)}: {ends}; {moved}.")
    return sentences


def interrupted(page: "NightPage") -> Sentence | None:
    """Where the line is interrupted, and what changed there."""
    changes = interruptions_in_words(page.trend.points)
    sentences = [f"{change}, so the line is interrupted." for change in changes]
    return sentence("interrupted", "{}", " ".join(sentences)) if sentences else None


def interruptions_in_words(points: Sequence[Point]) -> list[str]:
    """What changed where a line is interrupted: `The convention changed on 3 November`."""
    changes = []
    for point in points[1:]:
        if point.breaks and point.interrupted:
            changed = " and the ".join(point.breaks)
            changes.append(f"The {changed} changed on {day(point.date)}")
    return changes


def since_the_night_before(page: "NightPage") -> Sentence | None:
    """The change from the night before, unless the page already compares with that night."""
    if len(page.trend.points) < 2:
        return None
    before, now = page.trend.points[-2:]
    dates = [night.evaluated_on for night in page.baseline.nights]
    if now.breaks or before.value is None or now.value is None or dates == [before.date]:
        return None
    text = "Change from the night before ({}, {}): {}."
    values = (day(before.date), score(before.value), difference(now.value - before.value))
    return sentence("since_the_night_before", text, *values)


def silent_nights(page: "NightPage") -> Sentence | None:
    sentences = []
    for point in page.trend.points:
        if is_silent(point):
            sentences.append(f"It returned nothing on {day(point.date)}, so it has no score there.")
    return sentence("silent_nights", "{}", " ".join(sentences)) if sentences else None


TREND: Sequence[Rule] = (
    usual_range,
    judgments_changed,
    interrupted,
    since_the_night_before,
    silent_nights,
)


def is_silent(point: Point) -> bool:
    return NOTHING in dict(point.flags)


# Why a run lost or won.


def unanswered(page: "NightPage") -> Sentence | None:
    """The queries that have no results."""
    found = page.unanswered
    if found is None:
        return None
    queries = page.mean["queries"]
    if page.record["options"]["missing_query"] == "skip":
        # The mean leaves these queries out.
        queries += found.now
    if page.row is not None:
        # The comparison may be by a measure that covers more queries than NDCG.
        queries = max(queries, page.row["queries"])
    most = f"{found.before:,}"
    if found.before and len(page.baseline.nights) > 1:
        most = f"at most {most}"
    other = name_markup(page.baseline.run) if page.baseline.run else "before"
    text = "{} returned nothing for {:,} of {:,} queries ({}: {}){}."
    values = (name_markup(page.run), found.now, queries, other, most, _part_of("loss", found.share))
    return sentence("unanswered", text, *values)


def answered(page: "NightPage") -> Sentence | None:
    """The queries that have results again."""
    again = page.answered
    if again is None:
        return None
    # All queries of the mean if nothing was compared.
    compared_queries = (page.row or page.mean)["queries"]
    text = "{} has results again for {} that had none, out of {:,}{}."
    queries = count(again.queries, "query", "queries")
    share_of_gain = _part_of("gain", again.share)
    return sentence(
        "answered", text, name_markup(page.run), queries, compared_queries, share_of_gain
    )


def _part_of(what: str, value: float) -> str:
    """`, 35% of the loss`; empty for a negligible share."""
    return f", {part(value)} of the {what}" if value >= _NOTICED else ""


def cause(page: "NightPage") -> Sentence | None:
    """The slice that explains most of the difference."""
    row, slice_ = page.row, page.cause
    if row is None or slice_ is None:
        return None
    what = change_in_words(page, row["difference"])
    most = part(slice_["share"]).capitalize()
    queries = marked("{:,} of {:,} queries", slice_["queries"], slice_["of_queries"])
    text = "{} of the {} comes from the {} with {}."
    return sentence("cause", text, most, what, queries, slice_name(slice_))


def _is_explained(page: "NightPage") -> bool:
    """Whether another sentence says why the run changed.

    The reason is a slice, queries that lost or regained their results, or missing documents.
    """
    return bool(page.cause or page.unanswered or page.answered or page.missing)


def spread(page: "NightPage") -> Sentence | None:
    """A sentence that no slice explains a proven difference."""
    row = page.row
    if row is None or row["conclusion"] not in CONCLUDED or not page.causes:
        return None
    if _is_explained(page):
        return None
    what = change_in_words(page, row["difference"])
    text = "No single group of queries has clearly more than its share of the {}."
    return sentence("spread", text, what)


def slices(page: "NightPage") -> Sentence | None:
    rows = standing_out(page)
    if not rows:
        return None
    text = "{} is {} by {} ({})"
    parts = []
    for row in rows:
        queries = count(row["queries"], "query", "queries")
        values = (row["conclusion"], score(abs(row["difference"])), queries)
        parts.append(marked(text, slice_name(row), *values))
    return sentence("slices", "{}.", joined(parts, "; "))


def no_slice(page: "NightPage") -> Sentence | None:
    """A sentence that no slice stands out, if no other one says why the run changed."""
    if not page.slices or page.row is None or is_unchanged(page) or _is_explained(page):
        return None
    if spread(page) or standing_out(page):
        return None
    return sentence("no_slice", "No group of queries stands out.")


def missing(page: "NightPage") -> Sentence | None:
    if not page.missing:
        return None
    sentences = [f"{capital(row['sentence'])}." for row in page.missing]
    return sentence("missing", "{}", " ".join(sentences))


WHY: Sequence[Rule] = (unanswered, answered, cause, spread, slices, no_slice, missing)


# Why the page does not show what moved, or for which queries it does.


def partly(page: "NightPage") -> Sentence | None:
    """For which queries the page shows what moved, if not for all that changed."""
    moved = page.moved
    if moved is None or not explains(page) or not moved.sums or moved.share >= _WHOLE:
        return None
    which = "whose documents all these nights keep"
    if moved.queries == min(len(page.queries), EXPLAINED):
        which = "that changed most"
    text = "Computed over the {} {}; they have {} of the total change."
    queries = count(moved.queries, "query", "queries")
    return sentence("partly", text, queries, which, share(moved.share))


def no_documents(page: "NightPage") -> Sentence | None:
    if page.has_documents or page.missing:
        return None
    text = "This night was saved without its documents, so the page cannot show what moved; "
    text += "<code>{}</code> in the configuration or <code>{}</code> keeps them."
    return sentence("no_documents", text, ALL_KEPT.text(KEYS), ALL_KEPT.text(OPTIONS))


def unexplained(page: "NightPage") -> Sentence | None:
    """Why a page cannot show what moved although the night has documents and a baseline."""
    if not page.compares or is_unchanged(page) or page.missing or not page.has_documents:
        return None
    if page.over_change:
        text = "The page does not show what moved if the judgments have changed."
        return sentence("over_change", text)
    measure, cutoff = page.metric
    if measure != "ndcg" or cutoff is None:
        text = "The page shows what moved only for NDCG with a cutoff."
        return sentence("only_ndcg", text)
    if explains(page):
        return sentence("cancels_out", "The movements of documents cancel out.")
    if page.moved is not None:
        return _few_kept(page.moved.share)
    return _none_kept(page)


def _few_kept(kept: float) -> Sentence:
    """`kept`: the share of the total change in queries with kept documents."""
    text = "Documents are kept only for queries with {} of the total change, so it is "
    text += "unclear what moved; {} keeps those of all queries."
    return sentence("few_kept", text, share(kept), ALL_KEPT.text(OPTIONS))


def _none_kept(page: "NightPage") -> Sentence:
    """Which nights of the baseline keep no documents, or none that are needed here."""
    nights = page.baseline.nights
    without = sum(not night.kept_rows("ranked_documents") for night in nights)
    which = "The baseline keeps"
    if 0 < without < len(nights):
        which = f"{without:,} of the {len(nights):,} nights of the baseline keep"
    what = "no documents" if without else "no documents for the queries that changed"
    text = "{} {}, so it is unclear what moved; a night that is evaluated with "
    text += "{} keeps them."
    return sentence("none_kept", text, which, what, ALL_KEPT.text(OPTIONS))


#: Shown only if what moved is not drawn.
UNMOVED: Sequence[Rule] = (no_documents, unexplained)


# How many documents are judged.


def unjudged_loss(page: "NightPage") -> Sentence | None:
    moved = page.moved
    if moved is None or not explains(page) or not is_lost(page) or moved.unjudged < _UNJUDGED:
        return None
    text = (
        "{} of the losses of single documents, not counting the gains of others, are at ranks that "
        "now hold unjudged documents: the size of the difference is uncertain until these and the "
        "unjudged documents of the baseline are judged."
    )
    return sentence("unjudged_loss", text, share(moved.unjudged))


def judged(page: "NightPage") -> Sentence | None:
    rate = page.mean["judged_rate"]
    if rate is None:
        return None
    before = ""
    if page.judged_before is not None:
        before = f" (before: {share(page.judged_before)})"
    depth = page.metric[1]
    if depth is None:
        return sentence("judged", "{} of the returned documents are judged{}.", share(rate), before)
    text = "{} of the documents down to rank {} are judged{}."
    return sentence("judged", text, share(rate), depth, before)


JUDGED: Sequence[Rule] = (unjudged_loss, judged)


# Warnings to read first.


def unverified(page: "NightPage") -> Sentence | None:
    reason = page.night.unverified
    if reason is None:
        return None
    return _warning("unverified", "The scores of this night are not verified: {}", reason)


def rejudged(page: "NightPage") -> Sentence | None:
    many = page.compared_with.rejudged
    if not many:
        return None
    queries = count(many, "query", "queries")
    text = "The judgments of {} have changed since {}; this alone changes scores"
    return _warning("rejudged", text, queries, page.baseline.label)


def warnings(page: "NightPage") -> list[Sentence]:
    """What is doubtful about the night, or could not be read."""
    found = apply_rules([unverified, rejudged], page)
    verdict = page.verdict
    for text in verdict.get("warnings", ()):
        found.append(_warning("gate", "{}", text))
    for text in verdict.get("notes", ()):
        if text not in str(verdict["sentence"]):
            found.append(sentence("verdict_note", "Note: {}.", text.rstrip(".")))
    falls = [fall for fall in verdict.get("falls", ()) if fall["run"] != page.run]
    for text in falls_in_words({"falls": falls}):
        found.append(_warning("falls", "{}", text))
    previous = page.outline.previous
    last = previous.evaluated_on if previous else ""
    for run in page.gone:
        text = gone_in_words(run, last)
        # Without a gate, only the page knows it.
        if text not in verdict.get("warnings", ()):
            found.append(_warning("gone", "{}", text))
    for date in page.unread:
        text = "The night of {} is left out because its log cannot be read"
        found.append(_warning("unread", text, day(date)))
    return found


def _warning(kind: str, text: str, *values: str) -> Sentence:
    return sentence(kind, "Warning: {}.", marked(text, *values).rstrip("."))


# A run in a site's index.


class NightScore(NamedTuple):
    """A run's score in the index, its change since the night before, and why it stands out."""

    change: float
    text: str
    why: Sequence[str] = ()


def night_score(before: Point | None, now: Point | None, margin: float) -> NightScore:
    """A run's score tonight. `margin`: the smallest change that is worth a sentence."""
    value_before = None if before is None else before.value
    if now is None:
        return _no_score("no score", value_before)
    if now.value is None:
        text = "returned nothing" if is_silent(now) else "no score"
        return _no_score(text, value_before)
    change = 0.0
    if value_before is not None and not now.breaks:
        change = now.value - value_before
    why = [text for _, text in now.flags]
    if not why and abs(change) > margin:
        way = "up" if change > 0 else "down"
        why = [f"{way} {score(abs(change))} from the night before"]
    return NightScore(change, score(now.value), why)


def _no_score(text: str, value_before: float | None) -> NightScore:
    if value_before is None:
        return NightScore(0.0, text)
    return NightScore(-value_before, text, [f"{score(value_before)} the night before"])

"""The sentences of a page: the verdict, how sure it is, since when, what the others do, and what to do next."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from ndcg_spark.report.baseline import day
from ndcg_spark.report.comparisons import CONCLUSIONS, in_words
from ndcg_spark.report.labels import name
from ndcg_spark.report.night import NightData, QueryScore
from ndcg_spark.tables.table import verdict_in_words
from ndcg_spark.text import message

Row = Mapping[str, Any]
#: What happened to relevant documents, by the keys of `Parts.sums`.
WHAT = {
    "left": "relevant left the {top}",
    "down": "relevant moved down",
    "up": "relevant moved up",
    "came_in": "relevant came in",
    "same_rank": "same rank, other gain",
}
#: A share of a difference that is worth a sentence.
_MAIN_CAUSE = 0.5
#: How many runs are named one by one.
_NAMED = 3
#: The colour of a conclusion, and of a verdict.
TONES = {"better": "ok", "worse": "bad", "pass": "ok", "fail": "bad"}


class Banner(NamedTuple):
    """The first thing on a page."""

    word: str
    tone: str
    headline: Markup
    sentence: Markup


def score(value: float | None) -> str:
    """A score to three decimals."""
    return "-" if value is None else f"{value:.3f}"


def change(value: float | None) -> str:
    """A difference to three decimals with its sign."""
    return "-" if value is None else f"{value:+z.3f}".replace("-", "\N{MINUS SIGN}")


def verdict_label(record: Row) -> tuple[str, str]:
    """The verdict of a night in words, and its tone."""
    verdict = record["verdict"]
    if not verdict:
        return "no gate", "mid"
    return verdict_in_words({**verdict, "accepted": record["accepted"]}), TONES.get(verdict["verdict"], "mid")


def banner(data: NightData) -> Banner:
    """The verdict, or the conclusion without a gate, with one headline and a few sentences."""
    row, verdict, record = data.row, data.verdict, data.night.record
    headline, said = _headline(data), _evidence(data)
    word, tone = verdict_label({**record, "accepted": None})
    if not verdict:
        tone = TONES.get(str(row["conclusion"]), "mid") if row and data.baseline and data.baseline.dates else "mid"
    elif row is None or verdict["verdict"] not in ("pass", (data.result(data.run) or {}).get("result")):
        # It is about something else than the difference of the run, and may begin with the name of a run.
        said = [headline] if row is not None else []
        headline = Markup("{}.").format(message(verdict["sentence"]).rstrip("."))
    if verdict and record["accepted"]:
        reason = message(record["accepted"])
        said.append(Markup("Accepted as a baseline of later nights: {}.").format(reason))
    return Banner(word.upper(), tone, headline, Markup(" ").join([*said, *_others(data)]))


def _headline(data: NightData) -> Markup:
    """Who is better or worse, by how much, and since when."""
    row, run, baseline = data.row, name(data.run), data.baseline
    if row is None or baseline is None or row["difference"] is None:
        missing = "there is no earlier night to compare it with yet" if baseline is None else "it cannot be compared"
        return Markup("{} scores {}; {}.").format(run, score(data.mean.get(data.metric[0])), missing)
    if baseline.is_leader:
        ahead = (score(row["baseline_mean"]), run, score(-row["difference"]))
        return Markup("{} is best: {}, ahead of {} by {}.").format(name(data.runs[0]), *ahead)
    if "unchanged" in row["flags"]:
        return Markup("{} is unchanged: {}.").format(run, score(row["mean"]))
    word, is_down = row["conclusion"], row["difference"] < 0
    side = "worse" if is_down else "better"
    what = "the same" if word == "same" else word if word in TONES else f"not shown to be {side}"
    if baseline.run:
        what = Markup("{} {} {}").format(what, "as" if word == "same" else "than", name(baseline.label))
    since = _since(data, row) if word in TONES else ""
    by = (score(row["mean"]), "down" if is_down else "up", score(abs(row["difference"])), score(row["baseline_mean"]))
    return Markup("{} is {}: {}, {} {} from {}{}.").format(run, what, *by, since)


def _since(data: NightData, row: Row) -> str:
    """Since when the score is nearer to tonight's than to the baseline's, as the end of a sentence."""
    if data.trend is None or not (data.baseline and data.baseline.dates):
        return ""
    since, points = None, data.trend.points
    for point in reversed(points):
        if point.value is None or abs(point.value - row["mean"]) > abs(point.value - row["baseline_mean"]):
            break
        since = point.date
        if point.breaks:
            break
    if since is None or since == points[0].date:
        return ""
    return ", since tonight" if since == data.night.evaluated_on else f", since {day(since)}"


def _evidence(data: NightData) -> list[Markup]:
    """The cause by slice, what is allowed, and whether it may be chance."""
    row = data.row
    if row is None or row["difference"] is None or "unchanged" in row["flags"]:
        return [Markup("All {:,} queries score the same.").format(row["queries"])] if row and row["queries"] else []
    said = [cause(data.cause, row)] if data.cause and data.cause["share"] >= _MAIN_CAUSE else []
    p, result, detectable = row["p_decides"], data.result(data.run), row["minimum_detectable"]
    sure = [] if p is None else ["p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"]
    if row["interval_low"] is not None:
        sure.insert(0, f"95 % interval {change(row['interval_low'])} to {change(row['interval_high'])}")
    if "doubt" in row["flags"]:
        chance = "the two tests disagree about whether it is chance"
    elif row["conclusion"] == "same":
        chance = "the difference is certainly too small to matter"
    else:
        chance = "it is not chance" if row["conclusion"] in TONES else "it may be chance"
    numbers = f"{chance}: {', '.join(sure)}" if sure else f"{row['queries']} queries are too few to test it"
    if result is not None and result["allowed"] is not None and row["difference"] < 0:
        size = "larger than" if -row["difference"] > result["allowed"] else "within"
        numbers = f"the drop is {size} the {result['allowed']:g} that is allowed, and {numbers}"
    said.append(Markup.escape(f"{numbers[:1].upper()}{numbers[1:]}."))
    if row["conclusion"] == "cannot_tell" and detectable and detectable > 0.02:
        power = (row["queries"], detectable)
        said.append(Markup("With {:,} queries a difference below {:.2f} is hardly detected.").format(*power))
    return said


def cause(share: Row, row: Row) -> Markup:
    """The share of a difference that a slice has."""
    numbers = (name(share["attribute"]), name(share["value"]), share["queries"], share["of_queries"])
    what = "loss" if row["difference"] < 0 else "gain"
    return Markup("{} = {}: {:,} of {:,} queries, {:.0f} % of the {}.").format(*numbers, 100 * share["share"], what)


def _others(data: NightData) -> list[Markup]:
    """What the other runs do."""
    others = [row for run, row in data.compared.items() if run != data.run]
    runs: dict[str, list[str]] = {}
    for row in sorted(others, key=lambda row: row["difference"] or 0.0):
        runs.setdefault(in_words(row), []).append(row["run"])
    order = [word for word in CONCLUSIONS if word in runs]
    if len(others) > _NAMED:
        listed = ", ".join(f"{len(runs[word]):,} {word}" for word in order)
        return [Markup("Of {:,} other runs: {}.").format(len(others), listed)]
    return [Markup("{}: {}.").format(_and(map(name, runs[word])), word) for word in order]


def is_lost(data: NightData) -> bool:
    """Whether the score dropped."""
    return data.row is not None and (data.row["difference"] or 0.0) < 0 and "unchanged" not in data.row["flags"]


def left_all(data: NightData, queries: Sequence[QueryScore]) -> int:
    """How many relevant documents have left the lists of all these queries."""
    lists = [data.documents[query.query_id].changes for query in queries if query.query_id in data.documents]
    left = [{lost["doc_id"] for lost in changes if lost["what"] == "left" and lost["part"] < 0} for changes in lists]
    return len(set.intersection(*left)) if len(left) == len(queries) > 1 else 0


def command(words: Iterable[str]) -> Markup:
    """A command line that a shell takes as it is."""
    return Markup("<code>{}</code>").format(message(shlex.join(["ndcg-spark", *words])))


def _and(parts: Iterable[Markup]) -> Markup:
    *first, last = parts
    return Markup(", ").join(first) + Markup(" and ") + last if first else last

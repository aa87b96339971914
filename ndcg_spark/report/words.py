"""What a page says and draws: names, dates, scores, the verdict and its reasons."""

import functools
import itertools
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from ndcg_spark.comparison.trend import NOTHING, Point, last_stretch
from ndcg_spark.report.comparisons import CONCLUSIONS, in_words
from ndcg_spark.tables.table import verdict_in_words
from ndcg_spark.text import apart, day, message, printable

if TYPE_CHECKING:
    from ndcg_spark.report.night import NightData

Row = Mapping[str, Any]
WHAT = {
    "left": "relevant documents left the {top}",
    "down": "relevant documents moved down",
    "up": "relevant documents moved up",
    "came_in": "relevant documents entered the {top}",
    "same_rank": "same rank, other gain or ideal",
}
#: Whether a difference may be chance, by its conclusion.
_CHANCE = {
    **dict.fromkeys(("better", "worse"), "it is unlikely to be chance"),
    "same": "any difference is smaller than {margin:g}, the margin of this report, by its {level:g} % interval",
    "doubt": "the two tests disagree about whether it is chance",
}
#: A share of a difference that is worth a sentence, how many runs are named one by one, and the longest name.
_MAIN_CAUSE, _NAMED, _LONGEST = 0.5, 3, 80
#: The nights of a trend.
NIGHTS = 28
#: What moved is shown if it is of queries with at least this share of all change.
LEAST_SHARE = 0.1
#: What is said of a run that the baseline does not have.
_NEW = "not in the baseline"
#: The colour of a conclusion, and of a verdict.
TONES = {"better": "ok", "worse": "bad", "pass": "ok", "fail": "bad"}


def name(text: str) -> Markup:
    """A name, which may be written from right to left, so that it does not turn the sentence around it."""
    shown = printable(text)
    if len(shown) <= _LONGEST:
        return Markup("<bdi>{}</bdi>").format(shown)
    return Markup('<bdi title="{}">{}…</bdi>').format(shown[:1000], shown[:_LONGEST])


def score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def judged(share: float) -> str:
    """A share in percent, which is 100 only if nothing is missing."""
    return f"{100 * share:.0f}" if share == 1 or share < 0.995 else f"{min(100 * share, 99.9):.1f}"


def change(value: float | None) -> str:
    shown = "-" if value is None else f"{value:+z.3f}".replace("-", "\N{MINUS SIGN}")
    return "0.000" if shown == "+0.000" else shown


def command(words: Iterable[object]) -> Markup:
    return Markup("<code>{}</code>").format(message(shlex.join(["ndcg-spark", *map(str, words)])))


def verdict_label(row: Row) -> tuple[str, str]:
    if not row["verdict"]:
        return ("no gate", "mid") if row["number"] else (row["status"], "bad")
    return verdict_in_words(row), TONES.get(row["verdict"], "mid")


class Banner(NamedTuple):
    word: str
    tone: str
    headline: Markup
    sentence: Markup


def banner(data: "NightData") -> Banner:
    row, verdict, headline, said = data.row, data.verdict, _headline(data), _evidence(data)
    word, tone = verdict_label(data.night.row)
    if data.baseline.is_first and verdict.get("reason") in (None, "no_baseline"):
        best, said = data.runs[0], [headline, *said] if row else []
        value = score(data.scores[best, data.metric[1]].get(data.metric[0]))
        headline = Markup("{} scores {}; there is no earlier night to compare it with yet.").format(name(best), value)
    elif not verdict:
        tone = TONES.get(str(row["conclusion"]), "mid") if row and data.baseline.nights else "mid"
    elif row is None or verdict["verdict"] not in ("pass", (data.result(data.run) or {}).get("result")):
        # It is about something else than the difference of the run, and may begin with the name of a run.
        said = [headline] if row is not None or data.run != verdict["run"] else []
        headline = Markup("{}.").format(sentence(message(verdict["sentence"]).rstrip(".")))
    return Banner(word.upper(), tone, headline, Markup(" ").join([*said, *_others(data)]))


def _headline(data: "NightData") -> Markup:
    row, run, baseline = data.row, name(data.run), data.baseline
    if row is None or row["difference"] is None:
        if data.run in data.silent:
            return Markup("{} returned nothing.").format(run)
        missing = "it cannot be compared"
        if not baseline.label and (breaks := data.trend.points[-1].breaks):
            missing = f"the {' and the '.join(breaks)} changed, so it cannot be compared with earlier nights"
        return Markup("{} scores {}; {}.").format(run, score(data.mean.get(data.metric[0])), missing)
    if "unchanged" in row["flags"]:
        return Markup("{} is unchanged: {}.").format(run, score(row["mean"]))
    word, (down, side) = row["conclusion"], ("down", "worse") if row["difference"] < 0 else ("up", "better")
    than = Markup(" {} {}").format("as" if word == "same" else "than", name(baseline.label)) if baseline.run else ""
    what = Markup("{} is {}{}").format(run, "about the same" if word == "same" else side, than)
    if word != "same" and word not in TONES:
        differs = Markup("differs from {}").format(name(baseline.label)) if baseline.run else "changed"
        what = Markup("We cannot tell whether {} {}").format(run, differs)
    size = "less than 0.001" if abs(row["difference"]) < 0.0005 else score(abs(row["difference"]))
    numbers = (score(row["mean"]), down, size, score(row["baseline_mean"]))
    return Markup("{}: {}, {} {} from {}{}.").format(what, *numbers, _begun(data))


def _begun(data: "NightData") -> str:
    """Since when a run is as it is tonight; of tonight alone, whether it was so before."""
    first = since(data)
    if first is None:
        return ""
    if first != data.night.evaluated_on:
        return f"; since {day(first)}"
    stretch = last_stretch(data.trend.points)
    before = [point.date for point in stretch[:-1] if _is_near(data, point)]
    if len(before) == 1:
        return f"; also seen on {day(before[0])}"
    if before:
        return f"; also seen in {len(before)} earlier nights, the last on {day(before[-1])}"
    # Earlier nights than these are not looked at.
    return "; first seen tonight" + (f" in {NIGHTS} nights" if len(stretch) == NIGHTS else "")


def since(data: "NightData") -> str | None:
    """The first night of those up to this one that are as it is and not as the baseline; None if it is not known."""
    row, stretch = data.row, last_stretch(data.trend.points)
    if row is None or row["conclusion"] not in TONES or not data.baseline.nights:
        return None
    if row["queries"] < data.counted(data.run):
        # The trend is of all queries.
        return None
    near = list(itertools.takewhile(functools.partial(_is_near, data), reversed(stretch)))
    return near[-1].date if near and near[-1] is not stretch[0] else None


def _is_near(data: "NightData", point: Point) -> bool:
    """Whether a night is rather as this one is than as the baseline."""
    row = data.row
    if row is None or point.value is None:
        return False
    return bool(abs(point.value - row["mean"]) <= abs(point.value - row["baseline_mean"]))


def notes(data: "NightData") -> list[str]:
    """Why somebody accepted the night, and what people wrote about it and about that since which it differs."""
    dates, accepted = (data.night.evaluated_on, since(data)), data.night.record["accepted"]
    noted = [(point.date, note) for point in data.trend.points if point.date in dates for note in point.notes]
    return [f"Accepted: {accepted}"] * bool(accepted) + [f"Note of {day(date)}: {note}" for date, note in noted]


def sentence(text: str) -> str:
    """The text with a capital letter, unless it begins with a name."""
    return f"{text[:1].upper()}{text[1:]}" if text.startswith(("the ", "there ", "no ")) else text


def _evidence(data: "NightData") -> list[Markup]:
    row = data.row
    if row is None or row["difference"] is None or "unchanged" in row["flags"]:
        return [Markup("All {:,} queries score the same.").format(row["queries"])] if row and row["queries"] else []
    p, result, conclusion = row["p_decides"], data.result(data.run) or {}, row["conclusion"]
    sure = [] if p is None else [_p_value(p, data.options.alpha)]
    if row["interval_low"] is not None:
        sure.insert(0, f"{data.level} interval {change(row['interval_low'])} to {change(row['interval_high'])}")
    chance = _CHANCE.get("doubt" if "doubt" in row["flags"] else conclusion, "it could well be chance")
    chance = chance.format(margin=data.options.margin, level=100 * (1 - 2 * data.options.alpha))
    is_of_gate = data.run in data.decided_by_gate
    if conclusion not in TONES and row["interval_low"] is not None and row["interval_low"] * row["interval_high"] > 0:
        # The interval is of the t test alone and of this run alone.
        sure[-1] += ", the larger of two tests"
    if p is not None and (is_of_gate or (row["family_size"] or 0) > 1):
        family = "all runs and slices" if data.slices else "all runs"
        sure[-1] += f", adjusted for {'the checks of the gate' if is_of_gate else family}"
    numbers = f"{chance}: {', '.join(sure)}" if sure else f"{row['queries']} queries are too few to test it"
    if "other_judgments" in row["flags"]:
        numbers = "the judgments of some queries changed, so the difference says nothing about the run"
    if result.get("allowed") is not None and row["difference"] < 0:
        size = "larger than" if -row["difference"] > result["allowed"] else "within"
        numbers = f"the drop is {size} the {result['allowed']:g} that is allowed, and {numbers}"
    said = [cause(data.cause, row)] if data.cause and data.cause["share"] >= _MAIN_CAUSE else []
    return [*unanswered(data), *said, Markup.escape(f"{numbers[:1].upper()}{numbers[1:]}.")]


def _p_value(p: float, alpha: float) -> str:
    return "p < 0.0001" if p < 0.0001 else "p > 0.99" if p > 0.99 else f"p = {apart(p, alpha, 2, 'g')[0]}"


def cause(share: Row, row: Row) -> Markup:
    part, what = _part(share["share"]).capitalize(), "loss" if row["difference"] < 0 else "gain"
    numbers = share["queries"], share["of_queries"], kind(share)
    return Markup("{} of the {} comes from the {:,} of {:,} queries with {}.").format(part, what, *numbers)


def kind(row: Row) -> Markup:
    return Markup("{} = {}").format(name(row["attribute"]), name(row["value"]))


def standing_out(data: "NightData") -> Sequence[Row]:
    """At most three slices that are better or worse; where a cause is named, only those that differ from the whole."""
    explained = None
    if data.row and data.cause:
        explained = "worse" if data.row["difference"] < 0 else "better"
    found = [row for row in data.slices if row["conclusion"] in {"better", "worse"} - {explained}]
    return sorted(found, key=lambda row: -abs(row["difference"]))[:_NAMED]


def slices(data: "NightData") -> Markup:
    rows = [(kind(row), row["conclusion"], score(abs(row["difference"])), row["queries"]) for row in standing_out(data)]
    said = Markup("; ").join(Markup("{} is {} by {} ({:,} queries)").format(*row) for row in rows)
    return said + "." if said else said


def _part(share: float) -> str:
    return f"{100 * share:.0f} %" if share < 0.995 else "all"


def unanswered(data: "NightData") -> list[Markup]:
    """The queries that have no results and those that have some again, in a sentence each."""
    of, said = (data.row or data.mean)["queries"], []
    if data.unanswered:
        # Those that are not in the baseline count, too.
        now, before, share = data.unanswered
        skipped = now if data.night.record["options"]["missing_query"] == "skip" else 0
        of = max(of, data.mean["queries"] + skipped)
        most = f"at most {before:,}" if before and len(data.baseline.nights) > 1 else f"{before:,}"
        other = name(data.baseline.run) if data.baseline.run else "before"
        words = Markup("{} returned nothing for {:,} of {:,} queries ({}: {}){}.")
        said.append(words.format(name(data.run), now, of, other, most, _part_of("loss", share)))
    if data.answered:
        words = Markup("{} has results again for {} that had none, of {:,}{}.")
        now, share = data.answered
        queries = "1 query" if now == 1 else f"{now:,} queries"
        said.append(words.format(name(data.run), queries, of, _part_of("gain", share)))
    return said


def _part_of(what: str, share: float) -> str:
    return f", {_part(share)} of the {what}" if share >= 0.005 else ""


def is_silent(point: Point) -> bool:
    return NOTHING in dict(point.flags)


def below_best(data: "NightData") -> str:
    """How far the night is below the best comparable one, which no gate compares it with."""
    stretch = last_stretch(data.trend.points)
    now, (best, date) = stretch[-1].value, max((point.value or 0.0, point.date) for point in stretch)
    if data.verdict or now is None or best - now <= data.options.margin:
        return ""
    return f"{score(best - now)} below {day(date)}, the best of the comparable nights shown."


def _others(data: "NightData") -> list[Markup]:
    runs: dict[str, list[Markup]] = {}
    for run, row in sorted(data.compared.items(), key=lambda pair: pair[1]["difference"] or 0.0):
        if run != data.run:
            runs.setdefault(in_words(row), []).append(name(run))
    if new := [name(run) for run in data.new if run != data.run]:
        runs[_NEW] = new
    ordered = {word: runs[word] for word in (*CONCLUSIONS, _NEW) if word in runs}
    total = sum(map(len, runs.values()))
    if total > _NAMED:
        listed = ", ".join(f"{len(named):,} {word}" for word, named in ordered.items())
        return [Markup("Of {:,} other runs: {}.").format(total, listed)]
    return [Markup("{}: {}.").format(Markup(", ").join(named), word) for word, named in ordered.items()]


def uncompared(data: "NightData") -> list[tuple[str, str, str]]:
    """The runs without a difference: the name, the score and why."""
    scores = [(run, score(data.scores[run, data.metric[1]].get(data.metric[0])), _NEW) for run in data.new]
    return scores + [(row["run"], "", "no results") for row in data.missing if row["run"]]


def worse_others(data: "NightData") -> list[str]:
    """The other runs that are worse than they were, at most a few."""
    rows = data.compared.values() if data.baseline.nights else ()
    return [row["run"] for row in rows if row["conclusion"] == "worse" and row["run"] != data.run][:_NAMED]


def unexplained(data: "NightData") -> str:
    """Why a page cannot show what moved, though the night has documents and a baseline."""
    if data.metric[0] != "ndcg" or data.metric[1] is None:
        return "What moved is shown only for NDCG, and only down to a rank."
    if data.parts:
        return "What moved cancels out."
    if data.kept_share is not None:
        share = "less than 1 %" if data.kept_share < 0.01 else f"{100 * data.kept_share:.0f} %"
        kept = f"The documents that are kept are of queries with {share} of all change"
        if data.kept_share >= LEAST_SHARE:
            kept += ", which did not change as the run did"
        return f"{kept}, so what moved is not known; --documents all keeps those of all queries."
    nights = data.baseline.nights
    without = sum(not night.kept_rows("ranked_documents") for night in nights)
    which = f"{without:,} of the {len(nights):,} nights of the baseline keep"
    which = which if 0 < without < len(nights) else "The baseline keeps"
    what = "no documents" if without else "no documents of the queries that changed"
    return f"{which} {what}, so what moved is not known; a night that is evaluated with --documents all keeps them."


def is_lost(data: "NightData") -> bool:
    """Whether there is a loss to look into: shown, or larger than is allowed; a first night only compares runs."""
    is_undecided = (data.result(data.run) or {}).get("result") == "undecided"
    is_worse = data.row is not None and data.row["conclusion"] == "worse"
    return (is_worse or is_undecided) and not data.baseline.is_first


def night_score(before: Point | None, now: Point | None, margin: float) -> tuple[float, str, list[str]]:
    """The change of a run since the night before, its score, and why that stands out."""
    was = before.value if before else None
    if now is None or now.value is None:
        word = "returned nothing" if now and is_silent(now) else "no score"
        return -(was or 0.0), word, [] if was is None else [f"{score(was)} the night before"]
    why, moved = [why for _, why in now.flags], 0.0 if was is None or now.breaks else now.value - was
    if not why and abs(moved) > margin:
        why = [f"{'up' if moved > 0 else 'down'} {score(abs(moved))} from the night before"]
    return moved, score(now.value), why

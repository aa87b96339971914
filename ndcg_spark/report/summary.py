"""The first screen of a report in words: is it worse, by how much, how sure, which queries, why, and what next."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

from ndcg_spark.comparison.comparable import fingerprint
from ndcg_spark.report.baseline import NightComparison, Row
from ndcg_spark.report.causes import causes_in_words
from ndcg_spark.report.night_data import TIE, NightData
from ndcg_spark.report.queries import QueryScore
from ndcg_spark.tables.comparison_notes import FLAGS
from ndcg_spark.tables.comparisons import interval, p_value
from ndcg_spark.tables.table import counted, rounded, signed

#: A difference of this size is worth seeing where no gate says what may be lost.
_WORTH_SEEING = 0.01
#: The number of queries that are named as those that lost most.
_NAMED = 3
#: If this share of a loss is at ranks of unjudged documents, judging them comes before anything else.
_MOSTLY = 0.5


@dataclasses.dataclass(frozen=True)
class Point:
    """One question and its answer, with the queries to open."""

    question: str
    answer: str
    queries: Sequence[QueryScore] = ()


def answer(data: NightData) -> str:
    """Whether the run is worse or better than its baseline, and by how much, in a sentence."""
    row = data.compared.get(data.run)
    if row is None or data.comparison is None:
        own = next(each for each in data.means if each["run"] == data.run)
        mean = f"{data.measure} of {data.run} is {rounded(own.get(data.place[0]))}"
        return f"{mean}; there is nothing to compare it with."
    against = data.comparison.against(data.run)
    if row["difference"] is None:
        return f"{data.run} cannot be compared with {against}."
    if "unchanged" in row["flags"]:
        return f"{data.run} is unchanged against {against}: {data.measure} is {rounded(row['mean'])}."
    means = f"{signed(row['difference'])} {data.measure} ({rounded(row['baseline_mean'])} to {rounded(row['mean'])})"
    return f"{data.run} is {_direction(row, data.comparison)} {against}: {means}."


def points(data: NightData) -> list[Point]:
    """How sure that is, which queries and why, whether it can be compared, what stands out, and what to do next."""
    row = data.compared.get(data.run)
    shown = [*_compared_points(data, row, data.comparison)] if row and data.comparison else []
    unusual = [f"{line.run}: {flag.words}" for line in data.trend for flag in line.points[-1].flags]
    if unusual:
        more = f"; and {len(unusual) - _NAMED} more" if len(unusual) > _NAMED else ""
        shown.append(Point("In the trend", f"{'; '.join(unusual[:_NAMED])}{more}."))
    elif any(line.points[-1].band for line in data.trend):
        shown.append(Point("In the trend", f"Nothing stands out on {data.night.evaluated_on}."))
    return [*shown, Point("Next", _next(data, row), data.worst[:1])]


def _compared_points(data: NightData, row: Row, found: NightComparison) -> list[Point]:
    if "unchanged" in row["flags"]:
        shown = [Point("How sure?", f"All {counted(row['queries'])} queries score the same.")]
    else:
        shown = [Point("How sure?", _evidence(data, row, found))]
    if len(data.compared) > 1:
        shown.append(Point("All runs", _counts(data.compared, found)))
    if "unchanged" not in row["flags"]:
        largest = data.worst[:_NAMED]
        words = f"{counted(row['wins'])} won, {counted(row['losses'])} lost, {counted(row['ties'])} tied"
        shown.append(Point("Which queries?", f"{words}{'; the largest losses: ' if largest else '.'}", largest))
        shown.append(Point("Why?", _why(data)))
    nights = [night for night in (data.night, found.night) if night]
    judgments = [fingerprint(night.record, "judgments", data.night.dataset) for night in nights]
    if found.date and len(set(judgments)) == 1 < len(judgments):
        shown.append(Point("Comparable?", " ".join(["The judgments are the same.", *found.warnings])))
    elif found.warnings:
        shown.append(Point("Comparable?", " ".join(f"{each[:1].upper()}{each[1:]}." for each in found.warnings)))
    return shown


def _direction(row: Row, found: NightComparison) -> str:
    if abs(row["difference"]) <= TIE:
        return "neither better nor worse than"
    side = f"{'better' if row['difference'] > 0 else 'worse'} than"
    return side if found.is_sure(row) else f"not shown to be {side}"


def _evidence(data: NightData, row: Row, found: NightComparison) -> str:
    numbers = []
    if row["interval_low"] is not None:
        numbers.append(f"{100 * (1 - found.alpha):g} % interval {interval(row)}")
    if row["p_decides"] is not None:
        numbers.append(f"{_name_of_p(row, found)} {p_value(row['p_decides'])}")
    sentences = [", ".join([*numbers, f"{counted(row['queries'])} queries"])]
    allowed, detectable = found.allowed_drop(data.run, data.place), row["minimum_detectable"]
    wanted = allowed or _WORTH_SEEING
    if detectable is not None and detectable > wanted and not found.is_sure(row):
        sentences.append(f"a difference below {detectable:.2g} is hardly detected with so few queries")
    sentences += [f"a drop of {allowed:g} is allowed"] if allowed is not None else []
    sentences += [FLAGS[flag] for flag in row["flags"] if flag in FLAGS]
    return " ".join(f"{each[:1].upper()}{each[1:]}." for each in sentences)


def _name_of_p(row: Row, found: NightComparison) -> str:
    if found.findings:
        return "the p of the gate"
    return "adjusted p" if found.correction != "none" and (row["family_size"] or 0) > 1 else "p"


def _counts(compared: Mapping[str, Row], found: NightComparison) -> str:
    sure = {run: row["difference"] for run, row in compared.items() if row["difference"] and found.is_sure(row)}
    worst_first = sorted(sure, key=lambda run: sure[run])
    worse = [run for run in worst_first if sure[run] < 0]
    named = f" ({', '.join(worse[:_NAMED])}{', …' if len(worse) > _NAMED else ''})" if worse else ""
    unchanged = sum("unchanged" in row["flags"] for row in compared.values())
    better, unsure = len(sure) - len(worse), len(compared) - len(sure) - unchanged
    others = f"{better:,} better, {unsure:,} not told apart, {unchanged:,} unchanged"
    return f"Of {len(compared):,} runs: {len(worse):,} worse{named}, {others}."


def _why(data: NightData) -> str:
    if not data.worst:
        return "No query lost."
    if all(query.explanation is None for query in data.worst):
        return "The night does not keep its documents, which would show why."
    shown = causes_in_words(query.cause for query in data.worst if query.cause)
    lost = sum((query.difference or 0.0) < -TIE for query in data.queries)
    worst = f"The {len(data.worst)} worst of " if lost > len(data.worst) else ""
    which = f"{worst}{lost:,} {'query' if lost == 1 else 'queries'} lost"
    return f"{which} {shown}." if shown else f"{which}; no documents of both sides are kept."


def _has_same_results(data: NightData) -> bool:
    """Whether another night, which this one is compared with, has the same results."""
    other = data.comparison.night if data.comparison and data.comparison.date else None
    of_nights = [fingerprint(night.record, "results", data.night.dataset) for night in (data.night, other) if night]
    return len(of_nights) == 2 and len(set(of_nights)) == 1


def _next(data: NightData, row: Row | None) -> str:
    causes = [query.cause for query in data.worst if query.cause]
    lost = math.fsum(cause.lost for cause in causes)
    unjudged = math.fsum(cause.at_unjudged or 0.0 for cause in causes)
    if row and "unchanged" in row["flags"]:
        return "Check that the system produced new output." if _has_same_results(data) else "No query changed."
    if unjudged < _MOSTLY * lost:
        return "Judge the unjudged documents of the worst queries (ndcg-spark judge-next) and evaluate again; see "
    if not data.worst:
        return "Nothing needs to be opened: no query lost."
    if all(query.explanation is None for query in data.worst):
        return "Evaluate the night again with --documents all, so that a query shows its documents; then open "
    return "Open "

"""The content of the charts on pages and in notebooks: positions, colours and texts."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from ndcg_spark.comparison.trend import Point, TrendLine
from ndcg_spark.convention.measures import CATALOG_COLUMNS, format_cutoff
from ndcg_spark.report.answer import NEW
from ndcg_spark.report.comparisons import conclusion_in_words
from ndcg_spark.report.moved import Moved
from ndcg_spark.report.night import NightPage
from ndcg_spark.report.usual_range import UsualRange
from ndcg_spark.report.words import CONCLUDED, DRAWN, TONES
from ndcg_spark.tables.format import difference, level, score
from ndcg_spark.tables.html import marked, name
from ndcg_spark.tables.writers import fill_template
from ndcg_spark.text import day
from ndcg_spark.tolerance import EQUAL

Row = Mapping[str, Any]
#: The most bars that a chart draws.
_BARS = 240
#: The longest run name in a label for screen readers, and next to a notebook's chart.
_LABEL, _BESIDE = 80, 26
#: What happened to documents, in words.
_WHAT = {
    "left": "relevant documents left the {}",
    "down": "relevant documents moved down",
    "up": "relevant documents moved up",
    "came_in": "relevant documents entered the {}",
    "same_rank": "same rank, different gain or ideal",
}


class Line(NamedTuple):
    x1: str
    x2: str
    y1: str
    y2: str
    kind: str


class Box(NamedTuple):
    x: str
    y: str
    width: str
    height: str
    kind: str
    title: str = ""


def tone_of(value: float) -> str:
    """The colour of a change."""
    if abs(value) <= EQUAL:
        return "mid"
    return "bad" if value < 0 else "ok"


def shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


# Every run against the baseline.


class Mark(NamedTuple):
    """The position of a row of COMPARISONS, in percent; `low` and `high` are None if it has no
    interval.
    """

    row: Row
    at: float
    low: float | None
    high: float | None


class Differences(NamedTuple):
    marks: Sequence[Mark]
    #: The positions of a difference of 0, and of the limit.
    zero: float
    limit: float | None


def place_differences(rows: Sequence[Row], limit: float | None = None) -> Differences:
    """The positions of the differences in rows of COMPARISONS, of their intervals and a limit."""
    known = [-1e-3, 0.0, 1e-3, limit or 0.0]
    for row in rows:
        values = (row["difference"], row["interval_low"], row["interval_high"])
        known += [value for value in values if value is not None]
    low, high = min(known), max(known)

    def place(value: float) -> float:
        return 4 + 92 * (value - low) / (high - low)

    def place_end(value: float | None) -> float | None:
        return None if value is None else place(value)

    marks = []
    for row in rows:
        ends = place_end(row["interval_low"]), place_end(row["interval_high"])
        marks.append(Mark(row, place(row["difference"]), *ends))
    return Differences(marks, place(0.0), place_end(limit))


class ForestRow(NamedTuple):
    run: Markup
    score: str
    label: str
    lines: Sequence[Line]
    tone: str
    difference: str
    words: str


class Uncompared(NamedTuple):
    run: Markup
    score: str
    tone: str
    why: str


class Forest(NamedTuple):
    rows: Sequence[ForestRow]
    #: The runs that have no difference.
    uncompared: Sequence[Uncompared]
    note: Markup


def forest(page: NightPage) -> Forest | None:
    """Every run against the baseline; None if no run has a difference."""
    rows = _drawn_rows(page)
    if not rows:
        return None
    limit = _limit(page)
    drawn = place_differences(rows, limit)
    interval = level(page.compared_with.options.alpha)
    shown = []
    for mark in drawn.marks:
        at_limit = drawn.limit if mark.row["run"] == page.run else None
        shown.append(_forest_row(mark, drawn.zero, at_limit, interval))
    return Forest(shown, uncompared(page), _forest_note(page, rows, limit, interval))


def _limit(page: NightPage) -> float | None:
    """How far the run of the page may change, in the direction of its change."""
    result = page.result(page.run) or {}
    if page.compared_with.difference(page.run) > 0 and result.get("allowed_rise"):
        return float(result["allowed_rise"])
    if result.get("allowed"):
        return -float(result["allowed"])
    return None


def has_more_runs(page: NightPage) -> bool:
    return len(_with_difference(page)) > DRAWN


def _with_difference(page: NightPage) -> list[Row]:
    return [row for row in page.compared.values() if row["difference"] is not None]


def _drawn_rows(page: NightPage) -> list[Row]:
    """The page's run and the runs that changed most, ordered by their differences."""

    def importance(row: Row) -> tuple[bool, bool, float]:
        is_other = row["run"] != page.run
        return is_other, row["conclusion"] not in CONCLUDED, -abs(row["difference"])

    rows = sorted(_with_difference(page), key=importance)
    return sorted(rows[:DRAWN], key=lambda row: (row["difference"], row["run"]))


def _forest_row(mark: Mark, zero: float, limit: float | None, interval: str) -> ForestRow:
    row = mark.row
    tone = TONES.get(row["conclusion"], "mid")
    label = f"{shortened(row['run'], _LABEL)}: {difference(row['difference'])}"
    lines = [_upright(zero, "zero")]
    if limit is not None:
        lines.append(_upright(limit, "limit"))
    if mark.low is not None and mark.high is not None:
        low, high = difference(row["interval_low"]), difference(row["interval_high"])
        label += f", {interval} interval {low} to {high}"
        lines.append(Line(f"{mark.low:.2f}", f"{mark.high:.2f}", "5", "5", f"ci {tone}"))
    lines.append(Line(f"{mark.at:.2f}", f"{mark.at:.2f}", "5", "5", f"dot {tone}"))
    shown = (difference(row["difference"]), conclusion_in_words(row))
    return ForestRow(name(row["run"]), score(row["mean"]), label, lines, tone, *shown)


def _upright(at: float, kind: str) -> Line:
    return Line(f"{at:.2f}", f"{at:.2f}", "0", "10", kind)


def _forest_note(
    page: NightPage,
    rows: Sequence[Row],
    limit: float | None,
    interval: str,
) -> Markup:
    said = [Markup("Solid line: no difference.")]
    if limit is not None:
        text = "Dashed line: the limit of {}, {}."
        said.append(marked(text, name(page.run), difference(limit)))
    said.append(marked("Bars: {} intervals.", interval))
    if any(conclusion_in_words(row) == "same" for row in rows):
        margin = score(page.compared_with.options.margin)
        text = "Same: any change is smaller than {}. Unchanged: no query has changed."
        said.append(marked(text, margin))
    more = len(_with_difference(page)) - len(rows)
    if more:
        text = '{:,} more in <a href="#runs{}">runs and measures</a>.'
        said.append(marked(text, more, page.id))
    return Markup(" ").join(said)


def uncompared(page: NightPage) -> list[Uncompared]:
    """The runs that have no difference, and why."""
    found = [Uncompared(name(run), score(page.value(run)), "mid", NEW) for run in page.new]
    for run in page.unknown_ids:
        found.append(Uncompared(name(run), "", "bad", "ids without judgments"))
    for row in page.missing:
        if row["run"]:
            found.append(Uncompared(name(row["run"]), "", "bad", "no results"))
    return found


# The last nights of a run.


class TrendChart(NamedTuple):
    high: str
    low: str
    label: str
    #: The corners of areas and lines, in SVG notation.
    areas: Sequence[str]
    lines: Sequence[str]
    dots: Sequence[Line]
    first: str
    last: str


def place_trend(line: TrendLine, tone: str = "mid", usual: UsualRange | None = None) -> TrendChart:
    """The scores of a run by night, interrupted where they cannot be compared."""
    points = line.points
    low, high = _axis(points, usual)

    def place(at: float, value: float | None) -> str:
        x = 2 + 96 * at / max(1, len(points) - 1)
        y = 100 * (high - (value or 0.0)) / (high - low)
        return f"{x:.1f},{y:.1f}"

    lines, dots = [], []
    last = "98,50"
    for stretch in _line_stretches(points):
        corners = [place(at, _shown(point)) for at, point in stretch]
        last = corners[-1]
        if len(corners) > 1:
            lines.append(" ".join(corners))
        else:
            dots.append(_dot(last, "mid"))
    areas = [" ".join(place(at, value) for at, value in _band(points, usual))] if usual else []
    dots.append(_dot(last, tone))
    dots += _marks(points, low, high)
    begin, end = points[0], points[-1]
    newest = f"{score(end.value)} on {day(end.date)}"
    measure = f"{line.measure} of {shortened(line.run, _LABEL)} in {len(points)} nights"
    label = f"{measure}: {score(_shown(begin))} on {day(begin.date)}, {newest}"
    texts = (score(high), score(low), label)
    return TrendChart(*texts, areas, lines, dots, day(begin.date), newest)


def _shown(point: Point) -> float | None:
    """The drawn value of a night: in units of the last night's judgments."""
    return point.value if point.chained is None else point.chained


def _marks(points: Sequence[Point], low: float, high: float) -> list[Line]:
    """Marks where the judgments changed, with the uncertainty of the shift of earlier nights."""
    marks = []
    for at, point in enumerate(points[1:], 1):
        value = _shown(point)
        if point.change is None or value is None:
            continue
        x = f"{2 + 96 * (at - 0.5) / max(1, len(points) - 1):.1f}"
        half = point.change.uncertainty
        upper = f"{100 * (high - value - half) / (high - low):.1f}"
        lower = f"{100 * (high - value + half) / (high - low):.1f}"
        marks.append(Line(x, x, "0", "100", "change"))
        marks.append(Line(x, x, upper, lower, "unsure"))
    return marks


def _axis(points: Sequence[Point], usual: UsualRange | None) -> tuple[float, float]:
    """The lower and the upper end of the axis, from the drawn values."""
    known = [value for value in map(_shown, points) if value is not None]
    if usual is not None:
        known += [usual.low, usual.high]
    known = known or [0.0]
    least, most = min(known), max(known)
    # The same numbers added in a different order do not make a slope.
    margin = max(0.1 * (most - least), 0.001)
    # The axis goes below 0 only if a score does.
    low = least - margin if least < 0 else max(0.0, least - margin)
    return low, most + margin


def _band(points: Sequence[Point], usual: UsualRange) -> list[tuple[float, float]]:
    """The corners of the usual range, over the nights that can be compared with the last one."""
    first = max((at for at, point in enumerate(points) if point.interrupted), default=0)
    last = len(points) - 1
    return [(first, usual.low), (last, usual.low), (last, usual.high), (first, usual.high)]


def _line_stretches(points: Sequence[Point]) -> list[list[tuple[int, Point]]]:
    """The points that have a value, in comparable stretches, each with its position."""
    breaks = list(itertools.accumulate(point.interrupted for point in points))
    known = [(at, point) for at, point in enumerate(points) if point.value is not None]
    groups = itertools.groupby(known, lambda pair: breaks[pair[0]])
    return [list(group) for _, group in groups]


def _dot(place: str, tone: str) -> Line:
    x, _, y = place.partition(",")
    return Line(x, x, y, y, f"dot {tone}")


# The queries.


class Split(NamedTuple):
    width: int
    label: str
    boxes: Sequence[Box]
    lost: str
    unchanged: str
    won: str
    #: The colours of the queries that lost and of those that won.
    lost_tone: str
    won_tone: str


def split(row: Row) -> Split:
    """How many queries lost, did not change and won; grey if nothing can be concluded."""
    down, up = ("lower", "higher") if row["measure"] in CATALOG_COLUMNS else ("lost", "won")
    counts = {down: row["losses"] or 0, "unchanged": row["ties"] or 0, up: row["wins"] or 0}
    is_concluded = row["conclusion"] in TONES
    tones = ("bad", "mid", "ok") if is_concluded else ("mid", "faint", "mid")
    boxes = []
    at = 0
    for tone, many in zip(tones, counts.values(), strict=True):
        boxes.append(Box(str(at), "0", str(many), "1", tone))
        at += many
    texts = [f"{many:,} {word}" for word, many in counts.items()]
    label = f"{row['losses']} queries {down}, {row['ties']} unchanged, {row['wins']} {up}"
    lost, unchanged, won = texts
    return Split(at or 1, label, boxes, lost, unchanged, won, tones[0], tones[2])


class Cause(NamedTuple):
    what: str
    width: str
    tone: str
    change: str


def place_moved(moved: Moved, cutoff: int | None, is_concluded: bool = True) -> list[Cause]:
    """The difference split by what happened to documents."""
    top = f"top {format_cutoff(cutoff)}"
    most = max(abs(value) for value in moved.sums.values())
    causes = []
    for what, value in moved.sums.items():
        width = f"{100 * abs(value) / most:.1f}"
        tone = tone_of(value) if is_concluded else "mid"
        causes.append(Cause(_WHAT[what].format(top), width, tone, difference(value)))
    return causes


class Bars(NamedTuple):
    label: str
    boxes: Sequence[Box]


def bars(changes: Sequence[float], is_concluded: bool = True) -> Bars:
    """The change of every query, from the largest loss to the largest gain."""
    most = max(abs(changes[0]), abs(changes[-1])) or 1
    drawn = spread_out(changes)
    width = f"{85 / len(drawn):.2f}"
    boxes = []
    for x, value in drawn:
        if tone_of(value) == "mid":
            continue
        size = 48 * abs(value) / most
        y = 50 if value < 0 else 50 - size
        tone = tone_of(value) if is_concluded else "mid"
        boxes.append(Box(f"{x:.2f}", f"{y:.1f}", width, f"{size:.1f}", tone))
    ends = f"from {difference(changes[0])} to {difference(changes[-1])}"
    return Bars(f"The change of each of the {len(changes):,} queries, {ends}", boxes)


def spread_out(values: Sequence[Any]) -> list[tuple[float, Any]]:
    """Values side by side, each with its position in percent.

    If there are too many, a sample at equal distances is drawn, including the last value.
    """
    step = max(1.0, len(values) / _BARS)
    shown = [values[int(at * step)] for at in range(int(len(values) / step))]
    if shown:
        shown[-1] = values[-1]
    return [(100 * at / len(shown), value) for at, value in enumerate(shown)]


# Charts of scores in memory, which are separate images.


class Dot(NamedTuple):
    x: str
    y: str
    radius: int
    tone: str
    opacity: str
    title: str


class Text(NamedTuple):
    x: int
    y: int
    kind: str
    text: str
    title: str = ""


class Drawing(NamedTuple):
    title: str
    #: The text for screen readers.
    label: str
    height: int
    lines: Sequence[Line] = ()
    boxes: Sequence[Box] = ()
    paths: Sequence[str] = ()
    dots: Sequence[Dot] = ()
    texts: Sequence[Text] = ()


def draw(drawing: Drawing) -> str:
    """The SVG of a drawing. Its style has a class of its own, as notebooks embed it in a page."""
    return fill_template("report/plots.svg.j2", drawing=drawing)


def queries_drawing(
    title: str,
    label: str,
    counts: str,
    queries: Sequence[Row],
    run: str,
    baseline: str,
) -> Drawing:
    """Bars and dots for queries: rows with `query`, `run`, `baseline` and `change`."""
    drawn = spread_out(queries)
    most = max([EQUAL, *(abs(query["change"]) for query in queries)])
    scores = [query[side] for query in queries for side in ("run", "baseline")]
    low, high = min([0.0, *scores]), max([1.0, *scores])
    boxes, dots = [], []
    for x, query in drawn:
        change, tone = query["change"], tone_of(query["change"])
        size = 115 * abs(change) / most
        if tone != "mid":
            y = 150 if change < 0 else 150 - size
            width = f"{374 / len(drawn):.2f}"
            where = (f"{10 + 4.4 * x:.2f}", f"{y:.1f}", width, f"{size:.1f}")
            boxes.append(Box(*where, tone, f"{query['query']}: {difference(change)}"))
        across = 500 + 240 * (query["baseline"] - low) / (high - low)
        up = 270 - 240 * (query["run"] - low) / (high - low)
        told = f"{query['query']}: {score(query['baseline'])} to {score(query['run'])}"
        dots.append(Dot(f"{across:.1f}", f"{up:.1f}", 3, tone, "0.6", told))
    texts = [
        Text(10, 290, "", counts),
        Text(740, 20, "end", f"y: {run}"),
        Text(740, 290, "end", f"x: {baseline}, {score(low)} to {score(high)}"),
    ]
    axis = [Line("10", "450", "150", "150", "")]
    return Drawing(title, label, 300, axis, boxes, ["M500 30V270H740M500 270L740 30"], dots, texts)


def means_drawing(title: str, label: str, means: Mapping[str, float]) -> Drawing:
    """A dot for the mean of each run."""
    low = min([0.0, *means.values()])
    width = max([EQUAL, *(mean - low for mean in means.values())])
    dots, texts = [], []
    for at, (run, mean) in enumerate(means.items()):
        y = 48 + 28 * at
        x = 200 + 380 * (mean - low) / width
        dots.append(Dot(f"{x:.1f}", str(y), 5, "mid", "1", ""))
        texts += [_run_text(run, y), Text(600, y + 4, "", score(mean))]
    return Drawing(title, label, 50 + 28 * len(means), dots=dots, texts=texts)


def differences_drawing(title: str, label: str, rows: Sequence[Row]) -> Drawing:
    """A dot for the difference in each row of COMPARISONS, with its interval."""
    placed = place_differences(rows)
    height = 50 + 28 * len(rows)
    zero = f"{200 + 3.8 * placed.zero:.1f}"
    lines = [Line(zero, zero, "32", str(height - 14), "")]
    dots, texts = [], []
    for at, mark in enumerate(placed.marks):
        row, y = mark.row, 48 + 28 * at
        tone = TONES.get(row["conclusion"], "mid")
        if mark.low is not None and mark.high is not None:
            ends = (f"{200 + 3.8 * mark.low:.1f}", f"{200 + 3.8 * mark.high:.1f}")
            lines.append(Line(*ends, str(y), str(y), tone))
        dots.append(Dot(f"{200 + 3.8 * mark.at:.1f}", str(y), 5, tone, "1", ""))
        words = f"{difference(row['difference'])} {conclusion_in_words(row)}"
        texts += [_run_text(row["run"], y), Text(600, y + 4, "", words)]
    return Drawing(title, label, height, lines, dots=dots, texts=texts)


def _run_text(run: str, y: int) -> Text:
    return Text(190, y + 4, "end", shortened(run, _BESIDE), run)

"""The content of the charts on pages and in notebooks: positions, colours and texts."""

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
from ndcg_spark.tables.html import joined, marked, name_markup
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
    """The position of a COMPARISONS row, in percent; `low` and `high` are None if it has no
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
    """The positions of differences in COMPARISONS rows, of their intervals and of a limit."""
    # A chart is never narrower than this, so that tiny differences do not look large.
    known = [-1e-3, 0.0, 1e-3, limit or 0.0]
    for row in rows:
        values = (row["difference"], row["interval_low"], row["interval_high"])
        known += [value for value in values if value is not None]
    low, high = min(known), max(known)

    # The ends are not at 0 and 100%, so that their dots are not cut off.
    def place(value: float) -> float:
        return 4 + 92 * (value - low) / (high - low)

    def place_if_known(value: float | None) -> float | None:
        return None if value is None else place(value)

    marks = []
    for row in rows:
        interval_low = place_if_known(row["interval_low"])
        interval_high = place_if_known(row["interval_high"])
        marks.append(Mark(row, place(row["difference"]), interval_low, interval_high))
    return Differences(marks, place(0.0), place_if_known(limit))


class ForestRow(NamedTuple):
    """A run in a forest plot: its difference as a dot, with a bar for its interval."""

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
    """How far the page's run may change, in the direction of its change.

    A limit of 0 is not drawn, because it would be on the line of no difference.
    """
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

    # A sort key: the page's run first, then proven changes, then the largest changes.
    def importance(row: Row) -> tuple[bool, bool, float]:
        is_other = row["run"] != page.run
        is_unproven = row["conclusion"] not in CONCLUDED
        return is_other, is_unproven, -abs(row["difference"])

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
    return ForestRow(
        run=name_markup(row["run"]),
        score=score(row["mean"]),
        label=label,
        lines=lines,
        tone=tone,
        difference=difference(row["difference"]),
        words=conclusion_in_words(row),
    )


def _upright(at: float, kind: str) -> Line:
    """A vertical line through the whole row."""
    return Line(f"{at:.2f}", f"{at:.2f}", "0", "10", kind)


def _forest_note(
    page: NightPage,
    rows: Sequence[Row],
    limit: float | None,
    interval: str,
) -> Markup:
    sentences = [Markup("Solid line: no difference.")]
    if limit is not None:
        text = "Dashed line: the limit of {}, {}."
        sentences.append(marked(text, name_markup(page.run), difference(limit)))
    sentences.append(marked("Bars: {} intervals.", interval))
    if any(conclusion_in_words(row) == "same" for row in rows):
        margin = score(page.compared_with.options.margin)
        text = "Same: any change is smaller than {}. Unchanged: no query has changed."
        sentences.append(marked(text, margin))
    sentences += _other_baselines(page, [row["run"] for row in rows])
    more = len(_with_difference(page)) - len(rows)
    if more:
        text = '{:,} more in <a href="#runs{}">runs and measures</a>.'
        sentences.append(marked(text, more, page.id))
    return joined(sentences, " ")


def _other_baselines(page: NightPage, runs: Sequence[str]) -> list[Markup]:
    """A sentence for the drawn runs that are compared with other nights than the page's run."""
    sentences = []
    for baseline in page.outline.beside:
        own = [name_markup(run) for run in runs if baseline.is_for(run)]
        if own:
            text = "{} against {}."
            sentences.append(marked(text, joined(own, ", "), name_markup(baseline.label)))
    return sentences


def uncompared(page: NightPage) -> list[Uncompared]:
    """The runs that have no difference, and why."""
    found = [Uncompared(name_markup(run), score(page.value(run)), "mid", NEW) for run in page.new]
    for run in page.left_out:
        found.append(Uncompared(name_markup(run), score(page.value(run)), "mid", "not compared"))
    for run in page.unknown_ids:
        found.append(Uncompared(name_markup(run), "", "bad", "ids without judgments"))
    for row in page.missing:
        if row["run"]:
            found.append(Uncompared(name_markup(row["run"]), "", "bad", "no results"))
    return found


# A run's last nights.


class TrendChart(NamedTuple):
    #: The texts at the ends of the vertical axis.
    high: str
    low: str
    #: The text for screen readers.
    label: str
    #: The corners of areas and lines, in SVG notation.
    areas: Sequence[str]
    lines: Sequence[str]
    dots: Sequence[Line]
    #: The texts below the first and the last night.
    first: str
    last: str


def place_trend(line: TrendLine, tone: str = "mid", usual: UsualRange | None = None) -> TrendChart:
    """A run's scores by night, interrupted where they cannot be compared."""
    points = line.points
    low, high = _axis(points, usual)

    # The position of a value on the night with this number, as SVG writes it: `2.0,41.7`.
    def place(at: float, value: float | None) -> str:
        x = 2 + 96 * at / max(1, len(points) - 1)
        y = 100 * (high - (value or 0.0)) / (high - low)
        return f"{x:.1f},{y:.1f}"

    lines = []
    dots = []
    # Without any value, the last night's dot is in the middle of the right side.
    last = "98,50"
    for stretch in _line_stretches(points):
        corners = [place(at, _drawn_value(point)) for at, point in stretch]
        last = corners[-1]
        if len(corners) > 1:
            lines.append(" ".join(corners))
        else:
            dots.append(_dot(last, "mid"))
    areas = []
    if usual:
        corners = [place(at, value) for at, value in _band(points, usual)]
        areas.append(" ".join(corners))
    dots.append(_dot(last, tone))
    dots += _marks(points, low, high)
    begin, end = points[0], points[-1]
    newest = f"{score(end.value)} on {day(end.date)}"
    measure = f"{line.measure} of {shortened(line.run, _LABEL)} in {len(points)} nights"
    return TrendChart(
        high=score(high),
        low=score(low),
        label=f"{measure}: {score(_drawn_value(begin))} on {day(begin.date)}, {newest}",
        areas=areas,
        lines=lines,
        dots=dots,
        first=day(begin.date),
        last=newest,
    )


def _drawn_value(point: Point) -> float | None:
    """The value that is drawn for a night, as if it had the last night's judgments."""
    return point.value if point.chained is None else point.chained


def _marks(points: Sequence[Point], low: float, high: float) -> list[Line]:
    """Marks where the judgments changed, and how uncertain the shift of earlier nights is."""
    marks = []
    for at, point in enumerate(points[1:], 1):
        value = _drawn_value(point)
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
    known = [value for value in map(_drawn_value, points) if value is not None]
    if usual is not None:
        known += [usual.low, usual.high]
    known = known or [0.0]
    least, most = min(known), max(known)
    # Rounding errors must not look like a change.
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
    stretches: list[list[tuple[int, Point]]] = [[]]
    for at, point in enumerate(points):
        if point.interrupted:
            stretches.append([])
        if point.value is not None:
            stretches[-1].append((at, point))
    return [stretch for stretch in stretches if stretch]


def _dot(place: str, tone: str) -> Line:
    """A dot, which is a line without length and with round ends."""
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
    lost, unchanged, won = row["losses"] or 0, row["ties"] or 0, row["wins"] or 0
    lost_tone, tied_tone, won_tone = "mid", "faint", "mid"
    if row["conclusion"] in TONES:
        lost_tone, tied_tone, won_tone = "bad", "mid", "ok"
    boxes = [
        Box("0", "0", str(lost), "1", lost_tone),
        Box(str(lost), "0", str(unchanged), "1", tied_tone),
        Box(str(lost + unchanged), "0", str(won), "1", won_tone),
    ]
    return Split(
        # An image's width must not be 0.
        width=lost + unchanged + won or 1,
        label=f"{row['losses']} queries {down}, {row['ties']} unchanged, {row['wins']} {up}",
        boxes=boxes,
        lost=f"{lost:,} {down}",
        unchanged=f"{unchanged:,} unchanged",
        won=f"{won:,} {up}",
        lost_tone=lost_tone,
        won_tone=won_tone,
    )


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


def spread_out(values: Sequence[Any]) -> list[tuple[float, Any]]:
    """Values side by side, each with its position in percent.

    If there are too many, a sample at equal distances is drawn, including the last value.
    """
    step = max(1.0, len(values) / _BARS)
    shown = [values[int(at * step)] for at in range(int(len(values) / step))]
    if shown:
        shown[-1] = values[-1]
    return [(100 * at / len(shown), value) for at, value in enumerate(shown)]


# Charts of scores in memory, which are separate images. Each run has a row of height 28: its name
# ends at x = 190, its place in the chart is between 200 and 580, and its numbers begin at 600.


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
    """The SVG of a drawing. Its style has its own class, because notebooks embed it in a page."""
    return fill_template("report/plots.svg.j2", drawing=drawing)


def queries_drawing(
    title: str,
    label: str,
    counts: str,
    queries: Sequence[Row],
    run: str,
    baseline: str,
) -> Drawing:
    """A bar for the change of each query, and a dot for its two scores.

    `queries`: rows with `query`, `run`, `baseline` and `change`. Bars are on the left, around a
    line at y = 150. Dots are on the right, in a square from (500, 30) to (740, 270).
    """
    drawn = spread_out(queries)
    sizes = [abs(query["change"]) for query in queries]
    most = max([EQUAL, *sizes])
    scores = [query["run"] for query in queries] + [query["baseline"] for query in queries]
    low = min([0.0, *scores])
    high = max([1.0, *scores])
    boxes = []
    dots = []
    for x, query in drawn:
        change = query["change"]
        tone = tone_of(change)
        if tone != "mid":
            height = 115 * abs(change) / most
            y = 150 if change < 0 else 150 - height
            width = f"{374 / len(drawn):.2f}"
            place = (f"{10 + 4.4 * x:.2f}", f"{y:.1f}", width, f"{height:.1f}")
            boxes.append(Box(*place, tone, f"{query['query']}: {difference(change)}"))
        x_of_dot = 500 + 240 * (query["baseline"] - low) / (high - low)
        y_of_dot = 270 - 240 * (query["run"] - low) / (high - low)
        shown = f"{query['query']}: {score(query['baseline'])} to {score(query['run'])}"
        dots.append(Dot(f"{x_of_dot:.1f}", f"{y_of_dot:.1f}", 3, tone, "0.6", shown))
    texts = [
        Text(10, 290, "", counts),
        Text(740, 20, "end", f"y: {run}"),
        Text(740, 290, "end", f"x: {baseline}, {score(low)} to {score(high)}"),
    ]
    no_change = Line("10", "450", "150", "150", "")
    axes_and_diagonal = "M500 30V270H740M500 270L740 30"
    return Drawing(title, label, 300, [no_change], boxes, [axes_and_diagonal], dots, texts)


def means_drawing(title: str, label: str, means: Mapping[str, float]) -> Drawing:
    """A dot for each run's mean."""
    low = min([0.0, *means.values()])
    distances = [mean - low for mean in means.values()]
    width = max([EQUAL, *distances])
    dots = []
    texts = []
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
    dots = []
    texts = []
    for at, mark in enumerate(placed.marks):
        row = mark.row
        y = 48 + 28 * at
        tone = TONES.get(row["conclusion"], "mid")
        if mark.low is not None and mark.high is not None:
            low = f"{200 + 3.8 * mark.low:.1f}"
            high = f"{200 + 3.8 * mark.high:.1f}"
            lines.append(Line(low, high, str(y), str(y), tone))
        dots.append(Dot(f"{200 + 3.8 * mark.at:.1f}", str(y), 5, tone, "1", ""))
        words = f"{difference(row['difference'])} {conclusion_in_words(row)}"
        texts += [_run_text(row["run"], y), Text(600, y + 4, "", words)]
    return Drawing(title, label, height, lines, dots=dots, texts=texts)


def _run_text(run: str, y: int) -> Text:
    """A run's name on the left of its row. It ends where the chart begins."""
    return Text(190, y + 4, "end", shortened(run, _BESIDE), run)

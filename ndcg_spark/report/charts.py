"""Charts in Vega-Lite, and pictures of them without a browser. What draws them is the extra `report`."""

import datetime
import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.trend_data import TrendLine as Line
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.plain import printable
from ndcg_spark.report.trends import best_runs
from ndcg_spark.sheets.markup import escaped_html
from ndcg_spark.sheets.sheet import at

#: A specification of Vega-Lite.
Chart = dict[str, Any]

_ROLES = re.compile(r' (?:role|aria-[a-z]+)="[^"<>]*"')
_FLAGS, _SHAPES = ["low", "high", "drop"], ["triangle-down", "triangle-up", "diamond"]
#: Signs and shapes say the same as the colours, which differ for the colour-blind too (Okabe and Ito).
_SIDES, _COLOURS = ["better", "worse", "the same"], ["#0072B2", "#D55E00", "#888888"]
_POINTS = ["triangle-up", "triangle-down", "circle"]
#: Of more queries, differences are drawn as a curve of quantiles, and points are binned.
_MOST_BARS, _MOST_POINTS = 2000, 5000
_WIDTH = 680
#: Of more runs, a trend shows the best: there are no more colours.
_MOST_LINES = 10
#: So many days are named on an axis.
_MOST_TICKS = 12
#: What the rows of a chart are called in it.
_ROWS = "rows"
#: Text and axes in the colour of the page that they are on, whether it is light or dark.
_ON_A_PAGE = {
    "background": "transparent",
    "padding": {"left": 4, "top": 4, "bottom": 4, "right": 24},
    "view": {"stroke": "transparent"},
    "axis": {f"{part}Color": "currentColor" for part in ("label", "title", "domain", "tick")}
    | {"gridColor": "#88888855", "labelFontSize": 11, "titleFontSize": 12},
    "legend": {"labelColor": "currentColor", "titleColor": "currentColor"},
    "header": {"labelColor": "currentColor", "titleColor": "currentColor"},
    "title": {"color": "currentColor"},
}


def require_extra() -> None:
    """ConfigurationError if a package of the extra is not installed."""
    for name in ("altair", "jinja2", "vl_convert"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise ConfigurationError(
                f"report: {error.name} is not installed, which charts and pages are made with; install the extra "
                "report, in the project's folder with pip install '.[report]'"
            ) from error


def _altair() -> Any:
    """Altair, whose data may be as long as it needs to be. ConfigurationError if it is not installed."""
    require_extra()
    import altair

    altair.data_transformers.disable_max_rows()
    return altair


def trend_chart(lines: Sequence[Line]) -> Chart:
    """The trends as a chart, a panel for each dataset and measure: a line per run, marks where a night stands out.

    Of more than _MOST_LINES runs it shows the best, and says so.
    """
    alt = _altair()
    runs = best_runs(lines)
    best = set(runs[:_MOST_LINES])
    rows = [row for line in lines if line.run in best for row in _nights(line)]
    run = alt.Color("run:N", title="run")
    score = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False))
    # In UTC, or a date would begin the evening before in half of the world.
    days = alt.X("date:T", title=None, scale=alt.Scale(type="utc"), axis=_days(alt, rows))
    base = alt.Chart(_named(alt)).encode(x=days)
    # A line for each stretch of comparable nights: nothing is joined across a break.
    dashes = alt.StrokeDash("run:N", legend=None)
    joined = base.mark_line().encode(y=score, color=run, strokeDash=dashes, detail="stretch:N")
    nights = base.mark_point(filled=True, size=18).encode(y=score, color=run)
    shape = alt.Shape("flag:N", title="stands out", scale=alt.Scale(domain=_FLAGS, range=_SHAPES))
    flagged = base.transform_filter("datum.flag != ''").mark_point(size=110, strokeWidth=2)
    flagged = flagged.encode(y=score, color=run, shape=shape)
    broken = base.transform_filter("datum.breaks != ''").mark_rule(strokeDash=[4, 3], color="#888")
    layered = alt.layer(broken, joined, nights, flagged).properties(width=_WIDTH, height=220)
    panels = layered.facet(row=alt.Row("panel:N", title=None)).resolve_scale(y="independent")
    if len(best) < len(runs):
        panels = panels.properties(title=f"the best {len(best)} of {len(runs):,} runs")
    return _as_dict(panels, rows)


def runs_chart(rows: Sequence[Mapping[str, Any]], title: str) -> Chart:
    """Runs with their mean and its interval, the best on top; rows have run, mean, low and high."""
    alt = _altair()
    base = alt.Chart(_named(alt)).encode(y=alt.Y("run:N", sort=None, title=None))
    points = base.mark_point(filled=True, size=60, color=_COLOURS[0]).encode(
        x=alt.X("mean:Q", title=title, scale=alt.Scale(zero=False))
    )
    intervals = base.mark_rule(strokeWidth=2, color=_COLOURS[0]).encode(x="low:Q", x2="high:Q")
    return _as_dict(alt.layer(intervals, points).properties(width=_WIDTH - 120), rows)


def differences_chart(differences: Sequence[float], title: str) -> Chart:
    """The differences of all queries from the largest loss to the largest win."""
    alt = _altair()
    ordered = sorted(differences)
    if len(ordered) > _MOST_BARS:
        last = len(ordered) - 1
        shares = [number / 200 for number in range(201)]
        points = [{"share": share, "difference": ordered[round(share * last)]} for share in shares]
        curve = alt.Chart(_named(alt)).mark_area(line=True, color=_COLOURS[0], opacity=0.5)
        share = alt.X("share:Q", title="share of the queries", axis=alt.Axis(format="%"))
        curve = curve.encode(x=share, y=alt.Y("difference:Q", title=title)).properties(width=_WIDTH, height=220)
        return _as_dict(curve, points)
    values = [{"at": rank, "difference": each, "side": _side(each)} for rank, each in enumerate(ordered, 1)]
    bars = alt.Chart(_named(alt)).mark_bar(width=max(_WIDTH / max(len(values), 1) - 1, 0.4))
    bars = bars.encode(
        x=alt.X("at:Q", title="queries, from the largest loss on", scale=alt.Scale(domain=[0, len(values) + 1])),
        y=alt.Y("difference:Q", title=title),
        color=_by_side(alt, "Color", _COLOURS),
    )
    return _as_dict(bars.properties(width=_WIDTH, height=220), values)


def pairs_chart(pairs: Iterable[tuple[float, float]], run: str, baseline: str) -> Chart:
    """Each query as a point: the score of the baseline and that of the run. Above the line the run is better."""
    alt = _altair()
    values = [{"baseline": one, "run": other, "side": _side(other - one)} for one, other in pairs]
    line = alt.Chart(alt.Data(values=[{"one": 0, "other": 0}, {"one": 1, "other": 1}])).mark_line(
        color="#888", strokeDash=[4, 3]
    )
    line = line.encode(x="one:Q", y="other:Q")
    x, y = {"title": baseline}, {"title": run}
    if len(values) > _MOST_POINTS:
        binned = alt.Bin(maxbins=40)
        points = alt.Chart(_named(alt)).mark_rect()
        points = points.encode(
            x=alt.X("baseline:Q", bin=binned, **x),
            y=alt.Y("run:Q", bin=binned, **y),
            color=alt.Color("count()", title="queries", scale=alt.Scale(type="log")),
        )
    else:
        points = alt.Chart(_named(alt)).mark_point(filled=True, opacity=0.7, size=60)
        shape = _by_side(alt, "Shape", _POINTS)
        points = points.encode(x=alt.X("baseline:Q", **x), y=alt.Y("run:Q", **y), shape=shape)
        points = points.encode(color=_by_side(alt, "Color", _COLOURS))
    return _as_dict(alt.layer(points, line).properties(width=340, height=340), values)


def histogram(bins: Sequence[Mapping[str, Any]], title: str) -> Chart:
    """Bars of counts; rows have at, label and queries, in order."""
    alt = _altair()
    bars = alt.Chart(_named(alt)).mark_bar(color=_COLOURS[0])
    counts = alt.Y("queries:Q", title="queries", axis=alt.Axis(tickMinStep=1, format=",d"))
    order = alt.X("label:N", sort=None, title=title, axis=alt.Axis(labelAngle=-45, titlePadding=16))
    return _as_dict(bars.encode(x=order, y=counts).properties(width=_WIDTH, height=180), bins)


def picture(chart: Chart, style: str) -> bytes:
    """The chart as `png` or `svg`, drawn without a browser and without a network."""
    import vl_convert

    if style == "svg":
        return str(vl_convert.vegalite_to_svg(chart)).encode()
    return bytes(vl_convert.vegalite_to_png(chart, scale=2))


def drawing(chart: Chart, title: str) -> str:
    """The chart as an element of SVG for a page, in its colours. Every name in it is escaped.

    It is one image to a screen reader, which has its numbers in a table; the roles that Vega gives its parts are none
    that a browser knows.
    """
    import vl_convert

    drawn = _ROLES.sub("", str(vl_convert.vegalite_to_svg({**chart, "config": _ON_A_PAGE})))
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{escaped_html(title)}" ', 1)


def _named(alt: Any) -> Any:
    """Data that `_as_dict` adds: Altair would validate every row of them, which took it most of its time."""
    return alt.NamedData(_ROWS)


def _days(alt: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
    """An axis with at most _MOST_TICKS of the days that there are, evenly chosen."""
    dates = sorted({row["date"] for row in rows})
    last, ticks = len(dates) - 1, min(len(dates), _MOST_TICKS)
    chosen = sorted({dates[round(tick * last / max(ticks - 1, 1))] for tick in range(ticks)})
    midnights = [datetime.datetime.fromisoformat(f"{date}T00:00:00+00:00").timestamp() * 1000 for date in chosen]
    return alt.Axis(format="%d %b", values=midnights, labelOverlap=True)


def _as_dict(chart: Any, rows: Sequence[Mapping[str, Any]]) -> Chart:
    """The chart with these rows. Every text is printable, as drawing one that XML does not allow ends the process."""
    found: Chart = chart.to_dict()
    shown: Chart = _printable({**found, "datasets": {**found.get("datasets", {}), _ROWS: list(rows)}})
    return shown


def _printable(value: Any) -> Any:
    """The value of JSON with every text in it printable."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_printable(each) for each in value]
    return {name: _printable(each) for name, each in value.items()} if isinstance(value, dict) else value


def _side(difference: float) -> str:
    return _SIDES[2] if abs(difference) <= 1e-9 else _SIDES[0] if difference > 0 else _SIDES[1]


def _by_side(alt: Any, channel: str, values: Sequence[str]) -> Any:
    return getattr(alt, channel)("side:N", title=None, scale=alt.Scale(domain=_SIDES, range=list(values)))


def _nights(line: Line) -> list[dict[str, Any]]:
    rows, stretch = [], 0
    for point, queries in zip(line.points, line.queries, strict=True):
        stretch += bool(point.breaks)
        rows.append(
            {
                "panel": f"{line.dataset} {line.measure}@{at(line.cutoff)}",
                "run": line.run,
                "stretch": f"{line.run} {stretch}",
                "date": point.date,
                "value": point.value,
                "queries": queries,
                "flag": point.flags[0].code if point.flags else "",
                "breaks": " and ".join(point.breaks),
            }
        )
    return rows

"""Charts in Vega-Lite, and pictures of them without a browser, which the extra `report` draws."""

import datetime
import html
import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.trend import TrendLine
from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.trends import best_runs
from ndcg_spark.tables.table import rounded, signed
from ndcg_spark.text import printable

#: A specification of Vega-Lite.
Chart = dict[str, Any]

#: A mark as Vega draws it, with its description; and attributes that are of no use on a page.
_MARK = re.compile(r'<(\w+) aria-label="([^"<>]*)" role="graphics-symbol" ([^<>]*)/>')
_NOISE = re.compile(r' (?:role|aria-[a-z]+|pointer-events)="[^"<>]*"| opacity="1"| font-family="sans-serif"')
#: The mark of a night that stands out; any other flag is a square.
_FLAGS = {"low": "triangle-down", "high": "triangle-up"}
#: Signs and shapes say the same as the colours, which differ for the colour-blind too (Okabe and Ito).
_COLOUR, _POINT = 0, 1
SIDES = {
    "better": ("#0072B2", "triangle-up"),
    "worse": ("#D55E00", "triangle-down"),
    "the same": ("#888888", "circle"),
    "unchanged": ("#888888", "square"),
    "not told apart": ("#888888", "circle"),
    "the baseline": ("#009E73", "diamond"),
    "mean": ("#0072B2", "circle"),
}
#: What a mark says when it is pointed at, and to a screen reader.
_WORDS = {"description": {"field": "words"}}
_DASHED = {"color": "#888", "strokeDash": [4, 3]}
#: With more queries, differences are drawn as a curve of quantiles, and points are binned.
MOST_BARS, _MOST_POINTS = 2000, 5000
_WIDTH = 680
#: The width of runs with their intervals, which fits on a phone.
_NARROW = 420
#: With more runs, a trend shows the best: there are no more colours.
_MOST_LINES = 10
#: At most this many days are named on an axis.
_MOST_TICKS = 12
#: Text and axes in the colour of the page that they are on, whether it is light or dark.
_ON_A_PAGE = {
    "background": "transparent",
    # Letters are a little wider in a browser than where the chart is drawn.
    "padding": {"left": 16, "top": 4, "bottom": 4, "right": 24},
    "view": {"stroke": "transparent"},
    "axis": {f"{part}Color": "currentColor" for part in ("label", "title", "domain", "tick")}
    | {"gridColor": "#88888855", "labelFontSize": 11, "titleFontSize": 12},
    "legend": {"orient": "bottom", "labelColor": "currentColor", "titleColor": "currentColor"},
    "header": {"labelColor": "currentColor", "titleColor": "currentColor"},
    "title": {"color": "currentColor"},
}


def require_extra() -> None:
    """ConfigurationError if the package of the extra is not installed."""
    try:
        importlib.import_module("vl_convert")
    except ImportError as error:
        raise ConfigurationError(
            f"report: {error.name} is not installed, which draws charts; pip install 'ndcg-spark[report]'"
        ) from error


def trend_chart(lines: Sequence[TrendLine]) -> Chart:
    """The trends as a chart, a panel for each dataset and measure: a line per run, marks at unusual nights.

    Of more than _MOST_LINES runs it shows the best, and says so.
    """
    require_extra()
    runs = best_runs(lines)
    best = set(runs[:_MOST_LINES])
    rows = [row for line in lines if line.run in best for row in _nights(line)]
    # In UTC, or a date would begin the evening before in half of the world.
    axis = {"format": "%d %b", "labelOverlap": True, "values": _days(rows)}
    x = {"field": "date", "type": "temporal", "title": None, "scale": {"type": "utc"}, "axis": axis}
    encoding = {"x": x, "y": _number("value", scale={"zero": False}), "color": _text("run", "run")}
    known = sorted({row["flag"] for row in rows} - {""})
    flags = {"domain": known, "range": [_FLAGS.get(flag, "square") for flag in known]}
    # A line for each stretch of comparable nights: nothing is joined across a break.
    stretch = {"strokeDash": _text("run", legend=None), "detail": _text("stretch")}
    layers: list[Chart] = [
        {"mark": {"type": "rule", **_DASHED}, "encoding": {"x": x}, "transform": [{"filter": "datum.breaks != ''"}]},
        {"mark": "line", "encoding": encoding | stretch},
        {"mark": {"type": "point", "filled": True, "size": 18}, "encoding": encoding},
        {
            "mark": {"type": "point", "size": 110, "strokeWidth": 2},
            "encoding": encoding | {"shape": _text("flag", "stands out", scale=flags)},
            "transform": [{"filter": "datum.flag != ''"}],
        },
    ]
    title = {"title": f"the best {len(best)} of {len(runs):,} runs"} if len(best) < len(runs) else {}
    panels = {"facet": {"row": _text("panel")}, "resolve": {"scale": {"y": "independent"}}}
    return _chart(rows, spec={"layer": layers, "width": _WIDTH, "height": 220}, **panels, **title)


def intervals_chart(rows: Sequence[Mapping[str, Any]], title: str, band: tuple[float, float] | None = None) -> Chart:
    """Runs with a value and its interval, in the order of the rows: run, value, low, high, side (of SIDES) and words.

    With a `band`, which is shaded, they are differences, and 0 is marked.
    """
    run = _text("run", axis={"labelLimit": 260}, scale={"domain": [row["run"] for row in rows]})
    # The axis has the title of the value alone.
    interval = {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}, "y": run}
    value = {"x": _number("value", title, scale={"zero": band is not None}, axis={"tickCount": 6}), "y": run, **_WORDS}
    layers: list[Chart] = []
    if band is not None:
        ends = {"x": {"field": "from", "type": "quantitative"}, "x2": {"field": "to"}}
        shade = {"mark": {"type": "rect", "color": "#888", "opacity": 0.25}}
        zero = {"mark": {"type": "rule", "color": "#888"}, "encoding": {"x": {"datum": 0}}}
        words = {"description": {"value": "the drop that the gate allows"}}
        values = [{"from": band[0], "to": band[1]}] if band[0] < band[1] else []
        layers = [{**shade, "encoding": ends | words, "data": {"values": values}}, zero]
    layers += [
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {**interval, **_WORDS, "color": _by_side(rows, _COLOUR)},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60},
            "encoding": {**value, "color": _by_side(rows, _COLOUR), "shape": _by_side(rows, _POINT)},
        },
    ]
    return _chart(rows, layer=layers, width=_NARROW)


def differences_chart(differences: Mapping[str, float], title: str) -> Chart:
    """The differences of all queries, by query, from the largest loss to the largest win."""
    named = sorted(differences.items(), key=lambda item: item[1])
    ordered = [difference for _, difference in named]
    size = {"width": _WIDTH, "height": 220}
    y = _number("difference", title)
    if len(ordered) > MOST_BARS:
        last = len(ordered) - 1
        shares = [place / 200 for place in range(201)]
        points = [{"share": share, "difference": ordered[round(share * last)]} for share in shares]
        x = _number("share", "share of the queries", axis={"format": "%"})
        mark: Chart = {"type": "area", "line": True, "color": SIDES["better"][_COLOUR], "opacity": 0.5}
        return _chart(points, mark=mark, encoding={"x": x, "y": y}, **size)
    rows = [
        {"at": rank, "difference": each, "side": side_of(each), "words": f"{query}: {signed(each)}"}
        for rank, (query, each) in enumerate(named, 1)
    ]
    mark = {"type": "bar", "width": max(_WIDTH / max(len(rows), 1) - 1, 0.4)}
    x = _number("at", "queries, from the largest loss on", scale={"domain": [0, len(rows) + 1]})
    return _chart(rows, mark=mark, encoding={"x": x, "y": y, "color": _by_side(rows, _COLOUR), **_WORDS}, **size)


def pairs_chart(pairs: Iterable[tuple[str, float, float]], run: str, baseline: str) -> Chart:
    """Each query as a point: the score of the baseline and that of the run. Above the line the run is better."""
    rows = [
        {"baseline": b, "run": r, "side": side_of(r - b), "words": f"{q}: {rounded(b)} to {rounded(r)}"}
        for q, b, r in pairs
    ]
    if len(rows) > _MOST_POINTS:
        binned = {"bin": {"maxbins": 40}}
        colour = {"aggregate": "count", "type": "quantitative", "title": "queries", "scale": {"type": "log"}}
        places = {"x": _number("baseline", baseline, **binned), "y": _number("run", run, **binned)}
        points: Chart = {"mark": "rect", "encoding": {**places, "color": colour}}
    else:
        places = {"x": _number("baseline", baseline), "y": _number("run", run)}
        sides = {"shape": _by_side(rows, _POINT), "color": _by_side(rows, _COLOUR), **_WORDS}
        points = {"mark": {"type": "point", "filled": True, "opacity": 0.7, "size": 60}, "encoding": places | sides}
    diagonal = {
        "data": {"values": [{"one": 0, "other": 0}, {"one": 1, "other": 1}]},
        "mark": {"type": "line", **_DASHED},
        "encoding": {"x": {"field": "one", "type": "quantitative"}, "y": {"field": "other", "type": "quantitative"}},
    }
    return _chart(rows, layer=[points, diagonal], width=340, height=340)


def histogram(bins: Sequence[Mapping[str, Any]], title: str) -> Chart:
    """Bars of counts; rows have label and queries, in order."""
    x = _text("label", title, sort=None, axis={"labelAngle": -45, "titlePadding": 16})
    y = _number("queries", "queries", axis={"tickMinStep": 1, "format": ",d"})
    mark = {"type": "bar", "color": SIDES["better"][_COLOUR]}
    return _chart(bins, mark=mark, encoding={"x": x, "y": y}, width=_WIDTH, height=180)


def drawing(chart: Chart, title: str) -> str:
    """The chart as an element of SVG for a page, in its colours. Every name in it is escaped.

    It is one image to a screen reader, which has its numbers in a table; browsers do not know the roles that Vega gives
    its parts.
    """
    import vl_convert

    marks = _MARK.sub(r"<\1 \3><title>\2</title></\1>", vl_convert.vegalite_to_svg({**chart, "config": _ON_A_PAGE}))
    drawn = _NOISE.sub("", marks)
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{html.escape(printable(title))}" ', 1)


def _number(field: str, title: str | None = None, **more: Any) -> Chart:
    return {"field": field, "type": "quantitative", "title": title, **more}


def _text(field: str, title: str | None = None, **more: Any) -> Chart:
    return {"field": field, "type": "nominal", "title": title, **more}


def _by_side(rows: Sequence[Mapping[str, Any]], what: int) -> Chart:
    """The colour or the point of each side, with a legend of those that there are."""
    sides = [side for side in SIDES if any(row["side"] == side for row in rows)]
    legend = {"legend": None} if len(sides) == 1 else {}
    return _text("side", scale={"domain": sides, "range": [SIDES[side][what] for side in sides]}, **legend)


def side_of(difference: float) -> str:
    """Which of SIDES a difference is on."""
    return "the same" if abs(difference) <= 1e-9 else "better" if difference > 0 else "worse"


def _chart(rows: Sequence[Mapping[str, Any]], **specification: Any) -> Chart:
    """A chart of these rows. Every text is printable, as drawing one that XML does not allow ends the process."""
    schema = {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "data": {"name": "rows"}}
    chart: Chart = _printable({**schema, "datasets": {"rows": list(rows)}, **specification})
    return chart


def _printable(value: Any) -> Any:
    """The value of JSON with every text in it printable."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_printable(each) for each in value]
    return {name: _printable(each) for name, each in value.items()} if isinstance(value, dict) else value


def _days(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """At most _MOST_TICKS of the days that there are, evenly chosen, as JavaScript counts time."""
    dates = sorted({row["date"] for row in rows})
    last, ticks = len(dates) - 1, min(len(dates), _MOST_TICKS)
    chosen = sorted({dates[round(tick * last / max(ticks - 1, 1))] for tick in range(ticks)})
    return [datetime.datetime.fromisoformat(f"{date}T00:00:00+00:00").timestamp() * 1000 for date in chosen]


def _nights(line: TrendLine) -> list[dict[str, Any]]:
    rows, stretch = [], 0
    for point, queries in zip(line.points, line.queries, strict=True):
        stretch += bool(point.breaks)
        rows.append(
            {
                "panel": f"{line.dataset} {line.measure}@{format_cutoff(line.cutoff)}",
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

"""Charts in Vega-Lite, and pictures of them without a browser. What draws them is the extra `report`."""

from collections.abc import Sequence
from typing import Any

from ndcg_spark.comparison.nightly import Line
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.sheets.sheet import at

#: A specification of Vega-Lite.
Chart = dict[str, Any]

_FLAGS, _SHAPES = ["outlier", "drop"], ["circle", "triangle-down"]


def _altair() -> Any:
    """Altair, whose data may be as long as it needs to be. ConfigurationError if it is not installed."""
    try:
        import altair
        import vl_convert  # noqa: F401  # needed by whoever draws
    except ImportError as error:
        raise ConfigurationError(
            f"report: {error.name} is not installed, which draws charts; install the extra report, "
            "pip install 'ndcg-spark[report]'"
        ) from error
    altair.data_transformers.disable_max_rows()
    return altair


def trend_chart(lines: Sequence[Line]) -> Chart:
    """The trends as a chart, a panel for each dataset and measure: a line per run, marks where a night stands out."""
    alt = _altair()
    rows = [row for line in lines for row in _points(line)]
    data = alt.Data(values=rows)
    run = alt.Color("run:N", title="run")
    score = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False))
    # In UTC, or a date would begin the evening before in half of the world.
    days = alt.X("date:T", title=None, scale=alt.Scale(type="utc"), axis=alt.Axis(format="%d %b", labelOverlap=True))
    base = alt.Chart(data).encode(x=days)
    tooltip = [alt.Tooltip(name) for name in ("date:T", "run:N", "value:Q", "queries:Q", "why:N")]
    # A line for each stretch of comparable nights: nothing is joined across a break.
    joined = base.mark_line().encode(
        y=score, color=run, strokeDash=alt.StrokeDash("run:N", legend=None), detail="stretch:N"
    )
    nights = base.mark_point(filled=True, size=18).encode(y=score, color=run, tooltip=tooltip)
    flagged = (
        base.transform_filter("datum.flag != ''")
        .mark_point(size=110, strokeWidth=2)
        .encode(
            y=score,
            color=run,
            shape=alt.Shape("flag:N", title="stands out", scale=alt.Scale(domain=_FLAGS, range=_SHAPES)),
            tooltip=tooltip,
        )
    )
    broken = base.transform_filter("datum.breaks != ''").mark_rule(strokeDash=[4, 3], color="#888")
    layered = alt.layer(broken, joined, nights, flagged).properties(width=720, height=220)
    panels = layered.facet(row=alt.Row("panel:N", title=None)).resolve_scale(y="independent")
    chart: Chart = panels.to_dict()
    return chart


def picture(chart: Chart, style: str) -> bytes:
    """The chart as `png` or `svg`, drawn without a browser and without a network."""
    import vl_convert

    if style == "svg":
        return str(vl_convert.vegalite_to_svg(chart)).encode()
    return bytes(vl_convert.vegalite_to_png(chart, scale=2))


def _points(line: Line) -> list[dict[str, Any]]:
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
                "why": "; ".join(flag.words for flag in point.flags),
                "breaks": " and ".join(point.breaks),
            }
        )
    return rows

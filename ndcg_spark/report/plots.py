"""Scores in memory as charts and as the table of a paper."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ndcg_spark.comparison.api import compare
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report import words
from ndcg_spark.scores import Scores, SparkScores
from ndcg_spark.tables.scores import paper_table
from ndcg_spark.tables.writers import latex as latex_lines
from ndcg_spark.tables.writers import rendered
from ndcg_spark.text import unknown_name

_MARKS = {"better": "+", "worse": "$-$"}
#: Differences of at most this size are ties.
_TIE = 1e-9


@dataclasses.dataclass(frozen=True)
class Plot:
    """A chart, which a notebook shows; `svg` is its text."""

    svg: str

    def save(self, file: str | Path) -> None:
        """Write the chart to an SVG file."""
        Path(file).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"a chart of {len(self.svg):,} characters of SVG; a notebook shows it, and save writes it"


def plot_queries(scores: Scores | SparkScores, run: str, baseline: str, measure: str | None = None) -> Plot:
    """The difference of every query, from the largest loss to the largest gain, and both scores of each.

    Parameters
    ----------
    scores : Scores or SparkScores
        What `evaluate` returned.
    run, baseline : str
        The run, and the one that it is compared with.
    measure : str, optional
        Such as ``ndcg@10`` or ``AP``; by default the first.

    Raises
    ------
    ConfigurationError
        There is no such run or measure, or no query that both runs have a score for.
    """
    scores = scores.to_pandas() if isinstance(scores, SparkScores) else scores
    table = scores.per_query(measure)
    for option, name in (("run", run), ("baseline", baseline)):
        if name not in table:
            raise unknown_name(option, "run", name, list(map(str, table.columns)))
    both = table[[run, baseline]].dropna()
    if both.empty:
        raise ConfigurationError(f"run: {run} and {baseline} have no query in common that has a score; name others")
    changes = (both[run] - both[baseline]).sort_values()
    low, high = min(0.0, both.to_numpy().min()), max(1.0, both.to_numpy().max())
    most = max(abs(changes.iloc[0]), abs(changes.iloc[-1]), _TIE)
    tones = {query: _tone(change) for query, change in changes.items()}
    width = 440 / len(changes)
    bars = [
        {
            "query": _text(query),
            "change": words.change(change),
            "tone": tones[query],
            "x": f"{10 + at * width:.2f}",
            "width": f"{max(0.3, 0.85 * width):.2f}",
            "y": f"{150 - max(change, 0) / most * 115:.1f}",
            "height": f"{abs(change) / most * 115:.1f}",
        }
        for at, (query, change) in enumerate(changes.items())
        if abs(change) > _TIE
    ]
    dots = [
        {
            "query": _text(query),
            "tone": tones[query],
            "x": _at(theirs, low, high, 500),
            "y": _at(ours, low, high, 270, -1),
        }
        for query, ours, theirs in both.itertuples(name=None)
    ]
    counts = {tone: sum(each == tone for each in tones.values()) for tone in ("bad", "mid", "ok")}
    shown = {"lost": counts["bad"], "tied": counts["mid"], "won": counts["ok"], "mean": words.change(changes.mean())}
    label = f"{run} against {baseline}: {shown['lost']} queries lost, {shown['tied']} unchanged, {shown['won']} won"
    named = {"run": run, "baseline": baseline, "measure": measure or str(scores.table().columns[0]), "label": label}
    ends = {"low": words.score(low), "high": words.score(high)}
    return Plot(
        rendered("report/plots.svg.j2", chart="queries", zero=150, bars=bars, dots=dots, **named, **ends, **shown)
    )


def plot_runs(scores: Scores | SparkScores, baseline: str | None = None, measure: str | None = None) -> Plot:
    """The mean of every run, the best first; with a baseline the difference from it, with its interval.

    Parameters
    ----------
    scores : Scores or SparkScores
        What `evaluate` returned.
    baseline : str, optional
        The run that the others are compared with.
    measure : str, optional
        Such as ``ndcg@10`` or ``AP``; by default the first.

    Raises
    ------
    ConfigurationError
        There is no such run or measure.
    """
    scores = scores.to_pandas() if isinstance(scores, SparkScores) else scores
    shown = measure or str(scores.table().columns[0])
    if baseline is None:
        means = scores.per_query(shown).mean().sort_values(ascending=False)
        rows = [{"run": str(run), "at": mean, "tone": "mid", "text": words.score(mean)} for run, mean in means.items()]
        return _forest(f"mean {shown}", rows, None)
    compared = compare(scores, baseline, measures=shown, full=True)
    rows = [
        {
            "run": row["run"],
            "at": row["difference"],
            "low": row["interval_low"],
            "high": row["interval_high"],
            "tone": words.TONES.get(row["conclusion"], "mid"),
            "text": f"{words.change(row['difference'])} {str(row['conclusion']).replace('_', ' ')}",
        }
        for row in compared.sort_values("difference", ascending=False).to_dict("records")
    ]
    return _forest(f"{shown} less that of {baseline}, with 95 % intervals", rows, 0.0)


def latex(scores: Scores | SparkScores, baseline: str | None = None) -> str:
    """The scores as the table of a paper: a row per run, the best in bold; ``print(latex(scores, "bm25"))``.

    With a baseline, runs that are better have a plus sign and those that are worse a minus sign, by the conclusion of
    `compare`.

    Raises
    ------
    ConfigurationError
        There is no such run.
    """
    scores = scores.to_pandas() if isinstance(scores, SparkScores) else scores
    rows = [
        {str(name): None if pd.isna(value) else value for name, value in row.items()}
        for row in scores.dataset_scores.to_dict("records")
        if pd.isna(row["attribute"])
    ]
    notes, marks = [f"{row['convention']}: {row['formula']}" for row in rows[:1]], {}
    if baseline is not None:
        compared = compare(scores, baseline, measures=list(map(str, scores.table().columns)), full=True)
        for row in compared.to_dict("records"):
            cutoff = None if pd.isna(row["cutoff"]) else int(row["cutoff"])
            marks[row["dataset"], row["run"], row["measure"], cutoff] = _MARKS.get(row["conclusion"], "")
        notes.append(f"+: better than {baseline}, -: worse (paired t test and random signs, Holm, 0.05)")
    table = paper_table(rows, None, notes, scores.measures, marks)
    return "\n".join(latex_lines(table))


def _forest(title: str, rows: Sequence[Mapping[str, Any]], zero: float | None) -> Plot:
    ends = [row[name] for row in rows for name in ("at", "low", "high") if row.get(name) is not None]
    low, high = min([*ends, 0.0]), max([*ends, *([] if zero is None else [zero])])

    def at(value: float | None) -> str | None:
        return None if value is None or value != value else f"{200 + 380 * (value - low) / ((high - low) or 1):.1f}"  # noqa: PLR0124  # NaN

    marks = [{**row, **{name: at(row.get(name)) for name in ("at", "low", "high")}} for row in rows]
    label = f"{title}: {', '.join(' '.join((row['run'], row['text'])) for row in rows[:20])}"
    return Plot(rendered("report/plots.svg.j2", chart="runs", title=title, rows=marks, zero=at(zero), label=label))


def _tone(change: float) -> str:
    return "bad" if change < -_TIE else "ok" if change > _TIE else "mid"


def _text(query: object) -> str:
    return " ".join(map(str, query)) if isinstance(query, tuple) else str(query)


def _at(value: float, low: float, high: float, start: float, sign: int = 1) -> str:
    return f"{start + sign * 240 * (value - low) / (high - low):.1f}"

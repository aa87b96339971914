"""Tables for people: rows by heading. The format of a value depends on its heading and type."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.convention.measures import MEASURES, NDCG_ONLY, MeasureSet, by_run, format_cutoff
from ndcg_spark.tables import format as numbers
from ndcg_spark.text import printable
from ndcg_spark.tolerance import DECIMALS


def answered_in_words(row: Mapping[str, Any]) -> str:
    """A phrase on how many queries a side answered, if one of them answered few; otherwise empty.

    `row` is a row of COMPARISONS.
    """
    if "few_answered" not in row["flags"]:
        return ""
    own, other = row["answered_queries"], row["baseline_answered_queries"]
    who = "" if own < other else "the baseline "
    return f"{who}answered {min(own, other):,} of {row['judged_queries']:,} queries"


def verdict_in_words(verdict: Mapping[str, Any]) -> str:
    word = "no verdict" if verdict["verdict"] == "none" else str(verdict["verdict"])
    if verdict.get("accepted"):
        return f"{word} (accepted)"
    is_known = word == "fail" and bool(verdict.get("acknowledged"))
    return f"{word} (acknowledged)" if is_known else word


_DIFFERENCES = (
    *("difference", "change", "chained change", "loss"),
    *("allowed", "allowed rise", "interval low", "interval high"),
)
#: Numbers from the inputs, which are shown unrounded.
_IN_FULL = ("gain", "ideal gain", "grade", "relevance", "score")
#: The formats of columns that are not shown as scores or counts.
_FORMS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(_DIFFERENCES, numbers.difference),
    **dict.fromkeys(_IN_FULL, "{:g}".format),
    **dict.fromkeys(("p", "p (adjusted)", "p (decides)"), numbers.p_value),
    "share of the change": numbers.share,
    "moved": "{:+d}".format,
}
#: Text columns that are aligned like numbers.
_ON_THE_RIGHT = ("cutoff", "relevance", "interval", "won/tied/lost", "higher/tied/lower")


def cell(heading: str, value: Any) -> str:
    """A value as text that cannot control a terminal; our own markup is unchanged."""
    if hasattr(value, "__html__"):
        return value  # type: ignore[no-any-return]
    if heading == "cutoff":
        return format_cutoff(value)
    if value is None:
        return "unjudged" if heading == "relevance" else "-"
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    form = _FORMS.get(heading) or (numbers.score if isinstance(value, float) else "{:,}".format)
    return form(value)


def _is_number(value: Any) -> bool:
    # In Python, True is an int.
    return isinstance(value, int | float) and not isinstance(value, bool)


def deepest_count(rows: Iterable[Mapping[str, Any]], name: str) -> int | None:
    """The count at the deepest cutoff that has one; `rows` are sorted by cutoff."""
    found = None
    for row in rows:
        if row.get(name) is not None:
            found = int(row[name])
    return found


def shown_value(measure: str, value: float | None) -> float | int | None:
    """The value of a measure for a cell: a number of items without decimals."""
    if measure != "items" or value is None:
        return value
    return int(value)


class Marked(float):
    """A score in a paper's table: whether it is the best in its column, and its stars."""

    is_best: bool = False
    stars: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    #: Values by heading; every row has the same headings.
    rows: Sequence[Mapping[str, Any]]
    headings: Sequence[str]
    #: Sentences below the table.
    notes: Sequence[str] = ()
    #: The title above the table, and the sentences below the title.
    title: str = ""
    sentences: Sequence[str] = ()

    @functools.cached_property
    def numbers(self) -> Collection[int]:
        """The positions, from 0, of number columns, which are aligned on the right."""
        return {at for at, heading in enumerate(self.headings) if self._has_numbers(heading)}

    def _has_numbers(self, heading: str) -> bool:
        values = [row[heading] for row in self.rows]
        # A column without values is a score that is null everywhere.
        is_null = bool(values) and all(value is None for value in values)
        has_number = any(map(_is_number, values))
        return heading in _ON_THE_RIGHT or is_null or has_number

    @property
    def cells(self) -> list[list[str]]:
        return list(map(self._row_cells, self.rows))

    def _row_cells(self, row: Mapping[str, Any]) -> list[str]:
        return [cell(heading, row[heading]) for heading in self.headings]


def make_table(
    rows: Sequence[Mapping[str, Any]],
    names: Iterable[str] = (),
    notes: Iterable[str] = (),
    kept: Collection[str] = (),
    **more: Any,
) -> Table:
    """A table of these columns, by default all; the column of a single dataset is left out.

    Columns without values are left out, except those in `kept`, which were requested.
    """
    shown = list(names)
    if rows and not shown:
        shown = list(rows[0])
    if len({row.get("dataset") for row in rows}) < 2:
        shown = [name for name in shown if name != "dataset"]
    # A null cutoff is the whole ranking, and a null relevance is an unjudged document.
    always = ("cutoff", "relevance", *kept)
    if rows:
        shown = [name for name in shown if name in always or _has_value(rows, name)]
    headings = {name: printable(name.replace("_", " ")) for name in shown}
    values = []
    for row in rows:
        values.append({heading: row[name] for name, heading in headings.items()})
    return Table(values, list(headings.values()), list(map(printable, notes)), **more)


def _has_value(rows: Iterable[Mapping[str, Any]], name: str) -> bool:
    return any(row[name] is not None for row in rows)


def best_first(score: float | None, name: str) -> tuple[bool, float, str]:
    """A sort key: the highest score first, equal scores by name, missing scores last."""
    return score is None, -round(score or 0.0, DECIMALS), name


class DatasetScores(NamedTuple):
    """Dataset score rows: those for all queries, and those for slices."""

    all_queries: list[dict[str, Any]]
    slices: list[dict[str, Any]]


def split_slices(rows: Iterable[Mapping[str, Any]]) -> DatasetScores:
    """Separate the rows for slices from the rows for all queries.

    Both are sorted by dataset, run and cutoff; rows for slices are sorted by slice first.
    """
    scores = DatasetScores([], [])
    for row in sorted(rows, key=by_run):
        is_of_slice = row.get("attribute") is not None
        part = scores.slices if is_of_slice else scores.all_queries
        part.append(dict(row))
    scores.slices.sort(key=lambda row: (row["attribute"], row["value"]))
    return scores


def sorted_runs(
    rows: Iterable[Mapping[str, Any]], measure_set: MeasureSet = NDCG_ONLY
) -> list[list[Mapping[str, Any]]]:
    """The dataset score rows as one list by cutoff for each dataset and run.

    They are sorted by dataset, and the best by the headline comes first.
    """
    ordered = sorted(rows, key=by_run)
    headline, cutoff = measure_set.headline(row["cutoff"] for row in ordered)
    column = MEASURES[headline].column

    def key(run: list[Mapping[str, Any]]) -> tuple[Any, ...]:
        scores = (row.get(column) for row in run if row["cutoff"] == cutoff)
        return run[0]["dataset"], *best_first(next(scores, None), run[0]["run"])

    grouped = itertools.groupby(ordered, lambda row: (row["dataset"], row["run"]))
    return sorted((list(run) for _, run in grouped), key=key)

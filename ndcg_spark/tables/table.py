"""Tables for people: rows by heading. The format of a value depends on its heading and type."""

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.convention.measures import MEASURES, NDCG_ONLY, MeasureSet, by_run, format_cutoff
from ndcg_spark.tables import format as numbers
from ndcg_spark.text import printable
from ndcg_spark.tolerance import DECIMALS


def answered_in_words(row: Mapping[str, Any]) -> str:
    """`the baseline answered 40 of 60 queries`, if a side answered few; otherwise empty.

    `row` is a row of COMPARISONS. Without a subject, the phrase is about the run.
    """
    if "few_answered" not in row["flags"]:
        return ""
    own = row["answered_queries"]
    baseline = row["baseline_answered_queries"]
    of_judged = f"of {row['judged_queries']:,} queries"
    if own < baseline:
        return f"answered {own:,} {of_judged}"
    return f"the baseline answered {baseline:,} {of_judged}"


def verdict_in_words(verdict: Mapping[str, Any]) -> str:
    """`pass`, `no verdict (accepted)` or `fail (acknowledged)`."""
    word = str(verdict["verdict"])
    if word == "none":
        word = "no verdict"
    if verdict.get("accepted"):
        return f"{word} (accepted)"
    if word == "fail" and verdict.get("acknowledged"):
        return f"{word} (acknowledged)"
    return word


_DIFFERENCES = (
    *("difference", "change", "chained change", "loss"),
    *("allowed", "allowed rise", "interval low", "interval high"),
)
#: Numbers from the inputs, which are shown unrounded.
_IN_FULL = ("gain", "ideal gain", "grade", "relevance", "score")
_P_VALUES = ("p", "p (adjusted)", "p (decides)")
#: The functions that format columns of numbers; others are shown as scores or counts.
_FORMATS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(_DIFFERENCES, numbers.difference),
    **dict.fromkeys(_IN_FULL, "{:g}".format),
    **dict.fromkeys(_P_VALUES, numbers.p_value),
    "share of the change": numbers.share,
    "moved": "{:+d}".format,
}
_YES_NO = {True: "yes", False: "no"}
#: Text columns that are aligned like numbers.
_ON_THE_RIGHT = (
    *("cutoff", "relevance", "interval", "queries"),
    *("won/tied/lost", "higher/tied/lower"),
)


def cell_text(heading: str, value: Any) -> str:
    """A value as text that cannot control a terminal; our own markup is unchanged."""
    if hasattr(value, "__html__"):
        return value  # type: ignore[no-any-return]  # a Markup, which is a str
    if heading == "cutoff":
        return format_cutoff(value)
    if value is None:
        return "unjudged" if heading == "relevance" else "-"
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, bool):
        return _YES_NO[value]
    return _number_text(heading, value)


def _number_text(heading: str, value: float) -> str:
    if heading in _FORMATS:
        return _FORMATS[heading](value)
    if isinstance(value, float):
        return numbers.score(value)
    return f"{value:,}"


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        # In Python, True is an int.
        return False
    return isinstance(value, int | float)


def deepest_count(rows: Iterable[Mapping[str, Any]], name: str) -> int | None:
    """The count at the deepest cutoff that has one; `rows` are sorted by cutoff."""
    found = None
    for row in rows:
        if row.get(name) is not None:
            found = int(row[name])
    return found


def shown_value(measure: str, value: float | None) -> float | int | None:
    """The value of a measure for a cell; a number of items has no decimals."""
    if value is None:
        return None
    if measure == "items":
        return int(value)
    return value


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
        """The positions, from 0, of the columns that are aligned on the right."""
        positions = set()
        for at, heading in enumerate(self.headings):
            if self._is_on_the_right(heading):
                positions.add(at)
        return positions

    def _is_on_the_right(self, heading: str) -> bool:
        if heading in _ON_THE_RIGHT:
            return True
        values = [row[heading] for row in self.rows]
        if any(map(_is_number, values)):
            return True
        if not values:
            return False
        # A column without values is a score that is null everywhere.
        return all(value is None for value in values)

    @property
    def cells(self) -> list[list[str]]:
        return list(map(self._row_cells, self.rows))

    def _row_cells(self, row: Mapping[str, Any]) -> list[str]:
        return [cell_text(heading, row[heading]) for heading in self.headings]


def make_table(
    rows: Sequence[Mapping[str, Any]],
    names: Iterable[str] = (),
    notes: Iterable[str] = (),
    kept: Collection[str] = (),
    **more: Any,
) -> Table:
    """A table of these columns, by default all; the column of a single dataset is left out.

    Columns without values are left out, except those in `kept`, which were requested. `more`: the
    title and the sentences.
    """
    shown = _shown_columns(rows, names, kept)
    headings = {name: printable(name.replace("_", " ")) for name in shown}
    values = []
    for row in rows:
        values.append({heading: row[name] for name, heading in headings.items()})
    return Table(values, list(headings.values()), list(map(printable, notes)), **more)


def _shown_columns(
    rows: Sequence[Mapping[str, Any]],
    names: Iterable[str],
    kept: Collection[str],
) -> list[str]:
    shown = list(names)
    if rows and not shown:
        shown = list(rows[0])
    datasets = {row.get("dataset") for row in rows}
    if "dataset" in shown and len(datasets) < 2:
        shown.remove("dataset")
    # A null cutoff is the whole ranking, and a null relevance is an unjudged document.
    for name in _without_values(rows, shown):
        if name not in ("cutoff", "relevance", *kept):
            shown.remove(name)
    return shown


def _without_values(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> list[str]:
    """The columns that are null in every row; none if there are no rows."""
    if not rows:
        return []
    empty = []
    for name in names:
        values = [row[name] for row in rows]
        if all(value is None for value in values):
            empty.append(name)
    return empty


def best_first(score: float | None, name: str) -> tuple[bool, float, str]:
    """A sort key: the highest score first, equal scores by name, missing scores last."""
    if score is None:
        return True, 0.0, name
    return False, -round(score, DECIMALS), name


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
        if row.get("attribute") is None:
            scores.all_queries.append(dict(row))
        else:
            scores.slices.append(dict(row))
    scores.slices.sort(key=lambda row: (row["attribute"], row["value"]))
    return scores


def sorted_runs(
    rows: Iterable[Mapping[str, Any]],
    measure_set: MeasureSet = NDCG_ONLY,
) -> list[list[Mapping[str, Any]]]:
    """A list of dataset score rows, sorted by cutoff, for each dataset and run.

    The lists are sorted by dataset, with the best run by the headline measure first.
    """
    ordered = sorted(rows, key=by_run)
    runs: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in ordered:
        runs.setdefault((row["dataset"], row["run"]), []).append(row)
    headline, cutoff = measure_set.headline(row["cutoff"] for row in ordered)
    column = MEASURES[headline].column

    def key(run: list[Mapping[str, Any]]) -> tuple[Any, ...]:
        score = None
        for row in run:
            if row["cutoff"] == cutoff:
                score = row.get(column)
        return run[0]["dataset"], *best_first(score, run[0]["run"])

    return sorted(runs.values(), key=key)

"""The order of printed rows, as in `--sort`: a column, and optionally a cutoff and a direction."""

import contextlib
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.convention.measures import COLUMNS, MEASURES, NDCG_ONLY, MeasureSet, by_run, format_cutoff
from ndcg_spark.convention.parsing import ALL_CUTOFFS, parse_columns
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.text import did_you_mean

_DIRECTIONS = {"asc": False, "desc": True}

#: The columns by which rows of each kind can be sorted. By default text is ascending and numbers are descending.
DATASET_COLUMNS = (
    *("run", "ndcg", *COLUMNS, "ndcg_pooled", "ndcg_stddev", "ndcg_stderr", "dcg", "judged_rate"),
    *("queries", "missing_queries", "no_relevant_queries", "unjudged_queries"),
)
QUERY_COLUMNS = ("run", "query_id", "ndcg", *COLUMNS, "dcg", "ideal_dcg", "cg", "returned", "judged", "status")
_TEXTS = frozenset({"run", "query_id", "status"})
#: Scores are compared to this many decimals, because sums in different orders differ after them.
DECIMALS = 12


class Order(NamedTuple):
    """The column by which rows are sorted, its cutoff, and whether the largest value comes first."""

    column: str
    #: 'all' or a rank, None for the main cutoff of the column.
    cutoff: str | None
    descending: bool

    @property
    def is_text(self) -> bool:
        """Whether the column has text rather than numbers."""
        return self.column in _TEXTS

    def key(self, value: Any) -> tuple[Any, ...]:
        """A sort key for a value of the column: those without one come last."""
        if isinstance(value, str):
            # Backwards, the letters of a name are those of its complement, and a longer name comes first.
            return False, [-ord(letter) for letter in value] + [1] if self.descending else value
        rounded = round(value or 0, DECIMALS)
        return value is None, -rounded if self.descending else rounded


def best_first(score: float | None, name: str) -> tuple[bool, float, str]:
    """A sort key: the highest score first, equal ones by name, those without a score last."""
    return score is None, -round(score or 0.0, DECIMALS), name


def parse_order(
    text: str, columns: Sequence[str], cutoffs: Iterable[int | None], computed: Collection[str] = COLUMNS
) -> Order:
    """The order that a text such as `ndcg`, `P@10`, `run:desc` or `judged_rate@10:asc` describes.

    `computed` are the columns of measures besides NDCG that have values.
    """
    named, colon, direction = text.partition(":")
    column, sign, cutoff = named.partition("@")
    if column not in columns:
        # As papers write a measure: `P@5`.
        with contextlib.suppress(ConfigurationError):
            column, at = parse_columns(named)[0]
            sign = cutoff = "" if at == ALL_CUTOFFS else at
    if column not in columns:
        raise ConfigurationError(
            f"sort: no column is called {column!r}{did_you_mean(column, columns)}; one of {', '.join(columns)}"
        )
    if column in COLUMNS and column not in computed:
        raise ConfigurationError(f"sort: {column} is not computed; ask for its measure with --measures")
    if colon and direction not in _DIRECTIONS:
        raise ConfigurationError(f"sort: {direction!r} is not a direction; write {named}:asc or {named}:desc")
    known = list(map(format_cutoff, cutoffs))
    if sign and cutoff not in known:
        raise ConfigurationError(f"sort: no score at {cutoff!r} is computed; the cutoffs are {', '.join(known)}")
    return Order(column, cutoff or None, _DIRECTIONS[direction] if colon else column not in _TEXTS)


def without_slices(
    rows: Iterable[Mapping[str, Any]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of dataset scores of all queries, by dataset, run and cutoff; and those of slices, first by slice.

    Rows of earlier versions have no slices.
    """
    ordered = list(map(dict, sorted(rows, key=by_run)))
    sliced = [row for row in ordered if row.get("attribute") is not None]
    sliced.sort(key=lambda row: (row["attribute"], row["value"]))
    return [row for row in ordered if row.get("attribute") is None], sliced


def sorted_runs(
    rows: Iterable[Mapping[str, Any]], order: Order | None = None, measure_set: MeasureSet = NDCG_ONLY
) -> list[list[Mapping[str, Any]]]:
    """The rows of dataset scores, a list by cutoff per dataset and run; by dataset, then in the order, then by run.

    Without an order the best by the headline of the `measure_set` comes first. Runs without a value come last.
    """
    ordered = sorted(rows, key=by_run)
    grouped = itertools.groupby(ordered, lambda row: (row["dataset"], row["run"]))
    headline, depth = measure_set.headline(row["cutoff"] for row in ordered)
    order = order or Order(MEASURES[headline].column, format_cutoff(depth), descending=True)
    valued = [row["cutoff"] for row in ordered if row.get(order.column) is not None]
    cutoff = order.cutoff or format_cutoff(measure_set.main_cutoff(order.column, valued))

    def key(run: list[Mapping[str, Any]]) -> tuple[Any, ...]:
        value = next((row.get(order.column) for row in run if format_cutoff(row["cutoff"]) == cutoff), None)
        return run[0]["dataset"], *order.key(value)

    # Sorting keeps the order of equals, that by name.
    return sorted((list(run) for _, run in grouped), key=key)

"""The order of printed rows, as `--sort` names it: a column, perhaps its cutoff, perhaps its direction."""

import contextlib
import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.convention.cutoffs import order_of as by_depth
from ndcg_spark.convention.measures import COLUMNS
from ndcg_spark.convention.requests import columns_of
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.plain import did_you_mean
from ndcg_spark.sheets.sheet import at

_DIRECTIONS = {"asc": False, "desc": True}

#: The columns by which rows of either kind can be sorted. Text is sorted from A on, numbers from the largest on.
OF_DATASETS = (
    *("run", "ndcg", *COLUMNS, "ndcg_pooled", "ndcg_stddev", "dcg", "judged_rate"),
    *("queries", "missing_queries", "no_relevant_queries", "unjudged_queries"),
)
OF_QUERIES = ("run", "query_id", "ndcg", *COLUMNS, "dcg", "ideal_dcg", "cg", "returned", "judged", "status")
_TEXTS = frozenset({"run", "query_id", "status"})


@dataclasses.dataclass(frozen=True)
class Order:
    """By which column rows are sorted, at which cutoff, and whether the largest value comes first."""

    column: str
    #: 'all' or a rank, None for the deepest cutoff at which any row has a value.
    cutoff: str | None
    descending: bool


def order_of(
    text: str, columns: Sequence[str], cutoffs: Iterable[int | None], computed: Collection[str] = COLUMNS
) -> Order:
    """The order that a text such as `ndcg`, `P@10`, `run:desc` or `judged_rate@10:asc` describes.

    `computed` are the columns of measures beside NDCG that have values.

    Raises
    ------
    ConfigurationError
        There is no such column, direction or cutoff, or the measure is not computed.
    """
    named, colon, direction = text.partition(":")
    column, sign, cutoff = named.partition("@")
    if column not in columns:
        # As the field writes a measure: `P@5`.
        with contextlib.suppress(ConfigurationError):
            column, found = columns_of(named)[0]
            sign = cutoff = "" if found == "each" else found
    if column not in columns:
        raise ConfigurationError(
            f"sort: no column is called {column!r}{did_you_mean(column, columns)}; one of {', '.join(columns)}"
        )
    if column in COLUMNS and column not in computed:
        raise ConfigurationError(f"sort: {column} is not computed; ask for its measure with --measures")
    if colon and direction not in _DIRECTIONS:
        raise ConfigurationError(f"sort: {direction!r} is no direction; write {named}:asc or {named}:desc")
    known = [at(each) for each in cutoffs]
    if sign and cutoff not in known:
        raise ConfigurationError(f"sort: no score at {cutoff!r} is computed; the cutoffs are {', '.join(known)}")
    return Order(column, cutoff or None, _DIRECTIONS[direction] if colon else column not in _TEXTS)


def by_cutoff(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows by dataset, run and cutoff, the whole ranking last."""
    return sorted(rows, key=lambda row: (row["dataset"], row["run"], row["cutoff"] is None, row["cutoff"] or 0))


def by_run(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    """The rows of each dataset and run, in the order in which they come."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["dataset"], row["run"]), []).append(row)
    return found


def in_order(rows: Iterable[Mapping[str, Any]], order: Order | None = None) -> list[list[Mapping[str, Any]]]:
    """The rows of dataset scores, one list per dataset and run; by dataset, then as the order says, then by run.

    Without an order the best score at the deepest cutoff comes first. Runs without a value come last.
    """
    wanted = order or Order("ndcg", None, descending=True)
    # Sorting keeps the order of equals, also in reverse, so the least important key is sorted by first.
    runs = [of_run for _, of_run in sorted(by_run(rows).items())]
    valued = [row["cutoff"] for of_run in runs for row in of_run if row.get(wanted.column) is not None]
    cutoff = wanted.cutoff or (at(max(valued, key=by_depth)) if valued else None)

    def value(of_run: list[Mapping[str, Any]]) -> Any:
        return next((row.get(wanted.column) for row in of_run if at(row["cutoff"]) == cutoff), None)

    with_value = sorted((r for r in runs if value(r) is not None), key=value, reverse=wanted.descending)
    return sorted([*with_value, *(r for r in runs if value(r) is None)], key=lambda r: str(r[0]["dataset"]))

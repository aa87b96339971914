"""Cutoffs, the ranks down to which lists are scored: integers from 1, and None for the whole ranking."""

import operator
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from ndcg_spark.errors import ConfigurationError

Cutoff = int | None

#: Each cutoff adds columns to every plan: a hundred take seconds, a thousand took three minutes.
MAX_CUTOFFS = 100
_LARGEST = 2**31

DEFAULT_CUTOFFS: tuple[Cutoff, ...] = (1, 3, 5, 10)


def ascending(cutoffs: Iterable[object]) -> list[Cutoff]:
    """Each cutoff once, ascending, the whole ranking last."""
    listed = list(cutoffs)
    valid = {cutoff for cutoff in listed if _is_cutoff(cutoff)}
    invalid = [repr(cutoff) for cutoff in listed if not _is_cutoff(cutoff)]
    if invalid or not listed:
        what = f"invalid cutoff {', '.join(invalid)}" if invalid else "the list is empty"
        raise ConfigurationError(f"cutoffs: {what}; use positive integers or 'all'")
    if len(valid) > MAX_CUTOFFS:
        raise ConfigurationError(
            f"cutoffs: {len(valid)} are given, but one evaluation takes at most {MAX_CUTOFFS}; evaluate in parts"
        )
    return sorted(valid, key=by_depth)


def parse_cutoffs(written: object) -> list[Cutoff]:
    """The cutoffs that ``"1,3,10,all"`` or ``[1, 3, 10, "all"]`` stands for."""
    entries = written.split(",") if isinstance(written, str) else written
    return ascending(map(_parse, entries if isinstance(entries, list | tuple) else [entries]))


def parse_cutoff(written: object) -> Cutoff:
    """The cutoff that a rank or `all` stands for."""
    return ascending([_parse(written)])[0]


def format_cutoff(cutoff: Cutoff) -> str:
    """A cutoff as it is written: its rank, or `all`."""
    return str(cutoff or "all")


def column_at(column: str, cutoff: Cutoff) -> str:
    """The name of a column at one cutoff: dcg_10, dcg_all."""
    return f"{column}_{format_cutoff(cutoff)}"


def by_depth(cutoff: Cutoff) -> tuple[bool, int]:
    """A sort key for cutoffs: ascending, the whole ranking last."""
    return cutoff is None, cutoff or 0


def by_run(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """A sort key for rows of dataset scores: by dataset, run and cutoff."""
    return row["dataset"], row["run"], *by_depth(row["cutoff"])


def deepest_finite(cutoffs: Iterable[Cutoff]) -> Cutoff:
    """The deepest of the cutoffs that is a rank; None, the whole ranking, if there is none."""
    return max((cutoff for cutoff in cutoffs if cutoff is not None), default=None)


def as_list(cutoffs: Any) -> list[Any]:
    """One or several cutoffs as a list; whole numbers of any type, such as numpy's, become ints."""
    several = list(cutoffs) if isinstance(cutoffs, Iterable) and not isinstance(cutoffs, str | bytes) else [cutoffs]
    is_whole = (hasattr(cutoff, "__index__") and not isinstance(cutoff, bool) for cutoff in several)
    return [operator.index(cutoff) if whole else cutoff for cutoff, whole in zip(several, is_whole, strict=True)]


def _parse(written: object) -> object:
    """A cutoff, or the text of what is not a cutoff."""
    text = "all" if written is None else str(written).strip()
    if text == "all":
        return None
    return int(text) if text.isascii() and text.isdecimal() else text


def _is_cutoff(cutoff: object) -> TypeGuard[Cutoff]:
    return cutoff is None or (isinstance(cutoff, int) and not isinstance(cutoff, bool) and 1 <= cutoff < _LARGEST)

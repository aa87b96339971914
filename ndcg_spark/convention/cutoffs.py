"""Cutoffs, the ranks down to which lists are scored: integers from 1, and None for the whole ranking."""

from collections.abc import Iterable
from typing import TypeGuard

from ndcg_spark.errors import ConfigurationError

Cutoff = int | None

#: Each cutoff adds columns to every plan: a hundred take seconds, a thousand took three minutes.
MOST_CUTOFFS = 100
_LARGEST = 2**31

DEFAULT_CUTOFFS: tuple[Cutoff, ...] = (1, 3, 5, 10)


def ascending(cutoffs: Iterable[object]) -> list[Cutoff]:
    """Each cutoff once, ascending, the whole ranking last.

    Raises
    ------
    ConfigurationError
        There is no cutoff, one that is neither None nor a positive integer, or more than MOST_CUTOFFS.
    """
    listed = list(cutoffs)
    valid = {cutoff for cutoff in listed if _is_cutoff(cutoff)}
    wrong = [repr(cutoff) for cutoff in listed if not _is_cutoff(cutoff)]
    if wrong:
        what = "invalid cutoff" if len(wrong) == 1 else "invalid cutoffs"
        raise ConfigurationError(f"cutoffs: {what} {', '.join(wrong)}; use positive integers or 'all'")
    if not listed:
        raise ConfigurationError("cutoffs: the list is empty; use positive integers or 'all'")
    if len(valid) > MOST_CUTOFFS:
        raise ConfigurationError(
            f"cutoffs: {len(valid)} are given and one evaluation takes at most {MOST_CUTOFFS}; evaluate in parts"
        )
    return sorted(valid, key=order_of)


def order_of(cutoff: Cutoff) -> tuple[bool, int]:
    """A sort key for cutoffs: ascending, the whole ranking last."""
    return cutoff is None, cutoff or 0


def deepest_finite(cutoffs: Iterable[Cutoff]) -> Cutoff:
    """The deepest of the cutoffs that is a rank; None, the whole ranking, if none is."""
    return max((cutoff for cutoff in cutoffs if cutoff is not None), default=None)


def show(cutoff: Cutoff) -> str:
    """A cutoff as it is written: its rank, or `all`."""
    return str(cutoff or "all")


def column_at(column: str, cutoff: Cutoff) -> str:
    """The name of a column at one cutoff: dcg_10, dcg_all."""
    return f"{column}_{show(cutoff)}"


def parse(text: str) -> Cutoff | str:
    """The cutoff that `show` writes as this text; a text that is not a number is returned as it is, for `ascending`."""
    stripped = text.strip()
    if stripped == "all":
        return None
    return int(stripped) if stripped.isascii() and stripped.isdecimal() else stripped


def _is_cutoff(cutoff: object) -> TypeGuard[Cutoff]:
    return cutoff is None or (isinstance(cutoff, int) and not isinstance(cutoff, bool) and 1 <= cutoff < _LARGEST)

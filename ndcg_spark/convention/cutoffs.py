"""The ranks at which NDCG is computed: whole numbers from 1, and None for the whole ranking."""

from collections.abc import Iterable

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
        There is no cutoff, one that is neither None nor a whole number from 1, or more than MOST_CUTOFFS.
    """
    given = list(cutoffs)
    wrong = [repr(cutoff) for cutoff in given if not _is_cutoff(cutoff)]
    if wrong:
        verb = "is not a cutoff" if len(wrong) == 1 else "are not cutoffs"
        raise ConfigurationError(
            f"cutoffs: {', '.join(wrong)} {verb}; give whole numbers from 1, and all for the whole ranking"
        )
    if not given:
        raise ConfigurationError("cutoffs: there are none; give whole numbers from 1, and all for the whole ranking")
    once = sorted({cutoff for cutoff in given if cutoff is None or isinstance(cutoff, int)}, key=order_of)
    if len(once) > MOST_CUTOFFS:
        raise ConfigurationError(
            f"cutoffs: {len(once)} of them, and one evaluation takes {MOST_CUTOFFS}; give fewer, or evaluate in parts"
        )
    return once


def order_of(cutoff: Cutoff) -> tuple[bool, int]:
    """A sort key for cutoffs: ascending, the whole ranking last."""
    return cutoff is None, cutoff or 0


def deepest_finite(cutoffs: Iterable[Cutoff]) -> Cutoff:
    """The deepest of the cutoffs that is a rank; None, the whole ranking, if none is."""
    return max((cutoff for cutoff in cutoffs if cutoff is not None), default=None)


def _is_cutoff(cutoff: object) -> bool:
    if cutoff is None:
        return True
    return isinstance(cutoff, int) and not isinstance(cutoff, bool) and 1 <= cutoff < _LARGEST

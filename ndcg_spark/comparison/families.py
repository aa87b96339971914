"""Families: the sets of comparisons whose size p values are adjusted for, independent of what else is compared."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ndcg_spark.comparison.options import ComparisonOptions
from ndcg_spark.comparison.statistics import CORRECTIONS
from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.tables.comparison_notes import PRIMARY

#: The family of the measures and cutoffs beside the primary ones, over runs.
OTHER = "other measures"
#: The primary cutoff is the one nearest to this.
_USUAL_CUTOFF = 10


def adjust(rows: Sequence[dict[str, Any]], options: ComparisonOptions) -> None:
    """Give rows of COMPARISONS their family, family_size and p_adjusted.

    A family lies within a dataset and a night, and has either weighted or unweighted rows: the primary measure and
    cutoff for all queries, over runs; the other measures and cutoffs for all queries, over runs; and for a run, measure
    and cutoff the slices of an attribute. The primary measure is the first of the options, at the cutoff nearest to 10.
    Rows that did not change or have no p value are in no family.
    """
    primary = _primary_cutoffs(rows, options.names[0])
    families: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        row.update(family=None, family_size=None, p_adjusted=row["p_value"])
        if row["p_value"] is None or "unchanged" in row["flags"]:
            continue
        is_primary = (row["measure"], row["cutoff"]) == (options.names[0], primary[row["dataset"]])
        row["family"] = PRIMARY if is_primary else OTHER
        of_run: tuple[Any, ...] = ()
        if row["attribute"] is not None:
            row["family"] = f"slices of {row['attribute']}"
            of_run = (row["run"], row["measure"], row["cutoff"])
        night = (row["dataset"], row["evaluated_on"], row["weight_effective_n"] is None)
        families.setdefault((*night, row["family"], *of_run), []).append(row)
    for family in families.values():
        adjusted = CORRECTIONS[options.correction](np.array([row["p_value"] for row in family], np.float64))
        for row, p_value in zip(family, adjusted, strict=True):
            row.update(family_size=len(family), p_adjusted=float(p_value))


def _primary_cutoffs(rows: Sequence[Mapping[str, Any]], measure: str) -> dict[str, Cutoff]:
    """By dataset, the measure's cutoff that is nearest to the usual one; the whole ranking counts as the farthest."""
    found: dict[str, Cutoff] = {}
    for row in sorted(rows, key=lambda row: (row["cutoff"] is None, abs((row["cutoff"] or 0) - _USUAL_CUTOFF))):
        if row["measure"] == measure:
            found.setdefault(row["dataset"], row["cutoff"])
    return {row["dataset"]: None for row in rows} | found

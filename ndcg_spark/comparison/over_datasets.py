"""Compares runs over datasets: each dataset is one observation, with its difference of means.

Demsar (2006) recommends the signed-rank test of Wilcoxon (1945) for this. The differences of
datasets are few and have different scales, so a t test would depend mostly on the largest ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ndcg_spark.comparison import statistics
from ndcg_spark.convention.measures import CATALOG_COLUMNS, Cutoff
from ndcg_spark.tolerance import DECIMALS, EQUAL

Row = Mapping[str, Any]
#: The columns of a comparison over datasets, in the order of CSV.
COLUMNS = (
    *("run", "baseline", "baseline_night", "side", "measure", "cutoff", "datasets"),
    *("mean", "baseline_mean", "difference", "wins", "ties", "losses"),
    *("p_value", "p_adjusted", "family_size", "conclusion", "differences"),
)


class OverDatasets(NamedTuple):
    #: Sorted by measure and cutoff, then by run and baseline; both sides of a change of judgments
    #: are adjacent.
    rows: list[dict[str, Any]]
    #: Sentences that say why some runs have no row.
    sentences: list[str]


NOTHING = OverDatasets([], [])


class _Pair(NamedTuple):
    """What is compared in every dataset."""

    run: str
    baseline: str
    measure: str
    cutoff: Cutoff


def compare_over_datasets(
    rows: Sequence[Row], datasets: Sequence[str], correction: str, alpha: float
) -> OverDatasets:
    """The comparison over datasets, from each dataset's COMPARISONS rows.

    It uses the rows of all queries, without weights. A run has a row over datasets only if it was
    compared in all of them. p values are adjusted for the runs and baselines of a measure at a
    cutoff.
    """
    if len(datasets) < 2:
        return NOTHING
    found = OverDatasets([], [])
    families: dict[tuple[str, Cutoff], list[list[dict[str, Any]]]] = {}
    incomplete = {}
    for pair, own in _by_pair(rows).items():
        lacking = _lacking_datasets(own, datasets)
        if lacking:
            incomplete[pair.run] = lacking
        else:
            sides = list(_sides(pair, own, datasets))
            families.setdefault((pair.measure, pair.cutoff), []).append(sides)
    if incomplete:
        found.sentences.append(_about_incomplete(incomplete, len(datasets)))
    for family in families.values():
        _conclude(family, correction, alpha)
        for sides in family:
            found.rows.extend(sides)
    return found


def _by_pair(rows: Sequence[Row]) -> dict[_Pair, list[Row]]:
    """The unweighted rows over all queries, by what they compare."""
    pairs: dict[_Pair, list[Row]] = {}
    for row in rows:
        if row["attribute"] is None and row["weight_effective_n"] is None:
            pair = _Pair(row["run"], row["baseline"], row["measure"], row["cutoff"])
            pairs.setdefault(pair, []).append(row)
    return pairs


def _lacking_datasets(rows: Sequence[Row], datasets: Sequence[str]) -> list[str]:
    """The datasets in which a run was not compared or not measured."""
    measured = {row["dataset"] for row in rows}
    for row in rows:
        if row["difference"] is None:
            measured.discard(row["dataset"])
    return [name for name in datasets if name not in measured]


def _about_incomplete(incomplete: Mapping[str, Sequence[str]], datasets: int) -> str:
    """A sentence on the runs that some datasets lack: `{"bm25": ["web"]}`."""
    run, lacking = next(iter(incomplete.items()))
    runs = f"{len(incomplete)} run(s) are not compared over the datasets"
    what = f"could not be compared in {len(lacking)} of {datasets} datasets, e.g. {lacking[0]}"
    return f"{runs}: {run} {what}"


def _sides(pair: _Pair, rows: Sequence[Row], datasets: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One row, or one per side if a dataset's judgments have changed.

    A dataset whose judgments have not changed has the same row on both sides.
    """
    by_side: dict[str | None, dict[str, Row]] = {}
    for row in rows:
        by_side.setdefault(row["side"], {})[row["dataset"]] = row
    without_sides = by_side.pop(None, {})
    if not by_side:
        by_side = {None: {}}
    for side, with_side in by_side.items():
        own = {**without_sides, **with_side}
        yield _row(pair, side, [own[name] for name in datasets])


def _row(pair: _Pair, side: str | None, rows: Sequence[Row]) -> dict[str, Any]:
    """The row over datasets, from one row for each dataset."""
    nights = {row["baseline_night"] for row in rows}
    differences = {row["dataset"]: row["difference"] for row in rows}
    rounded = np.round(list(differences.values()), DECIMALS)
    means = {}
    for name in ("mean", "baseline_mean", "difference"):
        means[name] = float(np.mean([row[name] for row in rows]))
    return {
        **pair._asdict(),
        "baseline_night": nights.pop() if len(nights) == 1 else None,
        "side": side,
        "datasets": len(rows),
        **means,
        "wins": int(np.count_nonzero(rounded > EQUAL)),
        "ties": int(np.count_nonzero(np.abs(rounded) <= EQUAL)),
        "losses": int(np.count_nonzero(rounded < -EQUAL)),
        "p_value": statistics.signed_ranks(rounded),
        "differences": differences,
    }


def _conclude(family: Sequence[Sequence[dict[str, Any]]], correction: str, alpha: float) -> None:
    """Adjust p; both sides of a change of judgments are one comparison with the larger p."""
    adjusted = statistics.adjusted(list(map(_larger_p, family)), correction)
    for sides, p in zip(family, adjusted, strict=True):
        conclusion = _conclusion(sides) if p < alpha else "cannot_tell"
        for row in sides:
            row["p_adjusted"] = float(p)
            row["family_size"] = len(family)
            row["conclusion"] = conclusion


def _larger_p(sides: Sequence[Row]) -> float:
    return max(float(row["p_value"]) for row in sides)


def _conclusion(sides: Sequence[Row]) -> str:
    """The conclusion that all sides support."""
    differences = [row["difference"] for row in sides]
    # More of a catalog measure is neither better nor worse.
    is_of_catalog = sides[0]["measure"] in CATALOG_COLUMNS
    if min(differences) > 0:
        return "higher" if is_of_catalog else "better"
    if max(differences) < 0:
        return "lower" if is_of_catalog else "worse"
    return "cannot_tell"


def fewest_datasets(alpha: float) -> int:
    """The smallest number of differing datasets with which p can be below alpha."""
    many = 1
    while 2.0 ** (1 - many) >= alpha:
        many += 1
    return many

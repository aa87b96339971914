"""What all slices of an attribute show together: whether they differ, and whether they contradict the whole."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison import statistics
from ndcg_spark.comparison.aggregates import Aggregate
from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.slices import ALL, Slice

#: The flag of a comparison on all queries that every slice of an attribute contradicts.
SIMPSON = "simpson"


def contradictions(
    aggregates: Iterable[Aggregate], slices: Mapping[int, Slice], measures: Sequence[str]
) -> list[tuple[Aggregate, str]]:
    """Aggregates of all queries whose change of the mean every slice of an attribute contradicts, each with a sentence.

    The mean of paired differences always lies between those of its slices. The change of the mean need not if queries
    were added, removed or left out: then the mean of all queries may rise although it falls in every slice.
    """
    found = []
    for whole, attribute, values in _partitions(aggregates, slices):
        changes = [each.change for each in values if each.change is not None]
        if len(changes) > 1 and whole.change and all(change * whole.change < 0 for change in changes):
            name = f"{measures[whole.measure]}@{format_cutoff(whole.place.cutoff)}"
            sentence = (
                f"{attribute}: run={whole.place.own.run} changes by {whole.change:+.4f} in {name} over all "
                "queries, and the other way in every slice, as the two sides have different queries; compare the "
                "slices"
            )
            found.append((whole, sentence))
    return found


def slices_differ(
    aggregates: Iterable[Aggregate],
    slices: Mapping[int, Slice],
    measures: Sequence[str],
    min_queries: int,
) -> list[dict[str, Any]]:
    """The rows `Comparison.slices_differ`, in the order of the aggregates; see `statistics.slices_differ`."""
    found = []
    for whole, attribute, values in _partitions(aggregates, slices):
        moments = [each.moments for each in values if each.moments.n >= max(min_queries, 2)]
        variances = [each.deviation * each.deviation for each in moments]
        p_value = statistics.slices_differ([each.n for each in moments], [each.mean for each in moments], variances)
        if not math.isnan(p_value):
            place = whole.place
            row = {
                "dataset": place.own.dataset,
                "evaluated_on": place.night,
                "run": place.own.run,
                "baseline": place.baseline_run,
                "measure": measures[whole.measure],
                "cutoff": place.cutoff,
                "attribute": attribute,
                "slices": len(moments),
                "p_value": p_value,
            }
            found.append(row)
    return found


def _partitions(
    aggregates: Iterable[Aggregate], slices: Mapping[int, Slice]
) -> Iterator[tuple[Aggregate, str, list[Aggregate]]]:
    """The aggregate of all queries, an attribute of which every query is in one slice, and the aggregates of these."""
    of_attributes: dict[tuple[int, int], dict[str | None, list[Aggregate]]] = {}
    for each in aggregates:
        parts = of_attributes.setdefault((each.number, each.measure), {})
        parts.setdefault(slices[each.slice][0], []).append(each)
    for parts in of_attributes.values():
        (whole,) = parts.pop(slices[ALL][0])
        for attribute, values in parts.items():
            # A query is in one slice of the attribute or in several, so equal counts mean that it is in one.
            if attribute is not None and whole.queries == sum(each.queries for each in values):
                yield whole, attribute, values

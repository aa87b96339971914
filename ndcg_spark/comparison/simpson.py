"""Simpson's paradox: all queries together change one way, and every slice of them the other way."""

from collections.abc import Iterable, Mapping, Sequence

from ndcg_spark.comparison.aggregates import Aggregate
from ndcg_spark.comparison.slices import ALL, Slice
from ndcg_spark.convention.cutoffs import format_cutoff

#: The flag of a comparison on all queries that every slice of an attribute contradicts.
SIMPSON = "simpson"


def contradictions(
    aggregates: Iterable[Aggregate], slices: Mapping[int, Slice], measures: Sequence[str]
) -> list[tuple[Aggregate, str]]:
    """Aggregates of all queries whose change of the mean every slice of an attribute contradicts, each with a sentence.

    The mean of paired differences always lies between those of its slices. The change of the mean need not where
    queries came, went or are left out: then all queries may gain where every slice of them loses.
    """
    of_attributes: dict[tuple[int, int], dict[str | None, list[Aggregate]]] = {}
    for each in aggregates:
        parts = of_attributes.setdefault((each.number, each.measure), {})
        parts.setdefault(slices[each.slice][0], []).append(each)
    found = []
    for parts in of_attributes.values():
        (whole,) = parts.pop(slices[ALL][0])
        for attribute, values in parts.items():
            changes = [each.change for each in values if each.change is not None]
            # A query is in one slice of the attribute or in several, so equal counts mean that it is in one.
            is_partition = whole.queries == sum(each.queries for each in values) and len(changes) > 1
            if is_partition and whole.change and all(change * whole.change < 0 for change in changes):
                name = f"{measures[whole.measure]}@{format_cutoff(whole.place.cutoff)}"
                sentence = (
                    f"{attribute}: run={whole.place.own.run} changes by {whole.change:+.4f} in {name} over all "
                    "queries, and the other way in every slice, as the two sides have different queries; compare the "
                    "slices"
                )
                found.append((whole, sentence))
    return found

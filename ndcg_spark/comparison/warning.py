"""What people must know about a comparison beside its numbers, in sentences."""

from collections.abc import Iterable, Mapping, Sequence

from ndcg_spark.comparison import slices, weights
from ndcg_spark.comparison.slices import ALL, Slices
from ndcg_spark.comparison.tallies import Row, Tally
from ndcg_spark.comparison.weights import Weights

#: The flag of a comparison on all queries that every slice of an attribute contradicts.
SIMPSON = "simpson"


def of_unknown(rows: Iterable[Row], cut: Slices, weighing: Weights) -> list[str]:
    """How many queries of the attributes and of the weights are not compared: they have no scores, or were left out.

    Exact where every run has a score of every judged query, as QUERY_SCORES has it.
    """
    whole = [row for row in rows if row["slice"] == ALL]
    sentences = []
    for where, queries, name in (
        (slices.WHERE, cut.queries, "attributed"),
        (weights.WHERE, weighing.queries, "weighed"),
    ):
        known = _known(whole, name)
        lost = 0
        for dataset, count in queries.items():
            found = sum(known.values()) if dataset is None else known.get(dataset, 0)
            lost += max(count - found, 0)
        if lost:
            total = sum(queries.values())
            sentences.append(f"{where}: {lost:,} of its {total:,} queries are not compared here, and count for nothing")
    return sentences


def of_simpson(tallies: Iterable[Tally], cut: Slices, measures: Sequence[str]) -> list[tuple[Tally, str]]:
    """Tallies of all queries whose change of the mean every slice of an attribute contradicts, each with a sentence.

    The mean of paired differences always lies between those of its slices. The change of the mean need not where
    queries came, went or are left out: then all queries may gain where every slice of them loses (Simpson's paradox).
    """
    together: dict[tuple[object, ...], list[Tally]] = {}
    for tally in tallies:
        place = tally.place
        key = (place.dataset, place.night, place.run, place.cutoff, tally.measure)
        together.setdefault(key, []).append(tally)
    found = []
    for of_run in together.values():
        whole = next((tally for tally in of_run if tally.place.slice == ALL), None)
        if whole is None or not whole.change:
            continue
        for attribute in dict.fromkeys(cut.names[tally.place.slice][0] for tally in of_run):
            parts = [tally for tally in of_run if attribute and cut.names[tally.place.slice][0] == attribute]
            changes = [tally.change for tally in parts if tally.change is not None]
            # A query is in one slice of the attribute or in several, so equal counts mean that it is in one.
            is_partition = _queries(whole) == sum(map(_queries, parts)) and len(changes) > 1
            if is_partition and all(change * whole.change < 0 for change in changes):
                place = whole.place
                sentence = (
                    f"{attribute}: run={place.run} changes by {whole.change:+.4f} in {measures[whole.measure]}@"
                    f"{place.cutoff or 'all'} over its queries, and the other way in every slice, as the queries are "
                    "not the same; compare the slices"
                )
                found.append((whole, sentence))
    return found


def _queries(tally: Tally) -> int:
    return sum(part.queries for part in tally.transitions.values())


def _known(whole: Iterable[Row], name: str) -> Mapping[str, int]:
    """By dataset, how many queries of either side have such a value: of the run of most, as every run has them all."""
    baseline: dict[tuple[str, int, str | None], int] = {}
    runs: dict[tuple[str, int, str, str], list[int]] = {}
    for row in whole:
        if row["alone"]:
            key = (row["dataset"], row["cutoff"], row["run"])
            baseline[key] = baseline.get(key, 0) + row[name]
        else:
            of_run = runs.setdefault((row["dataset"], row["cutoff"], row["run"], row["night"]), [0, 0])
            of_run[0] += row[name]
            of_run[1] += row[name] if row["baseline_status"] is not None else 0
    known: dict[str, int] = {}
    for (dataset, cutoff, run, _), (own, met) in runs.items():
        theirs = baseline.get((dataset, cutoff, None), baseline.get((dataset, cutoff, run), met))
        known[dataset] = max(known.get(dataset, 0), own + theirs - met)
    for (dataset, _, _), theirs in baseline.items():
        known[dataset] = max(known.get(dataset, 0), theirs)
    return known

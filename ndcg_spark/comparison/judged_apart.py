"""Runs with different judged rates: their difference may come from unjudged documents."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ndcg_spark.comparison.sources import ScoreSource
from ndcg_spark.convention.measures import CATALOG_COLUMNS, JUDGED_RATE, Cutoff
from ndcg_spark.tables.format import count, share
from ndcg_spark.tolerance import DECIMALS
from ndcg_spark.voices import Notice

#: The smallest difference of judged rates that is reported. Down to rank 10, it is one document of
#: each query, which can change NDCG by more than runs usually differ.
MIN_GAP = 0.1
#: How many runs a sentence names: those with the largest gaps.
NAMED = 3
#: Scores that unjudged documents do not lower.
_UNAFFECTED = frozenset(
    (*CATALOG_COLUMNS, JUDGED_RATE, "judged_share", "bpref", "ideal_dcg", "returned", "judged")
)
Row = Mapping[str, Any]
#: The judged rates of a run and of its baseline.
Rates = tuple[float, float]


def depends_on_judged(measure: str, cutoff: Cutoff) -> bool:
    """Whether a run can score less because fewer of its documents are judged.

    Whole lists are left out: a longer list has more unjudged documents at ranks with little weight.
    """
    return cutoff is not None and measure not in _UNAFFECTED


def are_apart(rates: Rates) -> bool:
    """Whether two judged rates are so far apart that it is reported."""
    return gap(rates) >= MIN_GAP


def gap(rates: Rates) -> float:
    """The distance between two judged rates."""
    rate, before = rates
    return round(abs(rate - before), DECIMALS)


def largest_gaps(rates: Mapping[str, Rates]) -> list[str]:
    """The runs that a sentence names, from the largest gap."""
    runs = sorted(rates, key=lambda run: (-gap(rates[run]), run))
    return runs[:NAMED]


def about_judged(
    rows: Iterable[Row], own: ScoreSource, other: ScoreSource | None, before: str = ""
) -> Iterator[Notice]:
    """A sentence for each baseline whose judged rate is far from the rates of its runs.

    `rows` are COMPARISONS rows of these scores; `other` has the baseline's scores if they come from
    a different night. `before` is put in front of each sentence.
    """
    found: dict[tuple[str, int], dict[str, Rates]] = {}
    named = set()
    for row in filter(_can_depend, rows):
        run, baseline, cutoff = row["run"], row["baseline"], row["cutoff"]
        rates = _rates(row, own, other or own)
        # A run is named once, at the first cutoff at which the rates are far apart.
        if rates is None or (run, baseline) in named or not are_apart(rates):
            continue
        named.add((run, baseline))
        found.setdefault((baseline, cutoff), {})[run] = rates
    for (baseline, cutoff), of_runs in found.items():
        theirs = baseline
        if other is not None:
            theirs = f"{baseline} in the baseline"
        yield Notice(_sentence(of_runs, theirs, cutoff), before=before)


def _can_depend(row: Row) -> bool:
    """Whether different judged rates may explain the difference in a row."""
    # On each side of a change of judgments, the rates differ from the published ones.
    is_compared = row["side"] is None and row["difference"] is not None
    return is_compared and depends_on_judged(row["measure"], row["cutoff"])


def _rates(row: Row, own: ScoreSource, other: ScoreSource) -> Rates | None:
    """The judged rates of the run and of a row's baseline; None if one is not known."""
    rate = own.judged_rates.get((row["run"], row["cutoff"]))
    before = other.judged_rates.get((row["baseline"], row["cutoff"]))
    if rate is None or before is None:
        return None
    return rate, before


def _sentence(rates: Mapping[str, Rates], theirs: str, cutoff: int) -> str:
    """The sentence about runs whose judged rates are far from their baseline's."""
    named = largest_gaps(rates)
    _, before = rates[named[0]]
    shares = []
    for run in named:
        rate, _ = rates[run]
        shares.append(f"{share(rate)} for {run}")
    more = len(rates) - len(named)
    if more:
        shares.append(f"a different share for {count(more, 'more run')}")
    text = f"down to rank {cutoff}, the share of judged documents is {share(before)} for {theirs}, "
    text += f"but {', '.join(shares)}: "
    text += "the difference may come from unjudged documents; ndcg-spark judge-next lists them"
    return text

"""What the engine has aggregated, put together per comparison: one run, cutoff, slice and measure."""

import dataclasses
import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.pairing import NO_NIGHT, STATUSES
from ndcg_spark.comparison.slices import ALL
from ndcg_spark.comparison.statistics import Moments
from ndcg_spark.errors import InputError

Row = Mapping[str, Any]

#: A status of the baseline and one of the run; None where that side does not have the query.
Statuses = tuple[str | None, str | None]


#: The sums of paired queries that are added up over statuses.
SUMS = (
    *("changed", "wins", "losses", "large_losses", "paired_sum", "paired_baseline_sum"),
    *("weights", "weight", "weight_squares", "weighted", "weighted_sum", "weighted_baseline_sum"),
)


@dataclasses.dataclass(frozen=True)
class Place:
    """What is compared: the run of a night and dataset, at a cutoff (0: the whole ranking), on a slice."""

    dataset: str
    night: datetime.date
    run: str
    cutoff: int
    slice: int


@dataclasses.dataclass
class Transition:
    """The queries of two statuses: how many, and the sums of the scores and the baseline's scores that they have."""

    queries: int = 0
    scores: int = 0
    sum: float = 0.0
    baselines: int = 0
    baseline_sum: float = 0.0


@dataclasses.dataclass
class Tally:
    """The counts and sums of one comparison. `sums` has those of its paired queries, by the aggregation's names."""

    place: Place
    measure: int
    baseline_night: datetime.date = NO_NIGHT
    evaluation_id: str | None = None
    moments: Moments = dataclasses.field(default_factory=Moments)
    sums: dict[str, float] = dataclasses.field(default_factory=lambda: dict.fromkeys((*SUMS, "largest_weight"), 0))
    transitions: dict[Statuses, Transition] = dataclasses.field(default_factory=dict)
    #: Rows of this run and of the baseline, whether they pair or not.
    own_rows: int = 0
    baseline_rows: int = 0

    @property
    def unpaired(self) -> int:
        """How many queries have a value on one side only; those that neither mean is over are not among them."""
        return int(self._total("scores") + self._total("baselines")) - 2 * self.moments.n

    @property
    def has_scores(self) -> bool:
        """Whether any query has a value on either side."""
        return bool(self._total("scores") or self._total("baselines"))

    @property
    def change(self) -> float | None:
        """The change of the mean, each side over its own queries; None where a side has no value."""
        ours, theirs = self._total("scores"), self._total("baselines")
        return self._total("sum") / ours - self._total("baseline_sum") / theirs if ours and theirs else None

    def parts(self) -> list[tuple[Statuses, int, float | None]]:
        """Every pair of statuses, how many queries have it, and its part of `change`."""
        ours, theirs = self._total("scores"), self._total("baselines")
        either = bool(ours and theirs)
        return [
            (statuses, part.queries, part.sum / ours - part.baseline_sum / theirs if either else None)
            for statuses, part in sorted(self.transitions.items(), key=lambda item: tuple(map(str, item[0])))
        ]

    def _total(self, name: str) -> Any:
        return sum(getattr(part, name) for part in self.transitions.values())

    def add(self, row: Row) -> None:
        """Take in a row of the aggregation whose queries this run has."""
        number = self.measure
        value = {name: row[f"{name}_{number}"] for name in ("pairs", "mean", "variance", "skewness")}
        self.moments += Moments.of(value["pairs"], value["mean"], value["variance"], value["skewness"])
        for name in SUMS:
            self.sums[name] += row[f"{name}_{number}"] or 0
        largest = row[f"largest_weight_{number}"] or 0.0
        self.sums["largest_weight"] = max(self.sums["largest_weight"], largest)
        self.own_rows += row["rows"]
        self.baseline_night = row["baseline_night"] or self.baseline_night
        statuses = (STATUSES.get(row["baseline_status"]), STATUSES[row["status"]])
        part = self.transitions.setdefault(statuses, Transition())
        part.queries += row["rows"]
        part.scores += row[f"scores_{number}"]
        part.sum += row[f"sum_{number}"] or 0.0
        part.baselines += row[f"baselines_{number}"]
        part.baseline_sum += row[f"baseline_sum_{number}"] or 0.0

    def add_lacking(self, row: Row) -> None:
        """Take in a row of the baseline's own queries: those that this run has not paired with are lacking in it."""
        number, status = self.measure, STATUSES[row["baseline_status"]]
        self.baseline_rows += row["rows"]
        self.baseline_night = row["baseline_night"] or self.baseline_night
        met = [part for (theirs, _), part in self.transitions.items() if theirs == status]
        queries = row["rows"] - sum(part.queries for part in met)
        if queries < 0:
            raise InputError(
                f"query_scores: {-queries:,} row(s) of run={self.place.run} are there twice for one query and cutoff; "
                "give each once, of one evaluation"
            )
        if queries:
            part = self.transitions.setdefault((status, None), Transition())
            part.queries += queries
            part.baselines += row[f"baselines_{number}"] - sum(each.baselines for each in met)
            part.baseline_sum += (row[f"baseline_sum_{number}"] or 0.0) - sum(each.baseline_sum for each in met)


def tallied(rows: Iterable[Row], key: Sequence[str], runs: Iterable[str] | None, measures: int) -> list[Tally]:
    """One tally per comparison and measure of the rows of `aggregation.aggregated`, in the order of their places.

    `key` is what paired the rows. `runs` are those that were asked for, also where they have no row.
    """
    together = list(rows)
    alone: dict[tuple[Any, ...], list[Row]] = {}
    for row in together:
        if row["alone"]:
            alone.setdefault(_pairing(row, key), []).append(row)
    own: dict[Place, list[Row]] = {}
    for row in together:
        if not row["alone"]:
            own.setdefault(_place(row, row["run"], row["night"]), []).append(row)
    for place in _lacking(own, alone.values(), key, runs):
        own.setdefault(place, [])
    found = []
    for place in sorted(own, key=lambda p: (p.dataset, p.night, p.run, p.cutoff == 0, p.cutoff, p.slice)):
        for measure in range(measures):
            tally = Tally(place, measure)
            for row in own[place]:
                tally.add(row)
            for row in alone.get(_pairing(dataclasses.asdict(place), key), ()):
                tally.add_lacking(row)
            found.append(tally)
    return found


def evaluated(tallies: Sequence[Tally]) -> list[Tally]:
    """The tallies at cutoffs at which anybody has a score by their measure; all of a measure that nobody has."""
    somewhere = {(t.place.dataset, t.measure) for t in tallies if t.has_scores}
    there = {(t.place.dataset, t.measure, t.place.cutoff) for t in tallies if t.has_scores}
    return [
        t
        for t in tallies
        if (t.place.dataset, t.measure, t.place.cutoff) in there or (t.place.dataset, t.measure) not in somewhere
    ]


def _pairing(row: Row, key: Sequence[str]) -> tuple[Any, ...]:
    """What tells which rows of the baseline a run is compared with."""
    return (row["slice"], *(row[name] for name in key if name != "query_id"))


def _place(row: Row, run: str, night: datetime.date) -> Place:
    return Place(row["dataset"], night, run, row["cutoff"], row["slice"])


def _lacking(
    own: Mapping[Place, Any], alone: Iterable[Sequence[Row]], key: Sequence[str], runs: Iterable[str] | None
) -> list[Place]:
    """The places of the baseline's rows for every run, also where the run has no row there."""
    nights = {place.dataset: place.night for place in own}
    ours = {(place.dataset, place.night): set[str]() for place in own}
    for place in own:
        ours[place.dataset, place.night].add(place.run)
    every = {run for known in ours.values() for run in known}
    asked = set(runs or ())
    places = []
    for rows in alone:
        row = rows[0]
        night = row["night"] if "night" in key else nights.get(row["dataset"], NO_NIGHT)
        # A run that neither side has can only be told from the runs that are asked for.
        there = {row["run"]} if "run" in key else ours.get((row["dataset"], night), every)
        names = there | (asked - every)
        places += [_place(row, run, night) for run in names]
    return places


def identify(tallies: Iterable[Tally], counted: Iterable[Row]) -> None:
    """Give each tally its evaluation_id, from the rows of `aggregation.counted`.

    InputError where pairing has made more rows of a run than it had, as the baseline has some twice.
    """
    before = {(row["dataset"], row["night"], row["run"], row["cutoff"]): row for row in counted}
    for tally in tallies:
        place = tally.place
        row = before.get((place.dataset, place.night, place.run, place.cutoff))
        if row is None:
            continue
        tally.evaluation_id = row["evaluation_id"]
        more = tally.own_rows - row["rows"]
        if place.slice == ALL and more > 0:
            raise InputError(
                f"baseline: {more:,} row(s) too many paired with run={place.run}, as it has queries twice for one "
                "cutoff; give the scores of one evaluation, each once"
            )

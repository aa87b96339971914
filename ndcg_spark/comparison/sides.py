"""The two sides of a gate: tonight, and what it is compared with; and whether they can be compared at all.

That comes before any statistics: numbers that mean different things have a difference too.
"""

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.deciding import Row
from ndcg_spark.comparison.verdict import Code
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.gate_config import LAST_GOOD, BaselineConfig, GateConfig

#: Why nothing can be compared: the code, and a sentence.
Refusal = tuple[Code, str]

#: What a row is about: run, measure, cutoff, attribute, value, and whether it is weighted.
Key = tuple[str, str, Cutoff, str | None, str | None, bool]


def key_of(row: Row) -> Key:
    """What a row of COMPARISONS is about."""
    weighted = row["weight_effective_n"] is not None
    return row["run"], row["measure"], row["cutoff"], row["attribute"], row["value"], weighted


@dataclasses.dataclass(frozen=True)
class Night:
    """What is known of a night without reading a score."""

    dataset: str
    evaluated_on: str
    evaluation_id: str
    #: The options of its convention, by name.
    options: Mapping[str, Any]
    #: The fingerprints of its inputs; None where its record has none.
    judgments: str | None
    results: str | None
    #: The rows of its DATASET_SCORES.
    scores: Sequence[Row]
    #: The datasets that were evaluated together with it, its own among them.
    datasets: Sequence[str] = ()

    @property
    def runs(self) -> list[str]:
        """Its runs, sorted."""
        return sorted({row["run"] for row in self.scores})

    @property
    def has_queries(self) -> bool:
        """Whether any query of it is judged; otherwise it has runs, and no QUERY_SCORES."""
        counts = ("queries", "missing_queries", "no_relevant_queries")
        return any(row.get(name) for row in self.scores for name in counts)

    @property
    def cutoffs(self) -> set[Cutoff]:
        """Its cutoffs."""
        return {row["cutoff"] for row in self.scores}


@dataclasses.dataclass(frozen=True)
class Changes:
    """How many queries are judged in one of two nights or in both, and of how many the judgments differ."""

    queries: int
    changed: int
    example: str | None = None


#: The judgments of two nights that have the same fingerprint.
NO_CHANGES = Changes(0, 0)


@dataclasses.dataclass(frozen=True)
class Against:
    """A baseline of the configuration, looked up: its night, and the rows of COMPARISONS, or why there are none."""

    config: BaselineConfig
    #: The night that it stands for; None if it is not there, or if the baseline is a run of the same night.
    night: Night | None = None
    refused: Refusal | None = None
    rows: Sequence[Row] = ()
    #: For checks with max_share_losing: such rows again for every other size of a loss, counted in `large_losses`.
    losing: Mapping[float, Sequence[Row]] = dataclasses.field(default_factory=dict)
    changes: Changes = NO_CHANGES
    #: The datasets that were evaluated together with this one since its last good night, each with the last date.
    together: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: What the comparison has told besides, in sentences.
    told: Sequence[str] = ()
    #: The run and the id of the queries that lost most by the first check's measure, if they were asked for.
    lost: Sequence[tuple[str, str]] = ()

    def row(self, key: Key, loss: float | None = None) -> Row | None:
        """Its row of this key, if there is one; with the losses of this size counted, if one is given."""
        return self._by_key.get(loss, self._by_key[None]).get(key)

    @functools.cached_property
    def _by_key(self) -> dict[float | None, dict[Key, Row]]:
        every = [(None, self.rows), *self.losing.items()]
        return {loss: {key_of(row): row for row in rows} for loss, rows in every}

    @property
    def name(self) -> str:
        """The baseline in words, with the night that it stands for."""
        if self.config.run is not None or self.night is None:
            return self.config.name
        date = self.night.evaluated_on
        return f"{LAST_GOOD} ({date})" if self.config.night == LAST_GOOD else date

    @property
    def runs(self) -> list[str]:
        """The runs of its night, or the run that it is."""
        if self.config.run is not None:
            return [self.config.run]
        return self.night.runs if self.night else []

    def as_json(self) -> dict[str, Any]:
        """What a record keeps of it."""
        night = self.night
        return {
            "baseline": self.config.name,
            "night": night and night.evaluated_on,
            "evaluation_id": night and night.evaluation_id,
            "judged_queries": self.changes.queries or None,
            "queries_with_other_judgments": self.changes.changed,
        }


def of_record(dataset: str, evaluated_on: str, record: Mapping[str, Any], scores: Sequence[Row]) -> Night:
    """A night as its record tells of it, with the rows of its DATASET_SCORES."""
    inputs = record.get("inputs", {})
    fingerprints = {name: inputs.get(name, {}).get("fingerprint") for name in ("judgments", "results")}
    return Night(
        dataset,
        evaluated_on,
        record.get("evaluation_id", ""),
        record.get("options", {}),
        **fingerprints,
        scores=scores,
        datasets=record.get("datasets", ()),
    )


def refused_baseline(
    config: BaselineConfig, tonight: Night, found: Night | None, unreadable: str | None = None
) -> Refusal | None:
    """Why a baseline cannot be compared with at all, whatever the judgments; None if it can.

    `unreadable` is why the nights that are kept cannot be looked at, if so.
    """
    if config.run is not None:
        there = config.run in tonight.runs
        return None if there else (Code.MISSING_RUN, f"the baseline {config.run} has no results in this night")
    if config.night != LAST_GOOD and str(config.night) == tonight.evaluated_on:
        return Code.OWN_NIGHT, f"the baseline {config.name} is this night itself; name another, or accept this night"
    if unreadable is not None:
        return Code.UNREADABLE, f"the nights that are kept cannot be compared with, {unreadable}"
    if found is None:
        missing = (
            "there is no earlier night whose verdict was a pass"
            if config.night == LAST_GOOD
            else f"there is no night of {config.name}"
        )
        return Code.NO_BASELINE, f"{missing}; --accept-baseline REASON makes this night the baseline of later ones"
    different = different_options(tonight.options, found.options)
    if different:
        return Code.OTHER_CONVENTION, (
            f"{found.evaluated_on} was scored under another convention, {', '.join(different)}; evaluate that date "
            "again, or accept this night with --accept-baseline REASON"
        )
    return None


def refused_datasets(tonight: Night, against: Against) -> Refusal | None:
    """Why not every dataset that is expected is there tonight; None if all are, or if no night says which.

    Expected are those of a baseline's night, and those that came together with this dataset since its last good night.
    A night that cannot be read, or that the configuration names and that is not there, may have had any dataset and
    any run, so that nobody can say whether all have arrived.
    """
    config, night = against.config, against.night
    code = against.refused[0] if against.refused and night is None else None
    if code is Code.UNREADABLE or (code is Code.NO_BASELINE and config.night != LAST_GOOD):
        return against.refused
    of_night = dict.fromkeys(night.datasets, night.evaluated_on) if night else {}
    expected = {**of_night, **against.together}
    absent = sorted(expected.keys() - {*tonight.datasets, tonight.dataset})
    if not absent:
        return None
    example = f"{absent[0]} of {expected[absent[0]]}"
    what = f"the dataset {example} has" if len(absent) == 1 else f"{len(absent)} datasets, e.g. {example}, have"
    otherwise = (
        "if it was given up, name a later night as the baseline"
        if config.night != LAST_GOOD and absent[0] in of_night
        else "if it was given up, accept this night with --accept-baseline REASON"
    )
    return Code.MISSING_DATASET, f"{what} no results in this night; find out why, or {otherwise}"


def refused_judgments(gate: GateConfig, found: Night, changes: Changes) -> Refusal | None:
    """Why a night cannot be compared with for its judgments; None if it can."""
    date = found.evaluated_on
    accept = "--accept-baseline REASON accepts this night as it is"
    if changes.changed == 0:
        return None
    share = f"the judgments of {changes.changed:,} of {changes.queries:,} queries are not those of {date}"
    if gate.on_changed_judgments == "refuse":
        others = 'on_changed_judgments = "unchanged_queries" compares the others'
        return Code.OTHER_JUDGMENTS, f"{share}, e.g. {changes.example}; {others}, and {accept}"
    if changes.changed == changes.queries:
        return Code.OTHER_JUDGMENTS, f"{share}, so none is left to compare; {accept}"
    return None


def different_options(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """The options that differ, in words. One that a night does not know has the value that it had before: the default.

    The label of a convention does not count: two presets may have the same options.
    """
    plain, other, default = (json.loads(json.dumps(each)) for each in (ours, theirs, Convention().options()))
    values = {
        name: (plain.get(name, default.get(name)), other.get(name, default.get(name))) for name in {*plain, *other}
    }
    return [f"{name}={there} there and {here} here" for name, (here, there) in sorted(values.items()) if here != there]

"""The two sides of a gate, tonight and a baseline, and whether they can be compared at all.

Comparability is checked before any statistics, because numbers with different meanings have a difference too.
"""

import dataclasses
import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.comparable import SAME_JUDGMENTS, ChangedJudgments, different_options, fingerprint
from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.gate.config import BaselineConfig, GateConfig
from ndcg_spark.gate.rules import Row
from ndcg_spark.gate.verdict import Code

#: The reason why nothing can be compared: a code and a sentence.
Refusal = tuple[Code, str]

#: What a row describes: run, measure, cutoff, attribute, value, and whether it is weighted.
Key = tuple[str, str, Cutoff, str | None, str | None, bool]


def key_of(row: Row) -> Key:
    """What a row of COMPARISONS describes, as a key."""
    weighted = row["weight_effective_n"] is not None
    return row["run"], row["measure"], row["cutoff"], row["attribute"], row["value"], weighted


@dataclasses.dataclass(frozen=True)
class Night:
    """What is known about a night without reading query scores."""

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
    #: How many nights its scores are the mean of: the night itself, and comparable good nights before it.
    nights: int = 1
    #: The date of the first of them.
    first_night: str | None = None
    #: The verdict on the night of the dataset before it; None without one.
    previous: str | None = None
    #: The datasets that its evaluation found judged but without results.
    without_results: Collection[str] = ()
    #: If the gate compares no nights, the runs of the last good one, which are expected all the same.
    expected_runs: Collection[str] = ()
    #: And the datasets that were evaluated together with it, each with the last date.
    expected_datasets: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Why these are not known.
    unreadable: str | None = None

    @classmethod
    def of_record(cls, dataset: str, evaluated_on: str, record: Mapping[str, Any], scores: Sequence[Row]) -> "Night":
        """A night made from its record and the rows of its DATASET_SCORES."""
        return cls(
            dataset,
            evaluated_on,
            record.get("evaluation_id", ""),
            record.get("options", {}),
            fingerprint(record, "judgments", dataset),
            fingerprint(record, "results", dataset),
            scores,
            record.get("datasets", ()),
        )

    @property
    def runs(self) -> list[str]:
        """Its runs, sorted."""
        return sorted({row["run"] for row in self.scores})

    @property
    def has_queries(self) -> bool:
        """Whether any of its queries is judged; otherwise it has runs but no QUERY_SCORES."""
        counts = ("queries", "missing_queries", "no_relevant_queries")
        return any(row.get(name) for row in self.scores for name in counts)

    @property
    def cutoffs(self) -> set[Cutoff]:
        """Its cutoffs."""
        return {row["cutoff"] for row in self.scores}


@dataclasses.dataclass(frozen=True)
class Baseline:
    """A baseline of the configuration, looked up: its night, and the rows of COMPARISONS, or why there are none."""

    config: BaselineConfig
    #: The night that it stands for; None if that is missing, or if the baseline is a run of the same night.
    night: Night | None = None
    refused: Refusal | None = None
    rows: Sequence[Row] = ()
    changes: ChangedJudgments = SAME_JUDGMENTS
    #: The datasets that were evaluated together with this one since its last good night, each with the last date.
    expected: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: The run and the id of the queries that changed most by the first check's measure, if they were requested.
    most_changed: Sequence[tuple[str, str]] = ()

    def row(self, key: Key) -> Row | None:
        """Its row with this key, if there is one."""
        number = self._numbers.get(key)
        return None if number is None else self.rows[number]

    def losing(self, key: Key, by: float) -> int:
        """How many queries lost at least this much in its row with this key."""
        return int(self.rows[self._numbers[key]]["lost"][by])

    @functools.cached_property
    def _numbers(self) -> dict[Key, int]:
        return {key_of(row): number for number, row in enumerate(self.rows)}

    @property
    def name(self) -> str:
        """The baseline in words, with the night that it stands for."""
        if self.config.run is not None or self.night is None:
            return self.config.name
        date, nights = self.night.evaluated_on, self.night.nights
        of_nights = f"{nights} nights to {date}" if nights > 1 else date
        return f"{self.config.name} ({of_nights})" if self.config.is_good_night else date

    @property
    def evaluated_on(self) -> str | None:
        """The date of its night; None if there is none, or if the baseline is a run of the same night."""
        return self.night.evaluated_on if self.night else None

    @property
    def nights(self) -> int:
        """How many nights its scores are the mean of."""
        return self.night.nights if self.night else 1

    @property
    def runs(self) -> list[str]:
        """The runs of its night, or the single run that is the baseline."""
        if self.config.run is not None:
            return [self.config.run]
        return self.night.runs if self.night else []

    def as_json(self) -> dict[str, Any]:
        """What a record keeps about it."""
        return {
            "baseline": self.config.name,
            "night": self.evaluated_on,
            "nights": self.night and self.night.nights,
            "first_night": self.night and self.night.first_night,
            "evaluation_id": self.night and self.night.evaluation_id,
            "judged_queries": self.changes.queries or None,
            "queries_with_other_judgments": self.changes.changed,
        }


def refused_baseline(
    config: BaselineConfig, tonight: Night, found: Night | None, unreadable: str | None = None
) -> Refusal | None:
    """Why nothing can be compared with a baseline, whatever the judgments; None if it can be.

    `unreadable` is the reason if the published nights cannot be read.
    """
    if config.run is not None:
        there = config.run in tonight.runs
        return None if there else (Code.MISSING_RUN, f"the baseline {config.run} has no results in this night")
    if str(config.night) == tonight.evaluated_on:
        return Code.OWN_NIGHT, f"the baseline {config.name} is this night itself; name another, or accept this night"
    if unreadable is not None:
        return Code.UNREADABLE, f"the published nights cannot be used, {unreadable}"
    if found is None:
        missing = (
            "there is no earlier night that passed or was accepted"
            if config.is_good_night
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


def refused_datasets(tonight: Night, baseline: Baseline) -> Refusal | None:
    """Why an expected dataset is missing tonight; None if none is, or if no night says which are expected.

    The datasets of a baseline's night are expected, and those evaluated together with this dataset since its last good
    night. A night that cannot be read, or that is named in the configuration but missing, may have had any dataset and
    any run, so nobody knows whether all have arrived.
    """
    config, night = baseline.config, baseline.night
    code = baseline.refused[0] if baseline.refused and night is None else None
    if code is Code.UNREADABLE or (code is Code.NO_BASELINE and not config.is_good_night):
        return baseline.refused
    of_night = dict.fromkeys(night.datasets, night.evaluated_on) if night else {}
    anchored = () if config.is_good_night else of_night
    return refused_absent(tonight, {**of_night, **baseline.expected}, anchored)


def refused_absent(tonight: Night, expected: Mapping[str, str], anchored: Collection[str] = ()) -> Refusal | None:
    """That some expected datasets, each with its last date, are missing tonight; None if none is.

    Those of an anchor are `anchored`: accepting a night does not give them up.
    """
    absent = sorted(expected.keys() - {*tonight.datasets, tonight.dataset})
    if not absent:
        return None
    example = f"{absent[0]} of {expected[absent[0]]}"
    what = f"the dataset {example} has" if len(absent) == 1 else f"{len(absent)} datasets, e.g. {example}, have"
    otherwise = (
        "name a later night as the baseline"
        if absent[0] in anchored
        else "accept this night with --accept-baseline REASON"
    )
    return Code.MISSING_DATASET, f"{what} no results in this night; find out why, or if it was given up, {otherwise}"


def refused_judgments(gate: GateConfig, found: Night, changes: ChangedJudgments) -> Refusal | None:
    """Why a night's judgments rule out a comparison with it; None if they do not."""
    if changes.changed == 0:
        return None
    accept = "--accept-baseline REASON accepts this night as it is"
    share = f"{changes.changed:,} of {changes.queries:,} queries have other judgments than on {found.evaluated_on}"
    if gate.on_changed_judgments == "refuse":
        others = 'on_changed_judgments = "unchanged_queries" compares the others'
        return Code.OTHER_JUDGMENTS, f"{share}, e.g. {changes.example}; {others}, and {accept}"
    if changes.changed == changes.queries:
        return Code.OTHER_JUDGMENTS, f"{share}, so none is left to compare; {accept}"
    return None

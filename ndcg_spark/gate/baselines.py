"""What a night is compared with, what must arrive with it, and the scores of both.

Comparability is checked before any statistics, because numbers with different meanings have a difference too.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.comparable import different_options, fingerprint
from ndcg_spark.comparison.compare import of_night
from ndcg_spark.comparison.matrix import Place, Queries, ScoreMatrix
from ndcg_spark.config_values import GOOD
from ndcg_spark.errors import StorageError
from ndcg_spark.gate.config import BaselineSpec, CheckConfig, GateConfig
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.read import read_dataset_scores
from ndcg_spark.nights.select import arrived, earlier, expected_datasets

Row = Mapping[str, Any]
#: Why nothing can be compared: the code of a result, and a sentence.
Refusal = tuple[str, str]

#: So many matrices are kept for the next nights that are judged, unless they have more scores than this.
_KEPT, _MAX_KEPT_SCORES = 64, 100_000


class Scores:
    """The scores of nights. Small ones are kept, because a rehearsal compares many nights with the same ones."""

    def __init__(self) -> None:
        #: Every night that was read.
        self.nights: set[Night] = set()
        self._rows: dict[Night, Sequence[Row]] = {}
        self._queries: dict[str, Queries] = {}
        self._kept: dict[tuple[Night, Place], ScoreMatrix] = {}

    def read_rows(self, nights: Sequence[Night]) -> None:
        """Read the dataset scores of many nights, which is faster than one by one."""
        self._rows |= zip(nights, read_dataset_scores(nights), strict=True)

    def rows(self, night: Night) -> Sequence[Row]:
        """The rows of DATASET_SCORES of all queries."""
        self.nights.add(night)
        if night not in self._rows:
            self.read_rows([night])
        return self._rows[night]

    def runs(self, night: Night) -> set[str]:
        """The runs of a night."""
        return {row["run"] for row in self.rows(night)}

    def has(self, night: Night, place: Place) -> bool:
        """Whether a night has the cutoff of a place."""
        return any(row["cutoff"] == place[1] for row in self.rows(night))

    def matrix(self, night: Night, place: Place) -> ScoreMatrix:
        """The scores of all runs of a night. Raises InputError and StorageError."""
        matrix = self._kept.get((night, place))
        if matrix is None:
            source = of_night(night, self.rows(night))
            queries = self._queries.setdefault(night.dataset, Queries())
            matrix = source.read(queries, [place], source.runs)[place]
            if matrix.values.size <= _MAX_KEPT_SCORES:
                self._kept = dict([*self._kept.items(), ((night, place), matrix)][-_KEPT:])
        return matrix


@dataclasses.dataclass(frozen=True)
class Baseline:
    """A baseline of the configuration on one night: the nights that it stands for, or why there are none."""

    spec: BaselineSpec
    #: By date; none if it is a run of the same night.
    nights: Sequence[Night] = ()
    refused: Refusal | None = None

    @property
    def newest(self) -> str | None:
        """The date of its newest night."""
        return self.nights[-1].evaluated_on if self.nights else None

    @property
    def in_words(self) -> str:
        """The baseline with the nights that it stands for."""
        if self.spec.name != GOOD or not self.nights:
            return self.spec.name
        many = f"{len(self.nights)} good nights to" if len(self.nights) > 1 else "the good night"
        return f"{many} {self.newest}"


def resolve(gate: GateConfig, spec: BaselineSpec, tonight: Night, nights: Iterable[Night]) -> Baseline:
    """What a baseline stands for on a night.

    Of the good nights of the same convention, it is those with tonight's judgments; with `unchanged_queries`, and where
    none has them, the hashes of the judgments tell which queries can be compared.
    """
    dataset, date = tonight.dataset, tonight.evaluated_on
    if spec.run is not None:
        return Baseline(spec)
    if spec.name == GOOD:
        candidates = [night for night in earlier(nights, dataset, date) if night.is_good]
        missing = "there is no earlier night that is good"
    else:
        candidates = [night for night in nights if (night.dataset, night.evaluated_on) == (dataset, spec.name)]
        missing = f"there is no night of {spec.name}"
    if spec.name == date:
        candidates, missing = [], f"the baseline {date} is this night itself"
    if not candidates:
        return Baseline(spec, (), ("no_baseline", f"{missing}; --accept-baseline REASON accepts this one"))
    options = tonight.record["options"]
    same = [night for night in candidates if night.record["options"] == options or not _different(tonight, night)]
    if not same:
        newest = candidates[-1]
        different = ", ".join(_different(tonight, newest))
        return Baseline(
            spec, [newest], ("other_convention", f"{newest.evaluated_on} has another convention, {different}")
        )
    judgments = fingerprint(tonight.record, "judgments", dataset)
    known = [night for night in same if judgments and fingerprint(night.record, "judgments", dataset) == judgments]
    return Baseline(spec, (same if gate.unchanged_queries else known or same[-1:])[-gate.nights :])


def _different(tonight: Night, night: Night) -> list[str]:
    return different_options(tonight.record["options"], night.record["options"])


def checks_of(gate: GateConfig, dataset: str) -> list[tuple[str, CheckConfig]]:
    """The checks of a dataset, each with its place in the configuration."""
    places = ((f"gate.check.{number}", check) for number, check in enumerate(gate.check))
    return [(place, check) for place, check in places if check.datasets is None or dataset in check.datasets]


def missing(
    gate: GateConfig, tonight: Night, nights: Nights, baselines: Iterable[Baseline], scores: Scores
) -> Iterator[tuple[str, str, str | None]]:
    """What must arrive and has not: code, sentence and run.

    Expected are the runs of the newest night of the baselines or, if it is newer, of the newest good night, and the
    datasets evaluated together with this one since. Without such a night it is all that there ever was.
    """
    dataset, date = tonight.dataset, tonight.evaluated_on
    before = earlier(nights, dataset, date)
    known = [night for each in baselines for night in each.nights[-1:] if night.evaluated_on < date]
    known = sorted([*known, *[night for night in before if night.is_good][-1:]], key=lambda night: night.evaluated_on)
    since = known[-1].evaluated_on if known else ""
    for day in sorted(day for day in nights.damaged if since <= day < date):
        yield "no_baseline", f"what must arrive is not known: {nights.damaged[day]}", None
    datasets = expected_datasets(nights.rows, dataset, since, date)
    datasets |= dict.fromkeys([dataset, *tonight.record.get("datasets_without_results", ())], date)
    for name in sorted(datasets.keys() - arrived(nights, date)):
        last = f", and had some on {datasets[name]}" if datasets[name] < date else ""
        yield "missing_dataset", f"the dataset {name} has no results in this night{last}", None
    unknown = {name for check in gate.check for name in check.datasets or ()} - {night.dataset for night in nights}
    for name in sorted(unknown):
        yield "missing_dataset", f"the dataset {name} of a check has no night at all", None
    runs = dict.fromkeys((run for _, check in checks_of(gate, dataset) for run in check.runs or ()), "a check")
    runs |= {spec.run: "a baseline" for spec in gate.baseline if spec.run is not None}
    try:
        for night in known[-1:] or before:
            runs |= dict.fromkeys(scores.runs(night), night.evaluated_on)
    except StorageError as error:
        yield "no_baseline", f"the runs that must arrive are not known: {error}", None
    for run in sorted(runs.keys() - scores.runs(tonight)):
        yield "missing_run", f"the run {run} of {runs[run]} has no results in this night", run

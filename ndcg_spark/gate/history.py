"""The nights in an output as a gate reads them: which night a baseline stands for, and its scores."""

import dataclasses
from collections.abc import Sequence

from ndcg_spark.comparison.comparable import alike, arrived, baseline_night, earlier, expected_datasets, together
from ndcg_spark.config_values import LAST_GOOD, RECENT_GOOD
from ndcg_spark.errors import StorageError
from ndcg_spark.gate.baseline import Night
from ndcg_spark.gate.config import BaselineConfig
from ndcg_spark.nights import log
from ndcg_spark.nights.read import read_dataset_scores


@dataclasses.dataclass(frozen=True)
class History:
    """The nights that an output keeps."""

    nights: Sequence[log.Night]
    #: The reason if the nights cannot be read; None if they can.
    unreadable: str | None = None

    @classmethod
    def of(cls, output: str) -> "History":
        """The nights of an output. If they cannot be read, nothing is compared, and the history holds the reason."""
        try:
            return cls(log.committed(output))
        except StorageError as error:
            return cls((), str(error))

    def find(self, config: BaselineConfig, dataset: str, evaluated_on: str) -> Night | None:
        """The night that a baseline of the configuration stands for on this date; None if there is none."""
        found = baseline_night(self.nights, dataset, evaluated_on, str(config.night))
        if found is None:
            return None
        most = config.nights if config.night == RECENT_GOOD else 1
        nights = alike(self.nights, found, most)
        datasets, first = together(self.nights, found), nights[0].evaluated_on
        return dataclasses.replace(night_of(found), datasets=datasets, nights=len(nights), first_night=first)

    def known_of(self, tonight: Night) -> Night:
        """Tonight with what its history adds: the other datasets of its date, and the verdict on the night before."""
        # A night of the same date that an earlier evaluation has left is no arrival.
        there = arrived(self.nights, tonight.evaluated_on).difference(tonight.without_results)
        before = earlier(self.nights, tonight.dataset, tonight.evaluated_on)[-1:]
        verdicts = [(night.record.get("verdict") or {}).get("verdict") for night in before]
        return dataclasses.replace(
            tonight, datasets=sorted({*tonight.datasets, *there}), previous=next(iter(verdicts), None)
        )

    def expected_runs(self, dataset: str, evaluated_on: str) -> list[str]:
        """The runs of the last good night of a dataset before a date."""
        found = baseline_night(self.nights, dataset, evaluated_on, LAST_GOOD)
        return night_of(found).runs if found else []

    def expected(self, dataset: str, evaluated_on: str) -> dict[str, str]:
        """As `expected_datasets`."""
        return expected_datasets(self.nights, dataset, evaluated_on)

    def committed(self, night: Night) -> list[log.Night]:
        """The published nights that a night stands for, by date."""
        place = (night.dataset, night.evaluated_on)
        found = next(each for each in self.nights if (each.dataset, each.evaluated_on) == place)
        return alike(self.nights, found, night.nights)


def night_of(night: log.Night) -> Night:
    """What is known about a published night."""
    (rows,) = read_dataset_scores([night])
    return Night.of_record(night.dataset, night.evaluated_on, night.record, rows)

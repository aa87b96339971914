"""The nights that an output keeps, as a gate reads them: which one a baseline stands for, and its scores."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, SparkSession

from ndcg_spark import engine
from ndcg_spark.comparison.baselines import baseline_night, expected_datasets
from ndcg_spark.errors import StorageError
from ndcg_spark.gate.baseline import Night
from ndcg_spark.gate.config import BaselineConfig
from ndcg_spark.nights.read import read_dataset_scores, read_nights, read_rows
from ndcg_spark.nights.records import CommittedNight, committed, unreplaced


@dataclasses.dataclass(frozen=True)
class History:
    """The nights that an output keeps, and a session to read their scores with."""

    nights: Sequence[CommittedNight]
    session: SparkSession
    #: Why the nights cannot be read, if so.
    unreadable: str | None = None

    @classmethod
    def of(cls, output: str, session: SparkSession) -> "History":
        """The nights of an output. Where they cannot be read, nothing is compared, and it says why."""
        try:
            return cls(committed(output), session)
        except StorageError as error:
            return cls((), session, str(error))

    def find(self, config: BaselineConfig, dataset: str, evaluated_on: str) -> Night | None:
        """The night that a baseline of the configuration stands for on this date; None if there is none."""
        found = baseline_night(self.nights, dataset, evaluated_on, str(config.night))
        return night_of(found) if found else None

    def expected(self, dataset: str, evaluated_on: str) -> dict[str, str]:
        """As `expected_datasets`."""
        return expected_datasets(self.nights, dataset, evaluated_on)

    def scores(self, night: Night) -> DataFrame:
        """The QUERY_SCORES of a night."""
        return read_nights(self._committed(night), "query_scores", self.session)

    @contextlib.contextmanager
    def read_whole(self, night: Night) -> Iterator[None]:
        """Around what compares with a night by the engine.

        StorageError if its scores are damaged, which engines say in words of their own; ReplacedError if it was
        evaluated again in the meantime.
        """
        found = self._committed(night)
        with unreplaced(found):
            try:
                yield
            except engine.failures():
                read_rows(found, "query_scores")
                raise

    def _committed(self, night: Night) -> list[CommittedNight]:
        place = (night.dataset, night.evaluated_on)
        return [each for each in self.nights if (each.dataset, each.evaluated_on) == place]


def night_of(night: CommittedNight) -> Night:
    """What is known of a published night."""
    (rows,) = read_dataset_scores([night])
    return Night.of_record(night.dataset, night.evaluated_on, night.record, rows)

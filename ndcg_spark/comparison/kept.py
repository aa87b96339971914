"""The nights that an output keeps, as baselines: which one is meant, what is known of it, and its scores."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, SparkSession

from ndcg_spark import engine
from ndcg_spark.comparison.sides import Night, of_record
from ndcg_spark.errors import StorageError
from ndcg_spark.gate_config import LAST_GOOD, BaselineConfig
from ndcg_spark.nights.read import dataset_scores, read_nights, read_rows
from ndcg_spark.nights.records import CommittedNight, committed, last_good, unreplaced


@dataclasses.dataclass(frozen=True)
class Kept:
    """The nights that an output keeps, and a session to read their scores with."""

    output: str
    nights: Sequence[CommittedNight]
    session: SparkSession
    #: Why the nights cannot be looked at, if so.
    unreadable: str | None = None

    def find(self, config: BaselineConfig, dataset: str, evaluated_on: str) -> Night | None:
        """The night that a baseline of the configuration stands for, seen from this date; None if there is none."""
        if config.night == LAST_GOOD:
            # Only earlier nights: one that is evaluated again must not be compared with what it replaces.
            found = last_good(self._before(dataset, evaluated_on))
        else:
            place = (dataset, str(config.night))
            found = next((each for each in self.nights if (each.dataset, each.evaluated_on) == place), None)
        return self.known(found) if found else None

    def together(self, dataset: str, evaluated_on: str) -> dict[str, str]:
        """The datasets that were evaluated together with this one since its last good night, each with the last date.

        A dataset that was new in the meantime is no part of the last good night, and is expected all the same.
        """
        found: dict[str, str] = {}
        for night in reversed(self._before(dataset, evaluated_on)):
            found = {**dict.fromkeys(night.record.get("datasets", ()), night.evaluated_on), **found}
            if night.is_good:
                break
        return found

    def _before(self, dataset: str, evaluated_on: str) -> list[CommittedNight]:
        """The nights of a dataset before a date, the newest last."""
        return [night for night in self.nights if night.dataset == dataset and night.evaluated_on < evaluated_on]

    def known(self, night: CommittedNight) -> Night:
        """What is known of a night."""
        (rows,) = dataset_scores([night])
        return of_record(night.dataset, night.evaluated_on, night.record, rows)

    def scores(self, night: Night) -> DataFrame:
        """The QUERY_SCORES of a night."""
        return read_nights([self._kept(night)], "query_scores", self.session)

    @contextlib.contextmanager
    def read_whole(self, night: Night) -> Iterator[None]:
        """Around what compares with a night by the engine.

        StorageError if its scores are damaged, which engines say in words of their own; ReplacedError if it was
        evaluated again in the meantime.
        """
        kept = [self._kept(night)]
        with unreplaced(kept):
            try:
                yield
            except engine.failures():
                read_rows(kept, "query_scores")
                raise

    def _kept(self, night: Night) -> CommittedNight:
        place = (night.dataset, night.evaluated_on)
        return next(each for each in self.nights if (each.dataset, each.evaluated_on) == place)


def kept_in(output: str, session: SparkSession) -> Kept:
    """The nights that an output keeps. Where they cannot be looked at, nothing is compared, and it says why."""
    try:
        return Kept(output, committed(output), session)
    except StorageError as error:
        return Kept(output, (), session, str(error))

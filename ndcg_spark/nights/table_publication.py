"""An evaluation stages its tables in a folder as for an output of files, and then replaces its nights in tables."""

import contextlib
from collections.abc import Mapping
from typing import Any

from ndcg_spark.errors import StorageError
from ndcg_spark.nights.layout import FAILURES
from ndcg_spark.nights.publication import Publication
from ndcg_spark.nights.sink import Night, Sink
from ndcg_spark.nights.table_format import ConflictError, Staged
from ndcg_spark.schemas import KEPT


class TablePublication(Publication):
    """Publishes the scores of one evaluation in tables; `staging` is a folder that the engine and this process see."""

    def __init__(self, sink: Sink, staging: str, evaluation_id: str) -> None:
        super().__init__(staging, evaluation_id)
        self._sink = sink
        self.needs_engine = sink.needs_engine

    def commit(
        self, record: Mapping[str, Any], of_datasets: Mapping[str, Mapping[str, Any]] | None = None
    ) -> list[str]:
        """Replace the nights in every table, then their records; see `Sink`. Returns no sentences.

        Raises
        ------
        ConflictError
            Another evaluation has written the same night at the same time; this one does not count.
        StorageError
            There are rows of another night, or the tables cannot be written. The old nights count.
        """
        records = self._records(record, of_datasets or {})
        staged = {
            name: Staged(self._store.for_engine(f"{self._staging}/{name}"), self._dataset(name, KEPT[name]))
            for name in self._verified
        }
        try:
            self._sink.publish(self._id, staged, records)
        except ConflictError:
            # Whoever wrote the night at the same time goes on with it.
            raise
        except StorageError:
            with contextlib.suppress(StorageError):
                for night in records:
                    self._sink.restore(night)
            raise
        finally:
            self.abandon()
        return []

    def abandon(self) -> None:
        """Remove what was staged."""
        with contextlib.suppress(*FAILURES):
            self._store.delete(self._staging)

    def _records(
        self, record: Mapping[str, Any], of_datasets: Mapping[str, Mapping[str, Any]]
    ) -> dict[Night, dict[str, Any]]:
        """The record of each night, with how many rows it has of each table. StorageError for rows of other nights."""
        nights = self._nights()
        expected = {(dataset, record["evaluated_on"]) for dataset in record["datasets"]}
        outside = [night for night in nights if night not in expected]
        if outside or not nights:
            what = f"rows of {outside[0][0]} on {outside[0][1]} were staged" if outside else "no scores were staged"
            raise StorageError(f"output: {what} for {self._sink.place}; nothing was published")
        return {
            (dataset, date): {
                **record,
                **of_datasets.get(dataset, {}),
                "files": {},
                "tables": {
                    name: {"rows": sum(file["rows"] for file in tables.get(name, ("", {}))[1].values())}
                    for name in KEPT
                    if name != "evaluations"
                },
            }
            for (dataset, date), tables in nights.items()
        }

"""An output of tables: of Delta, of Iceberg, or of a catalog of Spark.

An evaluation replaces the rows of its nights in every table, each by one transaction whose condition is literal, and
its row of EVALUATIONS last. Readers take the rows of a night from the newest version of a table that has all of them:
the current one, or an earlier one if another evaluation has replaced them and has not written its own row of
EVALUATIONS. So whoever reads the tables by other means never sees a night twice, and a process that is killed at any
point leaves the old night or the new one.
"""

import datetime
import functools
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.nights import record_format
from ndcg_spark.nights.layout import TABLES
from ndcg_spark.nights.table_format import ConflictError, Staged, TableFormat, Where
from ndcg_spark.nights.table_outputs import format_of
from ndcg_spark.schemas import KEPT
from ndcg_spark.text import printable

if TYPE_CHECKING:
    from ndcg_spark.nights.records import CommittedNight

_RECORDS = "evaluations"
#: In the order in which an evaluation replaces their rows.
_OF_ROWS = tuple(name for name in TABLES if name != _RECORDS)

#: A dataset and a date; with the id of an evaluation.
Night = tuple[str, str]
_Evaluation = tuple[str, str, str]


class Sink:
    """An output of tables. Methods raise StorageError, those that write also ConflictError."""

    def __init__(self, output: str) -> None:
        self._format: TableFormat = format_of(output)
        self.place = self._format.place
        #: Whether Spark writes and reads the tables.
        self.needs_engine = self._format.needs_engine

    def create(self) -> list[str]:
        """Create the missing tables; returns their names. ConfigurationError if another one is not ours."""
        absent = self._format.absent(TABLES)
        for name in absent:
            self._format.create(name, KEPT[name])
        self.refuse_unusable()
        return absent

    def refuse_unusable(self) -> None:
        """ConfigurationError if one of the tables is missing, or has other columns than this version makes."""
        self.refuse_absent()
        for name in TABLES:
            ours, found = KEPT[name].names, self._format.columns(name)
            wrong = [f"it has no column {column}" for column in ours if column not in found.names]
            wrong += [f"it has a column {column}" for column in found.names if column not in ours]
            wrong += [
                f"its column {column.name} is of the type {column.type}"
                for column in found
                if column.name == "evaluated_on" and not pa.types.is_date(column.type)
            ]
            if wrong:
                raise ConfigurationError(
                    f"output: the table {name} in {self.place} is not one that this version makes, {wrong[0]}; name "
                    "another place, or move the table away and run ndcg-spark init again"
                )

    def refuse_absent(self) -> None:
        """ConfigurationError if one of the tables is missing."""
        absent = self._format.absent(TABLES)
        if absent:
            raise ConfigurationError(
                f"output: {len(absent)} table(s) are not in {self.place}, e.g. {absent[0]}; make them once with: "
                f"ndcg-spark init {shlex.quote(self.place)}"
            )

    def records(self) -> dict[_Evaluation, Mapping[str, Any]]:
        """The record of every night, by its dataset, date and evaluation."""
        self.refuse_absent()
        rows = self._format.scan(_RECORDS, KEPT[_RECORDS], {}).read_all()
        keys = rows.select(["dataset", "evaluated_on", "evaluation_id"]).to_pylist()
        found = {}
        for key, text in zip(keys, rows["record"].to_pylist(), strict=True):
            night = (key["dataset"], key["evaluated_on"].isoformat(), key["evaluation_id"])
            try:
                found[night] = record_format.read(text)
            except (ValueError, RecursionError, TypeError) as error:
                raise StorageError(
                    f"output: the record of {key['dataset']} on {key['evaluated_on']} in {self.place} is not one that "
                    f"this version can read, {printable(str(error))}; evaluate that night again"
                ) from error
        return found

    def publish(
        self, evaluation_id: str, staged: Mapping[str, Staged], records: Mapping[Night, dict[str, Any]]
    ) -> None:
        """Replace the nights of an evaluation: its rows in every table, then its records, which get the versions.

        The records say how many rows of each table a night has.
        """
        date = next(iter(records))[1]
        where = _where([dataset for dataset, _ in records], [date])
        self._format.begin(TABLES)
        for name in _OF_ROWS:
            version = None
            # Most nights have no rows in some tables, and have had none.
            if name in staged or self._format.counts(name, None, where):
                version = self._format.replace(name, staged.get(name) or _nothing(name), KEPT[name], where)
                self._refuse_others(name, version, evaluation_id, records, where)
            for record in records.values():
                record["tables"][name]["version"] = version
        self._format.replace(_RECORDS, _record_rows(evaluation_id, records), KEPT[_RECORDS], where)

    def _refuse_others(
        self,
        name: str,
        version: int | None,
        evaluation_id: str,
        records: Mapping[Night, Mapping[str, Any]],
        where: Where,
    ) -> None:
        """ConflictError unless the nights have the rows of this evaluation, and no others, at this version."""
        expected = {
            (*night, evaluation_id): record["tables"][name]["rows"]
            for night, record in records.items()
            if record["tables"][name]["rows"]
        }
        if ({} if version is None else self._format.counts(name, version, where)) != expected:
            raise ConflictError(self.place)

    def begin_amending(self) -> None:
        """From now on, it is a conflict if another process writes a record that `amend` replaces."""
        self._format.begin([_RECORDS])

    def amend(self, night: "CommittedNight", record: dict[str, Any]) -> None:
        """Replace the record of a night."""
        where = _where([night.dataset], [night.evaluated_on])
        key = (night.dataset, night.evaluated_on)
        self._format.replace(_RECORDS, _record_rows(night.evaluation_id, {key: record}), KEPT[_RECORDS], where)

    def remove(self, night: Night) -> bool:
        """Remove a night, its record first. Returns False if it was not there."""
        counts = {name: self._of_night(name, night) for name in (_RECORDS, *_OF_ROWS)}
        for name in [name for name, found in counts.items() if found]:
            self._format.replace(name, _nothing(name), KEPT[name], _where([night[0]], [night[1]]))
        return any(counts.values())

    def unrecorded(self) -> set[_Evaluation]:
        """The evaluations that have rows and no record: they are about to write it, or stopped before that."""
        recorded = self.records()
        return {key for name in _OF_ROWS for key in self._format.counts(name) if key not in recorded}

    def restore(self, night: Night) -> bool:
        """Put back the rows of the evaluation that counts where another one has replaced them and then stopped.

        Returns False if there was nothing to do.
        """
        of_night = {key: record for key, record in self.records().items() if key[:2] == night}
        done = False
        for name in _OF_ROWS:
            # Nights from before this table existed have no rows in it.
            rows = {key: record.get("tables", {}).get(name, {"rows": 0})["rows"] for key, record in of_night.items()}
            wanted = {key: count for key, count in rows.items() if count}
            if self._of_night(name, night) != wanted:
                places = self._places(wanted, name)
                found = [self._format.scan(name, KEPT[name], *place).read_all() for place in places]
                kept = pa.concat_tables([_nothing(name), *found])
                self._format.replace(name, kept, KEPT[name], _where([night[0]], [night[1]]))
                done = True
        return done

    def _of_night(self, name: str, night: Night) -> dict[_Evaluation, int]:
        return self._format.counts(name, None, _where([night[0]], [night[1]]))

    def read(
        self, nights: Sequence["CommittedNight"], name: str, columns: Sequence[str] | None, where: Where
    ) -> pa.Table:
        """The rows of these nights in a table that satisfy `where`, in no order."""
        schema = KEPT[name]
        wanted = to_arrow_schema(schema)
        if columns is not None:
            schema = type(schema)([schema[column] for column in columns])
            wanted = to_arrow_schema(schema)
        found = [
            self._format.scan(name, schema, {**of_nights, **where}, version).read_all()
            for of_nights, version in self._places(_kept(nights, name), name)
        ]
        return pa.concat_tables([wanted.empty_table(), *found])

    def frame(self, nights: Sequence["CommittedNight"], name: str, session: SparkSession) -> DataFrame:
        """The rows of these nights in a table, as a table of an engine in no order."""
        schema = KEPT[name]
        found = [
            self._format.frame(name, schema, of_nights, version, session)
            for of_nights, version in self._places(_kept(nights, name), name)
        ]
        return functools.reduce(DataFrame.union, found) if found else session.createDataFrame([], schema)

    def _places(self, wanted: Mapping[_Evaluation, int], name: str) -> list[tuple[Where, int]]:
        """Where evaluations have as many rows as `wanted`: conditions on a table, each at the newest such version.

        The version is named even if it is the current one, as that may be replaced before it is read.
        """
        missing, places = {key: rows for key, rows in wanted.items() if rows}, list[tuple[Where, int]]()
        for version in self._format.versions(name) if missing else ():
            counts = self._format.counts(name, version)
            found = [key for key, rows in missing.items() if counts.get(key) == rows]
            places += [(where, version) for where in _together(found)]
            missing = {key: rows for key, rows in missing.items() if key not in found}
            if not missing:
                break
        if missing:
            dataset, date, evaluation = next(iter(missing))
            raise StorageError(
                f"output: {len(missing)} night(s) have lost their rows of {name} in {self.place}, e.g. {dataset} on "
                f"{date} of {evaluation}, and no version that is kept has them; evaluate these nights again"
            )
        return places


def _kept(nights: Sequence["CommittedNight"], name: str) -> dict[_Evaluation, int]:
    """How many rows of a table the nights have; of EVALUATIONS one each."""
    return {
        (night.dataset, night.evaluated_on, night.evaluation_id): 1 if name == _RECORDS else night.kept_rows(name)
        for night in nights
    }


def _where(datasets: Sequence[str], dates: Sequence[str]) -> dict[str, Sequence[Any]]:
    return {
        "dataset": sorted(set(datasets)),
        "evaluated_on": [datetime.date.fromisoformat(date) for date in sorted(set(dates))],
    }


def _together(keys: Sequence[_Evaluation]) -> list[Where]:
    """Conditions that only these nights satisfy: an evaluation may have had more datasets than are wanted."""
    datasets: dict[tuple[str, str], list[str]] = {}
    for dataset, date, evaluation in keys:
        datasets.setdefault((evaluation, date), []).append(dataset)
    evaluations: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for evaluated, names in datasets.items():
        evaluations.setdefault(tuple(sorted(names)), []).append(evaluated)
    return [
        {**_where(names, [date for _, date in found]), "evaluation_id": [number for number, _ in found]}
        for names, found in evaluations.items()
    ]


def _nothing(name: str) -> pa.Table:
    return to_arrow_schema(KEPT[name]).empty_table()


def _record_rows(evaluation_id: str, records: Mapping[Night, Mapping[str, Any]]) -> pa.Table:
    """The rows of EVALUATIONS of these nights."""
    rows = [
        {
            "dataset": dataset,
            "evaluated_on": datetime.date.fromisoformat(date),
            "evaluation_id": evaluation_id,
            **record_format.evaluation_values(record),
        }
        for (dataset, date), record in records.items()
    ]
    return pa.Table.from_pylist(rows, to_arrow_schema(KEPT[_RECORDS]))

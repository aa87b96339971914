"""The tables of an output in Iceberg, in a namespace of a catalog, written and read by the library `pyiceberg`."""

import functools
import warnings
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.table_format import EVERYWHERE, Counts, Staged, TableFormat, Where, cast_to, storage_failures
from ndcg_spark.schemas import PARTITIONS

#: The most rows in memory at once, because pyiceberg cannot write a stream into a partitioned table.
_AT_ONCE = 1_000_000


class IcebergTables(TableFormat):
    """The tables `catalog.namespace.name` of a catalog that pyiceberg's configuration names; see `TableFormat`."""

    needs_engine = False

    def __init__(self, name: str) -> None:
        self.place = f"iceberg:{name}"
        self._catalog_name, _, self._namespace = name.partition(".")
        if not self._namespace or "/" in name:
            raise ConfigurationError(
                f"output: {self.place} is not a namespace of a catalog, which makes Iceberg's tables; write "
                "iceberg:CATALOG.NAMESPACE"
            )
        self._bases: dict[str, Any] = {}

    @functools.cached_property
    def _catalog(self) -> Any:
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import NotInstalledError
        from pyiceberg.utils.config import Config

        settings = Config().get_catalog_config(self._catalog_name)
        if settings is None:
            raise ConfigurationError(
                f"output: pyiceberg's configuration has no catalog {self._catalog_name!r}; name it in "
                f"~/.pyiceberg.yaml or PYICEBERG_CATALOG__{self._catalog_name.upper()}__URI"
            )
        with storage_failures(self.place, "the catalog does not open"):
            try:
                catalog = load_catalog(self._catalog_name, **settings)
            except NotInstalledError as error:
                raise ConfigurationError(
                    f"output: the catalog {self._catalog_name!r} needs a package that is not installed, {error}"
                ) from error
        # A catalog in a database keeps connections open until it is closed.
        weakref.finalize(self, catalog.close)
        return catalog

    def absent(self, names: Sequence[str]) -> list[str]:
        """See `TableFormat`."""
        with storage_failures(self.place, "the tables cannot be found"):
            return [name for name in names if not self._catalog.table_exists(self._name(name))]

    def columns(self, name: str) -> pa.Schema:
        """See `TableFormat`."""
        return self._table(name).schema().as_arrow()

    def create(self, name: str, schema: StructType) -> None:
        """See `TableFormat`."""
        from pyiceberg.exceptions import TableAlreadyExistsError

        with storage_failures(self.place, f"{name} cannot be made"):
            self._catalog.create_namespace_if_not_exists(self._namespace)
            try:
                making = self._catalog.create_table_transaction(self._name(name), to_arrow_schema(schema))
                with making, making.update_spec() as partitions:
                    for column in PARTITIONS:
                        partitions.add_identity(column)
            except TableAlreadyExistsError:
                return

    def begin(self, names: Sequence[str]) -> None:
        """See `TableFormat`."""
        self._bases = {name: self._table(name) for name in names}

    def replace(self, name: str, rows: Staged | pa.Table, schema: StructType, where: Where) -> int | None:
        """See `TableFormat`. It is one commit of several snapshots; the last one is the version."""
        from pyiceberg.exceptions import CommitFailedException, ValidationException

        table = self._bases.get(name) or self._table(name)
        batches = rows.rows.scanner().to_batches() if isinstance(rows, Staged) else rows.to_batches()
        parts = _parts(batches, to_arrow_schema(schema))
        conflicts = (CommitFailedException, ValidationException)
        with storage_failures(self.place, f"{name} cannot be written", conflicts), warnings.catch_warnings():
            # A night that is evaluated for the first time replaces nothing.
            warnings.filterwarnings("ignore", message="Delete operation did not match any records")
            with table.transaction() as writing:
                writing.overwrite(next(parts), overwrite_filter=_filter(where))
                for part in parts:
                    writing.append(part)
        return _version(table)

    def versions(self, name: str) -> Iterator[int]:
        """See `TableFormat`."""
        table = self._table(name)
        snapshot = table.current_snapshot()
        while snapshot is not None:
            yield int(snapshot.snapshot_id)
            parent = snapshot.parent_snapshot_id
            # Of one that has expired, only the number is kept.
            snapshot = None if parent is None else table.snapshot_by_id(parent)

    def counts(self, name: str, version: int | None = None, where: Where = EVERYWHERE) -> Counts:
        """See `TableFormat`."""
        with storage_failures(self.place, f"{name} cannot be read"):
            table = self._table(name)
            found: Counts = Counter()
            names = [field.name for field in table.spec().fields]
            for task in table.scan(_filter(where), snapshot_id=version).plan_files():
                key = dict(zip(names, task.file.partition, strict=True))
                date = _date(key["evaluated_on"])
                found[key["dataset"], date, key["evaluation_id"]] += task.file.record_count
            return found

    def scan(self, name: str, schema: StructType, where: Where, version: int | None = None) -> pa.RecordBatchReader:
        """See `TableFormat`."""
        with storage_failures(self.place, f"{name} cannot be read"):
            found = self._table(name).scan(_filter(where), tuple(schema.names), snapshot_id=version)
            return cast_to(to_arrow_schema(schema), found.to_arrow_batch_reader(), self.place, name)

    def _name(self, name: str) -> str:
        return f"{self._namespace}.{name}"

    def _table(self, name: str) -> Any:
        with storage_failures(self.place, f"{name} cannot be read"):
            return self._catalog.load_table(self._name(name))


def _version(table: Any) -> int | None:
    snapshot = table.current_snapshot()
    return None if snapshot is None else int(snapshot.snapshot_id)


def _date(partition: Any) -> str:
    """A date as a partition has it, in days since 1970."""
    from pyiceberg.utils.datetime import days_to_date

    return str(days_to_date(partition) if isinstance(partition, int) else partition)


def _parts(batches: Any, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows in tables of about a million; at least one table."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= _AT_ONCE:
            yield pa.Table.from_batches(waiting, schema)
            waiting = []
    yield pa.Table.from_batches(waiting, schema)


def _filter(where: Where) -> Any:
    from pyiceberg.expressions import AlwaysTrue, And, In, IsNull, Or

    parts = []
    for column, values in where.items():
        literals = [str(value) if column == "evaluated_on" else value for value in values if value is not None]
        is_in = In(column, literals)
        parts.append(Or(is_in, IsNull(column)) if None in values else is_in)
    return functools.reduce(And, parts, AlwaysTrue())

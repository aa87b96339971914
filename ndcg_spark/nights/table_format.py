"""What an output of tables needs from their format: transactions and versions, by a library or by Spark."""

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from ndcg_spark.errors import NdcgSparkError, StorageError, first_line
from ndcg_spark.nights.engine_copy import frame_of
from ndcg_spark.text import printable

if TYPE_CHECKING:
    # This imports pandas, which a list of nights should not wait for.
    from pyarrow import dataset as ds

#: A condition on rows: by column the values that it may have; None for null.
Where = Mapping[str, Sequence[Any]]
EVERYWHERE: Where = {}
#: How many rows a table has of an evaluation, by dataset, date and evaluation_id.
Counts = Counter[tuple[str, str, str]]


class ConflictError(StorageError):
    """Another evaluation has written the same night at the same time."""

    def __init__(self, place: str) -> None:
        super().__init__(
            f"output: another evaluation wrote the same night in {place} at the same time, so this one does not count; "
            "run it again when the other one has ended"
        )


@dataclasses.dataclass(frozen=True)
class Staged:
    """Rows that were staged as Parquet: their folder as the engine names it, and as this process reads them."""

    folder: str
    rows: "ds.Dataset"


class TableFormat(Protocol):
    """The tables of an output in one format. Methods raise StorageError; those that write raise ConflictError."""

    #: The output without secrets, for messages.
    place: str
    #: Whether Spark writes and reads them.
    needs_engine: bool

    def absent(self, names: Sequence[str]) -> list[str]:
        """Which of these tables are missing."""

    def columns(self, name: str) -> pa.Schema:
        """The columns of a table."""

    def create(self, name: str, schema: StructType) -> None:
        """Make an empty table, partitioned by PARTITIONS."""

    def begin(self, names: Sequence[str]) -> None:
        """From now on, it is a conflict if others write rows that a `replace` changes, where the format can tell."""

    def replace(self, name: str, rows: Staged | pa.Table, schema: StructType, where: Where) -> int | None:
        """Replace the rows that satisfy `where` by these, in one transaction; returns the version that has them."""

    def versions(self, name: str) -> Iterator[int]:
        """The versions of a table, the newest first, as far back as it keeps them; an empty one may have none."""

    def counts(self, name: str, version: int | None = None, where: Where = EVERYWHERE) -> Counts:
        """How many rows each evaluation has in the table, now or at a version; `where` has columns of PARTITIONS."""

    def scan(self, name: str, schema: StructType, where: Where, version: int | None = None) -> pa.RecordBatchReader:
        """The columns of `schema` of the rows that satisfy `where`, now or at a version of the table."""

    def frame(
        self, name: str, schema: StructType, where: Where, version: int | None, session: SparkSession
    ) -> DataFrame:
        """The same as a table of an engine."""
        return frame_of(self.scan(name, schema, where, version), schema, session)


@contextlib.contextmanager
def storage_failures(place: str, what: str, conflicts: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Run the block; whatever a library raises in it becomes a StorageError that says `what` failed."""
    try:
        yield
    except NdcgSparkError:
        raise
    except conflicts as error:
        raise ConflictError(place) from error
    except Exception as error:  # libraries of tables raise many kinds
        reason = f"{type(error).__name__}, {printable(first_line(error))}"
        raise StorageError(f"output: {what} in {place}, {reason}; check space, rights and its log") from error


def counted(rows: pa.Table, where: Where = EVERYWHERE) -> Counts:
    """The counts in a table with PARTITIONS and the column `rows`, of the rows that satisfy `where`."""
    found: Counts = Counter()
    for row in rows.to_pylist():
        if all(row[column] in values for column, values in where.items()):
            found[row["dataset"], str(row["evaluated_on"]), row["evaluation_id"]] += row["rows"]
    return found


def cast_to(schema: pa.Schema, reader: pa.RecordBatchReader, place: str, name: str) -> pa.RecordBatchReader:
    """The batches in these columns and types; libraries have types of their own for text.

    Whatever fails while they are read is a StorageError.
    """

    def batches() -> Iterator[pa.RecordBatch]:
        with storage_failures(place, f"{name} cannot be read"):
            for batch in reader:
                yield from pa.Table.from_batches([batch]).select(schema.names).cast(schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())

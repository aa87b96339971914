"""Tables as pandas and Arrow have them, and what a command shows of them."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ndcg_spark.tables.table import Table
from ndcg_spark.tables.writers import html, text

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame


def to_pandas(table: "DataFrame | pa.Table") -> "pd.DataFrame":
    """All rows of a table, in no order; one of Spark is computed.

    Integers stay integers where some are missing (Int64): the cutoff of the whole ranking is <NA>, not NaN beside 10.0.
    Dates are datetime64.
    """
    # Imported here, because commands that read nights without an engine do not need it.
    import pandas as pd

    whole = dict.fromkeys((pa.int16(), pa.int32(), pa.int64()), pd.Int64Dtype())
    arrow = table if isinstance(table, pa.Table) else table.toArrow()
    frame: pd.DataFrame = arrow.to_pandas(types_mapper=whole.get, date_as_object=False)
    return frame


@dataclasses.dataclass(frozen=True, repr=False)
class View:
    """What a command shows: tables in a notebook and as text, its rows in pandas and Arrow."""

    tables: Callable[[], Sequence[Table]]
    #: What the command prints with --format json.
    json: Callable[[], Any]
    #: What it prints with --format csv.
    columns: Sequence[str] = ()
    rows: Callable[[], Iterable[Mapping[str, Any]]] = tuple

    def to_pandas(self) -> "pd.DataFrame":
        """The rows as a pandas DataFrame."""
        return to_pandas(self.to_arrow())

    def to_arrow(self) -> pa.Table:
        """The rows as a pyarrow Table."""
        rows = list(self.rows())
        table = pa.table({name: pa.array([row.get(name) for row in rows]) for name in self.columns})
        # The cutoff is a number, even where every cutoff is the whole ranking.
        kinds = (f.with_type(pa.int32()) if f.name == "cutoff" and f.type == pa.null() else f for f in table.schema)
        return table.cast(pa.schema(kinds))

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        return "".join(map(html, self.tables()))

    def __repr__(self) -> str:
        """As it is printed."""
        return "\n\n".join("\n".join(text(table)) for table in self.tables())

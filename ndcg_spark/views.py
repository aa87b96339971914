"""What a command shows, for a terminal, a notebook, pandas and Arrow."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ndcg_spark.pandas_tables import to_pandas
from ndcg_spark.tables.table import Table
from ndcg_spark.tables.writers import html, text

if TYPE_CHECKING:
    import pandas as pd


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

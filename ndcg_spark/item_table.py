"""The items of the catalog in memory: the values that measures look up, and their fingerprint."""

import dataclasses
import functools
import hashlib
import io
from collections.abc import Collection, Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from ndcg_spark.catalog_reference import (
    Item,
    Usage,
    popularity_unit,
    self_information,
)
from ndcg_spark.convention.catalog import catalog_option
from ndcg_spark.schemas import ITEMS

#: Whether an item is in the catalog: it may have interactions but no longer be in it.
IN_CATALOG = "in_catalog"


@dataclasses.dataclass(frozen=True)
class ItemTable:
    """The catalog's items."""

    #: The columns of ITEMS and IN_CATALOG, sorted by doc_id; a column that was not given is null.
    rows: pa.Table
    #: The number of users, or None if it is not given.
    users: int | None = None

    @classmethod
    def of(cls, rows: pa.Table, users: int | None = None) -> "ItemTable":
        """The items of a table with some of these columns, one row per item."""
        columns = {}
        for field in ITEMS:
            absent = pa.nulls(len(rows), field.type)
            has = field.name in rows.column_names
            columns[field.name] = rows[field.name].cast(field.type) if has else absent
        if IN_CATALOG in rows.column_names:
            columns[IN_CATALOG] = rows[IN_CATALOG]
        else:
            columns[IN_CATALOG] = pa.repeat(True, len(rows))
        return cls(in_order(pa.table(columns)), users)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Equal for tables with the same content, in any order and format."""
        digest = hashlib.sha256(f"{self.users}".encode())
        texts = []
        for name in self.rows.column_names:
            column = self.rows[name]
            if pa.types.is_string(column.type):
                texts.append(name)
                continue
            # As bytes, because writing a million numbers as text takes four times as long.
            numbers = pc.fill_null(column.cast(pa.float64()), 0.0)
            digest.update(pc.is_valid(column).to_numpy().tobytes())
            digest.update(numbers.to_numpy().tobytes())
        written = io.BytesIO()
        # CSV distinguishes null, which is empty, from an empty text, which is quoted.
        csv.write_csv(self.rows.select(texts), written)
        digest.update(written.getbuffer())
        return digest.hexdigest()[:32]

    @functools.cached_property
    def usage(self) -> Usage:
        """The total usage."""
        most = []
        for name in ("popularity", "interactions"):
            most.append(pc.max(self.rows[name]).as_py() or 0.0)
        interactions = pc.sum(self.rows["interactions"]).as_py() or 0.0
        users = None if self.users is None else float(self.users)
        return Usage(users, interactions, most[0], most[1])

    @functools.cached_property
    def catalog_size(self) -> int:
        return int(pc.sum(self.rows[IN_CATALOG]).as_py() or 0)

    def items(self, ids: Iterable[str]) -> dict[str, Item]:
        """The facts about these items; items that are not in the table are left out."""
        wanted = pa.array(sorted(set(ids)), pa.string())
        own = self.rows.filter(pc.is_in(self.rows["doc_id"], value_set=wanted))
        found = {}
        for row in own.to_pylist():
            found[row["doc_id"]] = Item(row["popularity"], row["interactions"], row["category"])
        return found

    def values(self, measures: Collection[str], options: Mapping[str, str]) -> pa.Table:
        """A row per item: doc_id, IN_CATALOG, and a column for each of these list measures.

        `novelty_value` and `popularity_value` are what an item adds, null if it is not counted.
        """
        columns = {"doc_id": self.rows["doc_id"], IN_CATALOG: self.rows[IN_CATALOG]}
        if "novelty" in measures:
            columns["novelty_value"] = self._by_count("novelty", options)
        if "popularity" in measures:
            columns["popularity_value"] = self._by_count("popularity", options)
        if "categories" in measures:
            columns["item_category"] = self.rows["category"]
        return pa.table(columns)

    def value_of_unknown(self, measure: str, options: Mapping[str, str]) -> float | None:
        """What an item adds if it is not in the table; None if it is not counted."""
        return self._value(measure, 0.0, options)

    def _by_count(self, measure: str, options: Mapping[str, str]) -> pa.Array:
        """What each item adds, computed once for each count, of which there are few."""
        of = catalog_option(options, f"{measure}_of")
        column = "popularity" if of == "users" else "interactions"
        counts = pc.fill_null(self.rows[column], 0.0).combine_chunks().dictionary_encode()
        counts = counts.combine_chunks() if isinstance(counts, pa.ChunkedArray) else counts
        values = [self._value(measure, one, options) for one in counts.dictionary.to_pylist()]
        return pa.array(values, pa.float64()).take(counts.indices)

    def _value(self, measure: str, count: float, options: Mapping[str, str]) -> float | None:
        if measure == "novelty":
            is_of_users = catalog_option(options, "novelty_of") == "users"
            total = self.usage.users if is_of_users else self.usage.interactions
            return self_information(count, total or 0.0, options)
        if count == 0 and catalog_option(options, "popularity_unseen") == "drop":
            return None
        unit = popularity_unit(self.usage, options)
        return count / unit if unit else 0.0


def in_order(rows: pa.Table) -> pa.Table:
    """The rows of items sorted by doc_id, in one piece."""
    rows = rows.combine_chunks()
    ids = rows["doc_id"]
    ascend = len(rows) == 0 or pc.all(pc.less_equal(ids[:-1], ids[1:])).as_py()
    return rows if ascend else rows.sort_by("doc_id").combine_chunks()

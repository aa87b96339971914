"""The means of DATASET_SCORES, recomputed from the query scores without the engine."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.convention.measures import MeasureSet
from ndcg_spark.schemas import NO_VALUE
from ndcg_spark.spot_check.expected import Expected, allowed_error
from ndcg_spark.tolerance import ROUNDING

#: The key of a row of QUERY_SCORES.
_KEY = ("dataset", "run", "query_id", "cutoff")
#: The columns of QUERY_SCORES that are always added up; requested measures are added up as well.
_SUMMED = ("ndcg", "dcg", "ideal_dcg", "returned", "judged")
#: The column with the number of a row's slice.
_SLICE = "slice"
#: An attribute and its value; both are None for all queries.
AttributeValue = tuple[str | None, str | None]
#: A query's dataset, or None, and its id.
_QueryKey = tuple[str | None, str]


class Key(NamedTuple):
    """The key of a row of DATASET_SCORES; attribute and value are None for all queries."""

    dataset: str
    run: str
    cutoff: int | None
    attribute: str | None
    value: str | None


@dataclasses.dataclass
class Total:
    """Sums over the queries of a row of DATASET_SCORES. They grow with each file."""

    #: How many queries have a value, by column.
    count: dict[str, int] = dataclasses.field(default_factory=dict)
    #: The sums of the values, and of their absolute values, by column.
    sums: dict[str, float] = dataclasses.field(default_factory=dict)
    sizes: dict[str, float] = dataclasses.field(default_factory=dict)
    missing: int = 0
    no_relevant: int = 0
    #: The sum of the squared differences from the mean of ndcg.
    squares: float = 0.0

    def mean(self, name: str) -> Expected:
        count = self.count.get(name, 0)
        if not count:
            return Expected(None)
        return Expected(self.sums[name] / count, allowed_error(self.sizes[name] / count))

    def ratio(self, dividend: str, divisor: str) -> Expected | None:
        """The ratio of two sums; None if it cannot be compared."""
        below = self.sums.get(divisor, 0.0)
        size = self.sizes.get(divisor, 0.0)
        if not size:
            return Expected(None)
        if abs(below) < ROUNDING * size:
            # Whether this is 0 depends on the order of the terms.
            return None
        allowed = allowed_error(self.sizes[dividend] / abs(below))
        return Expected(self.sums[dividend] / below, allowed)

    def deviation(self) -> Expected | None:
        """The sample standard deviation of ndcg; None if it cannot be compared."""
        count = self.count.get("ndcg", 0)
        if count < 2:
            return Expected(None)
        if not math.isfinite(self.squares):
            return None
        allowed = allowed_error(self.sizes["ndcg"] / count)
        return Expected(math.sqrt(self.squares / (count - 1)), allowed)

    def standard_error(self) -> Expected | None:
        """The standard error of the mean of ndcg; None if it cannot be compared."""
        deviation = self.deviation()
        if deviation is None or deviation.value is None:
            return deviation
        root = math.sqrt(self.count["ndcg"])
        return Expected(deviation.value / root, deviation.allowed / root)


def columns_of_means(measures: MeasureSet) -> list[str]:
    """The columns of QUERY_SCORES that the means are computed from."""
    return [*_KEY, "status", *_SUMMED, *measures.columns]


class Means:
    """Adds up files of query scores, and computes what DATASET_SCORES must contain."""

    def __init__(self, measures: MeasureSet, attributes: pa.Table | None) -> None:
        self._measures = measures
        self._slices = _Slices(attributes) if attributes is not None else None
        self._totals: dict[Key, Total] = {}

    def add(self, table: pa.Table) -> None:
        """Add the rows of a file of QUERY_SCORES."""
        columns = [*_SUMMED, *self._measures.columns]
        prepared = _columns_to_add(table, columns)
        self._add(prepared, columns, [(None, None)])
        if self._slices is not None:
            self._add(self._slices.repeat_rows(prepared), columns, self._slices.names)

    def expected(self) -> Iterator[tuple[Key, dict[str, Expected]]]:
        """The columns of each row of DATASET_SCORES, except those that cannot be compared."""
        of_judgments = list(self._measures.of_judgments)
        of_catalog = [name for name in self._measures.beside_ndcg if name not in of_judgments]
        for key, total in self._totals.items():
            row = {
                "queries": Expected(total.count.get("ndcg", 0)),
                "missing_queries": Expected(total.missing),
                "no_relevant_queries": Expected(total.no_relevant),
                "ndcg": total.mean("ndcg"),
                "ndcg_pooled": total.ratio("dcg", "ideal_dcg"),
                "ndcg_stddev": total.deviation(),
                "ndcg_stderr": total.standard_error(),
                "dcg": total.mean("dcg"),
                "judged_rate": total.ratio("judged", "returned"),
                "relevant_queries": self._queries_with(of_judgments, key, total),
                "listed_queries": self._queries_with(of_catalog, key, total),
            }
            for name in self._measures.columns:
                row[name] = total.mean(name)
            yield key, {name: value for name, value in row.items() if value is not None}

    def _queries_with(self, names: Sequence[str], key: Key, total: Total) -> Expected:
        """How many queries have a value of these measures; null if the cutoff has none of them."""
        if key.cutoff not in self._measures.cutoffs_for(*names):
            return Expected(None)
        columns = [self._measures.beside_ndcg[name].column for name in names]
        return Expected(max(total.count.get(column, 0) for column in columns))

    def _add(
        self,
        table: pa.Table,
        columns: Sequence[str],
        slices: Sequence[AttributeValue],
    ) -> None:
        """Add up each slice's rows; `slices` are those that the slice numbers refer to."""
        variance = ("ndcg", "variance", pc.VarianceOptions(ddof=0))
        aggregates: list[tuple[Any, ...]] = [variance, ("missing", "sum"), ("no_relevant", "sum")]
        for name in columns:
            aggregates += [(name, "sum"), (name, "count"), (_size(name), "sum")]
        grouped = table.group_by(["dataset", "run", "cutoff", _SLICE]).aggregate(aggregates)
        for row in grouped.to_pylist():
            attribute, value = slices[row[_SLICE]]
            key = Key(row["dataset"], row["run"], row["cutoff"], attribute, value)
            _merge(self._totals.setdefault(key, Total()), row, columns)


def rows_to_compare(
    rows: Iterable[Mapping[str, Any]], means: Means
) -> Iterator[tuple[Key, Mapping[str, Any] | None, dict[str, Expected]]]:
    """Each row of DATASET_SCORES, or None if it is missing, with its expected columns."""
    remaining = {}
    for row in rows:
        remaining[Key(**{name: row[name] for name in Key._fields})] = row
    for key, expected in means.expected():
        yield key, remaining.pop(key, None), expected
    # A row without query scores belongs to a run whose queries are all unjudged.
    for key, row in remaining.items():
        yield key, row, {"queries": Expected(0), "missing_queries": Expected(0)}


class _Slices:
    """The slices of QUERY_ATTRIBUTES, numbered. A query has a slice for each of its values, and
    for each attribute without a value the slice NO_VALUE.
    """

    def __init__(self, attributes: pa.Table) -> None:
        self._has_datasets = "dataset" in attributes.column_names
        rows = attributes.to_pylist()
        known = sorted({row["attribute"] for row in rows})
        #: The slice of each number.
        self.names: list[AttributeValue] = [(name, NO_VALUE) for name in known]
        numbers = {name: number for number, name in enumerate(self.names)}
        #: The numbers of the slice NO_VALUE, by attribute.
        self._without_value = {name: [numbers[name, NO_VALUE]] for name in known}
        #: The numbers of a query's slices, by query and attribute.
        self._of_query: dict[_QueryKey, dict[str, list[int]]] = {}
        for row in rows:
            name = row["attribute"], row["value"]
            if name not in numbers:
                numbers[name] = len(self.names)
                self.names.append(name)
            query = row.get("dataset"), row["query_id"]
            of_attribute = self._of_query.setdefault(query, {}).setdefault(row["attribute"], [])
            if numbers[name] not in of_attribute:
                of_attribute.append(numbers[name])

    def repeat_rows(self, table: pa.Table) -> pa.Table:
        """The table with each row repeated for every slice of its query."""
        queries = table["query_id"].to_pylist()
        datasets = table["dataset"].to_pylist() if self._has_datasets else [None] * len(table)
        row_numbers: list[int] = []
        slice_numbers: list[int] = []
        for row_number, query in enumerate(zip(datasets, queries, strict=True)):
            numbers = self._numbers(query)
            row_numbers += [row_number] * len(numbers)
            slice_numbers += numbers
        repeated = table.drop_columns([_SLICE]).take(pa.array(row_numbers, pa.int64()))
        return repeated.append_column(_SLICE, pa.array(slice_numbers, pa.int64()))

    def _numbers(self, query: _QueryKey) -> list[int]:
        """The numbers of a query's slices."""
        by_attribute = {**self._without_value, **self._of_query.get(query, {})}
        numbers: list[int] = []
        for of_attribute in by_attribute.values():
            numbers += of_attribute
        return numbers


def _columns_to_add(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """The columns to add up: values, their absolute values, and 1 for a status that is counted.

    All rows are in slice 0.
    """
    is_in_mean = pc.is_valid(table["ndcg"])
    arrays = {name: table[name] for name in _KEY}
    for name in columns:
        # A query that is left out of the mean ndcg is also left out of the mean dcg.
        values = table[name].cast(pa.float64())
        if name in ("dcg", "ideal_dcg"):
            values = pc.if_else(is_in_mean, values, pa.scalar(None, pa.float64()))
        arrays[name] = values
        arrays[_size(name)] = pc.abs(values)
    for status in ("missing", "no_relevant"):
        arrays[status] = pc.equal(table["status"], status).cast(pa.int64())
    arrays[_SLICE] = pa.array(np.zeros(len(table), np.int64))
    return pa.table(arrays)


def _merge(total: Total, row: Mapping[str, Any], columns: Sequence[str]) -> None:
    """Add a file's sums."""
    before = total.count.get("ndcg", 0)
    added = row["ndcg_count"]
    if added:
        # The squares of two parts are combined as in Chan, Golub and LeVeque (1979).
        total.squares += row["ndcg_variance"] * added
        if before:
            difference = total.sums["ndcg"] / before - row["ndcg_sum"] / added
            total.squares += difference**2 * before * added / (before + added)
    for name in columns:
        total.count[name] = total.count.get(name, 0) + row[f"{name}_count"]
        total.sums[name] = total.sums.get(name, 0.0) + (row[f"{name}_sum"] or 0.0)
        total.sizes[name] = total.sizes.get(name, 0.0) + (row[f"{_size(name)}_sum"] or 0.0)
    total.missing += row["missing_sum"]
    total.no_relevant += row["no_relevant_sum"]


def _size(name: str) -> str:
    return f"size_of_{name}"

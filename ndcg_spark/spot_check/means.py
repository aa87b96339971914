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

_SUMMED = ("ndcg", "dcg", "ideal_dcg", "returned", "judged")
_SLICE = "slice"


class Key(NamedTuple):
    """A row of DATASET_SCORES; attribute and value are None for all queries."""

    dataset: str
    run: str
    cutoff: int | None
    attribute: str | None
    value: str | None


@dataclasses.dataclass
class Total:
    """Sums over the queries of a row. They grow with each file."""

    count: dict[str, int] = dataclasses.field(default_factory=dict)
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
        below, size = self.sums.get(divisor, 0.0), self.sizes.get(divisor, 0.0)
        if not size:
            return Expected(None)
        if abs(below) < ROUNDING * size:
            return None
        return Expected(
            self.sums[dividend] / below, allowed_error(self.sizes[dividend] / abs(below))
        )

    def deviation(self) -> Expected | None:
        """The standard deviation of ndcg over the queries, divided by n - 1.

        None if it cannot be compared.
        """
        count = self.count.get("ndcg", 0)
        if count < 2:
            return Expected(None)
        if not math.isfinite(self.squares):
            return None
        allowed = allowed_error(self.sizes["ndcg"] / count)
        return Expected(math.sqrt(self.squares / (count - 1)), allowed)


class Means:
    """Adds up files of query scores, and computes what DATASET_SCORES must contain."""

    def __init__(self, measures: MeasureSet, attributes: pa.Table | None) -> None:
        self._measures = measures
        self._slices = _Slices(attributes) if attributes is not None else None
        self._totals: dict[Key, Total] = {}

    def add(self, table: pa.Table) -> None:
        """Add the rows of a file of QUERY_SCORES."""
        columns = [*_SUMMED, *self._measures.columns]
        prepared = _prepared(table, columns)
        self._add(prepared, columns, [(None, None)])
        if self._slices is not None:
            self._add(self._slices.cut(prepared), columns, self._slices.names)

    def expected(self) -> Iterator[tuple[Key, dict[str, Expected]]]:
        """The columns of each row of DATASET_SCORES, except those that cannot be compared."""
        for key, total in self._totals.items():
            deviation, queries = total.deviation(), total.count.get("ndcg", 0)
            error = deviation
            if deviation is not None and deviation.value is not None:
                root = math.sqrt(queries)
                error = Expected(deviation.value / root, deviation.allowed / root)
            row = {
                "queries": Expected(queries),
                "missing_queries": Expected(total.missing),
                "no_relevant_queries": Expected(total.no_relevant),
                "ndcg": total.mean("ndcg"),
                "ndcg_pooled": total.ratio("dcg", "ideal_dcg"),
                "ndcg_stddev": deviation,
                "ndcg_stderr": error,
                "dcg": total.mean("dcg"),
                "judged_rate": total.ratio("judged", "returned"),
                "relevant_queries": self._count(key, total, of_judgments=True),
                "listed_queries": self._count(key, total, of_judgments=False),
                **{name: total.mean(name) for name in self._measures.columns},
            }
            yield key, {name: value for name, value in row.items() if value is not None}

    def _count(self, key: Key, total: Total, *, of_judgments: bool) -> Expected:
        """How many queries the means of measures other than NDCG include.

        `of_judgments` selects the measures that need judgments, or all others. Null if none of them
        was requested.
        """
        beside, judged = self._measures.beside_ndcg, self._measures.of_judgments
        names = [name for name in beside if (name in judged) == of_judgments]
        if key.cutoff not in self._measures.cutoffs_for(*names):
            return Expected(None)
        return Expected(max(total.count.get(beside[name].column, 0) for name in names))

    def _add(
        self,
        table: pa.Table,
        columns: Sequence[str],
        names: Sequence[tuple[str | None, str | None]],
    ) -> None:
        sums = [(name, kind) for name in columns for kind in ("sum", "count")]
        sums += [(_size(name), "sum") for name in columns]
        sums += [("missing", "sum"), ("no_relevant", "sum")]
        variance = ("ndcg", "variance", pc.VarianceOptions(ddof=0))
        grouped = table.group_by(["dataset", "run", "cutoff", _SLICE]).aggregate([*sums, variance])
        for row in grouped.to_pylist():
            key = Key(row["dataset"], row["run"], row["cutoff"], *names[row[_SLICE]])
            _merge(self._totals.setdefault(key, Total()), row, columns)


def differing_rows(
    rows: Iterable[Mapping[str, Any]], means: Means
) -> Iterator[tuple[Key, Mapping[str, Any] | None, dict[str, Expected]]]:
    """Each expected row with the actual row, or None if the actual row is missing."""
    actual = {}
    for row in rows:
        actual[Key(row["dataset"], row["run"], row["cutoff"], row["attribute"], row["value"])] = row
    for key, expected in means.expected():
        yield key, actual.pop(key, None), expected
    # A row without queries belongs to a run whose queries are all unjudged.
    for key, row in actual.items():
        yield key, row, {"queries": Expected(0), "missing_queries": Expected(0)}


class _Slices:
    """The slices of QUERY_ATTRIBUTES: for each query, the numbers of its slices."""

    def __init__(self, attributes: pa.Table) -> None:
        self._has_datasets = "dataset" in attributes.column_names
        rows = attributes.to_pylist()
        known = sorted({row["attribute"] for row in rows})
        self.names: list[tuple[str | None, str | None]] = [(name, NO_VALUE) for name in known]
        numbers = {pair: at for at, pair in enumerate(self.names)}
        #: The numbers of the values, by query and attribute.
        self._of_query: dict[Any, dict[str, list[int]]] = {}
        for row in rows:
            pair = row["attribute"], row["value"]
            if pair not in numbers:
                numbers[pair] = len(self.names)
                self.names.append(pair)
            query = (row.get("dataset"), row["query_id"])
            own = self._of_query.setdefault(query, {}).setdefault(row["attribute"], [])
            if numbers[pair] not in own:
                own.append(numbers[pair])
        self._absent = {name: [numbers[name, NO_VALUE]] for name in known}

    def cut(self, table: pa.Table) -> pa.Table:
        """The table with each row repeated for every slice of its query."""
        datasets = table["dataset"].to_pylist() if self._has_datasets else [None] * len(table)
        slices = [
            self._numbers(query)
            for query in zip(datasets, table["query_id"].to_pylist(), strict=True)
        ]
        places = np.repeat(np.arange(len(table)), [len(numbers) for numbers in slices])
        flat = np.fromiter((at for numbers in slices for at in numbers), np.int64, len(places))
        cut = table.drop_columns([_SLICE]).take(pa.array(places))
        return cut.append_column(_SLICE, pa.array(flat))

    def _numbers(self, query: Any) -> list[int]:
        own = {**self._absent, **self._of_query.get(query, {})}
        numbers: list[int] = []
        for of_attribute in own.values():
            numbers += of_attribute
        return numbers


def _prepared(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """The summed columns, their absolute values, and 1 for each counted status; all in slice 0."""
    counted = pc.is_valid(table["ndcg"])
    arrays = {name: table[name] for name in ("dataset", "run", "query_id", "cutoff")}
    for name in columns:
        # A query that is left out of the mean ndcg is also left out of the mean dcg.
        values = table[name].cast(pa.float64())
        if name in ("dcg", "ideal_dcg"):
            values = pc.if_else(counted, values, pa.scalar(None, pa.float64()))
        arrays[name] = values
        arrays[_size(name)] = pc.abs(values)
    for status in ("missing", "no_relevant"):
        arrays[status] = pc.equal(table["status"], status).cast(pa.int64())
    arrays[_SLICE] = pa.array(np.zeros(len(table), np.int64))
    return pa.table(arrays)


def _merge(total: Total, row: Mapping[str, Any], columns: Sequence[str]) -> None:
    """Add the sums of a file; for the squares, see Chan, Golub and LeVeque (1979)."""
    before, more = total.count.get("ndcg", 0), row["ndcg_count"]
    if more:
        total.squares += row["ndcg_variance"] * more
        if before:
            apart = total.sums["ndcg"] / before - row["ndcg_sum"] / more
            total.squares += apart * apart * before * more / (before + more)
    for name in columns:
        total.count[name] = total.count.get(name, 0) + row[f"{name}_count"]
        total.sums[name] = total.sums.get(name, 0.0) + (row[f"{name}_sum"] or 0.0)
        total.sizes[name] = total.sizes.get(name, 0.0) + (row[f"{_size(name)}_sum"] or 0.0)
    total.missing += row["missing_sum"]
    total.no_relevant += row["no_relevant_sum"]


def _size(name: str) -> str:
    return f"size_of_{name}"

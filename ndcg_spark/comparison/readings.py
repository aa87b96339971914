"""A second reading of query scores: as if unjudged documents were as relevant as the judged
documents in the same list.

Judgments age. If they were made from lists that people saw, later lists have fewer judged
documents, and NDCG falls without a real loss. If both readings show a loss, it has a different
cause.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.comparison.statistics import Numbers
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import JUDGED_RATE
from ndcg_spark.reference import discounts, unjudged_gain

#: The convention's own reading, and the one in which unjudged documents are like judged ones.
FIRST_READING, SECOND_READING = 1, 2

#: The measures that have a second reading, with the columns that it is computed from.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "ndcg": ("ndcg", "dcg", "ideal_dcg", "returned", "judged_discount_share"),
    "dcg": ("dcg", "returned", "judged_discount_share"),
    "cg": ("cg", "returned", "judged"),
    "precision": ("precision", "returned", "judged"),
}


def has_second_reading(measure: str) -> bool:
    return measure in COLUMNS


def second_reading(rows: pa.Table, measure: str, convention: Convention) -> pa.Table:
    """QUERY_SCORES rows of one cutoff with the measure's second reading.

    It is null if a list was scored but the table does not show which share of it was judged.
    Queries without a scored list keep their score. A score may be above 1.
    """
    columns = {name: _numbers(rows, name) for name in COLUMNS[measure]}
    if measure in ("cg", "precision"):
        read = _by_count(columns, measure, convention)
    else:
        read = _by_discount(columns, measure, convention)
    is_scored = np.asarray(pc.fill_null(pc.equal(rows["status"], "scored"), False))
    values = np.where(is_scored, read, columns[measure])
    array = pa.array(values, pa.float64(), mask=np.isnan(values))
    return rows.set_column(rows.column_names.index(measure), measure, array)


def judged_rates(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """QUERY_SCORES rows with the share of returned documents that are judged; 0 if none were."""
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        returned, judged = _numbers(rows, "returned"), _numbers(rows, "judged")
        rates = np.divide(judged, returned, out=np.zeros_like(judged), where=returned > 0)
        yield from rows.append_column(JUDGED_RATE, pa.array(rates)).to_batches()


def _numbers(rows: pa.Table, name: str) -> Numbers:
    return np.asarray(pc.fill_null(rows[name].cast(pa.float64()), np.nan), np.float64)


def _by_count(columns: Mapping[str, Numbers], measure: str, convention: Convention) -> Numbers:
    """The measure divided by the share of documents that are judged."""
    returned, judged = columns["returned"], columns["judged"]
    # An unjudged document adds nothing to precision.
    gain = unjudged_gain(convention) if measure == "cg" else 0.0
    of_judged = columns[measure] - gain * (returned - judged)
    share = np.divide(judged, returned, out=np.zeros_like(judged), where=returned > 0)
    share = np.where(np.isnan(returned) | np.isnan(judged), np.nan, share)
    return _divide(of_judged, share)


def _by_discount(columns: Mapping[str, Numbers], measure: str, convention: Convention) -> Numbers:
    """The measure divided by the share of the discounts at ranks with judged documents."""
    share = np.where(columns["returned"] == 0, 0.0, columns["judged_discount_share"])
    gain = unjudged_gain(convention)
    dcg_of_judged = columns["dcg"]
    if gain:
        discounts_of_unjudged = (1 - share) * _discounts_down_to(columns["returned"], convention)
        dcg_of_judged = dcg_of_judged - gain * discounts_of_unjudged
    dcg = _divide(dcg_of_judged, share)
    if measure == "dcg":
        return dcg
    ideal = columns["ideal_dcg"]
    return np.divide(dcg, ideal, out=np.full_like(dcg, np.nan), where=ideal != 0)


def _divide(value: Numbers, share: Numbers) -> Numbers:
    """A value divided by a share; 0 if nothing is judged."""
    return np.where(share == 0, 0.0, value / np.where(share == 0, 1.0, share))


def _discounts_down_to(returned: Numbers, convention: Convention) -> Numbers:
    """The sum of the discounts of each query's ranks."""
    counts: NDArray[np.int64] = np.nan_to_num(returned).astype(np.int64)
    sums = _sums_of_discounts(int(counts.max(initial=0)), convention)
    return sums[counts]


@functools.lru_cache(8)
def _sums_of_discounts(depth: int, convention: Convention) -> Numbers:
    return np.concatenate([[0.0], np.cumsum(discounts(depth, convention.discount))])

"""The scores of nights under the newest judgments of their dataset, as one table."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.convention.measures import MeasureSet
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.copies import read_copy
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import read_rows
from ndcg_spark.schemas import DATASET_SCORES, KEPT
from ndcg_spark.spot_check.means import Means
from ndcg_spark.text import unknown_name

_TABLES = ("query_scores", "dataset_scores")
_logger = logging.getLogger(__name__)


def read_newest(
    nights: Sequence[Night],
    chosen: Sequence[Night],
    table: str,
    judgments: str,
) -> pa.Table:
    """The rows of a score table for the chosen nights under the newest judgments.

    `nights` are all nights of the output. A night that was not scored under the newest judgments
    is left out, and a warning says so.
    """
    if judgments != "newest":
        raise unknown_name("read_scores", "judgments", judgments, ["newest"])
    if table not in _TABLES:
        known = " and ".join(_TABLES)
        raise ConfigurationError(f"read_scores: {table} has no scores; judgments are for {known}")
    newest: dict[str, Night] = {}
    for night in sorted(nights, key=lambda night: night.evaluated_on):
        newest[night.dataset] = night
    parts = [KEPT[table].empty_table()]
    absent = []
    for night in chosen:
        fingerprint = newest[night.dataset].row["judgments_fingerprint"]
        rows = _rows_under(night, fingerprint, table)
        if rows is None:
            absent.append(night)
        else:
            parts.append(rows)
    if absent:
        what = f"{len(absent):,} night(s) have no scores under the newest judgments"
        text = "output: %s and are left out, e.g. %s; rescore computes them"
        _logger.warning(text, what, absent[0])
    return pa.concat_tables(parts)


def _rows_under(night: Night, fingerprint: str | None, table: str) -> pa.Table | None:
    """A night's rows under these judgments; None if it was not scored under them."""
    if night.row["judgments_fingerprint"] == fingerprint:
        return read_rows([night], table)
    rows = read_copy(night, fingerprint) if fingerprint else None
    if rows is None or table == "query_scores":
        return rows
    return means_of_copy(night, rows)


def means_of_copy(night: Night, rows: pa.Table) -> pa.Table:
    """The DATASET_SCORES rows over all queries, from a copy of a night's scores."""
    # Copies do not have scores of whole rankings.
    pairs = [(name, cutoff) for name, cutoff in night.measure_set.pairs if cutoff is not None]
    means = Means(MeasureSet(tuple(pairs)), None)
    means.add(rows)
    return pa.Table.from_pylist(list(mean_rows(night, means)), DATASET_SCORES)


def mean_rows(night: Night, means: Means) -> Iterator[dict[str, Any]]:
    """A night's DATASET_SCORES rows, with columns from the means."""
    of_night = {
        "evaluated_on": pa.scalar(night.evaluated_on).cast(pa.date32()).as_py(),
        "evaluation_id": night.evaluation_id,
        "convention": night.row["convention"],
        "formula": night.row["formula"],
    }
    for key, expected in means.expected():
        values = {name: mean.value for name, mean in expected.items()}
        yield {**of_night, **key._asdict(), **values}

"""What `evaluate` returns: the scores in pandas, or as lazy tables of Spark."""

import dataclasses
import functools
import warnings
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from ndcg_spark.convention.measures import (
    COLUMNS,
    MEASURES,
    NDCG_ONLY,
    Cutoff,
    MeasureSet,
    by_depth,
    format_cutoff,
    published,
)
from ndcg_spark.convention.parsing import ALL_CUTOFFS, parse_columns, parse_cutoff
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.schemas import DATASET_SCORES, QUERY_SCORES, measure_first
from ndcg_spark.scratch import Scratch
from ndcg_spark.tables.writers import to_pandas
from ndcg_spark.text import did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: The scores of queries besides the measures.
_PARTS = ("dcg", "ideal_dcg", "cg")
_MAX_SHOWN = 50


def heading(column: str, cutoff: Cutoff) -> str:
    """A measure at a cutoff as the heading of a column: ndcg@10, P@5, AP."""
    if column in MEASURES and column != "ndcg":
        return published(column, cutoff)
    return f"{column}@{format_cutoff(cutoff)}"


class Scores:
    """The scores of an evaluation in pandas, which a notebook and `print` show as a table of runs and measures.

    Attributes
    ----------
    dataset_scores : DataFrame
        A row per dataset, run and cutoff, and per slice if there are any: `schemas.DATASET_SCORES`, without the
        measures that were not computed.
    query_scores : DataFrame
        A row per dataset, run, query and cutoff: `schemas.QUERY_SCORES`, read when it is first used.
    """

    def __init__(
        self,
        dataset_scores: pd.DataFrame,
        read_query_scores: Callable[[], pa.Table],
        measures: MeasureSet = NDCG_ONLY,
        inputs: Any = None,
        scratch: Scratch | None = None,
    ) -> None:
        self.dataset_scores = dataset_scores
        self._read_query_scores = read_query_scores
        self.measures = measures
        #: The configuration for which they were computed, if their inputs are still there.
        self.inputs = inputs
        self._scratch = scratch

    @functools.cached_property
    def query_scores(self) -> pd.DataFrame:
        """A row per dataset, run, query and cutoff."""
        names = measure_first(QUERY_SCORES, self.measures.columns)
        return to_pandas(self._read_query_scores().select(list(names)))

    def table(self) -> pd.DataFrame:
        """A row per run, from the best down, and a column per measure: ndcg@10, P@5, AP.

        Runs are in the order of the first measure. The index is the run; with several datasets, or with slices,
        these come before it.
        """
        rows = self.dataset_scores
        key = [name for name in ("dataset", "attribute", "value") if rows[name].nunique(dropna=False) > 1]
        pairs = self._pairs()
        columns = {}
        for column, cutoff in pairs:
            at = rows["cutoff"].isna() if cutoff is None else rows["cutoff"].eq(cutoff).fillna(False)
            columns[heading(column, cutoff)] = rows[at].set_index([*key, "run"])[column].astype(float)
        table = pd.DataFrame(columns)
        # Sums in different orders differ in their last digits.
        order = pd.DataFrame({"score": -table.iloc[:, 0].round(12)}).reset_index()
        order = order.sort_values([*key, "score", "run"], na_position="first" if "attribute" in key else "last")
        return table.iloc[order.index] if key else table.iloc[order.index].rename_axis(None)

    def per_query(self, measure: str | None = None) -> pd.DataFrame:
        """A row per query and a column per run, by default of the first measure: ``scores.per_query("ndcg@10")``.

        NaN where the convention leaves a query out of the mean. With several datasets, the index begins with these.

        Raises
        ------
        ConfigurationError
            The measure was not computed at this cutoff.
        """
        column, cutoff = self._pairs()[0] if measure is None else self._pair(measure)
        rows = self.query_scores
        at = rows["cutoff"].isna() if cutoff is None else rows["cutoff"].eq(cutoff).fillna(False)
        key = ["dataset", "query_id"] if rows["dataset"].nunique() > 1 else "query_id"
        table = rows[at].pivot(index=key, columns="run", values=column).astype(float)
        return table.rename_axis(columns=None, index=None) if key == "query_id" else table.rename_axis(columns=None)

    def _pairs(self) -> list[tuple[str, Cutoff]]:
        """The measures that are shown, each with its cutoff, that of the headline first."""
        cutoffs = {None if pd.isna(cutoff) else int(cutoff) for cutoff in self.dataset_scores["cutoff"]}
        pairs = [(MEASURES[name].column, cutoff) for name, cutoff in self.measures.pairs]
        pairs = pairs or [("ndcg", cutoff) for cutoff in sorted(cutoffs, key=by_depth)]
        measure, cutoff = self.measures.headline(cutoffs)
        return list(dict.fromkeys([(MEASURES[measure].column, cutoff), *pairs]))

    def _pair(self, measure: str) -> tuple[str, Cutoff]:
        pairs = parse_columns(measure, _PARTS)
        column, cutoff = pairs[0]
        known = [heading(*pair) for pair in self._pairs()]
        if len(pairs) > 1:
            raise ConfigurationError(f"measure: {measure!r} names {len(pairs)} measures; name one, such as {known[0]}")
        if cutoff == ALL_CUTOFFS:
            return column, next((at for name, at in self._pairs() if name == column), self._pairs()[0][1])
        pair = column, parse_cutoff(cutoff)
        if column not in _PARTS and pair not in self._pairs():
            near = did_you_mean(measure, known)
            raise ConfigurationError(f"measure: {measure} was not computed{near}; choose from {', '.join(known)}")
        return pair

    def _convention(self) -> str:
        rows = self.dataset_scores
        return "" if rows.empty else f"{rows['convention'].iloc[0]}: {rows['formula'].iloc[0]}"

    def __repr__(self) -> str:
        table = self.table()
        more = f"\n{len(table) - _MAX_SHOWN} more rows in table()" if len(table) > _MAX_SHOWN else ""
        text = table.head(_MAX_SHOWN).to_string(float_format="{:.4f}".format, na_rep="")
        return f"{text}{more}\n\n{self._convention()}"

    def _repr_html_(self) -> str:
        table = self.table()
        page = table.head(_MAX_SHOWN).to_html(float_format="{:.4f}".format, na_rep="")
        more = f"<p>{len(table) - _MAX_SHOWN} more rows in table()</p>" if len(table) > _MAX_SHOWN else ""
        return f"<div>{page}{more}<p><small>{escape(self._convention())}</small></p></div>"


@dataclasses.dataclass(frozen=True, repr=False)
class SparkScores:
    """The scores of an evaluation of Spark DataFrames, which nothing computes before they are used.

    Attributes
    ----------
    query_scores, dataset_scores : DataFrame of Spark
        The tables `schemas.QUERY_SCORES` and `schemas.DATASET_SCORES`, lazy and in no order.
    """

    query_scores: "DataFrame"
    dataset_scores: "DataFrame"
    measures: MeasureSet = NDCG_ONLY

    def to_pandas(self) -> Scores:
        """The scores in pandas, computed by Spark jobs at the first call and kept."""
        return self._scores

    @functools.cached_property
    def _scores(self) -> Scores:
        names = measure_first(DATASET_SCORES, self.measures.columns)
        rows = to_pandas(self.dataset_scores.select(*names))
        # Whatever the convention makes of missing queries, without documents there is no rate.
        if len(rows) and rows["judged_rate"].isna().all():
            warnings.warn(
                "results: no run has results for a judged query; check that both write ids alike", stacklevel=3
            )
        return Scores(rows, self.query_scores.toArrow, self.measures)

    def __repr__(self) -> str:
        return "Scores of a Spark session; to_pandas() computes them, and a notebook shows them"

    def _repr_html_(self) -> str:
        return self._scores._repr_html_()


def scores_frame(rows: Sequence[dict[str, Any]], measures: MeasureSet) -> pd.DataFrame:
    """Rows of DATASET_SCORES in pandas, without the measures that were not computed."""
    names = [name for name in DATASET_SCORES.names if name not in COLUMNS or name in measures.columns]
    return to_pandas(pa.Table.from_pylist(list(rows), DATASET_SCORES).select(names))

"""What `evaluate` returns: the scores in pandas, or as lazy tables of Spark."""

import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from ndcg_spark.convention.convention import Convention, definition, why_no_value
from ndcg_spark.convention.measures import (
    MEASURES,
    NDCG_ONLY,
    Cutoff,
    MeasureSet,
    by_depth,
    format_cutoff,
    published,
    written,
)
from ndcg_spark.convention.parsing import ALL_CUTOFFS, parse_columns, parse_cutoff
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.schemas import DATASET_SCORES, NO_VALUE, QUERY_SCORES, measure_first
from ndcg_spark.tables.writers import to_pandas
from ndcg_spark.tolerance import DECIMALS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: The scores of queries besides the measures.
_PARTS = ("dcg", "ideal_dcg", "cg")
#: How a table is shown.
_STYLE: dict[str, Any] = {"max_rows": 50, "float_format": "{:.4f}".format, "na_rep": "-"}


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
        dataset_scores: pa.Table,
        read_query_scores: Callable[[], pa.Table],
        measures: MeasureSet = NDCG_ONLY,
        inputs: Any = None,
        scratch: Any = None,
        attributes: pa.Table | None = None,
    ) -> None:
        self.dataset_scores = to_pandas(dataset_scores.select(list(measure_first(DATASET_SCORES, measures.columns))))
        self._read_query_scores = read_query_scores
        self.measures = measures
        #: The configuration for which they were computed, and what keeps its files.
        self.inputs, self._scratch = inputs, scratch
        #: QUERY_ATTRIBUTES, if they have slices.
        self.attributes = attributes

    def __getstate__(self) -> dict[str, Any]:
        # Files are not pickled, so that no query can be explained from a copy.
        return {**vars(self), "query_scores": self.query_scores} | dict.fromkeys(
            ("_read_query_scores", "inputs", "_scratch")
        )

    @functools.cached_property
    def query_scores(self) -> pd.DataFrame:
        """A row per dataset, run, query and cutoff."""
        return to_pandas(self._read_query_scores().select(list(measure_first(QUERY_SCORES, self.measures.columns))))

    def to_pandas(self) -> "Scores":
        """Themselves, as they are in pandas."""
        return self

    def table(self) -> pd.DataFrame:
        """A row per run, from the best down, and a column per measure: ndcg@10, P@5, AP.

        Runs are in the order of the first measure. The index is the run; with several datasets, or with slices,
        these come before it.
        """
        rows = self.dataset_scores
        key = [name for name in ("dataset", "attribute", "value") if rows[name].nunique(dropna=False) > 1]
        indexed = {
            name: _at(rows, cutoff).set_index([*key, "run"])[column].astype(float)
            for name, (column, cutoff) in self._columns.items()
        }
        table = pd.DataFrame(indexed)
        # Sums in different orders differ in their last digits.
        order = pd.DataFrame({"score": -table.iloc[:, 0].round(DECIMALS)}).reset_index()
        order = order.sort_values([*key, "score", "run"], na_position="first" if "attribute" in key else "last")
        return table.iloc[order.index] if key else table.iloc[order.index].rename_axis(None)

    def per_query(self, measure: str | None = None) -> pd.DataFrame:
        """A row per query and a column per run, by default of the first measure: ``scores.per_query("ndcg@10")``.

        NaN where the convention leaves a query out of the mean. With several datasets, the index begins with these.
        Raises ConfigurationError if the measure was not computed at this cutoff.
        """
        known = list(self._columns.values())
        column, cutoff = known[0]
        if measure is not None:
            (column, text), *more = parse_columns(str(measure), _PARTS, self.measures.options)
            # NDCG and its parts are in the tables at every cutoff, whatever was asked for.
            is_always = column in ("ndcg", *_PARTS)
            cutoffs = self._cutoffs if is_always else [at for name, at in known if name == column]
            cutoff = self.measures.main_cutoff(column, cutoffs) if text == ALL_CUTOFFS else parse_cutoff(text)
            if more or cutoff not in cutoffs:
                choices = ", ".join(dict.fromkeys([*self._columns, *(written("ndcg", at) for at in self._cutoffs)]))
                raise ConfigurationError(f"measure: {measure} was not computed; choose one of {choices}")
        rows = _at(self.query_scores, cutoff)
        key = ["dataset", "query_id"] if rows["dataset"].nunique() > 1 else "query_id"
        table = rows.pivot(index=key, columns="run", values=column).astype(float).rename_axis(columns=None)
        return table.rename_axis(index=None) if key == "query_id" else table

    @property
    def _cutoffs(self) -> list[Cutoff]:
        return sorted({None if pd.isna(at) else int(at) for at in self.dataset_scores["cutoff"]}, key=by_depth)

    @functools.cached_property
    def _columns(self) -> dict[str, tuple[str, Cutoff]]:
        """The measures that are shown, by heading, each with its column and cutoff, that of the headline first."""
        pairs = self.measures.pairs or [("ndcg", cutoff) for cutoff in self._cutoffs]
        columns = {}
        for name, cutoff in (self.measures.headline(self._cutoffs), *pairs):
            is_ndcg = name == "ndcg"
            heading = written(name, cutoff) if is_ndcg else published(name, cutoff, self.measures.options)
            columns[heading] = MEASURES[name].column, cutoff
        return columns

    def _convention(self) -> str:
        first = self.dataset_scores[:1].itertuples()
        return "".join(definition(str(row.convention), str(row.formula), self.measures) for row in first)

    def __repr__(self) -> str:
        return f"{self.table().to_string(**_STYLE)}\n\n{self._convention()}"

    def _repr_html_(self) -> str:
        return f"<div>{self.table().to_html(**_STYLE)}<p><small>{escape(self._convention())}</small></p></div>"


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
    attributes: pa.Table | None = None
    #: The names of the runs, if they are known before anything is computed.
    runs: Sequence[str] = ()
    #: Recomputes some lists; gets the dataset scores, and returns the query scores if it has fetched all of them.
    check: "Callable[[pa.Table, DataFrame], pa.Table | None] | None" = None

    def to_pandas(self) -> Scores:
        """The scores in pandas, computed by Spark jobs at the first call and kept; InputError without any result.

        Some lists are recomputed in plain Python, as by every evaluation of files: NotVerifiedError if they differ. The
        lazy tables are not checked.
        """
        return self._scores

    @functools.cached_property
    def _scores(self) -> Scores:
        table = self.dataset_scores.toArrow()
        if not table.num_rows:
            raise InputError("results: the table is empty, or exclude removed every row; check what fills it")
        fetched = None if self.check is None else self.check(table, self.query_scores)
        read = self.query_scores.toArrow if fetched is None else lambda: fetched
        scores = Scores(table, read, self.measures, attributes=self.attributes)
        values = scores.dataset_scores["value"].dropna()
        if len(values) and values.eq(NO_VALUE).all():
            warnings.warn("query_attributes: none of its queries has scores here; check its ids", stacklevel=4)
        rows = [row for row in table.to_pylist() if row["attribute"] is None]
        # A probable mistake explains why there is no value.
        sentences = [*_about(rows, self.runs)] or [*about_no_values(rows, self.measures)]
        for sentence in sentences:
            warnings.warn(sentence, stacklevel=4)
        return scores

    def __repr__(self) -> str:
        return "Scores of a Spark session; to_pandas() computes them, and a notebook shows them"

    def _repr_html_(self) -> str:
        return self._scores._repr_html_()


def about_judged_rates(rows: Iterable[Mapping[str, Any]], cutoff: Cutoff, advice: str) -> Iterator[str]:
    unjudged = [row["run"] for row in rows if row["cutoff"] == cutoff and row["judged_rate"] == 0]
    if unjudged:
        yield (
            f"{len(unjudged)} run(s) returned no judged document within the cutoff {format_cutoff(cutoff)}, e.g. "
            f"run={unjudged[0]}; {advice}"
        )


def about_no_values(rows: Iterable[Mapping[str, Any]], measures: MeasureSet) -> Iterator[str]:
    """Why measures have no value for any run of a dataset, from rows of DATASET_SCORES."""
    datasets: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        datasets.setdefault(row["dataset"], []).append(row)
    for dataset, own in datasets.items():
        where = f" in dataset={dataset}" if len(datasets) > 1 else ""
        convention = Convention.parse(own[0]["convention"])
        reasons: dict[str, list[str]] = {}
        for name, cutoff in measures.pairs or [("ndcg", row["cutoff"]) for row in own]:
            column = MEASURES[name].column
            if all(row[column] is None for row in own if row["cutoff"] == cutoff):
                alike = reasons.setdefault(why_no_value(column, convention), [])
                alike.append(written(name, cutoff))
        for reason, several in reasons.items():
            shown = ", ".join(dict.fromkeys(several))
            yield f"measures: no value for {shown}{where}: {reason}; check the grades"


def _about(rows: Sequence[Mapping[str, Any]], runs: Sequence[str]) -> Iterator[str]:
    """Sentences about probable mistakes that the rows of DATASET_SCORES show, of which `runs` should have some."""
    scored = {row["run"] for row in rows}
    if empty := [run for run in runs if run not in scored]:
        yield f"results: {len(empty)} run(s) have no rows, e.g. run={empty[0]}; check what should have filled the table"
    counts = ("queries", "missing_queries", "no_relevant_queries")
    if not any(row[count] for row in rows for count in counts):
        yield "judgments: no query is judged; check what should have filled the table"
    # Whatever the convention makes of missing queries, without documents there is no rate.
    elif all(row["judged_rate"] is None for row in rows):
        yield "results: no run has results for a judged query; write ids alike in both"
    elif few := [row for row in rows if _answered(row) < min(row["missing_queries"], row["unjudged_queries"])]:
        first, several = few[0], len({row["run"] for row in few})
        what = f"lacks {first['missing_queries']} and answered {first['unjudged_queries']} others; write ids alike"
        yield f"results: {several} run(s) lack over half of the judged queries, e.g. run={first['run']} {what} in both"
    deepest = max((row["cutoff"] for row in rows), key=by_depth)
    yield from about_judged_rates(rows, deepest, "write document ids in the same way")


def _answered(row: Mapping[str, Any]) -> int:
    """How many judged queries have results, at most, as of those without gain some may be missing."""
    options = Convention.parse(row["convention"])
    left_out = row["no_relevant_queries"] if options.no_relevant == "skip" else 0
    answered: int = row["queries"] + left_out - (row["missing_queries"] if options.missing_query == "zero" else 0)
    return answered


def _at(rows: pd.DataFrame, cutoff: Cutoff) -> pd.DataFrame:
    """The rows at a cutoff."""
    return rows[rows["cutoff"].isna() if cutoff is None else rows["cutoff"].eq(cutoff).fillna(False)]

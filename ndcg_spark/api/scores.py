"""What `evaluate` returns: the scores in pandas, or as lazy Spark DataFrames."""

import dataclasses
import functools
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.contract.doubtful_scores import about_attributes, about_no_values, about_runs
from ndcg_spark.convention.convention import definition
from ndcg_spark.convention.measures import (
    MEASURES,
    NDCG_ONLY,
    Cutoff,
    MeasureSet,
    by_depth,
    catalog_definitions,
    measure_heading,
    name_in_papers,
)
from ndcg_spark.convention.parsing import ALL_CUTOFFS, parse_columns, parse_cutoff
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.nights.macro_rows import SCHEMA as MACRO_SCHEMA
from ndcg_spark.schemas import DATASET_SCORES, QUERY_SCORES, measure_first
from ndcg_spark.tables import format as numbers
from ndcg_spark.tables.macro import DATASETS, MACRO, macro_means
from ndcg_spark.tables.table import Table, shown_value
from ndcg_spark.tables.writers import notebook_html, to_pandas
from ndcg_spark.tolerance import DECIMALS
from ndcg_spark.voices import Notice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: The columns of query scores that are not measures.
_PARTS = ("dcg", "ideal_dcg", "cg")
#: The largest number of rows that a table shows.
_SHOWN = 50
#: How a terminal shows a table.
_STYLE: dict[str, Any] = {"max_rows": _SHOWN, "float_format": numbers.score, "na_rep": "-"}
#: The error for results without rows.
NO_RESULTS = "results: the table is empty, or exclude removed every row; check what fills it"


class Scores:
    """The scores of an evaluation in pandas. A notebook and `print` show runs and measures.

    Attributes
    ----------
    dataset_scores : DataFrame
        A row per dataset, run and cutoff, and per slice if there are any:
        `schemas.DATASET_SCORES`, without the measures that were not computed.
    macro_means : DataFrame
        With several datasets, the unweighted mean of their means, as BEIR and MTEB report it: a row
        per run and cutoff that all datasets have, with the number of datasets in `datasets`.
        `table()` shows it below the datasets.
    query_scores : DataFrame
        A row per dataset, run, query and cutoff: `schemas.QUERY_SCORES`, read when it is first
        used.
    """

    def __init__(
        self,
        dataset_scores: pa.Table,
        read_query_scores: Callable[[], pa.Table],
        measures: MeasureSet = NDCG_ONLY,
        inputs: Any = None,
        scratch: Any = None,
        attributes: pa.Table | None = None,
        datasets_without_results: Sequence[str] = (),
        items_fingerprint: str | None = None,
    ) -> None:
        shown = list(measure_first(DATASET_SCORES, measures.columns_of_means))
        self.dataset_scores = to_pandas(dataset_scores.select(shown))
        all_queries = dataset_scores.filter(pc.field("attribute").is_null())
        #: The rows of macro_means, and why some runs have none.
        self.macro = macro_means(all_queries.to_pylist(), datasets_without_results)
        macro = pa.Table.from_pylist(self.macro.rows, MACRO_SCHEMA)
        self.macro_means = to_pandas(macro.select([*shown, DATASETS]))
        # Joined in Arrow, because in pandas a column without values would change its type.
        shown_macro = macro.select(shown)
        shown_scores = dataset_scores.select(shown).cast(shown_macro.schema)
        self._shown_scores = to_pandas(pa.concat_tables([shown_scores, shown_macro]))
        self._read_query_scores = read_query_scores
        self.measures = measures
        #: The configuration that computed the scores.
        self.inputs = inputs
        #: The owner of the temporary files, which are removed with it.
        self._scratch = scratch
        #: QUERY_ATTRIBUTES, if there are slices.
        self.attributes = attributes
        #: Equal for evaluations with the same items of the catalog; None without items.
        self.items_fingerprint = items_fingerprint

    def __getstate__(self) -> dict[str, Any]:
        # Files are not pickled, so a pickled copy cannot explain a query.
        without_files = dict.fromkeys(("_read_query_scores", "inputs", "_scratch"))
        return {**vars(self), "query_scores": self.query_scores, **without_files}

    @functools.cached_property
    def query_scores(self) -> pd.DataFrame:
        """A row per dataset, run, query and cutoff."""
        shown = measure_first(QUERY_SCORES, self.measures.columns)
        return to_pandas(self._read_query_scores().select(list(shown)))

    def to_pandas(self) -> "Scores":
        """Return self; the scores are already in pandas."""
        return self

    def table(self) -> pd.DataFrame:
        """A row per run, from the best down, and a column per measure: ndcg@10, P@5, AP.

        Runs are sorted by the first measure. The index is the run; with several datasets or with
        slices, their names come before it. The means over several datasets come last.
        """
        rows = self._shown_scores
        key = []
        for name in ("dataset", "attribute", "value"):
            if rows[name].nunique(dropna=False) > 1:
                key.append(name)
        indexed = {}
        for heading, (column, cutoff) in self._columns.items():
            indexed[heading] = _at(rows, cutoff).set_index([*key, "run"])[column].astype(float)
        table = pd.DataFrame(indexed)
        first_scores = table.iloc[:, 0]
        # Rounded, because equal sums in different orders differ in their last digits. Negated, so
        # that the best score comes first.
        order = pd.DataFrame({"score": -first_scores.round(DECIMALS)}).reset_index()
        order["macro"] = order["dataset"].eq(MACRO) if "dataset" in key else False
        # All queries, which have no attribute, come before slices; a run without a score is last.
        nulls: Literal["first", "last"] = "first" if "attribute" in key else "last"
        order = order.sort_values(["macro", *key, "score", "run"], na_position=nulls)
        ordered: pd.DataFrame = table.iloc[order.index]
        return ordered if key else ordered.rename_axis(None)

    def per_query(self, measure: str | None = None) -> pd.DataFrame:
        """A row per query and a column per run: ``scores.per_query("ndcg@10")``.

        The default is the first measure. Queries that the convention leaves out of the mean are
        NaN. With several datasets, the index begins with the dataset. Raises ConfigurationError if
        the measure was not computed at this cutoff.
        """
        if measure is None:
            column, cutoff = next(iter(self._columns.values()))
        else:
            column, cutoff = self._column_and_cutoff(str(measure))
        rows = _at(self.query_scores, cutoff)
        has_datasets = rows["dataset"].nunique() > 1
        key = ["dataset", "query_id"] if has_datasets else "query_id"
        table = rows.pivot(index=key, columns="run", values=column)
        table = table.astype(float).rename_axis(columns=None)
        return table if has_datasets else table.rename_axis(index=None)

    def _column_and_cutoff(self, measure: str) -> tuple[str, Cutoff]:
        """The column and the cutoff of a measure that was computed."""
        columns = parse_columns(measure, _PARTS, self.measures.options)
        if len(columns) > 1:
            # The text names several measures.
            raise self._not_computed(measure)
        ((column, cutoff_text),) = columns
        if column in ("ndcg", *_PARTS):
            # The tables contain NDCG and its parts at every cutoff, whatever was requested.
            cutoffs = self._cutoffs
        else:
            cutoffs = [cutoff for name, cutoff in self._columns.values() if name == column]
        if cutoff_text == ALL_CUTOFFS:
            cutoff = self.measures.main_cutoff(column, cutoffs)
        else:
            cutoff = parse_cutoff(cutoff_text)
        if cutoff not in cutoffs:
            raise self._not_computed(measure)
        return column, cutoff

    def _not_computed(self, measure: str) -> ConfigurationError:
        """The error for a measure that was not computed; it names those that were."""
        ndcg = [measure_heading("ndcg", cutoff) for cutoff in self._cutoffs]
        choices = ", ".join(dict.fromkeys([*self._columns, *ndcg]))
        return ConfigurationError(f"measure: {measure} was not computed; choose one of {choices}")

    @property
    def _cutoffs(self) -> list[Cutoff]:
        cutoffs: set[Cutoff] = set()
        for cutoff in self.dataset_scores["cutoff"]:
            cutoffs.add(None if pd.isna(cutoff) else int(cutoff))
        return sorted(cutoffs, key=by_depth)

    @functools.cached_property
    def _columns(self) -> dict[str, tuple[str, Cutoff]]:
        """The measures to show, by heading, each with its column and cutoff.

        The headline comes first.
        """
        pairs = self.measures.pairs or [("ndcg", cutoff) for cutoff in self._cutoffs]
        columns = {}
        for name, cutoff in (self.measures.headline(self._cutoffs), *pairs):
            if name == "ndcg":
                heading = measure_heading(name, cutoff)
            else:
                heading = name_in_papers(name, cutoff, self.measures.options)
            columns[heading] = MEASURES[name].column, cutoff
        return columns

    @property
    def convention(self) -> str:
        """The convention of the scores: its preset, and the options that differ from it."""
        return str(self.dataset_scores["convention"].iloc[0])

    def _definition(self) -> str:
        if self.dataset_scores.empty:
            return ""
        first = self.dataset_scores.iloc[0]
        return definition(self.convention, str(first["formula"]), self.measures)

    @property
    def _item_headings(self) -> list[str]:
        """The headings of numbers of items."""
        return [heading for heading, (column, _) in self._columns.items() if column == "items"]

    def _notes(self) -> list[str]:
        """The definitions of NDCG and of catalog measures, and the runs without a macro mean."""
        return [self._definition(), *catalog_definitions(self.measures), *self.macro.notes]

    def __repr__(self) -> str:
        whole: dict[str, Any] = {"formatters": dict.fromkeys(self._item_headings, numbers.whole)}
        table = self.table().to_string(**_STYLE, **whole)
        notes = "\n".join(self._notes())
        return f"{table}\n\n{notes}"

    def _repr_html_(self) -> str:
        table = self.table()
        # The index may also name the dataset and the slice, before the run.
        table = table.rename_axis([*table.index.names[:-1], "run"]).reset_index()
        shown = table[:_SHOWN].astype(object)
        rows: list[dict[Any, Any]] = shown.mask(shown.isna(), None).to_dict("records")
        for row in rows:
            for heading in self._item_headings:
                row[heading] = shown_value("items", row[heading])
        notes = self._notes()
        if len(table) > len(rows):
            notes.insert(0, f"the first {len(rows)} of {len(table):,} rows")
        return notebook_html(Table(rows, [str(name) for name in table.columns], notes))


@dataclasses.dataclass(frozen=True, repr=False)
class SparkScores:
    """The scores of an evaluation of Spark DataFrames, computed only when they are used.

    Attributes
    ----------
    query_scores, dataset_scores : Spark DataFrame
        The tables `schemas.QUERY_SCORES` and `schemas.DATASET_SCORES`, lazy and unordered.
    """

    query_scores: "DataFrame"
    dataset_scores: "DataFrame"
    #: The convention of the scores: its preset, and the options that differ from it.
    convention: str
    measures: MeasureSet = NDCG_ONLY
    attributes: pa.Table | None = None
    #: The names of the runs, if they are known before anything is computed.
    runs: Sequence[str] = ()
    #: The spot check of both tables. It returns the query scores if it has fetched all of them.
    check: "Callable[[pa.Table, DataFrame], pa.Table | None] | None" = None
    #: Equal for evaluations with the same items of the catalog; None without items.
    items_fingerprint: str | None = None

    def to_pandas(self) -> Scores:
        """Return the scores in pandas. Spark jobs compute them at the first call.

        Raises InputError if there are no results. Some lists are recomputed in plain Python, as in
        every evaluation of files; NotVerifiedError is raised if they differ. The lazy tables are
        not checked.
        """
        return self._scores

    @functools.cached_property
    def _scores(self) -> Scores:
        table = self.dataset_scores.toArrow()
        if not table.num_rows:
            raise InputError(NO_RESULTS)
        fetched = None
        if self.check is not None:
            fetched = self.check(table, self.query_scores)

        def query_scores() -> pa.Table:
            return self.query_scores.toArrow() if fetched is None else fetched

        scores = Scores(
            table,
            query_scores,
            self.measures,
            attributes=self.attributes,
            items_fingerprint=self.items_fingerprint,
        )
        for warning in self._warnings(table):
            warnings.warn(str(warning), stacklevel=4)
        return scores

    def _warnings(self, table: pa.Table) -> list[str | Notice]:
        """The warnings about rows of DATASET_SCORES."""
        rows = table.to_pylist()
        sentences: list[str | Notice] = list(about_attributes(rows, self.attributes))
        all_queries = [row for row in rows if row["attribute"] is None]
        # A probable mistake would also explain why there is no value.
        mistakes = list(about_runs(all_queries, self.runs))
        sentences.extend(mistakes or about_no_values(all_queries, self.measures))
        return sentences

    def __repr__(self) -> str:
        return "Scores of a Spark session; to_pandas() computes them, and a notebook shows them"

    def _repr_html_(self) -> str:
        return self._scores._repr_html_()


def _at(rows: pd.DataFrame, cutoff: Cutoff) -> pd.DataFrame:
    """The rows at a cutoff."""
    if cutoff is None:
        return rows[rows["cutoff"].isna()]
    return rows[rows["cutoff"].eq(cutoff).fillna(False)]

"""Catalog measures on an engine: what items add to a list, and all lists of a run.

List measures are computed in the same pass as all other measures, after the items are joined with
the ranked documents. Run measures need another aggregation of `shown_lists`, by run and item.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark import sql
from ndcg_spark.convention.catalog import catalog_option, persistence
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import RUN_COLUMNS, Cutoff, MeasureSet, Names, column_at
from ndcg_spark.errors import ConventionError
from ndcg_spark.item_table import IN_CATALOG, ItemTable
from ndcg_spark.scoring.ranking import DOCUMENTS, RANK, documents_of, is_within, sums_at
from ndcg_spark.voices import SetOption

#: Tables with more items than this are not broadcast.
_MOST_BROADCAST = 500_000
#: Represents null in the structs of `_at_cutoff`, as in `counted_queries`.
_NOTHING = "-1e9D"
#: The columns of DATASET_SCORES about a run's lists, in SQL, if no measure needs them.
NO_RUN_MEASURES = {
    "lists": sql.null("bigint"),
    "unknown_items": sql.null("bigint"),
    **dict.fromkeys(RUN_COLUMNS, sql.null("double")),
}


@dataclasses.dataclass(frozen=True)
class EngineItems:
    """The catalog's items, in memory and on an engine."""

    items: ItemTable
    #: The rows of `ItemTable.values`.
    table: DataFrame

    @classmethod
    def of(
        cls, items: ItemTable, measures: MeasureSet, frame: Callable[[pa.Table], DataFrame]
    ) -> "EngineItems":
        values = items.values(measures.of_items, measures.options)
        return cls(items, frame(values))


def refuse_dependent(convention: Convention, measures: MeasureSet) -> None:
    """Raise ConventionError if the order or the documents of a list depend on judgments."""
    if not measures.of_catalog:
        return
    names = ", ".join(measures.of_catalog)
    if convention.ties in ("average", "worst", "best"):
        raise ConventionError(
            f"measures: {names} needs an order that does not depend on judgments, "
            f"but with ties={convention.ties} the order does",
            SetOption("ties", "doc_id_desc", words="use, for example,"),
        )
    for option, usual in (("unjudged", "zero"), ("negative", "as_unjudged")):
        if getattr(convention, option) == "drop":
            raise ConventionError(
                f"measures: {names} needs all shown documents, but {option}=drop removes some",
                SetOption(option, usual, words="use, for example,"),
            )


def with_items(documents: DataFrame, items: EngineItems | None, measures: MeasureSet) -> DataFrame:
    """Ranked documents with what they add to the list measures, or null if they add nothing."""
    names = [name for name in measures.beside_ndcg if name in measures.of_items]
    if items is None or not names:
        return documents
    columns = [column for column in items.table.columns if column not in ("doc_id", IN_CATALOG)]
    joined = _join_items(items, documents, columns)
    added: dict[str, Column] = {}
    for name in names:
        if name != "categories":
            added |= _values_of_document(name, items.items, measures)
    return joined.withColumns(added) if added else joined


def _values_of_document(name: str, items: ItemTable, measures: MeasureSet) -> dict[str, Column]:
    """The value that a document adds to a mean, and 1, or null if the document is not counted."""
    value = F.col(f"{name}_value")
    unknown = items.value_of_unknown(name, measures.options)
    if unknown is not None:
        value = F.coalesce(value, F.lit(unknown))
    counted = F.when(value.isNotNull(), 1.0)
    if name == "novelty" and catalog_option(measures.options, "novelty_over") == "k":
        counted = F.lit(None).cast("double")
    return {f"{name}_value": value, f"{name}_counted": counted}


def _join_items(items: EngineItems, documents: DataFrame, columns: Sequence[str]) -> DataFrame:
    """All documents, with these columns of their items."""
    # If a column is constant before an outer join, the embedded engine assumes that it is constant
    # after the join; see `lists._with_judgments`.
    not_constant = {name: F.when(F.octet_length("doc_id") >= 0, F.col(name)) for name in columns}
    table = items.table.select("doc_id", *columns).withColumns(not_constant)
    if len(items.items.rows) <= _MOST_BROADCAST:
        table = F.broadcast(table)
    return table.join(documents, on=["doc_id"], how="right")


def run_measures(
    lists: DataFrame, key: Sequence[str], measures: MeasureSet, items: EngineItems | None
) -> DataFrame:
    """One row per run and cutoff, computed from `shown_lists`.

    The columns are the run's key, cutoff, lists, unknown_items and RUN_COLUMNS.

    The cutoff is 0 for the whole ranking. A measure is null if it was not requested or is
    undefined. unknown_items is null without items.
    """
    run_key = ["run", *key[:-1]]
    cutoffs = measures.cutoffs_for(*measures.of_catalog)
    shown = _with_membership(_shown_items(lists, run_key, cutoffs, measures), items)
    totals = shown.groupBy(*run_key).agg(*_by_run(cutoffs, measures))
    catalog_size = 0 if items is None else items.items.catalog_size
    at_cutoffs = ", ".join(_at_cutoff(k, measures, catalog_size) for k in cutoffs)
    exploded = totals.selectExpr(*run_key, "lists", f"explode(array({at_cutoffs})) as at")
    by_cutoff = exploded.selectExpr(*run_key, "lists", "at.*")
    values = {name: f"nullif({name}, {_NOTHING})" for name in RUN_COLUMNS}
    if items is None:
        values["unknown_items"] = sql.null("bigint")
    return by_cutoff.withColumns(sql.columns(values))


def _shown_items(
    lists: DataFrame, run_key: list[str], cutoffs: Sequence[Cutoff], measures: MeasureSet
) -> DataFrame:
    """One row per run and item that one of its lists shows, with the aggregates of `_by_item`."""
    with_lengths = lists.selectExpr(*run_key, DOCUMENTS, f"size({DOCUMENTS}) as length")
    documents = documents_of(with_lengths, [*run_key, "length"])
    within_deepest = documents.where(is_within(RANK, cutoffs[-1]))
    return within_deepest.groupBy(*run_key, "doc_id").agg(*_by_item(cutoffs, measures))


def _with_membership(shown: DataFrame, items: EngineItems | None) -> DataFrame:
    """The items shown by a run with the column IN_CATALOG, which is null without a catalog."""
    if items is None:
        return shown.withColumn(IN_CATALOG, F.lit(None).cast("boolean"))
    return _join_items(items, shown, [IN_CATALOG])


def list_means(
    lists: DataFrame, key: Sequence[str], measures: MeasureSet, items: EngineItems | None
) -> DataFrame:
    """One row per run, computed from all `shown_lists`, judged or not.

    The columns are the key of the run, and the mean of each list measure at each cutoff, such as
    novelty_10, with listed_queries_10.
    """
    names = list(measures.beside_ndcg)
    cutoffs = measures.cutoffs_for(*names)
    documents = documents_of(lists, ["run", *key]).where(is_within(RANK, cutoffs[-1]))
    of_lists = with_items(documents, items, measures).groupBy("run", *key).agg(*_by_list(measures))
    values = _values_of_lists(measures)
    means = {column: f"avg({column})" for column in values}
    for k in cutoffs:
        counts = []
        for name in names:
            if _asks(name, k, measures):
                counts.append(f"count({column_at(name, k)})")
        means[column_at("listed_queries", k)] = f"array_max(array({', '.join(counts)}))"
    with_values = of_lists.withColumns(sql.columns(values))
    return with_values.groupBy("run", *key[:-1]).agg(*sql.aggregates(means))


def _values_of_lists(measures: MeasureSet) -> dict[str, str]:
    """The SQL of each list measure at each cutoff, by column, such as novelty_10."""
    values = {}
    for name, measure in measures.beside_ndcg.items():
        for k in measures.cutoffs_for(name):
            sums = {total: column_at(total, k) for total in measure.sums}
            values[column_at(name, k)] = measure.values[name](_names(k, sums))
    return values


def _by_list(measures: MeasureSet) -> list[Column]:
    """The aggregates of a list that the list measures need."""
    columns = [F.count(F.lit(1)).alias("returned")]
    for name, measure in measures.beside_ndcg.items():
        for total in measure.sums:
            # Catalog measures sum columns that every document has.
            columns += sql.aggregates(sums_at(measures.cutoffs_for(name), total, total))
        for total, formula in measure.lists.items():
            columns.append(F.expr(formula(_names(None, {}))).alias(total))
    return columns


def _names(cutoff: Cutoff, sums: Mapping[str, str]) -> Names:
    return Names(
        rank=RANK,
        listed="true",
        k=cutoff or 2**31 - 1,
        ranks="returned" if cutoff is None else str(cutoff),
        is_whole=cutoff is None,
        persistence=1.0,
        sums=sums,
    )


def _by_item(cutoffs: Sequence[Cutoff], measures: MeasureSet) -> list[Column]:
    """For each item of a run: how many lists contain it within each cutoff, and what they add."""
    goes_on = persistence(measures.options)
    columns = [F.count_if(F.col(RANK) == 1).cast("double").alias("firsts")]
    for k in cutoffs:
        is_within = F.lit(True) if k is None else F.col(RANK) <= k
        columns.append(F.count_if(is_within).alias(column_at("lists", k)))
        if goes_on < 1:
            weight = F.pow(F.lit(goes_on), (F.col(RANK) - 1).cast("double"))
            columns.append(F.sum(F.when(is_within, weight)).alias(column_at("exposure", k)))
        if _asks("personalization", k, measures):
            length = F.col("length") if k is None else F.least("length", F.lit(k))
            share = F.lit(1.0) / F.sqrt(length.cast("double"))
            columns.append(F.sum(F.when(is_within, share)).alias(column_at("share", k)))
    return columns


def _by_run(cutoffs: Sequence[Cutoff], measures: MeasureSet) -> list[Column]:
    """For a run: sums over the items that it shows, and the ascending exposures of these items."""
    in_catalog = F.coalesce(IN_CATALOG, F.lit(False))
    columns = [F.sum("firsts").cast("bigint").alias("lists")]
    is_of_catalog = catalog_option(measures.options, "gini_of") == "catalog"
    exposure = "exposure" if persistence(measures.options) < 1 else "lists"
    for k in cutoffs:
        shown = F.col(column_at("lists", k)) > 0
        columns.append(F.count_if(shown).alias(column_at("items", k)))
        columns.append(F.count_if(shown & in_catalog).alias(column_at("known", k)))
        if _asks("gini", k, measures):
            counts = shown & in_catalog if is_of_catalog else shown
            own = F.col(column_at(exposure, k)).cast("double")
            collected = F.sort_array(F.collect_list(F.when(counts, own)))
            columns.append(collected.alias(column_at("exposures", k)))
        if _asks("personalization", k, measures):
            share = F.col(column_at("share", k))
            columns.append(F.sum(share * share).alias(column_at("similar", k)))
    return columns


def _at_cutoff(cutoff: Cutoff, measures: MeasureSet, size: int) -> str:
    """A run's measures at one cutoff; `size` is the size of the catalog."""
    options = measures.options
    covered = "items" if catalog_option(options, "coverage_unknown") == "count" else "known"
    formulas = {
        "items": f"cast({column_at('items', cutoff)} as double)",
        "coverage": f"{column_at(covered, cutoff)} / nullif({size}D, 0D)",
        "gini": _gini(column_at("exposures", cutoff), measures, size),
        "personalization": (
            f"1D - ({column_at('similar', cutoff)} - lists) / nullif(lists * (lists - 1D), 0D)"
        ),
    }
    values = []
    for name, formula in formulas.items():
        value = f"coalesce({formula}, {_NOTHING})" if _asks(name, cutoff, measures) else _NOTHING
        values.append(f"{value} as {name}")
    unknown = f"{column_at('items', cutoff)} - {column_at('known', cutoff)} as unknown_items"
    return f"struct({cutoff or 0} as cutoff, {unknown}, {', '.join(values)})"


def _gini(exposures: str, measures: MeasureSet, size: int) -> str:
    """The Gini coefficient of exposures in ascending order; items that are not shown come first."""
    n = f"cast(size({exposures}) as double)"
    before = "0D"
    if catalog_option(measures.options, "gini_of") == "catalog":
        before = f"({size}D - {n})"
        n = f"{size}D"
    is_less = catalog_option(measures.options, "gini_divisor") == "n-1"
    divisor = f"({n} - 1D)" if is_less else n
    terms = f"transform({exposures}, (x, i) -> (2D * ({before} + i + 1D) - {n} - 1D) * x)"
    weighted = f"aggregate({terms}, 0D, (so_far, term) -> so_far + term)"
    total = f"aggregate({exposures}, 0D, (so_far, x) -> so_far + x)"
    return f"{weighted} / nullif({divisor} * {total}, 0D)"


def _asks(name: str, cutoff: Cutoff, measures: MeasureSet) -> bool:
    return cutoff in measures.cutoffs_for(name)


def with_run_measures(rows: DataFrame, of_runs: DataFrame) -> DataFrame:
    """Rows of DATASET_SCORES with lists and RUN_COLUMNS, which are null in slices.

    `of_runs` are the rows of `run_measures`.
    """
    names = list(NO_RUN_MEASURES)
    run_key = [name for name in ("dataset", "run") if name in of_runs.columns]
    # `of_runs` has 0 for the whole ranking and `rows` has null, on which tables cannot be joined.
    values = of_runs.select(*run_key, F.col("cutoff").alias("cutoff_or_0"), *names)
    keyed = rows.withColumn("cutoff_or_0", F.coalesce("cutoff", F.lit(0)))
    joined = values.join(keyed, on=[*run_key, "cutoff_or_0"], how="right").drop("cutoff_or_0")
    without_slices = {name: f"case when attribute is null then {name} end" for name in names}
    return joined.withColumns(sql.columns(without_slices))

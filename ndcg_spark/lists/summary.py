"""The summary of a table LIST_CHANGES for each run at each cutoff."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

#: The key of a row of the summary.
KEY = ("dataset", "evaluated_on", "run", "baseline", "baseline_night", "cutoff")
#: The quantiles of the measures, by the suffix of their columns.
QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5}


def summarized(changes: DataFrame) -> DataFrame:
    """One row per run and cutoff, in no order: KEY, queries, shares of them, means and quantiles.

    Shares: changed (not the same documents in the same order), top_changed, lost_all (nothing is returned any more),
    gained_all (nothing was before). For rbo and moved_discount, the mean and QUANTILES.
    """
    shares = {
        "changed": ~F.col("same_order"),
        "top_changed": F.col("top_changed"),
        "lost_all": F.col("returned") == 0,
        "gained_all": F.col("baseline_returned") == 0,
    }
    columns: dict[str, Column] = {"queries": F.count(F.lit(1))}
    columns |= {f"{name}_share": F.avg(is_so.cast("double")) for name, is_so in shares.items()}
    for name in ("rbo", "moved_discount"):
        columns[name] = F.avg(name)
        columns |= {f"{name}_{end}": F.percentile(name, share) for end, share in QUANTILES.items()}
    return changes.groupBy(*KEY).agg(*(column.alias(name) for name, column in columns.items()))


def most_changed(changes: DataFrame, queries: int) -> DataFrame:
    """The rows of the queries that changed most, for each run and cutoff, in no order; `place` counts them from 1."""
    order = (F.desc("moved_discount"), F.asc("rbo"), F.asc("query_id"))
    placed = changes.withColumn("place", F.row_number().over(Window.partitionBy(*KEY).orderBy(*order)))
    return placed.where((F.col("place") <= queries) & ~F.col("same_order"))

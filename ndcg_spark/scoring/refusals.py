"""What a plan refuses while it runs, for tables that nobody has checked, or cannot check without a scan."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

#: Begins every refusal that a plan raises while it runs, so that it can be told from an engine's own failure.
REFUSED = "ndcg_spark refuses "


def refuse_bad_rows(table: DataFrame, where: str, numbers: Sequence[str]) -> DataFrame:
    """The table, whose plan fails at a null or empty name or id, and at one of `numbers` that is null or not finite.

    For tables that nobody has checked.
    """
    names: list[str] = [name for name in ("dataset", "run", "query_id", "doc_id") if name in table.columns]
    rules = {name: F.col(name) != "" for name in names}
    rules |= {name: F.abs(name) < F.lit(float("inf")) for name in numbers}
    if "rank" in numbers:
        rules["rank"] = F.col("rank") >= 1
    kinds = dict(table.dtypes)
    refused = {name: refusal(f"{where}: a bad {name}", table.columns, "correct it").cast(kinds[name]) for name in rules}
    return table.withColumns({name: F.when(good, F.col(name)).otherwise(refused[name]) for name, good in rules.items()})


def refusal(what: str, key: list[str], to_do: str) -> Column:
    """A column that fails the plan when a row reaches it: what, which row; what to do."""
    # As text: on classic Spark each call of a function is a round trip to the JVM, and there are many refusals.
    row = (f"'{name}=' || coalesce(cast({name} as string), '{'all' if name == 'cutoff' else 'null'}')" for name in key)
    words = F.expr(f"concat_ws(' ', {', '.join(row)})")
    message = F.concat(F.lit(f"{REFUSED}{what}, e.g. "), words, F.lit(f"; {to_do}"))
    return F.raise_error(message).cast("double")

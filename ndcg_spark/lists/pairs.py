"""Which list is compared with which: runs of the same name, or every run with one."""

from collections.abc import Collection, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.text import unknown_name


def compared_runs(new: Collection[str], old: Collection[str], baseline: str | None) -> list[str]:
    """The runs that are compared, sorted; ConfigurationError if there are none, or no such baseline.

    `baseline` is a run of the old results that every other run of the new results is compared with.
    """
    if baseline is not None and baseline not in old:
        raise unknown_name("baseline", "run", baseline, old)
    runs = sorted(set(new) & set(old)) if baseline is None else sorted(set(new) - ({baseline} if new is old else set()))
    if not runs:
        names = " and ".join(", ".join(sorted(side)[:3]) for side in (new, old))
        raise ConfigurationError(
            f"baseline: no run to compare: the two have {names}; name a run of the old results as the baseline, or "
            "give runs the same names"
        )
    return runs


def paired(new: DataFrame, old: DataFrame, runs: Sequence[str], baseline: str | None) -> tuple[DataFrame, DataFrame]:
    """Both ranked tables with only the lists of these runs, the old ones named after the run they are compared with."""
    ours = new.where(F.col("run").isin(*runs))
    if baseline is None:
        return ours, old.where(F.col("run").isin(*runs))
    names = new.sparkSession.createDataFrame(pa.table({"run": pa.array(runs, pa.string())}))
    return ours, old.where(F.col("run") == baseline).drop("run").crossJoin(F.broadcast(names))

"""Whether other judgments change the ranking of the runs: means, rank correlations, and the pairs that swap."""

from typing import Any

import numpy as np
import pandas as pd

from ndcg_spark.agreement.rank_correlation import order, tau_ap, tau_b
from ndcg_spark.comparison.statistics import paired_t


def rankings(a: pd.DataFrame, b: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The correlations of AGREEMENTS, the rows of RANKED_RUNS by their rank under A, and those of SWAPPED_RUNS.

    `a` and `b` have the NDCG of every query (rows) and run (columns) of a dataset under A and B, nan where it is left
    out. A run without a mean has no rank and no pairs.
    """
    sides, means = {"a": a, "b": b}, {"a": a.mean(), "b": b.mean()}
    known = means["a"].notna() & means["b"].notna()
    columns: dict[str, Any] = {}
    for name, scores in sides.items():
        ranks = pd.Series((order(means[name][known]) < 0).sum(1) + 1, known.index[known])
        columns |= {f"rank_{name}": ranks, f"queries_{name}": scores.count(), f"ndcg_{name}": means[name]}
    runs = pd.DataFrame(columns).rename_axis("run").reset_index().sort_values(["rank_a", "run"])
    first, second = (means[name][known].to_numpy() for name in sides)
    swapped = known.index[known].to_numpy()[np.argwhere((order(first) > 0) & (order(second) < 0))]
    swaps: dict[str, Any] = {"run": swapped[:, 0], "other": swapped[:, 1]}
    for name, scores in sides.items():
        apart = pd.DataFrame(scores[swapped[:, 0]].to_numpy() - scores[swapped[:, 1]].to_numpy())
        test = paired_t(apart.count(), apart.mean(), apart.std())
        swaps |= {f"difference_{name}": apart.mean(), f"p_value_{name}": test.p_value}
    taus = {"tau_b": tau_b(first, second), "tau_ap": tau_ap(first, second)}
    return pd.DataFrame({"measure": taus.keys(), "value": taus.values()}), runs, pd.DataFrame(swaps)

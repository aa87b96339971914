"""How far two sets of judgments agree, per query and on all queries of a dataset."""

import numpy as np
import pandas as pd

from ndcg_spark.agreement.coefficients import coefficients, jackknife_margin
from ndcg_spark.errors import InputError

#: With more grades than this the matrix of grades has no meaning.
MOST_GRADES = 100
#: How many cells of matrices are computed at a time.
_CELLS = 4_000_000


def agreements(pairs: pd.DataFrame) -> pd.DataFrame:
    """The rows of AGREEMENTS of one dataset's sorted GRADE_PAIRS: by measure, all queries before each of them.

    The grades of all queries are one scale. Intervals come from the jackknife over the queries with documents that both
    sets judge. InputError if these documents have more than MOST_GRADES grades.
    """
    of_query, queries = pd.factorize(pairs["query_id"])
    grades, places = np.unique(pairs[["grade_a", "grade_b"]].to_numpy(), return_inverse=True)
    # A missing grade comes last.
    grades, (in_a, in_b) = grades[~np.isnan(grades)], places.reshape(-1, 2).T
    if len(grades) > MOST_GRADES:
        raise InputError(
            f"judgments: {len(grades):,} grades, e.g. {grades[1]:g}, but agreement is computed for at most "
            f"{MOST_GRADES}; round them, or set min_relevance"
        )
    is_both, count = np.maximum(in_a, in_b) < len(grades), pairs["pairs"].to_numpy(np.float64)
    counts = {"query_id": [None, *queries]}
    for name, kind in (("pairs", is_both), ("only_a", in_b == len(grades)), ("only_b", in_a == len(grades))):
        of_queries = np.bincount(of_query, count * kind, len(queries)).astype(np.int64)
        counts[name] = [of_queries.sum(), *of_queries]
    at, cells, count = (each[is_both] for each in (of_query, in_a * len(grades) + in_b, count))
    shape, size = (-1, len(grades), len(grades)), len(grades) ** 2
    whole, batch = np.bincount(cells, count, size).reshape(shape), max(1, _CELLS // max(1, size))
    parts = []
    for start in range(0, len(queries), batch):
        mine = (at >= start) & (at < start + batch)
        places = (at[mine] - start) * size + cells[mine]
        each = np.bincount(places, count[mine], min(batch, len(queries) - start) * size).reshape(shape)
        parts.append([coefficients(matrices) for matrices in (whole, each, whole - each)])
    found = []
    for name in parts[0][0]:
        own, without = (np.concatenate([part[side][name] for part in parts]) for side in (1, 2))
        value, margin = parts[0][0][name][0], jackknife_margin(without[np.array(counts["pairs"][1:]) > 0])
        rows = pd.DataFrame({**counts, "measure": name, "value": [value, *own]})
        # No coefficient is above 1.
        rows.loc[0, ["interval_low", "interval_high"]] = [value - margin, min(value + margin, 1.0)]
        found.append(rows)
    return pd.concat(found)

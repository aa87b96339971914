"""ranx's paired t tests, wins, ties and losses of the same scores, which it takes as dictionaries of arrays.

RANX_COMPARE QUERY_SCORES BASELINE [ATTRIBUTES]: Parquet. These are the functions and the sums of `ranx.compare`, which
makes them of all pairs of runs; here only those with the baseline are made. It has no slices: each is another call.
"""

import json
import sys

import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from ranx.statistical_tests import compute_statistical_significance


def main() -> None:
    """Print every p value, the mean of each run, and how often it wins, ties and loses."""
    folder, baseline, *more = sys.argv[1:]
    table = ds.dataset(folder).to_table(columns=["run", "query_id", "ndcg"])
    scores: dict[str, dict[str, float]] = {}
    for run, query, value in zip(*(column.to_pylist() for column in table.columns), strict=True):
        scores.setdefault(run, {})[query] = value
    queries = list(scores[baseline])
    arrays = {run: np.array([of_run[query] for query in queries]) for run, of_run in scores.items()}
    masks = {"": np.ones(len(queries), bool)}
    for path in more:
        attributes = pq.read_table(path)
        order = {query: at for at, query in enumerate(attributes["query_id"].to_pylist())}
        rows = [order[query] for query in queries]
        for name in attributes.column_names[1:]:
            values = np.array(attributes[name].to_pylist())[rows]
            masks |= {f" {name}={value}": values == value for value in np.unique(values)}
    p_values, wins = {}, {}
    for label, mask in masks.items():
        control = arrays[baseline][mask]
        for run in arrays.keys() - {baseline}:
            treatment = arrays[run][mask]
            both = {baseline: {"ndcg@10": control}, run: {"ndcg@10": treatment}}
            found = compute_statistical_significance([baseline, run], both, "student")
            p_values[f"{run}{label}"] = float(found[frozenset([baseline, run])]["ndcg@10"]["p_value"])
            signs = (treatment > control, treatment == control, treatment < control)
            wins[f"{run}{label}"] = [int(sum(sign)) for sign in signs]
    sys.stdout.write(json.dumps({"ndcg": p_values, "wins": wins}) + "\n")


if __name__ == "__main__":
    main()

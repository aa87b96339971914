"""Tables of query scores for comparisons, as pyarrow has them: a row names only what its test is about."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ndcg_spark import compare
from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.comparison.matrix import Queries, ScoreMatrix
from ndcg_spark.comparison.runs import Comparison, compare_sources
from ndcg_spark.comparison.score_tables import sources
from ndcg_spark.inputs.query_tables import attribute_rows, weight_rows

Scores = Sequence[float | None]
NIGHT = datetime.date(2026, 11, 20)


def scores(runs: Mapping[str, Scores | Mapping[str, float | None]], **more: Any) -> pa.Table:
    """The scores of each run, by query or of the queries q0, q1, ...; `more` are columns of one value."""
    rows = []
    for run, values in runs.items():
        of_queries = (
            values
            if isinstance(values, Mapping)
            else {f"q{at}": value for at, value in enumerate(values)}
        )
        rows += [
            {"run": run, "query_id": query, "cutoff": 10, "ndcg": v, **more}
            for query, v in of_queries.items()
        ]
    kinds = {"ndcg": pa.float64(), "cutoff": pa.int32(), "evaluated_on": pa.date32()}
    return pa.Table.from_pylist(
        rows, pa.schema([(name, kinds.get(name, pa.string())) for name in rows[0]])
    )


def attributes(values: Mapping[str, Mapping[str, str | Sequence[str]]]) -> pa.Table:
    """The values of each query: {query: {attribute: value or values}}."""
    rows = [
        {"query_id": query, "attribute": attribute, "value": value}
        for query, of_query in values.items()
        for attribute, given in of_query.items()
        for value in ([given] if isinstance(given, str) else given)
    ]
    return pa.Table.from_pylist(
        rows, pa.schema([(name, pa.string()) for name in ("query_id", "attribute", "value")])
    )


def weights(values: Sequence[float | None]) -> pa.Table:
    """The weights of the queries q0, q1, ..."""
    return pa.table(
        {
            "query_id": [f"q{at}" for at in range(len(values))],
            "weight": pa.array(values, pa.float64()),
        }
    )


def pairs_of(kind: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A baseline and a run of n scores, of which the differences are normal, skewed, discrete or mostly 0."""
    chance = np.random.default_rng([n, seed])
    baseline = chance.uniform(0.2, 0.8, n)
    if kind == "normal":
        return baseline, baseline + chance.normal(0.01, 0.1, n)
    if kind == "skewed":
        return baseline, baseline + chance.exponential(0.1, n) - 0.09
    if kind == "discrete":
        return np.round(baseline, 1), np.round(baseline, 1) + chance.integers(-2, 3, n) / 4
    return baseline, baseline + chance.normal(0.05, 0.2, n) * (chance.random(n) < 0.1)


def compare_rows(table: Any, baseline: Any, **options: Any) -> list[dict[str, Any]]:
    """The rows of `compare`."""
    comparisons = compare(table, baseline, full=True, **options)
    plain = comparisons.astype(object).where(comparisons.notna(), None).to_dict("records")
    nights = ("evaluated_on", "baseline_night")
    return [
        {name: v.date() if name in nights and v else v for name, v in row.items()} for row in plain
    ]


def compared(
    table: pa.Table,
    baseline: pa.Table | None = None,
    *runs: str,
    attributes: pa.Table | None = None,
    weights: pa.Table | None = None,
    **options: Any,
) -> Comparison:
    """The comparison of tables."""
    options["attributes"] = None if attributes is None else attribute_rows(attributes)
    made = ComparisonOptions(
        baselines=runs, weights=None if weights is None else weight_rows(weights), **options
    )
    own, theirs = (
        part and sources(part, list(made.measures), "query_scores") for part in (table, baseline)
    )
    return compare_sources(
        own, None if theirs is None else {source.dataset: source for source in theirs}, made
    )


def matrix(
    runs: Mapping[str, Scores], hashes: Sequence[int] = (), queries: Queries | None = None
) -> ScoreMatrix:
    """The scores of runs of the queries q0, q1, ... with these hashes of their judgments, by default all 1."""
    values = np.array(
        [[np.nan if v is None else v for v in of_run] for of_run in runs.values()], np.float64
    )
    n = values.shape[1] if len(values) else len(hashes)
    known = queries if queries is not None else Queries()
    known.add(pa.array([f"q{at}" for at in range(n)]))
    judged = np.array(hashes or [1] * n, np.int64)
    return ScoreMatrix(known, list(runs), values, judged)

"""`compare_judgments` as a function of tables, for Python and notebooks."""

from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from ndcg_spark.agreement.agreements import agreements
from ndcg_spark.agreement.grade_pairs import grade_pairs
from ndcg_spark.agreement.rankings import rankings
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.errors import InputError
from ndcg_spark.library import checked_judgments, evaluate, session_of
from ndcg_spark.schemas import (
    AGREEMENTS,
    GRADE_PAIRS,
    RANKED_RUNS,
    SWAPPED_RUNS,
    query_key,
)
from ndcg_spark.scores import Tables

_OF_RUNS = {"ranked_runs": RANKED_RUNS, "swapped_runs": SWAPPED_RUNS}
_SCHEMAS = {"agreements": AGREEMENTS, "grade_pairs": GRADE_PAIRS, **_OF_RUNS}
_KEY = ["dataset", "query_id", "run"]


def compare_judgments(
    a: Any,
    b: Any,
    results: Any = None,
    cutoff: Cutoff = 10,
    convention: Convention | str = "standard",
    *,
    dataset: str = "default",
) -> Tables:
    """How far two sets of judgments agree and, with results, how each of them ranks the runs. Runs Spark jobs.

    Parameters
    ----------
    a, b, results : table or dictionary
        As for `evaluate`. Runs are ranked by their mean NDCG over the queries that both sets judge; the score of every
        run and query comes to this process.
    cutoff : int or None
        The cutoff of the NDCG; None is the whole ranking.
    convention : Convention or str
        Which grades count, and which NDCG to compute.
    dataset : str
        The name of the dataset if the tables have no such column.

    Returns
    -------
    Tables
        A dictionary of pyarrow Tables, which a notebook shows and `to_pandas` converts: `agreements`, `grade_pairs`,
        `ranked_runs` and `swapped_runs`, in the schemas of these names; JUDGMENTS.md describes them. The last two are
        empty without results. Raises as `evaluate`.

    Examples
    --------
    >>> found = compare_judgments({"q": {"d1": 1, "d2": 0, "d3": 1, "d4": 0}}, {"q": {"d1": 1, "d2": 0, "d3": 0}})
    >>> {row["measure"]: round(row["value"], 4) for row in found["agreements"].to_pylist() if row["query_id"] is None}
    {'agreement': 0.6667, 'kappa': 0.4, 'kappa_linear': 0.4, 'kappa_quadratic': 0.4, 'alpha': 0.4444}
    """
    session = session_of(a, b, results)
    options = Convention.preset(convention) if isinstance(convention, str) else convention
    sides = [checked_judgments(table, session, options) for table in (a, b)]
    key = query_key(sides[0].columns)
    if key != query_key(sides[1].columns):
        raise InputError("judgments: only one of the two sets has a column dataset; name it in both or in neither")
    pairs = grade_pairs(sides[0], sides[1], options, dataset).toArrow()
    pairs = pairs.sort_by([(name, "ascending") for name in pairs.column_names]).to_pandas()
    scores = []
    if results is not None:
        tables = [evaluate(each, results, cutoff, options, dataset=dataset).query_scores for each in sides]
        scores = [each.select(*_KEY, "ndcg").toArrow().to_pandas().set_index(_KEY)["ndcg"] for each in tables]
    found: dict[str, list[pa.Table]] = {table: [_table(pd.DataFrame(), table)] for table in _SCHEMAS}
    for name, rows in pairs.groupby("dataset"):
        parts = [("grade_pairs", rows), ("agreements", agreements(rows))]
        if scores and all(name in each.index for each in scores):
            ndcg = [each.loc[name].unstack("run") for each in scores]
            common = ndcg[0].index.intersection(ndcg[1].index)
            if common.empty:
                raise InputError(f"judgments: no query of {name} is judged by both sets; write query ids alike")
            parts += zip(("agreements", *_OF_RUNS), rankings(*(each.loc[common] for each in ndcg)), strict=True)
        for of, part in parts:
            found[of].append(_table(part.assign(dataset=name), of))
    return Tables((table, pa.concat_tables(parts)) for table, parts in found.items())


def _table(rows: pd.DataFrame, table: str) -> pa.Table:
    schema = to_arrow_schema(_SCHEMAS[table])
    return pa.Table.from_pandas(rows.reindex(columns=schema.names), schema, preserve_index=False)

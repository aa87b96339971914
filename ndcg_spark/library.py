"""The evaluation as a function of DataFrames. Nothing is computed until the scores are asked for."""

import dataclasses
import datetime
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark import rules
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import ascending
from ndcg_spark.engine import is_sail
from ndcg_spark.schemas import JUDGMENTS, RESULTS, conform
from ndcg_spark.scoring.evaluation import Evaluation, count_unjudged_queries, dataset_scores, new_id, query_scores
from ndcg_spark.scoring.gains import gain
from ndcg_spark.scoring.lists import of_judged_queries
from ndcg_spark.scoring.ranking import by_window, list_by_list
from ndcg_spark.scoring.refusals import refuse_rows


@dataclasses.dataclass(frozen=True)
class Scores:
    """The two tables of an evaluation, lazy: `schemas.QUERY_SCORES` and `schemas.DATASET_SCORES`."""

    query_scores: DataFrame
    dataset_scores: DataFrame


def evaluate(
    judgments: DataFrame,
    results: DataFrame,
    cutoffs: Sequence[int | None] = (1, 3, 5, 10),
    convention: Convention | str = "standard",
    *,
    dataset: str = "default",
    evaluated_on: datetime.date | None = None,
) -> Scores:
    """NDCG at every cutoff of every run, per query and per dataset.

    Parameters
    ----------
    judgments : DataFrame
        Columns query_id, doc_id, relevance, and dataset if there is more than one. Other columns are ignored.
    results : DataFrame
        Columns run, query_id, doc_id, score (or rank, with order=rank), and dataset if the judgments have it.
    cutoffs : sequence of int or None
        Ranks from 1; None for the whole ranking.
    convention : Convention or str
        Which NDCG; the name of a preset, or a Convention.
    dataset : str
        The name of the dataset if the tables have no such column.
    evaluated_on : date, optional
        The date of the scores; by default today in UTC.

    Returns
    -------
    Scores
        query_scores, one row per run, judged query and cutoff, and dataset_scores, one row per run and cutoff; both
        lazy and in no order. A row that breaks a rule makes them fail when they are computed: an empty id, a relevance,
        score or rank that is no number, a document returned or judged twice within the deepest cutoff, or whatever the
        convention refuses. The exception is the engine's, and its message contains ``ndcg_spark refuses``.

    Raises
    ------
    ConventionError
        The convention is unknown.
    ConfigurationError
        There is no cutoff, or one that is no whole number from 1.
    InputError
        A column is missing or has the wrong type.

    Examples
    --------
    >>> evaluate(judgments, results, [10, None], "trec_eval").dataset_scores.show()  # doctest: +SKIP
    """
    chosen = Convention.preset(convention) if isinstance(convention, str) else convention
    asked = Evaluation(
        chosen,
        ascending(cutoffs),
        evaluated_on or datetime.datetime.now(datetime.UTC).date(),
        new_id(),
        dataset,
        list_by_list if is_sail(results.sparkSession) else by_window,
    )
    typed_judgments = conform(judgments, JUDGMENTS, "judgments")
    typed_results = conform(results, RESULTS, "results")
    rules.require_columns(typed_judgments.columns, typed_results.columns, chosen)
    grades = gain(F.coalesce("relevance", F.lit(0.0)), chosen)
    broken = rules.broken_judgments(dict(typed_judgments.dtypes), grades, chosen)
    good_judgments = refuse_rows(typed_judgments, broken, "judgments")
    broken = rules.broken_results(dict(typed_results.dtypes), chosen)
    good_results = refuse_rows(typed_results, broken, "results")
    runs = count_unjudged_queries(good_judgments, good_results)
    returned = of_judged_queries(good_results, good_judgments)
    per_query = query_scores(good_judgments, returned, runs, asked)
    return Scores(per_query, dataset_scores(per_query, runs, asked))

"""The evaluation for who has DataFrames: nothing is read, written or computed until the scores are asked for."""

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
from ndcg_spark.scoring import evaluation
from ndcg_spark.scoring.gains import gain
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
        Columns query_id, doc_id, relevance, and dataset if there are several. Other columns are ignored.
    results : DataFrame
        Columns run, query_id, doc_id, score (or rank, with order=rank), and dataset if the judgments have it.
    cutoffs : sequence of int or None
        Ranks from 1; None for the whole ranking.
    convention : Convention or str
        Which NDCG; the name of a preset, or a Convention.
    dataset : str
        The name of the dataset where the tables do not have the column.
    evaluated_on : date, optional
        What the scores are dated; today in UTC.

    Returns
    -------
    Scores
        query_scores and dataset_scores, lazy, in no order; nothing is computed until they are asked for. A document
        returned or judged twice within the depth that counts, an empty id, a number that is none, and grades or queries
        that the convention refuses, fail them then, with the engine's exception and a message that begins with
        ``ndcg_spark refuses``.

    Raises
    ------
    ConventionError, ConfigurationError
        An unknown convention; a cutoff below 1.
    InputError
        A column that is missing or has the wrong type.

    Examples
    --------
    >>> evaluate(judgments, results, [10, None], "trec_eval").dataset_scores.show()  # doctest: +SKIP
    """
    chosen = Convention.preset(convention) if isinstance(convention, str) else convention
    plan = evaluation.Evaluation(
        chosen,
        ascending(cutoffs),
        evaluated_on or datetime.datetime.now(datetime.UTC).date(),
        evaluation.new_id(),
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
    runs = evaluation.count_unjudged_queries(good_judgments, good_results)
    per_query = evaluation.query_scores(good_judgments, good_results, runs, plan)
    return Scores(per_query, evaluation.dataset_scores(per_query, runs, plan))

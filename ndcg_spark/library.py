"""The evaluation as a function of tables. Nothing is computed until the scores are used."""

import atexit
import contextlib
import datetime
import math
import numbers
from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark import rules
from ndcg_spark import slices as slicing
from ndcg_spark.casting import conform_rows
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import DEFAULT_CUTOFFS, as_list, ascending
from ndcg_spark.convention.parsing import parse_measures
from ndcg_spark.engine import is_sail, open_engine, running_session
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.inputs.dataframes import dataframes_in, frame
from ndcg_spark.inputs.memory import RUN
from ndcg_spark.schemas import JUDGMENTS, RESULTS
from ndcg_spark.scores import Scores, scores_of
from ndcg_spark.scoring.evaluation import Evaluation, count_unjudged_queries, dataset_scores, new_id, query_scores
from ndcg_spark.scoring.gains import gain
from ndcg_spark.scoring.lists import of_judged_queries
from ndcg_spark.scoring.ranking import by_window, list_by_list
from ndcg_spark.scoring.refusals import refuse_rows
from ndcg_spark.slices import Slices

#: The columns that every table has.
_IDS = ["query_id", "doc_id"]


def open_session(engine: str = "auto", remote: str | None = None) -> SparkSession:
    """The running session or, if there is none, a new one that stays open until the program ends.

    Parameters
    ----------
    engine : str
        `embedded`, `spark`, or `auto`: the embedded engine if it is installed, else local Spark.
    remote : str, optional
        The URL of a Spark Connect server, sc://host:port.

    Raises
    ------
    EngineError
        The requested engine, or every engine, is not available.

    Examples
    --------
    >>> open_session().range(3).count()
    3
    """
    opened = contextlib.ExitStack()
    session = opened.enter_context(open_engine(engine, remote)).session
    atexit.register(opened.close)
    return session


def evaluate(
    judgments: Any,
    results: Any,
    cutoffs: int | Iterable[int | None] | None = DEFAULT_CUTOFFS,
    convention: Convention | str = "standard",
    *,
    measures: Iterable[object] | str = ("ndcg",),
    relevance: float | None = None,
    attributes: Any = None,
    dataset: str = "default",
    evaluated_on: datetime.date | None = None,
) -> Scores:
    """NDCG and any other requested measures at every cutoff, for every run, per query and per dataset.

    Each table may be a Spark, pandas or Polars DataFrame, a pyarrow Table, a dictionary of columns, or nested
    dictionaries: {query: {document: grade}}, {query: {document: score}}, {query: [document, ...]}, and these by run,
    {run: {query: ...}}. Results may also be a dictionary with a table of any of these kinds for each run, {run: table};
    the key names the run, whatever run the table itself names. If none of them is a Spark DataFrame, the running
    session or a new one (`open_session`) computes the scores.

    A table may have one row per query with a list of its documents and lists of their scores or grades, or with one
    list of both, as `recommendForAllUsers` of Spark's ALS returns. A document's position in the list is its rank.

    Parameters
    ----------
    judgments : table
        Columns query_id, doc_id, relevance, and dataset if there is more than one; names that other tools give these
        columns (qid, docno, label) work too. Other columns are ignored. Grades are needed unless `relevance` is given
        or the gain is `judged`.
    results : table
        Columns run, query_id, doc_id, score or rank, and dataset if the judgments have it. Without a column run, they
        are one run named `run`; without scores, their ranks give the order.
    cutoffs : int, None or several of them
        Ranks from 1; None for the whole ranking.
    convention : Convention or str
        Which NDCG to compute: the name of a preset, or a Convention.
    measures : str or several of them
        Names such as `precision`, for every cutoff, or as papers write them, each with its own cutoff: `P@5`, `AP`,
        `RBP(p=0.5)`; also the measures of ir_measures. NDCG is always computed.
    relevance : float, optional
        The grade of every judgment instead of those of the table: 1 for clicks and purchases, which have no grades.
    attributes : table, optional
        For slices: query_id, attribute and value, or query_id and a column for each attribute; dataset is optional. It
        is read at once. dataset_scores then also has rows for each slice.
    dataset : str
        The name of the dataset if the tables have no such column.
    evaluated_on : date, optional
        The date of the scores; by default today in UTC.

    Returns
    -------
    Scores
        query_scores, one row per run, judged query and cutoff, and dataset_scores, one row per run, cutoff and slice
        (attribute and value, null for all queries); both are lazy and in no order. A notebook shows their first rows,
        and `to_pandas` converts them to pandas. A row that breaks a rule makes them fail when they are computed: an
        empty id, a relevance, score or rank that is not a number, a document returned or judged twice within the
        deepest cutoff, or anything that the convention refuses. The exception is the engine's, and its message contains
        ``ndcg_spark refuses``.

    Raises
    ------
    ConventionError
        The convention is unknown.
    ConfigurationError
        The cutoffs are empty or not positive integers; a measure is unknown; `relevance` is not a number.
    InputError
        An argument is not a table, or a column is missing or has the wrong type.
    EngineError
        A session is needed, but no engine is available.

    Examples
    --------
    >>> judgments = {"q1": {"d1": 2, "d2": 0, "d3": 1}}
    >>> results = {"q1": {"d3": 0.9, "d1": 0.8, "d2": 0.1}}
    >>> scores = evaluate(judgments, results, 10, "trec_eval")
    >>> round(scores.dataset_scores.first()["ndcg"], 4)  # (1 + 2 / log2(3)) / (2 + 1 / log2(3))
    0.8597

    >>> import pandas as pd
    >>> rows = [("bm25", "q1", "d3", 0.9), ("bm25", "q1", "d1", 0.8)]
    >>> frame = pd.DataFrame(rows, columns=["run", "query_id", "doc_id", "score"])
    >>> [row["ndcg"] for row in evaluate(judgments, frame, [1, None], "trec_eval").query_scores.collect()][0]
    0.5
    """
    session = session_of(judgments, results, attributes)
    options = Convention.preset(convention) if isinstance(convention, str) else convention
    if not isinstance(options, Convention):
        raise ConfigurationError(
            f"convention: {convention!r} is not a convention; give the name of a preset, or a Convention"
        )
    ranks = None if cutoffs is DEFAULT_CUTOFFS else ascending(as_list(cutoffs))
    parsed = parse_measures(measures, ranks, DEFAULT_CUTOFFS)
    options = options.replace(**parsed.options)
    good_judgments = checked_judgments(judgments, session, options, relevance)
    results = results_with_runs(results, session)
    options = options.replace(**rules.options_without_scores(options, results.columns))
    evaluation = Evaluation(
        options,
        parsed.cutoffs,
        evaluated_on or datetime.datetime.now(datetime.UTC).date(),
        new_id(),
        dataset,
        list_by_list if is_sail(session) else by_window,
        parsed.measure_set,
    )
    typed_results = conform_rows(results, RESULTS, "results")
    rules.require_columns(good_judgments.columns, typed_results.columns, options)
    broken = rules.broken_results(dict(typed_results.dtypes), options)
    good_results = refuse_rows(typed_results, broken, "results")
    runs = count_unjudged_queries(good_judgments, good_results, options)
    returned = of_judged_queries(good_results, good_judgments)
    per_query = query_scores(good_judgments, returned, runs, evaluation)
    given = None if attributes is None else frame(attributes, None, session, "query_attributes")
    slices = Slices() if given is None else slicing.read(given)
    means = dataset_scores(per_query, runs, evaluation, slices)
    return scores_of(per_query, means, evaluation.measures)


def checked_judgments(
    judgments: Any, session: SparkSession, convention: Convention, relevance: float | None = None
) -> DataFrame:
    """The table JUDGMENTS made from a user's table; it fails at rows that break a rule."""
    typed = conform_rows(graded_judgments(judgments, session, convention, relevance), JUDGMENTS, "judgments")
    grades = gain(F.coalesce("relevance", F.lit(0.0)), convention)
    return refuse_rows(typed, rules.broken_judgments(dict(typed.dtypes), grades, convention), "judgments")


def graded_judgments(
    judgments: Any, session: SparkSession, convention: Convention, relevance: float | None
) -> DataFrame:
    """The judgments, all with the grade `relevance` if it is given, or 1 if there are no grades and none are needed."""
    needs_grades = relevance is None and convention.gain != "judged"
    known = [name for name in JUDGMENTS.names if name != "relevance" or relevance is None]
    needed = [*_IDS, "relevance"] if needs_grades else _IDS
    table = frame(judgments, JUDGMENTS.names, session, "judgments", known, needed)
    if relevance is not None:
        return table.withColumn("relevance", F.lit(_finite(relevance)))
    return table if needs_grades or "relevance" in table.columns else table.withColumn("relevance", F.lit(1.0))


def results_with_runs(results: Any, session: SparkSession, where: str = "results") -> DataFrame:
    """The results, as a single run if they name no runs."""
    table = frame(results, RESULTS.names, session, where, needed=_IDS)
    return table if "run" in table.columns else table.withColumn("run", F.lit(RUN))


def _finite(relevance: Any) -> float:
    if isinstance(relevance, numbers.Real) and not isinstance(relevance, bool) and math.isfinite(relevance):
        return float(relevance)
    raise ConfigurationError(f"relevance: {relevance!r} is not a grade; give a number, such as 1")


def session_of(*tables: Any) -> SparkSession:
    """The session of the first table that has one, else the running session, else a new one."""
    session = next((each.sparkSession for table in tables for each in dataframes_in(table)), None)
    return session or running_session() or open_session()

"""The evaluation as a function of Spark DataFrames, whose scores nothing computes before they are used."""

import atexit
import contextlib
import datetime
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark import rules
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import DEFAULT_CUTOFFS, Cutoff
from ndcg_spark.convention.parsing import parse_measures
from ndcg_spark.engine import open_engine, running_session, sail_version
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.inputs.dataframes import dataframes_in, frame, merge_local_partitions
from ndcg_spark.inputs.memory import RUN, to_arrow
from ndcg_spark.inputs.query_tables import attribute_rows
from ndcg_spark.rules import conform_rows
from ndcg_spark.schemas import EXCLUDE, JUDGMENTS, RESULTS
from ndcg_spark.scores import SparkScores
from ndcg_spark.scoring.counted_queries import make_slices
from ndcg_spark.scoring.evaluation import Evaluation, count_unjudged_queries, dataset_scores, new_id, query_scores
from ndcg_spark.scoring.ideal import gain
from ndcg_spark.scoring.lists import keep_judged_queries
from ndcg_spark.scoring.ranking import by_window, list_by_list
from ndcg_spark.scoring.refusals import refuse_rows


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


def evaluate_lazily(
    tables: Mapping[str, Any],
    cutoffs: Sequence[Cutoff] | None,
    convention: Convention,
    measures: Iterable[object] | str,
    dataset: str,
    evaluated_on: datetime.date | None,
    session: SparkSession | None,
    *,
    relevance: float | None,
    run: str | None,
) -> SparkScores:
    """What `library.evaluate` returns for DataFrames, or with a session; `cutoffs` are None for the default ones.

    Attributes are fetched into this process and validated; nothing else is computed.
    """
    session = session or session_for(*tables.values())
    parsed = parse_measures(measures, cutoffs, DEFAULT_CUTOFFS)
    options = convention.replace(**parsed.options)
    good_judgments = checked_judgments(tables["judgments"], session, options, relevance)
    results = results_with_runs(tables["results"], session, name=run)
    options = options.replace(**rules.options_without_scores(options, results.columns))
    evaluation = Evaluation(
        options,
        parsed.cutoffs,
        evaluated_on or datetime.datetime.now(datetime.UTC).date(),
        new_id(),
        dataset,
        list_by_list if sail_version(session) else by_window,
        parsed.measure_set,
    )
    typed_results = conform_rows(results, RESULTS, "results")
    rules.require_columns(good_judgments.columns, typed_results.columns, options)
    tests = rules.result_rules(dict(typed_results.dtypes), options)
    good_results = refuse_rows(typed_results, tests, "results")
    if tables["exclude"] is not None:
        rows = frame(tables["exclude"], EXCLUDE, session, "exclude")
        key = [name for name in rows.columns if name in good_results.columns]
        good_results = good_results.join(rows.distinct(), on=key, how="left_anti").select(*good_results.columns)
    runs = count_unjudged_queries(good_judgments, good_results, options)
    returned = keep_judged_queries(good_results, good_judgments)
    per_query = query_scores(good_judgments, returned, runs, evaluation)
    attributes, slices = tables["query_attributes"], None
    if attributes is not None:
        rows = attribute_rows(to_arrow(attributes, None, "query_attributes"))
        slices = make_slices(rows, lambda lists: merge_local_partitions(session.createDataFrame(lists)))
    means = dataset_scores(per_query, runs, evaluation, slices)
    return SparkScores(per_query, means, evaluation.measures)


def checked_judgments(
    judgments: Any, session: SparkSession, convention: Convention, relevance: float | None = None
) -> DataFrame:
    """The table JUDGMENTS made from a user's table; it fails at rows that break a rule."""
    typed = conform_rows(graded_judgments(judgments, session, convention, relevance), JUDGMENTS, "judgments")
    grades = gain(F.coalesce("relevance", F.lit(0.0)), convention)
    return refuse_rows(typed, rules.judgment_rules(dict(typed.dtypes), grades, convention), "judgments")


def graded_judgments(
    judgments: Any, session: SparkSession, convention: Convention, relevance: float | None
) -> DataFrame:
    """The judgments, all with the grade `relevance` if it is given, or 1 if there are no grades and none are needed."""
    needs_grades = relevance is None and convention.gain != "judged"
    schema = JUDGMENTS if relevance is None else JUDGMENTS.remove(JUDGMENTS.get_field_index("relevance"))
    table = frame(judgments, schema, session, "judgments")
    if relevance is not None:
        return table.withColumn("relevance", F.lit(_finite(relevance)))
    return table if needs_grades or "relevance" in table.columns else table.withColumn("relevance", F.lit(1.0))


def results_with_runs(
    results: Any, session: SparkSession, where: str = "results", name: str | None = None
) -> DataFrame:
    """The results, as a single run if they name no runs, or if the run has a name."""
    table = frame(results, RESULTS, session, where)
    return table if "run" in table.columns and name is None else table.withColumn("run", F.lit(name or RUN))


def _finite(relevance: Any) -> float:
    if isinstance(relevance, numbers.Real) and not isinstance(relevance, bool) and math.isfinite(relevance):
        return float(relevance)
    raise ConfigurationError(f"relevance: {relevance!r} is not a grade; give a number, such as 1")


def session_for(*tables: Any) -> SparkSession:
    """The session of the first table that has one, else the running session, else a new one."""
    session = next((df.sparkSession for table in tables for df in dataframes_in(table)), None)
    return session or running_session() or open_session()

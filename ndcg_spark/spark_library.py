"""The evaluation as a function of Spark DataFrames, whose scores nothing computes before they are used."""

import atexit
import contextlib
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ndcg_spark import rules
from ndcg_spark.background import is_spark
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine import open_engine, require_read_values, sail_version
from ndcg_spark.errors import ConfigurationError, about
from ndcg_spark.inputs.dataframes import dataframes_in, frame, merge_local_partitions
from ndcg_spark.inputs.memory import RUN, to_arrow
from ndcg_spark.inputs.query_tables import attribute_rows
from ndcg_spark.schemas import EXCLUDE, JUDGMENTS, RESULTS
from ndcg_spark.scores import SparkScores
from ndcg_spark.scoring.counted_queries import make_slices
from ndcg_spark.scoring.evaluation import Evaluation, count_unjudged_queries, dataset_scores, new_id, query_scores
from ndcg_spark.scoring.ideal import gain
from ndcg_spark.scoring.lists import keep_judged_queries, rows_without_keys
from ndcg_spark.scoring.measures import highest_grade
from ndcg_spark.scoring.ranking import by_window, list_by_list
from ndcg_spark.scoring.refusals import refuse_rows
from ndcg_spark.spot_check.expected import Definition
from ndcg_spark.spot_check.lazy import LazyCheck


def open_session(engine: str = "auto", remote: str | None = None) -> SparkSession:
    """The running session or, if there is none, a new one that stays open until the program ends.

    `engine` is that of a new one: `embedded`, `spark`, or `auto`, which takes SPARK_REMOTE or the session of
    spark-submit if there is one, else the embedded engine if it is installed, else local Spark. `remote`, the URL of a
    Spark Connect server, sc://host:port, is preferred to a running session. EngineError if it, or every engine, is not
    available.
    """
    opened = contextlib.ExitStack()
    session = opened.enter_context(open_engine(engine, remote)).session
    atexit.register(opened.close)
    return session


def evaluate_lazily(tables: Mapping[str, Any], config: EvaluationConfig, session: SparkSession | None) -> SparkScores:
    """What `library.evaluate` returns for DataFrames, or with a session: the scores of these tables as configured.

    Attributes are fetched into this process and validated; nothing else is computed.
    """
    # The session of the first table that has one.
    sessions = (one.sparkSession for table in tables.values() for one in dataframes_in(table))
    session = session or next(sessions, None) or open_session()
    require_read_values(session)
    options, relevance, run = config.convention, config.judgments.relevance, config.results.run
    schema = JUDGMENTS if relevance is None else JUDGMENTS.remove(JUDGMENTS.get_field_index("relevance"))
    judgments = frame(tables["judgments"], schema, session, "judgments")
    if relevance is not None or (options.gain == "judged" and "relevance" not in judgments.columns):
        judgments = judgments.withColumn("relevance", F.lit(1.0 if relevance is None else relevance))
    # The column of runs does not count where the run has a name.
    is_named = run is not None and not isinstance(tables["results"], Mapping)
    schema = RESULTS.remove(RESULTS.get_field_index("run")) if is_named else RESULTS
    results = frame(tables["results"], schema, session, "results")
    if "run" not in results.columns or run is not None:
        results = results.withColumn("run", F.lit(run or RUN))
    judged = rules.conform(judgments, JUDGMENTS, "judgments").columns
    returned = rules.conform(results, RESULTS, "results").columns
    if "dataset" in judged and "dataset" in config.model_fields_set:
        raise ConfigurationError(
            f"dataset: {config.dataset!r} is given, but the tables name their datasets; remove one of them"
        )
    options = options.replace(**rules.options_without_scores(options, returned))
    rules.require_columns(judged, returned, options)
    stored_judgments, stored_results = judgments, results
    # Rows are refused before values are cast, so that a message shows them as they are.
    types = dict(judgments.dtypes)
    grades = gain(F.coalesce(rules.typed("relevance", types), F.lit(0.0)), options)
    judgments = refuse_rows(judgments, rules.judgment_rules(types, grades, options), "judgments")
    judgments = rules.conform(judgments, JUDGMENTS, "judgments")
    results = refuse_rows(results, rules.result_rules(dict(results.dtypes), options), "results")
    results = rules.conform(results, RESULTS, "results")
    stored_exclude = None
    if tables["exclude"] is not None:
        excluded = stored_exclude = frame(tables["exclude"], EXCLUDE, session, "exclude")
        excluded = refuse_rows(excluded, rules.name_rules(dict(excluded.dtypes), EXCLUDE.names), "exclude")
        excluded = rules.conform(excluded, EXCLUDE, "exclude")
        key = [name for name in excluded.columns if name in results.columns]
        results = rows_without_keys(results, excluded, key)
    rank = list_by_list if sail_version(session) else by_window
    named = config.cutoffs, config.date, new_id(), config.dataset
    evaluation = Evaluation(options, *named, rank, config.measure_set)
    is_order_chosen = "order" in config.chosen_options
    runs = count_unjudged_queries(judgments, results, options, is_order_chosen)
    per_query = query_scores(judgments, keep_judged_queries(results, judgments), runs, evaluation)
    slices = attributes = None
    if tables["query_attributes"] is not None:
        with about("query_attributes"):
            rows = to_arrow(tables["query_attributes"], None)
        attributes = attribute_rows(rows)
        slices = make_slices(attributes, lambda lists: merge_local_partitions(session.createDataFrame(lists)))
    scores = dataset_scores(per_query, runs, evaluation, slices)
    given = tables["results"]
    names = [*given] if run is None and isinstance(given, Mapping) and is_spark(given) else []
    check = LazyCheck(
        stored_judgments,
        stored_results,
        stored_exclude,
        Definition(options, evaluation.cutoffs, evaluation.measures),
        highest_grade(judgments, options, evaluation.measures),
        config.dataset,
        evaluation.evaluation_id,
        attributes,
    )
    return SparkScores(per_query, scores, evaluation.measures, attributes, names, check.query_scores)

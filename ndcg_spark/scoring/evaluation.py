"""The whole evaluation as a composition of table steps, without a session, a path or an action."""

import dataclasses
import datetime
import functools
import uuid
from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark import sql
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import COLUMNS, NDCG_ONLY, Cutoff, MeasureSet, deepest_finite
from ndcg_spark.schemas import (
    DATASET_SCORES,
    KEPT_ATTRIBUTES,
    QUERY_SCORES,
    RANKED_DOCUMENTS,
    REJECTED_ROWS,
    TO_JUDGE,
    query_key,
)
from ndcg_spark.scoring import catalog_columns, counted_queries, ideal, lists
from ndcg_spark.scoring import measure_columns as beside_ndcg
from ndcg_spark.scoring.catalog_columns import EngineItems
from ndcg_spark.scoring.counted_queries import Slices
from ndcg_spark.scoring.ranking import Ranker, by_window
from ndcg_spark.scoring.shown_lists import shown_lists


@dataclasses.dataclass(frozen=True)
class Evaluation:
    convention: Convention
    #: Ascending, without duplicates, with None (the whole ranking) last.
    cutoffs: Sequence[Cutoff]
    evaluated_on: datetime.date
    evaluation_id: str
    #: The dataset's name if the tables have no such column.
    dataset: str = "default"
    #: The fastest way to rank lists on the engine. All ways give the same ranks.
    rank: Ranker = by_window
    measures: MeasureSet = NDCG_ONLY
    #: The items that catalog measures look up, if any.
    items: EngineItems | None = None

    def __post_init__(self) -> None:
        catalog_columns.refuse_dependent(self.convention, self.measures)
        beside_ndcg.refuse_averaged(self.convention, self.measures)

    @property
    def depth(self) -> int | None:
        """The deepest rank that can matter to a score; None if any rank can."""
        return None if self.convention.ideal == "retrieved" else self.cutoffs[-1]


def query_scores(
    judgments: DataFrame, results: DataFrame, runs: DataFrame, evaluation: Evaluation
) -> DataFrame:
    """The table QUERY_SCORES, in no particular order.

    `runs` has one row per run, with its dataset if the tables name datasets.
    """
    key = query_key(judgments.columns)
    convention, measures = evaluation.convention, evaluation.measures
    cutoffs, depth = evaluation.cutoffs, evaluation.depth
    judged = ideal.judged_documents(judgments, key, convention)
    graded = beside_ndcg.with_highest_grade_column(judged, judgments, key, convention, measures)
    listed = lists.listed_gains(results, graded, key, convention, depth, evaluation.rank, measures)
    listed = catalog_columns.with_items(listed, evaluation.items, measures)
    scores = lists.run_scores(listed, key, convention, cutoffs, depth, measures)
    counts = beside_ndcg.query_aggregates(convention, measures)
    queries = ideal.judged_queries(judged, key, depth, counts)
    kept = [ideal.JUDGMENTS_HASH, *counts]
    if convention.ideal == "judged_capped":
        ranking = ideal.ideal_ranking(queries, key, convention)
        scores = ideal.capped_ideal_scores(scores, ranking, key, cutoffs)
    elif not convention.has_own_ideal:
        ranking = ideal.ideal_ranking(queries, key, convention, kept)
        queries = ideal.ideal_scores(ranking, key, cutoffs, convention, kept)
    table = counted_queries.scores_of_pairs(
        runs.drop("unjudged_queries"), queries, scores, key, convention, cutoffs, measures
    )
    constants = _constants(key, evaluation) | _not_computed(measures)
    return _complete(table, QUERY_SCORES, constants)


def to_judge(judgments: DataFrame, results: DataFrame, evaluation: Evaluation) -> DataFrame:
    key = query_key(judgments.columns)
    judged = ideal.judged_documents(judgments, key, evaluation.convention)
    listed = lists.listed_gains(
        results, judged, key, evaluation.convention, evaluation.depth, evaluation.rank
    )
    unjudged = lists.unjudged_documents(listed, key, evaluation.convention)
    return _complete(unjudged, TO_JUDGE, _constants(key, evaluation))


def dataset_scores(
    per_query: DataFrame,
    runs: DataFrame,
    evaluation: Evaluation,
    slices: Slices | None = None,
    of_runs: DataFrame | None = None,
) -> DataFrame:
    """The table DATASET_SCORES, in no particular order.

    `of_runs` has the measures in `run_measures`.
    """
    aggregated = counted_queries.means(per_query, evaluation.measures, slices)
    named = _with_evaluation(runs, runs.columns, evaluation)
    rows = counted_queries.with_every_run(
        aggregated, named, list(evaluation.cutoffs), evaluation.measures
    )
    absent = _not_computed(evaluation.measures)
    if of_runs is None:
        absent |= catalog_columns.NO_RUN_MEASURES
    else:
        rows = catalog_columns.with_run_measures(rows, of_runs)
    convention = evaluation.convention
    described = {"convention": sql.text(convention.label), "formula": sql.text(convention.formula)}
    return _complete(rows, DATASET_SCORES, described | absent)


def lists_of_catalog(results: DataFrame, key: Sequence[str], evaluation: Evaluation) -> DataFrame:
    """All lists in the results, down to the deepest cutoff of the catalog measures."""
    measures = evaluation.measures
    deepest = measures.cutoffs_for(*measures.of_catalog)[-1]
    return shown_lists(results, key, evaluation.convention, deepest, evaluation.rank)


def run_measures(lists: DataFrame, key: Sequence[str], evaluation: Evaluation) -> DataFrame:
    """The measures of all `shown_lists`, by run and cutoff."""
    return catalog_columns.run_measures(lists, key, evaluation.measures, evaluation.items)


def ranked_documents(
    judgments: DataFrame, results: DataFrame, evaluation: Evaluation, with_ideal: bool = True
) -> DataFrame:
    key = query_key(judgments.columns)
    convention = evaluation.convention
    depth = deepest_finite(evaluation.cutoffs)
    judged = ideal.judged_documents(judgments, key, convention)
    listed = lists.returned_documents(results, judged, key, convention, depth).where("on_list")
    if convention.duplicates != "best":
        listed = lists.with_single_documents(listed, ["run", *key])
    columns = ("doc_id", "rank", "tied", "tie_group", "score", "relevance", "gain", "discount")
    table = listed.select("run", *key, *columns)
    if with_ideal and not convention.has_own_ideal:
        best = ideal.ideal_documents(judged, key, convention, depth)
        kinds = {"run": "string", "score": "double", "tie_group": "int"}
        nothing = {name: F.lit(None).cast(kind) for name, kind in kinds.items()}
        nothing["tied"] = F.lit(False)
        table = table.unionByName(best.withColumns(nothing))
    return _complete(table, RANKED_DOCUMENTS, _constants(key, evaluation))


def rejected_rows(
    tables: Sequence[DataFrame], datasets: Sequence[str | None], evaluation: Evaluation
) -> DataFrame:
    """The table REJECTED_ROWS. A row of an unpublished dataset gets the first published one, so
    that it does not create another night.
    """
    published = [name for name in datasets if name is not None]
    rows = functools.reduce(DataFrame.unionByName, tables)
    if published:
        own = F.col("dataset_read")
        dataset = F.when(own.isin(published), own).otherwise(F.lit(published[0]))
        rows = rows.withColumn("dataset", dataset)
    constants = _constants(["dataset"] if published else [], evaluation)
    return _complete(rows, REJECTED_ROWS, constants)


def kept_attributes(
    attributes: DataFrame, judgments: DataFrame, evaluation: Evaluation
) -> DataFrame:
    key = query_key(judgments.columns)
    judged = _with_evaluation(judgments.select(*key).distinct(), key, evaluation)
    return attributes.join(judged, on=query_key(attributes.columns), how="inner").select(
        *KEPT_ATTRIBUTES.names
    )


def new_id() -> str:
    """A new evaluation_id: the time in UTC and eight random hexadecimal digits.

    Ids sort by time.
    """
    return f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"


def _with_evaluation(table: DataFrame, columns: Sequence[str], evaluation: Evaluation) -> DataFrame:
    """The table, which has these columns, with the columns of `_constants` added.

    The columns are passed in, because `.columns` makes the engine plan the whole query.
    """
    return table.selectExpr("*", *sql.named(_constants(columns, evaluation)))


def _constants(columns: Collection[str], evaluation: Evaluation) -> dict[str, str]:
    """The SQL of evaluated_on and evaluation_id, and of the dataset if the columns lack it."""
    constants = {
        "evaluated_on": f"date'{evaluation.evaluated_on.isoformat()}'",
        "evaluation_id": sql.text(evaluation.evaluation_id),
    }
    if "dataset" not in columns:
        constants["dataset"] = sql.text(evaluation.dataset)
    return constants


def _not_computed(measures: MeasureSet) -> dict[str, str]:
    """The SQL of the columns of measures, other than NDCG, that are not computed."""
    absent = {name: sql.null("double") for name in COLUMNS if name not in measures.columns}
    if not measures.of_judgments:
        absent["relevant_queries"] = sql.null("bigint")
    if measures.of_judgments == measures.beside_ndcg:
        absent["listed_queries"] = sql.null("bigint")
    return absent


def _complete(table: DataFrame, schema: pa.Schema, constants: Mapping[str, str]) -> DataFrame:
    """The schema's columns, from the table or from constants in SQL."""
    columns = {name: constants.get(name, sql.quoted(name)) for name in schema.names}
    return table.selectExpr(*sql.named(columns))

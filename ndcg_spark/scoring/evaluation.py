"""The whole evaluation as one expression over tables: no session, no path, no action."""

import dataclasses
import datetime
import functools
import uuid
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.schemas import DATASET_SCORES, JUDGMENTS, QUERY_SCORES, REJECTED_ROWS, RESULTS, conform, query_key
from ndcg_spark.scoring import aggregation, dcg, ranking, refusals
from ndcg_spark.scoring.pruning import pruning_of


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What an evaluation is called, and which NDCG it computes where."""

    convention: Convention
    #: Ascending, each once; None is the whole ranking.
    cutoffs: Sequence[int | None]
    evaluated_on: datetime.date
    evaluation_id: str
    #: The dataset of tables that do not name theirs.
    dataset: str = "default"
    #: Whether lists are sorted one by one, as the embedded engine does faster, or by a window over all of them.
    one_by_one: bool = False

    @property
    def depth(self) -> int | None:
        """The rank to which results matter; None if all of them do."""
        if self.convention.ideal == "retrieved":
            return None
        return None if None in self.cutoffs else max(k for k in self.cutoffs if k is not None)


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
    for cutoff in cutoffs:
        if cutoff is not None and (isinstance(cutoff, bool) or not isinstance(cutoff, int) or cutoff < 1):
            raise ConfigurationError(f"cutoffs: {cutoff!r} is no cutoff; give whole numbers from 1, None for all")
    if not cutoffs:
        raise ConfigurationError("cutoffs: there are none; give whole numbers from 1, None for the whole ranking")
    evaluation = Evaluation(
        chosen,
        sorted(set(cutoffs), key=lambda cutoff: (cutoff is None, cutoff or 0)),
        evaluated_on or datetime.datetime.now(datetime.UTC).date(),
        new_id(),
        dataset,
    )
    typed_judgments = conform(judgments, JUDGMENTS, "judgments")
    typed_results = conform(results, RESULTS, "results")
    check_columns(typed_judgments.columns, typed_results.columns, chosen)
    typed_judgments = refusals.refuse_bad_rows(typed_judgments, "judgments", ["relevance"])
    ranked_by = [name for name, used in (("score", chosen.needs_score), ("rank", chosen.needs_rank)) if used]
    typed_results = refusals.refuse_bad_rows(typed_results, "results", ranked_by)
    runs = count_unjudged_queries(typed_judgments, typed_results)
    per_query = query_scores(typed_judgments, typed_results, runs, evaluation)
    return Scores(per_query, dataset_scores(per_query, runs, evaluation))


def query_scores(judgments: DataFrame, results: DataFrame, runs: DataFrame, evaluation: Evaluation) -> DataFrame:
    """The table QUERY_SCORES: one row per run, judged query and cutoff, in no order."""
    key = query_key(judgments.columns)
    convention, cutoffs, depth = evaluation.convention, evaluation.cutoffs, evaluation.depth
    judged = dcg.judged_documents(judgments, key, convention)
    documents = dcg.listed_gains(results, judged, key, convention, depth, evaluation.one_by_one)
    scores = dcg.run_scores(documents, key, convention, cutoffs, depth)
    ideal = dcg.ideal_ranking(judged, key, convention, None if None in cutoffs else depth)
    queries = dcg.ideal_scores(ideal, key, cutoffs) if convention.ideal == "judged" else judged.select(*key).distinct()
    if convention.ideal == "judged_capped":
        scores = dcg.capped_ideal_scores(scores, ideal, key, cutoffs)
    per_query = dcg.query_scores(runs.drop("unjudged_queries"), queries, scores, key, convention, cutoffs)
    named = _named(per_query, "dataset" in key, evaluation).withColumn("evaluation_id", F.lit(evaluation.evaluation_id))
    return named.select(*QUERY_SCORES.names)


def dataset_scores(per_query: DataFrame, runs: DataFrame, evaluation: Evaluation) -> DataFrame:
    """The table DATASET_SCORES from a table QUERY_SCORES: one row per run and cutoff, in no order."""
    aggregated = aggregation.dataset_scores(per_query)
    whole = aggregation.with_every_run(
        aggregated, _named(runs, "dataset" in runs.columns, evaluation), list(evaluation.cutoffs)
    )
    described = {
        "convention": F.lit(evaluation.convention.label),
        "formula": F.lit(evaluation.convention.formula),
        "evaluation_id": F.lit(evaluation.evaluation_id),
    }
    return whole.withColumns(described).select(*DATASET_SCORES.names)


def rejected_rows(tables: Sequence[DataFrame], datasets: Sequence[str | None], evaluation: Evaluation) -> DataFrame:
    """The table REJECTED_ROWS of tables as `rejecting.rejected` has them, in no order.

    `datasets` are those of the evaluation's nights. A row whose own dataset is none of them, or empty, stands with the
    first: no other night may come to be, or be replaced, because of a row that was refused.
    """
    named = [name for name in datasets if name is not None]
    whole = functools.reduce(DataFrame.unionByName, tables)
    if named:
        own = F.col("dataset_read")
        whole = whole.withColumn("dataset", F.when(own.isin(named), own).otherwise(F.lit(named[0])))
    described = _named(whole, bool(named), evaluation).withColumn("evaluation_id", F.lit(evaluation.evaluation_id))
    return described.select(*REJECTED_ROWS.names)


def steps(evaluation: Evaluation) -> list[str]:
    """How `query_scores` computes, in words: above all what is kept of the results, and which option needs it."""
    c, depth = evaluation.convention, evaluation.depth
    looked_up_first = [f"{o}=drop" for o in ("unjudged", "negative") if getattr(c, o) == "drop"]
    whole = [
        *(["ideal=retrieved"] if c.ideal == "retrieved" else []),
        *(["cutoff all"] if None in evaluation.cutoffs else []),
    ]
    if whole:
        kept = f"keep the whole list, which {' and '.join(whole)} needs"
    elif ranking.breaks_ties_by_gain(c):
        kept = f"keep rank {depth} and whatever ties with it, which ties={c.ties} needs"
    else:
        kept = f"keep rank {depth}, the deepest cutoff"
    prunes = pruning_of(c, evaluation.cutoffs, ["rank"]) is not None
    look_up = "look up the judgments of the documents"
    before = [f"{look_up} of the whole list, as {' and '.join(looked_up_first)} takes documents off it"]
    return [
        "ideal: rank each query's judged documents by gain, once, whatever the number of runs"
        if c.ideal != "retrieved"
        else "ideal: rank each list's own documents by gain, run by run",
        "leave out the results of queries that nobody judged",
        *(["where results have ranks, leave out those that the check has proved to be too deep"] if prunes else []),
        *(before if looked_up_first else []),
        f"rank each run's documents of a query; {kept}",
        *([] if looked_up_first else [look_up + " that are kept"]),
        *([f"settle ties by gain: {c.ties}"] if ranking.breaks_ties_by_gain(c) else []),
        "sum gain * discount by run and query, at every cutoff in one pass",
        "join the sums to every pair of a run and a judged query; missing_query and no_relevant decide the rest",
    ]


def count_unjudged_queries(judgments: DataFrame, results: DataFrame) -> DataFrame:
    """One row per run, and dataset where there is one: unjudged_queries, of its queries those that nobody judged."""
    key = query_key(judgments.columns)
    judged = judgments.select(*key).distinct().withColumn("judged", F.lit(True))
    queries = results.select("run", *key).distinct().join(judged, on=key, how="left")
    run_key = ["run", *key[:-1]]
    return queries.groupBy(*run_key).agg(F.count_if(F.col("judged").isNull()).alias("unjudged_queries"))


def check_columns(judgments: list[str], results: list[str], convention: Convention, place: str = "the table") -> None:
    """InputError where the results lack what the convention ranks by, or one table names datasets and one does not."""
    needed = [n for n, needs in (("score", convention.needs_score), ("rank", convention.needs_rank)) if needs]
    for name in needed:
        if name not in results:
            use = "order=rank" if name == "score" else "ties=doc_id_asc" if convention.ties == name else "order=score"
            raise InputError(
                f"results: no column {name} in {place}, which the convention {convention.label} ranks by; "
                f"map one in the configuration with columns.{name}, or --set {use}"
            )
    if ("dataset" in judgments) != ("dataset" in results):
        named, other = ("judgments", "results") if "dataset" in judgments else ("results", "judgments")
        raise InputError(
            f"{other}: no column dataset, and the {named} have one; name the dataset in both or in neither"
        )


def new_id() -> str:
    """A new evaluation_id: the time in UTC and eight random digits, so that ids sort by time."""
    return f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"


def _named(table: DataFrame, has_dataset: bool, evaluation: Evaluation) -> DataFrame:
    """The table with evaluated_on, and with the evaluation's dataset where it has none of its own.

    That it has one is said, not asked: an engine plans the whole table to tell its columns.
    """
    named = table if has_dataset else table.withColumn("dataset", F.lit(evaluation.dataset))
    return named.withColumn("evaluated_on", F.lit(evaluation.evaluated_on))

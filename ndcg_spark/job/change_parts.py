"""The part of the change between two published nights that is due to changed judgments, from the lists they keep."""

import datetime
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.agreement.changes import change_parts, keeps_order, scored_again
from ndcg_spark.agreement.grade_pairs import grade_pairs
from ndcg_spark.comparison.comparability import different_options, fingerprint, rejudged_queries
from ndcg_spark.comparison.options import ComparisonOptions
from ndcg_spark.convention.cutoffs import ascending, by_run, format_cutoff
from ndcg_spark.engine import Engine
from ndcg_spark.inputs.engine_files import materializer
from ndcg_spark.job.explain_night import convention_of
from ndcg_spark.nights.read import read_dataset_scores, read_nights
from ndcg_spark.nights.records import CommittedNight
from ndcg_spark.schemas import CHANGE_PARTS
from ndcg_spark.scoring.evaluation import Evaluation


def parts_of_change(
    engine: Engine, night: CommittedNight, other: CommittedNight, runs: Sequence[str] | None, options: ComparisonOptions
) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of CHANGE_PARTS of a night since an earlier one, by run and cutoff, and sentences about them.

    `runs` are those that are compared; None for all. There are no rows if the judgments are the same, the conventions
    differ, a night does not keep its judgments, or a run's stored lists do not reproduce its scores. Runs Spark jobs;
    only queries whose judgments differ are scored again.
    """
    dataset, nights = night.dataset, (other, night)
    prints = {fingerprint(each.record, "judgments", dataset) for each in nights}
    if len(prints) == 1 or different_options(night.record["options"], other.record["options"]):
        return [], []
    cutoffs = ascending({row["cutoff"] for row in read_dataset_scores([night])[0]})
    date, convention = datetime.date.fromisoformat(night.evaluated_on), convention_of(night.record)
    evaluation = Evaluation(convention, cutoffs, date, night.evaluation_id, dataset)
    if not keeps_order(convention) or not all(each.kept_rows("judgments") for each in nights):
        return [], []

    def table(name: str, of: CommittedNight) -> DataFrame:
        return read_nights([of], name, engine.session)

    before, after = (table("query_scores", each) for each in nights)
    after = after if runs is None else after.where(F.col("run").isin(list(runs)))
    judged = [table("judgments", each) for each in nights]
    materialize, found = materializer(engine, "rejudged_queries"), rejudged_queries(after, before)
    queries = materialize([found]) if materialize else found.persist()
    lists, names = _of(queries, table("ranked_documents", night)), after.select("run").distinct()
    between, again = (scored_again(lists, _of(queries, each), names, evaluation) for each in judged)
    parts = change_parts(before, between, after, again).collect()
    rows = [{"dataset": dataset, **row.asDict()} for row in parts if options.has("ndcg", row["cutoff"])]
    wrong = sorted(f"{row['run']}@{format_cutoff(row['cutoff'])}" for row in rows if row["wrong"])
    sentences = [_difference(judged, evaluation, other)]
    if wrong:
        sentences.append(
            f"{dataset}: the lists that are kept do not give {len(wrong):,} of {len(rows):,} scores, e.g. {wrong[0]}, "
            "so the effect of other judgments on them is not known"
        )
    kept = [{name: row[name] for name in CHANGE_PARTS.names} for row in rows if not row["wrong"]]
    return sorted(kept, key=by_run), sentences


def _of(queries: DataFrame, table: DataFrame) -> DataFrame:
    """The rows of these queries."""
    return table.join(queries, on=["query_id"], how="left_semi")


def _difference(judged: Sequence[DataFrame], evaluation: Evaluation, other: CommittedNight) -> str:
    """A sentence that says how many judgments were added, removed and changed since another night. Runs a job."""
    one, two, pairs = F.col("grade_a"), F.col("grade_b"), F.col("pairs")
    added, removed, changed = (
        grade_pairs(judged[0], judged[1], evaluation.convention, evaluation.dataset)
        .agg(*(F.coalesce(F.sum(F.when(each, pairs)), F.lit(0)) for each in (one.isNull(), two.isNull(), one != two)))
        .collect()[0]
    )
    counts = f"{added:,} added, {removed:,} removed, {changed:,} with another grade"
    return f"{evaluation.dataset}: judgments since {other.evaluated_on}: {counts}"

"""The spot check of lazy scores from Spark DataFrames, when the scores are computed."""

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from ndcg_spark.errors import NotVerifiedError
from ndcg_spark.scoring.evaluation import Evaluation
from ndcg_spark.scoring.measure_columns import highest_grade
from ndcg_spark.scoring.prepare import Tables, UserTable, with_highest_grade
from ndcg_spark.spot_check.findings import report_findings
from ndcg_spark.spot_check.means import Means
from ndcg_spark.spot_check.recompute import Bucket, InputTable, Subject, recompute
from ndcg_spark.spot_check.subject import fetch_scores, make_subject

#: What may be the reason for a difference.
_WHY = "the DataFrames return different rows each time they are read, or the engine is wrong"


@dataclasses.dataclass(frozen=True)
class LazyCheck:
    """Checks the scores of Spark DataFrames by recomputing some lists from their rows."""

    #: The tables as the user gave them.
    tables: Tables
    #: The judgments as they are scored.
    judgments: DataFrame
    evaluation: Evaluation
    attributes: pa.Table | None

    def query_scores(self, dataset_scores: pa.Table, per_query: DataFrame) -> pa.Table | None:
        """Check scores and return the rows of QUERY_SCORES, or None if there are too many.

        Raises NotVerifiedError if plain Python disagrees with some of them.
        """
        name = self.evaluation.evaluation_id
        queries = pc.add(dataset_scores["queries"], dataset_scores["missing_queries"])
        number = pc.sum(queries).as_py() or 0
        with tempfile.TemporaryDirectory() as folder:
            fetched = fetch_scores(per_query, number, name, Path(folder))
            rows = dataset_scores.to_pylist()
            subject = self._subject(rows, fetched.bucket)
            means = Means(self.evaluation.measures, self.attributes)
            is_whole = fetched.bucket is None
            outcome = recompute(subject, fetched.stored, means, rows if is_whole else None)
        if outcome.differences:
            engine = f"Spark {per_query.sparkSession.version}"
            sentence = report_findings(engine, name, subject, outcome, outcome.differences, _WHY)
            raise NotVerifiedError(sentence)
        return fetched.rows if is_whole else None

    def _subject(self, rows: list[dict[str, Any]], bucket: Bucket | None) -> Subject:
        evaluation = self.evaluation
        convention = with_highest_grade(
            evaluation.convention,
            evaluation.measures,
            lambda: highest_grade(self.judgments).collect()[0][0] or 0.0,
        )
        has_datasets = "dataset" in self.judgments.columns
        runs = {(row["dataset"] if has_datasets else None, row["run"]): None for row in rows}
        of_queries = [row["queries"] for row in rows if row["attribute"] is None]
        return make_subject(
            self.tables,
            _only_on_engine,
            dataclasses.replace(evaluation, convention=convention),
            list(runs),
            seed=evaluation.evaluation_id,
            queries=max(of_queries, default=0),
            bucket=bucket,
        )


def _only_on_engine(given: UserTable) -> InputTable:
    return InputTable(given.name, given.table, None)

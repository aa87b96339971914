"""The spot check of lazy scores of Spark DataFrames, when they are computed."""

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from ndcg_spark.errors import NotVerifiedError
from ndcg_spark.inputs.stored_rows import copied_rows
from ndcg_spark.parquet_files import write_table
from ndcg_spark.schemas import QUERY_SCORES
from ndcg_spark.scoring.evaluation import Evaluation
from ndcg_spark.scoring.measure_columns import highest_grade
from ndcg_spark.scoring.prepare import Table, Tables, with_highest_grade
from ndcg_spark.spot_check.expected import Definition
from ndcg_spark.spot_check.findings import findings_in_words, write_case
from ndcg_spark.spot_check.means import Means
from ndcg_spark.spot_check.recompute import (
    LARGE,
    Bucket,
    InputTable,
    Outcome,
    Subject,
    in_bucket,
    make_bucket,
    recompute,
)


@dataclasses.dataclass(frozen=True)
class LazyCheck:
    """Checks scores of Spark DataFrames: recomputes some lists from the rows of the DataFrames."""

    #: As they were given.
    tables: Tables
    #: As they are scored.
    judgments: DataFrame
    evaluation: Evaluation
    attributes: pa.Table | None

    def query_scores(self, dataset_scores: pa.Table, per_query: DataFrame) -> pa.Table | None:
        """The rows of QUERY_SCORES, which agree with plain Python; None if they are too many to be fetched.

        NotVerifiedError if some do not agree.
        """
        expected = pc.sum(pc.add(dataset_scores["queries"], dataset_scores["missing_queries"])).as_py() or 0
        is_whole = expected <= LARGE
        name = self.evaluation.evaluation_id
        bucket = None if is_whole else make_bucket(name, expected)
        fetched = (per_query if bucket is None else in_bucket(per_query, bucket)).toArrow()
        definition = self._definition()
        outcome = self._recomputed(definition, dataset_scores, fetched, bucket)
        if outcome.differences:
            engine = f"Spark {per_query.sparkSession.version}"
            sentence = findings_in_words(engine, len(outcome.lists), outcome.differences)
            file = write_case(engine, name, definition, outcome, outcome.differences)
            why = "the DataFrames give other rows each time that they are read, or the engine is wrong"
            raise NotVerifiedError(f"{sentence}; {why}; {file}")
        return fetched if is_whole else None

    def _recomputed(
        self,
        definition: Definition,
        dataset_scores: pa.Table,
        fetched: pa.Table,
        bucket: Bucket | None,
    ) -> Outcome:
        means = Means(definition.measures, self.attributes)
        with tempfile.TemporaryDirectory() as folder:
            write_table(fetched, Path(folder) / "query_scores.parquet")
            stored = copied_rows(Path(folder), {}, QUERY_SCORES.names, "the query scores")
            rows = dataset_scores.to_pylist()
            subject = self._subject(definition, rows)._replace(bucket=bucket)
            return recompute(subject, stored, means, rows if bucket is None else None)

    def _definition(self) -> Definition:
        evaluation = self.evaluation
        convention, measures = evaluation.convention, evaluation.measures
        highest = highest_grade(self.judgments, convention, measures)
        if highest is not None:
            ((grade,),) = highest.collect()
            convention = with_highest_grade(convention, measures, grade or 0.0)
        return Definition(convention, evaluation.cutoffs, measures)

    def _subject(self, definition: Definition, rows: list[dict[str, Any]]) -> Subject:
        has_datasets = "dataset" in self.judgments.columns
        runs = {(row["dataset"] if has_datasets else None, row["run"]): None for row in rows}
        of_queries = [row["queries"] for row in rows if row["attribute"] is None]
        return Subject(
            _input_table(self.tables.judgments),
            _input_table(self.tables.results),
            None if self.tables.exclude is None else _input_table(self.tables.exclude),
            definition,
            list(runs),
            self.evaluation.dataset,
            self.evaluation.evaluation_id,
            queries=max(of_queries, default=0),
        )


def _input_table(given: Table) -> InputTable:
    return InputTable(given.name, given.table, None)

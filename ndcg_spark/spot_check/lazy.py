"""The spot check of lazy scores of Spark DataFrames, when they are computed."""

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from ndcg_spark.errors import NotVerifiedError
from ndcg_spark.inputs.stored_rows import copied_rows, write_rows
from ndcg_spark.schemas import QUERY_SCORES
from ndcg_spark.spot_check.expected import Definition
from ndcg_spark.spot_check.findings import in_words, write_case
from ndcg_spark.spot_check.means import Means
from ndcg_spark.spot_check.recompute import LARGE, InputTable, Outcome, Subject, recompute, some_queries


@dataclasses.dataclass(frozen=True)
class LazyCheck:
    """Checks scores of Spark DataFrames: recomputes some lists from the rows of the DataFrames."""

    judgments: DataFrame
    results: DataFrame
    exclude: DataFrame | None
    definition: Definition
    #: The highest grade of all judgments, if a measure needs it.
    highest: DataFrame | None
    dataset: str
    evaluation_id: str
    attributes: pa.Table | None

    def query_scores(self, dataset_scores: pa.Table, per_query: DataFrame) -> pa.Table | None:
        """The rows of QUERY_SCORES, which agree with plain Python; None if they are too many to be fetched.

        NotVerifiedError if some do not agree.
        """
        expected = pc.sum(pc.add(dataset_scores["queries"], dataset_scores["missing_queries"])).as_py() or 0
        is_whole = expected <= LARGE
        fetched = (per_query if is_whole else some_queries(per_query, self.evaluation_id)).toArrow()
        outcome = self._recomputed(dataset_scores, fetched, is_whole)
        if outcome.differences:
            engine = f"Spark {self.results.sparkSession.version}"
            sentence = in_words(engine, len(outcome.lists), outcome.differences)
            file = write_case(engine, self.evaluation_id, self.definition, outcome, outcome.differences)
            raise NotVerifiedError(f"{sentence}; its rows are in {file}, for the authors of the engine")
        return fetched if is_whole else None

    def _recomputed(self, dataset_scores: pa.Table, fetched: pa.Table, is_whole: bool) -> Outcome:
        definition = self._definition()
        means = Means(definition.measures, self.attributes)
        with tempfile.TemporaryDirectory() as folder:
            write_rows(Path(folder) / "query_scores.parquet", fetched)
            stored = copied_rows(Path(folder), {}, QUERY_SCORES.names, "the query scores")
            rows = dataset_scores.to_pylist()
            return recompute(self._subject(definition, rows), stored, means, rows if is_whole else None)

    def _definition(self) -> Definition:
        if self.highest is None:
            return self.definition
        ((highest,),) = self.highest.collect()
        convention = self.definition.convention.replace(max_grade=highest if highest and highest > 0 else 1.0)
        return self.definition._replace(convention=convention)

    def _subject(self, definition: Definition, rows: list[dict[str, Any]]) -> Subject:
        has_datasets = "dataset" in self.judgments.columns
        runs = {(row["dataset"] if has_datasets else None, row["run"]): None for row in rows}
        of_queries = [row["queries"] for row in rows if row["attribute"] is None]
        return Subject(
            InputTable("judgments", self.judgments, None),
            InputTable("results", self.results, None),
            None if self.exclude is None else InputTable("exclude", self.exclude, None),
            definition,
            list(runs),
            self.dataset,
            self.evaluation_id,
            queries=max(of_queries, default=0),
        )

"""Both tables held to the input contract: what is good of them, what is set aside, and what both come to."""

import dataclasses
from typing import TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, StructType

from ndcg_spark import schemas
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import counting, rejecting, thresholds
from ndcg_spark.contract.counting import Breach, JudgmentCounts, ResultCounts
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.inputs import run_files
from ndcg_spark.inputs.lost_rows import refuse_lost_rows
from ndcg_spark.inputs.reading import Source
from ndcg_spark.schemas import JUDGMENTS, RESULTS
from ndcg_spark.scoring import evaluation, gains
from ndcg_spark.scoring.pruning import Pruning, pruning_of

Counts = TypeVar("Counts", JudgmentCounts, ResultCounts)

#: What happened to a document, and the option that merges its rows.
_MERGED = {"judgments": ("judged", "judgment_duplicates=max"), "results": ("returned", "duplicates=best")}


@dataclasses.dataclass(frozen=True)
class Checked:
    """Two tables without the rows that breach the contract, and what was counted of them."""

    #: In their schemas.
    judgments: DataFrame
    results: DataFrame
    judged: JudgmentCounts
    returned: ResultCounts
    #: What was set aside, a table for each reason to do so; as `rejecting.rejected` has it.
    rejected: tuple[DataFrame, ...] = ()
    #: Which results cannot matter, if their ranks tell.
    pruning: Pruning | None = None

    @property
    def listed(self) -> DataFrame:
        """The results that can be among the best of their list."""
        whole = self.returned.whole_queries
        return self.results if self.pruning is None or whole is None else self.pruning.kept(self.results, whole)

    @property
    def both(self) -> tuple[JudgmentCounts | ResultCounts, ...]:
        """The counts of the judgments, then of the results."""
        return self.judged, self.returned

    @property
    def breaches(self) -> list[Breach]:
        """Of the judgments, then of the results."""
        return [breach for counts in self.both for breach in counts.breaches]

    @property
    def datasets(self) -> list[str | None]:
        """The datasets of the runs, sorted; None alone where the tables name none."""
        return sorted({run.dataset for run in self.returned.runs}, key=lambda name: name or "")

    def counts(self, cutoffs: int) -> dict[str, int]:
        """What was read and what must come out: every run of a dataset with every query that was judged in it."""
        judged, runs = self.judged, self.returned.runs
        pairs = sum(judged.queries.get(run.dataset, 0) for run in runs)
        return {
            "judgments": judged.rows,
            "judged_queries": sum(judged.queries.values()),
            "results": self.returned.rows,
            "runs": len(runs),
            "unjudged_queries": sum(run.unjudged_queries for run in runs),
            "results_of_unjudged_queries": sum(run.unjudged_rows for run in runs),
            "missing_queries": pairs - sum(run.judged_queries for run in runs),
            "datasets_without_results": len(set(judged.queries) - set(self.datasets)),
            "rejected_judgments": sum(breach.rows for breach in judged.breaches),
            "rejected_results": sum(breach.rows for breach in self.returned.breaches),
            "query_scores": pairs * cutoffs,
            "dataset_scores": len(runs) * cutoffs,
        }


def typed(judgments: Source, results: Source, config: EvaluationConfig) -> tuple[DataFrame, DataFrame]:
    """Both tables whole, in their schemas, which asks no row of them; refused if columns are missing or mistyped."""
    typed_judgments = schemas.conform(judgments.table, JUDGMENTS, f"judgments ({judgments.place})")
    typed_results = schemas.conform(results.table, RESULTS, f"results ({results.place})")
    evaluation.check_columns(typed_judgments.columns, typed_results.columns, config.convention, results.place)
    if "dataset" in typed_judgments.columns and "dataset" in config.model_fields_set:
        raise ConfigurationError(
            f"dataset: {config.dataset!r} is given, and the tables name their datasets; leave it out, "
            "or map the column away"
        )
    return typed_judgments, typed_results


def check(judgments: Source, results: Source, config: EvaluationConfig) -> Checked:
    """Both tables without the rows that breach the contract; one scan of each. An action.

    Raises
    ------
    InputError
        A table with more breaches than `max_rejected_fraction` allows or no good row, results of which no query was
        judged, runs with larger gaps than allowed.
    """
    allowed, convention = config.max_rejected_fraction, config.convention
    whole_judgments, whole_results = typed(judgments, results, config)
    grade_reason = _judgment_reason(judgments, config)
    judged = counting.count_judgments(judgments.table, grade_reason)
    refuse_lost_rows(judgments, judged.rows)
    thresholds.refuse_breaches("judgments", judged.breaches, judged.rows, judgments.place, allowed)
    good_judgments = _good(judgments, whole_judgments, grade_reason, judged.breaches, JUDGMENTS)
    result_reason = counting.result_reason(dict(results.table.dtypes), convention.needs_score, convention.needs_rank)
    pruning = pruning_of(convention, config.cutoffs, whole_results.columns)
    returned = counting.count_results(results.table, result_reason, _queries(good_judgments), pruning)
    refuse_lost_rows(results, returned.rows)
    run_files.refuse_split_runs(returned.split_runs, results.units, results.name)
    thresholds.refuse_breaches("results", returned.breaches, returned.rows, results.place, allowed)
    checked = Checked(
        good_judgments,
        _good(results, whole_results, result_reason, returned.breaches, RESULTS),
        judged,
        returned,
        tuple(
            rejecting.rejected(source.table, reason, source.name)
            for source, reason, counts in ((judgments, grade_reason, judged), (results, result_reason, returned))
            if counts.breaches
        ),
        pruning,
    )
    _refuse_coverage(checked, config, results.place)
    return checked


def without_duplicates(checked: Checked, judgments: Source, results: Source, config: EvaluationConfig) -> Checked:
    """The same without the rows of documents that stand twice, unless an option merges them. An action.

    Raises
    ------
    InputError
        As `check`; the budget is for all that is set aside.
    """
    judged, good_judgments, judged_twice = _once(checked.judged, checked.judgments, judgments, config)
    returned, good_results, returned_twice = _once(checked.returned, checked.results, results, config)
    none = F.lit(None).cast("string")
    recounted = counting.count_judgments(good_judgments, none)
    rerun = counting.count_results(good_results, none, _queries(good_judgments))
    once = Checked(
        good_judgments,
        good_results,
        dataclasses.replace(judged, queries=recounted.queries),
        dataclasses.replace(returned, runs=rerun.runs),
        (*checked.rejected, *judged_twice, *returned_twice),
    )
    _refuse_coverage(once, config, results.place)
    return once


def find_duplicates(checked: Checked, config: EvaluationConfig) -> str | None:
    """Documents that stand twice in a table whose convention does not merge them, in words. An action."""
    for table, name in ((checked.judgments, "judgments"), (checked.results, "results")):
        found = rejecting.duplicates(table, name) if _policy(name, config) == "error" else None
        if found:
            documents, breach = found
            verb, option = _MERGED[name]
            return (
                f"{name}: {documents} document(s) {verb} twice for one query, e.g. {breach.example}; "
                f"keep one row each, or --set {option}"
            )
    return None


def _policy(name: str, config: EvaluationConfig) -> str:
    convention = config.convention
    return convention.judgment_duplicates if name == "judgments" else convention.duplicates


def _once(
    counts: Counts, table: DataFrame, source: Source, config: EvaluationConfig
) -> tuple[Counts, DataFrame, list[DataFrame]]:
    found = rejecting.duplicates(table, source.name) if _policy(source.name, config) == "error" else None
    if not found:
        return counts, table, []
    _, breach = found
    counts = dataclasses.replace(counts, breaches=[*counts.breaches, breach])
    thresholds.refuse_breaches(source.name, counts.breaches, counts.rows, source.place, config.max_rejected_fraction)
    once, copies = rejecting.without_duplicates(table, source.name)
    return counts, once, [copies]


def _refuse_coverage(checked: Checked, config: EvaluationConfig, place: str) -> None:
    thresholds.refuse_strangers(checked.returned, place)
    thresholds.refuse_gaps(checked.judged, checked.returned, config.max_missing_fraction, config.max_unjudged_fraction)


def _judgment_reason(source: Source, config: EvaluationConfig) -> Column:
    convention, types = config.convention, dict(source.table.dtypes)
    relevance = F.coalesce(schemas.as_type(F.col("relevance"), DoubleType(), types["relevance"]), F.lit(0.0))
    return counting.judgment_reason(
        types,
        gains.gain(relevance, convention),
        refuse_negative=convention.negative == "error",
        use_negative=convention.negative == "keep",
    )


def _good(source: Source, whole: DataFrame, reason: Column, breaches: list[Breach], schema: StructType) -> DataFrame:
    """The table in its schema; only where rows are set aside does it cost another look at each."""
    return schemas.conform(source.table.where(reason.isNull()), schema, source.name) if breaches else whole


def _queries(judgments: DataFrame) -> DataFrame:
    return judgments.select(*schemas.query_key(judgments.columns)).distinct()

"""Validate both inputs: the rows that hold to the rules, the rows that are rejected, and counts of each."""

import dataclasses

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, StructType

from ndcg_spark import rules, schemas
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import counting, duplicates, rejecting, thresholds
from ndcg_spark.contract.checked import Checked
from ndcg_spark.contract.counts import Breach
from ndcg_spark.contract.duplicates import Duplicates
from ndcg_spark.errors import ConfigurationError, DuplicatesError
from ndcg_spark.inputs import run_files
from ndcg_spark.inputs.lost_rows import refuse_lost_rows
from ndcg_spark.inputs.reading import Source
from ndcg_spark.schemas import JUDGMENTS, RESULTS
from ndcg_spark.scoring import gains
from ndcg_spark.scoring.pruning import pruning_of

#: What happened to a document that stands twice, and the option that merges its rows.
_MERGED = {"judgments": ("judged", "judgment_duplicates=max"), "results": ("returned", "duplicates=best")}


def typed(judgments: Source, results: Source, config: EvaluationConfig) -> tuple[DataFrame, DataFrame]:
    """Both tables whole, in their schemas, which asks no row of them; refused if columns are missing or mistyped."""
    typed_judgments = schemas.conform(judgments.table, JUDGMENTS, f"judgments ({judgments.place})")
    typed_results = schemas.conform(results.table, RESULTS, f"results ({results.place})")
    rules.require_columns(typed_judgments.columns, typed_results.columns, config.convention, results.place)
    if "dataset" in typed_judgments.columns and "dataset" in config.model_fields_set:
        raise ConfigurationError(
            f"dataset: {config.dataset!r} is given, and the tables name their datasets; leave it out, "
            "or map the column away"
        )
    return typed_judgments, typed_results


def check(judgments: Source, results: Source, config: EvaluationConfig) -> Checked:
    """Both tables without the rows that break a rule; one scan of each. An action.

    Raises
    ------
    InputError
        A table with more rejected rows than `max_rejected_fraction` allows or no good row, results of which no query
        was judged, runs with larger gaps than allowed.
    """
    allowed, convention = config.max_rejected_fraction, config.convention
    whole_judgments, whole_results = typed(judgments, results, config)
    grade_reason = _judgment_reason(judgments, config)
    judged = counting.count_judgments(judgments.table, grade_reason)
    refuse_lost_rows(judgments, judged.rows)
    thresholds.refuse_breaches("judgments", judged.breaches, judged.rows, judgments.place, allowed)
    good_judgments = _good(judgments, whole_judgments, grade_reason, judged.breaches, JUDGMENTS)
    result_reason = rules.reason_of(rules.broken_results(dict(results.table.dtypes), convention))
    # A filter on text parses each line anew for every column it names, which took four times what it saved.
    pruning = None if results.is_text else pruning_of(convention, config.cutoffs, whole_results.columns)
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

    One scan of each table finds such documents and counts what is left.

    Raises
    ------
    DuplicatesError
        There are such documents, and no row may be rejected.
    InputError
        As `check`; the budget is for all rows that are rejected.
    """
    once = _with_judgments_once(checked, judgments, config)
    merges = config.convention.duplicates != "error"
    if not merges or once is not checked:
        # Without the judgments of some documents, other queries may be judged: the runs are counted anew.
        found, runs = duplicates.in_results(once.results, _queries(once.judgments))
        once = dataclasses.replace(once, returned=dataclasses.replace(once.returned, runs=runs), pruning=None)
        if found and not merges:
            returned = dataclasses.replace(once.returned, breaches=[*once.returned.breaches, found.breach])
            _refuse_duplicates(found, returned.breaches, returned.rows, results.place, config)
            good, copies = found.set_aside(once.results)
            once = dataclasses.replace(once, results=good, returned=returned, rejected=(*once.rejected, copies))
    _refuse_coverage(once, config, results.place)
    return once


def _with_judgments_once(checked: Checked, judgments: Source, config: EvaluationConfig) -> Checked:
    if config.convention.judgment_duplicates != "error":
        return checked
    found, queries = duplicates.in_judgments(checked.judgments)
    if not found:
        return checked
    breaches = [*checked.judged.breaches, found.breach]
    _refuse_duplicates(found, breaches, checked.judged.rows, judgments.place, config)
    good, copies = found.set_aside(checked.judgments)
    judged = dataclasses.replace(checked.judged, queries=queries, breaches=breaches)
    return dataclasses.replace(checked, judgments=good, judged=judged, rejected=(*checked.rejected, copies))


def _refuse_coverage(checked: Checked, config: EvaluationConfig, place: str) -> None:
    thresholds.refuse_strangers(checked.returned, place)
    thresholds.refuse_gaps(checked.judged, checked.returned, config.max_missing_fraction, config.max_unjudged_fraction)


def _judgment_reason(source: Source, config: EvaluationConfig) -> Column:
    convention, types = config.convention, dict(source.table.dtypes)
    relevance = F.coalesce(schemas.as_type(F.col("relevance"), DoubleType(), types["relevance"]), F.lit(0.0))
    return rules.reason_of(rules.broken_judgments(types, gains.gain(relevance, convention), convention))


def _refuse_duplicates(
    found: Duplicates, breaches: list[Breach], rows: int, place: str, config: EvaluationConfig
) -> None:
    if config.max_rejected_fraction == 0:
        name = found.breach.table
        verb, option = _MERGED[name]
        raise DuplicatesError(
            f"{name}: {found.documents} document(s) {verb} twice for one query, e.g. {found.breach.example}; "
            f"keep one row each, or --set {option}"
        )
    thresholds.refuse_breaches(found.breach.table, breaches, rows, place, config.max_rejected_fraction)


def _good(source: Source, whole: DataFrame, reason: Column, breaches: list[Breach], schema: StructType) -> DataFrame:
    """The table in its schema; only where rows are set aside does it cost another look at each."""
    return schemas.conform(source.table.where(reason.isNull()), schema, source.name) if breaches else whole


def _queries(judgments: DataFrame) -> DataFrame:
    return judgments.select(*schemas.query_key(judgments.columns)).distinct()

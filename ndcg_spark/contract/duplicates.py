"""Documents that occur twice in a query's judgments or in a list, and ranks that two documents share.

Scores fail where they meet one, as the aggregation that makes them sees it without a further pass. Only then, or where
nothing is scored, these are searched for.
"""

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.contract.check import CheckedTables
from ndcg_spark.contract.scan import example_of
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import DuplicatesError
from ndcg_spark.inputs.read import Source

_ONE_ROW = "keep one row each, or --set"


def refuse_duplicates(checked: CheckedTables, judgments: Source, results: Source, convention: Convention) -> None:
    """DuplicatesError if a document is judged or returned twice for a query, unless an option merges its rows.

    Where ranks are the order, also if two documents of a list share one. Runs one job for the judgments, and one or two
    for each part of the results.
    """
    if convention.judgment_duplicates == "error":
        what = "document(s) judged twice for one query"
        _refuse(judgments, [checked.judgments], "doc_id", what, f"{_ONE_ROW} judgment_duplicates=max")
    refuse_in_lists(results, [part.results for part in checked.parts], convention)


def refuse_in_lists(results: Source, parts: Iterable[DataFrame], convention: Convention) -> None:
    """The same for the results alone."""
    if convention.duplicates == "error":
        what = "document(s) returned twice for one query"
        _refuse(results, parts, "doc_id", what, f"{_ONE_ROW} duplicates=best")
    if convention.order == "rank":
        advice = "number each list from 1 or, if there are scores, --set order=score"
        _refuse(results, parts, "rank", "rank(s) with two documents", advice)


def _refuse(source: Source, parts: Iterable[DataFrame], column: str, what: str, advice: str) -> None:
    """DuplicatesError if the column has a value twice for one query (and run)."""
    different, examples = 0, []
    for table in parts:
        key = [name for name in ("dataset", "run", "query_id", column) if name in table.columns]
        # A document that has a rank twice is a document returned twice, not a rank of two documents.
        several: Column = F.count("*") > 1 if column == "doc_id" else F.min("doc_id") < F.max("doc_id")
        twice = table.groupBy(*key).agg(several.alias("several")).where("several")
        example = example_of({name: F.col(name).cast("string") for name in key})
        ((count, first),) = twice.agg(F.count("*"), F.min(example)).collect()
        different += count
        examples += [first] if count else []
    if not different:
        return
    if source.name == "results" and len(source.files) > 1 and not source.runs:
        advice += f"; if the {len(source.files):,} files are runs that share a name, --run-from file"
    raise DuplicatesError(f"{source.name}: {different} {what}, e.g. {min(examples)}; {advice}")

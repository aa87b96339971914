"""What a command reports while it runs: what was read, and what looks like a mistake.

The API that all engines share does not report the progress of a query, so nothing here says how much is left.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import limits, warnings
from ndcg_spark.contract.check import CheckedTables
from ndcg_spark.inputs.read import Source
from ndcg_spark.slices import NONE
from ndcg_spark.steps import report_step


def reading(sources: Sequence[Source]) -> str:
    """The activity of reading these tables, with their rows where the files have them, else with their size."""
    return f"reading {' and '.join(map(_table, sources))}"


def evaluating(checked: CheckedTables) -> str:
    """The activity of evaluating these tables."""
    counts = checked.result_counts
    return f"evaluating {counts.rows:,} results of {len(counts.runs):,} runs"


def _table(source: Source) -> str:
    if source.expected_rows is not None:
        return f"{source.expected_rows:,} {source.name}"
    size = sum(file.size or 0 for file in source.files) / 1e6
    files = f"{len(source.files):,} file{'s' if len(source.files) > 1 else ''}"
    return f"{source.name} ({files}, {size:,.1f} MB)" if size else source.name


def report_rows_read(sources: Sequence[Source], checked: CheckedTables) -> None:
    """Report how many rows of each table were read, and which were rejected."""
    judgments, results = sources
    judged, returned = checked.judgment_counts, checked.result_counts
    report_step("read", f"{judged.rows:,} judgments of {sum(judged.queries.values()):,} queries from {judgments.place}")
    report_step("read", f"{returned.rows:,} results of {len(returned.runs):,} runs from {results.place}")
    if results.without:
        report_step("excluded", f"{returned.excluded:,} results, by {results.without.place}")
    for source, counts in ((judgments, judged), (results, returned)):
        if counts.breaches:
            report_step("rejected", f"{counts.bad:,} rows of {source.name}: {limits.summary(counts.breaches)}")


def warn_of_input(sources: Sequence[Source], checked: CheckedTables, config: EvaluationConfig) -> None:
    """Warn of probable mistakes that the counts show. Warnings change neither a score nor an exit code."""
    shows_ndcg = not config.measures or config.measure_set.has("ndcg")
    if shows_ndcg and not config.chosen_options and all(source.format == "trec" for source in sources):
        note = warnings.about_gains(checked.judgment_counts, config.convention)
        if note:
            report_step("note", note)
    for sentence in warnings.about_input(
        checked.judgment_counts,
        checked.datasets_without_results,
        checked.result_counts,
        sources[1],
        config.convention,
    ):
        report_step("warning", sentence)


def warn_of_unjudged_runs(rows: Iterable[Mapping[str, Any]], config: EvaluationConfig) -> None:
    """Report which runs returned no judged documents; `rows` have their judged_rate."""
    for sentence in warnings.about_judged_rates(rows, config.cutoffs[-1]):
        report_step("warning", sentence)


def warn_of_unknown_queries(of_slices: Iterable[Mapping[str, Any]]) -> None:
    """Report attributes for which no judged query of a dataset has a value; `of_slices` are its dataset scores."""
    values: dict[tuple[str, str], set[str]] = {}
    for row in of_slices:
        values.setdefault((row["dataset"], row["attribute"]), set()).add(row["value"])
    for (dataset, attribute), found in values.items():
        if found == {NONE}:
            sentence = f"no judged query of {dataset} has a value of {attribute}; check the query_id of the table"
            report_step("warning", f"query_attributes: {sentence}")

"""What a command reports while it runs: what was read, and what looks like a mistake.

The API that all engines share does not report the progress of a query, so nothing here says how much is left.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import limits, plausibility
from ndcg_spark.contract.checked_tables import CheckedTables
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
    report_rows_rejected(sources, checked)


def report_rows_rejected(sources: Sequence[Source], checked: CheckedTables) -> None:
    """Report how many rows of each table were rejected, and why; nothing if none were."""
    for source, counts in zip(sources, checked.both_counts, strict=True):
        if counts.breaches:
            rows = sum(breach.rows for breach in counts.breaches)
            report_step("rejected", f"{rows:,} rows of {source.name}: {limits.summary(counts.breaches)}")


def warn_of_input(sources: Sequence[Source], checked: CheckedTables, config: EvaluationConfig) -> None:
    """Warn of probable mistakes that the counts show. Warnings change neither a score nor an exit code."""
    shows_ndcg = not config.measures or config.measure_set.has("ndcg")
    if shows_ndcg and not config.chosen_options and all(source.format == "trec" for source in sources):
        _report("note", plausibility.of_the_default(checked.judgment_counts, config.convention))
    returned = checked.result_counts
    for sentence in (
        plausibility.of_datasets(checked.judgment_counts, checked.datasets_without_results),
        plausibility.of_unjudged_runs(returned),
        plausibility.of_ties(returned, config.convention),
        plausibility.of_ranks(returned, config.convention),
        plausibility.of_large_scores(returned, sources[1], config.convention),
        plausibility.of_empty_runs(returned),
    ):
        _report("warning", sentence)


def warn_of_unjudged_runs(rows: Iterable[Mapping[str, Any]], config: EvaluationConfig) -> None:
    """Report which runs returned no judged documents; `rows` have their judged_rate."""
    _report("warning", plausibility.of_judged_rates(rows, config.cutoffs[-1]))


def warn_of_unknown_queries(of_slices: Iterable[Mapping[str, Any]]) -> None:
    """Report attributes for which no judged query of a dataset has a value; `of_slices` are its dataset scores."""
    values: dict[tuple[str, str], set[str]] = {}
    for row in of_slices:
        values.setdefault((row["dataset"], row["attribute"]), set()).add(row["value"])
    for (dataset, attribute), found in values.items():
        if found == {NONE}:
            sentence = f"no judged query of {dataset} has a value of {attribute}; check the query_id of the table"
            report_step("warning", f"query_attributes: {sentence}")


def _report(step: str, sentence: str | None) -> None:
    if sentence:
        report_step(step, sentence)

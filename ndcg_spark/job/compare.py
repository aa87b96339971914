"""Published nights compared with one of their runs, another date or a good night, in slices and with weights."""

import dataclasses
from collections.abc import Sequence

from ndcg_spark.comparison.compare import Comparer, Comparison, different_options, night_sources, read_attributes
from ndcg_spark.convention.measures import MEASURES, Cutoff
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.nights.read import read_dataset_scores
from ndcg_spark.nights.select import baseline_night, missing_datasets, select_nights
from ndcg_spark.steps import report_step
from ndcg_spark.text import GOOD


def compare_nights(
    output: str, comparer: Comparer, date: str | None, dataset: str | None, baseline_date: str | None
) -> Comparison:
    """Compare the runs of the nights of a date, by default the newest.

    `baseline_date` is a date, or GOOD. Without measures, the headline is compared; without attributes, in the slices
    that the nights keep.
    """
    if not comparer.baselines and baseline_date is None:
        raise ConfigurationError(
            f"arguments: there is no baseline; give --baseline RUN, or --baseline-date YYYY-MM-DD or {GOOD}"
        )
    both = {*(comparer.runs or ())}.intersection(comparer.baselines)
    if baseline_date is None and both:
        raise ConfigurationError(f"run: {min(both)!r} is the baseline itself; name another --run or --baseline")

    def compare() -> Comparison:
        nights = committed(output)
        tonight = select_nights(nights, output, date, dataset)
        pairs = [(night, baseline_night(nights, night, baseline_date)) for night in tonight if baseline_date]
        options, attributes = comparer.options, comparer.attributes or read_attributes(tonight)
        if not options.measures:
            options = dataclasses.replace(options, measures=_headline(tonight[0]))
        others = {source.dataset: source for source in night_sources([other for _, other in pairs], "baseline")}
        nightly = dataclasses.replace(comparer, options=options, attributes=attributes)
        comparison = nightly.compare(night_sources(tonight), others or None)
        absent = missing_datasets(nights, tonight[0].evaluated_on, dataset)
        doubted = [
            f"{other.evaluated_on} has another convention, {other.row['convention']}, and this night has "
            f"{night.row['convention']}: their scores cannot be compared"
            for night, other in pairs
            if different_options(night.record["options"], other.record["options"])
        ]
        runs = f"run {' and run '.join(comparer.baselines)}" if comparer.baselines else "the runs of the same names"
        before = {night.dataset: f" of {other.evaluated_on}" for night, other in pairs}
        for night in tonight:
            words = f"{night.dataset} of {night.evaluated_on} with {runs}{before.get(night.dataset, '')}"
            report_step("compared", words)
        warnings = [*([absent] if absent else []), *doubted, *comparison.warnings]
        return dataclasses.replace(comparison, warnings=warnings)

    comparison = compare()
    for sentence in comparison.warnings:
        report_step("note", sentence)
    return comparison


def _headline(night: Night) -> dict[str, Sequence[Cutoff]]:
    """The measure and the cutoff that people look at first."""
    cutoffs = [row["cutoff"] for rows in read_dataset_scores([night]) for row in rows]
    measure, cutoff = night.measure_set.headline(cutoffs)
    return {MEASURES[measure].column if measure in MEASURES else measure: [cutoff]}

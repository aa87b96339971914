"""Compares the scores of nights or tables, measure by measure."""

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.comparison.baselines import has_judgments_of, named_baseline
from ndcg_spark.comparison.differences import (
    ComparisonOptions,
    Sides,
    extremes,
    heaviest_query,
    rows_of_sides,
)
from ndcg_spark.comparison.human_grades import (
    HumanEstimate,
    HumanGrades,
    estimate,
    refuse_other_pair,
)
from ndcg_spark.comparison.judged_apart import about_judged
from ndcg_spark.comparison.matrix import (
    MOST_VALUES,
    Metric,
    Queries,
    matches,
    read_attributes,
    values_of,
)
from ndcg_spark.comparison.over_datasets import NOTHING, OverDatasets, compare_over_datasets
from ndcg_spark.comparison.run_numbers import rows_of_runs, run_numbers
from ndcg_spark.comparison.sources import BOTH, NoCopyError, ScoreSource, night_sources, read_sides
from ndcg_spark.contract.doubts import about_unmatched
from ndcg_spark.convention.measures import (
    CATALOG_COLUMNS,
    MEASURES,
    RUN_COLUMNS,
    SCORES,
    Cutoff,
    by_depth,
    measure_at,
)
from ndcg_spark.convention.parsing import ALL_CUTOFFS, parse_columns, parse_cutoffs
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.inputs.column_names import is_alias
from ndcg_spark.nights.catalog_kinds import other_catalog
from ndcg_spark.nights.log import Night, Nights, committed
from ndcg_spark.nights.reader import datasets_left_out, read_again, refuse_unverified, select_nights
from ndcg_spark.schemas import COMPARISONS, NEW, OLD
from ndcg_spark.steps import report_step
from ndcg_spark.tables.format import share
from ndcg_spark.text import unknown_name
from ndcg_spark.voices import OPTIONS, Either, Give, GiveBaseline, Notice


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A comparison's result: rows, the queries that changed most, and warnings."""

    #: Dictionaries with the columns of COMPARISONS, ordered by dataset, measure, cutoff, run and
    #: baseline; all queries come before the slices. A weighted row follows the unweighted one and
    #: has a `weight_effective_n`. If the judgments of two nights differ, a comparison has a row for
    #: each side: all rows of the side `old` come before those of the side `new`.
    rows: list[dict[str, Any]]
    queries: list[dict[str, Any]]
    warnings: list[Notice]
    #: How p values were adjusted, and the significance level.
    correction: str = "holm"
    alpha: float = 0.05
    #: The warnings about how many queries were left out because of their judgments.
    left_out: list[Notice] = dataclasses.field(default_factory=list)
    #: The comparison over the datasets, if there are several.
    over_datasets: OverDatasets = NOTHING
    #: What human grades say about a run and its baseline, if there are any.
    human: HumanEstimate | None = None

    @property
    def all_rows(self) -> list[dict[str, Any]]:
        """The rows, with an extra row for the human grades, if there are any."""
        rows = list(self.rows)
        if self.human is not None:
            rows.append(self.human.row())
        return rows


def compare_sources(
    own: Sequence[ScoreSource], others: Mapping[str, ScoreSource] | None, options: ComparisonOptions
) -> Comparison:
    """Compare every dataset with its baseline: a night in `others`, or runs of its own night."""
    options, too_many_values = _without_large_attributes(options, own)
    theirs = own if others is None else list(others.values())
    _refuse_unknown_runs("baseline", options.baselines, theirs)
    _refuse_unknown_runs("run", options.runs, [*own, *theirs])
    _refuse_absent_datasets(own, theirs)
    _refuse_unknown_measures(own, options.measures)
    comparison = Comparison([], [], [], correction=options.correction, alpha=options.alpha)
    tables = _UnmatchedTables(options)
    for source in sorted(own, key=lambda source: source.dataset):
        other = None if others is None else others[source.dataset]
        start = len(comparison.rows)
        for compared in _compared(source, other, options):
            _add(comparison, compared, options)
            if compared.sides:
                tables.match(source.dataset, compared.sides[0].own.queries)
        where = f"{source.dataset}: " if len(own) > 1 else ""
        doubts = about_judged(comparison.rows[start:], source, other, where)
        comparison.warnings.extend(doubts)
    comparison.warnings.extend(map(Notice, too_many_values))
    comparison.warnings.extend(map(Notice, _absent_runs(own, options)))
    if comparison.rows:
        comparison.warnings.extend(tables.warnings())
    datasets = sorted({source.dataset for source in own})
    over = compare_over_datasets(comparison.rows, datasets, options.correction, options.alpha)
    return dataclasses.replace(comparison, over_datasets=over)


def _without_large_attributes(
    options: ComparisonOptions, own: Sequence[ScoreSource]
) -> tuple[ComparisonOptions, list[str]]:
    """The options without attributes that have too many values, and a sentence for each of them.

    Such slices are small, and testing hundreds of them weakens every other test.
    """
    if options.attributes is None:
        return options, []
    most: dict[str, int] = {}
    for source in own:
        for attribute, values in values_of(options.attributes, source.dataset).items():
            most[attribute] = max(len(values), most.get(attribute, 0))
    large = [attribute for attribute, values in most.items() if values > MOST_VALUES]
    sentences = []
    for attribute in large:
        many = f"{attribute} has {most[attribute]:,} values, more than {MOST_VALUES}"
        doubt = "; is it a weight?" if is_alias("weight", attribute) else ""
        sentences.append(f"{many}, so its slices are left out{doubt}")
    if not large:
        return options, []
    is_small = pc.invert(pc.is_in(options.attributes["attribute"], pa.array(large)))
    kept = options.attributes.filter(is_small)
    return dataclasses.replace(options, attributes=kept if len(kept) else None), sentences


class _UnmatchedTables:
    """The tables of attributes and weights that match no query so far, by name."""

    def __init__(self, options: ComparisonOptions) -> None:
        tables = {"query_attributes": options.attributes, "query_weights": options.weights}
        self._unmatched = {name: table for name, table in tables.items() if table is not None}
        self._has_queries = False

    def match(self, dataset: str, queries: Queries) -> None:
        """Leave out the tables that have a row for one of these compared queries."""
        self._has_queries = True
        for name, table in list(self._unmatched.items()):
            if matches(table, dataset, queries):
                del self._unmatched[name]

    def warnings(self) -> list[Notice]:
        """A warning for each table that matched no query."""
        if not self._unmatched:
            return []
        if not self._has_queries:
            what = "measures of runs are single numbers, so slices and weights do not apply to them"
            return [Notice(what)]
        return [about_unmatched(name, table) for name, table in self._unmatched.items()]


def refuse_no_comparison_over_datasets(comparison: Comparison) -> None:
    """Raise ConfigurationError with the reason if there is no row over datasets."""
    rows, sentences = comparison.over_datasets
    if rows:
        return
    reason = "the scores cover only one dataset; compare at least two"
    if sentences:
        reason = f"{sentences[0]}; choose different runs, or evaluate them there"
    raise ConfigurationError(reason, option="over-datasets")


@dataclasses.dataclass(frozen=True)
class _Compared:
    """The compared scores of one dataset and metric."""

    #: The scores on one side, or on both sides of a change of judgments; empty for a measure of
    #: runs, or if nothing is compared.
    sides: Sequence[Sides]
    #: The rows for a measure of runs, which has no query scores.
    numbers: Sequence[dict[str, Any]] = ()
    #: Whether each query of a single side is left out, because both nights judge it differently.
    left_out: NDArray[np.bool_] | None = None
    #: Why these queries are not compared on two sides, or why nothing is compared.
    reason: str = ""


def _add(comparison: Comparison, compared: _Compared, options: ComparisonOptions) -> None:
    """Add the rows and warnings of one dataset and metric to a comparison."""
    if compared.sides:
        _add_sides(comparison, compared, options)
        return
    _add_rows(comparison, compared.numbers)
    if compared.reason:
        comparison.warnings.append(Notice(compared.reason))


def _add_sides(comparison: Comparison, compared: _Compared, options: ComparisonOptions) -> None:
    """Add the rows, the queries that changed most, and the warnings of compared query scores."""
    rows = rows_of_sides(compared.sides, options)
    _add_rows(comparison, rows)
    left_out = list(_other_judgments(compared))
    comparison.left_out.extend(left_out)
    about_weights = [*_without_weight(rows), *_few_effective(rows, compared.sides[0], options)]
    for notice in [*left_out, *map(Notice, about_weights)]:
        if notice not in comparison.warnings:
            comparison.warnings.append(notice)
    if not options.queries:
        return
    for sides in compared.sides:
        for run, baseline in sides.pairs:
            comparison.queries.extend(extremes(sides, run, baseline, options.queries))


def _add_rows(comparison: Comparison, rows: Iterable[Mapping[str, Any]]) -> None:
    for row in rows:
        comparison.rows.append({name: row[name] for name in COMPARISONS.names})


def _absent_runs(own: Sequence[ScoreSource], options: ComparisonOptions) -> Iterator[str]:
    """A sentence for each dataset that lacks a run which at least half of the datasets have."""
    datasets_of_run: Counter[str] = Counter()
    for source in own:
        datasets_of_run.update(source.runs)
    usual = [run for run, datasets in datasets_of_run.items() if 2 * datasets >= len(own)]
    usual = _chosen(usual, options)
    for source in own:
        absent = sorted(set(usual).difference(source.runs, source.silent))
        if absent:
            what = f"{len(absent)} run(s) in other datasets have no results here, e.g. {absent[0]}"
            yield f"{source.dataset}: {what}"


def _refuse_unknown_runs(option: str, runs: Sequence[str], sources: Sequence[ScoreSource]) -> None:
    """Raise ConfigurationError for a run that is in none of the sources."""
    known: set[str] = set()
    for source in sources:
        known.update(source.runs, source.silent)
    for run in runs:
        if run not in known:
            nights = [source.name for source in sources if isinstance(source.rows, Night)]
            of_night = f" of {nights[0]}" if nights else ""
            raise unknown_name(option, f"run{of_night}", run, known)


def _refuse_absent_datasets(own: Sequence[ScoreSource], others: Sequence[ScoreSource]) -> None:
    """Raise ConfigurationError if the baseline lacks a dataset."""
    absent = {source.dataset for source in own} - {source.dataset for source in others}
    if absent:
        what = f"it has no scores for the dataset {min(absent)}"
        raise ConfigurationError(f"baseline: {what}; choose a different baseline")


def _refuse_unknown_measures(
    own: Sequence[ScoreSource],
    asked: Mapping[str, Sequence[Cutoff] | None],
) -> None:
    """Raise ConfigurationError for a requested measure or cutoff that no source has."""
    metrics: set[Metric] = set()
    for source in own:
        metrics.update(source.metrics)
    measures = {measure for measure, _ in metrics}
    for measure, cutoffs in asked.items():
        for cutoff in cutoffs or ():
            if (measure, cutoff) not in metrics:
                raise _not_evaluated(measure_at(measure, cutoff), metrics)
        if measure not in measures:
            raise _not_evaluated(measure, metrics)


def _by_name(metric: Metric) -> tuple[Any, ...]:
    """A sort key for metrics: by measure, then by cutoff."""
    measure, cutoff = metric
    return measure, by_depth(cutoff)


def _not_evaluated(what: str, metrics: Iterable[Metric]) -> ConfigurationError:
    """The error for a measure, or a measure at a cutoff, that no source has."""
    known = []
    for measure, cutoff in sorted(metrics, key=_by_name):
        if measure in (*SCORES, *RUN_COLUMNS):
            known.append(measure_at(measure, cutoff))
    has = ", ".join(known)
    return ConfigurationError(f"measures: {what} was not evaluated; available: {has}")


def _compared(
    source: ScoreSource,
    other: ScoreSource | None,
    options: ComparisonOptions,
) -> Iterator[_Compared]:
    """The scores to compare for each metric: with another night, or between runs of the night."""
    queries = Queries()
    # One at a time, because the scores of a single measure may fill the memory.
    for metric in _metrics(source, options):
        if other is None:
            pairs = _pairs_within(source, options)
            yield _within(source, queries, metric, pairs)
        else:
            pairs = _pairs_between(source, other, options)
            yield _between(source, other, queries, metric, pairs)


def _within(
    source: ScoreSource, queries: Queries, metric: Metric, pairs: Sequence[tuple[str, str]]
) -> _Compared:
    """The scores of runs of one night, paired with each other."""
    measure, _ = metric
    if measure in RUN_COLUMNS:
        return _Compared([], _numbers(source, source, metric, pairs, source.key()))
    own = functools.partial(source.read, queries, metric)
    return _Compared([read_sides(own, None, metric, source.key(), pairs)])


def _numbers(
    source: ScoreSource,
    other: ScoreSource,
    metric: Metric,
    pairs: Sequence[tuple[str, str]],
    key: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """The rows for a measure of runs: each run's number against the baseline's."""
    own = run_numbers(source.mean_rows, metric)
    theirs = run_numbers(other.mean_rows, metric)
    return rows_of_runs(own, theirs, metric, key, pairs)


def _between(
    source: ScoreSource,
    other: ScoreSource,
    queries: Queries,
    metric: Metric,
    pairs: Sequence[tuple[str, str]],
) -> _Compared:
    """The scores of two nights: on both sides if their judgments differ, and copies are kept."""
    reason = _other_catalog(source, other, metric)
    if reason:
        return _Compared([], reason=reason)
    measure, _ = metric
    if measure in RUN_COLUMNS:
        key = source.key(other.evaluated_on, 1)
        return _Compared([], _numbers(source, other, metric, pairs, key))
    if _has_other_judgments(source, other) and measure not in CATALOG_COLUMNS:
        try:
            both = [_side(source, other, queries, metric, pairs, side) for side in BOTH]
            return _Compared([sides.without_rejudged() for sides in both])
        except NoCopyError as error:
            reason = error.worded(OPTIONS)
    own = functools.partial(source.read, queries, metric)
    theirs = functools.partial(other.read, queries, metric)
    key = source.key(other.evaluated_on, 1)
    sides = read_sides(own, theirs, metric, key, pairs)
    rejudged = sides.rejudged
    return _Compared([sides.without_rejudged()], left_out=rejudged, reason=reason)


def _other_catalog(source: ScoreSource, other: ScoreSource, metric: Metric) -> str:
    """Why a catalog measure cannot be compared between two nights; empty if it can."""
    if not isinstance(source.rows, Night) or not isinstance(other.rows, Night):
        return ""
    measure, _ = metric
    why = other_catalog(source.rows, other.rows, measure)
    if why is None:
        return ""
    return f"{source.dataset}: {why.sentence}; {measure} was not compared"


def _has_other_judgments(source: ScoreSource, other: ScoreSource) -> bool:
    """Whether two nights are known to have different judgments; tables are checked by query."""
    if not isinstance(source.rows, Night) or not isinstance(other.rows, Night):
        return False
    are_known = _fingerprint(source) is not None and _fingerprint(other) is not None
    return are_known and not has_judgments_of(other.rows, source.rows)


def _side(
    source: ScoreSource,
    other: ScoreSource,
    queries: Queries,
    metric: Metric,
    pairs: Sequence[tuple[str, str]],
    side: str,
) -> Sides:
    """Both nights under the judgments of one of them; NoCopyError if a copy is not kept."""
    # A night under its own judgments has the scores that it published, which need no fingerprint.
    own_judgments = _fingerprint(other) if side == OLD else None
    other_judgments = _fingerprint(source) if side == NEW else None
    own = functools.partial(source.read, queries, metric, judgments=own_judgments)
    theirs = functools.partial(other.read, queries, metric, judgments=other_judgments)
    key = source.key(other.evaluated_on, 1) | {"side": side}
    return read_sides(own, theirs, metric, key, pairs)


def _fingerprint(source: ScoreSource) -> str | None:
    """The fingerprint of a night's judgments, if it is known."""
    if not isinstance(source.rows, Night):
        return None
    return source.rows.row["judgments_fingerprint"] or None


def _metrics(source: ScoreSource, options: ComparisonOptions) -> list[Metric]:
    """The metrics to compare; by default, a measure is compared wherever it has values."""
    metrics: list[Metric] = []
    for measure, requested in options.measures.items():
        evaluated = [cutoff for name, cutoff in source.metrics if name == measure]
        cutoffs = sorted(evaluated, key=by_depth) if requested is None else requested
        metrics.extend((measure, cutoff) for cutoff in cutoffs)
    return metrics


def _asked_runs(source: ScoreSource, options: ComparisonOptions) -> list[str]:
    known = sorted({*source.runs, *source.silent})
    return _chosen(known, options)


def _chosen(runs: Sequence[str], options: ComparisonOptions) -> list[str]:
    """These runs, or only those that were requested."""
    if not options.runs:
        return list(runs)
    return [run for run in runs if run in options.runs]


def _pairs_within(source: ScoreSource, options: ComparisonOptions) -> list[tuple[str, str]]:
    """A night's runs paired with its own baselines or, if there are none, with each other."""
    runs = _asked_runs(source, options)
    if not options.baselines:
        return [(run, run) for run in runs]
    others = [run for run in runs if run not in options.baselines]
    if others:
        return list(itertools.product(others, options.baselines))
    # If every run is a baseline, each pair is compared once.
    known = [run for run in options.baselines if run in runs]
    return list(itertools.combinations(known, 2))


def _pairs_between(
    source: ScoreSource,
    other: ScoreSource,
    options: ComparisonOptions,
) -> list[tuple[str, str]]:
    """A night's runs paired with another night's baselines, or with runs of the same name."""
    runs = _asked_runs(source, options)
    if options.baselines:
        return list(itertools.product(runs, options.baselines))
    both = set(runs).union(_chosen(other.runs, options))
    return [(run, run) for run in sorted(both)]


def _without_weight(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A sentence on how many queries have no weight, if some have one."""
    all_queries = 0
    weighted_counts = []
    for row in rows:
        if row["weight_effective_n"] is None:
            all_queries = max(all_queries, row["queries"])
        # A missing run is reported separately.
        elif row["attribute"] is None and row["queries"]:
            weighted_counts.append(row["queries"])
    without = all_queries - min(weighted_counts, default=all_queries)
    if without > 0:
        share = f"{without:,} of {all_queries:,} queries"
        yield f"{share} have no weight; weighted rows leave them out"


def _few_effective(
    rows: Sequence[Mapping[str, Any]], sides: Sides, options: ComparisonOptions
) -> list[str]:
    """A sentence with the heaviest query, if the weights leave too few queries for a test."""
    flagged = []
    for row in rows:
        if row["attribute"] is None and "few_effective" in row["flags"]:
            flagged.append(row["weight_effective_n"])
    if not flagged or options.weights is None:
        return []
    query, part_of_all = heaviest_query(sides, options.weights)
    what = f"the weights leave {min(flagged):.1f} effective queries, but {options.min_queries}"
    heaviest = f"{query} has {share(part_of_all)} of the weight"
    return [f"{what} are needed for a test: {heaviest}"]


def _other_judgments(compared: _Compared) -> Iterator[Notice]:
    """A sentence on how many queries are left out because they are judged differently."""
    if compared.left_out is None or not compared.left_out.any():
        return
    (sides,) = compared.sides
    many = int(compared.left_out.sum())
    is_judged = (sides.own.hashes() != 0) | (sides.baseline.hashes() != 0)
    total = int(is_judged.sum())
    night = sides.key["baseline_night"]
    where = f"from those on {night}" if night else "from those in the baseline"
    queries = f"{sides.key['dataset']}: {many:,} of {total:,} queries have different judgments"
    reason = f"; {compared.reason}" if compared.reason else ""
    yield Notice(f"{queries} {where}, and were left out{reason}")


def parse_metrics(
    text: str,
    options: Mapping[str, str] | None = None,
) -> dict[str, list[Cutoff] | None]:
    """Parse score columns and their cutoffs from a text; None means every cutoff.

    For example, ``ndcg@10,dcg`` means ``{"ndcg": [10], "dcg": None}``.
    """
    texts_of_column: dict[str, list[str]] = {}
    for column, cutoff in parse_columns(text, SCORES, options):
        texts_of_column.setdefault(column, []).append(cutoff)
    cutoffs: dict[str, list[Cutoff] | None] = {}
    for column, texts in texts_of_column.items():
        cutoffs[column] = None if ALL_CUTOFFS in texts else parse_cutoffs(texts)
    return cutoffs


@read_again
def compare_nights(
    output: str,
    options: ComparisonOptions,
    date: str | None,
    dataset: str | None,
    baseline_date: str | None,
    human: HumanGrades | None = None,
) -> Comparison:
    """Compare the runs of all nights on a date, by default the newest date.

    `baseline_date` is a date, or GOOD. Nights with different judgments are compared on both sides
    if copies of their scores under each other's judgments are kept. Otherwise only the queries
    with the same judgments are compared, and ConfigurationError is raised if there are none. By
    default, the headline measure is compared, in the slices that the nights keep. With a sample of
    `human` grades, the result includes the corrected difference.
    """
    _refuse_no_baseline(options, baseline_date)
    nights = committed(output)
    tonight = select_nights(nights, output, date, dataset)
    others = None
    if baseline_date:
        others = _baseline_sources(nights, tonight, baseline_date, options)
    refuse_unverified(tonight)
    corrected = None
    if human is not None:
        corrected = estimate(nights, human, options.alpha)
        refuse_other_pair(corrected.pair, tonight, others, options)
    own = night_sources(tonight)
    if not options.measures:
        cutoffs = {cutoff for _, cutoff in own[0].metrics}
        measure, cutoff = tonight[0].measure_set.headline(cutoffs)
        options = dataclasses.replace(options, measures={MEASURES[measure].column: [cutoff]})
    if options.attributes is None:
        options = dataclasses.replace(options, attributes=read_attributes(tonight))
    comparison = compare_sources(own, others, options)
    _refuse_nothing_in_common(comparison)
    for night in tonight:
        report_step("compared", str(night))
    absent = datasets_left_out(nights, tonight[0].evaluated_on, dataset)
    warnings = [Notice(absent)] if absent else []
    warnings.extend(comparison.warnings)
    for sentence in warnings:
        report_step("note", sentence)
    return dataclasses.replace(comparison, warnings=warnings, human=corrected)


def _baseline_sources(
    nights: Nights, tonight: Sequence[Night], date: str, options: ComparisonOptions
) -> dict[str, ScoreSource]:
    """The scores of the nights that are named as baselines, by dataset."""
    baseline_nights = []
    for night in tonight:
        baseline = named_baseline(nights, night, date, options.baselines)
        baseline_nights.append(baseline.nights[-1])
    return {source.dataset: source for source in night_sources(baseline_nights)}


def _refuse_nothing_in_common(comparison: Comparison) -> None:
    """Raise ConfigurationError if all queries were left out because of their judgments."""
    if comparison.left_out and not any(row["queries"] for row in comparison.rows):
        raise ConfigurationError(comparison.left_out[0].sentence, option="baseline-date")


def _refuse_no_baseline(options: ComparisonOptions, baseline_date: str | None) -> None:
    """Raise ConfigurationError without a baseline, or if a run would be compared with itself."""
    if baseline_date is not None:
        return
    if not options.baselines:
        raise ConfigurationError("arguments: there is no baseline", GiveBaseline())
    both = {*options.runs}.intersection(options.baselines)
    if both:
        ways = (Give("run", words="name another"), Give("baseline"))
        raise ConfigurationError(f"run: {min(both)!r} is the baseline itself", Either(ways, " or "))

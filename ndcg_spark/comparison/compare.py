"""The scores of nights or of tables compared measure by measure, and published nights compared with others."""

import dataclasses
import datetime
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.advice import Either, Give, GiveBaseline, Notice
from ndcg_spark.comparison.differences import ComparisonOptions, Sides, comparison_rows, extremes
from ndcg_spark.comparison.matrix import Metric, Queries, ScoreMatrix, matches, read_attributes, read_matrix, unmatched
from ndcg_spark.convention.measures import MEASURES, SCORES, Cutoff, by_depth, format_cutoff
from ndcg_spark.convention.parsing import ALL_CUTOFFS, parse_columns, parse_cutoffs
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.nights.read import (
    Where,
    baseline_night,
    evaluated_metrics,
    missing_datasets,
    read_again,
    read_batches,
    read_dataset_scores,
    refuse_unverified,
    returned_nothing,
    select_nights,
)
from ndcg_spark.schemas import COMPARISONS
from ndcg_spark.steps import report_step
from ndcg_spark.text import unknown_name


@dataclasses.dataclass(frozen=True)
class ScoreSource:
    dataset: str
    evaluated_on: datetime.date | None
    evaluation_id: str | None
    runs: Sequence[str]
    #: The measures and cutoffs at which they have values.
    metrics: Collection[Metric]
    rows: Night | pa.Table
    where: str
    #: The runs that returned nothing for any judged query; they are not among `runs`.
    silent: Sequence[str] = ()

    def read(self, queries: Queries, metric: Metric, runs: Collection[str] | None = None) -> ScoreMatrix:
        columns = ["run", "query_id", "cutoff", "status", "returned", "judgments_hash"]
        columns += [] if metric[0] in columns else [metric[0]]
        chosen = [run for run in self.runs if runs is None or run in runs]
        if isinstance(self.rows, Night):
            where: Where = {"cutoff": [metric[1]], "run": chosen}
            batches: Iterable[pa.RecordBatch] = read_batches([self.rows], "query_scores", columns, where)
        else:
            batches = self.rows.select(columns).to_batches()
        return read_matrix(batches, queries, chosen, metric, self.where)

    def key(self, baseline_night: datetime.date | None = None, baseline_nights: int | None = None) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("dataset", "evaluated_on", "evaluation_id")}
        return {**own, "baseline_night": baseline_night, "baseline_nights": baseline_nights}


def night_sources(nights: Sequence[Night]) -> list[ScoreSource]:
    return list(map(score_source, nights, read_dataset_scores(nights)))


def score_source(night: Night, rows: Sequence[Mapping[str, Any]]) -> ScoreSource:
    """The scores of a night, whose DATASET_SCORES are these rows."""
    metrics = evaluated_metrics(night, rows)
    date = datetime.date.fromisoformat(night.evaluated_on)
    runs = {row["run"] for row in rows if not returned_nothing(row)}
    silent = sorted({row["run"] for row in rows} - runs)
    known = night.dataset, date, night.evaluation_id, sorted(runs), metrics
    return ScoreSource(*known, night, str(night), silent)


def different_options(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """The options that differ, in words; the name of a convention is none, as two presets may have the same options."""
    names = sorted({**ours, **theirs}) if ours != theirs else []
    values = {name: (theirs.get(name), ours.get(name)) for name in names}
    return [f"{name}={there} there and {here} here" for name, (there, here) in values.items() if there != here]


@dataclasses.dataclass(frozen=True)
class Comparison:
    #: Dictionaries with the columns of COMPARISONS: by dataset, measure, cutoff, run and baseline; all queries come
    #: before the slices. A weighted row follows the unweighted one and has a `weight_effective_n`.
    rows: list[dict[str, Any]]
    queries: list[dict[str, Any]]
    warnings: list[Notice]
    #: How p values were adjusted, and the significance level.
    correction: str = "holm"
    alpha: float = 0.05


def compare_sources(
    own: Sequence[ScoreSource], others: Mapping[str, ScoreSource] | None, options: ComparisonOptions
) -> Comparison:
    """The comparison of every dataset with its baseline: that of another night, in `others`, else runs of its own."""
    _refuse_unknown(own, own if others is None else list(others.values()), options)
    comparison = Comparison([], [], [], options.correction, options.alpha)
    tables = {"query_attributes": options.attributes, "query_weights": options.weights}
    strange = {name: table for name, table in tables.items() if table is not None}
    for source in sorted(own, key=lambda source: source.dataset):
        for sides in _sides(source, source if others is None else others[source.dataset], options):
            rows, ids = comparison_rows(sides, options), (source.dataset, sides.own.queries)
            strange = {name: table for name, table in strange.items() if not matches(table, *ids)}
            comparison.rows.extend({name: row[name] for name in COMPARISONS.names} for row in rows)
            said = [*_other_judgments(sides), *map(Notice, _without_weight(rows))]
            comparison.warnings.extend(sentence for sentence in said if sentence not in comparison.warnings)
            for pair in sides.pairs if options.queries else ():
                comparison.queries.extend(extremes(sides, *pair, options.queries))
    comparison.warnings.extend(map(Notice, _absent_runs(own, options)))
    if comparison.rows:
        comparison.warnings.extend(Notice(unmatched(name, table)) for name, table in strange.items())
    return comparison


def _absent_runs(own: Sequence[ScoreSource], options: ComparisonOptions) -> Iterator[str]:
    """A sentence for each dataset without results of runs that at least half of the datasets have."""
    datasets = Counter(run for source in own for run in source.runs)
    usual = [run for run, many in datasets.items() if 2 * many >= len(own)]
    if options.runs:
        usual = [run for run in usual if run in options.runs]
    for source in own:
        absent = sorted({*usual} - {*source.runs, *source.silent})
        if absent:
            what = f"{len(absent)} run(s) of other datasets have no results there, e.g. {absent[0]}"
            yield f"{source.dataset}: {what}"


def _refuse_unknown(own: Sequence[ScoreSource], others: Sequence[ScoreSource], options: ComparisonOptions) -> None:
    for option, sources, runs in (("baseline", others, options.baselines), ("run", [*own, *others], options.runs)):
        known = {run for source in sources for run in (*source.runs, *source.silent)}
        for run in runs:
            if run not in known:
                night = next((f" of {source.where}" for source in sources if isinstance(source.rows, Night)), "")
                raise unknown_name(option, f"run{night}", run, known)
    for dataset in sorted({source.dataset for source in own} - {source.dataset for source in others}):
        raise ConfigurationError(f"baseline: it has no scores of the dataset {dataset}; give another")
    metrics = sorted({metric for source in own for metric in source.metrics}, key=lambda p: (p[0], *by_depth(p[1])))
    for measure, cutoffs in options.measures.items():
        there = [cutoff for name, cutoff in metrics if name == measure]
        absent = [f"{measure}@{format_cutoff(cutoff)}" for cutoff in cutoffs or () if cutoff not in there]
        if absent or not there:
            has = ", ".join(f"{name}@{format_cutoff(cutoff)}" for name, cutoff in metrics if name in SCORES)
            raise ConfigurationError(f"measures: {(absent or [measure])[0]} was not evaluated; available: {has}")


def _sides(source: ScoreSource, other: ScoreSource, options: ComparisonOptions) -> Iterator[Sides]:
    """A night and `other`, which may be the same, at each metric: by default where a measure has values."""
    is_one = other is source
    known = [*source.runs, *source.silent]
    runs = {run for run in known if not options.runs or run in options.runs}
    if options.baselines:
        compared = runs - {*options.baselines} if is_one else runs
        pairs = [(run, baseline) for run in sorted(compared) for baseline in options.baselines]
        # Where every run is a baseline, each two of them are compared once.
        pairs = pairs or list(itertools.combinations((run for run in options.baselines if run in runs), 2))
    else:
        runs |= {run for run in other.runs if not options.runs or run in options.runs}
        pairs = [(run, run) for run in sorted(runs)]
    key, queries = source.key() if is_one else source.key(other.evaluated_on, 1), Queries()
    own_runs, other_runs = ({pair[side] for pair in pairs} for side in (0, 1))
    for measure, cutoffs in options.measures.items():
        there = sorted((cutoff for name, cutoff in source.metrics if name == measure), key=by_depth)
        # One after the other, as the scores of a single measure may fill the memory.
        for metric in [(measure, cutoff) for cutoff in (there if cutoffs is None else cutoffs)]:
            own = source.read(queries, metric, own_runs | other_runs if is_one else own_runs)
            theirs = own if is_one else other.read(queries, metric, other_runs)
            sides = Sides(own, theirs, metric, key, pairs)
            yield dataclasses.replace(sides, only=~sides.rejudged) if options.unchanged_queries else sides


def _without_weight(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A sentence that says how many queries have no weight, if some have one."""
    weighted = [row for row in rows if row["attribute"] is None and row["weight_effective_n"] is not None]
    # That a run is missing is another matter.
    counts = [row["queries"] for row in weighted if row["queries"]]
    of = max((row["queries"] for row in rows if row["weight_effective_n"] is None), default=0)
    if counts and min(counts) < of:
        yield f"{of - min(counts):,} of {of:,} queries have no weight; weighted rows leave them out"


def _other_judgments(sides: Sides) -> Iterator[Notice]:
    """A sentence that says how many queries are judged differently than in the baseline's night."""
    changed, total = int(sides.rejudged.sum()), int(((sides.own.hashes() != 0) | (sides.baseline.hashes() != 0)).sum())
    if changed:
        queries = f"{sides.key['dataset']}: {changed:,} of {total:,} queries have other judgments"
        sentence = f"{queries} than on {sides.key['baseline_night']}"
        if sides.only is None:
            leave_out = Give("unchanged_queries", then="leaves them out")
            yield Notice(f"{sentence}, which changes scores", leave_out)
        else:
            yield Notice(f"{sentence}, and were left out")


def parse_metrics(text: str, options: Mapping[str, str] | None = None) -> dict[str, list[Cutoff] | None]:
    """Columns of scores and their cutoffs from a text like ``ndcg@10,dcg,P@5 AP``; None stands for every cutoff."""
    cutoffs: dict[str, list[str]] = {}
    for column, cutoff in parse_columns(text, SCORES, options):
        cutoffs.setdefault(column, []).append(cutoff)
    return {name: None if ALL_CUTOFFS in texts else parse_cutoffs(texts) for name, texts in cutoffs.items()}


@read_again
def compare_nights(
    output: str, options: ComparisonOptions, date: str | None, dataset: str | None, baseline_date: str | None
) -> Comparison:
    """Compare the runs of the nights of a date, by default the newest.

    `baseline_date` is a date, or GOOD. Without measures, the headline is compared; without attributes, in the slices
    that the nights keep.
    """
    if not options.baselines and baseline_date is None:
        raise ConfigurationError("arguments: there is no baseline", GiveBaseline())
    both = {*options.runs}.intersection(options.baselines)
    if baseline_date is None and both:
        ways = Give("run", words="name another"), Give("baseline")
        raise ConfigurationError(f"run: {min(both)!r} is the baseline itself", Either(ways, " or "))
    nights = committed(output)
    tonight = select_nights(nights, output, date, dataset)
    pairs = [(night, baseline_night(nights, night, baseline_date)) for night in tonight if baseline_date]
    refuse_unverified(tonight)
    own = night_sources(tonight)
    others = {source.dataset: source for source in night_sources([other for _, other in pairs])} or None
    if not options.measures:
        measure, cutoff = tonight[0].measure_set.headline({cutoff for _, cutoff in own[0].metrics})
        options = dataclasses.replace(options, measures={MEASURES[measure].column: [cutoff]})
    if options.attributes is None:
        options = dataclasses.replace(options, attributes=read_attributes(tonight))
    for night, other in pairs:
        if different_options(night.record["options"], other.record["options"]):
            what = f"{other} has another convention than {night}; choose another"
            raise ConfigurationError(what, option="baseline-date")
        if night == other and not options.baselines:
            what = f"{night} would be compared with itself; choose an earlier one"
            raise ConfigurationError(what, option="baseline-date")
    comparison = compare_sources(own, others, options)
    absent = missing_datasets(nights, tonight[0].evaluated_on, dataset)
    for night in tonight:
        report_step("compared", str(night))
    warnings = [*([Notice(absent)] if absent else []), *comparison.warnings]
    for sentence in warnings:
        report_step("note", sentence)
    return dataclasses.replace(comparison, warnings=warnings)

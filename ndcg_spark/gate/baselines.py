"""What a night is compared with: the nights that a baseline stands for, what must arrive, and the rows of COMPARISONS.

Comparability is checked before any statistics, because numbers with different meanings have a difference too.
"""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.compare import ScoreSource, different_options, night_sources
from ndcg_spark.comparison.differences import ComparisonOptions, Sides, comparison_rows, extremes
from ndcg_spark.comparison.matrix import Metric, Queries, ScoreMatrix, mean_matrix
from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.errors import InputError, StorageError
from ndcg_spark.gate.config import GateConfig, baseline_run
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.read import baseline_nights, earlier
from ndcg_spark.text import GOOD

Row = Mapping[str, Any]
#: Why nothing can be compared: the code of a result, and a sentence.
Refusal = tuple[str, str]
#: What a row describes: run, measure, cutoff, attribute, value, and whether it is weighted.
Key = tuple[Any, ...]

#: How many matrices are kept for the next nights that are judged, and how many query scores their nights may have.
_MAX_MATRICES, _MAX_SCORES = 64, 1_000_000


class ScoreCache:
    """The scores of nights. Small ones are kept, because a rehearsal compares many nights with the same ones."""

    def __init__(self) -> None:
        self._queries: dict[str, Queries] = {}
        self.source = functools.cache(lambda night: night_sources([night])[0])
        self._kept_matrix = functools.lru_cache(_MAX_MATRICES)(self._read)

    def _read(self, night: Night, metric: Metric) -> ScoreMatrix:
        source: ScoreSource = self.source(night)
        return source.read(self._queries.setdefault(night.dataset, Queries()), metric)

    def matrix(self, night: Night, metric: Metric) -> ScoreMatrix:
        is_small = night.kept_rows("query_scores") <= _MAX_SCORES
        return self._kept_matrix(night, metric) if is_small else self._read(night, metric)


@dataclasses.dataclass
class Baseline:
    #: As the configuration names it; None stands for the night itself, of which `min_value` needs the means.
    name: str | None
    #: What it stands for, by date; none if it is a run of the same night.
    nights: Sequence[Night] = ()
    refused: Refusal | None = None
    refusals: dict[Metric, Refusal] = dataclasses.field(default_factory=dict)
    rows: dict[Key, Row] = dataclasses.field(default_factory=dict)
    #: How many queries are left out because their judgments have changed.
    note: str | None = None
    #: An older night that it might stand for too, if its log could be read.
    unread: str | None = None
    #: The run and the id of the queries that changed most, by the first check.
    changed: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    @property
    def run(self) -> str | None:
        return baseline_run(self.name or "")

    @property
    def newest(self) -> str | None:
        return self.nights[-1].evaluated_on if self.nights else None

    @property
    def in_words(self) -> str:
        if self.name != GOOD or not self.nights:
            return self.name or "this night"
        many = f"{len(self.nights)} good nights to" if len(self.nights) > 1 else "the good night"
        return f"{many} {self.newest}"


def row_key(row: Row) -> Key:
    names = ("run", "measure", "cutoff", "attribute", "value")
    return *(row[name] for name in names), row["weight_effective_n"] is not None


def resolve(gate: GateConfig, name: str, tonight: Night, nights: Nights) -> Baseline:
    """What a baseline stands for on a night.

    A date whose log cannot be read may have been good, or accepted so that no older night counts.
    So there is no baseline if it is newer than the oldest night used.
    """
    baseline, date = _resolve(gate, name, tonight, nights), tonight.evaluated_on
    if name in nights.damaged:
        sentence = f"its log cannot be read: {nights.damaged[name]}"
        return Baseline(name, (), ("no_baseline", sentence))
    if name != GOOD:
        return baseline
    oldest = baseline.nights[0].evaluated_on if baseline.nights else ""
    lost = nights.damaged_between(oldest, date)
    if lost:
        why = nights.damaged[lost[-1]]
        sentence = f"the good nights are not known, as a log cannot be read: {why}"
        return Baseline(name, baseline.nights, ("no_baseline", sentence))
    older = nights.damaged_between("", oldest)
    if older and len(baseline.nights) < gate.nights and not baseline.nights[0].row["accepted"]:
        baseline.unread = f"{older[-1]} is in no baseline: {nights.damaged[older[-1]]}"
    return baseline


def _resolve(gate: GateConfig, name: str, tonight: Night, nights: Iterable[Night]) -> Baseline:
    """What a baseline stands for on a night.

    Of the good nights of the same convention, it is those with tonight's judgments; with `unchanged_queries`, and where
    none has them, the hashes of the judgments tell which queries can be compared.
    """
    if baseline_run(name) is not None:
        return Baseline(name)
    date = tonight.evaluated_on
    candidates = [night for night in baseline_nights(nights, tonight, name) if night.evaluated_on != date]
    if not candidates:
        good = "earlier night that is good" if earlier(nights, tonight.dataset, date) else "earlier night at all"
        absent = good if name == GOOD else f"other night of {name}"
        named = [night for night in nights if (night.dataset, night.evaluated_on) == (tonight.dataset, name)]
        if any(night.unverified is not None for night in named):
            absent = f"verified night of {name}"
        return Baseline(name, (), ("no_baseline", f"there is no {absent}"))
    own = tonight.record["options"]
    different = {night: different_options(own, night.record["options"]) for night in candidates}
    same = [night for night in candidates if not different[night]]
    if not same:
        last = candidates[-1]
        sentence = f"{last.evaluated_on} has another convention, {', '.join(different[last])}"
        return Baseline(name, [last], ("other_convention", sentence))
    judgments = tonight.row["judgments_fingerprint"]
    known = [night for night in same if judgments and night.row["judgments_fingerprint"] == judgments]
    return Baseline(name, (same if gate.unchanged_queries else known or same[-1:])[-gate.nights :])


def add_rows(
    gate: GateConfig, tonight: Night, baseline: Baseline, scores: ScoreCache, options: ComparisonOptions
) -> None:
    all_checks = [check for _, check in gate.checks(tonight.dataset)]
    needs_means = baseline.name is None
    checks = [check for check in all_checks if (check.needs_means if needs_means else check.limits_drop)]
    for metric in () if baseline.refused else dict.fromkeys(check.metric for check in checks):
        try:
            source = scores.source(tonight)
            nights = [night for night in baseline.nights if metric in scores.source(night).metrics]
            if metric not in source.metrics or (baseline.nights and not nights):
                where = baseline.in_words if metric in source.metrics else "this night"
                sentence = f"{metric[0]}@{format_cutoff(metric[1])} was not evaluated in {where}"
                baseline.refusals[metric] = "other_cutoff", sentence
                continue
            own = scores.matrix(tonight, metric)
            theirs = mean_matrix((scores.matrix(night, metric) for night in nights), own) if nights else own
        except InputError as error:
            baseline.refusals[metric] = "not_measured", str(error)
            continue
        except StorageError as error:
            baseline.refusals[metric] = "no_baseline", str(error)
            continue
        same, queries = own.hashes() == theirs.hashes(), int(((own.hashes() != 0) | (theirs.hashes() != 0)).sum())
        if rejudged := int((~same).sum()):
            share = f"{rejudged:,} of {queries:,} queries have other judgments than on {baseline.newest}"
            if absent := int((~same & (theirs.hashes() == 0)).sum()):
                share += f", where {absent:,} had none"
            if rejudged == queries or not gate.unchanged_queries:
                baseline.refusals[metric] = "other_judgments", share
                continue
            baseline.note = f"{share}; all {rejudged:,} are left out"
        key = source.key(
            scores.source(baseline.nights[-1]).evaluated_on if nights else None, len(baseline.nights) or None
        )
        checked = {run for check in checks if check.metric == metric for run in check.runs or source.runs}
        pairs = [(run, baseline.run or run) for run in source.runs if run in checked and run != baseline.run]
        sides = Sides(own, theirs, metric, key, [pair for pair in pairs if pair[1] in theirs.runs], same)
        baseline.rows |= {row_key(row): row for row in comparison_rows(sides, options)}
        for pair in sides.pairs if options.queries and metric == all_checks[0].metric else ():
            most = sorted(extremes(sides, *pair, options.queries), key=lambda row: -abs(row["difference"]))
            names = [row["query_id"] for row in most[: options.queries]]
            baseline.changed += [(run, name) for name in names for run in dict.fromkeys(pair)]


def find_missing(
    gate: GateConfig, tonight: Night, nights: Nights, baselines: Iterable[Baseline], scores: ScoreCache
) -> Iterator[tuple[str, str, str | None]]:
    """Expected runs and datasets without results: the code, a sentence, and the run that it is about.

    Expected are the runs of the newest night of the baselines or, if it is newer, of the newest good night, and the
    datasets evaluated together with this one since. Without such a night, everything ever evaluated is expected. A run
    that returned nothing for any judged query has no results; it is expected unless it returned nothing then, too.
    """
    dataset, date = tonight.dataset, tonight.evaluated_on
    before = earlier(nights, dataset, date)
    known = [night for baseline in baselines for night in baseline.nights[-1:] if night.evaluated_on < date]
    newest = sorted([*known, *[night for night in before if night.is_good][-1:]])[-1:]
    since = newest[0].evaluated_on if newest else ""
    # Evaluations that no longer count are among them.
    published = [row for row in nights.rows if row["status"] == "published" and since <= row["evaluated_on"] < date]
    ids = {row["evaluation_id"] for row in published if row["dataset"] == dataset}
    together = sorted((row["evaluated_on"], row["dataset"]) for row in published if row["evaluation_id"] in ids)
    without = tonight.record.get("datasets_without_results", ())
    datasets = {name: day for day, name in together} | dict.fromkeys([dataset, *without], date)
    # A dataset that was judged tonight is not there because of an earlier evaluation of the date.
    arrived = {night.dataset for night in nights if night.evaluated_on == date}.difference(without)
    for name in sorted(datasets.keys() - arrived):
        last = f", and had some on {datasets[name]}" if datasets[name] < date else ""
        yield "missing_dataset", f"the dataset {name} has no results in this night{last}", None
    named = {name for check in gate.check for name in check.datasets or ()}
    for name in sorted(named - {night.dataset for night in nights}):
        yield "missing_dataset", f"the dataset {name} of a check has no night at all", None
    runs = dict.fromkeys((run for _, check in gate.checks(dataset) for run in check.runs or ()), "a check names it")
    runs |= {run: "it is a baseline" for run in map(baseline_run, gate.baseline) if run is not None}
    unknown = [nights.damaged[day] for day in sorted(nights.damaged) if since <= day < date]
    own = scores.source(tonight)
    # Who gave up a run accepted a night in which it returned nothing.
    empty = {*own.silent}
    try:
        for night in newest or before:
            runs |= dict.fromkeys(scores.source(night).runs, f"had some on {night.evaluated_on}")
        for night in newest:
            empty -= {*scores.source(night).silent}
    except StorageError as error:
        unknown.append(str(error))
    for run in sorted((runs.keys() | empty) - {*own.runs}):
        what = "returned nothing" if run in own.silent else "has no results"
        why = f", and {runs[run]}" if run in runs else ""
        yield "missing_run", f"{run} {what} in this night{why}", run
    for reason in unknown:
        yield "no_baseline", f"the expected runs are not known: {reason}", None

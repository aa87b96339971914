"""What a night is compared with: the nights that a baseline stands for, what must arrive, and the rows of COMPARISONS.

Comparability is checked before any statistics, because numbers with different meanings have a difference too.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.comparable import different_options, fingerprint
from ndcg_spark.comparison.compare import Source, of_nights
from ndcg_spark.comparison.differences import ComparisonOptions, Sides, extremes, rows_of
from ndcg_spark.comparison.matrix import Place, Queries, ScoreMatrix, mean_of
from ndcg_spark.comparison.slices import Attributes, Weights
from ndcg_spark.errors import InputError, StorageError
from ndcg_spark.gate.config import GateConfig, run_of
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.select import earlier
from ndcg_spark.text import GOOD

Row = Mapping[str, Any]
#: Why nothing can be compared: the code of a result, and a sentence.
Refusal = tuple[str, str]
#: What a row describes: run, measure, cutoff, attribute, value, and whether it is weighted.
Key = tuple[Any, ...]

#: So many matrices are kept for the next nights that are judged, unless they have more scores than this.
_KEPT, _MAX_KEPT_SCORES = 64, 100_000


@dataclasses.dataclass
class Scores:
    """The scores of nights, with what is known about their queries and asked of their comparisons.

    Small ones are kept, because a rehearsal compares many nights with the same ones.
    """

    #: Those of the night that is judged, unless it has kept its own.
    attributes: Attributes | None = None
    weights: Weights | None = None
    #: Whether rows by which nothing can fail go without the p value of random signs.
    only_losses: bool = False
    #: How many of the queries that changed most are named for each run.
    most_changed: int = 0
    _sources: dict[Night, Source] = dataclasses.field(default_factory=dict)
    _queries: dict[str, Queries] = dataclasses.field(default_factory=dict)
    _kept: dict[tuple[Night, Place], ScoreMatrix] = dataclasses.field(default_factory=dict)

    def find(self, nights: Sequence[Night]) -> None:
        """Read what there is of many nights, which is faster than one by one."""
        self._sources |= zip(nights, of_nights(nights), strict=True)

    def of(self, night: Night) -> Source:
        """The scores of a night, which are not read yet."""
        if night not in self._sources:
            self.find([night])
        return self._sources[night]

    def matrix(self, night: Night, place: Place) -> ScoreMatrix:
        """The scores of all runs of a night. Raises InputError and StorageError."""
        matrix = self._kept.get((night, place))
        if matrix is None:
            queries, source = self._queries.setdefault(night.dataset, Queries()), self.of(night)
            matrix = source.read(queries, [place], source.runs)[place]
            if matrix.values.size <= _MAX_KEPT_SCORES:
                self._kept[night, place] = matrix
            for oldest in list(self._kept)[:-_KEPT]:
                del self._kept[oldest]
        return matrix


@dataclasses.dataclass
class Baseline:
    """A baseline of the configuration on one night, with the rows of COMPARISONS, or why there are none."""

    #: As the configuration names it; None stands for the night itself, of which `min_value` needs the means.
    name: str | None
    #: What it stands for, by date; none if it is a run of the same night.
    nights: Sequence[Night] = ()
    refused: Refusal | None = None
    rows: dict[Key, Row] = dataclasses.field(default_factory=dict)
    #: By place that not both sides have, where it is missing.
    absent: dict[Place, str] = dataclasses.field(default_factory=dict)
    #: How many queries are left out because their judgments have changed.
    note: str | None = None
    #: The run and the id of the queries that changed most, by the first check.
    changed: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    @property
    def run(self) -> str | None:
        """The run of the same night, if it is one."""
        return run_of(self.name or "")

    @property
    def newest(self) -> str | None:
        """The date of its newest night."""
        return self.nights[-1].evaluated_on if self.nights else None

    @property
    def in_words(self) -> str:
        """The baseline with the nights that it stands for."""
        if self.name != GOOD or not self.nights:
            return self.name or "this night"
        many = f"{len(self.nights)} good nights to" if len(self.nights) > 1 else "the good night"
        return f"{many} {self.newest}"


def key_of(row: Row) -> Key:
    """What a row of COMPARISONS describes, as a key."""
    names = ("run", "measure", "cutoff", "attribute", "value")
    return *(row[name] for name in names), row["weight_effective_n"] is not None


def resolve(gate: GateConfig, name: str, tonight: Night, nights: Iterable[Night]) -> Baseline:
    """What a baseline stands for on a night.

    Of the good nights of the same convention, it is those with tonight's judgments; with `unchanged_queries`, and where
    none has them, the hashes of the judgments tell which queries can be compared.
    """
    dataset, date = tonight.dataset, tonight.evaluated_on
    if run_of(name) is not None:
        return Baseline(name)
    if name == GOOD:
        found = [night for night in earlier(nights, dataset, date) if night.is_good]
    else:
        found = [night for night in nights if (night.dataset, night.evaluated_on) == (dataset, name) and name != date]
    if not found:
        absent = "earlier night that is good" if name == GOOD else f"other night of {name}"
        return Baseline(name, (), ("no_baseline", f"there is no {absent}; --accept-baseline REASON accepts this one"))
    own = tonight.record["options"]
    same = [night for night in found if (other := night.record["options"]) == own or not different_options(own, other)]
    if not same:
        different = ", ".join(different_options(own, found[-1].record["options"]))
        sentence = f"{found[-1].evaluated_on} has another convention, {different}"
        return Baseline(name, found[-1:], ("other_convention", sentence))
    judgments = fingerprint(tonight.record, "judgments", dataset)
    known = [night for night in same if judgments and fingerprint(night.record, "judgments", dataset) == judgments]
    return Baseline(name, (same if gate.unchanged_queries else known or same[-1:])[-gate.nights :])


def compare(gate: GateConfig, tonight: Night, baseline: Baseline, scores: Scores) -> Baseline:
    """The baseline with the rows of its checks, or why there can be none."""
    source, every = scores.of(tonight), [check for _, check in gate.checks(tonight.dataset)]
    checks = [each for each in every if (each.min_value is not None if baseline.name is None else each.limits_drop)]
    for place in dict.fromkeys(check.place for check in checks):
        if baseline.refused:
            break
        try:
            nights = [night for night in baseline.nights if place in scores.of(night).places]
            if place not in source.places or (baseline.nights and not nights):
                baseline.absent[place] = baseline.in_words if place in source.places else "this night"
                continue
            own = scores.matrix(tonight, place)
            theirs = mean_of((scores.matrix(night, place) for night in nights), own) if nights else own
        except (InputError, StorageError) as error:
            baseline.refused = "not_measured" if isinstance(error, InputError) else "no_baseline", str(error)
            continue
        same = own.hashes() == theirs.hashes()
        if nights:
            there = own.there() | theirs.there()
            rejudged, queries = int((there & ~same).sum()), int(there.sum())
            share = f"{rejudged:,} of {queries:,} queries have other judgments than on {baseline.newest}"
            if rejudged and (rejudged == queries or not gate.unchanged_queries):
                baseline.refused = "other_judgments", share
                continue
            baseline.note = f"{share} and are left out" if rejudged else None
        key = {name: getattr(source, name) for name in ("dataset", "evaluated_on", "evaluation_id")}
        newest = scores.of(baseline.nights[-1]).evaluated_on if nights else None
        key |= {"baseline_night": newest, "baseline_nights": len(baseline.nights) or None}
        checked = {run for check in checks if check.place == place for run in check.runs or source.runs}
        pairs = [(run, baseline.run or run) for run in source.runs if run in checked and run != baseline.run]
        sides = Sides(own, theirs, place, key, [pair for pair in pairs if pair[1] in theirs.runs], same)
        # A check says itself how many queries it needs.
        options = ComparisonOptions(alpha=gate.alpha, min_queries=2, only_losses=scores.only_losses)
        rows = rows_of(sides, options, scores.attributes, scores.weights)
        baseline.rows |= {key_of(row): row for row in rows}
        most = scores.most_changed if place == every[0].place else 0
        for pair in sides.pairs if most else ():
            ranked = sorted(extremes(sides, *pair, most), key=lambda row: -abs(row["difference"]))
            baseline.changed += [(run, row["query_id"]) for row in ranked[:most] for run in dict.fromkeys(pair)]
    return baseline


def missing(
    gate: GateConfig, tonight: Night, nights: Nights, baselines: Iterable[Baseline], scores: Scores
) -> Iterator[tuple[str, str, str | None]]:
    """What must arrive and has not: the code, a sentence, and the run that it is about.

    Expected are the runs of the newest night of the baselines or, if it is newer, of the newest good night, and the
    datasets evaluated together with this one since. Without such a night it is all that there ever was.
    """
    dataset, date = tonight.dataset, tonight.evaluated_on
    before = earlier(nights, dataset, date)
    known = [night for each in baselines for night in each.nights[-1:] if night.evaluated_on < date]
    newest = sorted([*known, *[night for night in before if night.is_good][-1:]])[-1:]
    since = newest[0].evaluated_on if newest else ""
    # Evaluations that no longer count are among them.
    published = [row for row in nights.rows if row["status"] == "published" and since <= row["evaluated_on"] < date]
    own = {row["evaluation_id"] for row in published if row["dataset"] == dataset}
    together = sorted((row["evaluated_on"], row["dataset"]) for row in published if row["evaluation_id"] in own)
    without = tonight.record.get("datasets_without_results", ())
    datasets = {name: day for day, name in together} | dict.fromkeys([dataset, *without], date)
    # A night that is not published yet is the latest.
    now = tonight.record.get("committed_at") or "9"
    of_date = [night for night in nights if night.evaluated_on == date]
    arrived = {night.dataset for night in of_date if night.dataset not in without or night.row["committed_at"] > now}
    for name in sorted(datasets.keys() - arrived):
        last = f", and had some on {datasets[name]}" if datasets[name] < date else ""
        yield "missing_dataset", f"the dataset {name} has no results in this night{last}", None
    named = {name for check in gate.check for name in check.datasets or ()}
    for name in sorted(named - {night.dataset for night in nights}):
        yield "missing_dataset", f"the dataset {name} of a check has no night at all", None
    runs = dict.fromkeys((run for _, check in gate.checks(dataset) for run in check.runs or ()), "a check")
    runs |= {run: "a baseline" for run in map(run_of, gate.baseline) if run is not None}
    unknown = [nights.damaged[day] for day in sorted(nights.damaged) if since <= day < date]
    try:
        for night in newest or before:
            runs |= dict.fromkeys(scores.of(night).runs, night.evaluated_on)
    except StorageError as error:
        unknown.append(str(error))
    for run in sorted(runs.keys() - {*scores.of(tonight).runs}):
        yield "missing_run", f"the run {run} of {runs[run]} has no results in this night", run
    for reason in unknown:
        yield "no_baseline", f"what must arrive is not known: {reason}", None

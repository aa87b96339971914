"""Runs and datasets that must arrive on a night but are missing: a verdict's third step."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ndcg_spark.comparison.baselines import Baseline
from ndcg_spark.errors import StorageError
from ndcg_spark.gate.gate_inputs import GateInputs
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.reader import datasets_of_date, earlier
from ndcg_spark.text import baseline_run, day
from ndcg_spark.voices import OPTIONS


class Missing(NamedTuple):
    """A missing run or dataset: a code, a sentence, and the run that it is about."""

    code: str
    sentence: str
    run: str | None = None


def find_missing(inputs: GateInputs, baselines: Iterable[Baseline]) -> list[Missing]:
    """Find expected datasets and runs that have no results.

    The expected runs are those of the newest night of the baselines or, if it is newer, of the
    newest good night. The expected datasets are those evaluated together with this one since then.
    If there is no such night, everything ever evaluated is expected.
    """
    newest = _newest_baseline(inputs.tonight, inputs.nights, baselines)
    since = newest.evaluated_on if newest else ""
    return _missing_datasets(inputs, since) + _missing_runs(inputs, newest, since)


def gone_runs(inputs: GateInputs, missing: Iterable[Missing]) -> list[str]:
    """Sentences about runs that the night before had and this one lacks, if they are not missing.

    These runs were never good or accepted, so they are not expected.
    """
    tonight, scores = inputs.tonight, inputs.scores
    before = earlier(inputs.nights, tonight.dataset, tonight.evaluated_on)
    if not before or before[-1].unverified is not None:
        return []
    own = scores.source(tonight)
    reported = {one.run for one in missing}.union(own.runs, own.silent)
    try:
        runs = scores.runs_of(before[-1])
    except StorageError:
        # The verdict does not need this night.
        return []
    date = before[-1].evaluated_on
    return [gone_in_words(run, date) for run in sorted(set(runs) - reported)]


def gone_in_words(run: str, date: str) -> str:
    return f"{run} had scores on {day(date)} and has none tonight"


def _newest_baseline(tonight: Night, nights: Nights, baselines: Iterable[Baseline]) -> Night | None:
    """The newest night of the baselines or, if it is newer, the newest good night."""
    before = earlier(nights, tonight.dataset, tonight.evaluated_on)
    candidates = [night for night in before if night.is_good][-1:]
    for baseline in baselines:
        if baseline.nights and baseline.nights[-1].evaluated_on < tonight.evaluated_on:
            candidates.append(baseline.nights[-1])
    return max(candidates, default=None)


def _missing_datasets(inputs: GateInputs, since: str) -> list[Missing]:
    """The datasets that have not arrived: evaluated since a date, or named in a check."""
    tonight, nights = inputs.tonight, inputs.nights
    missing = []
    expected = _expected_datasets(tonight, nights, since)
    for name in sorted(expected.keys() - _arrived_datasets(tonight, nights)):
        is_earlier = expected[name] < tonight.evaluated_on
        had_some = f", but had some on {expected[name]}" if is_earlier else ""
        sentence = f"the dataset {name} has no results for this night{had_some}"
        missing.append(Missing("missing_dataset", sentence))
    named: set[str] = set()
    for check in inputs.gate.check:
        named.update(check.datasets or ())
    for name in sorted(named - {night.dataset for night in nights}):
        sentence = f"the dataset {name} is named in a check but has never been evaluated"
        missing.append(Missing("missing_dataset", sentence))
    return missing


def _without_results(tonight: Night) -> Sequence[str]:
    """The datasets that were judged tonight but have no results."""
    return list(tonight.record.get("datasets_without_results", ()))


def _expected_datasets(tonight: Night, nights: Nights, since: str) -> dict[str, str]:
    """The datasets that must arrive, each with the date on which it last arrived.

    These are the datasets that were evaluated together with this one, and those judged tonight.
    """
    together = set()
    published = []
    # The rows include superseded evaluations.
    for row in nights.rows:
        is_since = since <= row["evaluated_on"] < tonight.evaluated_on
        if row["status"] == "published" and is_since:
            published.append(row)
            if row["dataset"] == tonight.dataset:
                together.add(row["evaluation_id"])
    expected: dict[str, str] = {}
    for row in published:
        if row["evaluation_id"] in together:
            last = expected.get(row["dataset"], "")
            expected[row["dataset"]] = max(last, row["evaluated_on"])
    for name in [tonight.dataset, *_without_results(tonight)]:
        expected[name] = tonight.evaluated_on
    return expected


def _arrived_datasets(tonight: Night, nights: Nights) -> set[str]:
    """The datasets with a night on the date, unless they were judged tonight without results."""
    arrived = datasets_of_date(nights, tonight.evaluated_on)
    return arrived.difference(_without_results(tonight))


def _missing_runs(inputs: GateInputs, newest: Night | None, since: str) -> list[Missing]:
    """Expected runs without results, and why the expected runs are not known.

    A run that returned nothing for any judged query has no results. It is expected unless it also
    returned nothing in `newest`, the newest night of the baselines.
    """
    tonight, nights, scores = inputs.tonight, inputs.nights, inputs.scores
    own = scores.source(tonight)
    unknown = []
    for date in sorted(nights.damaged):
        if since <= date < tonight.evaluated_on:
            unknown.append(nights.damaged[date])
    expected = _ExpectedRuns(inputs)
    silent = set(own.silent)
    try:
        for night in _nights_to_expect(newest, tonight, nights):
            expected.add_night(night)
        if newest:
            # Accepting a night in which a run returned nothing discontinues the run.
            silent -= set(scores.source(newest).silent)
    except StorageError as error:
        unknown.append(error.worded(OPTIONS))
    missing = []
    for run in sorted((expected.runs.keys() | silent) - set(own.runs)):
        what = "returned nothing" if run in own.silent else "has no results"
        why = f", but {expected.runs[run]}" if run in expected.runs else ""
        missing.append(Missing("missing_run", f"{run} {what} for this night{why}", run))
    for reason in unknown:
        missing.append(Missing("no_baseline", f"the expected runs are not known: {reason}"))
    return missing


class _ExpectedRuns:
    """The runs that must arrive, each with the reason: `{"bm25": "had some on 2026-11-19"}`."""

    def __init__(self, inputs: GateInputs) -> None:
        self._scores = inputs.scores
        self._named = _named_runs(inputs)
        self.runs = dict(self._named)

    def add_night(self, night: Night) -> None:
        """Expect a night's runs. Nights are added by date, the oldest first."""
        there = self._scores.runs_of(night)
        for run in there:
            self.runs[run] = f"had some on {night.evaluated_on}"
        # Accepting a night for a run that it lacks discontinues the run, unless the gate names it.
        accepted_runs = night.record.get("accepted_runs") or ()
        for run in accepted_runs:
            if run not in there and run not in self._named:
                self.runs.pop(run, None)


def _nights_to_expect(newest: Night | None, tonight: Night, nights: Nights) -> list[Night]:
    """The nights whose runs are expected, ordered by date; all earlier nights if none is good."""
    if newest is None:
        return earlier(nights, tonight.dataset, tonight.evaluated_on)
    return [*_before_partial_acceptances(newest, tonight, nights), newest]


def _before_partial_acceptances(newest: Night, tonight: Night, nights: Nights) -> list[Night]:
    """The good nights before `newest`, back to one that is good for all runs, ordered by date.

    A night that was accepted for only some runs does not show which others must arrive. The list is
    empty if `newest` is itself good for all runs.
    """
    if not newest.record.get("accepted_runs"):
        return []
    newest_first = []
    for night in reversed(earlier(nights, tonight.dataset, newest.evaluated_on)):
        if not night.is_good:
            continue
        newest_first.append(night)
        if not night.record.get("accepted_runs"):
            break
    return newest_first[::-1]


def _named_runs(inputs: GateInputs) -> dict[str, str]:
    """The runs that the configuration names for a dataset, each with the place that names it."""
    named: dict[str, str] = {}
    for _, check in inputs.checks:
        for run in check.runs or ():
            named[run] = "a check names it"
    for name in inputs.gate.baseline:
        run_of_baseline = baseline_run(name)
        if run_of_baseline is not None:
            named[run_of_baseline] = "it is a baseline"
    return named

"""Runs and datasets that must arrive on a night but are missing: the third step of a verdict."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ndcg_spark.comparison.baselines import Baseline
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.errors import StorageError
from ndcg_spark.gate.settings import GateConfig
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.reader import datasets_of_date, earlier
from ndcg_spark.text import baseline_run
from ndcg_spark.voices import OPTIONS


class Missing(NamedTuple):
    """A missing run or dataset: a code, a sentence, and the run that it is about."""

    code: str
    sentence: str
    run: str | None = None


def find_missing(
    gate: GateConfig,
    tonight: Night,
    nights: Nights,
    against: Iterable[Baseline],
    scores: ScoreCache,
) -> list[Missing]:
    """Find expected datasets and runs that have no results.

    The expected runs are those of the newest night of the baselines or, if it is newer, of the
    newest good night. The expected datasets are those evaluated together with this one since then.
    If there is no such night, everything ever evaluated is expected.
    """
    newest = _newest_baseline(tonight, nights, against)
    since = newest.evaluated_on if newest else ""
    missing = _missing_datasets(gate, tonight, nights, since)
    return missing + _missing_runs(gate, tonight, nights, newest, scores)


def _newest_baseline(tonight: Night, nights: Nights, against: Iterable[Baseline]) -> Night | None:
    before = earlier(nights, tonight.dataset, tonight.evaluated_on)
    known = [night for night in before if night.is_good][-1:]
    for baseline in against:
        if baseline.nights and baseline.nights[-1].evaluated_on < tonight.evaluated_on:
            known.append(baseline.nights[-1])
    return max(known, default=None)


def _missing_datasets(
    gate: GateConfig,
    tonight: Night,
    nights: Nights,
    since: str,
) -> list[Missing]:
    date = tonight.evaluated_on
    missing = []
    expected = _expected_datasets(tonight, nights, since)
    for name in sorted(expected.keys() - _arrived_datasets(tonight, nights)):
        had_some = f", but had some on {expected[name]}" if expected[name] < date else ""
        sentence = f"the dataset {name} has no results for this night{had_some}"
        missing.append(Missing("missing_dataset", sentence))
    named: set[str] = set()
    for check in gate.check:
        named.update(check.datasets or ())
    for name in sorted(named - {night.dataset for night in nights}):
        sentence = f"the dataset {name} is named in a check but has never been evaluated"
        missing.append(Missing("missing_dataset", sentence))
    return missing


def _without_results(tonight: Night) -> Sequence[str]:
    """The datasets that were judged tonight but have no results."""
    return list(tonight.record.get("datasets_without_results", ()))


def _expected_datasets(tonight: Night, nights: Nights, since: str) -> dict[str, str]:
    """The datasets that must arrive, each with the date on which it last arrived."""
    date = tonight.evaluated_on
    # These include superseded evaluations.
    published = [row for row in nights.rows if row["status"] == "published"]
    published = [row for row in published if since <= row["evaluated_on"] < date]
    of_this = {row["evaluation_id"] for row in published if row["dataset"] == tonight.dataset}
    expected: dict[str, str] = {}
    for row in published:
        if row["evaluation_id"] in of_this:
            last = expected.get(row["dataset"], "")
            expected[row["dataset"]] = max(last, row["evaluated_on"])
    for name in [tonight.dataset, *_without_results(tonight)]:
        expected[name] = date
    return expected


def _arrived_datasets(tonight: Night, nights: Nights) -> set[str]:
    """The datasets with a night on the date, unless they were judged tonight without results."""
    arrived = datasets_of_date(nights, tonight.evaluated_on)
    return arrived.difference(_without_results(tonight))


def _missing_runs(
    gate: GateConfig, tonight: Night, nights: Nights, newest: Night | None, scores: ScoreCache
) -> list[Missing]:
    """Expected runs without results, and why the expected runs are not known.

    A run that returned nothing for any judged query has no results. It is expected unless it also
    returned nothing in the newest night of the baselines.
    """
    own = scores.source(tonight)
    since = newest.evaluated_on if newest else ""
    damaged = [day for day in sorted(nights.damaged) if since <= day < tonight.evaluated_on]
    unknown = [nights.damaged[day] for day in damaged]
    named = _named_runs(gate, tonight)
    expected = dict(named)
    # Accepting a night in which a run returned nothing discontinues the run.
    empty = set(own.silent)
    before = [newest] if newest else earlier(nights, tonight.dataset, tonight.evaluated_on)
    if newest:
        before = [*_before_partial_acceptances(newest, tonight, nights), newest]
    try:
        for night in before:
            accepted_runs = night.record.get("accepted_runs") or ()
            there = scores.source(night).runs
            for run in there:
                expected[run] = f"had some on {night.evaluated_on}"
            # Accepting a night for a run that it lacks discontinues the run, unless the gate names
            # it.
            given_up = set(accepted_runs).difference(there, named)
            for run in given_up:
                expected.pop(run, None)
        if newest:
            empty -= set(scores.source(newest).silent)
    except StorageError as error:
        unknown.append(error.worded(OPTIONS))
    missing = []
    for run in sorted((expected.keys() | empty) - set(own.runs)):
        what = "returned nothing" if run in own.silent else "has no results"
        why = f", but {expected[run]}" if run in expected else ""
        missing.append(Missing("missing_run", f"{run} {what} for this night{why}", run))
    return missing + [_not_known(reason) for reason in unknown]


def _before_partial_acceptances(newest: Night, tonight: Night, nights: Nights) -> list[Night]:
    """The good nights before `newest`, back to one that is good for all runs, ordered by date.

    A night that was accepted for only some runs does not tell which others must arrive.
    """
    before: list[Night] = []
    if not newest.record.get("accepted_runs"):
        return before
    for night in reversed(earlier(nights, tonight.dataset, newest.evaluated_on)):
        if night.is_good:
            before.insert(0, night)
            if not night.record.get("accepted_runs"):
                break
    return before


def _not_known(reason: str) -> Missing:
    return Missing("no_baseline", f"the expected runs are not known: {reason}")


def _named_runs(gate: GateConfig, tonight: Night) -> dict[str, str]:
    """The runs that the configuration names for a dataset, each with the place that names it."""
    named: dict[str, str] = {}
    for _, check in gate.checks(tonight.dataset):
        for run in check.runs or ():
            named[run] = "a check names it"
    for name in gate.baseline:
        beside = baseline_run(name)
        if beside is not None:
            named[beside] = "it is a baseline"
    return named

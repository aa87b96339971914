"""Resolves a baseline to the nights, or the run, that a night's runs are compared with.

Everything here follows from the log; `sources` reads the scores. The gate, the page, `compare`
and `expire` all use this module, so that a word such as `good` means the same nights everywhere.
"""

import dataclasses
import datetime
import enum
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.reader import earlier, refuse_unverified
from ndcg_spark.text import ACCEPTED, GOOD, baseline_run, day

#: The reasons of verdicts on nights whose mean changed by more than is allowed.
_LOSSES = ("dropped", "rose", "may_be_chance", "sides_disagree")

#: Returns a night's runs that returned anything.
RunsOf = Callable[[Night], Collection[str]]


class Kind(enum.Enum):
    """What a baseline stands for."""

    #: The newest good nights, with the mean of each query's scores.
    GOOD = "good"
    #: For each run, the newest night accepted for it, and a few good nights after it.
    ACCEPTED = "accepted"
    #: Nights that were named, or chosen by their dates.
    NIGHTS = "nights"
    #: Another run of the same night.
    RUN = "run"
    #: The night itself, if only its own means are checked.
    ITSELF = "itself"
    #: A first night's best run, or nothing if the night has only one run.
    FIRST = "first"
    #: Nothing, because no night is comparable.
    NOTHING = "nothing"


class NotComparable(NamedTuple):
    """Why nothing can be compared: the code of a gate result, and a sentence."""

    code: str
    sentence: str
    #: What it is about, such as a run: refusals with the same code and subject are reported once.
    about: tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True)
class Baseline:
    """What a night's runs are compared with; immutable, made by the functions below.

    `sources` decides how its scores are read, and on how many sides.
    """

    kind: Kind
    #: Its name in a gate's configuration; None if it does not come from a gate.
    name: str | None = None
    #: The run that all others are compared with; None compares each run with the same name.
    run: str | None = None
    #: The nights by date, the newest last; empty if it is a run of the same night.
    nights: tuple[Night, ...] = ()
    #: Tonight's runs that are compared with it; None means all of them.
    runs: tuple[str, ...] | None = None
    refused: NotComparable | None = None
    #: A sentence about an older night that it might include if its log could be read.
    unread: str | None = None

    @property
    def stands_for(self) -> tuple[Any, ...]:
        """A key that is equal for baselines with the same scores, whatever their names."""
        kind = self.kind if self.kind is Kind.ACCEPTED else None
        return kind, self.run, self.refused, self.nights

    @property
    def is_reference(self) -> bool:
        """Whether each run reaches its own nights by a chain across changes of judgments."""
        return self.kind is Kind.ACCEPTED or (self.kind is Kind.NIGHTS and self.name is not None)

    def is_for(self, run: str) -> bool:
        """Whether tonight's run of this name is compared with it."""
        return self.runs is None or run in self.runs

    def has_other_judgments(self, night: Night) -> bool:
        """Whether its nights have different judgments from a night, so that there are two sides."""
        return bool(self.nights) and not has_judgments_of(self.nights[-1], night)

    @property
    def newest(self) -> str | None:
        return self.nights[-1].evaluated_on if self.nights else None

    @property
    def is_first(self) -> bool:
        return self.kind is Kind.FIRST

    @property
    def in_words(self) -> str:
        """Its name in verdicts: `7 good nights to 2026-11-19`, `2026-11-01` or `run bm25`."""
        if self.kind is Kind.ITSELF:
            return "this night"
        if self.kind is Kind.ACCEPTED:
            return "the accepted night"
        if self.kind is Kind.GOOD and len(self.nights) == 1:
            return f"the good night {self.newest}"
        if self.kind is Kind.GOOD and self.nights:
            return f"{len(self.nights)} good nights to {self.newest}"
        return str(self.name)

    @property
    def label(self) -> str:
        """Its name on pages: `the mean of 7 good nights, 13 to 19 November`, or `bm25`."""
        if not self.nights:
            return self.run or ""
        nights = _nights_in_words(self.kind, self.nights)
        return nights if self.run is None else f"{self.run} in {nights}"


def _nights_in_words(kind: Kind, nights: Sequence[Night]) -> str:
    """A baseline's nights: `the good night of 19 November`, or `the mean of 7 nights, ...`."""
    adjective = {Kind.GOOD: "good ", Kind.ACCEPTED: "accepted "}.get(kind, "")
    if len(nights) == 1:
        return f"the {adjective}night of {day(nights[0].evaluated_on)}"
    dates = _dates_in_words(nights[0].evaluated_on, nights[-1].evaluated_on)
    if kind is Kind.ACCEPTED:
        return f"the accepted state of {dates}"
    return f"the mean of {len(nights)} {adjective}nights, {dates}"


def _dates_in_words(first: str, last: str) -> str:
    """A range of dates: `13 to 19 November`, or `28 October to 3 November`."""
    is_one_month = first[:7] == last[:7]
    since = str(datetime.date.fromisoformat(first).day) if is_one_month else day(first)
    return f"{since} to {day(last)}"


#: What `min_value` compares with.
ITSELF = Baseline(Kind.ITSELF)


def different_options(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """The options that differ, in words.

    A convention's name is not an option, because two presets may have the same options.
    """
    different = []
    for name in sorted({**ours, **theirs}):
        here = ours.get(name)
        there = theirs.get(name)
        if here != there:
            different.append(f"{name}={there} there and {here} here")
    return different


def has_options_of(other: Night, night: Night) -> bool:
    ours, theirs = night.record["options"], other.record["options"]
    # Nights almost always have the same options.
    return ours == theirs or not different_options(ours, theirs)


def has_judgments_of(other: Night, night: Night) -> bool:
    own = night.row["judgments_fingerprint"]
    return bool(own) and other.row["judgments_fingerprint"] == own


def is_accepted_for(night: Night, run: str) -> bool:
    """Whether somebody accepted the night as a baseline for a run that was measured on it."""
    if not night.row["accepted"] or night.unverified is not None or run in night.unmeasured:
        return False
    runs = night.record.get("accepted_runs")
    return not runs or run in runs


def is_good_for(night: Night, run: str | None) -> bool:
    """Whether a run (or any run) may be compared with a night: no check failed, or somebody
    accepted the night.

    A night on which the run was not measured is not good for it.
    """
    if not night.is_good or run in night.unmeasured:
        return False
    return run is None or not night.row["accepted"] or is_accepted_for(night, run)


def good_nights(nights: Iterable[Night], night: Night, run: str | None = None) -> list[Night]:
    """A run's good nights before a night, since the newest loss that was accepted for it.

    Only earlier nights are included, so that a night that is evaluated again is not compared with
    the one it replaces. When somebody accepts a loss, later nights are not compared with the
    scores before it.
    """
    before = earlier(nights, night.dataset, night.evaluated_on)
    good = [other for other in before if is_good_for(other, run)]
    first = 0
    for at, other in enumerate(good):
        is_accepted_loss = other.row["accepted"] and other.row["reason"] in _LOSSES
        if is_accepted_loss:
            first = at
    return good[first:]


def _nights_of_date(nights: Iterable[Night], night: Night, date: str) -> list[Night]:
    """The night on a date in `night`'s dataset, if there is one; it may be unverified."""
    own = (night.dataset, date)
    return [other for other in nights if (other.dataset, other.evaluated_on) == own]


# For the gate.


def resolve(
    name: str,
    tonight: Night,
    nights: Nights,
    *,
    most: int,
    runs: Sequence[str] = (),
    runs_of: RunsOf = lambda _: (),
) -> list[Baseline]:
    """What a baseline name in a gate's configuration means on a night that has these runs.

    `good` means the newest `most` good nights of each run, so runs may have different nights. These
    nights have tonight's options and judgments or, if there are no such nights, only tonight's
    options.
    """
    run = baseline_run(name)
    if run is not None:
        return [Baseline(Kind.RUN, name, run)]
    if name == ACCEPTED:
        return [Baseline(Kind.ACCEPTED, name)]
    if name != GOOD:
        return [_baseline_of_date(name, tonight, nights)]
    return _good_by_run(tonight, nights, most, runs, runs_of)


def _good_by_run(
    tonight: Night, nights: Nights, most: int, runs: Sequence[str], runs_of: RunsOf
) -> list[Baseline]:
    """The good nights: one baseline for all runs, or one for each group with the same nights."""
    of_any_run = _good(tonight, nights, good_nights(nights, tonight), most)
    runs_by_nights: dict[tuple[Night, ...], list[str]] = {}
    for run in runs:
        good = [night for night in good_nights(nights, tonight, run) if run in runs_of(night)]
        baseline = _good(tonight, nights, good, most)
        # A run without a good night is reported as new to the good nights of the other runs.
        chosen = of_any_run if not good or baseline.refused else baseline
        runs_by_nights.setdefault(chosen.nights, []).append(run)
    if of_any_run.refused or runs_by_nights.keys() <= {of_any_run.nights}:
        return [of_any_run]
    resolved = []
    for own_nights, own_runs in runs_by_nights.items():
        baseline = dataclasses.replace(of_any_run, nights=own_nights, runs=tuple(own_runs))
        resolved.append(baseline)
    return resolved


def _baseline_of_date(date: str, tonight: Night, nights: Nights) -> Baseline:
    """A date's night as a baseline."""
    if date in nights.damaged:
        sentence = f"its log cannot be read: {nights.damaged[date]}"
        refused = NotComparable("no_baseline", sentence, (date,))
        return Baseline(Kind.NIGHTS, date, refused=refused)
    there = [] if date == tonight.evaluated_on else _nights_of_date(nights, tonight, date)
    verified = [night for night in there if night.unverified is None]
    if not verified:
        what = "verified night" if there else "other night"
        refused = NotComparable("no_baseline", f"there is no {what} of {date}", (date,))
        return Baseline(Kind.NIGHTS, date, refused=refused)
    if not has_options_of(verified[-1], tonight):
        return _other_convention(Baseline(Kind.NIGHTS, date), verified[-1], tonight)
    return Baseline(Kind.NIGHTS, date, nights=tuple(verified))


def _good(tonight: Night, nights: Nights, good: Sequence[Night], most: int) -> Baseline:
    """The newest good nights that are comparable with tonight, at most `most` of them."""
    baseline = Baseline(Kind.GOOD, GOOD)
    same_options = [night for night in good if has_options_of(night, tonight)]
    same_judgments = [night for night in same_options if has_judgments_of(night, tonight)]
    if same_options:
        chosen = same_judgments or same_options
        baseline = dataclasses.replace(baseline, nights=tuple(chosen[-most:]))
    elif good:
        baseline = _other_convention(baseline, good[-1], tonight)
    else:
        has_earlier = bool(earlier(nights, tonight.dataset, tonight.evaluated_on))
        absent = "earlier night that is good" if has_earlier else "earlier night"
        refused = NotComparable("no_baseline", f"there is no {absent}", (GOOD,))
        baseline = dataclasses.replace(baseline, refused=refused)
    return _without_lost_nights(baseline, tonight, nights, most)


def _other_convention(baseline: Baseline, last: Night, tonight: Night) -> Baseline:
    """The baseline, refused because its last night has a different convention from tonight's."""
    different = different_options(tonight.record["options"], last.record["options"])
    sentence = f"{last.evaluated_on} has a different convention: {', '.join(different)}"
    refused = NotComparable("other_convention", sentence, (last.evaluated_on,))
    return dataclasses.replace(baseline, nights=(last,), refused=refused)


def _without_lost_nights(baseline: Baseline, tonight: Night, nights: Nights, most: int) -> Baseline:
    """The good nights, unless a date whose log cannot be read could change the selection.

    That night may have been good, or accepted, which would exclude all older nights. So there is
    no baseline if it is newer than the oldest night used.
    """
    oldest = baseline.nights[0].evaluated_on if baseline.nights else ""
    lost = nights.damaged_between(oldest, tonight.evaluated_on)
    if lost:
        why = nights.damaged[lost[-1]]
        sentence = f"the good nights are not known, because a log cannot be read: {why}"
        refused = NotComparable("no_baseline", sentence, (baseline.name,))
        return dataclasses.replace(baseline, refused=refused)
    older = nights.damaged_between("", oldest)
    # Nights before an accepted one would not be used anyway.
    if older and len(baseline.nights) < most and not baseline.nights[0].row["accepted"]:
        unread = f"{older[-1]} is not in the baseline: {nights.damaged[older[-1]]}"
        return dataclasses.replace(baseline, unread=unread)
    return baseline


# For commands in which somebody names a night.


def named_night(nights: Nights, night: Night, date: str) -> Night:
    """A date's night or, for GOOD, the newest good night before this one.

    StorageError if the night may be on a damaged date. ConfigurationError if there is no such
    night, or if its scores are not verified.
    """
    if date == GOOD:
        named = _newest_good_night(nights, night)
        what = f"good night before {night.evaluated_on}"
    else:
        named = _night_of_date(nights, night, date)
        what = f"night on {date}"
    if named is None:
        sentence = f"{night.dataset} has no {what}; ndcg-spark nights lists them"
        raise ConfigurationError(sentence, option="baseline-date")
    return named


def _newest_good_night(nights: Nights, night: Night) -> Night | None:
    good = good_nights(nights, night)
    newest = good[-1] if good else None
    # A newer good night may be on a damaged date.
    newest_date = "" if newest is None else newest.evaluated_on
    nights.refuse_damaged(nights.damaged_between(newest_date, night.evaluated_on))
    return newest


def _night_of_date(nights: Nights, night: Night, date: str) -> Night | None:
    nights.refuse_damaged([date])
    of_date = _nights_of_date(nights, night, date)
    refuse_unverified(of_date)
    return of_date[-1] if of_date else None


def named_baseline(nights: Nights, night: Night, date: str, runs: Sequence[str] = ()) -> Baseline:
    """A date's night, or GOOD, as a baseline; ConfigurationError if it is not comparable.

    With `runs`, all runs are compared with that run of the other night. Only in this case may it be
    the night's own date.
    """
    other = named_night(nights, night, date)
    if not has_options_of(other, night):
        sentence = f"{other} has a different convention from {night}; choose another night"
        raise ConfigurationError(sentence, option="baseline-date")
    if other == night and not runs:
        sentence = f"{night} would be compared with itself; choose another night"
        raise ConfigurationError(sentence, option="baseline-date")
    return Baseline(Kind.NIGHTS, run=runs[0] if len(runs) == 1 else None, nights=(other,))


# For pages, which show the gate's baseline or choose one.


def baseline_of_verdict(
    night: Night, nights: Iterable[Night], run: str | None = None
) -> Baseline | None:
    """The baseline that the gate compared a night's run with; None if it is not known.

    If there are several, the one that decided the verdict is preferred. Without a run, it is the
    baseline of the run that decided.
    """
    verdict = night.record["verdict"] or {}
    decided_by = _deciding_baseline(verdict)
    run = run or verdict.get("run")

    def is_other(entry: Mapping[str, Any]) -> bool:
        return bool(entry["name"] != decided_by)

    entries = sorted(verdict.get("baselines", ()), key=is_other)
    own = [entry for entry in entries if _is_entry_for(entry, run)]
    known = comparable_nights(night, nights)
    # A run that returned nothing has no nights of its own.
    for entry in own or entries:
        baseline = _baseline_of_entry(entry, known)
        if baseline is not None:
            return baseline
    return None


def _is_entry_for(entry: Mapping[str, Any], run: str | None) -> bool:
    """Whether a run is compared with an entry's nights."""
    runs = entry.get("runs")
    return run is None or runs is None or run in runs


def baselines_beside(night: Night, nights: Iterable[Night], shown: Baseline) -> list[Baseline]:
    """The gate's baselines for the runs that have other good nights."""
    if shown.runs is None:
        return []
    verdict = night.record["verdict"] or {}
    known = comparable_nights(night, nights)
    beside = []
    for entry in verdict.get("baselines", ()):
        # Only good nights differ between runs.
        if entry.get("runs") not in (None, list(shown.runs)):
            baseline = _baseline_of_entry(entry, known)
            if baseline is not None:
                beside.append(baseline)
    return beside


def _baseline_of_entry(entry: Mapping[str, Any], known: Iterable[Night]) -> Baseline | None:
    """The baseline of an entry of a verdict; None if one of its nights is not kept.

    A baseline whose nights were evaluated again has different numbers from those that the gate saw,
    so it has no name.
    """
    name = entry["name"]
    run = baseline_run(name)
    if run is not None:
        return Baseline(Kind.RUN, name, run)
    dates = entry["nights"]
    kept = tuple(night for night in known if night.evaluated_on in dates)
    if not kept or len(kept) < len(dates):
        return None
    runs = entry.get("runs")
    if runs is not None:
        runs = tuple(runs)
    if kept[-1].evaluation_id != entry["evaluation_id"]:
        return Baseline(Kind.NIGHTS, nights=kept, runs=runs)
    kind = Kind.GOOD if name == GOOD else Kind.NIGHTS
    return Baseline(kind, name, nights=kept, runs=runs)


def _deciding_baseline(verdict: Mapping[str, Any]) -> str | None:
    """The baseline of the first result that decided a verdict; None for a pass."""
    if verdict.get("verdict") == "pass":
        return None
    for result in verdict.get("results", ()):
        if result["result"] == verdict["verdict"]:
            baseline: str | None = result["baseline"]
            return baseline
    return None


def comparable_nights(night: Night, nights: Iterable[Night]) -> list[Night]:
    """The verified nights with a night's dataset and options, including the night itself."""
    own = [other for other in nights if other.dataset == night.dataset]
    verified = [other for other in own if other.unverified is None]
    return [other for other in verified if has_options_of(other, night)]


def newest_comparable(night: Night, nights: Iterable[Night], runs: Sequence[str]) -> Baseline:
    """The newest comparable night with the same judgments; on a first night, the best of `runs`."""
    before = earlier(nights, night.dataset, night.evaluated_on)
    known = comparable_nights(night, before)
    same = [other for other in known if has_judgments_of(other, night)]
    if same:
        return Baseline(Kind.NIGHTS, nights=(same[-1],))
    if before:
        return Baseline(Kind.NOTHING)
    return Baseline(Kind.FIRST, run=runs[0] if len(runs) > 1 else None)

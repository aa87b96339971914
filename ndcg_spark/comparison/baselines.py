"""What the runs of a night are compared with: the nights, or the run, that a baseline stands for.

Everything here follows from the log alone; `sources` reads the scores. The gate, the page,
`compare` and `expire` all ask here, so that a word such as `good` means the same nights to each of
them.
"""

import dataclasses
import datetime
import enum
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.reader import earlier, refuse_unverified
from ndcg_spark.text import GOOD, baseline_run, day

#: Why a night has no pass although all was measured: its mean fell by more than is allowed.
_LOSSES = ("dropped", "may_be_chance")


class Kind(enum.Enum):
    """What a baseline stands for."""

    #: The newest good nights, and of every query the mean of its scores there.
    GOOD = "good"
    #: Nights that were named, or chosen by their dates.
    NIGHTS = "nights"
    #: Another run of the same night.
    RUN = "run"
    #: The night itself, where only its own means are judged.
    ITSELF = "itself"
    #: The best run of a first night, or nothing if the night has one run only.
    FIRST = "first"
    #: Nothing: no night is comparable.
    NOTHING = "nothing"


class NotComparable(NamedTuple):
    """Why nothing can be compared: the code of a result of the gate, and a sentence."""

    code: str
    sentence: str
    #: What it is about, such as a run: two refusals with this and the code in common are one.
    about: tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True)
class Baseline:
    """What the runs of a night are compared with; made by the functions below, never changed.

    A further kind, such as a night that somebody accepted, is a further `Kind` and a function that
    makes it; how its scores are read, and on how many sides, is for `sources` to say.
    """

    kind: Kind
    #: As the configuration of a gate names it; None if it comes from no gate.
    name: str | None = None
    #: The run that all others are compared with; None: each run with the one of its name.
    run: str | None = None
    #: By date, the newest last; none if it is a run of the same night.
    nights: tuple[Night, ...] = ()
    refused: NotComparable | None = None
    #: An older night that it might stand for too, if its log could be read: a sentence.
    unread: str | None = None

    @property
    def stands_for(self) -> tuple[Any, ...]:
        """Equal for two baselines that stand for the same scores, whatever their names are."""
        return self.run, self.refused, self.nights

    @property
    def newest(self) -> str | None:
        return self.nights[-1].evaluated_on if self.nights else None

    @property
    def is_first(self) -> bool:
        return self.kind is Kind.FIRST

    @property
    def in_words(self) -> str:
        """As verdicts name it: `7 good nights to 2026-11-19`, `2026-11-01` or `run bm25`."""
        if self.kind is Kind.ITSELF:
            return "this night"
        if self.kind is not Kind.GOOD or not self.nights:
            return str(self.name)
        if len(self.nights) == 1:
            return f"the good night {self.newest}"
        return f"{len(self.nights)} good nights to {self.newest}"

    @property
    def label(self) -> str:
        """As pages name it: `the mean of 7 good nights, 13 to 19 November`, or `bm25`."""
        if not self.nights:
            return self.run or ""
        first = self.nights[0].evaluated_on
        last = self.nights[-1].evaluated_on
        good = "good " if self.kind is Kind.GOOD else ""
        if len(self.nights) == 1:
            nights = f"the {good}night of {day(last)}"
        else:
            is_one_month = first[:7] == last[:7]
            since = str(datetime.date.fromisoformat(first).day) if is_one_month else day(first)
            nights = f"the mean of {len(self.nights)} {good}nights, {since} to {day(last)}"
        return nights if self.run is None else f"{self.run} in {nights}"


#: What `min_value` compares with.
ITSELF = Baseline(Kind.ITSELF)


def different_options(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """The options that differ, in words.

    The name of a convention is no option, as two presets may have the same options.
    """
    different = []
    for name in sorted({**ours, **theirs}):
        here = ours.get(name)
        there = theirs.get(name)
        if here != there:
            different.append(f"{name}={there} there and {here} here")
    return different


def has_options_of(other: Night, night: Night) -> bool:
    return not different_options(night.record["options"], other.record["options"])


def has_judgments_of(other: Night, night: Night) -> bool:
    own = night.row["judgments_fingerprint"]
    return bool(own) and other.row["judgments_fingerprint"] == own


def good_nights(nights: Iterable[Night], night: Night) -> list[Night]:
    """The good nights before a night, since the newest loss that somebody accepted.

    Only earlier ones, so that a night that is evaluated again is not compared with what it
    replaces. Who accepts a loss does not want later nights to be compared with the scores before
    it.
    """
    good = [other for other in earlier(nights, night.dataset, night.evaluated_on) if other.is_good]
    since = 0
    for at, other in enumerate(good):
        if other.row["accepted"] and other.row["reason"] in _LOSSES:
            since = at
    return good[since:]


def _nights_of_date(nights: Iterable[Night], night: Night, date: str) -> list[Night]:
    """The night of a date, if the dataset has one; its scores may not be verified."""
    own = (night.dataset, date)
    return [other for other in nights if (other.dataset, other.evaluated_on) == own]


# For the gate.


def resolve(
    name: str,
    tonight: Night,
    nights: Nights,
    *,
    most: int,
    any_judgments: bool = False,
) -> Baseline:
    """What a name in the configuration of a gate stands for on a night.

    Of the good nights of the same convention it is the newest `most` of those with tonight's
    judgments. With `any_judgments`, and where none has them, the hashes of the judgments tell which
    queries can be compared.
    """
    run = baseline_run(name)
    if run is not None:
        return Baseline(Kind.RUN, name, run)
    kind = Kind.GOOD if name == GOOD else Kind.NIGHTS
    if name in nights.damaged:
        sentence = f"its log cannot be read: {nights.damaged[name]}"
        return Baseline(kind, name, refused=NotComparable("no_baseline", sentence, (name,)))
    candidates = _candidates(name, tonight, nights)
    if not candidates:
        sentence = f"there is no {_what_is_absent(name, tonight, nights)}"
        baseline = Baseline(kind, name, refused=NotComparable("no_baseline", sentence, (name,)))
    else:
        baseline = _of_tonights_kind(Baseline(kind, name), candidates, tonight, most, any_judgments)
    return _without_lost_nights(baseline, tonight, nights, most) if kind is Kind.GOOD else baseline


def _candidates(name: str, tonight: Night, nights: Nights) -> list[Night]:
    if name == GOOD:
        return good_nights(nights, tonight)
    if name == tonight.evaluated_on:
        return []
    return [night for night in _nights_of_date(nights, tonight, name) if night.unverified is None]


def _what_is_absent(name: str, tonight: Night, nights: Nights) -> str:
    """What there is no night of."""
    if name == GOOD:
        has_earlier = bool(earlier(nights, tonight.dataset, tonight.evaluated_on))
        return "earlier night that is good" if has_earlier else "earlier night at all"
    if any(night.unverified is not None for night in _nights_of_date(nights, tonight, name)):
        return f"verified night of {name}"
    return f"other night of {name}"


def _of_tonights_kind(
    baseline: Baseline, candidates: Sequence[Night], tonight: Night, most: int, any_judgments: bool
) -> Baseline:
    """The baseline with those candidates that are comparable with tonight."""
    same = [night for night in candidates if has_options_of(night, tonight)]
    if not same:
        last = candidates[-1]
        different = different_options(tonight.record["options"], last.record["options"])
        sentence = f"{last.evaluated_on} has another convention, {', '.join(different)}"
        refused = NotComparable("other_convention", sentence, (last.evaluated_on,))
        return dataclasses.replace(baseline, nights=(last,), refused=refused)
    chosen = [night for night in same if has_judgments_of(night, tonight)]
    if any_judgments:
        chosen = same
    elif not chosen:
        chosen = same[-1:]
    return dataclasses.replace(baseline, nights=tuple(chosen[-most:]))


def _without_lost_nights(baseline: Baseline, tonight: Night, nights: Nights, most: int) -> Baseline:
    """The good nights, unless a date whose log cannot be read would change which they are.

    It may have been good, or accepted so that no older night counts. So there is no baseline if it
    is newer than the oldest night used.
    """
    oldest = baseline.nights[0].evaluated_on if baseline.nights else ""
    lost = nights.damaged_between(oldest, tonight.evaluated_on)
    if lost:
        why = nights.damaged[lost[-1]]
        sentence = f"the good nights are not known, as a log cannot be read: {why}"
        refused = NotComparable("no_baseline", sentence, (baseline.name,))
        return dataclasses.replace(baseline, refused=refused)
    older = nights.damaged_between("", oldest)
    if older and len(baseline.nights) < most and not baseline.nights[0].row["accepted"]:
        unread = f"{older[-1]} is in no baseline: {nights.damaged[older[-1]]}"
        return dataclasses.replace(baseline, unread=unread)
    return baseline


# For commands, where somebody names a night.


def named_night(nights: Nights, night: Night, date: str) -> Night:
    """The night of a date or, of GOOD, the newest good night before this one.

    StorageError if a damaged date may be it; ConfigurationError if there is none, or if its scores
    are not verified.
    """
    if date == GOOD:
        chosen = good_nights(nights, night)
        newest = chosen[-1].evaluated_on if chosen else ""
        nights.refuse_damaged(nights.damaged_between(newest, night.evaluated_on))
        absent = f"good night before {night.evaluated_on}"
    else:
        nights.refuse_damaged([date])
        chosen = _nights_of_date(nights, night, date)
        refuse_unverified(chosen)
        absent = f"night of {date}"
    if not chosen:
        advice = "ndcg-spark nights lists them"
        raise ConfigurationError(f"{night.dataset} has no {absent}; {advice}", option="baseline-date")
    return chosen[-1]


def named_baseline(nights: Nights, night: Night, date: str, runs: Sequence[str] = ()) -> Baseline:
    """The night of a date or of GOOD as a baseline; ConfigurationError if it is not comparable.

    With one of `runs`, all runs are compared with that run of the other night; the night itself can
    be named only then.
    """
    other = named_night(nights, night, date)
    if not has_options_of(other, night):
        sentence = f"{other} has another convention than {night}; choose another night"
        raise ConfigurationError(sentence, option="baseline-date")
    if other == night and not runs:
        sentence = f"{night} would be compared with itself; choose another night"
        raise ConfigurationError(sentence, option="baseline-date")
    return Baseline(Kind.NIGHTS, run=runs[0] if len(runs) == 1 else None, nights=(other,))


# For pages, which show what the gate compared with, or choose.


def baseline_of_verdict(night: Night, nights: Iterable[Night]) -> Baseline | None:
    """What the gate compared a night with, first what its verdict is about; None if not known.

    One that was evaluated again has other numbers than those that the gate saw, so it has no name.
    """
    verdict = night.record["verdict"] or {}
    decided = _decided(verdict)
    entries = list(verdict.get("baselines", ()))
    entries.sort(key=lambda entry: entry["name"] not in decided[:1])
    known = comparable_nights(night, nights)
    for entry in entries:
        run = baseline_run(entry["name"])
        if run is not None:
            return Baseline(Kind.RUN, entry["name"], run)
        kept = [other for other in known if other.evaluated_on in entry["nights"]]
        if kept and len(kept) == len(entry["nights"]):
            if kept[-1].evaluation_id != entry["evaluation_id"]:
                return Baseline(Kind.NIGHTS, nights=tuple(kept))
            kind = Kind.GOOD if entry["name"] == GOOD else Kind.NIGHTS
            return Baseline(kind, entry["name"], nights=tuple(kept))
    return None


def _decided(verdict: Mapping[str, Any]) -> list[str]:
    """The baselines of the results that decided a verdict other than a pass."""
    results = verdict.get("results", ())
    if verdict.get("verdict") == "pass":
        return []
    return [result["baseline"] for result in results if result["result"] == verdict["verdict"]]


def comparable_nights(night: Night, nights: Iterable[Night]) -> list[Night]:
    """The verified nights of the dataset with the options of a night, itself too."""
    own = [other for other in nights if other.dataset == night.dataset]
    verified = [other for other in own if other.unverified is None]
    return [other for other in verified if has_options_of(other, night)]


def newest_comparable(night: Night, nights: Iterable[Night], runs: Sequence[str]) -> Baseline:
    """The newest comparable night of the same judgments; on a first night, the best of `runs`."""
    before = earlier(nights, night.dataset, night.evaluated_on)
    known = comparable_nights(night, before)
    same = [other for other in known if has_judgments_of(other, night)]
    if same:
        return Baseline(Kind.NIGHTS, nights=(same[-1],))
    if before:
        return Baseline(Kind.NOTHING)
    return Baseline(Kind.FIRST, run=runs[0] if len(runs) > 1 else None)


# For `expire`, which must not remove what the next night is compared with.


def needed_dates(nights: Sequence[Night], old: set[str]) -> set[str]:
    """The dates that gates compare with: those of nights that are not `old`, or stay for others.

    The newest night of a dataset tells what the next one is compared with, however old it is.
    """
    by_dataset: dict[str, list[Night]] = {}
    for night in nights:
        by_dataset.setdefault(night.dataset, []).append(night)
    needed: set[str] = set()
    while True:
        more = set(needed)
        for own in by_dataset.values():
            staying = [night for night in own[:-1] if night.evaluated_on not in old - needed]
            staying.append(own[-1])
            more |= _dates_of_gates(own, staying)
        if more == needed:
            return needed
        needed = more


def _dates_of_gates(nights: Sequence[Night], staying: Sequence[Night]) -> set[str]:
    """What the gates of the nights that stay compare with.

    As many of the newest good nights as any of them takes, and the dates that they name. Which runs
    are expected follows from the newest good night, whatever the baseline is.
    """
    most = 1
    dates: set[str] = set()
    for night in staying:
        names = night.gate.get("baseline", ())
        dates.update(names)
        if GOOD in names:
            most = max(most, night.gate.get("nights", 1))
    good = [night.evaluated_on for night in nights if night.is_good]
    return dates.union(good[-most:])


def failed_since_good(nights: Sequence[Night]) -> Night | None:
    """The newest night that failed, after the newest that is good."""
    after = itertools.takewhile(lambda night: not night.is_good, reversed(nights))
    return next((night for night in after if night.row["verdict"] == "fail"), None)

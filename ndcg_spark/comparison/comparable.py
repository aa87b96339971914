"""Which nights can be compared: the same options and judgments; and which of them are a baseline."""

import dataclasses
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ndcg_spark.comparison.matrix import ScoreMatrix
from ndcg_spark.config_values import LAST_GOOD, RECENT_GOOD
from ndcg_spark.convention.convention import Convention
from ndcg_spark.nights.log import Night, last_good

#: A night's record.
Record = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class ChangedJudgments:
    """The number of queries judged in either of two nights, and the number of those whose judgments differ."""

    queries: int = 0
    changed: int = 0
    example: str | None = None


SAME_JUDGMENTS = ChangedJudgments()


def fingerprint(record: Record, table: str, dataset: str) -> str | None:
    """The fingerprint of a dataset's `judgments` or `results`; None if its record has none."""
    own = record.get("inputs", {}).get(table, {})
    found: str | None = own.get("fingerprints", {}).get(dataset, own.get("fingerprint"))
    return found


def convention_key(record: Record) -> str:
    """What distinguishes conventions: their options, not their names."""
    return json.dumps(record.get("options"), sort_keys=True)


def different_options(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """The options that differ, in words; an option missing in a night has its default.

    The name of a convention does not count: two presets may have the same options.
    """
    here, there, default = (json.loads(json.dumps(each)) for each in (ours, theirs, Convention().options()))
    values = {name: [each.get(name, default.get(name)) for each in (here, there)] for name in {**here, **there}}
    return [f"{name}={two} there and {one} here" for name, (one, two) in sorted(values.items()) if one != two]


def doubts(dataset: str, ours: Record, theirs: Record, date: str) -> list[str]:
    """Why the scores of two nights of a dataset may not mean the same; `date` is that of the other night."""
    sentences = []
    if different_options(ours.get("options", {}), theirs.get("options", {})):
        sentences.append(
            f"{date} has another convention, {theirs.get('convention')}, and this night has "
            f"{ours.get('convention')}: their scores cannot be compared"
        )
    if fingerprint(ours, "judgments", dataset) != fingerprint(theirs, "judgments", dataset):
        sentences.append(f"the judgments of {dataset} are not those of {date}")
    return sentences


def changed_judgments(own: ScoreMatrix, other: ScoreMatrix) -> ChangedJudgments:
    """The queries of either night whose judgments differ; those that one night alone has judged are among them."""
    there = own.there() | other.there()
    changed = np.flatnonzero((own.hashes() != other.hashes()) & there)
    examples = own.queries.ids.take(changed).to_pylist()
    return ChangedJudgments(int(there.sum()), len(changed), min(examples, default=None))


def baseline_night(nights: Iterable[Night], dataset: str, evaluated_on: str, baseline: str) -> Night | None:
    """The night of a dataset that `baseline`, a date, LAST_GOOD or RECENT_GOOD, stands for on a date, if there is one.

    `nights` are sorted by date. A good night is an earlier one, so that a night that is evaluated again is not compared
    with what it replaces. RECENT_GOOD stands for the last night that is not worse and, by `alike`, for those before it.
    """
    if baseline == RECENT_GOOD:
        return next((night for night in reversed(earlier(nights, dataset, evaluated_on)) if night.is_not_worse), None)
    if baseline == LAST_GOOD:
        return last_good(earlier(nights, dataset, evaluated_on))
    return next((night for night in nights if (night.dataset, night.evaluated_on) == (dataset, baseline)), None)


def alike(nights: Iterable[Night], night: Night, most: int) -> list[Night]:
    """A night and those before it that were not found worse, as long as they are alike; at most `most`, by date.

    Nights with the same judgments and convention are alike.
    """
    good = (each for each in reversed(earlier(nights, night.dataset, night.evaluated_on)) if each.is_not_worse)
    before = itertools.takewhile(lambda each: _meaning(each) == _meaning(night), good)
    return [*reversed([night, *itertools.islice(before, most - 1)])]


def _meaning(night: Night) -> tuple[str, str | None]:
    return convention_key(night.record), fingerprint(night.record, "judgments", night.dataset)


def earlier(nights: Iterable[Night], dataset: str, evaluated_on: str) -> list[Night]:
    """The nights of a dataset before a date."""
    return [night for night in nights if night.dataset == dataset and night.evaluated_on < evaluated_on]


def expected_datasets(nights: Sequence[Night], dataset: str, evaluated_on: str) -> dict[str, str]:
    """The datasets that were evaluated together with this one since its last good night, each with the last date.

    A dataset that was added in the meantime is not part of the last good night, but is expected all the same.
    """
    found: dict[str, str] = {}
    for night in reversed(earlier(nights, dataset, evaluated_on)):
        found = {**dict.fromkeys(together(nights, night), night.evaluated_on), **found}
        if night.is_good:
            break
    return found


def arrived(nights: Iterable[Night], evaluated_on: str) -> set[str]:
    """The datasets that have a night of a date, without those that a later evaluation of it had no results of."""
    of_date = [night for night in nights if night.evaluated_on == evaluated_on]
    return {night.dataset for night in of_date if not any(_lacks(other, night) for other in of_date)}


def _lacks(other: Night, night: Night) -> bool:
    is_later = other.record.get("committed_at", "") >= night.record.get("committed_at", "")
    return is_later and night.dataset in other.record.get("datasets_without_results", ())


def together(nights: Iterable[Night], night: Night) -> list[str]:
    """The datasets that were evaluated together with a night, even if it was later evaluated again alone."""
    of_date = (each for each in nights if each.evaluated_on == night.evaluated_on and each.dataset != night.dataset)
    others = (each.dataset for each in of_date if night.dataset in each.record.get("datasets", ()))
    return sorted({*night.record.get("datasets", ()), *others})

"""Which nights can be compared: those with the same options and judgments."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ndcg_spark.convention.convention import Convention
from ndcg_spark.nights.log import Night


def fingerprint(record: Mapping[str, Any], table: str, dataset: str) -> str | None:
    """The fingerprint of a dataset's `judgments` or `results`; None if its record has none."""
    own = record.get("inputs", {}).get(table, {})
    known: str | None = own.get("fingerprints", {}).get(dataset, own.get("fingerprint"))
    return known


def convention_key(record: Mapping[str, Any]) -> str:
    """What distinguishes conventions: their options, not their names."""
    return json.dumps(record.get("options"), sort_keys=True)


def different_options(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """The options that differ, in words; an option missing in a night has its default.

    The name of a convention does not count: two presets may have the same options.
    """
    here, there, default = (json.loads(json.dumps(options)) for options in (ours, theirs, Convention().options()))
    values = {name: [options.get(name, default.get(name)) for options in (here, there)] for name in {**here, **there}}
    return [f"{name}={two} there and {one} here" for name, (one, two) in sorted(values.items()) if one != two]


def doubts(night: Night, other: Night) -> Iterator[str]:
    """Why the scores of two nights may not mean the same; which queries are judged differently is told by a matrix."""
    ours, theirs = night.record, other.record
    if different_options(ours["options"], theirs["options"]):
        conventions = f"{theirs['convention']}, and this night has {ours['convention']}"
        yield f"{other.evaluated_on} has another convention, {conventions}: their scores cannot be compared"

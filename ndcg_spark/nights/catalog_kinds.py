"""Whether a catalog measure means the same in two nights: its options, and the items."""

import json

from ndcg_spark.convention.catalog import CATALOG_OPTIONS, catalog_option
from ndcg_spark.convention.measures import CATALOG_COLUMNS
from ndcg_spark.nights.log import Night


def catalog_kind(night: Night, measure: str) -> str:
    """A key that is equal for nights whose values of a catalog measure can be compared."""
    return json.dumps([_options(night, measure), _fingerprint(night, measure)])


def why_other_items(night: Night, other: Night, measure: str) -> str | None:
    """Why a catalog measure is not comparable with another night's; None if it is."""
    if measure not in CATALOG_COLUMNS:
        return None
    ours, theirs = _options(night, measure), _options(other, measure)
    if ours != theirs:
        options = []
        for name in ours:
            if ours[name] != theirs[name]:
                argument = name.partition("_")[2]
                options.append(f"{argument}={theirs[name]} there and {ours[name]} here")
        return f"{other.evaluated_on} has a different {measure}: {', '.join(options)}"
    if _fingerprint(night, measure) != _fingerprint(other, measure):
        return f"{other.evaluated_on} has different items, which {measure} looks up"
    return None


def _options(night: Night, measure: str) -> dict[str, str]:
    given = night.measure_set.options
    names = [name for name in CATALOG_OPTIONS if name.partition("_")[0] == measure]
    return {name: catalog_option(given, name) for name in names}


def _fingerprint(night: Night, measure: str) -> str | None:
    """The fingerprint of the items, if the measure looks anything up in them."""
    if measure not in night.measure_set.of_items:
        return None
    items = night.record["inputs"].get("items", {})
    fingerprint: str | None = items.get("fingerprint")
    return fingerprint

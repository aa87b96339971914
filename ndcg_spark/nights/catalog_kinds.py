"""Checks whether the values of a catalog measure can be compared between two nights."""

import json
from typing import NamedTuple

from ndcg_spark.convention.catalog import CATALOG_OPTIONS, catalog_option
from ndcg_spark.convention.measures import CATALOG_COLUMNS
from ndcg_spark.nights.log import Night

#: The code for nights that cannot be compared because the tables of items differ.
OTHER_ITEMS = "other_items"


class OtherCatalog(NamedTuple):
    """Why a catalog measure cannot be compared between two nights: a code and a sentence."""

    code: str
    sentence: str


def catalog_kind(night: Night, measure: str) -> str:
    """A key that is equal for nights whose values of a catalog measure can be compared."""
    return json.dumps([_options(night, measure), _fingerprint(night, measure)])


def other_catalog(night: Night, other: Night, measure: str) -> OtherCatalog | None:
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
        sentence = f"{other.evaluated_on} has a different {measure}: {', '.join(options)}"
        return OtherCatalog("other_convention", sentence)
    if _fingerprint(night, measure) != _fingerprint(other, measure):
        sentence = f"the table of items differs from that of {other.evaluated_on}"
        return OtherCatalog(OTHER_ITEMS, sentence)
    return None


def _options(night: Night, measure: str) -> dict[str, str]:
    given = night.measure_set.options
    names = [name for name in CATALOG_OPTIONS if name.partition("_")[0] == measure]
    return {name: catalog_option(given, name) for name in names}


def _fingerprint(night: Night, measure: str) -> str | None:
    """The fingerprint of the items, if the measure uses them."""
    if measure not in night.measure_set.of_items:
        return None
    items = night.record["inputs"].get("items", {})
    fingerprint: str | None = items.get("fingerprint")
    return fingerprint

"""The catalog measures in plain Python, which everything else is checked against.

They look at what is shown, whether it is relevant or not. A list is the ids of its items, best
first. The first functions measure one list, the others all lists of a run together.
"""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ndcg_spark.convention.catalog import catalog_option, persistence
from ndcg_spark.convention.measures import Cutoff

#: The options of the measures that differ from their defaults, by name.
CatalogOptions = Mapping[str, str]
#: A list's items, best first.
Shown = Sequence[str]


@dataclasses.dataclass(frozen=True)
class Item:
    """The facts about an item of the catalog; None is unknown."""

    #: How many users used it.
    popularity: float | None = None
    #: How often it was used.
    interactions: float | None = None
    category: str | None = None


@dataclasses.dataclass(frozen=True)
class Usage:
    """The total usage; the counts of items are shares of it."""

    #: None if it is not given.
    users: float | None
    interactions: float
    #: The largest counts of any item.
    most_popular: float = 0.0
    most_interactions: float = 0.0


def list_measures(
    shown: Shown,
    items: Mapping[str, Item],
    usage: Usage,
    options: CatalogOptions,
    cutoff: Cutoff,
    names: Iterable[str] = ("novelty", "popularity", "categories"),
) -> dict[str, float | None]:
    """These measures of a list at a cutoff; None if no item in it is counted."""
    values: dict[str, float | None] = {}
    for name in names:
        if name == "novelty":
            values[name] = novelty(shown, items, usage, options, cutoff)
        elif name == "popularity":
            values[name] = popularity(shown, items, usage, options, cutoff)
        else:
            values[name] = categories(shown, items, cutoff)
    return values


def novelty(
    shown: Shown,
    items: Mapping[str, Item],
    usage: Usage,
    options: CatalogOptions,
    cutoff: Cutoff,
) -> float | None:
    """The mean self-information of the items within the cutoff: -log2 of the share that used each.

    The share is of the users or of the interactions.
    """
    total = usage.users
    if catalog_option(options, "novelty_of") == "interactions":
        total = usage.interactions
    values = []
    for item in shown[:cutoff]:
        count = _count(items.get(item), catalog_option(options, "novelty_of"))
        value = self_information(count, total or 0.0, options)
        if value is not None:
            values.append(value)
    if not values:
        return None
    divisor = len(values)
    if catalog_option(options, "novelty_over") == "k":
        divisor = cutoff or len(shown)
    return math.fsum(values) / divisor


def self_information(count: float, total: float, options: CatalogOptions) -> float | None:
    """The surprise of an item that `count` of `total` used; None if it is not counted."""
    if count == 0:
        unseen = catalog_option(options, "novelty_unseen")
        if unseen == "drop":
            return None
        if unseen == "zero":
            return 0.0
        count = 1.0
    bits = math.log2(total / count) if total > 0 else 0.0
    if catalog_option(options, "novelty_scale") == "bits":
        return bits
    # With a single user, nothing is surprising.
    return bits / math.log2(total) if total > 1 else 0.0


def popularity(
    shown: Shown,
    items: Mapping[str, Item],
    usage: Usage,
    options: CatalogOptions,
    cutoff: Cutoff,
) -> float | None:
    """The mean popularity of the items within the cutoff: how many used each, or how often."""
    unit = popularity_unit(usage, options)
    values = []
    for item in shown[:cutoff]:
        count = _count(items.get(item), catalog_option(options, "popularity_of"))
        if count == 0 and catalog_option(options, "popularity_unseen") == "drop":
            continue
        values.append(count / unit if unit else 0.0)
    return math.fsum(values) / len(values) if values else None


def popularity_unit(usage: Usage, options: CatalogOptions) -> float:
    """The number that popularities are divided by."""
    scale = catalog_option(options, "popularity_scale")
    is_of_users = catalog_option(options, "popularity_of") == "users"
    if scale == "share":
        return (usage.users or 0.0) if is_of_users else usage.interactions
    if scale == "max":
        return usage.most_popular if is_of_users else usage.most_interactions
    return 1.0


def categories(shown: Shown, items: Mapping[str, Item], cutoff: Cutoff) -> float | None:
    """The number of different categories within the cutoff, over the cutoff."""
    first = shown[:cutoff]
    if not first:
        return None
    known = {items[item].category for item in first if item in items} - {None}
    return len(known) / (cutoff or len(first))


def _count(item: Item | None, of: str) -> float:
    if item is None:
        return 0.0
    count = item.popularity if of == "users" else item.interactions
    return count or 0.0


@dataclasses.dataclass(frozen=True)
class RunMeasures:
    """The measures of all lists of a run at a cutoff; None if they are undefined."""

    lists: int
    items: int
    coverage: float | None
    gini: float | None
    personalization: float | None
    #: How many of the shown items are not in the catalog.
    unknown: int


def run_measures(
    lists: Iterable[Shown], catalog: Iterable[str], options: CatalogOptions, cutoff: Cutoff
) -> RunMeasures:
    """The measures of a run's lists, given a catalog of these items."""
    first = [shown[:cutoff] for shown in lists if shown]
    known = set(catalog)
    shown_items = set[str]()
    for shown in first:
        shown_items.update(shown)
    unknown = len(shown_items - known)
    return RunMeasures(
        lists=len(first),
        items=len(shown_items),
        coverage=coverage(shown_items, known, options),
        gini=gini(exposures(first, options), known, options),
        personalization=personalization(first),
        unknown=unknown,
    )


def coverage(shown: set[str], catalog: set[str], options: CatalogOptions) -> float | None:
    """The share of the catalog that is shown."""
    if not catalog:
        return None
    if catalog_option(options, "coverage_unknown") == "count":
        return len(shown) / len(catalog)
    return len(shown & catalog) / len(catalog)


def exposures(lists: Iterable[Shown], options: CatalogOptions) -> dict[str, float]:
    """How many lists contain each item; with p, a list counts less the further down the item is."""
    goes_on = persistence(options)
    exposure: Counter[str] = Counter()
    for shown in lists:
        for place, item in enumerate(shown):
            exposure[item] += goes_on**place  # type: ignore[assignment]  # counters may hold floats
    return dict(exposure)


def gini(exposure: Mapping[str, float], catalog: set[str], options: CatalogOptions) -> float | None:
    """How unequal the exposure of the items is: 0 if all are equal, near 1 if few have all."""
    if catalog_option(options, "gini_of") == "shown":
        values = sorted(exposure.values())
    else:
        values = sorted(exposure.get(item, 0.0) for item in catalog)
    n = len(values)
    divisor = n - 1 if catalog_option(options, "gini_divisor") == "n-1" else n
    total = math.fsum(values)
    if divisor <= 0 or total == 0:
        return None
    weighted = [(2 * place - n - 1) * value for place, value in enumerate(values, start=1)]
    return math.fsum(weighted) / (divisor * total)


def personalization(lists: Sequence[Shown]) -> float | None:
    """One minus the mean cosine similarity of two lists; None if there are fewer than two.

    The cosine of two lists is the number of items that they share, over the root of the product of
    their lengths. Summed over all ordered pairs of lists, each item adds the square of the sum of
    1 / sqrt(length) over the lists that contain it, which includes each list paired with itself.
    """
    many = len(lists)
    if many < 2:
        return None
    shares: Counter[str] = Counter()
    for shown in lists:
        for item in shown:
            shares[item] += len(shown) ** -0.5
    similar = math.fsum(share * share for share in shares.values()) - many
    return 1 - similar / (many * (many - 1))

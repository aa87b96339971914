"""Defines coverage, novelty, popularity and concentration: the options of these measures of the
catalog, and the tools whose numbers the presets reproduce.

An option is written as an argument of its measure, `Novelty(unseen=drop)@10`. It applies only to
this measure and is not an option of the convention. `preset=TOOL` stands for the options of a
tool.
"""

import contextlib
from collections.abc import Collection, Mapping
from typing import NamedTuple

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.text import did_you_mean

#: The suffix of the options that choose a tool, such as novelty_preset.
_PRESET = "_preset"


class CatalogOption(NamedTuple):
    """An option's values, with their meaning in words."""

    #: The values that have a name, each with its meaning. The default is the first.
    words: Mapping[str, str]
    #: The meaning of a number between 0 and 1, where {} is the number; empty if the option takes
    #: no numbers.
    number: str = ""

    @property
    def default(self) -> str:
        return next(iter(self.words))

    @property
    def choices(self) -> str:
        """The values that the option accepts, such as "none, a number between 0 and 1"."""
        values = list(self.words)
        if self.number:
            values.append("a number between 0 and 1")
        return ", ".join(values)


#: The options by their names, which begin with the measure's name.
CATALOG_OPTIONS: Mapping[str, CatalogOption] = {
    "coverage_unknown": CatalogOption(
        {
            "drop": "shown items that are not in the table are ignored",
            "count": "shown items that are not in the table are counted, so it may exceed 1",
        }
    ),
    "gini_of": CatalogOption(
        {
            "catalog": "over all items of the catalog, shown or not",
            "shown": "over the items that are shown",
        }
    ),
    "gini_divisor": CatalogOption(
        {"n": "divided by the number of items", "n-1": "divided by the number of items - 1"}
    ),
    "gini_p": CatalogOption(
        {"none": "each list adds 1"},
        "a list adds {}^(r - 1) for its item at rank r",
    ),
    "novelty_unseen": CatalogOption(
        {
            "one": "an item that nobody used counts as used once",
            "drop": "items that nobody used are ignored",
            "zero": "items that nobody used count as 0",
        }
    ),
    "novelty_of": CatalogOption(
        {
            "users": "the share of the users who used the item",
            "interactions": "the share of all interactions that belong to the item",
        }
    ),
    "novelty_over": CatalogOption(
        {"list": "the items within k", "k": "k items, even if the list is shorter"}
    ),
    "novelty_scale": CatalogOption(
        {
            "bits": "which is 0 for 100%, 1 for 50%, 3.3 for 10%",
            "share": "divided by its largest value, so 0 for 100% and 1 for a single one",
        }
    ),
    "popularity_unseen": CatalogOption(
        {
            "zero": "items that nobody used count as 0",
            "drop": "items that nobody used are ignored",
        }
    ),
    "popularity_of": CatalogOption(
        {
            "users": "how many users used each item within k",
            "interactions": "how often each item within k was used",
        }
    ),
    "popularity_scale": CatalogOption(
        {
            "count": "",
            "share": ", as a share of all of them",
            "max": ", as a share of the most popular item's",
        }
    ),
}

#: Each measure's definition, with the words of its options in braces.
_DEFINITIONS: Mapping[str, str] = {
    "novelty": (
        "how little known the shown items are: the mean, over {over}, of -log2({of}), "
        "{scale}; {unseen}"
    ),
    "popularity": "the mean of {of}{scale}; {unseen}",
    "categories": "how many different categories the items within k have, divided by k",
    "items": "how many different items the lists show within k",
    "coverage": "the share of the catalog that at least one list shows within k; {unknown}",
    "gini": (
        "how unequally the items are shown: the Gini coefficient of how many lists show each item "
        "within k, 0 if equally many do, near 1 if a few items take most places; {of}; {p}; "
        "{divisor}"
    ),
    "personalization": (
        "how different the lists are: 1 - the mean cosine of two lists within k, "
        "0 if all lists show the same items, 1 if no two lists share an item"
    ),
}


class CatalogPreset(NamedTuple):
    """The options that reproduce the numbers of a tool."""

    #: The options that differ from the defaults.
    options: Mapping[str, str]
    #: The calls that give the same numbers, by measure, and the version used to verify them.
    calls: Mapping[str, str]
    verified: str
    not_reproduced: tuple[str, ...] = ()


CATALOG_PRESETS: Mapping[str, CatalogPreset] = {
    "rectools": CatalogPreset(
        {"coverage_unknown": "count", "popularity_of": "interactions"},
        {
            "items": "rectools.metrics.CatalogCoverage(k)",
            "coverage": "rectools.metrics.CatalogCoverage(k, normalize=True)",
            "novelty": "rectools.metrics.MeanInvUserFreq(k)",
            "popularity": (
                "rectools.metrics.AvgRecPopularity(k); with scale=share its normalize=True"
            ),
        },
        "RecTools 0.19.0",
        ("Serendipity and IntraListDiversity, which need more than counts of items",),
    ),
    "replay": CatalogPreset(
        {"novelty_over": "k", "novelty_scale": "share"},
        {
            "coverage": "replay.metrics.Coverage(k)",
            "novelty": "replay.metrics.Surprisal(k)",
            "categories": "replay.metrics.CategoricalDiversity(k)",
        },
        "replay-rec 0.22.0",
        (
            "missing categories, which it counts as one more category",
            "Unexpectedness and Novelty, which need the history of each user",
        ),
    ),
    "evidently": CatalogPreset(
        {
            "gini_of": "shown",
            "gini_divisor": "n-1",
            "novelty_unseen": "drop",
            "popularity_unseen": "drop",
        },
        {
            "coverage": "PopularityBias(k).current_coverage",
            "gini": "PopularityBias(k).current_gini",
            "novelty": "NoveltyMetric(k).current_value",
            "popularity": ("PopularityBias(k).current_apr; with scale=max its normalize_arp=True"),
            "personalization": "PersonalizationMetric(k).current_value",
        },
        "Evidently 0.7.23 (evidently.legacy.metrics)",
        (
            "Personalization of lists that are shorter than k, because it divides by k",
            "tied scores, because it averages their ranks",
        ),
    ),
    "lenskit": CatalogPreset(
        {},
        {
            "gini": (
                "lenskit.metrics.ListGini(k, items=...); with p=0.85 ExposureGini(k, items=...), "
                "which adds up in float32"
            ),
        },
        "LensKit 2025.8.1",
        ("MeanPopRank, the mean popularity quantile",),
    ),
    "recommenders": CatalogPreset(
        {"coverage_unknown": "count", "novelty_of": "interactions", "novelty_unseen": "zero"},
        {
            "coverage": "recommenders.evaluation catalog_coverage(train, reco), lists of k items",
            "novelty": "recommenders.evaluation novelty(train, reco), lists of k items",
        },
        "recommenders 1.2.1",
        (
            "novelty averaged over rows, not lists, which differs if a list is shorter than k",
            "distributional_coverage, and the measures that need the history of each user",
        ),
    ),
}
#: The presets of conventions that belong to the same tools.
_OF_CONVENTIONS = {
    "rectools": "rectools",
    "rectools_achievable": "rectools",
    "replay": "replay",
    "recommenders": "recommenders",
}


def arguments_of(measure: str) -> dict[str, str]:
    """Return the arguments that a measure takes, with their options: {"of": "gini_of", ...}."""
    arguments = {}
    for name in CATALOG_OPTIONS:
        owner, _, argument = name.partition("_")
        if owner == measure:
            arguments[argument] = name
    return {**arguments, "preset": measure + _PRESET}


def is_catalog_option(name: str) -> bool:
    """Whether an option belongs to a catalog measure, and not to the convention."""
    return name in CATALOG_OPTIONS or name.endswith(_PRESET)


def default_options(convention: str, measures: Collection[str]) -> dict[str, str]:
    """Return the default options of measures under a preset of a convention.

    If the preset reproduces a tool with such measures, they are the tool's options.
    """
    tool = _OF_CONVENTIONS.get(convention)
    return {} if tool is None else _options_of_tool(tool, measures)


def resolved_options(
    given: Mapping[str, str], defaults: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the options that differ from their defaults.

    Options in `given` win over the options of presets in `given`, and those over `defaults`. Raise
    ConfigurationError for an unknown value.
    """
    chosen = dict(defaults or {})
    for name, preset in given.items():
        if name.endswith(_PRESET):
            measure = name.removesuffix(_PRESET)
            # The preset replaces all default options of the measure.
            chosen = {other: chosen[other] for other in chosen if _measure_of(other) != measure}
            chosen.update(_options_of_tool(_known_preset(preset, measure), [measure]))
    for name, value in given.items():
        if not name.endswith(_PRESET):
            chosen[name] = _accepted_value(name, value)
    changed = {}
    for name, option in CATALOG_OPTIONS.items():
        if name in chosen and chosen[name] != option.default:
            changed[name] = chosen[name]
    return changed


def catalog_option(options: Mapping[str, str], name: str) -> str:
    """Return an option's value, or its default if it is not among the `options`."""
    return options.get(name, CATALOG_OPTIONS[name].default)


def persistence(options: Mapping[str, str]) -> float:
    """Return the ratio of a rank's weight in Gini to the weight of the rank above it."""
    value = catalog_option(options, "gini_p")
    return 1.0 if value == "none" else float(value)


def definition_of(measure: str, options: Mapping[str, str]) -> str:
    """Return the definition of a measure with these options, in words."""
    words = {}
    for name, option in CATALOG_OPTIONS.items():
        owner, _, argument = name.partition("_")
        if owner == measure:
            value = catalog_option(options, name)
            words[argument] = option.words.get(value) or option.number.format(value)
    return _DEFINITIONS[measure].format(**words)


def tool_of(name: str) -> str | None:
    """Return the catalog preset that has this name, or that belongs to a convention's preset."""
    return name if name in CATALOG_PRESETS else _OF_CONVENTIONS.get(name)


def describe_catalog_preset(tool: str) -> list[str]:
    """Return which call of a tool gives the same number as each measure, and what differs."""
    preset = CATALOG_PRESETS[tool]
    lines = [f"Catalog measures, verified with {preset.verified}"]
    for measure, call in preset.calls.items():
        arguments = []
        for name, value in _options_of_tool(tool, [measure]).items():
            arguments.append(f"{name.partition('_')[2]}={value}")
        written = f"{measure.capitalize()}(preset={tool})"
        lines.append(f"  {written:<34}{call}")
        if arguments:
            lines.append(f"  {'':<34}{', '.join(arguments)}")
    lines.extend(["", "Not reproduced of these"])
    lines.extend(f"  {sentence}" for sentence in preset.not_reproduced)
    return lines


def _measure_of(option: str) -> str:
    """Return an option's measure: gini for gini_of."""
    return option.partition("_")[0]


def _options_of_tool(tool: str, measures: Collection[str]) -> dict[str, str]:
    """Return the measures' options that give a tool's numbers."""
    options = CATALOG_PRESETS[tool].options
    return {name: options[name] for name in options if _measure_of(name) in measures}


def _known_preset(name: str, measure: str) -> str:
    """Return the name, or raise ConfigurationError if no preset of the measure has it."""
    tools = [tool for tool, preset in CATALOG_PRESETS.items() if measure in preset.calls]
    if name not in tools:
        to_do = f"choose {', '.join(tools)}" if tools else "no tool has one; leave it out"
        what = f"{measure}(preset={name}): no such preset{did_you_mean(name, tools)}"
        raise ConfigurationError(f"{what}; {to_do}", option="measures")
    return name


def _accepted_value(name: str, value: str) -> str:
    """Return the value of the option `name`, or raise ConfigurationError if it is not valid."""
    option = CATALOG_OPTIONS[name]
    if value in option.words:
        return value
    if option.number:
        with contextlib.suppress(ValueError):
            number = float(value)
            if 0 < number < 1:
                return f"{number:g}"
    measure, _, argument = name.partition("_")
    near = did_you_mean(value, option.words)
    what = f"{measure}({argument}={value}): unknown value{near}"
    raise ConfigurationError(f"{what}; {argument} takes {option.choices}", option="measures")

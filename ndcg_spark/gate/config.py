"""The gate of a configuration: what a night is compared with, what it may lose, and what follows from it."""

import datetime
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ndcg_spark import config_values
from ndcg_spark.config_values import LAST_GOOD, RECENT_GOOD, Strict
from ndcg_spark.convention.cutoffs import Cutoff, ascending, format_cutoff, parse_cutoff

#: The measures that can be above 1.
_UNBOUNDED = ("dcg", "ideal_dcg", "cg")

_Name = Annotated[str, Field(min_length=1)]
_Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Drop = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _slice(text: str) -> str:
    attribute, equals, value = text.partition("=")
    if not (attribute and equals and value):
        raise ValueError(f"{text!r} is not a slice; write ATTRIBUTE=VALUE, such as language=de")
    return text


def _each_once(names: list[str]) -> list[str]:
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(f"{repeated[0]} is named twice; name each run once")
    return names


class _Tolerance(Strict):
    """How much a mean may drop: absolutely, or as a share of the baseline's mean; of the two, the stricter counts."""

    max_drop: _Drop | None = None
    max_relative_drop: _Fraction | None = None

    @property
    def is_set(self) -> bool:
        """Whether it says how much a mean may drop."""
        return self.max_drop is not None or self.max_relative_drop is not None


class BaselineConfig(_Tolerance):
    """What runs are compared with: themselves in another night, or another run of the same night.

    A tolerance here overrides that of the checks: tonight may differ more from an anchor than from yesterday.
    """

    night: (
        Annotated[Literal["recent_good", "last_good"] | datetime.date, BeforeValidator(config_values.night)] | None
    ) = None
    #: How many good nights `recent_good` is the mean of.
    nights: Annotated[int, Field(ge=1, le=90)] = 7
    run: _Name | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.night is None) == (self.run is None):
            raise ValueError(
                "a baseline is a night or another run of the same night; give night (a date, "
                f"{RECENT_GOOD} or {LAST_GOOD}) or run"
            )
        if "nights" in self.model_fields_set and self.night != RECENT_GOOD:
            raise ValueError(f"nights belongs to night = {RECENT_GOOD!r}; leave it out")
        return self

    @property
    def is_good_night(self) -> bool:
        """Whether it stands for good nights, whichever they are, and not for a date or a run."""
        return self.night in (LAST_GOOD, RECENT_GOOD)

    @property
    def name(self) -> str:
        """The baseline as the configuration calls it: recent_good, last_good, a date, or `run bm25`."""
        return f"run {self.run}" if self.run is not None else str(self.night)


class LosingConfig(Strict):
    """At most the share `share` of the queries may lose `by` or more."""

    by: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    share: _Fraction


class CheckConfig(_Tolerance):
    """What is measured, for which runs, and what it may be.

    Without `runs`, the check is for every run of the night and of the baseline. A check without any limit uses the
    tolerance of the baselines.
    """

    runs: Annotated[list[_Name], Field(min_length=1), AfterValidator(_each_once)] | None = None
    measure: _Name = "ndcg"
    cutoff: Annotated[Any, BeforeValidator(parse_cutoff)]
    slice: Annotated[str, AfterValidator(_slice)] | None = None
    min_value: Annotated[float, Field(allow_inf_nan=False)] | None = None
    max_share_losing: LosingConfig | None = None
    #: Whether means and differences are weighted by query_weights.
    weighted: bool = False
    severity: Literal["fail", "warn"] = "fail"

    @property
    def limits_drop(self) -> bool:
        """Whether it limits how much the mean may drop."""
        return self.is_set or (self.min_value is None and self.max_share_losing is None)

    @property
    def needs_baseline(self) -> bool:
        """Whether it compares with another night or run; the minimum of a mean needs no baseline."""
        return self.limits_drop or self.max_share_losing is not None

    def subject(self, run: str | None) -> str:
        """What it measures: `ndcg@10 of hybrid for language=de`."""
        weighted = "weighted " if self.weighted else ""
        of_run = f" of {run}" if run else ""
        of_slice = f" for {self.slice}" if self.slice else ""
        return f"{weighted}{self.measure}@{format_cutoff(self.cutoff)}{of_run}{of_slice}"

    @property
    def attribute_and_value(self) -> tuple[str | None, str | None]:
        """The attribute and the value of its slice; both None for all queries."""
        if self.slice is None:
            return None, None
        attribute, _, value = self.slice.partition("=")
        return attribute, value


class GateConfig(Strict):
    """When a night passes, when it fails, and when there is no verdict."""

    rule: Literal["regression", "noninferiority", "threshold"] = "regression"
    #: The level per night, two-sided: an unchanged system fails in at most alpha / 2 of its nights.
    alpha: Annotated[float, Field(gt=0, le=0.5)] = 0.05
    correction: Literal["holm", "none"] = "holm"
    seed: int = 0
    min_queries: Annotated[int, Field(ge=2)] = 50
    max_unpaired_fraction: _Fraction = 0.0
    on_inconclusive: Literal["no_verdict", "warn", "fail"] = "no_verdict"
    on_changed_judgments: Literal["refuse", "unchanged_queries"] = "refuse"
    #: What follows if the results equal those of a baseline's night, as from a system that delivered nothing new.
    on_same_results: Literal["note", "fail"] = "note"
    baseline: tuple[BaselineConfig, ...] = ()
    check: tuple[CheckConfig, ...] = ()

    @property
    def cutoffs(self) -> list[Cutoff]:
        """The cutoffs of all checks, ascending; none without checks."""
        return ascending(check.cutoff for check in self.check) if self.check else []

    @property
    def compares_nights(self) -> bool:
        """Whether any of its baselines is a night."""
        return any(baseline.run is None for baseline in self.baseline)


def contradictions(gate: GateConfig, cutoffs: list[Cutoff], has_attributes: bool, has_weights: bool) -> list[str]:
    """Contradictions within a gate or with the rest of the configuration: sentences with the key's path."""
    found = []
    names = [baseline.name for baseline in gate.baseline]
    for number, name in enumerate(names):
        if name in names[:number]:
            found.append(f"gate.baseline.{number}: {name} is a baseline already; name each once")
    for number, check in enumerate(gate.check):
        place = f"gate.check.{number}"
        if check.cutoff not in cutoffs:
            known = ", ".join(format_cutoff(cutoff) for cutoff in cutoffs)
            found.append(f"{place}.cutoff: {format_cutoff(check.cutoff)} is not evaluated; cutoffs has {known}")
        if check.slice is not None and not has_attributes:
            found.append(f"{place}.slice: there are no slices; name their table, [query_attributes] with path")
        if check.weighted and not has_weights:
            found.append(f"{place}.weighted: there are no weights; name their table, [query_weights] with path")
        found += _of_baselines(place, check, gate.baseline)
        found += _impossible(place, check)
    return found


def _of_baselines(place: str, check: CheckConfig, baselines: Iterable[BaselineConfig]) -> Iterator[str]:
    if check.needs_baseline and not baselines:
        yield f"{place}: it needs a [[gate.baseline]], but there is none; add one, such as night = {RECENT_GOOD!r}"
    for baseline in baselines:
        if check.limits_drop and not check.is_set and not baseline.is_set:
            yield f"{place}: no limit on the drop against {baseline.name}; give max_drop, which may be 0"
        if baseline.run in (check.runs or ()):
            yield f"{place}.runs: {baseline.run} is a baseline, and would be compared with itself; leave it out"


def _impossible(place: str, check: CheckConfig) -> Iterator[str]:
    """Limits that no measure up to 1 can ever break, such as limits that were meant as percentages."""
    by = check.max_share_losing.by if check.max_share_losing else 0.0
    drop = check.max_drop or 0.0
    for name, limit, never in (("max_drop", drop, drop >= 1), ("max_share_losing.by", by, by > 1)):
        if never and check.measure not in _UNBOUNDED:
            yield f"{place}.{name}: {check.measure} cannot fall by more than 1; write {limit / 100:g} for {limit:g} %"

"""A configuration's gate: what a night is compared with, and how much it may lose."""

import math
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from ndcg_spark.convention.measures import (
    CATALOG_COLUMNS,
    JUDGED_RATE,
    RUN_COLUMNS,
    SCORES,
    Cutoff,
    format_cutoff,
    measure_at,
)
from ndcg_spark.convention.parsing import listed, parse_cutoff
from ndcg_spark.gate.checked_mean import checked_mean
from ndcg_spark.text import ACCEPTED, GOOD, RUN

MEASURES_OF_CHECKS = (*SCORES, JUDGED_RATE, *RUN_COLUMNS)
#: The measures whose values may be above 1.
_UNLIMITED = ("dcg", "ideal_dcg", "cg")

_Names = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
_Limit = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Queries = Annotated[int, Field(ge=2)]


def _baselines(given: object) -> tuple[str, ...]:
    """The names of baselines; ValueError if one is neither a known word nor a date or a run."""
    texts = tuple(dict.fromkeys(map(str, listed(given))))
    for text in texts:
        if not re.fullmatch(rf"{GOOD}|{ACCEPTED}|\d{{4}}-\d\d-\d\d|{RUN}.+", text):
            known = f"{GOOD!r}, {ACCEPTED!r}, a date YYYY-MM-DD or '{RUN}NAME'"
            raise ValueError(f"{text!r} is not {known}")
    return texts


class Strict(BaseModel):
    """A table of the configuration in which unknown keys, and booleans for numbers, are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_booleans(cls, given: object, info: ValidationInfo) -> object:
        if not isinstance(given, bool):
            return given
        kind = cls.model_fields[str(info.field_name)].annotation
        if kind is not bool:
            raise ValueError(f"it cannot be {str(given).lower()}")
        return given


class CheckConfig(Strict):
    """What a gate checks: a measure of some runs, and how much it may change."""

    #: The default is every run of the night, and every dataset.
    runs: _Names | None = None
    datasets: _Names | None = None
    measure: str = "ndcg"
    cutoff: Annotated[Any, BeforeValidator(parse_cutoff)]
    slice: Annotated[str, Field(pattern="^[^=]+=.+$")] | None = None
    weighted: bool = False
    #: How much the mean may drop: absolutely, and as a share of the baseline's mean. The stricter
    #: limit applies.
    max_drop: _Limit | None = None
    max_relative_drop: Annotated[_Limit, Field(le=1)] | None = None
    #: How much the mean may rise, absolutely; only for catalog measures, where more is not better.
    max_rise: _Limit | None = None
    #: The lowest allowed mean, whatever the baseline.
    min_value: Annotated[float, Field(allow_inf_nan=False)] | None = None
    min_queries: _Queries | None = None
    severity: Literal["fail", "warn"] = "fail"
    #: The default is the gate's baselines.
    baselines: (
        Annotated[tuple[str, ...], Field(min_length=1), BeforeValidator(_baselines)] | None
    ) = None

    @model_validator(mode="after")
    def _has_limit(self) -> Self:
        if self.limits_change or self.min_value is not None:
            return self
        limits = "max_drop (which may be 0), max_relative_drop or min_value"
        if self.is_of_catalog:
            limits = "max_relative_drop, max_rise or min_value"
        raise ValueError(f"it has no limit; set {limits}")

    def is_for(self, run: str) -> bool:
        return self.runs is None or run in self.runs

    @property
    def can_fail_by_drop(self) -> bool:
        return self.severity == "fail" and self.limits_drop

    @property
    def limits_drop(self) -> bool:
        return self.max_drop is not None or self.max_relative_drop is not None

    @property
    def limits_change(self) -> bool:
        return self.limits_drop or self.max_rise is not None

    @property
    def is_of_catalog(self) -> bool:
        """Whether a higher value of its measure is neither better nor worse."""
        return self.measure in CATALOG_COLUMNS

    @property
    def is_of_run(self) -> bool:
        """Whether its measure is one number for all lists of a run, which is not tested."""
        return self.measure in RUN_COLUMNS

    @property
    def needs_means(self) -> bool:
        """Whether the means of the night itself are needed: for a minimum, or to check that the
        slice exists.
        """
        return self.min_value is not None or self.slice is not None

    @property
    def slice_pair(self) -> tuple[str | None, str | None]:
        """Its slice's attribute and value; both None for all queries."""
        if self.slice is None:
            return None, None
        attribute, value = self.slice.split("=", 1)
        return attribute, value

    @property
    def metric(self) -> tuple[str, Cutoff]:
        return self.measure, self.cutoff

    def allowed(self, baseline_mean: float) -> float:
        """How far the mean may fall; infinite if the drop has no limit."""
        allowed = math.inf
        if self.max_drop is not None:
            allowed = self.max_drop
        if self.max_relative_drop is not None:
            allowed = min(allowed, self.max_relative_drop * abs(baseline_mean))
        return allowed

    def subject(self, run: str) -> str:
        """What the check measures: `ndcg@10 of hybrid for language=de`."""
        return checked_mean(measure_at(*self.metric), self.weighted, self.slice, run)


class GateConfig(Strict):
    """A configuration's gate."""

    #: The two-sided level per night: an unchanged system fails in about alpha / 2 of its nights.
    alpha: Annotated[float, Field(gt=0, le=0.5)] = 0.05
    min_queries: _Queries = 50
    #: What to do if the results are identical to those of the last night.
    same_results: Literal["warn", "undecided"] = "warn"
    #: GOOD, ACCEPTED, dates, and runs of the same night, which are written `run NAME`.
    baseline: Annotated[tuple[str, ...], Field(min_length=1), BeforeValidator(_baselines)] = (
        GOOD,
        ACCEPTED,
    )
    #: The number of good nights that GOOD averages.
    nights: Annotated[int, Field(ge=1, le=90)] = 7
    check: Annotated[tuple[CheckConfig, ...], Field(min_length=1)]

    def checks(self, dataset: str) -> list[tuple[str, CheckConfig]]:
        """A dataset's checks, each with its name, such as gate.check[1]."""
        checks = []
        for number, check in enumerate(self.check, 1):
            if check.datasets is None or dataset in check.datasets:
                checks.append((f"gate.check[{number}]", check))
        return checks

    def baselines_of(self, check: CheckConfig) -> tuple[str, ...]:
        """The names of a check's baselines."""
        return check.baselines or self.baseline

    def min_queries_of(self, check: CheckConfig) -> int:
        """How many queries a check needs."""
        return check.min_queries or self.min_queries

    @property
    def all_baselines(self) -> tuple[str, ...]:
        """Every name that the gate or one of its checks compares with."""
        names = dict.fromkeys(self.baseline)
        for check in self.check:
            names.update(dict.fromkeys(check.baselines or ()))
        return tuple(names)


def contradictions(
    gate: GateConfig, cutoffs: list[Cutoff], has_attributes: bool, has_weights: bool
) -> Iterator[str]:
    """Contradictions in a gate or with the rest of a configuration, each with its key's path."""
    for number, check in enumerate(gate.check, 1):
        name = f"gate.check[{number}]"
        if check.cutoff not in cutoffs:
            known = ", ".join(map(format_cutoff, cutoffs))
            cutoff = format_cutoff(check.cutoff)
            yield f"{name}.cutoff: {cutoff} is not evaluated; cutoffs has {known}"
        if check.measure not in MEASURES_OF_CHECKS:
            known = ", ".join(MEASURES_OF_CHECKS)
            yield f"{name}.measure: unknown measure {check.measure!r}; choose {known}"
        if check.slice is not None and not has_attributes:
            table = "[query_attributes] with path"
            yield f"{name}.slice: there are no slices; configure their table, {table}"
        if check.weighted and not has_weights:
            table = "[query_weights] with path"
            yield f"{name}.weighted: there are no weights; configure their table, {table}"
        yield from _contradicting_measure(name, check)


def _contradicting_measure(name: str, check: CheckConfig) -> Iterator[str]:
    """A check's limits and options that its measure does not support."""
    measure = check.measure
    drop = check.max_drop
    if drop is not None and check.is_of_catalog:
        what = f"it is a limit for losses, but a lower {measure} is not a loss"
        yield f"{name}.max_drop: {what}; give max_relative_drop or max_rise"
    # For example, a limit that was meant as a percentage.
    elif drop is not None and drop >= 1 and measure not in _UNLIMITED:
        what = f"{measure} cannot fall by more than 1"
        yield f"{name}.max_drop: {what}; write {drop / 100:g} for {drop:g}%"
    if check.max_rise is not None and not check.is_of_catalog:
        of_catalog = ", ".join(CATALOG_COLUMNS)
        yield f"{name}.max_rise: it is only for {of_catalog}; remove it for {measure}"
    if check.is_of_run:
        single = f"{measure} is a single number for all lists of a run"
        if check.slice is not None:
            yield f"{name}.slice: {single}; remove it"
        if check.weighted:
            yield f"{name}.weighted: {single}; remove it"

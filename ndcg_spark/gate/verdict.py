"""What a gate finds and decides, as plain data that is published in a night's record, printed and tested."""

import dataclasses
import enum
import json
from collections.abc import Iterable, Sequence
from typing import Any

from ndcg_spark.errors import DONE, GATE_FAILED, NO_VERDICT
from ndcg_spark.tables.verdicts import in_words


class Outcome(enum.StrEnum):
    """The outcome of one comparison of a check."""

    PASS = "pass"  # noqa: S105  # no password
    FAIL = "fail"
    #: The mean dropped or may have dropped by more than is allowed, and there are too few queries to tell.
    INCONCLUSIVE = "inconclusive"
    #: Nothing was measured, or the measured values cannot be compared.
    INCOMPARABLE = "incomparable"


class Code(enum.StrEnum):
    """The reason for an outcome as a code, which programs use; the sentence beside it is for people."""

    # Passes.
    PROVED = "drop_ruled_out"
    INTERVAL_WITHIN = "interval_within_limit"
    NOT_DISPROVED = "no_drop_seen"
    UNCHANGED = "unchanged"
    WITHIN = "within_limit"
    # Failures.
    DROPPED = "dropped"
    BELOW = "below_min_value"
    LOSING = "too_many_lose"
    SAME_RESULTS = "same_results"
    # Inconclusive.
    NOT_SIGNIFICANT = "drop_not_significant"
    NOT_RULED_OUT = "drop_not_ruled_out"
    MAY_BE_CHANCE = "may_be_chance"
    # Incomparable.
    NO_CHECKS = "no_checks"
    NO_BASELINE = "no_baseline"
    UNREADABLE = "nights_unreadable"
    OWN_NIGHT = "baseline_is_this_night"
    OTHER_CONVENTION = "other_convention"
    OTHER_JUDGMENTS = "other_judgments"
    OTHER_CUTOFFS = "other_cutoffs"
    MISSING_DATASET = "missing_dataset"
    MISSING_RUN = "missing_run"
    MISSING_SLICE = "missing_slice"
    NOT_MEASURED = "not_measured"
    NOT_FINITE = "not_finite"
    UNPAIRED = "too_many_unpaired"
    UNWEIGHTED = "too_many_without_weight"
    TOO_FEW = "too_few_queries"
    DEGENERATE = "degenerate"
    ZERO_BASELINE = "baseline_is_zero"


class Word(enum.StrEnum):
    """A verdict."""

    PASS = "pass"  # noqa: S105  # no password
    FAIL = "fail"
    NONE = "none"


class Effect(enum.StrEnum):
    """The effect of a finding on the verdict; a warning has none."""

    PASS = "pass"  # noqa: S105  # no password
    WARNING = "warning"
    FAIL = "fail"
    NONE = "none"


EXIT_CODES = {Word.PASS: DONE, Word.FAIL: GATE_FAILED, Word.NONE: NO_VERDICT}


@dataclasses.dataclass(frozen=True)
class Finding:
    """What one check found for one run and one baseline, with the numbers that decided it."""

    #: The place of the check in the configuration, such as gate.check.0; for datasets, that of the baseline.
    check: str
    #: drop, min_value, max_share_losing; same_results and datasets (that all are there), which belong to no check.
    criterion: str
    outcome: Outcome
    code: Code
    reason: str
    severity: str
    #: Its effect on the verdict, which follows from its outcome, its severity and the gate's options.
    effect: Effect
    run: str | None = None
    #: The baseline as the configuration calls it; None where a check needs none.
    baseline: str | None = None
    baseline_night: str | None = None
    measure: str | None = None
    #: A rank, or `all`.
    cutoff: str | None = None
    slice: str | None = None
    #: Whether the means are weighted.
    weighted: bool = False
    rule: str | None = None
    #: What was measured, and its limit: for a drop the difference and the lowest that is allowed.
    value: float | None = None
    threshold: float | None = None
    mean: float | None = None
    baseline_mean: float | None = None
    interval_low: float | None = None
    interval_high: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    #: The drop that would fail in four of five nights, given how many checks there are.
    minimum_detectable: float | None = None
    queries: int | None = None
    unpaired_queries: int | None = None
    flags: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The verdict on one night, with everything that it is based on."""

    dataset: str
    evaluated_on: str
    verdict: Word
    code: str
    reason: str
    #: The exit code of the verdict, but 0 if the verdict is `none` and the night is accepted.
    exit_code: int
    findings: tuple[Finding, ...]
    #: What did not decide, in sentences.
    warnings: tuple[str, ...] = ()
    #: The nights that this one was compared with: baseline, night, evaluation_id, and the changed judgments, if any.
    baselines: tuple[dict[str, Any], ...] = ()
    #: The reason why somebody accepted this night as a baseline for later ones, whatever was found.
    accepted: str | None = None
    #: The verdict on the night of the dataset before this one; None without one.
    previous: str | None = None

    @property
    def in_words(self) -> str:
        """The verdict in one or two words."""
        return in_words({"verdict": self.verdict, "accepted": self.accepted})

    def as_json(self) -> dict[str, Any]:
        """The verdict as values of JSON."""
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return plain


def exit_code_of(verdicts: Iterable[Verdict]) -> int:
    """The exit code of several nights: a failed one outranks one without a verdict that nobody has accepted."""
    found = {verdict.exit_code for verdict in verdicts}
    return next((code for code in (GATE_FAILED, NO_VERDICT) if code in found), DONE)


def counted(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """How many nights of each dataset have each verdict and code: dataset, verdict, code, nights, share, last."""
    of_dataset: dict[str, int] = {}
    groups: dict[tuple[str, str, str], list[str]] = {}
    for each in verdicts:
        of_dataset[each.dataset] = of_dataset.get(each.dataset, 0) + 1
        groups.setdefault((each.dataset, each.verdict, each.code), []).append(each.evaluated_on)
    return [
        {
            "dataset": dataset,
            "verdict": word,
            "code": code,
            "nights": len(dates),
            "share": len(dates) / of_dataset[dataset],
            "last": dates[-1],
        }
        for (dataset, word, code), dates in sorted(groups.items(), key=lambda group: (group[0][0], -len(group[1])))
    ]

"""What to do about a verdict if the night is right: accept it, or change the gate."""

from typing import TYPE_CHECKING

from markupsafe import Markup

from ndcg_spark.gate.verdict import FAIL, NOT_COMPARABLE, UNDECIDED
from ndcg_spark.report.words import name
from ndcg_spark.text import GOOD, baseline_run

if TYPE_CHECKING:
    from ndcg_spark.report.night import NightData

#: What to do where accepting a night would not change the verdict on the next one, by the code of the reason.
_CHANGES = {
    "few_queries": Markup("Judge more queries, or lower min_queries of the check or of the [gate]."),
    "below_min_value": Markup("If this is intended, lower min_value in the [gate] of the configuration."),
    "missing_slice": Markup("Correct slice in the [gate] of the configuration, or the attributes of the queries."),
    "not_measured": Markup(
        "Correct what the checks of the gate, below, say was not measured; accepting the night does not help the next."
    ),
}
#: Codes that may come of judgments that have changed, where queries with other ones are left out.
_OF_REJUDGED = ("few_queries", "missing_slice")
_DATASET = Markup("If a dataset is given up, take its name out of the [gate] and its judgments out of their table.")
_SLICE = Markup("If {} need not answer these queries, take its slice out of the [gate] of the configuration.")
#: The same for a run that the gate names, and for what a night was compared with.
_NAMED = Markup("If {} is given up, take its name out of the [gate] of the configuration.")
_OTHER_RUN = Markup(
    "If this is intended, allow it in the [gate] of the configuration, or take another baseline than {}."
)
_OTHER_NIGHT = Markup("If this is intended, let baseline in the [gate] of the configuration name {} in place of {}.")


def rejudged_since(data: "NightData") -> str | None:
    """The night that the gate could not compare with because of other judgments."""
    rows = data.verdict.get("results", ())
    return next((row["baseline_night"] for row in rows if row["reason"] == "other_judgments"), None)


def accepts_loss(data: "NightData") -> bool:
    """Whether a night failed before this one, and its run is not known to be where it was before that."""
    failed, compared = data.failed_before, data.baseline.nights[-1:]
    if not failed or not compared or compared[0].evaluated_on >= failed.evaluated_on:
        return failed is not None
    row = data.compared.get(failed.record["verdict"]["run"])
    return row is None or (row["difference"] or 0.0) < -data.options.margin


def remedies(data: "NightData") -> tuple[bool, list[Markup]]:
    """Whether accepting the night helps later ones, and what else has to change in the configuration for them."""
    words = (FAIL,) if data.verdict["verdict"] == FAIL else (UNDECIDED, NOT_COMPARABLE)
    # Where nothing at all was measured, checks that only warn decide, too.
    deciding = [row for row in data.results if row["severity"] == FAIL and row["result"] in words] or data.results
    own = data.night.row["judgments_fingerprint"]
    is_rejudged = any(night.row["judgments_fingerprint"] != own for night in data.baseline.nights)
    gate = data.night.record["configuration"].get("gate") or {}
    named = {run for check in gate.get("check", ()) for run in check.get("runs") or ()}
    named |= {run for baseline in gate.get("baseline", ()) if (run := baseline_run(baseline)) is not None}
    helps, changes = not deciding, dict[Markup, None]()
    for row in deciding:
        reason, baseline = row["reason"], row["baseline"]
        if reason in _CHANGES:
            changes[_CHANGES[reason]] = None
            helps = helps or (is_rejudged and reason in _OF_REJUDGED)
        elif reason == "missing_run" and row["slice"] is not None:
            changes[_SLICE.format(name(row["run"]))] = None
        elif (row["check"], reason) == ("gate", "missing_run") and row["run"] in named:
            changes[_NAMED.format(name(row["run"]))] = None
        elif reason == "missing_dataset":
            helps, changes[_DATASET] = True, None
        elif baseline in (None, GOOD, data.night.evaluated_on):
            helps = True
        elif other := baseline_run(baseline):
            changes[_OTHER_RUN.format(name(other))] = None
        else:
            changes[_OTHER_NIGHT.format(data.night.evaluated_on, baseline)] = None
    return helps, list(changes)

"""A verdict as a sheet: a row per finding, with what was measured and what it was held to."""

from collections.abc import Mapping
from typing import Any

from ndcg_spark.sheets.sheet import Sheet, sheet

_HEADINGS = ("check", "run", "against", "measured", "allowed", "low", "high", "p", "queries", "finding")
_NUMBERS = ("measured", "allowed", "low", "high", "p", "queries")
_ORDER = ("fail", "none", "warning", "pass")
#: So many findings are shown, if no more of them speak against the night.
_MOST = 50
_CRITERIA = {"drop": "", "min_value": " at least", "max_share_losing": " losing"}


def verdict_sheet(verdict: Mapping[str, Any], several: bool = False) -> Sheet:
    """The sheet of a verdict, as JSON has it; with the name of its night if it stands among several.

    What speaks against the night comes first, and is shown however much it is.
    """
    of_night = f"{verdict['dataset']} of {verdict['evaluated_on']}: " if several else ""
    findings = sorted(verdict["findings"], key=lambda finding: _ORDER.index(finding["effect"]))
    against = sum(finding["effect"] != "pass" for finding in findings)
    shown = max(_MOST, against)
    notes = [f"{len(findings) - shown:,} more findings pass; --format json has all"] if len(findings) > shown else []
    notes += [f"{of_night}{in_words(verdict)}: {verdict['reason']}"]
    notes += [f"warning: {warning}" for warning in verdict["warnings"]]
    return sheet(_HEADINGS, map(_cells, findings[:shown]), map(_HEADINGS.index, _NUMBERS), notes)


def in_words(verdict: Mapping[str, Any]) -> str:
    """A verdict in one or two words, and whether somebody has accepted its night as a baseline all the same."""
    word = "no verdict" if verdict["verdict"] == "none" else str(verdict["verdict"])
    return f"{word} (accepted)" if verdict.get("accepted") else word


def _cells(finding: Mapping[str, Any]) -> list[str]:
    criterion = finding["criterion"]
    measured = f"{finding['measure']}@{finding['cutoff']}" if finding["measure"] else criterion
    weighted = "weighted" if finding.get("weighted") else None
    night = finding["baseline_night"] if finding["baseline_night"] != finding["baseline"] else None
    sign = "+" if criterion == "drop" else ""
    interval = (finding["interval_low"], finding["interval_high"]) if criterion == "drop" else (None, None)
    return [
        " ".join(part for part in (weighted, measured, finding["slice"]) if part) + _CRITERIA.get(criterion, ""),
        finding["run"] or "-",
        " ".join(part for part in (finding["baseline"], night) if part) or "-",
        _written(finding["value"], f"{sign}z.4f"),
        _written(finding["threshold"], f"{sign}z.4f"),
        *(_written(limit, "+z.4f") for limit in interval),
        _written(finding["p_adjusted"], ".2g"),
        _written(finding["queries"], ","),
        f"{'no verdict' if finding['effect'] == 'none' else finding['effect']}: {finding['code']}",
    ]


def _written(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)

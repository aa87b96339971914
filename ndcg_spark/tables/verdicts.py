"""A verdict of the gate as a table: a row per finding, with what was measured and what is allowed."""

from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.tables.table import TextTable, counted, name, number, text_table

_ORDER = ("fail", "none", "warning", "pass")
#: More findings are shown only if they speak against the night.
_MOST_FINDINGS = 50
_CRITERIA = {"min_value": " at least", "max_share_losing": " losing"} | {
    **dict.fromkeys(("max_changed_share", "max_moved_discount"), " at most"),
    **dict.fromkeys(("min_changed_share", "min_rbo"), " at least"),
}

Row = Mapping[str, Any]


def verdict_table(verdict: Mapping[str, Any], several: bool = False) -> TextTable:
    """The table of a verdict, as JSON has it; with the name of its night if it stands among several.

    What speaks against the night comes first, and is never left out.
    """
    of_night = f"{verdict['dataset']} of {verdict['evaluated_on']}: " if several else ""
    findings = sorted(verdict["findings"], key=lambda finding: _ORDER.index(finding["effect"]))
    shown = max(_MOST_FINDINGS, sum(finding["effect"] != "pass" for finding in findings))
    more = len(findings) - shown
    notes = [f"{more:,} more findings pass; --format json has all"] if more > 0 else []
    notes += [f"{of_night}{in_words(verdict)}: {verdict['reason']}"]
    notes += [f"warning: {warning}" for warning in verdict["warnings"]]
    columns = [
        name("check", _check),
        name("run", lambda finding: finding["run"] or "-"),
        name("against", _baseline),
        number("measured", lambda finding: _as_difference(finding, "value"), str),
        number("allowed", lambda finding: _as_difference(finding, "threshold"), str),
        number("low", lambda finding: _as_difference(finding, "interval_low"), str),
        number("high", lambda finding: _as_difference(finding, "interval_high"), str),
        number("p", "p_adjusted", lambda p: "-" if p is None else f"{p:.2g}"),
        number("queries", form=counted),
        name("finding", lambda each: f"{'no verdict' if each['effect'] == 'none' else each['effect']}: {each['code']}"),
    ]
    return text_table(columns, findings[:shown], notes, is_whole=True)


def rehearsal_table(counts: Sequence[Row]) -> TextTable:
    """The table of a rehearsal: how many nights had which verdict, and why."""
    columns = [
        name("dataset"),
        name("verdict", in_words),
        name("why", lambda row: row["code"]),
        number("nights", form=counted),
        number("share", form=lambda share: f"{share:.1%}"),
        name("last"),
    ]
    return text_table(columns, counts, is_whole=True)


def in_words(verdict: Mapping[str, Any]) -> str:
    """A verdict in one or two words, and whether somebody has accepted its night as a baseline all the same."""
    word = "no verdict" if verdict["verdict"] == "none" else str(verdict["verdict"])
    return f"{word} (accepted)" if verdict.get("accepted") else word


def _check(finding: Row) -> str:
    measured = f"{finding['measure']}@{finding['cutoff']}" if finding["measure"] else finding["criterion"]
    parts = ("weighted" if finding.get("weighted") else None, measured, finding["slice"])
    return " ".join(part for part in parts if part) + _CRITERIA.get(finding["criterion"], "")


def _baseline(finding: Row) -> str:
    night = finding["baseline_night"] if finding["baseline_night"] != finding["baseline"] else None
    return " ".join(part for part in (finding["baseline"], night) if part) or "-"


def _as_difference(finding: Row, key: str) -> str:
    sign = "+" if finding["criterion"] == "drop" else ""
    return "-" if finding[key] is None else format(finding[key], f"{sign}z.4f")

"""A verdict of the gate as a table: a row per result, with what was measured and what is allowed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.tables.table import TextTable, counted, name, number, signed, text_table

_ORDER = ("fail", "undecided", "not_comparable", "pass")
#: More results are shown only if they are no pass.
_MAX_RESULTS = 50

Row = Mapping[str, Any]


def verdict_table(verdict: Mapping[str, Any], several: bool = False) -> TextTable:
    """The table of a verdict, as JSON has it; with the name of its night if it stands among several.

    What is no pass comes first, and is never left out.
    """
    of_night = f"{verdict['dataset']} of {verdict['evaluated_on']}: " if several else ""
    results = worst_results(verdict["results"], passes=True)
    shown = max(_MAX_RESULTS, sum(result["result"] != "pass" for result in results))
    more = len(results) - shown
    notes = [f"{more:,} more results pass; --format json has all"] if more > 0 else []
    notes += [f"{of_night}{in_words(verdict)}: {verdict['sentence']}"]
    notes += [f"warning: {warning}" for warning in verdict["warnings"]]
    columns = [
        name("check", _check),
        name("run", lambda result: result["run"] or "-"),
        name("against", _baseline),
        number("mean"),
        number("difference", form=signed),
        number("allowed", lambda result: None if result["allowed"] is None else -result["allowed"], signed),
        number("low", "interval_low", signed),
        number("high", "interval_high", signed),
        number("p", "p", lambda p: "-" if p is None else f"{p:.2g}"),
        number("queries", form=counted),
        name("result", _result),
    ]
    return text_table(columns, results[:shown], notes, is_whole=True)


def worst_results(results: Iterable[Row], passes: bool = False) -> list[Row]:
    """The results that are no pass, the worst first: failures, then what is undecided; the largest drop first.

    With `passes`, those that pass come last.
    """
    found = [result for result in results if passes or result["result"] != "pass"]
    # Checks that only warn come after the others.
    return sorted(
        found,
        key=lambda each: (_ORDER.index(each["result"]), each["severity"] != "fail", each["difference"] or 0.0),
    )


def rehearsal_table(counts: Sequence[Row]) -> TextTable:
    """The table of a rehearsal: how many nights had which verdict, and why."""
    columns = [
        name("dataset"),
        name("verdict", in_words),
        name("why", lambda row: row["reason"] or "-"),
        number("nights", form=counted),
    ]
    return text_table(columns, counts, is_whole=True)


def in_words(verdict: Mapping[str, Any]) -> str:
    """A verdict in one or two words, and whether somebody has accepted its night as a baseline all the same."""
    word = "no verdict" if verdict["verdict"] == "none" else str(verdict["verdict"])
    return f"{word} (accepted)" if verdict.get("accepted") else word


def _result(result: Row) -> str:
    word = result["result"].replace("_", " ")
    warns = "warning: " if result["severity"] == "warn" and word != "pass" else ""
    return f"{warns}{word}" + ("" if result["reason"] is None else f", {result['reason']}")


def _check(result: Row) -> str:
    if not result["measure"]:
        return "arrival"
    parts = ("weighted" if result["weighted"] else None, f"{result['measure']}@{result['cutoff']}", result["slice"])
    return " ".join(part for part in parts if part)


def _baseline(result: Row) -> str:
    if result["measure"] and result["baseline"] is None:
        return "the least value"
    night = result["baseline_night"] if result["baseline_night"] != result["baseline"] else None
    return " ".join(part for part in (result["baseline"], night) if part) or "-"

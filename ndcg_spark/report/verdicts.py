"""How verdicts of the gate are printed, and written as JUnit XML, which CI servers show as tests."""

import dataclasses
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from ndcg_spark.errors import DONE
from ndcg_spark.gate.verdict import FAIL, PASS, Result, Verdict
from ndcg_spark.report.console import print_view, write_file
from ndcg_spark.tables.table import Table, make_table, verdict_in_words
from ndcg_spark.tables.writers import View
from ndcg_spark.text import message

Row = Mapping[str, Any]
#: The columns of a result in CSV, and those that are shown.
_COLUMNS = ("dataset", "evaluated_on", "verdict", *(field.name for field in dataclasses.fields(Result)))
_SHOWN = (
    *("check", "run", "against", "mean", "difference", "allowed", "interval_low", "interval_high", "p", "queries"),
    "result",
)
_ORDER = ("fail", "undecided", "not_comparable", "pass")
_REHEARSED = ("dataset", "evaluated_on", "verdict", "reason", "run", "sentence")


def verdict_view(verdicts: Sequence[Verdict]) -> View:
    """The verdicts, a row for each result."""
    values = [verdict.as_json() for verdict in verdicts]
    results = [{**value, **result} for value in values for result in value["results"]]
    tables = [verdict_table(value, len(values) > 1) for value in values]
    return View(tables, values, _COLUMNS, results)


def verdict_table(verdict: Row, several: bool = False) -> Table:
    """The table of a verdict, as JSON has it, what is no pass first; with its night if it stands among several."""
    # Checks that only warn come after the others, and the largest drop first.
    results: list[Row] = sorted(
        verdict["results"],
        key=lambda row: (_ORDER.index(row["result"]), row["severity"] != "fail", row["difference"] or 0.0),
    )
    night = f"{verdict['dataset']} of {verdict['evaluated_on']}: " if several else ""
    notes = [f"{night}{verdict_in_words(verdict)}: {verdict['sentence']}"]
    notes += [f"warning: {warning}" for warning in verdict["warnings"]]
    return make_table(list(map(_cells, results)), _SHOWN, notes)


def _cells(result: Row) -> dict[str, Any]:
    measure = result["measure"] and f"{result['measure']}@{result['cutoff']}"
    check = ("weighted" if result["weighted"] else None, measure, result["slice"])
    against = dict.fromkeys(filter(None, (result["baseline"], result["baseline_night"])))
    word = result["result"].replace("_", " ")
    warns = "warning: " if result["severity"] == "warn" and word != "pass" else ""
    return {
        **result,
        "check": " ".join(filter(None, check)) if measure else "arrival",
        "against": "the minimum" if measure and not against else " ".join(against) or None,
        "allowed": None if result["allowed"] is None else -result["allowed"],
        "result": f"{warns}{word}" + ("" if result["reason"] is None else f", {result['reason']}"),
    }


def print_rehearsal(verdicts: Sequence[Verdict], style: str) -> None:
    """Print how many nights had which verdict and why; as JSON and CSV each night with its verdict."""
    rows = [{name: getattr(verdict, name) for name in _REHEARSED} for verdict in verdicts]
    counted = Counter((verdict.dataset, verdict.verdict, verdict.reason) for verdict in verdicts)
    counts = [
        {"dataset": dataset, "verdict": verdict_in_words({"verdict": word}), "reason": reason, "nights": nights}
        for (dataset, word, reason), nights in sorted(counted.items(), key=lambda pair: (pair[0][0], -pair[1]))
    ]
    print_view(View([make_table(counts)], rows, _REHEARSED, rows), style)


def write_junit(file: Path, verdicts: Iterable[Verdict]) -> None:
    """Write the verdicts; a check that fails is a failure, and one without a result that can decide is an error."""
    suites = ET.Element("testsuites", name="ndcg-spark gate")
    for verdict in verdicts:
        suite = ET.SubElement(suites, "testsuite", name=message(f"{verdict.dataset} of {verdict.evaluated_on}"))
        for result in verdict.results:
            _add_case(suite, result, verdict)
        if verdict.exit_code != DONE and not suite.findall("testcase/failure") + suite.findall("testcase/error"):
            # All checks only warn, and none has measured anything.
            case = ET.SubElement(suite, "testcase", classname="gate", name="verdict")
            ET.SubElement(case, "error", type=str(verdict.reason), message=message(verdict.sentence))
        for name, tag in (("tests", "testcase"), ("failures", "testcase/failure"), ("errors", "testcase/error")):
            suite.set(name, str(len(suite.findall(tag))))
    ET.indent(suites)
    content = io.BytesIO()
    ET.ElementTree(suites).write(content, encoding="utf-8", xml_declaration=True)
    write_file("junit", file, content.getvalue())


def _add_case(suite: ET.Element, result: Result, verdict: Verdict) -> None:
    cells = _cells(vars(result))
    against = f"against {result.baseline}" if result.baseline else "at least" if result.measure else None
    name = " ".join(filter(None, (cells["check"] if result.measure else result.reason, result.run, against)))
    case = ET.SubElement(suite, "testcase", classname=message(result.check), name=message(name))
    is_accepted = result.result != FAIL and verdict.accepted is not None
    if result.result != PASS and result.severity == FAIL and not is_accepted:
        tag = "failure" if result.result == FAIL else "error"
        ET.SubElement(case, tag, type=str(result.reason), message=message(result.sentence))
    else:
        word = "pass" if result.result == PASS else "warning" if result.severity != FAIL else "accepted"
        ET.SubElement(case, "system-out").text = message(f"{word}: {result.sentence}")

"""How verdicts are printed, and written as JUnit XML, which CI servers show as tests: a suite per night."""

import io
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from ndcg_spark.errors import DONE, ConfigurationError
from ndcg_spark.gate.verdict import FAIL, PASS, Result, Verdict, counted
from ndcg_spark.report import files
from ndcg_spark.report.console import print_result
from ndcg_spark.tables.verdicts import rehearsal_table, verdict_table
from ndcg_spark.text import message
from ndcg_spark.views import View

#: The columns of a result in CSV.
_COLUMNS = (
    *("dataset", "evaluated_on", "verdict", "check", "run", "baseline", "baseline_night", "measure", "cutoff", "slice"),
    *("weighted", "severity", "result", "reason", "mean", "baseline_mean", "difference", "allowed"),
    *("interval_low", "interval_high", "p", "queries", "sentence"),
)


def verdict_view(verdicts: Sequence[Verdict]) -> View:
    """The verdicts, a row for each result."""
    values = [verdict.as_json() for verdict in verdicts]
    results = [{**value, **result} for value in values for result in value["results"]]
    return View(
        lambda: [verdict_table(value, len(values) > 1) for value in values], lambda: values, _COLUMNS, lambda: results
    )


def print_rehearsal(verdicts: Sequence[Verdict], style: str) -> None:
    """Print how many nights had which verdict and why; as JSON and CSV each night with its verdict."""
    names = ("dataset", "evaluated_on", "verdict", "reason", "run", "sentence")
    rows = [{column: value[column] for column in names} for value in (verdict.as_json() for verdict in verdicts)]
    print_result(style, lambda: [rehearsal_table(counted(verdicts))], lambda: rows, names, rows)


def refuse_unwritable(file: Path) -> None:
    """ConfigurationError if the file cannot be written; what an earlier night has left there is removed."""
    files.refuse_unwritable("junit", file)
    try:
        if file.expanduser().is_file():
            file.expanduser().unlink()
    except OSError as error:
        raise ConfigurationError(f"junit: {file} cannot be removed, {error.strerror}; check --junit") from error


def write_junit(file: Path, verdicts: Sequence[Verdict]) -> None:
    """Write the verdicts; a check that fails is a failure, and one without a result that can decide is an error."""
    suites = ET.Element("testsuites", name="ndcg-spark gate")
    for verdict in verdicts:
        suite = ET.SubElement(suites, "testsuite", name=message(f"{verdict.dataset} of {verdict.evaluated_on}"))
        for result in verdict.results:
            _case(suite, result, verdict)
        if verdict.exit_code != DONE and not suite.findall("testcase/failure") + suite.findall("testcase/error"):
            # All checks only warn, and none has measured anything.
            case = ET.SubElement(suite, "testcase", classname="gate", name="verdict")
            ET.SubElement(case, "error", type=str(verdict.reason), message=message(verdict.sentence))
        for name, tag in (("tests", "testcase"), ("failures", "testcase/failure"), ("errors", "testcase/error")):
            suite.set(name, str(len(suite.findall(tag))))
    ET.indent(suites)
    content = io.BytesIO()
    ET.ElementTree(suites).write(content, encoding="utf-8", xml_declaration=True)
    files.write_file("junit", file, content.getvalue())


def _case(suite: ET.Element, result: Result, verdict: Verdict) -> None:
    where = [
        *(["weighted"] if result.weighted else []),
        *([f"{result.measure}@{result.cutoff}"] if result.measure else [str(result.reason)]),
    ]
    against = f"against {result.baseline}" if result.baseline else "at least" if result.measure else None
    where += [part for part in (result.run, result.slice, against) if part]
    case = ET.SubElement(suite, "testcase", classname=message(result.check), name=message(" ".join(where)))
    is_accepted = result.result != FAIL and verdict.accepted is not None
    if result.result != PASS and result.severity == FAIL and not is_accepted:
        problem = ET.SubElement(case, "failure" if result.result == FAIL else "error", type=str(result.reason))
        problem.set("message", message(result.sentence))
    else:
        word = "pass" if result.result == PASS else "warning" if result.severity != FAIL else "accepted"
        ET.SubElement(case, "system-out").text = message(f"{word}: {result.sentence}")

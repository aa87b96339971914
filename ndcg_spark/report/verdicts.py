"""How verdicts are printed, and written as JUnit XML, which CI servers show as tests: a suite per night."""

import io
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from ndcg_spark.errors import DONE, ConfigurationError
from ndcg_spark.gate.verdict import Effect, Finding, Verdict, counted
from ndcg_spark.report import files
from ndcg_spark.report.console import print_result
from ndcg_spark.tables.verdicts import rehearsal_table, verdict_table
from ndcg_spark.text import message
from ndcg_spark.views import View

_AGAINST = (Effect.FAIL, Effect.NONE)
#: The columns of a finding in CSV; its reason is the sentence.
_COLUMNS = (
    *("dataset", "evaluated_on", "verdict", "check", "run", "baseline", "baseline_night", "measure", "cutoff", "slice"),
    *("weighted", "criterion", "rule", "severity", "outcome", "effect", "code", "value", "threshold"),
    *("mean", "baseline_mean"),
    *("interval_low", "interval_high", "p_value", "p_adjusted", "minimum_detectable", "queries", "unpaired_queries"),
    "reason",
)


def print_verdicts(verdicts: Sequence[Verdict], style: str) -> None:
    """Print verdicts; in CSV there is a row for each finding."""
    view = verdict_view(verdicts)
    print_result(style, view.tables, view.json, view.columns, view.rows())


def verdict_view(verdicts: Sequence[Verdict]) -> View:
    """The verdicts, a row for each finding."""
    values = [verdict.as_json() for verdict in verdicts]
    findings = [{**value, **finding} for value in values for finding in value["findings"]]
    return View(
        lambda: [verdict_table(value, len(values) > 1) for value in values], lambda: values, _COLUMNS, lambda: findings
    )


def print_rehearsal(verdicts: Sequence[Verdict], style: str) -> None:
    """Print how many nights had which verdict and why; as JSON and CSV each night with its verdict."""
    names = ("dataset", "evaluated_on", "verdict", "code", "reason")
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
    """Write the verdicts; a finding that decides against a night is a failure, or an error if there is no verdict.

    Raises
    ------
    StorageError
        The file cannot be written.
    """
    suites = ET.Element("testsuites", name="ndcg-spark gate")
    for verdict in verdicts:
        suite = ET.SubElement(suites, "testsuite", name=_text(f"{verdict.dataset} of {verdict.evaluated_on}"))
        for finding in verdict.findings:
            _case(suite, finding, verdict)
        if not any(finding.effect in _AGAINST for finding in verdict.findings):
            # Such as a gate without checks, or a night that is accepted.
            _verdict_case(suite, verdict)
        for name, tag in (("tests", "testcase"), ("failures", "testcase/failure"), ("errors", "testcase/error")):
            suite.set(name, str(len(suite.findall(tag))))
    ET.indent(suites)
    content = io.BytesIO()
    ET.ElementTree(suites).write(content, encoding="utf-8", xml_declaration=True)
    files.write_file("junit", file, content.getvalue())


def _case(suite: ET.Element, finding: Finding, verdict: Verdict) -> None:
    where = [
        finding.criterion,
        *(["weighted"] if finding.weighted else []),
        *([f"{finding.measure}@{finding.cutoff}"] if finding.measure else []),
    ]
    where += [part for part in (finding.run, finding.slice, finding.baseline and f"against {finding.baseline}") if part]
    case = ET.SubElement(suite, "testcase", classname=_text(finding.check), name=_text(" ".join(where)))
    is_accepted = finding.effect is Effect.NONE and verdict.accepted is not None
    if finding.effect in _AGAINST and not is_accepted:
        tag = "failure" if finding.effect is Effect.FAIL else "error"
        problem = ET.SubElement(case, tag, type=str(finding.code))
        problem.set("message", _text(finding.reason))
    else:
        ET.SubElement(case, "system-out").text = _text(
            f"{'accepted' if is_accepted else finding.effect}: {finding.reason}"
        )


def _verdict_case(suite: ET.Element, verdict: Verdict) -> None:
    case = ET.SubElement(suite, "testcase", classname="gate", name="verdict")
    if verdict.exit_code == DONE:
        ET.SubElement(case, "system-out").text = _text(verdict.reason)
    else:
        ET.SubElement(case, "error", type=verdict.code, message=_text(verdict.reason))


def _text(text: str) -> str:
    """Text without the characters that XML does not have, and without secrets."""
    return message(text)

"""Verdicts as JUnit XML, which CI servers show as tests: a suite per night, a case per finding."""

import io
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from ndcg_spark.errors import DONE, ConfigurationError
from ndcg_spark.gate.verdict import Effect, Finding, Verdict
from ndcg_spark.plain import message
from ndcg_spark.report import files

_AGAINST = (Effect.FAIL, Effect.NONE)


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

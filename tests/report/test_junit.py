"""Verdicts as JUnit XML: as a CI server reads them, whatever stands in a name."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from gates import YESTERDAY, against, gate, night, row, spread, verdict
from ndcg_spark.gate.decision import decide

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.verdicts import refuse_unwritable, write_junit

DROPPED, SAME = spread(-0.05, 0.05), spread(0.0, 0.01)
ODD = 'a<b>&"c\x1b\u202e'


def suite(tmp_path, *verdicts):
    write_junit(tmp_path / "gate.xml", verdicts)
    (found,) = ET.parse(tmp_path / "gate.xml").getroot()  # noqa: S314  # we have written it
    return found


def test_a_failure_is_a_failure_a_pass_passes_and_what_was_not_measured_is_an_error(tmp_path):
    runs = ["bad", "good", "gone"]
    checked = gate({"max_drop": 0.01, "runs": runs})
    nights = {"tonight": night(runs=runs[:2]), "night": night(YESTERDAY, runs=runs)}
    found = suite(tmp_path, verdict(checked, row(DROPPED, run="bad"), row(SAME, run="good"), **nights))
    assert [found.get(name) for name in ("tests", "failures", "errors")] == ["3", "1", "1"]
    bad, good, gone = found
    assert bad.find("failure").get("type") == "dropped"
    assert [child.tag for child in good] == ["system-out"]
    assert gone.find("error").get("type") == "missing_run"


def test_a_warning_passes_and_is_told(tmp_path):
    found = suite(tmp_path, verdict(gate({"max_drop": 0.01, "severity": "warn"}), row(DROPPED)))
    assert (found.get("failures"), found.get("errors")) == ("0", "0")
    assert found.find("testcase/system-out").text.startswith("warning: ndcg@10 of hybrid fell by 0.0500")


def test_a_gate_without_checks_is_an_error(tmp_path):
    found = suite(tmp_path, verdict(gate().model_copy(update={"check": ()})))
    assert (found.get("errors"), found.find("testcase/error").get("type")) == ("1", "no_checks")


def test_results_of_yesterday_fail_a_gate_without_checks_in_the_exit_code_too(tmp_path):
    empty = gate(on_same_results="fail").model_copy(update={"check": ()})
    stale = verdict(empty, night=night(YESTERDAY, results="same"), tonight=night(results="same"))
    assert (suite(tmp_path, stale).get("failures"), stale.exit_code) == ("1", 5)


def test_a_night_that_was_accepted_passes(tmp_path):
    first = gate()
    found = suite(tmp_path, decide(first, night(), [against(first, night=None)], "the first night"))
    assert (found.get("tests"), found.get("errors")) == ("1", "0")
    assert found.find("testcase/system-out").text.startswith("accepted: there is no earlier night")


def test_no_name_breaks_the_xml_or_loses_a_letter(tmp_path):
    odd = row(DROPPED, run=ODD)
    checked = gate({"max_drop": 0.01, "runs": [ODD]})
    tonight = night(runs=[ODD])
    found = suite(tmp_path, verdict(checked, odd, tonight=tonight, night=night(YESTERDAY, runs=[ODD])))
    assert found[0].get("name") == 'drop ndcg@10 a<b>&"c\\x1b\\u202e against last_good'


def test_a_file_of_an_earlier_night_is_removed_and_one_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "gate.xml").write_text("of yesterday", encoding="utf-8")
    refuse_unwritable(tmp_path / "gate.xml")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"junit: .*file/gate.xml cannot be written, .*; check --junit"):
        refuse_unwritable(tmp_path / "file" / "gate.xml")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_device_is_no_file_of_an_earlier_night_and_stays():
    refuse_unwritable(Path("/dev/null"))
    assert Path("/dev/null").is_char_device()

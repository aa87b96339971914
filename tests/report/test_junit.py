"""Verdicts as JUnit XML: as a CI server reads them, whatever stands in a name."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from gates import result, verdict

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.verdicts import refuse_unwritable, write_junit

ODD = 'a<b>&"c\x1b\u202e'


def suite(tmp_path, *verdicts):
    write_junit(tmp_path / "gate.xml", verdicts)
    (found,) = ET.parse(tmp_path / "gate.xml").getroot()  # noqa: S314  # we have written it
    return found


def test_results_as_cases(tmp_path):
    dropped, gone = result("fail", "dropped"), result("not_comparable", "missing_run", measure=None, baseline=None)
    warned = result("fail", "dropped", severity="warn")
    found = suite(tmp_path, verdict(dropped, result(), gone, warned))
    assert [found.get(name) for name in ("name", "tests", "failures", "errors")] == [
        *("web of 2026-11-20", "4", "1", "1")
    ]
    assert [(each.get("name"), each[0].tag, each[0].get("type") or each[0].text) for each in found] == [
        ("ndcg@10 hybrid against good", "failure", "dropped"),
        ("ndcg@10 hybrid against good", "system-out", "pass: a sentence"),
        ("missing_run hybrid", "error", "missing_run"),
        ("ndcg@10 hybrid against good", "system-out", "warning: a sentence"),
    ]


def test_checks_that_only_warn_and_measure_nothing_are_an_error(tmp_path):
    found = suite(tmp_path, verdict(result("not_comparable", "no_baseline", severity="warn")))
    assert (found.get("tests"), found.find("testcase/error").get("type")) == ("2", "no_baseline")


def test_a_night_that_was_accepted_passes(tmp_path):
    found = suite(tmp_path, verdict(result("not_comparable", "no_baseline"), accepted="the first", exit_code=0))
    assert (found.get("tests"), found.get("errors"), found[0][0].text) == ("1", "0", "accepted: a sentence")


def test_no_name_breaks_the_xml_or_loses_a_letter(tmp_path):
    found = suite(tmp_path, verdict(result(run=ODD)))
    assert found[0].get("name") == 'ndcg@10 a<b>&"c\\x1b\\u202e against good'


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

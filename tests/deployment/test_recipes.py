"""The recipes: what their page shows is run as it stands there."""

import json
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import pytest
from commands import command_line

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ndcg_spark/RECIPES.md").read_text(encoding="utf-8")


def block(section, language):
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    (found,) = re.findall(rf"^```{language}\n(.*?)```", text, flags=re.DOTALL | re.MULTILINE)
    return found


class DagsterError(Exception):
    """Dagster's Failure, of which the description and the retries are looked at."""

    def __init__(self, description, allow_retries):
        super().__init__(description)
        self.allow_retries = allow_retries


@pytest.fixture
def materialize(monkeypatch):
    """The asset of the page, with stand-ins for Dagster and for a program that ends with a code and prints a night."""
    dagster = types.SimpleNamespace(
        **dict.fromkeys(("AssetCheckResult", "MaterializeResult", "AssetExecutionContext"), types.SimpleNamespace),
        **dict.fromkeys(
            ("AssetCheckSpec", "DailyPartitionsDefinition", "Definitions", "RetryPolicy"), lambda *_, **__: None
        ),
        AssetCheckSeverity=types.SimpleNamespace(WARN="WARN", ERROR="ERROR"),
        Backoff=types.SimpleNamespace(EXPONENTIAL=None),
        Failure=DagsterError,
        asset=lambda **_: lambda function: function,
    )
    monkeypatch.setitem(sys.modules, "dagster", dagster)
    names = {}
    exec(block("Dagster", "python"), names)  # noqa: S102  # our own page

    def result(code, **night):
        printed = json.dumps({"dataset_scores": [], **night}).encode()
        monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, code, printed))
        return names["ndcg"](types.SimpleNamespace(partition_key="2026-11-20"))

    return result


@pytest.mark.parametrize(("code", "passed", "severity"), [(0, True, "ERROR"), (5, False, "ERROR"), (6, False, "WARN")])
def test_the_check_of_a_dagster_asset_is_the_verdict_of_the_gate(materialize, code, passed, severity):
    row = {"dataset": "web", "run": "bm25", "cutoff": None, "ndcg": 0.5}
    found = materialize(code, dataset_scores=[row], verdicts=[{"reason": "as it is"}])
    (check,) = found.check_results
    assert (check.passed, check.severity, check.description) == (passed, severity, "as it is")
    assert found.metadata == {"web bm25 ndcg@all": 0.5}


def test_a_dagster_asset_without_a_gate_does_not_pass_its_check(materialize):
    (check,) = materialize(0).check_results
    assert not check.passed


@pytest.mark.parametrize(("code", "is_retried"), [(1, False), (2, False), (3, False), (4, True), (-9, True)])
def test_a_dagster_asset_retries_what_a_retry_can_cure(materialize, code, is_retried):
    with pytest.raises(DagsterError) as failure:
        materialize(code)
    assert failure.value.allow_retries is is_retried


def test_a_pull_request_gets_the_scores_and_the_verdict_as_its_comment(tmp_path):
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load(block("GitHub Actions", "yaml"))["jobs"]["ndcg"]["steps"]
    (command,) = (step["run"] for step in steps if step.get("run", "").startswith("ndcg-spark"))
    program, *arguments = shlex.split(command.removesuffix(" >comment.md"))
    assert program == "ndcg-spark"
    (tmp_path / "ndcg.toml").write_text(block("GitHub Actions", "toml"), encoding="utf-8")
    (tmp_path / "runs").mkdir()
    queries = range(50)
    lines = {
        "judgments.qrels": [f"q{n} 0 good 1" for n in queries],
        "runs/main.run": [f"q{n} Q0 good 1 2.0 x\nq{n} Q0 bad 2 1.0 x" for n in queries],
        # Three places down in every query: 1 / log2(1 + 1) becomes 1 / log2(4 + 1).
        "runs/branch.run": [f"q{n} Q0 bad{place} {place + 1} {-place} x" for n in queries for place in range(3)]
        + [f"q{n} Q0 good 4 -4 x" for n in queries],
    }
    for name, rows in lines.items():
        (tmp_path / name).write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = command_line(*arguments, cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    assert "| main | 1.0000 | 0.0000 | 50 |" in done.stdout
    assert "| branch | 0.4307 | 0.0000 | 50 |" in done.stdout
    assert "\nfail: ndcg@10 of branch" in done.stdout

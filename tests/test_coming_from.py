"""Every pair of the page for those who come from another tool: the same files, the same number."""

import contextlib
import csv
import functools
import importlib.util
import io
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from programs import command_line

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "ndcg_spark/guides/COMING_FROM.md").read_text(encoding="utf-8")
_ALL = {text.partition("\n")[0]: text for text in PAGE.split("\n## ")[1:]}
OWN_JOB = _ALL["Replacing your own job"]
RANKERS = _ALL["Rankers"]
#: The sections that have a pair.
SECTIONS = {name: text for name, text in _ALL.items() if text not in (OWN_JOB, RANKERS)}
#: What must be installed for the tool's side of a pair, in the order of the page.
NEEDED = {
    "trec_eval": None,
    "ir_measures": "ir_measures",
    "BEIR and MTEB": "beir",
    "ranx": "ranx",
    "PyTerrier": "pyterrier",
    "MLlib": "pyspark",
    "scikit-learn": "sklearn",
    "RecTools": "rectools",
    "A job of your own": "pandas",
}


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)
    # What the tools warn of is theirs.
    monkeypatch.setattr("warnings.filters", [])


def number(section):
    return float(re.search(r"^Both: (\d\.\d{4})\.", section, re.MULTILINE)[1])


def test_the_page_has_a_pair_for_every_tool():
    assert list(SECTIONS) == list(NEEDED)


@functools.cache
def rows_of(command):
    """What our command prints; two sections have the same one."""
    done = command_line(*shlex.split(command), "--engine", "embedded", "--format", "csv", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def our_command(section):
    (command,) = re.findall(r"```sh\nndcg-spark (.*?)\n```", section)
    return command


@pytest.mark.parametrize("tool", SECTIONS)
def test_our_command_prints_the_number_of_the_page(tool):
    (row,) = rows_of(our_command(SECTIONS[tool]))
    assert float(row["ndcg"]) == pytest.approx(number(SECTIONS[tool]), abs=5e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tool", [tool for tool in SECTIONS if tool not in ("trec_eval", "MLlib")])
def test_so_does_the_tool(tool):
    assert printed_by(tool, SECTIONS[tool])[-1] == pytest.approx(number(SECTIONS[tool]), abs=5e-5)


@pytest.mark.classic
@pytest.mark.usefixtures("session")
def test_so_does_mllib():
    # Its program takes the session that runs.
    assert printed_by("MLlib", SECTIONS["MLlib"])[-1] == pytest.approx(
        number(SECTIONS["MLlib"]), abs=5e-5
    )


def printed_by(tool, section):
    """The numbers that the program of a section prints."""
    if importlib.util.find_spec(NEEDED[tool]) is None:
        pytest.skip(f"{tool} is not installed")
    (program,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, tool, "exec"), {})  # noqa: S102  # the page's own program
    return [float(word) for word in printed.getvalue().split() if word[0].isdigit()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tool", ["lightgbm", "xgboost", "catboost"])
def test_a_table_of_a_ranker_has_the_number_of_the_ranker(tool):
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed")
    first, *programs = re.findall(r"```python\n(.*?)```", RANKERS, re.DOTALL)
    (program,) = [text for text in programs if re.search(rf"^import {tool}$", text, re.MULTILINE)]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(first + program, tool, "exec"), {})  # noqa: S102  # the page's own program
    theirs, ours = map(float, printed.getvalue().split())
    assert ours == pytest.approx(theirs, abs=1e-9)
    assert 0 < ours < 1


def test_so_does_trec_eval():
    if shutil.which("trec_eval") is None:
        pytest.skip("trec_eval is not installed")
    section = SECTIONS["trec_eval"]
    (command,) = re.findall(r"```sh\n(trec_eval .*?)\n```", section)
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=True)
    printed = {line.split()[0]: float(line.split()[-1]) for line in done.stdout.splitlines()}
    assert printed["ndcg_cut_10"] == number(section)


def test_the_convention_of_the_job_on_the_page_is_found(tmp_path, monkeypatch):
    (program,) = re.findall(r"```python\n(.*?)```", SECTIONS["A job of your own"], re.DOTALL)
    (line,) = re.findall(r"```python\n(.*?)```", OWN_JOB, re.DOTALL)
    (command, answer) = re.findall(r"```console\n\$ ndcg-spark (.*?)\n(.*?)\n```", OWN_JOB)[0]
    shutil.copytree(ROOT / "conf/example", tmp_path / "conf/example")
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(program + line, {})  # noqa: S102  # what the page shows
    done = command_line(*shlex.split(command), "--engine", "embedded", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].strip() == answer
    written = (tmp_path / "conf/old-job.toml").read_text(encoding="utf-8")
    assert 'ideal = "retrieved_at_k"' in written

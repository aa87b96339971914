"""Every pair of the page for those who come from another tool: the same files, the same number."""

import contextlib
import csv
import importlib.util
import io
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from ndcg_spark import cli

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "ndcg_spark" / "COMING_FROM.md").read_text(encoding="utf-8")
SECTIONS = {text.partition("\n")[0]: text for text in PAGE.split("\n## ")[1:]}
#: What must be installed for the tool's side of a pair, in the order of the page.
NEEDED = {
    "trec_eval": None,
    "ir_measures": "ir_measures",
    "ranx": "ranx",
    "PyTerrier": "pyterrier",
    "MLlib": "pyspark",
    "RecTools": "rectools",
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


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("tool", SECTIONS)
def test_our_command_prints_the_number_of_the_page(capsys, tool):
    (command,) = re.findall(r"```sh\nndcg-spark (.*?)\n```", SECTIONS[tool])
    with pytest.raises(SystemExit) as ended:
        cli.main([*shlex.split(command), "--format", "csv"])
    assert ended.value.code == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert float(row["ndcg"]) == pytest.approx(number(SECTIONS[tool]), abs=5e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("tool", [tool for tool in SECTIONS if tool != "trec_eval"])
def test_so_does_the_tool(tool):
    if importlib.util.find_spec(NEEDED[tool]) is None:
        pytest.skip(f"{tool} is not installed")
    (program,) = re.findall(r"```python\n(.*?)```", SECTIONS[tool], re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, tool, "exec"), {})  # noqa: S102  # the page's own program
    assert float(printed.getvalue().split()[-1]) == pytest.approx(number(SECTIONS[tool]), abs=5e-5)


def test_so_does_trec_eval():
    if shutil.which("trec_eval") is None:
        pytest.skip("trec_eval is not installed")
    (command,) = re.findall(r"```sh\n(trec_eval .*?)\n```", SECTIONS["trec_eval"])
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=True)
    assert float(done.stdout.split()[-1]) == number(SECTIONS["trec_eval"])

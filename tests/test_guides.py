"""The guides: links lead somewhere, and what the README shows in Python runs as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ndcg_spark.convention.options import OPTIONS
from ndcg_spark.rules import RULES
from ndcg_spark.schemas import COMPARISONS, KEPT
from ndcg_spark.tables.comparison_notes import FLAGS

ROOT = Path(__file__).parents[1]
GUIDES = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in (
        "README.md",
        "ndcg_spark/README.md",
        "ndcg_spark/REFERENCE.md",
        "ndcg_spark/COMING_FROM.md",
        "ndcg_spark/MEASURES.md",
        "ndcg_spark/EXPLAINING.md",
        "ndcg_spark/COMPARING.md",
        "ndcg_spark/JUDGMENTS.md",
        "ndcg_spark/CHANGELOG.md",
        "ndcg_spark/RECIPES.md",
        "ndcg_spark/STABILITY.md",
        "conf/README.md",
        "scripts/benchmark/README.md",
        "tests/README.md",
        ".github/CONTRIBUTING.md",
    )
}


def without_code(text):
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text):
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", without_code(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("guide", GUIDES)
def test_a_link_leads_to_a_file_and_a_heading_that_are_there(guide):
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(GUIDES[guide])):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (ROOT / guide).parent / path if path else ROOT / guide
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            lost.append(link)
    assert lost == []


@pytest.mark.parametrize("guide", GUIDES)
def test_a_file_that_is_named_is_there(guide):
    named = re.findall(r"`((?:\.github|conf|jobs|ndcg_spark|scripts|tests)/[\w/.-]*)", GUIDES[guide])
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_readme_is_short_enough_for_a_first_reading():
    assert len(GUIDES["README.md"].splitlines()) <= 150


def test_the_python_of_the_readme_runs_and_prints_the_ndcg_computed_by_hand():
    program = "".join(re.findall(r"```python\n(.*?)```", GUIDES["README.md"], flags=re.DOTALL))
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "0.9508496028518" in done.stdout
    assert "10.2914881752750" in done.stdout


@pytest.mark.parametrize("table", KEPT)
def test_the_guide_describes_every_column_of_a_table(table):
    section = GUIDES["ndcg_spark/REFERENCE.md"].partition(f"**`{table}`**:")[2]
    section = re.split(r"\n\*\*|\n## ", section)[0]
    first_cells = "".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))
    assert sorted(re.findall(r"`(\w+)`", first_cells)) == sorted(KEPT[table].names)


def test_the_guide_describes_every_column_and_flag_of_a_comparison():
    page = GUIDES["ndcg_spark/COMPARING.md"]
    columns, flags = (page.partition(f"## {title}")[2].partition("\n## ")[0] for title in ("What each column", "Flags"))
    first_cells = "".join(line.split("|")[1] for line in columns.splitlines() if line.startswith("| `"))
    assert sorted(re.findall(r"`(\w+)`", first_cells)) == sorted(COMPARISONS.names)
    first_cells = "".join(line.split("|")[1] for line in flags.splitlines() if line.startswith("| `"))
    assert sorted(re.findall(r"`(\w+)`", first_cells)) == sorted(FLAGS)


def test_the_guide_describes_every_option_of_a_convention_with_every_word_it_takes():
    section = GUIDES["ndcg_spark/REFERENCE.md"].partition("### Options")[2].partition("###")[0]
    rows = re.findall(r"^\| `(\w+)` \|(.*)$", section, flags=re.MULTILINE)
    described = {name: re.findall(r"`([\w.]+)`", cells) for name, cells in rows}
    assert list(described) == list(OPTIONS)
    assert {name: [word for word in OPTIONS[name].words if word not in described[name]] for name in OPTIONS} == {
        name: [] for name in OPTIONS
    }


def test_the_guide_describes_every_rule_for_a_row():
    section = GUIDES["ndcg_spark/REFERENCE.md"].partition("## Input contract")[2].partition("\n## ")[0]
    assert [code for code in RULES if f"`{code}`" not in section] == []

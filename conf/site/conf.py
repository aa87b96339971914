"""The documentation site: the Markdown files in their own folders, two notebooks, and the public docstrings.

`scripts/docs.sh` builds it. The source folder is the project's, so a relative link leads to the same file here and on
GitHub.
"""

import contextlib
import io
from pathlib import Path
from typing import Any

import ndcg_spark
from ndcg_spark.cli.commands import app as program

ROOT = Path(__file__).parents[2]

#: The table of contents. A guide in `ndcg_spark/guides/` that it does not name is added to the guides.
GUIDES = "ndcg_spark/guides"
CONTENTS = {
    "First steps": ["conf/site/researcher", "conf/site/recommender", f"{GUIDES}/COMING_FROM"],
    "Guides": [
        "conf/README",
        f"{GUIDES}/GATE",
        f"{GUIDES}/CHANGED_JUDGMENTS",
        f"{GUIDES}/RECIPES",
        f"{GUIDES}/COMPARING",
        f"{GUIDES}/HUMAN_GRADES",
        f"{GUIDES}/CORRECTED",
    ],
    "Reference": [
        f"{GUIDES}/REFERENCE",
        f"{GUIDES}/INPUT",
        f"{GUIDES}/MEASURES",
        "conf/site/commands",
        "conf/site/api",
    ],
    "The project": ["scripts/benchmark/README", f"{GUIDES}/CHANGELOG"],
    "For contributors": [
        "ndcg_spark/README",
        "tests/README",
        ".github/CONTRIBUTING",
        ".github/RELEASING",
    ],
}
_NAMED = {page for pages in CONTENTS.values() for page in pages}
CONTENTS["Guides"] += sorted(
    {f"{GUIDES}/{path.stem}" for path in ROOT.glob(f"{GUIDES}/*.md")} - _NAMED
)

project = html_title = "ndcg_spark"
version = release = ndcg_spark.__version__
root_doc = "README"
# A page among these that is not in the table of contents is an error.
include_patterns = [
    "README.md",
    ".github/*.md",
    "conf/**.md",
    "conf/site/*.ipynb",
    "ndcg_spark/*.md",
    "ndcg_spark/guides/*.md",
    "scripts/**.md",
    "tests/*.md",
]
exclude_patterns = [".git", ".venv", "dist"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]

# Headings get the same anchors as on GitHub.
myst_heading_anchors = 4
# Blocks without a language contain program output.
highlight_language = "text"
# Pygments does not know the structs of DuckDB's SQL.
suppress_warnings = ["misc.highlighting_failure"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
# In seconds per cell. One cell trains a model, and the machine may be busy.
nb_execution_timeout = 300

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
# The docstrings describe the types in words.
autodoc_typehints = "none"
# Docstrings write `code` as Markdown does.
default_role = "literal"
# autodoc documents what a module has, and this one imports its names when they are first used.
vars(ndcg_spark).update({name: getattr(ndcg_spark, name) for name in ndcg_spark.__all__})

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_copyright = False
templates_path = ["templates"]
# Redirects to the README, which is the first page.
html_additional_pages = {"index": "index.html"}


def add_to_page(_: Any, page: str, source: list[str]) -> None:
    """Add content that a page does not show on GitHub: the table of contents, the help of every command, templates."""
    if page == root_doc:
        for caption, pages in CONTENTS.items():
            source[0] += "\n".join(
                ["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""]
            )
    if page == "conf/site/commands":
        for name in sorted(program.commands):
            source[0] += f"\n## {name}\n\n```text\n{_help_of(name)}\n```\n"
    if page == "conf/README":
        # So that a search finds the keys of the configuration.
        source[0] += "\n## The templates\n"
        for name in ("nightly.toml", "gate.toml"):
            source[0] += f"\n```{{literalinclude}} {name}\n:language: toml\n```\n"
    if page == f"{GUIDES}/CHANGELOG":
        # Otherwise, a search would list it before the guides.
        source[0] = f"---\nnosearch: true\n---\n{source[0]}"


def _help_of(command: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
        program.main(
            [command, "--help"], prog_name="ndcg-spark", max_content_width=100, terminal_width=100
        )
    return shown.getvalue().rstrip()


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", add_to_page)

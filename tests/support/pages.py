"""What a test reads in a page of HTML, and in that of the recipes."""

import html.parser
import re
from pathlib import Path

GUIDES = Path(__file__).parents[2] / "ndcg_spark/guides"
RECIPES = GUIDES / "RECIPES.md"


def recipe(heading: str, language: str, guide: str = "RECIPES.md") -> str:
    """The only code in this language below a heading of a guide."""
    page = (GUIDES / guide).read_text(encoding="utf-8")
    below = re.split(rf"^##+ {heading}\n", page, flags=re.MULTILINE)[1]
    text = re.split(r"^##+ ", below, flags=re.MULTILINE)[0]
    (code,) = re.findall(rf"^```{language}\n(.*?)```", text, flags=re.DOTALL | re.MULTILINE)
    return code


class Page(html.parser.HTMLParser):
    """The tags of a page with their attributes, its text, and the rows of all its tables as lists of texts."""

    def __init__(self, page: Path | str) -> None:
        super().__init__()
        self.tags, self.text, self.rows, self.is_cell = [], "", [], False
        self.feed(page if isinstance(page, str) else page.read_text(encoding="utf-8"))
        self.words = " ".join(self.text.split())

    def handle_starttag(self, tag, attrs):
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))
        self.text += " " if tag in ("dd", "dt", "p") else ""
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
            self.is_cell = True

    def handle_endtag(self, tag):
        """Note the end of a cell."""
        self.is_cell = self.is_cell and tag != "td"

    def handle_data(self, data):
        """Note text."""
        self.text += data
        if self.is_cell:
            self.rows[-1][-1] += data

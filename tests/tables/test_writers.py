"""Tables to paste: what a name contains is shown as it is, and is never markup."""

import dataclasses
import html.parser

import pytest

from ndcg_spark.tables.table import name as names
from ndcg_spark.tables.table import number, text_table
from ndcg_spark.tables.writers import html as as_html
from ndcg_spark.tables.writers import latex, markdown


def table(name, notes=()):
    return text_table([names("run", 0), number("ndcg@10", 1)], [[name, 0.5]], notes)


def test_markdown_has_names_on_the_left_and_numbers_on_the_right():
    assert markdown(table("bm25", ["trec_eval: a"])) == [
        "| run | ndcg@10 |",
        "| :--- | ---: |",
        "| bm25 | 0.5000 |",
        "",
        r"trec\_eval: a",
    ]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a|b", r"a\|b"),
        ("_a_*b*", r"\_a\_\*b\*"),
        ("[x](y)", r"\[x\](y)"),
        ("<b>&amp;", r"\<b\>\&amp;"),
        ("`a`\\", r"\`a\`\\"),
        ("~~a~~ $b$", r"\~\~a\~\~ \$b\$"),
        ("a\nb", r"a\\nb"),
    ],
)
def test_markdown_escapes_what_it_would_take_for_markup(name, written):
    assert markdown(table(name))[2] == f"| {written} | 0.5000 |"


def test_latex_is_a_whole_tabular():
    assert latex(table("bm25", ["50 % of it"])) == [
        r"% \usepackage{booktabs}",
        "% 50 % of it",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"run & ndcg@10 \\",
        r"\midrule",
        r"bm25 & 0.5000 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_latex_has_the_best_in_bold_and_superscripts_behind_scores_that_stay_aligned():
    lines = latex(dataclasses.replace(table("bm25"), best={(0, 1)}, superscripts={(0, 1): "**"}))
    assert lines[1] == r"\begin{tabular}{ll}"
    assert lines[5] == r"bm25 & \textbf{0.5000}\textsuperscript{**} \\"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a_b&c%d#e$f", r"a\_b\&c\%d\#e\$f"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("a^b~c", r"a\textasciicircum{}b\textasciitilde{}c"),
        ("<a|b>", r"\textless{}a\textbar{}b\textgreater{}"),
        # These would be arguments of the end of the row above.
        ("[3pt]", "{[}3pt]"),
        ("*", "{*}"),
        # Two hyphens would be a dash.
        ("a--b", "a{-}{-}b"),
        ("a-b", "a-b"),
        ("a\nb", r"a\textbackslash{}nb"),
    ],
)
def test_latex_escapes_what_it_would_take_for_a_command(name, written):
    assert latex(table(name))[5] == rf"{written} & 0.5000 \\"


class Cells(html.parser.HTMLParser):
    """The text of every cell, and every tag that a reader of the page meets."""

    def __init__(self):
        super().__init__()
        self.cells, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.cells += [data] if data.strip() else []


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a&lt;b", "\"'", "bm25"])
def test_html_shows_a_name_as_it_is(name):
    page = Cells()
    page.feed(as_html(table(name, [name])))
    assert page.cells == ["run", "ndcg@10", name, "0.5000", name]
    assert page.tags == {"div", "table", "thead", "tbody", "tr", "th", "td", "p"}

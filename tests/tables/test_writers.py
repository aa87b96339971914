"""Tables to paste: what a name contains is shown as it is, and is never markup."""

import dataclasses

import pytest
from pages import Page

from ndcg_spark.tables.table import name as names
from ndcg_spark.tables.table import number, text_table
from ndcg_spark.tables.writers import html as as_html
from ndcg_spark.tables.writers import latex, markdown, text
from ndcg_spark.text import printable


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


def test_latex_is_a_whole_tabular_with_the_best_in_bold():
    marked = dataclasses.replace(table("bm25", ["50 % of it"]), best={(0, 1)}, superscripts={(0, 1): "**"})
    assert latex(marked) == [
        *(r"% \usepackage{booktabs}", "% 50 % of it", r"\begin{tabular}{ll}", r"\toprule", r"run & ndcg@10 \\"),
        *(r"\midrule", r"bm25 & \textbf{0.5000}\textsuperscript{**} \\", r"\bottomrule", r"\end{tabular}"),
    ]


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


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a&lt;b", "\"'", "\x1b[31mred\n"])
def test_names_are_text_everywhere(name):
    page = Page(as_html(table(name, [name])))
    assert page.rows[1:] == [[printable(name), "0.5000"]]
    assert {tag for tag, _ in page.tags} == {"div", "table", "thead", "tbody", "tr", "th", "td", "p"}
    assert printable(name) in "".join(text(table(name)))

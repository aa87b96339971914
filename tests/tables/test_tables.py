"""Tables to read and to paste: how values are shown, and that what a name contains is never markup."""

import dataclasses

import pytest
from pages import Page

from ndcg_spark.tables.table import Marked, Table, make_table
from ndcg_spark.tables.writers import View, latex, markdown, plain_text
from ndcg_spark.text import printable


def table(name, notes=(), score=0.5):
    return make_table([{"run": name, "ndcg@10": score}], (), notes)


@pytest.mark.parametrize(
    ("heading", "value", "shown"),
    [
        ("ndcg@10", 0.25, "0.2500"),
        ("ndcg@10", None, "-"),
        ("queries", 1234567, "1,234,567"),
        ("cutoff", None, "all"),
        ("difference", 0.01, "+0.0100"),
        ("change", -1e-17, "+0.0000"),
        ("p (adjusted)", 0.00001, "<0.0001"),
        ("gain", 3.0, "3"),
        ("run", "a\x1bb", "a\\x1bb"),
        ("tied", True, "yes"),
        ("tied", False, "no"),
    ],
)
def test_a_value_is_shown_by_its_column_and_type(heading, value, shown):
    assert Table([{heading: value}], [heading]).cells == [[shown]]


def test_columns_without_a_value_and_the_only_dataset_are_left_out():
    rows = [{"dataset": "web", "run_name": "a", "cutoff": None, "mean": None, "n": 0}]
    assert make_table(rows).headings == ["run name", "cutoff", "n"]
    both = make_table([*rows, {**rows[0], "dataset": "shop", "mean": 1.0}])
    assert (both.headings[0], both.cells[0][3], both.numbers) == ("dataset", "-", {2, 3, 4})


def test_a_column_of_yes_and_no_is_aligned_as_text():
    assert Table([{"tied": True, "n": 1}], ["tied", "n"]).numbers == {1}


@pytest.mark.parametrize("title", ["", "Over the datasets"])
def test_what_is_said_above_a_table_is_in_every_form(title):
    said = make_table([{"run": "a"}], (), ["below"], title=title, sentences=["first", "second"])
    page = View([said], None)._repr_html_()
    for written in (*("\n".join(write(said)) for write in (plain_text, markdown, latex)), page):
        places = [written.find(word) for word in (title, "first", "second", "below")]
        assert places == sorted(places)
        assert min(places) >= 0


def test_columns_are_aligned_and_no_line_is_cut():
    rows = [{"run": "r" * 200, "n": 1}, {"run": "検索", "n": 10}]
    heading, latin, wide, _, note = plain_text(make_table(rows, (), ["gain " * 40]))
    # The letters of Japanese are two places wide.
    assert (heading.index(" n"), latin.index(" 1"), wide.index("10"), note) == (
        202,
        202,
        200,
        "gain " * 40,
    )


def test_markdown_has_names_on_the_left_and_numbers_on_the_right():
    assert markdown(table("bm25", ["trec_eval: a"])) == [
        *("| run | ndcg@10 |", "| :--- | ---: |", "| bm25 | 0.5000 |", "", r"trec\_eval: a")
    ]


def test_latex_is_a_whole_tabular_with_the_best_in_bold():
    score = Marked(0.5)
    score.is_best, score.stars = True, "**"
    titled = dataclasses.replace(
        table("bm25", ["50 % of it"], score), title="a\nb", sentences=["c"]
    )
    assert latex(titled) == [
        *(r"% \usepackage{booktabs}", r"% a\nb", "% c", "% 50 % of it"),
        *(r"\begin{tabular}{ll}", r"\toprule", r"run & ndcg@10 \\"),
        *(
            r"\midrule",
            r"bm25 & \textbf{0.5000}\textsuperscript{**} \\",
            r"\bottomrule",
            r"\end{tabular}",
        ),
    ]


@pytest.mark.parametrize(
    ("write", "at", "name", "written"),
    [
        (markdown, 2, "a|b", r"| a\|b |"),
        (markdown, 2, "_a_*b*", r"| \_a\_\*b\* |"),
        (markdown, 2, "[x](y)", r"| \[x\](y) |"),
        (markdown, 2, "<b>&amp;`\\", r"| \<b\>\&amp;\`\\ |"),
        (markdown, 2, "~~a~~ $b$\n", r"| \~\~a\~\~ \$b\$\\n |"),
        (latex, 5, "a_b&c%d#e$f", r"a\_b\&c\%d\#e\$f &"),
        (latex, 5, r"\input{x}", r"\textbackslash{}input\{x\} &"),
        (
            latex,
            5,
            "a^b~c<|>",
            r"a\textasciicircum{}b\textasciitilde{}c\textless{}\textbar{}\textgreater{} &",
        ),
        # These would be arguments of the end of the row above.
        (latex, 5, "[3pt]*", "{[}3pt]{*} &"),
        # Two hyphens would be a dash.
        (latex, 5, "a--b", "a{-}{-}b &"),
        (latex, 5, "a-b\n", r"a-b\textbackslash{}n &"),
    ],
)
def test_what_would_be_markup_is_escaped(write, at, name, written):
    assert write(table(name))[at].startswith(written)


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a&lt;b", "\"'", "\x1b[31mred\n"])
def test_names_are_text_everywhere(name):
    page = Page(View([table(name, [name])], None)._repr_html_())
    assert page.rows[1:] == [[printable(name), "0.5000"]]
    assert {tag for tag, _ in page.tags} == {
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "p",
        "bdi",
    }
    assert printable(name) in "".join(plain_text(table(name)))

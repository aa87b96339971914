"""The worked example of two sets of judgments in COMPARING.md, against its arithmetic and the program."""

import re
from pathlib import Path

import pytest

from ndcg_spark import compare_judgments
from ndcg_spark.comparison.agreement import tau_ap, tau_b
from ndcg_spark.schemas import AGREEMENTS

GUIDE = Path(__file__).parents[2] / "ndcg_spark/guides/COMPARING.md"
PAGE = GUIDE.read_text(encoding="utf-8").partition("\n## Two sets of judgments\n")[2]
#: The measure, the arithmetic and the value of each example.
EXAMPLES = re.findall(r"^\| `(\w+)` \| .* \| `([^`]+)` \| (\d\.\d{4}) \|$", PAGE, re.MULTILINE)


def cells(name):
    (row,) = re.findall(rf"^\| {name} \|(.*)\|$", PAGE, re.MULTILINE)
    return [cell.strip() for cell in row.split("|")]


@pytest.fixture(scope="module")
def agreement():
    sides = [{}, {}]
    for query, document, *grades in zip(*map(cells, ("query", "document", "A", "B")), strict=True):
        for side, grade in zip(sides, grades, strict=True):
            if grade != "-":
                side.setdefault(query, {})[document] = float(grade)
    return compare_judgments(*sides).iloc[0].to_dict()


@pytest.mark.parametrize(
    ("measure", "arithmetic", "value"), EXAMPLES, ids=[name for name, *_ in EXAMPLES]
)
def test_an_example_is_what_its_arithmetic_and_the_program_say(
    agreement, measure, arithmetic, value
):
    expected = eval(arithmetic)  # noqa: S307  # the page's own arithmetic
    assert f"{expected:.4f}" == value
    assert agreement[measure] == pytest.approx(expected, abs=1e-12)
    assert (agreement["pairs"], agreement["only_a"], agreement["only_b"]) == (10, 1, 1)


def test_the_correlations_of_the_page_are_those_of_its_rankings():
    shown = re.findall(r"`([\d /()*+-]+)` = (\d\.\d{4})", PAGE)
    reference, top, bottom = [4, 3, 2, 1], [3, 4, 2, 1], [4, 3, 1, 2]
    expected = [tau_b(reference, top), tau_ap(reference, top), tau_ap(reference, bottom)]
    assert [f"{value:.4f}" for value in expected] == [printed for _, printed in shown]
    assert [eval(arithmetic) for arithmetic, _ in shown] == pytest.approx(expected)  # noqa: S307  # the same
    assert tau_b(reference, bottom) == pytest.approx(expected[0])


def test_the_page_describes_every_column():
    assert [name for name in AGREEMENTS.names if f"`{name}`" not in PAGE] == []
    assert [name for name, *_ in EXAMPLES] == ["kappa", "kappa_quadratic", "alpha"]

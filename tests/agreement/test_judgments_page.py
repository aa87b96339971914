"""The worked example of JUDGMENTS.md: what the page computes is what its arithmetic and the program say."""

import re
from pathlib import Path

import pytest

from ndcg_spark import compare_judgments, schemas
from ndcg_spark.agreement.rank_correlation import tau_ap, tau_b

PAGE = (Path(__file__).parents[2] / "ndcg_spark" / "JUDGMENTS.md").read_text(encoding="utf-8")
#: The measure, the arithmetic and the value of each example.
EXAMPLES = re.findall(r"^\| `(\w+)` \| .* \| `([^`]+)` \| (\d\.\d{4}) \|$", PAGE, re.MULTILINE)


def cells(name):
    (found,) = re.findall(rf"^\| {name} \|(.*)\|$", PAGE, re.MULTILINE)
    return [cell.strip() for cell in found.split("|")]


def compared(_, a, b):
    return {name: table.to_pylist() for name, table in compare_judgments(a, b).items()}


@pytest.fixture(scope="module")
def found(evaluate_embedded):
    sides = [{}, {}]
    for query, document, *grades in zip(*map(cells, ("query", "document", "A", "B")), strict=True):
        for side, grade in zip(sides, grades, strict=True):
            if grade != "-":
                side.setdefault(query, {})[document] = float(grade)
    return evaluate_embedded.call(compared, *sides)


def test_there_is_an_example_of_every_coefficient(found):
    assert [name for name, *_ in EXAMPLES] == [row["measure"] for row in found["agreements"] if row["query_id"] is None]


@pytest.mark.parametrize(("measure", "arithmetic", "value"), EXAMPLES, ids=[each[0] for each in EXAMPLES])
def test_an_example_is_what_its_arithmetic_and_the_program_say(found, measure, arithmetic, value):
    expected = eval(arithmetic)  # noqa: S307  # the page's own arithmetic
    assert f"{expected:.4f}" == value
    (row,) = [row for row in found["agreements"] if (row["query_id"], row["measure"]) == (None, measure)]
    assert row["value"] == pytest.approx(expected, abs=1e-12)
    assert (row["pairs"], row["only_a"], row["only_b"]) == (10, 1, 1)


def test_the_matrix_is_that_of_the_page(found):
    counts = {}
    for row in found["grade_pairs"]:
        counts[row["grade_a"], row["grade_b"]] = counts.get((row["grade_a"], row["grade_b"]), 0) + row["pairs"]
    assert {key: n for key, n in counts.items() if None not in key} == {
        (float(a), float(b)): int(n) for a in range(3) for b, n in enumerate(cells(str(a))[:3]) if int(n)
    }
    assert (counts[1.0, None], counts[None, 0.0]) == (1, 1)


def test_the_interval_is_that_of_leaving_out_each_query(found):
    (row,) = [row for row in found["agreements"] if (row["query_id"], row["measure"]) == (None, "agreement")]
    # t(0.975) with one degree of freedom; the two estimates are 0.125 from their mean.
    margin = 12.7062047361747 * 0.125
    assert f"0.6 +- {margin:.2f}" in PAGE
    assert (row["interval_low"], row["interval_high"]) == (pytest.approx(0.6 - margin, abs=1e-9), 1.0)


def test_the_correlations_of_the_page_are_those_of_its_rankings():
    shown = re.findall(r"`([\d /()*+-]+)` = (\d\.\d{4})", PAGE)
    reference, top, bottom = [4, 3, 2, 1], [3, 4, 2, 1], [4, 3, 1, 2]
    expected = [tau_b(reference, top), tau_ap(reference, top), tau_ap(reference, bottom)]
    assert [f"{each:.4f}" for each in expected] == [value for _, value in shown]
    assert [eval(arithmetic) for arithmetic, _ in shown] == pytest.approx(expected)  # noqa: S307  # the same
    assert tau_b(reference, bottom) == pytest.approx(expected[0])


def test_the_page_describes_every_column_of_the_tables():
    section = PAGE.partition("## The tables")[2]
    for table in ("AGREEMENTS", "GRADE_PAIRS", "RANKED_RUNS", "SWAPPED_RUNS", "CHANGE_PARTS"):
        assert [name for name in getattr(schemas, table).names if f"`{name}`" not in section] == []

"""How comparisons are printed: alone, and beside the scores of an evaluation."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ndcg_spark.comparison.compare import Comparison
from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.report.console import print_result
from ndcg_spark.report.scores import ordered, outcome_tables, outcome_value
from ndcg_spark.schemas import COMPARISONS, DATASET_SCORES, measure_first
from ndcg_spark.tables.comparisons import comparison_table, notes_of_test, query_table
from ndcg_spark.tables.scores import compared_paper_table, marks_of, paper_table
from ndcg_spark.tables.sorting import Order
from ndcg_spark.tables.table import TextTable

if TYPE_CHECKING:
    from ndcg_spark.job.evaluate import EvaluationOutcome

#: The columns of COMPARISONS that stand beside a run's scores.
_BESIDE = (
    *("baseline", "measure", "difference", "relative_difference", "interval_low", "interval_high", "p_value"),
    *("p_adjusted", "p_randomization", "p_decides", "conclusion", "effect_size", "minimum_detectable"),
    *("wins", "ties", "losses", "flags"),
)


def print_compared(
    found: Comparison, style: str, options: ComparisonOptions, order: Order | None = None, top: int | None = None
) -> None:
    """Print a comparison. LaTeX has the measures of the options as columns, in their order.

    Tables have the `top` comparisons, in this order. CSV has the rows of COMPARISONS alone, JSON is one object
    with everything.
    """

    def tables() -> list[TextTable]:
        paper = (
            compared_paper_table(found.rows, options.correction, list(options.measures)) if style == "latex" else None
        )
        return [*([paper] if paper else []), *_tables(found, style, options, order, top)]

    print_result(style, tables, lambda: _value(found), COMPARISONS.names, flat(found.rows))


def print_with_comparison(outcome: "EvaluationOutcome", found: Comparison, style: str, order: Order | None) -> None:
    """Print the dataset scores of an evaluation, and how its runs compare with one of them.

    In CSV every row of the scores has the columns of its comparison by the first measure that was asked for at its
    cutoff, which are empty for the baseline itself.
    """

    def tables() -> list[TextTable]:
        compared = _tables(found, style, ComparisonOptions())
        if style != "latex":
            return [*outcome_tables(outcome, style, order), *compared]
        test = notes_of_test(found.rows, ComparisonOptions.correction)
        notes = [f"{outcome.convention}: {outcome.formula}", *test]
        return [paper_table(outcome.dataset_scores, order, notes, outcome.measure_set, marks_of(found.rows)), *compared]

    # Of several measures at a cutoff, the first that was asked for.
    by_key = {_key(row): row for row in reversed(flat(found.rows))}
    nothing: dict[str, Any] = dict.fromkeys(_BESIDE)
    rows = (
        {**{name: by_key.get(_key(row), nothing)[name] for name in _BESIDE}, **row}
        for row in [*ordered(outcome, order), *outcome.slice_scores]
    )
    columns = [*measure_first(DATASET_SCORES, outcome.measure_set.columns), *_BESIDE]
    print_result(style, tables, lambda: {**outcome_value(outcome, order), **_value(found)}, columns, rows)


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("dataset", "run", "cutoff", "attribute", "value"))


def flat(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of COMPARISONS whose flags are one field of text."""
    return [{**row, "flags": " ".join(row["flags"])} for row in rows]


def _value(found: Comparison) -> dict[str, Any]:
    """Everything that was found, for JSON."""
    fields = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    return {"comparisons": fields.pop("rows"), **fields}


def _tables(
    found: Comparison, style: str, options: ComparisonOptions, order: Order | None = None, top: int | None = None
) -> list[TextTable]:
    """The comparisons and, if they were asked for, the extreme queries."""
    how = (options.correction, options.alpha)
    table = comparison_table(found.rows, *how, order=order, top=top, warnings=found.warnings)
    return [table, *([query_table(found.queries)] if found.queries else [])]

"""Every rule for the rows of an input: its code, its message, and which rows break it.

The job counts the rows that break a rule; the library fails at the first one.
"""

import dataclasses
from collections.abc import Iterable, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from ndcg_spark.casting import typed
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import InputError, MissingColumnError
from ndcg_spark.schemas import FAULT


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule for one row. In messages its words follow the number of rows that break it."""

    code: str
    words: str
    #: The column that the rule is about; None for the whole row.
    column: str | None = None


#: A rule, and a Column of boolean, never null, that is true for the rows that break it.
RowTest = tuple[Rule, Column]

#: By code, in the order in which they are tested: a row that breaks several rules counts once, for the first.
RULES = {
    rule.code: rule
    for rule in (
        Rule("value_is_no_scalar", "line(s) with a value that is an array, an object, true or false"),
        Rule("lists_of_unequal_length", "row(s) whose lists of documents and of scores or grades differ in length"),
        Rule("broken_line", "line(s) that are not rows"),
        Rule("no_dataset", "row(s) without a dataset", "dataset"),
        Rule("no_run", "row(s) without a run", "run"),
        Rule("no_query_id", "row(s) without a query_id", "query_id"),
        Rule("no_doc_id", "row(s) without a doc_id", "doc_id"),
        Rule("relevance_is_no_number", "relevance value(s) that are not finite numbers", "relevance"),
        Rule("relevance_negative", "negative grade(s)", "relevance"),
        Rule(
            "relevance_without_gain",
            "grade(s) without a finite gain: too large for it, or not in its table",
            "relevance",
        ),
        Rule("relevance_above_max_grade", "grade(s) above max_grade", "relevance"),
        Rule("score_is_no_number", "score(s) that are not finite numbers", "score"),
        Rule("rank_is_no_rank", "rank(s) that are not whole numbers from 1 to 2147483647", "rank"),
    )
}

#: The rules that a line of a file breaks before it is a row.
_LINE_RULES = ("value_is_no_scalar", "lists_of_unequal_length", "broken_line")


def judgment_rules(types: Mapping[str, str], gain: Column, convention: Convention) -> list[RowTest]:
    """The rules for judgments, each with the rows that break it; `types` has the type of every column of the table.

    `gain` is the gain of the row's grade, null if there is none or it is not finite. A negative grade needs a gain only
    if the convention keeps negative grades.
    """
    relevance = typed("relevance", types)
    tests = [
        *name_rules(types, ("dataset", "query_id", "doc_id")),
        _row_test("relevance_is_no_number", ~_finite(relevance)),
    ]
    if convention.negative == "error":
        tests.append(_row_test("relevance_negative", relevance < 0))
    counts = F.lit(True) if convention.negative == "keep" else relevance >= 0
    tests.append(_row_test("relevance_without_gain", counts & gain.isNull()))
    if isinstance(convention.max_grade, float) and convention.min_relevance == "none":
        tests.append(_row_test("relevance_above_max_grade", relevance > convention.max_grade))
    return tests


def result_rules(types: Mapping[str, str], convention: Convention) -> list[RowTest]:
    """The rules for results. Score and rank are tested only if the convention ranks by them."""
    tests = name_rules(types, ("dataset", "run", "query_id", "doc_id"))
    if convention.needs_score:
        tests.append(_row_test("score_is_no_number", ~_finite(typed("score", types))))
    if convention.needs_rank:
        tests.append(_row_test("rank_is_no_rank", ~F.coalesce(typed("rank", types) >= 1, F.lit(False))))
    return tests


def rejection_reason(tests: Iterable[RowTest]) -> Column:
    """A column of string: the code of the first rule that a row breaks, null for a good row."""
    return F.coalesce(*(F.when(breaks, F.lit(rule.code)) for rule, breaks in tests))


def options_without_scores(convention: Convention, results: Iterable[str]) -> dict[str, str]:
    """The options that results with these columns need: without scores, they are ranked by their ranks."""
    columns = set(results)
    if not convention.needs_score or "score" in columns or "rank" not in columns:
        return {}
    # Options about scores have no meaning for ranks.
    ties = {"ties": "doc_id_desc"} if convention.ties == "rank" else {}
    return {"order": "rank", "score_precision": "float64", **ties}


def require_columns(judgments: list[str], results: list[str], convention: Convention, where: str | None = None) -> None:
    """Refuse tables that lack a column which the convention needs.

    `where` is where the results were read, for messages; without it, they are a function's argument.
    """
    needed = [n for n, needs in (("score", convention.needs_score), ("rank", convention.needs_rank)) if needs]
    for name in needed:
        if name not in results:
            use = "order=rank" if name == "score" else "ties=doc_id_asc" if convention.ties == name else "order=score"
            given = f"name it, --column results.{name}=NAME, or --set" if where else f"rename it to {name}, or set"
            raise MissingColumnError(
                f"results: no column {name} in {where or 'the table'}, which the convention {convention.label} ranks "
                f"by; {given} {use}",
                name,
            )
    if ("dataset" in judgments) != ("dataset" in results):
        named, other = ("judgments", "results") if "dataset" in judgments else ("results", "judgments")
        raise InputError(
            f"{other}: no column dataset, and the {named} have one; name the dataset in both or in neither"
        )


def name_rules(types: Mapping[str, str], names: Iterable[str]) -> list[RowTest]:
    """The rules for lines and names. Lines come first, because a broken line has no names."""
    faults = _LINE_RULES if FAULT in types else ()
    tests = [_row_test(code, F.coalesce(F.col(FAULT) == code, F.lit(False))) for code in faults]
    for name in names:
        if name in types:
            text = F.col(name).cast("string")
            tests.append(_row_test(f"no_{name}", text.isNull() | (text == "")))
    return tests


def _row_test(code: str, breaks: Column) -> RowTest:
    return RULES[code], breaks


def _finite(number: Column) -> Column:
    return F.coalesce(F.abs(number) < F.lit(float("inf")), F.lit(False))

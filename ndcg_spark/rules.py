"""The input contract: the columns that a table must have, their types, and the rules for every row.

A job counts the rows that break a rule; lazy tables fail at the first one. The rules are not in
`contract`, because `scoring`, which is below it, prepares them.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DoubleType, StringType

from ndcg_spark import sql
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import InputError, MissingColumnError
from ndcg_spark.schemas import (
    BROKEN_LINE,
    FAULT,
    INTERNAL,
    JUDGMENTS,
    LABEL,
    LINE,
    OF_RESULTS,
    OPTIONAL,
    OWN,
    RESULTS,
)
from ndcg_spark.sql import quoted
from ndcg_spark.text import BLANKS, PLAIN_NUMBER, ROWS_ARE_DOCUMENTS, UNNAMED, refuse_alike
from ndcg_spark.voices import (
    IN_ORDER,
    Advice,
    Do,
    Either,
    Give,
    NameColumns,
    NameGrades,
    SetOption,
    WriteIds,
    name_column,
)

#: Column names that show that a table contains results, or judgments, including those of other
#: tools.
_OF_RESULTS = OF_RESULTS | {
    "position",
    "doc_position",
    "scores",
    "system",
    "tag",
    "runid",
    "run_name",
}
_OF_JUDGMENTS = {"relevance", "rel", "label", "grade", "rating"}
_ARE_RESULTS = "if these are results, give the judgments first"
# Without \s and $, which match different characters in different engines.
_PLAIN_NUMBER = rf"^{PLAIN_NUMBER}\z"

#: The types that columns with ids, and columns with numbers, may have. A column whose values are
#: all null may have the type void.
_TEXT = r"string|varchar.*|char\(.*"
_IDS = rf"{_TEXT}|tinyint|smallint|int|bigint|void|decimal\(\d+,0\)"
_WHOLE = "tinyint|smallint|int|bigint|void"
_NUMBERS = rf"{_IDS}|float|double|decimal.*"
#: The type of each column of judgments and results in our schemas.
_TYPES = {field.name: field.dataType for field in from_arrow_schema(JUDGMENTS)}
_TYPES |= {field.name: field.dataType for field in from_arrow_schema(RESULTS)}


class Rule(NamedTuple):
    """A rule for one row. In messages, its words follow the number of rows that break it."""

    code: str
    words: str
    column: str | None = None


#: A rule, and a boolean Column that is true for the rows that break it. The Column is never null.
RowTest = tuple[Rule, Column]

#: The rules in the order in which they are tested. A row that breaks several is counted once, for
#: the first.
_RULES = (
    Rule(BROKEN_LINE, "line(s) that are not rows"),
    Rule("no_dataset", "row(s) without a dataset", "dataset"),
    Rule("no_run", "row(s) without a run", "run"),
    Rule("no_query_id", "row(s) without a query_id", "query_id"),
    Rule("no_doc_id", "row(s) without a doc_id", "doc_id"),
    Rule("relevance_is_no_number", "relevance value(s) that are not finite numbers", "relevance"),
    Rule("relevance_has_no_grade", "label(s) without a grade", "relevance"),
    Rule("relevance_negative", "negative grade(s)", "relevance"),
    Rule(
        "relevance_without_gain",
        "grade(s) without a finite gain: too large, or not in its table",
        "relevance",
    ),
    Rule("relevance_above_max_grade", "grade(s) above max_grade", "relevance"),
    Rule("score_is_no_number", "score(s) that are not finite numbers", "score"),
    Rule("rank_is_no_rank", "rank(s) that are not whole numbers from 1 to 2147483647", "rank"),
    Rule("rank_is_no_number", "rank(s) that are not whole numbers", "rank"),
)
#: The rules by their codes.
RULES = {rule.code: rule for rule in _RULES}

#: The rules for judgments that depend on the convention; all others apply to any.
BY_CONVENTION = ("relevance_negative", "relevance_without_gain", "relevance_above_max_grade")


def is_text(kind: str) -> bool:
    """Whether an engine's type name is a text type."""
    return re.fullmatch(_TEXT, kind) is not None


def typed(name: str, types: Mapping[str, str]) -> Column:
    """A column of judgments or results in the type of its schema; `types` has the table's types.

    A value that does not fit becomes null: text that is not a plain number (engines disagree about
    "1d" and "0x1p3"), and a rank that is not a whole number below 2^31. -0.0 becomes 0.0, because
    engines distinguish the two only in some plans.
    """
    return F.expr(typed_sql(name, types))


def typed_sql(name: str, types: Mapping[str, str]) -> str:
    """The column `typed` in SQL."""
    column = quoted(name)
    wanted, given = _TYPES[name], types[name]
    # Without an unnecessary cast, a filter on the column can be applied while the file is read.
    if given == wanted.simpleString() and wanted != DoubleType():
        return column
    if isinstance(wanted, StringType):
        return f"cast({column} as string)"
    # Adding 0 turns -0.0 into 0.0.
    number = f"({_double(column, given)} + 0D)"
    if wanted == DoubleType():
        return number
    whole = f"try_cast({number} as {wanted.simpleString()})"
    return f"case when {number} = floor({number}) then {whole} end"


def _double(column: str, source: str) -> str:
    """A column of the type `source` as a double, null if it is not a plain number."""
    if source == "double":
        return column
    if is_text(source):
        trimmed = f"btrim({column}, {sql.text(BLANKS)})"
        column = f"case when {trimmed} rlike {sql.text(_PLAIN_NUMBER)} then {trimmed} end"
    return f"try_cast({castable(column, source)} as double)"


def castable(column: str, source: str) -> str:
    """A column of the type `source` in a form that the engines cast to the right double."""
    if source.startswith("decimal"):
        # The embedded engine casts decimals to wrong doubles, but their texts to the right ones.
        return f"cast({column} as string)"
    return column


def named_by_user(columns: Iterable[str]) -> list[str]:
    """The columns of a table without those that reading has added."""
    return [name for name in columns if name not in INTERNAL and not name.startswith(OWN)]


def shown_columns(columns: Collection[str]) -> list[str]:
    """The columns to print when a message quotes a row of the user's table, with labels in place of
    grades.
    """
    named = named_by_user(columns)
    if LABEL not in columns:
        return named
    return [LABEL if name == "relevance" else name for name in named]


def conform(table: DataFrame, schema: pa.Schema) -> DataFrame:
    """The schema's columns that the table has, in the schema's order and types.

    Raises InputError if a needed column is missing or has the wrong type.
    """
    types = dict(table.dtypes)
    names = require_schema(table, schema)
    return table.selectExpr(*sql.named({name: typed_sql(name, types) for name in names}))


def require_schema(table: DataFrame, schema: pa.Schema) -> list[str]:
    """The names of the schema's columns that the table has, in the schema's order.

    Raises InputError if a needed column is missing or has the wrong type.
    """
    types = dict(table.dtypes)
    refuse_alike(name for name in types if name.lower() in schema.names)
    missing = [name for name in schema.names if name not in types and name not in OPTIONAL]
    if missing:
        raise missing_columns(missing, sorted(named_by_user(types)))
    names = [name for name in schema.names if name in types]
    ids = [name for name in names if _TYPES[name] == StringType()]
    require_types({name: types[name] for name in names}, ids)
    return names


def require_types(kinds: Mapping[str, str], ids: Collection[str]) -> None:
    """Raise InputError unless the columns `ids` have types of ids, and all others of numbers."""
    wrong = []
    for name, kind in kinds.items():
        if not re.fullmatch(_IDS if name in ids else _NUMBERS, kind):
            wrong.append(f"{name} is {kind}")
    if wrong:
        what = f"{len(wrong)} column(s) of the wrong type, {', '.join(wrong)}"
        raise InputError(what, WriteIds())


def missing_columns(
    missing: Sequence[str],
    known: Sequence[str],
    may_be_numbers: bool = False,
    other: Advice = IN_ORDER,
) -> InputError:
    """The error for columns that are missing in a table with the columns `known`.

    For `may_be_numbers`, see NameColumns. `other` is additional advice for results that lack scores
    and ranks.
    """
    what = f"{len(missing)} column(s) missing, {', '.join(missing)}; it has {', '.join(known)}"
    if not all(map(str.strip, known)):
        return InputError(f"{what}; {UNNAMED}")
    names = {name.lower() for name in known}
    # The user may have exchanged judgments and results.
    if list(missing) == ["relevance"]:
        if names & _OF_RESULTS:
            words = f"{_ARE_RESULTS}; if judgments without grades,"
            return InputError(what, Give("relevance", 1, "judgments", words=words))
        return InputError(what, Either((NameGrades(), Do(words=_ARE_RESULTS)), "; "))
    mapped = NameColumns(tuple(missing), may_be_numbers)
    if list(missing) == ["doc_id"]:
        return InputError(what, Either((mapped, Do(words=ROWS_ARE_DOCUMENTS)), "; or "))
    if list(missing) != ["score or rank"]:
        return InputError(what, mapped)
    swapped = Do(words="if these are judgments, give them first, then the results")
    ways = (swapped, mapped) if names & _OF_JUDGMENTS else (other, mapped, swapped)
    return InputError(what, Either(ways, "; "))


def judgment_rules(types: Mapping[str, str], gain: Column, convention: Convention) -> list[RowTest]:
    """The rules for judgments; `types` has the type of every column of the table.

    `gain` is the gain of the row's grade, or null if there is none or it is not finite. A negative
    grade needs a gain only if the convention keeps it.
    """
    relevance = typed_sql("relevance", types)
    tests = name_rules(types, ("dataset", "query_id", "doc_id"))
    if LABEL in types:
        tests.append((RULES["relevance_has_no_grade"], F.expr(f"{relevance} is null")))
    else:
        tests.append(_finite("relevance", types))
    if convention.negative == "error":
        tests.append((RULES["relevance_negative"], F.expr(f"{relevance} < 0")))
    has_no_gain = gain.isNull()
    if convention.negative != "keep":
        has_no_gain = F.expr(f"{relevance} >= 0") & has_no_gain
    tests.append((RULES["relevance_without_gain"], has_no_gain))
    if isinstance(convention.max_grade, float) and convention.min_relevance == "none":
        is_above = F.expr(f"{relevance} > {sql.number(convention.max_grade)}")
        tests.append((RULES["relevance_above_max_grade"], is_above))
    return tests


def result_rules(types: Mapping[str, str], convention: Convention) -> list[RowTest]:
    """The rules for results. A score is tested only if the convention ranks by it.

    A rank must always be a whole number, because other numbers may be scores in the wrong column.
    """
    tests = name_rules(types, ("dataset", "run", "query_id", "doc_id"))
    if convention.needs_score:
        tests.append(_finite("score", types))
    if convention.needs_rank:
        is_no_rank = f"not coalesce({typed_sql('rank', types)} >= 1, false)"
        tests.append((RULES["rank_is_no_rank"], F.expr(is_no_rank)))
        return tests
    may_be_invalid = LINE in types or not re.fullmatch(_WHOLE, types.get("rank", ""))
    if "rank" in types and may_be_invalid:
        is_invalid = f"{typed_sql('rank', types)} is null and {_is_given('rank', types)}"
        tests.append((RULES["rank_is_no_number"], F.expr(is_invalid)))
    return tests


def _is_given(name: str, types: Mapping[str, str]) -> str:
    """Whether a row has a value in this column, valid or not. Never null."""
    column, source = quoted(name), types[name]
    if is_text(source):
        return f"coalesce(btrim({column}, {sql.text(BLANKS)}) != '', false)"
    is_given = f"{column} is not null"
    if source in ("float", "double"):
        # pandas writes NaN for missing values.
        is_given += f" and not coalesce(isnan({column}), false)"
    if LINE in types:
        # Readers of text turn a value that is not a number into null, and keep its line.
        is_given += f" or {quoted(LINE)} is not null"
    return f"({is_given})"


def name_rules(types: Mapping[str, str], names: Iterable[str]) -> list[RowTest]:
    """The rules for broken lines, and for these ids, which a broken line does not have."""
    tests = []
    if FAULT in types:
        tests.append((RULES[BROKEN_LINE], F.expr(f"{quoted(FAULT)} is not null")))
    for name in names:
        if name in types:
            is_empty = f"coalesce(cast({quoted(name)} as string), '') = ''"
            tests.append((RULES[f"no_{name}"], F.expr(is_empty)))
    return tests


def _finite(name: str, types: Mapping[str, str]) -> RowTest:
    """The rule that a grade or a score is a finite number."""
    is_finite = sql.is_finite(typed_sql(name, types))
    return RULES[f"{name}_is_no_number"], F.expr(f"not coalesce({is_finite}, false)")


def rejection_reason(tests: Iterable[RowTest]) -> Column:
    """A string column: the code of the first rule that a row breaks, null for a valid row."""
    return F.coalesce(*(F.when(breaks, F.lit(rule.code)) for rule, breaks in tests))


def options_without_scores(convention: Convention, results: Iterable[str]) -> dict[str, str]:
    """The options that change if results with these columns have ranks but no scores.

    Then the ranks decide the order. Empty if nothing changes.
    """
    columns = set(results)
    if not convention.needs_score or "score" in columns or "rank" not in columns:
        return {}
    # Options about scores do not apply to ranks.
    options = {"order": "rank", "score_precision": "float64"}
    if convention.ties == "rank":
        options["ties"] = "doc_id_desc"
    return options


def constant_grade(
    given: float | None, needs_grades: bool, columns: Collection[str]
) -> float | None:
    """The grade of every judgment, or None if the table with these columns has the grades.

    It is the given grade, or 1 if the table has no grades and the convention needs none.
    """
    if given is not None:
        return given
    if needs_grades or "relevance" in columns:
        return None
    return 1.0


def require_columns(
    judgments: Sequence[str],
    results: Sequence[str],
    convention: Convention,
    origin: str,
) -> None:
    """Refuse tables that lack a column the convention needs; `origin` is that of the results."""
    for name, other, is_needed in (
        ("score", "rank", convention.needs_score),
        ("rank", "score", convention.needs_rank),
    ):
        if is_needed and name not in results:
            ways: list[Advice] = [name_column("results", name)]
            if convention.ties == name:
                ways.append(SetOption("ties", "doc_id_asc"))
            elif other in results:
                ways.append(SetOption("order", other))
            what = f"results: no column {name} in {origin}"
            why = f"which the convention {convention.label} ranks by"
            raise MissingColumnError(f"{what}, {why}", Either(tuple(ways)), column=name)
    if ("dataset" in judgments) != ("dataset" in results):
        with_dataset, without = "judgments", "results"
        if "dataset" in results:
            with_dataset, without = without, with_dataset
        raise InputError(
            f"{without}: no column dataset, but the {with_dataset} have one; "
            "name the dataset in both or in neither"
        )

"""Defines every option of a convention.

The validation, formulas, columns and documentation of conventions are derived from OPTIONS.
"""

import ast
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.errors import ConventionError
from ndcg_spark.voices import Give


class Formula(NamedTuple):
    """The gain of a grade, or the discount of a rank."""

    words: str
    notation: str
    compute: Callable[[float], float]
    #: The same in SQL, where {} is the grade or the rank.
    sql: str


class TieRule(NamedTuple):
    """The order of documents with equal scores."""

    words: str
    #: What they are sorted by: doc_id (as text), number (the id as a number), rank, or gain.
    by: str
    ascending: bool = False


class Option(NamedTuple):
    """An option's values, with their meaning in words."""

    #: The values that have a name, each with its meaning, which is empty if it is obvious. The
    #: default is the first.
    words: Mapping[str, str]
    #: The values without a name, such as "a grade from 0"; empty if there are none.
    other: str = ""
    #: The meaning of a value without a name, where {} is the value.
    says: str = "{}"


#: Sums of larger gains could overflow a double. With exp2 the largest grade is 996.
MAX_GAIN = 1e300
#: Every grade of a table adds a branch to the plan: a few hundred took seconds, ten thousand took
#: two minutes.
MAX_GRADES = 500

GAINS: dict[str, Formula] = {
    "exp2": Formula(
        "gain 2^relevance - 1",
        "2^rel(d) - 1",
        lambda rel: 2.0**rel - 1.0,
        "pow(2D, {}) - 1D",
    ),
    "linear": Formula("gain relevance", "rel(d)", lambda rel: rel, "{}"),
    "binary": Formula(
        "gain 1 if relevance > 0",
        "[rel(d) > 0]",
        lambda rel: 1.0 if rel > 0 else 0.0,
        "if({} > 0, 1D, 0D)",
    ),
    "judged": Formula("gain 1 if judged", "[d is judged]", lambda _: 1.0, "1D"),
}

DISCOUNTS: dict[str, Formula] = {
    "log2": Formula(
        "discount 1/log2(rank + 1)",
        "1 / log2(r + 1)",
        lambda r: 1.0 / math.log2(r + 1),
        "1D / log2({} + 1)",
    ),
    "ln": Formula(
        "discount 1/ln(rank + 1)",
        "1 / ln(r + 1)",
        lambda r: 1.0 / math.log(r + 1),
        "1D / ln({} + 1)",
    ),
    "position": Formula("discount 1/rank", "1 / r", lambda r: 1.0 / r, "1D / {}"),
    "jarvelin": Formula(
        "discount 1 up to rank 2, then 1/log2(rank)",
        "1 / max(1, log2 r)",
        lambda r: 1.0 / max(1.0, math.log2(r)),
        "1D / greatest(1D, log2({}))",
    ),
    "none": Formula("no discount", "1", lambda _: 1.0, "1D"),
}

TIES: dict[str, TieRule] = {
    "doc_id_desc": TieRule("ties by document id, descending", "doc_id"),
    "doc_id_asc": TieRule("ties by document id, ascending", "doc_id", ascending=True),
    # For tools that read ids as numbers, so that 10 comes after 9.
    "doc_id_num_desc": TieRule(
        "ties by document id as a number, descending, then other ids by their text", "number"
    ),
    "doc_id_num_asc": TieRule(
        "ties by document id as a number, ascending, then other ids by their text",
        "number",
        ascending=True,
    ),
    "average": TieRule("ties averaged over all their orders", "gain"),
    "worst": TieRule("ties in their worst order", "gain", ascending=True),
    "best": TieRule("ties in their best order", "gain"),
    "rank": TieRule("ties by rank", "rank", ascending=True),
}

#: Every option, in the order of the documentation.
OPTIONS: dict[str, Option] = {
    "gain": Option(
        {name: entry.words for name, entry in GAINS.items()},
        f"a table {{grade: gain}} of up to {MAX_GRADES} grades (in TOML {{0 = 0, 1 = 1}}), "
        "a function by its name python:package.module.function",
        "gain {}",
    ),
    "discount": Option(
        {name: entry.words for name, entry in DISCOUNTS.items()},
        (
            "a list [w1, w2, ...] that does not increase, "
            "a function by its name python:package.module.function"
        ),
        "discount {}",
    ),
    "ties": Option({name: entry.words for name, entry in TIES.items()}),
    "order": Option(
        {
            "score": "results by score",
            "rank": "results by rank",
            "file": "results in the order of their rows",
        }
    ),
    "score_precision": Option({"float64": "", "float32": "scores compared as float32"}),
    "ideal": Option(
        {
            "judged": "ideal of all judged documents",
            "retrieved": "ideal of the returned documents, the whole list",
            "retrieved_at_k": "ideal of the returned documents within the cutoff",
            "judged_capped": "ideal of as many judged documents as were returned",
            "k_relevant": (
                "ideal of k relevant documents, however many there are "
                "(of all judged ones for the whole ranking)"
            ),
        }
    ),
    "unjudged": Option(
        {
            "zero": "unjudged documents have relevance 0",
            "drop": "unjudged documents leave the list",
        },
        "a grade from 0",
        "unjudged documents have relevance {} in the DCG",
    ),
    "negative": Option(
        {
            "as_unjudged": "negative grades count as unjudged",
            "keep": "negative grades count",
            "drop": "documents with a negative grade leave the list",
            "error": "negative grades are refused",
        }
    ),
    "no_relevant": Option(
        {
            "skip": "queries without gain are left out",
            "zero": "queries without gain score 0",
            "one": "queries without gain score 1",
            "error": "queries without gain are refused",
        }
    ),
    "missing_query": Option(
        {
            "zero": "missing queries score 0",
            "skip": "missing queries are left out",
            "error": "missing queries are refused",
        }
    ),
    "duplicates": Option({"error": "", "best": "a document returned twice keeps its best rank"}),
    "judgment_duplicates": Option(
        {
            "error": "",
            "max": "a document judged twice has the largest of its grades",
            "min": "a document judged twice has the smallest of its grades",
            "mean": "a document judged twice has the mean of its grades",
        }
    ),
    "exclude_query_as_document": Option({"false": "", "true": "the query itself is not a result"}),
    "min_relevance": Option(
        {"none": ""},
        "a grade above 0",
        "grades from {} count as 1 and lower ones as 0, except negative ones",
    ),
    # The last three affect only measures other than NDCG.
    "relevant_from": Option(
        {"1": "", "judged": "every judged document is relevant"},
        "a grade above 0",
        "documents with grade {} or above are relevant",
    ),
    "rbp_persistence": Option({"0.8": ""}, "a number between 0 and 1", "persistence {} in RBP"),
    "max_grade": Option(
        {"highest": "", "highest_of_query": "RBP and ERR use the highest grade of each query"},
        "a grade above 0",
        "the highest grade that RBP and ERR use is {}",
    ),
}

_PYTHON = re.compile(r"python:[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


def parse_options(texts: Iterable[str]) -> dict[str, Any]:
    """Return the options in texts such as `gain=linear`.

    Raise ConventionError if an option has two different values, or if a text names a preset.
    """
    options: dict[str, Any] = {}
    for text in texts:
        option, value = parse_option(text)
        if option == "preset":
            name = Give("convention", value, words="write")
            raise ConventionError(f"{text!r} is a preset, not an option", name, "convention")
        if options.setdefault(option, value) != value:
            what = f"{option} is set to both {show(options[option])} and {show(value)}"
            raise ConventionError(f"{what}; give one value", option="convention")
    return options


def parse_option(text: str) -> tuple[str, Any]:
    """Return the option and the value in a text ``option=value``.

    The value is a word, number, list or table, and is not yet checked.
    """
    option, equals, value = text.partition("=")
    if not equals:
        what = f"{text!r} has no value; write for example gain=linear"
        raise ConventionError(what, option="convention")
    try:
        parsed = ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        parsed = None
    # None is kept as the text that was written, which no option accepts.
    return option.strip(), value.strip() if parsed is None else parsed


def show(value: object) -> str:
    """Return an option's value as it is written after ``option=``."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, tuple):
        return f"[{', '.join(map(show, value))}]"
    if isinstance(value, Mapping):
        pairs = [f"{show(grade)}: {show(gain)}" for grade, gain in value.items()]
        return "{" + ", ".join(pairs) + "}"
    return str(value)


def describe(option: str, value: object) -> str:
    """Return the meaning of an option's value in words, or "" if it is obvious."""
    entry = OPTIONS[option]
    shown = show(value)
    if shown in entry.words:
        return entry.words[shown]
    return entry.says.format(shown)


def choices(option: str) -> str:
    """Return the values that an option accepts, such as "zero, drop, a grade from 0"."""
    entry = OPTIONS[option]
    values = list(entry.words)
    if entry.other:
        values.append(entry.other)
    return ", ".join(values)


def accepted(option: str, value: Any) -> Any:
    """Return the value in its normal form, or None if the option does not accept it."""
    if option == "exclude_query_as_document":
        return {"true": True, "false": False}.get(show(value))
    number = _number(value)
    if _accepts_number(option, number):
        return number
    if isinstance(value, str):
        return value if _accepts_text(option, value) else None
    if option == "gain" and isinstance(value, Mapping):
        return _accepted_gains(value)
    if option == "discount" and isinstance(value, list | tuple):
        return _accepted_weights(value)
    return None


def _accepts_number(option: str, number: float) -> bool:
    """Whether a number is in the range of an option that takes numbers."""
    if option in ("min_relevance", "relevant_from", "max_grade"):
        # Unjudged documents have grade 0, which must not be relevant.
        return 0 < number <= MAX_GAIN
    if option == "unjudged":
        return 0 <= number <= MAX_GAIN
    return option == "rbp_persistence" and 0 < number < 1


def _accepts_text(option: str, text: str) -> bool:
    """Whether a text is a named value of an option, or a function where one is accepted."""
    if text in OPTIONS[option].words:
        return True
    return option in ("gain", "discount") and _PYTHON.fullmatch(text) is not None


def _accepted_gains(table: Mapping[Any, Any]) -> dict[float, float] | None:
    """Return a table of gains as numbers by grade, or None if it is not valid."""
    if not 0 < len(table) <= MAX_GRADES:
        return None
    gains = {_number(grade): _number(gain) for grade, gain in table.items()}
    numbers = list(gains.keys()) + list(gains.values())
    if not all(abs(number) <= MAX_GAIN for number in numbers):
        return None
    return dict(sorted(gains.items()))


def _accepted_weights(values: Sequence[Any]) -> tuple[float, ...] | None:
    """Return a list of discounts as numbers, or None if it is empty, invalid or increasing."""
    weights = tuple(map(_number, values))
    are_finite = all(0 <= weight < math.inf for weight in weights)
    do_not_increase = list(weights) == sorted(weights, reverse=True)
    return weights if weights and are_finite and do_not_increase else None


def _number(value: Any) -> float:
    """Return the value as a number, or NaN, which no option accepts, if it is not a number."""
    if isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan

"""The values of options: how to parse, show, normalize and validate them."""

import ast
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from ndcg_spark.convention.options import OPTIONS
from ndcg_spark.errors import ConventionError

#: Sums of larger gains could overflow a double. With exp2 the largest grade is 996.
MAX_GAIN = 1e300
#: Every grade of a table adds a branch to the plan: a few hundred take seconds, ten thousand took two minutes.
MOST_GRADES = 500

#: Which numbers an option accepts. Unjudged documents have grade 0, which must not be relevant.
_NUMBERS: dict[str, Callable[[float], bool]] = {
    "unjudged": lambda grade: 0 <= grade <= MAX_GAIN,
    "min_relevance": lambda grade: 0 < grade <= MAX_GAIN,
    "relevant_from": lambda grade: 0 < grade <= MAX_GAIN,
    "rbp_persistence": lambda persistence: 0 < persistence < 1,
    "max_grade": lambda grade: 0 < grade <= MAX_GAIN,
}

_PYTHON = re.compile(r"python:[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


def parse_option(text: str) -> tuple[str, Any]:
    """The option and the value of ``--set option=value``: a word, number, list, table or bool.

    ConventionError if there is no equals sign. Whether the option takes the value is not checked.
    """
    option, equals, value = text.partition("=")
    if not equals:
        raise ConventionError(f"convention: {text!r} has no value; write for example gain=linear")
    try:
        parsed = ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        parsed = None
    # None stays the text as it was written, which no option accepts.
    return option.strip(), value.strip() if parsed is None else parsed


def show(value: object) -> str:
    """The value of an option as it is written after ``--set option=``."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, tuple):
        return f"[{', '.join(map(show, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{show(grade)}: {show(gain)}" for grade, gain in value.items()) + "}"
    return str(value)


def describe(option: str, value: object) -> str:
    """The meaning of an option's value in words; empty if it is obvious."""
    word = show(value)
    return OPTIONS[option].words.get(word, OPTIONS[option].says.format(word))


def choices(option: str) -> str:
    """The values that an option accepts, for a message."""
    entry = OPTIONS[option]
    return ", ".join([*entry.words, *([entry.other] if entry.other else [])])


def normal(option: str, value: Any) -> Any:
    """The value in its normal form, or unchanged if it has none."""
    if option == "exclude_query_as_document":
        return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
    if option == "gain" and isinstance(value, Mapping):
        pairs = [(_number(grade), _number(gain)) for grade, gain in value.items()]
        if all(grade is not None and gain is not None for grade, gain in pairs):
            return dict(sorted(pairs))
    if option == "discount" and isinstance(value, list | tuple):
        weights = [_number(weight) for weight in value]
        return tuple(weights) if None not in weights else tuple(value)
    return _number(value) if option in _NUMBERS and _number(value) is not None else value


def is_known(option: str, value: Any) -> bool:
    """Whether an option accepts this value, which must be in its normal form."""
    if option == "exclude_query_as_document":
        return isinstance(value, bool)
    if isinstance(value, str):
        return value in OPTIONS[option].words or (option in ("gain", "discount") and bool(_PYTHON.fullmatch(value)))
    if option in _NUMBERS:
        return isinstance(value, float) and _NUMBERS[option](value)
    if option == "gain" and isinstance(value, Mapping):
        numbers = [*value.keys(), *value.values()]
        finite = all(isinstance(number, float) and abs(number) <= MAX_GAIN for number in numbers)
        return 0 < len(value) <= MOST_GRADES and finite
    if option == "discount" and isinstance(value, tuple):
        finite = all(isinstance(weight, float) and 0 <= weight < math.inf for weight in value)
        return bool(value) and finite and list(value) == sorted(value, reverse=True)
    return False


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None

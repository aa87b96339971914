"""Formats numbers for people: on pages, in tables and in sentences."""

import math

from ndcg_spark.tolerance import DECIMALS

#: Smaller p values are not distinguished.
_SMALLEST_P = 0.0001
#: A share of at least this is written as "all".
_ALL = 0.995


def score(value: float | None) -> str:
    """A score with four digits: `0.7708`; `-` if there is no value."""
    if value is None:
        return "-"
    # 0.77075 must not be written as 0.7707 in one place and 0.7708 in another.
    return f"{round(value, DECIMALS):z.4f}"


def whole(value: float) -> str:
    """A number of items: `276`; `-` for nan."""
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}"


def difference(value: float | None) -> str:
    """A difference of scores with its sign: `+0.0113`, `-0.0363`; `-` if there is no value."""
    if value is None:
        return "-"
    return f"{round(value, DECIMALS):+z.4f}"


def share(value: float | None) -> str:
    """A share in percent: `97%`; 0% and 100% only if exact, otherwise `0.1%` and `99.9%`."""
    if value is None:
        return "-"
    percent = 100 * round(value, DECIMALS)
    rounded = f"{percent:z.0f}"
    if rounded == "100" and percent < 100:
        return f"{min(percent, 99.9):.1f}%"
    if rounded == "0" and percent > 0:
        return f"{max(percent, 0.1):.1f}%"
    return f"{rounded}%"


def part(value: float) -> str:
    """A share of a whole in a sentence: `97%`, or `all` of it."""
    return "all" if value >= _ALL else share(value)


def p_value(p: float, alpha: float | None = None) -> str:
    """A p value: `0.0027` or `<0.0001`.

    If four digits would make it look equal to `alpha`, it has more digits.
    """
    if p < _SMALLEST_P:
        return "<0.0001"
    if alpha is None:
        return score(p)
    text, _ = apart(p, alpha)
    return text


def p_in_words(p: float, alpha: float) -> str:
    """A p value in a sentence: `p = 0.0027` or `p < 0.0001`."""
    text = p_value(p, alpha)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def apart(value: float, limit: float) -> tuple[str, str]:
    """Both numbers with four digits, or with as many as are needed to show that they differ."""
    value, limit = round(value, DECIMALS), round(limit, DECIMALS)
    for digits in range(4, 9):
        texts = (f"{value:.{digits}f}", f"{limit:.{digits}f}")
        if texts[0] != texts[1]:
            return texts
    return f"{value:.4f}", f"{limit:.4f}"


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: `1 query`, `2,014 queries`."""
    if number == 1:
        return f"1 {one}"
    return f"{number:,} {many or one + 's'}"


def capital_first(text: str) -> str:
    """The text with a capital first letter."""
    return f"{text[:1].upper()}{text[1:]}"


def rounded_down(number: float) -> str:
    """A count that may have a fraction, with all digits and never rounded up: `12,345`, `1,999.9`.

    So a number below a limit never looks as if it had reached it.
    """
    tenths = math.floor(10 * round(number, DECIMALS))
    if tenths % 10 == 0:
        return f"{tenths // 10:,}"
    return f"{tenths / 10:,.1f}"


def level(alpha: float) -> str:
    """The level of an interval: `95%`, `97.5%`."""
    return f"{100 * (1 - alpha):g}%"

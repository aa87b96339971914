"""What a set of options means: in words, and in mathematical notation."""

from collections.abc import Mapping
from typing import Any

from ndcg_spark.convention.options import DISCOUNTS, GAINS, IDEALS, OPTIONS
from ndcg_spark.convention.values import show

#: The order of the options in a formula: first those that matter most to the numbers.
_SPOKEN = tuple(dict.fromkeys(("gain", "min_relevance", "discount", "order", "score_precision", *OPTIONS)))


def words(options: Mapping[str, Any]) -> str:
    """The options in words, separated by semicolons, without those whose value goes without saying."""
    said = [say(option, options[option]) for option in _SPOKEN]
    return "; ".join(part for part in said if part)


def say(option: str, value: object) -> str:
    """What the value of one option means, in words; empty if it goes without saying."""
    word = show(value)
    known = OPTIONS[option].words.get(word)
    return OPTIONS[option].says.format(word) if known is None else known


def mathematics(options: Mapping[str, Any]) -> list[str]:
    """The definition in mathematical notation, line by line: d is a document, r a rank from 1, q a query."""
    gain, discount = show(options["gain"]), show(options["discount"])
    averaged = options["ties"] == "average"
    least = options["min_relevance"]
    return [
        *([] if least == "none" else [f"rel(d) = [grade of d >= {show(least)}], and a negative grade as it is"]),
        f"g(d) = {GAINS[gain].notation if gain in GAINS else gain}",
        f"w(r) = {DISCOUNTS[discount].notation if discount in DISCOUNTS else discount}",
        "DCG@k = sum over r = 1..k of g(d_r) * w(r)"
        + (", expected over all orders of equal scores" if averaged else ""),
        IDEALS[options["ideal"]][1],
        "NDCG@k = DCG@k / IDCG@k,  ndcg = mean of NDCG@k over q,  ndcg_pooled = sum of DCG@k / sum of IDCG@k",
    ]

"""Every option of a convention: its values, the meaning of each in words, and what it computes.

Validation, the formula in words, the computed Columns and the documentation all follow from these entries. A new
gain is one entry of GAINS.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Functions(Protocol):
    """The functions that formulas are written with, for numbers and for Columns."""

    def constant(self, value: float) -> Any:
        """A constant."""

    def power(self, base: float, exponent: Any) -> Any:
        """base^exponent."""

    def log2(self, value: Any) -> Any:
        """The logarithm to base 2."""

    def ln(self, value: Any) -> Any:
        """The natural logarithm."""

    def sqrt(self, value: Any) -> Any:
        """The square root."""

    def largest(self, one: float, other: Any) -> Any:
        """The larger of the two."""

    def where(self, condition: Any, then: float, otherwise: float) -> Any:
        """`then` if the condition holds, else `otherwise`."""


class Numbers:
    """The functions of plain numbers."""

    constant = float
    power = staticmethod(math.pow)
    log2 = staticmethod(math.log2)
    ln = staticmethod(math.log)
    sqrt = staticmethod(math.sqrt)
    largest = staticmethod(max)

    @staticmethod
    def where(condition: bool, then: float, otherwise: float) -> float:
        """`then` if the condition holds, else `otherwise`."""
        return then if condition else otherwise


@dataclasses.dataclass(frozen=True)
class Formula:
    """A gain of a grade, or a discount of a rank: in words, and as a function."""

    words: str
    #: Computes the value from a grade or rank, with the given functions.
    of: Callable[[Any, Functions], Any]
    #: Whether a gain depends on the grade. One that does not is 0 for an unjudged document.
    of_grade: bool = True


@dataclasses.dataclass(frozen=True)
class TieRule:
    """The order among equal scores: by document id as text or as a number, by the rank column, or by gain."""

    words: str
    by: str
    ascending: bool = False


@dataclasses.dataclass(frozen=True)
class Option:
    """An option of a convention."""

    #: Each value with its meaning in words, which is empty if it is obvious; the default first.
    words: Mapping[str, str]
    #: Other values in words.
    other: str = ""
    says: str = "{}"


#: `rel` is the grade of a judged document.
GAINS: dict[str, Formula] = {
    "exp2": Formula("gain 2^relevance - 1", lambda rel, f: f.power(2.0, rel) - 1.0),
    "linear": Formula("gain relevance", lambda rel, _: rel),
    "binary": Formula("gain 1 if relevance > 0", lambda rel, f: f.where(rel > 0, 1.0, 0.0)),
    "judged": Formula("gain 1 if judged", lambda _, f: f.constant(1.0), of_grade=False),
}

#: `r` is a rank from 1.
DISCOUNTS: dict[str, Formula] = {
    "log2": Formula("discount 1/log2(rank + 1)", lambda r, f: 1.0 / f.log2(r + 1)),
    "ln": Formula("discount 1/ln(rank + 1)", lambda r, f: 1.0 / f.ln(r + 1)),
    "position": Formula("discount 1/rank", lambda r, _: 1.0 / r),
    "jarvelin": Formula(
        "discount 1 up to rank 2, then 1/log2(rank)",
        lambda r, f: 1.0 / f.largest(1.0, f.log2(r)),
    ),
    "none": Formula("no discount", lambda _, f: f.constant(1.0)),
}

TIES: dict[str, TieRule] = {
    "doc_id_desc": TieRule("ties by document id, descending", "doc_id"),
    "doc_id_asc": TieRule("ties by document id, ascending", "doc_id", ascending=True),
    # For tools that read ids as numbers: 10 after 9.
    "doc_id_num_desc": TieRule("ties by document id as a number, descending, then other ids by their text", "number"),
    "doc_id_num_asc": TieRule(
        "ties by document id as a number, ascending, then other ids by their text", "number", ascending=True
    ),
    "average": TieRule("ties averaged over all their orders", "gain"),
    "worst": TieRule("ties in their worst order", "gain", ascending=True),
    "best": TieRule("ties in their best order", "gain"),
    "rank": TieRule("ties by rank", "rank", ascending=True),
}

IDEALS = {
    "judged": "ideal of all judged documents",
    "retrieved": "ideal of the returned documents, the whole list",
    "judged_capped": "ideal of as many judged documents as were returned",
    "k_relevant": "ideal of k relevant documents, however many there are (of all judged ones for the whole ranking)",
}

#: Every option in the order of the documentation.
OPTIONS: dict[str, Option] = {
    "gain": Option(
        {name: entry.words for name, entry in GAINS.items()},
        "a table {grade: gain}, python:package.module.function",
        "gain {}",
    ),
    "discount": Option(
        {name: entry.words for name, entry in DISCOUNTS.items()},
        "a list [w1, w2, ...] that does not increase, python:package.module.function",
        "discount {}",
    ),
    "ties": Option({name: entry.words for name, entry in TIES.items()}),
    "order": Option({"score": "results by score", "rank": "results by rank"}),
    "score_precision": Option({"float64": "", "float32": "scores compared as float32"}),
    "ideal": Option(IDEALS),
    "unjudged": Option(
        {"zero": "unjudged documents have relevance 0", "drop": "unjudged documents leave the list"},
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
        {"none": ""}, "a grade above 0", "grades from {} count as 1 and lower ones as 0, except negative ones"
    ),
    # The last three concern only the measures besides NDCG.
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

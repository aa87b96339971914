"""The reasons for which a query is refused: what is wrong, and what to do.

The engine and `reference` decide separately which queries are refused, so that each checks the
other. Both use these words.
"""

from typing import NamedTuple


class QueryRefusal(NamedTuple):
    """A reason for which a query is refused, in words."""

    code: str
    #: The table that the rule is about, or `convention`.
    table: str
    what: str
    to_do: str

    @property
    def before_example(self) -> str:
        """The part of the sentence before the example."""
        return f"{self.table}: {self.what}, e.g. "

    @property
    def after_example(self) -> str:
        """The part of the sentence after the example."""
        return f"; {self.to_do}"

    def sentence(self, example: str, count: int | None = None) -> str:
        """Return the refusal with an example and, if known, the number of refused queries."""
        what = self.what if count is None else f"{self.what}, {count} of them"
        return self._replace(what=what).before_example + example + self.after_example

    def example_in(self, sentence: str) -> str:
        """Return the example in a sentence without a number of queries."""
        return sentence.removeprefix(self.before_example).removesuffix(self.after_example)


#: What two lists look like after they were merged into one.
TWO_FIRSTS = "two results of rank 1 and different scores"

JUDGED_TWICE = QueryRefusal(
    "judged_twice",
    "judgments",
    "a document judged twice",
    "keep one row each, or set judgment_duplicates=max",
)
RETURNED_TWICE = QueryRefusal(
    "returned_twice",
    "results",
    "a document returned, or judged, twice",
    "keep one row each, or set duplicates=best",
)
RANK_TWICE = QueryRefusal(
    "rank_twice",
    "results",
    "a rank with two rows",
    "remove repeated rows, number each list from 1, or set order=score",
)
MERGED = QueryRefusal(
    "two_lists_in_one",
    "results",
    f"a list with {TWO_FIRSTS}",
    "give each run its own name, or write order=score in convention if scores alone decide",
)
NEGATIVE = QueryRefusal(
    "relevance_negative",
    "judgments",
    "a negative grade",
    "remove it, or set negative=as_unjudged",
)
NO_RELEVANT = QueryRefusal(
    "no_relevant",
    "judgments",
    "a query without a relevant document",
    "judge one, or set no_relevant=skip",
)
MISSING_QUERY = QueryRefusal(
    "missing_query",
    "results",
    "a judged query without results",
    "complete the run, or set missing_query=zero",
)
MEAN_WITHOUT_GAIN = QueryRefusal(
    "mean_without_gain",
    "judgments",
    "the mean of a document's grades has no finite gain",
    "set a different gain, or set judgment_duplicates=max",
)
NOT_FINITE = QueryRefusal(
    "dcg_is_not_finite",
    "convention",
    "a DCG or an NDCG that is not a finite number",
    "correct the gains or the discounts",
)

"""What a set of options means: in words, and in mathematical notation."""

from collections.abc import Callable, Mapping
from typing import Any

#: Per option, what each of its words says; a value that is no word is shown as it is, in the sentence of `_OTHER`.
_SAYS: dict[str, dict[str, str]] = {
    "gain": {
        "exp2": "gain 2^relevance - 1",
        "linear": "gain relevance",
        "binary": "gain 1 if relevance > 0",
        "judged": "gain 1 if judged",
    },
    "discount": {
        "log2": "discount 1/log2(rank + 1)",
        "ln": "discount 1/ln(rank + 1)",
        "position": "discount 1/rank",
        "jarvelin": "discount 1 up to rank 2, then 1/log2(rank)",
        "none": "no discount",
    },
    "order": {"score": "results by score", "rank": "results by rank"},
    "score_precision": {"float64": "", "float32": "scores compared as float32"},
    "ties": {
        "doc_id_desc": "ties by document id, descending",
        "doc_id_asc": "ties by document id, ascending",
        "average": "ties averaged over all their orders",
        "worst": "ties in their worst order",
        "best": "ties in their best order",
        "rank": "ties by rank",
    },
    "ideal": {
        "judged": "ideal of all judged documents",
        "retrieved": "ideal of the returned documents, the whole list",
        "judged_capped": "ideal of as many judged documents as were returned",
    },
    "unjudged": {"zero": "unjudged documents have relevance 0", "drop": "unjudged documents leave the list"},
    "negative": {
        "as_unjudged": "negative grades are as unjudged",
        "keep": "negative grades count",
        "drop": "documents of negative grade leave the list",
        "error": "negative grades are refused",
    },
    "no_relevant": {
        "skip": "queries without gain are left out",
        "zero": "queries without gain score 0",
        "one": "queries without gain score 1",
        "error": "queries without gain are refused",
    },
    "missing_query": {
        "zero": "missing queries score 0",
        "skip": "missing queries are left out",
        "error": "missing queries are refused",
    },
    "duplicates": {"error": "", "best": "a document returned twice keeps its best rank"},
    "judgment_duplicates": {
        "error": "",
        "max": "a document judged twice has the largest of its grades",
        "min": "a document judged twice has the smallest of its grades",
        "mean": "a document judged twice has the mean of its grades",
    },
    "exclude_query_as_document": {"false": "", "true": "the query itself is no result"},
}
_OTHER = {
    "gain": "gain {}",
    "discount": "discount {}",
    "unjudged": "unjudged documents have relevance {} in the DCG",
}
_MATHEMATICS = {
    "exp2": "2^rel(d) - 1",
    "linear": "rel(d)",
    "binary": "[rel(d) > 0]",
    "judged": "[d is judged]",
    "log2": "1 / log2(r + 1)",
    "ln": "1 / ln(r + 1)",
    "position": "1 / r",
    "jarvelin": "1 / max(1, log2 r)",
    "none": "1",
}
_IDEALS = {
    "judged": "IDCG@k = sum of the k largest g(d) over all judged d, in that order, each times w(r)",
    "retrieved": "IDCG@k = sum of the k largest g(d) over the returned d, in that order, each times w(r)",
    "judged_capped": "IDCG@k = sum of the min(k, n) largest g(d) over all judged d, each times w(r), n returned",
}


def words(options: Mapping[str, Any], show: Callable[[object], str]) -> str:
    """The options as a sentence, in the order of the documentation; what is the plain case is not said."""
    said = [say(option, value, show) for option, value in options.items()]
    return "; ".join(part for part in said if part)


def say(option: str, value: object, show: Callable[[object], str]) -> str:
    """What one option means; empty where it is the plain case."""
    word = show(value)
    known = _SAYS[option].get(word)
    return _OTHER[option].format(word) if known is None else known


def mathematics(options: Mapping[str, Any], show: Callable[[object], str]) -> list[str]:
    """The definition in mathematical notation, a line each: d a document, r its rank from 1, q a query."""
    gain, discount = show(options["gain"]), show(options["discount"])
    averaged = options["ties"] == "average"
    return [
        f"g(d) = {_MATHEMATICS.get(gain, gain)}",
        f"w(r) = {_MATHEMATICS.get(discount, discount)}",
        "DCG@k = sum over r = 1..k of g(d_r) * w(r)"
        + (", expected over all orders of equal scores" if averaged else ""),
        _IDEALS[options["ideal"]],
        "NDCG@k = DCG@k / IDCG@k,  ndcg = mean of NDCG@k over q,  ndcg_pooled = sum of DCG@k / sum of IDCG@k",
    ]

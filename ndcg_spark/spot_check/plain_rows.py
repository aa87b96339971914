"""Stored rows as the input contract reads them, in plain Python: types, rules and exclusions."""

import functools
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ndcg_spark import reference
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.options import MAX_GAIN
from ndcg_spark.errors import ConventionError
from ndcg_spark.reference import Returned
from ndcg_spark.schemas import FAULT, LINE

StoredRow = Mapping[str, Any]

_BLANKS = " \t\r\n\f"
_PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MAX_RANK = 2**31 - 1


class Query(NamedTuple):
    """A query; `dataset` is None if the tables do not name datasets."""

    dataset: str | None
    query_id: str


class Pair(NamedTuple):
    """A run and a query."""

    dataset: str | None
    run: str
    query_id: str

    @property
    def query(self) -> Query:
        return Query(self.dataset, self.query_id)


#: The documents of each query with their grades, and of each list with their scores and ranks.
Judged = dict[Query, list[tuple[str, float]]]
Listed = dict[Pair, list[Returned]]
#: Documents that are removed from a query's lists.
Excluded = set[tuple[Query, str]]


def id_text(value: Any) -> str | None:
    """An id as text, or None if it is missing."""
    if value is None:
        return None
    return str(value)


def number(value: Any) -> float | None:
    """A grade or a score as a double, or None if it is missing or its text is not a number."""
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip(_BLANKS)
        if not _PLAIN_NUMBER.fullmatch(text):
            return None
        value = text
    # Adding 0.0 turns -0.0 into 0.0.
    return float(value) + 0.0


def finite_number(value: Any) -> float | None:
    """A grade or a score, or None if it is not a finite number."""
    as_double = number(value)
    if as_double is None or not math.isfinite(as_double):
        return None
    return as_double


def rank_number(value: Any) -> int | None:
    """A rank as an integer, or None if it is not a whole number or does not fit into 32 bits."""
    as_double = number(value)
    if as_double is None or not as_double.is_integer():
        return None
    return int(as_double) if abs(as_double) <= _MAX_RANK else None


def judged_documents(rows: Iterable[StoredRow], convention: Convention) -> Judged:
    """Each query's judgments, without the rows that break a rule."""
    judged: Judged = {}
    # Cached, because many rows have the same grade, and a user's gain may be slow.
    keeps_grade = functools.cache(functools.partial(_keeps_grade, convention))
    for row in rows:
        if row.get(FAULT) is not None:
            continue
        query = _query(row)
        document = id_text(row.get("doc_id"))
        if query is None or not document:
            continue
        grade = finite_number(row.get("relevance"))
        if grade is not None and keeps_grade(grade):
            judged.setdefault(query, []).append((document, grade))
    return judged


def returned_documents(
    rows: Iterable[StoredRow], excluded: Excluded, convention: Convention
) -> Listed:
    """Each run's lists, without excluded documents and rows that break a rule."""
    listed: Listed = {}
    for row in rows:
        if row.get(FAULT) is not None:
            continue
        query = _query(row)
        document = id_text(row.get("doc_id"))
        run = id_text(row.get("run"))
        if query is None or not document or not run:
            continue
        if (query, document) in excluded or not _has_valid_numbers(row, convention):
            continue
        pair = Pair(query.dataset, run, query.query_id)
        returned = document, number(row.get("score")), rank_number(row.get("rank"))
        listed.setdefault(pair, []).append(returned)
    return listed


def _has_valid_numbers(row: StoredRow, convention: Convention) -> bool:
    """Whether a result has the score and the rank that the convention needs."""
    if convention.needs_score and finite_number(row.get("score")) is None:
        return False
    rank = rank_number(row.get("rank"))
    if convention.needs_rank:
        return rank is not None and rank >= 1
    # A rank that is not needed may be missing, but must not be anything else.
    return rank is not None or not _has_odd_rank(row)


def _has_odd_rank(row: StoredRow) -> bool:
    """Whether a row without a valid rank has something else in its rank column."""
    value = row.get("rank")
    if row.get(LINE) is not None:
        # A reader of text keeps the LINE of a row with a field that is not a number. That field is
        # null, so this may be the rank.
        return "rank" in row
    if value is None or isinstance(value, int):
        return False
    if isinstance(value, str):
        return bool(value.strip(_BLANKS))
    # pandas writes NaN for a missing value.
    return not math.isnan(value)


def excluded_documents(rows: Iterable[StoredRow], datasets: Iterable[str | None]) -> Excluded:
    """The documents to remove from the lists of queries.

    `datasets` are those of the evaluation; a row without a dataset column applies to all of them.
    """
    known = set(datasets)
    # If the other tables do not name datasets, a dataset column is ignored.
    ignores_datasets = known == {None}
    excluded: Excluded = set()
    for row in rows:
        query_id = id_text(row.get("query_id"))
        document = id_text(row.get("doc_id"))
        if not query_id or not document:
            continue
        datasets_of_row = known
        if "dataset" in row and not ignores_datasets:
            datasets_of_row = {id_text(row["dataset"])}
        for dataset in datasets_of_row:
            excluded.add((Query(dataset, query_id), document))
    return excluded


def same_values(row: StoredRow) -> tuple[Any, ...]:
    """The values of a row, which are equal even if two files store them with different types."""
    ids = [id_text(row.get(name)) for name in ("dataset", "run", "query_id", "doc_id")]
    numbers = [_comparable_number(row.get(name)) for name in ("relevance", "score", "rank")]
    return tuple(ids) + tuple(numbers)


def _comparable_number(value: Any) -> float | str | None:
    """A number in a form that is equal to itself, which NaN is not."""
    as_double = number(value)
    if as_double is not None and math.isnan(as_double):
        return "NaN"
    return as_double


def _query(row: StoredRow) -> Query | None:
    """A row's query, or None if it has no query."""
    query_id = id_text(row.get("query_id"))
    if not query_id:
        return None
    if "dataset" not in row:
        return Query(None, query_id)
    dataset = id_text(row["dataset"])
    if not dataset:
        return None
    return Query(dataset, query_id)


def _keeps_grade(convention: Convention, grade: float) -> bool:
    """Whether the rules keep a judgment with this grade."""
    if grade < 0 and convention.negative != "keep":
        # It needs no gain, because it counts as unjudged.
        return convention.negative != "error"
    highest = convention.max_grade
    if isinstance(highest, float) and convention.min_relevance == "none" and grade > highest:
        return False
    try:
        gain = reference.gain(grade, convention)
    except ConventionError:
        # A user's function does not return a finite number for this grade.
        return False
    return gain is not None and abs(gain) <= MAX_GAIN

"""Which columns of a table are ours: by the names that its user gives, by our own, or by the
aliases of other tools.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from ndcg_spark.errors import InputError
from ndcg_spark.voices import ChooseColumn

#: By column, its names in lower case, with _ for - and blanks: those of ir_datasets, PyTerrier,
#: BEIR, MS MARCO, TREC, MovieLens, RecTools, RePlay, recommenders, RecBole, Surprise, LensKit,
#: Quepid, OpenSearch, UBI and RAGAS. Those of the second list may be another thing, and count only
#: where a table has none of the first: the text of a query, scores, positions, categories. So it is
#: with those of the third list and both before it.
_ALIASES: Mapping[str, tuple[str, ...]] = {
    "query_id": (
        "queryid qid q_id topic topic_id user_id userid user user_idx",
        "query query_text user_query user_input",
        "uid",
    ),
    "doc_id": (
        (
            "docno corpus_id pid passage_id item_id itemid item item_idx movie_id movieid doc_ids "
            "documents item_ids items"
        ),
        "docid",
        "document_id documentid product_id productid iid",
    ),
    "relevance": ("rel label grade rating r_ui", "score"),
    "score": ("scores prediction", "rating", "est"),
    "rank": ("", "position doc_position"),
    "run": ("run_id runid run_name snapshot_name", "tag system engine model algorithm"),
    "weight": ("weights query_weight frequency traffic", ""),
}
#: Beside these, the second list does not count: scores in results are no grades, and Quepid's
#: ratings no scores.
_NOT_BESIDE = {
    "relevance": {"rank", "run", *" ".join(_ALIASES["run"]).split()},
    "score": {"query", "doc_position"},
}
#: What RecBole and others write after a name: user_id:token, rating:float.
_TYPE = re.compile(r":((token|float)(_seq)?|str|string|int|integer|long|double)\Z")


def resolve_columns(
    mapped: Mapping[str, str], names: Iterable[str], has: Iterable[str]
) -> dict[str, str]:
    """What a table that `has` columns calls each of ours `names`: as `mapped`, as we do, or by
    exactly one alias.
    """
    columns, wanted = [*dict.fromkeys(has)], [*names]
    plain = {column: plain_name(column) for column in columns}
    # As our own names, those of the user may differ in case.
    alike = {plain_name(column): column for column in reversed(columns)}
    mapped = {
        name: column if column in plain else alike.get(plain_name(column), column)
        for name, column in mapped.items()
    }
    called = dict(mapped)
    free = [column for column in columns if column not in mapped.values()]
    for name in wanted:
        if name in mapped or name in columns:
            called.setdefault(name, name)
            continue
        # Positions are no ranks beside scores.
        beside = {"score"} & {*called} if name == "rank" else set()
        beside |= _NOT_BESIDE.get(name, set()) & {*plain.values()}
        lists = _names(name)
        named = _first_named(free, lists[:1] if beside else lists)
        if len(named) > 1:
            what = f"{len(named)} columns may be the {name}, {' and '.join(named)}"
            raise InputError(what, ChooseColumn(name, named[0]))
        called.update((name, column) for column in named)
    return called


def _names(name: str) -> list[list[str]]:
    """The lists of names that our column `name` may have; its own is in the first."""
    lists = [text.split() for text in _ALIASES.get(name, ("",))]
    lists[0].append(name)
    return lists


def _first_named(columns: Iterable[str], lists: Iterable[Sequence[str]]) -> list[str]:
    """The columns with a name in the first of the lists that has the name of any."""
    for names in lists:
        named = [column for column in columns if plain_name(column) in names]
        if named:
            return named
    return []


def doubtful_run(columns: Mapping[str, str], mapped: Mapping[str, str]) -> str | None:
    """The column that may name the runs or be another thing, such as a category of documents."""
    column = columns.get("run")
    if column is None or "run" in mapped:
        return None
    _, doubtful = _names("run")
    return column if plain_name(column) in doubtful else None


def is_alias(name: str, column: str) -> bool:
    plain = plain_name(column)
    return column == name or any(plain in names for names in _names(name))


def is_second_choice(name: str, column: str) -> bool:
    """Whether a column has one of the names that may mean another thing than ours."""
    return any(plain_name(column) in names for names in _names(name)[1:2])


def plain_name(column: str) -> str:
    """The name as the lists of other names have it."""
    lower = column.lower()
    return _TYPE.sub("", re.sub("[- ]", "_", lower))

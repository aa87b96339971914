"""Finds our columns in a table by the names that the user gives, by our own names, or by the
aliases that other tools use.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from ndcg_spark.errors import InputError
from ndcg_spark.voices import ChooseColumn

#: The aliases of each column, in lower case, with _ for - and blanks. They come from ir_datasets,
#: PyTerrier, BEIR, MS MARCO, TREC, MovieLens, RecTools, RePlay, recommenders, RecBole, Surprise,
#: LensKit, Quepid, OpenSearch, UBI and RAGAS. The names in the second list may mean something else
#: (the text of a query, scores, positions, categories), so they are used only if a table has no
#: name from the first list. The third list is used only if there is no name from the first two.
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
#: If a table has one of these names, the second list is ignored: scores in results are not grades,
#: and Quepid's ratings are not scores.
_NOT_BESIDE = {
    "relevance": {"rank", "run", *" ".join(_ALIASES["run"]).split()},
    "score": {"query", "doc_position"},
}
#: The type that RecBole and others write after a name: user_id:token, rating:float.
_TYPE = re.compile(r":((token|float)(_seq)?|str|string|int|integer|long|double)\Z")


def resolve_columns(
    mapped: Mapping[str, str], names: Iterable[str], has: Iterable[str]
) -> dict[str, str]:
    """Return what a table that `has` these columns calls each of our columns `names`.

    A column has its `mapped` name, our own name, or exactly one alias.
    """
    columns, wanted = [*dict.fromkeys(has)], [*names]
    plain = {column: plain_name(column) for column in columns}
    # The names that the user gives may differ in case, like our own names.
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
        # If there are scores, positions are not ranks.
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
    """Return the lists of names that our column `name` may have; the first includes our own."""
    lists = [text.split() for text in _ALIASES.get(name, ("",))]
    lists[0].append(name)
    return lists


def _first_named(columns: Iterable[str], lists: Iterable[Sequence[str]]) -> list[str]:
    """Return the columns that the first matching list names."""
    for names in lists:
        named = [column for column in columns if plain_name(column) in names]
        if named:
            return named
    return []


def doubtful_run(columns: Mapping[str, str], mapped: Mapping[str, str]) -> str | None:
    """Return the column that may name the runs or mean something else, such as a category."""
    column = columns.get("run")
    if column is None or "run" in mapped:
        return None
    _, doubtful = _names("run")
    return column if plain_name(column) in doubtful else None


def is_alias(name: str, column: str) -> bool:
    plain = plain_name(column)
    return column == name or any(plain in names for names in _names(name))


def is_second_choice(name: str, column: str) -> bool:
    """Whether a column has one of the aliases that may mean something else."""
    return any(plain_name(column) in names for names in _names(name)[1:2])


def plain_name(column: str) -> str:
    """Return the name in the form that the lists of aliases use."""
    lower = column.lower()
    return _TYPE.sub("", re.sub("[- ]", "_", lower))

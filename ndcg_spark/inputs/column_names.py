"""Finds our columns in a table by the names that the user gives, by our own names, or by the
aliases that other tools use.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from ndcg_spark.errors import InputError
from ndcg_spark.voices import ChooseColumn

#: Each column's aliases, in lower case, with _ instead of - and blanks, from ir_datasets,
#: PyTerrier, BEIR, MS MARCO, TREC, MovieLens, RecTools, RePlay, recommenders, RecBole, Surprise,
#: LensKit, Quepid, OpenSearch, UBI and RAGAS. Names in later lists may mean something else (a
#: query's text, scores, positions, categories), so each list is used only if a table has no name
#: from the lists before it.
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
        # A product may be a title beside the id.
        "product sku",
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
    """Return the table's name for each of our columns in `names`, e.g. `{"doc_id": "docno"}`.

    `has` lists the columns of the table. A column has the name that the user gives in `mapped`, our
    own name, or an alias. Raise InputError if several columns have aliases of the same name.
    """
    columns = list(dict.fromkeys(has))
    found = {ours: _in_same_case(theirs, columns) for ours, theirs in mapped.items()}
    free = [column for column in columns if column not in found.values()]
    plain_names = set(map(plain_name, columns))
    for name in names:
        if name in found:
            continue
        if name in columns:
            found[name] = name
            continue
        lists = _alias_lists(name)
        # If there are scores, positions are not ranks.
        is_only_position = name == "rank" and "score" in found
        if is_only_position or not plain_names.isdisjoint(_NOT_BESIDE.get(name, ())):
            lists = lists[:1]
        matching = _first_matching(free, lists)
        if len(matching) > 1:
            what = f"{len(matching)} columns may be the {name}, {' and '.join(matching)}"
            raise InputError(what, ChooseColumn(name, matching[0]))
        if matching:
            found[name] = matching[0]
    return found


def _in_same_case(name: str, columns: Sequence[str]) -> str:
    """Return the column that a user's name means, which may differ in case, or the name itself."""
    if name in columns:
        return name
    for column in columns:
        if plain_name(column) == plain_name(name):
            return column
    return name


def _alias_lists(name: str) -> list[list[str]]:
    """Return the lists of names that our column `name` may have; the first includes our own."""
    lists = [text.split() for text in _ALIASES.get(name, ("",))]
    lists[0].append(name)
    return lists


def _first_matching(columns: Iterable[str], lists: Iterable[Sequence[str]]) -> list[str]:
    """Return the columns whose names are in the first list that contains any of their names."""
    for names in lists:
        matching = [column for column in columns if plain_name(column) in names]
        if matching:
            return matching
    return []


def doubtful_run(columns: Mapping[str, str], mapped: Mapping[str, str]) -> str | None:
    """Return the column that may name the runs or mean something else, such as a category."""
    column = columns.get("run")
    if column is None or "run" in mapped:
        return None
    _, doubtful = _alias_lists("run")
    return column if plain_name(column) in doubtful else None


def is_alias(name: str, column: str) -> bool:
    """Whether a table's column has our name `name` or one of its aliases."""
    if column == name:
        return True
    plain = plain_name(column)
    return any(plain in aliases for aliases in _alias_lists(name))


def is_second_choice(name: str, column: str) -> bool:
    """Whether a table's column has one of the aliases of `name` that may mean something else."""
    lists = _alias_lists(name)
    return len(lists) > 1 and plain_name(column) in lists[1]


def plain_name(column: str) -> str:
    """Return the name in the form that the lists of aliases use: user_id for User-ID:token."""
    lower = column.lower()
    return _TYPE.sub("", re.sub("[- ]", "_", lower))

"""Which columns of a table are ours: by the names that its user gives, by our own, or by the
aliases of other tools.
"""

from collections.abc import Iterable, Mapping

from ndcg_spark.errors import InputError
from ndcg_spark.voices import ChooseColumn

#: By column, its names in lower case, with _ for - and blanks: those of ir_datasets, PyTerrier,
#: BEIR, MS MARCO, TREC, MovieLens, RecTools, RePlay, recommenders, Quepid, OpenSearch, UBI and
#: RAGAS. Those of the second list may be another thing, and count only where a table has none of
#: the first: the text of a query, scores, positions, categories.
_ALIASES: Mapping[str, tuple[str, str]] = {
    "query_id": (
        "queryid qid q_id topic topic_id user_id userid user user_idx",
        "query query_text user_query user_input",
    ),
    "doc_id": (
        (
            "docno corpus_id pid passage_id item_id itemid item item_idx movie_id movieid doc_ids "
            "documents item_ids items"
        ),
        "docid",
    ),
    "relevance": ("rel label grade rating", "score"),
    "score": ("scores prediction", "rating"),
    "rank": ("", "position doc_position"),
    "run": ("run_id runid run_name snapshot_name", "tag system engine model"),
    "weight": ("weights query_weight frequency traffic", ""),
}
#: Beside these, the second list does not count: scores in results are no grades, and Quepid's
#: ratings no scores.
_NOT_BESIDE = {
    "relevance": {"rank", "run", *" ".join(_ALIASES["run"]).split()},
    "score": {"query", "doc_position"},
}


def resolve_columns(
    mapped: Mapping[str, str], names: Iterable[str], has: Iterable[str]
) -> dict[str, str]:
    """What a table that `has` columns calls each of ours `names`: as `mapped`, as we do, or by
    exactly one alias.
    """
    columns, wanted = [*dict.fromkeys(has)], [*names]
    plain = {column: _plain(column) for column in columns}
    # As our own names, those of the user may differ in case.
    alike = {_plain(column): column for column in reversed(columns)}
    mapped = {
        name: column if column in plain else alike.get(_plain(column), column)
        for name, column in mapped.items()
    }
    called = dict(mapped)
    free = [column for column in columns if column not in mapped.values()]
    for name in wanted:
        if name in mapped or name in columns:
            called.setdefault(name, name)
            continue
        first, second = map(str.split, _ALIASES.get(name, ("", "")))
        # Positions are no ranks beside scores.
        is_out = name == "rank" and "score" in called
        tiers = [
            [name, *first],
            [] if is_out or _NOT_BESIDE.get(name, set()) & {*plain.values()} else second,
        ]
        named = next(
            filter(None, ([column for column in free if plain[column] in tier] for tier in tiers)),
            [],
        )
        if len(named) > 1:
            what = f"{len(named)} columns may be the {name}, {' and '.join(named)}"
            raise InputError(what, ChooseColumn(name, named[0]))
        called.update((name, column) for column in named)
    return called


def doubtful_run(columns: Mapping[str, str], mapped: Mapping[str, str]) -> str | None:
    """The column that may name the runs or be another thing, such as a category of documents."""
    column = columns.get("run")
    is_doubtful = column is not None and _plain(column) in _ALIASES["run"][1].split()
    return column if is_doubtful and "run" not in mapped else None


def is_alias(name: str, column: str) -> bool:
    return column == name or _plain(column) in (name, *" ".join(_ALIASES.get(name, ())).split())


def is_second_choice(name: str, column: str) -> bool:
    """Whether a column has one of the names that may mean another thing than ours."""
    return _plain(column) in _ALIASES.get(name, ("", ""))[1].split()


def _plain(column: str) -> str:
    return column.lower().replace("-", "_").replace(" ", "_")

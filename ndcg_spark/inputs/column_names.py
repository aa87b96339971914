"""Which columns of a table are ours: by the names that its user gives, by our own, or by the aliases of other tools."""

from collections.abc import Iterable, Mapping

from ndcg_spark.errors import InputError

#: By column, its names in lower case, with _ for - and blanks: those of ir_datasets, PyTerrier, BEIR, MS MARCO, TREC,
#: MovieLens, RecTools, RePlay, recommenders, Quepid, OpenSearch, UBI and RAGAS. Those of the second list may be another
#: thing, and count only where a table has none of the first: the text of a query, scores and positions.
_ALIASES: Mapping[str, tuple[str, str]] = {
    "query_id": (
        "queryid qid q_id topic topic_id user_id userid user user_idx",
        "query query_text user_query user_input",
    ),
    "doc_id": (
        "docno corpus_id pid passage_id item_id itemid item item_idx movie_id movieid doc_ids documents item_ids items",
        "docid",
    ),
    "relevance": ("rel label grade rating", "score"),
    "score": ("scores prediction", "rating"),
    "rank": ("", "position doc_position"),
    "run": ("run_id runid tag system model snapshot_name", ""),
    "weight": ("weights query_weight frequency traffic", ""),
}
#: Beside these, the second list does not count: scores in results are no grades, and Quepid's ratings no scores.
_NOT_BESIDE = {"relevance": {"rank", "run", *_ALIASES["run"][0].split()}, "score": {"query", "doc_position"}}
#: What to do about columns without a name.
_UNNAMED = "the first line may be a title above the names of the columns; remove it, or name every column"


def resolve_columns(mapped: Mapping[str, str], names: Iterable[str], has: Iterable[str], where: str) -> dict[str, str]:
    """What a table that `has` columns calls each of ours `names`: as `mapped`, as we do, or by exactly one alias."""
    columns, wanted = [*dict.fromkeys(has)], [*names]
    plain = {column: _plain(column) for column in columns}
    # As our own names, those of the user may differ in case.
    alike = {_plain(column): column for column in reversed(columns)}
    mapped = {name: column if column in plain else alike.get(_plain(column), column) for name, column in mapped.items()}
    called = dict(mapped)
    free = [column for column in columns if column not in mapped.values()]
    for name in wanted:
        if name in mapped or name in columns:
            called.setdefault(name, name)
            continue
        first, second = map(str.split, _ALIASES.get(name, ("", "")))
        # Positions are no ranks beside scores.
        is_out = name == "rank" and "score" in called
        tiers = [[name, *first], [] if is_out or _NOT_BESIDE.get(name, set()) & {*plain.values()} else second]
        named = next(filter(None, ([column for column in free if plain[column] in tier] for tier in tiers)), [])
        if len(named) > 1:
            raise InputError(
                f"{where}: {len(named)} columns may be the {name}, {' and '.join(named)}; drop or rename all but one, "
                f"or say which, --column {name}={named[0]}"
            )
        called.update((name, column) for column in named)
    return called


def refuse_alike(names: Iterable[str], where: str) -> None:
    """InputError if the names of two columns are blank or differ only in case, which Spark ignores."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(name.strip() and name.lower(), []).append(name)
    if len(unnamed := alike.pop("", [])) > 1:
        first, *_ = [*alike.values(), unnamed]
        raise InputError(f"{where}: {len(unnamed)} columns have no name, beside {first[0]!r}; {_UNNAMED}")
    if twice := [" and ".join(same) for same in alike.values() if len(same) > 1]:
        raise InputError(
            f"{where}: {len(twice)} column name(s) occur twice or differ only in case, e.g. {twice[0]}; rename them"
        )


def rename_advice(lost: Iterable[str], has: Iterable[str], otherwise: str = "") -> str:
    """What to do about lost columns, where it is not `otherwise`; with a blank name, a title may hide the names."""
    return (otherwise or f"rename its columns to {' and '.join(lost)}") if all(map(str.strip, has)) else _UNNAMED


def is_alias(name: str, column: str) -> bool:
    return column == name or _plain(column) in (name, *" ".join(_ALIASES.get(name, ())).split())


def _plain(column: str) -> str:
    return column.lower().replace("-", "_").replace(" ", "_")

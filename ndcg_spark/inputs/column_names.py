"""Which columns of a table are ours: by the names that its user gives, by our own, and by those of other tools."""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

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


def resolve_columns(mapped: Mapping[str, str], names: Iterable[str], has: Iterable[str], where: str) -> dict[str, str]:
    """What a table that `has` these columns calls each of ours `names`: as `mapped`, as we do, or by exactly one alias.

    InputError if two columns may be the same one of ours.
    """
    columns, wanted, called = [*dict.fromkeys(has)], [*names], dict(mapped)
    plain = {column: _plain(column) for column in columns}
    free = [column for column in columns if column not in mapped.values()]
    for name in wanted:
        if name in mapped or name in columns:
            called.setdefault(name, name)
            continue
        first, second = map(str.split, _ALIASES.get(name, ("", "")))
        # The text of a query names it only where documents are listed, and positions are no ranks beside scores.
        is_out = (name == "query_id" and "doc_id" not in {*wanted, *mapped}) or (name == "rank" and "score" in called)
        tiers = [[name, *first], [] if is_out or _NOT_BESIDE.get(name, set()) & {*plain.values()} else second]
        named = next(filter(None, ([column for column in free if plain[column] in tier] for tier in tiers)), [])
        if len(named) > 1:
            raise InputError(
                f"{where}: {len(named)} columns may be the {name}, {' and '.join(named)}; drop or rename all but one, "
                f"or say which, --column {name}={named[0]}"
            )
        called.update((name, column) for column in named)
    return called


def is_alias(name: str, column: str) -> bool:
    """Whether a column of this name may be our column `name`."""
    return column == name or _plain(column) in (name, *" ".join(_ALIASES.get(name, ())).split())


def names_in(has: Sequence[str], columns: Mapping[str, str], schema: pa.Schema, where: str) -> dict[str, str]:
    """What a table that `has` these columns calls those of the schema; InputError if a needed one is missing.

    `columns` are what its files call ours, or should, by the user's mapping.
    """
    # Here, because names are also looked up where there is no engine.
    from ndcg_spark.rules import missing_columns, named_by_user

    known = named_by_user(has)
    if absent := [f"{name} = {source!r}" for name, source in columns.items() if source not in has]:
        raise InputError(
            f"{where}: {len(absent)} mapped column(s) missing, columns.{absent[0]}; it has {', '.join(known)}"
        )
    sources = {name: columns.get(name, name) for name in schema.names}
    if lost := [name for name in ("query_id", "doc_id") if name in sources and sources[name] not in has]:
        raise missing_columns(lost, known, where)
    return {ours: theirs for ours, theirs in sources.items() if theirs in has}


def _plain(column: str) -> str:
    return column.lower().replace("-", "_").replace(" ", "_")

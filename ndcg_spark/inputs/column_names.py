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
    "attribute": ("attribute_name slice", ""),
    "value": ("attribute_value slice_value", ""),
    "weight": ("weights query_weight frequency traffic", ""),
}
#: Beside these, the second list does not count: scores in results are no grades, and Quepid's ratings no scores.
_NOT_BESIDE = {"relevance": {"rank", "run", *_ALIASES["run"][0].split()}, "score": {"query", "doc_position"}}


def resolve_columns(mapped: Mapping[str, str], names: Iterable[str], has: Iterable[str], where: str) -> dict[str, str]:
    """What a table that `has` these columns calls each of ours `names`: as `mapped`, as we do, or by exactly one alias.

    InputError if two columns may be the same one of ours.
    """
    columns, wanted = [*dict.fromkeys(has)], [*names]
    plain = {column: _plain(column) for column in columns}
    free, called = [column for column in columns if column not in mapped.values()], dict(mapped)
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
        if named:
            called[name] = named[0]
    return called


def attribute_columns(mapped: Mapping[str, str], has: Iterable[str], where: str) -> dict[str, str]:
    """What a table of attributes calls our columns, as `resolve_columns` finds; every other column may be an attribute.

    It has the columns attribute and value, under any name, only where it has both.
    """
    columns = [*has]
    pair = ("attribute", "value")
    is_long = all(any(is_alias(name, column) for column in columns) for name in pair) or {*pair} & {*mapped}
    return resolve_columns(mapped, ["dataset", "query_id", *(pair if is_long else ())], columns, where)


def is_alias(name: str, column: str) -> bool:
    """Whether a column of this name may be our column `name`."""
    return column == name or _plain(column) in (name, *" ".join(_ALIASES.get(name, ())).split())


def names_in(has: Sequence[str], columns: Mapping[str, str], schema: pa.Schema, where: str) -> dict[str, str]:
    """What a table that `has` these columns calls those of the schema; InputError if a needed one is missing.

    `columns` are what its files call ours, or should, by the user's mapping.
    """
    # Here, because names are also looked up where there is no engine.
    from ndcg_spark.casting import missing_columns, named_by_user

    known = ", ".join(named_by_user(has))
    absent = [f"{name} = {source!r}" for name, source in columns.items() if source not in has]
    if absent:
        raise InputError(
            f"{where}: {len(absent)} mapped column(s) missing, columns.{absent[0]}; it has {known}; correct it"
        )
    sources = {field.name: columns.get(field.name, field.name) for field in schema}
    kept = {ours: theirs for ours, theirs in sources.items() if theirs in has}
    if not kept:
        raise InputError(
            f"{where}: none of {', '.join(sources.values())} is a column; it has {known}; map names in the "
            "configuration with columns, or name its format"
        )
    lost = [name for name in ("query_id", "doc_id") if name in sources and name not in kept]
    if lost:
        raise missing_columns(lost, named_by_user(has), where)
    return kept


def _plain(column: str) -> str:
    return column.lower().replace("-", "_").replace(" ", "_")

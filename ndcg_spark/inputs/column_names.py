"""Which columns of a table are ours: by the names that its user gives, by our own, and by those of other tools."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import pyarrow as pa

from ndcg_spark.errors import InputError

#: By column, its names in lower case, with _ for - and blanks: those of ir_datasets, PyTerrier, BEIR, MS MARCO,
#: TREC, MovieLens, RecTools, RePlay and recommenders; and of Quepid, OpenSearch, UBI and RAGAS.
_ALIASES: Mapping[str, Sequence[str]] = {
    "query_id": ["queryid", "qid", "q_id", "topic", "topic_id", "user_id", "userid", "user", "user_idx"],
    "doc_id": [
        *("docno", "docid", "corpus_id", "pid", "passage_id"),
        *("item_id", "itemid", "item", "item_idx", "movie_id", "movieid"),
        *("doc_ids", "documents", "item_ids", "items"),
    ],
    "relevance": ["rel", "label", "grade", "rating", "score"],
    "score": ["scores", "prediction", "rating"],
    "run": ["run_id", "runid", "tag", "system", "model", "snapshot_name"],
    "attribute": ["attribute_name", "slice"],
    "value": ["attribute_value", "slice_value"],
    "weight": ["weights", "query_weight", "frequency", "traffic"],
}
#: The names that count only where a table has none of those above: the text of a query, which may stand beside its id,
#: and positions, which are not ranks where there are scores.
_SECOND: Mapping[str, Sequence[str]] = {
    "query_id": ["query", "query_text", "user_query", "user_input"],
    "rank": ["position", "doc_position"],
}
#: The names that are another thing beside a certain other: PyTerrier's own number of a document, Quepid's grades.
#: Scores beside runs or ranks are no grades.
_NOT_BESIDE: Mapping[tuple[str, str], Collection[str]] = {
    ("doc_id", "docid"): {"docno"},
    ("score", "rating"): {"doc_position", "query"},
    ("relevance", "score"): {"rank", "run", *_ALIASES["run"]},
}


def resolve(mapped: Mapping[str, str], names: Iterable[str], has: Iterable[str], where: str) -> dict[str, str]:
    """What a table that `has` these columns calls each of ours `names`: as `mapped`, as we do, or by exactly one alias.

    InputError if two columns may be the same one of ours.
    """
    columns, wanted = [*dict.fromkeys(has)], [*names]
    plain = {column: _plain(column) for column in columns}
    found = dict(mapped)
    for name in wanted:
        if name in mapped or name in columns:
            found.setdefault(name, name)
            continue
        beside = {
            alias for (ours, alias), others in _NOT_BESIDE.items() if ours == name and {*plain.values()} & {*others}
        }
        tiers: list[Sequence[str]] = [(name, *_ALIASES.get(name, ()))]
        # The text of a query names it only where documents are listed.
        if (name != "query_id" or "doc_id" in {*wanted, *mapped}) and (name != "rank" or "score" not in found):
            tiers.append(_SECOND.get(name, ()))
        free = [column for column in columns if plain[column] not in beside and column not in mapped.values()]
        named = next(filter(None, ([column for column in free if plain[column] in tier] for tier in tiers)), [])
        if len(named) > 1:
            raise InputError(
                f"{where}: {len(named)} columns may be the {name}, {' and '.join(named)}; drop or rename all but one, "
                f"or say which, --column {name}={named[0]}"
            )
        if named:
            found[name] = named[0]
    return found


def of_attributes(mapped: Mapping[str, str], has: Iterable[str], where: str) -> dict[str, str]:
    """As `resolve`, for a table of attributes, in which every other column may be an attribute.

    It has the columns attribute and value, under any name, only where it has both.
    """
    columns = [*has]
    pair = ("attribute", "value")
    is_long = all(any(is_known(name, column) for column in columns) for name in pair) or {*pair} & {*mapped}
    return resolve(mapped, ["dataset", "query_id", *(pair if is_long else ())], columns, where)


def is_known(name: str, column: str) -> bool:
    """Whether a column of this name may be our column `name`."""
    return column == name or _plain(column) in (name, *_ALIASES.get(name, ()), *_SECOND.get(name, ()))


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
    refuse_other(has, sources.values(), where)
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


def refuse_other(columns: Iterable[str], wanted: Collection[str], where: str) -> None:
    """InputError if the columns show that the table is the other one, such as results in place of judgments.

    This is not done if the user has mapped relevance, or both score and rank.
    """
    has = set(columns)
    is_graded, is_ranked = "relevance" in has, bool({"score", "rank"} & has)
    if "relevance" in wanted and not is_graded and is_ranked and "run" in has:
        raise InputError(f"{where}: no column relevance, and columns of results; is this the results file?")
    if {"score", "rank"} & set(wanted) and is_graded and not is_ranked and "run" not in has:
        raise InputError(f"{where}: no column score or rank, and a column relevance; is this the judgments file?")


def _plain(column: str) -> str:
    return column.lower().replace("-", "_").replace(" ", "_")

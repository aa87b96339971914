"""Which columns of a table are ours: by the names that its user gives, by our own, and by those of other tools."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import pyarrow as pa

from ndcg_spark.config import TableConfig
from ndcg_spark.errors import InputError

#: By column, its names in lower case, with _ for - and blanks: those of ir_datasets, PyTerrier, BEIR, MS MARCO, TREC
#: and Quepid; of MovieLens, RecTools, RePlay and recommenders; and the plural, for arrays.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "query_id": ("query_id", "queryid", "qid", "q_id", "topic", "topic_id", "user_id", "userid", "user", "user_idx"),
    "doc_id": (
        *("doc_id", "docno", "docid", "corpus_id", "pid", "passage_id"),
        *("item_id", "itemid", "item", "item_idx", "movie_id", "movieid"),
        *("doc_ids", "documents", "item_ids", "items"),
    ),
    "relevance": ("relevance", "rel", "label", "grade", "score", "rating"),
    "score": ("score", "scores", "prediction", "rating"),
    "rank": ("rank",),
    "run": ("run", "run_id", "runid", "tag", "system", "model", "snapshot_name"),
    "attribute": ("attribute", "attribute_name", "slice"),
    "value": ("value", "attribute_value", "slice_value"),
    "weight": ("weight", "weights", "query_weight", "frequency", "traffic"),
}
#: The names that count only where a table has none of those above, as they are also names of other things: the texts of
#: queries in Quepid, OpenSearch and RAGAS, and positions, which are not ranks where there are scores.
_SECOND_NAMES: Mapping[str, tuple[str, ...]] = {
    "query_id": ("query", "query_text", "user_query", "user_input"),
    "rank": ("position", "doc_position"),
}
#: A name that PyTerrier gives to a number of its own, beside the name of the document.
_INNER = {"docid": "docno"}
#: The position of a document in Quepid, beside which a rating is a grade and no score.
_OF_QUEPID = "doc_position"
#: In a table with one of these columns, a score is what a run has given and no grade.
_OF_RESULTS = ("run", "rank")
#: The columns of Quepid's basic exports, and those by which its detailed export, which has more, is recognised.
_BASIC_EXPORT = ["query", "docid", "rating"]
_DETAILED_EXPORT = {"Case ID", "Query Text", "Doc ID", "Rating"}


def resolve(
    mapped: Mapping[str, str], names: Iterable[str], has: Iterable[str], where: str, advice: str | None = None
) -> dict[str, str]:
    """What the files call each of our columns `names`, if they have it.

    A name that is `mapped` counts before our own, and that before those of other tools. `has` are the files' own
    columns. InputError if two of them may be the same column of ours; `advice` is what to do then, by default how the
    command line maps names.
    """
    columns = list(dict.fromkeys(has))
    wanted = list(names)
    found = dict(mapped)
    for name in wanted:
        if name in mapped or name in columns:
            found.setdefault(name, name)
            continue
        named = _called(name, columns) or _called_second(name, columns, {*wanted, *mapped}, mapped)
        candidates = [column for column in named if column not in mapped.values()]
        if len(candidates) > 1:
            both = " and ".join(candidates)
            what_to_do = advice or f"say which, --column {name}={candidates[0]}"
            raise InputError(f"{where}: {len(candidates)} columns may be the {name}, {both}; {what_to_do}")
        if candidates and not (name == "relevance" and _is_of_results(candidates[0], columns)):
            found[name] = candidates[0]
    return found


def of_attributes(
    mapped: Mapping[str, str], has: Iterable[str], where: str, advice: str | None = None
) -> dict[str, str]:
    """As `resolve`, for a table of attributes, in which every other column may be an attribute.

    It has the columns attribute and value, under any name, only where it has both.
    """
    columns = list(has)
    pair = {name: _called(name, columns) for name in ("attribute", "value")}
    is_long = all(len(found) == 1 or name in columns for name, found in pair.items())
    names = ["dataset", "query_id", *(pair if is_long or set(pair) & {*mapped} else ())]
    return resolve(mapped, names, columns, where, advice)


def is_known(name: str, column: str) -> bool:
    """Whether a column of this name may be our column `name`."""
    return column == name or bool(_called(name, [column])) or _plain(column) in _SECOND_NAMES.get(name, ())


def is_of_quepid(columns: Iterable[str]) -> bool:
    """Whether these are the columns of a Quepid export that has rows for missing values.

    In judgments, a row without a rating is an unrated document, or a query without ratings; in results, a row
    without a document is a query that found nothing. Neither is an error. `columns` are all of the file, in their
    order and as they are written.
    """
    names = list(columns)
    return names == _BASIC_EXPORT or set(names) >= _DETAILED_EXPORT


def names_in(
    has: Sequence[str], columns: Mapping[str, str], config: TableConfig, schema: pa.Schema, where: str
) -> dict[str, str]:
    """What a table that `has` these columns calls those of the schema; InputError if a needed one is missing.

    `columns` are what its files call ours.
    """
    # Here, because names are also looked up where there is no engine.
    from ndcg_spark.casting import missing_columns, named_by_user

    known = ", ".join(named_by_user(has))
    absent = [f"{name} = {source!r}" for name, source in config.columns.items() if source not in has]
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


def _called(name: str, columns: list[str]) -> list[str]:
    plain = {column: _plain(column) for column in columns}
    named = [column for column in columns if plain[column] in _NAMES.get(name, ())]
    if name == "score" and (_OF_QUEPID in plain.values() or columns == _BASIC_EXPORT):
        named = [column for column in named if plain[column] != "rating"]
    return [column for column in named if _INNER.get(plain[column]) not in plain.values()]


def _called_second(name: str, columns: list[str], wanted: Collection[str], mapped: Collection[str]) -> list[str]:
    """The columns that may be ours if there is no better name; `wanted` are ours that the table may have or maps.

    The text of a query names it only where documents are listed: in other tables it may describe a query with an id.
    """
    has_scores = "score" in mapped or "score" in columns or bool(_called("score", columns))
    if (name == "query_id" and "doc_id" not in wanted) or (name == "rank" and has_scores):
        return []
    return [column for column in columns if _plain(column) in _SECOND_NAMES.get(name, ())]


def _is_of_results(column: str, columns: list[str]) -> bool:
    return column.lower() == "score" and any(_called(name, columns) for name in _OF_RESULTS)

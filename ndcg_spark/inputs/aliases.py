"""What other tools call our columns, so that their files are read as they are."""

from collections.abc import Iterable, Mapping

from ndcg_spark.errors import InputError

#: By column, its names in lower case, with _ for -: those of ir_datasets, PyTerrier, BEIR, MS MARCO and TREC; of
#: MovieLens, RecTools, RePlay and recommenders; and the plural, for arrays.
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
    "run": ("run", "run_id", "runid", "tag", "system", "model"),
}
#: A name that PyTerrier gives to a number of its own, beside the name of the document.
_INNER = {"docid": "docno"}
#: Names of the run that are also names of other things, such as a category of documents.
_DOUBTFUL_RUNS = ("tag", "system", "model")
#: In a table with one of these columns, a score is what a run has given and no grade.
_OF_RESULTS = ("run", "rank")


def resolved(
    given: Mapping[str, str], names: Iterable[str], has: Iterable[str], where: str, advice: str | None = None
) -> dict[str, str]:
    """What the files call each of our columns `names`, of those columns that they have.

    A name that is `given` counts before our own name, and that before those of other tools. `has` are the files' own
    columns. InputError if two of them may be the same column of ours; `advice` is what to do then, by default how the
    command line maps names.
    """
    columns = list(dict.fromkeys(has))
    found = dict(given)
    for name in names:
        if name in given or name in columns:
            found.setdefault(name, name)
            continue
        candidates = [column for column in _called(name, columns) if column not in given.values()]
        if len(candidates) > 1:
            both = " and ".join(candidates)
            what_to_do = advice or f"say which, --column {name}={candidates[0]}"
            raise InputError(f"{where}: {len(candidates)} columns may be the {name}, {both}; {what_to_do}")
        if candidates and not (name == "relevance" and _is_of_results(candidates[0], columns)):
            found[name] = candidates[0]
    return found


def doubtful_run(columns: Mapping[str, str], given: Mapping[str, str], folders: Iterable[str]) -> str | None:
    """The column that is read as the run, if its name may mean something else and nobody has said that it is the run.

    `columns` are what the files call ours, and `given` those that the user has named. `folders` are the columns that
    folders give, which name runs on purpose.
    """
    column = columns.get("run", "run")
    is_doubtful = column.lower().replace("-", "_") in _DOUBTFUL_RUNS
    return column if is_doubtful and "run" not in given and column not in folders else None


def is_known(name: str, column: str) -> bool:
    """Whether a column of this name may be our column `name`."""
    return column == name or bool(_called(name, [column]))


def _called(name: str, columns: list[str]) -> list[str]:
    plain = {column: column.lower().replace("-", "_") for column in columns}
    named = [column for column in columns if plain[column] in _NAMES.get(name, ())]
    return [column for column in named if _INNER.get(plain[column]) not in plain.values()]


def _is_of_results(column: str, columns: list[str]) -> bool:
    return column.lower() == "score" and any(_called(name, columns) for name in _OF_RESULTS)

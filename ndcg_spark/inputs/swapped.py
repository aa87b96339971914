"""Files given for the other table: results where judgments are expected, or the other way round."""

from collections.abc import Collection, Iterable

from ndcg_spark.errors import InputError


def refuse_other(columns: Iterable[str], wanted: Collection[str], where: str) -> None:
    """InputError if columns tell that a table is the other of the two, than that whose columns are wanted.

    Where the user has mapped relevance, or both score and rank, nothing is asked.
    """
    has = set(columns)
    is_graded, is_ranked = "relevance" in has, bool({"score", "rank"} & has)
    if "relevance" in wanted and not is_graded and is_ranked and "run" in has:
        raise InputError(f"{where}: no column relevance, and columns of results; is this the results file?")
    if {"score", "rank"} & set(wanted) and is_graded and not is_ranked and "run" not in has:
        raise InputError(f"{where}: no column score or rank, and a column relevance; is this the judgments file?")

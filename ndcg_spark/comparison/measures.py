"""Which measures are compared, at which cutoffs."""

from pyspark.sql.types import DoubleType

from ndcg_spark.convention.cutoffs import Cutoff, ascending
from ndcg_spark.convention.parsing import columns_of
from ndcg_spark.schemas import QUERY_SCORES

#: What can be compared.
SCORES = tuple(field.name for field in QUERY_SCORES if field.dataType == DoubleType())


def measures_of(text: str) -> dict[str, list[Cutoff] | None]:
    """Columns of scores and their cutoffs, of a text like ``ndcg@10,dcg,P@5 AP``; None is every cutoff.

    Raises
    ------
    ConfigurationError
        A measure or a cutoff is none.
    """
    found: dict[str, list[Cutoff] | None] = {}
    for column, cutoff in columns_of(text, SCORES):
        before = found.get(column, [])
        if cutoff == "each" or before is None:
            found[column] = None
        else:
            found[column] = ascending([*before, None if cutoff == "all" else int(cutoff)])
    return found

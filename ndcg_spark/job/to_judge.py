"""The unjudged documents that matter most to lists, or to the difference between two sides."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.schemas import TO_JUDGE
from ndcg_spark.tolerance import DECIMALS

#: The key of TO_JUDGE.
KEY = ["dataset", "query_id", "doc_id"]


def first_to_judge(documents: pa.Table, limit: int) -> list[dict[str, Any]]:
    """The first rows of a table TO_JUDGE, at most `limit`.

    Rows are sorted by weight, the largest first, then by key. Documents with weight 0 are left out.
    """
    if not len(documents):
        # select_k_unstable fails for a table without rows.
        return []
    # Sums of the same weights in a different order may differ in the last digits.
    rounded = documents.append_column("rounded", pc.round(documents["weight"], DECIMALS))
    order = [("rounded", "descending"), *((name, "ascending") for name in KEY)]
    # There may be a million documents, of which a hundred are shown, so they are not all sorted.
    first = rounded.take(pc.select_k_unstable(rounded, limit, order))
    return list(first.filter(pc.field("rounded") > 0).select(TO_JUDGE.names).to_pylist())


def listed_documents(lists: pa.Table) -> pa.Table:
    """The table TO_JUDGE for lists, in which a document's weight is the sum of its discounts.

    `lists` has the unjudged rows of RANKED_DOCUMENTS.
    """
    return _by_document(lists, lists["rank"], lists["discount"])


def moved_documents(lists: pa.Table, others: pa.Table, *, by_run: bool) -> pa.Table:
    """The table TO_JUDGE of two sides, in which a document's weight is how far its discounts on the
    two sides differ, because that is how much judging it can change.

    With `by_run`, each run is compared with itself. Otherwise each side has the lists of one run.
    """
    key = [*KEY, "run"] if by_run else KEY
    columns = [*key, "rank", "discount"]
    both = lists.select(columns).join(
        others.select(columns), key, join_type="full outer", right_suffix="_of_other"
    )
    rank = pc.min_element_wise(both["rank"], both["rank_of_other"])
    # A document that is not in a list adds nothing there.
    discount = pc.fill_null(both["discount"], 0.0)
    discount_of_other = pc.fill_null(both["discount_of_other"], 0.0)
    return _by_document(both, rank, pc.abs(pc.subtract(discount, discount_of_other)))


def _by_document(lists: pa.Table, rank: pa.ChunkedArray, weight: pa.ChunkedArray) -> pa.Table:
    """The table TO_JUDGE, in which a document's rows from several runs are added up."""
    rows = lists.select(KEY).append_column("rank", rank).append_column("weight", weight)
    sums = rows.group_by(KEY).aggregate([([], "count_all"), ("rank", "min"), ("weight", "sum")])
    # In TO_JUDGE, these are runs, best_rank and weight.
    return sums.select([*KEY, "count_all", "rank_min", "weight_sum"]).rename_columns(TO_JUDGE.names)

"""The unjudged documents to judge next, of a published night that keeps its documents; no engine is needed."""

from typing import Any

import pyarrow.compute as pc

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import committed, read_again_if_replaced
from ndcg_spark.nights.read import Where, read_dataset_scores, read_rows
from ndcg_spark.nights.select import select_nights
from ndcg_spark.tables.sorting import DECIMALS
from ndcg_spark.text import unknown_name


def unjudged_documents(
    output: str, most: int, date: str | None = None, dataset: str | None = None, run: str | None = None
) -> list[dict[str, Any]]:
    """The first rows of TO_JUDGE, at most `most`, as `documents_to_judge` orders them; of a run or of all.

    Raises
    ------
    ConfigurationError
        There is no such night or run, or it keeps no documents.
    StorageError
        The output cannot be read.
    """

    def read() -> list[dict[str, Any]]:
        nights = select_nights(committed(output), output, date, dataset)
        if not any(night.kept_rows("ranked_documents") for night in nights):
            raise ConfigurationError(f"documents: {nights[0]} keeps none; evaluate it with --documents all")
        columns = ["dataset", "run", "query_id", "doc_id", "rank", "discount"]
        runs = {row["run"] for of_night in read_dataset_scores(nights) for row in of_night}
        if run is not None and run not in runs:
            raise unknown_name("run", "run", run, runs)
        where: Where = {"relevance": [None], **({} if run is None else {"run": [run]})}
        rows = read_rows(nights, "ranked_documents", columns, where)
        found = rows.group_by(["dataset", "query_id", "doc_id"]).aggregate(
            [("run", "count"), ("rank", "min"), ("discount", "sum")]
        )
        names = {"run_count": "runs", "rank_min": "best_rank", "discount_sum": "weight"}
        renamed = found.rename_columns([names.get(name, name) for name in found.column_names])
        order = [("order", "descending"), *((name, "ascending") for name in ("dataset", "query_id", "doc_id"))]
        ordered = renamed.append_column("order", pc.round(renamed["weight"], DECIMALS)).sort_by(order)
        return list(ordered.drop_columns(["order"]).slice(0, most).to_pylist())

    return read_again_if_replaced(read)

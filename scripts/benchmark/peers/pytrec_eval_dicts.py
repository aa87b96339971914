"""pytrec_eval on dictionaries, the only input it takes. The convention is `pytrec_eval`. Writes nothing."""

import statistics
from collections.abc import Mapping

import pyarrow.parquet as pq
import pytrec_eval
from peer import main


def scores(judgments: str, results: str, _: str, cutoffs: list[int]) -> Mapping[int, float]:
    """Mean NDCG at every cutoff, of one run, over the queries it returns."""
    qrels = _nested(judgments, "relevance", whole=True)
    run = _nested(results, "score", whole=False)
    cuts = ",".join(map(str, cutoffs))
    found = pytrec_eval.RelevanceEvaluator(qrels, {f"ndcg_cut.{cuts}"}).evaluate(run)
    return {k: statistics.fmean(values[f"ndcg_cut_{k}"] for values in found.values()) for k in cutoffs}


def _nested(path: str, value: str, *, whole: bool) -> dict[str, dict[str, float]]:
    """Query to document to value, file by file: the rows of a query may stand anywhere."""
    nested: dict[str, dict[str, float]] = {}
    for batch in pq.read_table(path, columns=["query_id", "doc_id", value]).to_batches():
        columns = batch.column(2).cast("int64") if whole else batch.column(2)
        for query, document, number in zip(
            batch.column(0).to_pylist(), batch.column(1).to_pylist(), columns.to_pylist(), strict=True
        ):
            found = nested.get(query)
            if found is None:
                nested[query] = {document: number}
            else:
                found[document] = number
    return nested


if __name__ == "__main__":
    main(scores)

"""pytrec_eval on dictionaries, the only input it takes. The convention is `pytrec_eval`. Writes nothing.

TREC files are read by plain Python, the fastest of the ways tried: 0.75 of the time that pytrec_eval.parse_run takes.
"""

import collections
import gzip
import statistics
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytrec_eval

#: Query to document to score or grade.
Nested = dict[str, dict[str, float]]


def scores(judgments: str, results: str, _: str, cutoff: int) -> float:
    """Mean over the runs of their mean NDCG, over the queries that each returns."""
    qrels = _table(judgments, "relevance", "int64") if Path(judgments).is_dir() else _qrels(judgments)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {f"ndcg_cut.{cutoff}"})
    found = (evaluator.evaluate(run).values() for run in _runs(Path(results)))
    return statistics.fmean(statistics.fmean(values[f"ndcg_cut_{cutoff}"] for values in run) for run in found)


def _runs(folder: Path) -> Iterator[Nested]:
    """The one run of a folder of Parquet, or that of every text file, one after the other."""
    if any(folder.glob("*.parquet")):
        yield _table(str(folder), "score", "double")
        return
    for path in sorted(folder.iterdir()):
        run, last, documents = Nested(), "", dict[str, float]()
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for line in text.decode().split("\n"):
            if line:
                query, _, document, _, score, _ = line.split()
                if query != last:
                    documents, last = run.setdefault(query, {}), query
                documents[document] = float(score)
        yield run


def _qrels(path: str) -> Nested:
    qrels: Nested = collections.defaultdict(dict)
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split()
        qrels[query][document] = int(grade)
    return dict(qrels)


def _table(path: str, value: str, number: str) -> Nested:
    nested: Nested = collections.defaultdict(dict)
    for batch in pq.read_table(path, columns=["query_id", "doc_id", value]).to_batches():
        columns = (*batch.columns[:2], batch.column(2).cast(number))
        for query, document, of in zip(*(column.to_pylist() for column in columns), strict=True):
            nested[query][document] = of
    return dict(nested)

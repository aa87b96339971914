"""Several datasets in one evaluation, of random lists: as tables, and as the means of another tool."""

import random
from collections.abc import Mapping, Sequence

import pandas as pd

DATASETS = ("fiqa", "nfcorpus", "scifact")
#: The runs, and the datasets that a run lacks.
RUNS: Mapping[str, Sequence[str]] = {"bm25": (), "dense": (), "half": ("fiqa",)}
_QUERIES = {"fiqa": 4, "nfcorpus": 7, "scifact": 5}
_DOCUMENTS = [f"d{number:02}" for number in range(14)]


def tables(
    runs: Mapping[str, Sequence[str]] = RUNS, datasets: Sequence[str] = DATASETS
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Judgments and results of datasets of different sizes; scores do not tie."""
    chance = random.Random(5)  # noqa: S311  # the same tables every time
    judged, returned = [], []
    for dataset in datasets:
        for number in range(_QUERIES.get(dataset, 3)):
            query = f"{dataset[0]}{number}"
            grades = [1, *(chance.choice([0, 1, 2]) for _ in range(5))]
            for doc, grade in zip(chance.sample(_DOCUMENTS, 6), grades, strict=True):
                judged.append((dataset, query, doc, grade))
            for run, lacking in runs.items():
                listed = chance.sample(_DOCUMENTS, 10)
                if dataset not in lacking:
                    for place, doc in enumerate(listed):
                        returned.append((dataset, run, query, doc, 10.0 - place))
    judgments = pd.DataFrame(judged, columns=["dataset", "query_id", "doc_id", "relevance"])
    results = pd.DataFrame(returned, columns=["dataset", "run", "query_id", "doc_id", "score"])
    return judgments, results


def means(tool: object, judgments: pd.DataFrame, results: pd.DataFrame) -> dict[str, list[float]]:
    """By run, ir_measures' mean nDCG@10 in each dataset that it has."""
    found: dict[str, list[float]] = {}
    measure = tool.nDCG @ 10  # type: ignore[attr-defined]
    for (_, run), own in results.groupby(["dataset", "run"]):
        qrels = judgments[judgments["dataset"] == own["dataset"].iloc[0]]
        value = tool.calc_aggregate(  # type: ignore[attr-defined]
            [measure], qrels, own[["query_id", "doc_id", "score"]]
        )
        found.setdefault(str(run), []).append(value[measure])
    return found

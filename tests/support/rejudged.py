"""Two nights of random lists, each with judgments of its own, as files and as nights of an output."""

import dataclasses
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import sessions
import tables
from pyarrow import parquet
from tables import Row, judgment, result

from ndcg_spark import config
from ndcg_spark.job.evaluate_inputs import evaluate

DATES = ("2026-11-20", "2026-11-21")
DATASETS = ("web", "shop")
DOCUMENTS = [*"abcdefgh", "9", "10", "007"]


@dataclasses.dataclass
class Case:
    """By night, the rows of the judgments, of the results and of the documents to exclude."""

    judgments: Sequence[Sequence[Row]]
    results: Sequence[Sequence[Row]]
    exclude: Sequence[Sequence[Row]]


def random_case(
    seed: int, grades: Sequence[float] = (0.0, 1.0, 2.0, 4.0), *, judged_again: bool = False
) -> Case:
    """Judgments that change, come and go, as their queries do; `judged_again` has documents twice in them."""
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    judged: tuple[list[Row], list[Row]] = ([], [])
    results: tuple[list[Row], list[Row]] = ([], [])
    exclude: tuple[list[Row], list[Row]] = ([], [])
    for dataset in DATASETS:
        for number in range(40):
            query, more = f"q{number}", {"dataset": dataset}
            pool = chance.sample([*DOCUMENTS, query], 6)
            if judged_again:
                pool += pool[:2]
            first = [(doc, chance.choice(grades)) for doc in pool]
            second = [
                (doc, chance.choice([grade, *grades]))
                for doc, grade in first
                if chance.random() < 0.7
            ]
            if not judged_again:
                second += [
                    (doc, chance.choice(grades))
                    for doc in DOCUMENTS
                    if doc not in pool and chance.random() < 0.4
                ]
            # Some queries are judged by one night alone; each night judges the first one.
            which = chance.choice([(0,), (1,), (0, 1), (0, 1), (0, 1)]) if number else (0, 1)
            for night in which:
                rows = (first, second or first[:1])[night]
                judged[night].extend(judgment(doc, grade, query, **more) for doc, grade in rows)
            for night in (0, 1):
                results[night].extend(_lists(chance, query, more))
                if chance.random() < 0.5:
                    exclude[night].append(
                        {"dataset": dataset, "query_id": query, "doc_id": chance.choice(DOCUMENTS)}
                    )
    # An exclusion that no list has.
    for rows in exclude:
        rows.append({"dataset": DATASETS[0], "query_id": "q0", "doc_id": "nowhere"})
    return Case(judged, results, exclude)


def _lists(chance: random.Random, query: str, more: Mapping[str, str]) -> list[Row]:
    """The lists of two runs for a query: often of tied scores, sometimes none, or of the query alone."""
    rows = []
    for run in ("r/1", "s"):
        listed = chance.sample([*DOCUMENTS, query], chance.randint(0, 8))
        if chance.random() < 0.15:
            listed = [query]
        ranks = chance.sample(range(1, 12), len(listed))
        for doc, rank in zip(listed, ranks, strict=True):
            score = chance.choice([0.0, 0.1, 0.1 + 1e-9, 0.5, 2.0])
            rows.append(result(doc, score, query, run, rank=rank, **more))
    return rows


def settings(folder: Path, case: Case, lists: int, judged: int, **more: Any) -> dict[str, Any]:
    """The configuration of an evaluation of the lists of a night under the judgments of a night."""
    rows = {
        "judgments": tables.arrow(list(case.judgments[judged]), tables.JUDGMENTS),
        "results": tables.arrow(list(case.results[lists]), tables.RESULTS),
        "exclude": pa.Table.from_pylist(list(case.exclude[lists])),
    }
    paths = {}
    for name, table in rows.items():
        file = folder / f"{name}-{lists}-{judged}.parquet"
        parquet.write_table(table, file)
        paths[name] = {"path": str(file)}
    output = str(folder / "out")
    return {
        **paths,
        "output": output,
        "date": DATES[lists],
        "cutoffs": [1, 3, 5],
        "documents": "all",
        **more,
    }


def publish(
    folder: Path, case: Case, lists: int, judged: int, accepted: str | None = None, **more: Any
) -> str:
    """Evaluate on the engine of the tests, and accept the night for a reason if there is one; the output."""
    given = {
        name: value
        for name, value in settings(folder, case, lists, judged, **more).items()
        if value is not None
    }
    evaluate(config.validate(given, "test"), accepted, engine=sessions.engine())
    return str(given["output"])

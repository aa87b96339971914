"""Builders of small tables: a row names only what its test is about."""

import random
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from ndcg_spark import Convention

Row = dict[str, Any]

KINDS = {"string": pa.string(), "double": pa.float64(), "int": pa.int32()}


def judgment(doc_id: str = "d1", relevance: float | None = 1.0, query_id: str | None = "q1", **more: Any) -> Row:
    return {"query_id": query_id, "doc_id": doc_id, "relevance": relevance, **more}


def result(
    doc_id: str = "d1", score: float | None = 1.0, query_id: str | None = "q1", run: str | None = "r", **more: Any
) -> Row:
    return {"run": run, "query_id": query_id, "doc_id": doc_id, "score": score, **more}


JUDGMENTS = "query_id string, doc_id string, relevance double"
RESULTS = "run string, query_id string, doc_id string, score double"


def judgments(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    return table(spark, rows, JUDGMENTS)


def results(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    return table(spark, rows, RESULTS)


def table(spark: SparkSession, rows: Iterable[Row], columns: str) -> DataFrame:
    """The rows with these columns, and dataset and rank if the first row has them."""
    # Of Arrow, not of rows: for rows Spark starts Python workers, whenever the plan is run.
    return spark.createDataFrame(arrow(rows, columns))


def arrow_judgments(*rows: Row) -> pa.Table:
    """The same for an engine in another process."""
    return arrow(rows, JUDGMENTS)


def arrow_results(*rows: Row) -> pa.Table:
    return arrow(rows, RESULTS)


def arrow(rows: Iterable[Row], columns: str) -> pa.Table:
    """The same as a table of pyarrow."""
    listed = list(rows)
    more = {"dataset": "string", "rank": "int"}
    names = columns + "".join(f", {name} {kind}" for name, kind in more.items() if listed and name in listed[0])
    arrays = {}
    for name, kind in (column.split() for column in names.split(", ")):
        values = [row[name] for row in listed]
        arrays[name] = pa.array(
            [None if v is None else str(v) for v in values] if kind == "string" else values, KINDS[kind]
        )
    return pa.table(arrays)


def graded_list(grades: Iterable[float], query_id: str = "q1") -> tuple[list[Row], list[Row]]:
    """Judgments and results of a query whose returned documents have these grades, in this order."""
    documents = {f"d{place:02}": float(grade) for place, grade in enumerate(grades)}
    return (
        [judgment(doc, grade, query_id) for doc, grade in documents.items()],
        [result(doc, float(-place), query_id) for place, doc in enumerate(documents)],
    )


def random_rows(queries: int, ranks_repeat: bool = True) -> Iterator[Row]:
    """Lists with ranks in the order of their scores, almost, or not at all; scores tie, and ranks may too."""
    chance = random.Random(5)  # noqa: S311  # it makes test data
    for number in range(queries):
        scores = sorted(
            (chance.choice([-1.0, -0.0, 0.0, 0.5, 2.0, 3.0, 4.0]) for _ in range(chance.randint(1, 6))), reverse=True
        )
        ranks = list(range(1, len(scores) + 1))
        if chance.random() < 0.3:
            ranks[chance.randrange(len(ranks))] = chance.randint(2, 7) if ranks_repeat else 9
        if chance.random() < 0.2:
            chance.shuffle(ranks)
        names = chance.sample("abcdefgh", len(scores))
        yield from (result(d, s, f"q{number}", rank=r) for d, s, r in zip(names, scores, ranks, strict=True))


def tables_for(convention: Convention, queries: int, seed: int = 11) -> tuple[pa.Table, pa.Table]:
    """Random lists with ties, two runs, and all that the convention does not refuse: repeated rows, negative grades."""
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    grades = [0.0, 0.0, 1.0, 2.0, 4.0, *([] if convention.negative == "error" else [-1.0])]
    documents = [*"abcdé", "9", "10", "007", "12345678901234567890"]
    judged: list[Row] = []
    returned: list[Row] = []
    for number in range(queries):
        query = f"q{number}"
        pool = chance.sample([*documents, query], 6)
        kinds = [0.0] if number % 7 == 0 else grades
        judged += (judgment(doc, chance.choice(kinds), query) for doc in pool)
        if convention.judgment_duplicates != "error":
            judged += (judgment(doc, chance.choice(kinds), query) for doc in pool[:2])
        for run in ("r", "s"):
            listed = chance.sample([*documents, query], chance.randint(0, 8))
            listed += listed[:2] if convention.duplicates == "best" else []
            ranks = chance.sample(range(1, 12), len(listed))
            scores = [chance.choice([-0.0, 0.0, 0.1, 0.1 + 1e-9, 2.0]) for _ in listed]
            returned += (result(d, s, query, run, rank=r) for d, s, r in zip(listed, scores, ranks, strict=True))
    chance.shuffle(returned)
    return arrow_judgments(*judged), arrow_results(*returned)

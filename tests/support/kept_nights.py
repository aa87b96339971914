"""Published nights, written without an engine, and what an output shows of them."""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ndcg_spark.convention.convention import Convention
from ndcg_spark.nights.commit import Publication
from ndcg_spark.nights.expire import leftovers, remove
from ndcg_spark.nights.log import Night, committed, log_row
from ndcg_spark.nights.reader import read_rows

FIRST = datetime.date(2026, 1, 1)
DATE = "2026-11-16"
WEB, SHOP = ("web", DATE), ("shop", DATE)
#: The tables that `written` fills.
FILLED = ("query_scores", "dataset_scores")


def record(**more: object) -> dict[str, object]:
    """What the log keeps of an evaluation."""
    known = {
        "convention": "standard",
        "options": Convention().options(),
        "configuration": {},
        "inputs": {},
    }
    return {**known, "formula": "f", "engine": "e", **more}


def with_rows(
    publication: Publication, tables: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Publication:
    """The publication, with the rows of these tables."""
    for name, rows in tables.items():
        if rows:
            publication.write_rows(name, rows)
            publication.verify(name, len(rows))
    return publication


def written(
    output: str,
    evaluation_id: str,
    ndcg: float,
    *,
    datasets: Sequence[str] = ("web",),
    date: str = DATE,
) -> Publication:
    """A publication that only waits for its commit: three rows of each dataset in two tables."""
    rows = [
        {"dataset": name, "ndcg": value}
        for name in datasets
        for value in (ndcg, ndcg / 3, ndcg / 7)
    ]
    return with_rows(Publication(output, date, evaluation_id), dict.fromkeys(FILLED, rows))


def publish(
    output: str,
    evaluation_id: str,
    ndcg: float,
    *,
    datasets: Sequence[str] = ("web",),
    date: str = DATE,
    verdict: str | None = None,
    configuration: Mapping[str, Any] | None = None,
) -> list[str]:
    """Publish nights as a job does; returns what its commit says of others."""
    remove(output, leftovers(output))
    publication = written(output, evaluation_id, ndcg, datasets=datasets, date=date)
    return publication.commit(record(configuration=configuration or {}), _judged(datasets, verdict))


def _judged(datasets: Sequence[str], verdict: str | None) -> dict[str, dict[str, Any]]:
    results = [{"run": "dense", "severity": "fail", "result": verdict}]
    said = {"verdict": verdict, "reason": "r", "sentence": "dense fell", "results": results}
    judged = {"verdict": said, "is_baseline": verdict == "pass"}
    return dict.fromkeys(datasets, judged if verdict else {})


def whole(ndcg: float, evaluation_id: str) -> tuple[tuple[str, float], ...]:
    """The rows of a night, as `seen` has them."""
    return tuple(sorted((evaluation_id, value) for value in (ndcg, ndcg / 3, ndcg / 7)))


def seen(
    output: str, table: str = "query_scores"
) -> dict[tuple[str, str], tuple[tuple[str, float], ...]]:
    """The rows of a table by night: the evaluation and the ndcg of each."""
    shown = {}
    for night in committed(output):
        rows = read_rows([night], table, ["evaluation_id", "ndcg"]).to_pylist()
        shown[night.dataset, night.evaluated_on] = tuple(sorted((*row.values(),) for row in rows))
    return shown


def date(number: int) -> str:
    """The date of a night, which are numbered from 0."""
    return (FIRST + datetime.timedelta(days=number)).isoformat()


def night(
    output: Path,
    number: int,
    scores: Mapping[str, float | None],
    *,
    dataset: str = "web",
    judgments: str = "j1",
    cutoff: int | None = 10,
    options: Mapping[str, Any] | None = None,
    verdict: str | None = None,
    configuration: Mapping[str, Any] | None = None,
) -> None:
    """A night with the ndcg of these runs."""
    counts = {
        "queries": 50,
        "missing_queries": 0,
        "no_relevant_queries": 0,
        "unjudged_queries": 0,
        "judged_rate": 1.0,
    }
    rows = [
        {**counts, "dataset": dataset, "cutoff": cutoff, "run": run, "ndcg": ndcg}
        for run, ndcg in scores.items()
    ]
    publication = with_rows(
        Publication(str(output), date(number), f"e{number}-{dataset}"), {"dataset_scores": rows}
    )
    own = record(
        options={**Convention().options(), "gain": "exp2", **(options or {})},
        inputs={"judgments": {"fingerprint": judgments}},
        configuration=configuration or {},
    )
    publication.commit(own, _judged([dataset], verdict))


def only_night(output: object) -> Night:
    """The only night of an output."""
    (only,) = committed(str(output))
    return only


def damage(output: Path, date: str) -> None:
    """Damage the log of a date."""
    for file in output.glob(f"evaluations/evaluated_on={date}/*.parquet"):
        file.write_bytes(b"damaged")


def committed_night(dataset: str, date: str, record: Mapping[str, Any]) -> Night:
    """A night that is nowhere, with a record of which only this is known."""
    return Night(
        dataset,
        date,
        1,
        "e",
        None,
        log_row(record, record.get("verdict"), dataset=dataset, evaluated_on=date),
    )

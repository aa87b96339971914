"""Published nights with lists of documents, written without an engine: what a page is made of."""

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gates
from kept_nights import date, record, with_rows

from ndcg_spark.convention.convention import Convention
from ndcg_spark.nights.commit import Publication

#: By run and query, documents by rank.
Lists = Mapping[str, Mapping[str, Sequence[str]]]
DEPTH = 10
GRADES = {f"d{at}": 3.0 - at // 2 for at in range(5)}


def lists_of(
    runs: Mapping[str, float], queries: int, *, lost: Mapping[str, int] | None = None, seed: int = 0
) -> Lists:
    """Lists in which a run returns each of five relevant documents with a probability.

    `lost`: in every third of so many queries a run has lost its relevant documents. One query in ten has other lists
    with every `seed`.
    """
    lists: dict[str, dict[str, list[str]]] = {}
    for run, quality in runs.items():
        for number in range(queries):
            draw = random.Random(f"{run} {number} {seed if number % 10 == 1 else 0}")  # noqa: S311  # not for secrets
            gone = number % 3 == 2 and number < (lost or {}).get(run, 0)
            relevant = [] if gone else [name for name in GRADES if draw.random() < quality]
            documents = [*relevant, *(f"x{at}" for at in range(DEPTH - len(relevant)))]
            lists.setdefault(run, {})[f"q{number:04}"] = sorted(
                documents, key=lambda _: draw.random()
            )
    return lists


def dcg(grades: Sequence[float]) -> float:
    """The DCG of grades by rank."""
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def night(
    output: Path,
    number: int,
    lists: Lists,
    *,
    dataset: str = "shop",
    documents: bool = True,
    kept_only: Sequence[str] | None = None,
    languages: Sequence[str] = (),
    verdict: Mapping[str, Any] | None = None,
    accepted: str | None = None,
    judgments: str = "j1",
    unjudged: int = 2,
    missing: bool = False,
    configuration: Mapping[str, Any] | None = None,
    evaluation_id: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Publish a night; `languages` are those of the queries in turn, x0 and so on up to `unjudged` are unjudged."""
    publication = Publication(
        str(output), date(number), evaluation_id or f"e{number:03}-{len(dataset)}"
    )
    judged = {**GRADES, **{f"x{at}": 0.0 for at in range(unjudged, DEPTH)}}
    ideal, scored = (
        dcg(sorted(GRADES.values(), reverse=True)),
        {"dataset": dataset, "cutoff": DEPTH},
    )

    def kept(run: str | None, query: str, listed: Sequence[str]) -> list[dict[str, Any]]:
        return [
            {
                "dataset": dataset,
                "run": run,
                "query_id": query,
                "rank": rank,
                "doc_id": document,
                "tied": False,
            }
            | {
                "score": run and -float(rank),
                "relevance": judged.get(document),
                "gain": judged.get(document, 0.0),
            }
            | {"discount": 1 / math.log2(rank + 1)}
            for rank, document in enumerate(listed, 1)
        ]

    rows = [
        {**scored, "run": run, "query_id": query, "judgments_hash": hash(judgments) % 1000 + 1}
        | {"dcg": dcg([judged.get(document, 0.0) for document in listed]), "ideal_dcg": ideal}
        | {"returned": len(listed), "judged": sum(document in judged for document in listed)}
        | {"status": "scored" if not missing or GRADES.keys() & {*listed} else "missing"}
        | {"precision": sum(document in GRADES for document in listed) / DEPTH}
        for run, queries in lists.items()
        for query, listed in queries.items()
    ]
    rows = [{**row, "ndcg": row["dcg"] / ideal} for row in rows]
    queries = sorted({row["query_id"] for row in rows})
    lists_kept = [
        row
        for run in lists
        for query, listed in lists[run].items()
        for row in kept(run, query, listed)
    ]
    none = {"no_relevant_queries": 0, "unjudged_queries": 0}
    means = []
    for run in lists:
        own = [row for row in rows if row["run"] == run]
        mean = {
            name: math.fsum(row[name] for row in own) / len(own) for name in ("ndcg", "precision")
        }
        mean["missing_queries"] = sum(row["status"] == "missing" for row in own)
        returned = sum(row["returned"] for row in own)
        mean["judged_rate"] = sum(row["judged"] for row in own) / returned if returned else None
        formula = {"convention": "standard", "formula": "gain / log2(rank + 1)"}
        means.append({**scored, **none, **mean, **formula, "run": run, "queries": len(own)})
    tables = {"query_scores": rows, "dataset_scores": means}
    if documents:
        ideals = [row for query in queries for row in kept(None, query, list(GRADES))]
        rows = [
            row for row in lists_kept + ideals if kept_only is None or row["query_id"] in kept_only
        ]
        tables["ranked_documents"] = rows
    if languages:
        tables["query_attributes"] = [
            {
                "dataset": dataset,
                "query_id": query,
                "attribute": "language",
                "value": languages[at % len(languages)],
            }
            for at, query in enumerate(queries)
        ]
    with_rows(publication, tables)
    files = {"files": [{"path": "old.csv"}, {"path": "new.csv"}]}
    own = record(
        options={**Convention().options(), **(options or {})},
        configuration={"documents": "all" if documents else None, **(configuration or {})},
        inputs={
            "judgments": {"fingerprint": judgments},
            "results": {"fingerprint": f"r{number}", "rows": 9560} | files,
        },
    )
    good = {"is_baseline": bool(accepted or (verdict and verdict["verdict"] == "pass"))}
    publication.commit(
        own, {dataset: {"verdict": verdict, "accepted": accepted, **good} if verdict else {}}
    )


def verdict(
    word: str = "fail",
    *,
    nights: Sequence[int] = (),
    causes: Sequence[Mapping[str, Any]] = (),
    **more: Any,
) -> dict[str, Any]:
    """A verdict as the log has it, with one result."""
    decided = {
        "run": "hybrid",
        "sentence": "hybrid dropped by more than is allowed",
        "result": word,
    } | more
    outcome, last = decided.pop("result"), date(nights[-1]) if nights else None
    decision = gates.result(
        outcome, cutoff=str(DEPTH), baseline_night=last, **{"allowed": 0.01, **decided}
    )
    baseline = {
        "name": "good",
        "nights": [date(at) for at in nights],
        "changed_judgments": 0,
        "queries": 60,
    }
    baselines = [{**baseline, "evaluation_id": f"e{nights[-1]:03}-4"}] if nights else []
    more = {
        "verdict": word,
        "exit_code": 5,
        "warnings": ["a warning of the gate"],
        "causes": causes,
    }
    return gates.verdict(decision, baselines=baselines, **more).as_json()

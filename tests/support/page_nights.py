"""Published nights with lists of documents, written without an engine: what a page is made of."""

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kept_nights import date, record

from ndcg_spark.convention.convention import Convention
from ndcg_spark.nights.publish import Publication

#: By run and query, documents by rank.
Lists = Mapping[str, Mapping[str, Sequence[str]]]
DEPTH = 10


def lists_of(runs: Mapping[str, float], queries: int, *, lost: Mapping[str, int] | None = None, seed: int = 0) -> Lists:
    """Lists in which a run returns each of five relevant documents with a probability.

    `lost`: in every third of so many queries a run has lost its relevant documents. One query in ten has other lists
    with every `seed`.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for run, quality in runs.items():
        for number in range(queries):
            draw = random.Random(f"{run} {number} {seed if number % 10 == 1 else 0}")  # noqa: S311  # not for secrets
            gone = number % 3 == 2 and number < (lost or {}).get(run, 0)
            relevant = [] if gone else [f"d{at}" for at in range(5) if draw.random() < quality]
            others = [f"x{at}" for at in range(DEPTH - len(relevant))]
            documents = sorted([*relevant, *others], key=lambda _: draw.random())
            found.setdefault(run, {})[f"q{number:04}"] = documents
    return found


def night(
    output: Path,
    number: int,
    lists: Lists,
    *,
    dataset: str = "shop",
    documents: bool = True,
    languages: Sequence[str] = (),
    verdict: Mapping[str, Any] | None = None,
    accepted: str | None = None,
    judgments: str = "j1",
    unjudged: int = 2,
    configuration: Mapping[str, Any] | None = None,
    evaluation_id: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Publish a night; `languages` are those of the queries in turn, x0 and so on up to `unjudged` are unjudged."""
    publication = Publication(str(output), date(number), evaluation_id or f"e{number:03}-{len(dataset)}")
    grades = {f"d{at}": 3.0 - at // 2 for at in range(5)}
    none = {f"x{at}": 0.0 for at in range(unjudged, DEPTH)}
    ideal = [grade / math.log2(rank + 1) for rank, grade in enumerate(sorted(grades.values(), reverse=True), 1)]
    rows, kept, scores = [], [], {}
    for run, of_run in lists.items():
        for query, listed in of_run.items():
            gains = [grades.get(document, 0.0) / math.log2(rank + 1) for rank, document in enumerate(listed, 1)]
            counts = {"returned": len(listed), "judged": sum(each in grades or each in none for each in listed)}
            same = {"dataset": dataset, "run": run, "query_id": query}
            score = {
                "ndcg": math.fsum(gains) / math.fsum(ideal),
                "dcg": math.fsum(gains),
                "ideal_dcg": math.fsum(ideal),
            }
            precision = sum(document in grades for document in listed) / DEPTH
            hashed = hash(("j", judgments)) % 1000 + 1
            rows.append(
                {
                    **same,
                    **counts,
                    **score,
                    "cutoff": DEPTH,
                    "status": "scored",
                    "judgments_hash": hashed,
                    "precision": precision,
                }
            )
            scores.setdefault(run, []).append(rows[-1])
            for rank, document in enumerate(listed, 1):
                grade = {**grades, **none}.get(document)
                more = {"tied": False, "score": -float(rank), "relevance": grade, "gain": grade or 0.0}
                kept.append({**same, "rank": rank, "doc_id": document, "discount": 1 / math.log2(rank + 1), **more})
    queries = sorted({row["query_id"] for row in rows})
    for query in queries:
        for rank, (document, grade) in enumerate(grades.items(), 1):
            more = {
                "tied": False,
                "score": None,
                "relevance": grade,
                "gain": grade,
                "discount": 1 / math.log2(rank + 1),
            }
            kept.append({"dataset": dataset, "run": None, "query_id": query, "rank": rank, "doc_id": document, **more})
    means = [
        {
            "dataset": dataset,
            "run": run,
            "cutoff": DEPTH,
            "convention": "standard",
            "formula": "gain / log2(rank + 1)",
            "queries": len(of_run),
            "missing_queries": 0,
            "no_relevant_queries": 0,
            "unjudged_queries": 0,
            **{name: math.fsum(row[name] for row in of_run) / len(of_run) for name in ("ndcg", "precision")},
            "judged_rate": math.fsum(row["judged"] for row in of_run) / math.fsum(row["returned"] for row in of_run),
        }
        for run, of_run in scores.items()
    ]
    tables = {"query_scores": rows, "dataset_scores": means}
    if documents:
        tables["ranked_documents"] = kept
    if languages:
        tables["query_attributes"] = [
            {"dataset": dataset, "query_id": query, "attribute": "language", "value": languages[at % len(languages)]}
            for at, query in enumerate(queries)
        ]
    for name, of_table in tables.items():
        publication.write_rows(name, of_table)
        publication.verify(name, len(of_table))
    own = record(
        options={**Convention().options(), **(options or {})},
        configuration={"documents": "all" if documents else None, **(configuration or {})},
        inputs={"judgments": {"fingerprint": judgments}, "results": {"fingerprint": f"r{number}"}},
    )
    good = bool(accepted) or bool(verdict and verdict["verdict"] == "pass")
    found = {"verdict": verdict, "accepted": accepted, "is_baseline": good} if verdict else {}
    publication.commit(own, [dataset], {dataset: found} if found else {})


def verdict(
    word: str = "fail",
    *,
    run: str | None = "hybrid",
    reason: str | None = None,
    nights: Sequence[int] = (),
    sentence: str = "hybrid dropped by more than is allowed",
    result: str | None = None,
    causes: Sequence[Mapping[str, Any]] = (),
    **numbers: Any,
) -> dict[str, Any]:
    """A verdict as the log has it, with one result."""
    measured = dict.fromkeys(("mean", "baseline_mean", "difference", "interval_low", "interval_high", "p", "queries"))
    check = {"check": "gate.check.0", "severity": "fail", "slice": None, "weighted": False, "reason": reason}
    place = {"run": run, "measure": "ndcg", "cutoff": str(DEPTH), "allowed": 0.01, "sentence": sentence}
    against = {"baseline": "good", "baseline_night": date(nights[-1]) if nights else None}
    baseline = {"name": "good", "nights": [date(at) for at in nights], "changed_judgments": 0, "queries": 60}
    results = [{**measured, **check, **place, **against, **numbers, "result": result or word}]
    return {
        "verdict": word,
        "reason": reason,
        "run": run,
        "sentence": sentence,
        "exit_code": 5,
        "warnings": ["a warning of the gate"],
        "results": results,
        "causes": list(causes),
        "same_results": None,
        "accepted": None,
        "baselines": [{**baseline, "evaluation_id": f"e{nights[-1]:03}-4"}] if nights else [],
    }

"""Nights of a gate, written and judged as an evaluation does it, without an engine."""

import dataclasses
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from kept_nights import record, with_rows
from paired import weights as weights_table

from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.config import NightConfig, validate
from ndcg_spark.convention.convention import Convention
from ndcg_spark.gate.settings import GateConfig
from ndcg_spark.gate.verdict import EXIT_CODES, Result, Verdict
from ndcg_spark.inputs.query_tables import weight_rows
from ndcg_spark.job.gate import judge_written
from ndcg_spark.nights.commit import Publication
from ndcg_spark.nights.copies import keep_copy
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import file_schema

#: How many queries a night has.
N = 60
SAME = np.full(N, 0.6)
#: A list of ten documents, all judged.
SCORED = {
    "status": "scored",
    "returned": 10,
    "judged": 10,
    "judged_discount_share": 1.0,
    "ideal_dcg": 1.0,
}
CHECK = {"cutoff": 10, "max_drop": 0.01}


@dataclasses.dataclass(frozen=True)
class Shown:
    """What runs show of the catalog: by measure and run, a value per query, or one of the run."""

    of_queries: Mapping[str, Mapping[str, Sequence[float | None]]] = dataclasses.field(
        default_factory=dict
    )
    of_runs: Mapping[str, Mapping[str, float | None]] = dataclasses.field(default_factory=dict)
    lists: int = 1_000
    #: The fingerprint of the table of items, and options such as novelty(unseen=drop).
    items: str = "i1"
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def measures(self) -> list[str]:
        names = [*self.of_queries, *self.of_runs]
        return ["ndcg@10", *(f"{name}{self.options.get(name, '')}@10" for name in names)]

    @property
    def inputs(self) -> dict[str, Any]:
        """What the log has of the table of items."""
        files = [{"path": "items.csv"}]
        return {"fingerprint": self.items, "rows": 600, "users": 1_000, "files": files}

    def of_query(self, run: str, at: int) -> dict[str, float | None]:
        return {name: values[run][at] for name, values in self.of_queries.items()}

    def of_run(self, run: str) -> dict[str, float | None]:
        means: dict[str, Any] = {}
        for name, values in self.of_queries.items():
            means[name] = float(np.mean([value for value in values[run] if value is not None]))
        means |= {name: numbers[run] for name, numbers in self.of_runs.items()}
        return {**means, "lists": self.lists, "listed_queries": N}


def gate(*checks: Mapping[str, Any], **more: Any) -> GateConfig:
    """A gate with these checks, by default a drop of 0.01 at cutoff 10."""
    settings = {
        "check": [{**CHECK, **check} for check in checks or ({},)],
        "min_queries": 30,
        **more,
    }
    tables = {name: {"path": "p"} for name in ("query_attributes", "query_weights")}
    return validate({"gate": settings, **tables}, "gate", NightConfig).gate


def spread(mean: float, deviation: float = 0.05, n: int = N) -> np.ndarray:
    """Differences with exactly this mean and deviation."""
    values = np.sin(np.arange(n) * 12.9898) * 43758.5453 % 1
    return mean + deviation * (values - values.mean()) / values.std(ddof=1)


def evaluate(
    output: Path,
    gate: GateConfig | None,
    date: str,
    scores: Mapping[str, Any],
    *,
    hashes: Sequence[int] = (1,) * N,
    attributes: Mapping[str, Sequence[str | None]] | None = None,
    weights: Sequence[float] | None = None,
    without: Sequence[str] = (),
    accepted: str | None = None,
    cutoffs: Sequence[int] = (10,),
    answered: Mapping[str, int] | None = None,
    judged: Mapping[str, float] | float = 1.0,
    under: Mapping[tuple[int, ...], Mapping[str, Any]] | None = None,
    configuration: Mapping[str, Any] | None = None,
    unknown_ids: Mapping[str, str] | None = None,
    shown: Shown | None = None,
    **options: Any,
) -> dict[str, Verdict]:
    """Evaluate a date and publish it: the verdict on each dataset.

    `scores` are by run, or by dataset and run; `hashes` of the judgments, `attributes` and `weights` are by query.
    A run returned nothing for the queries after the first `answered`; the share `judged` of its documents, as discounts
    weigh them, is judged. Its scores `under` other hashes are kept as copies. The log has more of a
    `configuration`, such as the gate, and sentences about `unknown_ids`, by run; what the runs have
    `shown` of the catalog. `options` are those of the convention.
    """
    of_datasets = scores if isinstance(next(iter(scores.values())), Mapping) else {"web": scores}
    publication = Publication(str(output), date, uuid.uuid4().hex)
    tables: dict[str, list[dict[str, Any]]] = {
        "query_scores": [],
        "dataset_scores": [],
        "query_attributes": [],
    }
    for dataset, runs in of_datasets.items():
        for run, values in runs.items():
            numbers = [None if value is None else float(value) for value in values]
            there = (answered or {}).get(run, len(numbers))
            numbers = [*numbers[:there], *[0.0] * (len(numbers) - there)]
            for cutoff in cutoffs:
                key = {"dataset": dataset, "run": run, "cutoff": cutoff}
                tables["query_scores"] += [
                    {
                        **key,
                        **SCORED,
                        **_share(judged, run),
                        "query_id": f"q{at}",
                        "ndcg": value,
                        "dcg": value,
                        "judgments_hash": hashes[at],
                        **(shown.of_query(run, at) if shown else {}),
                    }
                    for at, value in enumerate(numbers)
                ]
                for row in tables["query_scores"][-len(numbers) :][there:]:
                    row |= {"status": "missing", "returned": 0}
                known = [value for value in numbers if value is not None]
                mean = float(np.mean(known)) if known else None
                counts = {"queries": len(known), "missing_queries": len(numbers) - there}
                rate = {"judged_rate": 1.0 if there else None}
                row = {
                    **key,
                    "ndcg": mean,
                    **counts,
                    **rate,
                    **(shown.of_run(run) if shown else {}),
                }
                tables["dataset_scores"].append(row)
        tables["query_attributes"] += [
            {"dataset": dataset, "query_id": f"q{at}", "attribute": attribute, "value": value}
            for attribute, of_queries in (attributes or {}).items()
            for at, value in enumerate(of_queries)
            if value is not None
        ]
    with_rows(
        publication, {**tables, "ranked_documents": [{"dataset": name} for name in of_datasets]}
    )
    measured = {"measures": shown.measures} if shown else {}
    kept = record(
        configuration={
            "documents": "all",
            "cutoffs": list(cutoffs),
            **measured,
            **(configuration or {}),
        },
        options=Convention(**options).options(),
        datasets=sorted(of_datasets),
        datasets_without_results=list(without),
        inputs={
            "judgments": {"fingerprint": fingerprint(hashes)},
            "items": shown.inputs if shown else {},
            "results": {
                "fingerprints": {
                    name: repr((runs, answered)) for name, runs in of_datasets.items()
                },
                "unknown_ids": {name: dict(unknown_ids or {}) for name in of_datasets},
            },
        },
    )
    for other, runs in (under or {}).items():
        copied(publication.night(next(iter(of_datasets)), kept), other, runs, judged, of=hashes)
    verdicts: dict[str, Verdict] = {}
    entries: dict[str, dict[str, Any]] = {name: {} for name in of_datasets}
    if gate is not None:
        options = ComparisonOptions(
            weights=None if weights is None else weight_rows(weights_table(weights))
        )
        judged = judge_written(gate, publication, kept, list(of_datasets), options, accepted)
        verdicts = {name: judgement.verdict for name, judgement in judged.items()}
        entries = {name: judgement.log_entries() for name, judgement in judged.items()}
    publication.commit(kept, entries)
    return verdicts


def _at(at: int, value: float | None, hashes: Sequence[int]) -> dict[str, Any]:
    return {"query_id": f"q{at}", "ndcg": value, "dcg": value, "judgments_hash": hashes[at]}


def _share(judged: Mapping[str, float] | float, run: str) -> dict[str, float]:
    return {"judged_discount_share": judged if isinstance(judged, float) else judged.get(run, 1.0)}


def fingerprint(hashes: Sequence[int]) -> str:
    """That of judgments whose queries have these hashes."""
    return str(hash(tuple(hashes)))


def copied(
    night: Night,
    hashes: Sequence[int],
    scores: Mapping[str, Any],
    judged: Mapping[str, float] | float = 1.0,
    of: Sequence[int] | None = None,
) -> None:
    """Keep the scores of a night under judgments with these hashes, where a query without any has 0.

    Only those of queries `of` other judgments, by default of the same, as kept lists have no others.
    """
    rows = []
    for run, values in scores.items():
        key = {"dataset": night.dataset, "run": run, "cutoff": 10, **SCORED, **_share(judged, run)}
        for at, value in enumerate(values):
            if (hashes if of is None else of)[at]:
                rows.append({**key, **_at(at, float(value), hashes)})
    keep_copy(night, fingerprint(hashes), pa.Table.from_pylist(rows, file_schema("query_scores")))


def result(outcome: str = "pass", reason: str | None = None, **more: Any) -> Result:
    """A result of a check, by default of ndcg@10 of hybrid against the good nights."""
    known = {
        "check": "gate.check.0",
        "severity": "fail",
        "sentence": "a sentence",
        "run": "hybrid",
        "measure": "ndcg",
    }
    known |= {"cutoff": "10", "baseline": "good", "baseline_night": "2026-11-19"}
    return Result(result=outcome, reason=reason, **known | more)


def verdict(*results: Result, **more: Any) -> Verdict:
    """The verdict on a night of these results, the worst of which comes first."""
    first = results[0]
    word = first.result if first.result in ("pass", "fail") else "none"
    known = {
        "dataset": "web",
        "evaluated_on": "2026-11-20",
        "sentence": first.sentence,
        "run": first.run,
    }
    known |= {"exit_code": EXIT_CODES[word], "verdict": word, "reason": first.reason}
    return Verdict(results=results, **known | more)

"""The nights of simulated shops, judged by the gate: in memory, or written as an evaluation does it."""

import dataclasses
import datetime
import functools
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from gates import gate
from kept_nights import date, record, with_rows
from shops import DEPTH, LANGUAGES, RUNS, Judged, Shop

from ndcg_spark.comparison.baselines import Baseline, Kind
from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.comparison.matrix import Metric, Queries, ScoreMatrix
from ndcg_spark.comparison.readings import SECOND_READING
from ndcg_spark.comparison.sources import NoCopyError, ScoreCache, ScoreSource
from ndcg_spark.convention.convention import Convention
from ndcg_spark.gate.against_reference import BesideReference, Question, ReferenceScores
from ndcg_spark.gate.decide import Acceptance, judge
from ndcg_spark.gate.gate_inputs import GateInputs
from ndcg_spark.gate.needed import needed_copies
from ndcg_spark.gate.settings import GateConfig
from ndcg_spark.gate.verdict import Verdict
from ndcg_spark.inputs.query_tables import attribute_rows
from ndcg_spark.job.gate import judge_written
from ndcg_spark.nights.commit import Publication
from ndcg_spark.nights.copies import keep_copy
from ndcg_spark.nights.log import Night, Nights, committed, log_row
from ndcg_spark.nights.reader import file_schema

#: As the nights of real-nights.md have it; all else is the default.
GATE = gate({"runs": ["ltr"], "max_drop": 0.01}, {"max_drop": 0.02}, min_queries=50)
#: How far each run may fall.
ALLOWED = {"bm25": 0.02, "ltr": 0.01, "vector": 0.02}
FIRST_ACCEPTED = Acceptance("first night")


@dataclasses.dataclass(frozen=True)
class Said:
    """What was said of a night."""

    at: int
    verdict: Verdict
    links: Sequence[Mapping[str, Any]]


def number_of(fingerprint: str) -> int:
    return int(fingerprint.removeprefix("judgments-"))


def fingerprint(number: int) -> str:
    return f"judgments-{number}"


def shop_record(shop: Shop, at: int) -> dict[str, Any]:
    """What the log keeps of a night of a shop."""
    made = at - 1 if shop.on(at, "identical") else at
    ids = {event.run: f"{event.run} writes other ids" for event in shop.on(at, "ids")}
    results: dict[str, Any] = {"fingerprints": {"shop": f"results-{made}"}}
    if ids:
        results["unknown_ids"] = {"shop": ids}
    return record(
        configuration={"documents": "all", "cutoffs": [DEPTH]},
        options=Convention().options(),
        datasets=["shop"],
        datasets_without_results=[],
        inputs={
            "judgments": {"fingerprint": fingerprint(shop.number(at))},
            "results": results,
        },
        files={},
    )


class ShopScores(ScoreCache):
    """The scores of a shop's nights, computed when they are asked for; copies only where they were made."""

    def __init__(self, shop: Shop, has_all_copies: bool = False) -> None:
        super().__init__()
        self._shop = shop
        self._all = Queries()
        self._all.add(pa.array([f"q{at}" for at in range(shop.pool)]))
        self.copies: set[tuple[str, str]] = set()
        self.has_all_copies = has_all_copies
        self._sources: dict[str, ScoreSource] = {}
        self.source = self._source_of  # type: ignore[assignment]
        self.mean_rows = functools.cache(self._rows_of)  # type: ignore[assignment]
        self._made = functools.lru_cache(500)(self._made_matrix)

    def queries(self, dataset: str) -> Queries:
        return self._all

    def _source_of(self, night: Night) -> ScoreSource:
        if night.evaluated_on not in self._sources:
            self._sources[night.evaluated_on] = self._made_source(night)
        return self._sources[night.evaluated_on]

    def _made_source(self, night: Night) -> ScoreSource:
        at = at_of(night)
        runs = self._shop.runs(at)
        share = self._shop.scores(at, self._shop.number(at)).share
        rates = {}
        for run in runs:
            rates[run, DEPTH] = float(np.nanmean(share[RUNS.index(run)]))
        return ScoreSource(
            dataset="shop",
            evaluated_on=datetime.date.fromisoformat(night.evaluated_on),
            evaluation_id=night.evaluation_id,
            runs=runs,
            metrics={("ndcg", DEPTH)},
            rows=night,
            name=str(night),
            judged_rates=rates,
        )

    def _rows_of(self, night: Night) -> list[dict[str, Any]]:
        """The rows of DATASET_SCORES, as far as the trend looks at them."""
        source = self._source_of(night)
        at = at_of(night)
        judged = self._shop.scores(at, self._shop.number(at))
        counts = {"queries": self._shop.pool, "missing_queries": 0, "no_relevant_queries": 0}
        rows = []
        for run in source.runs:
            key = {"dataset": "shop", "run": run, "cutoff": DEPTH, "convention": "standard"}
            mean = float(np.nanmean(judged.ndcg[RUNS.index(run)]))
            rows.append({**key, **counts, "ndcg": mean, "judged_rate": 1.0})
        return rows

    def matrix(
        self,
        night: Night,
        metric: Metric,
        reading: int = 1,
        judgments: str | None = None,
    ) -> ScoreMatrix:
        own = night.row["judgments_fingerprint"]
        is_copy = judgments not in (None, own)
        is_kept = self.has_all_copies or (night.evaluated_on, judgments) in self.copies
        if is_copy and not is_kept:
            raise NoCopyError("no copy is kept")
        return self._made(at_of(night), number_of(judgments or own), reading)

    def _made_matrix(self, at: int, number: int, reading: int) -> ScoreMatrix:
        judged = self._shop.scores(at, number)
        runs = self._shop.runs(at)
        values = judged.ndcg
        if reading == SECOND_READING:
            is_some = judged.share > 0
            values = np.where(is_some, values / np.where(is_some, judged.share, 1.0), 0.0)
            values[np.isnan(judged.ndcg)] = np.nan
        rows = [RUNS.index(run) for run in runs]
        return ScoreMatrix(self._all, runs, values[rows], judged.hashes)


def at_of(night: Night) -> int:
    """The number of a night."""
    first = datetime.date.fromisoformat(date(0))
    return (datetime.date.fromisoformat(night.evaluated_on) - first).days


def languages(shop: Shop) -> pa.Table:
    """The attribute of every query."""
    ids = [f"q{at}" for at in range(shop.pool)]
    values = [LANGUAGES[one] for one in shop.language]
    return attribute_rows(
        pa.table({"query_id": ids, "attribute": ["language"] * shop.pool, "value": values})
    )


def beside_accepted(shop: Shop, at: int, run: str) -> BesideReference:
    """A run of a night beside the accepted first night, where all nights between are good."""
    known = Nights()
    for other in range(at + 1):
        entries = {"is_baseline": True, "accepted": None if other else "first night"}
        own = shop_record(shop, other) | {"evaluated_on": date(other), "evaluation_id": f"e{other}"}
        row = log_row(own, dataset="shop", number=1, status="published", **entries)
        known.append(Night("shop", date(other), 1, f"e{other}", None, row))
    scores = ShopScores(shop, has_all_copies=True)
    options = ComparisonOptions(only_losses=True)
    beside = ReferenceScores(known[-1], known, scores, options, GATE.nights)
    limit = ALLOWED[run]
    question = Question(run, ("ndcg", DEPTH), lambda _: limit, 20)
    return beside.compare(Baseline(Kind.ACCEPTED, "accepted"), question)


def year(
    shop: Shop,
    nights: int,
    held: GateConfig = GATE,
    decisions: Mapping[int, Mapping[str, Any]] | None = None,
    has_slices: bool = True,
) -> Iterator[Said]:
    """What is said of each night that has one, in memory.

    `decisions` are added to the rows of nights after their verdicts, such as `acknowledged`.
    """
    known = Nights()
    scores = ShopScores(shop)
    attributes = languages(shop) if has_slices else None
    options = ComparisonOptions(attributes=attributes, only_losses=True)
    for at in range(nights):
        if shop.on(at, "nothing"):
            continue
        own = shop_record(shop, at) | {"evaluated_on": date(at), "evaluation_id": f"e{at}"}
        tonight = Night("shop", date(at), 1, f"e{at}", None, log_row(own, dataset="shop"))
        together = Nights([*known, tonight])
        for night, other in needed_copies(held, tonight, together, scores):
            scores.copies.add((night.evaluated_on, other))
        accepted = FIRST_ACCEPTED if not known else None
        judged = judge(GateInputs(held, tonight, together, scores, options), accepted)
        entries = judged.verdict.log_entries() | (decisions or {}).get(at, {})
        row = log_row(own, dataset="shop", number=1, status="published", **entries)
        known.append(dataclasses.replace(tonight, row=row))
        yield Said(at, judged.verdict, judged.links)


def acknowledged(reason: str, until: int) -> dict[str, Any]:
    """The entry of a row whose loss is known until a night."""
    return {"acknowledged": {"reason": reason, "until": date(until)}}


# Written.


def write_night(output: Path, shop: Shop, at: int, held: GateConfig = GATE) -> Verdict | None:
    """Evaluate a night of a shop and publish it with the copies it needs; None without results."""
    if shop.on(at, "nothing"):
        return None
    publication = Publication(str(output), date(at), uuid.uuid4().hex)
    judged = shop.scores(at, shop.number(at))
    rows = _query_scores(shop, at, judged)
    languages_of = [
        {
            "dataset": "shop",
            "query_id": f"q{query}",
            "attribute": "language",
            "value": LANGUAGES[value],
        }
        for query, value in enumerate(shop.language)
    ]
    tables = {
        "query_scores": rows,
        "dataset_scores": _means(shop, at, judged),
        "query_attributes": languages_of,
        "ranked_documents": [{"dataset": "shop"}],
    }
    with_rows(publication, tables)
    own = shop_record(shop, at)
    del own["files"]
    known = committed(str(output))
    tonight = publication.night("shop", own)
    for night, other in needed_copies(held, tonight, known, ScoreCache()):
        scores = shop.scores(at_of(night), number_of(other))
        copied = _query_scores(shop, at_of(night), scores)
        keep_copy(night, other, pa.Table.from_pylist(copied, file_schema("query_scores")))
    accepted = None if known else "first night"
    verdicts = judge_written(held, publication, own, ["shop"], ComparisonOptions(), accepted)
    publication.commit(own, {"shop": verdicts["shop"].verdict.log_entries()})
    return verdicts["shop"].verdict


def _query_scores(shop: Shop, at: int, judged: Judged) -> list[dict[str, Any]]:
    rows = []
    for run in shop.runs(at):
        number = RUNS.index(run)
        for query in np.flatnonzero(judged.hashes):
            share = float(judged.share[number, query])
            rows.append(
                {
                    "dataset": "shop",
                    "run": run,
                    "query_id": f"q{query}",
                    "cutoff": DEPTH,
                    "status": "scored",
                    "returned": DEPTH,
                    "judged": round(share * DEPTH),
                    "judged_discount_share": share,
                    "judgments_hash": int(judged.hashes[query]),
                    "ndcg": float(judged.ndcg[number, query]),
                    "dcg": float(judged.dcg[number, query]),
                    "ideal_dcg": float(judged.ideal[query]),
                }
            )
    return rows


def _means(shop: Shop, at: int, judged: Judged) -> list[dict[str, Any]]:
    rows = []
    for run in shop.runs(at):
        number = RUNS.index(run)
        rows.append(
            {
                "dataset": "shop",
                "run": run,
                "cutoff": DEPTH,
                "ndcg": float(np.nanmean(judged.ndcg[number])),
                "queries": int(np.count_nonzero(judged.hashes)),
                "missing_queries": 0,
                "judged_rate": float(np.nanmean(judged.share[number])),
            }
        )
    return rows

"""Where the scores of a comparison come from: a night or a table, and both sides of a baseline."""

import dataclasses
import datetime
import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.comparison.baselines import Baseline, Kind
from ndcg_spark.comparison.differences import Sides
from ndcg_spark.comparison.matrix import Metric, Queries, ScoreMatrix, mean_matrix, read_matrix
from ndcg_spark.errors import about
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import (
    Where,
    answering_runs,
    evaluated_metrics,
    read_dataset_scores,
    read_night_batches,
    read_rows,
)
from ndcg_spark.schemas import NO_VALUE

#: The rows of DATASET_SCORES of a night without slices.
MeanRows = Sequence[Mapping[str, Any]]

#: Reads the scores of these runs, and perhaps of others.
ScoreReader = Callable[[Collection[str]], ScoreMatrix]

#: So many matrices are kept, of nights that have at most so many query scores.
_MAX_MATRICES = 64
_MAX_SCORES = 1_000_000


@dataclasses.dataclass(frozen=True)
class ScoreSource:
    dataset: str
    evaluated_on: datetime.date | None
    evaluation_id: str | None
    runs: Sequence[str]
    #: The measures and cutoffs at which they have values.
    metrics: Collection[Metric]
    rows: Night | pa.Table
    #: The table, or the night, for messages.
    name: str
    #: The runs that returned nothing for any judged query; they are not among `runs`.
    silent: Sequence[str] = ()

    def read(
        self,
        queries: Queries,
        metric: Metric,
        runs: Collection[str] | None = None,
    ) -> ScoreMatrix:
        columns = ["run", "query_id", "cutoff", "status", "returned", "judgments_hash"]
        if metric[0] not in columns:
            columns.append(metric[0])
        chosen = [run for run in self.runs if runs is None or run in runs]
        if isinstance(self.rows, Night):
            where: Where = {"cutoff": [metric[1]], "run": chosen}
            batches: Iterable[pa.RecordBatch] = read_night_batches(
                [self.rows],
                "query_scores",
                columns,
                where,
            )
        else:
            batches = self.rows.select(columns).to_batches()
        with about(self.name):
            return read_matrix(batches, queries, chosen, metric)

    def key(
        self,
        baseline_night: datetime.date | None = None,
        baseline_nights: int | None = None,
    ) -> dict[str, Any]:
        """The columns of COMPARISONS that all rows of a comparison share."""
        return {
            "dataset": self.dataset,
            "evaluated_on": self.evaluated_on,
            "evaluation_id": self.evaluation_id,
            "baseline_night": baseline_night,
            "baseline_nights": baseline_nights,
        }


def night_sources(nights: Sequence[Night]) -> list[ScoreSource]:
    return list(map(score_source, nights, read_dataset_scores(nights)))


def score_source(night: Night, rows: MeanRows) -> ScoreSource:
    """The scores of a night, whose DATASET_SCORES are these rows."""
    runs = answering_runs(rows)
    return ScoreSource(
        dataset=night.dataset,
        evaluated_on=datetime.date.fromisoformat(night.evaluated_on),
        evaluation_id=night.evaluation_id,
        runs=sorted(runs),
        metrics=evaluated_metrics(night, rows),
        rows=night,
        name=str(night),
        silent=sorted({row["run"] for row in rows} - runs),
    )


def _mean_rows(night: Night) -> MeanRows:
    return read_dataset_scores([night])[0]


class ScoreCache:
    """The scores of nights.

    Small ones are kept, as a rehearsal compares many nights with the same ones.

    `mean_rows` reads the DATASET_SCORES of a night, unless somebody has read them already.
    """

    def __init__(self, mean_rows: Callable[[Night], MeanRows] = _mean_rows) -> None:
        self._queries: dict[str, Queries] = {}
        self.source = functools.cache(lambda night: score_source(night, mean_rows(night)))
        self._kept_matrix = functools.lru_cache(_MAX_MATRICES)(self._read)

    def _read(self, night: Night, metric: Metric) -> ScoreMatrix:
        source: ScoreSource = self.source(night)
        return source.read(self._queries.setdefault(night.dataset, Queries()), metric)

    def matrix(self, night: Night, metric: Metric) -> ScoreMatrix:
        is_small = night.kept_rows("query_scores") <= _MAX_SCORES
        return self._kept_matrix(night, metric) if is_small else self._read(night, metric)


def published_rows(night: Night, baseline: Baseline, metric: Metric) -> list[dict[str, Any]]:
    """The unweighted rows of COMPARISONS that the gate of a night has published of a baseline.

    They are by run, all queries before the slices. There are none if no gate has compared with it.
    """
    if baseline.name is None or not night.kept_rows("comparisons"):
        return []
    where: dict[str, Sequence[Any]] = {"measure": [metric[0]], "cutoff": [metric[1]]}
    if baseline.newest is None:
        where |= {"baseline": [baseline.run], "baseline_night": [None]}
    else:
        newest = datetime.date.fromisoformat(baseline.newest)
        where |= {"baseline_night": [newest], "baseline_nights": [len(baseline.nights)]}
    rows = read_rows([night], "comparisons", where=where).to_pylist()
    plain = [row for row in rows if row["weight_effective_n"] is None]
    return sorted(plain, key=row_order)


def row_order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Sorts the rows of a comparison as they are made: by run, and queries without a value last."""
    attribute, value = row["attribute"] or "", row["value"] or ""
    return row["run"], attribute, value == NO_VALUE, value


def read_sides(
    own: ScoreReader,
    other: ScoreReader | None,
    metric: Metric,
    key: Mapping[str, Any],
    pairs: Sequence[tuple[str, str]],
) -> Sides:
    """Both sides of a comparison at a metric, with at least the runs of these pairs.

    Without `other`, the runs are compared with runs of their own side. InputError and StorageError
    if scores cannot be read.
    """
    runs = {run for run, _ in pairs}
    baselines = {baseline for _, baseline in pairs}
    if other is None:
        matrix = own(runs | baselines)
        return Sides(matrix, matrix, metric, key, pairs)
    matrix = own(runs)
    return Sides(matrix, other(baselines), metric, key, pairs)


def both_sides(baseline: Baseline, tonight: Night, metric: Metric, scores: ScoreCache) -> Sides:
    """The scores of a night beside those of its baseline, with every run that both have.

    Those of several nights are their mean, of the nights that evaluated the measure there.
    InputError and StorageError if scores cannot be read.
    """
    source = scores.source(tonight)
    key = source.key()
    theirs = set(source.runs)
    if baseline.nights:
        newest = scores.source(baseline.nights[-1]).evaluated_on
        key = source.key(newest, len(baseline.nights))
        theirs = _runs_of_baseline(baseline, metric, scores)
    may_be_itself = bool(baseline.nights) or baseline.kind is Kind.ITSELF
    pairs = []
    for run in source.runs:
        other = baseline.run or run
        if other in theirs and (run != other or may_be_itself):
            pairs.append((run, other))

    # Whole nights are read, whatever the runs, because their scores are kept for other checks.
    own = scores.matrix(tonight, metric)

    def own_scores(_runs: Collection[str]) -> ScoreMatrix:
        return own

    def baseline_scores(_runs: Collection[str]) -> ScoreMatrix:
        return _baseline_scores(baseline, own, metric, scores)

    return read_sides(own_scores, baseline_scores if baseline.nights else None, metric, key, pairs)


def _measured_nights(baseline: Baseline, metric: Metric, scores: ScoreCache) -> list[Night]:
    nights = [night for night in baseline.nights if metric in scores.source(night).metrics]
    # Without any value they are read all the same: what has no score is not compared with itself.
    return nights or list(baseline.nights)


def _runs_of_baseline(baseline: Baseline, metric: Metric, scores: ScoreCache) -> set[str]:
    runs: set[str] = set()
    for night in _measured_nights(baseline, metric, scores):
        runs.update(scores.source(night).runs)
    return runs


def _baseline_scores(
    baseline: Baseline,
    own: ScoreMatrix,
    metric: Metric,
    scores: ScoreCache,
) -> ScoreMatrix:
    nights = _measured_nights(baseline, metric, scores)
    if len(nights) == 1:
        return scores.matrix(nights[0], metric)
    return mean_matrix((scores.matrix(night, metric) for night in nights), own)

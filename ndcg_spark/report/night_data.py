"""What a report shows of a night: its scores side by side, query by query, with the differences to a baseline."""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import stats

from ndcg_spark.comparison.nightly import Line, Wanted, lines, verdict_of
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.explanation import Explanation, explain
from ndcg_spark.explanation.facts import Facts
from ndcg_spark.job.explaining_nights import facts_of_night
from ndcg_spark.nights.committed import CommittedNight
from ndcg_spark.nights.kept_documents import NightTables
from ndcg_spark.nights.kept_scores import kept_scores
from ndcg_spark.plain import did_you_mean

Row = Mapping[str, Any]
#: So many queries are shown of those that lost most, and of those that won most.
EXTREMES = 20
#: Smaller differences are ties.
TIE = 1e-9
#: Of a report with more runs, the trend shows the best ones.
_TREND_RUNS = 8


@dataclasses.dataclass(frozen=True)
class Mean:
    """A mean with its 95 % interval of t, None where there are too few values to tell."""

    mean: float | None
    low: float | None
    high: float | None


@dataclasses.dataclass(frozen=True)
class Difference:
    """A run less the baseline, over the queries that both score."""

    difference: Mean
    queries: int
    unpaired: int
    wins: int
    ties: int
    losses: int


@dataclasses.dataclass(frozen=True)
class Query:
    """A query of the run that is looked at: its scores, and its documents if the night keeps them."""

    query_id: str
    ndcg: float | None
    baseline: float | None
    explanation: Explanation | None
    of_baseline: Facts | None

    @property
    def difference(self) -> float | None:
        """The score less that of the baseline."""
        return None if self.ndcg is None or self.baseline is None else self.ndcg - self.baseline


@dataclasses.dataclass(frozen=True)
class NightData:
    """Everything that a report says of one night of one dataset."""

    night: CommittedNight
    cutoff: int | None
    #: The rows of DATASET_SCORES, by run, best first, and cutoff.
    runs: Sequence[Sequence[Row]]
    means: Mapping[str, Mean]
    run: str
    baseline: str | None
    differences: Mapping[str, Difference]
    #: All queries of the run, the largest loss first; without a baseline the lowest score first.
    queries: Sequence[Query]
    #: The queries that are opened, by id: the first and the last EXTREMES of `queries`.
    worst: Sequence[Query]
    best: Sequence[Query]
    #: How many queries have which status in the baseline and in the run.
    transitions: Mapping[tuple[str, str], int]
    trend: Sequence[Line]
    verdict: str | None
    keeps_documents: bool


def night_data(output: str, night: CommittedNight, run: str | None, baseline: str | None) -> NightData:
    """What a report shows of a night: of `run`, by default the best one that is not the baseline.

    Raises
    ------
    ConfigurationError
        There is no such run.
    StorageError
        The output cannot be read.
    """
    (rows,) = kept_scores(output, [night])
    cutoff = max((row["cutoff"] for row in rows if row["cutoff"] is not None), default=None)
    by_run: dict[str, list[Row]] = {}
    for row in rows:
        by_run.setdefault(row["run"], []).append(row)
    at_cutoff = {name: next(row for row in own if row["cutoff"] == cutoff) for name, own in by_run.items()}
    order = sorted(by_run, key=lambda name: -(at_cutoff[name]["ndcg"] or 0.0))
    for option, name in (("run", run), ("baseline", baseline)):
        if name is not None and name not in by_run:
            near = did_you_mean(name, by_run)
            raise ConfigurationError(f"{option}: {name!r} is none of the {len(by_run)} runs{near}, e.g. {order[0]!r}")
    chosen = run or next((name for name in order if name != baseline), order[0])
    tables = NightTables(output, night)
    table = tables.scores_at(cutoff)
    scores, of_baseline = _by_query(table, chosen), _by_query(table, baseline)
    queries = _queries(scores, of_baseline, baseline)
    opened = list({each.query_id: each for each in [*queries[:EXTREMES], *queries[-EXTREMES:]]}.values())
    explained = _explained(tables, night, opened, cutoff, chosen, baseline)
    return NightData(
        night=night,
        cutoff=cutoff,
        runs=[by_run[name] for name in order],
        means={name: _mean_of(at_cutoff[name]) for name in order},
        run=chosen,
        baseline=baseline,
        differences=_differences(table, order, baseline),
        queries=queries,
        worst=[explained[each.query_id] for each in queries[:EXTREMES] if _is_loss(each, baseline)],
        best=[explained[each.query_id] for each in queries[::-1][:EXTREMES] if _is_win(each, baseline)],
        transitions=_transitions(scores, of_baseline) if baseline else {},
        trend=_trend(output, night, [*filter(None, [chosen, baseline]), *order]),
        verdict=verdict_of(night),
        keeps_documents=tables.has_documents(),
    )


def mean_of(values: "np.ndarray[Any, np.dtype[np.float64]]") -> Mean:
    """The mean of the values, with the interval of t."""
    if not values.size:
        return Mean(None, None, None)
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return _interval(float(np.mean(values)), deviation, len(values))


def _interval(mean: float | None, deviation: float | None, queries: int) -> Mean:
    if mean is None or deviation is None or queries < 2:
        return Mean(mean, None, None)
    width = float(stats.t.ppf(0.975, queries - 1)) * deviation / math.sqrt(queries)
    return Mean(mean, mean - width, mean + width)


def _mean_of(row: Row) -> Mean:
    return _interval(row["ndcg"], row["ndcg_stddev"], row["queries"])


def _by_query(table: pa.Table, run: str | None) -> dict[str, tuple[str, float | None]]:
    """The status and the score of every query of a run, by query; nothing for no run."""
    own = table.filter(pc.equal(table["run"], run)) if run is not None else table.slice(0, 0)
    columns = (own[name].to_pylist() for name in ("query_id", "status", "ndcg"))
    return {query: (status, ndcg) for query, status, ndcg in zip(*columns, strict=True)}


def _differences(table: pa.Table, runs: Sequence[str], baseline: str | None) -> dict[str, Difference]:
    """Every run less the baseline: as arrays, because there may be a million scores."""
    if baseline is None:
        return {}
    queries = pc.dictionary_encode(table["query_id"]).combine_chunks()
    places, scores = queries.indices.to_numpy(), table["ndcg"].to_numpy()
    names = table["run"].combine_chunks()
    of = {run: np.flatnonzero(pc.equal(names, run).to_numpy(zero_copy_only=False)) for run in runs}
    against, is_there = np.full(len(queries.dictionary), np.nan), np.zeros(len(queries.dictionary), bool)
    against[places[of[baseline]]], is_there[places[of[baseline]]] = scores[of[baseline]], True
    found = {}
    for run in runs:
        own = places[of[run]]
        differences = scores[of[run]] - against[own]
        paired = differences[~np.isnan(differences)]
        every = len(own) + int(is_there.sum()) - int(is_there[own].sum())
        wins, losses = int((paired > TIE).sum()), int((paired < -TIE).sum())
        ties = len(paired) - wins - losses
        found[run] = Difference(mean_of(paired), len(paired), every - len(paired), wins, ties, losses)
    return {run: each for run, each in found.items() if run != baseline}


def _queries(scores: Mapping[str, Any], other: Mapping[str, Any], baseline: str | None) -> list[Query]:
    found = [Query(q, ndcg, other.get(q, (None, None))[1], None, None) for q, (_, ndcg) in scores.items()]
    known = [each for each in found if (each.ndcg if baseline is None else each.difference) is not None]
    value = "ndcg" if baseline is None else "difference"
    return sorted(known, key=lambda each: (getattr(each, value), each.query_id))


def _is_loss(query: Query, baseline: str | None) -> bool:
    return baseline is None or (query.difference or 0.0) < -TIE


def _is_win(query: Query, baseline: str | None) -> bool:
    return baseline is None or (query.difference or 0.0) > TIE


def _explained(
    tables: NightTables,
    night: CommittedNight,
    queries: Sequence[Query],
    cutoff: int | None,
    run: str,
    baseline: str | None,
) -> dict[str, Query]:
    """The queries with their documents, by id."""
    if not tables.has_documents():
        return {each.query_id: each for each in queries}
    names, runs = [each.query_id for each in queries], [run, *([baseline] if baseline else [])]
    scores = [row for row in tables.rows_of_queries("query_scores", names, runs) if row["cutoff"] == cutoff]
    documents, grades = tables.rows_of_queries("ranked_documents", names, runs), tables.grades()
    found = {}
    for each in queries:
        own = [row for row in scores if row["query_id"] == each.query_id]
        facts = facts_of_night(night, own, [row for row in documents if row["query_id"] == each.query_id], grades)
        explanation, other = explain(facts[run]), facts.get(baseline or "")
        found[each.query_id] = dataclasses.replace(each, explanation=explanation, of_baseline=other)
    return found


def _transitions(run: Mapping[str, Any], baseline: Mapping[str, Any]) -> dict[tuple[str, str], int]:
    pairs = ((baseline[query][0], run[query][0]) for query in run if query in baseline)
    return dict(Counter(pairs).most_common())


def _trend(output: str, night: CommittedNight, runs: Sequence[str]) -> list[Line]:
    """The trends of the first of these runs, up to the night."""
    shown = list(dict.fromkeys(runs))[:_TREND_RUNS]
    found = [line for line in lines(output, Wanted(dataset=night.dataset)) if line.run in shown]
    cut = []
    for line in found:
        until = sum(point.date <= night.evaluated_on for point in line.points)
        parts = (line.points[:until], line.queries[:until], line.verdicts[:until])
        cut.append(dataclasses.replace(line, points=parts[0], queries=parts[1], verdicts=parts[2]))
    return [line for line in cut if line.points]

"""Runs compared with a baseline: the scores of nights or of tables, read as matrices, place by place."""

import dataclasses
import datetime
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.comparison.differences import ComparisonOptions, Sides, extremes, rows_of
from ndcg_spark.comparison.matrix import MatrixReader, Place, Queries, ScoreMatrix, mean_of
from ndcg_spark.comparison.slices import Attributes, Weights
from ndcg_spark.convention.cutoffs import Cutoff, by_depth, format_cutoff
from ndcg_spark.convention.measures import SCORES
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.read import read_batches, read_dataset_scores, read_rows
from ndcg_spark.text import unknown_name

#: Matrices of so many scores are read at once, else one after the other.
_AT_ONCE = 30_000_000
_DEFAULT = ComparisonOptions()


@dataclasses.dataclass(frozen=True)
class Source:
    """The scores of a dataset in one night, which are read as often as they are needed."""

    dataset: str
    evaluated_on: datetime.date | None
    evaluation_id: str | None
    runs: Sequence[str]
    #: The measures and cutoffs at which they have values.
    places: Collection[Place]
    #: How many scores there are of one measure at one cutoff.
    size: int
    #: The rows with these columns, of these runs and cutoffs at least.
    batches: Callable[[Sequence[str], Sequence[str], Sequence[Cutoff]], Iterable[pa.RecordBatch]]
    where: str = "query_scores"

    def read(self, queries: Queries, places: Sequence[Place], runs: Collection[str]) -> dict[Place, ScoreMatrix]:
        """The matrices of these places. Raises InputError, as MatrixReader, and StorageError."""
        columns = ["run", "query_id", "cutoff", "judgments_hash", *dict.fromkeys(measure for measure, _ in places)]
        cutoffs = list(dict.fromkeys(cutoff for _, cutoff in places))
        runs = [run for run in self.runs if run in runs]
        return MatrixReader(queries, runs, places, self.where).read(self.batches(columns, runs, cutoffs))


def of_nights(nights: Sequence[Night], where: str = "query_scores") -> list[Source]:
    """The scores of published nights."""
    return [of_night(night, rows, where) for night, rows in zip(nights, read_dataset_scores(nights), strict=True)]


def of_night(night: Night, rows: Sequence[Mapping[str, Any]], where: str = "query_scores") -> Source:
    """The scores of a night, given its dataset scores."""
    cutoffs = {row["cutoff"] for row in rows}
    places = {(name, row["cutoff"]) for row in rows for name, value in row.items() if isinstance(value, float)}
    # These are in every night, whether they have values or not.
    places |= {(name, cutoff) for name in ("ndcg", "dcg", "ideal_dcg", "cg") for cutoff in cutoffs}
    date, size = datetime.date.fromisoformat(night.evaluated_on), night.kept_rows("query_scores")
    runs, batches = sorted({row["run"] for row in rows}), functools.partial(_batches, night)
    size //= max(1, len(cutoffs))
    return Source(night.dataset, date, night.evaluation_id, runs, places, size, batches, where)


def _batches(
    night: Night, columns: Sequence[str], runs: Sequence[str], cutoffs: Sequence[Cutoff]
) -> Iterator[pa.RecordBatch]:
    return read_batches([night], "query_scores", columns, {"cutoff": cutoffs, "run": runs})


def kept_attributes(nights: Sequence[Night]) -> Attributes | None:
    """The QUERY_ATTRIBUTES that nights were evaluated with; None if they had none."""
    kept = [night for night in nights if night.kept_rows("query_attributes")]
    columns = ["dataset", "query_id", "attribute", "value"]
    return Attributes(read_rows(kept, "query_attributes", columns)) if kept else None


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The results of a comparison as plain data."""

    #: Dictionaries with the columns of COMPARISONS: by dataset, night, measure, cutoff, run and baseline; all queries
    #: come before the slices. A weighted row follows the unweighted one and has a `weight_effective_n`.
    rows: list[dict[str, Any]]
    #: For each run the queries that lost most, the largest loss first, then those that won most.
    queries: list[dict[str, Any]]
    #: Sentences for people: `what, how many, one example`.
    warnings: list[str]


@dataclasses.dataclass(frozen=True)
class Compared:
    """What the comparisons of an output or of some tables have in common."""

    options: ComparisonOptions = _DEFAULT
    #: The runs that the others are compared with, each in turn; without any, runs are compared by their names.
    baselines: Sequence[str] = ()
    #: The runs to compare; by default all but the baselines.
    runs: Collection[str] | None = None
    attributes: Attributes | None = None
    weights: Weights | None = None
    #: How many of the queries that lost most, and that won most, to name for each run, measure and cutoff.
    queries: int = 0

    def with_sources(self, own: Iterable[Source], others: Mapping[str, Source] | None = None) -> Comparison:
        """The comparison of every night with its baseline: that of `others` by dataset, else runs of the same night.

        ConfigurationError if there is no such baseline, run, measure or cutoff; InputError if scores break their
        contract; StorageError.
        """
        own = sorted(own, key=lambda source: (source.dataset, str(source.evaluated_on)))
        self._refuse_unknown(own, own if others is None else list(others.values()))
        comparison = Comparison([], [], [])
        for source in own:
            self._add(comparison, source, None if others is None else others.get(source.dataset), others is None)
        for table in (self.attributes, self.weights):
            comparison.warnings.extend(table.warnings() if table else ())
        return comparison

    def _places(self, source: Source) -> list[Place]:
        """What is compared: the cutoffs of a measure, by default those at which it has values."""
        places: list[Place] = []
        for measure, cutoffs in self.options.measures.items():
            there = sorted((cutoff for name, cutoff in source.places if name == measure), key=by_depth)
            places += [(measure, cutoff) for cutoff in (there if cutoffs is None else cutoffs)]
        return places

    def _pairs(self, own: Collection[str], other: Collection[str] | None) -> list[tuple[str, str]]:
        """Every run with what it is compared with; `other` are the runs of another night, None for the same night."""
        chosen = sorted(run for run in own if self.runs is None or run in self.runs)
        if other is not None and not self.baselines:
            return [(run, run) for run in sorted({*chosen, *(r for r in other if self.runs is None or r in self.runs)})]
        runs = [run for run in chosen if other is not None or run not in self.baselines]
        return [(run, baseline) for run in runs for baseline in self.baselines]

    def _add(self, comparison: Comparison, source: Source, other: Source | None, is_same_night: bool) -> None:
        pairs = self._pairs(source.runs, None if is_same_night else other.runs if other else ())
        queries, places = Queries(), self._places(source)
        own_runs, other_runs = ({pair[side] for pair in pairs} for side in (0, 1))
        key: dict[str, Any] = {
            "dataset": source.dataset,
            "evaluated_on": source.evaluated_on,
            "evaluation_id": source.evaluation_id,
        }
        key |= {"baseline_night": other.evaluated_on if other else None, "baseline_nights": 1 if other else None}
        for some in _together(places, max(source.size, other.size if other else 1, 1)):
            matrices = source.read(queries, some, own_runs | other_runs if is_same_night else own_runs)
            others = matrices if is_same_night else MatrixReader(queries, (), some, "baseline").read(())
            if other:
                others = other.read(queries, some, other_runs)
            for place in some:
                sides = Sides(matrices[place], others[place], place, key, pairs)
                if place == places[0]:
                    comparison.warnings.extend(self._other_judgments(sides))
                if self.options.unchanged_queries:
                    sides = dataclasses.replace(sides, only=~sides.rejudged)
                comparison.rows.extend(rows_of(sides, self.options, self.attributes, self.weights))
                for pair in pairs if self.queries else ():
                    comparison.queries.extend(extremes(sides, *pair, self.queries))

    def _other_judgments(self, sides: Sides) -> list[str]:
        """A sentence that says how many queries are judged differently than in the baseline's night."""
        changed, every = int(sides.rejudged.sum()), int((sides.own.there() | sides.baseline.there()).sum())
        left_out = self.options.unchanged_queries
        what = "and were left out" if left_out else "which changes scores, too; unchanged_queries leaves them out"
        night = sides.key["baseline_night"]
        sentence = (
            f"{sides.key['dataset']}: {changed:,} of {every:,} queries have other judgments than on {night}, {what}"
        )
        return [sentence] if changed else []

    def _refuse_unknown(self, own: Sequence[Source], others: Sequence[Source]) -> None:
        if not (self.baselines or others):
            raise ConfigurationError("baseline: there is none; name a run, or give the scores of another night")
        for name, sources, runs in (("baseline", others, self.baselines), ("run", [*own, *others], self.runs or ())):
            known = {run for source in sources for run in source.runs}
            for run in runs:
                if run not in known:
                    raise unknown_name(name, "run", run, known)
        places = sorted({place for source in own for place in source.places}, key=lambda p: (p[0], *by_depth(p[1])))
        for measure, cutoffs in self.options.measures.items():
            there = [cutoff for name, cutoff in places if name == measure]
            absent = [f"{measure}@{format_cutoff(cutoff)}" for cutoff in cutoffs or () if cutoff not in there]
            if absent or not there:
                has = ", ".join(f"{name}@{format_cutoff(cutoff)}" for name, cutoff in places if name in SCORES)
                raise ConfigurationError(f"measures: {(absent or [measure])[0]} was not evaluated; there is {has}")


def _together(places: Sequence[Place], size: int) -> Iterator[Sequence[Place]]:
    """The places whose matrices, each of this size, are read at once."""
    most = max(1, _AT_ONCE // size)
    return (places[at : at + most] for at in range(0, len(places), most))


def mean_matrices(
    sources: Sequence[Source], queries: Queries, places: Sequence[Place], tonight: Mapping[Place, ScoreMatrix]
) -> dict[Place, ScoreMatrix]:
    """The scores of a night, or the means of several, by place."""
    if len(sources) == 1:
        return sources[0].read(queries, places, sources[0].runs)
    # One place after the other, so that there are never the matrices of all nights.
    return {
        place: mean_of((source.read(queries, [place], source.runs)[place] for source in sources), tonight[place])
        for place in places
    }

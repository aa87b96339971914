"""The scores of nights or of tables, read as matrices, and compared measure by measure."""

import dataclasses
import datetime
import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.comparison.differences import ComparisonOptions, Sides, comparison_rows, extremes
from ndcg_spark.comparison.matrix import MatrixReader, Metric, Queries, ScoreMatrix
from ndcg_spark.comparison.slices import Attributes, Weights
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import SCORES, by_depth, format_cutoff
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.read import read_batches, read_dataset_scores, read_rows
from ndcg_spark.schemas import NO_VALUE
from ndcg_spark.text import unknown_name

#: Matrices of so many scores are read at once, else one after the other.
_AT_ONCE = 30_000_000
_DEFAULT = ComparisonOptions()


@dataclasses.dataclass(frozen=True)
class ScoreSource:
    """The scores of a dataset in one night, which are read as often as they are needed."""

    dataset: str
    evaluated_on: datetime.date | None
    evaluation_id: str | None
    runs: Sequence[str]
    #: The measures and cutoffs at which they have values.
    metrics: Collection[Metric]
    #: How many scores there are of one measure at one cutoff.
    size: int
    #: All rows, or the night that has them.
    rows: Night | pa.Table
    where: str = "query_scores"

    def read(self, queries: Queries, metrics: Sequence[Metric], runs: Collection[str]) -> dict[Metric, ScoreMatrix]:
        """The matrices of these metrics. Raises InputError, as MatrixReader, and StorageError."""
        columns = ["run", "query_id", "cutoff", "judgments_hash", *dict.fromkeys(measure for measure, _ in metrics)]
        chosen = [run for run in self.runs if run in runs]
        if isinstance(self.rows, Night):
            where: dict[str, Sequence[Any]] = {"cutoff": list({cutoff for _, cutoff in metrics}), "run": chosen}
            batches: Iterable[pa.RecordBatch] = read_batches([self.rows], "query_scores", columns, where)
        else:
            batches = self.rows.select(columns).to_batches()
        return MatrixReader(queries, chosen, metrics, self.where).read(batches)

    def key(self, baseline_night: datetime.date | None = None, baseline_nights: int | None = None) -> dict[str, Any]:
        """The columns of COMPARISONS that are the same in all rows of a comparison with these nights."""
        own = {name: getattr(self, name) for name in ("dataset", "evaluated_on", "evaluation_id")}
        return {**own, "baseline_night": baseline_night, "baseline_nights": baseline_nights}


def night_sources(nights: Sequence[Night], where: str = "query_scores") -> list[ScoreSource]:
    """The scores of published nights."""
    sources = []
    for night, rows in zip(nights, read_dataset_scores(nights), strict=True):
        cutoffs = {row["cutoff"] for row in rows}
        metrics = {(name, row["cutoff"]) for row in rows for name, value in row.items() if isinstance(value, float)}
        # These are in every night, whether they have values or not.
        metrics |= {(name, cutoff) for name in ("ndcg", "dcg", "ideal_dcg", "cg") for cutoff in cutoffs}
        date, size = datetime.date.fromisoformat(night.evaluated_on), night.kept_rows("query_scores")
        runs, size = sorted({row["run"] for row in rows}), size // max(1, len(cutoffs))
        sources.append(ScoreSource(night.dataset, date, night.evaluation_id, runs, metrics, size, night, where))
    return sources


def read_attributes(nights: Sequence[Night]) -> Attributes | None:
    """The QUERY_ATTRIBUTES that nights were evaluated with; None if they had none."""
    kept = [night for night in nights if night.kept_rows("query_attributes")]
    columns = ["dataset", "query_id", "attribute", "value"]
    return Attributes(read_rows(kept, "query_attributes", columns)) if kept else None


def different_options(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """The options that differ, in words; an option missing in a night has its default.

    The name of a convention does not count: two presets may have the same options.
    """
    here, there, default = (json.loads(json.dumps(options)) for options in (ours, theirs, Convention().options()))
    values = {name: [options.get(name, default.get(name)) for options in (here, there)] for name in {**here, **there}}
    return [f"{name}={two} there and {one} here" for name, (one, two) in sorted(values.items()) if one != two]


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
class Comparer:
    """Compares runs with baselines; the settings of all comparisons of an output or of some tables."""

    options: ComparisonOptions = _DEFAULT
    #: The runs that the others are compared with, each in turn; if these are all, each two of them are compared.
    #: Without any, runs are compared by their names.
    baselines: Sequence[str] = ()
    #: The runs to compare; by default all but the baselines.
    runs: Collection[str] | None = None
    attributes: Attributes | None = None
    weights: Weights | None = None
    #: How many of the queries that lost most, and that won most, to name for each run, measure and cutoff.
    queries: int = 0

    def compare(self, own: Iterable[ScoreSource], others: Mapping[str, ScoreSource] | None = None) -> Comparison:
        """The comparison of every night with its baseline: that of `others` by dataset, else runs of the same night.

        ConfigurationError if there is no such baseline, run, measure or cutoff; InputError if scores break their
        contract; StorageError.
        """
        own = sorted(own, key=lambda source: (source.dataset, str(source.evaluated_on)))
        self._refuse_unknown(own, own if others is None else list(others.values()))
        comparison = Comparison([], [], [])
        for source in own:
            night = None if others is None else others.get(source.dataset)
            other = source if others is None else night or dataclasses.replace(source, runs=())
            for sides in self._sides(source, other, night):
                comparison.rows.extend(comparison_rows(sides, self.options, self.attributes, self.weights))
                comparison.warnings.extend({*self._other_judgments(sides)}.difference(comparison.warnings))
                for pair in sides.pairs if self.queries else ():
                    comparison.queries.extend(extremes(sides, *pair, self.queries))
        is_sliced = any(row["value"] not in (None, NO_VALUE) for row in comparison.rows)
        is_weighted = any(row["weight_effective_n"] for row in comparison.rows)
        for name, table, used in (("attributes", self.attributes, is_sliced), ("weights", self.weights, is_weighted)):
            if table is not None and not used:
                example = f", e.g. {table.table['query_id'][0]}" if len(table.table) else ""
                comparison.warnings.append(f"query_{name}: none of its queries has scores here{example}; check its ids")
        return comparison

    def _refuse_unknown(self, own: Sequence[ScoreSource], others: Sequence[ScoreSource]) -> None:
        for name, sources, runs in (("baseline", others, self.baselines), ("run", [*own, *others], self.runs or ())):
            known = {run for source in sources for run in source.runs}
            for run in runs:
                if run not in known:
                    raise unknown_name(name, "run", run, known)
        metrics = sorted({metric for source in own for metric in source.metrics}, key=lambda p: (p[0], *by_depth(p[1])))
        for measure, cutoffs in self.options.measures.items():
            there = [cutoff for name, cutoff in metrics if name == measure]
            absent = [f"{measure}@{format_cutoff(cutoff)}" for cutoff in cutoffs or () if cutoff not in there]
            if absent or not there:
                has = ", ".join(f"{name}@{format_cutoff(cutoff)}" for name, cutoff in metrics if name in SCORES)
                raise ConfigurationError(f"measures: {(absent or [measure])[0]} was not evaluated; there is {has}")

    def _sides(self, source: ScoreSource, other: ScoreSource, night: ScoreSource | None) -> Iterator[Sides]:
        """A night and `other`, itself or another `night`, at each metric: by default where a measure has values."""
        metrics: list[Metric] = []
        for measure, cutoffs in self.options.measures.items():
            there = sorted((cutoff for name, cutoff in source.metrics if name == measure), key=by_depth)
            metrics += [(measure, cutoff) for cutoff in (there if cutoffs is None else cutoffs)]
        runs = {run for run in source.runs if self.runs is None or run in self.runs}
        if self.baselines:
            others = runs - {*self.baselines} if other is source else runs
            pairs = [(run, baseline) for run in sorted(others) for baseline in self.baselines]
            # Where every run is a baseline, each two of them are compared once.
            pairs = pairs or list(itertools.combinations((run for run in self.baselines if run in runs), 2))
        else:
            runs |= {run for run in other.runs if self.runs is None or run in self.runs}
            pairs = [(run, run) for run in sorted(runs)]
        key = source.key(night.evaluated_on, 1) if night else source.key()
        queries, at_once = Queries(), max(1, _AT_ONCE // max(source.size, other.size, 1))
        own_runs, other_runs = ({pair[side] for pair in pairs} for side in (0, 1))
        for at in range(0, len(metrics), at_once):
            some = metrics[at : at + at_once]
            own = source.read(queries, some, own_runs | other_runs if other is source else own_runs)
            theirs = own if other is source else other.read(queries, some, other_runs)
            for metric in some:
                sides = Sides(own[metric], theirs[metric], metric, key, pairs)
                only = ~sides.rejudged if self.options.unchanged_queries else None
                yield dataclasses.replace(sides, only=only)

    def _other_judgments(self, sides: Sides) -> Iterator[str]:
        """A sentence that says how many queries are judged differently than in the baseline's night."""
        changed, total = int(sides.rejudged.sum()), int((sides.own.there() | sides.baseline.there()).sum())
        left_out = self.options.unchanged_queries
        what = "and were left out" if left_out else "which changes scores, too; unchanged_queries leaves them out"
        if changed:
            queries = f"{sides.key['dataset']}: {changed:,} of {total:,} queries have other judgments"
            yield f"{queries} than on {sides.key['baseline_night']}, {what}"

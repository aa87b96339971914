"""The outcome of an evaluation, as it is printed, and the lines that are printed on the way."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyspark.sql import Row

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import limits
from ndcg_spark.contract.tables import CheckedTables
from ndcg_spark.convention.cutoffs import by_run
from ndcg_spark.convention.measures import MeasureSet
from ndcg_spark.convention.parsing import measure_set_of
from ndcg_spark.gate.verdict import Verdict, exit_code_of
from ndcg_spark.inputs.read import Source
from ndcg_spark.schemas import DATASET_SCORES, measure_first

#: Called when a step is done, with the name of the step and a sentence for the user.
Tell = Callable[[str, str], None]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of an evaluation, which `--format json` prints."""

    evaluation_id: str
    convention: str
    formula: str
    engine: str
    #: The rows of the table DATASET_SCORES, by dataset, run and cutoff, the whole ranking last; ndcg after the key.
    #: Of the measures beside NDCG they have those that were asked for.
    dataset_scores: list[dict[str, Any]]
    counts: dict[str, int]
    #: How many rows of which table were rejected for which reason, with an example each.
    rejected: list[dict[str, Any]]
    output: str | None
    #: The duration of each step in seconds.
    seconds: dict[str, float]
    #: What was asked for, each measure with its cutoff, such as precision@5; empty for NDCG alone.
    measures: list[str] = dataclasses.field(default_factory=list)
    #: Whether the bounds of NDCG were asked for.
    bounds: bool = False
    #: The verdict on each night; empty without a gate.
    verdicts: Sequence[Verdict] = ()
    #: What the runs are ordered by, such as ndcg@10.
    headline: str | None = None

    @functools.cached_property
    def measure_set(self) -> MeasureSet:
        """The measures, each with the cutoffs at which it was computed."""
        return measure_set_of(self.measures, self.bounds, self.headline)

    @property
    def exit_code(self) -> int:
        """0, or what the verdicts say."""
        return exit_code_of(self.verdicts)


def tell_rows_read(sources: Sequence[Source], checked: CheckedTables, tell: Tell) -> None:
    """Tell how many rows of each table were read, and which were rejected."""
    judgments, results = sources
    judged, returned = checked.judgment_counts, checked.result_counts
    tell("read", f"{judged.rows:,} judgments of {sum(judged.queries.values()):,} queries from {judgments.place}")
    tell("read", f"{returned.rows:,} results of {len(returned.runs):,} runs from {results.place}")
    if results.without:
        tell("excluded", f"{returned.excluded:,} results, by {results.without.place}")
    tell_rows_rejected(sources, checked, tell)


def tell_rows_rejected(sources: Sequence[Source], checked: CheckedTables, tell: Tell) -> None:
    """Tell how many rows of each table were rejected, and why; nothing if none were."""
    for source, counts in zip(sources, checked.both_counts, strict=True):
        if counts.breaches:
            rows = sum(breach.rows for breach in counts.breaches)
            tell("rejected", f"{rows:,} rows of {source.name}: {limits.summary(counts.breaches)}")


def rejected(checked: CheckedTables) -> list[dict[str, Any]]:
    """The breaches of both tables as dictionaries, for JSON."""
    return [dataclasses.asdict(breach) for breach in checked.breaches]


def sorted_rows(
    rows: Iterable[Row | dict[str, Any]], names: Sequence[str] = measure_first(DATASET_SCORES)
) -> list[dict[str, Any]]:
    """Rows of dataset scores as dictionaries of these columns, sorted by dataset, run and cutoff."""
    return sorted(({name: row[name] for name in names} for row in rows), key=by_run)


def refuse_unjudged(rows: Sequence[dict[str, Any]], config: EvaluationConfig) -> None:
    """InputError if a run's judged_rate at the deepest cutoff is below the configured `min_judged_rate`."""
    deepest = config.cutoffs[-1]
    several = len({row["dataset"] for row in rows}) > 1
    rates = {
        (f"{row['run']} dataset={row['dataset']}" if several else row["run"]): row["judged_rate"]
        for row in rows
        if row["cutoff"] == deepest
    }
    limits.refuse_unjudged(rates, deepest, config.min_judged_rate)

"""What an evaluation came to, as it is printed, and what it says while it works."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyspark.sql import Row

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import thresholds
from ndcg_spark.contract.checked import Checked
from ndcg_spark.convention.cutoffs import order_of
from ndcg_spark.inputs.reading import Source
from ndcg_spark.schemas import DATASET_SCORES

#: What is called when a step is done: with its name and a sentence.
Tell = Callable[[str, str], None]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What an evaluation came to; `--json` prints it."""

    evaluation_id: str
    convention: str
    formula: str
    engine: str
    #: The rows of the table DATASET_SCORES by dataset, run and cutoff, the whole ranking last.
    dataset_scores: list[dict[str, Any]]
    counts: dict[str, int]
    #: The rows that were set aside, by table and reason, with an example each.
    rejected: list[dict[str, Any]]
    output: str | None
    #: Seconds of each step.
    seconds: dict[str, float]


def tell_what_was_read(sources: Sequence[Source], checked: Checked, tell: Tell) -> None:
    """A line for each table, and one for the rows of each that were rejected."""
    judgments, results = sources
    judged, returned = checked.judged, checked.returned
    tell("read", f"{judged.rows:,} judgments of {sum(judged.queries.values()):,} queries from {judgments.place}")
    tell("read", f"{returned.rows:,} results of {len(returned.runs):,} runs from {results.place}")
    tell_what_was_rejected(sources, checked, tell)


def tell_what_was_rejected(sources: Sequence[Source], checked: Checked, tell: Tell) -> None:
    """A line for each table that rows were rejected of."""
    for source, counts in zip(sources, checked.both, strict=True):
        if counts.breaches:
            rows = sum(breach.rows for breach in counts.breaches)
            tell("rejected", f"{rows:,} rows of {source.name}: {thresholds.in_words(counts.breaches)}")


def rejected(checked: Checked) -> list[dict[str, Any]]:
    """The breaches of both tables, fit for JSON."""
    return [dataclasses.asdict(breach) for breach in checked.breaches]


def sorted_rows(rows: Iterable[Row], names: Sequence[str] = tuple(DATASET_SCORES.names)) -> list[dict[str, Any]]:
    """Rows of dataset scores by dataset, run and cutoff, with the columns of these names."""
    ordered = sorted(rows, key=lambda row: (row["dataset"], row["run"], order_of(row["cutoff"])))
    return [{name: row[name] for name in names} for row in ordered]


def refuse_unjudged(rows: Sequence[dict[str, Any]], config: EvaluationConfig) -> None:
    """Hold the judged_rate of every run to its limit, at the deepest cutoff. Raises InputError."""
    deepest = config.cutoffs[-1]
    several = len({row["dataset"] for row in rows}) > 1
    rates = {
        (f"{row['run']} dataset={row['dataset']}" if several else row["run"]): row["judged_rate"]
        for row in rows
        if row["cutoff"] == deepest
    }
    thresholds.refuse_unjudged(rates, deepest, config.min_judged_rate)

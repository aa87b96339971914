"""Read, check and report the results for commands without judgments."""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from pyspark.sql import DataFrame

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.changes import Seen, see
from ndcg_spark.contract.counting import check_lists
from ndcg_spark.contract.limits import about_merged, refuse_in_lists
from ndcg_spark.convention.convention import Convention
from ndcg_spark.engine import Engine
from ndcg_spark.inputs.source_tables import Source
from ndcg_spark.job.inputs import (
    PlanRefusedError,
    report_notes,
    report_read,
    results_source,
    translated_failures,
)
from ndcg_spark.scoring.prepare import prepare_lists
from ndcg_spark.steps import report_step


class CheckedLists(NamedTuple):
    """Results that were read and checked."""

    #: The results, and the documents to exclude from them.
    seen: list[Seen]
    #: The valid rows that are not too deep.
    results: DataFrame
    convention: Convention
    runs: set[str]

    @property
    def source(self) -> Source:
        return self.seen[0].source


def read_lists(engine: Engine, config: EvaluationConfig) -> CheckedLists:
    """Read a configuration's results. Raises InputError if they break a rule."""
    source = results_source(engine, config)
    report_notes(source)
    with translated_failures([source]):
        checks = prepare_lists(source, source.without, config.options)
        excluded = see(source.without) if source.without else []
        results, counts = check_lists(source, config, checks)
    report_read(source, counts)
    for sentence in about_merged(counts, config):
        report_step("warning", sentence)
    seen = [Seen(source, counts.fingerprints), *excluded]
    return CheckedLists(seen, results, checks.convention, {run.run for run in counts.runs})


@contextlib.contextmanager
def counted_refusals(*checked: CheckedLists) -> Iterator[None]:
    """Translate a plan's failures over these lists.

    If the plan refuses a document that occurs twice, the error says how many there are.
    """
    # The source of a list knows the documents that are excluded from it.
    sources = [lists.source for lists in checked]
    try:
        with translated_failures(sources):
            yield
    except PlanRefusedError:
        for lists in checked:
            # This raises an error with counts if the lists have documents twice.
            with translated_failures(sources):
                refuse_in_lists(lists.source, [lists.results], lists.convention)
        raise

"""One evaluation that is running, and what its scores are held to."""

import dataclasses
from collections.abc import Callable
from typing import Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import limits
from ndcg_spark.contract.tables import CheckedTables
from ndcg_spark.engine import Engine
from ndcg_spark.inputs.unchanged import Stamp, refuse_changed
from ndcg_spark.job.clock import Clock
from ndcg_spark.job.handing_over import Taker
from ndcg_spark.job.noticing import tell_unjudged_runs
from ndcg_spark.job.outcome import Tell, refuse_unjudged
from ndcg_spark.job.preparing import SliceTables, Sources
from ndcg_spark.schemas import DATASET_SCORES, measure_first
from ndcg_spark.scoring.evaluation import Evaluation


@dataclasses.dataclass(frozen=True)
class Work:
    """One evaluation that is running: what it works on and with."""

    engine: Engine
    config: EvaluationConfig
    sources: Sources
    #: Size and time of every file before the tables were checked.
    stamps: dict[str, Stamp]
    evaluation: Evaluation
    tell: Tell
    clock: Clock
    #: What is called when the engine has done its work.
    release: Callable[[], object]
    #: To whom query scores are handed, if to anybody.
    wanted: Taker | None = None
    #: Why the nights are accepted as baselines of later ones, if they are.
    accepted: str | None = None
    #: What the comparisons of a gate are cut and weighted by.
    slices: SliceTables = dataclasses.field(default_factory=SliceTables)


def shown_columns(work: Work) -> tuple[str, ...]:
    """The columns of DATASET_SCORES that are shown: those of the measures that were asked for, and all others."""
    return measure_first(DATASET_SCORES, work.evaluation.measures.columns)


def refuse_scores(work: Work, checked: CheckedTables, rows: list[dict[str, Any]]) -> None:
    """InputError if the scores are not of the tables that were checked, or if too few documents are judged."""
    refuse_changed(work.sources, work.stamps)
    limits.refuse_lost(checked.judgment_counts, checked.result_counts, rows)
    refuse_unjudged(rows, work.config)
    tell_unjudged_runs(rows, work.config, work.tell)

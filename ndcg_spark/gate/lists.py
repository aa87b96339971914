"""How much the lists of a night changed since an earlier night, as input for the gate's checks of lists."""

import dataclasses
from collections.abc import Callable, Collection, Sequence

from pyspark.sql import DataFrame, SparkSession

from ndcg_spark import engine
from ndcg_spark.comparison.baselines import baseline_night, earlier
from ndcg_spark.errors import StorageError
from ndcg_spark.gate.baseline import Refusal
from ndcg_spark.gate.config import GateConfig
from ndcg_spark.gate.rules import Row
from ndcg_spark.gate.verdict import Code
from ndcg_spark.lists.nights import KeptLists, changes_of_nights, refused_lists
from ndcg_spark.lists.summary import summarized
from ndcg_spark.nights.read import read_rows
from ndcg_spark.nights.records import CommittedNight, ReplacedError, unreplaced


@dataclasses.dataclass(frozen=True)
class ComparedLists:
    """What the lists of a night are compared with, and how much they changed, or why that is unknown."""

    #: As the configuration calls it; None for the newest earlier night.
    baseline: str | None = None
    #: The date of its night, and its runs.
    evaluated_on: str | None = None
    runs: Collection[str] = ()
    refused: Refusal | None = None
    #: The rows of `summarized`, and the table LIST_CHANGES that they are of; None if there is none.
    rows: Sequence[Row] = ()
    changes: DataFrame | None = None


#: The reason for a night that does not keep its lists.
NO_LISTS = ComparedLists(refused=(Code.NO_LISTS, 'the night does not keep its lists; set documents = "lists"'))


def compared_lists(
    gate: GateConfig | None,
    nights: Sequence[CommittedNight],
    kept: KeptLists,
    keep: Callable[[DataFrame], DataFrame] = lambda changes: changes,
) -> ComparedLists:
    """The lists of a night compared with those of the gate's first baseline night, else with the newest earlier night.

    `keep` keeps what is read twice. Runs jobs. Raises ReplacedError if the other night was evaluated again meanwhile.
    """
    name = next((each.name for each in gate.baseline if each.night is not None), None) if gate else None
    date = kept.record["evaluated_on"]
    try:
        # A date that is evaluated again is not compared with what it replaces.
        others = [night for night in nights if night.evaluated_on != date]
        before = earlier(others, kept.dataset, date)
        found = baseline_night(others, kept.dataset, date, name) if name else before[-1] if before else None
        if found is None:
            missing = f"there is no night of {name} to compare lists with" if name else "there is no earlier night"
            return ComparedLists(name, refused=(Code.NO_BASELINE, f"{missing}; the next one is compared with this one"))
        with unreplaced([found]):
            refused = refused_lists(kept.record, found.record)
            if refused:
                return ComparedLists(name, found.evaluated_on, refused=(Code(refused[0]), refused[1]))
            return _compared(name, found, kept, keep)
    except ReplacedError:
        raise
    except StorageError as error:
        return ComparedLists(name, refused=(Code.UNREADABLE, f"the published nights cannot be used, {error}"))


def _compared(
    name: str | None, night: CommittedNight, new: KeptLists, keep: Callable[[DataFrame], DataFrame]
) -> ComparedLists:
    old = KeptLists.of(night, new.scores.sparkSession)
    both = sorted({*old.runs}.intersection(new.runs))
    if not both:
        return ComparedLists(name, night.evaluated_on, old.runs)
    try:
        changes = keep(changes_of_nights(new, old, both))
        rows = [row.asDict() for row in summarized(changes).collect()]
    except engine.failures():
        # Each engine reports a damaged file in its own words.
        read_rows([night], "ranked_documents")
        raise
    return ComparedLists(name, night.evaluated_on, old.runs, rows=rows, changes=changes)


def published_lists(
    gate: GateConfig, nights: Sequence[CommittedNight], night: CommittedNight, session: SparkSession
) -> ComparedLists:
    """As `compared_lists`, for a published night; without checks of lists, nothing is compared."""
    return compared_lists(gate, nights, KeptLists.of(night, session)) if gate.lists else NO_LISTS

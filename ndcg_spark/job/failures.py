"""An engine's exception becomes an error of this program, which says whose fault it is: input, convention, storage."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark import engine
from ndcg_spark.contract.tables import CheckedTables
from ndcg_spark.errors import ConventionError, EngineError, InputError, NdcgSparkError, StorageError
from ndcg_spark.inputs.read import Source
from ndcg_spark.job.preparing import scores_of
from ndcg_spark.scoring.evaluation import Evaluation
from ndcg_spark.scoring.refusals import (
    JUDGED_TWICE,
    MISSING_QUERY,
    NO_RELEVANT,
    NOT_FINITE,
    RANK_TWICE,
    RETURNED_TWICE,
    refused,
)

#: What an operating system says of a disk that cannot be written, which engines pass on as text.
_REFUSALS = (
    "No space left on device",
    "Read-only file system",
    "Disk quota exceeded",
    "File too large",
    "Not a directory",
)


class PlanRefusedError(InputError):
    """The engine met a row that is refused while it computed the scores. The message has one example."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code

    @property
    def is_of_duplicates(self) -> bool:
        """Whether the reason is that a document, or a rank, occurs twice for one query."""
        return self.code in (JUDGED_TWICE.code, RETURNED_TWICE.code, RANK_TWICE.code)


@contextlib.contextmanager
def translated_failures(sources: Sequence[Source]) -> Iterator[None]:
    """Run the block; an exception of the engine in it becomes one of the errors below.

    Raises
    ------
    PlanRefusedError
        A row was refused while the scores were computed.
    ConventionError
        A user's gain or discount failed.
    StorageError
        The engine could not write.
    EngineError
        Anything else.
    """
    try:
        yield
    except engine.failures() as error:
        refusal = refused(error)
        if refusal:
            raise PlanRefusedError(refusal.code, refusal.sentence) from error
        if engine.lost(error):
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        if type(error).__name__ == "PythonException":
            raise ConventionError(f"convention: a python: function failed, {lines[-1]}; correct it") from error
        if any(words in str(error) for words in _REFUSALS):
            raise StorageError(
                f"output: the engine cannot write, {lines[0]}; nothing was published, check space and rights "
                "where the output is and where the engine spills"
            ) from error
        typed = [source for each in sources for source in each.sources if not source.is_text]
        damage = f", or a file is damaged, {' or '.join(source.place for source in typed)}" if typed else ""
        reason = f"{type(error).__name__}, {engine.reason_of(error)}"
        raise EngineError(f"engine: {reason}; its log may say more{damage}") from error


def counted(
    refusal: PlanRefusedError, checked: CheckedTables, runs: DataFrame, evaluation: Evaluation
) -> NdcgSparkError:
    """The error to raise for a refusal. If queries are refused, it says how many, which takes an action."""
    if refusal.code == NOT_FINITE.code:
        return ConventionError(str(refusal))
    if refusal.code not in (MISSING_QUERY.code, NO_RELEVANT.code):
        return refusal
    # The refused queries are those that the same convention would leave out, if it refused none.
    missing = "zero" if evaluation.convention.missing_query == "zero" else "skip"
    lenient = evaluation.convention.replace(no_relevant="skip", missing_query=missing)
    relaxed = dataclasses.replace(evaluation, convention=lenient, cutoffs=evaluation.cutoffs[-1:])
    scores = scores_of(checked, runs, relaxed)
    is_missing = (F.col("status") == "missing") & (F.lit(missing) == "skip")
    is_refused = is_missing if refusal.code == MISSING_QUERY.code else F.col("ndcg").isNull() & ~is_missing
    rows = scores.where(is_refused).count()
    return InputError(str(refusal).replace(", e.g.", f", {rows} of them, e.g.", 1))

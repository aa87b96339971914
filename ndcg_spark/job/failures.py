"""Translates exceptions of an engine into errors that blame the input, the convention, the storage or the engine."""

import contextlib
from collections.abc import Iterator, Sequence

from ndcg_spark import engine
from ndcg_spark.errors import ConventionError, EngineError, InputError, StorageError
from ndcg_spark.inputs.read import Source
from ndcg_spark.scoring.refusals import JUDGED_TWICE, RANK_TWICE, RETURNED_TWICE, refused

#: Messages of operating systems and HDFS about failed writes, which engines pass on as text.
_REFUSALS = (
    "No space left on device",
    "Read-only file system",
    "Disk quota exceeded",
    "File too large",
    "Not a directory",
    "access=WRITE",
    "QuotaExceededException",
    "SafeModeException",
)


class PlanRefusedError(InputError):
    """The engine met a refused row while computing the scores. The message has one example."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code

    @property
    def is_of_duplicates(self) -> bool:
        """Whether a document, or a rank, occurs twice for one query."""
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
                f"output: the engine cannot write, {engine.reason_of(error)}; nothing was published, check space "
                "and rights where the output is and where the engine spills"
            ) from error
        typed = [source for each in sources for source in each.sources if not source.is_text]
        damage = f", or a file is damaged, {' or '.join(source.place for source in typed)}" if typed else ""
        reason = f"{type(error).__name__}, {engine.reason_of(error)}"
        raise EngineError(f"engine: {reason}; its log may say more{damage}") from error

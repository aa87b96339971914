"""Whose failure it is: what an engine says becomes the input's, the convention's, the storage's or its own error."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark import engine
from ndcg_spark.contract.checked import Checked
from ndcg_spark.errors import ConventionError, EngineError, InputError, NdcgSparkError, StorageError
from ndcg_spark.inputs.damage import damaged
from ndcg_spark.inputs.reading import Source
from ndcg_spark.nights import store
from ndcg_spark.scoring import evaluation
from ndcg_spark.scoring.evaluation import Evaluation
from ndcg_spark.scoring.refusals import JUDGED_TWICE, MISSING_QUERY, NO_RELEVANT, NOT_FINITE, RETURNED_TWICE, refused

#: The status of the queries that a refusal is about, by its code.
_STATUS = {MISSING_QUERY.code: "missing", NO_RELEVANT.code: "no_relevant"}


class PlanRefusedError(InputError):
    """A plan refused a row while it ran; it knows one example."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code

    @property
    def is_of_duplicates(self) -> bool:
        """Whether a document stands twice."""
        return self.code in (JUDGED_TWICE.code, RETURNED_TWICE.code)


@contextlib.contextmanager
def explained(sources: Sequence[Source]) -> Iterator[None]:
    """An engine's exception becomes the error that says whose failure it is.

    Raises
    ------
    PlanRefusedError
        The plan refused a row.
    InputError
        A file is damaged, which an engine may not say.
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
        for source in sources:
            damage = damaged(source.files, source.format) if source.seen else None
            if damage:
                raise InputError(f"{source.name}: {damage}; write it again") from error
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        if type(error).__name__ == "PythonException":
            raise ConventionError(f"convention: a python: function failed, {lines[-1]}; correct it") from error
        if store.is_refusal(str(error)):
            raise StorageError(
                f"output: the engine cannot write, {lines[0]}; nothing was published, check space and rights "
                "where the output is and where the engine spills"
            ) from error
        raise EngineError(f"engine: {type(error).__name__}, {engine.reason_of(error)}; its log may say more") from error


def counted(refusal: PlanRefusedError, checked: Checked, runs: DataFrame, plan: Evaluation) -> NdcgSparkError:
    """The error for a refusal, with the number of queries where the plan knew only one of them. An action then."""
    if refusal.code == NOT_FINITE.code:
        return ConventionError(str(refusal))
    if refusal.code not in _STATUS:
        return refusal
    lenient = plan.convention.replace(no_relevant="skip", missing_query="skip")
    relaxed = dataclasses.replace(plan, convention=lenient, cutoffs=plan.cutoffs[-1:])
    scores = evaluation.query_scores(checked.judgments, checked.listed, runs, relaxed)
    rows = scores.where(F.col("status") == _STATUS[refusal.code]).count()
    return InputError(str(refusal).replace(", e.g.", f", {rows} of them, e.g.", 1))

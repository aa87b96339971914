"""Whose failure it is: what an engine says becomes the input's, the convention's, the storage's or its own error."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark import engine
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import validation
from ndcg_spark.contract.validation import Checked
from ndcg_spark.errors import ConventionError, DuplicatesError, EngineError, InputError, StorageError
from ndcg_spark.inputs import files
from ndcg_spark.inputs.reading import Source
from ndcg_spark.nights import store
from ndcg_spark.scoring import evaluation
from ndcg_spark.scoring.evaluation import Evaluation
from ndcg_spark.scoring.refusals import REFUSED


@contextlib.contextmanager
def blaming(sources: Sequence[Source]) -> Iterator[None]:
    """An engine's failure becomes an InputError if a file is damaged, which it may not say, else an EngineError."""
    try:
        yield
    except engine.failures() as error:
        if engine.lost(error):
            raise
        for source in sources:
            damage = files.damaged(source.files, source.format) if source.seen else None
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


@contextlib.contextmanager
def explaining(checked: Checked, runs: DataFrame, plan: Evaluation, config: EvaluationConfig) -> Iterator[None]:
    """A plan's own refusal becomes an InputError that counts what the plan could only give one example of."""
    try:
        yield
    except engine.failures() as error:
        if REFUSED not in str(error):
            raise
        reason = str(error).split(REFUSED, 1)[1].splitlines()[0]
        twice = validation.find_duplicates(checked, config) if "twice" in reason else None
        if twice:
            raise DuplicatesError(twice) from error
        lenient = plan.convention.replace(no_relevant="skip", missing_query="skip")
        relaxed = dataclasses.replace(plan, convention=lenient, cutoffs=plan.cutoffs[-1:])
        status = "missing" if "without results" in reason else "no_relevant"
        scores = evaluation.query_scores(checked.judgments, checked.listed, runs, relaxed)
        rows = scores.where(F.col("status") == status).count()
        raise InputError(reason.replace(", e.g.", f", {rows} of them, e.g.", 1)) from error

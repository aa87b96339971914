"""One evaluation from its configuration to printed or published scores: read, check, evaluate, publish."""

import contextlib
import dataclasses
import datetime
import io
import platform
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyspark
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

import ndcg_spark
from ndcg_spark import checking, engine, evaluation, files, gains, nights, reading, schemas
from ndcg_spark.checking import JudgmentCounts, ResultCounts
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.errors import ConfigurationError, ConventionError, EngineError, InputError
from ndcg_spark.evaluation import Evaluation
from ndcg_spark.publishing import Night
from ndcg_spark.reading import Source
from ndcg_spark.schemas import DATASET_SCORES, JUDGMENTS, QUERY_SCORES, RESULTS
from ndcg_spark.scoring import REFUSED

#: What a step has to say when it is done: its name and a sentence.
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
    #: Rows refused by reason; empty, as any breach refuses the input.
    rejected: list[dict[str, Any]]
    output: str | None
    #: Seconds of each step.
    seconds: dict[str, float]


class Clock:
    """Seconds of each step, and of all."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._start = time.perf_counter()

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time the block as the step of this name."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(time.perf_counter() - start, 3)

    def with_total(self) -> dict[str, float]:
        """The seconds of every step so far, and since the start."""
        return {**self.seconds, "total": round(time.perf_counter() - self._start, 3)}


def run(config: EvaluationConfig, tell: Tell) -> Outcome:
    """Evaluate as configured; the outcome's scores are published if the configuration names an output.

    Raises
    ------
    NdcgSparkError
        Of the class that tells the exit code; nothing was published then.
    """
    clock = Clock()
    with clock.step("engine"), contextlib.ExitStack() as stack:
        opened = stack.enter_context(open_engine(config.engine, config.remote))
        keep = stack.pop_all()
    with keep:
        tell("engine", opened.name)
        return run_on(opened, config, tell, clock)


def run_on(opened: Engine, config: EvaluationConfig, tell: Tell, clock: Clock) -> Outcome:
    """Evaluate as configured, on an engine that is open. Raises as `run`."""
    # Asked here, so that a Python gain that cannot be imported is told before any table is read.
    gains.unjudged_gain(config.convention)
    with clock.step("read"):
        judgments, results = _sources(opened, config)
        typed = _typed(judgments, results, config)
    with clock.step("check"), _blaming([judgments, results]):
        judged = _check_judgments(judgments, config)
        queries = sum(judged.queries.values())
        tell("read", f"{judged.rows:,} judgments of {queries:,} queries from {judgments.place}")
        returned = _check_results(results, typed[0], config)
        tell("read", f"{returned.rows:,} results of {len(returned.runs):,} runs from {results.place}")
    plan = Evaluation(config.convention, config.cutoffs, config.date, evaluation.new_id(), config.dataset)
    runs = _runs_table(opened, returned, "dataset" in judgments.table.columns)
    counts = _counts(judged, returned, len(plan.cutoffs))
    output = config.dated(config.output) if config.output else None
    per_query = evaluation.query_scores(*typed, runs, plan)
    with _blaming([judgments, results]), _explaining(typed, runs, plan):
        if output is None:
            with clock.step("evaluate"):
                rows = evaluation.dataset_scores(per_query, runs, plan).collect()
        else:
            for sentence in nights.recover(output):
                tell("recover", sentence)
            night = Night(output, plan.evaluation_id)
            with _abandoning(night):
                with clock.step("evaluate"):
                    night.stage("query_scores", per_query)
                    night.verify("query_scores", counts["query_scores"])
                with clock.step("aggregate"):
                    staged = night.read("query_scores", opened.session, QUERY_SCORES)
                    night.stage("dataset_scores", evaluation.dataset_scores(staged, runs, plan))
                    night.verify("dataset_scores", counts["dataset_scores"])
                    rows = night.read("dataset_scores", opened.session, DATASET_SCORES).collect()
                tell("scored", f"{counts['query_scores']:,} query scores, {counts['dataset_scores']:,} dataset scores")
                with clock.step("publish"):
                    night.commit(_record(config, plan, opened, [judgments, results], counts, clock.seconds))
                tell("wrote", f"{output} ({plan.evaluation_id})")
    return Outcome(
        plan.evaluation_id,
        config.convention.label,
        config.convention.formula,
        opened.name,
        _sorted_rows(rows),
        counts,
        [],
        output,
        clock.with_total(),
    )


def check(config: EvaluationConfig, tell: Tell) -> dict[str, int]:
    """Hold both tables to the input contract of the configured convention, and count what is in them.

    Raises
    ------
    InputError
        A breach of the contract, or a document that stands twice anywhere in a table, unless an option merges them.
    """
    with open_engine(config.engine, config.remote) as opened:
        tell("engine", opened.name)
        gains.unjudged_gain(config.convention)
        judgments, results = _sources(opened, config)
        typed = _typed(judgments, results, config)
        with _blaming([judgments, results]):
            judged = _check_judgments(judgments, config)
            returned = _check_results(results, typed[0], config)
            merged = config.convention.judgment_duplicates, config.convention.duplicates
            for table, name, policy in zip(typed, ("judgments", "results"), merged, strict=True):
                twice = checking.duplicates(table, name) if policy == "error" else None
                if twice:
                    raise InputError(twice)
    counts = _counts(judged, returned, 0)
    return {name: count for name, count in counts.items() if not name.endswith("_scores")}


def explain(config: EvaluationConfig) -> str:
    """How the evaluation would be computed: what is cut where and why, in words, and the engine's plan. No action."""
    with open_engine(config.engine, config.remote) as opened:
        typed = _typed(*_sources(opened, config), config)
        plan = Evaluation(config.convention, config.cutoffs, config.date, evaluation.new_id(), config.dataset)
        runs = evaluation.count_unjudged_queries(*typed)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            evaluation.query_scores(*typed, runs, plan).explain()
        steps = [f"{number}. {step}" for number, step in enumerate(evaluation.steps(plan), start=1)]
        return "\n".join([opened.name, *steps, "", printed.getvalue().strip()])


def _sources(opened: Engine, config: EvaluationConfig) -> tuple[Source, Source]:
    judgments = reading.read_judgments(opened, config.judgments, [config.dated(p) for p in config.judgments.path])
    return judgments, reading.read_results(opened, config.results, [config.dated(p) for p in config.results.path])


def _typed(judgments: Source, results: Source, config: EvaluationConfig) -> tuple[DataFrame, DataFrame]:
    """Both tables in their schemas, which asks no row of them; refused if columns are missing or mistyped."""
    typed_judgments = schemas.conform(judgments.table, JUDGMENTS, f"judgments ({judgments.place})")
    typed_results = schemas.conform(results.table, RESULTS, f"results ({results.place})")
    evaluation.check_columns(typed_judgments.columns, typed_results.columns, config.convention, results.place)
    if "dataset" in typed_judgments.columns and "dataset" in config.model_fields_set:
        raise ConfigurationError(
            f"dataset: {config.dataset!r} is given, and the tables name their datasets; leave it out, "
            "or map the column away"
        )
    return typed_judgments, typed_results


def _check_judgments(source: Source, config: EvaluationConfig) -> JudgmentCounts:
    convention = config.convention
    types = dict(source.table.dtypes)
    relevance = F.coalesce(schemas.as_type(F.col("relevance"), DoubleType(), types["relevance"]), F.lit(0.0))
    reason = checking.judgment_reason(
        types,
        gains.gain(relevance, convention),
        refuse_negative=convention.negative == "error",
        use_negative=convention.negative == "keep",
    )
    counts = checking.count_judgments(source.table, reason)
    checking.refuse_breaches("judgments", counts.breaches, counts.rows, source.place)
    return counts


def _check_results(source: Source, judgments: DataFrame, config: EvaluationConfig) -> ResultCounts:
    convention = config.convention
    reason = checking.result_reason(dict(source.table.dtypes), convention.needs_score, convention.needs_rank)
    judged_queries = judgments.select(*schemas.query_key(judgments.columns)).distinct()
    counts = checking.count_results(source.table, reason, judged_queries)
    checking.refuse_breaches("results", counts.breaches, counts.rows, source.place)
    checking.refuse_strangers(counts, source.place)
    return counts


def _runs_table(opened: Engine, returned: ResultCounts, named: bool) -> DataFrame:
    """What `evaluation.count_unjudged_queries` gives, of what the check has counted already."""
    text, count = StringType(), LongType()
    fields = [StructField("run", text), StructField("unjudged_queries", count)]
    rows: list[tuple[Any, ...]] = [(run.run, run.unjudged_queries) for run in returned.runs]
    if named:
        fields = [StructField("dataset", text), *fields]
        rows = [(run.dataset, *row) for run, row in zip(returned.runs, rows, strict=True)]
    return opened.session.createDataFrame(rows, StructType(fields))


def _counts(judged: JudgmentCounts, returned: ResultCounts, cutoffs: int) -> dict[str, int]:
    """What was read and what must come out: every run of a dataset with every query that was judged in it."""
    pairs = sum(judged.queries.get(run.dataset, 0) for run in returned.runs)
    datasets = {run.dataset for run in returned.runs}
    return {
        "judgments": judged.rows,
        "judged_queries": sum(judged.queries.values()),
        "results": returned.rows,
        "runs": len(returned.runs),
        "unjudged_queries": sum(run.unjudged_queries for run in returned.runs),
        "missing_queries": pairs - sum(run.judged_queries for run in returned.runs),
        "datasets_without_results": len(set(judged.queries) - datasets),
        "query_scores": pairs * cutoffs,
        "dataset_scores": len(returned.runs) * cutoffs,
    }


@contextlib.contextmanager
def _abandoning(night: Night) -> Iterator[None]:
    """Leave nothing staged when an evaluation fails."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            night.abandon()
        raise


@contextlib.contextmanager
def _blaming(sources: list[Source]) -> Iterator[None]:
    """An engine's failure becomes an InputError if a file is damaged, which it may not say, else an EngineError."""
    try:
        yield
    except engine.failures() as error:
        for source in sources:
            damage = files.damaged(source.files, source.format) if source.seen else None
            if damage:
                raise InputError(f"{source.name}: {damage}; write it again") from error
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        if type(error).__name__ == "PythonException":
            raise ConventionError(f"convention: a python: function failed, {lines[-1]}; correct it") from error
        raise EngineError(f"engine: {type(error).__name__}, {lines[0]}; its log may say more") from error


@contextlib.contextmanager
def _explaining(typed: tuple[DataFrame, DataFrame], runs: DataFrame, plan: Evaluation) -> Iterator[None]:
    """A plan's own refusal becomes an InputError that counts what the plan could only give one example of."""
    try:
        yield
    except engine.failures() as error:
        if REFUSED not in str(error):
            raise
        reason = str(error).split(REFUSED, 1)[1].splitlines()[0]
        for table, where in zip(typed, ("judgments", "results"), strict=True):
            twice = checking.duplicates(table, where)
            if twice and "twice" in reason:
                raise InputError(twice) from error
        lenient = plan.convention.replace(no_relevant="skip", missing_query="skip")
        relaxed = dataclasses.replace(plan, convention=lenient, cutoffs=plan.cutoffs[-1:])
        status = "missing" if "without results" in reason else "no_relevant"
        rows = evaluation.query_scores(*typed, runs, relaxed).where(F.col("status") == status).count()
        raise InputError(reason.replace(", e.g.", f", {rows} of them, e.g.", 1)) from error


def _record(
    config: EvaluationConfig,
    plan: Evaluation,
    opened: Engine,
    sources: list[Source],
    counts: dict[str, int],
    seconds: dict[str, float],
) -> dict[str, Any]:
    """The commit record: what was evaluated, how, from what and by which versions."""
    configuration = config.model_dump(mode="json", exclude={"convention"})
    return {
        "evaluation_id": plan.evaluation_id,
        "evaluated_on": config.date.isoformat(),
        "committed_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "configuration": configuration,
        "convention": config.convention.label,
        "options": config.convention.options(),
        "formula": config.convention.formula,
        "engine": opened.name,
        "versions": {
            "ndcg_spark": ndcg_spark.__version__,
            "pyspark": pyspark.__version__,
            "python": platform.python_version(),
        },
        "inputs": {
            source.name: [{"path": file.path, "size": file.size} for file in source.files] or source.format
            for source in sources
        },
        "counts": counts,
        "seconds": dict(seconds),
    }


def _sorted_rows(rows: list[Row]) -> list[dict[str, Any]]:
    ordered = sorted(rows, key=lambda row: (row["dataset"], row["run"], row["cutoff"] is None, row["cutoff"] or 0))
    return [{name: row[name] for name in DATASET_SCORES.names} for row in ordered]

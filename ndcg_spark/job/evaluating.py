"""One evaluation from its configuration to printed or published scores: read, check, evaluate, publish."""

import contextlib
import dataclasses
import functools
import io
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import thresholds, validation
from ndcg_spark.contract.validation import Checked
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.errors import DuplicatesError
from ndcg_spark.inputs import reading
from ndcg_spark.inputs.reading import Source
from ndcg_spark.job.failures import blaming, explaining
from ndcg_spark.job.record import commit_record
from ndcg_spark.nights import recovery
from ndcg_spark.nights.publication import Publication
from ndcg_spark.schemas import DATASET_SCORES, QUERY_SCORES
from ndcg_spark.scoring import evaluation, gains
from ndcg_spark.scoring.evaluation import Evaluation

#: The judgments and the results.
Sources = tuple[Source, Source]
_RATE = ("dataset", "run", "cutoff", "judged_rate")

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
    #: The rows that were set aside, by table and reason, with an example each.
    rejected: list[dict[str, Any]]
    output: str | None
    #: Seconds of each step.
    seconds: dict[str, float]


class Clock:
    """Seconds of each step, of all its times, and of all steps."""

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
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)

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
        sources = _sources(opened, config)
    with clock.step("check"), blaming(sources):
        checked = validation.check(*sources, config)
    _tell_what_was_read(sources, checked, tell)
    evaluate = functools.partial(_evaluated, opened, config, sources, tell=tell, clock=clock)
    try:
        return evaluate(checked)
    except DuplicatesError:
        if config.max_rejected_fraction == 0:
            raise
    with clock.step("check again"), blaming(sources):
        checked = validation.without_duplicates(checked, *sources, config)
    _tell_what_was_rejected(sources, checked, tell)
    return evaluate(checked)


def check(config: EvaluationConfig, tell: Tell) -> dict[str, Any]:
    """Hold both tables to the input contract of the configured convention: `counts`, `rejected` and `judged_rate`.

    Raises
    ------
    InputError
        A breach of the contract beyond the budget, or a limit that is passed. Documents that stand twice anywhere in a
        table are breaches here, unless an option merges them.
    """
    with open_engine(config.engine, config.remote) as opened:
        tell("engine", opened.name)
        gains.unjudged_gain(config.convention)
        sources = _sources(opened, config)
        with blaming(sources):
            checked = validation.check(*sources, config)
            twice = validation.find_duplicates(checked, config)
            if twice and config.max_rejected_fraction == 0:
                raise DuplicatesError(twice)
            if twice:
                checked = validation.without_duplicates(checked, *sources, config)
        _tell_what_was_read(sources, checked, tell)
        plan = dataclasses.replace(_plan(opened, config), cutoffs=config.cutoffs[-1:])
        runs = _runs_table(opened, checked)
        with blaming(sources), explaining(checked, runs, plan, config):
            per_query = evaluation.query_scores(checked.judgments, checked.listed, runs, plan)
            rates = evaluation.dataset_scores(per_query, runs, plan).select(*_RATE).collect()
    rows = [row.asDict() for row in sorted(rates, key=_place_of)]
    _refuse_unjudged(rows, config)
    counts = {name: count for name, count in checked.counts(0).items() if not name.endswith("_scores")}
    return {"counts": counts, "rejected": _rejected(checked), "judged_rate": rows}


def explain(config: EvaluationConfig) -> str:
    """How the evaluation would be computed: what is cut where and why, in words, and the engine's plan. No action."""
    with open_engine(config.engine, config.remote) as opened:
        tables = validation.typed(*_sources(opened, config), config)
        plan = _plan(opened, config)
        runs = evaluation.count_unjudged_queries(*tables)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            evaluation.query_scores(*tables, runs, plan).explain()
        steps = [f"{number}. {step}" for number, step in enumerate(evaluation.steps(plan), start=1)]
        return "\n".join([opened.name, *steps, "", printed.getvalue().strip()])


def _evaluated(
    opened: Engine, config: EvaluationConfig, sources: Sources, checked: Checked, tell: Tell, clock: Clock
) -> Outcome:
    """The scores of checked tables: published, if there is an output."""
    plan, counts = _plan(opened, config), checked.counts(len(config.cutoffs))
    runs = _runs_table(opened, checked)
    output = config.dated(config.output) if config.output else None
    if output is not None:
        thresholds.refuse_names([name for name in checked.datasets if name is not None] or [config.dataset])
    per_query = evaluation.query_scores(checked.judgments, checked.listed, runs, plan)
    with blaming(sources), explaining(checked, runs, plan, config):
        if output is None:
            with clock.step("evaluate"):
                rows = _sorted_rows(evaluation.dataset_scores(per_query, runs, plan).collect())
            _refuse_unjudged(rows, config)
        else:
            for sentence in recovery.recover(output):
                tell("recover", sentence)
            night = Publication(output, plan.evaluation_id)
            with _abandoning(night):
                with clock.step("evaluate"):
                    night.stage("query_scores", per_query)
                    night.verify("query_scores", counts["query_scores"])
                with clock.step("aggregate"):
                    staged = night.read("query_scores", opened.session, QUERY_SCORES)
                    night.stage("dataset_scores", evaluation.dataset_scores(staged, runs, plan))
                    night.verify("dataset_scores", counts["dataset_scores"])
                    rows = _sorted_rows(night.read("dataset_scores", opened.session, DATASET_SCORES).collect())
                _refuse_unjudged(rows, config)
                if checked.rejected:
                    with clock.step("reject"):
                        night.stage("rejected_rows", evaluation.rejected_rows(checked.rejected, checked.datasets, plan))
                        night.verify("rejected_rows", sum(breach.rows for breach in checked.breaches))
                tell("scored", f"{counts['query_scores']:,} query scores, {counts['dataset_scores']:,} dataset scores")
                with clock.step("publish"):
                    night.commit(commit_record(config, plan, opened, sources, checked, clock.seconds))
                tell("wrote", f"{output} ({plan.evaluation_id})")
    return Outcome(
        plan.evaluation_id,
        config.convention.label,
        config.convention.formula,
        opened.name,
        rows,
        counts,
        _rejected(checked),
        output,
        clock.with_total(),
    )


def _sources(opened: Engine, config: EvaluationConfig) -> Sources:
    judgments = reading.read_judgments(opened, config.judgments, [config.dated(p) for p in config.judgments.path])
    return judgments, reading.read_results(opened, config.results, [config.dated(p) for p in config.results.path])


def _plan(opened: Engine, config: EvaluationConfig) -> Evaluation:
    return Evaluation(
        config.convention,
        config.cutoffs,
        config.date,
        evaluation.new_id(),
        config.dataset,
        one_by_one=opened.kind == "embedded",
    )


def _tell_what_was_read(sources: Sources, checked: Checked, tell: Tell) -> None:
    judgments, results = sources
    judged, returned = checked.judged, checked.returned
    tell("read", f"{judged.rows:,} judgments of {sum(judged.queries.values()):,} queries from {judgments.place}")
    tell("read", f"{returned.rows:,} results of {len(returned.runs):,} runs from {results.place}")
    _tell_what_was_rejected(sources, checked, tell)


def _tell_what_was_rejected(sources: Sources, checked: Checked, tell: Tell) -> None:
    for source, counts in zip(sources, checked.both, strict=True):
        if counts.breaches:
            rows = sum(breach.rows for breach in counts.breaches)
            tell("rejected", f"{rows:,} rows of {source.name}: {thresholds.in_words(counts.breaches)}")


def _rejected(checked: Checked) -> list[dict[str, Any]]:
    return [dataclasses.asdict(breach) for breach in checked.breaches]


def _refuse_unjudged(rows: list[dict[str, Any]], config: EvaluationConfig) -> None:
    """Hold the judged_rate of every run to its limit, at the deepest cutoff."""
    deepest = config.cutoffs[-1]
    several = len({row["dataset"] for row in rows}) > 1
    rates = {
        (f"{row['run']} dataset={row['dataset']}" if several else row["run"]): row["judged_rate"]
        for row in rows
        if row["cutoff"] == deepest
    }
    thresholds.refuse_unjudged(rates, deepest, config.min_judged_rate)


def _runs_table(opened: Engine, checked: Checked) -> DataFrame:
    """What `evaluation.count_unjudged_queries` gives, of what the check has counted already."""
    runs = checked.returned.runs
    columns = {
        "run": pa.array([run.run for run in runs], pa.string()),
        "unjudged_queries": pa.array([run.unjudged_queries for run in runs], pa.int64()),
    }
    if "dataset" in checked.judgments.columns:
        columns = {"dataset": pa.array([run.dataset for run in runs], pa.string()), **columns}
    # Of Arrow, not of rows: for rows classic Spark starts Python workers, whenever the plan is run.
    return opened.session.createDataFrame(pa.table(columns))


@contextlib.contextmanager
def _abandoning(night: Publication) -> Iterator[None]:
    """Leave nothing staged when an evaluation fails."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            night.abandon()
        raise


def _place_of(row: Row) -> tuple[Any, ...]:
    return row["dataset"], row["run"], row["cutoff"] is None, row["cutoff"] or 0


def _sorted_rows(rows: list[Row]) -> list[dict[str, Any]]:
    return [{name: row[name] for name in DATASET_SCORES.names} for row in sorted(rows, key=_place_of)]

"""What every command needs: an engine, the inputs, the evaluation, and the engine's failures as errors of its own."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence

from pyspark.sql import DataFrame

from ndcg_spark import rules, slices
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine import Engine, failures, lost, open_engine, reason_of
from ndcg_spark.errors import ConventionError, EngineError, InputError, StorageError
from ndcg_spark.inputs.read import (
    Source,
    read_attributes,
    read_excluded,
    read_judgments,
    read_results,
    read_weights,
)
from ndcg_spark.job.consumers import Consumer
from ndcg_spark.reference import unjudged_gain
from ndcg_spark.scoring.evaluation import Evaluation, new_id
from ndcg_spark.scoring.ranking import by_window, list_by_list
from ndcg_spark.scoring.refusals import refused
from ndcg_spark.slices import Slices
from ndcg_spark.steps import Clock, report_step

#: The judgments and the results.
Sources = tuple[Source, Source]
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


@dataclasses.dataclass(frozen=True)
class SliceTables:
    """The tables that define the slices and the weights of queries, if there are any."""

    attributes: DataFrame | None = None
    weights: DataFrame | None = None
    #: The slices of the attributes.
    of_queries: Slices = dataclasses.field(default_factory=Slices)


@dataclasses.dataclass(frozen=True)
class Context:
    """What a command works with: an open engine, the inputs, and the evaluation that the configuration describes."""

    engine: Engine
    config: EvaluationConfig
    sources: Sources
    evaluation: Evaluation
    clock: Clock
    #: Called when the engine is no longer needed.
    release: Callable[[], object] = lambda: None
    consumer: Consumer | None = None
    #: Why the nights are accepted as baselines of later ones, if they are.
    accepted: str | None = None
    slices: SliceTables = dataclasses.field(default_factory=SliceTables)


@contextlib.contextmanager
def engine_for(config: EvaluationConfig) -> Iterator[Engine]:
    """The engine that the configuration names, which is reported. Raises EngineError."""
    with open_engine(config.engine, config.remote) as engine:
        report_step("engine", engine.name)
        yield engine


def context_of(
    engine: Engine, config: EvaluationConfig, clock: Clock | None = None, sources: Sources | None = None
) -> Context:
    """The context of a command: its inputs are found and opened but not read, unless they are passed in.

    Raises InputError, ConventionError.
    """
    sources = sources or sources_of(engine, config)
    config = effective_config(config, sources)
    return Context(engine, config, sources, evaluation_of(engine, config), clock or Clock())


def sources_of(engine: Engine, config: EvaluationConfig) -> Sources:
    """Both tables, found and opened but not read. Raises InputError, ConventionError."""
    # Computed first, so that a Python gain that cannot be imported is reported before any table is read.
    unjudged_gain(config.convention)
    graded = config.convention.gain != "judged"
    judgments = config.judgments.on(config.date)
    return read_judgments(engine, judgments, judgments.path, graded), results_of(engine, config)


def results_of(engine: Engine, config: EvaluationConfig) -> Source:
    """The results and the documents to remove from their lists, found and opened but not read. Raises InputError."""
    results = config.results.on(config.date)
    source = read_results(engine, results, results.path)
    if not config.exclude:
        return source
    exclude = config.exclude.on(config.date)
    return dataclasses.replace(source, without=read_excluded(engine, exclude, exclude.path))


def slice_tables(engine: Engine, config: EvaluationConfig) -> SliceTables:
    """The attributes and the weights of queries that the configuration names, and the slices. Runs a job."""
    attributes, weights = (table and table.on(config.date) for table in (config.query_attributes, config.query_weights))
    table = read_attributes(engine, attributes.path, attributes) if attributes else None
    with translated_failures(()):
        of_queries = Slices() if table is None else slices.read(table)
    return SliceTables(table, read_weights(engine, weights.path, weights) if weights else None, of_queries)


def effective_config(config: EvaluationConfig, sources: Sources) -> EvaluationConfig:
    """The configuration for these tables: results without scores are ranked by their ranks.

    Reports that, and what was recognised in the tables. The convention of what is returned has the options that are
    used, so its label and its description include them too.
    """
    for source in (source for each in sources for source in each.sources):
        for note in source.notes:
            report_step("read", f"{source.name}: {note}")
    convention, options = config.convention, rules.options_without_scores(config.convention, sources[1].table.columns)
    if not options:
        return config
    changed = [f"{option}={value}" for option, value in options.items() if getattr(convention, option) != value]
    report_step("adapted", f"results without scores are ranked by their ranks: {', '.join(changed)}")
    return config.model_copy(update={"convention": convention.replace(**options)})


def evaluation_of(engine: Engine, config: EvaluationConfig) -> Evaluation:
    """The evaluation that the configuration describes, under a new id, ranked in the way that is fastest here."""
    rank = list_by_list if engine.kind == "embedded" else by_window
    return Evaluation(
        config.convention, config.cutoffs, config.date, new_id(), config.dataset, rank, config.measure_set
    )


class PlanRefusedError(InputError):
    """The engine met a refused row while computing the scores. The message has one example."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@contextlib.contextmanager
def translated_failures(sources: Sequence[Source]) -> Iterator[None]:
    """Run the block; an exception of the engine in it blames a row, the convention, the storage or the engine."""
    try:
        yield
    except failures() as error:
        refusal = refused(error)
        if refusal:
            raise PlanRefusedError(refusal.code, refusal.sentence) from error
        if lost(error):
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        if type(error).__name__ == "PythonException":
            raise ConventionError(f"convention: a python: function failed, {lines[-1]}; correct it") from error
        if any(words in str(error) for words in _REFUSALS):
            raise StorageError(
                f"output: the engine cannot write, {reason_of(error)}; nothing was published, check space "
                "and rights where the output is and where the engine spills"
            ) from error
        typed = [source for each in sources for source in each.sources if not source.is_text]
        damage = f", or a file is damaged, {' or '.join(source.place for source in typed)}" if typed else ""
        reason = f"{type(error).__name__}, {reason_of(error)}"
        raise EngineError(f"engine: {reason}; its log may say more{damage}") from error

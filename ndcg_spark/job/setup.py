"""What every command sets up before it checks, scores or explains: the engine, the inputs and the evaluation."""

import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from pyspark.sql import DataFrame

from ndcg_spark import rules
from ndcg_spark.config import EvaluationConfig, TableConfig
from ndcg_spark.engine import Engine, open_engine
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
from ndcg_spark.slices import Slices
from ndcg_spark.steps import Clock, report_step

#: The judgments and the results.
Sources = tuple[Source, Source]
_Table = TypeVar("_Table", bound=TableConfig)


@dataclasses.dataclass(frozen=True)
class SliceTables:
    """The tables that define the slices and the weights of queries, if there are any."""

    attributes: DataFrame | None = None
    weights: DataFrame | None = None
    #: The slices of the attributes, once these are read.
    of_queries: Slices = dataclasses.field(default_factory=Slices)


@dataclasses.dataclass(frozen=True)
class Context:
    """What a command works with: an open engine, the inputs, and the evaluation that the configuration describes."""

    engine: Engine
    config: EvaluationConfig
    sources: Sources
    evaluation: Evaluation
    #: Size and time of every file before the tables were checked.
    clock: Clock
    #: Called when the engine is no longer needed.
    release: Callable[[], object] = lambda: None
    consumer: Consumer | None = None
    #: Why the nights are accepted as baselines of later ones, if they are.
    accepted: str | None = None
    slices: SliceTables = dataclasses.field(default_factory=SliceTables)


def engine_for(config: EvaluationConfig) -> AbstractContextManager[Engine]:
    """The engine that the configuration names, not yet open. Raises EngineError."""
    return open_engine(config.engine, config.remote)


def context_of(
    engine: Engine,
    config: EvaluationConfig,
    clock: Clock | None = None,
    sources: Sources | None = None,
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
    judgments = _dated(config, config.judgments)
    return read_judgments(engine, judgments, judgments.path, graded), results_of(engine, config)


def results_of(engine: Engine, config: EvaluationConfig) -> Source:
    """The results and the documents to remove from their lists, found and opened but not read. Raises InputError."""
    results = _dated(config, config.results)
    source = read_results(engine, results, results.path)
    if not config.exclude:
        return source
    exclude = _dated(config, config.exclude)
    return dataclasses.replace(source, without=read_excluded(engine, exclude, exclude.path))


def slice_tables(engine: Engine, config: EvaluationConfig) -> SliceTables:
    """The attributes and the weights of queries that the configuration names. Raises InputError."""
    attributes = _dated(config, config.query_attributes) if config.query_attributes else None
    weights = _dated(config, config.query_weights) if config.query_weights else None
    return SliceTables(
        read_attributes(engine, attributes.path, attributes) if attributes else None,
        read_weights(engine, weights.path, weights) if weights else None,
    )


def _dated(config: EvaluationConfig, table: _Table) -> _Table:
    """A table with the evaluation's date in place of {date} in its paths and its version."""
    as_of = config.dated(table.as_of) if isinstance(table.as_of, str) else table.as_of
    return table.model_copy(update={"path": [config.dated(path) for path in table.path], "as_of": as_of})


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

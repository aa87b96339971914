"""Published nights compared with one of their runs, another date or a good night, in slices and with weights."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ndcg_spark.comparison.comparable import doubts
from ndcg_spark.comparison.compare import Comparison, compare_sources, kept_attributes, of_nights
from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.comparison.slices import Attributes, Weights
from ndcg_spark.config import AttributesConfig, EvaluationConfig, TableConfig, WeightsConfig
from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.convention.measures import MEASURES
from ndcg_spark.convention.parsing import measure_set_in
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Night, committed, read_again_if_replaced
from ndcg_spark.nights.read import read_dataset_scores
from ndcg_spark.nights.select import baseline_night, missing_datasets, select_nights
from ndcg_spark.steps import report_step
from ndcg_spark.text import GOOD

if TYPE_CHECKING:
    import pyarrow as pa

    from ndcg_spark.job.setup import SliceTables

Tables = tuple[Attributes | None, Weights | None]


@dataclasses.dataclass(frozen=True)
class ComparisonRequest:
    """A request for a comparison, with the options of the command line."""

    output: str
    #: The date of the night; None for the newest.
    date: str | None = None
    dataset: str | None = None
    #: The runs that the others are compared with, each in turn.
    baselines: Sequence[str] = ()
    #: A date, or GOOD.
    baseline_date: str | None = None
    runs: Sequence[str] | None = None
    options: ComparisonOptions = dataclasses.field(default_factory=ComparisonOptions)
    slices: str | None = None
    weights: str | None = None
    queries: int = 0
    engine: str = "auto"
    remote: str | None = None

    def __post_init__(self) -> None:
        if not self.baselines and self.baseline_date is None:
            raise ConfigurationError(
                f"arguments: there is no baseline; give --baseline RUN, or --baseline-date YYYY-MM-DD or {GOOD}"
            )
        both = set(self.runs or ()).intersection(self.baselines)
        if self.baseline_date is None and both:
            raise ConfigurationError(f"run: {min(both)!r} is the baseline itself; name another --run or --baseline")


def compare_nights(request: ComparisonRequest) -> Comparison:
    """Compare as requested."""
    return read_again_if_replaced(lambda: _compare_nights(request))


def _compare_nights(request: ComparisonRequest) -> Comparison:
    nights = committed(request.output)
    tonight = select_nights(nights, request.output, request.date, request.dataset)
    date = request.baseline_date
    baselines = {night.dataset: baseline_night(nights, night, date) for night in tonight} if date else {}
    if not request.options.measures:
        request = dataclasses.replace(
            request, options=dataclasses.replace(request.options, measures=_headline(tonight[0]))
        )
    attributes, weights = read_files_of_queries(request.slices, request.weights, request.engine, request.remote)
    others = {source.dataset: source for source in of_nights([*baselines.values()], "baseline")}
    comparison = compare_sources(
        of_nights(tonight),
        others or None,
        request.options,
        baselines=request.baselines,
        runs=request.runs,
        attributes=attributes or kept_attributes(tonight),
        weights=weights,
        queries=request.queries,
    )
    absent = missing_datasets(nights, tonight[0].evaluated_on, request.dataset)
    pairs = [(night, baselines[night.dataset]) for night in tonight if baselines]
    doubted = [sentence for pair in pairs for sentence in doubts(*pair)]
    warnings = [*([absent] if absent else []), *doubted, *comparison.warnings]
    comparison = dataclasses.replace(comparison, warnings=warnings)
    for night in tonight:
        run = f"run {' and run '.join(request.baselines)}" if request.baselines else "the runs of the same names"
        of_date = f" of {baselines[night.dataset].evaluated_on}" if night.dataset in baselines else ""
        report_step("compared", f"{night.dataset} of {night.evaluated_on} with {run}{of_date}")
    for sentence in comparison.warnings:
        report_step("note", sentence)
    return comparison


def _headline(night: Night) -> dict[str, Sequence[Cutoff]]:
    """The measure and the cutoff that people look at first."""
    cutoffs = [row["cutoff"] for rows in read_dataset_scores([night]) for row in rows]
    measure, cutoff = measure_set_in(night.record.get("configuration") or {}).headline(cutoffs)
    return {MEASURES[measure].column if measure in MEASURES else measure: [cutoff]}


def tables_of_queries(tables: "SliceTables") -> Tables:
    """The tables, fetched into this process. Runs jobs; InputError where one breaks its contract."""
    return _checked(*(table and table.toArrow() for table in (tables.attributes, tables.weights)))


def read_tables_of_queries(config: EvaluationConfig, nights: Sequence[Night]) -> Tables:
    """The tables that a configuration names and that not all of these nights keep."""
    is_kept = all(night.kept_rows("query_attributes") for night in nights)
    attributes, weights = (
        table and table.on(config.date)
        for table in (None if is_kept else config.query_attributes, config.query_weights)
    )
    return _read(attributes, weights, config.engine, config.remote)


def read_files_of_queries(
    slices: str | None, weights: str | None = None, engine: str = "auto", remote: str | None = None
) -> Tables:
    """The tables in these files."""
    attributes = AttributesConfig.model_validate({"path": slices}) if slices else None
    of_queries = WeightsConfig.model_validate({"path": weights}) if weights else None
    return _read(attributes, of_queries, engine, remote)


def _read(attributes: TableConfig | None, weights: TableConfig | None, engine: str, remote: str | None) -> Tables:
    """The tables; an engine starts only for those that this process cannot read."""
    # Here, because commands without such tables need no reader.
    from ndcg_spark.inputs.query_tables import read_query_table

    configs = {"query_attributes": attributes, "query_weights": weights}
    tables = {name: config and read_query_table(config, name) for name, config in configs.items()}
    others = {name: config for name, config in configs.items() if config and tables[name] is None}
    if others:
        from ndcg_spark.engine import open_engine
        from ndcg_spark.inputs.read import read_attributes, read_weights
        from ndcg_spark.job.setup import translated_failures

        with open_engine(engine, remote) as opened, translated_failures(()):
            report_step("engine", opened.name)
            for name, config in others.items():
                read = read_attributes if name == "query_attributes" else read_weights
                tables[name] = read(opened, config.path, config).toArrow()
    return _checked(tables["query_attributes"], tables["query_weights"])


def _checked(attributes: "pa.Table | None", weights: "pa.Table | None") -> Tables:
    return None if attributes is None else Attributes(attributes), None if weights is None else Weights(weights)

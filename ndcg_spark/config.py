"""A TOML file and the command line become one validated `EvaluationConfig`, or one error that lists all problems."""

import contextlib
import datetime
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SkipValidation,
    ValidationError,
    computed_field,
    model_validator,
)

from ndcg_spark import config_values, paths
from ndcg_spark.config_problems import problems_of
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import DEFAULT_CUTOFFS, Cutoff, parse_cutoffs
from ndcg_spark.convention.measures import MeasureSet, written
from ndcg_spark.convention.parsing import parse_measures
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate.config import GateConfig, contradictions
from ndcg_spark.table_config import (
    AttributesConfig,
    ExcludeConfig,
    JudgmentsConfig,
    ResultsConfig,
    Strict,
    WeightsConfig,
)

#: The names of the input tables in the configuration.
TABLES = ("judgments", "results", "exclude", "query_attributes", "query_weights")

#: The path of a table that is required by the model, but is not read.
NOT_READ = "not read"

Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class EvaluationConfig(Strict):
    """Everything that one evaluation needs: its inputs, which NDCG to compute, where scores go, and the engine."""

    judgments: JudgmentsConfig
    results: ResultsConfig
    exclude: ExcludeConfig | None = None
    query_attributes: AttributesConfig | None = None
    query_weights: WeightsConfig | None = None
    output: Annotated[str, Field(min_length=1), AfterValidator(config_values.output)] | None = None
    dataset: Annotated[str, Field(min_length=1)] = "default"
    date: Annotated[datetime.date, BeforeValidator(config_values.date)] = Field(
        default_factory=lambda: datetime.datetime.now(datetime.UTC).date()
    )
    cutoffs: Annotated[list[Cutoff], BeforeValidator(parse_cutoffs), Field(min_length=1)] = Field(
        default_factory=lambda: list(DEFAULT_CUTOFFS)
    )
    #: The measures, each with its cutoff, such as precision@5; only NDCG if empty.
    measures: Annotated[list[str], BeforeValidator(config_values.measures)] = Field(default_factory=list)
    #: The documents that are kept with a night, down to the deepest finite cutoff: `all` for all judged queries, a
    #: number for so many queries of each run, those that changed most against the gate's baseline.
    documents: Annotated[Literal["all"] | int, BeforeValidator(config_values.documents)] | None = None
    convention: Annotated[SkipValidation[Convention], BeforeValidator(config_values.convention)] = Convention()
    engine: Literal["auto", "embedded", "spark"] = "auto"
    remote: Annotated[str, AfterValidator(config_values.remote)] | None = None
    #: Fraction of a table's rows that may be rejected.
    max_rejected_fraction: Fraction = 0.0
    #: Fraction of a dataset's judged queries that a run may lack, and of a run's queries that may be unjudged.
    max_missing_fraction: Fraction = 1.0
    max_unjudged_fraction: Fraction = 1.0
    #: Fraction of the documents that a run returned down to the deepest cutoff that must be judged.
    min_judged_rate: Fraction = 0.0
    #: What other programs get after an evaluation: a file in Prometheus' format, and a command that reads on its stdin
    #: how it ended.
    metrics_file: Annotated[str, Field(min_length=1)] | None = None
    on_end: Annotated[str, AfterValidator(config_values.command)] | None = None
    #: How much a night may lose, and against which baseline; None for no comparison and no verdict.
    gate: GateConfig | None = None

    _notes: tuple[str, ...] = PrivateAttr(default=())
    _measure_set: MeasureSet = PrivateAttr(default=MeasureSet())
    _chosen_options: frozenset[str] = PrivateAttr(default=frozenset())

    @property
    def chosen_options(self) -> frozenset[str]:
        """The options of the convention that the configuration names, and `preset` if it names one."""
        return self._chosen_options

    @property
    def notes(self) -> tuple[str, ...]:
        """Decisions that were made while the configuration was loaded, in sentences for users."""
        return self._notes

    @property
    def measure_set(self) -> MeasureSet:
        """The measures, each with the cutoffs at which it is computed."""
        return self._measure_set

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def headline(self) -> str:
        """The measure that runs are ordered by, such as ndcg@10, for the record; see `MeasureSet.headline`."""
        return written(*self.measure_set.headline(self.cutoffs))

    @model_validator(mode="wrap")
    @classmethod
    def _with_measures(cls, settings: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """The configuration with the cutoffs and the options that its measures need, each measure at its cutoff."""
        if not isinstance(settings, dict):
            return handler(settings)
        completed, measure_set, convention = dict(settings), MeasureSet(), Convention()
        options: Mapping[str, Any] = {}
        # A value that cannot be parsed is left to the validation of its field.
        with contextlib.suppress(ValueError, TypeError):
            if settings.get("measures"):
                cutoffs = None if settings.get("cutoffs") is None else parse_cutoffs(settings["cutoffs"])
                parsed = parse_measures(config_values.texts(settings["measures"]), cutoffs, DEFAULT_CUTOFFS)
                convention = config_values.convention(settings.get("convention", Convention()))
                completed |= {"measures": parsed.texts, "cutoffs": parsed.cutoffs}
                measure_set, options = parsed.measure_set, parsed.options
        if options:
            completed["convention"] = convention.replace(**options)
        config = handler(completed)
        config._measure_set = measure_set
        chosen = settings.get("convention")
        config._chosen_options = frozenset(chosen if isinstance(chosen, Mapping) else ["preset"] if chosen else [])
        return config

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.remote and self.engine == "embedded":
            raise ValueError("engine is embedded and remote names a server; remove one of them")
        if self.documents and not self.output:
            raise ValueError("documents: they are kept in the output, but there is none; give --output")
        if isinstance(self.documents, int) and self.gate is None:
            raise ValueError(
                "documents: a number keeps the documents of the queries that changed most against a gate's baseline, "
                "and there is no gate; add [gate], or keep all"
            )
        return self

    def dated(self, path: str) -> str:
        """The path with ``{date}`` and ``{date:%Y%m%d}`` replaced by the evaluation's date."""
        return paths.dated(path, self.date)


def load(file: Path | None, overrides: Mapping[str, Any]) -> EvaluationConfig:
    """The configuration of a file, if there is one, overridden by the command line.

    `overrides` is nested like the file; None is an argument that is not set. A preset in it replaces the convention of
    the file with all its options; options without a preset change single options of the file.

    Raises
    ------
    ConfigurationError
        The file cannot be read or is not TOML, or keys or values are wrong; the message lists all problems.
    """
    return _loaded(_read(file) if file else {}, file, overrides)


def load_gate(file: Path | Mapping[str, Any], overrides: Mapping[str, Any]) -> EvaluationConfig:
    """As `load`, for the gate of a published night: the file or mapping need not name judgments and results.

    Without cutoffs, those of the checks are used; the gate itself checks whether the night has them.
    """
    settings = dict(file) if isinstance(file, Mapping) else _read(file)
    gate = settings.get("gate")
    checks = gate.get("check") if isinstance(gate, dict) else None
    listed = checks if isinstance(checks, list) else []
    cutoffs = [check["cutoff"] for check in listed if isinstance(check, dict) and "cutoff" in check]
    absent: dict[str, Any] = {"judgments": NOT_READ, "results": NOT_READ, **({"cutoffs": cutoffs} if cutoffs else {})}
    return _loaded({**absent, **settings}, None if isinstance(file, Mapping) else file, overrides)


def _loaded(settings: dict[str, Any], file: Path | None, overrides: Mapping[str, Any]) -> EvaluationConfig:
    for table, key in (("convention", "preset"), *((name, "path") for name in TABLES)):
        if isinstance(settings.get(table), str):
            settings[table] = {key: settings[table]}
    if "preset" in (overrides.get("convention") or {}):
        settings.pop("convention", None)
    config = validate(_merge(settings, overrides), str(file) if file else "arguments")
    return _beside(config, file.expanduser().parent, overrides) if file else config


def _beside(config: EvaluationConfig, folder: Path, overrides: Mapping[str, Any]) -> EvaluationConfig:
    """The configuration with relative paths resolved beside its file if they do not exist in the working directory."""
    tables, notes = {}, []
    for name in TABLES:
        table = getattr(config, name)
        if table is None or (overrides.get(name) or {}).get("path"):
            continue
        resolved = [paths.beside(path, folder, config.date) for path in table.path]
        tables[name] = table.model_copy(update={"path": [path for path, _ in resolved]})
        notes += [f"{name}: {note}" for _, note in resolved if note]
    moved = config.model_copy(update=tables)
    moved._notes = tuple(notes)
    return moved


def validate(settings: Mapping[str, Any], where: str) -> EvaluationConfig:
    """The settings as an EvaluationConfig, or one ConfigurationError that names every problem in them."""
    cause: ValidationError | None = None
    try:
        config = EvaluationConfig.model_validate(settings)
        problems = _contradictions(config)
    except ValidationError as error:
        problems, cause = problems_of(error, EvaluationConfig), error
    if problems:
        raise ConfigurationError(f"{where}: {len(problems)} problem(s): {'; '.join(problems)}") from cause
    return config


def _contradictions(config: EvaluationConfig) -> list[str]:
    """Conflicts between the gate and the rest of the configuration, or with a table that only a gate uses."""
    has_weights = config.query_weights is not None
    if config.gate:
        return [*contradictions(config.gate, config.cutoffs, config.query_attributes is not None, has_weights)]
    return ["query_weights: only a gate uses it; add [gate], or remove it"] if has_weights else []


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read, {error.strerror}; check --config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file}: not valid TOML, {error}; correct the file") from error


def _merge(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `overrides`, also within tables; None changes nothing."""
    merged = dict(base)
    for key, value in overrides.items():
        below = merged.get(key, {})
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            entries = {name: entry for name, entry in value.items() if entry is not None}
            columns = below.get("columns", {})
            # What is not a table is left to the validation.
            columns = {**columns, **entries.get("columns", {})} if isinstance(columns, Mapping) else columns
            if entries:
                merged[key] = {**below, **entries, **({} if columns == {} else {"columns": columns})}
        elif value is not None and not isinstance(value, Mapping):
            merged[key] = value
    return merged

"""A TOML file and the command line become one validated `EvaluationConfig`, or one error that lists all problems."""

import dataclasses
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
    TableConfig,
    WeightsConfig,
)

__all__ = [
    "AttributesConfig",
    "EvaluationConfig",
    "ExcludeConfig",
    "JudgmentsConfig",
    "ResultsConfig",
    "TableConfig",
    "WeightsConfig",
    "load",
    "validate",
]

#: The tables that are read, as the configuration calls them.
TABLES = ("judgments", "results", "exclude", "query_attributes", "query_weights")

#: Stands for the path of a table that nobody reads.
_NOT_READ = "not read"

Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class EvaluationConfig(Strict):
    """Everything that one evaluation needs: what is read, which NDCG, where scores go, which engine computes them."""

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
    #: Each with its cutoff, such as precision@5; NDCG alone if there is none.
    measures: Annotated[list[str], BeforeValidator(config_values.measures)] = Field(default_factory=list)
    #: Whether the lowest and the highest NDCG are computed that unjudged documents allow.
    bounds: bool = False
    #: The documents that are kept with a night: `top`, those down to the deepest finite cutoff; `worst`, of these those
    #: of the queries that lost most against the gate's baseline.
    documents: Literal["top", "worst"] | None = None
    convention: Annotated[SkipValidation[Convention], BeforeValidator(config_values.convention)] = Convention()
    engine: Literal["auto", "embedded", "spark"] = "auto"
    remote: Annotated[str, AfterValidator(config_values.remote)] | None = None
    #: A folder that this process and the engine see, for what this process reads in place of the engine; by default in
    #: the output.
    staging: Annotated[str, Field(min_length=1)] | None = None
    #: Of each table's rows, how many may be set aside before the input is refused.
    max_rejected_fraction: Fraction = 0.0
    #: Of a dataset's judged queries, how many a run may lack; of a run's queries, how many may be unjudged.
    max_missing_fraction: Fraction = 1.0
    max_unjudged_fraction: Fraction = 1.0
    #: Of the documents that a run returned down to the deepest cutoff, how many must be judged.
    min_judged_rate: Fraction = 0.0
    #: How long to wait for inputs that are not there yet, such as 2h; None: not at all.
    wait_for_input: Annotated[str, AfterValidator(config_values.duration)] | None = None
    #: What a night may lose against which baseline; None: nothing is compared, and there is no verdict.
    gate: GateConfig | None = None

    _notes: tuple[str, ...] = PrivateAttr(default=())
    _chooses_convention: bool = PrivateAttr(default=False)
    _measure_set: MeasureSet = PrivateAttr(default=MeasureSet())
    _chosen_options: frozenset[str] = PrivateAttr(default=frozenset())

    @property
    def chosen_options(self) -> frozenset[str]:
        """The options of the convention that were set by name, whatever the preset says."""
        return self._chosen_options

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided while the configuration was read, in sentences for people."""
        return self._notes

    @property
    def chooses_convention(self) -> bool:
        """Whether a preset or options were given; measures and results may change options besides."""
        return self._chooses_convention

    @property
    def measure_set(self) -> MeasureSet:
        """The measures, each with the cutoffs at which it is computed."""
        return dataclasses.replace(self._measure_set, bounds=self.bounds)

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def headline(self) -> str:
        """What runs are ordered by, such as ndcg@10, for the record of a night; see `MeasureSet.headline`."""
        return written(*self.measure_set.headline(self.cutoffs))

    @model_validator(mode="wrap")
    @classmethod
    def _with_choices(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """The configuration, and whether a convention was chosen, which its measures may set options of, too."""
        config = cls._with_measures(given, handler)
        config._chooses_convention = isinstance(given, dict) and "convention" in given
        return config

    @classmethod
    def _with_measures(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """The configuration with the cutoffs and the options that its measures ask for, each measure at its cutoff."""
        if not isinstance(given, dict) or not given.get("measures"):
            return handler(given)
        try:
            cutoffs = None if given.get("cutoffs") is None else parse_cutoffs(given["cutoffs"])
            parsed = parse_measures(config_values.texts(given["measures"]), cutoffs, DEFAULT_CUTOFFS)
            convention = config_values.convention(given.get("convention", Convention()))
        except (ValueError, TypeError):
            # The field itself is validated too, and says what is wrong with it.
            return handler(given)
        under = convention.replace(**parsed.options)
        config = handler({**given, "measures": parsed.texts, "cutoffs": parsed.cutoffs, "convention": under})
        config._measure_set = parsed.measure_set
        return config

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.remote and self.engine == "embedded":
            raise ValueError("engine is embedded and remote names a server; give one of them")
        if self.documents and not self.output:
            raise ValueError("documents: they are kept with a night, and no output is given; give --output")
        if self.documents == "worst" and self.gate is None:
            raise ValueError(
                "documents: worst keeps those of the queries that lost most against the baseline of a gate, and there "
                "is no gate; add [gate], or keep the top"
            )
        return self

    def dated(self, path: str) -> str:
        """The path with ``{date}`` and ``{date:%Y%m%d}`` replaced by the evaluation's date."""
        return paths.dated(path, self.date)


def load(file: Path | None, overrides: Mapping[str, Any]) -> EvaluationConfig:
    """The configuration of a file, if there is one, overridden by the command line.

    `overrides` is nested like the file; None stands for an argument that was not given. If it names a convention, that
    replaces the file's with all options; options without a name change the file's.

    Raises
    ------
    ConfigurationError
        The file cannot be read or is not TOML, or keys or values are wrong; the message lists all problems.
    """
    return _loaded(_read(file) if file else {}, file, overrides)


def load_gate(file: Path, overrides: Mapping[str, Any]) -> EvaluationConfig:
    """As `load`, to judge a night that is published: what is evaluated need not be in the file.

    Without cutoffs, those of the checks are taken: whether the night has them is seen when it is judged.
    """
    settings = _read(file)
    gate = settings.get("gate")
    checks = gate.get("check") if isinstance(gate, dict) else None
    listed = checks if isinstance(checks, list) else []
    cutoffs = [check["cutoff"] for check in listed if isinstance(check, dict) and "cutoff" in check]
    absent: dict[str, Any] = {"judgments": _NOT_READ, "results": _NOT_READ, **({"cutoffs": cutoffs} if cutoffs else {})}
    return _loaded({**absent, **settings}, file, overrides)


def _loaded(settings: dict[str, Any], file: Path | None, overrides: Mapping[str, Any]) -> EvaluationConfig:
    for table, key in (("convention", "preset"), *((name, "path") for name in TABLES)):
        if isinstance(settings.get(table), str):
            settings[table] = {key: settings[table]}
    if "preset" in (overrides.get("convention") or {}):
        settings.pop("convention", None)
    config = validate(_merge(settings, overrides), str(file) if file else "arguments")
    return _beside(config, file.expanduser().parent, overrides) if file else config


def _beside(config: EvaluationConfig, folder: Path, overrides: Mapping[str, Any]) -> EvaluationConfig:
    """The configuration with those relative paths of its file that lead to nothing looked for beside the file."""
    tables, notes = {}, []
    for name in TABLES:
        table = getattr(config, name)
        if table is None or (overrides.get(name) or {}).get("path"):
            continue
        found = [paths.beside(path, folder, config.date) for path in table.path]
        tables[name] = table.model_copy(update={"path": [path for path, _ in found]})
        notes += [f"{name}: {note}" for _, note in found if note]
    moved = config.model_copy(update=tables)
    moved._notes = tuple(notes)
    return moved


def validate(settings: Mapping[str, Any], where: str) -> EvaluationConfig:
    """The settings as an EvaluationConfig, or one ConfigurationError that names every problem in them."""
    try:
        config = EvaluationConfig.model_validate(settings)
    except ValidationError as error:
        problems = problems_of(error, EvaluationConfig)
        raise _refused(problems, where) from error
    options = settings.get("convention")
    config._chosen_options = frozenset(options) if isinstance(options, Mapping) else frozenset()
    given = (config.query_attributes is not None, config.query_weights is not None)
    problems = contradictions(config.gate, config.cutoffs, *given) if config.gate else _unused(config)
    if problems:
        raise _refused(problems, where)
    return config


def _unused(config: EvaluationConfig) -> list[str]:
    """The tables that only a gate uses, where there is none."""
    return [
        f"{name}: only a gate uses it; add [gate], or leave it out"
        for name in ("query_attributes", "query_weights")
        if getattr(config, name) is not None
    ]


def _refused(problems: list[str], where: str) -> ConfigurationError:
    return ConfigurationError(f"{where}: {len(problems)} problem(s): {'; '.join(problems)}")


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read, {error.strerror}; check --config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file}: not valid TOML, {error}; correct the file") from error


def _merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`under` with the values of `over` in their place, also within tables; None changes nothing."""
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key, {})
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            given = {name: entry for name, entry in value.items() if entry is not None}
            columns = {**below.get("columns", {}), **given.get("columns", {})}
            if given:
                merged[key] = {**below, **given, **({"columns": columns} if columns else {})}
        elif value is not None and not isinstance(value, Mapping):
            merged[key] = value
    return merged

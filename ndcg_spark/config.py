"""A TOML file and the command line become one validated `EvaluationConfig`, or one error that lists all problems."""

import datetime
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    SkipValidation,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo

from ndcg_spark import paths
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import DEFAULT_CUTOFFS, Cutoff, ascending
from ndcg_spark.convention.measures import Asked
from ndcg_spark.convention.requests import asked_by, request
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate_config import GateConfig, contradictions
from ndcg_spark.plain import did_you_mean
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


def _cutoffs(given: object) -> object:
    """``"1,3,10,all"`` or ``[1, 3, 10, "all"]`` as whole numbers, None for the whole ranking."""
    return ascending(_listed_cutoffs(given))


def _listed_cutoffs(given: object) -> list[Cutoff | str]:
    entries = given.split(",") if isinstance(given, str) else given if isinstance(given, list | tuple) else [given]
    return [_cutoff("all" if entry is None else str(entry).strip()) for entry in entries]


def _measures(given: object) -> object:
    """A list of measures, each of which is known; see `convention.measures.request`."""
    texts = _texts(given)
    request(texts, None, DEFAULT_CUTOFFS)
    return texts


def _texts(given: object) -> list[str]:
    return [str(each) for each in given] if isinstance(given, list | tuple) else [str(given)]


def _cutoff(text: str) -> Cutoff | str:
    if text == "all":
        return None
    return int(text) if text.isascii() and text.isdecimal() else text


def _convention(given: object) -> Convention:
    """The convention for a preset's name, or for a table of options, in which `preset` names what they start from."""
    if isinstance(given, str):
        return Convention.preset(given)
    if isinstance(given, Mapping):
        options = dict(given)
        return Convention.preset(str(options.pop("preset", "standard"))).replace(**options)
    if isinstance(given, Convention):
        return given
    raise ValueError(f"{given!r} is no convention; give a preset's name or a table of options")


def _date(given: object) -> object:
    if isinstance(given, str):
        return datetime.date.fromisoformat(given)
    if not isinstance(given, datetime.date):
        raise ValueError(f"{given!r} is no date; write YYYY-MM-DD")
    return given


def _output(given: str) -> str:
    path = paths.expanded(given)
    wild = [character for character in "*?[]{}" if character in paths.without_dates(path)]
    if wild:
        raise ValueError(f"{path} has {' '.join(wild)}, which engines take for wildcards; only {{date}} is replaced")
    return path


class EvaluationConfig(Strict):
    """Everything that one evaluation needs: what is read, which NDCG, where scores go, which engine computes them."""

    judgments: JudgmentsConfig
    results: ResultsConfig
    exclude: ExcludeConfig | None = None
    query_attributes: AttributesConfig | None = None
    query_weights: WeightsConfig | None = None
    output: Annotated[str, Field(min_length=1), AfterValidator(_output)] | None = None
    dataset: Annotated[str, Field(min_length=1)] = "default"
    date: Annotated[datetime.date, BeforeValidator(_date)] = Field(
        default_factory=lambda: datetime.datetime.now(datetime.UTC).date()
    )
    cutoffs: Annotated[list[Cutoff], BeforeValidator(_cutoffs), Field(min_length=1)] = Field(
        default_factory=lambda: list(DEFAULT_CUTOFFS)
    )
    #: Each with its cutoff, such as precision@5; NDCG alone if there is none.
    measures: Annotated[list[str], BeforeValidator(_measures)] = Field(default_factory=list)
    #: Whether the lowest and the highest NDCG are computed that unjudged documents allow.
    bounds: bool = False
    #: The documents that are kept with a night: `top`, those down to the deepest finite cutoff.
    documents: Literal["top"] | None = None
    convention: Annotated[SkipValidation[Convention], BeforeValidator(_convention)] = Convention()
    engine: Literal["auto", "embedded", "spark"] = "auto"
    remote: Annotated[str, Field(pattern=r"^(sc://|local)")] | None = None
    #: Of each table's rows, how many may be set aside before the input is refused.
    max_rejected_fraction: Fraction = 0.0
    #: Of a dataset's judged queries, how many a run may lack; of a run's queries, how many may be unjudged.
    max_missing_fraction: Fraction = 1.0
    max_unjudged_fraction: Fraction = 1.0
    #: Of the documents that a run returned down to the deepest cutoff, how many must be judged.
    min_judged_rate: Fraction = 0.0
    #: What a night may lose against which baseline; None: nothing is compared, and there is no verdict.
    gate: GateConfig | None = None

    #: What was decided while the configuration was read, in sentences for people.
    _notes: tuple[str, ...] = PrivateAttr(default=())

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided while the configuration was read, in sentences for people."""
        return self._notes

    @property
    def asked(self) -> Asked:
        """The measures beside NDCG, and at which cutoffs they are asked for."""
        return asked_by(self.measures, self.bounds)

    @model_validator(mode="before")
    @classmethod
    def _with_measures(cls, given: Any) -> Any:
        """The settings with the cutoffs and the options that the measures ask for, and each measure at its cutoff."""
        if not isinstance(given, dict) or not given.get("measures"):
            return given
        try:
            cutoffs = None if given.get("cutoffs") is None else ascending(_listed_cutoffs(given["cutoffs"]))
            wanted = request(_texts(given["measures"]), cutoffs, DEFAULT_CUTOFFS)
            convention = _convention(given.get("convention", Convention()))
        except (ValueError, TypeError):
            # The field itself is validated too, and says what is wrong with it.
            return given
        under = convention.replace(**wanted.options)
        return {**given, "measures": wanted.texts, "cutoffs": wanted.cutoffs, "convention": under}

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.remote and self.engine == "embedded":
            raise ValueError("engine is embedded and remote names a server; give one of them")
        if self.documents and not self.output:
            raise ValueError("documents: they are kept with a night, and no output is given; give --output")
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
        problems = [_problem(entry["loc"], entry["type"], entry["msg"], entry.get("input")) for entry in error.errors()]
        raise _refused(problems, where) from error
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


def _problem(place: tuple[int | str, ...], kind: str, message: str, given: object) -> str:
    name = ".".join(map(str, place)) or "configuration"
    if kind == "extra_forbidden":
        return f"{name}: no such key{did_you_mean(str(place[-1]), _keys(place[:-1]))}"
    if kind == "missing":
        option = f"--{place[0]} or " if place[0] in ("judgments", "results") else ""
        return f"{name}: missing; give {option}{name} in the configuration"
    if kind == "value_error":
        reason = message.removeprefix("Value error, ")
        return reason if reason.startswith(f"{name}: ") else f"{name}: {reason}"
    # What pydantic says of a word has the words that it knows in quotes.
    near = did_you_mean(str(given), re.findall(r"'([^']+)'", message)) if kind == "literal_error" else ""
    return f"{name}: {message[0].lower()}{message[1:]}, not {given!r}{near}"


def _keys(place: tuple[int | str, ...]) -> list[str]:
    """The keys of the configuration, or of the table at this place in it; of one in a list, too."""
    fields = EvaluationConfig.model_fields
    for name in place:
        if isinstance(name, str):
            fields = _fields(fields[name].annotation) if name in fields else {}
    return list(fields)


def _fields(kind: Any) -> dict[str, FieldInfo]:
    """The keys of a table, which may be one of several kinds of value (`Table | None`) or in a list of them."""
    if isinstance(kind, type) and issubclass(kind, Strict):
        return kind.model_fields
    return next((found for inner in get_args(kind) if (found := _fields(inner))), {})


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read, {error.strerror}; check --config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file}: no TOML, {error}; correct the file") from error


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

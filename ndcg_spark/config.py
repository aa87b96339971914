"""A TOML file and the command line become one validated `EvaluationConfig`, or one error that lists all problems."""

import datetime
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SkipValidation,
    ValidationError,
    model_validator,
)

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import Cutoff, ascending
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.plain import did_you_mean

Format = Literal["trec", "parquet", "orc", "csv", "tsv", "jsonl"]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def _cutoffs(given: object) -> object:
    """``"1,3,10,all"`` or ``[1, 3, 10, "all"]`` as whole numbers, None for the whole ranking."""
    entries = given.split(",") if isinstance(given, str) else given if isinstance(given, list | tuple) else [given]
    return ascending(_cutoff("all" if entry is None else str(entry).strip()) for entry in entries)


def _cutoff(text: str) -> Cutoff | str:
    if text == "all":
        return None
    return int(text) if text.isascii() and text.isdecimal() else text


def _convention(given: object) -> object:
    """The convention for a preset's name, or for a table of options, in which `preset` names what they start from."""
    if isinstance(given, str):
        return Convention.preset(given)
    if isinstance(given, Mapping):
        options = dict(given)
        return Convention.preset(str(options.pop("preset", "standard"))).replace(**options)
    if isinstance(given, Convention):
        return given
    raise ValueError(f"{given!r} is no convention; give a preset's name or a table of options")


def _paths(given: object) -> object:
    return [given] if isinstance(given, str) else given


def _date(given: object) -> object:
    if isinstance(given, str):
        return datetime.date.fromisoformat(given)
    if not isinstance(given, datetime.date):
        raise ValueError(f"{given!r} is no date; write YYYY-MM-DD")
    return given


def _output(given: str) -> str:
    wild = [character for character in "*?[]{}" if character in given.replace("{date}", "")]
    if wild:
        raise ValueError(f"{given} has {' '.join(wild)}, which engines take for wildcards; only {{date}} is replaced")
    return given


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TableConfig(_Strict):
    """Where a table is, and in which format and under which names of columns."""

    path: Annotated[list[Annotated[str, Field(min_length=1)]], BeforeValidator(_paths), Field(min_length=1)]
    format: Format | None = None
    columns: dict[str, str] = {}

    #: The columns whose names may be mapped.
    names: ClassVar[tuple[str, ...]]

    @model_validator(mode="after")
    def _known_columns(self) -> Self:
        unknown = [name for name in self.columns if name not in self.names]
        if unknown:
            named = ", ".join(f"{name}{did_you_mean(name, self.names)}" for name in unknown)
            raise ValueError(f"columns maps {named}; only {', '.join(self.names)} can be mapped")
        sources = [source for source in self.columns.values() if source]
        if len(set(sources)) < len(self.columns):
            raise ValueError("columns maps to an empty name, or to one name twice; name each column of the files once")
        return self


class JudgmentsConfig(TableConfig):
    """The judgments (qrels)."""

    names = ("dataset", "query_id", "doc_id", "relevance")


class ResultsConfig(TableConfig):
    """The results (runs). `run` names the run, whatever the files say."""

    run: Annotated[str, Field(min_length=1)] | None = None
    names = ("dataset", "run", "query_id", "doc_id", "score", "rank")


class EvaluationConfig(_Strict):
    """Everything that one evaluation needs: what is read, which NDCG, where scores go, which engine computes them."""

    judgments: JudgmentsConfig
    results: ResultsConfig
    output: Annotated[str, Field(min_length=1), AfterValidator(_output)] | None = None
    dataset: Annotated[str, Field(min_length=1)] = "default"
    date: Annotated[datetime.date, BeforeValidator(_date)] = Field(
        default_factory=lambda: datetime.datetime.now(datetime.UTC).date()
    )
    cutoffs: Annotated[list[Cutoff], BeforeValidator(_cutoffs), Field(min_length=1)] = [1, 3, 5, 10]
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

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.remote and self.engine == "embedded":
            raise ValueError("engine is embedded and remote names a server; give one of them")
        return self

    def dated(self, path: str) -> str:
        """The path with ``{date}`` replaced by the evaluation's date."""
        return path.replace("{date}", self.date.isoformat())


def load(file: Path | None, overrides: Mapping[str, Any]) -> EvaluationConfig:
    """The configuration of a file, if there is one, overridden by the command line.

    `overrides` is nested like the file; None stands for an argument that was not given. If it names a convention, that
    replaces the file's with all options; options without a name change the file's.

    Raises
    ------
    ConfigurationError
        The file cannot be read or is not TOML, or keys or values are wrong; the message lists all problems.
    """
    settings = _read(file) if file else {}
    for table, key in (("convention", "preset"), ("judgments", "path"), ("results", "path")):
        if isinstance(settings.get(table), str):
            settings[table] = {key: settings[table]}
    if "preset" in (overrides.get("convention") or {}):
        settings.pop("convention", None)
    return validate(_merge(settings, overrides), str(file) if file else "arguments")


def validate(settings: Mapping[str, Any], where: str) -> EvaluationConfig:
    """The settings as an EvaluationConfig, or one ConfigurationError that names every problem in them."""
    try:
        return EvaluationConfig.model_validate(settings)
    except ValidationError as error:
        problems = [_problem(entry["loc"], entry["type"], entry["msg"], entry.get("input")) for entry in error.errors()]
        raise ConfigurationError(f"{where}: {len(problems)} problem(s): {'; '.join(problems)}") from error


def _problem(place: tuple[int | str, ...], kind: str, message: str, given: object) -> str:
    name = ".".join(map(str, place)) or "configuration"
    if kind == "extra_forbidden":
        return f"{name}: no such key{did_you_mean(str(place[-1]), _keys(place[:-1]))}"
    if kind == "missing":
        return f"{name}: missing; give --{place[0]} or {name} in the configuration"
    if kind == "value_error":
        reason = message.removeprefix("Value error, ")
        return reason if reason.startswith(f"{name}: ") else f"{name}: {reason}"
    # What pydantic says of a word has the words that it knows in quotes.
    near = did_you_mean(str(given), re.findall(r"'([^']+)'", message)) if kind == "literal_error" else ""
    return f"{name}: {message[0].lower()}{message[1:]}, not {given!r}{near}"


def _keys(place: tuple[int | str, ...]) -> list[str]:
    """The keys of the configuration, or of the table at this place in it."""
    fields = EvaluationConfig.model_fields
    for name in place:
        kind = fields[str(name)].annotation if str(name) in fields else None
        fields = kind.model_fields if isinstance(kind, type) and issubclass(kind, BaseModel) else {}
    return list(fields)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
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
            if given:
                merged[key] = {**below, **given}
        elif value is not None and not isinstance(value, Mapping):
            merged[key] = value
    return merged

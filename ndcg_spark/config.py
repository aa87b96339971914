"""A command's configuration, from a TOML file and arguments.

Everything is validated at once, and one error lists all problems.
"""

import datetime
import re
import shlex
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeVar, get_args, overload

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    SkipValidation,
    ValidationError,
    computed_field,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from ndcg_spark.convention.convention import Convention, parse_label
from ndcg_spark.convention.measures import DEFAULT_CUTOFFS, Cutoff, MeasureSet, measure_heading
from ndcg_spark.convention.options import accepted, show
from ndcg_spark.convention.parsing import listed, parse_cutoffs, parse_measures
from ndcg_spark.errors import ConfigurationError, first_line
from ndcg_spark.gate.settings import CheckConfig, GateConfig, Strict, contradictions
from ndcg_spark.text import did_you_mean, expanded, from_home, label_text, masked_within, program_of
from ndcg_spark.voices import Either, Give, GiveTable, Notice, SetOption, absolute_path

#: The keys for options that have different names, which users may write instead.
_OF_OPTIONS = {"slices": "query_attributes", "weights": "query_weights", "qrels": "judgments"}
#: The key of a table that may be given as one value: judgments = "judgments.qrels" is its path.
_SHORT_FOR = {
    "judgments": "path",
    "results": "path",
    "exclude": "path",
    "query_attributes": "path",
    "query_weights": "path",
    "items": "path",
    "interactions": "path",
    "convention": "preset",
}
_CHECK_CONFIG = Give("config", words="check")
_DATE = re.compile(r"\{date(?::([^{}]*))?\}")


def dated(path: str, date: datetime.date) -> str:
    """The path with ``{date}`` replaced by the date as YYYY-MM-DD.

    ``{date:%Y%m%d}`` is replaced by the date in that format.
    """

    def formatted(match: re.Match[str]) -> str:
        date_format = match[1]
        return date.strftime(date_format) if date_format else date.isoformat()

    return _DATE.sub(formatted, path)


def moment(text: str) -> datetime.datetime:
    """The time in an ISO 8601 text; UTC if it has no time zone. Raises ValueError."""
    time = datetime.datetime.fromisoformat(text)
    return time.replace(tzinfo=datetime.UTC) if time.tzinfo is None else time


def _version(given: object) -> object:
    """A version as a number, or a time as text in which ``{date}`` is not yet replaced."""
    if isinstance(given, datetime.date):
        return given.isoformat()
    if not isinstance(given, str):
        return given
    if given.isdecimal():
        return int(given)
    # Raises ValueError if it is not a time on some date.
    moment(dated(given, datetime.date(2000, 1, 1)))
    return given


def _metrics_folder(path: str) -> str:
    """The path. Raises ValueError for a file, which earlier versions wrote."""
    if path.endswith(".prom") or from_home(Path(path)).is_file():
        what = (
            "is a file; give the folder that the collector reads, "
            "in which each dataset has its own file"
        )
        raise ValueError(f"{path} {what}")
    return path


def _command(text: str) -> str:
    """The command. Raises ValueError if a shell could not run it."""
    # The command may have secrets, so messages do not show it.
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"it is not a command, {error}; close each quote") from error
    if not words or not words[0]:
        raise ValueError("it does not name a program; write a command, or leave it out")
    return text


def _output(given: str) -> str:
    """The address of the output folder. Raises ValueError if it cannot be one."""
    path = expanded(given)
    if re.match(r"[a-z][a-z0-9]+:/[^/]", path):
        raise ValueError(f"{path} has one slash after the colon; write two")
    if Path(path).is_file():
        raise ValueError(f"{path} is a file; give a folder")
    if {*"*?[]{}"}.intersection(_DATE.sub("", path)):
        raise ValueError(
            f"{path} has one of * ? [ ] {{ }}, which engines read as wildcards; "
            f"only {{date}} is replaced"
        )
    return path


def _documents(given: object) -> object:
    """Which documents are kept. Raises ValueError if it is neither a word nor a number."""
    if given in (None, "all", "everything"):
        return given
    # The text of True is not a number.
    if re.fullmatch("0*[1-9][0-9]*", str(given)) is None:
        raise ValueError(f"{given!r} is not all, everything or a positive whole number")
    return int(str(given))


def _convention(given: object) -> Convention:
    """The convention from a preset's name, or from a table of options.

    The table may name the `preset` that its options change.
    """
    if isinstance(given, Convention):
        return given
    options = _chosen(given)
    return Convention.preset(str(options.pop("preset", "standard"))).replace(**options)


def _chosen(given: object) -> dict[str, Any]:
    """The options that a convention names, such as {"preset": "trec_eval", "gain": "linear"}."""
    if isinstance(given, Convention):
        return parse_label(given.label)
    if isinstance(given, Mapping):
        return dict(given)
    return {} if given is None else {"preset": given}


def _grades(given: object) -> object:
    """The grade of each label, with blanks around labels removed: {"E": 4}."""
    if given is None:
        return None
    if not isinstance(given, Mapping) or not given:
        raise ValueError("it does not map a label; write it as in {E = 4, S = 3}")
    grades: dict[str, object] = {}
    for label, grade in given.items():
        text = label_text(label)
        if not text or text in grades:
            what = f"{text} occurs twice" if text else "a label is empty"
            raise ValueError(f"{what}; give each label one grade")
        if isinstance(grade, bool):
            raise ValueError(f"the grade of {text} is {grade}; give a number")
        grades[text] = grade
    return grades


Format = Literal["trec", "parquet", "orc", "csv", "tsv", "jsonl", "json"]
#: The names of the characters that can separate the ids in a cell.
Separator = Literal["blank", "comma", "semicolon", "pipe"]
_Text = Annotated[str, Field(min_length=1)]
_Path = Annotated[str, Field(min_length=1), AfterValidator(expanded)]
_Fraction = Annotated[float, Field(ge=0, le=1)]
_Grade = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Grades = Annotated[
    dict[str, Annotated[float, Field(allow_inf_nan=False)]] | None, BeforeValidator(_grades)
]
_texts = BeforeValidator(lambda given: list(map(str, listed(given))))


def _refuse_both(relevance: float | None, grades: Mapping[str, float] | None) -> None:
    if relevance is not None and grades is not None:
        what = "relevance gives every judgment one grade, but grades gives one to each label"
        raise ValueError(f"{what}; leave one out")


class TableConfig(Strict):
    """A table: its paths, and how they are read."""

    path: Annotated[list[_Path], BeforeValidator(listed), Field(min_length=1)]
    format: Format | None = None
    #: The names of our columns in its files.
    columns: dict[str, _Text] = Field(default_factory=dict)
    #: The version (for Iceberg, the snapshot id) or time at which a Delta, Iceberg or catalog table
    #: is read.
    as_of: Annotated[
        Annotated[int, Field(ge=0, strict=True)] | str | None, BeforeValidator(_version)
    ] = None

    #: The columns whose names can be mapped.
    names: ClassVar[tuple[str, ...]]

    def on(self, date: datetime.date) -> Self:
        """The table on a date, which replaces ``{date}`` in its paths and time."""
        as_of = dated(self.as_of, date) if isinstance(self.as_of, str) else self.as_of
        return self.model_copy(
            update={"path": [dated(path, date) for path in self.path], "as_of": as_of}
        )

    @model_validator(mode="before")
    @classmethod
    def _accept_only_a_path(cls, given: object) -> object:
        return {"path": given} if isinstance(given, str) else given

    @field_validator("columns")
    @classmethod
    def _check_columns(cls, columns: dict[str, str]) -> dict[str, str]:
        for name in columns:
            if name not in cls.names:
                near = did_you_mean(name, cls.names)
                raise ValueError(
                    f"{name} is not a column{near}; "
                    f"it maps {', '.join(cls.names)} to columns of the files"
                )
        if len(set(columns.values())) < len(columns):
            raise ValueError(f"it must map {', '.join(columns)} to different columns of the files")
        return columns


class DocumentsConfig(TableConfig):
    """A table with documents."""

    #: The separator of the ids if a cell has several documents, best first; None if a cell has only
    #: one.
    split_ids: Separator | None = None


class JudgmentsConfig(DocumentsConfig):
    """The judgments (qrels). `relevance` is the grade of every judgment and overrides the files."""

    relevance: _Grade | None = None
    #: The grades of labels, if the files have labels instead of grades.
    grades: _Grades = None
    names = ("dataset", "query_id", "doc_id", "relevance")

    @model_validator(mode="after")
    def _check_grades(self) -> Self:
        _refuse_both(self.relevance, self.grades)
        return self


class ResultsConfig(DocumentsConfig):
    """The results (runs). `run` is the name of the only run and overrides the files."""

    run: _Text | None = None
    #: Whether a column or the files name the runs; None means the column or, if there is none, the
    #: files.
    run_from: Literal["file", "column"] | None = None
    names = ("dataset", "run", "query_id", "doc_id", "score", "rank")


class ExcludeConfig(DocumentsConfig):
    names = ("dataset", "query_id", "doc_id")


class AttributesConfig(TableConfig):
    names = ("dataset", "query_id", "attribute", "value")


class WeightsConfig(TableConfig):
    names = ("dataset", "query_id", "weight")


class InteractionsConfig(TableConfig):
    """Which user used which item before the evaluation, with a row per interaction."""

    path: Annotated[list[_Path], BeforeValidator(listed)] = Field(default_factory=list)
    names = ("query_id", "doc_id")

    @model_validator(mode="after")
    def _has_path(self) -> Self:
        if not self.path:
            what = "interactions are configured, but have no path"
            raise ConfigurationError(what, Give("interactions", "FILE", words="give"))
        return self


class ItemsConfig(TableConfig):
    """The catalog's items: a table, interactions that are counted, or both."""

    path: Annotated[list[_Path], BeforeValidator(listed)] = Field(default_factory=list)
    #: The number of users.
    users: Annotated[int, Field(gt=0)] | None = None
    interactions: InteractionsConfig | None = None
    names = ("doc_id", "popularity", "interactions", "category")

    @field_validator("interactions", mode="before")
    @classmethod
    def _accept_only_paths(cls, given: object) -> object:
        return {"path": given} if isinstance(given, list | tuple) else given

    def on(self, date: datetime.date) -> Self:
        dated_items = super().on(date)
        if self.interactions is None:
            return dated_items
        return dated_items.model_copy(update={"interactions": self.interactions.on(date)})

    @model_validator(mode="after")
    def _has_items(self) -> Self:
        if not self.path and self.interactions is None:
            raise ValueError("it has neither a path nor interactions; give one or both")
        if self.users is not None and self.interactions is not None:
            raise ValueError("interactions also give the number of users; leave users out")
        return self


class OldScoresConfig(TableConfig):
    """The scores of an earlier job, whose convention is searched for."""

    names = ("dataset", "run", "query_id", "cutoff", "score")


class Options(NamedTuple):
    """What is computed from judgments and results, wherever the tables come from."""

    convention: Convention
    cutoffs: Sequence[Cutoff]
    measures: MeasureSet
    evaluated_on: datetime.date
    #: The dataset's name if the tables do not name one.
    dataset: str
    #: Whether the user has named the dataset, and the order of the results.
    is_dataset_chosen: bool
    is_order_chosen: bool


class EvaluationConfig(Strict):
    """An evaluation's configuration."""

    judgments: JudgmentsConfig
    results: ResultsConfig
    exclude: ExcludeConfig | None = None
    query_attributes: AttributesConfig | None = None
    query_weights: WeightsConfig | None = None
    #: The tables that catalog measures use.
    items: ItemsConfig | None = None
    output: Annotated[_Text, AfterValidator(_output)] | None = None
    dataset: _Text = "default"
    date: datetime.date = Field(default_factory=lambda: datetime.datetime.now(datetime.UTC).date())
    cutoffs: Annotated[list[Cutoff], BeforeValidator(parse_cutoffs)] = Field(
        default=list(DEFAULT_CUTOFFS)
    )
    #: The measures, each with its cutoff, such as precision@5; empty by default, for NDCG only.
    measures: Annotated[list[str], Field(min_length=1), _texts] = Field(default_factory=list)
    #: The documents that are kept with a night, down to the deepest finite cutoff: `all` for all
    #: judged queries, `everything` for unjudged queries as well. A number N keeps those of the N
    #: queries of each run that changed most compared with the gate's baseline. For the default, see
    #: `kept_documents`.
    documents: Annotated[Literal["all", "everything"] | int | None, BeforeValidator(_documents)] = (
        None
    )
    convention: Annotated[SkipValidation[Convention], BeforeValidator(_convention)] = Convention()
    engine: Literal["auto", "embedded", "spark"] = "auto"
    #: The address of a Spark Connect server, or `local`, which starts one on this machine.
    remote: Annotated[str, Field(pattern="^(sc://|local)")] | None = None
    #: Fraction of a table's rows that may be rejected.
    max_rejected_fraction: _Fraction = 0.0
    #: Fraction of a dataset's judged queries that a run may miss, and of a run's queries that may
    #: be unjudged.
    max_missing_fraction: _Fraction = 1.0
    max_unjudged_fraction: _Fraction = 1.0
    #: Fraction of the documents a run returned down to the deepest cutoff that must be judged.
    min_judged_rate: _Fraction = 0.0
    #: The folder to which each evaluation writes a file per dataset for Prometheus, and the command
    #: that then reads the outcome from its stdin.
    metrics_file: Annotated[_Text, AfterValidator(_metrics_folder)] | None = None
    on_end: Annotated[str, AfterValidator(_command)] | None = None
    #: The address of a night's page, for notifications: a URL with {dataset} and {date}.
    report_url: Annotated[str, Field(pattern="^https?://")] | None = None
    #: How much a night may lose compared with a baseline. None for no comparison and no verdict.
    gate: GateConfig | None = None

    _measure_set: MeasureSet = PrivateAttr(default=MeasureSet())
    _chosen_options: frozenset[str] = PrivateAttr(default=frozenset())
    _source: dict[str, Any] = PrivateAttr(default={"file": None, "overridden": False})

    @property
    def source(self) -> dict[str, Any]:
        """Where the configuration comes from: its `file`, and whether arguments other than the date
        and the output have `overridden` it.
        """
        return self._source

    @property
    def chosen_options(self) -> frozenset[str]:
        """The options of the convention that the configuration names, possibly with `preset`."""
        return self._chosen_options

    @property
    def measure_set(self) -> MeasureSet:
        return self._measure_set

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def headline(self) -> str:
        """The measure that runs are ordered by, such as ndcg@10. It is a field for the log."""
        return measure_heading(*self.measure_set.headline(self.cutoffs))

    @property
    def is_one_table(self) -> bool:
        """Whether judgments and results are in the same files, as rankers write them."""
        if self.judgments is None or self.results is None:
            return False
        judged, returned = self.judgments, self.results
        if (judged.format, judged.as_of) != (returned.format, returned.as_of):
            return False
        return list(map(absolute_path, judged.path)) == list(map(absolute_path, returned.path))

    @property
    def options(self) -> Options:
        return Options(
            self.convention,
            self.cutoffs,
            self.measure_set,
            self.date,
            self.dataset,
            is_dataset_chosen="dataset" in self.model_fields_set,
            is_order_chosen="order" in self.chosen_options,
        )

    @property
    def kept_documents(self) -> Literal["all", "everything"] | int | None:
        """The documents to keep. With a gate, the default is all of them, so that nights can be
        compared when the judgments change.
        """
        if self.documents is None and self.gate is not None and self.output is not None:
            return "all"
        return self.documents

    def dated(self, path: str) -> str:
        return dated(path, self.date)

    def for_log(self, exclude: Collection[str] = ()) -> dict[str, Any]:
        """The configuration as JSON values without secrets. `on_end` is only its program."""
        settings = self.model_dump(mode="json", exclude={*exclude})
        settings["documents"] = self.kept_documents
        if self.on_end is not None:
            settings["on_end"] = program_of(self.on_end)
        return dict(masked_within(settings))


class NightConfig(EvaluationConfig):
    """The configuration of a command that may need neither judgments nor results."""

    judgments: JudgmentsConfig | None = None  # type: ignore[assignment]
    results: ResultsConfig | None = None  # type: ignore[assignment]


class TablesConfig(NightConfig):
    """The configuration of an evaluation of DataFrames, which have no paths."""

    #: As in JudgmentsConfig.
    relevance: _Grade | None = None
    grades: _Grades = None
    #: As in ResultsConfig.
    run: _Text | None = None
    #: The separator of the ids in a cell, by table.
    split_ids: dict[str, Separator] = Field(default_factory=dict)
    #: The number of users that the popularity of items was counted over.
    items_users: Annotated[int, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _check_grades(self) -> Self:
        _refuse_both(self.relevance, self.grades)
        return self


_Config = TypeVar("_Config", bound=EvaluationConfig)


def load(
    file: Path | Mapping[str, Any] | None,
    overrides: Mapping[str, Any],
    model: type[EvaluationConfig] = EvaluationConfig,
) -> EvaluationConfig:
    """Load the configuration from a file, or from settings with its contents, and override it.

    `overrides` are a command's arguments; None is an argument that is not given. A preset
    among them replaces the file's convention; options without a preset change it.
    """
    path = None
    origin = "arguments"
    settings: Mapping[str, Any] = {}
    if isinstance(file, Path):
        settings = _read(file)
        path = str(from_home(file).resolve())
        origin = f"{file} and arguments" if _merged({}, overrides) else str(file)
    elif file is not None:
        settings = file
    config = validate(_merged(settings, overrides), origin, model)
    others = _merged({}, {**overrides, "date": None, "output": None})
    config._source = {"file": path, "overridden": bool(others)}
    return config


@overload
def validate(settings: Mapping[str, Any], origin: str) -> EvaluationConfig: ...
@overload
def validate(settings: Mapping[str, Any], origin: str, model: type[_Config]) -> _Config: ...
def validate(
    settings: Mapping[str, Any], origin: str, model: type[EvaluationConfig] = EvaluationConfig
) -> EvaluationConfig:
    """The configuration from these settings. One ConfigurationError lists all problems."""
    try:
        config = _with_measures(model.model_validate(settings))
        chosen = _chosen(settings.get("convention"))
        problems = list(_contradictions(config, chosen))
    except ValidationError as error:
        problems = list(_problems(error, model))
    except ConfigurationError as error:
        problems = [Notice(error.sentence, error.advice, error.option)]
    if problems:
        raise ConfigurationError.of_problems(origin, problems)
    config._chosen_options = frozenset(chosen)
    return config


def _with_measures(config: _Config) -> _Config:
    """The configuration with the cutoffs and the options that its measures name."""
    if not config.measures:
        return config
    cutoffs = config.cutoffs if "cutoffs" in config.model_fields_set else None
    convention = config.convention
    preset = convention.based_on
    measures, needed = parse_measures(config.measures, cutoffs, DEFAULT_CUTOFFS, preset)
    if measures.convention_options:
        convention = convention.replace(**measures.convention_options)
    complete = {"measures": measures.texts, "cutoffs": needed, "convention": convention}
    copy = config.model_copy(update=complete)
    copy._measure_set = measures
    return copy


#: The keys of nested tables that lead to a setting; a number is the position in a list.
_Keys = tuple[int | str, ...]


def _problems(error: ValidationError, model: Any) -> Iterator[Notice]:
    """The problems that pydantic has found, in our words."""
    entries = error.errors()
    for entry in entries:
        # pydantic also reports that a list is too short if all of its items are invalid.
        has_invalid_items = any(_is_within(other["loc"], entry["loc"]) for other in entries)
        if not has_invalid_items:
            yield _problem(entry, model)


def _is_within(inner: _Keys, outer: _Keys) -> bool:
    """Whether the setting `inner` is inside the setting `outer`."""
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _problem(entry: ErrorDetails, model: Any) -> Notice:
    keys = entry["loc"]
    cause = entry.get("ctx", {}).get("error")
    name = _written_key(keys)
    if isinstance(cause, ConfigurationError):
        # The option that the problem names is found by its key, if it has one.
        return Notice(cause.sentence, cause.advice, name or cause.option)
    if isinstance(cause, ValueError):
        return Notice(str(cause), None, name)
    if entry["type"] == "extra_forbidden":
        return Notice(_about_unknown_key(keys, model), None, name)
    if entry["type"] == "missing":
        is_table = keys[0] in ("judgments", "results")
        return Notice("missing", GiveTable(str(keys[0])) if is_table else None, name)
    return Notice(entry["msg"], None, name)


def _about_unknown_key(keys: _Keys, model: Any) -> str:
    """What is wrong with a key that does not exist, and what may be meant."""
    key = str(keys[-1])
    known = _known_keys(model, keys[:-1])
    meant = did_you_mean(_OF_OPTIONS.get(key, key), known) or _table_of(keys)
    if not meant and len(keys) > 1:
        meant = f", not one of {', '.join(known)}"
    return f"unknown key{meant}"


def _written_key(keys: _Keys) -> str:
    """A key as written in TOML, with items numbered from 1: `gate.check[1].cutoff`."""
    written = ""
    for key in keys:
        written += f"[{key + 1}]" if isinstance(key, int) else f".{key}"
    return written.removeprefix(".")


def _table_of(keys: _Keys) -> str:
    """Advice for a key of the gate or of its checks that is in a table above them, or ""."""
    *tables, key = keys
    if not tables and key in GateConfig.model_fields:
        return "; it belongs inside gate"
    if tables in ([], ["gate"]) and key in CheckConfig.model_fields:
        return "; it belongs inside gate.check"
    return ""


def _known_keys(model: Any, path: _Keys) -> list[str]:
    """The table's keys at this path."""
    for key in path:
        if isinstance(key, str):
            model = _table_model(model.model_fields[key].annotation)
    return list(model.model_fields)


def _table_model(annotation: Any) -> Any:
    """The model of a table from its annotation, which may be a list of it or allow None."""
    for kind in (annotation, *get_args(annotation)):
        if hasattr(kind, "model_fields"):
            return kind
    raise TypeError(f"{annotation} has no keys")


def about_future(date: datetime.date) -> Iterator[Notice]:
    """The problem that scores of a date after tomorrow (UTC) cannot be kept."""
    tomorrow = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(1)
    if date > tomorrow:
        yield Notice(f"date: {date} is in the future; give the date of the night")


def _about_order(config: EvaluationConfig) -> Iterator[Notice]:
    """The problem that the rows are in the order of the ranks, but a score or rank is mapped."""
    if config.convention.order != "file" or config.results is None:
        return
    for name in ("score", "rank"):
        if name in config.results.columns:
            what = f"results.columns.{name}: with order=file, the {name} is not read"
            yield Notice(what, SetOption("order", name, words="remove it, or write"))


def _about_items(config: EvaluationConfig) -> Iterator[Notice]:
    """The problems of catalog measures without items, and of items without such measures."""
    needing = config.measure_set.of_items
    if needing and config.items is None and config.results is not None:
        yield missing_items(needing)
    is_unused = config.items is not None and not config.measure_set.of_catalog
    if is_unused and not isinstance(config, NightConfig):
        what = "items: no catalog measure is requested"
        yield Notice(what, Give("measures", "coverage", words="leave them out, or give"))


def missing_items(measures: Sequence[str]) -> Notice:
    """The problem that measures need a table of items, and none is given."""
    sentence = f"measures: {', '.join(measures)} needs the catalog's items"
    ways = (Give("items", "FILE", words="give"), Give("interactions", "FILE"))
    return Notice(sentence, Either(ways))


def _about_measure_options(config: EvaluationConfig, chosen: Mapping[str, Any]) -> Iterator[Notice]:
    """The problems of measures with an option that the convention sets to a different value."""
    for option, value in config.measure_set.convention_options.items():
        if option not in chosen or accepted(option, chosen[option]) == accepted(option, value):
            continue
        what = (
            f"measures: {option}={value} in a measure, "
            f"but {option}={show(chosen[option])} in the convention"
        )
        yield Notice(f"{what}; remove it there, or evaluate twice")


def _about_gate(config: EvaluationConfig, gate: GateConfig) -> Iterator[Notice]:
    """The problems of a gate that needs scores or tables that the evaluation does not have."""
    cutoffs = config.cutoffs
    if isinstance(config, NightConfig) and "cutoffs" not in config.model_fields_set:
        # The gate judges a published night. Whether the night has these cutoffs is checked later.
        cutoffs = parse_cutoffs(check.cutoff for check in gate.check)
    has_attributes = config.query_attributes is not None
    has_weights = config.query_weights is not None
    yield from map(Notice, contradictions(gate, cutoffs, has_attributes, has_weights))


def _contradictions(config: EvaluationConfig, chosen: Mapping[str, Any]) -> Iterator[Notice]:
    """The settings that contradict each other; `chosen` are the convention's named options."""
    yield from _about_order(config)
    yield from _about_items(config)
    yield from _about_measure_options(config, chosen)
    if config.remote and config.engine == "embedded":
        yield Notice("engine: embedded, but remote names a server; remove one of them")
    if config.output:
        yield from about_future(config.date)
    if config.documents and not config.output:
        sentence = "documents: they are kept in the output, but there is no output"
        yield Notice(sentence, Give("output", words="give"))
    if config.gate:
        yield from _about_gate(config, config.gate)
        return
    if config.query_weights and not isinstance(config, NightConfig):
        yield Notice("query_weights: only a gate uses it; add [gate], or remove it")
    if isinstance(config.documents, int):
        sentence = "documents: a number keeps what changed most compared with a gate's baseline"
        yield Notice(f"{sentence}; add [gate], or keep all")


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(from_home(file).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigurationError(f"config: no file {file}", _CHECK_CONFIG) from error
    except (OSError, ValueError) as error:
        what = f"{file}: it cannot be read as TOML, {first_line(error)}"
        raise ConfigurationError(what, _CHECK_CONFIG) from error


def _merged(settings: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the values of `overrides`, even within tables; None changes nothing."""
    merged = dict(settings)
    for key, value in overrides.items():
        if value is None:
            continue
        if not isinstance(value, Mapping):
            merged[key] = value
            continue
        table = merged.get(key, {})
        if not isinstance(table, Mapping):
            if key not in _SHORT_FOR:
                # It has to be a table, which is reported with all other problems.
                continue
            table = {_SHORT_FOR[key]: table}
        if key == "convention":
            table = _merged_convention(table, value)
        elif key == "grades":
            # A label that is not given again has no grade.
            table = value
        else:
            table = _merged(table, value)
        if table:
            merged[key] = table
    return merged


def _merged_convention(
    options: Mapping[str, Any], overrides: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The options of a convention with these overrides.

    A preset among the overrides replaces all options. A table of gains is replaced as a whole.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    return given if "preset" in given else {**options, **given}

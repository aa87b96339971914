"""The configuration of a command: a TOML file and its arguments, validated at once. One error lists
all problems.
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
from ndcg_spark.convention.measures import DEFAULT_CUTOFFS, Cutoff, MeasureSet, written
from ndcg_spark.convention.options import accepted, show
from ndcg_spark.convention.parsing import listed, parse_cutoffs, parse_measures
from ndcg_spark.errors import ConfigurationError, first_line
from ndcg_spark.gate.settings import CheckConfig, GateConfig, Strict, contradictions
from ndcg_spark.text import did_you_mean, expanded, from_home, label_text, masked_within, program_of
from ndcg_spark.voices import Either, Give, GiveTable, Notice, SetOption, absolute_path

#: Options whose keys have different names.
_OF_OPTIONS = {"slices": "query_attributes", "weights": "query_weights", "qrels": "judgments"}
#: The messages for removed keys.
_GONE = {
    "unchanged_queries": "this key was removed, because nights with different judgments are "
    "compared on both sides; leave it out",
}
_CHECK_CONFIG = Give("config", words="check")
_DATE = re.compile(r"\{date(?::([^{}]*))?\}")


def dated(path: str, date: datetime.date) -> str:
    """The path with ``{date}`` replaced by YYYY-MM-DD, and ``{date:%Y%m%d}`` by the date in that
    format.
    """
    return _DATE.sub(lambda match: date.strftime(match[1]) if match[1] else date.isoformat(), path)


def moment(text: str) -> datetime.datetime:
    """The time of an ISO 8601 text, in UTC if it has no time zone. ValueError if it is invalid."""
    time = datetime.datetime.fromisoformat(text)
    return time.replace(tzinfo=datetime.UTC) if time.tzinfo is None else time


def _version(given: object) -> object:
    """A version as a number, or a time as text in which ``{date}`` is not yet replaced."""
    if isinstance(given, datetime.date):
        return given.isoformat()
    if isinstance(given, str) and not given.isdecimal():
        moment(dated(given, datetime.date(2000, 1, 1)))
        return given
    return int(given) if isinstance(given, str) else given


def _metrics_folder(path: str) -> str:
    if path.endswith(".prom") or from_home(Path(path)).is_file():
        what = (
            "is a file; give the folder that the collector reads, "
            "in which each dataset has its own file"
        )
        raise ValueError(f"{path} {what}")
    return path


def _command(text: str) -> str:
    # The command may have secrets, so messages do not show it.
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"it is no command, {error}; close each quote") from error
    if not words or not words[0]:
        raise ValueError("it names no program; write a command, or leave it out")
    return text


def _output(given: str) -> str:
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


def _convention(given: object) -> Convention:
    """The convention of a preset's name, or of a table of options that may name the `preset` to
    start from.
    """
    if isinstance(given, Convention):
        return given
    options = _chosen(given)
    return Convention.preset(str(options.pop("preset", "standard"))).replace(**options)


def _chosen(given: object) -> dict[str, Any]:
    if isinstance(given, Convention):
        return parse_label(given.label)
    return dict(given) if isinstance(given, Mapping) else {} if given is None else {"preset": given}


def _grades(given: object) -> object:
    """The grade of each label; labels are stripped text."""
    if given is None:
        return None
    if not isinstance(given, Mapping) or not given:
        raise ValueError("it maps no label; write it as in {E = 4, S = 3}")
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
#: The separators of the ids in a cell.
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
        as_of = dated(self.as_of, date) if isinstance(self.as_of, str) else self.as_of
        return self.model_copy(
            update={"path": [dated(path, date) for path in self.path], "as_of": as_of}
        )

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, given: object) -> object:
        return {"path": given} if isinstance(given, str) else given

    @field_validator("columns")
    @classmethod
    def _one_by_one(cls, columns: dict[str, str]) -> dict[str, str]:
        for unknown in columns.keys() - {*cls.names}:
            near = did_you_mean(unknown, cls.names)
            raise ValueError(
                f"{unknown} is not a column{near}; "
                f"it maps {', '.join(cls.names)} to columns of the files"
            )
        if len({*columns.values()}) < len(columns):
            raise ValueError(f"it must map {', '.join(columns)} to different columns of the files")
        return columns


class DocumentsConfig(TableConfig):
    """A table with documents."""

    #: The separator of the ids if a cell has several documents, best first; None if it has one.
    split_ids: Separator | None = None


class JudgmentsConfig(DocumentsConfig):
    """The judgments (qrels). `relevance` is the grade of every judgment and overrides the files."""

    relevance: _Grade | None = None
    #: The grades of labels, if the files have labels instead of grades.
    grades: _Grades = None
    names = ("dataset", "query_id", "doc_id", "relevance")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
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
            raise ValueError("interactions are configured, but have no path; give their path")
        return self


class ItemsConfig(TableConfig):
    """The items of the catalog: a table, interactions that are counted, or both."""

    path: Annotated[list[_Path], BeforeValidator(listed)] = Field(default_factory=list)
    #: The number of users.
    users: Annotated[int, Field(gt=0)] | None = None
    interactions: InteractionsConfig | None = None
    names = ("doc_id", "popularity", "interactions", "category")

    @field_validator("interactions", mode="before")
    @classmethod
    def _paths_alone(cls, given: object) -> object:
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
        return self


class OldScoresConfig(TableConfig):
    """The scores of an earlier job, whose convention is searched for."""

    names = ("dataset", "run", "query_id", "cutoff", "score")


class Options(NamedTuple):
    """What is computed from judgments and results, wherever they are."""

    convention: Convention
    cutoffs: Sequence[Cutoff]
    measures: MeasureSet
    evaluated_on: datetime.date
    #: The name of the dataset if the tables do not name one.
    dataset: str
    #: Whether the user has named the dataset, and the order of the results.
    is_dataset_chosen: bool
    is_order_chosen: bool


class EvaluationConfig(Strict):
    judgments: JudgmentsConfig
    results: ResultsConfig
    exclude: ExcludeConfig | None = None
    query_attributes: AttributesConfig | None = None
    query_weights: WeightsConfig | None = None
    #: The tables that measures of the catalog use.
    items: ItemsConfig | None = None
    output: Annotated[_Text, AfterValidator(_output)] | None = None
    dataset: _Text = "default"
    date: datetime.date = Field(default_factory=lambda: datetime.datetime.now(datetime.UTC).date())
    cutoffs: Annotated[list[Cutoff], BeforeValidator(parse_cutoffs)] = Field(
        default=list(DEFAULT_CUTOFFS)
    )
    #: The measures, each with its cutoff, such as precision@5; empty by default, for NDCG only.
    measures: Annotated[list[str], Field(min_length=1), _texts] = Field(default_factory=list)
    #: The documents kept with a night, down to the deepest finite cutoff: `all` for all judged
    #: queries, `everything` for unjudged queries as well. N keeps the N queries of each run that
    #: changed most against the gate's baseline. `kept_documents` has the default.
    documents: Literal["all", "everything"] | Annotated[int, Field(gt=0)] | None = None
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
    #: What other programs get after an evaluation: a file for each dataset in this folder, which
    #: the Prometheus collector reads, and a command that reads the outcome from its stdin.
    metrics_file: Annotated[_Text, AfterValidator(_metrics_folder)] | None = None
    on_end: Annotated[str, AfterValidator(_command)] | None = None
    #: The address of the page of a night, for notifications: a URL with {dataset} and {date}.
    report_url: Annotated[str, Field(pattern="^https?://")] | None = None
    #: How much a night may lose, and against which baseline; None for no comparison and no verdict.
    gate: GateConfig | None = None

    _measure_set: MeasureSet = PrivateAttr(default=MeasureSet())
    _chosen_options: frozenset[str] = PrivateAttr(default=frozenset())
    _source: dict[str, Any] = PrivateAttr(default={"file": None, "overridden": False})

    @property
    def source(self) -> dict[str, Any]:
        """The file that it was read from, and whether arguments other than the date and the output
        were also given.
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
        """The measure that runs are ordered by, such as ndcg@10, for the log; see
        `MeasureSet.headline`.
        """
        return written(*self.measure_set.headline(self.cutoffs))

    @property
    def is_one_table(self) -> bool:
        """Whether judgments and results are the same files, as tables of rankers are."""
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
        """The documents to keep. With a gate all, for nights on which the judgments change."""
        if self.documents is None and self.gate is not None and self.output is not None:
            return "all"
        return self.documents

    def dated(self, path: str) -> str:
        return dated(path, self.date)

    def for_log(self, exclude: Collection[str] = ()) -> dict[str, Any]:
        """The configuration as JSON values without secrets. `on_end` is reduced to the program
        name.
        """
        settings = self.model_dump(mode="json", exclude={*exclude})
        settings["documents"] = self.kept_documents
        if self.on_end is not None:
            settings["on_end"] = program_of(self.on_end)
        return dict(masked_within(settings))


class NightConfig(EvaluationConfig):
    """The configuration of a command that does not need both judgments and results."""

    judgments: JudgmentsConfig | None = None  # type: ignore[assignment]
    results: ResultsConfig | None = None  # type: ignore[assignment]


class TablesConfig(NightConfig):
    """The configuration of an evaluation of DataFrames, which have no paths."""

    #: The grade of every judgment and the name of the only run, which override the tables; and the
    #: grades of labels.
    relevance: _Grade | None = None
    grades: _Grades = None
    run: _Text | None = None
    #: The separator of the ids in a cell, by table.
    split_ids: dict[str, Separator] = Field(default_factory=dict)
    #: The number of users that the popularity of items was counted over.
    items_users: Annotated[int, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        _refuse_both(self.relevance, self.grades)
        return self


_Config = TypeVar("_Config", bound=EvaluationConfig)


def load(
    file: Path | Mapping[str, Any] | None,
    overrides: Mapping[str, Any],
    model: type[EvaluationConfig] = EvaluationConfig,
) -> EvaluationConfig:
    """Load the configuration from a file, or from settings with its contents, overridden by the
    command line.

    None is an argument that is not set. A preset replaces the file's convention; options without a
    preset change it.
    """
    settings = file if isinstance(file, Mapping) else _read(file) if file else {}
    origin = str(file) if isinstance(file, Path) else "arguments"
    origin += " and arguments" if isinstance(file, Path) and _merged({}, overrides) else ""
    config = validate(_merged(settings, overrides), origin, model)
    others = _merged({}, {**overrides, "date": None, "output": None})
    path = str(from_home(file).resolve()) if isinstance(file, Path) else None
    config._source = {"file": path, "overridden": bool(others)}
    return config


@overload
def validate(settings: Mapping[str, Any], origin: str) -> EvaluationConfig: ...
@overload
def validate(settings: Mapping[str, Any], origin: str, model: type[_Config]) -> _Config: ...
def validate(
    settings: Mapping[str, Any], origin: str, model: type[EvaluationConfig] = EvaluationConfig
) -> EvaluationConfig:
    """Validate the settings; one ConfigurationError names all problems."""
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


def _problems(error: ValidationError, model: Any) -> Iterator[Notice]:
    entries = error.errors()
    for entry in entries:
        # Without its invalid items, a list is also too short.
        if not any(_is_within(other["loc"], entry["loc"]) for other in entries):
            yield _problem(entry, model)


def _is_within(other: tuple[int | str, ...], keys: tuple[int | str, ...]) -> bool:
    return len(other) > len(keys) and other[: len(keys)] == keys


def _problem(entry: ErrorDetails, model: Any) -> Notice:
    keys, cause = entry["loc"], entry.get("ctx", {}).get("error")
    name = _written_key(keys)
    if isinstance(cause, ConfigurationError):
        # The problem may name its option; its key says where that is.
        return Notice(cause.sentence, cause.advice, name or cause.option)
    if isinstance(cause, ValueError):
        return Notice(str(cause), None, name)
    if entry["type"] == "extra_forbidden":
        if keys[-1] in _GONE:
            return Notice(_GONE[str(keys[-1])], None, name)
        meant = _OF_OPTIONS.get(str(keys[-1]), str(keys[-1]))
        known = _keys(model, keys[:-1])
        others = f", not one of {', '.join(known)}" if len(keys) > 1 else ""
        return Notice(
            f"unknown key{did_you_mean(meant, known) or _table_of(keys) or others}", None, name
        )
    if entry["type"] == "missing":
        is_table = keys[0] in ("judgments", "results")
        return Notice("missing", GiveTable(str(keys[0])) if is_table else None, name)
    return Notice(entry["msg"], None, name)


def _written_key(keys: tuple[int | str, ...]) -> str:
    """A key as written in TOML, with items numbered from 1: `gate.check[1].cutoff`."""
    written = ""
    for key in keys:
        written += f"[{key + 1}]" if isinstance(key, int) else f".{key}"
    return written.removeprefix(".")


def _table_of(keys: tuple[int | str, ...]) -> str:
    """Say that a key belongs inside the gate or one of its checks, if it is next to them
    instead.
    """
    key = str(keys[-1])
    above = keys[:-1]
    if above == () and key in GateConfig.model_fields:
        return "; it belongs inside gate"
    if above in ((), ("gate",)) and key in CheckConfig.model_fields:
        return "; it belongs inside gate.check"
    return ""


def _keys(model: Any, path: tuple[int | str, ...]) -> list[str]:
    """The keys of the table at this path."""
    for key in (key for key in path if isinstance(key, str)):
        annotation = model.model_fields[key].annotation
        model = next(
            kind for kind in (annotation, *get_args(annotation)) if hasattr(kind, "model_fields")
        )
    return [*model.model_fields]


def about_future(date: datetime.date) -> Iterator[Notice]:
    """Why scores of a date cannot be kept: it is later than tomorrow in UTC."""
    tomorrow = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(1)
    if date > tomorrow:
        yield Notice(f"date: {date} is in the future; give the date of the night")


def _about_order(config: EvaluationConfig) -> Iterator[Notice]:
    """Why the order of the rows cannot be the rank: columns are named for it."""
    if config.convention.order != "file" or config.results is None:
        return
    for name in ("score", "rank"):
        if name in config.results.columns:
            what = f"results.columns.{name}: with order=file, no {name} is read"
            yield Notice(what, SetOption("order", name, words="remove it, or write"))


def _about_items(config: EvaluationConfig) -> Iterator[Notice]:
    """Report measures of the catalog without items, and items without such measures."""
    needing = config.measure_set.of_items
    if needing and config.items is None and config.results is not None:
        yield missing_items(needing)
    is_unused = config.items is not None and not config.measure_set.of_catalog
    if is_unused and not isinstance(config, NightConfig):
        what = "items: no measure of the catalog is requested"
        yield Notice(what, Give("measures", "coverage", words="leave them out, or give"))


def missing_items(measures: Sequence[str]) -> Notice:
    """The problem that measures need a table of items, and none is given."""
    sentence = f"measures: {', '.join(measures)} needs the items of the catalog"
    ways = (Give("items", "FILE", words="give"), Give("interactions", "FILE"))
    return Notice(sentence, Either(ways))


def _contradictions(config: EvaluationConfig, chosen: Mapping[str, Any]) -> Iterator[Notice]:
    yield from _about_order(config)
    yield from _about_items(config)
    for option, value in config.measure_set.convention_options.items():
        if option in chosen and accepted(option, chosen[option]) != accepted(option, value):
            other = (
                f"measures: {option}={value} in a measure, "
                f"but {option}={show(chosen[option])} in the convention"
            )
            yield Notice(f"{other}; remove it there, or evaluate twice")
    if config.remote and config.engine == "embedded":
        yield Notice("engine: embedded, but remote names a server; remove one of them")
    if config.output:
        yield from about_future(config.date)
    if config.documents and not config.output:
        sentence = "documents: they are kept in the output, but there is none"
        yield Notice(sentence, Give("output", words="give"))
    if config.gate:
        # A gate on a published night itself checks whether the night has its cutoffs.
        all_known = isinstance(config, NightConfig) and "cutoffs" not in config.model_fields_set
        cutoffs = (
            parse_cutoffs(check.cutoff for check in config.gate.check)
            if all_known
            else config.cutoffs
        )
        has_attributes, has_weights = (
            config.query_attributes is not None,
            config.query_weights is not None,
        )
        yield from map(Notice, contradictions(config.gate, cutoffs, has_attributes, has_weights))
        return
    if config.query_weights and not isinstance(config, NightConfig):
        yield Notice("query_weights: only a gate uses it; add [gate], or remove it")
    if isinstance(config.documents, int):
        sentence = "documents: a number keeps what changed most against a gate's baseline"
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
        if not isinstance(value, Mapping):
            if value is not None:
                merged[key] = value
            continue
        below = merged.get(key, {})
        if not isinstance(below, Mapping):
            below = {"preset" if key == "convention" else "path": below}
        if key == "convention":
            # Options are replaced as a whole, even a table of gains, and a preset replaces all.
            given = {name: entry for name, entry in value.items() if entry is not None}
            inside = given if "preset" in given else {**below, **given}
        else:
            inside = _merged(below, value)
        if inside:
            merged[key] = inside
    return merged

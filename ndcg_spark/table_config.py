"""The input tables of an evaluation: where they are, in which format, and the names of their columns."""

import contextlib
import datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ndcg_spark import paths
from ndcg_spark.text import did_you_mean

Format = Literal["trec", "parquet", "orc", "csv", "tsv", "jsonl", "json", "delta", "iceberg"]


def _paths(given: object) -> object:
    listed = [given] if isinstance(given, str) else given
    return (
        [paths.expanded(path) if isinstance(path, str) else path for path in listed]
        if isinstance(listed, list)
        else listed
    )


def moment(text: str) -> datetime.datetime:
    """The time of an ISO 8601 text, in UTC if it has no time zone; ValueError if it is not valid."""
    time = datetime.datetime.fromisoformat(text)
    return time.replace(tzinfo=datetime.UTC) if time.tzinfo is None else time


def _as_of(given: object) -> object:
    """A version as a number; a time as text, in which ``{date}`` is not yet replaced."""
    if isinstance(given, datetime.date):
        return given.isoformat()
    if isinstance(given, str) and given.isascii() and given.isdecimal():
        return int(given)
    if isinstance(given, str):
        with contextlib.suppress(ValueError):
            moment(paths.dated(given, datetime.date(2000, 1, 1)))
            return given
    elif isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return given
    raise ValueError(f"{given!r} is neither a version nor a time; give a number, or a time as in 2026-11-01T06:00:00Z")


class Strict(BaseModel):
    """Settings that refuse unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TableConfig(Strict):
    """Where a table is, in which format, and the names of its columns."""

    path: Annotated[list[Annotated[str, Field(min_length=1)]], BeforeValidator(_paths), Field(min_length=1)]
    format: Format | None = None
    columns: dict[str, str] = {}
    #: The version (of Iceberg, the id of the snapshot) or time at which a Delta, Iceberg or catalog table is read.
    as_of: Annotated[int | str | None, BeforeValidator(_as_of)] = None

    #: The columns whose names can be mapped.
    names: ClassVar[tuple[str, ...]]

    @model_validator(mode="after")
    def _known_columns(self) -> Self:
        unknown = [name for name in self.columns if name not in self.names]
        if unknown:
            named = ", ".join(f"{name}{did_you_mean(name, self.names)}" for name in unknown)
            raise ValueError(f"columns maps {named}; only {', '.join(self.names)} can be mapped")
        sources = [source for source in self.columns.values() if source]
        if len(set(sources)) < len(self.columns):
            raise ValueError("columns maps to an empty name, or to one name twice; map each to another column")
        return self


class JudgmentsConfig(TableConfig):
    """The judgments (qrels). `relevance` is the grade of every judgment, whatever the files say."""

    relevance: Annotated[float, Field(allow_inf_nan=False)] | None = None
    names = ("dataset", "query_id", "doc_id", "relevance")


class ResultsConfig(TableConfig):
    """The results (runs). `run` is the name of the only run, whatever the files say."""

    run: Annotated[str, Field(min_length=1)] | None = None
    #: Whether a column or the files name the runs; None for the column or, if there is none, the files.
    run_from: Literal["file", "column"] | None = None
    names = ("dataset", "run", "query_id", "doc_id", "score", "rank")

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """Any other word in `run_from` is taken for the run's name."""
        word = given.get("run_from") if isinstance(given, dict) else None
        if word is None:
            return given
        if given.get("run") is not None:
            raise ValueError("run and run_from both name the runs; remove one of them")
        if word in ("file", "column"):
            return given
        near = did_you_mean(str(word), ("file", "column"))
        if near and str(word)[0] in "fc":
            raise ValueError(f"run_from is {word!r}{near}; use run for a run of this name")
        return {**given, "run": word, "run_from": None}


class ExcludeConfig(TableConfig):
    """Documents that are removed from the lists of their queries before these are ranked."""

    names = ("dataset", "query_id", "doc_id")


class AttributesConfig(TableConfig):
    """Attributes of queries, for slices."""

    names = ("dataset", "query_id", "attribute", "value")


class WeightsConfig(TableConfig):
    """Weights of queries, such as their share of the traffic."""

    names = ("dataset", "query_id", "weight")

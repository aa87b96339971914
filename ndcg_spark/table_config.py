"""Where the tables of an evaluation are, in which format, and what their columns are called."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ndcg_spark import paths
from ndcg_spark.plain import did_you_mean

Format = Literal["trec", "parquet", "orc", "csv", "tsv", "jsonl", "json"]


def _paths(given: object) -> object:
    listed = [given] if isinstance(given, str) else given
    return (
        [paths.expanded(path) if isinstance(path, str) else path for path in listed]
        if isinstance(listed, list)
        else listed
    )


class Strict(BaseModel):
    """Settings of which every key must be known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TableConfig(Strict):
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
    """The judgments (qrels). `relevance` is the grade of every one, whatever the files say."""

    relevance: Annotated[float, Field(allow_inf_nan=False)] | None = None
    names = ("dataset", "query_id", "doc_id", "relevance")


class ResultsConfig(TableConfig):
    """The results (runs). `run` names the run, whatever the files say."""

    run: Annotated[str, Field(min_length=1)] | None = None
    #: Whether rows or files name the runs; None: files where rows do not.
    run_from: Literal["file", "column"] | None = None
    names = ("dataset", "run", "query_id", "doc_id", "score", "rank")

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """`run_from` with any other word is the run's name."""
        word = given.get("run_from") if isinstance(given, dict) else None
        if word is None:
            return given
        if given.get("run") is not None:
            raise ValueError("run and run_from both say how runs are named; give one of them")
        return given if word in ("file", "column") else {**given, "run": word, "run_from": None}


class ExcludeConfig(TableConfig):
    """The documents that leave the lists of their queries before these are ranked."""

    names = ("dataset", "query_id", "doc_id")


class AttributesConfig(TableConfig):
    """Attributes of queries, for slices."""

    names = ("dataset", "query_id", "attribute", "value")


class WeightsConfig(TableConfig):
    """Weights of queries, such as their share of the traffic."""

    names = ("dataset", "query_id", "weight")

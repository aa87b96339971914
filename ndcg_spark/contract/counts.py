"""What holding a table to its rules comes to: how many rows, which queries, which breaches."""

import dataclasses
from collections.abc import Mapping

from ndcg_spark.inputs.run_files import SplitRun


@dataclasses.dataclass(frozen=True)
class Breach:
    """Rows of a table that are refused for one reason, a code of `rules.RULES`."""

    table: str
    reason: str
    rows: int
    example: str


@dataclasses.dataclass(frozen=True)
class JudgmentCounts:
    """What a scan of the judgments found."""

    rows: int
    #: Judged queries by dataset; the dataset is None where the table does not name it.
    queries: Mapping[str | None, int]
    breaches: list[Breach]
    #: The same for the same rows in any order, from any format: 16 hexadecimal digits.
    fingerprint: str = ""


@dataclasses.dataclass(frozen=True)
class RunCounts:
    """What a scan of the results found of one run."""

    dataset: str | None
    run: str
    rows: int
    judged_queries: int
    unjudged_queries: int
    #: Rows of the queries that nobody judged.
    unjudged_rows: int = 0


@dataclasses.dataclass(frozen=True)
class ResultCounts:
    """What a scan of the results found."""

    rows: int
    runs: list[RunCounts]
    breaches: list[Breach]
    #: As of JudgmentCounts.
    fingerprint: str = ""
    #: Judged queries with a list whose ranks do not tell its best rows; None if nobody asked, or they are too many.
    whole_queries: tuple[str, ...] | None = None
    #: Runs of which a query stands in two units of files, which `inputs.run_files` explains.
    split_runs: tuple[SplitRun, ...] = ()

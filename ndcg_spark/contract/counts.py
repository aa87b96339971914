"""Counts of a checked table: rows, queries, runs, and rows that break a rule."""

import dataclasses
from collections.abc import Mapping

from ndcg_spark.scoring.pruning import Untrusted


@dataclasses.dataclass(frozen=True)
class Breach:
    """How many rows of a table break one rule. `reason` is the code of the rule, a key of `rules.RULES`."""

    table: str
    reason: str
    rows: int
    example: str


@dataclasses.dataclass(frozen=True)
class JudgmentCounts:
    """Counts of the judgments."""

    rows: int
    #: How many queries are judged, by dataset; None is the dataset of a table that names none.
    queries: Mapping[str | None, int]
    #: Which rules bad rows break; filled by `rows.InputRows.with_breaches`.
    breaches: list[Breach] = dataclasses.field(default_factory=list)
    #: How many rows break a rule.
    bad: int = 0
    #: 16 hexadecimal digits: the same for the same rows, whatever their order and the format of the files.
    fingerprint: str = ""
    #: The fingerprint of each dataset's rows, by dataset as in `queries`.
    fingerprints: Mapping[str | None, str] = dataclasses.field(default_factory=dict)
    #: The largest grade; None if there is no good row.
    best_grade: float | None = None


@dataclasses.dataclass(frozen=True)
class RunCounts:
    """Counts of the good rows of one run."""

    dataset: str | None
    run: str
    rows: int
    judged_queries: int
    unjudged_queries: int
    #: Rows of unjudged queries.
    unjudged_rows: int = 0
    #: How many queries have at least two results, how many of these have only one score, and how many may have the
    #: scores 1, 2, 3, ... or 0, 1, 2, ..., like ranks.
    lists: int = 0
    tied_lists: int = 0
    counting_lists: int = 0
    #: The largest absolute score; None if there is no score.
    largest_score: float | None = None
    #: Of the lists whose scores differ, how many have a rank 0 or 1, and in how many of those that rank has the lowest
    #: score. Of all lists, those that have the rank 1 twice. All 0 unless both ranks and scores are read.
    ranked_lists: int = 0
    reversed_lists: int = 0
    repeated_lists: int = 0
    #: Lists that have the rank 1 with different scores, and the query of one; see `aggregates.ranks_beside_scores`.
    merged_lists: int = 0
    merged_query: str | None = None


@dataclasses.dataclass(frozen=True)
class ResultCounts:
    """Counts of the results."""

    rows: int
    runs: list[RunCounts]
    #: The next four fields are as in JudgmentCounts.
    breaches: list[Breach] = dataclasses.field(default_factory=list)
    bad: int = 0
    fingerprint: str = ""
    fingerprints: Mapping[str | None, str] = dataclasses.field(default_factory=dict)
    #: The lists whose ranks are not the order of their scores; None without pruning.
    untrusted: Untrusted | None = None
    #: Good rows that the table `exclude` removes from the lists; the runs are counted without them.
    excluded: int = 0

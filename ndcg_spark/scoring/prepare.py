"""Decide in one place what is scored: two tables and options become the input of the metric.

A guard enforces the rules for rows. The caller chooses one of two guards: `contract.counting`
counts the rows that break a rule in one scan and then refuses the table. With `scoring.raising`,
the plan raises at the first such row.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame

from ndcg_spark import rules
from ndcg_spark.config import Options
from ndcg_spark.convention.convention import Convention, counted_grade
from ndcg_spark.convention.measures import Cutoff, MeasureSet
from ndcg_spark.errors import ConfigurationError, about
from ndcg_spark.rules import RowTest
from ndcg_spark.schemas import EXCLUDE, JUDGMENTS, RESULTS
from ndcg_spark.scoring.evaluation import Evaluation, new_id
from ndcg_spark.scoring.ideal import gain
from ndcg_spark.scoring.ranking import Ranker, by_window, list_by_list
from ndcg_spark.steps import report_step


class UserTable(Protocol):
    """A user's table, its name in messages, and where its rows come from."""

    @property
    def table(self) -> DataFrame: ...
    @property
    def name(self) -> str: ...
    @property
    def origin(self) -> str: ...


class Tables(NamedTuple):
    judgments: UserTable
    results: UserTable
    #: The documents to remove from the lists.
    exclude: UserTable | None


class ListChecks(NamedTuple):
    """The rules that a guard enforces for results, and what else it needs to know about them."""

    convention: Convention
    cutoffs: Sequence[Cutoff]
    tests: Sequence[RowTest]
    #: The tests for the table of documents to remove, and the columns that it shares with the
    #: results.
    exclude_tests: Sequence[RowTest]
    exclude_key: Sequence[str]
    #: Whether there are ranks next to the scores that decide the order. They may contradict them.
    has_ranks_beside_scores: bool
    #: Whether a list with two results of rank 1 may be two lists of two runs.
    may_have_two_runs: bool
    #: Whether lists of unjudged queries are also measured.
    needs_all_lists: bool


class Checks(NamedTuple):
    """What a guard enforces."""

    judgments: Sequence[RowTest]
    results: ListChecks


class ListsToScore(NamedTuple):
    """Results that are scored together: the results of judged queries that can matter."""

    results: DataFrame
    #: One row per run: unjudged_queries, and its dataset if the tables name datasets.
    runs: DataFrame


class Guarded(Protocol):
    """The tables after a guard has enforced the rules."""

    @property
    def judgments(self) -> DataFrame: ...
    @property
    def highest_grade(self) -> float | None:
        """The highest grade of all judgments; None if it is unknown until scores are computed."""

    def to_score(self, rank: Ranker) -> Sequence[ListsToScore]:
        """The results and their runs, for this way to rank them; usually one pair."""


_Guarded = TypeVar("_Guarded", bound=Guarded)


@dataclasses.dataclass(frozen=True)
class Prepared(Generic[_Guarded]):
    """The lists to score, and the evaluation that scores them."""

    judgments: DataFrame
    lists: Sequence[ListsToScore]
    evaluation: Evaluation
    #: What the guard returned, such as the counts of a scan.
    guarded: _Guarded


def prepare(
    tables: Tables,
    options: Options,
    guard: Callable[[Checks], _Guarded],
    *,
    is_sail: bool,
) -> Prepared[_Guarded]:
    """Prepare two tables for scoring. `guard` fits these tables, which are on Sail or on Spark.

    Raises ConfigurationError if a dataset is named twice or a measure needs one order of ties,
    InputError if a column is missing or has a wrong type, and the errors of the guard.
    """
    judged = _columns(tables.judgments, JUDGMENTS)
    returned = _columns(tables.results, RESULTS)
    convention = ordered(options.convention, returned)
    rules.require_columns(judged, returned, convention, tables.results.origin)
    if "dataset" in judged and options.is_dataset_chosen:
        what = f"dataset: {options.dataset!r} is given, but the tables name their datasets"
        raise ConfigurationError(f"{what}; remove it or the column")
    options = options._replace(convention=convention)
    checks = Checks(
        judgment_tests(dict(tables.judgments.table.dtypes), convention),
        _list_checks(tables.results, tables.exclude, options),
    )
    guarded = guard(checks)
    convention = with_highest_grade(convention, options.measures, lambda: guarded.highest_grade)
    rank = list_by_list if is_sail else by_window
    evaluation = Evaluation(
        convention,
        options.cutoffs,
        options.evaluated_on,
        new_id(),
        options.dataset,
        rank,
        options.measures,
    )
    return Prepared(guarded.judgments, guarded.to_score(rank), evaluation, guarded)


def prepare_judgments(judgments: UserTable, convention: Convention) -> list[RowTest]:
    """The tests that a guard enforces for judgments that are compared with other judgments."""
    _columns(judgments, JUDGMENTS)
    return judgment_tests(dict(judgments.table.dtypes), convention)


def judgment_tests(types: Mapping[str, str], convention: Convention) -> list[RowTest]:
    """The tests of judgments under a convention; `types` has every column's type."""
    grade = f"coalesce({rules.typed_sql('relevance', types)}, 0D)"
    return rules.judgment_rules(types, gain(grade, convention), convention)


def prepare_lists(results: UserTable, exclude: UserTable | None, options: Options) -> ListChecks:
    """The rules that a guard enforces for results that are ranked without judgments."""
    columns = _columns(results, RESULTS)
    convention = ordered(options.convention, columns)
    rules.require_columns(columns, columns, convention, results.origin)
    return _list_checks(results, exclude, options._replace(convention=convention))


def _list_checks(results: UserTable, exclude: UserTable | None, options: Options) -> ListChecks:
    convention = options.convention
    columns = _columns(results, RESULTS)
    exclude_tests: list[RowTest] = []
    exclude_key: list[str] = []
    if exclude is not None:
        excluded = _columns(exclude, EXCLUDE)
        exclude_tests = rules.name_rules(dict(exclude.table.dtypes), EXCLUDE.names)
        exclude_key = [name for name in excluded if name in columns]
    has_both = convention.order == "score" and {"score", "rank"} <= set(columns)
    return ListChecks(
        convention,
        options.cutoffs,
        rules.result_rules(dict(results.table.dtypes), convention),
        exclude_tests,
        exclude_key,
        has_ranks_beside_scores=has_both,
        may_have_two_runs=has_both and not options.is_order_chosen,
        needs_all_lists=bool(options.measures.of_catalog),
    )


def ordered(convention: Convention, results: Sequence[str]) -> Convention:
    """The convention for results with these columns; ranks decide the order if scores are
    missing.
    """
    needed = rules.options_without_scores(convention, results)
    changed = []
    for option, value in needed.items():
        if getattr(convention, option) != value:
            changed.append(f"{option}={value}")
    if not changed:
        return convention
    sentence = f"results without scores are ranked by their ranks: {', '.join(changed)}"
    report_step("adapted", sentence)
    return convention.replace(**needed)


def with_highest_grade(
    convention: Convention,
    measures: MeasureSet,
    find: Callable[[], float | None],
) -> Convention:
    """The convention, with the highest grade if its measures compare grades with it.

    `find` returns the highest grade of all judgments, or None if it is not known yet. The
    convention records it, so nights whose judgments have different highest grades have different
    conventions.
    """
    if not measures.needs_highest_grade or convention.max_grade != "highest":
        return convention
    highest = find()
    if highest is None:
        return convention
    counted = counted_grade(highest, convention)
    return convention.replace(max_grade=counted if counted > 0 else 1.0)


def _columns(table: UserTable, schema: pa.Schema) -> list[str]:
    """The table's columns in the schema; InputError if one is missing or has a wrong type."""
    with about(table.name, table.origin):
        return rules.require_schema(table.table, schema)

"""Evaluation, and the comparison of lists and judgments, as functions of files or tables."""

import datetime
import inspect
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate

from ndcg_spark.api import tasks, worker
from ndcg_spark.api.scores import Scores
from ndcg_spark.api.worker import Arguments, Result
from ndcg_spark.config import (
    EvaluationConfig,
    NightConfig,
    TableConfig,
    TablesConfig,
    about_future,
    validate,
)
from ndcg_spark.convention.convention import Convention, parse_label
from ndcg_spark.convention.measures import DEFAULT_CUTOFFS
from ndcg_spark.convention.options import OPTIONS
from ndcg_spark.convention.parsing import listed
from ndcg_spark.errors import ConfigurationError, NdcgSparkError, about
from ndcg_spark.inputs.column_names import resolve_columns
from ndcg_spark.inputs.memory import RUN, is_spark, to_arrow
from ndcg_spark.inputs.one_table import is_one_table, refuse_one_column
from ndcg_spark.inputs.row_documents import COLUMNS as ROW_COLUMNS
from ndcg_spark.parquet_files import write_table
from ndcg_spark.schemas import EXCLUDE, ITEMS, JUDGMENTS, RESULTS
from ndcg_spark.scratch import PREFIX, Scratch
from ndcg_spark.tables.writers import to_pandas
from ndcg_spark.text import did_you_mean

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

    from ndcg_spark.engine import Engine

#: Each table's columns. A table of attributes has other columns.
_COLUMNS = {
    "judgments": JUDGMENTS.names,
    "results": RESULTS.names,
    "exclude": EXCLUDE.names,
    "items": ITEMS.names,
    "interactions": ["query_id", "doc_id"],
}
Cutoffs = int | str | Iterable[int | None] | None


def evaluate(
    judgments: Any,
    results: Any,
    cutoffs: Cutoffs = DEFAULT_CUTOFFS,
    convention: Convention | str | Mapping[str, Any] = "standard",
    *,
    measures: Iterable[object] | str = (),
    relevance: float | None = None,
    grades: Mapping[str, float] | None = None,
    attributes: Any = None,
    exclude: Any = None,
    run: str | None = None,
    split_ids: Mapping[str, str] | None = None,
    items: Any = None,
    items_users: int | None = None,
    interactions: Any = None,
    dataset: str = "default",
    evaluated_on: datetime.date | None = None,
    session: "SparkSession | None" = None,
    **options: Any,
) -> Any:
    """Compute NDCG at every cutoff, and other requested measures, for every run, per query and per
    dataset.

    A table is a path or a list of paths (files, folders and globs in every format that the command
    reads), a pandas or Polars DataFrame, a pyarrow Table, a dictionary of columns, a list of tuples
    (query, document, number) or of ir_measures' own tuples, or a dictionary: {query: {document:
    grade or score}}, {query: [document, ...]}, or {run: table}, but not {run: path}. It may have a
    row per query with a list of documents, and lists of their scores or grades or one list of both,
    as `recommendForAllUsers` of Spark's ALS returns. A position in a list is a rank.

    Everything is checked and scored at once in a separate process, with the embedded engine if it
    is installed. Spark DataFrames are scored by their session when the scores are used. The same
    applies to everything except paths if `session` is given or one table is a Spark DataFrame; in
    that case, read files with `spark.read`.

    If `judgments` and `results` are the same table, with grades and scores but no documents, as
    rankers produce it, each row is a document named by its row number. This does not work for
    Spark DataFrames, whose rows have no order.

    Returns `Scores` in pandas: `table()` has a row per run and a column per measure,
    `per_query("ndcg@10")` has a row per query, and `dataset_scores` and `query_scores` contain
    everything. For Spark it returns `SparkScores`, with the last two as lazy DataFrames, which
    `to_pandas()` computes. Raises ConfigurationError for an option, InputError for a table or a row
    that is refused, StorageError for a remote path that cannot be read, and EngineError. Spark rows
    are checked when the scores are used; a Spark exception then contains ``ndcg_spark refuses``.

    Parameters
    ----------
    judgments, results : table
        Columns query_id, doc_id and relevance; run, query_id, doc_id, and score or rank; and
        dataset in both, or the names that other tools give these columns. Results without a run
        are one run called `run`, and files are runs named after their files. Without scores, ranks
        give the order.
    cutoffs : int, None or several of them
        Ranks, starting at 1; None or "all" for the whole ranking.
    convention : Convention, str or dict
        Which NDCG to compute: a Convention, a preset, optionally followed by options, such as
        ``trec_eval order=score``, or a dictionary of options, which may contain `preset`.
    measures : str or several of them
        Names such as `precision`, computed at every cutoff, or the names that papers and
        ir_measures use, each with its own cutoff: `P@5`, `AP`, `RBP(p=0.5)`. Runs are ordered by
        the first measure.
    relevance : float, optional
        The grade of every judgment; overrides the table's grades. Use 1 for clicks and purchases,
        which have no grades.
    grades : dict, optional
        The grades of labels, if the judgments have labels instead of grades, such as ``{"Exact": 2,
        "Partial": 1, "Irrelevant": 0}``. Blanks around labels are ignored.
    attributes : table, optional
        For slices: query_id, attribute and value, or query_id and a column for each attribute. A
        Spark DataFrame is fetched.
    exclude : table, optional
        query_id and doc_id of documents to remove from the lists before they are ranked, such as
        items already seen.
    run, dataset : str
        The name of the only run, which overrides names in the results; the dataset's name if
        the tables have no column for it.
    split_ids : dict, optional
        If a cell contains several ids, best first, the separator between them, by table:
        ``{"results": "blank"}``, or comma, semicolon or pipe.
    items : table, optional
        For catalog measures, a row per item: doc_id and, if the measures need them,
        popularity (how many users used it), interactions (how often) and category.
    items_users : int, optional
        The number of users that `popularity` was counted over.
    interactions : table, optional
        Earlier interactions to count items from instead: a user and an item in every row.
    evaluated_on : date, optional
        The date of the scores; by default today in UTC.
    session : SparkSession, optional
        The session that scores the tables, if none of them is one of its DataFrames.
    **options
        Options of the convention to change, such as ``gain="linear"``.

    Examples
    --------
    >>> judgments = {"q1": {"d1": 2, "d2": 0, "d3": 1}}
    >>> results = {"q1": {"d3": 0.9, "d1": 0.8, "d2": 0.1}}
    >>> scores = evaluate(judgments, results, 10, "trec_eval", measures="ndcg AP")
    >>> scores.table().round(4)  # (1 + 2 / log2(3)) / (2 + 1 / log2(3))
         ndcg@10   AP
    run   0.8597  1.0
    """
    settings: dict[str, Any] = {
        "convention": changed_convention(convention, options, evaluate),
        "dataset": dataset,
    }
    if evaluated_on:
        settings["date"] = evaluated_on
    if cutoffs is not DEFAULT_CUTOFFS:
        settings["cutoffs"] = cutoffs
    # `measures != ()` would be an array if the measures are a numpy array.
    if not isinstance(measures, tuple) or measures:
        settings["measures"] = list(map(str, listed(measures)))
    tables = {
        "judgments": judgments,
        "results": results,
        "exclude": exclude,
        "query_attributes": attributes,
    }
    refuse_separators(split_ids or {}, tables)
    if is_for_session(tables, session):
        from ndcg_spark.api.spark_tables import GivenItems, evaluate_tables

        all_settings = {
            **as_configured(settings),
            "relevance": relevance,
            "grades": grades,
            "run": run,
            "split_ids": dict(split_ids or {}),
            "items_users": items_users,
        }
        tables_config = validate(all_settings, "arguments", TablesConfig)
        _refuse_future(tables_config)
        return evaluate_tables(tables, tables_config, session, GivenItems(items, interactions))
    scratch = Scratch()
    settings |= items_settings(items, interactions, items_users, scratch)
    config = make_config(tables, settings, scratch, relevance, run, split_ids, grades)
    _refuse_future(config)
    evaluated = compute(tasks.evaluate, config, str(scratch.folder()))
    return Scores(
        evaluated.dataset_scores,
        evaluated.query_scores,
        evaluated.measures,
        config,
        scratch,
        evaluated.attributes,
        evaluated.datasets_without_results,
        evaluated.items_fingerprint,
    )


def compare_lists(
    old: Any,
    new: Any,
    cutoffs: Cutoffs = 10,
    convention: Convention | str = "standard",
    *,
    baseline: str | None = None,
    persistence: float = 0.9,
    exclude: Any = None,
    dataset: str = "default",
) -> "pd.DataFrame":
    """Measure how much the list of every query changed, without judgments, as `compare-lists` does.

    `old`, `new` and `exclude` are tables as `evaluate` takes them; `old` and `new` may be the same
    results. Runs are paired by name, or all new runs are compared with the old run `baseline`.
    `persistence` is the p of rank-biased overlap. The convention gives the order, ties and
    discount. Documents that it would remove because of their judgments are kept. The table has a
    row per run, cutoff and query of either side: LIST_CHANGES in COMPARING.md. Raises the same
    errors as `evaluate`, and ConfigurationError if a cutoff is not a rank, the order depends on
    judgments, or there is no run to compare.

    Examples
    --------
    >>> changes = compare_lists({"q": list("abcde")}, {"q": list("bacde")}, 5)
    >>> changes[["same_order", "jaccard", "rbo", "moved_discount"]].round(6)
       same_order  jaccard  rbo  moved_discount
    0       False      1.0  0.9        0.125174
    """
    settings = {"convention": convention, "dataset": dataset, "cutoffs": cutoffs}
    scratch = Scratch()
    old_lists = make_config({"results": old, "exclude": exclude}, settings, scratch)
    new_lists = make_config({"results": new, "exclude": exclude}, settings, scratch)
    return to_pandas(compute(tasks.compare_lists, old_lists, new_lists, baseline, persistence))


def compare_judgments(
    a: Any,
    b: Any,
    results: Any = None,
    cutoff: int | None = 10,
    convention: Convention | str = "standard",
    *,
    dataset: str = "default",
    grades: Mapping[str, float] | None = None,
) -> "pd.DataFrame":
    """Measure how far two sets of judgments agree and, with results, whether they rank the runs in
    the same order.

    Tables can have any form that `evaluate` accepts. The convention says which grades are used.
    Runs are ranked by its NDCG at the cutoff (None is the whole ranking), over the queries that
    both sets judge. `grades` are the grades of labels in both sets. The table has a row per
    dataset: AGREEMENTS in COMPARING.md. Raises the same errors as `evaluate`, and InputError for
    more than 100 different grades or, with results, if no query is judged in both sets.

    Examples
    --------
    >>> ours, theirs = {"d1": 1, "d2": 0, "d3": 1, "d4": 0}, {"d1": 1, "d2": 0, "d3": 0}
    >>> table = compare_judgments({"q": ours}, {"q": theirs})
    >>> table[["pairs", "only_a", "kappa", "kappa_quadratic", "alpha"]].round(4).iloc[0].tolist()
    [3.0, 1.0, 0.4, 0.4, 0.4444]
    """
    settings = {"convention": convention, "dataset": dataset, "cutoffs": [cutoff]}
    scratch = Scratch()
    tables = {"judgments": a}
    if results is not None:
        tables["results"] = results
    config_a = make_config(tables, settings, scratch, grades=grades)
    config_b = make_config({"judgments": b}, settings, scratch, grades=grades)
    return to_pandas(compute(tasks.compare_judgments, config_a, config_b))


def make_config(
    tables: Mapping[str, Any],
    settings: Mapping[str, Any],
    scratch: Scratch,
    relevance: float | None = None,
    run: str | None = None,
    split_ids: Mapping[str, str] | None = None,
    grades: Mapping[str, float] | None = None,
) -> EvaluationConfig:
    """The configuration of a job for these tables, by their names, and these settings.

    Tables in memory are written to a folder of `scratch`; paths are used as they are.
    """
    configured = as_configured(settings)
    separators = split_ids or {}
    sections = _sections(
        tables,
        scratch,
        is_graded=relevance is None,
        position_is_rank="results" in separators or _order(configured["convention"]) == "file",
    )
    for name, separator in separators.items():
        sections.setdefault(name, {})["split_ids"] = separator
    settings_of_tables = [
        ("judgments", "relevance", relevance),
        ("judgments", "grades", grades),
        ("results", "run", run),
    ]
    for name, setting, value in settings_of_tables:
        if value is not None:
            sections.setdefault(name, {})[setting] = value
    return validate({**configured, **sections}, "arguments", NightConfig)


def _sections(
    tables: Mapping[str, Any], scratch: Scratch, *, is_graded: bool, position_is_rank: bool
) -> dict[str, dict[str, Any]]:
    """The sections of these tables in a configuration, by their names.

    `is_graded`: whether judgments have a column of grades.
    """
    if is_graded:
        with about("results"):
            refuse_one_column(tables.get("judgments"), tables.get("results"))
    sections: dict[str, dict[str, Any]] = {}
    separate_tables = dict(tables)
    if is_one_table(tables.get("judgments"), tables.get("results")):
        table = separate_tables.pop("judgments")
        del separate_tables["results"]
        sections = _sections_of_one_table(table, scratch, is_graded=is_graded)
    for name, table in separate_tables.items():
        is_left_out = table is None and name not in ("judgments", "results")
        if is_left_out:
            continue
        unread = set() if is_graded else {"relevance"}
        if name == "results" and position_is_rank:
            unread = {"score", "rank"}
        sections[name] = _section(table, name, unread, scratch)
    return sections


def items_settings(
    items: Any, interactions: Any, users: int | None, scratch: Scratch
) -> dict[str, dict[str, Any]]:
    """The section `items` of a configuration, or no section if nothing is given."""
    section: dict[str, Any] = {}
    if items is not None:
        section |= _section(items, "items", (), scratch)
    if interactions is not None:
        section["interactions"] = _section(interactions, "interactions", (), scratch)
    if users is not None:
        section["users"] = users
    return {"items": section} if section else {}


def _order(convention: Any) -> str:
    """The order that a convention names, or "" if it is not a convention (reported later)."""
    if isinstance(convention, Mapping):
        return str(convention.get("order", ""))
    return str(getattr(convention, "order", ""))


def is_for_session(tables: Mapping[str, Any], session: object) -> bool:
    """Whether a Spark session computes the result: the given session, or that of a table."""
    if session is not None and not is_spark(session):
        what = f"session: give a SparkSession, not a {type(session).__name__}"
        raise ConfigurationError(f"{what}; open_session() opens one")
    return session is not None or any(map(is_spark, tables.values()))


def refuse_separators(separators: Mapping[str, str], tables: Mapping[str, Any]) -> None:
    """Raise ConfigurationError for the separator of a table that is absent, or cannot have one."""
    given = [name for name in ("judgments", "results", "exclude") if tables.get(name) is not None]
    for name in separators:
        if name not in given:
            what = f"{name!r} is not one of the given tables, {', '.join(given)}"
            raise ConfigurationError(f"split_ids: {what}")


def _refuse_future(config: EvaluationConfig) -> None:
    problems = list(about_future(config.date))
    if problems:
        raise ConfigurationError.of_problems("arguments", problems)


def changed_convention(
    convention: Convention | str | Mapping[str, Any],
    options: Mapping[str, Any],
    function: Callable[..., Any],
) -> Any:
    """The convention with the options given to a function, in the form used by a configuration:
    ``{"preset": "trec_eval", "gain": "linear"}``.
    """
    unknown = [name for name in options if name not in OPTIONS]
    if unknown:
        name = unknown[0]
        near = did_you_mean(name, [*OPTIONS, *inspect.signature(function).parameters])
        problem = f"{function.__name__}: unknown argument {name}{near}"
        known = ", ".join(OPTIONS)
        raise ConfigurationError(f"{problem}; options of a convention are {known}")
    if not options:
        return convention
    if isinstance(convention, Mapping):
        return {**convention, **options}
    label = convention.label if isinstance(convention, Convention) else str(convention)
    return {**parse_label(label), **options}


def as_configured(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an evaluation in the form used by a configuration."""
    configured = dict(settings)
    if isinstance(settings["convention"], str):
        configured["convention"] = parse_label(settings["convention"])
    if settings.get("dataset") == "default":
        # Nobody has named the dataset, so the tables may name several.
        del configured["dataset"]
    return configured


def compute(
    function: "Callable[Concatenate[Engine, Arguments], Result]",
    *arguments: Arguments.args,
    **options: Arguments.kwargs,
) -> Result:
    """Return what a function computes in the worker, and repeat its warnings.

    In messages, the paths of temporary files are replaced by "the table".
    """
    written: list[str] = []
    for argument in arguments:
        if isinstance(argument, EvaluationConfig):
            written.extend(_written_files(argument))
    try:
        value, notices = worker.call(function, *arguments, **options)
    except NdcgSparkError as error:
        error.args = (_without(written, error.sentence), *error.args[1:])
        raise
    for notice in notices:
        warnings.warn(_without(written, str(notice)), stacklevel=3)
    return value


def _written_files(config: EvaluationConfig) -> list[str]:
    """The files that were written for tables of a configuration."""
    tables: list[TableConfig | None] = [
        config.judgments,
        config.results,
        config.exclude,
        config.items,
    ]
    if config.items is not None:
        tables.append(config.items.interactions)
    written: list[str] = []
    for table in tables:
        if table is not None:
            written.extend(path for path in table.path if f"/{PREFIX}" in path)
    return written


def _without(paths: Iterable[str], sentence: str) -> str:
    for path in paths:
        sentence = sentence.replace(path, "the table")
    return sentence


def _sections_of_one_table(
    table: Any, scratch: Scratch, *, is_graded: bool
) -> dict[str, dict[str, Any]]:
    """The sections of judgments and results for one file, in which each row is a document."""
    names = [name for name in ROW_COLUMNS if is_graded or name != "relevance"]
    with about("results"):
        rows = to_arrow(table, names)
    path = f"{scratch.folder()}/table.parquet"
    write_table(rows, Path(path), keeps_arrow_types=True)
    run = {} if "run" in rows.column_names else {"run": RUN}
    return {"judgments": {"path": path}, "results": {"path": path, **run}}


def _section(table: Any, name: str, unread: Collection[str], scratch: Scratch) -> dict[str, Any]:
    """The section of a table in a configuration: its paths, or a file that is written for it.

    Columns in `unread` are ignored. For example, the user may give one grade for all rows. Then no
    column of grades is needed, and two such columns are not ambiguous.
    """
    paths = _paths_in(table)
    if paths:
        return {"path": paths}
    columns = [column for column in _COLUMNS.get(name, ()) if column not in unread]
    with about(name):
        rows = to_arrow(table, columns or None)
        names_runs = "run" in resolve_columns({}, ["run"], rows.column_names)
    path = f"{scratch.folder()}/{name}.parquet"
    write_table(rows, Path(path), keeps_arrow_types=True)
    section = {"path": path}
    if name == "results" and not names_runs:
        section["run"] = RUN
    return section


def _paths_in(table: Any) -> list[str]:
    """The paths, if the argument for a table is a path or several of them; empty if it is not."""
    paths = [table] if isinstance(table, str | os.PathLike) else table
    if not isinstance(paths, list | tuple):
        return []
    if not all(isinstance(path, str | os.PathLike) for path in paths):
        return []
    return [os.fspath(path) for path in paths]

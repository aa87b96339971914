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

#: The columns that are looked up; attributes have their own names.
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
        The name of the only run, which overrides names in the results; the name of the dataset if
        the tables have no column for it.
    split_ids : dict, optional
        If a cell contains several ids, best first, the separator between them, by table:
        ``{"results": "blank"}``, or comma, semicolon or pipe.
    items : table, optional
        For measures of the catalog, a row per item: doc_id and, if the measures need them,
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
    settings: dict[str, Any] = {"date": evaluated_on} if evaluated_on else {}
    settings |= {} if cutoffs is DEFAULT_CUTOFFS else {"cutoffs": cutoffs}
    # Of an array of numpy, `measures == ()` is no answer.
    if not isinstance(measures, tuple) or measures:
        settings["measures"] = list(map(str, listed(measures)))
    changed = changed_convention(convention, options, evaluate)
    settings |= {"convention": changed, "dataset": dataset}
    tables, scratch = {"judgments": judgments, "results": results, "exclude": exclude}, Scratch()
    tables["query_attributes"] = attributes
    of_catalog = {"items": items, "interactions": interactions}
    refuse_separators(split_ids or {}, tables)
    if is_for_session(tables, session):
        from ndcg_spark.api.spark_tables import GivenItems, evaluate_tables

        given = {**as_chosen(settings), "relevance": relevance, "grades": grades, "run": run}
        given |= {"split_ids": dict(split_ids or {}), "items_users": items_users}
        tables_config = validate(given, "arguments", TablesConfig)
        _refuse_future(tables_config)
        catalog = GivenItems(items, interactions)
        return evaluate_tables(tables, tables_config, session, catalog)
    settings |= items_given(of_catalog, items_users, scratch)
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

    `old` and `new` are results as `evaluate` takes them, or the same results; `exclude` is given in
    the same way. Runs are paired by name, or all new runs are compared with the old run `baseline`.
    `persistence` is the p of rank-biased overlap. The convention gives the order, ties and
    discount. Documents that it would remove because of their judgments are kept. The table has a
    row per run, query of either side, and cutoff: LIST_CHANGES in COMPARING.md. Raises the same
    errors as `evaluate`, and ConfigurationError if a cutoff is not a rank, the order depends on
    judgments, or there is no run to compare.

    Examples
    --------
    >>> changes = compare_lists({"q": list("abcde")}, {"q": list("bacde")}, 5)
    >>> changes[["same_order", "jaccard", "rbo", "moved_discount"]].round(6)
       same_order  jaccard  rbo  moved_discount
    0       False      1.0  0.9        0.125174
    """
    settings, scratch = (
        {"convention": convention, "dataset": dataset, "cutoffs": cutoffs},
        Scratch(),
    )
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

    All tables are given as `evaluate` takes them. The convention says which grades are used. Runs
    are ranked by its NDCG at the cutoff (None is the whole ranking), over the queries that both
    sets judge. `grades` are the grades of labels, for both sets. The table has a row per dataset:
    AGREEMENTS in COMPARING.md. Raises the same errors as `evaluate`, and InputError for more than
    100 grades or, with results, if no query is judged by both.

    Examples
    --------
    >>> ours, theirs = {"d1": 1, "d2": 0, "d3": 1, "d4": 0}, {"d1": 1, "d2": 0, "d3": 0}
    >>> table = compare_judgments({"q": ours}, {"q": theirs})
    >>> table[["pairs", "only_a", "kappa", "kappa_quadratic", "alpha"]].round(4).iloc[0].tolist()
    [3.0, 1.0, 0.4, 0.4, 0.4444]
    """
    settings, scratch = (
        {"convention": convention, "dataset": dataset, "cutoffs": [cutoff]},
        Scratch(),
    )
    first = {"judgments": a}
    if results is not None:
        first["results"] = results
    one = make_config(first, settings, scratch, grades=grades)
    other = make_config({"judgments": b}, settings, scratch, grades=grades)
    return to_pandas(compute(tasks.compare_judgments, one, other))


def make_config(
    tables: Mapping[str, Any],
    settings: Mapping[str, Any],
    scratch: Scratch,
    relevance: float | None = None,
    run: str | None = None,
    split_ids: Mapping[str, str] | None = None,
    grades: Mapping[str, float] | None = None,
) -> EvaluationConfig:
    """The configuration of a job for tables, which are written to a folder of `scratch`, and for
    files.
    """
    sections: dict[str, dict[str, Any]] = {}
    chosen = as_chosen(settings)
    separators = split_ids or {}
    separate_tables = dict(tables)
    if relevance is None:
        with about("results"):
            refuse_one_column(tables.get("judgments"), tables.get("results"))
    if is_one_table(tables.get("judgments"), tables.get("results")):
        sections = _one_input(separate_tables.pop("judgments"), relevance is None, scratch)
        del separate_tables["results"]
    position_is_rank = "results" in separators or _order(chosen["convention"]) == "file"
    for name, table in separate_tables.items():
        if table is None and name not in ("judgments", "results"):
            continue
        not_read = set[str]() if relevance is None else {"relevance"}
        if name == "results" and position_is_rank:
            not_read = {"score", "rank"}
        sections[name] = _input(table, name, not_read, scratch)
    for name, separator in separators.items():
        sections.setdefault(name, {})["split_ids"] = separator
    settings_of_tables = [
        ("judgments", "relevance", relevance),
        ("judgments", "grades", grades),
        ("results", "run", run),
    ]
    for name, setting, value in settings_of_tables:
        if value is not None and name in sections:
            sections[name][setting] = value
    return validate({**chosen, **sections}, "arguments", NightConfig)


def items_given(
    tables: Mapping[str, Any], users: int | None, scratch: Scratch
) -> dict[str, dict[str, Any]]:
    """The items of the catalog as configuration settings; empty if none are given."""
    given: dict[str, Any] = {}
    if tables["items"] is not None:
        given |= _input(tables["items"], "items", (), scratch)
    if tables["interactions"] is not None:
        given["interactions"] = _input(tables["interactions"], "interactions", (), scratch)
    if users is not None:
        given["users"] = users
    return {"items": given} if given else {}


def _order(convention: Any) -> str:
    """The order that a convention names, or "" if it is not a convention (reported later)."""
    if isinstance(convention, Mapping):
        return str(convention.get("order", ""))
    return str(getattr(convention, "order", ""))


def is_for_session(tables: Mapping[str, Any], session: object) -> bool:
    """Whether a session scores the tables: the given one, or the session of a table."""
    if session is not None and not is_spark(session):
        what = f"session: give a SparkSession, not a {type(session).__name__}"
        raise ConfigurationError(f"{what}; open_session() opens one")
    return session is not None or any(map(is_spark, tables.values()))


def refuse_separators(separators: Mapping[str, str], tables: Mapping[str, Any]) -> None:
    """Raise ConfigurationError for a separator of a table that is not given, or has no ids."""
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


def as_chosen(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an evaluation in the form used by a configuration; named runs are chosen."""
    label = settings["convention"]
    convention = parse_label(label) if isinstance(label, str) else label
    # Tables may contain the names of their datasets.
    others = {
        name: value for name, value in settings.items() if (name, value) != ("dataset", "default")
    }
    return {**others, "convention": convention}


def compute(
    function: "Callable[Concatenate[Engine, Arguments], Result]",
    *arguments: Arguments.args,
    **options: Arguments.kwargs,
) -> Result:
    """Return what a function computes in the worker, with its warnings as Python warnings. Tables
    written for it have no path.
    """
    configs = [config for config in arguments if isinstance(config, EvaluationConfig)]
    written = [path for config in configs for path in _written(config)]
    try:
        value, notices = worker.call(function, *arguments, **options)
    except NdcgSparkError as error:
        error.args = (_without(written, error.sentence), *error.args[1:])
        raise
    for notice in notices:
        warnings.warn(_without(written, str(notice)), stacklevel=3)
    return value


def _written(config: EvaluationConfig) -> list[str]:
    """The files that were written for tables of a configuration."""
    tables: list[TableConfig] = []
    for table in (config.judgments, config.results, config.exclude, config.items):
        if table is not None:
            tables.append(table)
    if config.items is not None and config.items.interactions is not None:
        tables.append(config.items.interactions)
    return [path for table in tables for path in table.path if f"/{PREFIX}" in path]


def _without(paths: Iterable[str], sentence: str) -> str:
    for path in paths:
        sentence = sentence.replace(path, "the table")
    return sentence


def _one_input(table: Any, is_graded: bool, scratch: Scratch) -> dict[str, dict[str, Any]]:
    """Both tables in the configuration: one file in which each row is a document."""
    names = [name for name in ROW_COLUMNS if is_graded or name != "relevance"]
    with about("results"):
        rows = to_arrow(table, names)
    path = f"{scratch.folder()}/table.parquet"
    write_table(rows, Path(path), keeps_arrow_types=True)
    run = {} if "run" in rows.column_names else {"run": RUN}
    return {"judgments": {"path": path}, "results": {"path": path, **run}}


def _input(table: Any, name: str, left_out: Collection[str], scratch: Scratch) -> dict[str, Any]:
    """A table in the configuration: its paths, or a file that is written for it.

    The columns `left_out` are not looked up: if all rows have one grade, two columns of grades are
    not ambiguous.
    """
    paths = [table] if isinstance(table, str | os.PathLike) else table
    if (
        isinstance(paths, list | tuple)
        and paths
        and all(isinstance(path, str | os.PathLike) for path in paths)
    ):
        return {"path": [os.fspath(path) for path in paths]}
    names = [column for column in _COLUMNS.get(name, ()) if column not in left_out]
    with about(name):
        rows = to_arrow(table, names or None)
        names_runs = "run" in resolve_columns({}, ["run"], rows.column_names)
    path = f"{scratch.folder()}/{name}.parquet"
    write_table(rows, Path(path), keeps_arrow_types=True)
    return {"path": path, **({} if name != "results" or names_runs else {"run": RUN})}

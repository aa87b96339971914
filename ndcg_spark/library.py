"""The evaluation as a function of files or tables."""

import datetime
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from ndcg_spark import background
from ndcg_spark.config import EvaluationConfig, validate
from ndcg_spark.convention.convention import Convention, parse_label
from ndcg_spark.convention.measures import DEFAULT_CUTOFFS, format_cutoff
from ndcg_spark.convention.parsing import listed, parse_cutoffs
from ndcg_spark.errors import ConfigurationError, NdcgSparkError, engine_imports
from ndcg_spark.inputs.memory import RUN, to_arrow
from ndcg_spark.schemas import EXCLUDE, JUDGMENTS, RESULTS
from ndcg_spark.scores import Scores, scores_frame
from ndcg_spark.scratch import Scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NDCG = ("ndcg",)
#: The columns that are looked for; attributes have names of their own.
_SCHEMAS: Mapping[str, Sequence[str] | None] = {
    "judgments": JUDGMENTS.names,
    "results": RESULTS.names,
    "exclude": EXCLUDE.names,
    "query_attributes": None,
}


def evaluate(
    judgments: Any,
    results: Any,
    cutoffs: int | str | Iterable[int | None] | None = DEFAULT_CUTOFFS,
    convention: Convention | str = "standard",
    *,
    measures: Iterable[object] | str = _NDCG,
    relevance: float | None = None,
    attributes: Any = None,
    exclude: Any = None,
    run: str | None = None,
    dataset: str = "default",
    evaluated_on: datetime.date | None = None,
    session: "SparkSession | None" = None,
) -> Any:
    """NDCG and any other requested measures at every cutoff, for every run, per query and per dataset.

    Each table may be a path or several (files, folders and globs in every format that the command reads), a pandas or
    Polars DataFrame, a pyarrow Table, a dictionary of columns, a list of tuples (query, document, number) or of
    ir_measures' own, or nested dictionaries: {query: {document: grade}}, {query: {document: score}},
    {query: [document, ...]}, and these by run, {run: {query: ...}}. Results may also be a dictionary with a table of
    any of these kinds for each run, {run: table}; the key names the run, whatever run the table itself names. They are
    checked and scored at once by a process of its own, with the embedded engine if it is installed.

    Spark DataFrames are scored by their session, when the scores are used; so is anything else if `session` is given.

    A table may have one row per query with a list of its documents and lists of their scores or grades, or with one
    list of both, as `recommendForAllUsers` of Spark's ALS returns. A document's position in the list is its rank.

    Parameters
    ----------
    judgments : table or path
        Columns query_id, doc_id, relevance, and dataset if there is more than one; names that other tools give these
        columns (qid, docno, label) work too. Other columns are ignored. Grades are needed unless `relevance` is given
        or the gain is `judged`.
    results : table or path
        Columns run, query_id, doc_id, score or rank, and dataset if the judgments have it. A table without a column
        run is one run named `run`, files are runs named after themselves; without scores, ranks give the order.
    cutoffs : int, None or several of them
        Ranks from 1; None or "all" for the whole ranking.
    convention : Convention or str
        Which NDCG to compute: a Convention, or a preset perhaps followed by options, ``trec_eval order=score``.
    measures : str or several of them
        Names such as `precision`, for every cutoff, or as papers write them, each with its own cutoff: `P@5`, `AP`,
        `RBP(p=0.5)`; also the measures of ir_measures. Runs are ordered by the first.
    relevance : float, optional
        The grade of every judgment instead of those of the table: 1 for clicks and purchases, which have no grades.
    attributes : table or path, optional
        For slices: query_id, attribute and value, or query_id and a column for each attribute; dataset is optional.
        dataset_scores then also has rows for each slice. A table of Spark is fetched.
    exclude : table or path, optional
        query_id and doc_id of documents to remove from the lists before they are ranked, such as items already seen.
    run : str, optional
        The name of the only run, whatever the results say.
    dataset : str
        The name of the dataset if the tables have no such column.
    evaluated_on : date, optional
        The date of the scores; by default today in UTC.
    session : SparkSession, optional
        The session that scores, if no table is one of its DataFrames.

    Returns
    -------
    Scores or SparkScores
        Scores are pandas DataFrames: `table()` has a row per run and a column per measure, `per_query("ndcg@10")` a
        row per query, `dataset_scores` and `query_scores` all. SparkScores are the last two as lazy DataFrames of
        Spark, and `to_pandas()` computes them.

    Raises
    ------
    ConventionError
        The convention is unknown.
    ConfigurationError
        The cutoffs are empty or not positive integers; a measure is unknown; `relevance` is not a number.
    InputError
        An argument is not a table, a column is missing or has the wrong type, or a row breaks a rule: an empty id, a
        relevance, score or rank that is not a number, a document returned or judged twice within the deepest cutoff, or
        anything that the convention refuses. With Spark the rows are checked when the scores are used, and the
        exception is Spark's; its message contains ``ndcg_spark refuses``.
    EngineError
        No engine is available.

    Examples
    --------
    >>> judgments = {"q1": {"d1": 2, "d2": 0, "d3": 1}}
    >>> results = {"q1": {"d3": 0.9, "d1": 0.8, "d2": 0.1}}
    >>> scores = evaluate(judgments, results, 10, "trec_eval", measures="ndcg AP")
    >>> scores.table().round(4)  # (1 + 2 / log2(3)) / (2 + 1 / log2(3))
         ndcg@10   AP
    run   0.8597  1.0

    >>> import pandas as pd
    >>> rows = [("bm25", "q1", "d3", 0.9), ("bm25", "q1", "d1", 0.8)]
    >>> frame = pd.DataFrame(rows, columns=["run", "query_id", "doc_id", "score"])
    >>> evaluate(judgments, frame, [1, None], "trec_eval").per_query("ndcg@1")
        bm25
    q1   0.5
    """
    options = Convention.parse(convention) if isinstance(convention, str) else convention
    if not isinstance(options, Convention):
        raise ConfigurationError(
            f"convention: {convention!r} is not a convention; give the name of a preset, or a Convention"
        )
    ranks = None if cutoffs is DEFAULT_CUTOFFS else parse_cutoffs(cutoffs)
    tables = {"judgments": judgments, "results": results, "query_attributes": attributes, "exclude": exclude}
    columns: dict[str, Any] = {"relevance": relevance, "run": run}
    if session is not None or not background.is_for(*tables.values()):
        with engine_imports():
            from ndcg_spark.spark_library import evaluate_lazily
        return evaluate_lazily(tables, ranks, options, measures, dataset, evaluated_on, session, **columns)
    # Options that are named are the user's choice, where input would be refused for want of one.
    chosen = parse_label(convention) if isinstance(convention, str) else options
    settings: dict[str, Any] = {"convention": chosen, "dataset": dataset}
    if ranks is not None:
        settings["cutoffs"] = [format_cutoff(rank) for rank in ranks]
    if measures != _NDCG:
        settings["measures"] = list(map(str, listed(measures)))
    if evaluated_on is not None:
        settings["date"] = evaluated_on
    return _computed(tables, settings, **columns)


def _computed(tables: Mapping[str, Any], settings: Mapping[str, Any], **columns: Any) -> Scores:
    """The scores of tables that this process has, or of files, which the other process computes and publishes."""
    (rows, measures, sentences), config, scratch = _call("evaluate", tables, settings, **columns)
    folder = str(Path(str(config.output)).parent)
    for sentence in sentences:
        warnings.warn(_without_paths(sentence, folder), stacklevel=3)

    def query_scores() -> pa.Table:
        in_paths = pa.schema([("evaluated_on", pa.date32()), ("evaluation_id", pa.string())])
        partitioning = pyarrow.dataset.partitioning(in_paths, flavor="hive")
        files = f"{config.output}/query_scores"
        return pyarrow.dataset.dataset(files, format="parquet", partitioning=partitioning).to_table()

    inputs = config.model_copy(update={"output": None})
    return Scores(scores_frame(rows, measures), query_scores, measures, inputs, scratch)


def explained(judgments: Any, results: Any, settings: Mapping[str, Any], request: Any, **columns: Any) -> Any:
    """The explanations of a query, from tables or files, which the other process computes."""
    return _call("explain", {"judgments": judgments, "results": results}, settings, request, **columns)[0]


def _call(
    task: str,
    tables: Mapping[str, Any],
    settings: Mapping[str, Any],
    *arguments: Any,
    relevance: float | None = None,
    run: str | None = None,
) -> tuple[Any, EvaluationConfig, Scratch]:
    """What the other process answers, the configuration, and the folder of the tables and scores.

    The folder is removed when nothing refers to it any more. No message names it, because tables have no path.
    """
    scratch = Scratch()
    folder = str(scratch.folder())
    given = {name: table for name, table in tables.items() if table is not None or name in ("judgments", "results")}
    # With `relevance` no column of grades is looked up, so that two of them are not ambiguous.
    schemas = _SCHEMAS if relevance is None else {**_SCHEMAS, "judgments": ("dataset", "query_id", "doc_id")}
    try:
        inputs = {name: _input(table, name, schemas[name], folder) for name, table in given.items()}
        inputs["judgments"] |= {} if relevance is None else {"relevance": relevance}
        inputs["results"] |= {} if run is None else {"run": run}
        config = validate({**settings, **inputs, "output": f"{folder}/scores"}, "arguments")
        answer = background.call(task, config, *arguments)
    except NdcgSparkError as error:
        error.args = (_without_paths(str(error), folder),)
        raise
    return answer, config, scratch


def _without_paths(message: str, folder: str) -> str:
    """A message in which tables that were written to the folder are tables."""
    return re.sub(rf"{re.escape(folder)}/\w+\.parquet", "the table", message)


def _input(table: Any, name: str, wanted: Sequence[str] | None, folder: str) -> dict[str, Any]:
    """A table in the configuration: its paths, or a file that is written for it."""
    paths = [table] if isinstance(table, str | os.PathLike) else table
    if isinstance(paths, list | tuple) and paths and all(isinstance(path, str | os.PathLike) for path in paths):
        return {"path": [os.fspath(path) for path in paths]}
    rows = to_arrow(table, wanted, name)
    path = f"{folder}/{name}.parquet"
    # Statistics leave NaN out, so the embedded engine would read another number in its place.
    pyarrow.parquet.write_table(rows, path, write_statistics=False)
    return {"path": path, **({"run": RUN} if name == "results" and "run" not in rows.column_names else {})}

"""Find the convention that gives the scores of an earlier job, as a function of tables."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ndcg_spark.api import tasks
from ndcg_spark.api.evaluate import Cutoffs, compute, make_config
from ndcg_spark.errors import ConfigurationError, about
from ndcg_spark.inputs.memory import is_spark, to_arrow
from ndcg_spark.parquet_files import write_table
from ndcg_spark.scratch import Scratch
from ndcg_spark.search.found import FoundConvention


def find_convention(
    scores: Any,
    judgments: Any,
    results: Any,
    cutoffs: Cutoffs = None,
    *,
    relevance: float | None = None,
    grades: Mapping[str, float] | None = None,
    exclude: Any = None,
    run: str | None = None,
    split_ids: Mapping[str, str] | None = None,
    dataset: str = "default",
    seconds: float = 60.0,
    **options: Any,
) -> FoundConvention:
    """Find the convention that gives an earlier job's scores, as the command `conventions` does.

    `scores` is a path or a table. It has the columns query_id, run and score, with the NDCG of each
    query for which the job printed one, or only run and score, with the means. The score column may
    be named after its measure, such as ``ndcg@10``, and there may be several. Otherwise a column
    `cutoff` gives the cutoff, or the search finds it. Numbers are equal if they differ by at most
    half a unit of the last digit given, or 1e-6.

    Presets are tried first, then presets with one and with two options changed. The result has
    `verdict` ("exact"; "consistent" if only means are known; or "nearest" if no convention gives
    all scores), `convention`, `cutoffs`, the number of `equal` scores among those `compared`, the
    `presets` and `alternatives` that these data cannot distinguish from it, and `first_difference`,
    with the gains of the list next to those of its ideal ranking. The search stops after `seconds`
    and returns the best convention so far (see `is_finished`). Raises the same errors as
    `evaluate`.

    Parameters
    ----------
    judgments, results, relevance, grades, exclude, run, split_ids, dataset
        As `evaluate` takes them, except Spark DataFrames; write those as Parquet.
    cutoffs : int, None or several of them
        The cutoffs to try if the scores do not have a cutoff; by default the usual ones.
    **options
        Options that the convention is known to have, such as ``gain="linear"``.

    Examples
    --------
    >>> judgments = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1, "d": 3}}
    >>> results = {"q1": ["b", "a", "c"], "q2": ["a", "d", "e"]}
    >>> scores = {"query_id": ["q1", "q2"], "ndcg@3": [0.6697, 0.7967]}
    >>> found = find_convention(scores, judgments, results)
    >>> found.verdict, found.convention.gain
    ('exact', 'linear')
    """
    tables = {"judgments": judgments, "results": results, "exclude": exclude}
    if any(map(is_spark, [scores, *tables.values()])):
        what = "find_convention does not take Spark DataFrames"
        raise ConfigurationError(f"arguments: {what}; write them as Parquet, and give the paths")
    settings = {"convention": "standard", "dataset": dataset}
    if cutoffs is not None:
        settings["cutoffs"] = cutoffs  # type: ignore[assignment]  # whatever validates
    scratch = Scratch()
    config = make_config(tables, settings, scratch, relevance, run, split_ids, grades)
    path = _path_of(scores, scratch)
    return compute(tasks.find_convention, config, path, options, seconds)


def _path_of(scores: Any, scratch: Scratch) -> str:
    """The path of the scores; a table is written to a file."""
    if isinstance(scores, str | os.PathLike):
        return os.fspath(scores)
    with about("scores"):
        # All columns are read, because their names say which of them are scores.
        rows = to_arrow(scores, None)
    path = Path(scratch.folder()) / "scores.parquet"
    write_table(rows, path, keeps_arrow_types=True)
    return str(path)

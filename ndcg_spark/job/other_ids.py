"""Runs that seem to write ids of documents or queries differently from the judgments."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import functions as F

from ndcg_spark.contract.doubts import run_example
from ndcg_spark.contract.limits import check_ids
from ndcg_spark.contract.scan import RunCounts
from ndcg_spark.job.inputs import Context
from ndcg_spark.schemas import query_key

Row = Mapping[str, Any]


def runs_with_unknown_ids(context: Context, rows: Sequence[Row]) -> dict[str, dict[str, str]]:
    """A sentence for each run whose document ids are in no judgment, by dataset and run.

    `rows` are those of DATASET_SCORES. A run is examined, which takes a pass over the results, only
    if none of its documents down to the deepest cutoff is judged.
    """
    deepest = context.config.cutoffs[-1]
    sentences: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["cutoff"] != deepest or row["judged_rate"] != 0:
            continue
        sentence = _about_ids(context, row["dataset"], row["run"])
        if sentence is not None:
            sentences.setdefault(row["dataset"], {})[row["run"]] = sentence
    return sentences


def _about_ids(context: Context, dataset: str, run: str) -> str | None:
    """A sentence about the document ids of a run, or None if a judgment of any query has one."""
    judgments = context.checked.judgments
    results = context.checked.results.where(F.col("run") == run)
    if "dataset" in judgments.columns:
        judgments = judgments.where(F.col("dataset") == dataset)
        results = results.where(F.col("dataset") == dataset)
    judged = judgments.select("doc_id").distinct()
    known = results.select("doc_id").join(judged, on="doc_id", how="left_semi")
    if known.limit(1).count():
        return None
    excluded = context.checked.result_counts.excluded
    advice = check_ids("document ids", ["doc_id"], judgments, results, excluded)
    return f"no document of {run} is judged; {advice}"


#: From this many queries on, ids are compared if as many are missing as are not judged.
_FEWEST_COMPARED = 2
#: From this many queries on, equal numbers of missing and unjudged queries are reported, whatever
#: their ids are.
_FEWEST = 5
#: If this share of the judged queries is missing, equal numbers are not a coincidence.
_NEARLY_ALL = 0.9
#: More ids than this are not compared one by one.
_MOST_IDS = 1_000_000
#: How many runs are looked at: ids that differ usually do so in all of them.
_MOST_RUNS = 3
#: Quotes and apostrophes, which programs replace by similar ones or leave out.
_QUOTES = str.maketrans(dict.fromkeys("'\"\u2018\u2019\u201c\u201d\u02bc", ""))


def about_renamed_queries(context: Context) -> Iterator[str]:
    """A sentence about the first run that seems to write ids of queries in a different way.

    A run is examined if it lacks judged queries and has as many unjudged ones, because this takes
    another pass over the ids of its queries.
    """
    counts = context.checked.judgment_counts
    examined = []
    for run in context.checked.result_counts.runs:
        judged_queries = counts.queries.get(run.dataset, 0)
        missing = judged_queries - run.judged_queries
        is_suspicious = missing >= _FEWEST_COMPARED and missing == run.unjudged_queries
        if is_suspicious and judged_queries <= _MOST_IDS:
            examined.append(run)
    examined = examined[:_MOST_RUNS]
    if not examined:
        return
    ids = _ids(context, examined)
    for run in examined:
        judged, returned = ids[run.dataset, None], ids[run.dataset, run.run]
        sentence = _about_queries(run, judged, returned)
        if sentence is not None:
            yield sentence
            return


def _about_queries(run: RunCounts, judged: set[str], returned: set[str]) -> str | None:
    """A sentence about ids that all differ, or that differ only in how they are written."""
    missing, unjudged = judged - returned, returned - judged
    name = run_example(run.run, run.dataset)
    pairs = _written_differently(missing, unjudged)
    if pairs:
        ids = "1 query id" if len(pairs) == 1 else f"{len(pairs):,} query ids"
        what = f"{name} writes {ids} in a different way from the judgments"
        judged_id, returned_id = _distinguishable_ids(*pairs[0])
        examples = f"the judgments have {judged_id}, and the run has {returned_id}"
        return f"{what}, so they are not judged; {examples}; {_SAME_WAY}"
    # The numbers differ if the tables have changed since they were counted.
    if len(missing) < _FEWEST or len(missing) != len(unjudged):
        return None
    what = f"{name} lacks {len(missing):,} of {len(judged):,} judged queries"
    examples = f"it lacks {min(missing)!r} and has {min(unjudged)!r}"
    # Equal numbers of a few queries may be a coincidence.
    is_most = len(missing) >= _NEARLY_ALL * len(judged)
    advice = _SAME_WAY if is_most else _IF_SAME
    return f"{what} and has as many that nobody judged; {examples}; {advice}"


_SAME_WAY = "check that both tables write query ids in the same way"
_IF_SAME = f"if these are the same queries, {_SAME_WAY}"


def _ids(
    context: Context, runs: Sequence[RunCounts]
) -> dict[tuple[str | None, str | None], set[str]]:
    """The queries by dataset and run; those of the run None are the judged ones."""
    judgments, results = context.checked.judgments, context.checked.results
    key = query_key(results.columns)
    results = results.where(F.col("run").isin([run.run for run in runs]))
    if "dataset" in key:
        is_examined = F.col("dataset").isin([run.dataset for run in runs])
        judgments, results = judgments.where(is_examined), results.where(is_examined)
    judged = judgments.select(F.lit(None).cast("string").alias("run"), *key)
    table = judged.union(results.select("run", *key)).distinct().toArrow()
    ids: dict[tuple[str | None, str | None], set[str]] = {}
    for row in table.to_pylist():
        ids.setdefault((row.get("dataset"), row["run"]), set()).add(row["query_id"])
    return ids


def _written_differently(missing: set[str], unjudged: set[str]) -> list[tuple[str, str]]:
    """The ids that are equal if they are written in one way: `[("Straße", "straße ")]`."""
    by_plain_id: dict[str, str] = {}
    for query_id in sorted(unjudged):
        by_plain_id.setdefault(_plain(query_id), query_id)
    pairs = []
    for query_id in sorted(missing):
        other = by_plain_id.get(_plain(query_id))
        if other is not None:
            pairs.append((query_id, other))
    return pairs


def _distinguishable_ids(judged: str, returned: str) -> tuple[str, str]:
    """Both ids, with escapes if they would look the same."""
    if unicodedata.normalize("NFC", judged) == unicodedata.normalize("NFC", returned):
        return ascii(judged), ascii(returned)
    return repr(judged), repr(returned)


def _plain(query_id: str) -> str:
    """An id with composed characters, without quotes and surrounding blanks, in lower case."""
    composed = unicodedata.normalize("NFC", query_id).translate(_QUOTES)
    return composed.strip().casefold()

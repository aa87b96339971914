"""Warnings about runs that are probably not what the user meant, with the numbers that show it.

The job knows these numbers after it has counted its input, and a Spark session after it has
computed the scores. Both print the same warnings.
"""

import pyarrow as pa

from ndcg_spark.voices import Notice

#: The advice if a run answers no judged query.
WRITE_ALIKE = "check that judgments and results write query ids (and datasets) in the same way"


def run_example(run: str, dataset: str | None = None) -> str:
    return f"run={run}" if dataset is None else f"run={run} dataset={dataset}"


def about_empty_runs(runs: int, example: str) -> Notice:
    """The warning that runs have no results; `runs` is their number."""
    return Notice(f"{runs} run(s) have no results, e.g. {example}; all their queries are missing")


def about_strangers(runs: int, example: str, answered: int, judged: int, others: int) -> Notice:
    """The warning that runs answered fewer than half of the judged queries, and more unjudged ones.

    The example answered `answered` of the `judged` queries, and `others` that are not judged.
    """
    what = f"{runs} run(s) answered fewer than half of the judged queries, e.g. {example}"
    counts = f"it answered {answered:,} of {judged:,}, and {others:,} unjudged queries"
    return Notice(f"{what}; {counts}; {WRITE_ALIKE}")


def about_unmatched(name: str, table: pa.Table) -> Notice:
    """The warning about a table, such as query attributes, if none of its queries has a score."""
    example = f", e.g. {table['query_id'][0]}" if len(table) else ""
    return Notice(f"{name}: none of its queries has scores here{example}; check its ids")

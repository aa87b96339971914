"""Warnings about runs that are probably not what somebody meant, from the numbers that show it.

The job knows these numbers when it has counted its input, a session of Spark when it has computed
the scores; both say the same.
"""

import pyarrow as pa

from ndcg_spark.voices import Notice

#: What to do where a run answers no judged query.
WRITE_ALIKE = "check that judgments and results write query ids (and datasets) in the same way"


def run_example(run: str, dataset: str | None = None) -> str:
    return f"run={run}" if dataset is None else f"run={run} dataset={dataset}"


def about_empty_runs(runs: int, example: str) -> Notice:
    """So many runs have no results."""
    return Notice(f"{runs} run(s) have no results, e.g. {example}; they lack every query")


def about_strangers(runs: int, example: str, answered: int, judged: int, others: int) -> Notice:
    """So many runs answered under half of the judged queries, and more that are not judged.

    The example answered so many of the judged queries, and so many others.
    """
    what = f"{runs} run(s) answered under half of the judged queries, e.g. {example}"
    counts = f"it answered {answered:,} of {judged:,}, and {others:,} that are not judged"
    return Notice(f"{what}; {counts}; {WRITE_ALIKE}")


def about_unmatched(name: str, table: pa.Table) -> Notice:
    """A table of queries, such as their attributes, of which none has a score."""
    example = f", e.g. {table['query_id'][0]}" if len(table) else ""
    return Notice(f"{name}: none of its queries has scores here{example}; check its ids")

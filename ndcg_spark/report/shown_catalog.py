"""What the runs of a night show of the catalog, as the page has it: numbers, and what they are."""

from collections.abc import Mapping
from typing import Any

from ndcg_spark.convention.measures import catalog_definitions, written
from ndcg_spark.report.night import NightPage
from ndcg_spark.tables.format import count
from ndcg_spark.tables.table import Table, make_table, shown_value
from ndcg_spark.text import message

_UNKNOWN = (
    "unknown items: how many of the items that a run shows are not in the table of items; "
    "check that both write ids in the same way"
)
_COUNTS = ("lists", "listed_queries", "unknown_items")


def catalog_table(page: NightPage) -> Table | None:
    """A row per run with the measures of the catalog; None if the night has none."""
    measures = page.night.measure_set.only_of_catalog
    if not measures.pairs:
        return None
    rows = []
    for run in page.runs:
        row: dict[str, Any] = {"run": run}
        for name, cutoff in measures.pairs:
            value = page.scores[run, cutoff].get(name)
            row[written(name, cutoff)] = shown_value(name, value)
        for name in _COUNTS:
            row[name] = _largest(page, run, name)
        rows.append(row)
    notes = catalog_definitions(measures)
    if any(row["unknown_items"] for row in rows):
        notes.append(_UNKNOWN)
    kept = [written(name, cutoff) for name, cutoff in measures.pairs]
    source = (page.record["inputs"] or {}).get("items")
    sentences = [_about_items(source)] if source else []
    return make_table(rows, (), notes, kept, sentences=sentences)


def _largest(page: NightPage, run: str, name: str) -> int | None:
    """The largest count of the run at any cutoff, which is that of the deepest that has one."""
    counts = []
    for (other, _), row in page.scores.items():
        if other == run and row.get(name) is not None:
            counts.append(row[name])
    return max(counts, default=None)


def _about_items(source: Mapping[str, Any]) -> str:
    """`600 items of 1,000 users, from train.parquet.`"""
    users = f" of {count(source['users'], 'user')}" if source.get("users") else ""
    paths = [message(file["path"]) for file in source.get("files") or ()]
    return f"{count(source['rows'], 'item')}{users}, from {', '.join(paths)}."

"""The catalog measures of a night's runs for its page: the numbers, and what they mean."""

from collections.abc import Mapping
from typing import Any

from ndcg_spark.convention.measures import MeasureSet, catalog_definitions, measure_heading
from ndcg_spark.report.night import NightPage
from ndcg_spark.tables.format import count
from ndcg_spark.tables.table import Table, deepest_count, make_table, shown_value
from ndcg_spark.text import message

_UNKNOWN = (
    "unknown items: the number of items that a run shows but the table of items lacks; "
    "check that both write ids in the same way"
)
_COUNTS = ("lists", "listed_queries", "unknown_items")


def catalog_table(page: NightPage) -> Table | None:
    """A row per run with its catalog measures; None if the night has none."""
    measures = page.night.measure_set.only_of_catalog
    if not measures.pairs:
        return None
    rows = []
    for run in page.runs:
        rows.append(_row(page, run, measures))
    notes = catalog_definitions(measures)
    if any(row["unknown_items"] for row in rows):
        notes.append(_UNKNOWN)
    sentences = []
    inputs = page.record["inputs"]
    if inputs and "items" in inputs:
        sentences.append(_about_items(inputs["items"]))
    headings = []
    for name, cutoff in measures.pairs:
        headings.append(measure_heading(name, cutoff))
    return make_table(rows, (), notes, headings, sentences=sentences)


def _row(page: NightPage, run: str, measures: MeasureSet) -> dict[str, Any]:
    row: dict[str, Any] = {"run": run}
    own = [scores for (other, _), scores in page.scores.items() if other == run]
    for name, cutoff in measures.pairs:
        value = page.scores[run, cutoff].get(name)
        row[measure_heading(name, cutoff)] = shown_value(name, value)
    for name in _COUNTS:
        row[name] = deepest_count(own, name)
    return row


def _about_items(source: Mapping[str, Any]) -> str:
    """`600 items of 1,000 users, from train.parquet.`"""
    sentence = count(source["rows"], "item")
    users = source.get("users")
    if users:
        sentence += f" of {count(users, 'user')}"
    paths = []
    for file in source["files"]:
        paths.append(message(file["path"]))
    return f"{sentence}, from {', '.join(paths)}."

"""Random lists of items, a catalog of them, and what plain Python says of both."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import csv

from ndcg_spark.catalog_reference import Item, Usage, list_measures, run_measures

#: By run and query, the items of a list, best first.
Lists = dict[str, dict[str, list[str]]]


def usage_of(items: Iterable[Item], users: float | None) -> Usage:
    """The usage of a whole catalog by this many users."""
    known = list(items)
    counts = [item.interactions or 0.0 for item in known]
    popularities = [item.popularity or 0.0 for item in known]
    return Usage(users, math.fsum(counts), max(popularities, default=0.0), max(counts, default=0.0))


class Shop(NamedTuple):
    lists: Lists
    catalog: dict[str, Item]
    users: int
    #: The queries that are judged; the others are shown something all the same.
    judged: list[str]

    @property
    def usage(self) -> Usage:
        return usage_of(self.catalog.values(), self.users)


def shop(seed: int, runs: int = 4, *, queries: int = 9, longest: int = 8) -> Shop:
    """Lists of several lengths with items that the catalog lacks, and items that nobody used."""
    chance = random.Random(seed)  # noqa: S311  # cases that repeat are what is wanted
    users = chance.randint(2, 40)
    names = [f"i{number}" for number in range(chance.randint(8, 25))]
    catalog = {}
    for name in names:
        used = chance.choice([0, 0, 1, chance.randint(0, users)])
        category = chance.choice([None, "a", "b", "c"])
        catalog[name] = Item(float(used), float(used + chance.randint(0, 5)), category)
    pool = [*names, "new", "é"]
    lists: Lists = {}
    for run in range(runs):
        answered = chance.sample(range(queries), chance.randint(1, queries))
        own = {}
        for query in sorted(answered):
            own[f"q{query}"] = chance.sample(pool, chance.randint(1, min(longest, len(pool))))
        lists[f"r{run}"] = own
    judged = [f"q{query}" for query in range(queries) if query % 3]
    return Shop(lists, catalog, users, judged)


def tables(shop: Shop) -> tuple[dict[str, list[Any]], dict[str, list[Any]], pa.Table]:
    """Judgments, results and items; one item of each judged query is relevant."""
    judgments = {
        "query_id": shop.judged,
        "doc_id": ["i0"] * len(shop.judged),
        "relevance": [1.0] * len(shop.judged),
    }
    results: dict[str, list[Any]] = {name: [] for name in ("run", "query_id", "doc_id", "score")}
    for run, own in shop.lists.items():
        for query, shown in own.items():
            for place, item in enumerate(shown):
                row = {"run": run, "query_id": query, "doc_id": item, "score": -float(place)}
                for name, value in row.items():
                    results[name].append(value)
    return judgments, results, item_rows(shop.catalog)


def write_files(shop: Shop, folder: Path) -> None:
    """The tables as qrels.csv, runs.csv and items.csv; the first two without quotes, so that tests can edit them."""
    judgments, results, items = tables(shop)
    for name, table in (("qrels", judgments), ("runs", results)):
        lines = [",".join(table)]
        for row in zip(*table.values(), strict=True):
            lines.append(",".join(map(str, row)))
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    csv.write_csv(items, folder / "items.csv")


def item_rows(catalog: Mapping[str, Item]) -> pa.Table:
    columns = {
        "doc_id": [*catalog],
        "popularity": [item.popularity for item in catalog.values()],
        "interactions": [item.interactions for item in catalog.values()],
        "category": [item.category for item in catalog.values()],
    }
    return pa.table(columns)


def of_list(shop: Shop, shown: Sequence[str], options: Mapping[str, str], cutoff: int | None):
    return list_measures(shown, shop.catalog, shop.usage, options, cutoff)


def of_run(shop: Shop, run: str, options: Mapping[str, str], cutoff: int | None):
    return run_measures(shop.lists[run].values(), shop.catalog, options, cutoff)

"""What the program reads of tables of files, on the session of its process."""

from collections import Counter
from pathlib import Path
from typing import Any

from odd_files import Table
from reading_rules import COLUMNS

from ndcg_spark import config
from ndcg_spark.contract.check import check_tables
from ndcg_spark.job.setup import engine_for, sources_of

#: Of a table: the accepted rows as they are shown, which tells -0.0 from 0.0; the breaches by code; and the rejected
#: rows as they are kept.
Reading = tuple[Counter[Any], dict[str, tuple[int, str]], Counter[Any]]


def readings(folder: Path, tables: dict[str, tuple[Table, Table]]) -> dict[str, list[Reading]]:
    """By name, what is read of judgments and results; their files are written to the folder."""
    return {name: read(folder / f"{number}", *pair) for number, (name, pair) in enumerate(tables.items())}


def read(folder: Path, judgments: Table, results: Table) -> list[Reading]:
    """What is read of one pair of tables. Raises as a check of the input."""
    order = {"order": "score" if results.has_scores else "rank", "negative": "error"}
    ties = {"ties": "rank"} if results.has_scores and results.has_ranks else {}
    settings = {
        "judgments": judgments.written(folder / "judgments"),
        "results": results.written(folder / "results"),
        "max_rejected_fraction": 1,
        "convention": {**order, **ties},
    }
    configured = config.validate(settings, "test")
    with engine_for(configured) as engine:
        checked = check_tables(*sources_of(engine, configured), configured)
        rejected = [row.asDict() for table in checked.rejected for row in table.collect()]
        return [
            (
                Counter(repr(tuple(row.values())) for row in rows.toArrow().to_pylist()),
                {breach.reason: (breach.rows, breach.example) for breach in counts.breaches},
                _kept(table, rejected),
            )
            for table, rows, counts in zip(
                (judgments, results),
                (checked.judgments, checked.results),
                (checked.judgment_counts, checked.result_counts),
                strict=True,
            )
        ]


def _kept(table: Table, rejected: list[dict[str, Any]]) -> Counter[Any]:
    """The rejected rows of a table, in the form of `reading_rules.Found.kept`."""
    names = ["dataset_read" if name == "dataset" else name for name in COLUMNS[table.name]]
    return Counter(
        (row["reason"], row["line"], *(row[name] if row["line"] is None else None for name in names))
        for row in rejected
        if row["table"] == table.name
    )

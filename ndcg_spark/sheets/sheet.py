"""A table for people: headings and cells as text, names on the left, numbers on the right."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

from ndcg_spark.plain import printable


@dataclasses.dataclass(frozen=True)
class Sheet:
    """A table for people. Every heading and cell is printable text."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    #: The columns that stand on the right, by their place from 0; the others are names and stand on the left.
    numbers: Collection[int]
    #: Sentences that stand below the table.
    notes: Sequence[str] = ()
    #: The row and column of the best cells, and of those with a superscript; only LaTeX shows them.
    best: Collection[tuple[int, int]] = ()
    superscripts: Mapping[tuple[int, int], str] = dataclasses.field(default_factory=dict)

    def emphasised(self, best: Collection[tuple[int, int]], superscripts: Mapping[tuple[int, int], str]) -> "Sheet":
        """The sheet with cells that are the best, and superscripts of others."""
        return dataclasses.replace(self, best=best, superscripts=superscripts)

    def cut(self, most: int) -> tuple["Sheet", int]:
        """The sheet with at most so many rows, and how many rows it lost."""
        return dataclasses.replace(self, rows=self.rows[:most]), max(len(self.rows) - most, 0)


def sheet(
    headings: Iterable[str], rows: Iterable[Iterable[str]], numbers: Iterable[int], notes: Iterable[str] = ()
) -> Sheet:
    """A sheet of any text, which is made printable: no name can steer a terminal."""
    return Sheet(
        [printable(heading) for heading in headings],
        [[printable(cell) for cell in row] for row in rows],
        frozenset(numbers),
        [printable(note) for note in notes],
    )


def rounded(value: float | None) -> str:
    """A score to four decimals, a dash if there is none."""
    return "-" if value is None else f"{value:.4f}"


def at(cutoff: int | None) -> str:
    """A cutoff as it stands in a table: its rank, or all for the whole ranking."""
    return str(cutoff or "all")

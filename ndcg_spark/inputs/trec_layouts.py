"""Text without a header: which field of a line is which column, told by the number of fields and by their values."""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence

from ndcg_spark.errors import InputError

#: A number, and a whole number as a rank may be written, as regular expressions that every engine reads alike.
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
WHOLE_NUMBER = r"[+-]?[0-9]+(\.0*)?"
_NUMBER = re.compile(NUMBER)
#: From here on, a whole number in the last field is a time in seconds: March 1973.
_SECONDS = 10**8

Lines = Sequence[Sequence[str]]


@dataclasses.dataclass(frozen=True)
class Layout:
    """The fields of a line, in words, and the position of each of our columns among them, from 0."""

    words: str
    positions: Mapping[str, int]
    fields: int
    #: Whether more fields may follow, which belong to the run's name.
    open: bool = False
    #: Whether these lines, which have the right number of fields, are of this layout.
    fits: Callable[[Lines], bool] = lambda _: True

    @property
    def names(self) -> list[str]:
        """Our columns in the order of the fields."""
        return sorted(self.positions, key=lambda name: self.positions[name])


#: TREC qrels, and a TREC run, which may have more than six fields as in trec_eval. Both are read without a look.
QRELS = Layout("query 0 document grade", {"query_id": 0, "doc_id": 2, "relevance": 3}, 4)
RUN = Layout(
    "query Q0 document rank score run", {"query_id": 0, "doc_id": 2, "rank": 3, "score": 4, "run": 5}, 6, open=True
)


def _numbers(at: int) -> Callable[[Lines], bool]:
    return lambda lines: all(is_number(line[at]) for line in lines)


def _ranked(at: int) -> Callable[[Lines], bool]:
    """Whether each query's lines are numbered 1, 2, 3 from its first line on."""

    def fits(lines: Lines) -> bool:
        seen: dict[str, int] = {}
        for line in lines:
            seen[line[0]] = seen.get(line[0], 0) + 1
            if line[at] != str(seen[line[0]]):
                return False
        return True

    return fits


def _scored(at: int) -> Callable[[Lines], bool]:
    """Whether these are numbers, and one of them has a fraction, which no rank has.

    Whole numbers may be ranks, also those below 1: ranks that begin at 0, or lists that are padded with 0 or -1.
    """
    return lambda lines: _numbers(at)(lines) and not all(float(line[at]).is_integer() for line in lines)


def _continued(at: int) -> Callable[[Lines], bool]:
    """Whether each query's lines are numbered one after the other, from any number on."""

    def fits(lines: Lines) -> bool:
        last: dict[str, int] = {}
        for line in lines:
            if not line[at].isdecimal() or int(line[at]) != last.get(line[0], int(line[at]) - 1) + 1:
                return False
            last[line[0]] = int(line[at])
        return True

    return fits


def _literal(at: int) -> Callable[[Lines], bool]:
    return lambda lines: all(line[at] in ("0", "Q0", "q0") for line in lines)


def _timed(lines: Lines) -> bool:
    return all(line[3].isdecimal() and int(line[3]) >= _SECONDS for line in lines) and _numbers(2)(lines)


def _both(one: Callable[[Lines], bool], other: Callable[[Lines], bool]) -> Callable[[Lines], bool]:
    return lambda lines: one(lines) and other(lines)


#: By table, its layouts; the first that fits counts.
LAYOUTS: Mapping[str, tuple[Layout, ...]] = {
    "judgments": (
        Layout("query document grade time", {"query_id": 0, "doc_id": 1, "relevance": 2}, 4, fits=_timed),
        dataclasses.replace(QRELS, fits=_numbers(3)),
        Layout("query document grade", {"query_id": 0, "doc_id": 1, "relevance": 2}, 3, fits=_numbers(2)),
        Layout("query document", {"query_id": 0, "doc_id": 1}, 2),
    ),
    "results": (
        dataclasses.replace(RUN, fits=_numbers(4)),
        Layout(
            "query Q0 document rank score",
            {"query_id": 0, "doc_id": 2, "rank": 3, "score": 4},
            5,
            fits=_both(_literal(1), _numbers(4)),
        ),
        Layout(
            "query document rank score",
            {"query_id": 0, "doc_id": 1, "rank": 2, "score": 3},
            4,
            fits=_both(_ranked(2), _numbers(3)),
        ),
        Layout("query document rank", {"query_id": 0, "doc_id": 1, "rank": 2}, 3, fits=_ranked(2)),
        Layout("query document score", {"query_id": 0, "doc_id": 1, "score": 2}, 3, fits=_scored(2)),
    ),
    "exclude": (Layout("query document", {"query_id": 0, "doc_id": 1}, 2),),
}
#: By table, the layout of lines that are read without a look.
USUAL: Mapping[str, Layout] = {"judgments": QRELS, "results": RUN, "exclude": LAYOUTS["exclude"][0]}


def recognised(lines: Sequence[str], table: str, graded: bool) -> Layout | None:
    """The layout of the first lines of a file; None if they have none in common, or none with grades if `graded`."""
    rows = [line.split() for line in lines]
    if not rows:
        return None
    complete = (layout for layout in LAYOUTS[table] if not graded or "relevance" in layout.positions)
    fitting = (layout for layout in complete if all(_has(layout, row) for row in rows))
    return next((layout for layout in fitting if layout.fits(rows)), None)


def mapped(columns: Mapping[str, str], lines: Sequence[str], where: str) -> Layout:
    """The layout that numbers of fields, from 1, name; InputError if a line of these has no such field."""
    positions = {name: int(field) - 1 for name, field in columns.items()}
    counts = {len(line.split()) for line in lines}
    most = max(positions.values()) + 1
    if min(positions.values()) < 0 or any(count < most for count in counts):
        raise InputError(f"{where}: columns names field {most} of lines with {min(counts)}; fields are counted from 1")
    layout = Layout("", positions, most if len(counts) != 1 else counts.pop())
    return dataclasses.replace(layout, words=" ".join(layout.names))


def ambiguous(lines: Sequence[str], table: str, where: str) -> InputError | None:
    """The error for lines of two to four fields that may mean several things; None for all others."""
    rows = [line.split() for line in lines]
    counts = {len(row) for row in rows}
    if table == "judgments" and counts == {2}:
        return InputError(
            f"{where}: 2 fields in a line, e.g. {lines[0][:200]!r}, and no grade; if they are a query and a document, "
            "give them all one grade, --relevance 1"
        )
    if table != "results" or len(counts) != 1 or not counts <= {3, 4} or _literal(1)(rows):
        return None
    last = counts.pop()
    return _rank_or_score(rows, f"{last} fields in a line, e.g. {lines[0][:200]!r}", where)


def contradiction(lines: Sequence[str], layout: Layout, table: str, where: str) -> InputError | None:
    """The error for the first lines of a file that do not show the `layout` which another file of the table has.

    Lines of another number of fields, and values that are no numbers, are left to the contract.
    """
    rows = [line.split() for line in lines]
    rows = [row for row in rows if _has(layout, row)]
    other = recognised([" ".join(row) for row in rows], table, "relevance" in layout.positions)
    if other == layout or not rows:
        return None
    if other is not None:
        return InputError(
            f"{where} has lines of {other.words}, and other files have {layout.words}; write them alike, or give the "
            "number of each field with --column"
        )
    at = layout.positions.get("rank", layout.positions.get("score"))
    if table != "results" or at is None or not _numbers(at)(rows):
        return None
    if "rank" in layout.positions and _continued(at)(rows):
        return None
    begins = f"other files have {layout.words}, and this one has {layout.fields} fields in a line"
    return _rank_or_score(rows, f"{begins}, e.g. {' '.join(rows[0])[:200]!r}", where)


def _rank_or_score(rows: Lines, begins: str, where: str) -> InputError:
    """The error for results of three or four fields of which nothing tells whether they are ranks or scores."""
    last = len(rows[0])
    if last == 3:
        named = "--column results.query_id=1 --column results.doc_id=2 --column results.rank=3, or results.score=3"
    else:
        named = "--column results.query_id=1 --column results.doc_id=2 --column results.score=4, and results.rank"
    below = [row[-1] for row in rows if is_number(row[-1]) and float(row[-1]) < 1]
    first = f"; as ranks they must begin at 1, and {below[0]} is among them" if last == 3 and below else ""
    return InputError(f"{where}: {begins}, which may end with a rank or a score; say which, {named}{first}")


def is_number(text: str) -> bool:
    """Whether a text is a plain number."""
    return _NUMBER.fullmatch(text) is not None


def _has(layout: Layout, row: Sequence[str]) -> bool:
    return len(row) >= layout.fields if layout.open else len(row) == layout.fields

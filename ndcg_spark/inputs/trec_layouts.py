"""Text without a header: which field of a line is which column, by the number of fields and by their values."""

import dataclasses
import re
from collections.abc import Mapping, Sequence

from ndcg_spark.errors import InputError

#: A number, and a whole number as a rank may be written, as regular expressions that every engine reads alike.
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
WHOLE_NUMBER = r"[+-]?[0-9]+(\.0*)?"
_NUMBER = re.compile(NUMBER)
#: From here on, a whole number in the last field is a time in seconds: March 1973.
_SECONDS = 10**8
_COLUMNS = {
    "query": "query_id",
    "document": "doc_id",
    "grade": "relevance",
    "rank": "rank",
    "score": "score",
    "run": "run",
}

Lines = Sequence[Sequence[str]]


@dataclasses.dataclass(frozen=True)
class Layout:
    """The fields of a line, in words, and the position of each of our columns among them, from 0."""

    words: str
    positions: Mapping[str, int]
    fields: int
    #: Whether more fields may follow, which belong to the run's name.
    open: bool = False

    @property
    def names(self) -> list[str]:
        """Our columns in the order of the fields."""
        return sorted(self.positions, key=lambda name: self.positions[name])


def _layout(words: str, is_open: bool = False) -> Layout:
    fields = words.split()
    return Layout(
        words, {_COLUMNS[word]: at for at, word in enumerate(fields) if word in _COLUMNS}, len(fields), is_open
    )


#: TREC qrels, and a TREC run, which may have more than six fields as in trec_eval. Both are defaults.
QRELS, RUN = _layout("query 0 document grade"), _layout("query Q0 document rank score run", is_open=True)
_TIMED, _UNTAGGED = _layout("query document grade time"), _layout("query Q0 document rank score")
_PAIRS = _layout("query document")
#: By table, its layouts; the first that the lines show counts.
LAYOUTS: Mapping[str, tuple[Layout, ...]] = {
    "judgments": (_TIMED, QRELS, _layout("query document grade"), _PAIRS),
    "results": (
        *(RUN, _UNTAGGED, _layout("query document rank score")),
        *(_layout("query document rank"), _layout("query document score")),
    ),
    "exclude": (_PAIRS,),
}
#: By table, the layout that lines have by default.
USUAL: Mapping[str, Layout] = {"judgments": QRELS, "results": RUN, "exclude": _PAIRS}


def _shows(rows: Lines, layout: Layout) -> bool:
    """Whether lines that have the right number of fields show this layout by their values."""
    at = layout.positions
    if not all(is_number(row[at[name]]) for row in rows for name in ("relevance", "score") if name in at):
        return False
    if layout == _TIMED:
        return all(row[3].isdecimal() and int(row[3]) >= _SECONDS for row in rows)
    if layout == _UNTAGGED:
        return _are_literal(rows)
    if layout.open:
        return True
    if "rank" in at:
        return _count(rows, at["rank"], first="1")
    # Whole numbers may be ranks, also those below 1: ranks that begin at 0, or lists that are padded with 0 or -1.
    return "score" not in at or not all(float(row[at["score"]]).is_integer() for row in rows)


def _count(rows: Lines, at: int, first: str | None = None) -> bool:
    """Whether each query's lines are numbered one after the other, from `first` or else from any number on."""
    following: dict[str, str] = {}
    for row in rows:
        expected = following.get(row[0], first or row[at])
        if row[at] != expected or not expected.isdecimal():
            return False
        following[row[0]] = str(int(expected) + 1)
    return True


def _are_literal(rows: Lines) -> bool:
    return all(row[1] in ("0", "Q0", "q0") for row in rows)


def layout_of(lines: Sequence[str], table: str, graded: bool) -> Layout | None:
    """The layout of the first lines of a file; None if they have none in common, or none with grades if `graded`."""
    rows = [line.split() for line in lines]
    if not rows:
        return None
    complete = (layout for layout in LAYOUTS[table] if not graded or "relevance" in layout.positions)
    fitting = (layout for layout in complete if all(_has(layout, row) for row in rows))
    return next((layout for layout in fitting if _shows(rows, layout)), None)


def layout_by_numbers(columns: Mapping[str, str], lines: Sequence[str], where: str) -> Layout:
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
    if table != "results" or len(counts) != 1 or not counts <= {3, 4} or _are_literal(rows):
        return None
    last = counts.pop()
    return _rank_or_score(rows, f"{last} fields in a line, e.g. {lines[0][:200]!r}", where)


def contradiction(lines: Sequence[str], layout: Layout, table: str, where: str) -> InputError | None:
    """The error for the first lines of a file that do not show the `layout` which another file of the table has.

    Lines of another number of fields, and values that are not numbers, are left to the contract.
    """
    rows = [line.split() for line in lines]
    rows = [row for row in rows if _has(layout, row)]
    other = layout_of([" ".join(row) for row in rows], table, "relevance" in layout.positions)
    if other == layout or not rows:
        return None
    if other is not None:
        return InputError(
            f"{where} has lines of {other.words}, and other files have {layout.words}; write them alike, or give the "
            "number of each field with --column"
        )
    at = layout.positions.get("rank", layout.positions.get("score"))
    if table != "results" or at is None or not all(is_number(row[at]) for row in rows):
        return None
    if "rank" in layout.positions and _count(rows, at):
        return None
    begins = f"other files have {layout.words}, and this one has {layout.fields} fields in a line"
    return _rank_or_score(rows, f"{begins}, e.g. {' '.join(rows[0])[:200]!r}", where)


def _rank_or_score(rows: Lines, begins: str, where: str) -> InputError:
    """The error for results of three or four fields that may be ranks or scores."""
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

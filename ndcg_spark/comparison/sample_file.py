"""The file of a sample, in which people enter grades: CSV below a header that records its origin.

A spreadsheet may write it with semicolons or tabs, decimal commas, and additional columns.
"""

import csv
import dataclasses
import io
import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ndcg_spark.errors import InputError, about, first_line
from ndcg_spark.text import from_home

#: The sample file's first cell. The recorded names and values follow, one per line.
TITLE = "# sample of ndcg-spark"
#: The recorded names, in order.
HEADER = (
    *("dataset", "run", "baseline", "date", "baseline_date", "evaluation", "baseline_evaluation"),
    *("measure", "cutoff", "convention", "documents", "seed", "errors"),
)
_NUMBERS = ("cutoff", "documents", "seed")
#: Every row's columns; `machine_grade` may be there as well.
COLUMNS = ("query_id", "doc_id", "pi", "grade")
#: The key in the `attrs` of a pandas DataFrame that holds the recorded values.
ATTRIBUTE = "ndcg_spark_sample"
_SEPARATOR = re.compile(r'\b(?:query_id|doc_id)"?([,;\t])')
_NOT_A_SAMPLE = "it is not a sample; give the file that judge-next wrote, with its first lines"
#: The number of digits with which probabilities are written.
DIGITS = 6

Document = tuple[str, str]


@dataclasses.dataclass(frozen=True)
class GradedSample:
    """A sample that people have graded."""

    header: Mapping[str, Any]
    #: The documents in row order, with their probabilities and grades as text.
    documents: Sequence[Document]
    pi: Sequence[str]
    grades: Sequence[str]
    #: Its file, for messages; empty for a DataFrame.
    origin: str = ""


def sample_text(header: Mapping[str, Any], rows: pd.DataFrame) -> str:
    """The sample file: a row for each drawn document."""
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow([TITLE, "fill in the column grade, and leave the rest unchanged"])
    for name in HEADER:
        value = header[name]
        text = json.dumps(value) if isinstance(value, Mapping) else str(value)
        writer.writerow([f"# {name}", text])
    writer.writerow(rows.columns)
    for row in rows.itertuples(index=False):
        writer.writerow(["" if value is None else value for value in row])
    return content.getvalue()


def read_sample(source: str | os.PathLike[str] | pd.DataFrame) -> GradedSample:
    """Read a sample with grades from its file or the DataFrame of `judge_next`. InputError."""
    if isinstance(source, pd.DataFrame):
        with about("human"):
            return _of_frame(source)
    path = from_home(Path(source))
    with about("human", str(source)):
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeError) as error:
            why = first_line(error)
            raise InputError(f"it cannot be read: {why}; save it as CSV in UTF-8") from error
        return dataclasses.replace(_of_text(text), origin=str(source))


def _of_frame(frame: pd.DataFrame) -> GradedSample:
    """The sample in a DataFrame of `judge_next` with grades."""
    header = frame.attrs.get(ATTRIBUTE)
    if header is None:
        raise InputError(
            "this DataFrame did not come from judge_next, or a later step dropped its attrs; "
            "fill in its column grade, or give the file"
        )
    _refuse_lost_columns(list(frame.columns))
    columns = {}
    for name in COLUMNS:
        values = frame[name].tolist()
        columns[name] = ["" if pd.isna(value) else str(value) for value in values]
    return _sample(header, columns)


def _of_text(text: str) -> GradedSample:
    """The sample in a file's text: recorded values, the names of the columns, and rows."""
    separator = _SEPARATOR.search(text)
    if separator is None:
        raise InputError(_NOT_A_SAMPLE)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator[1])
    recorded, names = _recorded_and_names(lines)
    _refuse_lost_columns(names)
    columns: dict[str, list[str]] = {name: [] for name in COLUMNS}
    for cells in lines:
        if not any(cells):
            continue
        row = dict(zip(names, cells, strict=False))
        for name, values in columns.items():
            values.append(row.get(name, ""))
    return _sample(_read_header(recorded), columns)


def _recorded_and_names(lines: Iterable[list[str]]) -> tuple[dict[str, str], list[str]]:
    """The recorded values at the start of a file, and the column names below them.

    The lines after the names are left to the caller.
    """
    recorded: dict[str, str] = {}
    for cells in lines:
        # A spreadsheet adds empty cells.
        filled = [cell for cell in cells if cell]
        if not filled:
            continue
        if not filled[0].startswith("#"):
            return recorded, [cell.strip() for cell in cells]
        name = filled[0].removeprefix("#").strip()
        recorded[name] = filled[1] if len(filled) > 1 else ""
    return recorded, []


def _sample(header: Mapping[str, Any], columns: Mapping[str, Sequence[str]]) -> GradedSample:
    """The sample, from its columns as text; InputError if a document occurs twice."""
    documents = list(zip(columns["query_id"], columns["doc_id"], strict=True))
    _refuse_twice(documents)
    # Only these are stripped, because an id may begin with a space.
    pi = [text.strip() for text in columns["pi"]]
    grades = [text.strip() for text in columns["grade"]]
    return GradedSample(header, documents, pi, grades)


def _refuse_lost_columns(names: Iterable[str]) -> None:
    lost = [name for name in COLUMNS if name not in names]
    if lost:
        raise InputError(f"it lacks the column {lost[0]}; keep all columns of the sample")


def _refuse_twice(documents: Iterable[Document]) -> None:
    """Raise InputError if a document occurs twice."""
    seen: set[Document] = set()
    twice = []
    for document in documents:
        if document in seen:
            twice.append(document)
        seen.add(document)
    if twice:
        refuse_documents("occur twice", twice, "keep one row for each document")


def refuse_documents(what: str, documents: Sequence[Document], advice: str) -> None:
    """Raise InputError about some rows, with an example."""
    query, document = documents[0]
    example = f"e.g. {document} for query {query}"
    raise InputError(f"{len(documents):,} row(s) {what}, {example}; {advice}")


def _read_header(recorded: Mapping[str, str]) -> dict[str, Any]:
    """The recorded values with their types; InputError if one is missing or has been changed."""
    if any(name not in recorded for name in HEADER):
        raise InputError(_NOT_A_SAMPLE)
    header: dict[str, Any] = dict(recorded)
    try:
        for name in _NUMBERS:
            header[name] = int(recorded[name])
        header["errors"] = json.loads(recorded["errors"])
    except ValueError as error:
        raise InputError(_NOT_A_SAMPLE) from error
    return header


def number(text: str) -> float:
    """Parse a number as a spreadsheet may write it; NaN if it is not a number."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def probability_text(probability: float) -> str:
    """A probability as it is written to a file."""
    return f"{probability:.{DIGITS}g}"

"""Reads the scores that an earlier job has written: a table, or the output of trec_eval.

Numbers remain text, because their digits show to how many places they were rounded.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.config import OldScoresConfig
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.errors import InputError, about, within
from ndcg_spark.inputs.files import File, file_format, list_files, listed_files
from ndcg_spark.inputs.query_tables import read_query_table
from ndcg_spark.voices import name_column

#: The name of a measure in a column or in trec_eval: ndcg, ndcg@10, nDCG_10, ndcg_cut_10.
_NDCG = re.compile(r"ndcg(?:_cut)?(?:[@_](?P<cutoff>[0-9]+|all))?", re.IGNORECASE)
#: The columns that may have the scores if no column is named after NDCG.
_SCORES = ("score", "value", "mean")
_CUTOFFS = ("cutoff", "k")


class OldRow(NamedTuple):
    """A score of an earlier job: a query's score, or the mean of a run if `query_id` is None."""

    dataset: str | None
    run: str | None
    query_id: str | None
    cutoff: Cutoff
    #: Whether the job names the cutoff. If not, `cutoff` is None.
    has_cutoff: bool
    #: The number as text; None if the job has no number.
    number: str | None


class _Column(NamedTuple):
    """A column with scores."""

    name: str
    cutoff: Cutoff
    has_cutoff: bool


def read_old_scores(path: str, columns: Mapping[str, str] | None = None) -> list[OldRow]:
    """Return the scores in a file, in a folder, or in the files that a pattern matches.

    `columns` has the files' names of our columns. Raise InputError if no scores can be read.
    """
    with about("scores"):
        files = listed_files("scores", [list_files(path)])
        if file_format(files, None) == "trec":
            rows = _rows_of_trec_eval(files)
        else:
            config = OldScoresConfig(path=[path], columns=dict(columns or {}))
            table = read_query_table(config, "scores").to_pylist()
            rows = list(_rows_of_table(table, is_score_named="score" in config.columns))
        if not rows:
            raise InputError(f"{path} has no NDCG scores; {_ADVICE}")
    return rows


_ADVICE = "give the columns query_id, run and score, or the output of trec_eval -q"


def _rows_of_trec_eval(files: Sequence[File]) -> list[OldRow]:
    """Return the NDCG scores in the output of trec_eval.

    A file with the line `runid all NAME` has the scores of that run. Otherwise, each of several
    files is named after its run.
    """
    rows: list[OldRow] = []
    for file in files:
        with within(file.path), file.open() as stream:
            text = bytes(stream.read()).decode("utf-8", "replace")
            named = re.search(r"^runid\s+all\s+(\S+)", text, re.MULTILINE)
            run = named[1] if named else None
            if run is None and len(files) > 1:
                run = file.path.rpartition("/")[2].partition(".")[0]
            rows.extend(_rows_of_lines(text.splitlines(), run))
    return rows


def _rows_of_lines(lines: Sequence[str], run: str | None) -> Iterator[OldRow]:
    """Yield the NDCG scores of lines `measure query number`. The query `all` stands for a mean."""
    for line in lines:
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 3:
            raise InputError(f"a line has {len(fields)} fields, {line[:80]!r}; {_ADVICE}")
        name, query, number = fields
        measure = _NDCG.fullmatch(name)
        if measure is None:
            continue
        query_id = None if query == "all" else query
        # In trec_eval, a measure without a cutoff is computed over the whole ranking.
        cutoff = _cutoff(measure["cutoff"])
        yield OldRow(None, run, query_id, cutoff, has_cutoff=True, number=_number(number))


def _cutoff(text: str | None) -> Cutoff:
    """Return the cutoff in a measure's name, or None for the whole ranking."""
    if text is None or text == "all":
        return None
    return int(text)


def _rows_of_table(rows: Sequence[Mapping[str, Any]], *, is_score_named: bool) -> Iterator[OldRow]:
    """Yield every row's scores.

    With `is_score_named`, the user has named the column with the scores.
    """
    if not rows:
        return
    names = list(rows[0])
    if is_score_named:
        columns = [_Column("score", cutoff=None, has_cutoff=False)]
    else:
        columns = _score_columns(names)
    cutoff_column = next((name for name in names if name.lower() in _CUTOFFS), None)
    for row in rows:
        for column in columns:
            cutoff, has_cutoff = column.cutoff, column.has_cutoff
            if cutoff_column is not None and not has_cutoff:
                cutoff = _cutoff_of(row[cutoff_column])
                has_cutoff = True
            yield OldRow(
                _text(row.get("dataset")),
                _text(row.get("run")),
                _text(row.get("query_id")),
                cutoff,
                has_cutoff,
                _number(row[column.name]),
            )


def _score_columns(names: Sequence[str]) -> list[_Column]:
    """Return the columns named after NDCG, or one column that may have scores if there are none."""
    found = []
    for name in names:
        measure = _NDCG.fullmatch(name)
        if measure is not None:
            cutoff = measure["cutoff"]
            found.append(_Column(name, _cutoff(cutoff), has_cutoff=cutoff is not None))
    for name in names:
        if not found and name.lower() in _SCORES:
            found.append(_Column(name, None, has_cutoff=False))
    if not found:
        what = f"no score column; it has {', '.join(names)}; {_ADVICE}"
        raise InputError(what, name_column("scores", "score"))
    return found


def _cutoff_of(value: Any) -> Cutoff:
    """Return the cutoff in a cell. Raise InputError if it is not a rank from 1, or all."""
    text = str(value).removesuffix(".0")
    if value is None or text == "all":
        return None
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise InputError(f"{value!r} is not a cutoff; give ranks from 1, or all")
    return int(text)


def _text(value: Any) -> str | None:
    """Return a name as text, or None for an empty cell."""
    return None if value in (None, "") else str(value)


def _number(value: Any) -> str | None:
    """Return a number as text, or None if there is none.

    A double has as many digits as are needed to distinguish it from all other doubles.
    """
    text = "" if value is None else str(value).strip()
    if text.lower() in ("", "nan", "null", "none"):
        return None
    return text

"""Rows that are in a file but were not read: an engine may silently skip a file."""

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.footers import footers
from ndcg_spark.inputs.reading import Source


def refuse_lost_rows(source: Source, rows: int) -> None:
    """InputError if `rows`, the number of rows read from the source, differs from what the footers of its files say.

    Only then is each file read alone, to name those that differ. Text has no footers and is not checked.
    """
    if source.expected_rows is None or rows == source.expected_rows:
        return
    wrong = []
    for file, footer in zip(source.files, footers(source.files, source.format, source.name), strict=True):
        read = source.reread([file]).count() if source.reread else None
        if read != footer.rows:
            wrong.append(f"{file.path} ({read} of {footer.rows})")
    example = f"e.g. {wrong[0]}" if wrong else f"though each alone is whole; the first is {source.files[0].path}"
    raise InputError(
        f"{source.name}: the engine read {rows} rows and the files hold {source.expected_rows}, {len(wrong)} file(s) "
        f"differ, {example}; rename or write them again, or read them on another engine"
    )

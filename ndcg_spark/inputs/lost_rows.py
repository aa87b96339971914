"""Rows that a file holds and an engine did not read: refused, as an engine may pass over a file without a word."""

from ndcg_spark.errors import InputError
from ndcg_spark.inputs import checks
from ndcg_spark.inputs.reading import Source


def refuse_lost_rows(source: Source, rows: int) -> None:
    """InputError if these `rows`, read of the source, are not as many as the footers of its files say.

    Only then each file is read alone, to find which it is. Text has no footers, and is not held to this.
    """
    if source.expected_rows is None or rows == source.expected_rows:
        return
    wrong = []
    for file, footer in zip(source.files, checks.footers(source.files, source.format, source.name), strict=True):
        read = source.reread([file]).count() if source.reread else None
        if read != footer.rows:
            wrong.append(f"{file.path} ({read} of {footer.rows})")
    example = f"e.g. {wrong[0]}" if wrong else f"though each alone is whole; the first is {source.files[0].path}"
    raise InputError(
        f"{source.name}: the engine read {rows} rows and the files hold {source.expected_rows}, {len(wrong)} file(s) "
        f"differ, {example}; rename or write them again, or read them on another engine"
    )

"""Texts of queries, and titles and links of documents, which stand where their ids would."""

import dataclasses
from pathlib import Path

from markupsafe import Markup

from ndcg_spark.errors import ConfigurationError, first_line
from ndcg_spark.text import printable

#: A longer label is cut.
_LONGEST = 160


def name(text: str) -> Markup:
    """A name, which may be written from right to left, so that it does not turn the sentence around it."""
    shown = printable(text)
    if len(shown) <= _LONGEST:
        return Markup("<bdi>{}</bdi>").format(shown)
    return Markup('<bdi title="{}">{}…</bdi>').format(shown[:1000], shown[:_LONGEST])


@dataclasses.dataclass(frozen=True)
class Labels:
    """The text of queries, and the title and the link of documents, by id."""

    queries: dict[str, str] = dataclasses.field(default_factory=dict)
    documents: dict[str, tuple[str | None, str | None]] = dataclasses.field(default_factory=dict)

    def query(self, query_id: str) -> Markup:
        """The text of a query, else its id."""
        return _titled(query_id, self.queries.get(query_id))

    def document(self, doc_id: str) -> Markup:
        """The title of a document with its link, else its id."""
        title, link = self.documents.get(doc_id, (None, None))
        shown = _titled(doc_id, title)
        # Nothing but an address: a page runs no script of others.
        if not str(link).startswith(("https://", "http://")):
            return shown
        return Markup('<a href="{}" rel="noreferrer">{}</a>').format(link, shown)


def _titled(identifier: str, label: str | None) -> Markup:
    return Markup('<span title="{}">{}</span>').format(printable(identifier)[:200], name(label)) if label else name(identifier)


def read_labels(file: Path) -> Labels:
    """The labels in a CSV, TSV, JSON lines or Parquet file: query_id and text; or doc_id, text and perhaps link.

    Raises
    ------
    ConfigurationError
        The file cannot be read, or has none of these columns.
    """
    import pandas as pd

    readers = {".parquet": pd.read_parquet, ".jsonl": lambda path: pd.read_json(path, lines=True, dtype=str)}
    separator = "\t" if file.suffix == ".tsv" else ","
    reader = readers.get(file.suffix, lambda path: pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False))
    try:
        frame = reader(file.expanduser())
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"labels: {file} cannot be read, {first_line(error)}") from error
    if "text" not in frame or not {"query_id", "doc_id"} & {*frame}:
        raise ConfigurationError(f"labels: {file} needs the columns query_id and text, or doc_id, text and perhaps link")
    rows = [{key: value for key, value in row.items() if value not in (None, "")} for row in frame.to_dict("records")]
    queries = {str(row["query_id"]): str(row.get("text", "")) for row in rows if "query_id" in row}
    documents = {str(row["doc_id"]): (row.get("text"), row.get("link")) for row in rows if "doc_id" in row}
    return Labels(queries, documents)

"""Texts of queries, and titles and links of documents, which stand where their ids would."""

import dataclasses
from pathlib import Path

from markupsafe import Markup

from ndcg_spark.errors import ConfigurationError, first_line
from ndcg_spark.text import printable

#: A longer label is cut.
_LONGEST = 80


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
        # Nothing but an address: a page runs no script of others.
        if not str(link).startswith(("https://", "http://")):
            return _titled(doc_id, title)
        return Markup('<a href="{}" rel="noreferrer">{}</a>').format(link, _titled(doc_id, title))


def _titled(identifier: str, label: str | None) -> Markup:
    if label is None:
        return name(identifier)
    return Markup('<span title="{}">{}</span>').format(printable(identifier)[:200], name(label))


def read_labels(file: Path | None) -> Labels:
    """The labels in a CSV, TSV, JSON lines or Parquet file: query_id and text; or doc_id, text and perhaps link."""
    import pandas as pd

    if file is None:
        return Labels()
    path = file.expanduser()
    try:
        if file.suffix == ".parquet":
            frame = pd.read_parquet(path)
        elif file.suffix == ".jsonl":
            frame = pd.read_json(path, lines=True, dtype=False)
        else:
            frame = pd.read_csv(path, sep="\t" if file.suffix == ".tsv" else ",", dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"labels: {file} cannot be read, {first_line(error)}") from error
    if "text" not in frame or not {"query_id", "doc_id"} & {*frame}:
        raise ConfigurationError(f"labels: {file} has no columns query_id and text, or doc_id, text and perhaps link")
    records = frame.astype(object).fillna("").to_dict("records")
    rows = [{key: str(value) for key, value in row.items() if value != ""} for row in records]
    queries = {row["query_id"]: row["text"] for row in rows if "query_id" in row and "text" in row}
    documents = {row["doc_id"]: (row.get("text"), row.get("link")) for row in rows if "doc_id" in row}
    return Labels(queries, documents)

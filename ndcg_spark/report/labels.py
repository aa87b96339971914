"""The names that a page shows for queries and documents."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from ndcg_spark.config import AttributesConfig
from ndcg_spark.errors import ConfigurationError, about
from ndcg_spark.inputs.column_names import resolve_columns
from ndcg_spark.inputs.query_tables import read_query_table
from ndcg_spark.tables.html import marked, name_markup
from ndcg_spark.text import rename_advice

#: The columns of a labels file besides query_id.
_LABELS = ("doc_id", "text", "link")


class Label(NamedTuple):
    text: str | None = None
    link: str | None = None


@dataclasses.dataclass(frozen=True)
class Labels:
    """The text of queries, and the title and the link of documents, by id."""

    queries: Mapping[str, str] = dataclasses.field(default_factory=dict)
    documents: Mapping[str, Label] = dataclasses.field(default_factory=dict)

    def query(self, query_id: str) -> Markup:
        return name_markup(self.queries.get(query_id, query_id))

    def document(self, doc_id: str) -> Markup:
        label = self.documents.get(doc_id, Label())
        shown = name_markup(label.text or doc_id)
        # Only web addresses become links, so that a page runs no foreign script.
        if not str(label.link).startswith(("https://", "http://")):
            return shown
        return marked('<a href="{}" rel="noreferrer">{}</a>', label.link, shown)


def read_labels(file: Path) -> Labels:
    """The labels in a CSV file: columns query_id and text, or doc_id, text and optionally link."""
    documents: dict[str, Label] = {}
    queries: dict[str, Label] = {}
    for row in _read_rows(file):
        label = Label(row["text"], row.get("link"))
        # A row with both ids labels the document.
        if row.get("doc_id"):
            id_column, known = "doc_id", documents
        elif row.get("query_id"):
            id_column, known = "query_id", queries
        else:
            continue
        if known.setdefault(row[id_column], label) != label:
            what = f"two texts or links for {id_column}={row[id_column]}"
            raise ConfigurationError(f"labels: {file} has {what}; remove one")
    texts = {query_id: label.text for query_id, label in queries.items() if label.text}
    return Labels(texts, documents)


def _read_rows(file: Path) -> list[dict[str, Any]]:
    """The rows of a labels file, with the columns under our names."""
    config = AttributesConfig(path=[str(file)], format="csv")
    table = read_query_table(config, "labels", has_prose=True)
    with about("labels"):
        columns = resolve_columns({}, _LABELS, table.column_names)
    our_names = {column: name for name, column in columns.items()}
    names = [our_names.get(column, column) for column in table.column_names]
    needed = ("doc_id" if "doc_id" in names else "query_id", "text")
    missing = [name for name in needed if name not in names]
    if missing:
        found = ", ".join(table.column_names)
        wanted = "query_id and text, or doc_id, text and optionally link"
        advice = rename_advice(missing, table.column_names)
        raise ConfigurationError(f"labels: {file} has columns {found}; give {wanted}; {advice}")
    rows: list[dict[str, Any]] = table.rename_columns(names).to_pylist()
    return rows

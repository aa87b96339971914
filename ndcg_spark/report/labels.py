"""The names by which a page shows queries and documents."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from ndcg_spark.config import AttributesConfig
from ndcg_spark.errors import ConfigurationError, about
from ndcg_spark.inputs.column_names import resolve_columns
from ndcg_spark.inputs.query_tables import read_query_table
from ndcg_spark.tables.html import name
from ndcg_spark.text import rename_advice

#: The columns of labels beside query_id.
_LABELS = ("doc_id", "text", "link")


@dataclasses.dataclass(frozen=True)
class Labels:
    """The text of queries, and the title and the link of documents, by id."""

    queries: Mapping[str, str] = dataclasses.field(default_factory=dict)
    documents: Mapping[str, tuple[str | None, str | None]] = dataclasses.field(default_factory=dict)

    def query(self, query_id: str) -> Markup:
        return name(self.queries.get(query_id, query_id))

    def document(self, doc_id: str) -> Markup:
        title, link = self.documents.get(doc_id, (None, None))
        shown = name(title or doc_id)
        # Nothing but an address: a page runs no script of others.
        is_link = str(link).startswith(("https://", "http://"))
        return Markup('<a href="{}" rel="noreferrer">{}</a>').format(link, shown) if is_link else shown


def read_labels(file: Path) -> Labels:
    """The labels in a CSV file with the columns query_id and text; or doc_id, text and perhaps link."""
    config = AttributesConfig(path=[str(file)], format="csv")
    table = read_query_table(config, "labels", has_prose=True)
    with about("labels"):
        columns = resolve_columns({}, _LABELS, table.column_names)
    ours = {own: name for name, own in columns.items()}
    known = [ours.get(own, own) for own in table.column_names]
    needed = ("doc_id" if "doc_id" in known else "query_id", "text")
    if lost := [name for name in needed if name not in known]:
        has, wanted = ", ".join(table.column_names), "query_id and text, or doc_id, text and perhaps link"
        advice = rename_advice(lost, table.column_names)
        raise ConfigurationError(f"labels: {file} has columns {has}; give {wanted}; {advice}")
    named: dict[str, dict[str, tuple[str | None, str | None]]] = {"doc_id": {}, "query_id": {}}
    for row in table.rename_columns(known).to_pylist():
        key, said = next((name for name in named if row.get(name)), ""), (row["text"], row.get("link"))
        if key and named[key].setdefault(row[key], said) != said:
            raise ConfigurationError(f"labels: {file} has two texts or links for {key}={row[key]}; remove one")
    queries = {name: text for name, (text, _) in named["query_id"].items() if text}
    return Labels(queries, named["doc_id"])

"""The names that a page shows for queries and documents."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from ndcg_spark.config import AttributesConfig
from ndcg_spark.errors import ConfigurationError, about
from ndcg_spark.inputs.column_names import resolve_columns
from ndcg_spark.inputs.query_tables import read_query_table
from ndcg_spark.tables.html import marked, name
from ndcg_spark.text import rename_advice

#: The columns of a labels file besides query_id.
_LABELS = ("doc_id", "text", "link")
#: A text and a link.
_Label = tuple[str | None, str | None]


@dataclasses.dataclass(frozen=True)
class Labels:
    """The text of queries, and the title and the link of documents, by id."""

    queries: Mapping[str, str] = dataclasses.field(default_factory=dict)
    documents: Mapping[str, _Label] = dataclasses.field(default_factory=dict)

    def query(self, query_id: str) -> Markup:
        return name(self.queries.get(query_id, query_id))

    def document(self, doc_id: str) -> Markup:
        title, link = self.documents.get(doc_id, (None, None))
        shown = name(title or doc_id)
        # Only web addresses become links, so that a page runs no foreign script.
        if not str(link).startswith(("https://", "http://")):
            return shown
        return marked('<a href="{}" rel="noreferrer">{}</a>', link, shown)


def read_labels(file: Path) -> Labels:
    """The labels in a CSV file: columns query_id and text, or doc_id, text and optionally link."""
    config = AttributesConfig(path=[str(file)], format="csv")
    table = read_query_table(config, "labels", has_prose=True)
    with about("labels"):
        columns = resolve_columns({}, _LABELS, table.column_names)
    ours = {own: name for name, own in columns.items()}
    known = [ours.get(own, own) for own in table.column_names]
    needed = ("doc_id" if "doc_id" in known else "query_id", "text")
    lost = [name for name in needed if name not in known]
    if lost:
        has = ", ".join(table.column_names)
        wanted = "query_id and text, or doc_id, text and optionally link"
        advice = rename_advice(lost, table.column_names)
        raise ConfigurationError(f"labels: {file} has columns {has}; give {wanted}; {advice}")
    named: dict[str, dict[str, _Label]] = {"doc_id": {}, "query_id": {}}
    for row in table.rename_columns(known).to_pylist():
        kind = next((name for name in named if row.get(name)), None)
        if kind is None:
            continue
        label = (row["text"], row.get("link"))
        if named[kind].setdefault(row[kind], label) != label:
            what = f"two texts or links for {kind}={row[kind]}"
            raise ConfigurationError(f"labels: {file} has {what}; remove one")
    queries = {name: text for name, (text, _) in named["query_id"].items() if text}
    return Labels(queries, named["doc_id"])

"""The folded parts of a page: queries with their documents, runs, slices, the gate and inputs."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from ndcg_spark.report.compared_page import QueryScore
from ndcg_spark.report.comparisons import DECIDES, compared_cells, counted_heading
from ndcg_spark.report.moved import QueryLists
from ndcg_spark.report.night import NightPage
from ndcg_spark.report.night_tables import verdict_table
from ndcg_spark.report.sentences import ALL_KEPT, night_command
from ndcg_spark.report.shown_catalog import catalog_table
from ndcg_spark.tables.format import count, score
from ndcg_spark.tables.html import (
    NUMBER,
    TEXT,
    Block,
    Cell,
    HtmlTable,
    marked,
    name_markup,
    page_table,
    plain_table,
)
from ndcg_spark.tables.table import Table, make_table
from ndcg_spark.text import day, message
from ndcg_spark.voices import OPTIONS

Row = Mapping[str, Any]
#: The most rows in the table of queries.
_QUERIES = 500
#: The deepest rank shown in a list.
_DEEPEST = 20
_NIGHTS_BEFORE = (
    "nights before: how many nights of the baseline have a score for the query under tonight's "
    "judgments; with only one night, the score before is less certain than with several"
)
_SHARES = (
    "Shares can be above 100% if other queries changed in the opposite direction, "
    "or if a query is in several slices."
)
_NOT_KEPT = marked(
    "Its documents are not kept; evaluate with <code>{}</code> to see them here.",
    ALL_KEPT.text(OPTIONS),
)
#: The labels on the page for columns of the dataset scores that describe the judgments.
_JUDGMENTS = {
    "queries": "queries",
    "missing_queries": "queries without results",
    "no_relevant_queries": "queries without a relevant document",
    "unjudged_queries": "queries without judgments",
    "judged_rate": "judged rate",
}
_ORIGINS = ("evaluation_id", "committed_at", "engine", "verified")


class More(NamedTuple):
    title: str
    blocks: Sequence[Block]


class PagePart(NamedTuple):
    id: str
    title: str
    blocks: Sequence[Block]
    #: The blocks that follow under their own headings.
    more: Sequence[More] = ()


class Documents(NamedTuple):
    """A query's documents, folded."""

    name: Markup
    scores: str
    anchor: str
    tables: Sequence[HtmlTable]
    notes: Sequence[Markup]


def details(page: NightPage) -> list[PagePart]:
    parts = [_queries_part(page), _part(page, "runs", "Runs", _run_table(page))]
    catalog = catalog_table(page)
    if catalog is not None:
        parts.append(_part(page, "catalog", "What is shown of the catalog", catalog))
    if page.slices:
        parts.append(_part(page, "slices", "Slices", _slice_table(page)))
    if page.results:
        # Its notes are already in the answer and in the warnings.
        checks = dataclasses.replace(verdict_table(page.verdict), notes=[])
        parts.append(_part(page, "gate", "Checks of the gate", checks))
    parts.append(_facts(page, "judgments", "Judgments", _about_judgments(page)))
    parts.append(_facts(page, "origins", "Where the numbers come from", _about_origins(page)))
    return parts


def _part(page: NightPage, key: str, title: str, table: Table) -> PagePart:
    """A part with a table. `key`: the beginning of its anchor, such as `runs`."""
    blocks = [Block("paragraph", text) for text in table.sentences]
    blocks.append(Block("scrolled", page_table(table, title, "sorted")))
    return PagePart(f"{key}{page.id}", title, blocks)


def _queries_part(page: NightPage) -> PagePart:
    """The table of queries, and the documents of some of them."""
    part = _part(page, "queries", "Queries", _all_queries_table(page))
    part = part._replace(blocks=[Block("filter", "Filter"), *part.blocks])
    return part._replace(more=[_documents_of_ends(page)]) if page.queries else part


def _documents_of_ends(page: NightPage) -> More:
    """The documents of the first and the last queries of the table."""
    title = "Documents of the lowest and highest scores"
    if page.compares:
        largest = "changes" if page.is_of_catalog else "losses and gains"
        title = f"Documents of the queries with the largest {largest}"
    shown = [_documents(page, query) for query in page.ends]
    return More(title, [Block("documents", shown)])


def _all_queries_table(page: NightPage) -> Table:
    """The queries' scores; if there are many, only those of the first and last queries."""
    baseline = page.baseline
    before, now = ("baseline", "run") if baseline.run else ("before", "now")
    has_nights = page.compares and len(baseline.nights) > 1
    total = len(page.queries)
    shown = list(page.queries)
    notes = []
    if total > _QUERIES:
        half = _QUERIES // 2
        shown = shown[:half] + shown[-half:]
        notes.append(f"{_QUERIES} of {total:,} queries: the first and last {half}")
    if has_nights:
        notes.append(_NIGHTS_BEFORE)
    notes.extend(_left_out_of_chain(page))
    rows = []
    for query in shown:
        row = {"query": _link(page, query), before: query.before, now: query.score}
        row["change"] = query.change if page.compares else None
        if has_nights:
            row["nights before"] = query.nights
        rows.append(row)
    sentence = f"{page.measure} of {page.run[:200]}"
    if page.compares:
        sentence += f", {before}: {baseline.label}"
    return make_table(rows, (), notes, sentences=[f"{sentence}."])


def _left_out_of_chain(page: NightPage) -> list[str]:
    """How many queries of the difference are not listed, because some judgments lack them."""
    if page.run not in page.compared_with.chains or page.row is None:
        return []
    listed, compared = len(page.queries), page.row["queries"]
    if listed >= compared:
        return []
    return [f"{listed:,} of {compared:,} queries, which all sets of judgments since then contain"]


def _link(page: NightPage, query: QueryScore) -> Markup:
    """A query's label, with a link to its documents if the page shows them."""
    label = page.request.labels.query(query.query_id)
    anchor = page.anchors.get(query.query_id)
    if anchor is None:
        return label
    return marked('<a href="#{}">{}</a>', anchor, label)


def _run_table(page: NightPage) -> Table:
    rows: list[dict[str, Any]] = []
    for run in page.runs:
        scores = page.scores[run, page.metric[1]]
        row = {"run": run, page.measure: page.value(run)}
        compared = page.compared.get(run)
        if compared:
            counted = counted_heading([compared])
            row |= compared_cells(compared, page.measure, "p_decides", counted)
        # The mean of a compared run is over the compared queries.
        row["queries"] = compared["queries"] if compared else page.counted(run)
        row["judged rate"] = scores["judged_rate"]
        rows.append(row)
    for missing in page.missing:
        if missing["run"]:
            rows.append({"run": missing["run"], "conclusion": "no results"})
    notes = [DECIDES] if page.compared else []
    decided = page.compared_with.decided_by_gate
    if decided:
        runs = ", ".join(decided)
        notes.append(f"For {runs}, p (decides) comes from the gate, adjusted for its checks.")
    # The run that the others are compared with has fewer columns than they have.
    longest = max(rows, key=len)
    empty = dict.fromkeys(longest)
    return make_table([{**empty, **row} for row in rows], (), notes)


def _slice_table(page: NightPage) -> Table:
    shares = {(cause["attribute"], cause["value"]): cause["share"] for cause in page.causes}
    rows = []
    for row in page.slices:
        attribute, value = row["attribute"], row["value"]
        shown = {"slice": f"{attribute} = {value}", "queries": row["queries"]}
        shown |= compared_cells(row, p="p_decides", counted=counted_heading([row]))
        shown["share of the change"] = shares.get((attribute, value))
        rows.append(shown)
    notes = [_SHARES, DECIDES] if shares else [DECIDES]
    return make_table(rows, (), notes)


# A query's documents.


def _documents(page: NightPage, query: QueryScore) -> Documents:
    scores = score(query.score)
    if query.before is not None:
        scores = f"{score(query.before)} to {scores}"
    label = page.request.labels.query(query.query_id)
    anchor = page.anchors[query.query_id]
    lists = page.documents.get(query.query_id)
    if lists is None:
        return Documents(label, scores, anchor, tables=[], notes=[_NOT_KEPT])
    notes = [_explain_command(page, query, lists)] if page.output else []
    return Documents(label, scores, anchor, [_document_table(page, lists)], notes)


def _document_table(page: NightPage, lists: QueryLists) -> HtmlTable:
    """The documents by rank, next to the baseline's newest list if it is kept."""
    headings = [Cell(NUMBER, "rank"), Cell(TEXT, name_markup(page.run)), Cell(NUMBER, "grade")]
    if lists.newest:
        headings += [Cell(TEXT, _other_list(page, lists)), Cell(NUMBER, "grade")]
    rows = []
    for rank in range(1, _shown_ranks(lists) + 1):
        row = [Cell(NUMBER, rank), *_document(page, lists.facts.listed, rank)]
        if lists.newest:
            row += _document(page, lists.newest.listed, rank)
        rows.append(row)
    return HtmlTable(headings, rows, notes=[], label="documents", attributes=Markup(""))


def _other_list(page: NightPage, lists: QueryLists) -> Markup:
    """The heading of the baseline's list: `bm25`, or `hybrid on 19 November`."""
    run = name_markup(page.baseline.run or page.run)
    if not lists.newest_on:
        return run
    return marked("{} on {}", run, day(lists.newest_on))


def _shown_ranks(lists: QueryLists) -> int:
    longest = len(lists.facts.listed)
    if lists.newest:
        longest = max(longest, len(lists.newest.listed))
    return min(_DEEPEST, longest, lists.facts.cutoff or _DEEPEST)


def _document(page: NightPage, listed: Sequence[Any], rank: int) -> list[Cell]:
    """The document at a rank and its grade; empty cells below the end of the list."""
    if rank > len(listed):
        return [Cell(TEXT, ""), Cell(NUMBER, "")]
    document = listed[rank - 1]
    grade = "unjudged" if document.relevance is None else f"{document.relevance:g}"
    return [Cell(TEXT, page.request.labels.document(document.doc_id)), Cell(NUMBER, grade)]


def _explain_command(page: NightPage, query: QueryScore, lists: QueryLists) -> Markup:
    """The command that explains the query's score, and its change if both lists are kept."""
    measure, cutoff = page.metric
    options: dict[str, Any] = {"query": query.query_id, "run": page.run}
    if measure == "ndcg" and cutoff:
        options["cutoff"] = cutoff
    if lists.newest_on:
        options["baseline_date"] = lists.newest_on
    if page.baseline.run and lists.newest:
        options["baseline"] = page.baseline.run
    return night_command(page, "explain", options)


# The data behind the numbers.


def _facts(page: NightPage, key: str, title: str, facts: Iterator[tuple[str, Any]]) -> PagePart:
    """A part with a table of facts, each with a label: `("judged rate", 0.73)`."""
    rows = []
    for label, value in facts:
        rows.append([Cell(TEXT, label), Cell(TEXT, _shown_value(value))])
    table = plain_table((), rows, title, "facts")
    return PagePart(f"{key}{page.id}", title, [Block("scrolled", table)])


def _shown_value(value: Any) -> Any:
    if value is None or value == "":
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return score(value) if isinstance(value, float) else value


def _about_judgments(page: NightPage) -> Iterator[tuple[str, Any]]:
    for column, label in _JUDGMENTS.items():
        yield label, page.mean[column]
    if page.row:
        yield "queries compared with the baseline", page.row["queries"]
        yield "queries scored on one side only", page.row["unpaired_queries"]
    if page.judged_before is not None:
        yield "judged rate in the baseline", page.judged_before
    if page.never_returned:
        yield "relevant documents in the ideal rankings", page.never_returned.relevant
        deepest = page.deepest
        where = f"not in the top {deepest} of any run" if deepest else "not in any run"
        yield f"of these, {where}", page.never_returned.documents


def _about_origins(page: NightPage) -> Iterator[tuple[str, Any]]:
    record = page.record
    if page.metric[0] == "ndcg":
        yield page.measure, _NDCG_IN_WORDS
    yield "convention", f"{record['convention']}: {record['formula']}"
    dates = [night.evaluated_on for night in page.baseline.nights]
    if dates:
        yield "baseline", ", ".join(dates)
    for field in _ORIGINS:
        yield field.replace("_", " "), record[field] or None
    yield from (record["versions"] or {}).items()
    for table, source in (record["inputs"] or {}).items():
        yield table, _source_row(source)


#: For readers who do not know the measure. The same number means different things for different
#: queries, judgments and conventions.
_NDCG_IN_WORDS = (
    "how close the lists are to the best possible order of the judged documents: "
    "1 is the best order, and 0 means that no relevant document is shown"
)


def _source_row(source: Row) -> str:
    """`9,560 rows, 2 files: old.csv and 1 more, fingerprint r1`."""
    rows = f"{source['rows']:,}" if source.get("rows") else "-"
    files = source.get("files") or []
    first = message(files[0]["path"]) if files else "-"
    if len(files) > 1:
        first += f" and {len(files) - 1:,} more"
    fingerprint = source.get("fingerprint") or "-"
    return f"{rows} rows, {count(len(files), 'file')}: {first}, fingerprint {fingerprint}"

"""The folded parts of a page: queries, runs and measures, slices, checks of the gate, judgments, origins."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.convention.measures import MEASURES
from ndcg_spark.report.labels import Labels
from ndcg_spark.report.night_data import NightData, QueryScore
from ndcg_spark.report.words import command
from ndcg_spark.schemas import COMPARISONS
from ndcg_spark.tables import verdicts
from ndcg_spark.tables.comparisons import compared_columns
from ndcg_spark.tables.table import TextColumn, TextTable, counted, name, number, rounded, signed, text_table
from ndcg_spark.text import message

Row = Mapping[str, Any]
#: The table of queries has at most this many, that of runs at most so many measures.
_QUERIES, _MEASURES = 500, 8
_COVERAGE = {
    "queries": "queries in the mean",
    "missing_queries": "judged queries without results",
    "no_relevant_queries": "queries without a relevant document",
    "unjudged_queries": "unjudged queries",
}


def parts_of(data: NightData, labels: Labels, output: str | None) -> list[tuple[str, str, Sequence[TextTable]]]:
    """The parts: a key, a title and tables."""
    parts: list[tuple[str, str, Sequence[TextTable]]] = [("queries", "Queries", [_queries(data, labels)])]
    parts.append(("runs", "Runs and measures", [_runs(data)]))
    if data.slices:
        parts.append(("slices", "Slices", [_slices(data)]))
    if data.verdict and data.verdict["results"]:
        parts.append(("gate", "Checks of the gate", [verdicts.verdict_table(data.verdict)]))
    parts.append(("judgments", "Judgments", [_coverage(data, output)]))
    return [*parts, ("origins", "Where the numbers come from", [_origins(data)])]


def _queries(data: NightData, labels: Labels) -> TextTable:
    """All queries, of very many those at both ends; the largest loss, or the lowest score, first."""

    def link(query: QueryScore) -> Markup:
        label, anchor = labels.query(query.query_id), data.anchors.get(query.query_id)
        return Markup('<a href="#{}">{}</a>').format(anchor, label) if anchor else label

    columns = [name("query", link)]
    if data.compares and data.baseline:
        columns += [number("before"), number("now", "score"), number("change", form=signed)]
    else:
        columns.append(number(data.measure, "score"))
    half = _QUERIES // 2
    is_cut = len(data.queries) > _QUERIES
    shown = [*data.queries[:half], *data.queries[-half:]] if is_cut else data.queries
    notes = [f"{len(shown):,} of {len(data.queries):,} queries: those at both ends"] if is_cut else []
    against = data.baseline.phrase("its") if data.compares and data.baseline else ""
    sentence = f"{data.measure} of {data.run[:200]}{f', before: {against}' if against else ''}."
    return text_table(columns, shown, notes, sentences=[sentence])


def _runs(data: NightData) -> TextTable:
    """A row per run: how it compares, its other measures, and what its scores are a mean of."""
    column, cutoff = data.place
    untested: dict[str, Any] = {**dict.fromkeys(COMPARISONS.names), "flags": []}
    own = [{**untested, "run": run, "mean": data.scores[run, cutoff][column]} for run in data.runs]
    rows = [data.compared.get(row["run"], row) for row in own]

    def score(measure: str, at: int | None) -> TextColumn:
        heading = next((key for key, known in MEASURES.items() if known.column == measure), measure)
        return number(f"{heading}@{format_cutoff(at)}", lambda row: data.scores.get((row["run"], at), {}).get(measure))

    there = [row for (run, _), row in data.scores.items() if run == data.run]
    columns = dict.fromkeys(["ndcg", *(measure.column for measure in MEASURES.values())])
    places = [(name_, row["cutoff"]) for name_ in columns for row in there if row.get(name_) is not None]
    others = [score(*place) for place in places if place != data.place][:_MEASURES]
    compared = compared_columns(data.measure, "p_decides") if data.compared else [number(data.measure, "mean")]
    counts = [number("queries", lambda row: data.scores[row["run"], cutoff]["queries"], counted)]
    counts.append(number("judged rate", lambda row: data.scores[row["run"], cutoff]["judged_rate"]))
    return text_table([name("run"), *compared, *others, *counts], rows)


def _slices(data: NightData) -> TextTable:
    shares = {(row["attribute"], row["value"]): row["share"] for row in data.causes}

    def share(row: Row) -> float | None:
        return shares.get((row["attribute"], row["value"]))

    columns = [name("slice", lambda row: f"{row['attribute']} = {row['value']}"), number("queries", form=counted)]
    columns += compared_columns(p="p_decides")
    if shares:
        columns.append(number("share of the change", share, lambda value: "" if value is None else f"{value:.0%}"))
    notes = ["A query may be in several slices, so that shares can sum to more than 100 %."] if shares else []
    return text_table(columns, data.slices, notes)


def _coverage(data: NightData, output: str | None) -> TextTable:
    """How much of the run was measured, and which judged documents nobody returned."""
    rows = [[label, data.mean[count]] for count, label in _COVERAGE.items()]
    if data.row:
        rows.append(["compared with the baseline", data.row["queries"]])
        rows.append(["scored by one side only", data.row["unpaired_queries"]])
    notes = []
    if data.never_returned:
        never, every = data.never_returned
        depth = f"Documents are kept down to rank {data.kept_depth}."
        notes.append(
            f"{never:,} of {every:,} relevant documents of the ideal rankings were returned by no run. {depth}"
        )
    if data.has_documents and output:
        where = (output, "--date", data.night.evaluated_on, "--dataset", data.night.dataset)
        notes.append(f"Which documents to judge next: {message(command('judge-next', *where))}")
    rate = [["judged rate of the returned documents", rounded(data.mean["judged_rate"])]]
    if data.judged_before is not None:
        rate.append(["judged rate in the baseline", rounded(data.judged_before)])
    counts = [[label, counted(value)] for label, value in rows]
    return text_table([name("judgments", 0), number("queries or rate", 1, str)], [*counts, *rate], notes)


def _origins(data: NightData) -> TextTable:
    record = data.night.record
    rows = [("convention", f"{record['convention']}: {record['formula']}")]
    if data.baseline and data.baseline.dates:
        rows.append(("baseline", ", ".join(data.baseline.dates)))
    rows += [
        (field.replace("_", " "), str(record.get(field) or "-"))
        for field in ("evaluation_id", "committed_at", "engine")
    ]
    rows += [(package, str(version)) for package, version in record.get("versions", {}).items()]
    for table, source in record.get("inputs", {}).items():
        files = [file["path"] for file in source.get("files", [])]
        count = f"{source['rows']:,} rows, " if "rows" in source else ""
        others = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
        first = files[0] if files else ""
        rows.append((table, message(f"{count}{first}{others}, fingerprint {source.get('fingerprint', '-')}")))
    rows += [("note", note) for note in data.night.notes]
    return text_table([name("what", 0), name("value", 1)], rows)

"""The tables of a report: runs, what they were compared with, findings of the gate, coverage, where it comes from."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.convention.measures import COLUMNS, MEASURES, written
from ndcg_spark.report.night_data import NightData
from ndcg_spark.tables.comparisons import interval, p_value, run_comparison_table, status
from ndcg_spark.tables.table import TextColumn, TextTable, counted, name, number, rounded, signed, text_table
from ndcg_spark.tables.verdicts import in_words, verdict_table, worst_results
from ndcg_spark.text import message

Row = Mapping[str, Any]
_COUNTS = {"missing_queries": "missing", "no_relevant_queries": "no relevant", "unjudged_queries": "unjudged"}
_COVERAGE = {
    "queries": "queries in the mean",
    "missing_queries": "judged queries without results",
    "no_relevant_queries": "queries without a relevant document",
    "unjudged_queries": "unjudged queries",
}
#: The table of queries has at most this many.
_MOST_QUERIES = 500
_MEASURE_NAMES = {measure.column: measure_name for measure_name, measure in MEASURES.items()}


def runs_table(data: NightData) -> TextTable:
    """A row per run: how it compares, its scores and their interval, and what its scores are a mean of."""
    columns = [name("run")]
    if data.comparison and data.compared:
        level = f"{100 * (1 - data.comparison.alpha):g} %"
        columns.append(number("difference", lambda row: _difference(data, row["run"]), str))
        columns.append(number(f"{level} interval of it", _compared(data, interval), str))
        heading = "p of the gate" if data.comparison.findings else "p"
        columns.append(number(heading, _compared(data, lambda row: p_value(row["p_adjusted"])), str))
        columns.append(number("won", _compared(data, lambda row: counted(row["wins"])), str))
        columns.append(number("lost", _compared(data, lambda row: counted(row["losses"])), str))
        columns.append(number("tied", _compared(data, lambda row: counted(row["ties"])), str))
    columns += _score_columns(data)
    if any(row["low"] is not None for row in data.means):
        columns.append(number(f"95 % interval of {data.measure}", _interval_of_mean, str))
    columns.append(number("queries", form=counted))
    # Counts that are 0 for every run only make the table wide.
    counts = [
        number(heading, count, counted) for count, heading in _COUNTS.items() if any(row[count] for row in data.means)
    ]
    return text_table([*columns, *counts, number("judged rate")], data.means)


def slices_table(data: NightData) -> TextTable | None:
    """A row per slice of the queries, with the score of the run and its interval; None without slices."""
    columns = [name("slice", lambda row: f"{row['attribute']}={row['value']}"), number(data.measure, data.place[0])]
    if any(row["low"] is not None for row in data.slices):
        columns.append(number("std error", "ndcg_stderr"))
        columns.append(number(f"95 % interval of {data.measure}", _interval_of_mean, str))
    columns += [number("queries", form=counted), number("missing", "missing_queries", counted), number("judged rate")]
    return text_table(columns, data.slices) if data.slices else None


def queries_table(data: NightData) -> TextTable:
    """All queries with their scores, of very many those at both ends; the largest loss, or the lowest score, first."""
    columns = [name("query", "query_id")]
    if data.baseline is not None:
        columns += [number("difference", form=signed), number(data.baseline, "baseline")]
    half = _MOST_QUERIES // 2
    is_cut = len(data.queries) > _MOST_QUERIES
    shown = [*data.queries[:half], *data.queries[-half:]] if is_cut else data.queries
    notes = [f"{len(shown):,} of {len(data.queries):,} queries: those at both ends"] if is_cut else []
    return text_table([*columns, number(data.run, "score")], shown, notes)


def _score_columns(data: NightData) -> list[TextColumn]:
    """The measures that were asked for, in that order, then the others that have values.

    If none was, NDCG at every cutoff comes first.
    """
    every = [row for of_run in data.runs for row in of_run]
    cutoffs = [row["cutoff"] for row in data.runs[0]]
    pairs = data.measure_set.pairs or [("ndcg", cutoff) for cutoff in cutoffs]
    shown = {(MEASURES[measure].column, cutoff): written(measure, cutoff) for measure, cutoff in pairs}
    for column in COLUMNS:
        for cutoff in cutoffs:
            if any(row[column] is not None for row in every if row["cutoff"] == cutoff):
                measure = _MEASURE_NAMES.get(column)
                heading = written(measure, cutoff) if measure else f"{column}@{format_cutoff(cutoff)}"
                shown.setdefault((column, cutoff), heading)
    values = {(row["run"], row["cutoff"]): row for row in every}

    def score(column: str, cutoff: int | None) -> Callable[[Row], float | None]:
        return lambda row: values.get((row["run"], cutoff), {}).get(column)

    return [number(heading, score(*place)) for place, heading in shown.items()]


def _compared(data: NightData, cell: Callable[[Row], str]) -> Callable[[Row], str]:
    """A cell about the comparison of a run, blank where it has none."""
    return lambda row: cell(data.compared[row["run"]]) if row["run"] in data.compared else ""


def _interval_of_mean(row: Row) -> str:
    return "-" if row["low"] is None or row["high"] is None else f"{row['low']:z.4f} to {row['high']:z.4f}"


def _difference(data: NightData, run: str) -> str:
    if run in data.compared:
        return signed(data.compared[run]["difference"])
    return "baseline" if data.comparison and data.comparison.is_baseline(run) else "-"


def compared_table(data: NightData) -> TextTable | None:
    """The comparisons of the run that is shown in detail: every measure, cutoff and slice; None if it has none."""
    found = data.comparison
    rows = [row for row in found.rows if row["run"] == data.run] if found else []
    return run_comparison_table(rows, found.correction, found.alpha) if found and rows else None


def findings_table(record: Row) -> TextTable | None:
    """What the checks of the gate have found; None without a gate."""
    verdict = record.get("verdict")
    return verdict_table(verdict) if verdict and verdict["results"] else None


def badge(record: Row) -> str:
    """The verdict in words with a sign, and whether the night was accepted all the same."""
    verdict = record.get("verdict")
    if not verdict:
        return "accepted" if record.get("accepted") else "not checked by a gate"
    sign = {"pass": "✓", "fail": "✗"}.get(verdict["verdict"], "?")
    return f"{sign} {in_words({**verdict, 'accepted': record.get('accepted')})}"


def reasons(record: Row, most: int = 3) -> list[str]:
    """Why the verdict is what it is: its reason, the worst findings that speak against the night, and warnings."""
    verdict = record.get("verdict")
    if not verdict:
        return []
    against = list(dict.fromkeys(each["sentence"] for each in worst_results(verdict["results"])))
    # The sentence of the verdict begins with the result that decided.
    others = [each for each in against if each not in verdict["sentence"]]
    sentences = [verdict["sentence"], *others[: most - 1]]
    sentences += [f"and {len(others) - most + 1:,} more results, below"] if len(others) >= most else []
    sentences += [each for each in verdict["warnings"] if each not in against]
    accepted = record.get("accepted")
    sentences += [f"accepted as a baseline of later nights: {accepted['reason']}"] if accepted else []
    return [message(each) for each in dict.fromkeys(sentences)]


def coverage_table(data: NightData) -> TextTable:
    """How much of the run and of its baseline was measured."""
    own = next(row for row in data.means if row["run"] == data.run)
    sides = {data.run: own}
    if data.baseline is not None and data.baseline_row is not None:
        sides[data.baseline] = data.baseline_row
    rows: list[Sequence[str]] = [
        [label, *(counted(row[count]) for row in sides.values())] for count, label in _COVERAGE.items()
    ]
    rows.append(["judged documents, of those returned", *(rounded(row["judged_rate"]) for row in sides.values())])
    compared, blank = data.compared.get(data.run), [""] * (len(sides) - 1)
    if compared is not None:
        rows.append(["compared with the baseline", counted(compared["queries"]), *blank])
        rows.append(["scored by one side only", counted(compared["unpaired_queries"]), *blank])
    return text_table([name("", 0), *(number(side, place, str) for place, side in enumerate(sides, 1))], rows)


def transitions_table(data: NightData) -> TextTable | None:
    """What became of the status of queries."""
    if not data.transitions or data.comparison is None:
        return None
    columns = [
        name(f"with {data.comparison.baseline_of(data.run)}", "baseline_status", status),
        *(name(f"with {data.run}", "status", status), number("queries", form=counted)),
    ]
    return text_table(columns, data.transitions)


def origins_table(record: Row) -> TextTable:
    """Where the scores came from."""
    rows = [(field, str(record.get(field, "-"))) for field in ("evaluation_id", "committed_at", "engine")]
    rows += [(package, str(version)) for package, version in record.get("versions", {}).items()]
    for table, each in record.get("inputs", {}).items():
        files = [file["path"] for file in each.get("files", [])]
        count = f"{each['rows']:,} rows, " if "rows" in each else ""
        others = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
        first = files[0] if files else ""
        rows.append((table, message(f"{count}{first}{others}, fingerprint {each.get('fingerprint', '-')}")))
    return text_table([name("", 0), name("", 1)], rows)

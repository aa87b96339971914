"""A report: one page of HTML that needs no network, of one night of one dataset or of several."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from ndcg_spark.plain import message, printable
from ndcg_spark.report.charts import drawing, require_extra
from ndcg_spark.report.explained import sections
from ndcg_spark.report.figures import Figure, figures
from ndcg_spark.report.night_data import Mean, NightData, Query
from ndcg_spark.report.sections import Section
from ndcg_spark.sheets.sheet import Sheet, at, rounded, sheet

_COUNTS = ("queries", "missing_queries", "no_relevant_queries", "unjudged_queries")


def page(nights: Sequence[NightData]) -> str:
    """The report as one page. ConfigurationError if what makes it is not installed."""
    require_extra()
    import jinja2
    import markupsafe

    script, template = (_resource(name) for name in ("page.js", "page.html.j2"))
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"plain": printable, "rounded": rounded, "signed": _signed}
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rendered: str = environment.from_string(template).render(
        title=_title(nights),
        parts=[_part(number, data, markupsafe.Markup) for number, data in enumerate(nights)],
        # Our own, and named by its digest, so that a page runs nothing else.
        script=markupsafe.Markup(script),  # noqa: S704
        digest=digest,
    )
    return rendered


def _resource(name: str) -> str:
    return resources.files("ndcg_spark.report").joinpath(name).read_text(encoding="utf-8")


def _title(nights: Sequence[NightData]) -> str:
    datasets = ", ".join(dict.fromkeys(data.night.dataset for data in nights))
    return f"NDCG of {datasets}, {nights[0].night.evaluated_on}"


def _part(number: int, data: NightData, markup: Any) -> dict[str, Any]:
    """What the template says of a night."""
    record = data.night.record
    row = next(row for row in data.runs[0] if row["cutoff"] == data.cutoff)
    shown: list[Figure] = figures(data)
    return {
        "id": f"n{number}",
        "dataset": data.night.dataset,
        "date": data.night.evaluated_on,
        "run": data.run,
        "baseline": data.baseline,
        "measure": f"ndcg@{at(data.cutoff)}",
        "verdict": data.verdict,
        "reasons": _reasons(record),
        "convention": row["convention"],
        "formula": str(row["formula"]).split("; "),
        "runs": _runs(data),
        "figures": [(figure, markup(drawing(figure.chart, figure.title))) for figure in shown],
        "coverage": _coverage(data),
        "transitions": _transitions(data),
        "worst": [_query(each, data) for each in data.worst],
        "best": [_query(each, data) for each in data.best],
        "keeps_documents": data.keeps_documents,
        "made_of": _made_of(record),
    }


def _reasons(record: Mapping[str, Any]) -> list[str]:
    """Why the verdict is what it is: its reason, and what its checks have found."""
    verdict = record.get("verdict")
    if not isinstance(verdict, Mapping):
        return []
    found = [finding.get("reason") for finding in verdict.get("findings", [])]
    return [message(str(each)) for each in [verdict.get("reason"), *found, *verdict.get("warnings", [])] if each]


def _runs(data: NightData) -> Sheet:
    cutoffs = [row["cutoff"] for row in data.runs[0]]
    compared = [] if data.baseline is None else [f"to {data.baseline}", "95 % interval of it", "won", "lost", "tied"]
    headings = ["run", *(f"ndcg@{at(cutoff)}" for cutoff in cutoffs), f"95 % interval @{at(data.cutoff)}", *compared]
    headings += ["queries", "missing", "no relevant", "unjudged", "judged rate"]
    rows = []
    for own in data.runs:
        name, last = own[0]["run"], next(row for row in own if row["cutoff"] == data.cutoff)
        cells = [name, *(rounded(row["ndcg"]) for row in own), _interval(data.means[name])]
        if data.baseline is not None:
            found = data.differences.get(name)
            counts = [] if found is None else [str(each) for each in (found.wins, found.losses, found.ties)]
            difference = [] if found is None else [_signed(found.difference.mean), _interval(found.difference)]
            cells += [*difference, *counts] if found else ["baseline", "", "", "", ""]
        rows.append([*cells, *(f"{last[count]:,}" for count in _COUNTS), rounded(last["judged_rate"])])
    return sheet(headings, rows, range(1, len(headings)))


def _coverage(data: NightData) -> Sheet:
    """How much of the run and of the baseline was measured."""
    names = [data.run, *([data.baseline] if data.baseline is not None else [])]
    rows = {own[0]["run"]: next(row for row in own if row["cutoff"] == data.cutoff) for own in data.runs}
    labels = {"queries": "queries in the mean", "missing_queries": "judged queries without results"}
    labels |= {"no_relevant_queries": "queries without a relevant document", "unjudged_queries": "unjudged queries"}
    cells = [[label, *(f"{rows[name][count]:,}" for name in names)] for count, label in labels.items()]
    cells.append(["judged documents, of those returned", *(rounded(rows[name]["judged_rate"]) for name in names)])
    if data.baseline is not None:
        found = data.differences.get(data.run)
        paired = [f"{found.queries:,}", f"{found.unpaired:,}"] if found else ["-", "-"]
        cells += [["compared with the baseline", paired[0], ""], ["scored by one of them only", paired[1], ""]]
    return sheet(["", *names], cells, range(1, len(names) + 1))


def _transitions(data: NightData) -> Sheet | None:
    if not data.transitions:
        return None
    cells = ([before, after, f"{count:,}"] for (before, after), count in data.transitions.items())
    return sheet([f"with {data.baseline}", f"with {data.run}", "queries"], cells, [2])


def _query(query: Query, data: NightData) -> dict[str, Any]:
    parts: list[Section] = [] if query.explanation is None else sections(query.explanation, query.of_baseline)
    return {"query": query, "parts": parts, "has_baseline": data.baseline is not None}


def _made_of(record: Mapping[str, Any]) -> Sheet:
    """Where the scores came from."""
    cells = [[name, str(record.get(name, "-"))] for name in ("evaluation_id", "committed_at", "engine")]
    cells += [[name, str(version)] for name, version in record.get("versions", {}).items()]
    for name, each in record.get("inputs", {}).items():
        files = [file["path"] for file in each.get("files", [])]
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        rows = f"{each['rows']:,} rows, " if "rows" in each else ""
        cells.append([name, message(f"{rows}{files[0] if files else ''}{more}, fingerprint {each.get('fingerprint')}")])
    return sheet(["", ""], cells, [])


def _interval(mean: Mean) -> str:
    return "-" if mean.low is None or mean.high is None else f"{mean.low:.4f} to {mean.high:.4f}"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.4f}"

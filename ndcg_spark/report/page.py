"""A report: one page of HTML that needs no network, of one night of one dataset or of several."""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import Any

from ndcg_spark.plain import printable
from ndcg_spark.report import night_tables as tables
from ndcg_spark.report.charts import drawing, require_extra
from ndcg_spark.report.explained import sections
from ndcg_spark.report.figures import Figure, figures
from ndcg_spark.report.night_data import NightData
from ndcg_spark.report.opened import Query
from ndcg_spark.report.sections import Section
from ndcg_spark.sheets.comparisons import signed
from ndcg_spark.sheets.sheet import at, rounded


def page(nights: Sequence[NightData], note: str | None = None) -> str:
    """The report as one page, with a note below its title. ConfigurationError if what makes it is not installed."""
    require_extra()
    import jinja2
    import markupsafe

    script, template = (_resource(name) for name in ("page.js", "page.html.j2"))

    def shown(value: Any) -> Any:
        # Whatever the template prints, but for markup of our own.
        return printable(value) if type(value) is str else value

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=shown)
    environment.filters |= {"rounded": rounded, "signed": signed}
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rendered: str = environment.from_string(template).render(
        title=_title(nights),
        note=note,
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
        "reasons": tables.reasons(record),
        "findings": tables.findings_table(record),
        "held": data.held.named(data.run) if data.held and not data.held.is_itself(data.run) else None,
        "warnings": data.held.warnings if data.held else [],
        "convention": row["convention"],
        "formula": str(row["formula"]).split("; "),
        "runs": tables.runs_table(data),
        "compared": tables.compared_table(data),
        "figures": [(figure, markup(drawing(figure.chart, figure.title))) for figure in shown],
        "coverage": tables.coverage_table(data),
        "transitions": tables.transitions_table(data),
        "worst": [_query(each, data) for each in data.worst],
        "best": [_query(each, data) for each in data.best],
        "keeps_documents": data.keeps_documents,
        "made_of": tables.origins_table(record),
    }


def _query(query: Query, data: NightData) -> dict[str, Any]:
    parts: list[Section] = [] if query.explanation is None else sections(query.explanation, query.of_baseline)
    return {"query": query, "parts": parts, "has_baseline": data.baseline is not None}

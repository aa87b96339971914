"""A report: one page of HTML that needs no network, of one night of one dataset or of several."""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import Any

from ndcg_spark.report import night_tables as tables
from ndcg_spark.report.charts import drawing, require_extra
from ndcg_spark.report.explanations import explanation_tables
from ndcg_spark.report.figures import figures
from ndcg_spark.report.night_data import NightData
from ndcg_spark.report.query_details import QueryDetails
from ndcg_spark.tables.table import at, rounded, signed
from ndcg_spark.tables.writers import rendered


def page(nights: Sequence[NightData], note: str | None = None) -> str:
    """The report as one page, with a note below its title. ConfigurationError if what makes it is not installed."""
    require_extra()
    import markupsafe

    script = resources.files("ndcg_spark.report").joinpath("page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return rendered(
        "report/page.html.j2",
        title=_title(nights),
        note=note,
        parts=[_part(number, data, markupsafe.Markup) for number, data in enumerate(nights)],
        # Our own, and named by its digest, so that a page runs nothing else.
        script=markupsafe.Markup(script),  # noqa: S704
        digest=digest,
        rounded=rounded,
        signed=signed,
    )


def _title(nights: Sequence[NightData]) -> str:
    datasets = ", ".join(dict.fromkeys(data.night.dataset for data in nights))
    return f"NDCG of {datasets}, {nights[0].night.evaluated_on}"


def _part(number: int, data: NightData, markup: Any) -> dict[str, Any]:
    """What the template says of a night."""
    record, comparison = data.night.record, data.comparison
    row = next(row for row in data.runs[0] if row["cutoff"] == data.cutoff)
    return {
        "id": f"n{number}",
        "dataset": data.night.dataset,
        "run": data.run,
        "baseline": data.baseline,
        "measure": f"ndcg@{at(data.cutoff)}",
        "verdict": data.verdict,
        "reasons": tables.reasons(record),
        "findings": tables.findings_table(record),
        "against": comparison.baseline_of(data.run) if comparison and not comparison.is_baseline(data.run) else None,
        "warnings": comparison.warnings if comparison else [],
        "convention": row["convention"],
        "formula": str(row["formula"]).split("; "),
        "runs": tables.runs_table(data),
        "compared": tables.compared_table(data),
        "figures": [(figure, markup(drawing(figure.chart, figure.title))) for figure in figures(data)],
        "coverage": tables.coverage_table(data),
        "transitions": tables.transitions_table(data),
        "worst": [_query(each) for each in data.worst],
        "best": [_query(each) for each in data.best],
        "origins": tables.origins_table(record),
    }


def _query(query: QueryDetails) -> dict[str, Any]:
    explanation = query.explanation
    return {"query": query, "tables": explanation_tables(explanation, query.baseline_facts) if explanation else []}

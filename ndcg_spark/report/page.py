"""A report: one page of HTML that needs no network, of one night of one dataset or of several."""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from ndcg_spark.report import night_tables
from ndcg_spark.report.charts import Chart, drawing, require_extra
from ndcg_spark.report.explanations import explanation_tables
from ndcg_spark.report.figures import figures
from ndcg_spark.report.night_data import NightData
from ndcg_spark.tables.table import rounded, signed
from ndcg_spark.tables.writers import rendered


def page(nights: Sequence[NightData], note: str | None = None) -> str:
    """The report as one page, with a note below its title. ConfigurationError if what draws it is not installed."""
    require_extra()
    from markupsafe import Markup

    def drawn(chart: Chart, title: str) -> Markup:
        return Markup(drawing(chart, title))  # noqa: S704  # our own, every name in it escaped

    script = resources.files("ndcg_spark.report").joinpath("page.js").read_text(encoding="utf-8")
    datasets = ", ".join(dict.fromkeys(data.night.dataset for data in nights))
    return rendered(
        "report/page.html.j2",
        title=f"NDCG of {datasets}, {nights[0].night.evaluated_on}",
        note=note,
        nights=nights,
        # Our own, and named by its digest, so that a page runs nothing else.
        script=Markup(script),  # noqa: S704
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        drawing=drawn,
        explanation_tables=explanation_tables,
        figures=figures,
        rounded=rounded,
        signed=signed,
        tables=night_tables,
    )

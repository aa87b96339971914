"""How the comparison of two sets of judgments is printed."""

from typing import TYPE_CHECKING

import pyarrow as pa

from ndcg_spark.report.console import print_result
from ndcg_spark.schemas import AGREEMENTS
from ndcg_spark.tables.table import counted, name, number, text_table

if TYPE_CHECKING:
    import pandas as pd


def print_judgments(found: "pd.DataFrame", style: str) -> None:
    """Print a comparison of judgments, one row per dataset."""
    rows = pa.Table.from_pandas(found, preserve_index=False).to_pylist()
    shown = [each for each in AGREEMENTS.names if each != "dataset" and found[each].notna().any()]
    columns = [
        *([name("dataset")] if len(rows) > 1 else []),
        *(
            number(each.replace("_", " "), each, **({"form": counted} if found[each].dtype == "Int64" else {}))
            for each in shown
        ),
    ]
    print_result(style, lambda: [text_table(columns, rows)], lambda: rows, AGREEMENTS.names, rows)

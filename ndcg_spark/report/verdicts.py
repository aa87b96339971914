"""Verdicts as they are printed: a sheet for each, or for programs every finding with all its numbers."""

from collections.abc import Sequence

from ndcg_spark.gate.verdict import Verdict
from ndcg_spark.report.formats import print_sheets
from ndcg_spark.report.records import CSV, print_csv
from ndcg_spark.report.streams import as_json
from ndcg_spark.sheets.verdicts import verdict_sheet

#: The columns of a finding in CSV; its reason is the sentence.
_COLUMNS = (
    *("dataset", "evaluated_on", "verdict", "check", "run", "baseline", "baseline_night", "measure", "cutoff", "slice"),
    *("weighted", "criterion", "rule", "severity", "outcome", "effect", "code", "value", "threshold"),
    *("mean", "baseline_mean"),
    *("interval_low", "interval_high", "p_value", "p_adjusted", "minimum_detectable", "queries", "unpaired_queries"),
    "reason",
)


def print_verdicts(verdicts: Sequence[Verdict], style: str) -> None:
    """Print verdicts in a format; in CSV there is a row for each finding."""
    plain = [verdict.as_json() for verdict in verdicts]
    if style == "json":
        print(as_json(plain))
    elif style in CSV:
        rows = ({**verdict, **finding} for verdict in plain for finding in verdict["findings"])
        print_csv(_COLUMNS, rows, style)
    else:
        print_sheets([verdict_sheet(verdict, len(plain) > 1) for verdict in plain], style, most=None)

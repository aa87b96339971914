"""How verdicts are printed: a table for each, or for programs every finding with all its numbers."""

from collections.abc import Sequence

from ndcg_spark.comparison.verdict import Verdict
from ndcg_spark.report.printing import print_result
from ndcg_spark.tables.verdicts import verdict_table

#: The columns of a finding in CSV; its reason is the sentence.
_COLUMNS = (
    *("dataset", "evaluated_on", "verdict", "check", "run", "baseline", "baseline_night", "measure", "cutoff", "slice"),
    *("weighted", "criterion", "rule", "severity", "outcome", "effect", "code", "value", "threshold"),
    *("mean", "baseline_mean"),
    *("interval_low", "interval_high", "p_value", "p_adjusted", "minimum_detectable", "queries", "unpaired_queries"),
    "reason",
)


def print_verdicts(verdicts: Sequence[Verdict], style: str) -> None:
    """Print verdicts; in CSV there is a row for each finding."""
    values = [verdict.as_json() for verdict in verdicts]
    findings = ({**value, **finding} for value in values for finding in value["findings"])
    print_result(
        style, lambda: [verdict_table(value, len(values) > 1) for value in values], lambda: values, _COLUMNS, findings
    )

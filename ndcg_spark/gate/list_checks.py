"""What each check of lists found for every run: limits on how much lists may or must have changed."""

from collections.abc import Iterator

from ndcg_spark.gate.baseline import Night, Refusal
from ndcg_spark.gate.config import GateConfig, ListsConfig
from ndcg_spark.gate.findings import effect_of
from ndcg_spark.gate.lists import ComparedLists
from ndcg_spark.gate.rules import ROUNDING, Row
from ndcg_spark.gate.verdict import Code, Finding, Outcome

#: For each limit: the column of `summarized` that it limits, whether it is an upper limit, the code of its failure, and
#: the measured value in words.
_LIMITS = {
    "max_changed_share": ("changed_share", True, Code.LISTS_CHANGED, "the share of queries whose list changed"),
    "min_changed_share": ("changed_share", False, Code.LISTS_UNCHANGED, "the share of queries whose list changed"),
    "max_moved_discount": ("moved_discount", True, Code.LISTS_CHANGED, "the mean share of the discount that moved"),
    "min_rbo": ("rbo", False, Code.LISTS_CHANGED, "the mean rank-biased overlap"),
}


def list_findings(gate: GateConfig, tonight: Night, lists: ComparedLists) -> Iterator[Finding]:
    """One finding per limit and run of every check of lists, in their order."""
    rows = {(row["run"], row["cutoff"]): row for row in lists.rows}
    for number, check in enumerate(gate.lists):
        for criterion, limit in check.limits.items():
            names = check.runs or sorted({*tonight.runs, *lists.runs})
            for run in [*names] if names else [None]:
                row = rows.get((run, check.cutoff)) if run else None
                refused = _refused(check, run, tonight, lists, row)
                yield _finding(gate, f"gate.lists.{number}", check, (criterion, limit), run, lists, row, refused)


def _refused(
    check: ListsConfig, run: str | None, tonight: Night, lists: ComparedLists, row: Row | None
) -> Refusal | None:
    """The reason if it is unknown how much the lists of a run changed; else None."""
    if run not in tonight.runs:
        missing = f"{run} has no results" if run else "no run has results"
        return Code.MISSING_RUN, f"{missing} in this night; find out why they did not arrive"
    if lists.refused or row is not None:
        return lists.refused
    if run not in lists.runs:
        return Code.MISSING_RUN, f"{run} has no lists in {lists.evaluated_on}; they are compared from the next night on"
    if check.cutoff not in {each["cutoff"] for each in lists.rows}:
        words = f"lists at {check.cutoff} are not in both this night and {lists.evaluated_on}"
        return Code.OTHER_CUTOFFS, f"{words}; name a cutoff that both have"
    return Code.NOT_MEASURED, f"{run} returned nothing at all, in this night and in {lists.evaluated_on}"


def _finding(
    gate: GateConfig,
    place: str,
    check: ListsConfig,
    limit: tuple[str, float],
    run: str | None,
    lists: ComparedLists,
    row: Row | None,
    refused: Refusal | None,
) -> Finding:
    criterion, threshold = limit
    column, is_most, failure, words = _LIMITS[criterion]
    value, outcome = None, Outcome.INCOMPARABLE
    code, reason = refused or (Code.NOT_MEASURED, "nothing was measured")
    if row is not None and not refused:
        value = float(row[column])
        beyond = value - threshold if is_most else threshold - value
        # Written so that nan fails.
        is_within = beyond <= ROUNDING
        outcome, code = (Outcome.PASS, Code.WITHIN) if is_within else (Outcome.FAIL, failure)
        of_run = f"lists@{check.cutoff} of {run}: {words} is {value:.4f} against {lists.evaluated_on}"
        bound = f"at most {threshold:.4f} is allowed" if is_most else f"at least {threshold:.4f} is required"
        reason = f"{of_run} ({row['queries']:,} queries); {bound}"
    return Finding(
        check=place,
        criterion=criterion,
        outcome=outcome,
        code=code,
        reason=reason,
        severity=check.severity,
        effect=effect_of(gate, check.severity, outcome),
        run=run,
        baseline=lists.baseline,
        baseline_night=lists.evaluated_on,
        measure=column,
        cutoff=str(check.cutoff),
        value=value,
        threshold=threshold,
        queries=row["queries"] if row else None,
    )

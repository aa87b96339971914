"""What a gate has to decide: every check for every run and baseline, each with its row, or why it has none."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from ndcg_spark.comparison.deciding import Row
from ndcg_spark.comparison.sides import Against, Night, Refusal
from ndcg_spark.comparison.verdict import Code
from ndcg_spark.comparison.words import subject
from ndcg_spark.convention.measures import BOUNDS, COLUMNS
from ndcg_spark.gate_config import CheckConfig, GateConfig

_COMPANIONS = frozenset(COLUMNS).difference(BOUNDS)

#: A row, or why there is none that decides anything.
_Found = tuple[Row | None, Refusal | None]


@dataclasses.dataclass(frozen=True)
class Case:
    """One check for one run and one baseline: the row that is judged, or why there is none."""

    place: str
    check: CheckConfig
    criterion: str
    run: str | None
    against: Against | None
    row: Row | None
    refused: Refusal | None


def cases(gate: GateConfig, tonight: Night, against: Sequence[Against]) -> Iterator[Case]:
    """Every case of a gate, in the order of its checks; `against` has every baseline of the gate."""
    for number, check in enumerate(gate.check):
        place = f"gate.check.{number}"
        criteria = [("drop", check.limits_drop), ("max_share_losing", check.max_share_losing is not None)]
        for criterion in (name for name, is_asked in criteria if is_asked):
            for each in against:
                runs = _runs(check, tonight, [each], each)
                yield from _of_runs(gate, place, check, criterion, tonight, each, runs)
        if check.min_value is not None:
            # Of a slice, or with weights, only comparisons have a mean, which is over the paired queries.
            compared = check.slice is not None or check.weighted
            source = next((each for each in against if not each.refused), against[0]) if compared else None
            runs = _runs(check, tonight, against, source)
            yield from _of_runs(gate, place, check, "min_value", tonight, source, runs)


def _of_runs(
    gate: GateConfig,
    place: str,
    check: CheckConfig,
    criterion: str,
    tonight: Night,
    against: Against | None,
    runs: Sequence[str],
) -> Iterator[Case]:
    for run in runs:
        row, refused = (
            _row(gate, check, run, tonight, against, criterion) if against else _own(gate, check, run, tonight)
        )
        yield Case(place, check, criterion, run, against, row, refused)
    if not runs:
        nothing = f"{subject(check, None)}: this night has no run to judge besides the baseline"
        yield Case(place, check, criterion, None, against, None, (Code.MISSING_RUN, nothing))


def _runs(check: CheckConfig, tonight: Night, expected: Iterable[Against], compared: Against | None) -> Sequence[str]:
    """The runs of a check: those that it names, or all of tonight and of the expected baselines.

    So a run that did not arrive is missed. The run that the others are compared with is not among them.
    """
    if check.runs is not None:
        return check.runs
    names = {*tonight.runs, *(run for each in expected for run in each.runs)}
    return sorted(names - {compared.config.run if compared else None})


def _row(gate: GateConfig, check: CheckConfig, run: str, tonight: Night, against: Against, criterion: str) -> _Found:
    """The row of COMPARISONS that a check is about, or why it decides nothing."""
    # A run that did not arrive is told first, as no other baseline would help.
    refused = _missing(run, tonight, "this night") or against.refused or _absent(check, run, tonight, "this night")
    if refused is None and against.night is not None:
        refused = _absent(check, run, against.night, against.night.evaluated_on)
    if refused:
        return None, refused
    by = check.max_share_losing.by if check.max_share_losing and criterion == "max_share_losing" else None
    key = (run, check.measure, check.cutoff, *check.attribute_and_value)
    is_weighted, what = check.weighted and by is None, subject(check, run)
    row = against.row((*key, is_weighted), by)
    refused = _refused_row(gate, check, what, row, against.name)
    return row, refused or (_unweighted(gate, what, row, against.row((*key, False))) if is_weighted else None)


def _missing(run: str, night: Night, name: str) -> Refusal | None:
    """Why a night has nothing of a run at all, if so."""
    if run in night.runs:
        return None
    return Code.MISSING_RUN, f"{run} has no results in {name}; find out why it did not arrive"


def _absent(check: CheckConfig, run: str, night: Night, name: str) -> Refusal | None:
    """Why a night has nothing of a run to compare, if so."""
    missing = _missing(run, night, name)
    if missing:
        return missing
    if check.cutoff not in night.cutoffs:
        return Code.OTHER_CUTOFFS, f"{subject(check, run)} was not evaluated in {name}; name a cutoff that it has"
    return None


def _refused_row(gate: GateConfig, check: CheckConfig, what: str, row: Row | None, against: str) -> Refusal | None:
    queries = row["queries"] if row else 0
    unpaired = row["unpaired_queries"] if row else 0
    if check.slice and not queries + unpaired:
        return Code.MISSING_SLICE, f"{what}: no query is {check.slice}; correct the slice, or the query_attributes"
    if row is None or not queries:
        return Code.NOT_MEASURED, f"{what}: no query has a value here and against {against}"
    share = unpaired / (queries + unpaired)
    if share > gate.max_unpaired_fraction:
        return Code.UNPAIRED, (
            f"{what}: {unpaired:,} of {queries + unpaired:,} queries have a value on one side only against {against}; "
            f"{gate.max_unpaired_fraction:.2%} may, see max_unpaired_fraction"
        )
    return _too_few(gate, what, queries)


def _unweighted(gate: GateConfig, what: str, row: Row | None, plain: Row | None) -> Refusal | None:
    """Why a row with weights says too little of the queries of the row without, if so."""
    queries = plain["queries"] if plain else 0
    without = queries - row["queries"] if row else 0
    if without <= gate.max_unpaired_fraction * queries:
        return None
    return Code.UNWEIGHTED, (
        f"{what}: {without:,} of {queries:,} queries have no weight; {gate.max_unpaired_fraction:.2%} may, see "
        "max_unpaired_fraction, or give each one in query_weights"
    )


def _own(gate: GateConfig, check: CheckConfig, run: str, tonight: Night) -> _Found:
    """What a run has scored in this night, as a row with a mean, or why that decides nothing."""
    absent = _absent(check, run, tonight, "this night")
    if absent:
        return None, absent
    row = next(row for row in tonight.scores if (row["run"], row["cutoff"]) == (run, check.cutoff))
    what, mean = subject(check, run), row.get(check.measure)
    if mean is None:
        return None, (Code.NOT_MEASURED, f"{what}: no query of this night has a value")
    # The measures beside NDCG may be means over fewer queries.
    queries = row["relevant_queries"] if check.measure in _COMPANIONS else row["queries"]
    return {"mean": mean, "queries": queries}, _too_few(gate, what, queries)


def _too_few(gate: GateConfig, what: str, queries: int) -> Refusal | None:
    if queries >= gate.min_queries:
        return None
    return Code.TOO_FEW, f"{what}: only {queries:,} queries to judge by, and min_queries is {gate.min_queries}"

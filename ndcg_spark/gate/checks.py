"""What a gate has to decide: every check for every run and baseline, each with its row, or why it has none."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence

from ndcg_spark.convention.measures import BOUNDS, COLUMNS
from ndcg_spark.gate.baseline import Baseline, Night, Refusal
from ndcg_spark.gate.config import CheckConfig, GateConfig
from ndcg_spark.gate.rules import Row
from ndcg_spark.gate.verdict import Code

_BESIDE_NDCG = frozenset(COLUMNS).difference(BOUNDS)

#: A row, or why there is none that decides anything.
_Found = tuple[Row | None, Refusal | None]


@dataclasses.dataclass(frozen=True)
class RunCheck:
    """One check for one run and one baseline: the row that decides, or why there is none."""

    place: str
    check: CheckConfig
    criterion: str
    baseline: Baseline | None
    run: str | None
    row: Row | None
    refused: Refusal | None

    @property
    def subject(self) -> str:
        """What is measured: `ndcg@10 of hybrid for language=de`."""
        return self.check.subject(self.run)

    @property
    def against(self) -> str:
        """What the run is compared with, in words."""
        return self.baseline.name if self.baseline else "nothing"


def run_checks(gate: GateConfig, tonight: Night, baselines: Sequence[Baseline]) -> Iterator[RunCheck]:
    """Every check for every run and baseline, in the order of the checks; `baselines` has every one of the gate."""
    for number, check in enumerate(gate.check):
        sources: list[tuple[str, Baseline | None, Sequence[Baseline]]] = []
        if check.limits_drop:
            sources += [("drop", each, [each]) for each in baselines]
        if check.max_share_losing is not None:
            sources += [("max_share_losing", each, [each]) for each in baselines]
        if check.min_value is not None:
            # Of a slice, or with weights, only comparisons have a mean, which is over the paired queries.
            compares = check.slice is not None or check.weighted
            source = next((each for each in baselines if not each.refused), baselines[0]) if compares else None
            sources.append(("min_value", source, baselines))
        for criterion, baseline, expected in sources:
            start = functools.partial(RunCheck, f"gate.check.{number}", check, criterion, baseline)
            runs = _runs(check, tonight, expected, baseline)
            for run in runs:
                if baseline is None:
                    yield start(run, *_scored(gate, check, run, tonight))
                else:
                    yield start(run, *_compared(gate, check, run, tonight, baseline, criterion))
            if not runs:
                nothing = f"{check.subject(None)}: this night has no run besides the baseline"
                yield start(None, None, (Code.MISSING_RUN, nothing))


def _runs(check: CheckConfig, tonight: Night, expected: Iterable[Baseline], source: Baseline | None) -> Sequence[str]:
    """The runs of a check: those that it names, or all of tonight and of the expected baselines.

    So a run that did not arrive is missed. The run that the others are compared with is not among them.
    """
    if check.runs is not None:
        return check.runs
    names = {*tonight.runs, *(run for each in expected for run in each.runs)}
    return sorted(names - {source.config.run if source else None})


def _compared(
    gate: GateConfig, check: CheckConfig, run: str, tonight: Night, baseline: Baseline, criterion: str
) -> _Found:
    """The row of COMPARISONS that a check is about, or why it decides nothing."""
    # A run that did not arrive comes first, as no other baseline would help.
    refused = _missing(run, tonight, "this night") or baseline.refused or _absent(check, run, tonight, "this night")
    if refused is None and baseline.night is not None:
        refused = _absent(check, run, baseline.night, baseline.night.evaluated_on)
    if refused:
        return None, refused
    key = (run, check.measure, check.cutoff, *check.attribute_and_value)
    limit = check.max_share_losing if criterion == "max_share_losing" else None
    is_weighted = check.weighted and limit is None
    row = baseline.row((*key, is_weighted))
    subject = check.subject(run)
    refused = _refused_row(gate, check, subject, row, baseline.name)
    if refused is None and is_weighted:
        refused = _unweighted(gate, subject, row, baseline.row((*key, False)))
    if row is not None and limit is not None:
        row = {**row, "large_losses": baseline.losing((*key, False), limit.by)}
    return row, refused


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
        return Code.OTHER_CUTOFFS, f"{check.subject(run)} was not evaluated in {name}; name a cutoff that it has"
    return None


def _refused_row(gate: GateConfig, check: CheckConfig, subject: str, row: Row | None, against: str) -> Refusal | None:
    queries = row["queries"] if row else 0
    unpaired = row["unpaired_queries"] if row else 0
    every = queries + unpaired
    if check.slice and not every:
        return Code.MISSING_SLICE, f"{subject}: no query is {check.slice}; correct the slice, or the query_attributes"
    if row is None or not queries:
        return Code.NOT_MEASURED, f"{subject}: no query has a value both here and in {against}"
    if unpaired / every > gate.max_unpaired_fraction:
        return Code.UNPAIRED, (
            f"{subject}: {unpaired:,} of {every:,} queries have a value on one side only, compared with {against}; "
            f"max_unpaired_fraction allows {gate.max_unpaired_fraction:.2%}"
        )
    return _too_few(gate, subject, queries)


def _unweighted(gate: GateConfig, subject: str, row: Row | None, plain: Row | None) -> Refusal | None:
    """Why a row with weights is about too few of the queries of the row without, if so."""
    queries = plain["queries"] if plain else 0
    without = queries - row["queries"] if row else 0
    if without <= gate.max_unpaired_fraction * queries:
        return None
    return Code.UNWEIGHTED, (
        f"{subject}: {without:,} of {queries:,} queries have no weight; max_unpaired_fraction allows "
        f"{gate.max_unpaired_fraction:.2%}; give each query one in query_weights"
    )


def _scored(gate: GateConfig, check: CheckConfig, run: str, tonight: Night) -> _Found:
    """What a run has scored in this night, as a row with a mean, or why that decides nothing."""
    absent = _absent(check, run, tonight, "this night")
    if absent:
        return None, absent
    row = next(row for row in tonight.scores if (row["run"], row["cutoff"]) == (run, check.cutoff))
    subject, mean = check.subject(run), row.get(check.measure)
    if mean is None:
        return None, (Code.NOT_MEASURED, f"{subject}: no query of this night has a value")
    # The measures beside NDCG may be means over fewer queries.
    queries = row["relevant_queries"] if check.measure in _BESIDE_NDCG else row["queries"]
    return {"mean": mean, "queries": queries}, _too_few(gate, subject, queries)


def _too_few(gate: GateConfig, subject: str, queries: int) -> Refusal | None:
    if queries >= gate.min_queries:
        return None
    return Code.TOO_FEW, f"{subject}: only {queries:,} queries, and min_queries is {gate.min_queries}"

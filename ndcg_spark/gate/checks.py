"""What a gate has to decide: every check for every run and baseline, with its row or the reason why it has none."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ndcg_spark.gate.baseline import Baseline, Key, Night, Refusal
from ndcg_spark.gate.config import CheckConfig, GateConfig
from ndcg_spark.gate.rules import Row
from ndcg_spark.gate.verdict import Code

#: A row, or the reason why no row decides anything.
_Found = tuple[Row | None, Refusal | None]
#: The rows that compare tonight with one score assumed for every query, by that score and their key.
Minimums = Mapping[tuple[float, Key], Row]


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


def run_checks(
    gate: GateConfig, tonight: Night, baselines: Sequence[Baseline], minimums: Minimums
) -> Iterator[RunCheck]:
    """Every check for every run and baseline, in the order of the checks; `baselines` has every one of the gate."""
    for number, check in enumerate(gate.check):
        sources: list[tuple[str, Baseline | None, Sequence[Baseline]]] = []
        if check.limits_drop:
            sources += [("drop", each, [each]) for each in baselines]
        if check.max_share_losing is not None:
            sources += [("max_share_losing", each, [each]) for each in baselines]
        if check.min_value is not None:
            sources.append(("min_value", None, baselines))
        for criterion, baseline, expected in sources:
            start = functools.partial(RunCheck, f"gate.check.{number}", check, criterion, baseline)
            runs = _runs(check, tonight, expected, baseline)
            for run in runs:
                if baseline is None:
                    yield start(run, *_above(gate, check, run, tonight, minimums))
                else:
                    yield start(run, *_compared(gate, check, run, tonight, baseline, criterion))
            if not runs:
                nothing = f"{check.subject(None)}: this night has no run besides the baseline"
                yield start(None, None, (Code.MISSING_RUN, nothing))


def _runs(check: CheckConfig, tonight: Night, expected: Iterable[Baseline], source: Baseline | None) -> Sequence[str]:
    """The runs of a check: those that it names, or all of tonight, of the expected baselines, and else expected.

    In this way, a run that did not arrive is noticed. The run that the others are compared with is not included.
    """
    if check.runs is not None:
        return check.runs
    names = {*tonight.runs, *tonight.expected_runs, *(run for each in expected for run in each.runs)}
    return sorted(names - {source.config.run if source else None})


def _compared(
    gate: GateConfig, check: CheckConfig, run: str, tonight: Night, baseline: Baseline, criterion: str
) -> _Found:
    """The row of COMPARISONS that a check needs, or the reason why it decides nothing."""
    # A run that did not arrive is reported first, because no other baseline would help.
    refused = _missing(run, tonight, "this night") or baseline.refused or _absent(check, run, tonight, "this night")
    if refused is None and baseline.night is not None:
        refused = _absent(check, run, baseline.night, baseline.night.evaluated_on)
    if refused:
        return None, refused
    key = (run, check.measure, check.cutoff, *check.attribute_and_value)
    limit = check.max_share_losing if criterion == "max_share_losing" else None
    row, plain = baseline.row((*key, check.weighted and limit is None)), baseline.row((*key, False))
    refused = _refused_row(gate, check, run, row, plain, f"both here and in {baseline.name}")
    if row is not None and limit is not None:
        row = {**row, "large_losses": baseline.losing((*key, False), limit.by)}
    return row, refused


def _above(gate: GateConfig, check: CheckConfig, run: str, tonight: Night, minimums: Minimums) -> _Found:
    """The row that compares a run with the minimum of a check, or the reason why it decides nothing."""
    absent = _absent(check, run, tonight, "this night")
    if absent is None and tonight.unreadable:
        absent = Code.UNREADABLE, f"the published nights cannot be used, {tonight.unreadable}"
    if absent:
        return None, absent
    key = (run, check.measure, check.cutoff, *check.attribute_and_value)
    row, plain = (minimums.get((check.min_value or 0.0, (*key, weighted))) for weighted in (check.weighted, False))
    return row, _refused_row(gate, check, run, row, plain, "in this night")


def _missing(run: str, night: Night, name: str) -> Refusal | None:
    """The reason why a night has no results of a run; None if it has some."""
    if run in night.runs:
        return None
    return Code.MISSING_RUN, f"{run} has no results in {name}; find out why it did not arrive"


def _absent(check: CheckConfig, run: str, night: Night, name: str) -> Refusal | None:
    """The reason why a night has nothing to compare for a run; None if it has something."""
    missing = _missing(run, night, name)
    if missing:
        return missing
    if check.cutoff not in night.cutoffs:
        return Code.OTHER_CUTOFFS, f"{check.subject(run)} was not evaluated in {name}; name a cutoff that it has"
    return None


def _refused_row(
    gate: GateConfig, check: CheckConfig, run: str, row: Row | None, plain: Row | None, where: str
) -> Refusal | None:
    """The reason why a row decides nothing; None if it decides. `plain` is the same row without weights."""
    subject, allowed = check.subject(run), f"max_unpaired_fraction allows {gate.max_unpaired_fraction:.2%}"
    queries, unpaired = (row["queries"], row["unpaired_queries"]) if row else (0, 0)
    every = queries + unpaired
    if check.slice and not every:
        return Code.MISSING_SLICE, f"{subject}: no query is {check.slice}; correct the slice, or the query_attributes"
    if row is None or not queries:
        return Code.NOT_MEASURED, f"{subject}: no query has a value {where}"
    if unpaired / every > gate.max_unpaired_fraction:
        words = f"{unpaired:,} of {every:,} queries have a value on one side only"
        return Code.UNPAIRED, f"{subject}: {words}; {allowed}"
    weighable = plain["queries"] if plain else 0
    if row["weight_effective_n"] is None:
        return _too_few(gate, subject, queries, "queries")
    if weighable - queries > gate.max_unpaired_fraction * weighable:
        without = f"{weighable - queries:,} of {weighable:,} queries have no weight"
        return Code.UNWEIGHTED, f"{subject}: {without}; {allowed}; give each query one in query_weights"
    words = f"queries of equal weight, which is what the weights of {queries:,} come down to"
    return _too_few(gate, subject, row["weight_effective_n"], words)


def _too_few(gate: GateConfig, subject: str, queries: float, words: str) -> Refusal | None:
    if queries >= gate.min_queries:
        return None
    return Code.TOO_FEW, f"{subject}: only {queries:,.4g} {words}, and min_queries is {gate.min_queries}"

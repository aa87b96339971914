"""The verdict of a gate on a night, from the results of its checks and what is missing."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.comparison.baselines import Baseline, Kind
from ndcg_spark.comparison.differences import ComparisonOptions, explains_change
from ndcg_spark.comparison.differences import causes as causes_of_change
from ndcg_spark.comparison.known_losses import Acknowledgement, losses_to_accept
from ndcg_spark.comparison.matrix import MOST_VALUES, Metric, values_of
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.comparison.trend import falls_of_night
from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.errors import DONE, InputError, StorageError
from ndcg_spark.gate.acknowledged import (
    NotCovered,
    accepted_loss_in_words,
    in_force,
    known_before,
    losses_that_returned,
    uncovered_in_words,
    why_fallen,
    why_not_known,
)
from ndcg_spark.gate.against_reference import ReferenceScores
from ndcg_spark.gate.answers import fewer_answers
from ndcg_spark.gate.checks import Case, cases_of
from ndcg_spark.gate.compared_night import (
    ComparedNight,
    Comparisons,
    Row,
    compare_night,
    resolve_baselines,
    row_key,
)
from ndcg_spark.gate.gate_inputs import GateInputs
from ndcg_spark.gate.links import changes_in_words, links_of
from ndcg_spark.gate.missing import Missing, find_missing, gone_runs
from ndcg_spark.gate.past_changes import unknown_changes
from ndcg_spark.gate.results import Finding, against_in_words, decide_cases, finding_of, is_note
from ndcg_spark.gate.settings import GateConfig
from ndcg_spark.gate.slices import SliceLoss, named_slices, slice_losses
from ndcg_spark.gate.verdict import (
    EXIT_CODES,
    FAIL,
    NONE,
    NOT_COMPARABLE,
    PASS,
    UNDECIDED,
    Result,
    Verdict,
    checked_mean_of,
    drop_of,
    unverified_verdict,
)
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.reader import earlier
from ndcg_spark.tables.format import count, part, score
from ndcg_spark.tables.format import difference as signed
from ndcg_spark.text import GOOD
from ndcg_spark.tolerance import DECIMALS

_MAX_CAUSES = 20
#: How many runs are named at most if everything passes.
_MAX_NAMED = 3
#: The `check` of a result about missing runs or datasets.
_ARRIVAL = "gate"
#: Reasons that repeat every night until something is fixed or accepted.
_REPEATED = ("no_baseline", "may_be_chance", "sides_disagree", "below_min_value")
#: The reasons of results with which a night may still be the first baseline of a rehearsal.
_REASONS_AT_START = {None, "no_baseline", "other_convention", "other_items", "other_judgments"}


class Decided(NamedTuple):
    """A result, its finding, and its case; the case is None for missing runs or datasets."""

    result: Result
    finding: Finding
    case: Case | None = None

    @property
    def is_note(self) -> bool:
        return self.case is not None and is_note(self.case, self.result)


class Acceptance(NamedTuple):
    """Why somebody accepts a night as a baseline for later ones, and for which runs (None: all)."""

    reason: str
    runs: tuple[str, ...] | None = None

    def covers(self, run: str | None) -> bool:
        """Whether it covers a run; None means a result that is not about one run."""
        return self.runs is None or run in self.runs


def acceptance_of(night: Night) -> Acceptance | None:
    """The acceptance of a night in the log."""
    if not night.row["accepted"]:
        return None
    runs = night.record.get("accepted_runs")
    return Acceptance(night.row["accepted"], tuple(runs) if runs else None)


class Found(NamedTuple):
    """What is known about a night before its verdict."""

    baselines: Sequence[Baseline]
    compared: Comparisons
    cases: Sequence[Case]
    missing: Sequence[Missing]
    #: The date of the last night if its results are identical to tonight's.
    same_results: str | None
    #: Slices that lost much without failing the night.
    losses: Sequence[SliceLoss] = ()
    #: Other sentences that do not change the verdict.
    warnings: Sequence[str] = ()
    #: By how much the runs changed across a change of judgments.
    links: Sequence[dict[str, Any]] = ()
    #: The runs whose level falls.
    falls: Sequence[dict[str, Any]] = ()
    #: Sentences about runs that answered fewer queries than on their last good night.
    fewer_answers: Sequence[str] = ()


class Judged(NamedTuple):
    verdict: Verdict
    rows: list[Row]
    #: The runs and ids of the queries that changed most.
    changed: list[tuple[str, str]]
    #: By how much the runs changed across a change of judgments that starts with the night.
    links: Sequence[Row] = ()
    #: The acknowledgement from an earlier evaluation of the same rows: reason and until.
    known_loss: Mapping[str, str] | None = None

    def log_entries(self) -> dict[str, Any]:
        """The entries that the log keeps."""
        entries = self.verdict.log_entries()
        return {**entries, "links": self.links or None, "acknowledged": self.known_loss}


def judge(inputs: GateInputs, accepted: Acceptance | None = None) -> Judged:
    """The verdict on a night; the exit code of a failure is 0 if it is a known loss.

    If an acknowledgement does not cover a failure, a warning says why.
    """
    judged = _compare_and_decide(inputs, accepted)
    if accepted is not None:
        judged = _with_warnings(judged, _losses_accepted(inputs, judged.verdict, accepted))
    if judged.verdict.verdict != FAIL:
        return judged
    known = known_before(inputs.tonight, inputs.nights)
    newest = in_force(known)
    if newest is None:
        returned = losses_that_returned(judged.verdict, known, inputs.nights)
        return _with_warnings(judged, returned)
    uncovered = _why_not_covered(inputs, judged.verdict, newest)
    if uncovered is None:
        acknowledged = newest.as_json()
        verdict = dataclasses.replace(judged.verdict, acknowledged=acknowledged, exit_code=DONE)
        return judged._replace(verdict=verdict)
    returned = losses_that_returned(judged.verdict, known, inputs.nights)
    return _with_warnings(judged, returned or [uncovered_in_words(newest, uncovered)])


def _with_warnings(judged: Judged, warnings: Sequence[str]) -> Judged:
    """The verdict with these warnings before its own."""
    all_warnings = (*warnings, *judged.verdict.warnings)
    return judged._replace(verdict=dataclasses.replace(judged.verdict, warnings=all_warnings))


def _losses_accepted(inputs: GateInputs, verdict: Verdict, accepted: Acceptance) -> list[str]:
    """A warning for each known loss that accepting the night makes part of the baseline."""
    runs = accepted.runs or inputs.runs
    results = map(vars, verdict.results)
    losses = losses_to_accept(inputs.tonight, results, inputs.nights, runs)
    return list(map(accepted_loss_in_words, losses))


def _why_not_covered(
    inputs: GateInputs, verdict: Verdict, known: Acknowledgement
) -> NotCovered | None:
    """Why an acknowledgement does not cover a failed night; None if it does.

    It covers a night that fails only in acknowledged losses, if nothing has fallen since.
    """
    if known.night == inputs.tonight:
        return None
    uncovered = why_not_known(verdict, known)
    if uncovered is not None:
        return uncovered
    gate = with_only_baseline(inputs.gate, known.night)
    judged = _compare_and_decide(dataclasses.replace(inputs, gate=gate))
    return why_fallen(judged.verdict)


def with_only_baseline(gate: GateConfig, night: Night) -> GateConfig:
    """The gate with one night as its only baseline."""
    checks = [check.model_copy(update={"baselines": None}) for check in gate.check]
    return gate.model_copy(update={"baseline": (night.evaluated_on,), "check": tuple(checks)})


def _compare_and_decide(inputs: GateInputs, accepted: Acceptance | None = None) -> Judged:
    """The verdict on a night, whether or not a failure is acknowledged."""
    tonight = inputs.tonight
    if tonight.unverified is not None:
        verdict = unverified_verdict(tonight.dataset, tonight.evaluated_on, tonight.unverified)
        return Judged(verdict, rows=[], changed=[])
    inputs = dataclasses.replace(inputs, options=_options_for_checks(inputs))
    found = _find(inputs)
    verdict = decide(inputs.gate, tonight, found, accepted)
    return Judged(verdict, _rows_to_publish(found), _changed_most(found), found.links)


def _options_for_checks(inputs: GateInputs) -> ComparisonOptions:
    """The options, with the gate's level and the attributes that the night keeps."""
    # Each check states how many queries it needs.
    options = dataclasses.replace(inputs.options, alpha=inputs.gate.alpha, min_queries=2)
    kept = inputs.scores.attributes(inputs.tonight)
    return options if kept is None else dataclasses.replace(options, attributes=kept)


def _find(inputs: GateInputs) -> Found:
    """Compare a night with its baselines, and look for what is missing."""
    gate, tonight, nights, scores = inputs.gate, inputs.tonight, inputs.nights, inputs.scores
    baselines = resolve_baselines(gate, tonight, nights, scores)
    compared = compare_night(inputs, baselines)
    references = ReferenceScores(tonight, nights, scores, inputs.options, gate.nights)
    missing = find_missing(inputs, baselines)
    return Found(
        baselines,
        compared,
        cases=cases_of(inputs, baselines, compared, references),
        missing=missing,
        same_results=_same_results(tonight, nights),
        losses=_losses_of_slices(inputs, baselines, compared, references),
        warnings=[
            *_warnings_of_values(inputs),
            *unknown_changes(tonight, nights),
            *gone_runs(inputs, missing),
        ],
        links=links_of(inputs),
        falls=_falls(inputs),
        fewer_answers=fewer_answers(inputs, baselines),
    )


def _losses_of_slices(
    inputs: GateInputs,
    baselines: Sequence[Baseline],
    compared: Comparisons,
    references: ReferenceScores,
) -> list[SliceLoss]:
    """The slices that lost much, whether or not a check covers them."""
    if inputs.options.attributes is None:
        return []
    values = values_of(inputs.options.attributes, inputs.tonight.dataset)
    # If no judgment has the document ids of a run, its scores say nothing about its slices.
    unknown_ids = inputs.tonight.unmeasured
    runs = [run for run in inputs.runs if run not in unknown_ids]
    return slice_losses(inputs, runs, baselines, compared, references, values)


def _falls(inputs: GateInputs) -> list[dict[str, Any]]:
    """The runs whose level falls, by their first check of all queries; this never decides."""
    metrics: dict[str, Metric] = {}
    for _, check in inputs.checks:
        # A lower catalog measure is not a loss.
        if check.slice is None and not check.weighted and not check.is_of_catalog:
            for run in filter(check.is_for, inputs.runs):
                metrics.setdefault(run, check.metric)
    tonight = inputs.tonight
    try:
        falls = falls_of_night(
            inputs.nights, tonight.dataset, tonight.evaluated_on, metrics, inputs.scores
        )
    except (InputError, StorageError):
        # The verdict does not need nights that cannot be read.
        return []
    found = []
    for run, (since, moved) in falls.items():
        measure, cutoff = metrics[run]
        key = {"run": run, "measure": measure, "cutoff": format_cutoff(cutoff)}
        found.append({**key, "since": since, "difference": moved})
    return found


def _warnings_of_values(inputs: GateInputs) -> list[str]:
    """A warning for each attribute with too many values to check its slices; only on the first
    night.
    """
    attributes, tonight = inputs.options.attributes, inputs.tonight
    if attributes is None or earlier(inputs.nights, tonight.dataset, tonight.evaluated_on):
        return []
    warnings = []
    for attribute, values in values_of(attributes, tonight.dataset).items():
        if len(values) > MOST_VALUES:
            many = f"{attribute} has {len(values):,} values, more than {MOST_VALUES}"
            warnings.append(f"{many}, so its slices are checked only if a check names them")
    return warnings


def _same_results(tonight: Night, nights: Nights) -> str | None:
    """The date of the last night, if its results are identical to tonight's."""
    fingerprint = tonight.row["results_fingerprint"]
    before = earlier(nights, tonight.dataset, tonight.evaluated_on)
    if fingerprint and before and before[-1].row["results_fingerprint"] == fingerprint:
        return before[-1].evaluated_on
    return None


def _rows_to_publish(found: Found) -> list[Row]:
    """The COMPARISONS rows to publish; rows that baselines or checks share are listed once."""
    rows: list[Row] = []
    for baseline in found.baselines:
        compared = found.compared.get(baseline.stands_for)
        if compared is not None:
            rows.extend(compared.rows.values())
    for case in found.cases:
        if case.baseline.is_reference:
            rows.extend(part.row for part in case.parts if part.row is not None)
    by_key: dict[Any, Row] = {}
    for row in rows:
        baseline_key = row["baseline"], row["baseline_night"], row["baseline_nights"]
        by_key.setdefault((baseline_key, row_key(row), row["reading"]), row)
    return list(by_key.values())


def _changed_most(found: Found) -> list[tuple[str, str]]:
    """The queries that changed most against the first baseline that was compared."""
    for baseline in found.baselines:
        compared = found.compared.get(baseline.stands_for)
        if compared is not None and compared.rows:
            return list(compared.changed)
    return []


def decide(gate: GateConfig, tonight: Night, found: Found, accepted: Acceptance | None) -> Verdict:
    """The last step: the verdict on a night."""
    of_cases = _decided_cases(gate, found.cases)
    of_checks = [decided for decided in of_cases if not decided.is_note]
    notes = list(_sentences(_notes(of_cases)).values())
    has_results = bool(of_checks)
    of_missing = _decided_missing(_all_missing(gate, tonight, found, has_results, notes))
    decisions = of_missing + of_checks
    word, deciding = _decisive(decisions)
    causes = _causes(deciding, found.compared)
    warnings = _warnings_of_checks(decisions, deciding)
    warnings += _warnings_beside_checks(gate, found)
    warnings += _warning_not_good(word, decisions, accepted)
    is_accepted = word == NONE and accepted is not None and _covers_all(accepted, deciding)
    return Verdict(
        dataset=tonight.dataset,
        evaluated_on=tonight.evaluated_on,
        verdict=word,
        reason=deciding[0].result.reason if deciding else None,
        sentence=_verdict_sentence(decisions, deciding, of_missing, causes),
        run=_run_of(deciding),
        exit_code=DONE if is_accepted else EXIT_CODES[word],
        results=tuple(decided.result for decided in decisions),
        warnings=tuple(warnings),
        notes=(*notes, *found.fewer_answers),
        baselines=tuple(_entry(baseline) for baseline in found.baselines),
        causes=tuple(causes),
        accepted=accepted.reason if accepted else None,
        accepted_runs=accepted.runs if accepted else None,
        falls=tuple(found.falls),
        changes=tuple(changes_in_words(found.links)),
        lost_slices=tuple(loss.sentence for loss in found.losses),
        named_slices=named_slices(gate, tonight.dataset, found.losses),
        unjudged_runs=_unjudged_runs(of_cases),
    )


def _unjudged_runs(decisions: Iterable[Decided]) -> tuple[str, ...]:
    """The runs that need more judged documents to tell whether they lost."""
    runs = set()
    for decided in decisions:
        if decided.result.reason == "unjudged_documents":
            runs.add(str(decided.result.run))
    return tuple(sorted(runs))


def _covers_all(accepted: Acceptance, deciding: Iterable[Decided]) -> bool:
    """Whether everything that keeps a night from passing is about the accepted runs."""
    return all(accepted.covers(decided.result.run) for decided in deciding)


def _notes(decisions: Sequence[Decided]) -> list[Decided]:
    """The results that are only notes, without a note that repeats another finding."""
    of_checks = [decided for decided in decisions if not decided.is_note]
    # If the accepted state and the good nights are the same nights, both find the same.
    found = {decided.finding for decided in of_checks}
    # A run that cannot be compared with the good nights has no accepted nights either.
    not_compared = _runs_not_compared(of_checks)
    notes = []
    for decided in decisions:
        if not decided.is_note or decided.finding in found:
            continue
        result = decided.result
        if result.result == NOT_COMPARABLE and result.run in not_compared:
            continue
        notes.append(decided)
    return notes


def _runs_not_compared(decisions: Iterable[Decided]) -> set[str | None]:
    runs = set()
    for decided in decisions:
        if decided.result.result == NOT_COMPARABLE:
            runs.add(decided.result.run)
    return runs


def _decided_missing(missing: Iterable[Missing]) -> list[Decided]:
    """Everything that is missing, each as a separate finding."""
    decisions = []
    for number, one in enumerate(missing):
        result = Result(
            check=_ARRIVAL,
            severity=FAIL,
            result=NOT_COMPARABLE,
            reason=one.code,
            sentence=one.sentence,
            run=one.run,
        )
        decisions.append(Decided(result, Finding(one.code, (_ARRIVAL, number))))
    return decisions


def _decided_cases(gate: GateConfig, cases: Sequence[Case]) -> list[Decided]:
    """The result and the finding of each case."""
    decisions = []
    for case, result in zip(cases, decide_cases(gate, cases), strict=True):
        decisions.append(Decided(result, finding_of(case, result), case))
    return decisions


def _run_of(deciding: Sequence[Decided]) -> str | None:
    """The run that a verdict is about; None if its first finding is not about one run."""
    runs = {one.result.run for one in deciding if one.finding == deciding[0].finding}
    return runs.pop() if len(runs) == 1 else None


def _all_missing(
    gate: GateConfig,
    tonight: Night,
    found: Found,
    has_results: bool,
    notes: Sequence[str],
) -> list[Missing]:
    """Everything that is missing or was not measured.

    `has_results`: whether a check has a result that is not only a note.
    """
    missing = list(found.missing)
    if not has_results and not missing:
        missing.append(_why_no_result(tonight, notes))
    if found.same_results and gate.same_results == "undecided":
        sentence = f"the results are identical to those of {found.same_results}"
        missing.append(Missing("not_measured", sentence))
    return missing


def _why_no_result(tonight: Night, notes: Sequence[str]) -> Missing:
    """Why no check has a result: only notes were found, or no check covers a run."""
    if notes:
        return Missing("no_baseline", notes[0])
    sentence = f"no check covers a run of {tonight.dataset} other than the baseline"
    return Missing("not_measured", sentence)


def _decisive(decisions: Sequence[Decided]) -> tuple[str, list[Decided]]:
    """The word of a verdict, and the results that decide it, sorted by `_order`."""
    can_fail = [one for one in decisions if one.result.severity == FAIL]
    failed = [one for one in can_fail if one.result.result == FAIL]
    not_passed = [one for one in can_fail if one.result.result != PASS]
    # If nothing was measured, even checks that only warn keep the night from passing.
    if all(one.result.result == NOT_COMPARABLE for one in decisions):
        not_passed = list(decisions)
    if failed:
        return FAIL, sorted(failed, key=_order)
    if not_passed:
        return NONE, sorted(not_passed, key=_order)
    return PASS, []


def _order(decided: Decided) -> tuple[bool, bool, bool, bool, float]:
    """A sort key: the order in which results decide.

    Missing runs and datasets come first, and checks that can fail come before checks that only
    warn. Results that repeat every night until somebody fixes them come after the others. Apart
    from that, the largest drop comes first.
    """
    result = decided.result
    is_check = result.check != _ARRIVAL
    only_warns = result.severity != FAIL
    is_repeated = result.reason in _REPEATED
    # The cause of a fall since the last nights can be named, so it comes before an older one.
    is_since_long = result.since is not None
    return is_check, only_warns, is_repeated, is_since_long, drop_of(vars(result))


def _verdict_sentence(
    decisions: Sequence[Decided],
    deciding: Sequence[Decided],
    of_missing: Sequence[Decided],
    causes: Sequence[Row],
) -> str:
    """The missing runs and datasets and the first finding; other deciding findings are counted."""
    if not deciding:
        return _all_pass(decisions)
    shown = _sentences([*of_missing, deciding[0]])
    more = len(_sentences(deciding).keys() - shown.keys())
    sentences = list(shown.values())
    if more:
        sentences[-1] += f" (and {_more_comparisons(more, deciding[0])})"
    if causes and explains_change(causes[0]):
        sentences.append(_cause_in_words(causes[0]))
    return "; ".join(sentences)


def _all_pass(decisions: Sequence[Decided]) -> str:
    """The sentence if everything passes: `ndcg@10: bm25 0.4312 (+0.0021) against 7 good nights`.

    It has the scores of the runs by the first check, those that changed most first.
    """
    measured = [one for one in decisions if one.result.mean is not None]
    passed = [one for one in measured if one.result.result == PASS]
    if not measured:
        return "there are only warning checks"
    shown = _results_by_run(passed or measured)
    shown.sort(key=_size_of_change, reverse=True)
    named = shown[:_MAX_NAMED]
    words = ", ".join(_in_short(one.result) for one in named)
    more = len({one.result.run for one in measured}) - len(named)
    others = f" and {count(more, 'more run')}" if more > 0 else ""
    warns = "" if len(passed) == len(decisions) else "; others only warn"
    mean = checked_mean_of(vars(named[0].result))
    return f"{mean}: {words}{others}{_against(named)}{warns}"


def _more_comparisons(more: int, first: Decided) -> str:
    """The other comparisons that decide a verdict: `1 more comparison fails`."""
    comparisons = count(more, "more comparison")
    if first.result.result == FAIL:
        return f"{comparisons} {'fails' if more == 1 else 'fail'}"
    return f"{comparisons} {'is' if more == 1 else 'are'} not decided"


def _results_by_run(decisions: Sequence[Decided]) -> list[Decided]:
    """One result per run: its first one about the same mean as the first result."""
    mean = checked_mean_of(vars(decisions[0].result))
    by_run: dict[str | None, Decided] = {}
    for one in decisions:
        if checked_mean_of(vars(one.result)) == mean:
            by_run.setdefault(one.result.run, one)
    return list(by_run.values())


def _size_of_change(decided: Decided) -> float:
    """By how much a run changed; 0 if it is compared only with a minimum."""
    result = decided.result
    if result.baseline is None or result.difference is None:
        return 0.0
    return abs(round(result.difference, DECIMALS))


def _against(decisions: Sequence[Decided]) -> str:
    """What these results are compared with, after a space; empty if only with a minimum."""
    baselines = list(dict.fromkeys(map(_baseline_in_words, decisions)))
    if len(baselines) == 1:
        return f" {baselines[0]}" if baselines[0] else ""
    if all(one.result.baseline == GOOD for one in decisions):
        return " against the good nights of each run"
    return " against the baselines of each run"


def _baseline_in_words(decided: Decided) -> str:
    """The baseline of a result in words; empty for a minimum."""
    if decided.case is None or decided.result.baseline is None:
        return ""
    return against_in_words(decided.case)


def _in_short(result: Result) -> str:
    """The score of a run, and its change if it has a baseline: `bm25 0.4312 (+0.0021)`."""
    change = "" if result.baseline is None else f" ({signed(result.difference)})"
    return f"{result.run} {score(result.mean)}{change}"


def _sentences(decisions: Iterable[Decided]) -> dict[Finding, str]:
    """Each finding in order, with the sentence of the first result that has it."""
    sentences: dict[Finding, str] = {}
    for one in decisions:
        sentences.setdefault(one.finding, one.result.sentence)
    return sentences


def _cause_in_words(cause: Row) -> str:
    queries = f"{cause['queries']:,} of {cause['of_queries']:,} queries"
    share = part(cause["share"])
    return f"{cause['attribute']}={cause['value']}: {queries}, {share} of the loss"


def _warnings_of_checks(decisions: Sequence[Decided], deciding: Sequence[Decided]) -> list[str]:
    """The findings of checks that only warn, unless the verdict contains them."""
    in_verdict = _sentences(deciding)
    warned = []
    for one in decisions:
        only_warns = one.result.severity != FAIL
        if only_warns and one.result.result != PASS and one.finding not in in_verdict:
            warned.append(one)
    return list(_sentences(warned).values())


def _warnings_beside_checks(gate: GateConfig, found: Found) -> list[str]:
    """The warnings that do not come from a check."""
    warnings = [loss.sentence for loss in found.losses]
    warnings.extend(found.warnings)
    if found.same_results and gate.same_results == "warn":
        same = f"the results are identical to those of {found.same_results}"
        warnings.insert(0, f"{same}; check that the export is recent")
    warnings.extend(baseline.unread for baseline in found.baselines if baseline.unread)
    return warnings


def _warning_not_good(
    word: str,
    decisions: Sequence[Decided],
    accepted: Acceptance | None,
) -> list[str]:
    """The warning that a night passed but is not good."""
    is_good = all(one.result.result in (PASS, UNDECIDED) for one in decisions)
    if word != PASS or accepted is not None or is_good:
        return []
    why = "because a check that only warns failed or was not measured"
    return [f"the night is not good, {why}; it cannot be a baseline"]


def _entry(baseline: Baseline) -> dict[str, Any]:
    """The entry of a baseline in a verdict."""
    return {
        "name": baseline.name,
        "runs": None if baseline.runs is None else list(baseline.runs),
        "nights": [night.evaluated_on for night in baseline.nights],
        "evaluation_id": baseline.nights[-1].evaluation_id if baseline.nights else None,
    }


def _causes(deciding: Sequence[Decided], compared: Comparisons) -> list[dict[str, Any]]:
    """The slices with most of the loss that decided a verdict.

    A chain has no rows for slices. So if an accepted night decides, the slices come from the same
    mean against the good nights, provided that this comparison also decides.
    """
    first = deciding[0].case if deciding else None
    if first is None:
        return []
    for one in deciding:
        if one.case is None or one.case.mean != first.mean:
            continue
        night = compared.get(one.case.baseline.stands_for)
        if night is not None:
            return _slices_of_loss(one.case, night)
    return []


def _slices_of_loss(case: Case, compared: ComparedNight) -> list[dict[str, Any]]:
    """The slices with most of a loss; empty if the case is not a loss over all queries."""
    check = case.check
    if check.slice or check.weighted or check.is_of_catalog:
        return []
    if case.refused or case.row is None or case.baseline.kind is Kind.ITSELF:
        return []
    if (case.row["difference"] or 0.0) >= 0:
        return []
    of_all = row_key(case.row)
    slices = []
    for key, row in compared.rows.items():
        of_slice = of_all._replace(attribute=key.attribute, value=key.value)
        if key.attribute is not None and key == of_slice:
            slices.append(row)
    return causes_of_change(case.row, slices)[:_MAX_CAUSES]


def rehearse(
    gate: GateConfig, nights: Nights, options: ComparisonOptions, dataset: str | None = None
) -> Iterator[Verdict]:
    """The verdict on each night of one or all datasets, as if the gate had run every night.

    A night that was evaluated without a gate cannot have been accepted, so it is good if there is
    nothing to compare it with.
    """
    known = Nights(nights, nights.rows, nights.damaged)
    scores = ScoreCache()
    for number, night in enumerate(nights):
        if dataset not in (None, night.dataset):
            continue
        inputs = GateInputs(gate, night, known, scores, options)
        verdict = judge(inputs, acceptance_of(night)).verdict
        is_good = verdict.is_baseline or _starts_rehearsal(night, verdict, nights)
        known[number] = dataclasses.replace(night, row={**night.row, "is_baseline": is_good})
        yield _with_later_acceptance(verdict, night)


def _with_later_acceptance(verdict: Verdict, night: Night) -> Verdict:
    """The verdict, with a note if the night was accepted after its own verdict."""
    if not night.row["accepted"] or not night.row["revision"]:
        return verdict
    note = "it was accepted after its verdict, and the acceptance is used here"
    return dataclasses.replace(verdict, notes=(*verdict.notes, note))


def _starts_rehearsal(night: Night, verdict: Verdict, nights: Nights) -> bool:
    """Whether a night without a gate becomes the first baseline of a rehearsal."""
    # A date whose log cannot be read may have been a baseline.
    if night.row["verdict"] is not None or nights.damaged_between("", night.evaluated_on):
        return False
    return {result.reason for result in verdict.results} <= _REASONS_AT_START

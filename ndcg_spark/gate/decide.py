"""The verdict of a gate on a night, from the results of its checks and what is missing."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.comparison.baselines import Baseline, Kind
from ndcg_spark.comparison.differences import ComparisonOptions, causes, explains_change
from ndcg_spark.comparison.matrix import Metric, read_attributes, values_of
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.comparison.trend import falls_of_night
from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.errors import DONE, InputError, StorageError
from ndcg_spark.gate.acknowledged import Acknowledgement, has_fallen, in_force, is_known
from ndcg_spark.gate.against_reference import ReferenceScores
from ndcg_spark.gate.checks import Case, cases_of, unknown_ids_of
from ndcg_spark.gate.compared_night import (
    ComparedNight,
    Comparisons,
    Row,
    compare_night,
    resolve_baselines,
    row_key,
)
from ndcg_spark.gate.links import changes_in_words, links_of
from ndcg_spark.gate.missing import Missing, find_missing
from ndcg_spark.gate.past_changes import unknown_changes
from ndcg_spark.gate.results import Finding, against_in_words, decide_cases, finding_of, is_note
from ndcg_spark.gate.settings import GateConfig, checked_mean
from ndcg_spark.gate.slices import MOST_VALUES, SliceLoss, named_slices, slice_losses
from ndcg_spark.gate.verdict import (
    EXIT_CODES,
    FAIL,
    NONE,
    NOT_COMPARABLE,
    PASS,
    UNDECIDED,
    Result,
    Verdict,
    drop_of,
    unverified_verdict,
)
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.reader import earlier
from ndcg_spark.tables.format import difference as signed
from ndcg_spark.tables.format import part, score

_MAX_CAUSES = 20
#: The most runs that are named when everything passes.
_MAX_NAMED = 3
#: The `check` of a result about missing runs or datasets.
_ARRIVAL = "gate"
#: Reasons that repeat every night until something is fixed or accepted.
_REPEATED = ("no_baseline", "may_be_chance", "sides_disagree", "below_min_value")
#: The reasons of results that do not keep a night from starting a rehearsal.
_BEGINNINGS = {None, "no_baseline", "other_convention", "other_items", "other_judgments"}


class Decided(NamedTuple):
    """A result, its finding, and its case; the case is None for missing runs or datasets."""

    result: Result
    finding: Finding
    case: Case | None = None


class Acceptance(NamedTuple):
    """Why somebody accepts a night as a baseline for later ones, and for which runs (None: all)."""

    reason: str
    runs: tuple[str, ...] | None = None


def acceptance_of(night: Night) -> Acceptance | None:
    """The acceptance of a night in the log."""
    if not night.row["accepted"]:
        return None
    runs = night.record.get("accepted_runs")
    return Acceptance(night.row["accepted"], tuple(runs) if runs else None)


class Found(NamedTuple):
    """What is known about a night before it is decided."""

    #: The runs that returned anything.
    runs: Sequence[str]
    against: Sequence[Baseline]
    compared: Comparisons
    cases: Sequence[Case]
    missing: Sequence[Missing]
    #: The date of the last night if its results are identical.
    same: str | None
    #: Slices that lost much without failing the night.
    losses: Sequence[SliceLoss] = ()
    #: Other sentences that do not change the verdict.
    warnings: Sequence[str] = ()
    #: By how much the runs changed across a change of judgments.
    links: Sequence[dict[str, Any]] = ()
    #: The runs whose level falls.
    falls: Sequence[dict[str, Any]] = ()


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


def judge(
    gate: GateConfig,
    tonight: Night,
    nights: Nights,
    scores: ScoreCache,
    options: ComparisonOptions,
    accepted: Acceptance | None = None,
) -> Judged:
    """The verdict on a night, which is one of `nights`.

    `options` have attributes and weights; attributes that the night itself keeps take precedence.
    """
    judged = _judge(gate, tonight, nights, scores, options, accepted)
    if judged.verdict.verdict != FAIL:
        return judged
    known = in_force(tonight, nights)
    if known is None:
        return judged
    is_still_known = known.night == tonight or _is_not_worse(
        gate, tonight, nights, scores, options, judged.verdict, known
    )
    if not is_still_known:
        return judged
    verdict = dataclasses.replace(judged.verdict, acknowledged=known.as_json(), exit_code=DONE)
    return judged._replace(verdict=verdict)


def _is_not_worse(
    gate: GateConfig,
    tonight: Night,
    nights: Nights,
    scores: ScoreCache,
    options: ComparisonOptions,
    verdict: Verdict,
    known: Acknowledgement,
) -> bool:
    """Whether a failed night fails only in acknowledged losses, and nothing has fallen since."""
    if not is_known(verdict, known.night.record["verdict"] or {}):
        return False
    beside = _judge(beside_night(gate, known.night), tonight, nights, scores, options).verdict
    return not has_fallen(beside.results, beside.lost_slices)


def beside_night(gate: GateConfig, night: Night) -> GateConfig:
    """The gate with one night as its only baseline."""
    checks = [check.model_copy(update={"baselines": None}) for check in gate.check]
    return gate.model_copy(update={"baseline": (night.evaluated_on,), "check": tuple(checks)})


def _judge(
    gate: GateConfig,
    tonight: Night,
    nights: Nights,
    scores: ScoreCache,
    options: ComparisonOptions,
    accepted: Acceptance | None = None,
) -> Judged:
    if tonight.unverified is not None:
        verdict = unverified_verdict(tonight.dataset, tonight.evaluated_on, tonight.unverified)
        return Judged(verdict, [], [])
    against = resolve_baselines(gate, tonight, nights, scores)
    own = _options_of(gate, tonight, options)
    compared = compare_night(gate, tonight, against, scores, own)
    references = ReferenceScores(tonight, nights, scores, own, gate.nights)
    missing = find_missing(gate, tonight, nights, against, scores)
    runs = scores.source(tonight).runs
    cases = cases_of(gate, tonight, runs, against, compared, references)
    found = Found(
        runs,
        against,
        compared,
        cases,
        missing,
        same=_same_results(tonight, nights),
        losses=_losses_of_slices(gate, tonight, runs, against, compared, references, own),
        warnings=_warnings_of_values(tonight, nights, own) + unknown_changes(tonight, nights),
        links=links_of(gate, tonight, nights, scores),
        falls=_falls(gate, tonight, nights, scores, runs),
    )
    verdict = decide(gate, tonight, found, accepted)
    changed = _changed_most(against, compared)
    return Judged(verdict, _rows_to_publish(found), changed, found.links)


def _losses_of_slices(
    gate: GateConfig,
    tonight: Night,
    runs: Sequence[str],
    against: Sequence[Baseline],
    compared: Comparisons,
    references: ReferenceScores,
    options: ComparisonOptions,
) -> list[SliceLoss]:
    """The slices that lost much, whether or not a check covers them."""
    if options.attributes is None:
        return []
    values = values_of(options.attributes, tonight.dataset)
    # Of a run whose document ids no judgment has, nothing was measured.
    unknown = unknown_ids_of(tonight)
    known = [run for run in runs if run not in unknown]
    return slice_losses(gate, tonight.dataset, known, against, compared, references, values)


def _falls(
    gate: GateConfig,
    tonight: Night,
    nights: Nights,
    scores: ScoreCache,
    runs: Sequence[str],
) -> list[dict[str, Any]]:
    """The runs whose level falls, by their first check of all queries; this never decides."""
    metrics: dict[str, Metric] = {}
    for _, check in gate.checks(tonight.dataset):
        # A lower catalog measure is not a loss.
        if check.slice is None and not check.weighted and not check.is_of_catalog:
            for run in filter(check.is_for, runs):
                metrics.setdefault(run, check.metric)
    try:
        falls = falls_of_night(nights, tonight.dataset, tonight.evaluated_on, metrics, scores)
    except (InputError, StorageError):
        # The verdict does not need nights that cannot be read.
        return []
    found = []
    for run, (since, moved) in falls.items():
        measure, cutoff = metrics[run]
        key = {"run": run, "measure": measure, "cutoff": format_cutoff(cutoff)}
        found.append({**key, "since": since, "difference": moved})
    return found


def _warnings_of_values(tonight: Night, nights: Nights, options: ComparisonOptions) -> list[str]:
    """A warning for each attribute with too many values to check its slices; given once."""
    if options.attributes is None or earlier(nights, tonight.dataset, tonight.evaluated_on):
        return []
    warnings = []
    for attribute, values in values_of(options.attributes, tonight.dataset).items():
        if len(values) > MOST_VALUES:
            many = f"{attribute} has {len(values):,} values, more than {MOST_VALUES}"
            warnings.append(f"{many}, so its slices are checked only if a check names them")
    return warnings


def _options_of(gate: GateConfig, tonight: Night, options: ComparisonOptions) -> ComparisonOptions:
    kept = read_attributes([tonight])
    # Each check states how many queries it needs.
    own = dataclasses.replace(options, alpha=gate.alpha, min_queries=2)
    return own if kept is None else dataclasses.replace(own, attributes=kept)


def _same_results(tonight: Night, nights: Nights) -> str | None:
    """The date of the last night, if its results are identical to tonight's."""
    own = tonight.row["results_fingerprint"]
    before = earlier(nights, tonight.dataset, tonight.evaluated_on)
    if own and before and before[-1].row["results_fingerprint"] == own:
        return before[-1].evaluated_on
    return None


def _rows_to_publish(found: Found) -> list[Row]:
    """The COMPARISONS rows to publish; rows that baselines or checks share are listed once."""
    rows: list[Row] = []
    for baseline in found.against:
        beside = found.compared.get(baseline.stands_for)
        if beside is not None:
            rows.extend(beside.rows.values())
    for case in found.cases:
        if case.baseline.is_reference:
            rows.extend(part.row for part in case.parts if part.row is not None)
    by_key: dict[Any, Row] = {}
    for row in rows:
        nights = row["baseline"], row["baseline_night"], row["baseline_nights"]
        by_key.setdefault((nights, row_key(row), row["reading"]), row)
    return list(by_key.values())


def _changed_most(against: Sequence[Baseline], compared: Comparisons) -> list[tuple[str, str]]:
    """What changed most against the first baseline that was compared."""
    for baseline in against:
        beside = compared.get(baseline.stands_for)
        if beside is not None and beside.rows:
            return list(beside.changed)
    return []


def decide(gate: GateConfig, tonight: Night, found: Found, accepted: Acceptance | None) -> Verdict:
    """The last step: the verdict on a night."""
    of_cases = _of_cases(gate, found.cases)
    of_checks = [one for one in of_cases if not _is_note(one)]
    notes = _sentences(_notes(of_cases))
    arrival = _of_absent(_not_there(gate, tonight, found, of_checks, list(notes.values())))
    decisions = arrival + of_checks
    word, deciding = _decisive(decisions)
    losses = _causes(deciding, found.compared)
    warnings = _warnings_of(decisions, deciding)
    warnings += _warnings_beside(gate, found)
    warnings += _warning_not_good(word, decisions, accepted)
    is_accepted = word == NONE and accepted is not None and _covers(accepted, deciding)
    return Verdict(
        dataset=tonight.dataset,
        evaluated_on=tonight.evaluated_on,
        verdict=word,
        reason=deciding[0].result.reason if deciding else None,
        sentence=_verdict_sentence(decisions, deciding, arrival, losses),
        run=_run_of(deciding),
        exit_code=DONE if is_accepted else EXIT_CODES[word],
        results=tuple(decision.result for decision in decisions),
        warnings=tuple(warnings),
        notes=tuple(notes.values()),
        baselines=tuple(_entry(baseline) for baseline in found.against),
        causes=tuple(losses),
        accepted=accepted.reason if accepted else None,
        accepted_runs=accepted.runs if accepted else None,
        falls=tuple(found.falls),
        changes=tuple(changes_in_words(found.links)),
        lost_slices=tuple(loss.sentence for loss in found.losses),
        named_slices=named_slices(gate, tonight.dataset, found.losses),
        unjudged_runs=_unjudged_runs(of_cases),
    )


def _unjudged_runs(decisions: Sequence[Decided]) -> tuple[str, ...]:
    """The runs that need more judged documents to tell whether they lost."""
    results = [one.result for one in decisions if one.result.reason == "unjudged_documents"]
    return tuple(sorted({str(result.run) for result in results}))


def _covers(accepted: Acceptance, deciding: Sequence[Decided]) -> bool:
    """Whether everything that keeps a night from passing is about the accepted runs."""
    if accepted.runs is None:
        return True
    return all(one.result.run in accepted.runs for one in deciding)


def _notes(decisions: Sequence[Decided]) -> list[Decided]:
    """The results that are only notes, without a note that repeats another finding."""
    lacks_good = any(one.result.reason == "no_baseline" and not _is_note(one) for one in decisions)
    # If the good nights are those of the accepted state, both find the same.
    found = {one.finding for one in decisions if not _is_note(one)}
    notes = [one for one in decisions if _is_note(one) and one.finding not in found]
    if not lacks_good:
        return notes
    return [one for one in notes if one.result.reason != "no_baseline"]


def _is_note(decision: Decided) -> bool:
    return decision.case is not None and is_note(decision.case, decision.result)


def _of_absent(absent: Sequence[Missing]) -> list[Decided]:
    """Everything that is missing, each as a separate finding."""
    decisions = []
    for at, missing in enumerate(absent):
        result = Result(
            check=_ARRIVAL,
            severity=FAIL,
            result=NOT_COMPARABLE,
            reason=missing.code,
            sentence=missing.sentence,
            run=missing.run,
        )
        decisions.append(Decided(result, Finding(missing.code, (_ARRIVAL, at))))
    return decisions


def _of_cases(gate: GateConfig, cases: Sequence[Case]) -> list[Decided]:
    decisions = []
    for case, result in zip(cases, decide_cases(gate, cases), strict=True):
        decisions.append(Decided(result, finding_of(case, result), case))
    return decisions


def _run_of(deciding: Sequence[Decided]) -> str | None:
    """The run that a verdict is about; None if it is about a baseline."""
    runs = {one.result.run for one in deciding if one.finding == deciding[0].finding}
    return runs.pop() if len(runs) == 1 else None


def _not_there(
    gate: GateConfig,
    tonight: Night,
    found: Found,
    of_checks: Sequence[Decided],
    notes: Sequence[str],
) -> list[Missing]:
    """Everything that is missing or was not measured."""
    absent = list(found.missing)
    if not (of_checks or absent):
        sentence = f"no check covers a run of {tonight.dataset} other than the baseline"
        absent.append(
            Missing("no_baseline", notes[0]) if notes else Missing("not_measured", sentence)
        )
    if found.same and gate.same_results == "undecided":
        absent.append(
            Missing("not_measured", f"the results are identical to those of {found.same}")
        )
    return absent


def _decisive(decisions: Sequence[Decided]) -> tuple[str, list[Decided]]:
    """The word of a verdict, and the results that decide it, in the order of the sentence."""
    can_fail = [one for one in decisions if one.result.severity == FAIL]
    failed = [one for one in can_fail if one.result.result == FAIL]
    unknown = [one for one in can_fail if one.result.result != PASS]
    # Warnings decide if nothing was measured.
    if all(one.result.result == NOT_COMPARABLE for one in decisions):
        unknown = list(decisions)
    if failed:
        return FAIL, sorted(failed, key=_order)
    if unknown:
        return NONE, sorted(unknown, key=_order)
    return PASS, []


def _order(decision: Decided) -> tuple[bool, bool, bool, bool, float]:
    """A sort key: the order in which results decide.

    Missing runs and datasets come first, then checks that can fail, then results that would not
    repeat every night until somebody fixes them, then the largest drop.
    """
    result = decision.result
    is_repeated = result.reason in _REPEATED
    is_check = result.check != _ARRIVAL
    # The cause of a fall since the last nights can be named.
    is_since_long = result.since is not None
    return is_check, result.severity != FAIL, is_repeated, is_since_long, drop_of(vars(result))


def _verdict_sentence(
    decisions: Sequence[Decided],
    deciding: Sequence[Decided],
    arrival: Sequence[Decided],
    losses: Sequence[Row],
) -> str:
    """The missing runs and datasets and the first finding; other deciding findings are counted."""
    if not deciding:
        return _all_pass(decisions)
    said = _sentences([*arrival, deciding[0]])
    more = len(_sentences(deciding).keys() - said.keys())
    sentences = list(said.values())
    if more:
        sentences[-1] += f" (and {more} more)"
    if losses and explains_change(losses[0]):
        sentences.append(_loss_in_words(losses[0]))
    return "; ".join(sentences)


def _all_pass(decisions: Sequence[Decided]) -> str:
    """The scores of the runs in the first check, and by how much they changed."""
    measured = [one for one in decisions if one.result.mean is not None]
    passed = [one for one in measured if one.result.result == PASS]
    if not measured:
        return "there are only warning checks"
    shown = passed or measured
    first = shown[0]
    baseline = _baseline_in_words(first)
    own: dict[str | None, Result] = {}
    for one in shown:
        if one.result.check == first.result.check and _baseline_in_words(one) == baseline:
            own.setdefault(one.result.run, one.result)
    named = ", ".join(map(_in_short, list(own.values())[:_MAX_NAMED]))
    more = len({one.result.run for one in shown}) - min(len(own), _MAX_NAMED)
    others = f" and {more} more" if more else ""
    warns = "" if len(passed) == len(decisions) else "; others only warn"
    against = f" {baseline}" if baseline else ""
    return f"{_measured(first)}: {named}{others}{against}{warns}"


def _baseline_in_words(decision: Decided) -> str:
    """What a passed result is compared with; empty for a minimum."""
    if decision.case is None or decision.result.baseline is None:
        return ""
    return against_in_words(decision.case)


def _measured(decision: Decided) -> str:
    """The measure of a check: `weighted ndcg@10 for language=de`."""
    result = decision.result
    measure = f"{result.measure}@{result.cutoff}"
    return checked_mean(measure, result.weighted, result.slice)


def _in_short(result: Result) -> str:
    change = "" if result.baseline is None else f" ({signed(result.difference)})"
    return f"{result.run} {score(result.mean)}{change}"


def _sentences(decisions: Iterable[Decided]) -> dict[Finding, str]:
    """Each finding in order, with the sentence of the first result that has it."""
    sentences: dict[Finding, str] = {}
    for one in decisions:
        sentences.setdefault(one.finding, one.result.sentence)
    return sentences


def _loss_in_words(cause: Row) -> str:
    queries = f"{cause['queries']:,} of {cause['of_queries']:,} queries"
    share = part(cause["share"])
    return f"{cause['attribute']}={cause['value']}: {queries}, {share} of the loss"


def _warnings_of(decisions: Sequence[Decided], deciding: Sequence[Decided]) -> list[str]:
    """The findings of checks that only warn, unless the verdict contains them."""
    decided = _sentences(deciding)
    warned = []
    for one in decisions:
        if one.result.severity != FAIL and one.result.result != PASS:
            warned.append(one)
    found = _sentences(warned)
    return [sentence for finding, sentence in found.items() if finding not in decided]


def _warnings_beside(gate: GateConfig, found: Found) -> list[str]:
    warnings = [loss.sentence for loss in found.losses]
    warnings.extend(found.warnings)
    if found.same and gate.same_results == "warn":
        same = f"the results are identical to those of {found.same}"
        warnings.insert(0, f"{same}; check that the export is recent")
    warnings.extend(baseline.unread for baseline in found.against if baseline.unread)
    return warnings


def _warning_not_good(
    word: str,
    decisions: Sequence[Decided],
    accepted: Acceptance | None,
) -> list[str]:
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

    If an accepted night decides, the slices come from the same mean against the good nights, if
    that also decides, because a chain has no rows for slices.
    """
    first = deciding[0].case if deciding else None
    if first is None:
        return []
    for one in deciding:
        if one.case is None or one.case.mean != first.mean:
            continue
        beside = compared.get(one.case.baseline.stands_for)
        if beside is not None:
            return _slices_of_loss(one.case, beside)
    return []


def _slices_of_loss(case: Case, beside: ComparedNight) -> list[dict[str, Any]]:
    if case.refused or case.row is None or case.check.slice or case.check.weighted:
        return []
    if case.check.is_of_catalog:
        return []
    if case.baseline.kind is Kind.ITSELF or (case.row["difference"] or 0.0) >= 0:
        return []
    own = row_key(case.row)
    parts = []
    for key, row in beside.rows.items():
        is_same = key[:3] == own[:3] and key.side == own.side
        if is_same and key.attribute is not None and not key.is_weighted:
            parts.append(row)
    return causes(case.row, parts)[:_MAX_CAUSES]


def rehearse(
    gate: GateConfig, nights: Nights, options: ComparisonOptions, dataset: str | None = None
) -> Iterator[Verdict]:
    """The verdict on each night of a dataset, or of all, as if the gate had run on every one.

    A night that was evaluated without a gate cannot have been accepted, so it is good if there is
    nothing to compare it with.
    """
    known = Nights(nights, nights.rows, nights.damaged)
    scores = ScoreCache()
    for number, night in enumerate(nights):
        if dataset not in (None, night.dataset):
            continue
        verdict = judge(gate, night, known, scores, options, acceptance_of(night)).verdict
        is_good = verdict.is_baseline or _begins(night, verdict, nights)
        known[number] = dataclasses.replace(night, row={**night.row, "is_baseline": is_good})
        yield _with_later_acceptance(verdict, night)


def _with_later_acceptance(verdict: Verdict, night: Night) -> Verdict:
    """The verdict, with a note if the night was accepted later, which a rehearsal knows."""
    if not night.row["accepted"] or not night.row["revision"]:
        return verdict
    note = "it was accepted after its verdict, and the acceptance is used here"
    return dataclasses.replace(verdict, notes=(*verdict.notes, note))


def _begins(night: Night, verdict: Verdict, nights: Nights) -> bool:
    """Whether a night without a gate becomes the first baseline of a rehearsal."""
    # A date whose log cannot be read may have been a baseline.
    if night.row["verdict"] is not None or nights.damaged_between("", night.evaluated_on):
        return False
    return {result.reason for result in verdict.results} <= _BEGINNINGS

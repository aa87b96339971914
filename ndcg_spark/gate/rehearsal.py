"""A gate rehearsed on the published nights: what it would have decided on each of them."""

from collections.abc import Iterator

from ndcg_spark.comparison.compare import kept_attributes, of_nights
from ndcg_spark.comparison.slices import Attributes, Weights
from ndcg_spark.gate.config import GateConfig
from ndcg_spark.gate.history import History, night_of
from ndcg_spark.gate.run import run_gate
from ndcg_spark.gate.verdict import Code, Effect, Verdict
from ndcg_spark.nights.log import Night, is_baseline

#: A night with nothing to compare it with counts as accepted, because somebody would have had to accept it.
_BEGINNINGS = (Code.NO_BASELINE, Code.OTHER_CONVENTION, Code.OTHER_JUDGMENTS)


def rehearse(
    gate: GateConfig,
    history: History,
    dataset: str | None = None,
    attributes: Attributes | None = None,
    weights: Weights | None = None,
) -> Iterator[Verdict]:
    """The verdict on each night of a dataset, or of all, as if the gate had run on every one.

    A night is good if this gate passes it, if somebody has accepted it, or if there is nothing to compare it with. A
    baseline that is a date counts from the night after that date.
    """
    nights = list(history.nights)
    for number, night in enumerate(nights):
        if dataset in (None, night.dataset):
            own = _at(gate, night)
            tonight, known = night_of(night), History(nights)
            if not own.baseline and gate.baseline:
                continue
            (scores,) = of_nights([night])
            sliced = kept_attributes([night]) or attributes
            verdict = run_gate(own, tonight, scores, known, sliced, weights).verdict
            nights[number] = _rehearsed(night, verdict)
            yield verdict


def _at(gate: GateConfig, night: Night) -> GateConfig:
    """The gate with only those baselines that existed before a night."""
    there = [each for each in gate.baseline if each.run or each.is_good_night or str(each.night) < night.evaluated_on]
    return gate.model_copy(update={"baseline": tuple(there)})


def _rehearsed(night: Night, verdict: Verdict) -> Night:
    deciding = {finding.code for finding in verdict.findings if finding.effect in (Effect.FAIL, Effect.NONE)}
    begins = {"accepted": {"reason": "rehearsal"}} if deciding and deciding <= {*_BEGINNINGS} else {}
    record = {**night.record, "verdict": verdict.as_json(), **begins}
    return night.with_record({**record, "is_baseline": is_baseline(record["verdict"], record["accepted"])})

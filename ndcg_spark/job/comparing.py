"""Published nights compared with a baseline: a run of theirs, another date, or the last night that was good."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from ndcg_spark.comparison.comparing import Compared, compare_tables
from ndcg_spark.comparison.measures import SCORES
from ndcg_spark.comparison.sides import different_options
from ndcg_spark.convention.cutoffs import ascending, order_of
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.inputs.query_tables import read_attributes, read_weights
from ndcg_spark.job.comparison_request import LAST_GOOD, Request
from ndcg_spark.job.failures import translated_failures
from ndcg_spark.job.outcome import Tell
from ndcg_spark.nights.choosing import chosen, left_out
from ndcg_spark.nights.read import dataset_scores, read_nights
from ndcg_spark.nights.records import CommittedNight, committed, last_good, read_again_if_replaced, unreplaced
from ndcg_spark.tables.table import at
from ndcg_spark.text import did_you_mean

#: So many names of runs are told.
_SHOWN = 10


def compare_nights(request: Request, tell: Tell) -> Compared:
    """Compare as requested.

    Raises
    ------
    ConfigurationError
        A measure, cutoff, run or night is not there, or no night was good.
    StorageError
        The output cannot be read.
    InputError
        The attributes or the weights break their contract.
    """
    return read_again_if_replaced(lambda: _compare_nights(request, tell))


def _compare_nights(request: Request, tell: Tell) -> Compared:
    nights = committed(request.output)
    date = request.date.isoformat() if request.date else None
    tonight = chosen(nights, request.output, date, request.dataset)
    baselines = _baselines(nights, tonight, request)
    _refuse_unknown_runs(request, tonight, baselines)
    request = _measured(request, tonight)
    for sentence in doubts(tonight, baselines):
        tell("note", sentence)
    every = [*tonight, *baselines.values()]
    with unreplaced(every), open_engine(request.engine, request.remote) as opened, translated_failures(()):
        tell("engine", opened.name)
        found = _compared(opened, request, tonight, baselines)
    absent = left_out(nights, tonight[0].evaluated_on, request.dataset)
    if absent:
        found = dataclasses.replace(found, warnings=[absent, *found.warnings])
    for night in tonight:
        run = f"run {request.baseline}" if request.baseline else "the runs of the same names"
        date = f" of {baselines[night.dataset].evaluated_on}" if night.dataset in baselines else ""
        tell("compared", f"{night.dataset} of {night.evaluated_on} with {run}{date}")
    for sentence in found.warnings:
        tell("note", sentence)
    return found


def _compared(
    opened: Engine, request: Request, tonight: Sequence[CommittedNight], baselines: Mapping[str, CommittedNight]
) -> Compared:
    cutoffs = list(request.measures.values())
    wanted = None if None in cutoffs else ascending(k for given in cutoffs for k in given or ())
    return compare_tables(
        read_nights(tonight, "query_scores", opened.session),
        read_nights([*baselines.values()], "query_scores", opened.session) if baselines else None,
        request.baseline,
        measures=request.measures,
        runs=request.runs,
        cutoffs=wanted,
        alpha=request.alpha,
        correction=request.correction,
        test=request.test,
        attributes=read_attributes(opened, [request.slices]) if request.slices else None,
        weights=read_weights(opened, [request.weights]) if request.weights else None,
        queries=request.queries,
    )


def _baselines(
    nights: Sequence[CommittedNight], tonight: Sequence[CommittedNight], request: Request
) -> dict[str, CommittedNight]:
    """By dataset, the night that it is compared with; none of them if the baseline is a run of the same night."""
    if request.baseline_date is None:
        return {}
    found = {}
    for night in tonight:
        own = [other for other in nights if other.dataset == night.dataset]
        if request.baseline_date == LAST_GOOD:
            good = last_good([other for other in own if other.evaluated_on < night.evaluated_on])
            missing = f"no night of {night.dataset} before {night.evaluated_on} has passed the gate"
        else:
            good = next((other for other in own if other.evaluated_on == request.baseline_date), None)
            missing = f"{night.dataset} has no night of {request.baseline_date}"
        if good is None:
            raise ConfigurationError(f"baseline-date: {missing}; ndcg-spark nights lists them")
        found[night.dataset] = good
    return found


def doubts(tonight: Iterable[CommittedNight], baselines: Mapping[str, CommittedNight]) -> list[str]:
    """Why the scores of two nights may not mean the same."""
    sentences = []
    for night in tonight:
        other = baselines.get(night.dataset)
        if other is None:
            continue
        if different_options(night.record.get("options", {}), other.record.get("options", {})):
            sentences.append(
                f"{other.evaluated_on} has another convention, {other.record.get('convention')}, and this night has "
                f"{night.record.get('convention')}: their scores cannot be compared"
            )
        judged = [each.record.get("inputs", {}).get("judgments", {}).get("fingerprint") for each in (night, other)]
        if judged[0] != judged[1]:
            sentences.append(
                f"the judgments of {night.dataset} are not those of {other.evaluated_on}, which changes scores too"
            )
    return sentences


def _refuse_unknown_runs(
    request: Request, tonight: Sequence[CommittedNight], baselines: Mapping[str, CommittedNight]
) -> None:
    """ConfigurationError for a run that these nights do not have; told from their dataset scores, without an engine."""

    def runs(nights: Iterable[CommittedNight]) -> list[str]:
        return sorted({row["run"] for rows in dataset_scores(list(nights)) for row in rows})

    if request.baseline_date is None and request.baseline in (request.runs or ()):
        raise ConfigurationError(f"run: {request.baseline!r} is the baseline itself; name another --run or --baseline")
    for option, wanted, nights in (
        ("run", request.runs or (), tonight),
        ("baseline", (request.baseline,) if request.baseline else (), baselines.values() or tonight),
    ):
        known = runs(nights) if wanted else []
        for run in wanted:
            if run not in known:
                near, some = did_you_mean(run, known), ", ".join(known[:_SHOWN])
                more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
                raise ConfigurationError(f"{option}: no run is called {run!r}{near}; there are {some}{more}")


def _measured(request: Request, tonight: Sequence[CommittedNight]) -> Request:
    """The request, each measure beside NDCG at the cutoffs at which these nights have it.

    ConfigurationError for a measure that they do not have at a cutoff that is named.
    """
    rows = [row for rows in dataset_scores(tonight) for row in rows]
    has = {
        name: {row["cutoff"] for row in rows if row[name] is not None} for name in SCORES if name in (rows or [{}])[0]
    }
    found = dict(request.measures)
    for name, cutoffs in request.measures.items():
        if name not in has:
            continue
        lacking = set(cutoffs or ()) - has[name] if cutoffs else set() if has[name] else {None}
        if lacking:
            kept = ", ".join(f"{each}@{at(k)}" for each, own in has.items() for k in sorted(own, key=order_of))
            wanted = name if cutoffs is None else f"{name}@{at(min(lacking, key=order_of))}"
            raise ConfigurationError(
                f"measures: {wanted} was not evaluated in this night; it has {kept or 'no scores'}"
            )
        if cutoffs is None and name != "ndcg":
            found[name] = sorted(has[name], key=order_of)
    return dataclasses.replace(request, measures=found)

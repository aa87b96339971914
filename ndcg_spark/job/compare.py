"""Published nights compared with a baseline: a run of theirs, another date, or the last night that was good."""

import dataclasses
import datetime
from collections.abc import Iterable, Mapping, Sequence

from ndcg_spark.comparison.baselines import baseline_night
from ndcg_spark.comparison.comparability import doubts
from ndcg_spark.comparison.compare import Comparison, compare_tables
from ndcg_spark.comparison.options import SCORES, ComparisonOptions
from ndcg_spark.config_values import LAST_GOOD
from ndcg_spark.config_values import date as date_value
from ndcg_spark.convention.cutoffs import Cutoff, by_depth, format_cutoff
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.inputs.read import read_attributes, read_weights
from ndcg_spark.job.failures import translated_failures
from ndcg_spark.job.outcome import Tell
from ndcg_spark.nights.choosing import chosen, left_out, unknown_run
from ndcg_spark.nights.read import dataset_scores, read_nights
from ndcg_spark.nights.records import CommittedNight, committed, read_again_if_replaced, unreplaced


@dataclasses.dataclass(frozen=True)
class ComparisonRequest:
    """What is compared with what, as the command line says it."""

    output: str
    #: Of the night; None for the newest.
    date: datetime.date | None = None
    dataset: str | None = None
    baseline: str | None = None
    #: A date, or LAST_GOOD.
    baseline_date: str | None = None
    runs: Sequence[str] | None = None
    options: ComparisonOptions = dataclasses.field(default_factory=ComparisonOptions)
    slices: str | None = None
    weights: str | None = None
    queries: int = 0
    engine: str = "auto"
    remote: str | None = None

    def __post_init__(self) -> None:
        if self.baseline is None and self.baseline_date is None:
            raise ConfigurationError(
                f"arguments: there is no baseline; give --baseline RUN, or --baseline-date YYYY-MM-DD or {LAST_GOOD}"
            )
        if self.baseline_date != LAST_GOOD:
            date_of("baseline-date", self.baseline_date)


def date_of(option: str, text: str | None) -> datetime.date | None:
    """The date of an option. ConfigurationError if it is not a date."""
    try:
        return None if text is None else date_value(text)
    except ValueError as error:
        raise ConfigurationError(f"arguments: --{option} {error}") from None


def compare_nights(request: ComparisonRequest, tell: Tell) -> Comparison:
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


def _compare_nights(request: ComparisonRequest, tell: Tell) -> Comparison:
    nights = committed(request.output)
    date = request.date.isoformat() if request.date else None
    tonight = chosen(nights, request.output, date, request.dataset)
    baselines = _baselines(nights, tonight, request.baseline_date) if request.baseline_date else {}
    _refuse_unknown_runs(request, tonight, baselines)
    measures = _evaluated_measures(request.options.measures, tonight)
    request = dataclasses.replace(request, options=dataclasses.replace(request.options, measures=measures))
    every = [*tonight, *baselines.values()]
    with unreplaced(every), open_engine(request.engine, request.remote) as engine, translated_failures(()):
        tell("engine", engine.name)
        found = _compared(engine, request, tonight, baselines)
    absent = left_out(nights, tonight[0].evaluated_on, request.dataset)
    warnings = [*([absent] if absent else []), *doubts_of(tonight, baselines), *found.warnings]
    found = dataclasses.replace(found, warnings=warnings)
    for night in tonight:
        run = f"run {request.baseline}" if request.baseline else "the runs of the same names"
        of_date = f" of {baselines[night.dataset].evaluated_on}" if night.dataset in baselines else ""
        tell("compared", f"{night.dataset} of {night.evaluated_on} with {run}{of_date}")
    for sentence in found.warnings:
        tell("note", sentence)
    return found


def doubts_of(tonight: Iterable[CommittedNight], baselines: Mapping[str, CommittedNight]) -> list[str]:
    """Why the scores of these nights and of their baselines, by dataset, may not mean the same."""
    return [
        sentence
        for night in tonight
        for other in [baselines.get(night.dataset)]
        if other is not None
        for sentence in doubts(night.dataset, night.record, other.record, other.evaluated_on)
    ]


def _compared(
    engine: Engine,
    request: ComparisonRequest,
    tonight: Sequence[CommittedNight],
    baselines: Mapping[str, CommittedNight],
) -> Comparison:
    return compare_tables(
        read_nights(tonight, "query_scores", engine.session),
        read_nights([*baselines.values()], "query_scores", engine.session) if baselines else None,
        request.baseline,
        request.options,
        runs=request.runs,
        attributes=read_attributes(engine, [request.slices]) if request.slices else None,
        weights=read_weights(engine, [request.weights]) if request.weights else None,
        queries=request.queries,
    )


def _baselines(
    nights: Sequence[CommittedNight], tonight: Sequence[CommittedNight], baseline: str
) -> dict[str, CommittedNight]:
    """By dataset, the night that it is compared with; `baseline` is a date or LAST_GOOD."""
    found = {}
    for night in tonight:
        other = baseline_night(nights, night.dataset, night.evaluated_on, baseline)
        if other is None:
            missing = (
                f"no night of {night.dataset} before {night.evaluated_on} has passed the gate"
                if baseline == LAST_GOOD
                else f"{night.dataset} has no night of {baseline}"
            )
            raise ConfigurationError(f"baseline-date: {missing}; ndcg-spark nights lists them")
        found[night.dataset] = other
    return found


def _refuse_unknown_runs(
    request: ComparisonRequest, tonight: Sequence[CommittedNight], baselines: Mapping[str, CommittedNight]
) -> None:
    """ConfigurationError for a run that these nights do not have; told from their dataset scores, without an engine."""
    if request.baseline_date is None and request.baseline in (request.runs or ()):
        raise ConfigurationError(f"run: {request.baseline!r} is the baseline itself; name another --run or --baseline")
    for option, runs, nights in (
        ("run", request.runs or (), tonight),
        ("baseline", (request.baseline,) if request.baseline else (), [*baselines.values()] or tonight),
    ):
        known = {row["run"] for rows in dataset_scores(nights) for row in rows} if runs else set()
        for run in runs:
            if run not in known:
                raise unknown_run(option, run, known)


def _evaluated_measures(
    measures: Mapping[str, Sequence[Cutoff] | None], tonight: Sequence[CommittedNight]
) -> dict[str, Sequence[Cutoff] | None]:
    """The measures, each beside NDCG at the cutoffs at which these nights have it.

    ConfigurationError for a measure that they do not have at a cutoff that is named.
    """
    rows = [row for rows in dataset_scores(tonight) for row in rows]
    has = {
        name: {row["cutoff"] for row in rows if row[name] is not None} for name in SCORES if name in (rows or [{}])[0]
    }
    found = dict(measures)
    for name, cutoffs in measures.items():
        if name not in has:
            continue
        absent = set(cutoffs or ()) - has[name] if cutoffs else set() if has[name] else {None}
        if absent:
            there = ", ".join(
                f"{each}@{format_cutoff(k)}" for each, own in has.items() for k in sorted(own, key=by_depth)
            )
            missing = name if cutoffs is None else f"{name}@{format_cutoff(min(absent, key=by_depth))}"
            raise ConfigurationError(
                f"measures: {missing} was not evaluated in this night; it has {there or 'no scores'}"
            )
        if cutoffs is None and name != "ndcg":
            found[name] = sorted(has[name], key=by_depth)
    return found

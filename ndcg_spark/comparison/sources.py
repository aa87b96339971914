"""Where a comparison's scores come from: a night or a table, and both sides of a baseline."""

import dataclasses
import datetime
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.comparison.baselines import Baseline, Kind, NotComparable
from ndcg_spark.comparison.differences import Sides
from ndcg_spark.comparison.matrix import (
    Metric,
    Queries,
    ScoreMatrix,
    mean_matrix,
    read_attributes,
    read_matrix,
)
from ndcg_spark.comparison.readings import (
    COLUMNS,
    FIRST_READING,
    SECOND_READING,
    judged_rates,
    second_reading,
)
from ndcg_spark.comparison.run_numbers import mean_numbers, rows_of_runs, run_numbers
from ndcg_spark.convention.measures import CATALOG_COLUMNS, JUDGED_RATE, Cutoff
from ndcg_spark.errors import StorageError, about
from ndcg_spark.nights.catalog_kinds import OTHER_ITEMS, other_catalog
from ndcg_spark.nights.copies import (
    night_convention,
    read_copy,
    rescore_command,
    why_not_rescored,
)
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import (
    Where,
    answering_runs,
    evaluated_metrics,
    read_dataset_scores,
    read_night_batches,
    read_rows,
)
from ndcg_spark.schemas import NEW, NO_VALUE, OLD
from ndcg_spark.voices import Advice

#: A comparison's sides if the judgments have changed, and if they have not.
BOTH, ONE = (OLD, NEW), (None,)


class NoCopyError(StorageError):
    """A night's scores under different judgments are not kept, or cannot be computed.

    `find_command` returns the command that makes the copy. It reads the log, so it is called only
    if somebody reads the sentence.
    """

    def __init__(
        self,
        sentence: str,
        advice: Advice | None = None,
        option: str = "",
        *,
        find_command: Callable[[], str] | None = None,
    ) -> None:
        super().__init__(sentence, advice, option)
        self._find_command = find_command

    @property
    def sentence(self) -> str:
        reason = super().sentence
        if self._find_command is None:
            return reason
        return f"{reason}; make one with: {self._find_command()}"


#: A night's DATASET_SCORES rows, without slices.
MeanRows = Sequence[Mapping[str, Any]]

Made = TypeVar("Made")

#: How many matrices are kept, and how many query scores a night may have for that.
_MAX_MATRICES = 64
_MAX_SCORES = 1_000_000
#: How many matrices of small nights are kept: a chain across many changes needs more of them.
_MAX_SMALL = 1_000
_FEW_SCORES = 50_000


@dataclasses.dataclass(frozen=True)
class ScoreSource:
    """The scores of a night, or of one dataset in a table, with what is known before reading."""

    dataset: str
    evaluated_on: datetime.date | None
    evaluation_id: str | None
    runs: Sequence[str]
    #: The measures and cutoffs at which there are values.
    metrics: Collection[Metric]
    rows: Night | pa.Table
    #: The name of the table or night in messages.
    name: str
    #: The runs that returned nothing for any judged query; they are not among `runs`.
    silent: Sequence[str] = ()
    #: The share of judged documents, by run and cutoff.
    judged_rates: Mapping[tuple[str, Cutoff], float] = dataclasses.field(default_factory=dict)
    #: The DATASET_SCORES rows without slices, if they are known.
    mean_rows: MeanRows = ()

    def read(
        self,
        queries: Queries,
        metric: Metric,
        runs: Collection[str] | None = None,
        reading: int = FIRST_READING,
        judgments: str | None = None,
    ) -> ScoreMatrix:
        """The scores by a measure at a cutoff, by default in the convention's own reading.

        The second reading needs a night, because its log has the convention. Scores under different
        `judgments`, given by fingerprint, also need a night. NoCopyError if they are not kept.
        """
        measure, _ = metric
        chosen = [run for run in self.runs if runs is None or run in runs]
        name = self.name
        if judgments is not None and isinstance(self.rows, Night):
            name = f"a copy of {self.rows}"
            batches = _copied_batches(self.rows, judgments, metric)
            if reading == SECOND_READING:
                batches = _in_second_reading(self.rows, batches, metric)
        else:
            batches = self._published_batches(metric, chosen, reading)
        if measure == JUDGED_RATE:
            batches = judged_rates(batches)
        with about(name):
            return read_matrix(batches, queries, chosen, metric)

    def _published_batches(
        self,
        metric: Metric,
        runs: Sequence[str],
        reading: int,
    ) -> Iterable[pa.RecordBatch]:
        """The rows as they were published, with the columns that a metric needs."""
        measure, cutoff = metric
        columns = ["run", "query_id", "cutoff", "status", "returned", "judgments_hash"]
        columns.extend(_columns_of(measure, reading))
        columns = list(dict.fromkeys(columns))
        batches: Iterable[pa.RecordBatch]
        if isinstance(self.rows, Night):
            where: Where = {"cutoff": [cutoff], "run": runs}
            batches = read_night_batches([self.rows], "query_scores", columns, where)
        else:
            batches = list(self.rows.select(columns).to_batches())
        if measure in CATALOG_COLUMNS:
            return _with_equal_judgments(batches)
        if reading == SECOND_READING and isinstance(self.rows, Night):
            return _in_second_reading(self.rows, batches, metric)
        return batches

    def key(
        self,
        baseline_night: datetime.date | None = None,
        baseline_nights: int | None = None,
    ) -> dict[str, Any]:
        """The columns of COMPARISONS that all rows of a comparison share."""
        return {
            "dataset": self.dataset,
            "evaluated_on": self.evaluated_on,
            "evaluation_id": self.evaluation_id,
            "baseline_night": baseline_night,
            "baseline_nights": baseline_nights,
            "side": None,
            "reading": FIRST_READING,
        }


def _columns_of(measure: str, reading: int) -> Sequence[str]:
    """The columns of QUERY_SCORES that a measure is read or computed from."""
    if measure == JUDGED_RATE:
        return ["judged"]
    return COLUMNS[measure] if reading == SECOND_READING else [measure]


def _with_equal_judgments(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows as if all judgments were equal, because the shown lists do not depend on them."""
    for batch in batches:
        at = batch.schema.get_field_index("judgments_hash")
        hashes = batch.column(at)
        equal = pc.if_else(pc.is_valid(hashes), pa.scalar(1, hashes.type), hashes)
        yield batch.set_column(at, "judgments_hash", equal)


def _in_second_reading(
    night: Night, batches: Iterable[pa.RecordBatch], metric: Metric
) -> list[pa.RecordBatch]:
    """The query score rows of one cutoff in the second reading."""
    measure, _ = metric
    convention = night_convention(night)
    found = []
    for batch in batches:
        rows = second_reading(pa.Table.from_batches([batch]), measure, convention)
        found.extend(rows.to_batches())
    return found


def night_sources(nights: Sequence[Night]) -> list[ScoreSource]:
    return list(map(score_source, nights, read_dataset_scores(nights)))


def score_source(night: Night, rows: MeanRows) -> ScoreSource:
    """The scores of the night whose DATASET_SCORES are these rows."""
    runs = answering_runs(rows)
    rates = {}
    for row in rows:
        if row["judged_rate"] is not None:
            rates[row["run"], row["cutoff"]] = row["judged_rate"]
    return ScoreSource(
        dataset=night.dataset,
        evaluated_on=datetime.date.fromisoformat(night.evaluated_on),
        evaluation_id=night.evaluation_id,
        runs=sorted(runs),
        metrics=evaluated_metrics(night, rows),
        rows=night,
        name=str(night),
        silent=sorted({row["run"] for row in rows} - runs),
        judged_rates=rates,
        mean_rows=rows,
    )


def _mean_rows(night: Night) -> MeanRows:
    return read_dataset_scores([night])[0]


class ScoreCache:
    """A cache for the scores of nights: a rehearsal compares many nights with the same ones.

    `mean_rows` reads a night's DATASET_SCORES; a caller that has already read them passes its
    own function.
    """

    def __init__(self, mean_rows: Callable[[Night], MeanRows] = _mean_rows) -> None:
        self._queries: dict[str, Queries] = {}
        #: Returns a night's DATASET_SCORES rows, without slices.
        self.mean_rows = functools.cache(mean_rows)
        self.source = functools.cache(lambda night: score_source(night, self.mean_rows(night)))
        self._attributes = functools.lru_cache(_MAX_SMALL)(_attributes_of)
        self._made_by_key: dict[Any, Any] = {}
        self._kept = functools.lru_cache(_MAX_MATRICES)(self._read)
        self._kept_small = functools.lru_cache(_MAX_SMALL)(self._read)

    def runs_of(self, night: Night) -> Sequence[str]:
        """A night's runs that returned anything."""
        source: ScoreSource = self.source(night)
        return source.runs

    def queries(self, dataset: str) -> Queries:
        """A dataset's queries seen so far. All of its matrices share them."""
        if dataset not in self._queries:
            self._queries[dataset] = Queries()
        return self._queries[dataset]

    def made_once(self, make: Callable[..., Made], *key: Any) -> Made:
        """What a function makes from a key and this cache; it is made once and kept."""
        if (make, key) not in self._made_by_key:
            self._made_by_key[make, key] = make(*key, self)
        made: Made = self._made_by_key[make, key]
        return made

    def attributes(self, night: Night) -> pa.Table | None:
        """The QUERY_ATTRIBUTES that a night was evaluated with; None if it had none."""
        if night.kept_rows("query_attributes") > _FEW_SCORES:
            return _attributes_of(night)
        return self._attributes(night)

    def matrix(
        self,
        night: Night,
        metric: Metric,
        reading: int = FIRST_READING,
        judgments: str | None = None,
    ) -> ScoreMatrix:
        """A night's scores, by default under its own judgments.

        `judgments`: the fingerprint of different judgments. NoCopyError if no copy of the scores
        under these is kept.
        """
        if judgments == night.row["judgments_fingerprint"]:
            judgments = None
        if is_small(night):
            return self._kept_small(night, metric, reading, judgments)
        if night.kept_rows("query_scores") <= _MAX_SCORES:
            return self._kept(night, metric, reading, judgments)
        return self._read(night, metric, reading, judgments)

    def _read(
        self, night: Night, metric: Metric, reading: int, judgments: str | None
    ) -> ScoreMatrix:
        source: ScoreSource = self.source(night)
        queries = self.queries(night.dataset)
        return source.read(queries, metric, reading=reading, judgments=judgments)


def is_small(night: Night) -> bool:
    """Whether a night has so few scores that those of many such nights can be kept."""
    return night.kept_rows("query_scores") <= _FEW_SCORES


def _attributes_of(night: Night) -> pa.Table | None:
    return read_attributes([night])


def _copied_batches(night: Night, judgments: str, metric: Metric) -> Iterable[pa.RecordBatch]:
    """A night's query scores under different judgments; NoCopyError if no copy is kept."""
    why = why_not_rescored(night, metric, judgments)
    if why:
        raise NoCopyError(why)
    rows = read_copy(night, judgments)
    if rows is None:
        command = functools.partial(rescore_command, night, judgments)
        raise NoCopyError(f"no copy of {night} under them is kept", find_command=command)
    _, cutoff = metric
    cutoffs = rows["cutoff"]
    at_cutoff = pc.is_null(cutoffs) if cutoff is None else pc.equal(cutoffs, cutoff)
    return list(rows.filter(pc.fill_null(at_cutoff, False)).to_batches())


def published_rows(
    night: Night,
    baseline: Baseline,
    metric: Metric,
    side: str | None = None,
) -> list[dict[str, Any]]:
    """The unweighted COMPARISONS rows that a night's gate published for a baseline.

    They cover one side of a change of judgments, in the first reading. They are ordered by run; the
    row of all queries comes before the slices. The list is empty if no gate compared with the
    baseline.
    """
    if baseline.name is None or not night.kept_rows("comparisons"):
        return []
    measure, cutoff = metric
    where: dict[str, Sequence[Any]] = {"measure": [measure], "cutoff": [cutoff]}
    if baseline.newest is None:
        where |= {"baseline": [baseline.run], "baseline_night": [None]}
    else:
        newest = datetime.date.fromisoformat(baseline.newest)
        where |= {"baseline_night": [newest], "baseline_nights": [len(baseline.nights)]}
    rows = []
    for row in read_rows([night], "comparisons", where=where).to_pylist():
        is_weighted = row["weight_effective_n"] is not None
        if not is_weighted and row["side"] == side and row["reading"] == FIRST_READING:
            rows.append(row)
    return sorted(rows, key=row_order)


def row_order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """A sort key for a comparison's order: by run and slice, queries without a value last."""
    attribute, value = row["attribute"] or "", row["value"] or ""
    return row["run"], attribute, value == NO_VALUE, value


def side_names(baseline: Baseline, tonight: Night, metric: Metric) -> Sequence[str | None]:
    """A comparison's sides: two if the judgments have changed, and the measure needs them."""
    measure, _ = metric
    if measure in CATALOG_COLUMNS or not baseline.has_other_judgments(tonight):
        return ONE
    return BOTH


def both_sides(
    baseline: Baseline,
    tonight: Night,
    metric: Metric,
    scores: ScoreCache,
    side: str | None = None,
) -> Sides:
    """A night's scores and its baseline's, with every run that both have.

    The scores of several nights are averaged over the nights that evaluated the measure. With a
    `side` of a change of judgments, both are scored under that side's judgments. NoCopyError if a
    copy of these scores is not kept. InputError or StorageError if scores cannot be read.
    """
    judgments = None
    if side == OLD:
        judgments = baseline.nights[-1].row["judgments_fingerprint"]
    elif side == NEW:
        judgments = tonight.row["judgments_fingerprint"]
    key = _key(baseline, tonight, scores) | {"side": side}
    pairs = _pairs(baseline, tonight, metric, scores)
    own = scores.matrix(tonight, metric, judgments=judgments)
    if baseline.nights:
        nights = _measured_nights(baseline, metric, scores)
        theirs = _baseline_scores(nights, own, metric, scores, judgments)
    else:
        # The baseline is one of tonight's runs.
        theirs = own
    return Sides(own, theirs, metric, key, pairs)


def compared_numbers(
    baseline: Baseline, tonight: Night, metric: Metric, scores: ScoreCache
) -> list[dict[str, Any]]:
    """The COMPARISONS rows for a measure of runs, against a run or the mean of a baseline's nights.

    StorageError if means cannot be read.
    """
    own = run_numbers(scores.mean_rows(tonight), metric)
    theirs: Mapping[str, Any]
    if baseline.nights:
        nights = _measured_nights(baseline, metric, scores)
        theirs = mean_numbers([run_numbers(scores.mean_rows(night), metric) for night in nights])
    else:
        # The baseline is one of tonight's runs.
        theirs = own
    key = _key(baseline, tonight, scores)
    pairs = _pairs(baseline, tonight, metric, scores)
    return rows_of_runs(own, theirs, metric, key, pairs)


def _key(baseline: Baseline, tonight: Night, scores: ScoreCache) -> dict[str, Any]:
    """The columns of COMPARISONS that all rows against a baseline share."""
    source: ScoreSource = scores.source(tonight)
    if not baseline.nights:
        return source.key()
    newest = scores.source(baseline.nights[-1]).evaluated_on
    return source.key(newest, len(baseline.nights))


def _pairs(
    baseline: Baseline, tonight: Night, metric: Metric, scores: ScoreCache
) -> list[tuple[str, str]]:
    """A night's runs that are compared with a baseline which also has them, with counterparts."""
    own = [run for run in scores.source(tonight).runs if baseline.is_for(run)]
    theirs = set(scores.source(tonight).runs)
    if baseline.nights:
        theirs = _runs_of_baseline(baseline, metric, scores)
    may_be_itself = bool(baseline.nights) or baseline.kind is Kind.ITSELF
    pairs = []
    for run in own:
        other = baseline.run or run
        if other in theirs and (run != other or may_be_itself):
            pairs.append((run, other))
    return pairs


def with_comparable_nights(baseline: Baseline, tonight: Night, metric: Metric) -> Baseline:
    """The baseline with only the nights whose catalog measure can be compared with tonight's.

    It keeps all nights if there are no such nights; `why_not_comparable` says why.
    """
    measure, _ = metric
    same = []
    for night in baseline.nights:
        if other_catalog(tonight, night, measure) is None:
            same.append(night)
    if not same or len(same) == len(baseline.nights):
        return baseline
    return dataclasses.replace(baseline, nights=tuple(same))


def why_not_comparable(
    tonight: Night, nights: Iterable[Night], metric: Metric
) -> NotComparable | None:
    """Why a catalog measure cannot be compared with any of these nights; None if it can.

    The reason refers to the last night.
    """
    measure, _ = metric
    reasons = []
    for night in nights:
        reason = other_catalog(tonight, night, measure)
        if reason is None:
            return None
        reasons.append(reason)
    if not reasons:
        return None
    last = reasons[-1]
    # The table of items is the same, whichever measure uses it.
    about = () if last.code == OTHER_ITEMS else (measure,)
    return NotComparable(last.code, last.sentence, about)


def _measured_nights(baseline: Baseline, metric: Metric, scores: ScoreCache) -> list[Night]:
    """The nights that evaluated a metric; all nights if none did, to compare a run without scores
    with them and not with itself.
    """
    nights = [night for night in baseline.nights if metric in scores.source(night).metrics]
    return nights or list(baseline.nights)


def _runs_of_baseline(baseline: Baseline, metric: Metric, scores: ScoreCache) -> set[str]:
    """The runs that were measured on one of a baseline's nights."""
    runs: set[str] = set()
    for night in _measured_nights(baseline, metric, scores):
        runs.update(set(scores.source(night).runs) - night.unmeasured.keys())
    return runs


def _baseline_scores(
    nights: Sequence[Night],
    own: ScoreMatrix,
    metric: Metric,
    scores: ScoreCache,
    judgments: str | None,
) -> ScoreMatrix:
    """The mean scores of nights, under `judgments` if given."""
    if len(nights) == 1:
        return scores.matrix(nights[0], metric, judgments=judgments)
    # Read one by one, because large matrices are not kept.
    return mean_matrix((scores.matrix(night, metric, judgments=judgments) for night in nights), own)

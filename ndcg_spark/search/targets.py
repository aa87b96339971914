"""The scores that a convention has to give: an earlier job's, per query and as means."""

import dataclasses
import decimal
import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeGuard

from ndcg_spark.convention.measures import Cutoff, by_depth
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.old_scores import OldRow
from ndcg_spark.tolerance import EQUAL

#: Applies however many digits are given, because many jobs compute in 32-bit floats.
LEAST_TOLERANCE = 1e-6
#: The largest score that can be a rounding error above 1, and the same for percentages.
_MOST = 1 + LEAST_TOLERANCE
_PERCENT = 100 * _MOST


class ScoreKey(NamedTuple):
    """The key of a query's score, or of a mean if `query_id` is None."""

    dataset: str
    run: str
    query_id: str | None
    cutoff: Cutoff


@dataclasses.dataclass(frozen=True)
class Targets:
    #: The scores of queries; None if the job names a query but has no score for it.
    scores: Mapping[ScoreKey, float | None]
    means: Mapping[ScoreKey, float]
    #: The largest difference at which two numbers are considered the same.
    tolerance: float
    mean_tolerance: float
    #: Whether the job names the cutoffs of its scores. If not, every cutoff here is None.
    knows_cutoffs: bool
    notes: Sequence[str] = ()
    #: The scores of queries without judgments, which are not compared.
    unjudged: Mapping[ScoreKey, float] = dataclasses.field(default_factory=dict)

    def with_any_cutoff(self) -> "Targets":
        """The same scores with an unknown cutoff."""
        scores = {place._replace(cutoff=None): value for place, value in self.scores.items()}
        means = {place._replace(cutoff=None): value for place, value in self.means.items()}
        unjudged = {place._replace(cutoff=None): value for place, value in self.unjudged.items()}
        return dataclasses.replace(
            self,
            scores=scores,
            means=means,
            unjudged=unjudged,
            knows_cutoffs=False,
        )

    @functools.cached_property
    def cutoffs(self) -> list[Cutoff]:
        found = {place.cutoff for place in self._places}
        return sorted(found, key=by_depth)

    @functools.cached_property
    def runs(self) -> set[tuple[str, str]]:
        return {(place.dataset, place.run) for place in self._places}

    @property
    def _places(self) -> list[ScoreKey]:
        return list(self.scores) + list(self.means)


def tolerance_of(numbers: Iterable[str | None]) -> float:
    """Half a unit of the last digit given in any number: a rounded 0.5000 may be written 0.5."""
    most = 0
    for number in numbers:
        if number is not None:
            exponent = decimal.Decimal(number).as_tuple().exponent
            most = max(most, -int(exponent))
    # Smaller differences are rounding errors in sums of doubles.
    return max(0.5 * 10.0**-most, LEAST_TOLERANCE) + EQUAL


def make_targets(
    rows: Sequence[OldRow],
    runs: Sequence[tuple[str | None, str]],
    dataset: str,
) -> Targets:
    """The targets of these rows among these runs, each with its dataset or `dataset`.

    Raises InputError if it is not clear which run a row belongs to, or if two rows contradict each
    other.
    """
    rows, percent = _without_percent(rows)
    knows = {row.has_cutoff for row in rows}
    if len(knows) > 1:
        raise InputError("scores: some have a cutoff and some do not; give every cutoff, or none")
    named = {(own or dataset, run) for own, run in runs}
    only_run = _only_run(rows, named)
    if all(own is None for own, _ in runs):
        rows = _of_dataset(rows, named, only_run, dataset)
    scores: dict[ScoreKey, float | None] = {}
    means: dict[ScoreKey, float | None] = {}
    kept: list[OldRow] = []
    lost: set[tuple[str, str]] = set()
    for row in rows:
        place = _place(row, named, only_run, dataset)
        value = _value(row)
        if (place.dataset, place.run) not in named:
            lost.add((place.dataset, place.run))
            continue
        kept.append(row)
        _add(means if row.query_id is None else scores, place, value)
    theirs, ours = _names_of_runs(lost, named)
    if not kept:
        sentence = f"none of their runs, {', '.join(theirs)}, is in the results"
        raise InputError(f"scores: {sentence}, {', '.join(ours)}")
    of_queries, of_means = _numbers(kept)
    notes = [f"scores of {run} are ignored, because the results have no such run" for run in theirs]
    notes.extend(percent)
    notes.extend(_above_1(scores))
    return Targets(
        scores,
        {place: value for place, value in means.items() if value is not None},
        tolerance_of(of_queries),
        tolerance_of(of_means),
        knows == {True},
        notes,
    )


def _of_dataset(
    rows: Sequence[OldRow], named: set[tuple[str, str]], only_run: str | None, dataset: str
) -> Sequence[OldRow]:
    """The rows with `dataset` as their only dataset, if our tables do not name one.

    InputError if the rows of our runs come from several datasets.
    """
    runs = {run for _, run in named}
    theirs = set()
    for row in rows:
        if row.dataset is not None and (only_run or row.run) in runs:
            theirs.add(row.dataset)
    if dataset in theirs or not theirs:
        return rows
    if len(theirs) > 1:
        first, second = sorted(theirs)[:2]
        what = f"{len(theirs)} datasets, e.g. {first} and {second}, and the results name none"
        raise InputError(f"scores: they are of {what}; keep those of one")
    return [row._replace(dataset=dataset) for row in rows]


def _names_of_runs(
    lost: set[tuple[str, str]], named: set[tuple[str, str]]
) -> tuple[list[str], list[str]]:
    """The names of their runs and of ours, each with its dataset if there are several."""
    datasets = {own for own, _ in lost | named}
    if len(datasets) == 1:
        theirs = [run for _, run in lost]
        ours = [run for _, run in named]
        return sorted(theirs), sorted(ours)
    theirs = [f"{run} of {own}" for own, run in sorted(lost)]
    ours = [f"{run} of {own}" for own, run in sorted(named)]
    return theirs, ours


def _without_percent(rows: Sequence[OldRow]) -> tuple[Sequence[OldRow], list[str]]:
    """The rows, divided by 100 if their numbers are percentages, and a sentence about that.

    They are percentages if most of the numbers other than 0 are above 1, and none is above 100.
    """
    values = [float(row.number) for row in rows if _is_number(row.number)]
    positive = [value for value in values if value > 0]
    above = sum(value > 1 for value in positive)
    is_percent = 2 * above > len(positive) and max(positive) <= _PERCENT
    if not is_percent or min(values) < 0:
        return rows, []
    divided = []
    for row in rows:
        number = row.number
        if _is_number(number):
            number = str(decimal.Decimal(number).scaleb(-2))
        divided.append(row._replace(number=number))
    return divided, [f"the scores are percentages, up to {max(values):g}; divided by 100"]


def _is_number(text: str | None) -> TypeGuard[str]:
    try:
        return text is not None and math.isfinite(float(text))
    except ValueError:
        return False


def _above_1(scores: Mapping[ScoreKey, float | None]) -> Iterator[str]:
    above = {place: value for place, value in scores.items() if value and value > _MOST}
    if above:
        place = min(above, key=lambda place: (place.run, place.query_id or ""))
        number = f"{len(above):,} score(s) above 1, e.g. {above[place]:g} of {_in_words(place)}"
        yield f"{number}: DCG can be above 1, but not NDCG; check that the column is the right one"


def _add(known: dict[ScoreKey, float | None], place: ScoreKey, value: float | None) -> None:
    if place in known and known[place] != value:
        two = f"{known[place]} and {value}"
        raise InputError(f"scores: two for {_in_words(place)}, {two}; keep one")
    known[place] = value


def _numbers(rows: Sequence[OldRow]) -> tuple[list[str | None], list[str | None]]:
    """The numbers of queries, and the means."""
    of_queries: list[str | None] = []
    of_means: list[str | None] = []
    for row in rows:
        numbers = of_means if row.query_id is None else of_queries
        numbers.append(row.number)
    return of_queries, of_means


def _only_run(rows: Sequence[OldRow], named: set[tuple[str, str]]) -> str | None:
    """The only run of all rows, if both sides have only one, whatever its names are."""
    theirs = {row.run for row in rows}
    ours = {run for _, run in named}
    if len(theirs) == len(ours) == 1:
        return min(ours)
    if None in theirs:
        what = f"scores: they name no run, and the results have {len(ours)}"
        raise InputError(f"{what}; give a column run")
    return None


def _place(
    row: OldRow,
    named: set[tuple[str, str]],
    only_run: str | None,
    dataset: str,
) -> ScoreKey:
    run = only_run or str(row.run)
    datasets = {own for own, name in named if name == run}
    own = row.dataset
    if own is None:
        if len(datasets) > 1:
            what = f"scores: {run} has results in {len(datasets)} datasets"
            raise InputError(f"{what}; give a column dataset")
        own = min(datasets, default=dataset)
    return ScoreKey(own, run, row.query_id, row.cutoff)


def _value(row: OldRow) -> float | None:
    if row.number is None:
        return None
    try:
        value = float(row.number)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"scores: {row.number!r} is not a number; leave the row out, or empty")
    return value


def _in_words(place: ScoreKey) -> str:
    query = "the mean" if place.query_id is None else f"query {place.query_id}"
    return f"{query} of {place.run}"

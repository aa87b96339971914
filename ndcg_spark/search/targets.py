"""The scores of an earlier job that a convention has to give, by query and as means."""

import dataclasses
import decimal
import functools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeGuard

from ndcg_spark.convention.measures import Cutoff, by_depth
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.old_scores import OldRow
from ndcg_spark.text import PLAIN_NUMBER
from ndcg_spark.tolerance import EQUAL
from ndcg_spark.voices import name_column

#: The smallest tolerance, however many digits are given, because many jobs use 32-bit floats.
LEAST_TOLERANCE = 1e-6
#: The largest score that can be 1 with a rounding error.
_MOST = 1 + LEAST_TOLERANCE
#: The same for percentages.
_PERCENT = 100 * _MOST


class ScoreKey(NamedTuple):
    """The key of a query's score, or of a mean if `query_id` is None."""

    dataset: str
    run: str
    query_id: str | None
    cutoff: Cutoff


@dataclasses.dataclass(frozen=True)
class Targets:
    """A job's scores, and their tolerances."""

    #: The scores of queries; None if the job names a query but has no score for it.
    scores: Mapping[ScoreKey, float | None]
    #: The means of runs.
    means: Mapping[ScoreKey, float]
    #: The largest difference at which two scores are considered the same.
    tolerance: float
    #: The same for means.
    mean_tolerance: float
    #: Whether the job names the cutoffs of its scores. If not, every cutoff here is None.
    knows_cutoffs: bool
    #: Sentences about how the scores were read.
    notes: Sequence[str] = ()
    #: The scores of queries without judgments, which are not compared.
    unjudged: Mapping[ScoreKey, float] = dataclasses.field(default_factory=dict)

    def with_any_cutoff(self) -> "Targets":
        """Return the same scores with an unknown cutoff."""
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
        """The cutoffs of the scores, the whole ranking last."""
        found = {place.cutoff for place in self._places}
        return sorted(found, key=by_depth)

    @functools.cached_property
    def runs(self) -> set[tuple[str, str]]:
        """The runs of the scores, each with its dataset."""
        return {(place.dataset, place.run) for place in self._places}

    @property
    def _places(self) -> list[ScoreKey]:
        return list(self.scores) + list(self.means)


def tolerance_of(numbers: Iterable[str | None]) -> float:
    """Return half a unit of the last decimal place of the numbers.

    The number with the most places decides, because a rounded 0.5000 may be written as 0.5.
    """
    most_places = 0
    for number in numbers:
        if number is not None:
            exponent = decimal.Decimal(number).as_tuple().exponent
            most_places = max(most_places, -int(exponent))
    # Differences up to EQUAL are rounding errors in sums of doubles.
    return max(0.5 * 10.0**-most_places, LEAST_TOLERANCE) + EQUAL


def make_targets(
    rows: Sequence[OldRow],
    runs: Sequence[tuple[str | None, str]],
    dataset: str,
) -> Targets:
    """Return the targets of the job's rows; `runs` are the runs in the results.

    A run without a dataset belongs to `dataset`. Raise InputError if it is not clear which run a
    row belongs to, or if two rows contradict each other.
    """
    rows, notes_on_percent = _without_percent(rows)
    has_cutoffs = {row.has_cutoff for row in rows}
    if len(has_cutoffs) > 1:
        raise InputError("scores: some have a cutoff and some do not; give every cutoff, or none")
    our_runs = {(run_dataset or dataset, run) for run_dataset, run in runs}
    only_run = _only_run(rows, our_runs)
    if all(run_dataset is None for run_dataset, _ in runs):
        rows = _rename_dataset(rows, our_runs, only_run, dataset)
    scores: dict[ScoreKey, float | None] = {}
    means: dict[ScoreKey, float | None] = {}
    used: list[OldRow] = []
    unknown_runs: set[tuple[str, str]] = set()
    for row in rows:
        place = _place(row, our_runs, only_run, dataset)
        value = _value(row)
        run = place.dataset, place.run
        if run in our_runs:
            used.append(row)
            _add(means if row.query_id is None else scores, place, value)
        else:
            unknown_runs.add(run)
    all_runs = unknown_runs | our_runs
    ignored = _names_of_runs(unknown_runs, all_runs)
    if not used:
        ours = _names_of_runs(our_runs, all_runs)
        sentence = f"none of their runs, {', '.join(ignored)}, is in the results"
        raise InputError(f"scores: {sentence}, {', '.join(ours)}")
    why = "because the results have no such run"
    notes = [f"scores of {run} are ignored, {why}" for run in ignored]
    notes.extend(notes_on_percent)
    notes.extend(_notes_on_large_scores(scores))
    return Targets(
        scores,
        {place: value for place, value in means.items() if value is not None},
        tolerance=tolerance_of(row.number for row in used if row.query_id is not None),
        mean_tolerance=tolerance_of(row.number for row in used if row.query_id is None),
        knows_cutoffs=has_cutoffs == {True},
        notes=notes,
    )


def _rename_dataset(
    rows: Sequence[OldRow], our_runs: set[tuple[str, str]], only_run: str | None, dataset: str
) -> Sequence[OldRow]:
    """Return the rows with their only dataset renamed to `dataset`, if our tables name none.

    Raise InputError if the rows of our runs come from several datasets.
    """
    names_of_our_runs = {run for _, run in our_runs}
    theirs = set()
    for row in rows:
        is_our_run = (only_run or row.run) in names_of_our_runs
        if is_our_run and row.dataset is not None:
            theirs.add(row.dataset)
    if dataset in theirs or not theirs:
        return rows
    if len(theirs) > 1:
        first, second = sorted(theirs)[:2]
        what = f"they cover {len(theirs)} datasets, e.g. {first} and {second}"
        raise InputError(f"scores: {what}, and the results name none; keep only one dataset")
    return [row._replace(dataset=dataset) for row in rows]


def _names_of_runs(runs: set[tuple[str, str]], all_runs: set[tuple[str, str]]) -> list[str]:
    """Return the names of runs, such as "bm25", or "bm25 of web" if there are several datasets."""
    datasets = {dataset for dataset, _ in all_runs}
    if len(datasets) > 1:
        return [f"{run} of {dataset}" for dataset, run in sorted(runs)]
    return sorted(run for _, run in runs)


def _without_percent(rows: Sequence[OldRow]) -> tuple[Sequence[OldRow], list[str]]:
    """Return the rows, divided by 100 if their numbers are percentages, and a note about that.

    They are percentages if most of the numbers other than 0 are above 1, and none is above 100.
    """
    values = [float(row.number) for row in rows if _is_number(row.number)]
    positive = [value for value in values if value > 0]
    number_above_1 = sum(value > 1 for value in positive)
    are_most_above_1 = 2 * number_above_1 > len(positive)
    if not are_most_above_1 or max(positive) > _PERCENT or min(values) < 0:
        return rows, []
    divided = []
    for row in rows:
        number = row.number
        if _is_number(number):
            number = str(decimal.Decimal(number).scaleb(-2))
        divided.append(row._replace(number=number))
    return divided, [f"the scores are percentages, up to {max(values):g}; divided by 100"]


def _is_number(text: str | None) -> TypeGuard[str]:
    """Whether a text is a finite number."""
    if text is None or not re.fullmatch(PLAIN_NUMBER, text):
        return False
    # 1e999 is larger than every double.
    return math.isfinite(float(text))


def _notes_on_large_scores(scores: Mapping[ScoreKey, float | None]) -> Iterator[str]:
    """Yield a note about scores above 1, if there are any."""
    above = {}
    for place, value in scores.items():
        if value is not None and value > _MOST:
            above[place] = value
    if above:
        place = min(above, key=_by_run_and_query)
        number = f"{len(above):,} score(s) above 1, e.g. {above[place]:g} of {_in_words(place)}"
        yield f"{number}: DCG can be above 1, but not NDCG; check that the column is the right one"


def _by_run_and_query(place: ScoreKey) -> tuple[str, str]:
    return place.run, place.query_id or ""


def _add(known: dict[ScoreKey, float | None], place: ScoreKey, value: float | None) -> None:
    """Add a score. Raise InputError if the place already has a different one."""
    if place in known and known[place] != value:
        two = f"{known[place]} and {value}"
        what = f"scores: two for {_in_words(place)}, {two}"
        if place.query_id is None:
            what += "; without a column query_id, they are taken for means"
            raise InputError(what, name_column("scores", "query_id"))
        raise InputError(f"{what}; keep one")
    known[place] = value


def _only_run(rows: Sequence[OldRow], our_runs: set[tuple[str, str]]) -> str | None:
    """Return our run if both sides have only one, even if their names differ, or None.

    Raise InputError if a row names no run and there are several.
    """
    theirs = {row.run for row in rows}
    ours = {run for _, run in our_runs}
    if len(theirs) == len(ours) == 1:
        return min(ours)
    if None in theirs:
        what = f"scores: they name no run, and the results have {len(ours)}"
        raise InputError(f"{what}; give a column run")
    return None


def _place(
    row: OldRow,
    our_runs: set[tuple[str, str]],
    only_run: str | None,
    dataset: str,
) -> ScoreKey:
    """Return the key of a row's score among our runs."""
    run = only_run or str(row.run)
    run_dataset = row.dataset
    if run_dataset is None:
        datasets = {one for one, name in our_runs if name == run}
        if len(datasets) > 1:
            what = f"scores: {run} has results in {len(datasets)} datasets"
            raise InputError(f"{what}; give a column dataset")
        run_dataset = min(datasets, default=dataset)
    return ScoreKey(run_dataset, run, row.query_id, row.cutoff)


def _value(row: OldRow) -> float | None:
    """Return the number of a row, or None if it is empty. Raise InputError for other text."""
    if row.number is None:
        return None
    if not _is_number(row.number):
        raise InputError(f"scores: {row.number!r} is not a number; leave the row out, or empty")
    return float(row.number)


def _in_words(place: ScoreKey) -> str:
    """Return, for example, "query q1 of bm25"."""
    query = "the mean" if place.query_id is None else f"query {place.query_id}"
    return f"{query} of {place.run}"

"""A sample drawn for two rankings, and the difference corrected by its human grades."""

import dataclasses
import datetime
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ndcg_spark.comparison.corrected import (
    MEASURE,
    Corrected,
    MovedDocuments,
    corrected_difference,
)
from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.comparison.human_sample import (
    drawn_documents,
    errors_by_grade,
    grade_name,
    probabilities,
)
from ndcg_spark.comparison.moved_in_nights import (
    Pair,
    choose_pair,
    graded_gain,
    known_grades,
    moved_documents_of,
    pair_of,
)
from ndcg_spark.comparison.sample_file import (
    ATTRIBUTE,
    DIGITS,
    GradedSample,
    number,
    probability_text,
    read_sample,
    refuse_documents,
    sample_text,
)
from ndcg_spark.comparison.sources import ScoreSource
from ndcg_spark.comparison.statistics import Numbers
from ndcg_spark.errors import ConfigurationError, InputError, about
from ndcg_spark.nights.copies import night_convention
from ndcg_spark.nights.log import Night, Nights, committed
from ndcg_spark.nights.reader import read_again, select_nights
from ndcg_spark.schemas import COMPARISONS
from ndcg_spark.steps import report_step
from ndcg_spark.voices import Give

#: How many documents without a grade are listed at most.
_LISTED = 20
#: The relative tolerance for a probability in a file.
_NEAR = 10.0 ** (2 - DIGITS)

Source = str | os.PathLike[str] | pd.DataFrame


@dataclasses.dataclass(frozen=True)
class HumanGrades:
    """A sample with human grades, and whether it may have blanks."""

    source: Source
    assume_missing_at_random: bool = False


@dataclasses.dataclass(frozen=True)
class Sample:
    """The documents that were drawn for two rankings."""

    pair: Pair
    moved: MovedDocuments
    #: By moved document: its probability, and whether it was drawn.
    pi: Numbers
    drawn: NDArray[np.bool_]
    #: The header that the file records.
    header: Mapping[str, Any]
    #: The grades that people gave earlier, by query and document.
    filled: Mapping[tuple[str, str], str] = dataclasses.field(default_factory=dict)

    @property
    def documents(self) -> list[tuple[str, str]]:
        """The query and document of each drawn row."""
        documents = []
        for at in np.flatnonzero(self.drawn).tolist():
            query = self.moved.queries[self.moved.query[at]]
            documents.append((query, self.moved.doc_ids[at]))
        return documents

    def frame(self, show_grades: bool = False) -> pd.DataFrame:
        """The drawn rows, with a column for grades that is empty if there is no grade yet."""
        rows = pd.DataFrame(self.documents, columns=["query_id", "doc_id"])
        rows["pi"] = list(map(probability_text, self.pi[self.drawn].tolist()))
        if show_grades:
            grades = self.moved.grade[self.drawn].tolist()
            rows["machine_grade"] = list(map(grade_name, grades))
        rows["grade"] = pd.Series(list(map(self.filled.get, self.documents)), dtype="object")
        rows.attrs[ATTRIBUTE] = dict(self.header)
        return rows

    def text(self, show_grades: bool = False) -> str:
        return sample_text(self.header, self.frame(show_grades))


@dataclasses.dataclass(frozen=True)
class HumanEstimate:
    """What human grades say about two rankings."""

    pair: Pair
    corrected: Corrected
    #: The requested number of documents, and the seed.
    documents: int
    seed: int

    @property
    def conclusion(self) -> str:
        """Which ranking is better for these queries: better, worse or cannot_tell."""
        return self._concluded(self.corrected.these_queries.low, self.corrected.these_queries.high)

    @property
    def conclusion_on_all(self) -> str:
        """Which ranking is better for all queries like these."""
        return self._concluded(self.corrected.all_queries.low, self.corrected.all_queries.high)

    def _concluded(self, low: float | None, high: float | None) -> str:
        """The conclusion from an interval: it can tell only if the interval excludes 0."""
        if low is None or high is None or low <= 0 <= high:
            return "cannot_tell"
        return "better" if low > 0 else "worse"

    def row(self) -> dict[str, Any]:
        """A COMPARISONS row. Its interval and p are a claim about all queries like these."""
        own = self.corrected
        p = own.all_queries.p_value
        row: dict[str, Any] = dict.fromkeys(COMPARISONS.names)
        row |= self.key()
        row |= {
            "measure": MEASURE,
            "reading": 1,
            "flags": list(own.flags),
            "queries": own.queries,
            "unpaired_queries": own.unpaired,
            "baseline_mean": own.baseline_mean,
            "difference": own.difference,
            "relative_difference": own.relative(own.difference),
            "interval_low": own.all_queries.low,
            "interval_high": own.all_queries.high,
            "p_value": p,
            "p_adjusted": p,
            "p_decides": p,
            "conclusion": self.conclusion_on_all,
        }
        return row

    def key(self) -> dict[str, Any]:
        """The key columns of COMPARISONS."""
        pair = self.pair
        key: dict[str, Any] = {
            "dataset": pair.night.dataset,
            "run": pair.run,
            "baseline": pair.baseline,
            "evaluated_on": datetime.date.fromisoformat(pair.night.evaluated_on),
            "evaluation_id": pair.night.evaluation_id,
            "cutoff": pair.cutoff,
        }
        if pair.other != pair.night:
            night = datetime.date.fromisoformat(pair.other.evaluated_on)
            key |= {"baseline_night": night, "baseline_nights": 1}
        return key

    def value(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        own = self.corrected
        value = {**self.key(), "measure": MEASURE, "alpha": own.alpha}
        value["judge"] = {
            "difference": own.machine,
            "relative_difference": own.relative(own.machine),
            "all_queries": own.machine_interval._asdict(),
        }
        value |= {"difference": own.difference, "baseline_mean": own.baseline_mean}
        value["relative_difference"] = own.relative(own.difference)
        value["these_queries"] = own.these_queries._asdict()
        value["these_queries"]["conclusion"] = self.conclusion
        value["all_queries"] = own.all_queries._asdict()
        value["all_queries"]["conclusion"] = self.conclusion_on_all
        for name in ("drawn", "graded", "errors", "moved", "queries", "without_ideal", "unpaired"):
            value[name] = getattr(own, name)
        return {**value, "flags": list(own.flags)}


@read_again
def sample_to_grade(
    output: str,
    documents: int,
    seed: int,
    *,
    date: str | None = None,
    dataset: str | None = None,
    human: Sequence[Source] = (),
    **chosen: Any,
) -> Sample:
    """Draw the sample for a night's run and its baseline, with arguments as in `choose_pair`.

    `human`: earlier samples with grades, which are filled in. A sample with the same seed is
    continued. Other samples show where the machine errs more, so more documents are drawn there.
    """
    nights = committed(output)
    own = select_nights(nights, output, date, dataset)
    if len(own) > 1:
        names = ", ".join(night.dataset for night in own)
        sentence = f"sample: it covers one dataset, but there are {len(own):,}: {names}"
        raise ConfigurationError(sentence, Give("dataset", words="choose one with"))
    pair = choose_pair(nights, own[0], **chosen)
    earlier = [read_sample(source) for source in human]
    errors = _errors_for(nights, pair, seed, earlier)
    sample = make_sample(pair, documents, seed, errors)
    sample = dataclasses.replace(sample, filled=_earlier_grades(pair, earlier))
    _refuse_empty(sample)
    many = f"{len(sample.documents):,} of the {len(sample.moved):,} documents that moved"
    about_size = f"about {documents:,} were requested"
    report_step("drew", f"{many}, in {len(sample.moved.queries):,} queries; {about_size}")
    return sample


def make_sample(
    pair: Pair, documents: int, seed: int, errors: Mapping[str, float] | None = None
) -> Sample:
    """A reproducible sample for these rankings."""
    moved = moved_documents_of(pair)
    pi = probabilities(moved, documents, errors)
    header = {
        "dataset": pair.night.dataset,
        "run": pair.run,
        "baseline": pair.baseline,
        "date": pair.night.evaluated_on,
        "baseline_date": pair.other.evaluated_on,
        "evaluation": pair.night.evaluation_id,
        "baseline_evaluation": pair.other.evaluation_id,
        "measure": "ndcg",
        "cutoff": pair.cutoff,
        "convention": pair.night.record["convention"],
        "documents": documents,
        "seed": seed,
        "errors": dict(errors or {}),
    }
    return Sample(pair, moved, pi, drawn_documents(moved, pi, pair.night.dataset, seed), header)


def _refuse_empty(sample: Sample) -> None:
    """Raise ConfigurationError if a sample has no documents."""
    if not len(sample.moved):
        raise ConfigurationError("sample: no document moved, so there is nothing to grade")
    if not sample.documents:
        sentence = "sample: no document was drawn; request more documents, or use a different seed"
        raise ConfigurationError(sentence)


def _errors_for(
    nights: Nights, pair: Pair, seed: int, samples: Sequence[GradedSample]
) -> Mapping[str, float]:
    """The sizes of errors by grade that a sample is drawn with; empty if they are all equal.

    A sample that is continued keeps its sizes: they must not depend on what the same random numbers
    drew before.
    """
    continued = [graded for graded in samples if graded.header["seed"] == seed]
    if not continued:
        return _earlier_errors(nights, samples)
    errors: Mapping[str, float] = continued[0].header["errors"]
    for graded in continued:
        with about("human", graded.origin):
            own = pair_of(nights, graded.header)
        if own != pair or graded.header["errors"] != errors:
            where = f"human ({graded.origin})" if graded.origin else "human"
            sentence = f"a different sample was drawn with the seed {seed}; use a different seed"
            raise ConfigurationError(f"{where}: {sentence}", option="seed")
    return errors


def _earlier_grades(pair: Pair, samples: Iterable[GradedSample]) -> dict[tuple[str, str], str]:
    """The grades of earlier samples of the dataset, by query and document."""
    found = {}
    for graded in samples:
        if graded.header["dataset"] == pair.night.dataset:
            for document, text in zip(graded.documents, graded.grades, strict=True):
                if text:
                    found[document] = text
    return found


def _earlier_errors(nights: Nights, samples: Iterable[GradedSample]) -> dict[str, float]:
    """The root mean square of the machine's errors in earlier samples, by its grade."""
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for graded in samples:
        with about("human", graded.origin):
            sample, human = _graded_sample(nights, graded, HumanGrades("", True))
        errors = errors_by_grade(sample.moved, sample.pi, human)
        for grade, (mean_square, count) in errors.items():
            sums[grade] = sums.get(grade, 0.0) + mean_square * count
            counts[grade] = counts.get(grade, 0) + count
    roots = {}
    for grade in sorted(sums):
        root = math.sqrt(sums[grade] / counts[grade])
        # Rounded as in the file, so that readers of the file compute the same probabilities.
        roots[grade] = float(f"{root:.{DIGITS}g}")
    return roots


def _graded_sample(
    nights: Nights, graded: GradedSample, human: HumanGrades
) -> tuple[Sample, Numbers]:
    """The sample behind a file, and the gain that people gave to each moved document."""
    header = graded.header
    pair = pair_of(nights, header)
    sample = make_sample(pair, header["documents"], header["seed"], header["errors"])
    if sample.header["convention"] != header["convention"] or header["measure"] != "ndcg":
        raise InputError("its first lines were changed; draw a new sample")
    _refuse_other_rows(sample, graded)
    return sample, _human_gains(sample, graded, human)


def _refuse_other_rows(sample: Sample, graded: GradedSample) -> None:
    """Raise InputError if the rows are not the drawn ones with their probabilities."""
    drawn = sample.documents
    expected = dict(zip(drawn, sample.pi[sample.drawn].tolist(), strict=True))
    advice = "keep the rows that were drawn, or draw a new sample"
    added = [document for document in graded.documents if document not in expected]
    if added:
        refuse_documents("were not drawn", added, f"{advice}; a spreadsheet may change ids")
    there = set(graded.documents)
    lost = [document for document in drawn if document not in there]
    if lost:
        refuse_documents("that were drawn are missing", lost, advice)
    changed = []
    for document, text in zip(graded.documents, graded.pi, strict=True):
        if not math.isclose(number(text), expected[document], rel_tol=_NEAR):
            changed.append(document)
    if changed:
        refuse_documents("have a different pi from the one they were drawn with", changed, advice)


def _human_gains(sample: Sample, graded: GradedSample, human: HumanGrades) -> Numbers:
    """The gain that people gave to each moved document; NaN if it was not drawn or has no grade."""
    grades = dict(zip(graded.documents, graded.grades, strict=True))
    blank = [document for document, text in grades.items() if not text]
    if len(blank) == len(grades):
        raise InputError("no row has a grade; fill in the column grade")
    if blank and not human.assume_missing_at_random:
        _refuse_blank(blank, len(grades))
    gains = _gains_of_grades(sample.pair.night, grades)
    human_gains = np.full(len(sample.moved), np.nan)
    human_gains[sample.drawn] = [gains.get(document, np.nan) for document in sample.documents]
    return human_gains


def _gains_of_grades(
    night: Night, grades: Mapping[tuple[str, str], str]
) -> dict[tuple[str, str], float]:
    """The gain of each document with a grade. InputError if a night's judgments lack a grade."""
    convention = night_convention(night)
    low, high = known_grades(night)
    gains = {}
    unknown = []
    for document, text in grades.items():
        if not text:
            continue
        grade = number(text)
        gain = graded_gain(grade, convention) if low <= grade <= high else None
        if gain is None:
            unknown.append(document)
        else:
            gains[document] = gain
    if unknown:
        known = f"the judgments have grades from {low:g} to {high:g}"
        refuse_documents("have an unknown grade", unknown, known)
    return gains


def _refuse_blank(blank: Sequence[tuple[str, str]], drawn: int) -> None:
    """Raise InputError about rows without a grade."""
    listed = ", ".join(f"{document} for query {query}" for query, document in blank[:_LISTED])
    more = f" and {len(blank) - _LISTED:,} more" if len(blank) > _LISTED else ""
    sentence = f"{len(blank):,} of {drawn:,} rows have no grade: {listed}{more}"
    instead = "grade them, because hard ones may differ from the rest; or give"
    raise InputError(sentence, Give("assume_missing_at_random", words=instead))


def estimate(nights: Nights, human: HumanGrades, alpha: float = 0.05) -> HumanEstimate:
    """The difference corrected by a sample with grades. InputError if the file is refused."""
    graded = read_sample(human.source)
    with about("human", graded.origin):
        sample, gains = _graded_sample(nights, graded, human)
    corrected = corrected_difference(sample.moved, sample.pi, gains, sample.drawn, alpha)
    header = sample.header
    return HumanEstimate(sample.pair, corrected, header["documents"], header["seed"])


def refuse_other_pair(
    pair: Pair,
    nights: Sequence[Night],
    others: Mapping[str, ScoreSource] | None,
    options: ComparisonOptions,
) -> None:
    """Raise InputError if a sample is not from the nights and runs that are compared.

    `others`: the baseline's nights by dataset; None if the runs are from the same night.
    """
    dataset = pair.night.dataset
    evaluations = {night.dataset: night.evaluation_id for night in nights}
    baselines = evaluations
    if others is not None:
        baselines = {name: str(source.evaluation_id) for name, source in others.items()}
    compared = evaluations.get(dataset), baselines.get(dataset)
    if compared != (pair.night.evaluation_id, pair.other.evaluation_id):
        two = str(pair.night)
        if pair.other != pair.night:
            two = f"{pair.night} and {pair.other}"
        raise InputError(f"human: it is a sample from {two}; compare these")
    has_run = not options.runs or pair.run in options.runs
    # Without baselines, runs are compared by name.
    has_baseline = pair.baseline in (options.baselines or [pair.run])
    if not has_run or not has_baseline:
        sentence = f"it is a sample of {pair.run} against {pair.baseline}; compare these"
        raise InputError(f"human: {sentence}")

"""Convention: one definition of NDCG, as a set of options."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, Self

from ndcg_spark.convention.options import (
    GAINS,
    MAX_GAIN,
    MOST_GRADES,
    OPTIONS,
    Numbers,
    choices,
    describe,
    is_known,
    normal,
    show,
)
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.errors import ConventionError
from ndcg_spark.text import did_you_mean

Gain = str | Mapping[float, float]
#: The deepest cutoff of ideal=k_relevant, which sums the discounts of all ranks.
LARGEST_K = 100_000
#: The options in the order in which the formula in words lists them, those that change scores most first.
_IN_FORMULA = tuple(dict.fromkeys(("gain", "min_relevance", "discount", "order", "score_precision", *OPTIONS)))
Discount = str | tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class Convention:
    """One definition of NDCG: every option with its value.

    The options and their values are those of `options.OPTIONS`; the defaults are the textbook
    definition for graded judgments (gain 2^relevance - 1, discount log2(rank + 1), ideal from all judged documents).

    >>> Convention.preset("trec_eval").replace(gain="exp2").label
    'trec_eval gain=exp2'

    Raises
    ------
    ConventionError
        An option has an unknown value, or options contradict each other. One error lists all problems.
    """

    gain: Gain = "exp2"
    discount: Discount = "log2"
    ties: str = "doc_id_desc"
    order: str = "score"
    score_precision: str = "float64"
    ideal: str = "judged"
    unjudged: str | float = "zero"
    negative: str = "as_unjudged"
    no_relevant: str = "skip"
    missing_query: str = "zero"
    duplicates: str = "error"
    judgment_duplicates: str = "error"
    exclude_query_as_document: bool = False
    min_relevance: str | float = "none"
    relevant_from: str | float = 1.0
    rbp_persistence: float = 0.8
    max_grade: str | float = "highest"
    #: The preset that the options are based on. It only appears in the label.
    based_on: str = dataclasses.field(default="standard", compare=False)

    def __post_init__(self) -> None:
        if self.based_on not in PRESETS:
            near = did_you_mean(self.based_on, PRESETS)
            raise ConventionError(f"convention: unknown preset {self.based_on!r}{near}; choose {', '.join(PRESETS)}")
        for option in OPTIONS:
            object.__setattr__(self, option, normal(option, getattr(self, option)))
        if isinstance(self.gain, Mapping) and len(self.gain) > MOST_GRADES:
            raise ConventionError(
                f"convention: the gain table has {len(self.gain)} grades, but at most {MOST_GRADES} are possible; "
                "write a function instead, gain=python:package.module.function"
            )
        wrong = [option for option in OPTIONS if not is_known(option, getattr(self, option))]
        if wrong:
            values = ", ".join(f"{option}={show(getattr(self, option))}{_near(self, option)}" for option in wrong)
            advice = "; ".join(f"{option} takes {choices(option)}" for option in wrong)
            raise ConventionError(f"convention: unknown {values}; {advice}")
        reasons = _contradictions(self)
        if reasons:
            raise ConventionError(f"convention: {'; '.join(reasons)}")

    def __hash__(self) -> int:
        return hash(str(self.options()))

    @classmethod
    def preset(cls, name: str) -> Self:
        """The convention that reproduces a tool, by its name in PRESETS. ConventionError if there is no such name."""
        return cls(based_on=name).replace(**PRESETS[name].options)

    def replace(self, **options: Any) -> Self:
        """The same convention with some options changed. ConventionError if an option does not exist."""
        unknown = [option for option in options if option not in OPTIONS]
        if unknown:
            named = ", ".join(f"{option}{did_you_mean(option, OPTIONS)}" for option in unknown)
            raise ConventionError(f"convention: unknown option {named}; choose {', '.join(OPTIONS)}")
        return dataclasses.replace(self, **options)

    def options(self) -> dict[str, Any]:
        """Every option with its value, as JSON or TOML can store it, in the order of the documentation."""
        plain = {option: getattr(self, option) for option in OPTIONS}
        return {
            option: {show(grade): gain for grade, gain in value.items()} if isinstance(value, Mapping) else value
            for option, value in plain.items()
        }

    @property
    def label(self) -> str:
        """The preset and the options that differ from it, such as `trec_eval gain=exp2`."""
        preset = Convention.preset(self.based_on)
        changed = [o for o in OPTIONS if getattr(self, o) != getattr(preset, o)]
        return " ".join([self.based_on, *(f"{option}={show(getattr(self, option))}" for option in changed)])

    @property
    def needs_rank(self) -> bool:
        """Whether the results must have a rank column."""
        return "rank" in (self.order, self.ties)

    @property
    def needs_score(self) -> bool:
        """Whether the results must have a score column."""
        return self.order == "score"

    @property
    def formula(self) -> str:
        """The options in words, as in `dataset_scores.formula`."""
        described = (describe(option, getattr(self, option)) for option in _IN_FORMULA)
        return "; ".join(words for words in described if words)


def counted_grade(grade: float, convention: Convention) -> float:
    """The grade as it counts: with `min_relevance`, 1 or 0, unless it is negative."""
    least = convention.min_relevance
    return grade if isinstance(least, str) or grade < 0 else float(grade >= least)


def refuse_cutoffs(convention: Convention, cutoffs: Iterable[int | None]) -> None:
    """ConventionError if a cutoff is deeper than LARGEST_K with ideal=k_relevant."""
    wrong = [str(k) for k in cutoffs if convention.ideal == "k_relevant" and k is not None and k > LARGEST_K]
    if wrong:
        raise ConventionError(
            f"convention: ideal=k_relevant takes cutoffs up to {LARGEST_K:,}, but {wrong[0]} is larger; use smaller "
            "cutoffs, or set ideal=judged"
        )


def table_gain(table: Mapping[float, float], grade: float) -> float | None:
    """The gain of a grade in a table; None if it lacks the grade."""
    return next((gain for each, gain in table.items() if each == grade), None)


def named_gain(name: str, grade: float) -> float:
    """The gain of a grade by an entry of GAINS; infinite if it is too large for a double."""
    try:
        return float(GAINS[name].of(grade, Numbers()))
    except OverflowError:
        return math.inf


def _near(convention: Convention, option: str) -> str:
    """A suggestion of the most similar value of an option; empty if none is similar."""
    value = getattr(convention, option)
    return did_you_mean(value, OPTIONS[option].words) if isinstance(value, str) else ""


def _contradictions(convention: Convention) -> list[str]:
    """The reasons why options that are valid alone contradict each other."""
    c = convention
    graded_unjudged = isinstance(c.unjudged, float)
    unjudged = counted_grade(float(c.unjudged), c) if graded_unjudged else 0.0
    lacking = isinstance(c.gain, Mapping) and graded_unjudged and table_gain(c.gain, unjudged) is None
    named = str(c.gain) if graded_unjudged and isinstance(c.gain, str) and c.gain in GAINS else None
    rules = [
        (
            c.order == "rank" and c.ties == "rank",
            "order=rank and ties=rank use the same ranks, so ties would stay tied; set another ties",
        ),
        (
            c.order == "rank" and c.score_precision == "float32",
            "score_precision=float32 has no effect with order=rank; set score_precision=float64",
        ),
        (
            c.ideal == "retrieved" and graded_unjudged,
            f"unjudged={show(c.unjudged)} counts in the DCG only, so lists would score above 1 with ideal=retrieved; "
            "set ideal=judged or unjudged=zero",
        ),
        (
            named is not None and not GAINS[named].of_grade,
            f"gain={c.gain} ignores grades, so unjudged={show(c.unjudged)} has no effect; set unjudged=zero",
        ),
        (
            named is not None and abs(named_gain(named, unjudged)) > MAX_GAIN,
            f"unjudged={show(c.unjudged)} is too large for gain={c.gain}; set a smaller grade",
        ),
        (
            c.min_relevance != "none" and str(c.gain) in GAINS and not GAINS[str(c.gain)].of_grade,
            f"gain={c.gain} ignores grades, so min_relevance={show(c.min_relevance)} has no effect; set it to none",
        ),
        (
            c.ideal == "k_relevant" and c.gain not in ("binary", "judged"),
            f"ideal=k_relevant needs gains of 0 and 1, and gain={show(c.gain)} has others; set gain=binary",
        ),
        (
            c.ideal == "k_relevant" and graded_unjudged,
            f"unjudged={show(c.unjudged)} counts in the DCG only, and ideal=k_relevant counts relevant documents; set "
            "unjudged=zero",
        ),
        (
            c.min_relevance != "none" and isinstance(c.relevant_from, float) and c.relevant_from > 1,
            f"min_relevance={show(c.min_relevance)} makes every grade 1 or 0, so no document reaches "
            f"relevant_from={show(c.relevant_from)}; set only one of them",
        ),
        (
            c.min_relevance != "none" and isinstance(c.max_grade, float) and c.max_grade != 1,
            f"min_relevance={show(c.min_relevance)} makes every grade 1 or 0, so the highest is 1 and not "
            f"max_grade={show(c.max_grade)}; set only one of them",
        ),
        (lacking, f"the gain table lacks the grade of unjudged={show(c.unjudged)}; add it to the table"),
    ]
    return [reason for broken, reason in rules if broken]

"""Defines Convention, one definition of NDCG as a set of options, and the output of the command
`ndcg-spark conventions`.
"""

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Self

from ndcg_spark.convention.catalog import (
    CATALOG_OPTIONS,
    CATALOG_PRESETS,
    describe_catalog_preset,
    tool_of,
)
from ndcg_spark.convention.measures import CATALOG_COLUMNS, COLUMNS, MEASURES, MeasureSet
from ndcg_spark.convention.options import (
    DISCOUNTS,
    GAINS,
    MAX_GAIN,
    OPTIONS,
    accepted,
    choices,
    describe,
    parse_options,
    show,
)
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.errors import ConventionError
from ndcg_spark.text import did_you_mean
from ndcg_spark.voices import OPTIONS as COMMANDS
from ndcg_spark.voices import Notice, SetOption

#: The name of a gain or of a function, or a table {grade: gain}.
Gain = str | Mapping[float, float]
#: The name of a discount or of a function, or a list of weights.
Discount = str | tuple[float, ...]
#: The heading of the formulas.
_NOTATION = (
    "In mathematical notation "
    "(d a document, rel its grade, d_r the document at rank r from 1, q a query)"
)
#: The options in the order of the formula in words; those that change scores most come first.
_IN_FORMULA = tuple(
    dict.fromkeys(("gain", "min_relevance", "discount", "order", "score_precision", *OPTIONS))
)


def parse_label(label: str) -> dict[str, Any]:
    """Return the options in a label, and its preset under the key `preset`."""
    # An option's value may contain blanks, for example in a table of gains.
    preset, *options = re.split(r"\s+(?=\w+=)", label.strip())
    return {"preset": preset, **parse_options(options)}


@dataclasses.dataclass(frozen=True)
class Convention:
    """One definition of NDCG: every option with its value.

    The defaults are the textbook definition for graded judgments (gain 2^relevance - 1, discount
    log2(rank + 1), ideal from all judged documents).

    >>> Convention.preset("trec_eval").replace(gain="exp2").label
    'trec_eval gain=exp2'

    Raises
    ------
    ConventionError
        An option has an unknown value, or options contradict each other. One error lists all
        unknown values or, if there are none, all contradictions.
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
            what = f"unknown preset {self.based_on!r}{near}"
            raise ConventionError(f"{what}; choose {', '.join(PRESETS)}", option="convention")
        values = {option: accepted(option, getattr(self, option)) for option in OPTIONS}
        wrong = [option for option, value in values.items() if value is None]
        if wrong:
            named = ", ".join(f"{option}={show(getattr(self, option)):.80}" for option in wrong)
            advice = "; ".join(f"{option} takes {choices(option)}" for option in wrong)
            raise ConventionError(f"unknown {named}; {advice}", option="convention")
        for option, value in values.items():
            # The dataclass is frozen.
            object.__setattr__(self, option, value)
        reasons = list(_contradictions(self))
        if reasons:
            raise ConventionError("; ".join(reasons), option="convention")

    def __hash__(self) -> int:
        return hash(str(self.options()))

    @classmethod
    def parse(cls, label: str) -> Self:
        """Return the convention of a label, such as ``trec_eval gain=exp2``.

        A label is a preset's name, followed by the options that differ from it.
        """
        options = parse_label(label)
        return cls.preset(options.pop("preset")).replace(**options)

    @classmethod
    def preset(cls, name: str) -> Self:
        """Return the convention that reproduces a tool, by its name in PRESETS.

        Raise ConventionError if there is no such name.
        """
        return cls(based_on=name).replace(**PRESETS[name].options)

    def replace(self, **options: Any) -> Self:
        """Return the same convention with some options changed.

        Raise ConventionError if an option does not exist.
        """
        unknown = [option for option in options if option not in OPTIONS]
        if unknown:
            named = ", ".join(f"{option}{did_you_mean(option, OPTIONS)}" for option in unknown)
            what = f"unknown option {named}; choose {', '.join(OPTIONS)}"
            raise ConventionError(what, option="convention")
        return dataclasses.replace(self, **options)

    def options(self) -> dict[str, Any]:
        """Return every option with its value, in the order of the documentation.

        The values can be stored in JSON or TOML.
        """
        plain = {option: getattr(self, option) for option in OPTIONS}
        if isinstance(self.gain, Mapping):
            plain["gain"] = {show(grade): gain for grade, gain in self.gain.items()}
        return plain

    @property
    def label(self) -> str:
        """The preset and the options that differ from it, such as `trec_eval gain=exp2`."""
        preset = Convention.preset(self.based_on)
        words = [self.based_on]
        for option in OPTIONS:
            value = getattr(self, option)
            if value != getattr(preset, option):
                words.append(f"{option}={show(value)}")
        return " ".join(words)

    @property
    def ranks_decide(self) -> bool:
        """Whether ranks or the positions of rows decide the order, and not scores."""
        return self.order != "score"

    @property
    def needs_rank(self) -> bool:
        """Whether the results need a rank column."""
        return self.ranks_decide or self.ties == "rank"

    @property
    def needs_score(self) -> bool:
        """Whether the results need a score column."""
        return self.order == "score"

    @property
    def has_own_ideal(self) -> bool:
        """Whether each run has its own ideal, computed from the documents that it returned."""
        return self.ideal in ("retrieved", "retrieved_at_k")

    @property
    def formula(self) -> str:
        """The options in words, as in `dataset_scores.formula`."""
        described = [describe(option, getattr(self, option)) for option in _IN_FORMULA]
        # These words are published in `dataset_scores.formula`, so they must not change.
        if self.missing_query == "zero" and (self.has_own_ideal or self.ideal == "judged_capped"):
            # The ideal DCG of an empty list is 0.
            described[_IN_FORMULA.index("missing_query")] = (
                "missing queries count as those without gain"
            )
        return "; ".join(words for words in described if words)


def relevant_grade(convention: Convention) -> float | None:
    """Return the lowest grade of a relevant document, or None if every judged one is relevant."""
    if isinstance(convention.relevant_from, str):
        return None
    if isinstance(convention.min_relevance, str):
        return convention.relevant_from
    return convention.min_relevance


def definition(label: str, formula: str, measures: MeasureSet) -> str:
    """Return the definition of the scores in words, for NDCG and for other measures."""
    sentence = f"{label}: {formula}"
    convention = Convention.parse(label)
    grade = relevant_grade(convention)
    # A different threshold is stated in the formula.
    is_default = convention.relevant_from == Convention().relevant_from
    if measures.counts_relevant and is_default and grade is not None:
        sentence += f"; documents with grade {show(grade)} or above are relevant"
    # A different persistence is stated in the formula.
    if "rbp" in measures.columns and convention.rbp_persistence == Convention().rbp_persistence:
        sentence += f"; persistence {show(convention.rbp_persistence)} in RBP"
    return sentence


#: Why a catalog measure has no value, if the reason is not that lists contain no items.
_WITHOUT_VALUE = {
    "gini": "no run shows enough items that are counted",
    "personalization": "no run has two lists",
}


def why_no_value(column: str, convention: Convention) -> str:
    """Return why no query is in the mean of a score, which is therefore null."""
    if column in CATALOG_COLUMNS:
        return _WITHOUT_VALUE.get(column, "no list contains an item that is counted")
    grade = relevant_grade(convention)
    if column not in COLUMNS or grade is None:
        return "no query in the mean has a document with a gain"
    option = "relevant_from" if convention.min_relevance == "none" else "min_relevance"
    return f"no query in the mean has a document of grade {show(grade)} or above ({option})"


def counted_grade(grade: float, convention: Convention) -> float:
    """Return the grade that is used: with `min_relevance`, 1 or 0, unless it is negative."""
    least = convention.min_relevance
    if isinstance(least, str) or grade < 0:
        return grade
    return 1.0 if grade >= least else 0.0


def named_gain(name: str, grade: float) -> float:
    """Return a gain according to GAINS[name], or infinity if it is too large for a double."""
    try:
        return float(GAINS[name].compute(grade))
    except OverflowError:
        return math.inf


def _contradictions(c: Convention) -> Iterator[str]:
    """Yield a sentence for each pair of options that contradict each other."""
    if c.ranks_decide and c.ties == "rank":
        yield (
            f"order={c.order} and ties=rank use the same ranks, so ties would stay tied; "
            "set a different ties"
        )
    if c.ranks_decide and c.score_precision == "float32":
        yield (
            f"score_precision=float32 has no effect with order={c.order}; "
            "set score_precision=float64"
        )
    if c.ideal == "k_relevant" and c.gain not in ("binary", "judged"):
        yield (
            f"ideal=k_relevant needs gains of 0 and 1, but gain={show(c.gain)} has others; "
            "set gain=binary"
        )
    yield from _contradicting_ties(c)
    if isinstance(c.unjudged, float):
        yield from _contradicting_grade(c, c.unjudged)
    if isinstance(c.min_relevance, float):
        yield from _contradicting_threshold(c, f"min_relevance={show(c.min_relevance)}")


def _contradicting_threshold(c: Convention, shown: str) -> Iterator[str]:
    """Yield a sentence for each option that contradicts a threshold, which makes grades 1 or 0."""
    if c.gain == "judged":
        yield f"gain=judged ignores grades, so {shown} has no effect; set it to none"
    if isinstance(c.relevant_from, float) and c.relevant_from > 1:
        yield (
            f"{shown} turns every grade into 0 or 1, so none reaches "
            f"relevant_from={show(c.relevant_from)}; "
            "set only one of them"
        )
    if isinstance(c.max_grade, float) and c.max_grade != 1:
        yield (
            f"{shown} makes the highest grade 1 instead of max_grade={show(c.max_grade)}; "
            "set only one of them"
        )


def _contradicting_ties(c: Convention) -> Iterator[str]:
    """Yield a sentence if the rule for ties contradicts the ideal."""
    if c.ideal == "retrieved_at_k" and c.ties == "average":
        why = "cuts the list at k, where averaged ties have no order"
        yield f"ideal={c.ideal} {why}; set a different ties"


def _contradicting_grade(c: Convention, unjudged: float) -> Iterator[str]:
    """Yield a sentence for each option that contradicts a grade for unjudged documents."""
    grade = counted_grade(unjudged, c)
    shown = f"unjudged={show(unjudged)}"
    if c.has_own_ideal or c.ideal == "k_relevant":
        yield (
            f"{shown} only applies to the DCG, so with ideal={c.ideal} lists could score above 1; "
            "set unjudged=zero"
        )
    if c.gain == "judged":
        yield f"gain=judged ignores grades, so {shown} has no effect; set unjudged=zero"
    if isinstance(c.gain, Mapping) and grade not in c.gain:
        yield f"the gain table lacks the grade of {shown}; add it to the table"
    if isinstance(c.gain, str) and c.gain in GAINS and abs(named_gain(c.gain, grade)) > MAX_GAIN:
        yield f"{shown} is too large for gain={c.gain}; set a smaller grade"


def list_presets_and_options() -> list[str]:
    """Return the output of the command without a name: all presets, options and measures."""
    width = max(map(len, PRESETS))
    lines = []
    for name, preset in PRESETS.items():
        lines.append(f"{name:<{width}}  {preset.tool}")
        lines.append(f"{'':<{width}}  verified with {preset.verified}")
    change = SetOption("option", "value", words="change one with")
    heading = Notice("Options and their values, the default first", change).worded(COMMANDS)
    lines.extend(["", heading])
    lines.extend(f"  {option:<26}{choices(option)}" for option in OPTIONS)
    lines.extend(["", *_lines_on_catalog_options()])
    lines.extend(["", *_lines_on_measures()])
    return lines


def _lines_on_catalog_options() -> list[str]:
    """Return the options of catalog measures and their presets, one per line."""
    what = "Options of catalog measures, the default first, and their presets"
    lines = [f"{what} (explained with NAME)"]
    for name, option in CATALOG_OPTIONS.items():
        measure, _, argument = name.partition("_")
        written = f"{measure}({argument}=...)"
        lines.append(f"  {written:<26}{option.choices}")
    for name, preset in CATALOG_PRESETS.items():
        written = f"preset={name}"
        lines.append(f"  {written:<26}{preset.verified}: {', '.join(preset.calls)}")
    return lines


def _lines_on_measures() -> list[str]:
    """Return the measures, one per line."""
    lines = [
        "Measures: the first name is computed at every cutoff (except bpref and rprec), the "
        "second is the name in papers, with its cutoff after @"
    ]
    for name, measure in MEASURES.items():
        written = measure.written[0]
        if measure.of == "judgments" and measure.arguments:
            written += f"({', '.join(f'{argument}=...' for argument in measure.arguments)})"
        if not measure.whole:
            written += "@10"
        lines.append(f"  {name:<16}{written:<21}{measure.words}")
    return lines


def describe_preset(name: str) -> list[str]:
    """Return a preset's description.

    Some presets have only catalog measures, and no convention.
    """
    tool = tool_of(name)
    if tool is None:
        return _describe_convention(name)
    if name not in PRESETS:
        return [
            f"{name}: {', '.join(CATALOG_PRESETS[name].calls)}",
            "",
            *describe_catalog_preset(name),
        ]
    return [*_describe_convention(name), "", *describe_catalog_preset(tool)]


def _describe_convention(name: str) -> list[str]:
    """Return the description of a preset's convention."""
    convention = Convention.preset(name)
    preset = PRESETS[name]
    standard = Convention().options()
    options = []
    for option, value in convention.options().items():
        line = f"{option:<26}{show(value):<17}"
        default = show(standard[option])
        if show(value) != default:
            line += default
        options.append(line.rstrip())
    not_reproduced = [*preset.not_reproduced, *preset.grades.in_words()]
    parts = {
        "In words": convention.formula.split("; "),
        _NOTATION: mathematics(convention),
        "Options, with the value in standard if it differs": options,
        "Not reproduced, deliberately": not_reproduced or ["nothing known"],
    }
    lines = [f"{name}: {preset.tool}", f"verified with {preset.verified}"]
    for heading, entries in parts.items():
        lines.extend(["", heading])
        lines.extend(f"  {entry}" for entry in entries)
    return lines


def mathematics(convention: Convention) -> list[str]:
    """Return a convention's formulas, from the grade to the mean NDCG."""
    gain = show(convention.gain)
    discount = show(convention.discount)
    lines = []
    if convention.min_relevance != "none":
        least = show(convention.min_relevance)
        lines.append(f"rel(d) = [grade of d >= {least}], but a negative grade is unchanged")
    lines.append(f"g(d) = {GAINS[gain].notation if gain in GAINS else gain}")
    lines.append(f"w(r) = {DISCOUNTS[discount].notation if discount in DISCOUNTS else discount}")
    dcg = "DCG@k = sum over r = 1..k of g(d_r) * w(r)"
    if convention.ties == "average":
        dcg += ", expected over all orderings of equal scores"
    lines.append(dcg)
    lines.append(_ideal_in_notation(convention.ideal))
    lines.append(
        "NDCG@k = DCG@k / IDCG@k,  ndcg = mean of NDCG@k over q,  "
        "ndcg_pooled = sum of DCG@k / sum of IDCG@k"
    )
    return lines


def _ideal_in_notation(ideal: str) -> str:
    """Return the formula of the ideal DCG."""
    if ideal == "k_relevant":
        return "IDCG@k = sum over r = 1..k of w(r)"
    depth = "min(k, n)" if ideal == "judged_capped" else "k"
    documents = "judged" if ideal in ("judged", "judged_capped") else "returned"
    end = {
        "retrieved_at_k": " with a rank of at most k",
        "judged_capped": ", n the number of returned d",
    }
    formula = f"sum over r = 1..{depth} of w(r) * (the r-th largest g(d) of all {documents} d)"
    return f"IDCG@k = {formula}{end.get(ideal, '')}"

"""Convention: one definition of NDCG as a set of options, and the output of `ndcg-spark
conventions` about it.
"""

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Self

from ndcg_spark.convention.catalog import (
    CATALOG_OPTIONS,
    CATALOG_PRESETS,
    described_preset,
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

Gain = str | Mapping[float, float]
#: The options in the order in which the formula in words lists them; those that change scores most
#: come first.
_NOTATION = (
    "In mathematical notation "
    "(d a document, rel its grade, d_r the document at rank r from 1, q a query)"
)
_IN_FORMULA = tuple(
    dict.fromkeys(("gain", "min_relevance", "discount", "order", "score_precision", *OPTIONS))
)
Discount = str | tuple[float, ...]


def parse_label(label: str) -> dict[str, Any]:
    """The options in a label, and its `preset`."""
    # The value of an option may contain blanks, for example in a table of gains.
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
            object.__setattr__(self, option, value)
        if reasons := [*_contradictions(self)]:
            raise ConventionError("; ".join(reasons), option="convention")

    def __hash__(self) -> int:
        return hash(str(self.options()))

    @classmethod
    def parse(cls, label: str) -> Self:
        """The convention of a label: a preset followed by options that differ, such as ``trec_eval
        gain=exp2``.
        """
        options = parse_label(label)
        return cls.preset(options.pop("preset")).replace(**options)

    @classmethod
    def preset(cls, name: str) -> Self:
        """The convention that reproduces a tool, by its name in PRESETS. Raises ConventionError if
        there is no such name.
        """
        return cls(based_on=name).replace(**PRESETS[name].options)

    def replace(self, **options: Any) -> Self:
        """The same convention with some options changed. Raises ConventionError if an option does
        not exist.
        """
        unknown = [option for option in options if option not in OPTIONS]
        if unknown:
            named = ", ".join(f"{option}{did_you_mean(option, OPTIONS)}" for option in unknown)
            what = f"unknown option {named}; choose {', '.join(OPTIONS)}"
            raise ConventionError(what, option="convention")
        return dataclasses.replace(self, **options)

    def options(self) -> dict[str, Any]:
        """Every option with its value, as JSON or TOML can store it, in the order of the
        documentation.
        """
        plain = {option: getattr(self, option) for option in OPTIONS}
        if isinstance(self.gain, Mapping):
            plain["gain"] = {show(grade): gain for grade, gain in self.gain.items()}
        return plain

    @property
    def label(self) -> str:
        """The preset and the options that differ from it, such as `trec_eval gain=exp2`."""
        preset = Convention.preset(self.based_on)
        changed = [o for o in OPTIONS if getattr(self, o) != getattr(preset, o)]
        return " ".join(
            [self.based_on, *(f"{option}={show(getattr(self, option))}" for option in changed)]
        )

    @property
    def ranks_decide(self) -> bool:
        """Whether ranks decide the order: the ranks in the results, or the positions of their
        rows.
        """
        return self.order != "score"

    @property
    def needs_rank(self) -> bool:
        return self.ranks_decide or self.ties == "rank"

    @property
    def needs_score(self) -> bool:
        return self.order == "score"

    @property
    def has_own_ideal(self) -> bool:
        """Whether each run has its own ideal, computed from the documents that it returned."""
        return self.ideal in ("retrieved", "retrieved_at_k")

    @property
    def formula(self) -> str:
        """The options in words, as in `dataset_scores.formula`."""
        described = [describe(option, getattr(self, option)) for option in _IN_FORMULA]
        if self.missing_query == "zero" and (self.has_own_ideal or self.ideal == "judged_capped"):
            # The ideal DCG of an empty list is 0.
            described[_IN_FORMULA.index("missing_query")] = (
                "missing queries count as those without gain"
            )
        return "; ".join(words for words in described if words)


def relevant_grade(convention: Convention) -> float | None:
    """The lowest grade of a relevant document, or None if every judged document is relevant."""
    if isinstance(convention.relevant_from, str):
        return None
    least = convention.min_relevance
    return convention.relevant_from if isinstance(least, str) else least


def definition(label: str, formula: str, measures: MeasureSet) -> str:
    """The NDCG definition of the scores, and the documents that other measures treat as
    relevant.
    """
    sentence = f"{label}: {formula}"
    convention = Convention.parse(label)
    grade = relevant_grade(convention)
    # The formula states any other threshold.
    is_default = convention.relevant_from == Convention().relevant_from
    if measures.counts_relevant and is_default and grade is not None:
        sentence += f"; documents with grade {show(grade)} or above are relevant"
    # The formula states any other persistence.
    if "rbp" in measures.columns and convention.rbp_persistence == Convention().rbp_persistence:
        sentence += f"; persistence {show(convention.rbp_persistence)} in RBP"
    return sentence


#: Why a measure of the catalog has no value, where that is not for lack of items in lists.
_WITHOUT_VALUE = {
    "gini": "no run shows enough items that count",
    "personalization": "no run has two lists",
}


def why_no_value(column: str, convention: Convention) -> str:
    """Why the mean of a score is null although it was evaluated: no query is in the mean."""
    if column in CATALOG_COLUMNS:
        return _WITHOUT_VALUE.get(column, "no list contains an item that is counted")
    grade = relevant_grade(convention)
    if column not in COLUMNS or grade is None:
        return "no query in the mean has a document with a gain"
    option = "relevant_from" if convention.min_relevance == "none" else "min_relevance"
    return f"no query in the mean has a document of grade {show(grade)} or above ({option})"


def counted_grade(grade: float, convention: Convention) -> float:
    """The grade that is used: with `min_relevance`, 1 or 0, unless the grade is negative."""
    least = convention.min_relevance
    return grade if isinstance(least, str) or grade < 0 else float(grade >= least)


def named_gain(name: str, grade: float) -> float:
    """The gain of a grade by an entry of GAINS, or infinity if it is too large for a double."""
    try:
        return float(GAINS[name].compute(grade))
    except OverflowError:
        return math.inf


def _contradictions(c: Convention) -> Iterator[str]:
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
        least = f"min_relevance={show(c.min_relevance)}"
        if c.gain == "judged":
            yield f"gain=judged ignores grades, so {least} has no effect; set it to none"
        if isinstance(c.relevant_from, float) and c.relevant_from > 1:
            yield (
                f"{least} makes every grade 1 or 0, below relevant_from={show(c.relevant_from)}; "
                "set only one of them"
            )
        if isinstance(c.max_grade, float) and c.max_grade != 1:
            yield (
                f"{least} makes the highest grade 1 instead of max_grade={show(c.max_grade)}; "
                "set only one of them"
            )


def _contradicting_ties(c: Convention) -> Iterator[str]:
    cuts_list = c.ideal == "retrieved_at_k"
    if cuts_list and c.ties == "average":
        why = "cuts the list at k, where averaged ties have no order"
        advice = "set a different ties"
        yield f"ideal={c.ideal} {why}; {advice}"


def _contradicting_grade(c: Convention, unjudged: float) -> Iterator[str]:
    grade, shown = counted_grade(unjudged, c), f"unjudged={show(unjudged)}"
    if c.has_own_ideal or c.ideal == "k_relevant":
        yield (
            f"{shown} only counts in the DCG, so with ideal={c.ideal} lists could score above 1; "
            "set unjudged=zero"
        )
    if c.gain == "judged":
        yield f"gain=judged ignores grades, so {shown} has no effect; set unjudged=zero"
    if isinstance(c.gain, Mapping) and grade not in c.gain:
        yield f"the gain table lacks the grade of {shown}; add it to the table"
    if isinstance(c.gain, str) and c.gain in GAINS and abs(named_gain(c.gain, grade)) > MAX_GAIN:
        yield f"{shown} is too large for gain={c.gain}; set a smaller grade"


def list_presets_and_options() -> list[str]:
    width = max(map(len, PRESETS))
    lines = []
    for name, preset in PRESETS.items():
        lines += [
            f"{name:<{width}}  {preset.tool}",
            f"{'':<{width}}  verified with {preset.verified}",
        ]
    change = SetOption("option", "value", words="change one with")
    lines += ["", Notice("Options and their values, the default first", change).worded(COMMANDS)]
    lines += [f"  {option:<26}{choices(option)}" for option in OPTIONS]
    what = "Options of catalog measures, the default first, and their presets"
    lines += ["", f"{what} (explained with NAME)"]
    for name, entry in CATALOG_OPTIONS.items():
        owner, _, argument = name.partition("_")
        lines.append(f"  {f'{owner}({argument}=...)':<26}{entry.choices}")
    for name, tool in CATALOG_PRESETS.items():
        lines.append(f"  {f'preset={name}':<26}{tool.verified}: {', '.join(tool.calls)}")
    lines += [
        "",
        (
            "Measures: the first name is computed at every cutoff (except bpref and rprec), the "
            "second is the name in papers, with its cutoff after @"
        ),
    ]
    for name, measure in MEASURES.items():
        takes = measure.arguments if measure.of == "judgments" else ()
        arguments = ", ".join(f"{short}=..." for short in takes)
        written = (
            f"{measure.written[0]}{arguments and f'({arguments})'}{'' if measure.whole else '@10'}"
        )
        lines.append(f"  {name:<16}{written:<21}{measure.words}")
    return lines


def describe_preset(name: str) -> list[str]:
    """The description of a preset. A preset of catalog measures may have no NDCG convention."""
    tool = tool_of(name)
    if tool is None:
        return _describe_convention(name)
    if name not in PRESETS:
        return [f"{name}: {', '.join(CATALOG_PRESETS[name].calls)}", "", *described_preset(name)]
    return [*_describe_convention(name), "", *described_preset(tool)]


def _describe_convention(name: str) -> list[str]:
    chosen, preset, standard = Convention.preset(name), PRESETS[name], Convention().options()
    not_reproduced = [*preset.not_reproduced, *preset.grades.in_words()]
    shown = {
        option: (show(value), show(standard[option])) for option, value in chosen.options().items()
    }
    parts = {
        "In words": chosen.formula.split("; "),
        _NOTATION: mathematics(chosen),
        "Options, with the value in standard if it differs": [
            f"{option:<26}{value:<17}{'' if value == default else default}".rstrip()
            for option, (value, default) in shown.items()
        ],
        "Not reproduced, deliberately": not_reproduced or ["nothing known"],
    }
    lines = [f"{name}: {preset.tool}", f"verified with {preset.verified}"]
    for heading, entries in parts.items():
        lines += ["", heading, *(f"  {entry}" for entry in entries)]
    return lines


def mathematics(convention: Convention) -> list[str]:
    c, gain, discount = convention, show(convention.gain), show(convention.discount)
    least = f"rel(d) = [grade of d >= {show(c.min_relevance)}], but a negative grade is unchanged"
    expected = ", expected over all orders of equal scores" if c.ties == "average" else ""
    largest = "IDCG@k = sum over r = 1..{} of w(r) * (the r-th largest g(d) of all {} d)".format
    ideals = {
        "judged": largest("k", "judged"),
        "retrieved": largest("k", "returned"),
        "retrieved_at_k": largest("k", "returned") + " with a rank of at most k",
        "judged_capped": largest("min(k, n)", "judged") + ", n the number of returned d",
        "k_relevant": "IDCG@k = sum over r = 1..k of w(r)",
    }
    return [
        *([] if c.min_relevance == "none" else [least]),
        f"g(d) = {GAINS[gain].notation if gain in GAINS else gain}",
        f"w(r) = {DISCOUNTS[discount].notation if discount in DISCOUNTS else discount}",
        f"DCG@k = sum over r = 1..k of g(d_r) * w(r){expected}",
        ideals[c.ideal],
        (
            "NDCG@k = DCG@k / IDCG@k,  ndcg = mean of NDCG@k over q,  "
            "ndcg_pooled = sum of DCG@k / sum of IDCG@k"
        ),
    ]

"""Which NDCG: the options, what each may be, and which of them mean nothing together."""

import ast
import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Any, Self

from ndcg_spark.convention import formulas
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.errors import ConventionError

Gain = str | Mapping[float, float]
Discount = str | tuple[float, ...]

#: The words each option takes, the default first. `gain`, `discount` and `unjudged` also take what WIDER says.
WORDS: dict[str, tuple[str, ...]] = {
    "gain": ("exp2", "linear", "binary", "judged"),
    "discount": ("log2", "ln", "position", "jarvelin", "none"),
    "ties": ("doc_id_desc", "doc_id_asc", "average", "worst", "best", "rank"),
    "order": ("score", "rank"),
    "score_precision": ("float64", "float32"),
    "ideal": ("judged", "retrieved", "judged_capped"),
    "unjudged": ("zero", "drop"),
    "negative": ("as_unjudged", "keep", "drop", "error"),
    "no_relevant": ("skip", "zero", "one", "error"),
    "missing_query": ("zero", "skip", "error"),
    "duplicates": ("error", "best"),
    "judgment_duplicates": ("error", "max", "min", "mean"),
    "exclude_query_as_document": ("false", "true"),
}
WIDER = {
    "gain": "a table {grade: gain}, python:package.module.function",
    "discount": "a list [w1, w2, ...] that does not increase, python:package.module.function",
    "unjudged": "a grade from 0",
}
#: Beyond this a sum of gains could leave the range of a double: relevance 996 is the last that exp2 takes.
MAX_GAIN = 1e300

#: The order in which a formula in words speaks of the options.
_SPOKEN = tuple(dict.fromkeys(("gain", "discount", "order", "score_precision", *WORDS)))
_PYTHON = re.compile(r"python:[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


@dataclasses.dataclass(frozen=True)
class Convention:
    """One definition of NDCG: every option with its value.

    The options and their values are the table of the README's "Which NDCG"; the defaults are the textbook
    definition for graded judgments (gain 2^relevance - 1, discount log2(rank + 1), ideal from all judged documents).

    >>> Convention.preset("trec_eval").replace(gain="exp2").label
    'trec_eval gain=exp2'

    Raises
    ------
    ConventionError
        One error for all unknown values, and for a combination that has no meaning.
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
    #: The preset the options started from; it names the convention and changes nothing.
    based_on: str = dataclasses.field(default="standard", compare=False)

    def __post_init__(self) -> None:
        if self.based_on not in PRESETS:
            raise ConventionError(f"convention: no preset is called {self.based_on!r}; one of {', '.join(PRESETS)}")
        for option in WORDS:
            object.__setattr__(self, option, _normal(option, getattr(self, option)))
        wrong = [f"{option}={show(getattr(self, option))}" for option in WORDS if not _known(self, option)]
        if wrong:
            options = dict.fromkeys(entry.split("=")[0] for entry in wrong)
            known = "; ".join(f"{option} is one of {_choices(option)}" for option in options)
            raise ConventionError(f"convention: {len(wrong)} unknown value(s), {', '.join(wrong)}; {known}")
        reasons = _contradictions(self)
        if reasons:
            raise ConventionError(f"convention: {'; '.join(reasons)}")

    def __hash__(self) -> int:
        return hash(str(self.options()))

    @classmethod
    def preset(cls, name: str) -> Self:
        """The convention of a tool by its name in PRESETS; ConventionError for a name that is not there."""
        return cls(based_on=name).replace(**PRESETS[name].options)

    def replace(self, **options: Any) -> Self:
        """The same convention with some options changed; an option that does not exist is a ConventionError."""
        unknown = [option for option in options if option not in WORDS]
        if unknown:
            raise ConventionError(f"convention: no option is called {', '.join(unknown)}; one of {', '.join(WORDS)}")
        return dataclasses.replace(self, **options)

    def options(self) -> dict[str, Any]:
        """Every option with its value, in the order of the documentation, fit for JSON and TOML."""
        plain = {option: getattr(self, option) for option in WORDS}
        return {
            option: {show(grade): gain for grade, gain in value.items()} if isinstance(value, Mapping) else value
            for option, value in plain.items()
        }

    @property
    def label(self) -> str:
        """The preset it started from and what differs from it: 'trec_eval' or 'trec_eval gain=exp2'."""
        preset = Convention.preset(self.based_on)
        changed = [o for o in WORDS if getattr(self, o) != getattr(preset, o)]
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
        """The options in words, as they stand in `dataset_scores.formula`."""
        return formulas.words({option: getattr(self, option) for option in _SPOKEN}, show)

    @property
    def mathematics(self) -> list[str]:
        """The definition in mathematical notation, a line each."""
        return formulas.mathematics({option: getattr(self, option) for option in WORDS}, show)

    def differences(self, other: "Convention") -> list[str]:
        """What this convention says otherwise than another, in words, option by option."""
        changed = [option for option in WORDS if getattr(self, option) != getattr(other, option)]
        return [
            f"{o}={show(getattr(self, o))}: {formulas.say(o, getattr(self, o), show)}".rstrip(": ") for o in changed
        ]


def explain_preset(name: str) -> list[str]:
    """A preset, line by line: its tool, options, formula, what differs from `standard`, what is not reproduced."""
    chosen, standard = Convention.preset(name), Convention()
    preset = PRESETS[name]
    differences = chosen.differences(standard) or ["nothing: it is the default"]
    return [
        f"{name}: {preset.tool}",
        f"verified with {preset.verified}",
        "",
        "In words",
        *(f"  {part}" for part in chosen.formula.split("; ")),
        "",
        "In mathematical notation (d a document, rel its grade, d_r the document at rank r from 1, q a query)",
        *(f"  {line}" for line in chosen.mathematics),
        "",
        "Options",
        *(f"  {option:<26}{show(getattr(chosen, option))}" for option in WORDS),
        "",
        "Differs from standard in",
        *(f"  {difference}" for difference in differences),
        "",
        "Not reproduced, deliberately",
        *(f"  {behaviour}" for behaviour in preset.not_reproduced or ("nothing known",)),
    ]


def parse_option(text: str) -> tuple[str, Any]:
    """``--set option=value`` as the option and its value: a word, a number, a list, a table, true or false."""
    option, equals, value = text.partition("=")
    if not equals:
        raise ConventionError(f"convention: {text!r} is no option=value; write for example gain=linear")
    try:
        parsed = ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, TypeError):
        parsed = None
    # None is no value of any option: it stays the word that was written, and is refused as such.
    return option.strip(), value.strip() if parsed is None else parsed


def show(value: object) -> str:
    """An option's value as a person would write it after ``--set option=``."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, tuple):
        return f"[{', '.join(map(show, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{show(grade)}: {show(gain)}" for grade, gain in value.items()) + "}"
    return str(value)


def table_gain(table: Mapping[float, float], grade: float) -> float | None:
    """The gain a table gives to a grade, None where it lacks it."""
    return next((gain for known, gain in table.items() if known == grade), None)


def _choices(option: str) -> str:
    return ", ".join([*WORDS[option], *([WIDER[option]] if option in WIDER else [])])


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _normal(option: str, value: Any) -> Any:
    """The value in the form the fields declare; what cannot be brought into it is returned as it is."""
    if option == "exclude_query_as_document":
        return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
    if option == "gain" and isinstance(value, Mapping):
        pairs = [(_number(grade), _number(gain)) for grade, gain in value.items()]
        if all(grade is not None and gain is not None for grade, gain in pairs):
            return dict(sorted(pairs))
    if option == "discount" and isinstance(value, list | tuple):
        weights = [_number(weight) for weight in value]
        return tuple(weights) if None not in weights else tuple(value)
    if option == "unjudged" and _number(value) is not None:
        return _number(value)
    return value


def _known(convention: Convention, option: str) -> bool:
    value = getattr(convention, option)
    if option == "exclude_query_as_document":
        return isinstance(value, bool)
    if isinstance(value, str):
        return value in WORDS[option] or (option in ("gain", "discount") and bool(_PYTHON.fullmatch(value)))
    if option == "unjudged":
        return isinstance(value, float) and 0 <= value <= MAX_GAIN
    if option == "gain" and isinstance(value, Mapping):
        numbers = [*value.keys(), *value.values()]
        return bool(value) and all(isinstance(n, float) and abs(n) <= MAX_GAIN for n in numbers)
    if option == "discount" and isinstance(value, tuple):
        finite = all(isinstance(weight, float) and 0 <= weight < math.inf for weight in value)
        return bool(value) and finite and list(value) == sorted(value, reverse=True)
    return False


def _contradictions(convention: Convention) -> list[str]:
    """Why the options, each known by itself, mean nothing together."""
    c = convention
    graded_unjudged = isinstance(c.unjudged, float)
    lacking = isinstance(c.gain, Mapping) and graded_unjudged and table_gain(c.gain, float(c.unjudged)) is None
    rules = [
        (
            c.order == "rank" and c.ties == "rank",
            "order=rank leaves nothing for ties=rank to break: equal ranks are equal there too; set another ties",
        ),
        (
            c.order == "rank" and c.score_precision == "float32",
            "score_precision=float32 says how scores are compared, and order=rank compares none; "
            "set score_precision=float64",
        ),
        (
            c.ideal == "retrieved" and graded_unjudged,
            f"unjudged={show(c.unjudged)} counts in the DCG only, and ideal=retrieved is made of the same documents, "
            "so lists would score above 1; set ideal=judged or unjudged=zero",
        ),
        (
            c.gain == "judged" and graded_unjudged,
            f"gain=judged looks at no grade, so unjudged={show(c.unjudged)} would be ignored; set unjudged=zero",
        ),
        (
            c.gain == "exp2" and graded_unjudged and float(c.unjudged) > math.log2(MAX_GAIN),
            f"unjudged={show(c.unjudged)} is too large a grade for gain=exp2; set a smaller one",
        ),
        (lacking, f"the gain table lacks the grade of unjudged={show(c.unjudged)}; add it to the table"),
    ]
    return [reason for broken, reason in rules if broken]

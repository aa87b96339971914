"""The measures that are computed beside NDCG: what each is, how people write it, and at which cutoffs it was asked for.

Whoever adds a measure adds an entry of MEASURES here, and its formula to `scoring.companions`.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.convention.cutoffs import Cutoff, ascending, order_of
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.plain import did_you_mean


@dataclasses.dataclass(frozen=True)
class Measure:
    """A measure: in words, in mathematical notation, and as the field writes it."""

    words: str
    notation: str
    #: Its names in the field, the first as ir_measures has it.
    written: tuple[str, ...]
    #: Its column in both tables of scores.
    column: str
    #: The options of a convention that its arguments set: `P(rel=2)@5` sets relevant_from.
    arguments: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Whether it is a sum over ranks, which has an expectation where ties are averaged.
    averages: bool = False
    #: What is computed with it, in a column of its own.
    beside: str | None = None
    #: Whether it is of the whole ranking only, at no cutoff.
    whole: bool = False


_REL = {"rel": "relevant_from"}

#: By the name that the configuration has for it.
MEASURES: dict[str, Measure] = {
    "ndcg": Measure("DCG over ideal DCG", "DCG@k / IDCG@k", ("nDCG", "NDCG"), "ndcg", averages=True),
    "precision": Measure(
        "relevant documents within k, over k",
        "P@k = (relevant within k) / k",
        ("P", "Precision"),
        "precision",
        _REL,
        averages=True,
    ),
    "recall": Measure(
        "relevant documents within k, over all relevant ones",
        "R@k = (relevant within k) / R, R the relevant documents that are judged",
        ("R", "Recall"),
        "recall",
        _REL,
        averages=True,
    ),
    "ap": Measure(
        "average precision: the precision at each relevant document within k, summed, over all relevant documents",
        "AP@k = sum over relevant ranks r <= k of P@r / R",
        ("AP", "MAP"),
        "ap",
        _REL,
    ),
    "rr": Measure(
        "reciprocal rank of the first relevant document within k, else 0",
        "RR@k = 1 / (first relevant rank <= k)",
        ("RR", "MRR"),
        "rr",
        _REL,
    ),
    "success": Measure(
        "1 if a relevant document is within k, else 0",
        "Success@k = [relevant within k > 0]",
        ("Success",),
        "success",
        _REL,
    ),
    "rbp": Measure(
        "rank-biased precision: shares of the highest grade, for a reader who goes on with probability p at each rank",
        "RBP@k = sum over r = 1..k of (1 - p) p^(r - 1) rel(d_r) / max_grade, and its residual for the unjudged ones",
        ("RBP",),
        "rbp",
        {"p": "rbp_persistence"},
        averages=True,
        beside="rbp_residual",
    ),
    "err": Measure(
        "expected reciprocal rank of the document that satisfies the reader (Chapelle et al. 2009)",
        "ERR@k = sum over r = 1..k of S_r / r * product over i < r of (1 - S_i), S = (2^rel - 1) / 2^max_grade",
        ("ERR",),
        "err",
    ),
    "bpref": Measure(
        "for each relevant document, how few judged documents that are not relevant stand above it (trec_eval's)",
        "bpref = sum over relevant d of 1 - min(n_d, R) / min(N, R), over R; n_d of the N others are above d",
        ("Bpref", "bpref"),
        "bpref",
        _REL,
        whole=True,
    ),
    "judged": Measure(
        "judged documents within k, over k",
        "Judged@k = (judged within k) / k",
        ("Judged",),
        "judged_share",
        averages=True,
    ),
}

#: The columns of the measures beside NDCG, in the order of the tables.
COLUMNS = (
    *("precision", "recall", "ap", "rr", "success", "rbp", "rbp_residual", "err", "bpref", "judged_share"),
    *("ndcg_low", "ndcg_high"),
)

#: The columns of the bounds of NDCG.
BOUNDS = ("ndcg_low", "ndcg_high")

#: The measures that look at how high a grade is, and need to know the highest.
GRADED = ("rbp", "err")

_NAMES = {name: name for name in MEASURES} | {
    written: name for name, measure in MEASURES.items() for written in measure.written
}
_WORDS = re.compile(r"[^\s,()]+(?:\([^)]*\)[^\s,]*)?")
_MEASURE = re.compile(r"(?P<name>\w+)(?:\((?P<arguments>[^)]*)\))?(?:@(?P<cutoff>\w+))?")


@dataclasses.dataclass(frozen=True)
class Asked:
    """Which measures are asked for, at which cutoffs, in the order in which they were named."""

    pairs: tuple[tuple[str, Cutoff], ...] = ()
    #: Whether the lowest and the highest NDCG are asked for that unjudged documents allow.
    bounds: bool = False

    def cutoffs_of(self, *measures: str) -> list[Cutoff]:
        """The cutoffs at which any of these measures is asked for, ascending, the whole ranking last."""
        return sorted({cutoff for name, cutoff in self.pairs if name in measures}, key=order_of)

    def has(self, *measures: str) -> bool:
        """Whether any of these measures is asked for at any cutoff."""
        return any(name in measures for name, _ in self.pairs)

    @property
    def companions(self) -> list[str]:
        """The measures beside NDCG that are asked for, in the order of MEASURES."""
        return [name for name in MEASURES if name != "ndcg" and self.has(name)]

    @property
    def columns(self) -> list[str]:
        """The columns of these in the tables of scores, in the order of COLUMNS."""
        measures = [MEASURES[name] for name in self.companions]
        bounds = BOUNDS if self.bounds else ()
        return [c for c in COLUMNS if c in bounds or any(c in (each.column, each.beside) for each in measures)]


#: NDCG alone.
NOTHING_ELSE = Asked()


@dataclasses.dataclass(frozen=True)
class Request:
    """What a user has asked for: measures, the cutoffs that they need, and options that their arguments set."""

    asked: Asked
    cutoffs: Sequence[Cutoff]
    options: Mapping[str, Any]

    @property
    def texts(self) -> list[str]:
        """The same request, each measure with its cutoff and arguments: `precision(rel=2)@5`."""
        return [f"{name}{self._arguments_of(name)}@{cutoff or 'all'}" for name, cutoff in self.asked.pairs]

    def _arguments_of(self, name: str) -> str:
        arguments = MEASURES[name].arguments
        given = [f"{short}={self.options[option]}" for short, option in arguments.items() if option in self.options]
        return f"({', '.join(given)})" if given else ""


def request(measures: Iterable[object] | str, cutoffs: Sequence[Cutoff] | None, default: Sequence[Cutoff]) -> Request:
    """What measures such as `ndcg`, `precision`, `P@5`, `AP` or `RBP(p=0.5)@10` ask for.

    A name of the configuration (`precision`) is asked for at every one of `cutoffs`, or of `default` if there are none;
    one with a cutoff (`precision@5`, `P@5`) there, and one that the field writes without cutoff (`AP`) for the whole
    ranking. `measures` may be a text with blanks or commas between them, or anything whose texts are measures, such as
    those of ir_measures.

    Raises
    ------
    ConfigurationError
        There is no such measure, argument or cutoff, or two of them set an option to different values.
    """
    texts = [str(each) for each in ([measures] if isinstance(measures, str) else measures)]
    words = [word for text in texts for word in _WORDS.findall(text)]
    if not words:
        raise ConfigurationError(f"measures: there are none; name some of {', '.join(MEASURES)}, or leave them out")
    read = [_read(word) for word in words]
    everywhere = [name for name, cutoff, _ in read if cutoff == "each"]
    own = list(cutoffs or (default if everywhere and any(not MEASURES[name].whole for name in everywhere) else ()))
    pairs: list[tuple[str, Cutoff]] = []
    for name, cutoff, _ in read:
        if cutoff == "each":
            pairs += ((name, each) for each in ([None] if MEASURES[name].whole else own))
        else:
            pairs.append((name, None if cutoff == "all" else int(cutoff)))
    needed = ascending([*own, *(cutoff for _, cutoff in pairs)])
    return Request(Asked(tuple(dict.fromkeys(pairs))), needed, _options(words, [options for *_, options in read]))


def asked_by(texts: Iterable[str], bounds: bool) -> Asked:
    """What texts with a cutoff each, such as precision@5, ask for; nothing beside NDCG if there are none."""
    given = list(texts)
    return Asked(request(given, None, ()).asked.pairs if given else (), bounds)


def written(measure: str, cutoff: Cutoff) -> str:
    """A measure and its cutoff as a heading: ndcg@10, and ap for the whole ranking."""
    shown = MEASURES[measure]
    return measure if shown.whole else f"{measure}@{cutoff or 'all'}"


def _read(word: str) -> tuple[str, str, dict[str, str]]:
    """The measure of a word, its cutoff (a rank, 'all', or 'each' of the configured ones), and options with values."""
    match = _MEASURE.fullmatch(word)
    given = match["name"] if match else word
    if match is None or given not in _NAMES:
        near = did_you_mean(given, _NAMES)
        raise ConfigurationError(f"measures: {word!r} is none{near}; one of {', '.join(MEASURES)}, or such as P@5")
    name = _NAMES[given]
    measure, cutoff = MEASURES[name], match["cutoff"]
    if cutoff is not None and cutoff != "all" and not (cutoff.isascii() and cutoff.isdecimal() and int(cutoff)):
        raise ConfigurationError(f"measures: {word} has no cutoff that is a whole number from 1; write {given}@10")
    if measure.whole and cutoff not in (None, "all"):
        raise ConfigurationError(f"measures: {word} has a cutoff, and {name} is of the whole ranking; write {given}")
    ours = given in MEASURES
    return name, cutoff or ("each" if ours else "all"), _arguments(word, measure, match["arguments"])


def _arguments(word: str, measure: Measure, text: str | None) -> dict[str, str]:
    """The options that the arguments in parentheses set."""
    options = {}
    for part in (text or "").split(",") if text else []:
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in measure.arguments or not value:
            takes = " and ".join(f"{each}=..." for each in measure.arguments) or "no arguments"
            raise ConfigurationError(f"measures: {word} has the argument {part.strip()!r}, and it takes {takes}")
        options[measure.arguments[name]] = value
    return options


def _options(words: Sequence[str], each: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The options that all measures set. An evaluation has one value of each."""
    options: dict[str, str] = {}
    for word, own in zip(words, each, strict=True):
        for option, value in own.items():
            if options.setdefault(option, value) != value:
                raise ConfigurationError(
                    f"measures: {word} sets {option}={value}, and another one {option}={options[option]}; "
                    "evaluate in two parts"
                )
    return options

"""Measures as people write them, such as `precision`, `P@5` or `RBP(p=0.5)`, and what they ask for."""

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.convention.cutoffs import Cutoff, ascending, deepest_finite
from ndcg_spark.convention.measures import MEASURES, Asked, Measure
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.text import did_you_mean

_NAMES = {name: name for name in MEASURES} | {
    written: name for name, measure in MEASURES.items() for written in measure.written
}
#: Blanks and commas within parentheses do not end a word.
_WORDS = re.compile(r"(?:[^\s,(]|\([^)]*\)?)+")
_MEASURE = re.compile(r"(?P<name>\w+)(?:\((?P<arguments>[^)]*)\))?(?:@(?P<cutoff>\w+))?")
#: At a cutoff the case of a name tells nothing: `p@5`.
_AT_A_CUTOFF = {name.lower(): name for name in reversed(_NAMES)}
#: trec_eval has the cutoff behind the name: `P_5`, `map_cut.10`.
_TREC_EVAL = re.compile(r"(?P<name>[A-Za-z_]+?)(?:_cut)?[_.](?P<cutoff>\d+)")
#: What a column is that is no measure.
_COLUMN = Measure("", "", (), "")
#: What other tools call a measure, besides what is written in MEASURES.
_ELSEWHERE = {
    "recip_rank": "RR",
    "reciprocal_rank": "RR",
    "hit_rate": "Success",
    "hitrate": "Success",
    "hit": "Success",
}
#: Arguments of ir_measures that are options of a convention here, so that all measures have them.
_OPTIONS = {
    ("dcg", "exp-log2"): "gain=exp2",
    ("dcg", "log2"): "gain=linear",
    ("judged_only", "True"): "unjudged=drop",
}


class _UnknownMeasureError(ConfigurationError):
    """A word that is no measure; which there are is told once for all such words."""


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
    texts = [str(each) for each in _several(measures)]
    words = [word for text in texts for word in _WORDS.findall(text)]
    if not words:
        raise ConfigurationError(f"measures: there are none; name some of {', '.join(MEASURES)}, or leave them out")
    read = _read_all(words)
    everywhere = [name for name, cutoff, _ in read if cutoff == "each"]
    own = list(cutoffs or (default if everywhere and any(not MEASURES[name].whole for name in everywhere) else ()))
    pairs: list[tuple[str, Cutoff]] = []
    for name, cutoff, _ in read:
        if cutoff == "each":
            pairs += ((name, each) for each in ([None] if MEASURES[name].whole else own))
        else:
            pairs.append((name, None if cutoff == "all" else int(cutoff)))
    name, cutoff, _ = read[0]
    headline = (name, deepest_finite([] if MEASURES[name].whole else own)) if cutoff == "each" else pairs[0]
    needed = ascending([*own, *(cutoff for _, cutoff in pairs)])
    options = _options([(word, name, own_options) for word, (name, _, own_options) in zip(words, read, strict=True)])
    return Request(Asked(tuple(dict.fromkeys(pairs)), first=headline), needed, options)


def asked_by(texts: Iterable[str], bounds: bool = False, headline: str | None = None) -> Asked:
    """What texts with a cutoff each, such as precision@5, ask for; nothing beside NDCG if there are none.

    `headline` is such a text too; without one it is the first.
    """
    given = list(texts)
    asked = request(given, None, ()).asked if given else Asked()
    first = request(headline, None, ()).asked.first if headline else asked.first
    return Asked(asked.pairs, bounds, first)


def asked_in(configuration: Mapping[str, Any]) -> Asked:
    """What the configuration in the record of a night has asked for."""
    settings = (configuration.get(name) for name in ("measures", "bounds", "headline"))
    measures, bounds, headline = settings
    return asked_by(measures or (), bool(bounds), headline)


def columns_of(text: str, also: Collection[str] = ()) -> list[tuple[str, str]]:
    """Columns of scores, each with its cutoff (a rank, 'all', or 'each' where none is named), of such a text.

    `also` are columns that are no measures, and are named as they are: `dcg@10`. ConfigurationError as `request`, and
    for arguments, as those of kept scores are settled.
    """
    words = _WORDS.findall(text)
    if not words:
        raise ConfigurationError(f"measures: there are none; name some of {', '.join([*MEASURES, *also])}")
    found = []
    for word, (name, cutoff, options) in zip(words, _read_all(words, also), strict=True):
        if options:
            raise ConfigurationError(
                f"measures: {word} has arguments, and scores that are kept have theirs; leave them out"
            )
        measure = MEASURES.get(name)
        whole = measure is not None and measure.whole
        found.append((measure.column if measure else name, "all" if whole else cutoff))
    return list(dict.fromkeys(found))


def _several(measures: object) -> list[object]:
    """The measures, of which one may be given alone."""
    if measures is None or isinstance(measures, Mapping):
        raise ConfigurationError(f"measures: {measures!r} names none; give a list such as ['P@5', 'AP']")
    return list(measures) if isinstance(measures, Iterable) and not isinstance(measures, str) else [measures]


def _read_all(words: Sequence[str], also: Collection[str] = ()) -> list[tuple[str, str, dict[str, str]]]:
    """What `_read` finds of every word; ConfigurationError that tells all that are wrong."""
    read, unknown, wrong = [], [], []
    for word in words:
        try:
            read.append(_read(word, also))
        except _UnknownMeasureError as error:
            unknown.append(str(error))
        except ConfigurationError as error:
            wrong.append(str(error))
    if unknown:
        known = ", ".join(dict.fromkeys([*MEASURES, *also]))
        wrong = [*unknown, f"one of {known}, or such as P@5", *wrong]
    if wrong:
        raise ConfigurationError(f"measures: {'; '.join(wrong)}")
    return read


def _read(word: str, also: Collection[str] = ()) -> tuple[str, str, dict[str, str]]:
    """The measure of a word, its cutoff (a rank, 'all', or 'each' of the configured ones), and options with values."""
    match = _MEASURE.fullmatch(word)
    given = match["name"] if match else word
    others = [name for name in also if name not in MEASURES]
    if match and match["cutoff"] and given not in {*_NAMES, *others}:
        given = _AT_A_CUTOFF.get(given.lower(), given)
    if match is None or given not in {*_NAMES, *others}:
        raise _UnknownMeasureError(f"{word!r} is not a measure{_near(word, match, others)}")
    name, cutoff = _NAMES.get(given, given), match["cutoff"]
    measure = MEASURES.get(name, _COLUMN)
    if cutoff is not None and cutoff != "all" and not (cutoff.isascii() and cutoff.isdecimal() and int(cutoff)):
        raise ConfigurationError(f"{word} has no cutoff that is a whole number from 1; write {given}@10")
    if measure.whole and cutoff not in (None, "all"):
        raise ConfigurationError(f"{word} has a cutoff, and {name} is of the whole ranking; write {given}")
    ours = name in others or given in MEASURES
    return name, cutoff or ("each" if ours else "all"), _arguments(word, measure, match["arguments"])


def _near(word: str, match: re.Match[str] | None, others: Iterable[str]) -> str:
    """The measure that is probably meant, with its cutoff, in words; empty if none is near."""
    trec_eval = _TREC_EVAL.fullmatch(word)
    found = trec_eval or match
    name = found["name"] if found else word
    written = _ELSEWHERE.get(name.lower()) or _AT_A_CUTOFF.get(name.lower()) if found else None
    if found and written:
        cutoff = found["cutoff"]
        return f" (did you mean {MEASURES[_NAMES[written]].written[0] + (f'@{cutoff}' if cutoff else '')!r}?)"
    # Of names that differ in their case only, ours is the one that is told.
    return did_you_mean(name, [*others, *reversed(_NAMES)])


def _arguments(word: str, measure: Measure, text: str | None) -> dict[str, str]:
    """The options that the arguments in parentheses set."""
    options = {}
    for part in (text or "").split(",") if text else []:
        name, _, value = (piece.strip() for piece in part.partition("="))
        option = _OPTIONS.get((name, value.strip("'\"")))
        if option and name not in measure.arguments:
            key, _, word_of_it = option.partition("=")
            raise ConfigurationError(
                f"{word} has the argument {part.strip()!r}, which is an option of the convention here; leave it out, "
                f"and --set {option}, in Python Convention({key}={word_of_it!r})"
            )
        if name not in measure.arguments or not value:
            takes = " and ".join(f"{each}=..." for each in measure.arguments) or "no arguments"
            raise ConfigurationError(f"{word} has the argument {part.strip()!r}, and it takes {takes}")
        options[measure.arguments[name]] = value
    return options


def _options(read: Iterable[tuple[str, str, Mapping[str, str]]]) -> dict[str, str]:
    """The options that measures set, which are given as words, names and arguments.

    An evaluation has one value of each option, so every measure that takes it must set it to the same.
    """
    options: dict[str, tuple[str, str]] = {}
    for word, name, own in read:
        for short, option in MEASURES[name].arguments.items():
            value = own.get(option, "")
            first, known = options.setdefault(option, (word, value))
            if known != value:
                says = [
                    f"{each} sets {option}={said}" if said else f"{each} sets no {option}"
                    for each, said in ((first, known), (word, value))
                ]
                raise ConfigurationError(
                    f"measures: {' and '.join(says)}, and an evaluation has one value of it for all measures; write "
                    f"{short}=... in both, or evaluate twice, with one of them each time"
                )
    return {option: value for option, (_, value) in options.items() if value}

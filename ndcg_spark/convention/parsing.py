"""Parses cutoffs and measures as users write them: `1,3,all`, `precision`, `P@5`, `RBP(p=0.5)`."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.convention.catalog import default_options, is_catalog_option, resolved_options
from ndcg_spark.convention.measures import MEASURES, Cutoff, MeasureSet, by_depth, deepest_finite
from ndcg_spark.convention.options import show
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.text import did_you_mean
from ndcg_spark.voices import Advice, SetOption

#: Each cutoff adds columns to every plan: a hundred took seconds, a thousand took three minutes.
MAX_CUTOFFS = 100
#: A whole number from 1 that fits into an int.
_CUTOFF = re.compile("0*[1-9][0-9]{0,8}|0*1[0-9]{9}")
#: Our names of the measures, by every name that users may write.
_NAMES: dict[str, str] = {}
for _name, _measure in MEASURES.items():
    _NAMES |= dict.fromkeys((_name, *_measure.written), _name)
#: Blanks and commas within parentheses do not end a word.
_WORDS = re.compile(r"(?:[^\s,(]|\([^)]*\)?)+")
_MEASURE = re.compile(r"(?P<name>\w+)(?:\((?P<arguments>[^)]*)\))?(?:@(?P<cutoff>\w+))?")
_NUMBER = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
#: The option and the value that stand for an argument of ir_measures.
_OPTIONS = {"judged_only": ("unjudged", "drop")}
#: The cutoff of a measure whose name is in lower case and has no cutoff.
ALL_CUTOFFS = "all cutoffs"


def parse_cutoffs(written: object) -> list[Cutoff]:
    """Parse `10`, `"1,3,all"`, None or several cutoffs.

    The result is ascending, with the whole ranking (None) last.
    """
    several = written.split(",") if isinstance(written, str) else written
    texts = ["all" if cutoff is None else str(cutoff).strip() for cutoff in listed(several)]
    ranks = [text for text in texts if text != "all"]
    invalid = [text for text in ranks if not _CUTOFF.fullmatch(text)]
    to_do = f"use from 1 to {MAX_CUTOFFS} positive integers or 'all'"
    if invalid:
        what = f"invalid cutoff {', '.join(map(repr, invalid))}"
        raise ConfigurationError(f"{what}; {to_do}", option="cutoffs")
    number = len(set(texts))
    if not 0 < number <= MAX_CUTOFFS:
        raise ConfigurationError(f"{number} are given; {to_do}", option="cutoffs")
    cutoffs: set[Cutoff] = set(map(int, ranks))
    if "all" in texts:
        cutoffs.add(None)
    return sorted(cutoffs, key=by_depth)


def parse_cutoff(written: object) -> Cutoff:
    """Parse a single cutoff, such as `10` or `all`."""
    return parse_cutoffs([written])[0]


class _Word(NamedTuple):
    """A measure that the user has written, such as `P(rel=2)@5`."""

    text: str
    #: Our name of the measure.
    name: str
    #: A rank, `all`, or ALL_CUTOFFS.
    cutoff: str
    #: The options that its arguments set, such as `{"relevant_from": "2"}`.
    options: Mapping[str, str]


class ParsedMeasures(NamedTuple):
    """The measures that a user has written, and the cutoffs that they need."""

    measure_set: MeasureSet
    cutoffs: Sequence[Cutoff]


def parse_measures(
    measures: Iterable[object] | str,
    cutoffs: Sequence[Cutoff] | None,
    default: Sequence[Cutoff],
    preset: str = "standard",
) -> ParsedMeasures:
    """Parse measures from a text such as `ndcg precision P@5 AP RBP(p=0.5)@10`, or from a list.

    A name in lower case (`precision`, `map`) is computed at all `cutoffs`, or at `default` if there
    are none. A name with a cutoff (`precision@5`, `P@5`) is computed at that cutoff, and a name
    from papers without a cutoff (`AP`) on the whole ranking. `measures` is a text of measures
    separated by blanks or commas, or a collection whose items, as text, are measures, such as
    ir_measures' own. By default, catalog measures have the options of this `preset`.
    """
    words = _words(" ".join(map(str, listed(measures))))
    needs_cutoffs = any(word.cutoff == ALL_CUTOFFS for word in words)
    shared_cutoffs = list(cutoffs or ())
    if needs_cutoffs and not shared_cutoffs:
        shared_cutoffs = list(default)
    cutoffs_of_words = []
    # A dictionary, because the order matters and a measure may be named twice.
    pairs: dict[tuple[str, Cutoff], None] = {}
    for word in words:
        own = _cutoffs_of(word, shared_cutoffs)
        cutoffs_of_words.append(own)
        for cutoff in own:
            pairs[word.name, cutoff] = None
    headline = _headline(words, cutoffs_of_words)
    needed_cutoffs = shared_cutoffs + [cutoff for _, cutoff in pairs]
    measure_set = MeasureSet(tuple(pairs), headline, _options(words, preset))
    return ParsedMeasures(measure_set, parse_cutoffs(needed_cutoffs))


def _cutoffs_of(word: _Word, shared_cutoffs: list[Cutoff]) -> list[Cutoff]:
    """Return a measure's cutoffs: its own, or the shared ones if it has none."""
    if word.cutoff == ALL_CUTOFFS:
        return shared_cutoffs
    return [parse_cutoff(word.cutoff)]


def _headline(
    words: Sequence[_Word], cutoffs: Sequence[Sequence[Cutoff]]
) -> tuple[str, Cutoff] | None:
    """Return the first measure for which more is better, with the deepest of its `cutoffs`."""
    for word, own in zip(words, cutoffs, strict=True):
        if MEASURES[word.name].of == "judgments":
            return word.name, deepest_finite(own)
    return None


def parse_measure_set(texts: Iterable[str], headline: str | None = None) -> MeasureSet:
    """Return the measures in texts with cutoffs, such as precision@5.

    By default, their headline is the first of them.
    """
    measures = list(texts)
    parsed = MeasureSet()
    if measures:
        parsed = parse_measures(measures, None, ()).measure_set
    first = parsed.first
    if headline:
        first = parse_measures(headline, None, ()).measure_set.first
    return MeasureSet(parsed.pairs, first, parsed.options)


def parse_columns(
    text: str, also: Collection[str], options: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """Return the columns of scores in a text of measures, each with its cutoff.

    The cutoff is a rank, `all`, or ALL_CUTOFFS if there is none. `also` are columns that are not
    measures, such as `dcg@10`. Arguments are refused unless they set `options`.
    """
    words = _words(text, also)
    known = dict(options or {}).items()
    columns: dict[tuple[str, str], None] = {}
    for word in words:
        if not word.options.items() <= known:
            what = f"{word.text} has arguments, but the scores are already computed"
            raise _refused(f"{what}; leave them out or evaluate again")
        measure = MEASURES.get(word.name)
        column = word.name if measure is None else measure.column
        columns[column, word.cutoff] = None
    return list(columns)


def listed(one_or_several: Any) -> Iterable[Any]:
    """Return one or several values as several. A text or a numpy number is one value."""
    is_numpy_number = getattr(one_or_several, "shape", None) == ()
    is_one = isinstance(one_or_several, str | bytes) or is_numpy_number
    if isinstance(one_or_several, Iterable) and not is_one:
        return one_or_several
    return [one_or_several]


def _refused(sentence: str, advice: Advice | None = None) -> ConfigurationError:
    return ConfigurationError(sentence, advice, "measures")


def _words(text: str, also: Collection[str] = ()) -> list[_Word]:
    """Return the measures in a text. `also` are names that are not measures, such as `dcg`.

    Raise ConfigurationError for an unknown name.
    """
    names = _NAMES | {name: name for name in also if name not in MEASURES}
    choices = ", ".join(dict.fromkeys(names.values()))
    texts = _WORDS.findall(text)
    if not texts:
        raise _refused(f"the list is empty; choose from {choices}, or leave it out")
    words = []
    unknown = []
    for written in texts:
        match = _MEASURE.fullmatch(written)
        if match is not None and match["name"] in names:
            words.append(match)
        else:
            unknown.append(written)
    if unknown:
        raise _unknown_measures(unknown, names, choices)
    return [_word(match, names) for match in words]


def _unknown_measures(
    unknown: Sequence[str], names: Mapping[str, str], choices: str
) -> ConfigurationError:
    """Return the error for words that are not measures, with suggestions."""
    # Of names that differ only in case, `did_you_mean` suggests the last one.
    known = list(names)[::-1]
    refused = []
    examples = []
    for word in unknown:
        name = re.split("[@(]", word)[0]
        refused.append(f"{word!r}{did_you_mean(name, known)}")
        examples.append(_example(word, names))
    to_do = f"choose from {choices}, or write {', '.join(dict.fromkeys(examples))}"
    return _refused(f"none is called {' or '.join(refused)}; {to_do}")


def _example(word: str, names: Mapping[str, str]) -> str:
    """Return how to write a measure that the user has written as in a different tool.

    For example, P@5 for P_5 in trec_eval, and RBP(p=0.8) for rbp.80 in ranx. Return P@5 for a word
    of no known tool.
    """
    persistence = re.fullmatch(r"rbp(\.\d+)", word)
    if persistence and float(persistence[1]) > 0:
        return f"RBP(p={show(float(persistence[1]))})"
    parts = re.fullmatch(r"(?P<name>\w+?)(?:_cut)?[_.]?(?P<cutoff>\d+)", word)
    if parts is None or parts["name"] not in names:
        return "P@5"
    name, cutoff = parts["name"], parts["cutoff"]
    if _is_whole(names[name]):
        return name
    return f"{name}@{cutoff}" if _CUTOFF.fullmatch(cutoff) else f"{name}@10"


def _is_whole(name: str) -> bool:
    """Whether a name is a measure that is computed only on the whole ranking."""
    return name in MEASURES and MEASURES[name].whole


def _word(match: re.Match[str], names: Mapping[str, str]) -> _Word:
    """Return a measure from its parts. Raise ConfigurationError for a bad cutoff or argument."""
    word, written, cutoff = match[0], match["name"], match["cutoff"]
    name = names[written]
    is_whole = _is_whole(name)
    if cutoff not in (None, "all"):
        if is_whole:
            why = f"{name} is computed on the whole ranking"
            raise _refused(f"{word} has an invalid cutoff; {why}")
        if not _CUTOFF.fullmatch(cutoff):
            raise _refused(f"{word} has an invalid cutoff; write {written}@10")
    if cutoff is None:
        is_name_from_papers = not written.islower()
        cutoff = "all" if is_whole or is_name_from_papers else ALL_CUTOFFS
    options_by_argument = MEASURES[name].arguments if name in MEASURES else {}
    options = _options_of_arguments(word, match["arguments"] or "", options_by_argument)
    return _Word(word, name, cutoff, options)


def _options_of_arguments(
    word: str, text: str, options_by_argument: Mapping[str, str]
) -> dict[str, str]:
    """Return the options that the arguments of a measure set: {"relevant_from": "2"} for rel=2.

    `options_by_argument` has the option of each argument, such as {"rel": "relevant_from"}.
    """
    options = {}
    for argument in text.split(",") if text else []:
        before, _, after = argument.partition("=")
        name, value = before.strip(), after.strip()
        if name not in options_by_argument or not value:
            raise _unknown_argument(word, argument.strip(), name, options_by_argument)
        options[options_by_argument[name]] = _shortest(value)
    return options


def _shortest(value: str) -> str:
    """Return a number in its shortest form, 0.5 for .50, and other values unchanged."""
    return show(float(value)) if _NUMBER.fullmatch(value) else value


def _unknown_argument(
    word: str,
    argument: str,
    name: str,
    known: Iterable[str],
) -> ConfigurationError:
    """Return the error for an argument `name` of a measure that has the `known` arguments."""
    has = f"{word} has the argument {argument!r}"
    takes = " and ".join(f"{one}=..." for one in known)
    if takes:
        return _refused(f"{has}, but it takes {takes}")
    option, value = _OPTIONS.get(name, ("gain", "exp2"))
    instead = SetOption(option, value, words="set an option, such as")
    return _refused(f"{has}, but it takes no arguments", instead)


def _options(words: Sequence[_Word], preset: str) -> dict[str, str]:
    """Return the options that the measures set, and the defaults of the `preset`.

    Raise ConfigurationError if two measures that share an option set different values.
    """
    # The value of each option ("" if it is not set), and the measure that sets it first.
    values: dict[str, str] = {}
    first_words: dict[str, str] = {}
    for word in words:
        for argument, option in MEASURES[word.name].arguments.items():
            value = word.options.get(option, "")
            first_words.setdefault(option, word.text)
            if values.setdefault(option, value) != value:
                what = f"{first_words[option]} and {word.text} set different values of {option}"
                to_do = f"write {argument}=... in both, or evaluate twice"
                raise _refused(f"{what}, but an evaluation has only one value; {to_do}")
    of_convention = {}
    of_catalog = {}
    for option, value in values.items():
        if value and is_catalog_option(option):
            of_catalog[option] = value
        elif value:
            of_convention[option] = value
    defaults = default_options(preset, [word.name for word in words])
    return of_convention | resolved_options(of_catalog, defaults)

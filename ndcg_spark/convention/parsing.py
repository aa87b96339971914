"""Cutoffs and measures as people write them: `1,3,all`, `precision`, `P@5` or `RBP(p=0.5)`."""

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
_NAMES = {
    written: name for name, measure in MEASURES.items() for written in (name, *measure.written)
}
#: Blanks and commas within parentheses do not end a word.
_WORDS = re.compile(r"(?:[^\s,(]|\([^)]*\)?)+")
_MEASURE = re.compile(r"(?P<name>\w+)(?:\((?P<arguments>[^)]*)\))?(?:@(?P<cutoff>\w+))?")
_NUMBER = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
#: Our names for arguments of ir_measures.
_OPTIONS = {"judged_only": ("unjudged", "drop")}
#: The cutoff of a measure whose name is in lower case and has no cutoff.
ALL_CUTOFFS = "all cutoffs"


def parse_cutoffs(written: object) -> list[Cutoff]:
    """Parse `10`, `"1,3,all"`, None or several cutoffs. The result is ascending, with the whole
    ranking last.
    """
    several = written.split(",") if isinstance(written, str) else written
    texts = ["all" if cutoff is None else str(cutoff).strip() for cutoff in listed(several)]
    invalid = [text for text in texts if text != "all" and not _CUTOFF.fullmatch(text)]
    if invalid or not 0 < len({*texts}) <= MAX_CUTOFFS:
        what = (
            f"invalid cutoff {', '.join(map(repr, invalid))}"
            if invalid
            else f"{len({*texts})} are given"
        )
        to_do = f"use from 1 to {MAX_CUTOFFS} positive integers or 'all'"
        raise ConfigurationError(f"{what}; {to_do}", option="cutoffs")
    return sorted({None if text == "all" else int(text) for text in texts}, key=by_depth)


def parse_cutoff(written: object) -> Cutoff:
    return parse_cutoffs([written])[0]


class _Word(NamedTuple):
    text: str
    name: str
    #: A rank, `all`, or ALL_CUTOFFS.
    cutoff: str
    options: Mapping[str, str]


class ParsedMeasures(NamedTuple):
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
    ir_measures' own. By default, measures of the catalog have the options of the tool of this
    `preset`.
    """
    words = _words(" ".join(map(str, listed(measures))))
    shared_cutoffs = list(cutoffs or ())
    if not shared_cutoffs and any(word.cutoff == ALL_CUTOFFS for word in words):
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
    needed = parse_cutoffs([*shared_cutoffs, *(cutoff for _, cutoff in pairs)])
    return ParsedMeasures(MeasureSet(tuple(pairs), headline, _options(words, preset)), needed)


def _cutoffs_of(word: _Word, shared_cutoffs: list[Cutoff]) -> list[Cutoff]:
    """The cutoffs of a measure: its own, or the shared cutoffs of measures without one."""
    if word.cutoff == ALL_CUTOFFS:
        return shared_cutoffs
    return [parse_cutoff(word.cutoff)]


def _headline(
    words: Sequence[_Word], cutoffs: Sequence[Sequence[Cutoff]]
) -> tuple[str, Cutoff] | None:
    """The first measure for which more is better, with its deepest cutoff."""
    for word, own in zip(words, cutoffs, strict=True):
        if MEASURES[word.name].of == "judgments":
            return word.name, deepest_finite(own)
    return None


def parse_measure_set(texts: Iterable[str], headline: str | None = None) -> MeasureSet:
    """The measures of texts with cutoffs, such as precision@5, and the headline, by default the
    first of them.
    """
    listed = list(texts)
    parsed = parse_measures(listed, None, ()).measure_set if listed else MeasureSet()
    first = parse_measures(headline, None, ()).measure_set.first if headline else parsed.first
    return MeasureSet(parsed.pairs, first, parsed.options)


def parse_columns(
    text: str, also: Collection[str], options: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """The columns of scores in a text of measures, each with its cutoff: a rank, `all`, or
    ALL_CUTOFFS if it has none.

    `also` are columns that are not measures, such as `dcg@10`. Arguments are refused unless they
    set `options`.
    """
    words = _words(text, also)
    if wrong := [word.text for word in words if word.options.items() - (options or {}).items()]:
        what = f"{wrong[0]} has arguments, but the scores are already computed"
        raise _refused(f"{what}; leave them out or evaluate again")
    columns = {name: measure.column for name, measure in MEASURES.items()}
    return list(dict.fromkeys((columns.get(word.name, word.name), word.cutoff) for word in words))


def listed(one_or_several: Any) -> Iterable[Any]:
    """What a user gave, as several values; a text is one value, and so is a number of numpy."""
    is_one = isinstance(one_or_several, str | bytes) or getattr(one_or_several, "shape", None) == ()
    is_several = isinstance(one_or_several, Iterable) and not is_one
    return one_or_several if is_several else [one_or_several]


def _refused(sentence: str, advice: Advice | None = None) -> ConfigurationError:
    return ConfigurationError(sentence, advice, "measures")


def _words(text: str, also: Collection[str] = ()) -> list[_Word]:
    names = _NAMES | {name: name for name in also if name not in MEASURES}
    choices, words = ", ".join(dict.fromkeys(names.values())), _WORDS.findall(text)
    if not words:
        raise _refused(f"the list is empty; choose from {choices}, or leave it out")
    matches = [
        match for word in words if (match := _MEASURE.fullmatch(word)) and match["name"] in names
    ]
    if unknown := [word for word in words if word not in {match[0] for match in matches}]:
        # Of names that differ only in case, the first is suggested.
        known = [*reversed(names)]
        refused = " or ".join(
            f"{word!r}{did_you_mean(re.split('[@(]', word)[0], known)}" for word in unknown
        )
        examples = ", ".join(dict.fromkeys(_example(word, names) for word in unknown))
        raise _refused(f"none is called {refused}; choose from {choices}, or write {examples}")
    return [_word(match, names) for match in matches]


def _example(word: str, names: Mapping[str, str]) -> str:
    """How to write what trec_eval calls P_5 or ndcg_cut_10, ranx rbp.80, or others ndcg10; any
    measure if the word is not one of these.
    """
    persistence = re.fullmatch(r"rbp(\.\d+)", word)
    if persistence and float(persistence[1]) > 0:
        return f"RBP(p={show(float(persistence[1]))})"
    tools = re.fullmatch(r"(\w+?)(?:_cut)?[_.]?(\d+)", word)
    if tools is None or tools[1] not in names:
        return "P@5"
    if _is_whole(names[tools[1]]):
        return tools[1]
    cutoff = tools[2] if _CUTOFF.fullmatch(tools[2]) else "10"
    return f"{tools[1]}@{cutoff}"


def _is_whole(name: str) -> bool:
    """Whether a measure, or another column of scores, is of the whole ranking."""
    return name in MEASURES and MEASURES[name].whole


def _word(match: re.Match[str], names: Mapping[str, str]) -> _Word:
    word, written, cutoff = match[0], match["name"], match["cutoff"]
    name = names[written]
    measure = MEASURES.get(name)
    is_whole = _is_whole(name)
    if cutoff not in (None, "all"):
        if is_whole:
            to_do = f"{name} is computed on the whole ranking"
            raise _refused(f"{word} has an invalid cutoff; {to_do}")
        if not _CUTOFF.fullmatch(cutoff):
            raise _refused(f"{word} has an invalid cutoff; write {written}@10")
    if cutoff is None:
        cutoff = "all" if is_whole or not written.islower() else ALL_CUTOFFS
    takes = measure.arguments if measure else {}
    return _Word(word, name, cutoff, _arguments(word, match["arguments"] or "", takes))


def _arguments(word: str, text: str, takes: Mapping[str, str]) -> dict[str, str]:
    """The options that the arguments in a measure set; `takes` has their short names."""
    options = {}
    for argument in text.split(",") if text else []:
        name, _, value = argument.partition("=")
        short = name.strip()
        if short not in takes or not value.strip():
            raise _unknown_argument(word, argument.strip(), short, takes)
        options[takes[short]] = _plain(value.strip())
    return options


def _plain(value: str) -> str:
    """A number in its shortest form, 0.5 for .50; other values as they are."""
    return show(float(value)) if _NUMBER.fullmatch(value) else value


def _unknown_argument(
    word: str,
    argument: str,
    short: str,
    takes: Iterable[str],
) -> ConfigurationError:
    has = f"{word} has the argument {argument!r}"
    known = " and ".join(f"{name}=..." for name in takes)
    if known:
        return _refused(f"{has}, but it takes {known}")
    option, value = _OPTIONS.get(short, ("gain", "exp2"))
    instead = SetOption(option, value, words="set an option, such as")
    return _refused(f"{has}, but it takes no arguments", instead)


def _options(words: Sequence[_Word], preset: str) -> dict[str, str]:
    """The options that the measures set. Measures that share an option must set the same value."""
    options: dict[str, tuple[str, str]] = {}
    for word in words:
        for short, option in MEASURES[word.name].arguments.items():
            value = word.options.get(option, "")
            first, earlier = options.setdefault(option, (word.text, value))
            if earlier != value:
                what = f"{first} and {word.text} set different values of {option}"
                to_do = f"write {short}=... in both, or evaluate twice"
                raise _refused(f"{what}, but an evaluation has only one value; {to_do}")
    given = {option: value for option, (_, value) in options.items() if value}
    of_convention = {name: given[name] for name in given if not is_catalog_option(name)}
    of_catalog = {name: given[name] for name in given if is_catalog_option(name)}
    defaults = default_options(preset, [word.name for word in words])
    return of_convention | resolved_options(of_catalog, defaults)

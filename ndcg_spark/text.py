"""Text for people: names that cannot control a terminal, URLs without secrets, and suggestions for unknown names."""

import difflib
import re
from collections.abc import Iterable

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.masking import masked

#: How similar names must be to be suggested, from 0 to 1; 'nonsense' and 'none' have a similarity of 0.67.
_NEAR = 0.7
#: How many known names a message shows.
_SHOWN = 10
#: Invisible letters and marks (Unicode: Default_Ignorable_Code_Point) and two blanks that count as symbols; these are
#: printable according to `isprintable`.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)


def printable(text: str) -> str:
    r"""The text in one line, with every character that is not printable escaped, such as ``\x1b`` or ``\n``.

    Invisible characters, such as those that change the direction of writing, are escaped because they make one name
    look like another. Characters that XML forbids are not printable, so the text can stand in XML, SVG and HTML.
    """
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(character if character.isprintable() else _escaped(character) for character in text)
    return _INVISIBLE.sub(lambda match: _escaped(match[0]), shown)


def message(text: str) -> str:
    """A sentence for people: printable, and without the secrets of its URLs."""
    return printable(masked(text))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'trec_eval'?)` if a known name is similar to the word, else empty.

    Similar names differ in a letter or two, have the same letters, or begin with the word.
    """
    folded = {name.lower().replace("-", "_"): name for name in known}
    meant = word.lower().replace("-", "_")
    near = [
        *difflib.get_close_matches(meant, folded, n=1, cutoff=_NEAR),
        *(name for name in folded if sorted(name) == sorted(meant)),
        *(name for name in folded if len(meant) > 2 and name.startswith(meant)),
    ]
    return f" (did you mean {folded[near[0]]!r}?)" if near else ""


def unknown_name(
    option: str, kind: str, name: str, known: Iterable[str], count: int | None = None
) -> ConfigurationError:
    """The error for a name that is not known. It shows the known names; if there are many, the most similar.

    `count` is how many names there are, if `known` has only those that may be similar.
    """
    names = sorted(known)
    shown = names if len(names) <= _SHOWN else difflib.get_close_matches(name, names, _SHOWN, cutoff=0.0)
    more = (count or len(names)) - len(shown)
    listed = f"{', '.join(shown)}{f' and {more:,} more' if more else ''}"
    return ConfigurationError(f"{option}: no {kind} is called {name!r}{did_you_mean(name, names)}; there are {listed}")


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

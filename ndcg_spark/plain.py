"""Text for people: nothing in a name can control a terminal, and no secret in a URL is shown."""

import difflib
from collections.abc import Iterable

from ndcg_spark.masking import masked

#: How alike names must be to be taken for one another, from 0 to 1: 'nonsense' is not 'none' (0.67).
_NEAR = 0.7


def printable(text: str) -> str:
    r"""The text in one line, with every character that is not printable spelled out, like ``\x1b`` or ``\n``.

    That includes invisible ones, such as those that change the direction of writing, because they make one name look
    like another.
    """
    return "".join(character if character.isprintable() else _spelled(character) for character in text)


def message(text: str) -> str:
    """A sentence for people: printable, and without the secrets of the URLs in it."""
    return printable(masked(text))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`, did you mean 'trec_eval'?` if a known name is near the word, else nothing.

    Near are names that differ in a letter or two, are spelled with the same letters, or begin with the word.
    """
    folded = {name.lower().replace("-", "_"): name for name in known}
    meant = word.lower().replace("-", "_")
    near = [
        *difflib.get_close_matches(meant, folded, n=1, cutoff=_NEAR),
        *(name for name in folded if sorted(name) == sorted(meant)),
        *(name for name in folded if len(meant) > 2 and name.startswith(meant)),
    ]
    return f", did you mean {folded[near[0]]!r}?" if near else ""


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

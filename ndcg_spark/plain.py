"""Text for people: nothing in a name can control a terminal, and no secret in a URL is shown."""

import difflib
from collections.abc import Iterable

from ndcg_spark.masking import masked


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
    """`, did you mean 'trec_eval'?` if a known name is near the word, else nothing."""
    folded = {name.lower().replace("-", "_"): name for name in known}
    near = difflib.get_close_matches(word.lower().replace("-", "_"), folded, n=1)
    return f", did you mean {folded[near[0]]!r}?" if near else ""


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

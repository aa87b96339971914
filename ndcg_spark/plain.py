"""Text for people: nothing in a name can control a terminal, and no secret in a URL is shown."""

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


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

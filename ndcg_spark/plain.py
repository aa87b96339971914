"""Text that a person sees: nothing in a name can steer a terminal, and no secret of a URL is shown."""

from ndcg_spark.masking import masked


def printable(text: str) -> str:
    r"""The text in one line that a terminal only prints: ``\x1b`` for what would steer it, ``\n`` for a new line.

    Marks that cannot be seen, as those that turn the direction of writing, are spelled out too, so that they cannot
    make one name look like another.
    """
    return "".join(sign if sign.isprintable() else _spelled(sign) for sign in text)


def message(text: str) -> str:
    """A sentence for a person: printable, and without the secrets of URLs in it."""
    return printable(masked(text))


def _spelled(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")

"""Sentences of a page as data: a kind, by which tests tell them apart, and the text."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from ndcg_spark.tables.html import marked, name
from ndcg_spark.text import message

if TYPE_CHECKING:
    from ndcg_spark.report.night import NightPage


class Sentence(NamedTuple):
    kind: str
    text: Markup


#: It says something about a page, or nothing.
Rule = Callable[["NightPage"], Sentence | None]


def said(rules: Iterable[Rule], page: "NightPage") -> list[Sentence]:
    """What these rules say about a page, in their order."""
    found = (rule(page) for rule in rules)
    return [sentence for sentence in found if sentence is not None]


def sentence(kind: str, text: str, *values: object) -> Sentence:
    """A sentence; values that are no markup are escaped."""
    return Sentence(kind, marked(text, *values))


def together(sentences: Iterable[Sentence]) -> Markup:
    return Markup(" ").join(one.text for one in sentences)


def command(*words: object) -> Markup:
    """A command of the program, as somebody can paste it into a shell."""
    text = shlex.join(["ndcg-spark", *map(str, words)])
    return marked("<code>{}</code>", message(text))


def night_command(page: "NightPage", verb: str, more: Sequence[object] = ()) -> Markup:
    """A command on the night of a page."""
    night = page.night
    options = ["--date", night.evaluated_on, "--dataset", night.dataset]
    return command(verb, page.output, *options, *more)


def slice_name(row: Mapping[str, Any]) -> Markup:
    """`language = de`."""
    return marked("{} = {}", name(row["attribute"]), name(row["value"]))

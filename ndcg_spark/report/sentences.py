"""A page's sentences as data: a kind, which tests can check, and the text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from ndcg_spark.tables.html import marked, name_markup
from ndcg_spark.text import message
from ndcg_spark.voices import Give, command_line

if TYPE_CHECKING:
    from ndcg_spark.report.night import NightPage


#: The option that keeps every query's documents.
ALL_KEPT = Give("documents", "all")


class Sentence(NamedTuple):
    kind: str
    text: Markup


#: A rule returns a sentence about a page, or None.
Rule = Callable[["NightPage"], Sentence | None]


def apply_rules(rules: Iterable[Rule], page: "NightPage") -> list[Sentence]:
    """The sentences that these rules return for a page, in order."""
    found = (rule(page) for rule in rules)
    return [sentence for sentence in found if sentence is not None]


def sentence(kind: str, text: str, *values: object) -> Sentence:
    """A sentence with its values in the places marked `{}`; values without markup are escaped."""
    return Sentence(kind, marked(text, *values))


def together(sentences: Iterable[Sentence]) -> Markup:
    """The texts of the sentences as one paragraph."""
    return Markup(" ").join(one.text for one in sentences)


def command_text(verb: str, arguments: Sequence[str], options: Mapping[str, Any]) -> Markup:
    """A program command that can be pasted into a shell."""
    return code(command_line(verb, arguments, options))


def code(command: str) -> Markup:
    """A command line, as it is shown on a page."""
    return marked("<code>{}</code>", message(command))


def night_command(page: "NightPage", verb: str, options: Mapping[str, Any]) -> Markup:
    """A command about a page's night. The night must be kept in an output folder."""
    night = page.night
    of_night = {"date": night.evaluated_on, "dataset": night.dataset}
    return command_text(verb, [str(page.output)], {**of_night, **options})


def slice_name(row: Mapping[str, Any]) -> Markup:
    """`language = de`."""
    return marked("{} = {}", name_markup(row["attribute"]), name_markup(row["value"]))

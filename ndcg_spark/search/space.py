"""The conventions to try: presets, then presets with one and with two options changed."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.options import OPTIONS, show
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.errors import ConventionError
from ndcg_spark.search.old_lists import OldList

#: The options that change NDCG; those in which home-made jobs most often differ come first.
DECIDING = (
    *("gain", "ideal", "no_relevant", "missing_query", "ties", "discount", "order"),
    *("unjudged", "negative", "min_relevance", "exclude_query_as_document"),
    *("score_precision", "duplicates", "judgment_duplicates"),
)
#: The cutoffs to try if the job does not name its own.
CUTOFFS = (10, *range(1, 10), *range(11, 31), 40, 50, 60, 80, 100, 150, 200, 500, 1000, None)
#: The number of options of a preset that are changed at once.
MOST_CHANGED = 2
_MOST_GRADES = 5
#: A table of gains is tried for up to this many grades, none above the second number.
_MOST_GAINS, _HIGHEST_POWER = 20, 30
#: Values that always give the same NDCG as another value: ln only scales DCG.
_NEVER_DIFFER = ("ln",)


class Facts(NamedTuple):
    """The facts about the inputs that decide which options can matter."""

    has_scores: bool
    has_ranks: bool
    #: Positive grades above the lowest, for `min_relevance`.
    grades: Sequence[float]
    #: Options that change nothing here.
    inert: frozenset[str]
    #: Gains that have no name, as tables.
    gains: Sequence[Mapping[float, float]] = ()


def facts_of(lists: Sequence[OldList]) -> Facts:
    scores: set[float | None] = set()
    ranks: set[int | None] = set()
    grades: set[float] = set()
    matters: set[str] = set()
    for one in lists:
        own = [score for _, score, _ in one.returned]
        scores.update(own)
        ranks.update(rank for *_, rank in one.returned)
        grades.update(grade for _, grade in one.judged)
        matters.update(_matters(one))
        matters.update(_ties(own))
    has_scores = bool(scores - {None})
    has_ranks = bool(ranks) and None not in ranks
    positive = sorted(grade for grade in grades if grade > 0)
    if has_scores and has_ranks:
        matters.add("order")
    if len(positive) > 1:
        matters.add("min_relevance")
    if min(grades, default=0) < 0:
        matters.add("negative")
    inert = frozenset(_OF_DATA) - matters
    least = positive[1 : _MOST_GRADES + 1]
    return Facts(has_scores, has_ranks, least, inert, list(_gain_tables(grades)))


def _gain_tables(grades: Iterable[float]) -> Iterator[Mapping[float, float]]:
    """2^grade, if the job forgot to subtract 1: an unjudged document has the gain 1."""
    known = sorted({0.0, *grades})
    if len(known) <= _MOST_GAINS and known[-1] <= _HIGHEST_POWER:
        yield {grade: 2.0**grade for grade in known}


#: The options that change nothing for most data.
_OF_DATA = (
    "ties",
    "score_precision",
    "order",
    "negative",
    "min_relevance",
    "exclude_query_as_document",
    "duplicates",
    "judgment_duplicates",
)


def _matters(one: OldList) -> Iterator[str]:
    """The options that can matter to a list because of its documents."""
    returned = [document for document, *_ in one.returned]
    judged = {document for document, _ in one.judged}
    if one.pair.query_id in returned:
        yield "exclude_query_as_document"
    if len(set(returned)) < len(returned):
        yield "duplicates"
    if len(judged) < len(one.judged):
        yield "judgment_duplicates"


def _ties(scores: Iterable[float | None]) -> Iterator[str]:
    """`ties` if scores are equal as 32-bit floats, `score_precision` if they are equal only
    then.
    """
    exact = np.array([score for score in scores if score is not None], float)
    with np.errstate(over="ignore"):
        single = len(np.unique(exact.astype(np.float32)))
    if single < len(exact):
        yield "ties"
    if single < len(np.unique(exact)):
        yield "score_precision"


class Space:
    """The conventions that can be tried on inputs; `fixed` options have the same value in all."""

    def __init__(self, facts: Facts, fixed: Mapping[str, Any], cutoffs: Sequence[Any]) -> None:
        self.facts = facts
        self.fixed = fixed
        self.cutoffs = cutoffs
        self.standard = self.adapted(Convention())
        self._live = [option for option in DECIDING if option not in facts.inert]

    def adapted(self, convention: Convention) -> Convention:
        """The convention with the fixed options, adapted so that it can rank these inputs."""
        changed = dict(self.fixed)
        if not self.facts.has_scores:
            order = changed.get("order", "rank")
            changed |= {"order": order, "score_precision": "float64"}
            if convention.ties == "rank":
                changed["ties"] = "doc_id_desc"
        elif not self.facts.has_ranks and convention.ties == "rank":
            changed.setdefault("ties", "doc_id_asc")
        return convention.replace(**changed)

    def key(self, convention: Convention) -> tuple[Any, ...]:
        """The options that the scores of these inputs depend on, with their values."""
        options = convention.options()
        return tuple(str(options[option]) for option in self._live)

    def is_usable(self, convention: Convention) -> bool:
        if self.facts.has_ranks:
            return True
        return not convention.needs_rank

    def levels(self) -> Iterator[Iterator[Sequence[Convention]]]:
        """The presets, then with one option changed, then with two. Each convention occurs once.

        Each level comes in groups that change the same options, the most likely groups first.
        """
        presets = list(self.presets())
        seen: set[tuple[Any, ...]] = set()
        yield iter([self.new(presets, seen)])
        for number in range(1, MOST_CHANGED + 1):
            yield self._groups(presets, number, seen)

    def _groups(
        self,
        presets: Sequence[Convention],
        number: int,
        seen: set[tuple[Any, ...]],
    ) -> Iterator[Sequence[Convention]]:
        bases: dict[tuple[Any, ...], Convention] = {}
        for preset in presets:
            bases.setdefault(self.key(preset), preset)
        for options in itertools.combinations(self.live_options(), number):
            changed: list[Convention] = []
            for base in bases.values():
                changed.extend(self._changed(base, options))
            yield self.new(changed, seen)

    def presets(self) -> Iterator[Convention]:
        for name in PRESETS:
            try:
                convention = self.adapted(Convention.preset(name))
            except ConventionError:
                # The fixed options contradict the preset.
                continue
            if self.is_usable(convention):
                yield convention

    def new(
        self,
        conventions: Iterable[Convention],
        seen: set[tuple[Any, ...]],
    ) -> list[Convention]:
        """The conventions whose key is not in `seen`, to which their keys are added."""
        new = []
        for convention in conventions:
            key = self.key(convention)
            if key not in seen:
                seen.add(key)
                new.append(convention)
        return new

    def _changed(self, base: Convention, options: Sequence[str]) -> Iterator[Convention]:
        """The convention with every combination of values of these options."""
        for values in itertools.product(*map(self.values, options)):
            changed = dict(zip(options, values, strict=True))
            convention = changed_or_none(base, changed)
            if convention is not None and self.is_usable(convention):
                yield convention

    def live_options(self) -> list[str]:
        return [option for option in self._live if option not in self.fixed]

    def values(self, option: str) -> list[Any]:
        """The values of an option to try. A value that refuses the inputs gives no score."""
        if option == "min_relevance":
            return ["none", *self.facts.grades]
        known = list(OPTIONS[option].words)
        left_out = set(_NEVER_DIFFER)
        if known[0] != "error":
            left_out.add("error")
        # The positions of rows are their ranks, if they are read as such.
        left_out.add("file")
        if not self.facts.has_ranks:
            left_out.add("rank")
        values: list[Any] = [value for value in known if value not in left_out]
        if option == "gain":
            values.extend(self.facts.gains)
        return values

    def plain(self, convention: Convention, option: str) -> Any:
        """The value that an option has unless something requires another: the value in `standard`.

        If grades count as 1 and 0, every gain is the same; `binary` is then the plain value.
        """
        if option == "gain" and convention.min_relevance != "none" and "gain" not in self.fixed:
            return "binary"
        return self.standard.options()[option]

    def distance(self, convention: Convention) -> int:
        """The number of options that differ from their plain values."""
        options = convention.options()
        return sum(options[option] != self.plain(convention, option) for option in DECIDING)

    def rareness(self, convention: Convention) -> int:
        """Larger for values that come later in the documentation: ids as numbers after text."""
        options = convention.options()
        places = 0
        for option in DECIDING:
            known = list(OPTIONS[option].words)
            value = show(options[option])
            places += known.index(value) if value in known else len(known)
        return places


def changed_or_none(convention: Convention, options: Mapping[str, Any]) -> Convention | None:
    """The convention with these options, or None if they change nothing or contradict each
    other.
    """
    if all(_equal(getattr(convention, option), value) for option, value in options.items()):
        return None
    try:
        return convention.replace(**options)
    except ConventionError:
        return None


def _equal(now: Any, value: Any) -> bool:
    return str(now).lower() == str(value).lower()

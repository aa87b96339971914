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

#: The options that change NDCG. Those that most often differ between home-made jobs come first.
DECIDING = (
    *("gain", "ideal", "no_relevant", "missing_query", "ties", "discount", "order"),
    *("unjudged", "negative", "min_relevance", "exclude_query_as_document"),
    *("score_precision", "duplicates", "judgment_duplicates"),
)
#: The cutoffs to try if the job does not name its own.
CUTOFFS = (10, *range(1, 10), *range(11, 31), 40, 50, 60, 80, 100, 150, 200, 500, 1000, None)
#: The number of options of a preset that are changed at once.
MOST_CHANGED = 2
#: The number of values of `min_relevance` that are tried.
_MOST_GRADES = 5
#: A table of gains is tried for up to this many grades.
_MOST_GAINS = 20
#: A table of gains is tried if no grade is above this one.
_HIGHEST_POWER = 30
#: Values that always give the same NDCG as a different value: ln only scales DCG.
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
    """Return the facts about these lists."""
    scores: set[float | None] = set()
    ranks: set[int | None] = set()
    grades: set[float] = set()
    mattering: set[str] = set()
    for one in lists:
        scores_of_list = [score for _, score, _ in one.returned]
        scores.update(scores_of_list)
        ranks.update(rank for _, _, rank in one.returned)
        grades.update(grade for _, grade in one.judged)
        mattering.update(_options_of_documents(one))
        mattering.update(_options_of_ties(scores_of_list))
    has_scores = bool(scores - {None})
    has_ranks = bool(ranks) and None not in ranks
    positive = sorted(grade for grade in grades if grade > 0)
    if has_scores and has_ranks:
        mattering.add("order")
    if len(positive) > 1:
        mattering.add("min_relevance")
    if min(grades, default=0) < 0:
        mattering.add("negative")
    inert = frozenset(_OF_DATA) - mattering
    above_lowest = positive[1 : _MOST_GRADES + 1]
    return Facts(has_scores, has_ranks, above_lowest, inert, list(_gain_tables(grades)))


def _gain_tables(grades: Iterable[float]) -> Iterator[Mapping[float, float]]:
    """Yield the gains 2^grade, which a job has if it forgets to subtract 1.

    An unjudged document then has the gain 1. Nothing is yielded for many or large grades.
    """
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


def _options_of_documents(one: OldList) -> Iterator[str]:
    """Yield the options that can matter to a list because of its documents."""
    returned = [document for document, *_ in one.returned]
    judged = {document for document, _ in one.judged}
    if one.pair.query_id in returned:
        yield "exclude_query_as_document"
    if len(set(returned)) < len(returned):
        yield "duplicates"
    if len(judged) < len(one.judged):
        yield "judgment_duplicates"


def _options_of_ties(scores: Iterable[float | None]) -> Iterator[str]:
    """Yield the options that can matter to a list because of equal scores.

    These are `ties` if scores are equal as 32-bit floats, and `score_precision` if some of them
    are not equal as doubles.
    """
    doubles = np.array([score for score in scores if score is not None], float)
    with np.errstate(over="ignore"):
        different_floats = len(np.unique(doubles.astype(np.float32)))
    if different_floats < len(doubles):
        yield "ties"
    if different_floats < len(np.unique(doubles)):
        yield "score_precision"


class Space:
    """The conventions that can be tried on inputs."""

    def __init__(self, facts: Facts, fixed: Mapping[str, Any], cutoffs: Sequence[Any]) -> None:
        self.facts = facts
        #: The options that the user sets, with their values, which all conventions have.
        self.fixed = fixed
        #: The cutoffs to try.
        self.cutoffs = cutoffs
        #: `standard` with the fixed options.
        self.standard = self.adapted(Convention())
        #: The options that can change scores here.
        self._live = [option for option in DECIDING if option not in facts.inert]

    def adapted(self, convention: Convention) -> Convention:
        """Return the convention with the fixed options, changed so that it can rank the inputs."""
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
        """Return the values of the options that can change scores here.

        Conventions with the same key give the same scores.
        """
        options = convention.options()
        return tuple(str(options[option]) for option in self._live)

    def is_usable(self, convention: Convention) -> bool:
        """Whether the inputs have the ranks that a convention needs."""
        if self.facts.has_ranks:
            return True
        return not convention.needs_rank

    def levels(self) -> Iterator[Iterator[Sequence[Convention]]]:
        """Yield the presets, then with one option changed, then with two.

        Each level consists of groups that change the same options, the most likely groups first.
        Each convention occurs once.
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
        """Yield the presets with each combination of `number` options changed."""
        distinct: dict[tuple[Any, ...], Convention] = {}
        for preset in presets:
            distinct.setdefault(self.key(preset), preset)
        for options in itertools.combinations(self.live_options(), number):
            changed: list[Convention] = []
            for preset in distinct.values():
                changed.extend(self._combinations_of(preset, options))
            yield self.new(changed, seen)

    def presets(self) -> Iterator[Convention]:
        """Yield the presets that can be used here, with the fixed options."""
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
        """Return the conventions whose key is not in `seen`, and add their keys to it."""
        new = []
        for convention in conventions:
            key = self.key(convention)
            if key not in seen:
                seen.add(key)
                new.append(convention)
        return new

    def _combinations_of(self, base: Convention, options: Sequence[str]) -> Iterator[Convention]:
        """Yield the convention with every combination of values of these options."""
        for values in itertools.product(*map(self.values, options)):
            changed = dict(zip(options, values, strict=True))
            convention = changed_or_none(base, changed)
            if convention is not None and self.is_usable(convention):
                yield convention

    def live_options(self) -> list[str]:
        """Return the options that can change scores here and that the user does not set."""
        return [option for option in self._live if option not in self.fixed]

    def values(self, option: str) -> list[Any]:
        """Return the values of an option to try."""
        if option == "min_relevance":
            return ["none", *self.facts.grades]
        known = list(OPTIONS[option].words)
        # If the order of the rows is the rank, the inputs have ranks.
        left_out = {*_NEVER_DIFFER, "file"}
        if known[0] != "error":
            # Under `error`, a query is refused or scored as under the default.
            left_out.add("error")
        if not self.facts.has_ranks:
            left_out.add("rank")
        values: list[Any] = [value for value in known if value not in left_out]
        if option == "gain":
            values.extend(self.facts.gains)
        return values

    def plain(self, convention: Convention, option: str) -> Any:
        """Return the simplest value of an option, which is its value in `standard`.

        With `min_relevance`, all gains are the same, and the simplest one is `binary`.
        """
        if option == "gain" and convention.min_relevance != "none" and "gain" not in self.fixed:
            return "binary"
        return self.standard.options()[option]

    def distance(self, convention: Convention) -> int:
        """Return the number of options that differ from their plain values."""
        options = convention.options()
        return sum(options[option] != self.plain(convention, option) for option in DECIDING)

    def rareness(self, convention: Convention) -> int:
        """Return a number that is larger for rarer values, which come later in OPTIONS.

        For example, ids as numbers come after ids as text.
        """
        options = convention.options()
        places = 0
        for option in DECIDING:
            known = list(OPTIONS[option].words)
            value = show(options[option])
            places += known.index(value) if value in known else len(known)
        return places


def changed_or_none(convention: Convention, options: Mapping[str, Any]) -> Convention | None:
    """Return the convention with these options.

    Return None if they change nothing, or if they contradict other options.
    """
    if all(_is_same(getattr(convention, option), value) for option, value in options.items()):
        return None
    try:
        return convention.replace(**options)
    except ConventionError:
        return None


def _is_same(value: Any, other: Any) -> bool:
    """Whether two values of an option are the same, such as True and "true"."""
    return str(value).lower() == str(other).lower()

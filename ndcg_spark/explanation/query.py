"""Explanations of a query's score: what every document contributes, loses against the ideal ranking, or has changed."""

import dataclasses
import functools
import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, final

from ndcg_spark import reference
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.convention.parsing import parse_cutoff
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.tables.table import best_first
from ndcg_spark.text import unknown_name
from ndcg_spark.tolerance import EQUAL
from ndcg_spark.voices import Give

Row = Mapping[str, Any]

#: The name of a document in the ideal ranking if the convention needs more relevant documents than there are.
ANY_RELEVANT = "(any relevant document)"
#: The columns of a rank: its document and what that adds to the DCG, the same of the ideal ranking, and NDCG with this
#: rank as the cutoff. They are null below the end of a list, and where the ideal is not known.
LINE = (
    *("rank", "doc_id", "score", "tied", "relevance", "gain", "discount", "contribution"),
    *("ideal_doc_id", "ideal_contribution", "ndcg"),
)


@final
@dataclasses.dataclass(frozen=True)
class ReturnedDocument:
    doc_id: str
    #: Its rank in the scored list, from 1; None if the convention removes it from that list.
    rank: int | None
    #: What the documents that tie with it share; None in a night whose version did not keep it.
    tie_group: int | None
    score: float | None
    relevance: float | None
    #: Its own gain, and the gain at its rank: with averaged ties the mean of its tie group.
    own_gain: float
    gain: float
    tied: bool


@dataclasses.dataclass(frozen=True)
class Facts:
    dataset: str
    run: str
    query_id: str
    cutoff: Cutoff
    convention: Convention
    score: reference.Score
    returned: Sequence[ReturnedDocument]
    #: The grade and the gain of each judged document; the gain is None if its grade is negative and ignored.
    judged: Mapping[str, tuple[float, float | None]]
    #: Whether `returned` has the whole list and `judged` every judged document. If not, both have only documents within
    #: the cutoff, which is what a published night keeps.
    whole: bool = True

    @functools.cached_property
    def discounts(self) -> list[float]:
        """The discounts of at least the ranks that a document may have, actually or ideally."""
        depth = max(len(self.returned), len(self.judged), self.cutoff or 0)
        return reference.discounts(depth, self.convention.discount)

    @functools.cached_property
    def listed(self) -> list[ReturnedDocument]:
        return sorted((row for row in self.returned if row.rank is not None), key=lambda row: row.rank or 0)

    @functools.cached_property
    def ideal(self) -> list[tuple[str | None, float]]:
        """The documents of the ideal ranking and their gains, by rank; None for any relevant document."""
        gains = {document: gain for document, (_, gain) in self.judged.items() if gain is not None}
        if self.convention.ideal == "retrieved":
            gains = {row.doc_id: row.own_gain for row in self.listed}
        if self.convention.ideal == "retrieved_at_k":
            gains = {row.doc_id: row.own_gain for row in self.listed if self.is_within(row.rank)}
        first = [row.doc_id for row in self.listed]
        return reference.ideal_ranking(gains, self.convention, self.cutoff, len(first), first)

    @property
    def knows_ties(self) -> bool:
        """Whether it is known what each document adds: averaged ties need the tie groups."""
        if self.convention.ties != "average":
            return True
        return all(row.tie_group is not None for row in self.listed)

    def is_within(self, rank: int | None) -> bool:
        return rank is not None and (self.cutoff is None or rank <= self.cutoff)


def query_facts(
    score: Row, returned: Iterable[Row], judged: Iterable[Row], convention: Convention, whole: bool = True
) -> Facts:
    """The facts of one run.

    `score` is its row of QUERY_SCORES at the cutoff to explain, `returned` are rows of `returned_documents` of this and
    perhaps of other runs, `judged` have doc_id, relevance and gain of the judged documents of the query.
    """
    score_names, names = ([f.name for f in dataclasses.fields(kind)] for kind in (reference.Score, ReturnedDocument))
    own = (row if row["on_list"] else {**row, "rank": None, "tied": False} for row in returned)
    return Facts(
        **{name: score[name] for name in ("dataset", "run", "query_id", "cutoff")},
        convention=convention,
        score=reference.Score(**{name: score[name] for name in score_names}),
        returned=[ReturnedDocument(**{name: row[name] for name in names}) for row in own if row["run"] == score["run"]],
        judged={row["doc_id"]: (row["relevance"], row["gain"]) for row in judged},
        whole=whole,
    )


@dataclasses.dataclass(frozen=True)
class ExplainRequest:
    query: str
    run: str | None = None
    baseline: str | None = None
    dataset: str | None = None
    #: `all` or a rank; None for the main cutoff of the evaluation.
    cutoff: str | None = None
    baseline_date: str | None = None

    def cutoff_or(self, default: Cutoff) -> Cutoff:
        return default if self.cutoff is None else parse_cutoff(self.cutoff)

    def dataset_from(self, known: Sequence[str]) -> str:
        if self.dataset is None and len(known) > 1:
            what = f"dataset: there are {len(known)}, e.g. {known[0]!r}"
            raise ConfigurationError(what, Give("dataset", words="choose one with"))
        if self.dataset not in (None, *known):
            raise unknown_name("dataset", "dataset", str(self.dataset), known)
        return self.dataset or known[0]

    def runs(self, known: Sequence[str]) -> list[str]:
        for option, name in (("run", self.run), ("baseline", self.baseline)):
            if name not in (None, *known):
                raise unknown_name(option, "run", str(name), known)
        runs = [name for name in known if name != self.baseline and self.run in (None, name)]
        if not runs:
            what = f"baseline: {self.baseline!r} leaves no run to explain"
            raise ConfigurationError(what, Give("baseline", words="choose another"))
        return [*runs, *filter(None, [self.baseline])]


@dataclasses.dataclass(frozen=True)
class Explanation:
    facts: Facts
    #: By rank, with the columns LINE.
    lines: Sequence[Row]
    #: Whether every document of the ideal ranking is known. If not, there are only `lines`, without their ideal.
    ideal_known: bool = False
    #: How much less (above 0) or more (below 0) each document adds than in the ideal ranking, the largest loss first;
    #: `rank` and `ideal_rank` are null for a document that is not there. They sum to ideal DCG - DCG.
    losses: Sequence[Row] = ()
    #: The relevant documents outside the cutoff, the best first; of a night only those on its list or in its ideal.
    absent: Sequence[Row] = ()
    unjudged: Sequence[ReturnedDocument] = ()


class Explained(NamedTuple):
    explanations: list[Explanation]
    #: By run the facts that it is compared with, and where they are from.
    baselines: Mapping[str, tuple[Facts, str]] = {}


def explain_runs(facts: Mapping[str, Facts], runs: Sequence[str], request: ExplainRequest) -> Explained:
    explanations = [explain(facts[run]) for run in runs if run != request.baseline]
    explanations.sort(key=lambda explanation: best_first(explanation.facts.score.ndcg, explanation.facts.run))
    other = facts.get(request.baseline or "")
    return Explained(explanations, dict.fromkeys(facts, (other, other.run)) if other else {})


def explain(facts: Facts) -> Explanation:
    ideal_dcg = math.fsum(gain * discount for (_, gain), discount in zip(facts.ideal, facts.discounts, strict=False))
    # A night stores neither all documents of an ideal made of the returned ones nor whole groups of ties.
    is_exact = facts.convention.ties != "average" and abs(ideal_dcg - facts.score.ideal_dcg) <= EQUAL
    if not (facts.whole or is_exact):
        return Explanation(facts, _lines(facts, []))
    unjudged = [row for row in facts.listed[: facts.cutoff] if row.relevance is None]
    return Explanation(facts, _lines(facts, facts.ideal), True, *_losses(facts), unjudged)


def _lines(facts: Facts, ideal: Sequence[tuple[str | None, float]]) -> list[Row]:
    lines: list[Row] = []
    dcg = ideal_dcg = 0.0
    for rank, (here, best) in enumerate(itertools.zip_longest(facts.listed[: facts.cutoff], ideal), 1):
        discount = facts.discounts[rank - 1]
        adds, would_add = here and here.gain * discount, best and best[1] * discount
        dcg, ideal_dcg = dcg + (adds or 0.0), ideal_dcg + (would_add or 0.0)
        own = (getattr(here, name, None) for name in ("doc_id", "score", "tied", "relevance", "gain"))
        ideal_doc_id, ndcg = best and (best[0] or ANY_RELEVANT), dcg / ideal_dcg if ideal_dcg else None
        lines.append(dict(zip(LINE, (rank, *own, discount, adds, ideal_doc_id, would_add, ndcg), strict=True)))
    return lines


def contributions(facts: Facts) -> dict[str, float]:
    """What each document within the cutoff contributes, by its id; the sum is the DCG.

    With averaged ties, a document contributes its gain times the mean discount of the ranks that its
    group shares. The facts must know their ties.
    """
    averaged = facts.convention.ties == "average"
    groups = [row.tie_group if averaged else at for at, row in enumerate(facts.listed)]
    weights: dict[int | None, list[float]] = {}
    for row, group, discount in zip(facts.listed, groups, facts.discounts, strict=False):
        weights.setdefault(group, []).append(discount if facts.is_within(row.rank) else 0.0)
    means = {group: math.fsum(shared) / len(shared) for group, shared in weights.items()}
    added = {}
    for row, group in zip(facts.listed, groups, strict=True):
        added[row.doc_id] = row.own_gain * means[group]
    return added


def _losses(facts: Facts) -> tuple[list[Row], list[Row]]:
    """The losses that are not 0, the largest first, and the relevant documents outside the cutoff, the best first."""
    added = contributions(facts)
    best = {entry[0]: (rank, entry[1]) for rank, entry in enumerate(facts.ideal, 1) if entry[0] is not None}
    # A document that is returned twice stays on the list once.
    rows = {row.doc_id: row for row in [*(row for row in facts.returned if row.rank is None), *facts.listed]}
    losses: list[Row] = []
    absent: list[Row] = []
    for document in dict.fromkeys([*best, *rows, *facts.judged]):
        row, (ideal_rank, ideal_gain) = rows.get(document), best.get(document, (None, 0.0))
        grade, judged_gain = facts.judged.get(document, (None, None))
        rank = row and row.rank
        gain = row.own_gain if row and rank else ideal_gain
        loss = (gain * facts.discounts[ideal_rank - 1] if ideal_rank else 0.0) - added.get(document, 0.0)
        shared = {"doc_id": document, "rank": rank, "where": _where(document, row, facts)}
        relevance = row.relevance if row else grade
        losses.append({**shared, "relevance": relevance, "ideal_rank": ideal_rank, "gain": gain, "loss": loss})
        if (judged_gain or 0.0) > 0 and not facts.is_within(rank):
            absent.append({**shared, "relevance": grade, "gain": judged_gain})
    for rank, (entry, gain) in enumerate(facts.ideal, 1):
        if entry is None:
            missing = {"doc_id": ANY_RELEVANT, "rank": None, "where": "fewer documents are relevant", "relevance": None}
            losses.append({**missing, "ideal_rank": rank, "gain": gain, "loss": gain * facts.discounts[rank - 1]})
    return (
        sorted((loss for loss in losses if loss["loss"]), key=lambda loss: -loss["loss"]),
        sorted(absent, key=lambda row: (-row["gain"], row["rank"] or math.inf)),
    )


def _where(document: str, row: ReturnedDocument | None, facts: Facts) -> str:
    convention = facts.convention
    if row is None:
        return "not returned" if facts.whole else "not within the cutoff"
    if row.rank is not None:
        return f"rank {row.rank}{'' if facts.is_within(row.rank) else ', beyond the cutoff'}"
    if convention.exclude_query_as_document and document == facts.query_id:
        return "taken off the list: it is the query"
    if convention.unjudged == "drop" and row.relevance is None:
        return "taken off the list: it is unjudged"
    if row.relevance is not None and row.relevance < 0 and convention.negative != "keep":
        return "taken off the list: its grade is negative"
    return "taken off the list: it is returned twice"


class _Place(NamedTuple):
    """Where a document is in the list of one side, and what it adds there."""

    rank: int | None = None
    relevance: float | None = None
    is_within: bool = False
    contribution: float = 0.0
    #: The contribution as a share of the ideal DCG.
    share: float = 0.0


#: That of a document that is not on the list.
_NOWHERE = _Place()


def _places(facts: Facts) -> dict[str, _Place]:
    added, ideal_dcg = contributions(facts), facts.score.ideal_dcg or math.inf
    places = {}
    for row in facts.listed:
        adds = added[row.doc_id]
        places[row.doc_id] = _Place(
            rank=row.rank,
            relevance=row.relevance,
            is_within=facts.is_within(row.rank),
            contribution=adds,
            share=adds / ideal_dcg,
        )
    return places


def changed_documents(run: Facts, baseline: Sequence[Facts]) -> list[Row]:
    """What changed since a baseline, by document: those within the cutoff, the largest change first.

    `baseline` is the list of another run, or the lists of the nights that the baseline is the mean of,
    the newest last. `change` sums to the DCG of the run less the mean DCG of the baseline, and `part` to
    the difference of their NDCG, if the ideal DCGs are above 0. `what` is `left` or `came_in`: within the
    cutoff in at least half of the baseline's lists and not tonight, or the reverse; `same_rank`, with
    another gain; else `up` or `down`. Empty if a side does not know its ties.
    """
    sides = [*baseline, run]
    if not all(facts.knows_ties for facts in sides):
        return []
    places = [_places(facts) for facts in sides]
    documents: set[str] = set()
    for by_document in places:
        # Those that are tied with a document within the cutoff count, too.
        for document, place in by_document.items():
            if place.is_within or place.contribution:
                documents.add(document)
    changes = []
    for document in documents:
        of_sides = [by_document.get(document, _NOWHERE) for by_document in places]
        changes.append({"doc_id": document, **_change(of_sides[:-1], of_sides[-1])})
    return sorted(changes, key=_largest_change_first)


def _change(before: Sequence[_Place], now: _Place) -> Row:
    """What changed of one document, the newest of `before` last."""
    mean = statistics.fmean(place.contribution for place in before)
    part = now.share - statistics.fmean(place.share for place in before)
    newest = before[-1].rank
    moved_up = None
    if newest is not None and now.rank is not None:
        moved_up = newest - now.rank
    known = [place.relevance for place in (*before, now) if place.rank is not None]
    return {
        "relevance": known[-1] if known else None,
        "rank": now.rank,
        "baseline_rank": newest,
        "moved_up": moved_up,
        "what": _what_changed(before, now, part),
        "contribution": now.contribution,
        "baseline_contribution": mean,
        "change": now.contribution - mean,
        "part": part,
    }


def _what_changed(before: Sequence[_Place], now: _Place, part: float) -> str:
    was_in = 2 * sum(place.is_within for place in before) >= len(before)
    if was_in != now.is_within:
        return "left" if was_in else "came_in"
    if all(place.rank == now.rank for place in before):
        return "same_rank"
    return "up" if part > 0 else "down"


def _largest_change_first(change: Row) -> tuple[Any, ...]:
    rank, before = change["rank"] or math.inf, change["baseline_rank"] or math.inf
    return -abs(change["change"]), rank, before, change["doc_id"]

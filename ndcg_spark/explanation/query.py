"""Explanations of a query's score: what every document adds, loses or changes.

Losses are relative to the ideal ranking, changes are relative to a baseline.
"""

import dataclasses
import functools
import itertools
import math
import operator
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

#: The placeholder for a document in the ideal ranking if the convention needs more relevant
#: documents than there are.
ANY_RELEVANT = "(any relevant document)"
#: The columns of a rank: its document and what that adds to the DCG, the same for the ideal
#: ranking, and NDCG with this rank as the cutoff. They are null below the end of a list, and if the
#: ideal is not known.
LINE = (
    *("rank", "doc_id", "score", "tied", "relevance", "gain", "discount", "contribution"),
    *("ideal_doc_id", "ideal_contribution", "ndcg"),
)
#: The columns of the document.
_OF_DOCUMENTS = ("doc_id", "score", "tied", "relevance", "gain")


@final
@dataclasses.dataclass(frozen=True)
class ReturnedDocument:
    doc_id: str
    #: Its rank in the scored list, from 1; None if the convention removes it from that list.
    rank: int | None
    #: A number that tied documents share; None in a night from a version that did not keep it.
    tie_group: int | None
    score: float | None
    relevance: float | None
    #: Its own gain, and the gain at its rank (with averaged ties, the mean of its tie group).
    own_gain: float
    gain: float
    tied: bool


_DOCUMENT_FIELDS = [field.name for field in dataclasses.fields(ReturnedDocument)]
_SCORE_FIELDS = [field.name for field in dataclasses.fields(reference.Score)]


def _rank(row: ReturnedDocument) -> int:
    return row.rank or 0


@dataclasses.dataclass(frozen=True)
class Facts:
    dataset: str
    run: str
    query_id: str
    cutoff: Cutoff
    convention: Convention
    score: reference.Score
    returned: Sequence[ReturnedDocument]
    #: The grade and the gain of each judged document; the gain is None if its grade is negative and
    #: ignored.
    judged: Mapping[str, tuple[float, float | None]]
    #: Whether `returned` has the whole list and `judged` has every judged document. If not, both
    #: have only documents within the cutoff, which is what a published night keeps.
    whole: bool = True

    @functools.cached_property
    def discounts(self) -> list[float]:
        """The discounts of all ranks that a document may have in the list or the ideal ranking."""
        depth = max(len(self.returned), len(self.judged), self.cutoff or 0)
        return reference.discounts(depth, self.convention.discount)

    @functools.cached_property
    def listed(self) -> list[ReturnedDocument]:
        """The documents on the scored list, by rank."""
        listed = [row for row in self.returned if row.rank is not None]
        return sorted(listed, key=_rank)

    @functools.cached_property
    def ideal(self) -> list[tuple[str | None, float]]:
        """The documents of the ideal ranking and their gains, by rank.

        None stands for any relevant document.
        """
        gains: dict[str, float] = {}
        if self.convention.ideal == "retrieved":
            for row in self.listed:
                gains[row.doc_id] = row.own_gain
        elif self.convention.ideal == "retrieved_at_k":
            for row in self.listed:
                if self.is_within(row.rank):
                    gains[row.doc_id] = row.own_gain
        else:
            for document, (_, gain) in self.judged.items():
                if gain is not None:
                    gains[document] = gain
        first = [row.doc_id for row in self.listed]
        return reference.ideal_ranking(gains, self.convention, self.cutoff, len(first), first)

    @property
    def knows_ties(self) -> bool:
        """Whether the contribution of each document is known: averaged ties need the tie groups."""
        if self.convention.ties != "average":
            return True
        return all(row.tie_group is not None for row in self.listed)

    def is_within(self, rank: int | None) -> bool:
        return rank is not None and (self.cutoff is None or rank <= self.cutoff)


def query_facts(
    score: Row,
    returned: Iterable[Row],
    judged: Iterable[Row],
    convention: Convention,
    whole: bool = True,
) -> Facts:
    """The facts of one run.

    `score` is its QUERY_SCORES row at the cutoff to explain. `returned` has rows from
    `returned_documents` for this run and possibly for others. `judged` has the doc_id, relevance
    and gain of the query's judged documents. `whole`: whether the ideal ranking is complete.
    """
    documents = []
    for row in returned:
        if row["run"] != score["run"]:
            continue
        fields = {name: row[name] for name in _DOCUMENT_FIELDS}
        if not row["on_list"]:
            # The convention removed it from the list.
            fields |= {"rank": None, "tied": False}
        documents.append(ReturnedDocument(**fields))
    return Facts(
        dataset=score["dataset"],
        run=score["run"],
        query_id=score["query_id"],
        cutoff=score["cutoff"],
        convention=convention,
        score=reference.Score(**{name: score[name] for name in _SCORE_FIELDS}),
        returned=documents,
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
        """The runs to explain, followed by the baseline, if there is one."""
        if not known:
            raise ConfigurationError("run: there is no run to explain; check the results")
        for option, name in (("run", self.run), ("baseline", self.baseline)):
            if name is not None and name not in known:
                raise unknown_name(option, "run", name, known)
        asked = list(known) if self.run is None else [self.run]
        runs = [name for name in asked if name != self.baseline]
        if not runs:
            what = f"baseline: {self.baseline!r} is the only run, so there is no run to explain"
            raise ConfigurationError(what, Give("baseline", words="choose another"))
        if self.baseline is not None:
            runs.append(self.baseline)
        return runs


@dataclasses.dataclass(frozen=True)
class Explanation:
    facts: Facts
    #: The ranks in order, with the columns LINE.
    lines: Sequence[Row]
    #: Whether every document of the ideal ranking is known. If not, there are only `lines`, without
    #: the ideal.
    ideal_known: bool = False
    #: How much less (above 0) or more (below 0) each document adds than in the ideal ranking, the
    #: largest loss first; `rank` and `ideal_rank` are null for a document that is missing there.
    #: They sum to ideal DCG - DCG.
    losses: Sequence[Row] = ()
    #: The relevant documents outside the cutoff, the best first; for a night, only those on its
    #: list or in its ideal ranking.
    absent: Sequence[Row] = ()
    unjudged: Sequence[ReturnedDocument] = ()


class Explained(NamedTuple):
    explanations: list[Explanation]
    #: The facts that each run is compared with, and where they come from.
    baselines: Mapping[str, tuple[Facts, str]] = {}


def explain_runs(
    facts: Mapping[str, Facts],
    runs: Sequence[str],
    request: ExplainRequest,
) -> Explained:
    """The explanations of runs, the best run first, and the baseline of each."""
    explanations = [explain(facts[run]) for run in runs if run != request.baseline]
    explanations.sort(key=_best_first)
    if request.baseline is None or request.baseline not in facts:
        return Explained(explanations)
    baseline = facts[request.baseline]
    return Explained(explanations, dict.fromkeys(facts, (baseline, baseline.run)))


def _best_first(explanation: Explanation) -> tuple[Any, ...]:
    return best_first(explanation.facts.score.ndcg, explanation.facts.run)


def explain(facts: Facts) -> Explanation:
    """Explain a score; without losses if the night does not keep the whole ideal ranking."""
    is_ideal_known = facts.whole or _is_ideal_kept(facts)
    if not is_ideal_known:
        return Explanation(facts, _lines(facts, ideal=[]))
    unjudged = [row for row in facts.listed[: facts.cutoff] if row.relevance is None]
    return Explanation(
        facts,
        _lines(facts, facts.ideal),
        ideal_known=True,
        losses=_losses(facts),
        absent=_absent(facts),
        unjudged=unjudged,
    )


def _is_ideal_kept(facts: Facts) -> bool:
    """Whether a night keeps every document of the ideal ranking.

    A night does not store all documents of an ideal made from the returned ones, nor whole groups
    of ties.
    """
    if facts.convention.ties == "average":
        return False
    gains = [gain for _, gain in facts.ideal]
    ideal_dcg = math.fsum(map(operator.mul, gains, facts.discounts))
    return abs(ideal_dcg - facts.score.ideal_dcg) <= EQUAL


def _lines(facts: Facts, ideal: Sequence[tuple[str | None, float]]) -> list[Row]:
    """A row per rank of the list or of the ideal ranking, whichever is longer."""
    lines: list[Row] = []
    dcg = ideal_dcg = 0.0
    ranks = itertools.zip_longest(facts.listed[: facts.cutoff], ideal)
    for rank, (here, best) in enumerate(ranks, 1):
        discount = facts.discounts[rank - 1]
        line: dict[str, Any] = dict.fromkeys(LINE)
        line |= {"rank": rank, "discount": discount}
        if here is not None:
            for name in _OF_DOCUMENTS:
                line[name] = getattr(here, name)
            line["contribution"] = here.gain * discount
            dcg += line["contribution"]
        if best is not None:
            document, gain = best
            line["ideal_doc_id"] = document or ANY_RELEVANT
            line["ideal_contribution"] = gain * discount
            ideal_dcg += line["ideal_contribution"]
        if ideal and facts.convention.ideal == "retrieved_at_k":
            ideal_dcg = _ideal_dcg_at(facts, rank)
        if ideal_dcg:
            line["ndcg"] = dcg / ideal_dcg
        lines.append(line)
    return lines


def _ideal_dcg_at(facts: Facts, rank: int) -> float:
    """The ideal DCG at a rank; every cutoff has its own ideal."""
    gains = [gain for _, gain in dataclasses.replace(facts, cutoff=rank).ideal]
    return math.fsum(map(operator.mul, gains, facts.discounts))


def contributions(facts: Facts) -> dict[str, float]:
    """The contribution of each document within the cutoff, by id; the sum is the DCG.

    With averaged ties, a document contributes its gain times the mean discount of the ranks that
    its group shares. The facts must include the tie groups.
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


class _Judged(NamedTuple):
    """What is known about a document: where it was returned, and its place in the ideal ranking."""

    doc_id: str
    #: Its place on the list, or why it was removed from it; None if it was not returned.
    returned: ReturnedDocument | None
    grade: float | None
    judged_gain: float
    ideal_rank: int | None
    ideal_gain: float

    @property
    def rank(self) -> int | None:
        return None if self.returned is None else self.returned.rank


def _known_documents(facts: Facts) -> list[_Judged]:
    """All documents of the ideal ranking, then of the list, then of the judgments."""
    ideal: dict[str, tuple[int, float]] = {}
    for rank, (document, gain) in enumerate(facts.ideal, 1):
        if document is not None:
            ideal[document] = rank, gain
    # A document that was returned twice is on the list once, so listed ones come last.
    off_list = [row for row in facts.returned if row.rank is None]
    returned = {row.doc_id: row for row in off_list + facts.listed}
    known = []
    for document in dict.fromkeys([*ideal, *returned, *facts.judged]):
        ideal_rank, ideal_gain = ideal.get(document, (None, 0.0))
        grade, own_gain = facts.judged.get(document, (None, None))
        row = returned.get(document)
        known.append(_Judged(document, row, grade, own_gain or 0.0, ideal_rank, ideal_gain))
    return known


def _losses(facts: Facts) -> list[Row]:
    """The losses that are not 0, the largest first."""
    added = contributions(facts)
    losses: list[Row] = []
    for document in _known_documents(facts):
        row = document.returned
        gain = document.ideal_gain
        if row is not None and row.rank is not None:
            gain = row.own_gain
        would_add = 0.0
        if document.ideal_rank is not None:
            would_add = gain * facts.discounts[document.ideal_rank - 1]
        loss = {
            "doc_id": document.doc_id,
            "rank": document.rank,
            "where": _where(document.doc_id, row, facts),
            "relevance": document.grade if row is None else row.relevance,
            "ideal_rank": document.ideal_rank,
            "gain": gain,
            "loss": would_add - added.get(document.doc_id, 0.0),
        }
        losses.append(loss)
    losses += _losses_of_any(facts)
    lost = [loss for loss in losses if loss["loss"]]
    return sorted(lost, key=_largest_loss_first)


def _losses_of_any(facts: Facts) -> list[Row]:
    """The losses at ranks where the ideal ranking has a placeholder, because there are too few
    relevant documents.
    """
    losses: list[Row] = []
    for rank, (document, gain) in enumerate(facts.ideal, 1):
        if document is None:
            loss = {
                "doc_id": ANY_RELEVANT,
                "rank": None,
                "where": "too few relevant documents",
                "relevance": None,
                "ideal_rank": rank,
                "gain": gain,
                "loss": gain * facts.discounts[rank - 1],
            }
            losses.append(loss)
    return losses


def _largest_loss_first(row: Row) -> float:
    loss: float = row["loss"]
    return -loss


def _absent(facts: Facts) -> list[Row]:
    """The relevant documents outside the cutoff, the best first."""
    absent: list[Row] = []
    for document in _known_documents(facts):
        if document.judged_gain > 0 and not facts.is_within(document.rank):
            row = {
                "doc_id": document.doc_id,
                "rank": document.rank,
                "where": _where(document.doc_id, document.returned, facts),
                "relevance": document.grade,
                "gain": document.judged_gain,
            }
            absent.append(row)
    return sorted(absent, key=_best_absent_first)


def _best_absent_first(row: Row) -> tuple[float, float]:
    return -row["gain"], row["rank"] or math.inf


def _where(document: str, row: ReturnedDocument | None, facts: Facts) -> str:
    convention = facts.convention
    if row is None:
        return "not returned" if facts.whole else "not within the cutoff"
    if row.rank is not None:
        beyond = "" if facts.is_within(row.rank) else ", beyond the cutoff"
        return f"rank {row.rank}{beyond}"
    if convention.exclude_query_as_document and document == facts.query_id:
        return "removed from the list: it is the query"
    if convention.unjudged == "drop" and row.relevance is None:
        return "removed from the list: it is unjudged"
    if row.relevance is not None and row.relevance < 0 and convention.negative != "keep":
        return "removed from the list: its grade is negative"
    return "removed from the list: it was returned twice"


class _Place(NamedTuple):
    """The place of a document in the list of one side, and what it adds there."""

    rank: int | None = None
    relevance: float | None = None
    is_within: bool = False
    contribution: float = 0.0
    #: The contribution as a share of the ideal DCG.
    share: float = 0.0


#: The place of a document that is not on the list.
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
    """The changes since a baseline, by document within the cutoff, the largest change first.

    `baseline` is the list of another run, or the lists of the nights that the baseline averages,
    the newest last. `change` sums to the DCG of the run minus the mean DCG of the baseline. `part`
    sums to the difference of their NDCG, if the ideal DCGs are above 0. `what` is `left` (within
    the cutoff in at least half of the baseline's lists, but not tonight), `came_in` (the reverse),
    or `up`, `down` or `same_rank`. These compare its rank with the rank in the newest list, or with
    the mean rank if the newest list has the same. The result is empty if a side lacks its tie
    groups.
    """
    sides = [*baseline, run]
    if not all(facts.knows_ties for facts in sides):
        return []
    places = [_places(facts) for facts in sides]
    documents: set[str] = set()
    for by_document in places:
        # Documents that are tied with one within the cutoff are included.
        for document, place in by_document.items():
            if place.is_within or place.contribution:
                documents.add(document)
    changes = []
    for document in documents:
        of_sides = [by_document.get(document, _NOWHERE) for by_document in places]
        changes.append({"doc_id": document, **_change(of_sides[:-1], of_sides[-1])})
    return sorted(changes, key=_largest_change_first)


def _change(before: Sequence[_Place], now: _Place) -> Row:
    """The change of one document; the newest of `before` is last."""
    contribution_before = statistics.fmean(place.contribution for place in before)
    share_before = statistics.fmean(place.share for place in before)
    part = now.share - share_before
    newest = before[-1].rank
    moved_up = None
    if newest is not None and now.rank is not None:
        moved_up = newest - now.rank
    on_list = [place for place in (*before, now) if place.rank is not None]
    return {
        "relevance": on_list[-1].relevance if on_list else None,
        "rank": now.rank,
        "baseline_rank": newest,
        "moved_up": moved_up,
        "what": _what_changed(before, now),
        "contribution": now.contribution,
        "baseline_contribution": contribution_before,
        "change": now.contribution - contribution_before,
        "part": part,
    }


def _what_changed(before: Sequence[_Place], now: _Place) -> str:
    was_in = 2 * sum(place.is_within for place in before) >= len(before)
    if was_in != now.is_within:
        return "left" if was_in else "came_in"
    ranks = [place.rank for place in before if place.rank is not None]
    if now.rank is None or not ranks:
        return "up" if now.rank else "down"
    newest = before[-1].rank
    was = statistics.fmean(ranks) if newest in (None, now.rank) else newest
    if was == now.rank:
        return "same_rank"
    return "up" if now.rank < was else "down"


def _largest_change_first(change: Row) -> tuple[Any, ...]:
    rank, before = change["rank"] or math.inf, change["baseline_rank"] or math.inf
    return -abs(change["change"]), rank, before, change["doc_id"]

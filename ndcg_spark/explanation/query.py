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
#: The columns of a line that describe the document at its rank.
_DOCUMENT_COLUMNS = ("doc_id", "score", "tied", "relevance", "gain")
#: The columns of a line, which explains one rank: its document and what that adds to the DCG, the
#: same for the ideal ranking, and NDCG with this rank as the cutoff. The columns of a ranking are
#: null below its end, and those of the ideal ranking also if it is not known.
LINE = (
    "rank",
    *_DOCUMENT_COLUMNS,
    "discount",
    "contribution",
    "ideal_doc_id",
    "ideal_contribution",
    "ndcg",
)


@final
@dataclasses.dataclass(frozen=True)
class ReturnedDocument:
    """A document that a run returned for the query."""

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


class JudgedDocument(NamedTuple):
    """The judgment of a document for the query."""

    grade: float | None
    #: None if the grade is negative and ignored.
    gain: float | None


_UNJUDGED = JudgedDocument(None, None)


@dataclasses.dataclass(frozen=True)
class Facts:
    """Everything from which the score of a run for a query is explained."""

    dataset: str
    run: str
    query_id: str
    cutoff: Cutoff
    convention: Convention
    score: reference.Score
    returned: Sequence[ReturnedDocument]
    #: The judged documents, by their doc_id.
    judged: Mapping[str, JudgedDocument]
    #: Whether `returned` has the whole list and `judged` has every judged document. A published
    #: night keeps less: both then have only documents within the cutoff.
    whole: bool = True

    @functools.cached_property
    def discounts(self) -> list[float]:
        """The discount of each rank of the list and of the ideal ranking."""
        depth = max(len(self.returned), len(self.judged), self.cutoff or 0)
        return reference.discounts(depth, self.convention.discount)

    @functools.cached_property
    def listed(self) -> list[ReturnedDocument]:
        """The documents of the scored list, by rank."""
        listed = [row for row in self.returned if row.rank is not None]
        return sorted(listed, key=_rank)

    @functools.cached_property
    def ideal(self) -> list[tuple[str | None, float]]:
        """The documents of the ideal ranking and their gains, by rank.

        None stands for any relevant document. Among equal gains, the documents of the list come
        first, in the list's order.
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
            for doc_id, document in self.judged.items():
                if document.gain is not None:
                    gains[doc_id] = document.gain
        in_list_order = [row.doc_id for row in self.listed]
        returned = len(in_list_order)
        return reference.ideal_ranking(
            gains, self.convention, self.cutoff, returned, first=in_list_order
        )

    @property
    def knows_ties(self) -> bool:
        """Whether the tied documents are known, or do not matter because ties are not averaged."""
        if self.convention.ties != "average":
            return True
        return all(row.tie_group is not None for row in self.listed)

    def is_within(self, rank: int | None) -> bool:
        """Whether a document with this rank is within the cutoff; None is a removed document."""
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
    and gain of the query's judged documents. For `whole`, see Facts.
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
    judgments = {}
    for row in judged:
        judgments[row["doc_id"]] = JudgedDocument(row["relevance"], row["gain"])
    return Facts(
        dataset=score["dataset"],
        run=score["run"],
        query_id=score["query_id"],
        cutoff=score["cutoff"],
        convention=convention,
        score=reference.Score(**{name: score[name] for name in _SCORE_FIELDS}),
        returned=documents,
        judged=judgments,
        whole=whole,
    )


@dataclasses.dataclass(frozen=True)
class ExplainRequest:
    """What to explain, as the user asked for it."""

    query: str
    run: str | None = None
    baseline: str | None = None
    dataset: str | None = None
    #: `all` or a rank; None for the evaluation's main cutoff.
    cutoff: str | None = None
    baseline_date: str | None = None

    def cutoff_or(self, default: Cutoff) -> Cutoff:
        return default if self.cutoff is None else parse_cutoff(self.cutoff)

    def dataset_from(self, known: Sequence[str]) -> str:
        """The requested dataset, or the only known one."""
        if self.dataset is None:
            if len(known) > 1:
                what = f"dataset: there are {len(known)}, e.g. {known[0]!r}"
                raise ConfigurationError(what, Give("dataset", words="choose one with"))
            return known[0]
        if self.dataset not in known:
            raise unknown_name("dataset", "dataset", self.dataset, known)
        return self.dataset

    def runs(self, known: Sequence[str]) -> list[str]:
        """The runs to explain, followed by the baseline if there is one: ["dense", "bm25"]."""
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
    """What made the score of one run."""

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


class ExplainedBaseline(NamedTuple):
    """The list that a run is compared with."""

    facts: Facts
    #: Where the list comes from, such as `bm25` or `bm25 of 2026-11-20`.
    name: str


class Explained(NamedTuple):
    explanations: list[Explanation]
    #: Each run's baseline; empty if there is none.
    baselines: Mapping[str, ExplainedBaseline] = {}


def explain_runs(
    facts: Mapping[str, Facts],
    runs: Sequence[str],
    request: ExplainRequest,
) -> Explained:
    """Explain each run except the baseline, the best run first.

    All runs have the same baseline, which is one of `runs`.
    """
    names = [run for run in runs if run != request.baseline]
    explanations = [explain(facts[run]) for run in names]
    explanations.sort(key=_best_first)
    baselines = {}
    if request.baseline is not None and request.baseline in facts:
        baseline = ExplainedBaseline(facts[request.baseline], request.baseline)
        for run in names:
            baselines[run] = baseline
    return Explained(explanations, baselines)


def _best_first(explanation: Explanation) -> tuple[Any, ...]:
    return best_first(explanation.facts.score.ndcg, explanation.facts.run)


def explain(facts: Facts) -> Explanation:
    """Explain a score, without losses if a night does not keep the whole ideal ranking."""
    if not facts.whole and not _is_ideal_kept(facts):
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

    A night may not keep all documents of an ideal that is made of returned ones, or all documents
    of a tie.
    """
    if facts.convention.ties == "average":
        return False
    gains = [gain for _, gain in facts.ideal]
    ideal_dcg = math.fsum(map(operator.mul, gains, facts.discounts))
    return abs(ideal_dcg - facts.score.ideal_dcg) <= EQUAL


def _lines(facts: Facts, ideal: Sequence[tuple[str | None, float]]) -> list[Row]:
    """A row per rank of the list or of the ideal ranking, whichever is longer.

    `ndcg` is NDCG with this rank as the cutoff. It is null if `ideal` is empty.
    """
    lines: list[Row] = []
    dcg = ideal_dcg = 0.0
    has_ideal_per_cutoff = facts.convention.ideal == "retrieved_at_k"
    ranks = itertools.zip_longest(facts.listed[: facts.cutoff], ideal)
    for rank, (listed, ideal_entry) in enumerate(ranks, 1):
        discount = facts.discounts[rank - 1]
        line: dict[str, Any] = dict.fromkeys(LINE)
        line |= {"rank": rank, "discount": discount}
        if listed is not None:
            for name in _DOCUMENT_COLUMNS:
                line[name] = getattr(listed, name)
            line["contribution"] = listed.gain * discount
            dcg += line["contribution"]
        if ideal_entry is not None:
            document, gain = ideal_entry
            line["ideal_doc_id"] = document or ANY_RELEVANT
            line["ideal_contribution"] = gain * discount
            ideal_dcg += line["ideal_contribution"]
        if ideal and has_ideal_per_cutoff:
            # The sum so far is part of the ideal of the last cutoff.
            ideal_dcg = _ideal_dcg_at(facts, rank)
        if ideal_dcg:
            line["ndcg"] = dcg / ideal_dcg
        lines.append(line)
    return lines


def _ideal_dcg_at(facts: Facts, rank: int) -> float:
    """The ideal DCG with this rank as the cutoff."""
    gains = [gain for _, gain in dataclasses.replace(facts, cutoff=rank).ideal]
    return math.fsum(map(operator.mul, gains, facts.discounts))


def contributions(facts: Facts) -> dict[str, float]:
    """The contribution of each document within the cutoff, by id; the sum is the DCG.

    With averaged ties, a document contributes its gain times the mean discount of the ranks that
    its group shares. The facts must include the tie groups.
    """
    # Unless ties are averaged, each document is a group of its own.
    groups: list[int | None] = list(range(len(facts.listed)))
    if facts.convention.ties == "average":
        groups = [row.tie_group for row in facts.listed]
    discounts_of_groups: dict[int | None, list[float]] = {}
    for row, group, discount in zip(facts.listed, groups, facts.discounts, strict=False):
        # A group may continue below the cutoff, where a document adds nothing.
        counted = discount if facts.is_within(row.rank) else 0.0
        discounts_of_groups.setdefault(group, []).append(counted)
    mean_discounts = {}
    for group, discounts in discounts_of_groups.items():
        mean_discounts[group] = math.fsum(discounts) / len(discounts)
    added = {}
    for row, group in zip(facts.listed, groups, strict=True):
        added[row.doc_id] = row.own_gain * mean_discounts[group]
    return added


class _KnownDocument(NamedTuple):
    """What is known about a document: where it was returned, and its place in the ideal ranking."""

    doc_id: str
    #: None if it was not returned.
    returned: ReturnedDocument | None
    grade: float | None
    judged_gain: float
    ideal_rank: int | None
    ideal_gain: float

    @property
    def rank(self) -> int | None:
        """Its rank in the list; None if it was not returned, or was removed from the list."""
        return None if self.returned is None else self.returned.rank

    @property
    def gain(self) -> float:
        """Its own gain in the list; the ideal ranking's gain if it is not in the list.

        Both are equal if it is in both. The gain is 0 if it is in neither.
        """
        if self.returned is not None and self.returned.rank is not None:
            return self.returned.own_gain
        return self.ideal_gain


def _known_documents(facts: Facts) -> list[_KnownDocument]:
    """All documents of the ideal ranking, then of the list, then of the judgments."""
    ideal: dict[str, tuple[int, float]] = {}
    for rank, (document, gain) in enumerate(facts.ideal, 1):
        if document is not None:
            ideal[document] = rank, gain
    removed = [row for row in facts.returned if row.rank is None]
    # A document that was returned twice is removed once; its place on the list replaces that.
    returned = {row.doc_id: row for row in removed + facts.listed}
    known = []
    for document in dict.fromkeys([*ideal, *returned, *facts.judged]):
        ideal_rank, ideal_gain = ideal.get(document, (None, 0.0))
        judged = facts.judged.get(document, _UNJUDGED)
        one = _KnownDocument(
            doc_id=document,
            returned=returned.get(document),
            grade=judged.grade,
            judged_gain=judged.gain or 0.0,
            ideal_rank=ideal_rank,
            ideal_gain=ideal_gain,
        )
        known.append(one)
    return known


def _losses(facts: Facts) -> list[Row]:
    """The losses that are not 0, the largest first."""
    added = contributions(facts)
    losses: list[Row] = []
    for document in _known_documents(facts):
        row = document.returned
        would_add = 0.0
        if document.ideal_rank is not None:
            would_add = document.gain * facts.discounts[document.ideal_rank - 1]
        loss = {
            "doc_id": document.doc_id,
            "rank": document.rank,
            "where": _where(document.doc_id, row, facts),
            "relevance": document.grade if row is None else row.relevance,
            "ideal_rank": document.ideal_rank,
            "gain": document.gain,
            "loss": would_add - added.get(document.doc_id, 0.0),
        }
        losses.append(loss)
    losses += _losses_of_placeholders(facts)
    lost = [loss for loss in losses if loss["loss"]]
    return sorted(lost, key=_largest_loss_first)


def _losses_of_placeholders(facts: Facts) -> list[Row]:
    """The losses at ranks for which the ideal ranking has no document, because there are too few
    relevant ones.
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
    """Where a document is in the list, such as `rank 3`, or why it is not there."""
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
    """The place of each document on the list."""
    added = contributions(facts)
    # Without an ideal DCG, every share is 0.
    ideal_dcg = facts.score.ideal_dcg or math.inf
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

    `baseline` is the list of a different run, or the lists of the nights that the baseline
    averages, the newest last. The sum of `change` is the DCG of the run minus the mean DCG of the
    baseline. The sum of `part` is the difference of their NDCG, if the ideal DCGs are above 0.

    `what` is `left` (within the cutoff in at least half of the baseline's lists, but not tonight),
    `came_in` (the reverse), `up`, `down` or `same_rank`. The last three compare its rank with its
    rank in the newest list, or with its mean rank if the newest list has the same rank. The result
    is empty if a side lacks its tie groups.
    """
    if not all(facts.knows_ties for facts in (*baseline, run)):
        return []
    places_before = [_places(facts) for facts in baseline]
    places_now = _places(run)
    changes = []
    for document in _shown_or_counted([*places_before, places_now]):
        before = [places.get(document, _NOWHERE) for places in places_before]
        now = places_now.get(document, _NOWHERE)
        changes.append({"doc_id": document, **_change(before, now)})
    return sorted(changes, key=_largest_change_first)


def _shown_or_counted(places_of_lists: Iterable[Mapping[str, _Place]]) -> set[str]:
    """The documents that are within the cutoff in a list, or add something to its DCG."""
    documents: set[str] = set()
    for places in places_of_lists:
        for document, place in places.items():
            # A document below the cutoff adds something if it is tied with one above it.
            if place.is_within or place.contribution:
                documents.add(document)
    return documents


def _change(before: Sequence[_Place], now: _Place) -> Row:
    """The change of one document; the newest of `before` is last."""
    contribution_before = statistics.fmean(place.contribution for place in before)
    share_before = statistics.fmean(place.share for place in before)
    newest = before[-1].rank
    moved_up = None
    if newest is not None and now.rank is not None:
        moved_up = newest - now.rank
    relevance = None
    for place in (*before, now):
        # A place that is not on a list has no grade, so this is that of the newest list with it.
        if place.rank is not None:
            relevance = place.relevance
    return {
        "relevance": relevance,
        "rank": now.rank,
        "baseline_rank": newest,
        "moved_up": moved_up,
        "what": _what_changed(before, now),
        "contribution": now.contribution,
        "baseline_contribution": contribution_before,
        "change": now.contribution - contribution_before,
        "part": now.share - share_before,
    }


def _what_changed(before: Sequence[_Place], now: _Place) -> str:
    """How the place of a document changed; see `changed_documents`."""
    lists_within = sum(place.is_within for place in before)
    was_within = 2 * lists_within >= len(before)
    if was_within != now.is_within:
        return "left" if was_within else "came_in"
    if now.rank is None:
        return "down"
    ranks_before = [place.rank for place in before if place.rank is not None]
    if not ranks_before:
        return "up"
    rank_before: float | None = before[-1].rank
    if rank_before is None or rank_before == now.rank:
        rank_before = statistics.fmean(ranks_before)
    if rank_before == now.rank:
        return "same_rank"
    return "up" if now.rank < rank_before else "down"


def _largest_change_first(change: Row) -> tuple[Any, ...]:
    rank, before = change["rank"] or math.inf, change["baseline_rank"] or math.inf
    return -abs(change["change"]), rank, before, change["doc_id"]

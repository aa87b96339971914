"""How an explained query is printed: rank by rank, then what was lost, and what is unjudged."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.explanation.explain import Change, Explained, Explanation, RankLine, changed_documents
from ndcg_spark.explanation.facts import Facts
from ndcg_spark.tables.table import TextColumn, TextTable, name, number, rounded, shortest, text_table
from ndcg_spark.views import View


def explanation_view(explained: Explained) -> View:
    """The explanations, a row for each run and rank."""
    every = explained.explanations
    return View(
        lambda: [table for each in every for table in explanation_tables(each, *_baseline(explained, each))],
        lambda: [_value(each, *_baseline(explained, each)) for each in every],
        ("run", *(field.name for field in dataclasses.fields(RankLine))),
        lambda: ({"run": each.facts.run, **dataclasses.asdict(line)} for each in every for line in each.lines),
    )


def _baseline(explained: Explained, explanation: Explanation) -> tuple[Facts | None, str]:
    return explained.baselines.get(explanation.facts.run, (None, ""))


def explanation_tables(explanation: Explanation, baseline: Facts | None, against: str) -> list[TextTable]:
    """What there is to say about one run, without the parts that have nothing to say."""
    facts = explanation.facts
    score = f"ndcg@{format_cutoff(facts.cutoff)} {rounded(facts.score.ndcg)}"
    title = f"query {facts.query_id} of {facts.dataset}, run {facts.run}: {score}"
    about: dict[str, Any] = {"title": title, "sentences": _summary(explanation), "is_first": True}
    lines = text_table(_RANKS, explanation.lines, **about)
    lost = math.fsum(each.loss for each in explanation.losses)
    words = f"gain * (discount at the ideal rank - discount at its rank); in all {lost:.4f} = ideal DCG - DCG"
    parts: list[tuple[str, list[str], Sequence[TextColumn], Sequence[Any]]] = [
        ("Losses by document", [words], _LOSSES, explanation.losses),
        ("Relevant documents outside the cutoff", [], _ABSENT, explanation.absent),
        ("Unjudged documents", [], [_DOCUMENT, _RANK], explanation.unjudged),
    ]
    tables = [text_table(columns, rows, title=title, sentences=said) for title, said, columns, rows in parts if rows]
    if baseline is not None:
        moved = f"ndcg@{format_cutoff(facts.cutoff)} {rounded(baseline.score.ndcg)} to {rounded(facts.score.ndcg)}"
        dcg, before = facts.score.dcg, baseline.score.dcg
        changed = f"{moved}, DCG {before:.4f} to {dcg:.4f}; the changes sum to {dcg - before:+.4f}"
        changes = changed_documents(facts, [baseline])
        tables.append(text_table(_CHANGES, changes, title=f"Compared with {against}", sentences=[changed]))
    return [lines, *tables]


def _summary(explanation: Explanation) -> list[str]:
    facts, score = explanation.facts, explanation.facts.score
    within = "in all" if facts.cutoff is None else "within the cutoff"
    sentences = [
        f"DCG {score.dcg:.4f} / ideal DCG {score.ideal_dcg:.4f}; {score.returned} document(s) {within}, "
        f"{score.judged} of them judged"
    ]
    if score.status == "missing":
        sentences.append("the run has no results for this query")
    if score.status == "no_relevant":
        sentences.append("no document of this query has a gain, so the convention decides its score")
    if not explanation.ideal_known:
        sentences.append("the night does not keep the documents of the ideal ranking; explain it from the inputs")
    return [*sentences, f"{facts.convention.label}: {facts.convention.formula}"]


def _grade(relevance: float | None) -> str:
    return "unjudged" if relevance is None else f"{relevance:g}"


def _rank(rank: int | None) -> str:
    return "-" if rank is None else str(rank)


def _or_blank(line: RankLine, value: str) -> str:
    """The text of a cell about the document at a rank, blank where there is none."""
    return "" if line.doc_id is None else value


def _difference(value: float) -> str:
    return f"{value:+.4f}" if value else "0"


def _move(change: Change) -> str:
    if change.moved_up is None:
        return "came in" if change.baseline_rank is None else "left"
    return f"{change.moved_up:+d}" if change.moved_up else "0"


_DOCUMENT, _GRADE = name("document", "doc_id"), number("grade", "relevance", _grade)
_GAIN, _RANK = number("gain", form=shortest), number("rank", form=_rank)
_IDEAL_RANK, _CHANGE = number("ideal rank", form=_rank), number("change", form=_difference)
_RANKS = [
    *(number("rank", form=str), name("document", lambda line: line.doc_id or "")),
    number("score", lambda line: _or_blank(line, shortest(line.score)), str),
    name("tie", lambda line: "tied" if line.tied and line.doc_id is not None else ""),
    number("grade", lambda line: _or_blank(line, _grade(line.relevance)), str),
    number("gain", lambda line: _or_blank(line, shortest(line.gain)), str),
    *(number("discount"), number("adds", lambda line: _or_blank(line, rounded(line.contribution)), str)),
    name("ideal document", lambda line: line.ideal_doc_id or ""),
    number("would add", lambda line: "" if line.ideal_doc_id is None else rounded(line.ideal_contribution), str),
    number("ndcg@rank", "ndcg"),
]
_LOSSES = [_DOCUMENT, _GRADE, name("where"), _IDEAL_RANK, _GAIN, number("loss", form=_difference)]
_ABSENT = [_DOCUMENT, _GRADE, _GAIN, name("where")]
_CHANGES = [
    *(_DOCUMENT, _GRADE, number("rank before", "baseline_rank", _rank), _RANK, number("moved", lambda c: c, _move)),
    *(number("added before", "baseline_contribution"), number("adds", "contribution"), _CHANGE),
]


def _value(explanation: Explanation, baseline: Facts | None, against: str) -> dict[str, Any]:
    facts = explanation.facts
    value: dict[str, Any] = {
        **{field: getattr(facts, field) for field in ("dataset", "run", "query_id", "cutoff")},
        **dataclasses.asdict(facts.score),
        "convention": facts.convention.label,
        "formula": facts.convention.formula,
        "ideal_known": explanation.ideal_known,
    }
    for field in ("lines", "losses", "absent"):
        value[field] = [dataclasses.asdict(each) for each in getattr(explanation, field)]
    value["unjudged"] = [{"doc_id": each.doc_id, "rank": each.rank} for each in explanation.unjudged]
    if baseline is not None:
        value["baseline"] = {"run": against, **dataclasses.asdict(baseline.score)}
        value["changes"] = [dataclasses.asdict(each) for each in changed_documents(facts, [baseline])]
    return value

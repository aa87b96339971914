"""How an explained query is printed: rank by rank, then what was lost, and what is unjudged."""

import dataclasses
import math
from typing import Any

from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.explanation.explain import Change, Explained, Explanation, Loss, RankLine, changed_documents
from ndcg_spark.explanation.facts import Facts
from ndcg_spark.tables.table import Table, rounded, table_of
from ndcg_spark.views import View


def explanation_view(explained: Explained) -> View:
    """The explanations, a row for each run and rank."""
    pairs = [(each, *explained.baselines.get(each.facts.run, (None, ""))) for each in explained.explanations]
    return View(
        lambda: [table for pair in pairs for table in _tables(*pair)],
        lambda: [_value(*pair) for pair in pairs],
        ("run", *(field.name for field in dataclasses.fields(RankLine))),
        lambda: ({"run": pair[0].facts.run, **vars(line)} for pair in pairs for line in pair[0].lines),
    )


def _tables(explanation: Explanation, baseline: Facts | None, against: str) -> list[Table]:
    """What there is to say about one run, without the parts that have nothing to say."""
    facts = explanation.facts
    cutoff, score = format_cutoff(facts.cutoff), facts.score
    title = f"query {facts.query_id} of {facts.dataset}, run {facts.run}: ndcg@{cutoff} {rounded(score.ndcg)}"
    lost = math.fsum(loss.loss for loss in explanation.losses)
    words = f"gain * (discount at the ideal rank - discount at its rank); in all {lost:.4f} = ideal DCG - DCG"
    unjudged = [{"document": row.doc_id, "rank": row.rank} for row in explanation.unjudged]
    absent = ("document", "grade", "gain", "where")
    tables = [
        table_of([_rank(line) for line in explanation.lines], title=title, sentences=_summary(explanation)),
        table_of(list(map(_loss, explanation.losses)), title="Losses by document", sentences=[words]),
        table_of(list(map(_loss, explanation.absent)), absent, title="Relevant documents outside the cutoff"),
        table_of(unjudged, title="Unjudged documents"),
    ]
    if baseline is not None:
        dcg, before = score.dcg, baseline.score.dcg
        changed = f"ndcg@{cutoff} {rounded(baseline.score.ndcg)} to {rounded(score.ndcg)}, "
        changed += f"DCG {before:.4f} to {dcg:.4f}; the changes sum to {dcg - before:+.4f}"
        changes = list(map(_change, changed_documents(facts, [baseline])))
        tables.append(table_of(changes, title=f"Compared with {against}", sentences=[changed]))
    return [tables[0], *(table for table in tables[1:] if table.rows or table.title.startswith("Compared"))]


def _summary(explanation: Explanation) -> list[str]:
    facts, score = explanation.facts, explanation.facts.score
    within = "in all" if facts.cutoff is None else "within the cutoff"
    returned = f"{score.returned} document(s) {within}, {score.judged} of them judged"
    sentences = [f"DCG {score.dcg:.4f} / ideal DCG {score.ideal_dcg:.4f}; {returned}"]
    if score.status == "missing":
        sentences.append("the run has no results for this query")
    if score.status == "no_relevant":
        sentences.append("no document of this query has a gain, so the convention decides its score")
    if not explanation.ideal_known:
        sentences.append("the night does not keep the documents of the ideal ranking; explain it from the inputs")
    return [*sentences, f"{facts.convention.label}: {facts.convention.formula}"]


def _grade(relevance: float | None) -> float | str:
    return "unjudged" if relevance is None else relevance


def _rank(line: RankLine) -> dict[str, Any]:
    here, ideal = line.doc_id is not None, line.ideal_doc_id is not None
    return {
        "rank": line.rank,
        "document": line.doc_id or "",
        "raw score": line.score if here else "",
        "tie": "tied" if here and line.tied else None,
        "grade": _grade(line.relevance) if here else "",
        "gain": line.gain if here else "",
        "discount": line.discount,
        "adds": line.contribution if here else "",
        "ideal document": line.ideal_doc_id or "",
        "would add": line.ideal_contribution if ideal else "",
        "ndcg@rank": line.ndcg,
    }


def _loss(loss: Loss) -> dict[str, Any]:
    what = {"document": loss.doc_id, "grade": _grade(loss.relevance), "where": loss.where}
    return {**what, "ideal rank": loss.ideal_rank, "gain": loss.gain, "loss": loss.loss}


def _change(change: Change) -> dict[str, Any]:
    moved = "came in" if change.baseline_rank is None else "left"
    return {
        "document": change.doc_id,
        "grade": _grade(change.relevance),
        "rank before": change.baseline_rank,
        "rank": change.rank,
        "moved": moved if change.moved_up is None else change.moved_up,
        "added before": change.baseline_contribution,
        "adds": change.contribution,
        "change": change.change,
    }


def _value(explanation: Explanation, baseline: Facts | None, against: str) -> dict[str, Any]:
    facts = explanation.facts
    value: dict[str, Any] = {
        **{field: getattr(facts, field) for field in ("dataset", "run", "query_id", "cutoff")},
        **vars(facts.score),
        "convention": facts.convention.label,
        "formula": facts.convention.formula,
        "ideal_known": explanation.ideal_known,
        **{name: list(map(vars, getattr(explanation, name))) for name in ("lines", "losses", "absent")},
        "unjudged": [{"doc_id": row.doc_id, "rank": row.rank} for row in explanation.unjudged],
    }
    if baseline is not None:
        value["baseline"] = {"run": against, **vars(baseline.score)}
        value["changes"] = list(map(vars, changed_documents(facts, [baseline])))
    return value

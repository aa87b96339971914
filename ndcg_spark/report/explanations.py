"""How an explained query is printed: rank by rank, then what was lost, and what is unjudged."""

import math
from typing import Any

from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.explanation.explain import LINE, Explained, Explanation, Facts, changed_documents
from ndcg_spark.tables.table import Table, make_table, rounded
from ndcg_spark.tables.writers import View

_LOSSES = ("doc_id", "relevance", "where", "ideal_rank", "gain", "loss")
_ABSENT = ("doc_id", "relevance", "gain", "where")
_CHANGES = ("doc_id", "relevance", "baseline_rank", "rank", "moved", "baseline_contribution", "contribution", "change")
_STATUS = {
    "missing": "the run has no results for this query",
    "no_relevant": "no document of this query has a gain, so the convention decides its score",
}


def explanation_view(explained: Explained) -> View:
    """The explanations, a row for each run and rank."""
    pairs = [(one, *explained.baselines.get(one.facts.run, (None, ""))) for one in explained.explanations]
    rows = [{"run": explanation.facts.run, **line} for explanation, *_ in pairs for line in explanation.lines]
    tables = [table for pair in pairs for table in _tables(*pair)]
    return View(tables, [_value(*pair) for pair in pairs], ("run", *LINE), rows)


def _tables(explanation: Explanation, baseline: Facts | None, against: str) -> list[Table]:
    """What there is to say about one run, without the parts that have nothing to say."""
    facts, score, convention = explanation.facts, explanation.facts.score, explanation.facts.convention
    cutoff, within = format_cutoff(facts.cutoff), "in all" if facts.cutoff is None else "within the cutoff"
    returned = f"{score.returned} document(s) {within}, {score.judged} of them judged"
    said = [f"DCG {score.dcg:.4f} / ideal DCG {score.ideal_dcg:.4f}; {returned}"]
    if score.status in _STATUS:
        said.append(_STATUS[score.status])
    if not explanation.ideal_known:
        said.append("the night does not keep the documents of the ideal ranking; explain it from the inputs")
    said.append(f"{convention.label}: {convention.formula}")
    ranks = [{**line, "tied": "tied" if line["tied"] else None} for line in explanation.lines]
    # Below the end of the list there is nothing to show.
    ranks = [{k: "" if v is None and row["doc_id"] is None else v for k, v in row.items()} for row in ranks]
    title = f"query {facts.query_id} of {facts.dataset}, run {facts.run}: ndcg@{cutoff} {rounded(score.ndcg)}"
    lost = math.fsum(loss["loss"] for loss in explanation.losses)
    words = f"gain * (discount at the ideal rank - discount at its rank); in all {lost:.4f} = ideal DCG - DCG"
    parts = [
        ("Losses by document", explanation.losses, _LOSSES, [words]),
        ("Relevant documents outside the cutoff", explanation.absent, _ABSENT, []),
        ("Unjudged documents", list(map(vars, explanation.unjudged)), ("doc_id", "rank"), []),
    ]
    if baseline is not None:
        changed = (
            f"ndcg@{cutoff} {rounded(baseline.score.ndcg)} to {rounded(score.ndcg)}, DCG {baseline.score.dcg:.4f} "
        )
        changed += f"to {score.dcg:.4f}; the changes sum to {score.dcg - baseline.score.dcg:+.4f}"
        documents = changed_documents(facts, [baseline])
        moved = [{**row, "moved": row["moved_up"] or row["what"].replace("_", " ")} for row in documents]
        parts.append((f"Compared with {against}", moved, _CHANGES, [changed]))
    ranked = make_table(ranks, title=title, sentences=said)
    return [ranked, *(make_table(rows, names, title=head, sentences=top) for head, rows, names, top in parts if rows)]


def _value(explanation: Explanation, baseline: Facts | None, against: str) -> dict[str, Any]:
    facts = explanation.facts
    value: dict[str, Any] = {name: getattr(facts, name) for name in ("dataset", "run", "query_id", "cutoff")}
    value |= vars(facts.score) | {"convention": facts.convention.label, "formula": facts.convention.formula}
    value |= {name: getattr(explanation, name) for name in ("lines", "losses", "absent")}
    value["ideal_known"] = explanation.ideal_known
    value["unjudged"] = [{"doc_id": row.doc_id, "rank": row.rank} for row in explanation.unjudged]
    if baseline is not None:
        value["baseline"] = {"run": against, **vars(baseline.score)}
        value["changes"] = changed_documents(facts, [baseline])
    return value

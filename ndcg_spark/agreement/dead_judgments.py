"""Judgments that no longer tell anything: of documents that no run returns, or of queries without room to improve."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow.compute as pc

from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.nights.read import read_rows
from ndcg_spark.nights.records import CommittedNight

#: The default number of nights that a document must have been absent from.
NIGHTS = 7
#: A score this close to 1 is perfect.
_NOISE = 1e-9


@dataclasses.dataclass(frozen=True)
class DeadJudgments:
    """What a night's judgments can no longer tell; documents are included only if nights keep those of all queries."""

    #: How many nights were looked at, and how many relevant documents the night knows.
    nights: int
    relevant: int
    #: Rows of UNRETURNED_DOCUMENTS, by query and document.
    unreturned: Sequence[dict[str, Any]]
    queries: int
    #: The queries that every run answers perfectly, sorted.
    perfect: Sequence[str]


def dead_judgments(
    night: CommittedNight, known: Iterable[CommittedNight], column: str, cutoff: Cutoff, most: int = NIGHTS
) -> DeadJudgments:
    """What a night's judgments can no longer tell, by the `most` newest of the `known` nights up to it.

    No engine is needed. A relevant document is one of the ideal ranking with a gain, and it counts as returned if a run
    has it down to the deepest cutoff, which is as far as nights keep documents. A query is perfect if the score in
    `column` at the cutoff is 1 for every run. Raises as `read_rows`.
    """
    until = [each for each in known if each.dataset == night.dataset and each.evaluated_on <= night.evaluated_on]
    kept = [each for each in until if (each.record.get("configuration") or {}).get("documents") == "all"]
    newest = sorted(kept, key=lambda each: each.evaluated_on, reverse=True)[:most]
    has_documents, key = bool(newest) and newest[0].evaluated_on == night.evaluated_on, ("query_id", "doc_id")
    columns = [*key, "relevance", "gain"]
    ideal = read_rows([night] if has_documents else [], "ranked_documents", columns, {"run": [None]})
    rows = ideal.filter(pc.field("gain") > 0).to_pylist()
    left = {(row["query_id"], row["doc_id"]): row["relevance"] for row in rows}
    for each in newest if has_documents else ():
        if not left:
            break
        is_left = {"doc_id": sorted({document for _, document in left})}
        found = read_rows([each], "ranked_documents", [*key, "run"], is_left).filter(pc.field("run").is_valid())
        for row in found.to_pylist():
            left.pop((row["query_id"], row["doc_id"]), None)
    scores = read_rows([night], "query_scores", ["query_id", column], {"cutoff": [cutoff]}).to_pandas()
    worst = scores.fillna({column: 0.0}).groupby("query_id")[column].min()
    unreturned = [dict(zip((*key, "relevance"), (*pair, left[pair]), strict=True)) for pair in sorted(left)]
    return DeadJudgments(
        len(newest) if has_documents else 0,
        len(rows),
        [{"dataset": night.dataset, **row} for row in unreturned],
        len(worst),
        sorted(worst.index[worst >= 1 - _NOISE]),
    )


def dead_in_words(dead: DeadJudgments) -> str:
    """Both counts in two sentences; the first is present only if nights keep documents."""
    known = f"{len(dead.unreturned):,} of {dead.relevant:,} relevant documents were returned by no run in "
    nights = "this night" if dead.nights == 1 else f"{dead.nights} nights"
    example = f", e.g. {dead.unreturned[0]['doc_id']}; are they deleted?" if dead.unreturned else "."
    documents = f"{known}{nights}{example} " if dead.nights else ""
    return f"{documents}{len(dead.perfect):,} of {dead.queries:,} queries are answered perfectly by every run."

"""The facts of random rankings under every preset and some other conventions, as the embedded engine finds them.

They come from one process: explained_cases.facts() in the tests, which are classic, forks it.
"""

import pickle
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from programs import forked
from pyspark.sql import SparkSession
from tables import judgment, judgments, result, results

from ndcg_spark import Convention, evaluate
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.engine import open_engine
from ndcg_spark.explanation.explanation import Explanation, explain
from ndcg_spark.explanation.facts import Facts
from ndcg_spark.job.facts import facts_of
from ndcg_spark.scoring.documents import returned_documents
from ndcg_spark.scoring.judged import judged_documents

CUTOFFS = [1, 5, None]
#: What no preset has.
OTHERS = {
    "drop": {"unjudged": "drop"},
    "drop both": {"unjudged": "drop", "negative": "drop", "exclude_query_as_document": True},
    "unjudged 1": {"unjudged": 1.0},
    "averaged": {"ties": "average"},
    "averaged, retrieved": {"ties": "average", "ideal": "retrieved", "gain": "linear"},
    "best": {"ties": "best", "negative": "keep"},
    "k_relevant": {"ideal": "k_relevant", "gain": "binary"},
    "capped": {"ideal": "judged_capped"},
    "table": {"gain": {-1.0: 0.0, 0.0: 0.5, 1.0: 1.0, 2.0: 4.0, 3.0: 5.0, 4.0: 9.0}, "discount": [1.0, 0.5, 0.25]},
    "python": {"gain": "python:numpy.square", "discount": "python:numpy.reciprocal"},
    "binary": {"min_relevance": 2.0, "discount": "jarvelin"},
}

Explanations = dict[tuple[str, int | None], Explanation]


def conventions() -> dict[str, Convention]:
    named = {name: Convention.preset(name) for name in PRESETS}
    # Nothing is refused here, so that every query has something to explain.
    return named | {name: Convention(**options) for name, options in OTHERS.items()}


def found(folder: Path) -> dict[str, Any]:
    """By convention: `facts` by query and cutoff, and what the evaluation says `if_best`, `if_worst` and `moved`."""
    path = folder / "found.pickle"
    done = forked(_write, str(path), cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return pickle.loads(path.read_bytes())  # noqa: S301  # what our own process has written


def _write(path: str) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "parity"))
    with open_engine("embedded") as engine:
        answers = {name: _answers(engine.session, each) for name, each in conventions().items()}
    Path(path).write_bytes(pickle.dumps(answers))


def _answers(session: SparkSession, convention: Convention) -> dict[str, Any]:
    from cases import make

    case = make([1, 2], negative=convention.negative != "error")
    judged = {query: {doc: float(grade) for doc, grade in grades.items()} for query, grades in case.judged.items()}
    returned = case.returned
    facts = _facts(session, convention, judged, returned)
    explanations = {key: explain(each) for key, each in facts.items()}
    answers: dict[str, Any] = {"facts": facts}
    for name, grade in (("if_best", 4.0), ("if_worst", -1.0 if convention.negative == "keep" else 0.0)):
        asked = {
            query: each.unjudged[0].doc_id for (query, k), each in explanations.items() if k == 5 and each.unjudged
        }
        changed = {
            query: {**grades, asked[query]: grade} if query in asked else grades for query, grades in judged.items()
        }
        scores = _scores(session, convention, changed, returned)
        answers[name] = {query: scores[query, 5] for query in asked}
    helped = {query: each for (query, k), each in explanations.items() if k == 5 and each.would_help}
    moved = {query: _moved(helped[query], rows) if query in helped else rows for query, rows in returned.items()}
    moved |= {query: _moved(each, []) for query, each in helped.items() if query not in returned}
    scores = _scores(session, convention, judged, moved)
    answers["moved"] = {query: scores[query, 5] for query in helped}
    return answers


def _moved(explanation: Explanation, rows: list[tuple[str, float, int]]) -> list[tuple[str, float, int]]:
    """The results in the order that the best move of the explanation leads to, without a tie."""
    best = explanation.would_help[0]
    order = [each.doc_id for each in explanation.facts.listed if each.doc_id != best.doc_id]
    order.insert(best.ideal_rank - 1, best.doc_id)
    order += [doc for doc, _, _ in rows if doc not in order]
    return [(doc, -float(rank), rank) for rank, doc in enumerate(order, 1)]


def _tables(session: SparkSession, judged: Mapping[str, Any], returned: Mapping[str, Any]) -> Any:
    grades = [judgment(doc, grade, query) for query, rows in judged.items() for doc, grade in rows.items()]
    rows = [result(doc, s, query, rank=rank) for query, listed in returned.items() for doc, s, rank in listed]
    return judgments(session, grades), results(session, rows)


def _scores(session: SparkSession, convention: Convention, judged: Any, returned: Any) -> dict[Any, float | None]:
    rows = evaluate(*_tables(session, judged, returned), CUTOFFS, convention).query_scores.collect()
    return {(row["query_id"], row["cutoff"]): row["ndcg"] for row in rows}


def _facts(session: SparkSession, convention: Convention, judged: Any, returned: Any) -> dict[Any, Facts]:
    graded, listed = _tables(session, judged, returned)
    documents = judged_documents(graded, ["query_id"], convention)
    known = [row.asDict() for row in documents.collect()]
    rows = [row.asDict() for row in returned_documents(listed, documents, ["query_id"], convention).collect()]
    grades = [grade for of_query in judged.values() for grade in of_query.values()]
    return {
        (score["query_id"], score["cutoff"]): facts_of(
            score.asDict(),
            [row for row in rows if row["query_id"] == score["query_id"]],
            [row for row in known if row["query_id"] == score["query_id"]],
            (max(grades), min(grades)),
            convention,
        )
        for score in evaluate(graded, listed, CUTOFFS, convention).query_scores.collect()
    }

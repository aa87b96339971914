"""The facts of random rankings under some presets and other conventions, on the session of the tests."""

from typing import Any

import sessions
from cases import make
from tables import judgment, judgments, result, results

from ndcg_spark import Convention, evaluate
from ndcg_spark.explanation.query import Facts, query_facts
from ndcg_spark.scoring.ideal import judged_documents
from ndcg_spark.scoring.lists import returned_documents

CUTOFFS = [1, 5, None]
#: What no preset has.
OTHERS = {
    "drop": {"unjudged": "drop"},
    "drop both": {"unjudged": "drop", "negative": "drop", "exclude_query_as_document": True},
    "unjudged 1": {"unjudged": 1.0},
    "averaged": {"ties": "average"},
    "averaged, retrieved": {"ties": "average", "ideal": "retrieved", "gain": "linear"},
    "retrieved at k": {"ideal": "retrieved_at_k"},
    "best": {"ties": "best", "negative": "keep"},
    "k_relevant": {"ideal": "k_relevant", "gain": "binary"},
    "capped": {"ideal": "judged_capped"},
    "table": {
        "gain": {-1.0: 0.0, 0.0: 0.5, 1.0: 1.0, 2.0: 4.0, 3.0: 5.0, 4.0: 9.0},
        "discount": [1.0, 0.5, 0.25],
    },
    "python": {"gain": "python:numpy.square", "discount": "python:numpy.reciprocal"},
    "binary": {"min_relevance": 2.0, "discount": "jarvelin"},
}


#: Other presets are other mixtures of the same options.
CONVENTIONS = {name: Convention.preset(name) for name in ("standard", "mllib", "replay")}
CONVENTIONS |= {name: Convention(**options) for name, options in OTHERS.items()}


def facts_of(name: str) -> dict[Any, Facts]:
    """The facts of a convention, by query and cutoff."""
    session, convention = sessions.engine().session, CONVENTIONS[name]
    case = make([1], negative=convention.negative != "error")
    given = [
        judgment(d, float(grade), q)
        for q, grades in case.judged.items()
        for d, grade in grades.items()
    ]
    returned = [
        result(doc, s, q, rank=at) for q, listed in case.returned.items() for doc, s, at in listed
    ]
    graded, listed = judgments(session, given), results(session, returned)
    documents = judged_documents(graded, ["query_id"], convention)
    known = [row.asDict() for row in documents.collect()]
    rows = [
        row.asDict()
        for row in returned_documents(listed, documents, ["query_id"], convention).collect()
    ]
    return {
        (score["query_id"], score["cutoff"]): query_facts(
            score.asDict(),
            [row for row in rows if row["query_id"] == score["query_id"]],
            [row for row in known if row["query_id"] == score["query_id"]],
            convention,
        )
        for score in evaluate(graded, listed, CUTOFFS, convention).query_scores.collect()
    }

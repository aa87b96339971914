"""Files as Quepid, OpenSearch, UBI and RAGAS write them, with small invented content, and the rows that they hold.

Every builder writes a file to a folder and returns its path. All judgments are GRADES and all results RETURNED, but
where a builder says what else it holds; the texts of queries have a comma and quotes, and one query has no judgment.
"""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

TV, LAMP, NOTHING = "4k tv", 'lamp, "warm" light', "warp drive"
GRADES: dict[str, dict[str, int]] = {TV: {"tv-1": 3, "tv-2": 0, "tv-3": 1}, LAMP: {"100": 2, "101": 1}}
#: In their order; tv-9 and 107 are not judged, and a query was not found.
RETURNED: dict[str, list[str]] = {TV: ["tv-3", "tv-1", "tv-9", "tv-2"], LAMP: ["107", "101", "100"]}


def _ruby_csv(rows: Iterable[Sequence[object]]) -> str:
    """As CSV.generate_line of Ruby: nil is an empty field."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(["" if value is None else value for value in row] for row in rows)
    return text.getvalue()


def _javascript_csv(rows: Iterable[Sequence[object]]) -> str:
    """As Quepid writes CSV in the browser: quotes are doubled always, and around a field only if it has a comma."""

    def field(value: object) -> str:
        text = "" if value is None else str(value).replace('"', '""')
        return f'"{text}"' if "," in text or "\n" in text else text

    return "".join(",".join(map(field, row)) + "\r\n" for row in rows)


def _written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def quepid_basic(folder: Path) -> Path:
    """Ratings are floats, and a query without any has a row of its own."""
    rows = [(query, doc, float(grade)) for query, docs in GRADES.items() for doc, grade in docs.items()]
    return _written(folder / "tv_basic.csv", _ruby_csv([("query", "docid", "rating"), *rows, (NOTHING, None, None)]))


def quepid_detailed(folder: Path) -> Path:
    """What was returned with its ratings, and a field of the documents; a query without documents has empty fields."""
    before = ("Search, EU", "Shop", 12)
    rows = [
        (*before, query, doc, at, f"The {doc}", GRADES[query].get(doc), "Acme")
        for query, docs in RETURNED.items()
        for at, doc in enumerate(docs, start=1)
    ]
    names = ["Team Name", "Case Name", "Case ID", "Query Text", "Doc ID", "Doc Position", "Title", "Rating", "brand"]
    return _written(folder / "Shop_detailed.csv", _javascript_csv([names, *rows, (*before, NOTHING, *[None] * 5)]))


def quepid_case(folder: Path) -> Path:
    """The case with its judgments; a query without any, and one document that has a rating without a value."""
    queries = [
        {
            "arranged_at": at,
            "query_text": query,
            "options": None,
            "notes": None,
            "information_need": "",
            "ratings": [
                *({"doc_id": doc, "rating": float(grade), "user_email": "a@b.example"} for doc, grade in docs.items()),
                {"doc_id": "tv-8", "rating": None},
            ],
        }
        for at, (query, docs) in enumerate({**GRADES, NOTHING: {}}.items())
    ]
    case = {
        "case_name": "Shop",
        "owned": True,
        "owner_email": "a@b.example",
        "options": None,
        "scorer": {"name": "nDCG@10", "code": "for (const doc of docs) { queries[doc] = [1, 2]; }"},
        "queries": queries,
        "try": {"name": "Try 1", "query_params": '{"query": {"match_all": {}}}', "curator_variables": []},
    }
    return _written(folder / "Shop_case.json", json.dumps(case, indent=2))


def opensearch_list() -> dict[str, Any]:
    """A judgment list as it is sent to OpenSearch, its ratings as text."""
    return {
        "name": "Imported Judgments",
        "description": "Judged elsewhere",
        "type": "IMPORT_JUDGMENT",
        "judgmentRatings": [
            {"query": query, "ratings": [{"docId": doc, "rating": f"{grade}.000"} for doc, grade in docs.items()]}
            for query, docs in GRADES.items()
        ],
    }


def found_by_opensearch(*documents: dict[str, Any]) -> dict[str, Any]:
    """What OpenSearch returns where it finds these documents."""
    hits = [
        {"_index": "search-relevance-judgment", "_id": f"id-{at}", "_score": 1.0, "_source": doc}
        for at, doc in enumerate(documents)
    ]
    return {
        "took": 3,
        "timed_out": False,
        "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
        "hits": {"total": {"value": len(hits), "relation": "eq"}, "max_score": 1.0, "hits": hits},
    }


def opensearch_sent(folder: Path) -> Path:
    return _written(folder / "sent.json", json.dumps(opensearch_list(), indent=2))


def opensearch_returned(folder: Path) -> Path:
    kept = {"id": "id-0", "timestamp": "2026-11-20T03:04:05.000Z", "status": "COMPLETED", "metadata": {}}
    return _written(folder / "got.json", json.dumps(found_by_opensearch({**kept, **opensearch_list()}), indent=2))


def ubi_queries() -> list[dict[str, Any]]:
    """The queries of UBI: their ids are those of searches, and their texts those of GRADES. One has found nothing."""
    return [
        {
            "application": "shop",
            "query_id": f"0b7e-{at}",
            "client_id": "c-1",
            "user_query": query,
            "query": '{"query": {"match": {"title": "tv"}}}',
            "query_response_id": f"r-{at}",
            "query_response_hit_ids": docs,
            "query_attributes": {},
            "timestamp": "2026-11-20T03:04:05.000Z",
        }
        for at, (query, docs) in enumerate({**RETURNED, NOTHING: []}.items())
    ]


def _lines(values: Iterable[object]) -> str:
    return "".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values)


def ubi_lines(folder: Path) -> Path:
    """One query a line."""
    return _written(folder / "ubi_queries.jsonl", _lines(ubi_queries()))


def ragas_samples() -> list[dict[str, Any]]:
    """Samples of RAGAS; the references are the documents with a grade above 0, and have no grades themselves."""
    return [
        {
            "user_input": query,
            "retrieved_contexts": ["A text." for _ in docs],
            "retrieved_context_ids": docs,
            "reference_context_ids": [doc for doc, grade in GRADES[query].items() if grade],
            "response": "An answer.",
            "reference": "The answer.",
        }
        for query, docs in RETURNED.items()
    ]


def ragas_lines(folder: Path) -> Path:
    """As EvaluationDataset.to_jsonl writes it."""
    return _written(folder / "samples.jsonl", _lines(ragas_samples()))

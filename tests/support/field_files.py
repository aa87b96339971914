"""Files as Quepid, OpenSearch, UBI and RAGAS write them, with small invented content, and the rows that they hold.

Every builder writes a file to a folder and returns its path. All judgments are GRADES and all results RETURNED, but
where a builder says what else it holds; the texts of queries have a comma and quotes, and one query has no judgment.
"""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

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
            "query_text": query,
            "ratings": [
                *({"doc_id": doc, "rating": float(grade), "user_email": "a@b.example"} for doc, grade in docs.items()),
                {"doc_id": "tv-8", "rating": None},
            ],
        }
        for query, docs in {**GRADES, NOTHING: {}}.items()
    ]
    case = {"case_name": "Shop", "owner_email": "a@b.example", "queries": queries, "try": {"name": "Try 1"}}
    return _written(folder / "Shop_case.json", json.dumps(case, indent=2))


def opensearch_returned(folder: Path) -> Path:
    """A judgment list as OpenSearch returns it, its ratings as text."""
    ratings = [
        {"query": query, "ratings": [{"docId": doc, "rating": f"{grade}.000"} for doc, grade in docs.items()]}
        for query, docs in GRADES.items()
    ]
    kept = {"name": "Imported Judgments", "type": "IMPORT_JUDGMENT", "status": "COMPLETED", "judgmentRatings": ratings}
    hits = [{"_index": "search-relevance-judgment", "_id": "id-0", "_score": 1.0, "_source": kept}]
    found = {"took": 3, "hits": {"total": {"value": 1, "relation": "eq"}, "max_score": 1.0, "hits": hits}}
    return _written(folder / "got.json", json.dumps(found, indent=2))


def _lines(values: Iterable[object]) -> str:
    return "".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values)


def ubi_lines(folder: Path) -> Path:
    """The queries of UBI: their ids are those of searches, and their texts those of GRADES. One has found nothing."""
    queries = (
        {
            "query_id": f"0b7e-{at}",
            "user_query": query,
            "query": '{"query": {"match": {"title": "tv"}}}',
            "query_response_hit_ids": docs,
            "timestamp": "2026-11-20T03:04:05.000Z",
        }
        for at, (query, docs) in enumerate({**RETURNED, NOTHING: []}.items())
    )
    return _written(folder / "ubi_queries.jsonl", _lines(queries))


def ragas_lines(folder: Path) -> Path:
    """Samples of RAGAS; the references are the documents with a grade above 0, and have no grades themselves."""
    samples = (
        {
            "user_input": query,
            "retrieved_contexts": ["A text." for _ in docs],
            "retrieved_context_ids": docs,
            "reference_context_ids": [doc for doc, grade in GRADES[query].items() if grade],
        }
        for query, docs in RETURNED.items()
    )
    return _written(folder / "samples.jsonl", _lines(samples))

"""Exports of Quepid, OpenSearch, UBI and RAGAS, as they are or by their recipe, score as the same tables do in TREC."""

import csv
import json

import pytest
from commands import command_line
from pages import recipe

pytestmark = pytest.mark.embedded

TV, LAMP, NOTHING = "4k tv", 'lamp, "warm" light', "warp drive"
GRADES = {TV: {"tv-1": 3, "tv-2": 0, "tv-3": 1}, LAMP: {"100": 2, "101": 1}}
#: In their order; tv-9 and 107 are not judged, and a query was not found.
RETURNED = {TV: ["tv-3", "tv-1", "tv-9", "tv-2"], LAMP: ["107", "101", "100"]}
#: Quepid has rows for queries that found nothing, and for documents that nobody has rated.
SOME_REJECTED = ("--max-rejected-fraction", "0.5")

BASIC = [
    ("query", "docid", "rating"),
    *((query, doc, float(grade)) for query, docs in GRADES.items() for doc, grade in docs.items()),
    (NOTHING, "", ""),
]
DETAILED = [
    ("Team Name", "Case ID", "Query Text", "Doc ID", "Doc Position", "Title", "Rating", "brand"),
    *(
        ("Search, EU", 12, query, doc, at, f"The {doc}", GRADES[query].get(doc, ""), "Acme")
        for query, docs in RETURNED.items()
        for at, doc in enumerate(docs, start=1)
    ),
    ("Search, EU", 12, NOTHING, *[""] * 5),
]
OPENSEARCH = [
    {
        "query": query,
        "ratings": [{"docId": doc, "rating": f"{grade}.000"} for doc, grade in docs.items()],
    }
    for query, docs in GRADES.items()
]
QUEPID = [
    {
        "query_text": query,
        "ratings": [
            *(
                {"doc_id": doc, "rating": float(grade), "user_email": "a@b.example"}
                for doc, grade in docs.items()
            ),
            {"doc_id": "tv-8", "rating": None},
        ],
    }
    for query, docs in {**GRADES, NOTHING: {}}.items()
]
UBI = [
    {
        "query_id": f"0b7e-{at}",
        "user_query": query,
        "query_response_hit_ids": docs,
        "timestamp": "2026-11-20T03:04:05Z",
    }
    for at, (query, docs) in enumerate({**RETURNED, NOTHING: []}.items())
]
#: What has no grade above 0 is no reference, and so is not judged.
REFERENCES = {
    query: {doc: 1 for doc, grade in docs.items() if grade} for query, docs in GRADES.items()
}
RAGAS = [
    {
        "user_input": query,
        "retrieved_context_ids": docs,
        "reference_context_ids": [*REFERENCES[query]],
    }
    for query, docs in RETURNED.items()
]


def written(path, rows):
    """A file of rows: CSV, one JSON object, or JSON lines, as its name says."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        if path.suffix == ".csv":
            csv.writer(stream).writerows(rows)
        else:
            stream.write(
                json.dumps(rows)
                if path.suffix == ".json"
                else "".join(f"{json.dumps(row)}\n" for row in rows)
            )
    return path


def plain(folder, judged=GRADES):
    """The same judgments and results in formats of our own."""
    qrels = [
        {"query_id": q, "doc_id": d, "relevance": g}
        for q, docs in judged.items()
        for d, g in docs.items()
    ]
    run = [{"query_id": query, "doc_ids": docs} for query, docs in RETURNED.items()]
    return written(folder / "qrels.jsonl", qrels), written(folder / "run.jsonl", run)


def scored(folder, judgments, results, *options):
    """What the command line finds, by query and cutoff: another rank or grade changes a score."""
    asked = ("--per-query", "--format", "json", "--cutoffs", "1,2,3,all")
    done = command_line("evaluate", judgments, results, *asked, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        (row["query_id"], row["cutoff"]): (row["ndcg"], row["returned"], row["judged"])
        for row in rows
    }


def test_csv_of_quepid_is_read_and_no_row_is_lost(tmp_path):
    qrels, run = plain(tmp_path)
    basic, detailed = (
        written(tmp_path / "basic.csv", BASIC),
        written(tmp_path / "detailed.csv", DETAILED),
    )
    expected = scored(tmp_path, qrels, run)
    assert len({*expected.values()}) == 7
    for tables in ((basic, run), (detailed, run), (detailed, detailed)):
        assert scored(tmp_path, *tables, *SOME_REJECTED) == expected
    for tables in ((basic, run), (detailed, run), (qrels, basic)):
        assert command_line("evaluate", *tables, cwd=tmp_path).returncode == 3


@pytest.mark.parametrize(
    ("tool", "name", "export", "judged"),
    [
        (
            "OpenSearch",
            "opensearch.json",
            {"hits": {"hits": [{"_source": {"judgmentRatings": OPENSEARCH}}]}},
            GRADES,
        ),
        ("Quepid", "quepid.json", {"case_name": "Shop", "queries": QUEPID}, GRADES),
        ("UBI", "ubi_queries.jsonl", UBI, GRADES),
        ("RAGAS", "samples.jsonl", RAGAS, REFERENCES),
    ],
)
def test_other_exports_are_read_after_their_recipe(
    tmp_path, monkeypatch, tool, name, export, judged
):
    qrels, run = plain(tmp_path, judged)
    written(tmp_path / name, export)
    monkeypatch.chdir(tmp_path)
    exec(recipe(tool, "python"), {})  # noqa: S102  # our own page
    given = {"judgments.csv": qrels, "results.parquet": run}
    made = [tmp_path / name for name in given if (tmp_path / name).exists()]
    assert made
    given |= {path.name: path for path in made}
    assert scored(tmp_path, *given.values()) == scored(tmp_path, qrels, run)

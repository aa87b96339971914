"""Files of search tools, evaluated as they are or by a recipe: every document counts."""

import json
import math

import field_files
import pytest
from commands import command_line
from field_files import GRADES, RETURNED
from pages import recipe

pytestmark = pytest.mark.embedded

WHOLE = None
CUTOFFS = (1, 2, 3, WHOLE)
#: The references of RAGAS have no grades; what is none of them is not judged.
REFERENCES = {query: {doc: 1 for doc, grade in docs.items() if grade} for query, docs in GRADES.items()}


def dcg(grades, cutoff):
    return sum((2**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades[:cutoff], start=1))


def expected(judged=GRADES):
    """NDCG, and how many documents are returned and judged, by query and cutoff: another rank or grade changes one."""
    found = {}
    for query, documents in RETURNED.items():
        grades = judged[query]
        for cutoff in CUTOFFS:
            gained = dcg([grades.get(doc, 0) for doc in documents], cutoff)
            ideal = dcg(sorted(grades.values(), reverse=True), cutoff)
            top = documents[:cutoff]
            found[query, cutoff] = (pytest.approx(gained / ideal), len(top), sum(doc in grades for doc in top))
    return found


def scored(folder, judgments, results, *options):
    """What the command line finds, by query and cutoff."""
    asked = ("--per-query", "--format", "json", "--cutoffs", "1,2,3,all")
    done = command_line("evaluate", judgments, results, *asked, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {(row["query_id"], row["cutoff"]): (row["ndcg"], row["returned"], row["judged"]) for row in rows}


def refused(folder, judgments, results, *options):
    """What the command line says of input that it refuses."""
    done = command_line("evaluate", judgments, results, *options, cwd=folder, COLUMNS="1000", NO_COLOR="1")
    assert (done.returncode, done.stdout) == (3, "")
    return done.stderr


@pytest.fixture
def qrels(tmp_path):
    """The judgments of GRADES in a format of our own."""
    rows = [
        {"query_id": query, "doc_id": doc, "relevance": grade}
        for query, docs in GRADES.items()
        for doc, grade in docs.items()
    ]
    path = tmp_path / "qrels.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def run(tmp_path):
    """The results of RETURNED in a format of our own."""
    path = tmp_path / "run.jsonl"
    lines = (json.dumps({"query_id": query, "doc_ids": docs}) for query, docs in RETURNED.items())
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


#: Quepid has rows for queries that found nothing, and for documents that nobody has rated.
SOME_REJECTED = ("--max-rejected-fraction", "0.5")


@pytest.mark.parametrize("build", [field_files.quepid_basic, field_files.quepid_detailed])
def test_judgments_of_quepid_are_read_and_no_row_is_lost(tmp_path, run, build):
    assert scored(tmp_path, build(tmp_path), run, *SOME_REJECTED) == expected()
    assert refused(tmp_path, build(tmp_path), run)


@pytest.mark.parametrize(
    ("tool", "build", "name", "judged"),
    [
        ("OpenSearch", field_files.opensearch_returned, "opensearch.json", GRADES),
        ("Quepid", field_files.quepid_case, "quepid.json", GRADES),
        ("UBI", field_files.ubi_lines, "ubi_queries.jsonl", GRADES),
        ("RAGAS", field_files.ragas_lines, "samples.jsonl", REFERENCES),
    ],
)
def test_other_exports_are_read_after_their_recipe(tmp_path, monkeypatch, qrels, run, tool, build, name, judged):
    build(tmp_path).rename(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    exec(recipe(tool, "python"), {})  # noqa: S102  # our own page
    made = [path for path in (tmp_path / "judgments.csv", tmp_path / "results.parquet") if path.exists()]
    assert made
    judgments = made[0] if made[0].suffix == ".csv" else qrels
    assert scored(tmp_path, judgments, made[-1] if made[-1].suffix == ".parquet" else run) == expected(judged)


def test_one_export_of_quepid_is_both_tables(tmp_path):
    export = field_files.quepid_detailed(tmp_path)
    assert scored(tmp_path, export, export, *SOME_REJECTED) == expected()


def test_ratings_of_quepid_given_as_results_are_refused(tmp_path, qrels):
    assert "rank" in refused(tmp_path, qrels, field_files.quepid_basic(tmp_path))

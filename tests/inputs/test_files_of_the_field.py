"""Files of Quepid, OpenSearch and RAGAS as these tools write them, evaluated as they are: every document counts."""

import json
import math

import field_files
import pandas as pd
import pytest
from commands import command_line
from field_files import GRADES, RETURNED, TV
from scored import queries

pytestmark = pytest.mark.embedded

WHOLE = None
CUTOFFS = (1, 2, 3, WHOLE)
BY_TEXT = ("--column", "results.query_id=user_query")
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


#: One of each way in; test_tool_exports reads what else the tools write.
JUDGMENTS = [
    field_files.quepid_basic,
    field_files.quepid_basic_snapshot,
    field_files.quepid_detailed,
    field_files.quepid_case,
    field_files.opensearch_sent,
    field_files.opensearch_returned,
]
RESULTS = [
    (field_files.quepid_detailed, ()),
    (field_files.quepid_snapshot, ()),
    (field_files.ubi_lines, BY_TEXT),
    (field_files.ubi_bulk, BY_TEXT),
    (field_files.ragas_lines, ()),
]


@pytest.mark.parametrize("build", JUDGMENTS, ids=lambda build: build.__name__)
def test_judgments_are_read_as_the_tool_writes_them(tmp_path, run, build):
    assert scored(tmp_path, build(tmp_path), run) == expected()


@pytest.mark.parametrize(("build", "options"), RESULTS, ids=[build.__name__ for build, _ in RESULTS])
def test_results_are_read_as_the_tool_writes_them(tmp_path, qrels, build, options):
    assert scored(tmp_path, qrels, build(tmp_path), *options) == expected()


def test_one_export_of_quepid_is_both_tables(tmp_path):
    export = field_files.quepid_detailed(tmp_path)
    assert scored(tmp_path, export, export) == expected()


def test_judgments_and_logs_of_opensearch_meet_in_the_text_of_the_query(tmp_path):
    judgments, results = field_files.opensearch_returned(tmp_path), field_files.ubi_returned(tmp_path)
    assert scored(tmp_path, judgments, results, *BY_TEXT) == expected()


def test_the_id_of_a_query_of_ubi_counts_before_its_text(tmp_path):
    ids = {query["user_query"]: query["query_id"] for query in field_files.ubi_queries()}
    judgments = tmp_path / "qrels.json"
    judgments.write_text(json.dumps({ids[query]: docs for query, docs in GRADES.items()}), encoding="utf-8")
    by_id = {(ids[query], cutoff): row for (query, cutoff), row in expected().items()}
    assert scored(tmp_path, judgments, field_files.ubi_lines(tmp_path)) == by_id


def test_one_file_of_ragas_is_both_tables(tmp_path):
    samples = field_files.ragas_lines(tmp_path)
    assert scored(tmp_path, samples, samples, "--relevance", "1") == expected(REFERENCES)


def test_the_lists_of_ragas_are_refused_in_csv_where_they_are_text(tmp_path, qrels):
    said = refused(tmp_path, qrels, field_files.ragas_csv(tmp_path))
    assert "retrieved_context_ids has a list of documents, which CSV cannot hold; write JSON lines" in said


def test_the_references_of_ragas_have_no_grades(tmp_path, run):
    assert "relevance" in refused(tmp_path, field_files.ragas_lines(tmp_path), run)


def test_judgments_given_as_results_are_refused(tmp_path, qrels):
    said = refused(tmp_path, qrels, field_files.opensearch_sent(tmp_path))
    assert "judgmentRatings, which are judgments; is this the judgments file?" in said


def test_logs_given_as_judgments_are_refused(tmp_path, run):
    said = refused(tmp_path, field_files.ubi_returned(tmp_path), run)
    assert "query_response_hit_ids, which are results; is this the results file?" in said


def test_ratings_of_quepid_given_as_results_are_refused(tmp_path, qrels):
    assert "rank" in refused(tmp_path, qrels, field_files.quepid_basic(tmp_path))


def test_a_grade_that_is_missing_in_any_other_file_is_a_refused_row(tmp_path, run):
    path = tmp_path / "qrels.csv"
    path.write_text(f"query_id,doc_id,rating\n{TV},tv-1,3\n{TV},tv-9,\n", encoding="utf-8")
    assert "1 relevance value(s) that are not finite numbers" in refused(tmp_path, path, run)


def in_the_library(session, judgments, results, **options):
    """What `evaluate` finds, by query and cutoff."""
    rows = queries(session, judgments, results, cutoffs=CUTOFFS, **options).query_scores
    return {(row["query_id"], row["cutoff"]): (row["ndcg"], row["returned"], row["judged"]) for row in rows}


UBI = [{**query, "query_id": query["user_query"]} for query in field_files.ubi_queries()]
TABLES = {
    "the samples of RAGAS in pandas": lambda folder: pd.DataFrame(field_files.ragas_samples()),
    "the log of UBI in pandas": lambda folder: pd.DataFrame(UBI),
    "what OpenSearch returns of UBI": lambda folder: field_files.found_by_opensearch(*UBI, index="ubi_queries"),
    "a snapshot of Quepid in pandas": lambda folder: pd.read_csv(field_files.quepid_snapshot(folder)),
    "a detailed export of Quepid in pandas": lambda folder: pd.read_csv(field_files.quepid_detailed(folder)),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_library_takes_the_results_of_tools(session, tmp_path, name):
    assert in_the_library(session, GRADES, TABLES[name](tmp_path)) == expected()


JUDGED = {
    "a judgment list of OpenSearch": lambda folder: field_files.opensearch_list(),
    "what OpenSearch returns": lambda folder: field_files.found_by_opensearch(field_files.opensearch_list()),
    "a case of Quepid": lambda folder: json.loads(field_files.quepid_case(folder).read_text(encoding="utf-8")),
    "a basic export of Quepid in pandas": lambda folder: pd.read_csv(field_files.quepid_basic(folder)),
    "one with documents that nobody has rated": lambda folder: pd.read_csv(field_files.quepid_basic_snapshot(folder)),
}


@pytest.mark.parametrize("name", JUDGED)
def test_the_library_takes_the_judgments_of_tools(session, tmp_path, name):
    assert in_the_library(session, JUDGED[name](tmp_path), RETURNED) == expected()


def test_the_library_takes_one_table_of_ragas_for_both(session):
    samples = pd.DataFrame(field_files.ragas_samples())
    assert in_the_library(session, samples, samples, relevance=1) == expected(REFERENCES)

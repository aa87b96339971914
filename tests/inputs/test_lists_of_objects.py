"""A query as a row with a list of objects, one for each document, as tools of retrieval write it."""

import itertools
import json

import listed
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from commands import command_line
from input_files import judged, returned, written
from listed import GRADES, LISTS, expected, ndcg_of, ndcg_of_file, score_at, to_spark, write
from sessions import alternated, on_spark, paired
from tables import assert_table

from ndcg_spark.errors import InputError
from ndcg_spark.schemas import BROKEN_LINE, FAULT


def objects(document, **others):
    """The list of each query: of each document an object with its id and what the others are, at its place."""
    lists = {}
    for query, documents in LISTS.items():
        lists[query] = []
        for place, name in enumerate(documents):
            values = {key: value(place) for key, value in others.items()}
            lists[query].append({document: name, **values})
    return lists


def text(place):
    return f"text {place} {{\n"


def doc(place):
    return {"contents": text(place), "score": -1}


def sentence_transformers():
    lists = objects("corpus_id", score=score_at)
    return [{"query_id": q, "query": f"what is {q}", "results": docs} for q, docs in lists.items()]


def rank_llm():
    lists = objects("docid", score=score_at, doc=doc)
    return [{"query": {"text": "what", "qid": q}, "candidates": d} for q, d in lists.items()]


def haystack():
    lists = objects("id", content=text, score=score_at, meta=lambda _: {"file": "x"})
    return [{"query_id": q, "query": "what", "documents": docs} for q, docs in lists.items()]


def llama_index():
    """Each object has its node, which has the id."""
    lists = objects("id_", text=text)
    nodes = {
        query: [{"node": node, "score": score_at(at)} for at, node in enumerate(found)]
        for query, found in lists.items()
    }
    return [{"query_id": query, "source_nodes": found} for query, found in nodes.items()]


def ids_alone():
    """Neither scores nor ranks: the place in the list is the rank."""
    return [{"qid": q, "hits": docs} for q, docs in objects("docno", title=text).items()]


def ranked_backwards():
    """The ranks decide, not the places."""
    lists = objects("docno", rank=lambda place: place + 1)
    return [{"qid": q, "hits": docs[::-1]} for q, docs in lists.items()]


TOOLS = {
    "sentence-transformers": sentence_transformers,
    "rank_llm": rank_llm,
    "Haystack": haystack,
    "LlamaIndex": llama_index,
    "ids alone": ids_alone,
    "ranks": ranked_backwards,
}
FILES = ("run.jsonl", "run.ndjson.gz", "run.json", "run.json.gz", "run.parquet", "run.orc")
TABLES = {
    "rows": list,
    "pandas": pd.DataFrame,
    "Polars": pl.DataFrame,
    "Arrow": pa.Table.from_pylist,
    "Spark": lambda rows: to_spark(pa.Table.from_pylist(rows)),
}


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("tool", "name"),
    on_spark(paired(TOOLS, FILES), ("LlamaIndex", "run.parquet"), ("ranks", "run.jsonl")),
)
def test_a_file_of_a_tool_has_the_number_of_the_definition(tmp_path, tool, name):
    run = write(tmp_path / name, TOOLS[tool]())
    assert ndcg_of_file(run) == pytest.approx(expected(), abs=1e-12)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("tool", "kind"),
    on_spark(paired(TOOLS, TABLES), ("LlamaIndex", "Spark")),
)
def test_a_table_of_the_same_rows_has_the_same_number(tool, kind):
    assert ndcg_of(TABLES[kind](TOOLS[tool]())) == pytest.approx(expected(), abs=1e-12)


JUDGED = [
    *zip(
        ["qrels.jsonl", "qrels.json.gz", "qrels.parquet"],
        ["relevance", "label", "score"],
        strict=True,
    )
]


@pytest.mark.parametrize(("name", "grade"), on_spark(JUDGED, JUDGED[0], JUDGED[2]))
def test_judgments_may_be_objects_with_grades(engine, tmp_path, name, grade):
    rows = [
        {"query_id": query, "documents": [{"doc_id": d, grade: g} for d, g in grades.items()]}
        for query, grades in GRADES.items()
    ]
    table = judged(engine, write(tmp_path / name, rows)).table
    read = table.withColumn("relevance", table["relevance"].cast("double"))
    expected = [(q, d, float(g)) for q, docs in GRADES.items() for d, g in docs.items()]
    assert_table(read, "query_id string, doc_id string, relevance double", *expected)


@pytest.mark.parametrize("name", ["run.jsonl", "run.json", "run.parquet"])
@pytest.mark.parametrize("path", ["name", "found.name"])
def test_the_fields_of_objects_can_be_named(tmp_path, name, path):
    # The field that is called like a document's id is another thing.
    lists = objects("name", docno=lambda _: "x", odds=score_at)
    rows = [{"about": {"key": q, "qid": 1}, "found": docs} for q, docs in lists.items()]
    columns = {"query_id": "about.key", "doc_id": path, "score": "odds"}
    run = write(tmp_path / name, rows)
    assert ndcg_of_file(run, columns=columns) == pytest.approx(expected(), abs=1e-12)


def test_what_the_fields_are_is_told_alike_for_files_of_all_formats(tmp_path):
    told = set()
    for name in ("run.jsonl", "run.json", "run.parquet"):
        run = write(tmp_path / name, rank_llm())
        done = command_line("check", listed.qrels(tmp_path), run, cwd=tmp_path)
        told.add("\n".join(line for line in done.stderr.splitlines() if " is " in line))
    (words,) = told
    for name in ("query.qid", "candidates.docid", "candidates.score"):
        assert name in words


def test_the_predictions_of_mteb_are_read_and_those_of_several_splits_refused(tmp_path):
    scores = {q: {d: score_at(at) for at, d in enumerate(docs)} for q, docs in LISTS.items()}
    meta = {"mteb_model_meta": {"model_name": "m", "revision": None}}
    run = written(
        tmp_path / "Task_predictions.json", json.dumps({**meta, "default": {"test": scores}})
    )
    assert ndcg_of_file(run) == pytest.approx(expected(), abs=1e-12)
    splits = {**meta, "default": {"test": scores, "dev": scores}}
    written(run, json.dumps(splits))
    with pytest.raises(InputError, match="2 splits, default/test, default/dev"):
        ndcg_of_file(run)


def test_an_empty_list_has_no_results_and_no_list_is_a_broken_row(tmp_path):
    first, *others = sentence_transformers()
    run = write(tmp_path / "run.jsonl", [{**first, "results": []}, *others])
    lists = {**LISTS, first["query_id"]: []}
    assert ndcg_of_file(run) == pytest.approx(expected(lists), abs=1e-12)
    write(run, [*others, {**first, "results": None}])
    with pytest.raises(InputError, match="without a doc_id"):
        ndcg_of_file(run)


GOOD = '{"query_id": "q0", "results": [{"corpus_id": "001", "score": 2.5}, {"corpus_id": "002", "score": 1}]}\n'
#: Lines that are nearly such rows, with what is said.
BROKEN = {
    "an id among the objects": '{"query_id": "q1", "results": [{"corpus_id": "001", "score": 1}, "002"]}',
    "an object for the list": '{"query_id": "q1", "results": {"corpus_id": "001", "score": 1}}',
    "a key twice": '{"query_id": "q1", "results": [{"corpus_id": "001", "corpus_id": "002", "score": 1}]}',
    "an object for an id": '{"query_id": "q1", "results": [{"corpus_id": {"id": "001"}, "score": 1}]}',
    "a list that ends early": '{"query_id": "q1", "results": [{"corpus_id": "001", "score": 1}',
}


@pytest.mark.embedded
@pytest.mark.parametrize("fault", BROKEN)
def test_a_line_that_is_nearly_such_a_row_is_a_broken_line(engine, tmp_path, fault):
    run = written(tmp_path / "run.jsonl", f"{GOOD}{BROKEN[fault]}\n")
    expected = ("001", None), ("002", None), (None, BROKEN_LINE)
    read = returned(engine, run).table.withColumnRenamed(FAULT, "fault")
    assert_table(read, "doc_id string, fault string", *expected)


ROWS = {
    "an object with the query": {"query": {"id": "q0"}, "doc_id": "001", "score": 1.0},
    "a list of objects": {"query_id": "q0", "hits": [{"docid": "001", "score": 1.0}]},
    "a row": {"query_id": "q0", "doc_id": "001", "score": 1.0},
}


@pytest.mark.parametrize(
    ("shape", "name"),
    on_spark(
        itertools.product(ROWS, ["run.jsonl", "run.json", "run.parquet"]),
        ("a list of objects", "run.parquet"),
    ),
)
def test_a_key_without_a_name_is_one_that_is_not_ours(engine, tmp_path, shape, name):
    for value in (0, [1], "x"):
        run = write(tmp_path / name, [{"": value, **ROWS[shape]}])
        read = returned(engine, run).table
        assert_table(read, "query_id string, doc_id string", ("q0", "001"))


#: Rows that cannot be read, with what is said and what to do.
REFUSED = {
    "two lists of documents": (
        {"query_id": "q0", "hits": [{"docid": "001"}], "reranked": [{"docid": "002"}]},
        ["2 columns have lists of documents, hits, reranked", "results.doc_id=hits.docid"],
    ),
    "two objects with the query": (
        {"query": {"qid": "q0"}, "topic": {"qid": "q0"}, "hits": [{"docid": "001"}]},
        ["2 fields may be the query_id, query.qid and topic.qid", "results.query_id=query.qid"],
    ),
    "no id of the query": (
        {"number": {"text": "what"}, "hits": [{"docid": "001"}]},
        ["1 column(s) missing, query_id", "--column results.query_id=NAME"],
    ),
    "two names of an id": (
        {"query_id": "q0", "hits": [{"docno": "001", "pid": "2"}]},
        ["2 columns may be the doc_id, docno and pid", "results.doc_id=docno"],
    ),
}


@pytest.mark.parametrize(("shape", "name"), alternated(REFUSED, ["run.jsonl", "run.parquet"]))
def test_what_may_be_read_in_two_ways_is_refused_with_what_to_write(tmp_path, shape, name):
    row, words = REFUSED[shape]
    run = write(tmp_path / name, [row])
    done = command_line("evaluate", listed.qrels(tmp_path), run, cwd=tmp_path)
    assert done.returncode == 3
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize("end", ["", "]", ",]", "] x", "{}]"])
def test_a_list_of_json_that_is_cut_or_goes_on_is_refused_with_the_place(tmp_path, end):
    whole = json.dumps(sentence_transformers())
    text = whole[:-1] + end
    run = written(tmp_path / "run.json", text)
    if text == whole:
        assert ndcg_of_file(run) == pytest.approx(expected(), abs=1e-12)
        return
    with pytest.raises(InputError, match="is not JSON"):
        ndcg_of_file(run)

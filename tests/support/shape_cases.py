"""Files of every shape that tools write, each with the rows that it must be read as.

On the embedded engine: `main`, in a process of its own. Every case is a function of a folder, which writes a file and
returns the settings of its table.
"""

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ndcg_spark import casting, config
from ndcg_spark.contract.check import check_tables
from ndcg_spark.engine import Engine
from ndcg_spark.errors import NdcgSparkError
from ndcg_spark.job.inputs import adapted, sources_of
from ndcg_spark.schemas import JUDGMENTS, RESULTS

GRADES = [("11", "a", 2.0), ("11", "b", 0.0), ("12", "c", 1.0)]
#: A run's lists in their order, with scores that order them likewise.
LISTS = {"11": [("b", 2.5), ("a", 0.5)], "12": [("c", 1.5)]}
ROWS = [(query, doc, score, at + 1) for query, ranked in LISTS.items() for at, (doc, score) in enumerate(ranked)]

#: What must be read: judgments, then results as (run, query, document, score, rank), null for a column that is absent.
JUDGED = sorted(GRADES)
SCORED = sorted(("one", query, doc, score, None) for query, doc, score, _ in ROWS)
RANKED = sorted(("one", query, doc, None, rank) for query, doc, _, rank in ROWS)
BOTH = sorted(("one", query, doc, score, rank) for query, doc, score, rank in ROWS)

_SCORES = {query: dict(ranked) for query, ranked in LISTS.items()}
_GRADED = {query: {d: int(g) for q, d, g in GRADES if q == query} for query in ("11", "12")}


def text(name, *lines):
    def write(folder):
        content = "".join(f"{line}\n" for line in lines).encode()
        (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return {"path": str(folder / name)}

    return write


def parquet(name, **columns):
    def write(folder):
        pq.write_table(pa.table(columns), folder / name)
        return {"path": str(folder / name)}

    return write


def mapped(write, **settings):
    return lambda folder: {**write(folder), **settings}


def _columns(rows, *names):
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _lists(of, name, **more):
    rows = [{"user_id": int(query), name: [doc for doc, _ in ranked]} for query, ranked in of.items()]
    return [{**row, **{k: [v for _, v in of[str(row["user_id"])]] for k in more}} for row in rows]


def _part_files(folder):
    folder.mkdir()
    for at, row in enumerate(ROWS):
        parquet(f"part-0000{at}.parquet", **_columns([row[:3]], "query_id", "doc_id", "score"))(folder)
    return {"path": str(folder)}


_QRELS_LISTS = {query: [(d, g) for q, d, g in GRADES if q == query] for query in ("11", "12")}
_ORED = _lists(LISTS, "items", scores=1)

JUDGMENTS_READ = {
    "TREC": text("qrels.txt", *(f"{q} 0 {d} {g:g}" for q, d, g in GRADES)),
    "three fields": text("qrels.tsv", *(f"{q}\t{d}\t{g:g}" for q, d, g in GRADES)),
    "BEIR": text("test.tsv", "query-id\tcorpus-id\tscore", *(f"{q}\t{d}\t{g:g}" for q, d, g in GRADES)),
    "ir_datasets": text(
        "q.jsonl", *(json.dumps({"query_id": q, "doc_id": d, "relevance": g, "iteration": "0"}) for q, d, g in GRADES)
    ),
    "JSON": text("q.json", json.dumps(_GRADED)),
    "lists, JSON lines": text(
        "q.jsonl",
        *(
            json.dumps({"query_id": q, "doc_ids": [d for d, _ in docs], "relevance": [g for _, g in docs]})
            for q, docs in _QRELS_LISTS.items()
        ),
    ),
}

RESULTS_READ = {
    "TREC": (BOTH, text("a.txt", *(f"{q} Q0 {d} {r} {s} one" for q, d, s, r in ROWS))),
    "ColBERT": (
        BOTH,
        mapped(text("one.tsv", *(f"{q}\t{d}\t{r}\t{s}" for q, d, s, r in ROWS)), columns={"rank": "3", "score": "4"}),
    ),
    "PyTerrier": (
        BOTH,
        text("one.csv", "qid,docid,docno,rank,score,query", *(f"{q},7,{d},{r},{s},what" for q, d, s, r in ROWS)),
    ),
    "TREC, a run's name of words": (
        [("one", *row[1:]) for row in BOTH],
        text("a.run", *(f"{q} Q0 {d} {r} {s} one of 2 runs" for q, d, s, r in ROWS)),
    ),
    "JSON of ranks, with numbers of keys given": (
        RANKED,
        mapped(
            text("one.json", json.dumps({query: {d: r for q, d, _, r in ROWS if q == query} for query in LISTS})),
            columns={"rank": "3"},
        ),
    ),
    "JSON with runs around": (SCORED, text("a.json.gz", json.dumps({"one": _SCORES}))),
    "files of one tag": (
        sorted([(name, *row[1:]) for name in ("one", "two") for row in BOTH]),
        lambda folder: {
            "path": [
                text(f"{name}.run.gz", *(f"{q} Q0 {d} {r} {s} Anserini" for q, d, s, r in ROWS))(folder)["path"]
                for name in ("one", "two")
            ],
            "run_from": "file",
        },
    ),
    "part files without a run": (SCORED, lambda folder: _part_files(folder / "one.parquet")),
    "lists, JSON lines": (
        RANKED,
        text("one.jsonl", *(json.dumps({k: v for k, v in row.items() if k != "scores"}) for row in _ORED)),
    ),
    "lists with scores, JSON lines": (BOTH, text("one.jsonl.gz", *map(json.dumps, _ORED))),
    "lists with scores, Parquet": (
        BOTH,
        parquet("one.parquet", **_columns([tuple(row.values()) for row in _ORED], "userId", "items", "scores")),
    ),
    "lists of structs, as ALS recommends, Parquet": (
        BOTH,
        parquet(
            "one.parquet",
            user=list(LISTS),
            recommendations=[[{"item": d, "rating": s} for d, s in docs] for docs in LISTS.values()],
        ),
    ),
    "an empty list has no results": (
        RANKED,
        parquet("one.parquet", user_id=[*LISTS, "13"], items=[*([d for d, _ in docs] for docs in LISTS.values()), []]),
    ),
}

_GOOD = '{"user_id": 11, "items": ["a", "b"], "scores": [2, 1]}'
#: Results that are refused, with what the message says.
REFUSED = {
    "TREC, a blank in a document's id": (
        text("r.run", "11 Q0 iphone 12 1 9.5 r", "11 Q0 b 2 8.5 r", "11 Q0 iphone pro 3 7.5 r"),
        "2 line(s) that are not rows, e.g. 11 Q0 iphone 12 1 9.5 r; correct them in FOLDER/r.run",
    ),
    "distances beside ranks": (
        text("r.run", "11 Q0 a 1 0.1 r", "11 Q0 b 2 0.2 r", "11 Q0 c 3 0.2 r", "12 Q0 a 0 1 r", "12 Q0 b 1 2 r"),
        "score and rank contradict each other in all lists of 1 run(s), e.g. in 1 of run=r",
    ),
    "JSON, a run without documents": (
        text("r.json", '{"r": {"11": {"a": 1.5}}, "s": {"11": {}}}'),
        "is not {run: {query: {document: score}}} below 's'",
    ),
    "no column where one is to name runs": (
        mapped(text("r.csv", "qid,docno,score", "1,a,1"), run_from="column"),
        "run_from is column, and ",
    ),
    "JSON and text after it": (text("r.json", '{"11": {"a": 1}} {"12": {"a": 1}}'), "is not valid JSON"),
    "lists of unequal length, JSON": (
        text("r.jsonl", _GOOD, '{"user_id": 12, "items": ["c"], "scores": [2, 1]}'),
        '1 row(s) whose lists of documents and of scores or grades differ in length, e.g. {"user_id": 12',
    ),
    "lists of unequal length, Parquet": (
        parquet("r.parquet", user_id=["11", "12"], items=[["a"], ["c"]], scores=[[2.0], [2.0, 1.0]]),
        "1 row(s) whose lists of documents and of scores or grades differ in length, e.g. query_id=12",
    ),
    "a list with null, Parquet": (
        parquet("r.parquet", user_id=["11"], items=[["a", None]], scores=[[2.0, 1.0]]),
        "1 row(s) without a doc_id",
    ),
    "no list, Parquet": (
        parquet("r.parquet", user_id=["11", "12"], items=[["a"], None], scores=[[2.0], None]),
        "1 row(s) without a doc_id",
    ),
    "lists in a list, JSON": (
        text("r.jsonl", _GOOD, '{"user_id": 12, "items": [["c"]], "scores": [2]}'),
        "1 line(s) with a value that is an array",
    ),
    "lists in a list, Parquet": (
        parquet("r.parquet", user_id=["11"], items=[[["a"]]]),
        "1 column(s) of the wrong type, doc_id is array<string>",
    ),
    "one score for a list": (
        parquet("r.parquet", user_id=["11"], items=[["a"]], score=[1.0]),
        "doc_id is array<string>, and score is double; write both as arrays",
    ),
}


def rows_of(engine: Engine, number: int, writers: dict[str, Any], checked: bool = False) -> Any:
    """The rows of one table, sorted; the message if it is refused. With `checked`, every row is held to the rules."""
    usual = {"judgments": text("usual.qrels", "11 0 a 1"), "results": text("usual.run", "11 Q0 a 1 1 x")}
    with tempfile.TemporaryDirectory() as name:
        try:
            settings = config.validate({k: {**usual, **writers}[k](Path(name)) for k in usual}, "test")
            sources = sources_of(engine, settings)
            if checked:
                held = adapted(settings, *sources)
                return sum(run.rows for run in check_tables(*sources, held).result_counts.runs)
            schema = (JUDGMENTS, RESULTS)[number]
            table = casting.conform(sources[number].table, schema, "test")
            found = [row.asDict() for row in table.collect()]
        except NdcgSparkError as error:
            return f"{error.exit_code} {str(error).replace(name, 'FOLDER')}"
    names = [field for field in schema.names if field != "dataset"]
    names = names if number == 0 else ["run", "query_id", "doc_id", "score", "rank"]
    return sorted([row.get(column) for column in names] for row in found)

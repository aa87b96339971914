"""Files of the shapes that tools write, read as they are, and those that are refused, with what is said."""

import pytest
import sessions
from checked import check_tables
from input_files import judged, returned, written

from ndcg_spark import config, rules
from ndcg_spark.errors import InputError
from ndcg_spark.schemas import RESULTS

#: Query, document, score and rank, or one of these.
BOTH = [("11", "a", 0.5, 2), ("11", "b", 2.5, 1), ("12", "c", 1.5, 1)]
SCORED, RANKED = (
    [(q, d, s, None) for q, d, s, _ in BOTH],
    [(q, d, None, r) for q, d, _, r in BOTH],
)
ITEMS = {"user_id": [11, 12], "items": [["b", "a"], ["c"]]}
SCORES = {"scores": [[2.5, 0.5], [1.5]]}
RUN = "".join(f"{q} Q0 {d} {r} {s} Anserini\n" for q, d, s, r in BOTH)
ROW = {"query_id": ["11"], "doc_id": ["a"], "score": [0.5]}
REST = {"query_id": ["11", "12"], "doc_id": ["b", "c"], "score": [2.5, 1.5]}


def structs(column, document, score):
    """A file of BOTH with this column of lists, whose structs have these fields."""
    lists = [
        [{document: "b", score: 2.5}, {document: "a", score: 0.5}],
        [{document: "c", score: 1.5}],
    ]
    return {"one.parquet": {"user": ["11", "12"], column: lists}}


#: The files, the settings, the rows; the run is called one.
RESULTS_READ = {
    "JSON of ranks": (
        {"one.json": '{"11": {"b": 1, "a": 2}, "12": {"c": 1}}'},
        {"columns": {"rank": "3"}},
        RANKED,
    ),
    "JSON, gzipped": (
        {"one.json.gz": '{"10": {}, "11": {"b": 2.5, "a": 0.5}, "12": {"c": 1.5}}'},
        {},
        SCORED,
    ),
    "files of one tag": ({"one.run.gz": RUN}, {"run_from": "file"}, BOTH),
    "part files": (
        {"one.parquet/part-00000.parquet": ROW, "one.parquet/part-00001.parquet": REST},
        {},
        SCORED,
    ),
    "lists with scores, JSON lines": (
        {
            "one.jsonl.gz": '{"user_id": 11, "items": ["b", "a"], "scores": [2.5, 0.5]}\n'
            '{"user_id": 12, "items": ["c"], "scores": [1.5]}\n'
        },
        {},
        BOTH,
    ),
    "lists with scores, Parquet": ({"one.parquet": ITEMS | SCORES}, {}, BOTH),
    "lists of structs, as ALS recommends": (structs("recommendations", "item", "rating"), {}, BOTH),
    "lists of structs by a name of lists": (structs("doc_ids", "item", "score"), {}, BOTH),
    "lists of structs by the name of their documents": (
        structs("doc_id", "doc_id", "score"),
        {},
        BOTH,
    ),
    "an empty list": (
        {"one.parquet": {"user_id": [11, 12, 13], "items": [*ITEMS["items"], []]}},
        {},
        RANKED,
    ),
}

REFUSED = {
    "JSON with runs": (
        "r.json",
        '{"r": {"11": {"a": 1.5}}, "s": {"11": {}}}',
        "one file per run",
    ),
    "JSON and text after it": ("r.json", '{"11": {"a": 1}} {"12": {"a": 1}}', "is not JSON, "),
    "lists of unequal length": (
        "r.parquet",
        ITEMS | {"scores": [[2.0, 1.0], [2.0, 1.0]]},
        "1 line(s) that are not rows, e.g. lists of different lengths, query_id=12 doc_id: 1 score: 2",
    ),
    "a list with null": (
        "r.parquet",
        {"user_id": ["11"], "items": [["a", None]]},
        "1 row(s) without a doc_id",
    ),
    "no list": ("r.parquet", ITEMS | {"items": [["a"], None]}, "1 row(s) without a doc_id"),
    "lists in a list": (
        "r.parquet",
        {"user_id": ["11"], "items": [[["a"]]]},
        "1 column(s) of the wrong type, doc_id is array<string>",
    ),
    "one score for a list": (
        "r.parquet",
        {"user_id": ["11"], "items": [["a"]], "score": [1.0]},
        "doc_id is array<string>, but score is double; write both as arrays",
    ),
}
#: Shapes whose reader is not that of another one: read on classic Spark, too.
VARIED = {
    *(
        "JSON of ranks",
        "files of one tag",
        "part files",
        "lists with scores, Parquet",
        "lists of unequal length",
    ),
}


def chosen(shapes):
    return [shape for shape in shapes if sessions.choice == "embedded" or shape in VARIED]


@pytest.mark.parametrize("shape", chosen(RESULTS_READ))
def test_results_of_a_tool_are_read_as_they_are(engine, tmp_path, shape):
    files, settings, rows = RESULTS_READ[shape]
    for name, content in files.items():
        written(tmp_path / name, content)
    read = rules.conform(returned(engine, tmp_path, **settings).table, RESULTS).collect()
    names = ("run", "query_id", "doc_id", "score", "rank")
    assert sorted(tuple(row.asDict().get(name) for name in names) for row in read) == [
        ("one", *row) for row in rows
    ]


def test_what_the_fields_of_structs_are_is_told(engine, tmp_path):
    ((name, content),) = structs("recommendations", "item", "rating").items()
    written(tmp_path / name, content)
    notes = returned(engine, tmp_path).notes
    assert "doc_id is recommendations.item, score is recommendations.rating" in notes


def checked(engine, qrels, run):
    tables = judged(engine, qrels), returned(engine, run)
    settings = config.validate({"judgments": str(qrels), "results": str(run)}, "test")
    return check_tables(*tables, settings)


@pytest.mark.parametrize("shape", chosen(REFUSED))
def test_what_is_no_row_or_may_be_read_in_two_ways_is_refused(engine, tmp_path, shape):
    name, content, words = REFUSED[shape]
    with pytest.raises(InputError) as refused:
        checked(
            engine, written(tmp_path / "qrels.txt", "11 0 a 1\n"), written(tmp_path / name, content)
        )
    assert words in str(refused.value).replace(str(tmp_path), "FOLDER")

"""Small files and tables as each tool writes them: the number is that of the definition, whatever the shape."""

import math

import polars
import pytest
from evaluations import evaluated
from input_files import judged, returned, written
from sessions import alternated, on_spark
from tool_files import GRADES, JUDGED, MEAN, QRELS, RANKED, RUN, SCORED, SCORES, lines

from ndcg_spark import config, evaluate
from ndcg_spark.errors import InputError

#: Surprise's predictions: one table is both.
PREDICTIONS = [
    (query, doc, f"{grade}.0", SCORES[query][doc], "\"{'actual_k': 4, 'was_impossible': False}\"")
    for query, doc, grade in JUDGED
]
SURPRISE = lines(",", PREDICTIONS, "uid", "iid", "r_ui", "est", "details")
TYPED = ("user_id:token", "item_id:token", "rating:float", "timestamp:float")
INTERACTIONS = lines("\t", [(*row, 881250949) for row in JUDGED], *TYPED)
#: By tool: the judgments and the results with their names, and what maps the columns of the results.
TOOLS = {
    "Anserini": ("qrels.txt", QRELS, "run.trec", RUN, {}),
    "Cornac": (
        "test.txt",
        lines("\t", JUDGED),
        "scores.csv",
        lines(",", SCORED, "user", "item", "score"),
        {},
    ),
    "Elliot": ("test.tsv", lines("\t", JUDGED), "recs.tsv", lines("\t", SCORED), {"score": "3"}),
    "ESCI": (
        "examples.csv",
        lines(",", JUDGED, "query_id", "product_id", "grade"),
        "run.csv",
        lines(",", SCORED, "query_id", "product_id", "score"),
        {},
    ),
    "Excel": (
        "judgments.csv",
        "sep=;\r\n" + lines(";", JUDGED, "query", "item", "grade"),
        "run.csv",
        "SEP=,\n" + lines(",", SCORED, "query", "item", "score"),
        {},
    ),
    "Excel, tabs": (
        "judgments.csv",
        "sep=\t\r\n" + lines("\t", JUDGED, "query", "item", "grade"),
        "run.tsv",
        "sep=\t\n" + lines("\t", SCORED, "query", "item", "points"),
        {"score": "points"},
    ),
    "a shop": (
        "judgments.csv",
        lines(",", JUDGED, "query", "product", "grade"),
        "run.csv",
        lines(",", SCORED, "query", "sku", "score"),
        {},
    ),
    "LensKit": (
        "test.csv",
        lines(",", JUDGED, "user_id", "item_id", "rating"),
        "recs.csv",
        lines(",", RANKED, "user", "item", "score", "rank"),
        {},
    ),
    "Microsoft recommenders": (
        "test.csv",
        lines(",", JUDGED, "userID", "itemID", "rating"),
        "top_k.csv",
        lines(",", SCORED, "userID", "itemID", "prediction"),
        {},
    ),
    "NTCIR": (
        "topics.qrels",
        QRELS,
        "TEAM-E-R1.txt",
        "<SYSDESC>BM25, no feedback</SYSDESC>\n" + RUN,
        {},
    ),
    "Pyserini, MS MARCO": (
        "qrels.tsv",
        lines("\t", [(query, 0, doc, grade) for query, doc, grade in JUDGED]),
        "run.msmarco.tsv",
        lines("\t", [(query, doc, rank) for query, doc, _, rank in RANKED]),
        {},
    ),
    "RankLib -indri": ("q.txt", QRELS, "r.txt", RUN.replace(" r\n", " indri\n"), {}),
    "RecBole": ("ml.test.inter", INTERACTIONS, "run.txt", RUN, {}),
    "Surprise": ("predictions.csv", SURPRISE, "predictions.csv", SURPRISE, {}),
    "Terrier": ("qrels", QRELS, "BM25_0.res", RUN.replace(" r\n", " DPH c=1.0\n"), {}),
    "trec_eval": ("q.qrels", "# assessed twice\n" + QRELS, "r.run", "# k1 0.9\n" + RUN, {}),
}


@pytest.mark.embedded
@pytest.mark.parametrize(("tool", "suffix"), alternated(TOOLS, ["", ".gz"]))
def test_files_of_a_tool_have_the_number_of_the_definition(engine, tmp_path, tool, suffix):
    qrels, judgments, run, results, columns = TOOLS[tool]
    settings = {
        "judgments": str(written(tmp_path / f"{qrels}{suffix}", judgments)),
        "results": {
            "path": str(written(tmp_path / f"{run}{suffix}", results)),
            "columns": columns,
        },
        "cutoffs": [2],
    }
    (row,) = evaluated(config.validate(settings, "test"))[0].dataset_scores
    assert row["ndcg"] == pytest.approx(MEAN, abs=1e-12)
    assert row["queries"] == len(GRADES)


#: Tables by the names of a tool: of the judgments, of the results.
NAMES = {
    "Surprise": (("uid", "iid", "r_ui"), ("uid", "iid", "est")),
    "RecBole": (TYPED[:3], ("user_id:token", "item_id:token", "score:float")),
    "LensKit": (("user", "item", "rating"), ("user", "item", "score")),
    "ESCI": (("query_id", "product_id", "grade"), ("query_id", "product_id", "score")),
    "sentence-transformers": (
        ("query_id", "corpus_id", "label"),
        ("query_id", "corpus_id", "score"),
    ),
}


@pytest.mark.parametrize(("tool", "kind"), alternated(NAMES, ["pandas", "polars", "pyarrow"]))
def test_a_dataframe_with_the_names_of_a_tool_has_that_number(tool, kind):
    tables = [
        polars.DataFrame(table, schema=list(names), orient="row")
        for table, names in zip((JUDGED, SCORED), NAMES[tool], strict=True)
    ]
    if kind != "polars":
        tables = [table.to_pandas() if kind == "pandas" else table.to_arrow() for table in tables]
    scores = evaluate(*tables, 2).dataset_scores
    assert scores["ndcg"].tolist() == pytest.approx([MEAN], abs=1e-12)


@pytest.mark.parametrize("tool", on_spark(NAMES, "RecBole"))
def test_a_dataframe_of_spark_with_the_names_of_a_tool_has_that_number(session, tool):
    tables = [
        session.createDataFrame(table, list(names))
        for table, names in zip((JUDGED, SCORED), NAMES[tool], strict=True)
    ]
    scores = evaluate(*tables, 2).dataset_scores.collect()
    assert [row["ndcg"] for row in scores] == pytest.approx([MEAN], abs=1e-12)


#: Names of columns that lack something, whether of judgments or results, and what is said of them.
NEAR_MISSES = {
    "no grade of Surprise": (
        "judgments",
        "uid iid est",
        "missing, relevance; it has ",
    ),
    "no score of Surprise": ("results", "uid iid r_ui", "score or rank; it has uid, iid, r_ui"),
    "a product and its sku": (
        "results",
        "uid product sku est",
        "may be the doc_id, product and sku",
    ),
    "two documents": ("results", "uid iid product_id est", "may be the doc_id, iid and product_id"),
    "another type": (
        "results",
        "user_id:tokens item_id:token score:float",
        "missing, query_id; it",
    ),
    "two users": ("judgments", "user:token user_id:token item:token rating", "may be the query_id"),
    "typed, no item": (
        "judgments",
        "user_id:token rating:float",
        "missing, doc_id; it has user_id:",
    ),
    "no score of LensKit": ("results", "user item algorithm", "score or rank; it has user, item, "),
    "two scores": ("results", "user item prediction scores", "may be the score, prediction and "),
    "no item": ("results", "user title score", "missing, doc_id; it has user, title, score"),
    "two grades of ESCI": ("judgments", "query_id product_id label grade", "may be the relevance"),
    "two products": ("judgments", "query_id product_id document_id grade", "may be the doc_id"),
    "no product": ("judgments", "query_id product_title grade", "missing, doc_id; it has query_id"),
}


@pytest.mark.embedded
@pytest.mark.parametrize(("name", "kind"), alternated(NEAR_MISSES, ["csv", "tsv.gz", "inter"]))
def test_a_file_that_lacks_something_is_refused(engine, tmp_path, name, kind):
    table, names, words = NEAR_MISSES[name]
    columns = names.split()
    text = lines("," if kind == "csv" else "\t", [[1] * len(columns)], *columns)
    path = written(tmp_path / f"a.{kind}", text)
    with pytest.raises(InputError) as refused:
        (judged if table == "judgments" else returned)(engine, path)
    assert words in str(refused.value)


@pytest.mark.parametrize(("name", "kind"), alternated(NEAR_MISSES, ["pandas", "polars"]))
def test_a_dataframe_that_lacks_the_same_is_refused_alike(name, kind):
    table, names, words = NEAR_MISSES[name]
    rows = polars.DataFrame({column: [1] for column in names.split()})
    given = {"judgments": {"1": {"1": 1}}, "results": {"1": {"1": 1.0}}}
    given[table] = rows if kind == "polars" else rows.to_pandas()
    with pytest.raises(InputError) as refused:
        evaluate(**given, cutoffs=2)
    assert words in str(refused.value)


def test_recbole_without_a_header_is_text_without_one(engine, tmp_path):
    text = lines("\t", [(*row, 881250949) for row in JUDGED])
    with pytest.raises(InputError, match="the last of which is a time"):
        judged(engine, written(tmp_path / "a.inter", text))


def test_the_algorithms_of_lenskit_are_runs(engine, tmp_path):
    table = [(name, *row) for name in ("als", "knn") for row in RANKED]
    table = [(*row[:3], row[3] + (row[0] == "als"), row[4]) for row in table]
    text = lines(",", table, "Algorithm", "user", "item", "score", "rank")
    settings = {
        "judgments": str(written(tmp_path / "q.txt", QRELS)),
        "results": str(written(tmp_path / "recs.csv", text)),
        "cutoffs": [2],
    }
    outcome, _ = evaluated(config.validate(settings, "test"))
    assert [(row["run"], row["ndcg"]) for row in outcome.dataset_scores] == [
        ("als", pytest.approx(MEAN)),
        ("knn", pytest.approx(MEAN)),
    ]


def test_the_number_of_these_files_is_that_of_a_pencil():
    one = (1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3))
    two = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert pytest.approx((one + two) / 2) == MEAN

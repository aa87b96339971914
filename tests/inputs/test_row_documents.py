"""Tables of rankers: grades and scores in one table without documents, in which each row is one."""

import json
import math
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from commands import command_line
from evaluations import evaluated
from input_files import written
from sessions import on_spark, paired

from ndcg_spark import config, evaluate, explain, find_convention, reference
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import delimited
from ndcg_spark.voices import OPTIONS

#: Query, grade and score; the first two of a query tie, and one query has nothing relevant.
ROWS = [
    (1, 0, 0.5),
    (1, 2, 0.5),
    (1, 1, 0.25),
    (2, 1, 0.5),
    (2, 3, 0.75),
    (3, 0, 0.125),
    (1, 3, -1.0),
]
LIGHTGBM = {
    "qid": [q for q, _, _ in ROWS],
    "label": [g for _, g, _ in ROWS],
    "prediction": [s for _, _, s in ROWS],
}
PRESET = Convention.preset("lightgbm")


def by_definition(rows, cutoff=2, convention=PRESET):
    """The mean of the reference over the queries that count; documents are numbers of rows."""
    queries = dict.fromkeys(query for query, _, _ in rows)
    scores = []
    for query in queries:
        own = [
            (f"{at:010}", grade, score, at)
            for at, (q, grade, score) in enumerate(rows, 1)
            if q == query
        ]
        judged = [(doc, grade) for doc, grade, _, _ in own]
        returned = [(doc, score, at) for doc, _, score, at in own]
        scores.append(reference.score(str(query), judged, returned, convention, cutoff).ndcg)
    scores = [score for score in scores if score is not None]
    return sum(scores) / len(scores)


EXPECTED = by_definition(ROWS)
CSV = pd.DataFrame(LIGHTGBM).to_csv(index=False)
JSON = pd.DataFrame(LIGHTGBM).to_json(orient="records", lines=True)
#: By name of a file as a tool or pandas writes it, its content.
FILES = {
    "ranked.csv": CSV,
    "ranked.tsv": CSV.replace(",", "\t"),
    "ranked.jsonl": JSON,
    "ranked.csv.gz": CSV,
    "ranked.jsonl.gz": JSON,
    "ranked.parquet": LIGHTGBM,
    "ranked.orc": LIGHTGBM,
}
#: The tables of other rankers, as the columns of their own names.
NAMES = {
    "catboost": {"group_id": "query_id", "label": "relevance", "prediction": "score"},
    "synapseml": {"query": "query_id", "labels": "relevance", "prediction": "score"},
    "surprise": {"uid": "query_id", "r_ui": "relevance", "est": "score"},
}


def settings(path, *, judgments=None, results=None, **more):
    tables = {
        "judgments": {"path": str(path), **(judgments or {})},
        "results": {"path": str(path), **(results or {})},
    }
    return config.validate({"cutoffs": [2], "convention": "lightgbm", **tables, **more}, "test")


def ndcg(path, **more):
    (row,) = evaluated(settings(path, **more))[0].dataset_scores
    return row["ndcg"]


def refusal(path, **more):
    with pytest.raises(InputError) as error:
        evaluated(settings(path, **more))
    return error.value.worded(OPTIONS)


@pytest.mark.parametrize("name", on_spark(FILES, "ranked.csv", "ranked.parquet"))
def test_every_file_scores_as_the_reference_does(session, tmp_path, name):
    assert ndcg(written(tmp_path / name, FILES[name])) == pytest.approx(EXPECTED, abs=1e-12)


@pytest.mark.parametrize("tool", on_spark(NAMES, "synapseml"))
def test_the_columns_of_other_tools_are_named(session, tmp_path, tool):
    names = dict(zip(NAMES[tool], LIGHTGBM.values(), strict=True))
    mapped = {ours: theirs for theirs, ours in NAMES[tool].items()}
    judgments = {"columns": {name: mapped[name] for name in ("query_id", "relevance")}}
    results = {"columns": {name: mapped[name] for name in ("query_id", "score")}}
    path = written(tmp_path / "a.parquet", names)
    assert ndcg(path, judgments=judgments, results=results) == pytest.approx(EXPECTED, abs=1e-12)


@pytest.mark.embedded
def test_rows_are_numbered_over_blocks_and_files(session, tmp_path, monkeypatch):
    # Two rows to a block, and the rows of a query in several files.
    parts = delimited.Delimited.parts
    monkeypatch.setattr(delimited.Delimited, "parts", lambda self, file: parts(self, file, 16))
    many = ROWS * 5
    for at, begin in enumerate(range(0, len(many), 7)):
        some = pd.DataFrame(many[begin : begin + 7], columns=[*LIGHTGBM])
        # The second is the largest.
        more = "" if at != 1 else " " * 99
        written(tmp_path / "ranked" / f"part-{at}.csv", some.to_csv(index=False) + more)
    assert ndcg(tmp_path / "ranked") == pytest.approx(by_definition(many), abs=1e-12)


@pytest.mark.embedded
def test_ties_are_in_the_order_of_the_rows(session, tmp_path):
    rows = [("q", grade, 1.0) for grade in (0, 3, 1, 2)]
    table = pd.DataFrame(rows, columns=[*LIGHTGBM])
    for name, order in (("up.csv", table), ("down.csv", table[::-1])):
        path = written(tmp_path / name, order.to_csv(index=False))
        dcg = sum((2**grade - 1) / math.log2(at + 2) for at, grade in enumerate(order["label"]))
        best = 7 + 3 / math.log2(3) + 1 / 2
        assert ndcg(path, cutoffs=["all"]) == pytest.approx(dcg / best, abs=1e-12)


@pytest.mark.embedded
def test_numbers_of_rows_are_no_ranks_that_contradict_the_scores(session, tmp_path):
    # Every list is in the order opposite to its scores.
    rows = [(query, grade, grade) for query in range(20) for grade in (1, 2, 3)]
    path = written(tmp_path / "a.csv", pd.DataFrame(rows, columns=[*LIGHTGBM]).to_csv(index=False))
    assert ndcg(path, convention="standard") == 1


def test_labels_may_have_grades_here_too(session, tmp_path):
    letters = pd.DataFrame(LIGHTGBM).assign(label=["ISCE"[grade] for grade in LIGHTGBM["label"]])
    path = written(tmp_path / "a.parquet", letters.to_dict("list"))
    grades = {"E": 3, "C": 2, "S": 1, "I": 0}
    assert ndcg(path, judgments={"grades": grades}) == pytest.approx(EXPECTED, abs=1e-12)


@pytest.mark.embedded
def test_a_broken_line_moves_no_number(session, tmp_path):
    lines = CSV.splitlines(keepends=True)
    lines[2:2] = ["1,2\n", '1,"x"y,3\n']
    text = "".join(lines).replace("1,1,0.25", "1,one,0.25")
    path = written(tmp_path / "a.csv", text)
    outcome, _ = evaluated(settings(path, max_rejected_fraction=0.5))
    rows = [row for row in ROWS if row != (1, 1, 0.25)]
    # The row whose grade is no number is still a result, without a grade.
    assert outcome.dataset_scores[0]["ndcg"] == pytest.approx(by_definition(rows), abs=1e-12)
    assert {(row["table"], row["reason"]): row["rows"] for row in outcome.rejected} == {
        ("judgments", "broken_line"): 2,
        ("judgments", "relevance_is_no_number"): 1,
        ("results", "broken_line"): 2,
    }


def test_a_table_with_documents_is_both_as_well(session, tmp_path):
    table = {
        "uid": LIGHTGBM["qid"],
        "iid": [f"i{at}" for at in range(7)],
        "r_ui": LIGHTGBM["label"],
        "est": LIGHTGBM["prediction"],
    }
    path = written(tmp_path / "a.parquet", table)
    ids = {"query_id": "uid", "doc_id": "iid"}
    judgments, results = (
        {"columns": {**ids, "relevance": "r_ui"}},
        {"columns": {**ids, "score": "est"}},
    )
    # No convention in which the order of the rows counts.
    convention = Convention.preset("catboost")
    expected = by_definition(ROWS, convention=convention)
    assert ndcg(path, judgments=judgments, results=results, convention="catboost") == pytest.approx(
        expected
    )


NEAR = {
    "no query": ({"label": [1], "prediction": [1.0]}, "query_id"),
    "no grade": ({"qid": [1], "prediction": [1.0]}, "--column judgments.relevance=NAME"),
    "no score": ({"qid": [1], "label": [1]}, "--column results.score=NAME"),
    "one column as both": ({"qid": [1], "rating": [1]}, "rating has both"),
    "several runs": ({**LIGHTGBM, "run": ["a"] * 7}, "column run may name several runs"),
    "a category or runs": ({**LIGHTGBM, "model": ["a"] * 7}, "column model may name several runs"),
}


@pytest.mark.parametrize(
    ("name", "ending"),
    on_spark(
        paired(NEAR, ["csv", "parquet", "jsonl"]),
        ("no grade", "parquet"),
        ("several runs", "parquet"),
    ),
)
def test_a_near_miss_says_what_is_wrong(session, tmp_path, name, ending):
    columns, why = NEAR[name]
    frame = pd.DataFrame(columns)
    texts = {"csv": frame.to_csv(index=False), "jsonl": frame.to_json(orient="records", lines=True)}
    path = written(tmp_path / f"a.{ending}", texts.get(ending, columns))
    assert why in refusal(path)


@pytest.mark.embedded
@pytest.mark.parametrize("ending", ["csv", "tsv", "txt"])
def test_fields_without_names_have_numbers(session, tmp_path, ending):
    separator = {"csv": ",", "tsv": "\t", "txt": " "}[ending]
    path = written(tmp_path / f"a.{ending}", CSV.partition("\n")[2].replace(",", separator))
    assert "--column query_id=" in refusal(path)
    judgments = {"columns": {"query_id": "1", "relevance": "2"}}
    results = {"columns": {"query_id": "1", "score": "3"}}
    assert ndcg(path, judgments=judgments, results=results) == pytest.approx(EXPECTED, abs=1e-12)


@pytest.mark.embedded
def test_files_that_are_runs_are_not_one_table(session, tmp_path):
    for name in ("a.csv", "b.csv"):
        written(tmp_path / "runs" / name, CSV)
    assert "2 files are runs" in refusal(tmp_path / "runs")
    assert ndcg(tmp_path / "runs", results={"run": "one"}) == pytest.approx(by_definition(ROWS * 2))


def test_grades_that_are_the_scores_are_refused_beside_documents_too(session, tmp_path):
    columns = {"user": [1, 1], "item": ["a", "b"], "rating": [1.0, 2.0]}
    for name in ("a.csv", "a.parquet"):
        frame = pd.DataFrame(columns)
        path = written(tmp_path / name, frame.to_csv(index=False) if "csv" in name else columns)
        assert "rating has both" in refusal(path)
    with pytest.raises(InputError, match="rating has both"):
        evaluate(frame, frame)


@pytest.mark.embedded
def test_two_tables_without_documents_are_told_of_this_way(session, tmp_path):
    first, second = (written(tmp_path / name, CSV) for name in ("a.csv", "b.csv"))
    message = refusal(first, results={"path": str(second)})
    assert "if each row is a document" in message


def lazy(columns):
    return pytest.importorskip("polars").DataFrame(columns).lazy()


TABLES = {
    "pandas": pd.DataFrame,
    "pandas with the query as its index": lambda columns: pd.DataFrame(columns).set_index("qid"),
    "pyarrow": pa.table,
    "a dictionary of columns": dict,
    "Polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
    "lazy Polars": lazy,
}


def test_a_table_of_the_catalog_has_no_order(session, tmp_path):
    session.createDataFrame(pa.table(LIGHTGBM)).createOrReplaceTempView("ranked_rows")
    assert "rows have no order" in refusal("table:ranked_rows")


@pytest.mark.embedded
@pytest.mark.parametrize("name", TABLES)
def test_every_table_of_python_scores_as_the_reference_does(name):
    table = TABLES[name](LIGHTGBM)
    scores = evaluate(table, table, 2, "lightgbm")
    assert scores.dataset_scores["ndcg"].tolist() == pytest.approx([EXPECTED], abs=1e-12)


@pytest.mark.embedded
def test_the_other_functions_take_one_table_too():
    table = pd.DataFrame(LIGHTGBM)
    view = explain(table, table, query="2", convention="lightgbm").to_pandas()
    assert view["doc_id"].tolist() == ["0000000005", "0000000004"]
    old = evaluate(table, table, 2, "lightgbm").query_scores
    old = old.rename(columns={"ndcg": "ndcg@2"})[["query_id", "run", "ndcg@2"]]
    assert find_convention(old, table, table).verdict == "exact"


@pytest.mark.embedded
@pytest.mark.parametrize("name", NEAR)
def test_a_near_miss_in_python_is_refused(name):
    table = pd.DataFrame(NEAR[name][0])
    with pytest.raises(InputError) as error:
        evaluate(table, table, convention="lightgbm")
    assert "--" not in str(error.value)


@pytest.mark.embedded
def test_two_tables_of_python_are_told_of_this_way():
    with pytest.raises(InputError, match="if each row is a document"):
        evaluate(pd.DataFrame(LIGHTGBM), pd.DataFrame(LIGHTGBM))


def test_rows_of_spark_have_no_order(session):
    table = session.createDataFrame(pa.table(LIGHTGBM))
    with pytest.raises(InputError, match=r"no order.*doc_id.*toArrow"):
        evaluate(table, table, 2, "lightgbm")
    fetched = table.toArrow()
    assert evaluate(fetched, fetched, 2, "lightgbm").dataset_scores[
        "ndcg"
    ].tolist() == pytest.approx([EXPECTED])


@pytest.mark.embedded
@pytest.mark.parametrize(
    "command",
    [
        ["evaluate"],
        ["check"],
        ["explain", "--query", "1"],
        ["judge-next"],
    ],
)
def test_every_command_takes_the_path_twice(tmp_path, command):
    written(tmp_path / "ranked.csv", CSV)
    done = command_line(
        *command, "ranked.csv", tmp_path / "ranked.csv", "--format", "json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) is not None


RATED = {"rating": LIGHTGBM["label"], "prediction": LIGHTGBM["prediction"]}
IDS = {"user": LIGHTGBM["qid"], "item": [f"i{at}" for at in range(7)]}
GUIDE = (Path(__file__).parents[2] / "ndcg_spark/guides/INPUT.md").read_text(encoding="utf-8")
#: By tool, the table that it writes; the guide has the file and the command.
WRITTEN = {
    "CatBoost": dict(zip(("query_id", "label", "prediction"), LIGHTGBM.values(), strict=True)),
    "LightGBM": LIGHTGBM,
    "Microsoft recommenders \\(one table\\)": {
        "userID": IDS["user"],
        "itemID": IDS["item"],
        **RATED,
    },
    "Surprise": {
        "uid": IDS["user"],
        "iid": IDS["item"],
        "r_ui": RATED["rating"],
        "est": RATED["prediction"],
    },
    "SynapseML": dict(zip(("query", "label", "prediction"), LIGHTGBM.values(), strict=True)),
    "XGBoost": LIGHTGBM,
}


@pytest.mark.embedded
@pytest.mark.parametrize("tool", WRITTEN)
def test_the_command_of_the_guide_reads_what_a_tool_writes(tmp_path, tool):
    (added,) = re.findall(rf"^\| {tool} \|.*, given twice.*\| (.*) \|$", GUIDE, re.MULTILINE)
    name = "ranked" if tool == "SynapseML" else "ranked.csv"
    command = "" if added == "nothing" else added.strip("`")
    frame = pd.DataFrame(WRITTEN[tool])
    if name.endswith(".csv"):
        frame.to_csv(tmp_path / name, index=False)
    else:
        (tmp_path / name).mkdir()
        for at, part in enumerate((frame[:4], frame[4:])):
            part.to_parquet(tmp_path / name / f"part-0000{at}-c000.snappy.parquet", index=False)
    asked = [name, name, *command.split(), "--cutoffs", 2, "--format", "json"]
    done = command_line("evaluate", *asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["dataset_scores"]
    preset = re.search(r"--convention (\w+)", command)
    convention = Convention.preset(preset[1] if preset else "standard")
    # Items are named in the order of the rows, so ties are the same.
    expected = by_definition(ROWS, convention=convention)
    assert row["ndcg"] == pytest.approx(expected, abs=1e-12)

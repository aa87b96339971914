"""Several ids in one cell, best first, as submissions to competitions have them."""

import itertools

import listed
import pandas as pd
import pyarrow as pa
import pytest
from commands import command_line
from evaluations import evaluated
from input_files import judged, written
from listed import GRADES, LISTS, expected, ndcg_of, ndcg_of_file, to_spark
from pyarrow import parquet
from pyspark.errors import PySparkException
from sessions import alternated, on_spark, paired
from tables import assert_table

from ndcg_spark import config, evaluate
from ndcg_spark.errors import ConfigurationError, InputError

#: What may stand between two ids, for each separator.
BETWEEN = {"blank": " ", "comma": ",", "semicolon": " ; ", "pipe": "|"}
COLUMNS = {"query_id": "customer_id", "doc_id": "prediction"}


def rows(between=" ", lists=LISTS):
    return [{"customer_id": q, "prediction": between.join(docs)} for q, docs in lists.items()]


def write(path, cells):
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(cells), path)
        return path
    separator = "\t" if ".tsv" in path.suffixes else ","
    # In TSV, quotes may belong to the values.
    quote = "" if separator == "\t" else '"'
    lines = [f"{quote}{row['prediction']}{quote}" for row in cells]
    lines = [
        f"{row['customer_id']}{separator}{text}" for row, text in zip(cells, lines, strict=True)
    ]
    return written(path, "\n".join([f"customer_id{separator}prediction", *lines, ""]))


FILES = ["run.csv", "run.csv.gz", "run.tsv", "run.parquet"]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("separator", "name"),
    on_spark(paired(BETWEEN, FILES), ("comma", "run.csv.gz"), ("semicolon", "run.parquet")),
)
def test_a_file_of_cells_has_the_number_of_the_definition(tmp_path, name, separator):
    cells = rows(BETWEEN[separator])
    run = write(tmp_path / name, cells)
    read = ndcg_of_file(run, columns=COLUMNS, split_ids=separator)
    assert read == pytest.approx(expected(), abs=1e-12)


TABLES = {
    "pandas": pd.DataFrame,
    "rows": list,
    "Spark": lambda cells: to_spark(pa.Table.from_pylist(cells)),
}


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("kind", on_spark(TABLES, "Spark"))
def test_a_table_of_cells_has_the_same_number(kind):
    cells = [{"query_id": q, "doc_id": " ".join(docs)} for q, docs in LISTS.items()]
    table = TABLES[kind](cells)
    assert ndcg_of(table, split_ids={"results": "blank"}) == pytest.approx(expected(), abs=1e-12)


@pytest.mark.parametrize("name", ["run.csv", "run.parquet"])
def test_an_empty_cell_has_no_results_and_blanks_around_ids_do_not_count(tmp_path, name):
    first, second, *_ = LISTS
    lists = {**LISTS, first: [], second: ["", *LISTS[second], ""]}
    run = write(tmp_path / name, rows("  ", lists))
    read = ndcg_of_file(run, columns=COLUMNS, split_ids="blank")
    assert read == pytest.approx(expected({**LISTS, first: []}), abs=1e-12)


def test_leading_zeros_stay(engine, tmp_path):
    cells = [{"customer_id": "q0", "prediction": "0372860001 0999999999 7"}]
    for name in ("qrels.csv", "qrels.parquet"):
        path = write(tmp_path / name, cells)
        table = judged(engine, path, columns=COLUMNS, split_ids="blank", relevance=1).table
        assert_table(table, "doc_id string", ("0372860001",), ("0999999999",), ("7",))


def test_judgments_of_cells_with_one_grade(tmp_path):
    bought = {query: [d for d, grade in docs.items() if grade] for query, docs in GRADES.items()}
    judgments = write(tmp_path / "qrels.csv", rows(lists=bought))
    split = {"columns": COLUMNS, "split_ids": "blank"}
    given = listed.settings(judgments, write(tmp_path / "run.csv", rows()), **split)
    given["judgments"] |= {**split, "relevance": 1}
    (row,) = evaluated(config.validate(given, "test"))[0].dataset_scores
    scores = evaluate({q: dict.fromkeys(docs, 1) for q, docs in bought.items()}, LISTS, 5)
    assert row["ndcg"] == pytest.approx(scores.table()["ndcg@5"].item(), abs=1e-12)


@pytest.mark.parametrize("name", ["run.csv", "run.parquet"])
def test_a_document_twice_in_a_cell_is_found(tmp_path, name):
    query, *_ = LISTS
    lists = {**LISTS, query: [LISTS[query][0], *LISTS[query]]}
    run = write(tmp_path / name, rows(lists=lists))
    with pytest.raises(InputError, match=r"1 document\(s\) returned twice"):
        ndcg_of_file(run, columns=COLUMNS, split_ids="blank")


def test_an_id_with_a_blank_is_never_split_without_being_asked(engine, tmp_path):
    path = write(tmp_path / "qrels.csv", rows())
    table = judged(engine, path, columns=COLUMNS, relevance=1).table
    assert_table(table, "doc_id string", *((" ".join(docs),) for docs in LISTS.values()))


@pytest.mark.parametrize(("separator", "name"), alternated(BETWEEN, ["run.csv", "run.parquet"]))
def test_cells_that_look_like_several_ids_are_told_how_to_split_them(tmp_path, name, separator):
    run = write(tmp_path / name, rows(BETWEEN[separator].strip() or " "))
    options = [f"--column=results.{ours}={theirs}" for ours, theirs in COLUMNS.items()]
    done = command_line("evaluate", listed.qrels(tmp_path), run, *options, cwd=tmp_path)
    assert done.returncode == 3
    assert f"--split-ids results={separator}" in done.stderr
    again = (*options, "--split-ids", f"results={separator}", "--format", "json")
    done = command_line("evaluate", listed.qrels(tmp_path), run, *again, cwd=tmp_path)
    assert done.returncode == 0


def test_an_empty_id_between_separators_is_refused(tmp_path):
    run = write(tmp_path / "run.csv", rows(",,"))
    with pytest.raises(InputError, match=r"48 row\(s\) without a doc_id"):
        ndcg_of_file(run, columns=COLUMNS, split_ids="comma")


#: Cells, or rows, that are no ids with a separator, and what is said.
REFUSED = {
    "a list of Python": ({"prediction": "['a', 'b']"}, "1 cell(s) with a list in brackets"),
    "a list": ({"prediction": ["a", "b"]}, "the documents of a row are a list"),
    "a score for all": ({"prediction": "a b", "score": 1.5}, "score has one score for all"),
}


@pytest.mark.parametrize("shape", REFUSED)
def test_what_is_no_cell_of_ids_is_refused(tmp_path, shape):
    cells, words = REFUSED[shape]
    run = listed.write(tmp_path / "run.parquet", [{"customer_id": "q0", **cells}])
    with pytest.raises(InputError) as refused:
        ndcg_of_file(run, columns=COLUMNS, split_ids="blank")
    assert words in str(refused.value)


BRACKETED = [{"query_id": q, "doc_id": str(docs)} for q, docs in LISTS.items()]


@pytest.mark.parametrize("kind", on_spark(["csv", "parquet", "catalog"], "parquet", "catalog"))
def test_lists_of_python_in_files_and_tables_are_refused(session, tmp_path, kind):
    if kind == "catalog":
        to_spark(pa.Table.from_pylist(BRACKETED)).createOrReplaceTempView("bracketed")
        path = "table:bracketed"
        more = {"run": "mine"}
    else:
        cells = [{COLUMNS.get(name, name): row[name] for name in row} for row in BRACKETED]
        path = write(tmp_path / f"run.{kind}", cells)
        more = {"columns": COLUMNS}
    given = listed.settings(listed.qrels(tmp_path), path, split_ids="comma", **more)
    with pytest.raises(InputError, match="list in brackets"):
        evaluated(config.validate(given, "test"))


KINDS = ["pandas", "pandas on the session", "Spark"]
NAMES = ["results", "judgments", "exclude"]


@pytest.mark.parametrize(
    ("kind", "name"),
    on_spark(itertools.product(KINDS, NAMES), ("Spark", "results"), ("Spark", "judgments")),
)
def test_lists_of_python_in_tables_are_refused(session, kind, name):
    cells = BRACKETED
    if name == "judgments":
        cells = [{**row, "relevance": 1} for row in cells]
    table = TABLES["Spark" if kind == "Spark" else "pandas"](cells)
    tables = {"judgments": GRADES, "results": LISTS, name: table}
    chosen = None if kind == "pandas" else session
    with pytest.raises((InputError, PySparkException), match="list in brackets"):
        evaluate(**tables, split_ids={name: "comma"}, session=chosen).to_pandas()


@pytest.mark.parametrize("given", ["results", "results=dot", "runs=blank"])
def test_an_unknown_table_or_separator_is_an_error_of_configuration(tmp_path, given):
    run = write(tmp_path / "run.csv", rows())
    words = ("evaluate", listed.qrels(tmp_path), run, "--split-ids", given)
    assert command_line(*words, cwd=tmp_path).returncode == 2
    table, _, separator = given.partition("=")
    with pytest.raises(ConfigurationError):
        evaluate(GRADES, LISTS, split_ids={table: separator})


def test_tables_without_documents_have_no_separator(tmp_path):
    given = listed.settings(listed.qrels(tmp_path), tmp_path)
    given["query_attributes"] = {"path": "a.csv", "split_ids": "blank"}
    with pytest.raises(ConfigurationError, match="split_ids: unknown key"):
        config.validate(given, "test")

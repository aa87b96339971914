"""Results with neither scores nor ranks, whose order in the file is the rank."""

import json

import listed
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sessions
from commands import command_line
from evaluations import evaluated
from input_files import written
from listed import CUTOFF, LISTS, expected, ndcg_of, ndcg_of_file, to_spark
from pyarrow import csv, orc, parquet

from ndcg_spark import config, evaluate
from ndcg_spark.errors import ConfigurationError, InputError

ORDER = {"order": "file"}
#: The rows of all queries, one of each in turn: those of a query are not adjacent.
ROWS = [(query, documents[at]) for at in range(9) for query, documents in LISTS.items()]
TABLE = pa.table({"query_id": [q for q, _ in ROWS], "doc_id": [d for _, d in ROWS]})


def write(path, table=TABLE):
    """The rows as a file, as its name says; those of Parquet in several row groups."""
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=7)
        return path
    if path.suffix == ".orc":
        orc.write_table(table, path)
        return path
    rows = table.to_pylist()
    name = path.name.removesuffix(".gz")
    if name.endswith(".jsonl"):
        return written(path, "".join(f"{json.dumps(row)}\n" for row in rows))
    separator = {"csv": ",", "tsv": "\t"}.get(name.rpartition(".")[2], " ")
    lines = [separator.join(map(str, row.values())) for row in rows]
    header = [] if separator == " " else [separator.join(table.column_names)]
    return written(path, "\n".join([*header, *lines, ""]))


NAMES = (
    "run.csv",
    "run.csv.gz",
    "run.tsv",
    "run.txt",
    "run.txt.gz",
    "run.jsonl",
    "run.jsonl.gz",
    "run.parquet",
    "run.orc",
)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "name", NAMES if sessions.choice == "embedded" else ["run.csv", "run.parquet"]
)
def test_the_order_of_the_rows_of_a_file_is_the_rank(tmp_path, name):
    assert ndcg_of_file(write(tmp_path / name), ORDER) == pytest.approx(expected(), abs=1e-12)


TABLES = {
    "pandas": TABLE.to_pandas,
    "Polars": lambda: pl.from_arrow(TABLE),
    "Arrow": lambda: TABLE,
    "tuples": lambda: ROWS,
    "rows": TABLE.to_pylist,
    "runs": lambda: {"one": TABLE.to_pandas()},
    "columns": TABLE.to_pydict,
}


@pytest.mark.parametrize("kind", TABLES)
def test_the_order_of_the_rows_of_a_table_is_the_rank(kind):
    assert ndcg_of(TABLES[kind](), order="file") == pytest.approx(expected(), abs=1e-12)


def test_a_session_scores_the_order_of_tables_that_have_one(session):
    scores = evaluate(listed.GRADES, TABLE, CUTOFF, session=session, order="file").to_pandas()
    assert scores.table()[f"ndcg@{CUTOFF}"].item() == pytest.approx(expected(), abs=1e-12)
    with pytest.raises(InputError, match="rows of a Spark DataFrame have no order"):
        evaluate(listed.GRADES, to_spark(TABLE), CUTOFF, order="file")


def test_many_blocks_of_text_and_batches_of_parquet_keep_their_order(tmp_path):
    # More than a block of text, and more than a batch: each list goes through the whole file.
    rows, name = 90_000, "long-name-of-a-document" * 5
    table = pa.table(
        {
            "query_id": [f"q{at % 6}" for at in range(rows)],
            "doc_id": [f"{name}-{at}" for at in range(rows)],
        }
    )
    last = {f"{name}-{rows - 6 + at}": 1 for at in range(6)}
    judgments = written(
        tmp_path / "qrels.txt",
        "".join(f"q{int(d.rpartition('-')[2]) % 6} 0 {d} 1\n" for d in last),
    )
    csv.write_csv(table, tmp_path / "run.csv")
    parquet.write_table(table, tmp_path / "run.parquet", row_group_size=30_000)
    for name in ("run.csv", "run.parquet"):
        given = {
            "judgments": str(judgments),
            "results": str(tmp_path / name),
            "cutoffs": [None],
            "convention": {"order": "file", "discount": "position"},
        }
        (row,) = evaluated(config.validate(given, "test"))[0].dataset_scores
        # The only relevant document of each list is its last, at rank 15,000.
        assert row["ndcg"] == pytest.approx(6 / rows, abs=1e-15)


def test_a_quoted_field_over_several_lines_does_not_change_the_order(tmp_path):
    lines = ["query_id,doc_id,title"]
    for at, (query, document) in enumerate(ROWS):
        title = '"two\nlines"' if at % 3 == 0 else "one"
        lines.append(f"{query},{document},{title}")
    run = written(tmp_path / "run.csv", "\n".join([*lines, ""]))
    assert ndcg_of_file(run, ORDER) == pytest.approx(expected(), abs=1e-12)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_lists_over_several_files_go_on_in_the_order_of_the_names(tmp_path, ending):
    folder = tmp_path / "run"
    folder.mkdir()
    names = [f"part-{number:05}.{ending}" for number in range(3)]
    # The first file is the smallest.
    for name, (first, end) in zip(names, ((0, 5), (5, 20), (20, len(ROWS))), strict=True):
        write(folder / name, TABLE.slice(first, end - first))
    assert ndcg_of_file(folder, ORDER) == pytest.approx(expected(), abs=1e-12)
    given = {**listed.settings(listed.qrels(tmp_path), folder), "convention": ORDER}
    _, told = evaluated(config.validate(given, "test"))
    assert any("the order of the rows is the rank; 6 list(s)" in words for _, words in told)


def test_names_whose_order_is_unclear_are_refused_only_for_lists_over_several_files(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    write(folder / "part-9.csv", TABLE.slice(0, 20))
    write(folder / "part-10.csv", TABLE.slice(20))
    with pytest.raises(InputError, match="whose order is unclear"):
        ndcg_of_file(folder, ORDER, run="one")
    queries = pa.array(sorted(LISTS)[:3])
    is_first = pa.compute.is_in(TABLE["query_id"], value_set=queries)
    write(folder / "part-9.csv", TABLE.filter(is_first))
    write(folder / "part-10.csv", TABLE.filter(pa.compute.invert(is_first)))
    assert ndcg_of_file(folder, ORDER, run="one") == pytest.approx(expected(), abs=1e-12)


def test_each_run_of_a_file_has_places_of_its_own_unless_all_are_one(tmp_path):
    one = TABLE.append_column("run", pa.array(["one", "two"] * (len(ROWS) // 2)))
    run = write(tmp_path / "run.csv", one)
    given = {**listed.settings(listed.qrels(tmp_path), run), "convention": ORDER}
    rows = evaluated(config.validate(given, "test"))[0].dataset_scores
    for row in rows:
        documents = {}
        for query, document, name in zip(*one.to_pydict().values(), strict=True):
            if name == row["run"]:
                documents.setdefault(query, []).append(document)
        assert row["ndcg"] == pytest.approx(expected(documents), abs=1e-12)
    assert [row["run"] for row in rows]
    assert ndcg_of_file(run, ORDER, run="all") == pytest.approx(expected(), abs=1e-12)


@pytest.mark.parametrize("column", ["score", "rank", "position"])
def test_scores_and_ranks_beside_the_order_do_not_count(tmp_path, column):
    others = TABLE.append_column(column, pa.array(range(1, len(ROWS) + 1))[::-1])
    for name in ("run.csv", "run.parquet"):
        assert ndcg_of_file(write(tmp_path / name, others), ORDER) == pytest.approx(expected())
    assert ndcg_of(others, order="file") == pytest.approx(expected())


def test_a_document_that_a_list_has_twice_is_found(tmp_path):
    query, document = ROWS[0]
    twice = pa.concat_tables([pa.table({"query_id": [query], "doc_id": [document]}), TABLE])
    with pytest.raises(InputError, match=r"1 document\(s\) returned twice"):
        ndcg_of_file(write(tmp_path / "run.csv", twice), ORDER)
    best = {"order": "file", "duplicates": "best"}
    assert ndcg_of_file(tmp_path / "run.csv", best) == pytest.approx(expected(), abs=1e-12)


@pytest.mark.parametrize("name", ["run.csv", "run.tsv", "run.txt", "run.jsonl", "run.parquet"])
def test_a_file_without_scores_and_ranks_is_told_of_the_order(tmp_path, name):
    done = command_line("evaluate", listed.qrels(tmp_path), write(tmp_path / name), cwd=tmp_path)
    assert done.returncode == 3
    assert "--set order=file" in done.stderr


def test_a_table_without_scores_and_ranks_is_told_of_the_order():
    with pytest.raises(InputError, match="order=file"):
        evaluate(listed.GRADES, TABLE)


def test_a_column_that_is_named_for_the_order_contradicts_it(tmp_path):
    given = listed.settings(listed.qrels(tmp_path), write(tmp_path / "run.csv"))
    given["results"]["columns"] = {"rank": "place"}
    with pytest.raises(ConfigurationError, match="with order=file, the rank is not read"):
        config.validate({**given, "convention": ORDER}, "test")


def test_a_broken_line_takes_no_place(tmp_path):
    run = write(tmp_path / "run.csv")
    header, first, *lines = run.read_text(encoding="utf-8").splitlines()
    written(run, "\n".join([header, "q0", first, "q0,a,b", *lines, ""]))
    given = listed.settings(listed.qrels(tmp_path), run)
    given |= {"convention": ORDER, "max_rejected_fraction": 0.1}
    (row,) = evaluated(config.validate(given, "test"))[0].dataset_scores
    assert row["ndcg"] == pytest.approx(expected(), abs=1e-12)


def test_a_table_of_a_lakehouse_has_no_order(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(str(tmp_path / "run"), pd.DataFrame(TABLE.to_pydict()))
    with pytest.raises(InputError, match="have no order"):
        ndcg_of_file(tmp_path / "run", ORDER)

"""The files of SQL for warehouses declare the published files as they are, and their views show what counts."""

import functools
import random
import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import sessions
from chispa import assert_df_equality
from gated_nights import settings
from kept_nights import written
from test_views import write_odd_log

from ndcg_spark.config import validate
from ndcg_spark.errors import InputError
from ndcg_spark.job.evaluate_inputs import evaluate
from ndcg_spark.nights.commit import log_attempt
from ndcg_spark.nights.log import committed, revise
from ndcg_spark.nights.reader import read_scores
from ndcg_spark.schemas import DATASET_SCORES, EVALUATIONS, QUERY_SCORES

sqlglot = pytest.importorskip("sqlglot")
exp = sqlglot.exp

FOLDER = Path(__file__).parents[2] / "conf/external_tables"
SCHEMAS = {
    "query_scores": QUERY_SCORES,
    "dataset_scores": DATASET_SCORES,
    "evaluations": EVALUATIONS,
}
#: The columns that stand in paths, in their order there.
IN_PATHS = {
    "query_scores": ["evaluated_on", "evaluation_id"],
    "dataset_scores": ["evaluated_on", "evaluation_id"],
    "evaluations": ["evaluated_on"],
}
#: The types of each dialect: string, double, int, bigint, date and boolean.
KINDS = (pa.string(), pa.float64(), pa.int32(), pa.int64(), pa.date32(), pa.bool_())
TYPES = {
    "athena": ("STRING", "DOUBLE", "INT", "BIGINT", "DATE", "BOOLEAN"),
    "bigquery": ("STRING", "FLOAT64", "INT64", "INT64", "DATE", "BOOL"),
    "databricks": ("STRING", "DOUBLE", "INT", "BIGINT", "DATE", "BOOLEAN"),
    "snowflake": ("VARCHAR", "DOUBLE", "INT", "BIGINT", "DATE", "BOOLEAN"),
}
DIALECTS = sorted(TYPES)
#: What sqlglot does not know, and why it is there: new files are found by it.
REFRESHES = {
    "athena": "MSCK REPAIR TABLE ndcg.{}_files",
    "snowflake": "ALTER EXTERNAL TABLE ndcg.{}_files REFRESH",
}


def statements(dialect):
    """The statements of a file, without comments."""
    text = (FOLDER / f"{dialect}.sql").read_text(encoding="utf-8")
    text = re.sub(r"^--.*\n", "", text, flags=re.MULTILINE)
    return [part.strip() for part in text.split(";\n") if part.strip()]


def parsed(statement, dialect):
    # sqlglot knows BigQuery's partition columns only as columns.
    if dialect == "bigquery":
        clause = r"\n\)\nWITH PARTITION COLUMNS \((.*)\)\n"
        statement = re.sub(clause, r",\n    \1\n)\n", statement)
    return sqlglot.parse_one(statement, read=dialect)


@functools.cache
def created(dialect, kind):
    """What a file creates of a kind, by name."""
    made = {}
    for statement in statements(dialect):
        tree = parsed(statement, dialect)
        if isinstance(tree, exp.Create) and tree.kind == kind:
            made[tree.find(exp.Table).name] = tree, statement
    return made


def columns(tree):
    """Those of a table, with those of its partitions."""
    return list(tree.find_all(exp.ColumnDef))


def in_file(column):
    """The column of the files that a column is declared for."""
    key = column.find(exp.JSONPathKey)
    return key.this if key else column.name


def test_there_is_a_file_for_each_warehouse():
    assert sorted(path.stem for path in FOLDER.iterdir()) == DIALECTS


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_statement_is_one_of_its_dialect(dialect):
    unknown = [
        statement
        for statement in statements(dialect)
        if not isinstance(parsed(statement, dialect), exp.Create)
    ]
    # The log comes last, as what it has not named does not count.
    refresh = REFRESHES.get(dialect)
    assert unknown == ([refresh.format(table) for table in SCHEMAS] if refresh else [])
    assert [*created(dialect, "TABLE")] == [f"{table}_files" for table in SCHEMAS]
    assert [*created(dialect, "VIEW")] == ["nights", "query_scores", "dataset_scores"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("table", SCHEMAS)
def test_a_table_has_the_columns_of_the_published_files(dialect, table):
    tree, statement = created(dialect, "TABLE")[f"{table}_files"]
    types = [exp.DataType.build(name, dialect=dialect) for name in TYPES[dialect]]
    kinds = dict(zip(KINDS, types, strict=True))
    expected = {field.name: kinds[field.type] for field in SCHEMAS[table]}
    assert {in_file(one): one.kind for one in columns(tree)} == expected
    assert len(columns(tree)) == len(expected)
    # Those in paths come last, in their order.
    names = [one.name for one in columns(tree)]
    partitions = re.search(r"PARTITION(?:ED BY| BY| COLUMNS) \((.*)\)", statement)[1]
    assert [part.split()[0] for part in partitions.split(", ")] == IN_PATHS[table]
    assert names[-len(IN_PATHS[table]) :] == IN_PATHS[table]
    # What Snowflake takes out of a row, it takes as the type of the column.
    for one in columns(tree):
        for cast in one.find_all(exp.Cast):
            assert cast.to == one.kind


#: Words that a column may not have for a name in Athena without quotes, of those that could be one.
RESERVED = (
    *("array", "column", "conf", "current", "date", "day", "end", "from", "function", "group"),
    *("grouping", "interval", "map", "none", "order", "partition", "percent", "precision", "range"),
    *("references", "row", "rows", "set", "start", "table", "time", "timestamp", "to", "user"),
    *("values", "views", "window"),
)


@pytest.mark.parametrize("table", SCHEMAS)
def test_a_reserved_word_is_quoted_in_athena(table):
    tree, _ = created("athena", "TABLE")[f"{table}_files"]
    quoted = [one.name for one in columns(tree) if one.this.quoted]
    assert quoted == [one.name for one in columns(tree) if one.name in RESERVED]


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """Two nights, one evaluated again and noted; and what counts for nothing."""
    folder = tmp_path_factory.mktemp("nights")
    sessions.engine()
    lines = "".join(f"q{n},language,{'de' if n % 2 else 'fr'}\n" for n in range(60))
    (folder / "slices.csv").write_text(f"query_id,attribute,value\n{lines}", encoding="utf-8")
    more = {"query_attributes": {"path": str(folder / "slices.csv")}, "measures": ["precision"]}
    for date, worse in (("2026-11-19", 0), ("2026-11-20", 30), ("2026-11-20", 5)):
        night = settings(folder, date, worse=worse, cutoffs=[1, 3], **more)
        evaluate(validate(night, "test"), "first" if date == "2026-11-19" else None)
    out = str(folder / "out")
    revise(committed(out)[-1], note="looked at")
    log_attempt(out, "2026-11-20", "refused", InputError("why"), 3)
    written(out, "not-committed", 0.5, datasets=("default",), date="2026-11-20")
    return out


def warehouse(dialect, output, tables=tuple(SCHEMAS)):
    """The tables of a file over an output, as its own text declares them, with its views, in DuckDB."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("CREATE SCHEMA ndcg")
    made = created(dialect, "TABLE")
    for table in tables:
        tree, statement = made[f"{table}_files"]
        folder = re.search(r"(?:BUCKET/scores|@ndcg\.output)/(\w+)", statement)[1]
        files = f"{output}/{folder}{'/*' * len(IN_PATHS[table])}/*.parquet"
        source = (
            f"read_parquet('{files}', union_by_name = true, filename = true, "
            "hive_partitioning = true, hive_types_autocast = false)"
        )
        shown = [f"{declared(one)} AS {one.name}" for one in columns(tree)]
        if dialect == "snowflake":
            # Every external table has this column, the whole row.
            shown.append("NULL AS VALUE")
        connection.execute(
            f"CREATE TABLE ndcg.{table}_files AS SELECT {', '.join(shown)} FROM {source}"  # noqa: S608
        )
    for name, (tree, _) in created(dialect, "VIEW").items():
        if name == "nights" or name in tables:
            connection.execute(tree.sql("duckdb"))
    return connection


def selected(connection, table, names):
    return connection.execute(f"SELECT {', '.join(names)} FROM ndcg.{table}").fetchall()  # noqa: S608


def declared(column):
    """What a column is in DuckDB, of the columns of the files and of their paths."""
    made = column.find(exp.ComputedColumnConstraint)
    if made is not None and not column.find(exp.JSONPathKey):
        return made.this.sql("duckdb").replace("METADATA$FILENAME", "filename")
    return f'CAST("{in_file(column)}" AS {column.kind.sql("duckdb")})'


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("table", ["query_scores", "dataset_scores"])
def test_a_view_has_the_rows_that_read_scores_has(dialect, table, output):
    names = SCHEMAS[table].names
    expected = pa.Table.from_pandas(read_scores(output, table), SCHEMAS[table]).to_pylist()
    with warehouse(dialect, output) as connection:
        described = connection.execute(f"DESCRIBE ndcg.{table}").fetchall()
        shown = selected(connection, table, names)
        on_disk = {*selected(connection, f"{table}_files", IN_PATHS[table])}
    assert sorted(row[0] for row in described) == sorted(names)
    assert sorted(shown, key=repr) == sorted([(*row.values(),) for row in expected], key=repr)
    # Beside what counts: the evaluation that was replaced, and one that was not committed.
    assert (
        len(on_disk) == len({(row["evaluated_on"], row["evaluation_id"]) for row in expected}) + 2
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_verdicts_are_those_of_the_nights_that_count(dialect, output):
    names = ("dataset", "evaluated_on", "evaluation_id", "committed_at", "verdict", "reason", "run")
    with warehouse(dialect, output) as connection:
        shown = selected(connection, "nights", names)
    expected = [tuple(night.row[name] for name in names) for night in committed(output)]
    assert sorted((row[0], str(row[1]), *row[2:]) for row in shown) == sorted(expected)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("seed", range(4))
def test_the_nights_are_those_that_count_in_any_log(dialect, seed, tmp_path):
    write_odd_log(tmp_path, random.Random(seed))  # noqa: S311
    names = ("dataset", "evaluated_on", "evaluation_id")
    with warehouse(dialect, tmp_path, ["evaluations"]) as connection:
        shown = selected(connection, "nights", names)
    nights = committed(str(tmp_path))
    expected = [(one.dataset, one.evaluated_on, one.evaluation_id) for one in nights]
    assert sorted((name, str(date), which) for name, date, which in shown) == sorted(expected)


@pytest.mark.classic
def test_the_file_for_databricks_runs_on_spark_as_it_stands(output, session):
    try:
        for statement in statements("databricks"):
            session.sql(statement.replace("s3://BUCKET/scores", output))
        # A catalog other than Unity Catalog is told of partitions.
        for table in SCHEMAS:
            session.sql(f"MSCK REPAIR TABLE ndcg.{table}_files SYNC PARTITIONS")
        for table in ("query_scores", "dataset_scores"):
            names = SCHEMAS[table].names
            shown = session.sql(f"SELECT {', '.join(names)} FROM ndcg.{table}")  # noqa: S608
            expected = read_scores(output, table, session=session).select(*names)
            assert_df_equality(shown, expected, ignore_row_order=True, ignore_nullable=True)
    finally:
        session.sql("DROP DATABASE IF EXISTS ndcg CASCADE")

"""What counts in an output: as our readers see it, and as DuckDB does with the names of the records."""

import contextlib
from pathlib import Path
from unittest import mock

import duckdb

from ndcg_spark.nights import expire
from ndcg_spark.nights.layout import TABLES
from ndcg_spark.nights.read import read_rows
from ndcg_spark.nights.records import committed

#: The column of each table that tests fill; the formula of EVALUATIONS is in the record of a night.
VALUES = {
    "query_scores": "ndcg",
    "dataset_scores": "ndcg",
    "rejected_rows": "score",
    "ranked_documents": "score",
    "comparisons": "mean",
    "evaluations": "formula",
}


def seen(output):
    """The rows (evaluation_id, value as text) of every table that has some, by dataset and date of the night."""
    found = {}
    for night in committed(str(output)):
        rows = {table: read_rows([night], table, ["evaluation_id", VALUES[table]]).to_pylist() for table in TABLES}
        found[night.dataset, night.evaluated_on] = {
            table: sorted((*map(str, row.values()),) for row in of) for table, of in rows.items() if of
        }
    if "://" not in str(output):
        others = _by_duckdb(Path(output))
        assert others == found, f"DuckDB sees {others}, our readers {found}"
    return found


def _by_duckdb(output):
    """The same without a line of ndcg_spark: the greatest name among the records of a night is that which counts."""
    nights = [[*night.glob("*.json")] for night in output.glob("_evaluations/*/*")]
    newest = [max(records, key=lambda path: path.name) for records in nights if records]
    places = [(*(part.split("=")[1] for part in path.parts[-3:-1]), path.stem.partition("-")[2]) for path in newest]
    found = {place[:2]: {} for place in places}
    with duckdb.connect(config={"threads": 1}) as connection:
        for table, value in VALUES.items():
            # It refuses a pattern that no file matches.
            with contextlib.suppress(duckdb.IOException):
                read = f"read_parquet('{output}/{table}/*/*/*/*.parquet', hive_types_autocast=false)"
                query = f"select dataset, evaluated_on, evaluation_id, {value} from {read}"  # noqa: S608  # our own words
                for *night, evaluation, number in connection.execute(query).fetchall():
                    if (*night, evaluation) in places:
                        found[(*night,)].setdefault(table, []).append((evaluation, str(number)))
    return {night: {table: sorted(rows) for table, rows in tables.items()} for night, tables in found.items()}


def counting(output):
    """The ids of the evaluations that count, in the order of their nights."""
    return [night.evaluation_id for night in committed(str(output))]


def files(output):
    """Every file of a local output, as paths in it."""
    return {str(path.relative_to(output)) for path in Path(output).rglob("*") if path.is_file()}


def cleaned(output):
    """What a cleanup says that comes a day later, when whatever has no record is waste."""
    with mock.patch.object(expire, "SECONDS_WITHOUT_RECORD", -1.0):
        return expire.remove(str(output), expire.waste(str(output)))

"""Publishes nights in tables of Delta and Iceberg without an engine, here or in a process that is killed."""

import datetime
import os
import signal
import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
from programs import PROCESSES
from publish_and_die import EVALUATED_ON, Staged, record
from readers import VALUES

from ndcg_spark.nights.sink import Sink
from ndcg_spark.nights.table_publication import TablePublication

#: The tables that every night has; rejected rows are those that one may lack.
ALWAYS = ("query_scores", "dataset_scores")
#: The same tables as a library names them, by the output of Spark that they are.
LIBRARY: dict[str, str] = {}


def iceberg_environment(folder: Path, warehouse: str | None = None) -> dict[str, str]:
    """The settings by which pyiceberg knows the catalog `ice`, kept in a file; its tables may be on an S3 server."""
    settings = {
        "TYPE": "sql",
        "URI": f"sqlite:///{folder}/catalog.db",
        "WAREHOUSE": warehouse or f"file://{folder}/warehouse",
        "S3__ENDPOINT": os.environ.get("AWS_ENDPOINT_URL", ""),
    }
    return {f"PYICEBERG_CATALOG__ICE__{name}": value for name, value in settings.items()}


def staged(
    output: str,
    evaluation_id: str,
    ndcg: float,
    *,
    rejected: bool = False,
    datasets: tuple[str, ...] = ("web",),
    evaluated_on: datetime.date = EVALUATED_ON,
    staging: str,
) -> TablePublication:
    """A publication that only waits for its commit: two rows of each dataset in each table."""
    Path(staging).mkdir(exist_ok=True)
    # What was killed leaves its own.
    night = TablePublication(Sink(output), tempfile.mkdtemp(dir=staging), evaluation_id)
    for table in (*ALWAYS, *(("rejected_rows",) if rejected else ())):
        names = sorted(datasets * 2)
        values = [ndcg, ndcg / 3] * len(datasets)
        columns = {"dataset": names, VALUES[table]: list(map(str, values)) if table == "rejected_rows" else values}
        same = {"evaluated_on": evaluated_on, "evaluation_id": evaluation_id}
        night.stage(table, Staged(pa.table(columns | {name: [value] * len(names) for name, value in same.items()})))
        night.verify(table, len(names))
    return night


def publish(output: str, evaluation_id: str, ndcg: float, **night: object) -> None:
    """Publish a night of each of its datasets."""
    commit(staged(output, evaluation_id, ndcg, **night), **night)


def commit(
    publication: TablePublication,
    *,
    datasets: tuple[str, ...] = ("web",),
    evaluated_on: datetime.date = EVALUATED_ON,
    **_: object,
) -> None:
    publication.commit(record(datasets=[*datasets], evaluated_on=str(evaluated_on)))


def killed_after(replaced: int, output: str, evaluation_id: str, ndcg: float, **night: object) -> bool:
    """Whether a process that publishes a night died of SIGKILL after it had replaced the rows of so many tables."""
    arguments = (dict(os.environ), replaced, output, evaluation_id, ndcg, night)
    process = PROCESSES.Process(target=_publish_and_die, args=arguments)
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def _publish_and_die(environment, replaced, output, evaluation_id, ndcg, night):
    os.environ.update(environment)
    publication = staged(output, evaluation_id, ndcg, **night)
    tables = publication._sink._format
    replace, done = tables.replace, []

    def counted(*arguments):
        if len(done) == replaced:
            os.kill(os.getpid(), signal.SIGKILL)
        done.append(1)
        return replace(*arguments)

    tables.replace = counted
    commit(publication, **night)
    if len(done) == replaced:
        os.kill(os.getpid(), signal.SIGKILL)


def by_others(output: str, table: str) -> dict[tuple[str, str, str], int]:
    """The rows of each dataset, date and evaluation, as whoever reads a table without ndcg_spark sees them."""
    form, _, place = LIBRARY.get(output, output).partition(":")
    if form == "delta":
        from deltalake import DeltaTable

        found = pa.table(DeltaTable(f"{place}/{table}").scan(columns=["dataset", "evaluated_on", "evaluation_id"]))
    else:
        from pyiceberg.catalog import load_catalog
        from pyiceberg.utils.config import Config

        # It reads the environment when it is imported, and this test has its own.
        with load_catalog("ice", **Config().get_catalog_config("ice")) as catalog:
            found = catalog.load_table(f"{place.partition('.')[2]}.{table}").scan().to_arrow()
    rows = found.select(["dataset", "evaluated_on", "evaluation_id"]).to_pylist()
    return dict(Counter((row["dataset"], str(row["evaluated_on"]), row["evaluation_id"]) for row in rows))

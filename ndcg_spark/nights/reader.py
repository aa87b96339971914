"""Selects the nights that a command uses, and reads their rows with or without an engine."""

import concurrent.futures
import contextlib
import datetime
import functools
import itertools
import operator
import os
import statistics
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.convention.measures import COLUMNS, Cutoff
from ndcg_spark.errors import ConfigurationError, NdcgSparkError, StorageError, about, first_line
from ndcg_spark.nights.log import Night, Nights, committed, log_table, refuse_replaced
from ndcg_spark.nights.store import LOG
from ndcg_spark.schemas import DATASET_SCORES, IN_PATHS, KEPT, NO_VALUE, measure_first
from ndcg_spark.tables.table import split_slices
from ndcg_spark.tables.writers import to_pandas
from ndcg_spark.text import masked, unknown_name

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

P = ParamSpec("P")
T = TypeVar("T")
Row = dict[str, Any]
#: The query scores that every night has.
_ALWAYS = ("ndcg", "dcg", "ideal_dcg", "cg")
#: Conditions on rows: a column has one of these values, where None means null.
Where = Mapping[str, Sequence[Any]]


class ReplacedError(StorageError):
    """A night was evaluated again or removed while it was being read."""


def read_again(reader: Callable[P, T]) -> Callable[P, T]:
    """Make a function that reads the log and nights retry once if a night is replaced in the
    meantime.
    """

    @functools.wraps(reader)
    def read(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return reader(*args, **kwargs)
        except ReplacedError:
            return reader(*args, **kwargs)

    return read


@read_again
def read_scores(
    output: str | os.PathLike[str],
    table: str = "dataset_scores",
    *,
    date: datetime.date | str | None = None,
    session: "SparkSession | None" = None,
    judgments: str | None = None,
    attributes: Any = None,
) -> "pd.DataFrame | DataFrame":
    """Return the rows of a published table for all nights, or for the nights of one date.

    `table` is `dataset_scores`, `query_scores`, `comparisons`, `ranked_documents`,
    `query_attributes`, `rejected_rows`, `macro_means`, or `evaluations` (the log). The rows have
    the schema of the table and are unordered. They are a pandas DataFrame or, with a `session`, a
    lazy Spark DataFrame over exactly the files that are current when it is created. StorageError if
    the output cannot be read, or if files of a night are missing. ConfigurationError if there is no
    table with that name, or no night.

    With ``judgments="newest"``, all scores of a dataset are under the judgments of its newest
    night. For nights with different judgments, they are the scores that `rescore` computed over the
    queries that both judge; in `dataset_scores`, these have no slices and no `unjudged_queries`.
    Nights that were not rescored are left out with a warning. This option applies only to
    `query_scores` and `dataset_scores`.

    `macro_means` is not a published table. It has the unweighted means over the datasets of each
    date, computed from `dataset_scores`, for the runs that all of these datasets have.

    With `attributes` (a table with query_id, attribute and value, or with query_id and a column
    for each attribute), `dataset_scores` has the slices that an evaluation with these attributes
    would have had, instead of the slices of the nights.
    """
    from ndcg_spark.nights.macro_rows import MACRO_MEANS, read_macro_means

    known = (*KEPT, LOG, MACRO_MEANS)
    if table not in known:
        raise unknown_name("read_scores", "table", table, known)
    location = str(output)
    nights = committed(location)
    day = iso_date(date) if date else None
    if day:
        chosen = select_nights(nights, location, day)
    else:
        chosen = nights_of_dataset(nights, location, None)
    if attributes is not None:
        rows = _read_sliced(chosen, table, judgments, attributes)
    elif judgments is not None:
        # Imported here, because that module reads nights with this one.
        from ndcg_spark.nights.newest import read_newest

        rows = read_newest(nights, chosen, table, judgments)
    elif table == LOG:
        rows = log_table(row for row in nights.rows if day in (None, row["evaluated_on"]))
    elif table == MACRO_MEANS:
        rows = read_macro_means(chosen)
    elif session is not None:
        return read_nights(chosen, table, session)
    else:
        rows = read_rows(chosen, table)
    return to_pandas(rows) if session is None else session.createDataFrame(rows)


def _read_sliced(
    nights: Sequence[Night], table: str, judgments: str | None, attributes: Any
) -> pa.Table:
    """DATASET_SCORES with slices from a table of attributes, as in `evaluate`."""
    # Imported here, because commands that only read nights do not need it.
    from ndcg_spark.inputs.memory import to_arrow
    from ndcg_spark.inputs.query_tables import attribute_rows
    from ndcg_spark.nights.sliced import read_sliced

    if table != "dataset_scores" or judgments is not None:
        what = "attributes work only with dataset_scores under each night's own judgments"
        raise ConfigurationError(f"read_scores: {what}; leave out table and judgments")
    with about("query_attributes"):
        rows = attribute_rows(to_arrow(attributes, None))
    scores = read_sliced(nights, rows)
    if set(scores["value"].unique().to_pylist()) <= {None, NO_VALUE}:
        what = "query_attributes: none of its queries has scores in these nights"
        warnings.warn(f"{what}; check its ids", stacklevel=4)
    return scores


def iso_date(date: datetime.date | str) -> str:
    """Format a date as YYYY-MM-DD; pandas stores dates as Timestamps, which also work."""
    if isinstance(date, str):
        return date
    return datetime.date(date.year, date.month, date.day).isoformat()


def select_nights(
    nights: Nights, output: str, date: str | None = None, dataset: str | None = None
) -> list[Night]:
    """The nights of a date, by default the newest, with one night per dataset.

    `nights` are all nights of the output. StorageError if the log of the date is damaged. Without a
    date, StorageError if the log of a date after the newest night is damaged.
    """
    if date:
        newest = _last_date(nights, dataset)
        nights.refuse_damaged([date])
    else:
        newest = newest_date(nights, dataset)
    attempts = [row for row in nights.attempts if row["evaluated_on"] == date]
    if attempts and all(night.evaluated_on != date for night in nights):
        raise ConfigurationError(f"date: {_attempt_in_words(attempts[-1])}")
    chosen = []
    for night in nights_of_dataset(nights, output, dataset):
        if night.evaluated_on == (date or newest):
            chosen.append(night)
    if not chosen:
        which = f" of {dataset}" if dataset else ""
        absent = f"there is no night on {date}{which}; the newest is {newest}"
        raise ConfigurationError(f"date: {absent}; ndcg-spark nights lists them")
    return chosen


def newest_date(nights: Nights, dataset: str | None = None) -> str:
    """The date of the newest night, or an empty string if there is none.

    StorageError if the log of a later date is damaged.
    """
    newest = _last_date(nights, dataset)
    nights.refuse_damaged(date for date in nights.damaged if date > newest)
    return newest


def _last_date(nights: Nights, dataset: str | None) -> str:
    dates = [night.evaluated_on for night in nights if dataset in (None, night.dataset)]
    return max(dates, default="")


def refuse_no_nights(nights: Sequence[Night], output: str) -> None:
    """Raise ConfigurationError if an output has no published nights."""
    if not nights:
        raise ConfigurationError(f"output: no published nights in {masked(output)}; check the path")


def nights_of_dataset(nights: Sequence[Night], output: str, dataset: str | None) -> list[Night]:
    """The nights of a dataset, or of all; ConfigurationError if there are none."""
    refuse_no_nights(nights, output)
    chosen = [night for night in nights if dataset in (None, night.dataset)]
    if not chosen:
        raise unknown_name("dataset", "dataset", str(dataset), {night.dataset for night in nights})
    return chosen


def datasets_of_date(nights: Iterable[Night], date: str) -> set[str]:
    """The datasets with a night on a date."""
    return {night.dataset for night in nights if night.evaluated_on == date}


def datasets_left_out(nights: Sequence[Night], date: str, dataset: str | None = None) -> str | None:
    """A sentence about the datasets that have earlier nights but none on the date.

    None if there are no such datasets, or if a `dataset` was named.
    """
    if dataset is not None:
        return None
    last_dates: dict[str, str] = {}
    for night in sorted(nights):
        if night.evaluated_on < date:
            last_dates[night.dataset] = night.evaluated_on
    present = datasets_of_date(nights, date)
    absent = [name for name in last_dates if name not in present]
    if not absent:
        return None
    example = f"{absent[0]} (its last night is {last_dates[absent[0]]})"
    left_out = f"{len(absent)} dataset(s) have no night on {date} and are left out, e.g. {example}"
    return f"{left_out}; name one to see it"


def failed_attempts(nights: Nights, dataset: str | None = None) -> list[Mapping[str, Any]]:
    """The last evaluation of each date that published nothing, as log rows.

    A date is left out if its night was published later.
    """
    published_at: dict[str, str] = {}
    for night in nights:
        if dataset in (None, night.dataset):
            date = night.evaluated_on
            time = night.row["committed_at"] or ""
            published_at[date] = max(time, published_at.get(date, ""))
    last_attempts = {row["evaluated_on"]: row for row in nights.attempts}
    failed = []
    for date, row in last_attempts.items():
        if date not in published_at or (row["committed_at"] or "") > published_at[date]:
            failed.append(row)
    return failed


def _attempt_in_words(row: Mapping[str, Any]) -> str:
    """A sentence about an evaluation that published nothing."""
    how = f"was {row['status']} with exit code {row['exit_code']}"
    return f"{row['evaluated_on']} {how}: {row['reason']}"


def gaps_in_words(nights: Nights, dataset: str | None = None) -> list[str]:
    """Sentences about dates without a night.

    First come all dates whose log cannot be read, and then at most ten sentences about evaluations
    that published nothing and about gaps between nights that are longer than usual.
    """
    published = {night.evaluated_on for night in nights if dataset in (None, night.dataset)}
    sentences = []
    for row in failed_attempts(nights, dataset):
        again = "evaluated again, " if row["evaluated_on"] in published else ""
        sentences.append(again + _attempt_in_words(row))
    for name, own in itertools.groupby(nights, key=lambda night: night.dataset):
        if dataset in (None, name):
            sentences.extend(_long_gaps(name, [night.evaluated_on for night in own]))
    lost = [f"{date} is left out: {nights.damaged[date]}" for date in sorted(nights.damaged)]
    return lost + sentences[-10:]


def _long_gaps(dataset: str, dates: Iterable[str]) -> Iterator[str]:
    """A sentence for each gap between two nights that is longer than usual."""
    days = list(map(datetime.date.fromisoformat, dates))
    gaps = [after - before for before, after in itertools.pairwise(days)]
    if not gaps:
        return
    usual = statistics.mode(gaps)
    for before, after in itertools.pairwise(days):
        if after - before > usual:
            # The log does not know why: `expire` also removes its rows.
            gap = f"{dataset} has no night between {before} and {after}"
            yield f"{gap}: none was published, or expire removed it"


def evaluated_metrics(night: Night, rows: Iterable[Mapping[str, Any]]) -> set[tuple[str, Cutoff]]:
    """The score columns of a night with their cutoffs; `rows` are its DATASET_SCORES.

    A requested measure is included even if it is null because no document is relevant.
    """
    metrics = set(night.measure_set.metrics)
    for row in rows:
        with_value = [name for name, value in row.items() if isinstance(value, float)]
        for name in (*with_value, *_ALWAYS):
            metrics.add((name, row["cutoff"]))
    return metrics


def earlier(nights: Iterable[Night], dataset: str, evaluated_on: str) -> list[Night]:
    """The nights of a dataset before a date."""
    own = [night for night in nights if night.dataset == dataset]
    return [night for night in own if night.evaluated_on < evaluated_on]


def refuse_unverified(nights: Iterable[Night]) -> None:
    """Raise ConfigurationError for a night with unverified scores, which cannot be compared."""
    for night in nights:
        if night.unverified is not None:
            raise ConfigurationError(
                f"date: the scores of {night} are not verified ({night.unverified}); "
                "evaluate it again, or choose another night"
            )


def read_nights(nights: Sequence[Night], table: str, session: "SparkSession") -> "DataFrame":
    """The rows of a table for these nights, as a lazy DataFrame of an engine."""
    # Imported here, because nights are also read without an engine.
    from pyspark.sql.pandas.types import from_arrow_schema

    from ndcg_spark.inputs.dataframes import union_all

    parts = []
    for night in nights:
        files = night.files(table)
        if not files:
            continue
        with _reading(night, table):
            for info in night.store.system.get_file_info(list(files)):
                if info.size != files[info.path]["bytes"]:
                    raise FileNotFoundError(f"{info.path} is missing or damaged")
            night.store.refuse_changed(files)
        paths = [night.store.for_engine(path) for path in files]
        rows = read_night_files(session, table, paths, night.evaluated_on, night.evaluation_id)
        parts.append(rows.where(rows["dataset"] == night.dataset))
    if parts:
        return union_all(parts)
    # Spark Connect does not accept an empty table without a schema.
    empty = KEPT[table].empty_table()
    return session.createDataFrame(empty, from_arrow_schema(empty.schema))


def read_night_files(
    session: "SparkSession", table: str, paths: Sequence[str], date: str, evaluation_id: str
) -> "DataFrame":
    """The rows of an evaluation's files, as a lazy DataFrame of an engine."""
    # Imported here, because nights are also read without an engine.
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_schema

    key = {"evaluated_on": F.lit(date).cast("date"), "evaluation_id": F.lit(evaluation_id)}
    rows = session.read.schema(from_arrow_schema(file_schema(table))).parquet(*paths)
    return rows.withColumns(key).select(*KEPT[table].names)


def file_schema(table: str) -> pa.Schema:
    """The schema of a table's files: without the columns that are in their paths."""
    return pa.schema([field for field in KEPT[table] if field.name not in IN_PATHS])


def read_rows(
    nights: Sequence[Night],
    table: str,
    columns: Sequence[str] | None = None,
    where: Where | None = None,
) -> pa.Table:
    """The rows of a table for these nights that satisfy `where`, unordered, without an engine."""
    schema = pa.schema([KEPT[table].field(name) for name in columns or KEPT[table].names])
    return pa.Table.from_batches(read_night_batches(nights, table, schema.names, where), schema)


def night_rows(
    night: Night, table: str, columns: Sequence[str] | None = None, **where: Sequence[Any]
) -> list[Row]:
    """The rows of a table for one night as dictionaries: `night_rows(night, table, run=["a"])`."""
    return list(read_rows([night], table, columns, where).to_pylist())


def read_night_batches(
    nights: Sequence[Night], table: str, columns: Sequence[str], where: Where | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a table for these nights that satisfy `where`, batch by batch."""
    # Imported here, because it imports pandas, which `nights` and `trend` do not need.
    from pyarrow import dataset as ds

    schema = KEPT[table]
    verified = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    parquet = ds.ParquetFileFormat(default_fragment_scan_options=verified)
    for night in nights:
        day = pa.scalar(night.evaluated_on).cast(pa.date32())
        # The values of the columns that the paths contain.
        key = (pc.field("evaluated_on") == day) & (pc.field("evaluation_id") == night.evaluation_id)
        system = night.store.system
        files = night.files(table)
        fragments = []
        for path, file in files.items():
            fragments.append(parquet.make_fragment(path, system, key, file_size=file["bytes"]))
        rows = ds.FileSystemDataset(fragments, schema, parquet, system)
        condition = _condition({"dataset": [night.dataset], **(where or {})}, schema)
        with _reading(night, table):
            night.store.refuse_changed(files)
            yield from rows.to_batches(
                columns=list(columns),
                filter=condition,
                fragment_readahead=night.store.at_once,
                batch_readahead=4,
            )


def _condition(where: Where, schema: pa.Schema) -> pc.Expression:
    """The rows that have one of the given values in each of these columns."""
    conditions = []
    for column, values in where.items():
        typed = pa.array(values, schema.field(column).type)
        conditions.append(pc.field(column).isin(typed))
    return functools.reduce(operator.and_, conditions)


def refuse_changed_nights(nights: Iterable[Night]) -> None:
    """Raise StorageError if a file of a night has changed since it was written."""
    for night in nights:
        for table in KEPT:
            with _reading(night, table):
                night.store.refuse_changed(night.files(table))


def returned_nothing(row: Mapping[str, Any]) -> bool:
    """Whether a run returned nothing for any judged query, from its DATASET_SCORES row for all
    queries.

    Its scores are 0 if missing queries are scored as 0, but nothing was measured.
    """
    without_results = row["judged_rate"] is None
    without_score = (row["missing_queries"] or 0) + (row["no_relevant_queries"] or 0)
    has_other_queries = (row["queries"] or 0) > without_score
    return without_results and without_score > 0 and not has_other_queries


def answering_runs(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    """The runs that returned something for a judged query, from DATASET_SCORES of all queries."""
    return {row["run"] for row in rows if not returned_nothing(row)}


def read_dataset_scores(nights: Sequence[Night]) -> list[list[Row]]:
    """The DATASET_SCORES rows of each night without slices, sorted by run and cutoff.

    In each row, ndcg and the measures come directly after the key.
    """
    threads = nights[0].store.at_once if nights else 1
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(_scores_of_all_queries, nights))


def _scores_of_all_queries(night: Night) -> list[Row]:
    """The DATASET_SCORES rows of one night without slices."""
    empty = dict.fromkeys(measure_first(DATASET_SCORES, COLUMNS))
    key = {"evaluated_on": night.evaluated_on, "evaluation_id": night.evaluation_id}
    with _reading(night, "dataset_scores"):
        # Not one dataset of all files, which takes twice as long if each has only a few rows.
        files = night.files("dataset_scores")
        tables = [night.store.read(path, file.get("crc32")) for path, file in files.items()]
    rows = []
    for table in tables:
        # Slices are removed before rows become dictionaries, which takes the longest.
        without_slices = table.filter(pc.is_null(table["attribute"]))
        for row in without_slices.to_pylist():
            if row["dataset"] == night.dataset:
                rows.append({**empty, **row, **key})
    return split_slices(rows).all_queries


@contextlib.contextmanager
def _reading(night: Night, table: str) -> Iterator[None]:
    """Run the block, which reads a table of a night.

    ReplacedError if its files cannot be read because the night was replaced. StorageError if they
    cannot be read for a different reason.
    """
    try:
        yield
    except NdcgSparkError:
        raise
    except Exception as error:  # damaged files raise many kinds
        refuse_replaced(night, ReplacedError)
        raise StorageError(
            f"output: {table} of {night} in {night.store.location} cannot be read: "
            f"{first_line(error)}; restore its files, or evaluate that night again"
        ) from error

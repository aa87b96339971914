"""The scores of a table in memory as what a comparison reads: those of each dataset."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.comparison.compare import ScoreSource
from ndcg_spark.comparison.matrix import answered_rows
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.inputs.memory import is_number
from ndcg_spark.inputs.query_tables import column
from ndcg_spark.schemas import QUERY_SCORES

#: The columns of QUERY_SCORES that are used besides the measures.
KEY = ("dataset", "evaluated_on", "run", "query_id", "cutoff", "evaluation_id", "judgments_hash")
#: Those that tell whether a run returned anything for a query, where a table has them.
ANSWERS = ("status", "returned")


def number_columns(table: pa.Table) -> list[str]:
    hidden = {*KEY, *ANSWERS}
    return [field.name for field in table.schema if is_number(field.type) and field.name not in hidden]


def sources(table: pa.Table, measures: Sequence[str], where: str) -> list[ScoreSource]:
    """The scores of every dataset in a table with some columns of QUERY_SCORES and these measures, of one night."""
    has = {field.name: field.type for field in table.schema}
    for name in ("run", "query_id"):
        if name not in has:
            raise InputError(
                f"{where}: no column {name}; it has {', '.join(has)}; give the columns run, query_id and a measure"
            )
    known = number_columns(table)
    for name in {*measures}.difference([*known, "returned"] if "returned" in has else known):
        place = "the table" if where == "query_scores" else where
        choices = ", ".join(known) or "none"
        raise ConfigurationError(f"measures: no numbers {name!r} in {place}; it has {choices}; name one, measures=")
    kinds = {name: QUERY_SCORES.field(name).type for name in KEY} | dict.fromkeys(measures, pa.float64())
    columns = {
        name: column(table, name, kind, where) if name in has else pa.nulls(len(table), kind)
        for name, kind in kinds.items()
    }
    columns |= _answer_columns(table, where)
    rows = pa.table(columns | {"dataset": pc.fill_null(columns["dataset"], "default")})
    dates = rows["evaluated_on"].unique().to_pylist()
    if len(dates) > 1:
        raise InputError(f"{where}: scores of {len(dates)} nights, e.g. {dates[0]} and {dates[-1]}; give one")
    datasets = []
    for dataset in rows["dataset"].unique().to_pylist():
        own = rows.filter(pc.field("dataset") == dataset)
        counts = own.group_by("cutoff").aggregate([(measure, "count") for measure in measures]).to_pylist()
        metrics = []
        for measure in measures:
            valued = [row["cutoff"] for row in counts if row[f"{measure}_count"]]
            # A measure without any value is compared wherever there are rows, and says so.
            metrics += [(measure, cutoff) for cutoff in valued or [row["cutoff"] for row in counts]]
        runs = {name for name in own["run"].unique().to_pylist() if name is not None}
        answered = {*own.filter(pa.array(answered_rows(own)))["run"].unique().to_pylist()}
        evaluation_id = own["evaluation_id"][0].as_py()
        datasets.append(
            ScoreSource(
                dataset,
                dates[0],
                evaluation_id,
                sorted(runs & answered),
                metrics,
                own,
                where,
                sorted(runs - answered),
            )
        )
    return datasets


def _answer_columns(table: pa.Table, where: str) -> dict[str, pa.ChunkedArray]:
    """The columns that tell which queries were answered; null where a table has none such."""
    columns = {}
    for name in ANSWERS:
        kind = QUERY_SCORES.field(name).type
        is_ours = name in table.column_names and is_number(table[name].type) == is_number(kind)
        columns[name] = column(table, name, kind, where) if is_ours else pa.nulls(len(table), kind)
    return columns

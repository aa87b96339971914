"""Score the kept lists of published nights under other judgments, by the steps of any evaluation.

The lists are in the order in which they were scored, so their ranks give the order of everything
that is computed here. The night says which queries were answered.
"""

import functools
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from ndcg_spark import rules
from ndcg_spark.config import EvaluationConfig, Options
from ndcg_spark.contract.counting import check_judgments
from ndcg_spark.convention.convention import Convention, counted_grade
from ndcg_spark.convention.measures import MeasureSet
from ndcg_spark.engine import Engine, failures
from ndcg_spark.errors import ConfigurationError, NdcgSparkError, first_line
from ndcg_spark.inputs.dataframes import read_arrow
from ndcg_spark.inputs.source_tables import read_judgments
from ndcg_spark.job.inputs import report_read, translated_failures
from ndcg_spark.nights.copies import (
    JUDGED,
    OF_HIGHEST_GRADE,
    Rescored,
    finite_cutoffs,
    has_judgments,
    judgments_path,
    keep_judgments,
    kept_judgments,
    night_convention,
    read_copy,
    why_not_copied,
    write_copy,
)
from ndcg_spark.nights.log import Night, Nights, committed
from ndcg_spark.nights.reader import nights_of_dataset, read_nights, read_rows
from ndcg_spark.nights.store import FAILURES, Store
from ndcg_spark.schemas import QUERY_SCORES
from ndcg_spark.scoring.evaluation import query_scores
from ndcg_spark.scoring.prepare import Tables, prepare, prepare_judgments
from ndcg_spark.scoring.raising import raise_in_plan
from ndcg_spark.voices import Give

if TYPE_CHECKING:
    import datetime

#: The separator of evaluation and run in the name of a run of several nights. No id contains it.
_JOINT = "/"


class Wanted(NamedTuple):
    """The scores to compute of a night under other judgments."""

    night: Night
    fingerprint: str


class _Table(NamedTuple):
    table: DataFrame
    name: str
    origin: str = "a kept table"


def make_copies(engine: Engine, wanted: Iterable[Wanted]) -> list[str]:
    """Make the missing copies; return a sentence for each night that could not be scored.

    Only bugs are raised: without a copy, a night just cannot be compared.
    """
    sentences, possible = [], []
    for night, fingerprint in dict.fromkeys(wanted):
        reason = why_not_copied(night)
        if reason is not None:
            sentences.append(_refused(night, reason))
        elif read_copy(night, fingerprint) is None:
            possible.append(Wanted(night, fingerprint))
    for _, group in itertools.groupby(sorted(possible, key=_definition), key=_definition):
        sentences.extend(_make_together(engine, list(group)))
    return sentences


def _definition(wanted: Wanted) -> tuple[str, ...]:
    """A key; nights with equal keys are scored by one plan."""
    configuration = wanted.night.record["configuration"]
    chosen = [configuration.get(name) for name in ("cutoffs", "measures", "max_grade")]
    return wanted.night.dataset, wanted.fingerprint, wanted.night.row["options"], json.dumps(chosen)


def _make_together(engine: Engine, group: Sequence[Wanted]) -> list[str]:
    """Make the copies of nights with one definition; if that fails, make them one by one."""
    nights, fingerprint = [night for night, _ in group], group[0].fingerprint
    try:
        judgments = kept_judgments(nights[0].store, nights[0].dataset, fingerprint)
        if judgments is None:
            reason = f"judgments {fingerprint} were not kept, or are damaged; give them to rescore"
            return [_refused(night, reason) for night in nights]
        with translated_failures():
            for night, rows in _scored(engine, nights, fingerprint, judgments):
                write_copy(night, fingerprint, rows)
    except (NdcgSparkError, *FAILURES, *failures()) as error:
        if len(group) == 1:
            return [_refused(nights[0], first_line(error))]
        return [sentence for one in group for sentence in _make_together(engine, [one])]
    return []


def _refused(night: Night, reason: str) -> str:
    return f"{night} is not scored under other judgments: {reason}"


def _scored(
    engine: Engine,
    nights: Sequence[Night],
    fingerprint: str,
    judgments: pa.Table,
) -> Iterator[tuple[Night, pa.Table]]:
    """Each night with its rows of QUERY_SCORES under these judgments.

    A query that the night did not judge has rows only if its list was kept.
    """
    first, pairs = nights[0], _judged_pairs(nights)
    measures = _finite_measures(first.measure_set)
    convention, is_highest_equal = _convention_under(judgments, first, measures)
    results = _lists(engine, nights, pairs, convention)
    # The table that this process read is complete, and the engine reads the same file.
    path = first.store.for_engine(judgments_path(first.dataset, fingerprint))
    judged = engine.session.read.schema(from_arrow_schema(JUDGED)).parquet(path)
    scores = _query_scores(engine, first, judged, results, pairs, convention, measures)
    rows = _of_night(scores, pairs)
    names = rows["run"].combine_chunks()
    parts = pc.split_pattern(names, _JOINT, max_splits=1)
    evaluation = pc.list_element(parts, 0)
    rows = rows.set_column(rows.column_names.index("run"), "run", pc.list_element(parts, 1))
    if not is_highest_equal:
        for name in OF_HIGHEST_GRADE:
            nothing = pa.nulls(len(rows), pa.float64())
            rows = rows.set_column(rows.column_names.index(name), name, nothing)
    for night in nights:
        yield night, rows.filter(pc.equal(evaluation, night.evaluation_id))


def _finite_measures(measures: MeasureSet) -> MeasureSet:
    """The measures at the cutoffs that are ranks."""
    pairs = [(name, cutoff) for name, cutoff in measures.pairs if cutoff is not None]
    return MeasureSet(tuple(pairs), None, measures.options)


def _convention_under(
    judgments: pa.Table,
    night: Night,
    measures: MeasureSet,
) -> tuple[Convention, bool]:
    """The convention of an evaluation of the lists under these judgments.

    Also returns whether the highest grade is the night's, if measures depend on it. A night of
    several datasets has the highest grade of all of them, so it may differ even if the highest
    grade of its dataset does not.
    """
    given = night_convention(night)
    convention = given.replace(
        **rules.options_without_scores(given, ["rank"]),
        # The lists have been ranked, so no document occurs twice.
        duplicates="error",
        # With `error`, no pair of a run and a query in the mean is missing, but other pairs are.
        missing_query="skip" if given.missing_query == "error" else given.missing_query,
    )
    is_settled = night.record["configuration"].get("max_grade", "highest") == "highest"
    if not measures.needs_highest_grade or isinstance(convention.max_grade, str) or not is_settled:
        return convention, True
    highest = counted_grade(pc.max(judgments["relevance"]).as_py() or 0.0, convention)
    highest = highest if highest > 0 else 1.0
    return convention.replace(max_grade=highest), highest == convention.max_grade


def _judged_pairs(nights: Sequence[Night]) -> pa.Table:
    """The runs, named as in the plan, with the queries that nights judge.

    `is_empty`: the run has answered the query, but there is no document in its list.
    """
    tables = []
    for night in nights:
        first = finite_cutoffs(night)[0]
        columns = ["run", "query_id", "status", "returned"]
        rows = read_rows([night], "query_scores", columns, {"cutoff": [first]})
        convention = night_convention(night)
        is_answered = _is_answered(rows, convention)
        is_listed = pc.greater(rows["returned"], 0)
        run = pc.binary_join_element_wise(night.evaluation_id, rows["run"], _JOINT)
        is_empty = pc.and_(is_answered, pc.invert(is_listed))
        tables.append(pa.table({"run": run, "query_id": rows["query_id"], "is_empty": is_empty}))
    return pa.concat_tables(tables)


def _is_answered(rows: pa.Table, convention: Convention) -> pa.ChunkedArray:
    """Whether the run answered each query, even if nothing is left of its list.

    QUERY_SCORES does not store this, but its status shows it.
    """
    statuses = ["scored", "no_relevant"]
    if convention.missing_query == "zero" and convention.ideal in ("judged", "k_relevant"):
        # Here a query that was not answered can also have the status no_relevant.
        statuses = ["scored"]
    has_status = pc.is_in(rows["status"], pa.array(statuses))
    return pc.or_(pc.greater(rows["returned"], 0), has_status)


def _lists(
    engine: Engine,
    nights: Sequence[Night],
    pairs: pa.Table,
    convention: Convention,
) -> DataFrame:
    """The kept lists of nights, as results."""
    documents = read_nights(nights, "ranked_documents", engine.session)
    documents = documents.where(F.col("run").isNotNull())
    run = F.concat("evaluation_id", F.lit(_JOINT), "run").alias("run")
    lists = documents.select(run, "query_id", "doc_id", "rank")
    empty = pairs.filter(pairs["is_empty"])
    if not len(empty) or not convention.exclude_query_as_document:
        return lists
    # The convention removes the query itself from its list, so the list is answered but empty.
    only = pa.table(
        {
            "run": empty["run"],
            "query_id": empty["query_id"],
            "doc_id": empty["query_id"],
            "rank": pa.array([1] * len(empty), pa.int32()),
        }
    )
    return lists.unionByName(read_arrow(engine, only))


def _query_scores(
    engine: Engine,
    night: Night,
    judgments: DataFrame,
    results: DataFrame,
    pairs: pa.Table,
    convention: Convention,
    measures: MeasureSet,
) -> pa.Table:
    """QUERY_SCORES of all runs and all judged queries, whether or not a night judges them."""
    options = Options(
        convention,
        finite_cutoffs(night),
        measures,
        _date(night),
        night.dataset,
        is_dataset_chosen=False,
        is_order_chosen=True,
    )
    tables = Tables(_Table(judgments, "judgments"), _Table(results, "ranked_documents"), None)
    guard = functools.partial(raise_in_plan, tables)
    prepared = prepare(tables, options, guard, is_sail=engine.kind == "embedded")
    names = pairs["run"].unique()
    runs = pa.table({"run": names, "unjudged_queries": pa.array([0] * len(names), pa.int64())})
    (lists,) = prepared.lists
    table = query_scores(
        prepared.judgments,
        lists.results,
        engine.session.createDataFrame(runs),
        prepared.evaluation,
    )
    return table.toArrow().select(QUERY_SCORES.names).cast(QUERY_SCORES)


def _of_night(scores: pa.Table, pairs: pa.Table) -> pa.Table:
    """The rows of queries that the night judges, or whose lists it kept."""
    # Only what is needed is joined, because there may be millions of wide rows.
    key = ["run", "query_id"]
    numbered = scores.select(key).append_column("row", pa.array(np.arange(len(scores))))
    judged = numbered.join(pairs.select(key), key, join_type="inner")["row"]
    counts = np.asarray(pc.greater(scores["returned"], 0)).copy()
    counts[np.asarray(judged)] = True
    return scores.filter(pa.array(counts))


def _date(night: Night) -> "datetime.date":
    return pa.scalar(night.evaluated_on).cast(pa.date32()).as_py()  # type: ignore[no-any-return]


def rescore(
    engine: Engine,
    config: EvaluationConfig,
    output: str,
    since: str | None = None,
    dataset: str | None = None,
) -> Rescored:
    """Score the nights of an output since a date under other judgments.

    The judgments are those of the configuration or, by default, of each dataset's newest night
    whose judgments were kept. By default, both sides of each change of judgments are also scored,
    and the newest night under all judgments that were kept, so that it can be compared with any
    night. Raises ConfigurationError if no night has the dataset or none kept its judgments, and
    InputError if the judgments are refused.
    """
    nights = committed(output)
    chosen = nights_of_dataset(nights, output, dataset)
    if config.judgments is None:
        fingerprints = _newest_kept(nights)
    else:
        fingerprints = _keep_given(engine, config, chosen)
    wanted = _under_one(chosen, fingerprints)
    if config.judgments is None:
        wanted = list(dict.fromkeys([*wanted, *_under_earlier(chosen)]))
    wanted = [one for one in wanted if one.night.evaluated_on >= (since or "")]
    if not fingerprints:
        what = "judgments: no night keeps its judgments"
        raise ConfigurationError(what, Give("judgments", words="give"))
    there = sum(read_copy(*one) is not None for one in wanted)
    refused = make_copies(engine, wanted)
    return Rescored(len(wanted) - there - len(refused), there, refused)


def _under_one(nights: Iterable[Night], fingerprints: Mapping[str, str]) -> list[Wanted]:
    """Each night under the judgments of its dataset, if the night has different ones."""
    wanted = []
    for night in nights:
        fingerprint = fingerprints.get(night.dataset)
        if fingerprint is not None and fingerprint != night.row["judgments_fingerprint"]:
            wanted.append(Wanted(night, fingerprint))
    return wanted


def _under_earlier(nights: Iterable[Night]) -> Iterator[Wanted]:
    """Both sides of each change of judgments, and the newest night under all kept judgments."""
    for dataset, group in itertools.groupby(nights, key=lambda night: night.dataset):
        own = [night for night in group if night.row["judgments_fingerprint"]]
        pairs = [*itertools.pairwise(own), *((night, own[-1]) for night in own)]
        for before, after in pairs:
            old, new = (str(night.row["judgments_fingerprint"]) for night in (before, after))
            if old == new:
                continue
            if _is_kept(before.store, dataset, old):
                yield Wanted(after, old)
            if _is_kept(before.store, dataset, new):
                yield Wanted(before, new)


def _is_kept(store: Store, dataset: str, fingerprint: str) -> bool:
    with store.failures("cannot be read"):
        return has_judgments(store, dataset, fingerprint)


def _newest_kept(nights: Nights) -> dict[str, str]:
    """By dataset, the newest judgments that were kept."""
    newest: dict[str, str] = {}
    for night in nights:
        fingerprint = night.row["judgments_fingerprint"]
        if fingerprint and _is_kept(night.store, night.dataset, fingerprint):
            newest[night.dataset] = fingerprint
    return newest


def _keep_given(
    engine: Engine,
    config: EvaluationConfig,
    nights: Sequence[Night],
) -> dict[str, str]:
    """Keep the judgments of a configuration; return their fingerprints, by dataset."""
    if config.judgments is None:
        return {}
    convention = night_convention(nights[-1])
    source = read_judgments(engine, config.judgments.on(config.date), convention.gain != "judged")
    with translated_failures([source]):
        good, counts, _ = check_judgments(source, config, prepare_judgments(source, convention))
    report_read(source, counts)
    datasets = {night.dataset for night in nights}
    if None in counts.fingerprints and len(datasets) > 1:
        what = "judgments: they name no dataset, and the output has several"
        raise ConfigurationError(what, Give("dataset", words="name one with"))
    fingerprints = {}
    store = nights[0].store
    for name in sorted(datasets):
        fingerprint = counts.fingerprints.get(name) or counts.fingerprints.get(None)
        if fingerprint is None:
            continue
        own = good.where(F.col("dataset") == name) if "dataset" in good.columns else good
        with translated_failures([source]):
            rows = own.select(*JUDGED.names).toArrow()
        with store.failures("cannot be written"):
            keep_judgments(store, name, fingerprint, rows)
        fingerprints[name] = fingerprint
    return fingerprints

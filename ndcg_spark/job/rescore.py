"""Score the kept lists of published nights under different judgments, as an evaluation would.

A night keeps its lists in the order in which they were scored, so here the ranks decide the order.
Its query scores show which queries the runs answered.
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
from ndcg_spark.config import EvaluationConfig, JudgmentsConfig, Options
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
    Copy,
    Rescored,
    fingerprints_of_kept,
    finite_cutoffs,
    has_judgments,
    judgments_path,
    keep_copy,
    keep_judgments,
    kept_judgments,
    night_convention,
    read_copy,
    why_not_copied,
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

#: Several nights are scored at once, so a run is named by its evaluation and its own name, with
#: this separator. No evaluation id contains it.
_SEPARATOR = "/"
#: Judgments without any option.
_ONLY_A_PATH = JudgmentsConfig(path=["judgments"])


class _Table(NamedTuple):
    """A table to score, as `prepare` takes it."""

    table: DataFrame
    name: str
    origin: str = "a kept table"


def make_copies(engine: Engine, wanted: Iterable[Copy]) -> list[str]:
    """Make the copies that do not exist; return a sentence for each night that cannot be scored.

    A copy has a night's scores under different judgments. Without it, the night cannot be
    compared, but nothing else fails, so only bugs are raised.
    """
    sentences, missing = [], []
    for one in dict.fromkeys(wanted):
        reason = why_not_copied(one.night)
        if reason is not None:
            sentences.append(_not_scored(one.night, reason))
        elif read_copy(one.night, one.fingerprint) is None:
            missing.append(one)
    for _, group in itertools.groupby(sorted(missing, key=_definition), key=_definition):
        sentences.extend(_make_together(engine, list(group)))
    return sentences


def _definition(wanted: Copy) -> tuple[str, ...]:
    """What is computed for a night. Nights with equal definitions are scored by one plan."""
    configuration = wanted.night.record["configuration"]
    chosen = [configuration.get(name) for name in ("cutoffs", "measures", "max_grade")]
    return wanted.night.dataset, wanted.fingerprint, wanted.night.row["options"], json.dumps(chosen)


def _make_together(engine: Engine, group: Sequence[Copy]) -> list[str]:
    """Make the copies of nights with one definition, or one by one if that fails.

    Returns a sentence for each night that cannot be scored.
    """
    nights = [one.night for one in group]
    fingerprint = group[0].fingerprint
    try:
        judgments = kept_judgments(nights[0].store, nights[0].dataset, fingerprint)
        if judgments is None:
            reason = f"judgments {fingerprint} were not kept, or are damaged; give them to rescore"
            return [_not_scored(night, reason) for night in nights]
        with translated_failures():
            for night, rows in _scored(engine, nights, fingerprint, judgments):
                keep_copy(night, fingerprint, rows)
    except (NdcgSparkError, *FAILURES, *failures()) as error:
        if len(group) == 1:
            return [_not_scored(nights[0], first_line(error))]
        sentences = []
        for one in group:
            sentences.extend(_make_together(engine, [one]))
        return sentences
    return []


def _not_scored(night: Night, reason: str) -> str:
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
    first = nights[0]
    pairs = _judged_pairs(nights)
    measures = _finite_measures(first.measure_set)
    convention, is_highest_equal = _convention_under(judgments, first, measures)
    results = _lists(engine, nights, pairs, convention)
    # The engine reads the same file as this process, which has found it to be complete.
    path = first.store.for_engine(judgments_path(first.dataset, fingerprint))
    judged = engine.session.read.schema(from_arrow_schema(JUDGED)).parquet(path)
    scores = _query_scores(engine, first, judged, results, pairs, convention, measures)
    rows = _of_known_lists(scores, pairs)
    names = pc.split_pattern(rows["run"].combine_chunks(), _SEPARATOR, max_splits=1)
    evaluations, runs = pc.list_element(names, 0), pc.list_element(names, 1)
    rows = _with_column(rows, "run", runs)
    if not is_highest_equal:
        for name in OF_HIGHEST_GRADE:
            rows = _with_column(rows, name, pa.nulls(len(rows), pa.float64()))
    for night in nights:
        yield night, rows.filter(pc.equal(evaluations, night.evaluation_id))


def _with_column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    """The table with other values in a column."""
    return table.set_column(table.column_names.index(name), name, values)


def _finite_measures(measures: MeasureSet) -> MeasureSet:
    """The measures whose cutoff is a rank, not the whole ranking."""
    pairs = [(name, cutoff) for name, cutoff in measures.pairs if cutoff is not None]
    return MeasureSet(tuple(pairs), None, measures.options)


def _convention_under(
    judgments: pa.Table,
    night: Night,
    measures: MeasureSet,
) -> tuple[Convention, bool]:
    """The convention that scores the lists under these judgments.

    Also returns whether measures that depend on the highest grade can be compared, because it is
    the same as in the night. A night with several datasets has the highest grade of all of them, so
    it may be different even if this dataset's highest grade is not.
    """
    given = night_convention(night)
    convention = given.replace(
        **rules.options_without_scores(given, ["rank"]),
        # The lists have been ranked, so no document occurs twice.
        duplicates="error",
        # With `error`, each run of the night answered each query of the mean, but here there are
        # also queries that the night did not judge.
        missing_query="skip" if given.missing_query == "error" else given.missing_query,
    )
    configured = night.record["configuration"].get("max_grade", "highest")
    # The night's options contain the highest grade that it found.
    is_found = configured == "highest" and not isinstance(convention.max_grade, str)
    if not measures.needs_highest_grade or not is_found:
        return convention, True
    highest = counted_grade(pc.max(judgments["relevance"]).as_py() or 0.0, convention)
    if highest <= 0:
        highest = 1.0
    return convention.replace(max_grade=highest), highest == convention.max_grade


def _judged_pairs(nights: Sequence[Night]) -> pa.Table:
    """The runs, named as in the plan, with each query that their night judges.

    `is_empty` is true if the run answered the query, but no document is left in its list.
    """
    tables = []
    for night in nights:
        first = finite_cutoffs(night)[0]
        columns = ["run", "query_id", "status", "returned"]
        rows = read_rows([night], "query_scores", columns, {"cutoff": [first]})
        convention = night_convention(night)
        is_answered = _is_answered(rows, convention)
        is_listed = pc.greater(rows["returned"], 0)
        run = pc.binary_join_element_wise(night.evaluation_id, rows["run"], _SEPARATOR)
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
    run = F.concat("evaluation_id", F.lit(_SEPARATOR), "run").alias("run")
    lists = documents.select(run, "query_id", "doc_id", "rank")
    empty = pairs.filter(pairs["is_empty"])
    if not len(empty) or not convention.exclude_query_as_document:
        return lists
    # An empty list that the run answered gets the query itself as its only document, which the
    # convention removes again.
    only_query = pa.table(
        {
            "run": empty["run"],
            "query_id": empty["query_id"],
            "doc_id": empty["query_id"],
            "rank": pa.array([1] * len(empty), pa.int32()),
        }
    )
    return lists.unionByName(read_arrow(engine, only_query))


def _query_scores(
    engine: Engine,
    night: Night,
    judgments: DataFrame,
    results: DataFrame,
    pairs: pa.Table,
    convention: Convention,
    measures: MeasureSet,
) -> pa.Table:
    """The table QUERY_SCORES for all runs and all judged queries, even if no night judges them."""
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


def _of_known_lists(scores: pa.Table, pairs: pa.Table) -> pa.Table:
    """The rows of queries that their night judges, or whose lists it kept."""
    # Only the keys are joined, because there may be millions of wide rows.
    key = ["run", "query_id"]
    numbered = scores.select(key).append_column("row", pa.array(np.arange(len(scores))))
    rows_of_judged = numbered.join(pairs.select(key), key, join_type="inner")["row"]
    is_known = np.asarray(pc.greater(scores["returned"], 0)).copy()
    is_known[np.asarray(rows_of_judged)] = True
    return scores.filter(pa.array(is_known))


def _date(night: Night) -> "datetime.date":
    return pa.scalar(night.evaluated_on).cast(pa.date32()).as_py()  # type: ignore[no-any-return]


def rescore(
    engine: Engine,
    config: EvaluationConfig,
    output: str,
    since: str | None = None,
    dataset: str | None = None,
) -> Rescored:
    """Score an output's nights since a date under different judgments.

    The judgments come from the configuration. If it has none, they are the newest ones that were
    kept for each dataset; then both sides of each change of judgments are also scored, and the
    newest night under all kept judgments, so that it can be compared with any night. Raises
    ConfigurationError if no night has the dataset or none kept its judgments, and InputError if the
    judgments are refused.
    """
    nights = committed(output)
    chosen = nights_of_dataset(nights, output, dataset)
    if config.judgments is None:
        fingerprints = _newest_kept(nights)
    else:
        fingerprints = _keep_given(engine, config, chosen)
    if not fingerprints:
        what = "judgments: no night keeps its judgments"
        raise ConfigurationError(what, Give("judgments", words="give"))
    wanted = _under_one(chosen, fingerprints)
    if config.judgments is None:
        wanted.extend(_under_earlier(chosen))
    wanted = list(dict.fromkeys(wanted))
    if since is not None:
        wanted = [one for one in wanted if one.night.evaluated_on >= since]
    existing = sum(read_copy(one.night, one.fingerprint) is not None for one in wanted)
    refused = make_copies(engine, wanted)
    return Rescored(len(wanted) - existing - len(refused), existing, refused)


def _under_one(nights: Iterable[Night], fingerprints: Mapping[str, str]) -> list[Copy]:
    """Each night under its dataset's judgments, if the night has different ones."""
    wanted = []
    for night in nights:
        fingerprint = fingerprints.get(night.dataset)
        if fingerprint is not None and fingerprint != night.row["judgments_fingerprint"]:
            wanted.append(Copy(night, fingerprint))
    return wanted


def _under_earlier(nights: Iterable[Night]) -> Iterator[Copy]:
    """Both sides of each change of judgments, and the newest night under all kept judgments."""
    for dataset, group in itertools.groupby(nights, key=lambda night: night.dataset):
        own = [night for night in group if night.row["judgments_fingerprint"]]
        pairs = list(itertools.pairwise(own))
        for night in own:
            pairs.append((night, own[-1]))
        for before, after in pairs:
            old = str(before.row["judgments_fingerprint"])
            new = str(after.row["judgments_fingerprint"])
            if old == new:
                continue
            if _is_kept(before.store, dataset, old):
                yield Copy(after, old)
            if _is_kept(before.store, dataset, new):
                yield Copy(before, new)


def _is_kept(store: Store, dataset: str, fingerprint: str) -> bool:
    with store.failures("cannot be read"):
        return has_judgments(store, dataset, fingerprint)


def _newest_kept(nights: Nights) -> dict[str, str]:
    """The fingerprint of the newest judgments that were kept for each dataset."""
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
    """Keep a configuration's judgments. Returns their fingerprint for each dataset."""
    if config.judgments is None:
        return {}
    kept = fingerprints_of_kept(config.judgments.path, nights)
    if kept:
        _refuse_ignored(config.judgments)
        return kept
    convention = night_convention(nights[-1])
    needs_grades = convention.gain != "judged"
    source = read_judgments(engine, config.judgments.on(config.date), needs_grades=needs_grades)
    with translated_failures([source]):
        good, counts, _ = check_judgments(source, config, prepare_judgments(source, convention))
    report_read(source, counts)
    datasets = {night.dataset for night in nights}
    if None in counts.fingerprints and len(datasets) > 1:
        what = "judgments: they have no column dataset, and the output has several datasets"
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


def _refuse_ignored(judgments: JudgmentsConfig) -> None:
    """Raise ConfigurationError for options of judgments that were read when they were kept."""
    for name in type(judgments).model_fields:
        is_default = getattr(judgments, name) == getattr(_ONLY_A_PATH, name)
        if name not in ("path", "format") and not is_default:
            what = "the output keeps these judgments with their grades, so it changes nothing"
            option = "column" if name == "columns" else name
            raise ConfigurationError(f"{what}; leave it out", option=option)

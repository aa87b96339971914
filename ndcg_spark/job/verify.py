"""An evaluation's spot check, which recomputes some lists before anything is published."""

import contextlib
import functools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.changes import refuse_changed
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.options import show
from ndcg_spark.errors import NotVerifiedError
from ndcg_spark.inputs.source_tables import Source
from ndcg_spark.inputs.stored_rows import StoredRows
from ndcg_spark.job.inputs import Context
from ndcg_spark.nights.log import committed, verified_in_words
from ndcg_spark.scratch import PREFIX
from ndcg_spark.spot_check.findings import report_findings
from ndcg_spark.spot_check.means import Means
from ndcg_spark.spot_check.plain_rows import Pair, number
from ndcg_spark.spot_check.recompute import (
    LARGE,
    Bucket,
    Difference,
    InputTable,
    Outcome,
    Subject,
    recompute,
)
from ndcg_spark.spot_check.subject import make_subject
from ndcg_spark.steps import report_step
from ndcg_spark.voices import absolute_path, command_line

Row = Mapping[str, Any]
#: How many lists of a failed check the log keeps.
_MOST_KEPT = 1_000


class Verified(NamedTuple):
    """A spot check's result."""

    #: How many lists were recomputed.
    lists: int
    #: Why scores are published although the engine and plain Python disagree about them, or None.
    unverified: str | None = None

    @property
    def in_words(self) -> str:
        return verified_in_words(self.lists, self.unverified)


def verify(
    context: Context,
    scores: StoredRows,
    dataset_rows: Iterable[Row] | None,
    attributes: pa.Table | None,
    unverified: str | None = None,
    bucket: Bucket | None = None,
) -> Verified:
    """Run the spot check of scores.

    `scores` are the files of QUERY_SCORES. `dataset_rows` are the rows of DATASET_SCORES, or None
    if the files have only the scores of a `bucket` of queries. Raises NotVerifiedError if the
    engine and plain Python disagree, unless `unverified` gives a reason to publish the scores
    anyway.
    """
    with context.clock.step("verify", "recomputing some lists in plain Python"), _system_memory():
        subject = _subject(context, bucket)
        means = Means(context.evaluation.measures, attributes)
        outcome = recompute(subject, scores, means, dataset_rows)
        highest = _differing_highest_grade(context)
    differences = [*outcome.differences, *highest]
    if not differences:
        return Verified(len(outcome.lists))
    # If the inputs have changed since they were read, that is the reason, and not the engine.
    refuse_changed(context.checked.seen)
    sentence = _disagreement(context, subject, outcome, differences)
    if unverified is None:
        sentence += "; nothing was published"
        raise NotVerifiedError(sentence, log_entries=_log_entries(context, differences))
    report_step("warning", f"{sentence}; published anyway: {unverified}")
    return Verified(len(outcome.lists), unverified)


@contextlib.contextmanager
def _system_memory() -> Iterator[None]:
    """Let Arrow take memory from the system, because starting its own allocator costs 0.3 s."""
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)


def _subject(context: Context, bucket: Bucket | None) -> Subject:
    """What the spot check recomputes."""
    config, checked = context.config, context.checked
    judgments, results = context.sources
    judged, returned = checked.judgment_counts, checked.result_counts
    fingerprints = [judged.fingerprint, returned.fingerprint]
    rows = {judgments.name: judged.rows, results.name: returned.rows}

    def read(source: Source) -> InputTable:
        number = rows.get(source.name, source.expected_rows or 0)
        rows_of_runs = functools.partial(_rows_of_runs, source)
        is_large = number > LARGE
        return InputTable(source.name, source.table, source.stored, is_large, rows_of_runs)

    return make_subject(
        (judgments, results, results.without),
        read,
        context.evaluation,
        [(run.dataset, run.run) for run in returned.runs],
        seed=" ".join([config.dataset, config.date.isoformat(), *fingerprints]),
        queries=sum(judged.queries.values()),
        required=_listed_before(config, fingerprints),
        bucket=bucket,
    )


def _rows_of_runs(source: Source, runs: Collection[str]) -> DataFrame:
    """The rows in these runs' files.

    All rows, if no runs are given or the file paths do not name their runs.
    """
    if source.lookup is None:
        return source.table
    files = source.files
    if source.runs and runs:
        files_of_runs = []
        for file in files:
            if any(name in runs for _, name in file.partition):
                files_of_runs.append(file)
        files = files_of_runs or files
    return source.lookup(files)


def _listed_before(config: EvaluationConfig, fingerprints: Sequence[str]) -> list[Pair]:
    """The lists that differed in failed evaluations of the same inputs."""
    if not config.output:
        return []
    nights = committed(config.dated(config.output), [config.date.isoformat()])
    pairs = []
    for attempt in nights.attempts:
        inputs = [attempt["judgments_fingerprint"], attempt["results_fingerprint"]]
        if inputs != list(fingerprints):
            continue
        findings = json.loads(attempt["findings"] or "{}")
        for values in findings.get("not_verified", ()):
            # A different version may have logged other values.
            if len(values) == len(Pair._fields):
                pairs.append(Pair(*values))
    return list(dict.fromkeys(pairs))


def _differing_highest_grade(context: Context) -> list[Difference]:
    """The difference between the engine's highest grade and the one recomputed here, if any.

    RBP and ERR use the highest grade of all judgments. It is compared only if no row was rejected.
    """
    judgments, counts = context.sources[0], context.checked.judgment_counts
    is_needed = context.evaluation.measures.needs_highest_grade
    if not is_needed or counts.rejected or counts.rows > LARGE or judgments.stored is None:
        return []
    grades = [number(value) for value in judgments.stored.values("relevance")]
    highest = max((grade for grade in grades if grade is not None), default=None)
    best = counts.best_grade
    if highest is None or highest == best:
        return []
    return [Difference("", "", None, None, "the highest grade", best, highest)]


def _log_entries(context: Context, differences: Iterable[Difference]) -> Row:
    """What the log keeps of a failed check: the lists that differ, which the next evaluation of the
    same inputs recomputes.
    """
    judged, returned = context.checked.judgment_counts, context.checked.result_counts
    has_datasets = any(run.dataset for run in returned.runs)
    lists = []
    for difference in differences:
        if difference.query_id is not None:
            dataset = difference.dataset if has_datasets else None
            lists.append((dataset, difference.run, difference.query_id))
    without_repeats = list(dict.fromkeys(lists))
    return {
        "findings": {"not_verified": list(map(list, without_repeats[:_MOST_KEPT]))},
        "judgments_fingerprint": judged.fingerprint,
        "results_fingerprint": returned.fingerprint,
    }


def _disagreement(
    context: Context, subject: Subject, outcome: Outcome, differences: Sequence[Difference]
) -> str:
    """What differs, the command that shows the first list, and the file with all lists."""
    command = _command_to_see(context.config, context.evaluation.convention, differences[0])
    return report_findings(
        context.engine.name,
        context.evaluation.evaluation_id,
        subject,
        outcome,
        differences,
        f"to see the list: {command}" if command else "",
    )


def _command_to_see(config: EvaluationConfig, convention: Convention, first: Difference) -> str:
    """The command that shows a list, or "" if no command can.

    A command cannot name a run that the configuration has renamed, a table in memory, or arguments
    that changed a file's configuration.
    """
    file = config.source["file"]
    is_of_list = first.run and first.query_id is not None
    if not is_of_list or config.results.run is not None:
        return ""
    if file and config.source["overridden"]:
        return ""
    if file:
        options = {"config": file, "date": config.date.isoformat()}
    else:
        options = _table_options(config) | _convention_options(convention)
    command = command_line("explain", [], {**options, "query": first.query_id, "run": first.run})
    is_of_temporary_file = PREFIX in command
    return "" if is_of_temporary_file else command


def _table_options(config: EvaluationConfig) -> dict[str, Any]:
    """A configuration's tables as command options."""
    options: dict[str, Any] = {}
    columns: list[str] = []
    tables = {"judgments": config.judgments, "results": config.results, "exclude": config.exclude}
    for name, table in tables.items():
        if table is None:
            continue
        options[name] = [absolute_path(path) for path in table.on(config.date).path]
        for ours, theirs in table.columns.items():
            columns.append(f"{name}.{ours}={theirs}")
    options["column"] = columns
    if config.judgments.relevance is not None:
        options["relevance"] = show(config.judgments.relevance)
    if config.judgments.grades is not None:
        pairs = config.judgments.grades.items()
        options["grades"] = ",".join(f"{label}={show(grade)}" for label, grade in pairs)
    if config.results.run_from is not None:
        options["run_from"] = config.results.run_from
    return options


def _convention_options(convention: Convention) -> dict[str, Any]:
    """A convention as command options."""
    options: dict[str, Any] = {}
    if convention.based_on != "standard":
        options["convention"] = convention.based_on
    of_preset = Convention.preset(convention.based_on).options()
    changed = []
    for name, value in convention.options().items():
        if value != of_preset[name]:
            changed.append(f"{name}={show(value)}")
    options["set"] = changed
    return options

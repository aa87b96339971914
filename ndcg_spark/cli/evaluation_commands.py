"""The commands that read judgments or results: evaluate, check, explain and others."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from ndcg_spark.cli import shared_options
from ndcg_spark.cli.shared_options import (
    FORMATS,
    argument,
    choice,
    command,
    date,
    load_arguments,
    option,
    output_format,
)
from ndcg_spark.convention.convention import describe_preset, list_presets_and_options
from ndcg_spark.convention.measures import MEASURES, measure_heading
from ndcg_spark.convention.options import parse_options
from ndcg_spark.errors import ConfigurationError, engine_imports
from ndcg_spark.report.console import (
    echo,
    is_merged,
    print_text,
    print_view,
    refuse_unwritable,
)
from ndcg_spark.scratch import Scratch
from ndcg_spark.steps import hidden, kept_warnings, report_step
from ndcg_spark.text import expanded, unknown_name
from ndcg_spark.voices import GiveTable, Notice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ndcg_spark.config import EvaluationConfig
    from ndcg_spark.job.evaluate_inputs import EvaluationOutcome, QueryOrder

#: The formats for query scores, which can hold any number of rows.
_QUERY_FORMATS = ("table", "json", "csv")
_DATE = date(
    "--date", "Date of the night, or of the inputs. [default: the newest night, or today in UTC]"
)
_NIGHTS_ONLY = "--{} is for published nights; give only their folder"


#: The options of `evaluate`, which `finish` takes as well.
_EVALUATE: list[click.Parameter] = [
    *shared_options.evaluation(),
    output_format(*FORMATS),
    option(
        "--per-query",
        None,
        "Print the scores of every query; JSON is one object per line.",
        is_flag=True,
    ),
    option("--sort", "COLUMN[:asc|desc]", "Sort the query scores by this column."),
    option(
        "--report", "FILE", "Also write an HTML report of the scores.", type=shared_options.FILE
    ),
    shared_options.labels,
    shared_options.accept_baseline,
    option(
        "--publish-unverified",
        "REASON",
        "Publish scores even if plain Python computes different ones, for this reason.",
    ),
    shared_options.junit,
    option("--baseline", "RUN", "Compare every other run with this one."),
    shared_options.slices,
    option(
        "--metrics-file", "FOLDER", "Also write the means for Prometheus, one file per dataset."
    ),
    option(
        "--on-end", "COMMAND", "Run this at the end, even after a failure, with JSON on its stdin."
    ),
    date("--from first", "Evaluate each date from this one to --to, in order."),
    date("--to last", "The last date."),
    option("--accept-first", "REASON", "Accept the first night of a range as a baseline."),
]
#: The options that cannot be used when several dates are evaluated.
_OF_ONE_NIGHT = (
    "date",
    "per_query",
    "sort",
    "report",
    "labels",
    "accept_baseline",
    "publish_unverified",
    "baseline",
)
#: The options for what an evaluation prints, accepts or compares; `finish` does not need them.
_PRINTED = (
    "style",
    "per_query",
    "sort",
    "report",
    "labels",
    "accept_baseline",
    "publish_unverified",
    "junit",
    "baseline",
    "first",
    "last",
    "accept_first",
)


@command(_EVALUATE, codes=shared_options.GATE_CODES)
def evaluate(
    first: str | None,
    last: str | None,
    accept_first: str | None,
    **asked: Any,
) -> None:
    """Score results against judgments, per query and per dataset.

    Paths may contain {date}. With a [gate] in the configuration, the gate checks the night before
    it is published.
    """
    if first is None:
        _refuse_if(last is not None, "--to is the last date of a range; give --from")
        problem = "--accept-first is for a range; give --from and --to, or --accept-baseline"
        _refuse_if(accept_first is not None, problem)
        _evaluate_night(**asked)
        return
    _refuse_if(last is None, "--from needs the last date; give --to")
    for name in _OF_ONE_NIGHT:
        option_name = name.replace("_", "-")
        is_given = asked.pop(name) not in (None, False)
        problem = f"--{option_name} is for a single night, but --from is for several; leave it out"
        _refuse_if(is_given, problem)
    _evaluate_range((first, str(last)), accept_first, **asked)


def _evaluate_night(
    style: str | None,
    per_query: bool,
    sort: str | None,
    report: Path | None,
    labels: Path | None,
    accept_baseline: str | None,
    publish_unverified: str | None,
    junit: Path | None,
    baseline: str | None,
    **arguments: Any,
) -> None:
    """Evaluate one date, print and write what the options ask for, and notify other programs."""
    from ndcg_spark.monitoring.hook import notify, notify_failure
    from ndcg_spark.report.night_tables import write_junit
    from ndcg_spark.report.printed_scores import print_outcome

    is_silent = is_merged(style)
    config = _loaded(arguments, is_silent)
    outcome = None
    warnings: Sequence[str | Notice] = ()
    try:
        with engine_imports(), kept_warnings() as warnings:
            _refuse_if(labels and report is None, "--labels is for the page of --report; give both")
            _refuse_if(junit and config.gate is None, "--junit needs a [gate] in the configuration")
            _refuse_if(sort and not per_query, "--sort orders the rows of --per-query; give both")
            print_queries = None
            if per_query:
                _refuse_unprintable(style, baseline)
                print_queries = _query_printer(config, style, _sort_order(sort))
            refuse_unwritable("junit", junit, remove=True)
            from ndcg_spark.job import evaluate_inputs as job

            evaluate_it = functools.partial(
                job.evaluate,
                accepted=accept_baseline,
                baseline=baseline,
                write_queries=print_queries,
                unverified=publish_unverified,
            )
            outcome = _with_report(config, evaluate_it, report, labels, baseline)
            if junit is not None:
                write_junit(junit, outcome.verdicts)
            if not per_query:
                print_outcome(outcome, style)
    except (Exception, SystemExit) as error:
        notify_failure(config, error, outcome, is_silent, warnings)
        raise
    notify(config, outcome.exit_code, None, outcome, is_silent, warnings)
    raise SystemExit(outcome.exit_code)


def _evaluate_range(
    dates: tuple[str, str],
    accept_first: str | None,
    junit: Path | None,
    style: str | None,
    **arguments: Any,
) -> NoReturn:
    """Evaluate every date, and notify other programs after each, as for a single night."""
    from ndcg_spark.monitoring.hook import notify, notify_failure
    from ndcg_spark.report.night_tables import write_junit
    from ndcg_spark.report.printed_range import print_range

    with engine_imports():
        from ndcg_spark.job import evaluate_range as job
    is_silent = is_merged(style)
    configs = []
    for date_text in job.dates_between(*dates):
        configs.append(_loaded({**arguments, "date": date_text}, is_silent))
    done: list[job.Evaluated] = []
    _refuse_if(junit and configs[0].gate is None, "--junit needs a [gate] in the configuration")
    refuse_unwritable("junit", junit, remove=True)
    warnings: list[str | Notice] = []
    try:
        with engine_imports(), kept_warnings() as warnings:
            for one in job.evaluate_range(configs, accept_first):
                done.append(one)
                if one.refusal is not None:
                    notify_failure(one.config, one.refusal, None, is_silent, warnings)
                else:
                    notify(one.config, one.exit_code, None, one.outcome, is_silent, warnings)
                # Each date has its own warnings.
                warnings.clear()
    except (Exception, SystemExit) as error:
        # The engine may also fail to stop, after the last date.
        failed = configs[min(len(done), len(configs) - 1)]
        if 0 < len(done) < len(configs):
            advice = f"continue with --from {failed.date}"
            report_step("note", f"the dates before {failed.date} are done; {advice}")
        notify_failure(failed, error, None, is_silent, warnings)
        raise
    if junit is not None:
        write_junit(junit, itertools.chain.from_iterable(one.verdicts for one in done))
    print_range(done, style)
    raise SystemExit(job.worst_of(done))


def _loaded(arguments: Mapping[str, Any], is_silent: bool) -> "EvaluationConfig":
    """The configuration of an evaluation. If it cannot be read, other programs are notified."""
    from ndcg_spark.monitoring.hook import notify_unreadable

    try:
        return load_arguments(dict(arguments))
    except ConfigurationError as error:
        notify_unreadable(arguments, error, is_silent)
        raise


def _refuse_if(is_wrong: object, reason: str) -> None:
    if is_wrong:
        raise ConfigurationError(f"arguments: {reason}")


def _refuse_unprintable(style: str | None, baseline: str | None) -> None:
    """Raise ConfigurationError for a format that query scores do not have, or a comparison."""
    is_printable = style is None or style in _QUERY_FORMATS
    formats = ", ".join(_QUERY_FORMATS)
    problem = f"--per-query prints {formats}, without a --baseline"
    _refuse_if(baseline or not is_printable, problem)


def _query_printer(
    config: "EvaluationConfig",
    style: str | None,
    order: "QueryOrder | None",
) -> "Callable[[DataFrame], None]":
    """A function that prints query scores, in an order if one is given."""
    from ndcg_spark.job.evaluate_inputs import query_scores_in_order
    from ndcg_spark.report.printed_scores import print_query_scores

    def print_queries(scores: "DataFrame") -> None:
        print_query_scores(query_scores_in_order(scores, order), style, config.measure_set.columns)

    return print_queries


def _with_report(
    config: "EvaluationConfig",
    evaluate_it: "Callable[[EvaluationConfig], EvaluationOutcome]",
    report: Path | None,
    labels: Path | None,
    baseline: str | None,
) -> "EvaluationOutcome":
    """Evaluate the configuration, then write the page if there is a file for it.

    Without an output folder, the night is kept only until the page is written.
    """
    if report is None:
        return evaluate_it(config)
    # Imported here because a page needs the statistics modules.
    from ndcg_spark.report.labels import Labels, read_labels
    from ndcg_spark.report.outline import Request
    from ndcg_spark.report.page import write_evaluated

    names = read_labels(labels) if labels else Labels()
    request = Request(baseline=baseline, labels=names)
    refuse_unwritable("report", report)
    date = config.date.isoformat()
    if config.output is not None:
        outcome = evaluate_it(config)
        write_evaluated(str(outcome.output), report, date, request, is_kept=True)
        return outcome
    scratch = Scratch()
    try:
        kept = config.model_copy(update={"output": str(scratch.folder()), "documents": "all"})
        # Do not report writing to a folder that is removed afterwards.
        with hidden("wrote"):
            outcome = evaluate_it(kept)
        write_evaluated(str(outcome.output), report, date, request, is_kept=False)
    finally:
        scratch.remove()
    return dataclasses.replace(outcome, output=None)


def _sort_order(sort: str | None) -> "QueryOrder | None":
    """Parse COLUMN[:asc|desc]. A measure may have its column name, or its name in papers."""
    if sort is None:
        return None
    from ndcg_spark.job.evaluate_inputs import QueryOrder
    from ndcg_spark.schemas import QUERY_SCORES

    column, _, direction = sort.partition(":")
    if direction not in ("asc", "desc"):
        # If the direction is not valid, the whole text is reported as an unknown column.
        column, direction = sort, ""
    written_name, _, cutoff = column.partition("@")
    columns = {}
    for measure in MEASURES.values():
        columns.update(dict.fromkeys(measure.written, measure.column))
    name = columns.get(written_name, written_name)
    if name not in QUERY_SCORES.names:
        given = f"{name}@{cutoff}" if cutoff else name
        raise unknown_name("sort", "column", given, QUERY_SCORES.names)
    if cutoff:
        problem = f"{sort} has a cutoff, but every row has its own"
        raise ConfigurationError(f"sort: {problem}; write {name}")
    return QueryOrder(name, is_descending=direction == "desc")


@command(
    option("--exit-code", "CODE", "Exit code of the evaluation.", type=int, required=True),
    _EVALUATE,
)
def finish(exit_code: int, **arguments: Any) -> None:
    """Run the steps that follow an evaluation.

    Takes the options of the evaluation, as scripts/nightly.sh passes them. After a signal (an exit
    code above 128) it runs --on-end; otherwise it copies the night to the tables that
    NDCG_SPARK_EXPORT names.
    """
    from ndcg_spark.monitoring.hook import after_evaluation

    own = {name: value for name, value in arguments.items() if name not in _PRINTED}
    after_evaluation(load_arguments(own), exit_code)


@command(
    shared_options.evaluation(without="output documents cutoffs measures dataset"),
    output_format("table", "json"),
)
def check(style: str | None, **arguments: Any) -> None:
    """Validate judgments and results without scoring them.

    Unlike an evaluation, this looks for all duplicates, even those that cannot change a score.
    """
    from ndcg_spark.job.check_inputs import check_inputs
    from ndcg_spark.report.printed_scores import print_check

    print_check(check_inputs(load_arguments(arguments)), style)


@command(
    argument(
        "paths", "Files, folders or globs of one table.", metavar="IN...", nargs=-1, required=True
    ),
    argument("folder", "New folder, on any storage.", metavar="OUT"),
    choice("--input table", "What the files contain.", "judgments", "results", default="results"),
    shared_options.evaluation(
        only="run run_from column split_ids set as_of relevance grades input_format"
    ),
)
def convert(table: str, paths: tuple[str, ...], folder: str, **arguments: Any) -> None:
    """Write a table of any format as Parquet.

    Engines that cannot read files on this machine can read the copy.
    """
    from ndcg_spark.job.check_inputs import convert as job

    config = load_arguments({**arguments, table: paths}, needs_inputs=False)
    echo([f"{job(config, expanded(folder)):,} rows"])


@command(
    shared_options.evaluation(without="output documents measures date"),
    _DATE,
    option(
        "--documents",
        "N",
        "How many documents to list, the most important first.",
        type=click.IntRange(min=1),
        default=100,
    ),
    date("--baseline-date", "List the documents that affect the difference from this night."),
    option(
        "--baseline",
        "RUN",
        "List the documents that affect the difference from this run (in the night of "
        "--baseline-date, if given).",
    ),
    option(
        "--sample",
        "N",
        "Draw about N documents that moved, for compare --human, and print the file to grade.",
        type=click.IntRange(min=1),
    ),
    option("--seed", "S", "Seed of the sample.", type=click.IntRange(min=0), default=1),
    option("--show-grades", None, "Print the judge's grades in the sample.", is_flag=True),
    option(
        "--human",
        "FILE",
        "Earlier sample with human grades. With the same seed, it is extended; otherwise, more "
        "documents are drawn where the judge makes more errors. May be repeated.",
        multiple=True,
    ),
    output_format(*FORMATS),
)
def judge_next(
    documents: int,
    style: str | None,
    sample: int | None,
    seed: int,
    show_grades: bool,
    human: tuple[str, ...],
    **arguments: Any,
) -> None:
    """List the unjudged documents that matter most to the runs.

    Takes judgments and results, or an output folder with a night that stored its documents. --date
    selects the night (default: the newest), and --run and --dataset select within it. Lists the
    documents that most runs rank highest, down to the deepest cutoff. With --baseline-date or
    --baseline, lists the documents whose rank differs between the two nights or runs. Judging tools
    can load the output of --format csv.

    With --sample, documents that moved are drawn at random, judged or not, and printed as a CSV
    file. Fill in its grade column and pass the file to compare --human.
    """
    if sample is not None:
        _print_sample(sample, seed, show_grades, human, style, arguments)
        return
    _refuse_if(show_grades or human, "--show-grades and --human are for a --sample; give its size")
    from ndcg_spark.report.printed_scores import print_documents

    baselines = {name: arguments.pop(name) for name in ("baseline_date", "baseline")}
    choices = {name: arguments[name] for name in ("date", "dataset", "run")}
    nights_folder = _nights_folder(arguments, allowed=choices)
    if nights_folder is not None:
        from ndcg_spark.job.explain_query import night_documents_to_judge

        rows = night_documents_to_judge(nights_folder, documents, **choices, **baselines)
    else:
        from ndcg_spark.job.check_inputs import documents_to_judge

        for name, value in baselines.items():
            _refuse_if(value is not None, _NIGHTS_ONLY.format(name.replace("_", "-")))
        rows = documents_to_judge(load_arguments(arguments), documents)
    print_documents(rows, style, documents)


def _print_sample(
    documents: int,
    seed: int,
    show_grades: bool,
    human: tuple[str, ...],
    style: str | None,
    arguments: dict[str, Any],
) -> None:
    from ndcg_spark.comparison.human_grades import sample_to_grade
    from ndcg_spark.convention.parsing import parse_cutoffs

    names = ("date", "dataset", "run", "baseline_date", "baseline")
    choices = {name: arguments[name] for name in names}
    nights_folder = _nights_folder(arguments, allowed=[*names, "cutoffs"])
    _refuse_if(nights_folder is None, _NIGHTS_ONLY.format("sample"))
    _refuse_if(style not in (None, "table", "csv"), "--sample prints CSV; leave out --format")
    if arguments["cutoffs"]:
        ranks = parse_cutoffs(arguments["cutoffs"])
        is_single_rank = len(ranks) == 1 and None not in ranks
        _refuse_if(not is_single_rank, "--sample needs a single rank; give one in --cutoffs")
        choices["cutoff"] = ranks[0]
    sample = sample_to_grade(str(nights_folder), documents, seed, human=human, **choices)
    print_text(sample.text(show_grades))


@command(
    argument("a", "Judgments (qrels), in any format."),
    argument("b", "Other judgments, given in the same way."),
    shared_options.evaluation(
        without="paths judgments exclude output documents measures relevance min_judged_rate"
    ),
    output_format(*FORMATS),
)
def judgments(a: str, b: str, style: str | None, **arguments: Any) -> None:
    """Compare two sets of judgments, and how they rank runs.

    Shows Cohen's kappa and Krippendorff's alpha. With --results, it also shows how similarly A and
    B rank the runs by NDCG at the deepest cutoff.
    """
    from ndcg_spark.job.compare_inputs import compare_judgments
    from ndcg_spark.job.inputs import engine_for
    from ndcg_spark.report.comparisons import print_judgments

    config_a = load_arguments({**arguments, "judgments": (a,)}, needs_inputs=False)
    config_b = load_arguments({**arguments, "judgments": (b,)}, needs_inputs=False)
    with engine_for(config_a) as engine:
        compared, convention = compare_judgments(engine, config_a, config_b)
    ranked_by = f"{measure_heading('ndcg', config_a.cutoffs[-1])}, convention {convention.label}"
    print_judgments(compared.to_pylist(), style, ranked_by)


@command(
    argument("old", "Results: a file, folder, glob or table:catalog.db.name."),
    argument("new", "Other results, given in the same way, or the same results."),
    option("--baseline", "RUN", "Run of OLD to compare every run of NEW with. [default: by name]"),
    option(
        "--persistence",
        "P",
        "Persistence of rank-biased overlap, between 0 and 1.",
        type=float,
        default=0.9,
    ),
    option(
        "--queries",
        "N",
        "List the N queries that changed most, by run and cutoff (not in CSV).",
        type=click.IntRange(0),
        default=10,
    ),
    shared_options.evaluation(
        without="paths judgments results output documents measures relevance grades "
        "max_missing_fraction "
        "max_unjudged_fraction min_judged_rate"
    ),
    output_format(*FORMATS),
)
def compare_lists(
    old: str,
    new: str,
    baseline: str | None,
    persistence: float,
    queries: int,
    style: str | None,
    **arguments: Any,
) -> None:
    """Compare lists of results without judgments, for all queries."""
    from ndcg_spark.job.compare_inputs import compare_lists as job
    from ndcg_spark.job.inputs import engine_for
    from ndcg_spark.report.comparisons import print_lists

    before = load_arguments({**arguments, "results": (old,)}, needs_inputs=False)
    after = load_arguments({**arguments, "results": (new,)}, needs_inputs=False)
    with engine_for(before) as engine:
        changes = job(engine, before, after, baseline, persistence)
    print_lists(changes, queries, style)


@command(
    argument(
        "files",
        "Results: files, folders, globs. [default: those of --config]",
        metavar="[RESULTS...]",
        nargs=-1,
    ),
    shared_options.catalog(
        without="paths judgments results output documents relevance grades "
        "max_missing_fraction max_unjudged_fraction min_judged_rate"
    ),
    output_format(*FORMATS),
)
def describe(files: tuple[str, ...], style: str | None, **arguments: Any) -> None:
    """Show coverage and variety of results, without judgments.

    All lists are used. Each measure is defined below the table. With --config, the results, the
    items and the catalog measures come from the configuration of an evaluation.
    """
    from ndcg_spark.job.describe_results import describe as job
    from ndcg_spark.job.describe_results import measures_for
    from ndcg_spark.job.inputs import engine_for
    from ndcg_spark.report.described_runs import described_view

    given = {**arguments, "results": files}
    config = load_arguments(given, needs_inputs=False)
    if config.results is None:
        raise ConfigurationError("missing", GiveTable("results"), "results")
    measures = config.measure_set
    if arguments["measures"] is None:
        # The configuration is one of an evaluation, whose other measures need judgments.
        measures = measures.only_of_catalog
    if not measures.pairs:
        given["measures"] = ",".join(measures_for(config.items))
        config = load_arguments(given, needs_inputs=False)
        measures = config.measure_set
    with engine_for(config) as engine:
        rows = job(engine, config, measures)
    print_view(described_view(rows, measures), style)


@command(
    shared_options.evaluation(without="output documents cutoffs measures dataset run date"),
    _DATE,
    option("--query", "ID", "Query to explain.", required=True),
    option("--run", "RUN", "Run to explain. [default: every run]"),
    option("--baseline", "RUN", "Also show what changed since this run."),
    date("--baseline-date", "Also show what changed since this night."),
    option("--dataset", "NAME", "Dataset of the query, if there are several."),
    option(
        "--cutoff",
        "RANK",
        "A rank, or all. [default: the headline's if it is NDCG, otherwise the deepest rank]",
    ),
    output_format("table", "json", "markdown"),
)
def explain(style: str | None, **arguments: Any) -> None:
    """Explain the score of one query, document by document.

    Takes judgments and results, or an output folder with a night that stored its documents. --date
    selects the night (default: the newest).

    Shows how much each document adds or loses, and which relevant documents are missing.
    """
    from ndcg_spark.explanation.query import ExplainRequest
    from ndcg_spark.report.printed_scores import explanation_view

    names = ("query", "run", "baseline", "dataset", "cutoff", "baseline_date")
    request = ExplainRequest(**{name: arguments.pop(name) for name in names})
    nights_folder = _nights_folder(arguments, allowed=["date"])
    if nights_folder is not None:
        from ndcg_spark.job.explain_query import explain_night

        explained = explain_night(nights_folder, arguments["date"], request)
    elif request.baseline_date is not None:
        raise ConfigurationError(f"arguments: {_NIGHTS_ONLY.format('baseline-date')}")
    else:
        from ndcg_spark.job.explain_query import explain_on
        from ndcg_spark.job.inputs import engine_for

        config = load_arguments(arguments)
        with engine_for(config) as engine:
            explained = explain_on(engine, config, request)
    print_view(explanation_view(explained), style)


def _nights_folder(arguments: Mapping[str, Any], allowed: Iterable[str]) -> str | None:
    """The folder of published nights that the arguments name, or None if they name other inputs.

    `allowed`: the options that can be given with such a folder. Options of the engine always can.
    """
    given = {name for name, value in arguments.items() if value not in (None, ())}
    if len(arguments["paths"]) != 1 or given & {"judgments", "results", "config"}:
        return None
    path = arguments["paths"][0]
    refused = given - {"paths", "engine", "remote", *allowed}
    if refused:
        option = min(refused).replace("_", "-")
        raise ConfigurationError(
            f"arguments: only {path} is given, and --{option} is for judgments and results"
        )
    return expanded(path)


#: The options of `conventions` that only --like takes, not --compare.
_LIKE_ONLY = (
    "dataset",
    "as_of",
    "date",
    "remote",
    "max_missing_fraction",
    "max_unjudged_fraction",
)


@command(
    argument(
        "names",
        "A preset, to show its options and formula.",
        metavar="[NAME]",
        required=False,
        nargs=-1,
    ),
    option(
        "--compare",
        "JUDGMENTS RESULTS",
        "Score the same data under every preset, side by side.",
        nargs=2,
    ),
    option(
        "--like",
        "SCORES JUDGMENTS RESULTS",
        "Find the convention that gives an earlier job's scores.",
        nargs=3,
    ),
    option(
        "--write",
        "FILE",
        "With --like, write the convention as TOML.",
        type=shared_options.FILE,
    ),
    option(
        "--nearest",
        None,
        "With --write, write the nearest convention if none gives all scores.",
        is_flag=True,
    ),
    shared_options.evaluation(
        only="exclude cutoffs measures set dataset date run run_from column split_ids as_of "
        "relevance grades input_format max_rejected_fraction max_missing_fraction "
        "max_unjudged_fraction config engine remote",
    ),
    output_format(*FORMATS),
)
def conventions(
    names: tuple[str, ...],
    compare: tuple[str, str] | None,
    like: tuple[str, str, str] | None,
    write: Path | None,
    nearest: bool,
    style: str | None,
    **arguments: Any,
) -> None:
    """List the presets, compare them, or find the convention of an existing job.

    With NAME, explain that preset. With --compare, --set changes an option of every preset, for
    example one that makes some presets refuse the data.

    With --like, SCORES contains the job's numbers: either the columns query_id, run and score, or
    the output of trec_eval -q, or the mean of each run. --set fixes an option. --cutoffs sets the
    cutoffs to try if SCORES has none, and --column scores.score=NAME names a column of SCORES. The
    search ends after a minute.
    """
    _refuse_if(compare and like, "--compare and --like answer different questions; give one")
    _refuse_if(write and not like, "--write is for --like SCORES JUDGMENTS RESULTS")
    _refuse_if(nearest and not write, "--nearest is for --write FILE")
    given = [name for name, value in arguments.items() if value not in (None, ())]
    if like:
        _refuse_more_paths("--like", "three paths, scores, judgments and results", names)
        problem = "--like finds the convention of NDCG; leave --measures out"
        _refuse_if(arguments["measures"], problem)
        target = None if write is None else _Target(write, nearest)
        _find_convention(like, target, style, arguments)
    elif compare:
        _refuse_more_paths("--compare", "two paths, judgments and results", names)
        like_only = [name for name in given if name in _LIKE_ONLY]
        _refuse_options(like_only, "--like, not for --compare")
        _compare_presets(compare, style, arguments)
    else:
        _refuse_options(given, "--compare JUDGMENTS RESULTS, and for --like")
        _show_presets(names, style)


def _refuse_options(names: Sequence[str], purpose: str) -> None:
    """Raise ConfigurationError for options that have a different purpose."""
    if names:
        option = names[0].replace("_", "-")
        raise ConfigurationError(f"arguments: --{option} is for {purpose}")


def _show_presets(names: Sequence[str], style: str | None) -> None:
    is_text = style in (None, "table")
    _refuse_if(not is_text, f"--format {style} is for --compare and --like; leave it out")
    if not names:
        echo(list_presets_and_options())
    for name in names:
        echo(describe_preset(name))


def _compare_presets(
    paths: tuple[str, str], style: str | None, arguments: Mapping[str, Any]
) -> None:
    from ndcg_spark.job.compare_inputs import compare_presets
    from ndcg_spark.report.printed_scores import print_presets

    config = load_arguments({**arguments, "paths": paths})
    changed = parse_options(arguments["set"])
    print_presets(compare_presets(config, changed), style, config.measure_set)


def _refuse_more_paths(option: str, paths: str, more: Sequence[str]) -> None:
    """Raise ConfigurationError for more paths than an option takes.

    A shell gives them if a pattern is not quoted.
    """
    if more:
        several = "put several runs into one folder, or quote a pattern"
        what = f"{option} takes {paths}, so {more[0]} is one too many"
        raise ConfigurationError(f"arguments: {what}; {several}")


class _Target(NamedTuple):
    """Where to write a convention, and whether it may be only the nearest one."""

    file: Path
    takes_nearest: bool


def _find_convention(
    like: tuple[str, str, str],
    target: _Target | None,
    style: str | None,
    arguments: Mapping[str, Any],
) -> None:
    """Find the convention of an earlier job's scores, show it, and write it if asked to."""
    from ndcg_spark.job.inputs import engine_for
    from ndcg_spark.job.like_scores import find_convention as job
    from ndcg_spark.report.found_convention import found_view, write_convention

    scores, *paths = like
    columns, others = shared_options.columns_of_scores(arguments["column"])
    config = load_arguments({**arguments, "column": others, "set": (), "paths": tuple(paths)})
    if target is not None:
        refuse_unwritable("write", target.file)
    with engine_for(config) as engine:
        fixed = parse_options(arguments["set"])
        found = job(engine, config, expanded(scores), fixed, columns=columns)
    print_view(found_view(found), style)
    if target is not None:
        write_convention(found, target.file, scores, target.takes_nearest)

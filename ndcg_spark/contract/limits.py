"""Decisions from the counts: what is refused, and which probable mistakes only cause a warning."""

import dataclasses
import functools
import io
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.doubts import WRITE_ALIKE, about_empty_runs, about_strangers, run_example
from ndcg_spark.contract.scan import (
    EXAMPLE_LENGTH,
    Counts,
    JudgmentCounts,
    Rejection,
    ResultCounts,
    RunCounts,
)
from ndcg_spark.convention import presets
from ndcg_spark.convention.convention import Convention, relevant_grade
from ndcg_spark.convention.measures import Cutoff, MeasureSet, measure_at
from ndcg_spark.convention.refused_queries import TWO_FIRSTS
from ndcg_spark.errors import DuplicatesError, InputError, about
from ndcg_spark.inputs.batches import files_by_table
from ndcg_spark.inputs.dataframes import union_all
from ndcg_spark.inputs.files import BINARY, File
from ndcg_spark.inputs.source_tables import Source
from ndcg_spark.rules import RULES, is_text, typed
from ndcg_spark.schemas import BROKEN_LINE, UNREAD_GRADE, query_key
from ndcg_spark.scoring.refusals import row_example
from ndcg_spark.tables.format import score
from ndcg_spark.text import BLANKS
from ndcg_spark.voices import (
    Advice,
    ColumnIs,
    Do,
    Either,
    ForFiles,
    Give,
    GiveGrades,
    Notice,
    SeparateRuns,
    SetOption,
)

#: A field of a text line, or a value of a column, that is a number with a decimal comma.
_DECIMAL_COMMA = re.compile(r"(?<![^;\t \"=])[+-]?\d+,\d+(?![^;\t \"])")
#: Text for a missing number.
_NO_VALUE = re.compile(r"[+-]?(nan|inf|infinity)|null|none|n/?a|-+", re.IGNORECASE)
#: Text with more different values than this does not consist of labels.
_MOST_LABELS = 12
#: A run with one query is suspicious if another run has this many times as many results.
_MANY_TIMES = 10
#: Text files with more bytes than this are not searched for a line, which would take minutes.
_SEARCHED = 1 << 30

#: A grade that at most this many judgments have, and that is this many times the next one, is far.
_HANDFUL, _TIMES_FAR = 5, 3.0


def refuse_rejected(source: Source, counts: Counts, allowed: float = 0.0) -> None:
    """Raise InputError if the engine lost rows, no row is valid, or more than the fraction
    `allowed` is rejected.
    """
    table = source.name
    rows = counts.rows
    where = source.origin
    if source.expected_rows not in (None, rows):
        raise InputError(
            f"{table}: the engine read {rows:,} rows of {where}, "
            f"which has {source.expected_rows:,} rows; "
            "rename the files, write them again, or read them with a different engine"
        )
    if rows == 0:
        raise InputError(
            f"{table}: no rows in {where}: the table is empty; check the job that writes it"
        )
    if _is_more(counts.rejected, allowed, rows) or counts.rejected == rows:
        budget = ""
        if allowed:
            rejected = f"{counts.rejected} of {rows} rows rejected"
            budget = f"{rejected}, max_rejected_fraction is {allowed:g}: "
        shown, advice = _most_helpful(source, counts.rejections, rows)
        example = "the example is in"
        if len(counts.rejections) > 1:
            example = "the first example is in"
        if shown != counts.rejections[0]:
            example = f"{shown.example} is in"
        example = f"{example} {_place(source, shown)}"
        if table != "exclude" and counts.rejected < rows:
            allow = Give("max_rejected_fraction", words="allow a few with")
            # Python refuses a table with any such row.
            advice = Either((advice, ForFiles(allow)))
        raise InputError(f"{table}: {budget}{summary(counts.rejections)}; {example}", advice)


def _most_helpful(
    source: Source, rejections: Sequence[Rejection], rows: int
) -> tuple[Rejection, Advice]:
    """The first rejection for which there is more to say than to correct its rows, and its advice.

    One mistake, such as decimal commas, often causes rejections for several reasons.
    """
    for rejection in rejections:
        advice = _correction(source, rejection, rows)
        if advice != _CORRECT:
            return rejection, advice
    return rejections[0], _CORRECT


_CORRECT = Do(words="correct them")


def _correction(source: Source, first: Rejection, rows: int) -> Advice:
    """The advice about rejected rows, from the reason and the example of the first rejection."""
    advice: Advice = _CORRECT
    if first.reason == "relevance_has_no_grade":
        return Do(words="add them to the grades, or correct them")
    labels = _labels(source, first, rows)
    if labels:
        words = "correct them, or, if they are labels, give each a grade,"
        return GiveGrades(tuple(labels), words=words)
    if first.reason.endswith("_is_no_number") and _DECIMAL_COMMA.search(first.example):
        advice = Do(words="write decimals with a point instead of a comma")
    elif first.reason == "score_is_no_number":
        advice = Do(
            words="correct them, or drop these rows (with ALS, set coldStartStrategy='drop')"
        )
    elif first.reason == "rank_is_no_number":
        advice = _name_both(source, "correct them, or, if they are scores,")
    elif first.reason == "rank_is_no_rank":
        advice = Do(words="number ranks from 1")
        if "score" in source.table.columns:
            by_score = SetOption("order", "score"), SetOption("ties", "doc_id_desc")
            advice = Either((advice, Either(by_score, " ", words="ignore them with")))
    elif first.reason == BROKEN_LINE:
        advice = _correction_of_line(source.format, first.example)
    return advice


def _correction_of_line(kind: str, line: str) -> Advice:
    """The advice about a line that is not a row."""
    if kind in ("csv", "tsv") and '"' in line:
        return Do(words="correct them: inside quotes, write a quote twice")
    if kind == "trec" and line.startswith("#"):
        return Do(
            words="lines that begin with # are comments, but these have the fields of a row; "
            "if they are comments, put a space after the #; if their ids begin with #, write CSV"
        )
    if "\ufffd" in line:
        return Do(words="the file is not UTF-8; save it as UTF-8")
    return _CORRECT


def _labels(source: Source, first: Rejection, rows: int) -> list[str]:
    """The few labels that most judgments have instead of grades; empty if there are none."""
    if first.reason != "relevance_is_no_number" or 2 * first.rows < rows:
        return []
    table, kinds = source.table, dict(source.table.dtypes)
    if UNREAD_GRADE in kinds:
        text = F.col(UNREAD_GRADE)
    elif is_text(kinds["relevance"]):
        text = F.when(typed("relevance", kinds).isNull(), F.col("relevance"))
    else:
        return []
    texts = table.select(F.btrim(text, F.lit(BLANKS)).alias("label")).where("label <> ''")
    found = texts.distinct().limit(_MOST_LABELS + 1).toArrow()["label"].to_pylist()
    if len(found) > _MOST_LABELS:
        return []
    # Numbers with a decimal comma and signs for a missing value are not labels.
    if any(_DECIMAL_COMMA.fullmatch(text) or _NO_VALUE.fullmatch(text) for text in found):
        return []
    return sorted(found)


def refuse_category(results: Source) -> None:
    """Raise InputError if the column used as the run may be a category of documents or queries.

    A column names runs if it has one value, or if documents of a query have two scores or ranks,
    because a list contains a document only once.
    """
    if results.doubtful_run is None:
        return
    table = results.table.withColumn("run", F.col("run").cast("string"))
    key = [name for name in ("dataset", "query_id") if name in table.columns]
    numbers = [name for name in ("score", "rank") if name in table.columns]
    differs = [F.min(name) < F.max(name) for name in numbers]
    ends = {"first": F.min("run"), "last": F.max("run")}
    is_shared = F.coalesce(functools.reduce(operator.or_, differs), F.lit(False))
    documents = table.groupBy(*key, "doc_id").agg(
        *(end.alias(name) for name, end in ends.items()), is_shared.alias("differs")
    )
    is_twice = F.col("differs") & (F.col("first") < F.col("last"))
    queries = documents.groupBy(*key).agg(
        F.min("first").alias("first"),
        F.max("last").alias("last"),
        F.count_if(is_twice).alias("twice"),
    )
    ((number, several, shared, first, last),) = queries.agg(
        F.count("*"),
        F.count_if(F.col("first") < F.col("last")),
        F.count_if(F.col("twice") > 0),
        F.min("first"),
        F.max("last"),
    ).collect()
    has_runs = 2 * several >= number and 2 * shared >= several > 0
    if first == last or has_runs:
        return
    column = results.doubtful_run
    ways = (
        ColumnIs("results", "run", column, words="if it names the runs,"),
        Give("run", "NAME", "results", words="otherwise"),
    )
    raise InputError(
        f"results: the column {column} has several values, e.g. {first} and {last}, and may be a "
        "category of documents or queries: no two lists of a query share documents that have "
        "different scores",
        Either(ways, ", "),
    )


def _name_both(source: Source, words: str = "") -> Advice:
    """The advice to name the rank column and the score column, which may be swapped."""
    rank, score = ("5", "4") if source.format == "trec" else ("NAME", "NAME")
    columns = ColumnIs("results", "rank", rank), ColumnIs("results", "score", score)
    way = Either(columns, " ", words="say which are:")
    return ForFiles(way, "name the columns rank and score", words=words)


def _place(source: Source, rejection: Rejection) -> str:
    """The file of the example, with the line number if the file is local and contains text."""
    files = source.files
    is_searched = sum(file.size for file in files) < _SEARCHED
    if source.format in BINARY or not all(file.is_local for file in files):
        is_searched = False
    if is_searched:
        for file in files:
            with about(source.name):
                number = _line_number(file, rejection.example)
            if number is not None:
                return f"{file.path}:{number}"
    if len(files) > 1:
        return f"one of {len(files):,} files"
    return source.origin


def _line_number(file: File, example: str) -> int | None:
    """The number of the first line with the words of an example, which may be cut off."""
    wanted = " ".join(example.split())
    is_cut = len(example) == EXAMPLE_LENGTH
    with file.open() as stream:
        lines = io.TextIOWrapper(stream, "utf-8-sig", "replace")
        for number, line in enumerate(lines, start=1):
            words = " ".join(line.split())
            if words == wanted or (is_cut and words.startswith(wanted)):
                return number
    return None


def summary(rejections: Iterable[Rejection]) -> str:
    sentences = []
    for entry in rejections:
        what = RULES[entry.reason].words
        sentences.append(f"{entry.rows} {what}, e.g. {entry.example}")
    return "; ".join(sentences)


def refuse_unrelated(
    counts: ResultCounts, origin: str, judgments: DataFrame, results: DataFrame
) -> None:
    if any(run.judged_queries for run in counts.runs):
        return
    queries = sum(run.unjudged_queries for run in counts.runs)
    what = (
        f"answered {queries:,} unjudged queries but no judged query, e.g. run={counts.runs[0].run}"
    )
    to_do = check_ids(
        "query ids (and datasets)", query_key(results.columns), judgments, results, counts.excluded
    )
    raise InputError(f"results: {len(counts.runs)} run(s) in {origin} {what}; {to_do}")


def check_ids(
    what: str, columns: Sequence[str], judgments: DataFrame, results: DataFrame, excluded: int
) -> str:
    """The advice if no id of the results is in the judgments, with each table's first id."""
    removed = ""
    if excluded:
        removed = f"exclude removed {excluded:,} results, perhaps all judged ones; check it, and "
    judged = _first_example(columns, judgments)
    returned = _first_example(columns, results)
    return (
        f"{removed}check that judgments ({judged}) and results ({returned}) "
        f"write {what} in the same way"
    )


def _first_example(columns: Sequence[str], table: DataFrame) -> str:
    first = F.min(F.substring(row_example(columns), 1, EXAMPLE_LENGTH))
    return table.agg(first).collect()[0][0] or "none left"


def refuse_gaps(
    judged: JudgmentCounts, returned: ResultCounts, max_missing: float, max_unjudged: float
) -> None:
    lacking: list[str] = []
    unjudged: list[str] = []
    for run in _sorted(returned.runs):
        expected = judged.queries.get(run.dataset, 0)
        missing = expected - run.judged_queries
        answered = run.judged_queries + run.unjudged_queries
        if _is_more(missing, max_missing, expected):
            lacking.append(f"run={run.run} lacks {missing} of {expected}")
        if _is_more(run.unjudged_queries, max_unjudged, answered):
            unjudged.append(f"run={run.run} has {run.unjudged_queries} of {answered}")
    reasons = {
        f"lack more judged queries than max_missing_fraction={max_missing:g} allows": lacking,
        f"have more unjudged queries than max_unjudged_fraction={max_unjudged:g} allows": unjudged,
    }
    sentences = []
    for what, runs in reasons.items():
        if runs:
            sentences.append(f"{len(runs)} run(s) {what}, e.g. {runs[0]}")
    if sentences:
        is_stranger = any(run.unjudged_queries and not run.judged_queries for run in returned.runs)
        to_do = WRITE_ALIKE if is_stranger else "complete the tables"
        raise InputError(f"results: {'; '.join(sentences)}; {to_do}, or allow more")


def refuse_lost(
    judged: JudgmentCounts, returned: ResultCounts, scores: Sequence[Mapping[str, Any]]
) -> None:
    """Raise InputError if a run lacks more queries in its scores than when its results were
    counted.

    This happens if files change in between.
    """
    has_datasets = any(run.dataset is not None for run in returned.runs)
    answered = {(run.dataset, run.run): run.judged_queries for run in returned.runs}
    for row in scores:
        dataset = row["dataset"] if has_datasets else None
        missing = judged.queries.get(dataset, 0) - answered.get((dataset, row["run"]), 0)
        if row["missing_queries"] > missing:
            raise InputError(
                f"results: run={row['run']} lacks {row['missing_queries']} judged queries in its "
                f"scores, but lacked {missing} when its results were checked; "
                "nothing was published; check what changes the files"
            )


def refuse_low_rates(
    rates: Mapping[str, float | None], cutoff: Cutoff, least: float, advice: str
) -> None:
    """Raise InputError if a run's judged_rate at the cutoff is below `least`.

    The message contains the `advice` if the rate is 0. Other limits refuse runs without results.
    """
    below = {run: rate for run, rate in rates.items() if rate is not None and rate < least}
    if below:
        run = min(below, key=lambda name: (below[name], name))
        to_do = "judge more of the documents that it returns" if below[run] else advice
        rate = measure_at("judged_rate", cutoff)
        raise InputError(
            f"results: {len(below)} run(s) have a {rate} below min_judged_rate={least:g}, "
            f"e.g. run={run} with {score(below[run])}; {to_do}, or allow a lower rate"
        )


def refuse_in_judgments(judgments: Source, table: DataFrame, convention: Convention) -> None:
    if convention.judgment_duplicates == "error":
        advice = SetOption("judgment_duplicates", "max", words="keep one row each, or")
        _refuse_repeated(
            judgments, [table], "doc_id", "document(s) judged twice for one query", advice
        )


def refuse_in_lists(results: Source, tables: Sequence[DataFrame], convention: Convention) -> None:
    if convention.duplicates == "error":
        advice = SetOption("duplicates", "best", words="keep one row each, or")
        _refuse_repeated(
            results, tables, "doc_id", "document(s) returned twice for one query", advice
        )
    if convention.ranks_decide:
        words = "number each list from 1 or, if there are scores,"
        advice = SetOption("order", "score", words=words)
        _refuse_repeated(results, tables, "rank", "rank(s) with two documents", advice)


def _refuse_repeated(
    source: Source, tables: Iterable[DataFrame], column: str, what: str, advice: Advice
) -> None:
    """Raise DuplicatesError if a value of the column occurs twice in a list or a query."""
    number, examples = _repeated_values(tables, column)
    if number:
        message = f"{source.name}: {number} {what}, e.g. {min(examples)}"
        raise DuplicatesError(message, _with_advice_about_runs(source, advice))


def _repeated_values(tables: Iterable[DataFrame], column: str) -> tuple[int, list[str]]:
    """How many values of the column occur twice, and an example from each table that has any."""
    number = 0
    examples = []
    for table in tables:
        key = [name for name in ("dataset", "run", "query_id", column) if name in table.columns]
        # A document that has the same rank twice is a document returned twice, not a rank with two
        # documents.
        is_twice = "count(*) > 1" if column == "doc_id" else "min(doc_id) < max(doc_id)"
        twice = table.groupBy(*key).agg(F.expr(f"{is_twice} as is_twice")).where("is_twice")
        example = F.substring(row_example(key), 1, EXAMPLE_LENGTH)
        ((count, first),) = twice.agg(F.count("*"), F.min(example)).collect()
        if count:
            number += count
            examples.append(first)
    return number, examples


def _with_advice_about_runs(source: Source, advice: Advice) -> Advice:
    """The advice and, if the lists of several runs may have been taken for one, how to tell them
    apart.
    """
    if source.name != "results":
        return advice
    if source.run is not None or source.runs:
        return Either((advice, _if_several_runs(source)), "; ")
    if len(source.files) > 1:
        words = f"if the {len(source.files):,} files are runs that share a name,"
        # Python names the runs of files by their contents.
        from_files = ForFiles(Give("run_from", "file", "results", words=words))
        return Either((advice, from_files), "; ")
    return advice


def _if_several_runs(source: Source) -> Advice:
    """The advice to name the column of the runs of results that were read as one run."""
    words = "name the column of runs with"
    way: Advice = ColumnIs("results", "run", "NAME", words=words)
    if source.run is not None:
        leave_out = Give("run", table="results", words="leave", then="out")
        way = Either((leave_out, way))
    words = "if they are several runs,"
    return ForFiles(way, "rename the column of runs to run", words=words)


def refuse_merged_runs(results: Source, counts: ResultCounts, config: EvaluationConfig) -> None:
    """Raise InputError if lists with two results of rank 1 are the lists of two runs merged into
    one.
    """
    merged = _merged(counts, config)
    run = _merged_run(results, merged, config) if merged else None
    if run is None:
        return
    lists = sum(run.merged_lists for run in merged)
    dataset = f"dataset={run.dataset} " if run.dataset else ""
    are_files = len(results.files) > 1 and not results.runs
    ways = (
        SeparateRuns(is_run_given=results.run is not None, are_files=are_files),
        SetOption("order", "score", words="if only scores decide,"),
    )
    raise InputError(
        f"results: {lists} list(s) of {len(merged)} run(s) have {TWO_FIRSTS}, "
        f"e.g. {dataset}run={run.run} query_id={run.merged_query}: "
        f"{_scores_of_rank_1(results, run, config)}",
        Either(ways, "; "),
    )


def about_merged(counts: ResultCounts, config: EvaluationConfig) -> Iterator[Notice]:
    """The warning about lists with two results of rank 1 that were not refused."""
    what = f"have lists with {TWO_FIRSTS}"
    advice = "the scores decide; if these are two runs, give each its own name"
    yield from _about(_merged(counts, config), what, Do(words=advice))


def _merged(counts: ResultCounts, config: EvaluationConfig) -> list[RunCounts]:
    if "order" in config.chosen_options:
        return []
    return _sorted(run for run in counts.runs if run.merged_lists)


def _merged_run(
    results: Source,
    merged: Sequence[RunCounts],
    config: EvaluationConfig,
) -> RunCounts | None:
    """The first run whose lists are probably those of two runs, with an example query."""
    files = results.files
    if len(files) == 1:
        # Lists with two results of rank 1 in one file belong to one run whose ranks have no
        # meaning. Some published runs look like this.
        return None
    files_of_tables = files_by_table(files)
    if results.part is not None and len(files_of_tables) > 1:
        # If two tables of a run both begin the same list at rank 1, they contain two runs.
        tables = [results.part(of_table) for of_table in files_of_tables]
        run = _run_in_two_tables(tables, merged, config.results.run)
        has_part_files = len(files_of_tables) < len(files)
        if run is not None or not has_part_files:
            return run
    # The part files of a table do not show where a run begins, because the writer distributes the
    # rows among them. But two runs answer the same queries, so most of their lists begin twice.
    return next(filter(is_mostly_merged, merged), None)


def is_mostly_merged(run: RunCounts) -> bool:
    """Whether most lists of a run begin twice, as they do if it is made of two runs."""
    return 2 * run.merged_lists > run.lists


def _run_in_two_tables(
    tables: Sequence[DataFrame],
    merged: Sequence[RunCounts],
    only_run: str | None,
) -> RunCounts | None:
    """The first run that has a list with results of rank 1 in two tables."""
    names = sorted({run.run for run in merged})
    tops = union_all([_tops(table, at, names, only_run) for at, table in enumerate(tables)])
    key = [name for name in ("dataset", "run") if name in tops.columns]
    lists = tops.groupBy(*key, "query_id").agg(
        F.min("table").alias("first_table"),
        F.max("table").alias("last_table"),
        F.min("score").alias("lowest"),
        F.max("score").alias("highest"),
    )
    in_two = lists.where("first_table < last_table and lowest < highest")
    rows = in_two.groupBy(*key).agg(F.min("query_id").alias("query_id")).collect()
    queries = {(row.asDict().get("dataset"), row["run"]): row["query_id"] for row in rows}
    for run in merged:
        if (run.dataset, run.run) in queries:
            return dataclasses.replace(run, merged_query=queries[run.dataset, run.run])
    return None


def _tops(table: DataFrame, number: int, names: Sequence[str], only_run: str | None) -> DataFrame:
    """The results of rank 1 of these runs in one part; `number` identifies the part."""
    kinds = dict(table.dtypes)
    # If the user names the run, all rows belong to it, whatever their column says.
    run = F.col("run").cast("string") if only_run is None else F.lit(only_run)
    columns = {"run": run, "query_id": F.col("query_id").cast("string")}
    if "dataset" in kinds:
        columns["dataset"] = F.col("dataset").cast("string")
    columns |= {"score": typed("score", kinds), "table": F.lit(number)}
    is_first = (typed("rank", kinds) == 1) & run.isin(*names)
    return table.where(is_first).select(*(column.alias(name) for name, column in columns.items()))


def _scores_of_rank_1(results: Source, run: RunCounts, config: EvaluationConfig) -> str:
    """The best and the worst score of rank 1 in a merged list, and the files that contain them."""
    kinds = dict(results.table.dtypes)
    score = typed("score", kinds)
    is_first = typed("rank", kinds) == 1
    key = {
        "dataset": run.dataset,
        "run": None if config.results.run else run.run,
        "query_id": run.merged_query,
    }
    for name, value in key.items():
        if value is not None:
            is_first &= F.col(name).cast("string") == value
    ((highest, lowest),) = results.table.where(is_first).agg(F.max(score), F.min(score)).collect()
    with_highest = _file_with(results, is_first & (score == highest))
    with_lowest = _file_with(results, is_first & (score == lowest))
    if with_highest == with_lowest:
        return f"scores {highest!r} and {lowest!r} in {with_highest}"
    return f"score {highest!r} in {with_highest} and {lowest!r} in {with_lowest}"


def _file_with(source: Source, condition: Column) -> str:
    """The path of a file that has a row of which a condition is true.

    If the files cannot be read one by one, this is the origin of the whole table.
    """
    if source.part is None:
        return source.origin
    files = source.files
    while len(files) > 1:
        half = files[: len(files) // 2]
        rest = files[len(half) :]
        is_in_half = source.part(half).where(condition).limit(1).count() > 0
        files = half if is_in_half else rest
    return str(files[0].path)


def refuse_opposite_ranks(counts: ResultCounts, config: EvaluationConfig) -> None:
    # A tool's preset implies an order: trec_eval uses the scores even if the ranks contradict them.
    runs = _opposite(counts)
    if runs and config.convention.based_on == "standard" and "order" not in config.chosen_options:
        raise InputError(
            f"results: score and rank contradict each other in all lists of {len(runs)} run(s), "
            f"e.g. in {runs[0].ranked_lists} list(s) of run={runs[0].run}: the first rank has the "
            "lowest score, as if scores were distances",
            Either(
                (
                    SetOption("order", "rank", words="say which one decides,"),
                    SetOption("order", "score"),
                )
            ),
        )


def refuse_swapped(results: Source, counts: ResultCounts, config: EvaluationConfig) -> None:
    """Raise InputError if, in most lists of a run, the scores number the results and the ranks do
    not.

    This applies even to the presets of tools, which would score such lists upside down.
    """
    runs = [run for run in _sorted(counts.runs) if 2 * run.swapped_lists > run.lists]
    if runs and "order" not in config.chosen_options:
        raise InputError(
            f"results: score and rank look swapped in most lists of {len(runs)} run(s), e.g. in "
            f"{runs[0].swapped_lists} list(s) of run={runs[0].run}: the scores number the results, "
            "and the ranks do not",
            Either(
                (_name_both(results), SetOption("order", "score", words="if scores are right,"))
            ),
        )


def _opposite(counts: ResultCounts) -> list[RunCounts]:
    opposite = []
    for run in _sorted(counts.runs):
        if run.ranked_lists and run.reversed_lists == run.ranked_lists:
            opposite.append(run)
    return opposite


def about_input(
    judged: JudgmentCounts,
    without_results: Sequence[str],
    returned: ResultCounts,
    convention: Convention,
) -> Iterator[Notice]:
    """The warnings about probable mistakes that the counts show.

    `without_results` are the datasets that have only judgments.
    """
    if without_results:
        name = without_results[0]
        yield Notice(
            f"{len(without_results)} dataset(s) have judgments but no results, "
            f"e.g. {name} with {judged.queries[name]:,} queries; "
            "find out why the results are missing, or remove the judgments"
        )
    runs = _sorted(returned.runs)
    strangers = [run for run in runs if _answers_other_queries(run, judged)]
    if strangers:
        run = strangers[0]
        counts = run.judged_queries, judged.queries.get(run.dataset, 0), run.unjudged_queries
        yield about_strangers(len(strangers), run_example(run.run, run.dataset), *counts)
    empty = [run for run in runs if not run.rows]
    if empty:
        yield about_empty_runs(len(empty), run_example(empty[0].run, empty[0].dataset))
    for dataset in {run.dataset: None for run in runs}:
        yield from _about_fragments([run for run in runs if run.dataset == dataset])
    if convention.needs_score:
        tied = [run for run in runs if run.lists and run.tied_lists == run.lists]
        words = f"ties={convention.ties} decides their order; if they have ranks:"
        advice = SetOption("order", "rank", words=words)
        yield from _about(tied, "give all results of a query the same score", advice)
    if convention.order == "score":
        what = "have ranks that contradict their scores in every list (rank 1 has the lowest score)"
        advice = SetOption("order", "rank", words="the scores decide; to let the ranks decide:")
        yield from _about(_opposite(returned), what, advice)


def _answers_other_queries(run: RunCounts, judged: JudgmentCounts) -> bool:
    """Whether most queries of a run are unjudged, and it answers fewer than half of the judged
    ones.
    """
    if run.unjudged_queries <= run.judged_queries:
        return False
    # A dataset without judgments has no queries to answer.
    expected = judged.queries.get(run.dataset, 0)
    return expected == 0 or 2 * run.judged_queries < expected


def _about_fragments(runs: Sequence[RunCounts]) -> Iterator[Notice]:
    """The warning about runs with few results of one query.

    They may be lines of another run whose name was cut off.
    """
    largest = max(runs, key=lambda run: run.rows)
    fragments = []
    for run in runs:
        is_of_one_query = run.judged_queries + run.unjudged_queries == 1
        has_one_row = run.rows == 1 and largest.rows > 1
        is_cut = has_one_row and largest.run.startswith(run.run)
        if is_of_one_query and (is_cut or largest.rows >= _MANY_TIMES * run.rows):
            fragments.append(run)
    if fragments:
        example = fragments[0]
        counts = f"it has {example.rows:,} result(s), and run={largest.run} has {largest.rows:,}"
        advice = f"{counts}; it may be the name of another run, cut off or misspelt"
        yield from _about(fragments, "have results for only one query", Do(words=advice))


def about_scores_as_grades(judgments: Source, judged: JudgmentCounts) -> Iterator[Notice]:
    """The warning about grades that may be the scores of results."""
    column, grade = judgments.recognised_grades, judged.fractional_grade
    if column is not None and column.lower() == "score" and grade is not None:
        what = (
            f"judgments: the grades come from the column {column} and are not whole numbers, "
            f"e.g. {grade:g}"
        )
        words = "if these are results, give the judgments first; if they are grades,"
        yield Notice(what, ColumnIs("judgments", "relevance", column, words=words))


def about_grades(
    judged: JudgmentCounts,
    convention: Convention,
    measures: MeasureSet,
) -> Iterator[Notice]:
    """The warnings about grades that the preset's tool does not accept, or that are all below a
    threshold.
    """
    highest = judged.best_grade
    if convention.min_relevance == "none":
        sentences = presets.about_grades(convention.based_on, judged.fractional_grade, highest)
        yield from map(Notice, sentences)
    least = relevant_grade(convention)
    # Queries without a relevant document that are left out have their own warning.
    are_scored = convention.no_relevant in ("zero", "one")
    is_below = highest is not None and least is not None and highest < least
    if measures.counts_relevant and is_below and are_scored:
        yield Notice(
            f"judgments: no document is relevant: the highest grade is {highest:g}, but relevant "
            f"documents need {least:g} or more; check the grades, or set relevant_from"
        )


def about_far_grade(judged: JudgmentCounts) -> Iterator[Notice]:
    """The warning about a highest grade that few judgments have, far above a scale of small ones.

    It may be a typing error, such as 33 for 3. Counts, such as clicks, have no such scale.
    """
    highest = judged.best_grade
    following = judged.usual_grade
    number = judged.high_grades
    if highest is None or following is None or following <= 0:
        return
    is_only_high_grade = number > 0 and judged.lowest_high_grade == highest
    if is_only_high_grade and number <= _HANDFUL and highest > _TIMES_FAR * following:
        has = "judgment has" if number == 1 else "judgments have"
        what = f"judgments: {number} {has} the grade {highest:g}, and the next one is {following:g}"
        yield Notice(f"{what}; check whether it is a typing error")


def _about(runs: Sequence[RunCounts], what: str, advice: Advice) -> Iterator[Notice]:
    if runs:
        example = run_example(runs[0].run, runs[0].dataset)
        yield Notice(f"{len(runs)} run(s) {what}, e.g. {example}", advice)


def _sorted(runs: Iterable[RunCounts]) -> list[RunCounts]:
    return sorted(runs, key=lambda run: (run.dataset or "", run.run))


def _is_more(part: int, fraction: float, whole: int) -> bool:
    """Whether a part is more than a fraction of the whole.

    The comparison is exact, so 29 of 100 is not more than 0.29.
    """
    return part > Fraction(repr(fraction)) * whole

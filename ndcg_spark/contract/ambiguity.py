"""Results that break no rule but can be read in two ways: which column gives the order, and whether one names runs.

Ranks may contradict scores, scores may count like ranks, and a column of values or categories may be taken for names.
The counts of the check tell which runs may be affected. Only these are read again, row by row.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, IntegerType

from ndcg_spark.casting import as_type
from ndcg_spark.config import EvaluationConfig, ResultsConfig
from ndcg_spark.contract.counts import ResultCounts, RunCounts
from ndcg_spark.contract.rows import InputRows
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.read import Source
from ndcg_spark.schemas import WRITTEN, query_key

#: More runs than this with fewer results than this each cannot be runs; a column of scores looks like that.
_MOST_RUNS = 100
_RESULTS_OF_A_RUN = 2
#: The results of this many queries are read before those of all queries.
_FEW_QUERIES = 20


def refuse_two_readings(results: InputRows, counts: ResultCounts, config: EvaluationConfig) -> None:
    """InputError if scores may be ranks, or contradict the ranks in every list, unless the user chose `order`.

    Runs a Spark job only if the counts make it likely.
    """
    if config.convention.order != "score" or "order" in config.chosen_options:
        return
    if "rank" not in results.all.columns:
        if results.source.format == "json" and "score" not in config.results.columns:
            _refuse_ranks_in_json(results, counts, config)
        return
    # The preset of a tool stands for its order: trec_eval uses the scores, even where ranks contradict them, as in some
    # runs of TREC.
    if config.convention.based_on == "standard":
        _refuse_opposite_order(results, counts)
    _refuse_swapped_columns(results, counts)


def refuse_merged_runs(results: Source, counts: ResultCounts, config: EvaluationConfig) -> None:
    """InputError if lists have two results of rank 1 with different scores, unless the user chose `order`.

    Reads results again only to say where these two are.
    """
    merged = sorted((run for run in counts.runs if run.merged_lists), key=lambda run: (run.dataset or "", run.run))
    if not merged or "order" in config.chosen_options:
        return
    run = merged[0]
    lists, dataset = sum(run.merged_lists for run in merged), f"dataset={run.dataset} " if run.dataset else ""
    by_file = ", such as --run-from file" if len(results.files) > 1 and not results.runs else ""
    raise InputError(
        f"results: {lists} list(s) of {len(merged)} run(s) have two results of rank 1 with different scores, e.g. "
        f"{dataset}run={run.run} query_id={run.merged_query}: {_first_results(results, run, config)}; if two runs "
        f"share this name, give each its own{by_file}; if scores alone decide, --set order=score"
    )


def _first_results(results: Source, run: RunCounts, config: EvaluationConfig) -> str:
    """The best and the worst score of rank 1 in a merged list, and the files that have them, if there are several."""
    kinds = dict(results.table.dtypes)
    score = as_type(F.col("score"), DoubleType(), kinds["score"])
    key = {"dataset": run.dataset, "run": None if config.results.run else run.run, "query_id": run.merged_query}
    of_list = as_type(F.col("rank"), IntegerType(), kinds["rank"]) == 1
    for name, value in key.items():
        if value is not None:
            of_list &= F.col(name).cast("string") == value
    ((most, least),) = results.table.where(of_list).agg(F.max(score), F.min(score)).collect()
    part = results.part
    if part is None or len(results.files) < 2:
        return f"scores {most!r} and {least!r} in {results.place}"
    places = []
    for value in (most, least):
        files: Sequence[File] = results.files
        while len(files) > 1:
            half = files[: len(files) // 2]
            files = half if part(half)[0].where(of_list & (score == value)).limit(1).count() else files[len(half) :]
        places.append(files[0].path)
    return f"score {most!r} in {places[0]} and {least!r} in {places[1]}"


def _refuse_ranks_in_json(results: InputRows, counts: ResultCounts, config: EvaluationConfig) -> None:
    likely = [run for run in counts.runs if run.lists and run.counting_lists == run.lists]
    runs = [row for row in _list_facts(results, likely) if row["counted"] == row["lists"]]
    if not runs:
        return
    named = config.results.run is not None or any("run" in dict(file.partition) for file in results.source.files)
    names = ["query_id", "doc_id", "rank"] if named else ["run", "query_id", "doc_id", "rank"]
    mapped = " ".join(f"--column results.{name}={at}" for at, name in enumerate(names, 1))
    raise InputError(
        f"results: {len(runs)} run(s) whose values count 1, 2, 3, ... in every list, e.g. {runs[0]['lists']} of "
        f"run={runs[0]['run']}, so they may be ranks or scores; say which, {mapped}, or results.score={len(names)}; "
        "ranks must begin at 1"
    )


def _refuse_opposite_order(results: InputRows, counts: ResultCounts) -> None:
    ranked = sum(run.ranked_lists for run in counts.runs)
    if not ranked or sum(run.reversed_lists for run in counts.runs) < ranked:
        return
    runs = [row for row in _list_facts(results, counts.runs) if row["untied"]]
    lists = sum(row["untied"] for row in runs)
    if sum(row["opposite"] for row in runs) == lists:
        raise InputError(
            f"results: score and rank contradict each other in each of {lists} lists, e.g. in {runs[0]['untied']} of "
            f"run={runs[0]['run']}: the first rank has the lowest score, as if scores were distances; say which "
            "decides, --set order=rank, or --set order=score"
        )


def _refuse_swapped_columns(results: InputRows, counts: ResultCounts) -> None:
    likely = [run for run in counts.runs if run.lists and run.counting_lists == run.lists and not run.ranked_lists]
    for row in _list_facts(results, likely):
        if row["counted"] == row["lists"] and row["odd_rank"] is not None:
            raise InputError(
                f"results: the scores of run={row['run']} count 1, 2, 3, ... in each of its {row['lists']} lists, and "
                f"its ranks do not, e.g. {row['odd_rank']:g}; are rank and score swapped? correct the columns or, if "
                "not, --set order=score"
            )


def _number(name: str, kinds: Mapping[str, str]) -> Column:
    """A column as double, also where the text is not a valid rank; null if there is no such column."""
    forms = [column for column in (name, WRITTEN[name]) if column in kinds]
    numbers = (as_type(F.col(column), DoubleType(), kinds[column]) for column in forms)
    return F.coalesce(*numbers) if forms else F.lit(None).cast("double")


def _list_facts(results: InputRows, runs: Sequence[RunCounts]) -> list[Row]:
    """Counts of the lists with at least two rows, one row per run, by name. Runs a Spark job.

    `lists`, and how many of them: `counted` have scores 1, 2, 3, ... or 0, 1, 2, ...; `untied` have more than one
    score, and in `opposite` of these the scores rise with the ranks. `odd_rank` is the largest rank of a list whose
    ranks have fractions or gaps, or begin above 1; null if there is no such list, or a rank is not a number.
    """
    if not runs:
        return []
    table = results.source.table
    key, kinds = ["run", *query_key(table.columns)], dict(table.dtypes)
    number = {name: _number(name, kinds) for name in ("score", "rank")}
    good = table.where(results.reason.isNull() & F.col("run").isin(*{run.run for run in runs}))
    rows = good.select(
        *(F.col(name).cast("string").alias(name) for name in key),
        "doc_id",
        *(column.alias(name) for name, column in number.items()),
    )
    by_rank = Window.partitionBy(*key).orderBy("rank", "score", "doc_id")
    by_score = Window.partitionBy(*key).orderBy("score", "doc_id")
    placed = rows.withColumns(
        {
            "place": F.row_number().over(by_score),
            "rank_before": F.lag("rank").over(by_rank),
            "score_before": F.lag("score").over(by_rank),
        }
    )
    rises = (F.col("rank") > F.col("rank_before")) & (F.col("score") >= F.col("score_before"))
    lists = placed.groupBy(*key).agg(
        F.count("*").alias("rows"),
        F.count("rank").alias("ranks"),
        F.count_if(F.col("rank") != F.floor("rank")).alias("fractions"),
        F.min("score").alias("least"),
        F.max("score").alias("most"),
        F.count_if(F.col("score") == F.col("place")).alias("ones"),
        F.count_if(F.col("score") == F.col("place") - 1).alias("zeros"),
        F.count_if(rises).alias("rises"),
        F.min("rank").alias("first"),
        F.max("rank").alias("last"),
    )
    several = lists.where(F.col("rows") > 1)
    counted = (F.col("ones") == F.col("rows")) | (F.col("zeros") == F.col("rows"))
    untied = F.col("least") < F.col("most")
    apart = (F.col("last") - F.col("first") + 1 != F.col("rows")) | (F.col("fractions") > 0)
    odd = (F.col("ranks") == F.col("rows")) & (apart | (F.col("first") > 1))
    by_run = several.groupBy("run").agg(
        F.count("*").alias("lists"),
        F.count_if(counted).alias("counted"),
        F.count_if(untied).alias("untied"),
        F.count_if(untied & (F.col("rises") == F.col("rows") - 1)).alias("opposite"),
        F.max(F.when(odd, F.col("last"))).alias("odd_rank"),
    )
    return sorted(by_run.collect(), key=lambda row: str(row["run"]))


def refuse_values_as_runs(counts: ResultCounts, results: Source, config: ResultsConfig) -> None:
    """InputError if there are many runs with fewer than two results each, so that their column cannot name runs.

    Runs that the user or a folder names are accepted.
    """
    if config.run_from or "run" in config.columns or any(file.partition for file in results.files):
        return
    runs, rows = len(counts.runs), sum(run.rows for run in counts.runs)
    if runs > _MOST_RUNS and rows < _RESULTS_OF_A_RUN * runs:
        raise InputError(
            f"results: {runs:,} runs of {rows / runs:.1f} results each, e.g. run={counts.runs[0].run}, in "
            f"{results.place}; is this column (the sixth of TREC files) the name of the run? if so, say --run-from "
            "column; if not, give the name with --run NAME"
        )


def refuse_categories_as_runs(good: DataFrame, counts: ResultCounts, results: Source, config: ResultsConfig) -> None:
    """InputError if the column that names runs may be a category, and no two runs return the same document for a query.

    Runs that answer the same queries share documents; a category, such as that of a product, splits one list. Runs a
    Spark job only if the name of the column is ambiguous.
    """
    column = results.doubtful_run
    names = sorted({run.run for run in counts.runs})
    if column is None or config.run_from == "column" or len(names) < 2:
        return
    key = query_key(good.columns)
    few = F.broadcast(good.select(*key).distinct().limit(_FEW_QUERIES))
    if _share_documents(good.join(few, on=key, how="left_semi"), key) or _share_documents(good, key):
        return
    raise InputError(
        f"results: {column} gives {len(names):,} runs, e.g. {names[0]} and {names[1]}, no two of which return the same "
        f"document for a query, in {results.place}, so it may split one list instead; say --run-from column if it "
        "names the runs; if not, name the run with --run NAME"
    )


def _share_documents(table: DataFrame, key: list[str]) -> bool:
    """Whether two runs return the same document for a query. Runs a Spark job."""
    documents = table.groupBy(*key, "doc_id").agg(F.min("run").alias("first"), F.max("run").alias("last"))
    return bool(documents.where(F.col("first") < F.col("last")).limit(1).count())

"""Input that breaks no rule but is probably a mistake: the wrong file or column, runs in one, scores without meaning.

What would certainly give wrong scores is refused; the rest are sentences that change neither a score nor an exit code.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, IntegerType

from ndcg_spark.casting import as_type
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.scan import JudgmentCounts, ResultCounts, RunCounts
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import Cutoff, format_cutoff
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.read import Source


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
    of_list = as_type(F.col("rank"), IntegerType(), kinds["rank"]) == 1
    key = {"dataset": run.dataset, "run": None if config.results.run else run.run, "query_id": run.merged_query}
    for name, value in key.items():
        if value is not None:
            of_list &= F.col(name).cast("string") == value
    ((most, least),) = results.table.where(of_list).agg(F.max(score), F.min(score)).collect()
    if results.part is None or len(results.files) < 2:
        return f"scores {most!r} and {least!r} in {results.place}"
    places = []
    for value in (most, least):
        files = results.files
        while len(files) > 1:
            half = files[: len(files) // 2]
            has = results.part(half).where(of_list & (score == value)).limit(1).count()
            files = half if has else files[len(half) :]
        places.append(files[0].path)
    return f"score {most!r} in {places[0]} and {least!r} in {places[1]}"


def refuse_opposite_ranks(counts: ResultCounts, config: EvaluationConfig) -> None:
    """InputError if the first rank has the lowest score in all lists of a run, unless the user chose `order`.

    The preset of a tool stands for its order: trec_eval uses the scores, also where the ranks of TREC's runs contradict
    them.
    """
    runs = _opposite(counts)
    if runs and config.convention.based_on == "standard" and "order" not in config.chosen_options:
        raise InputError(
            f"results: score and rank contradict each other in all lists of {len(runs)} run(s), e.g. in "
            f"{runs[0].ranked_lists} of run={runs[0].run}: the first rank has the lowest score, as if scores were "
            "distances; say which decides, --set order=rank, or --set order=score"
        )


def _opposite(counts: ResultCounts) -> list[RunCounts]:
    return [run for run in counts.runs if run.ranked_lists and run.reversed_lists == run.ranked_lists]


def about_gains(judged: JudgmentCounts, convention: Convention) -> str | None:
    """A note for users of trec_eval who chose no convention: gains of graded judgments are exponential."""
    best = judged.best_grade
    # Measures and results without scores may have changed other options.
    if best is None or best <= 1 or convention.gain != Convention().gain:
        return None
    return (
        f"grades up to {best:g} gain 2^grade - 1 here (up to {2**best - 1:g}), and trec_eval's gain is linear: "
        "--convention trec_eval_9"
    )


def about_input(
    judged: JudgmentCounts, without_results: Sequence[str], returned: ResultCounts, convention: Convention
) -> Iterator[str]:
    """Sentences about probable mistakes that the counts show. `without_results` are datasets that are judged only."""
    if without_results:
        name = without_results[0]
        yield (
            f"{len(without_results)} dataset(s) judged but without results, e.g. {name} with {judged.queries[name]:,} "
            "queries; find out why the results are missing, or remove the judgments"
        )
    runs = sorted(returned.runs, key=lambda run: (run.dataset or "", run.run))
    yield from _about(
        [run for run in runs if run.unjudged_queries and not run.judged_queries],
        "answered no judged query",
        "check that both tables write query ids (and datasets) alike",
    )
    yield from _about([run for run in runs if not run.rows], "have no results", "they lack every query")
    if convention.needs_score:
        yield from _about(
            [run for run in runs if run.lists and run.tied_lists == run.lists],
            "give all results of a query the same score",
            f"their order is that of ties={convention.ties}; if they have ranks: --set order=rank",
        )
    if convention.order == "score":
        what = "contradict their ranks in every list, as the first rank has the lowest score"
        yield from _about(_opposite(returned), what, "scores decide the order, ranks with --set order=rank")


def about_judged_rates(rows: Iterable[Mapping[str, Any]], cutoff: Cutoff) -> Iterator[str]:
    """Which runs returned no judged document down to the cutoff, by rows of DATASET_SCORES."""
    unjudged = [row["run"] for row in rows if row["cutoff"] == cutoff and row["judged_rate"] == 0]
    if unjudged:
        yield (
            f"{len(unjudged)} run(s) returned no judged document within the cutoff {format_cutoff(cutoff)}, e.g. "
            f"run={unjudged[0]}; check that both tables write document ids alike"
        )


def _about(runs: Sequence[RunCounts], what: str, advice: str) -> Iterator[str]:
    if runs:
        of_dataset = f" dataset={runs[0].dataset}" if runs[0].dataset is not None else ""
        yield f"{len(runs)} run(s) {what}, e.g. run={runs[0].run}{of_dataset}; {advice}"

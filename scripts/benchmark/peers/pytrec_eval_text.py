"""pytrec_eval on gzipped TREC files, all runs in one process. The convention is `pytrec_eval`. Writes nothing."""

import statistics
from collections.abc import Mapping

import pytrec_eval
from peer import main
from trec_files import Run, means, qrels_of, runs_of


def scores(judgments: str, results: str, _: str, cutoffs: list[int]) -> Mapping[int, float]:
    """Mean over the runs of their mean NDCG at every cutoff, over the queries that each returns."""
    evaluator = pytrec_eval.RelevanceEvaluator(qrels_of(judgments), {f"ndcg_cut.{','.join(map(str, cutoffs))}"})

    def of_run(run: Run) -> Mapping[int, float]:
        found = evaluator.evaluate(run).values()
        return {k: statistics.fmean(values[f"ndcg_cut_{k}"] for values in found) for k in cutoffs}

    return means(runs_of(results), of_run, cutoffs)


if __name__ == "__main__":
    main(scores)

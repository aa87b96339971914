"""ir_measures on gzipped TREC files, all runs in one process. The convention is `ir_measures`. Writes nothing.

Its evaluator is made once for all runs, and is given dictionaries: its own reader of runs takes twice as long.
"""

from collections.abc import Mapping

import ir_measures
from ir_measures import nDCG
from peer import main
from trec_files import Run, means, qrels_of, runs_of


def scores(judgments: str, results: str, _: str, cutoffs: list[int]) -> Mapping[int, float]:
    """Mean over the runs of their mean NDCG at every cutoff, over all judged queries."""
    evaluator = ir_measures.evaluator([nDCG @ k for k in cutoffs], qrels_of(judgments))

    def of_run(run: Run) -> Mapping[int, float]:
        return {measure.params["cutoff"]: value for measure, value in evaluator.calc_aggregate(run).items()}

    return means(runs_of(results), of_run, cutoffs)


if __name__ == "__main__":
    main(scores)

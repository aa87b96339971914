"""Two sets of judgments from storage compared; they and the results are checked as for an evaluation."""

import pandas as pd

from ndcg_spark import agreement
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.check import check_judgments, check_tables
from ndcg_spark.inputs.read import read_judgments
from ndcg_spark.job.failures import translated_failures
from ndcg_spark.job.setup import engine_for, sources_of
from ndcg_spark.steps import report_step


def compare_judgments(config: EvaluationConfig, other: str) -> pd.DataFrame:
    """The judgments of the configuration, A, compared with those of the path `other`, B. Raises as an evaluation.

    With results, the runs of the configuration are ranked under both at its deepest cutoff.
    """
    with engine_for(config) as engine:
        paths = [config.judgments.path, [other]]
        sources = [
            read_judgments(engine, config.judgments, [*map(config.dated, each)], config.convention.gain != "judged")
            for each in paths
        ]
        judgments, results = [], None
        with translated_failures(sources):
            for name, source in zip("AB", sources, strict=True):
                good, counts, _ = check_judgments(source, config)
                judgments.append(good)
                report_step(name, f"{counts.rows:,} judgments of {sum(counts.queries.values()):,} queries")
            if config.results:
                results = check_tables(*sources_of(engine, config), config).needed_results
            cutoff, convention = config.cutoffs[-1], config.convention
            # Whoever has chosen that scores decide is not asked about ranks again.
            results = results if results is None or convention.needs_rank else results.drop("rank")
            a, b = judgments
            return agreement.compare_judgments(a, b, results, cutoff, convention, dataset=config.dataset)

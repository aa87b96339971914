"""Two sets of judgments from storage compared; they and the results are checked as for an evaluation."""

import pyarrow as pa

from ndcg_spark.agreement import api
from ndcg_spark.comparison.comparability import different_options
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.check import check_judgments, check_tables
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.inputs.read import read_judgments
from ndcg_spark.job.failures import translated_failures
from ndcg_spark.job.progress import ReportStep
from ndcg_spark.job.setup import engine_for, sources_of
from ndcg_spark.nights.read import read_nights
from ndcg_spark.nights.records import CommittedNight, committed
from ndcg_spark.nights.selection import select_nights
from ndcg_spark.rules import options_without_scores


def compare_judgments(
    config: EvaluationConfig, other: str, report_step: ReportStep, has_results: bool, since: str | None = None
) -> dict[str, pa.Table]:
    """The judgments of the configuration, A, compared with those of the path `other`, B. Raises as an evaluation.

    With results, the runs of the configuration are ranked under both at its deepest cutoff. `since` is a folder with
    nights: what changed since the newest before the date of the configuration, whose judgments are A, is said in parts.
    """
    with engine_for(config) as engine:
        report_step("engine", engine.name)
        paths = [config.judgments.path, [other]]
        sources = [
            read_judgments(engine, config.judgments, [*map(config.dated, each)], config.convention.gain != "judged")
            for each in paths
        ]
        judgments, results = [], None
        with translated_failures(sources):
            for name, source in zip("AB", sources, strict=True):
                rows, counts = check_judgments(source, config)
                judgments.append(rows.good(counts))
                report_step(name, f"{counts.rows:,} judgments of {sum(counts.queries.values()):,} queries")
            if has_results:
                results = check_tables(*sources_of(engine, config), config).pruned_results
            cutoff, convention = config.cutoffs[-1], config.convention
            before = None
            if since is not None and results is not None:
                # As it was recorded, which is as these results need it.
                recorded = convention.replace(**options_without_scores(convention, results.columns))
                before = read_nights(_night_before(config, recorded, since), "query_scores", engine.session)
            return api.compare_judgments(
                judgments[0], judgments[1], results, cutoff, convention, before=before, dataset=config.dataset
            )


def _night_before(config: EvaluationConfig, convention: Convention, output: str) -> list[CommittedNight]:
    """The newest night before the date of the configuration, of every dataset.

    ConfigurationError if there is none, or if it has another convention.
    """
    nights = [night for night in committed(output) if night.evaluated_on < config.date.isoformat()]
    earlier = select_nights(nights, output)
    for night in earlier:
        differ = different_options(convention.options(), night.record["options"])
        if differ:
            raise ConfigurationError(f"since: {night} has another convention, {', '.join(differ)}; give its options")
    return earlier

"""A gate rehearsed on the published nights, which do not change."""

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.gate.history import History
from ndcg_spark.gate.rehearsal import rehearse
from ndcg_spark.gate.verdict import Verdict
from ndcg_spark.job.about_queries import read_tables_of_queries
from ndcg_spark.job.gate import usable_gate
from ndcg_spark.nights.log import committed, read_again_if_replaced
from ndcg_spark.nights.select import nights_of_dataset
from ndcg_spark.steps import report_step


def rehearse_published(config: EvaluationConfig, output: str, dataset: str | None) -> list[Verdict]:
    """The verdicts of the configured gate on every published night, of all datasets or of one.

    Raises
    ------
    ConfigurationError
        There is no gate, or no night.
    StorageError
        The output cannot be read.
    """
    gate = usable_gate(config.gate)

    def verdicts() -> list[Verdict]:
        nights = committed(output)
        nights_of_dataset(nights, output, dataset)
        attributes, weights = read_tables_of_queries(config, nights)
        found = []
        for verdict in rehearse(gate, History(nights), dataset, attributes, weights):
            report_step("rehearsed", f"{verdict.dataset} of {verdict.evaluated_on}: {verdict.in_words}")
            found.append(verdict)
        return found

    return read_again_if_replaced(verdicts)

"""The lists that published nights keep: whether those of two nights can be compared, and how much they changed."""

import dataclasses
import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.lists.api import as_list_changes
from ndcg_spark.lists.changes import PERSISTENCE, list_changes
from ndcg_spark.lists.pairs import paired
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.read import read_dataset_scores, read_nights
from ndcg_spark.scoring.ranking import breaks_ties_by_gain

#: A night's record.
Record = Mapping[str, Any]
#: The options of a convention that determine which documents are in a list, their order, and the weights of ranks.
_OPTIONS = ("discount", "ties", "order", "score_precision", "duplicates", "exclude_query_as_document")


@dataclasses.dataclass(frozen=True)
class KeptLists:
    """The lists that a night of a dataset keeps: its record, RANKED_DOCUMENTS, QUERY_SCORES, and runs."""

    dataset: str
    record: Record
    documents: DataFrame
    scores: DataFrame
    runs: Collection[str]

    @classmethod
    def of(cls, night: Night, session: SparkSession) -> "KeptLists":
        """The lists of a published night. Raises as `read_nights`."""
        (rows,) = read_dataset_scores([night])
        documents, scores = (read_nights([night], name, session) for name in ("ranked_documents", "query_scores"))
        return cls(night.dataset, night.record, documents, scores, {row["run"] for row in rows})


def refused_lists(new: Record, old: Record) -> tuple[str, str] | None:
    """Why the lists of two nights cannot be compared, as the value of a Code and a sentence; None if they can."""
    for record in (new, old):
        if (record.get("configuration") or {}).get("documents") != "lists":
            night = f"the night of {record['evaluated_on']}"
            return "no_lists", f'{night} does not keep its lists; evaluate it with documents = "lists"'
    here, there = _options(new), _options(old)
    different = [f"{name}={there[name]} there and {here[name]} here" for name in _OPTIONS if there[name] != here[name]]
    if different:
        words = f"the lists of {old['evaluated_on']} follow another convention, {', '.join(different)}"
        return "other_convention", f"{words}; evaluate that date again"
    if breaks_ties_by_gain(_convention(new)):
        return "ordered_by_judgments", f"ties={here['ties']} orders documents by their judgments; choose another"
    if not common_cutoffs(new, old):
        return (
            "other_cutoffs",
            f"the lists of {old['evaluated_on']} were not kept at any cutoff of this night; evaluate one again",
        )
    return None


def common_cutoffs(new: Record, old: Record) -> list[int]:
    """The ranks down to which the lists of both nights can be compared, ascending."""
    ranks = [{k for k in record["configuration"]["cutoffs"] if isinstance(k, int)} for record in (new, old)]
    return sorted(set.intersection(*ranks))


def changes_of_nights(
    new: KeptLists, old: KeptLists, runs: Sequence[str], baseline: str | None = None, persistence: float = PERSISTENCE
) -> DataFrame:
    """The table LIST_CHANGES of two nights with comparable lists, or of one night whose runs have a `baseline` run."""
    cutoffs = common_cutoffs(new.record, old.record)
    is_listed = F.col("run").isNotNull() & (F.col("rank") <= cutoffs[-1])
    pair = paired(new.documents.where(is_listed), old.documents.where(is_listed), runs, baseline)
    found = list_changes(*pair, ["run", "query_id"], _convention(new.record), cutoffs, persistence)
    # Every run has scores for every judged query.
    judged = new.scores.select("query_id").distinct().withColumn("judged", F.lit(True))
    marked = found.join(judged, on=["query_id"], how="left")
    date, then = (datetime.date.fromisoformat(each.record["evaluated_on"]) for each in (new, old))
    return as_list_changes(
        marked, baseline, new.dataset, date, None if old is new else then, new.record["evaluation_id"]
    )


def _options(record: Record) -> dict[str, Any]:
    """The options of its lists; an option missing in a night has its default."""
    known = {**Convention().options(), **record.get("options", {})}
    return {name: known[name] for name in _OPTIONS}


def _convention(record: Record) -> Convention:
    options = _options(record)
    return Convention().replace(ties=options["ties"], discount=options["discount"])

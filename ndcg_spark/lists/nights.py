"""The lists that published nights keep: whether those of two nights can be compared, and how much they changed."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.lists.api import as_list_changes
from ndcg_spark.lists.changes import PERSISTENCE, list_changes
from ndcg_spark.lists.pairs import paired
from ndcg_spark.scoring.ranking import breaks_ties_by_gain

#: A night's record.
Record = Mapping[str, Any]
#: The options of a convention that say which documents are in a list, in which order, and what their ranks weigh.
_OPTIONS = ("discount", "ties", "order", "score_precision", "duplicates", "exclude_query_as_document")


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
            f"the lists of {old['evaluated_on']} were kept at no cutoff of this night; evaluate one again",
        )
    return None


def common_cutoffs(new: Record, old: Record) -> list[int]:
    """The ranks down to which the lists of both nights can be compared, ascending."""
    ranks = [{k for k in record["configuration"]["cutoffs"] if isinstance(k, int)} for record in (new, old)]
    return sorted(set.intersection(*ranks))


def changes_of_nights(
    dataset: str,
    records: tuple[Record, Record],
    documents: tuple[DataFrame, DataFrame],
    scores: DataFrame,
    runs: Sequence[str],
    baseline: str | None = None,
    persistence: float = PERSISTENCE,
) -> DataFrame:
    """The table LIST_CHANGES of a night and a baseline that may be compared with it; a `baseline` is one of its runs.

    `records` and `documents`, RANKED_DOCUMENTS, are of the night and of the baseline, which may be the night itself;
    `scores` are the QUERY_SCORES of the night, which has every judged query.
    """
    cutoffs = common_cutoffs(*records)
    is_listed = F.col("run").isNotNull() & (F.col("rank") <= cutoffs[-1])
    new, old = (table.where(is_listed) for table in documents)
    pair = paired(new, old, runs, baseline)
    found = list_changes(*pair, ["run", "query_id"], _convention(records[0]), cutoffs, persistence)
    judged = scores.select("query_id").distinct().withColumn("judged", F.lit(True))
    marked = found.join(judged, on=["query_id"], how="left")
    dates = [datetime.date.fromisoformat(record["evaluated_on"]) for record in records]
    is_own = records[0]["evaluation_id"] == records[1]["evaluation_id"]
    then = None if is_own else dates[1]
    return as_list_changes(marked, baseline, dataset, dates[0], then, records[0]["evaluation_id"])


def _options(record: Record) -> dict[str, Any]:
    """The options of its lists; one that a night does not know has its default."""
    known = {**Convention().options(), **record.get("options", {})}
    return {name: known[name] for name in _OPTIONS}


def _convention(record: Record) -> Convention:
    options = _options(record)
    return Convention().replace(ties=options["ties"], discount=options["discount"])

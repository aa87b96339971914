"""The steps of an evaluation in words, for `explain`."""

from ndcg_spark.scoring import ranking
from ndcg_spark.scoring.evaluation import Evaluation
from ndcg_spark.scoring.pruning import pruning_of


def steps(evaluation: Evaluation) -> list[str]:
    """The steps of `query_scores` in words, in order: what is kept of the results, and which option requires that."""
    c, depth = evaluation.convention, evaluation.depth
    looked_up_first = [f"{o}=drop" for o in ("unjudged", "negative") if getattr(c, o) == "drop"]
    whole = [
        *(["ideal=retrieved"] if c.ideal == "retrieved" else []),
        *(["cutoff all"] if None in evaluation.cutoffs else []),
    ]
    if whole:
        kept = f"keep the whole list, which {' and '.join(whole)} needs"
    elif ranking.breaks_ties_by_gain(c):
        kept = f"keep rank {depth} and whatever ties with it, which ties={c.ties} needs"
    else:
        kept = f"keep rank {depth}, the deepest cutoff"
    prunes = pruning_of(c, evaluation.cutoffs, ["rank"]) is not None
    look_up = "look up the judgments of the documents"
    before = [f"{look_up} of the whole list, as {' and '.join(looked_up_first)} takes documents off it"]
    return [
        "ideal: rank each query's judged documents by gain, once, whatever the number of runs"
        if c.ideal != "retrieved"
        else "ideal: rank each list's own documents by gain, run by run",
        "leave out the results of queries that nobody judged",
        *(["where results have ranks, leave out those that the check has proved to be too deep"] if prunes else []),
        *(before if looked_up_first else []),
        f"rank each run's documents of a query; {kept}",
        *([] if looked_up_first else [look_up + " that are kept"]),
        *([f"settle ties by gain: {c.ties}"] if ranking.breaks_ties_by_gain(c) else []),
        "sum gain * discount by run and query, at every cutoff in one pass",
        "join the sums to every pair of a run and a judged query; missing_query and no_relevant decide the rest",
    ]

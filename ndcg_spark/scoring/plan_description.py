"""The steps of an evaluation in words, for `--explain-plan`."""

from ndcg_spark.convention.measures import MeasureSet, written
from ndcg_spark.scoring import ranking
from ndcg_spark.scoring.evaluation import Evaluation
from ndcg_spark.scoring.floors import LEAST_ROWS, floors_of
from ndcg_spark.scoring.pruning import pruning_of


def steps(evaluation: Evaluation) -> list[str]:
    """The steps of `query_scores` in words, in order: which results are kept, and which option requires that."""
    c, depth = evaluation.convention, evaluation.depth
    joined_first = [f"{o}=drop" for o in ("unjudged", "negative") if getattr(c, o) == "drop"]
    at_no_cutoff = [written(name, k) for name, k in evaluation.measures.pairs if k is None]
    whole = [
        *(["ideal=retrieved"] if c.ideal == "retrieved" else []),
        *(["cutoff all"] if None in evaluation.cutoffs and not at_no_cutoff else []),
        *at_no_cutoff,
    ]
    if whole:
        kept = f"keep the whole list, which {' and '.join(whole)} {'needs' if len(whole) == 1 else 'need'}"
    elif ranking.breaks_ties_by_gain(c):
        kept = f"keep rank {depth} and every document that ties with it, which ties={c.ties} needs"
    else:
        kept = f"keep rank {depth}, the deepest cutoff"
    prunes = pruning_of(c, evaluation.cutoffs, ["rank"]) is not None
    embedded = evaluation.rank is ranking.list_by_list
    floored = embedded and floors_of(c, evaluation.cutoffs, ["score"], LEAST_ROWS, 0) is not None
    below = f"leave out what is below the floor of its list, a score that {depth} of its documents reach"
    gathered = _gathered(evaluation.measures)
    look_up = "look up the judgments of the documents"
    before = [f"{look_up} of the whole list, because {' and '.join(joined_first)} removes documents from it"]
    return [
        "ideal: rank each query's judged documents by gain, once for all runs"
        if c.ideal != "retrieved"
        else "ideal: rank each list's own documents by gain, run by run",
        "leave out the results of unjudged queries",
        *(["where results have ranks, leave out those that the check has proved to be too deep"] if prunes else []),
        *([f"where {LEAST_ROWS:,} results or more have none, {below}"] if floored else []),
        *(before if joined_first else []),
        f"rank each run's documents of a query; {kept}",
        *([] if joined_first else [look_up + " that are kept"]),
        *([f"settle ties by gain: {c.ties}"] if ranking.breaks_ties_by_gain(c) else []),
        "sum gain * discount by run and query, at every cutoff in one pass",
        *([f"gather in the same pass {gathered}"] if gathered else []),
        "join the sums to every pair of a run and a judged query; missing_query and no_relevant decide the rest",
    ]


def _gathered(measures: MeasureSet) -> str:
    """What the measures besides NDCG need from each list, in words; empty if there are none."""
    names: dict[str, list[str]] = {}
    for name, measure in measures.beside_ndcg.items():
        names.setdefault(measure.gathers, []).append(name)
    return ", ".join(f"{what} ({', '.join(of)})" for what, of in names.items())

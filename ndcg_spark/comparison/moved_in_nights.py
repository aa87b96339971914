"""The documents that moved between two runs or nights, from the lists that nights keep.

No engine is needed: kept lists have ranks and discounts, and query scores have the ideal DCG.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ndcg_spark.comparison.baselines import (
    has_judgments_of,
    has_options_of,
    named_baseline,
)
from ndcg_spark.comparison.corrected import MovedDocuments
from ndcg_spark.comparison.statistics import Numbers
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.copies import (
    finite_cutoffs,
    kept_judgments,
    night_convention,
    why_not_copied,
)
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.reader import (
    Where,
    answering_runs,
    read_dataset_scores,
    read_rows,
    refuse_unverified,
)
from ndcg_spark.reference import gain, merged_grade, unjudged_gain
from ndcg_spark.text import unknown_name
from ndcg_spark.tolerance import EQUAL
from ndcg_spark.voices import Either, Give

_KEY = ["query_id", "doc_id"]


class Pair(NamedTuple):
    """Two rankings: a night's run and its baseline, at a cutoff."""

    night: Night
    run: str
    #: The baseline's night, which may be the same night.
    other: Night
    baseline: str
    cutoff: int


def choose_pair(
    nights: Nights,
    night: Night,
    *,
    run: str | None = None,
    baseline_date: str | None = None,
    baseline: str | None = None,
    cutoff: int | None = None,
) -> Pair:
    """The rankings that a user names. ConfigurationError if they cannot be compared."""
    refuse_unverified([night])
    other = night
    if baseline_date is not None:
        named = [] if baseline is None else [baseline]
        other = named_baseline(nights, night, baseline_date, named).nights[-1]
    elif baseline is None:
        ways = (Give("baseline_date", words="name a night with"), Give("baseline", words="a run"))
        raise ConfigurationError("sample: there is nothing to compare with", Either(ways))
    if cutoff is None:
        cutoff = night.measure_set.main_cutoff("ndcg", finite_cutoffs(night))
    own, theirs = _chosen_runs(night, other, run, baseline)
    pair = Pair(night, own, other, theirs, cutoff or 0)
    refuse_pair(pair)
    return pair


def _chosen_runs(
    night: Night, other: Night, run: str | None, baseline: str | None
) -> tuple[str, str]:
    """The run and its baseline; ConfigurationError if they are unknown or ambiguous."""
    runs, other_runs = _runs_of(night), _runs_of(other)
    if run is not None and run not in runs:
        raise unknown_name("run", "run", run, runs)
    if baseline is not None and baseline not in other_runs:
        raise unknown_name("baseline", "run", baseline, other_runs)
    possible = set(runs) if run is None else {run}
    if baseline is None:
        # A run is compared with the run that has the same name.
        possible &= other_runs
    elif night == other:
        possible.discard(baseline)
    if len(possible) != 1:
        known = f"there are {len(possible):,} runs to compare"
        sentence = f"sample: it covers one run and its baseline, but {known}"
        raise ConfigurationError(sentence, Give("run", words="choose one with"))
    chosen = possible.pop()
    return chosen, baseline or chosen


def _runs_of(night: Night) -> set[str]:
    (rows,) = read_dataset_scores([night])
    return answering_runs(rows)


def refuse_pair(pair: Pair) -> None:
    """Raise ConfigurationError if human grades cannot correct the difference."""
    for night in (pair.night, pair.other):
        why = _why_not_corrected(night, pair.cutoff)
        if why:
            raise ConfigurationError(f"sample: {night} cannot be corrected: {why}")
    if not has_options_of(pair.other, pair.night):
        sentence = f"sample: {pair.other} has a different convention from {pair.night}"
        raise ConfigurationError(f"{sentence}; choose another night")


def _why_not_corrected(night: Night, cutoff: int) -> str | None:
    """Why human grades cannot correct a night's scores; None if they can."""
    convention = night_convention(night)
    if convention.ideal in ("retrieved_at_k", "judged_capped"):
        return f"with ideal={convention.ideal}, the ideal depends on the returned documents"
    if convention.gain == "judged":
        return "with gain=judged, grades do not matter"
    why = why_not_copied(night)
    if why:
        return why
    known = finite_cutoffs(night)
    if cutoff not in known:
        scored = ", ".join(map(format_cutoff, known))
        return f"it has no scores at {format_cutoff(cutoff)}, only at {scored}"
    return None


def moved_documents_of(pair: Pair) -> MovedDocuments:
    """The documents whose discount differs, with the grades of tonight's judgments."""
    convention = night_convention(pair.night)
    queries, counts = _counted_queries(pair, convention)
    lists = _both_lists(pair)
    lists = lists[lists["query_id"].isin(queries.index)]
    if not has_judgments_of(pair.other, pair.night):
        lists = _with_kept_grades(lists, pair.night, convention)
    gains = _gains_of(lists["relevance"], convention)
    number_of_query = pd.Series(np.arange(len(queries)), queries.index)
    query = number_of_query.loc[lists["query_id"]].to_numpy(np.int64)
    ideal = queries["ideal_dcg"].to_numpy()[query]
    baseline_weight = lists["discount_there"].to_numpy() / ideal
    weight = (lists["discount"] - lists["discount_there"]).to_numpy() / ideal
    is_moved = np.abs(weight) > EQUAL
    documents = lists["doc_id"].to_numpy()[is_moved]
    grades_of_night = pd.Series(_grades_of(pair.night), dtype="float64")
    return MovedDocuments(
        queries=list(queries.index),
        query=query[is_moved],
        doc_ids=list(documents),
        weight=weight[is_moved],
        grade=lists["relevance"].to_numpy(np.float64)[is_moved],
        gain=gains[is_moved],
        baseline=np.bincount(query, baseline_weight * gains, len(queries)).astype(np.float64),
        gains=np.unique(_gains_of(grades_of_night, convention)),
        **counts,
    )


def _counted_queries(pair: Pair, convention: Convention) -> tuple[pd.DataFrame, dict[str, int]]:
    """The queries with an ideal above 0 that are compared, by id; and how many others there are.

    A query that one side does not answer is compared only if it scores 0.
    """
    ours = _scores_of(pair.night, pair.run, pair.cutoff)
    theirs = _scores_of(pair.other, pair.baseline, pair.cutoff)
    both = ours.join(theirs[["status"]], how="outer", rsuffix="_there")
    is_paired = both["status"].notna() & both["status_there"].notna()
    if convention.missing_query != "zero":
        is_missing = (both["status"] == "missing") | (both["status_there"] == "missing")
        is_paired &= ~is_missing
    has_ideal = both["ideal_dcg"] > 0
    counts = {
        "unpaired": int((~is_paired).sum()),
        "without_ideal": int((is_paired & ~has_ideal).sum()),
    }
    counted = both[is_paired & has_ideal].sort_index()
    if counted.empty:
        raise ConfigurationError(
            f"sample: no query of {pair.night} that both sides answer has an ideal above 0"
        )
    return counted, counts


def _scores_of(night: Night, run: str, cutoff: int) -> pd.DataFrame:
    """The status and ideal DCG of each query of a run, by query."""
    columns = ["query_id", "status", "ideal_dcg"]
    where: Where = {"run": [run], "cutoff": [cutoff]}
    scores: pd.DataFrame = read_rows([night], "query_scores", columns, where).to_pandas()
    return scores.set_index("query_id")


def _both_lists(pair: Pair) -> pd.DataFrame:
    """The documents in both lists of each query, with both discounts; 0 if a list lacks one."""
    ours = _list_of(pair.night, pair.run, pair.cutoff)
    theirs = _list_of(pair.other, pair.baseline, pair.cutoff)
    both = ours.merge(theirs, on=_KEY, how="outer", suffixes=("", "_there"))
    both["relevance"] = both["relevance"].fillna(both["relevance_there"])
    both[["discount", "discount_there"]] = both[["discount", "discount_there"]].fillna(0.0)
    return both.sort_values(_KEY, ignore_index=True)


def _list_of(night: Night, run: str, cutoff: int) -> pd.DataFrame:
    """A run's kept documents down to a cutoff."""
    columns = [*_KEY, "rank", "relevance", "discount"]
    rows = read_rows([night], "ranked_documents", columns, {"run": [run]}).to_pandas()
    within: pd.DataFrame = rows[rows["rank"] <= cutoff].drop(columns="rank")
    return within


def _with_kept_grades(lists: pd.DataFrame, night: Night, convention: Convention) -> pd.DataFrame:
    """The lists with the grades of tonight's judgments, even for documents of the earlier night."""
    fingerprint = str(night.row["judgments_fingerprint"])
    judgments = kept_judgments(night.store, night.dataset, fingerprint)
    if judgments is None:
        sentence = f"sample: {night} did not keep its judgments, and its baseline's are different"
        raise ConfigurationError(f"{sentence}; choose nights with the same judgments")
    wanted = judgments.to_pandas().merge(lists[_KEY], on=_KEY)
    grades: dict[tuple[str, str], list[float]] = {}
    for row in wanted.itertuples(index=False):
        grades.setdefault((row.query_id, row.doc_id), []).append(float(row.relevance))
    merged = {}
    for key, own in grades.items():
        merged[key] = merged_grade(own, convention.judgment_duplicates)
    keys = zip(lists["query_id"], lists["doc_id"], strict=True)
    relevance = np.array([merged.get(key, np.nan) for key in keys], np.float64)
    return lists.assign(relevance=relevance)


def _gains_of(grades: "pd.Series[Any]", convention: Convention) -> Numbers:
    """The gains of grades from the machine, all of which the evaluation accepted."""
    unjudged = unjudged_gain(convention)
    gains: dict[float, float] = {}
    for grade in grades.dropna().unique().tolist():
        own = gain(grade, convention)
        gains[grade] = unjudged if own is None else own
    return np.asarray(grades.map(gains).fillna(unjudged), np.float64)


def graded_gain(grade: float, convention: Convention) -> float | None:
    """The gain of a document with a human grade; None if the convention has no gain for it."""
    if grade < 0 and convention.negative == "as_unjudged":
        return unjudged_gain(convention)
    if grade < 0 and convention.negative == "error":
        return None
    return gain(grade, convention)


def known_grades(night: Night) -> tuple[float, float]:
    """The lowest and the highest grade that people may give.

    They cover the grades of the night's judgments, 0, and the convention's `max_grade`.
    """
    grades = _grades_of(night)
    known = [0.0, *grades]
    max_grade = night_convention(night).max_grade
    # It may be the text "highest", which stands for the highest of the grades above.
    if isinstance(max_grade, float):
        known.append(max_grade)
    return min(known), max(known)


def _grades_of(night: Night) -> list[float]:
    rows = read_rows([night], "ranked_documents", ["relevance"])
    return [grade for grade in rows["relevance"].unique().to_pylist() if grade is not None]


def pair_of(nights: Nights, header: Mapping[str, Any]) -> Pair:
    """The rankings that a sample was drawn for; ConfigurationError if a night no longer exists."""
    night = _night_of_sample(nights, header, "evaluation", "date")
    other = _night_of_sample(nights, header, "baseline_evaluation", "baseline_date")
    pair = Pair(night, header["run"], other, header["baseline"], header["cutoff"])
    refuse_pair(pair)
    return pair


def _night_of_sample(
    nights: Nights, header: Mapping[str, Any], evaluation: str, date: str
) -> Night:
    """An evaluation's night in a sample's header.

    `evaluation` and `date` are the names under which the header records the night.
    """
    for night in nights:
        if night.dataset == header["dataset"] and night.evaluation_id == header[evaluation]:
            return night
    sentence = f"its night of {header[date]} was evaluated again or removed"
    raise ConfigurationError(f"human: {sentence}; draw a new sample")

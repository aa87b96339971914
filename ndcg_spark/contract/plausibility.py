"""Warnings about input that is probably a mistake: the wrong file, the wrong column, scores without information."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.contract.counts import Breach, JudgmentCounts, ResultCounts
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import Cutoff, format_cutoff
from ndcg_spark.inputs.read import Source

#: From here on, doubles cannot represent every whole number.
_LARGEST_EXACT = 2**53
#: The fields of a line of TREC judgments and of a TREC run.
_JUDGMENT_FIELDS, _RUN_FIELDS = 4, 6


def question_about(table: str, breaches: Sequence[Breach], rows: int) -> str:
    """A question for the message about broken lines (is this the other table's file, has an id a blank), or empty."""
    lines = [(breach.rows, breach.example.split()) for breach in breaches if breach.reason == "broken_line"]
    for broken, fields in lines:
        if broken == rows and table == "judgments" and len(fields) == _RUN_FIELDS and _is_number(fields[4]):
            return "; is this the results file?"
        if broken == rows and table == "results" and len(fields) == _JUDGMENT_FIELDS and _is_number(fields[3]):
            return "; is this the judgments file?"
        if len(fields) > _RUN_FIELDS and _is_number(fields[-2]) and _is_number(fields[-3]):
            return "; is there a blank in a document's id? write ids without blanks, or CSV with a header"
    return ""


def of_the_default(judged: JudgmentCounts, convention: Convention) -> str | None:
    """A warning for users of trec_eval if no convention was chosen: gains of graded judgments are exponential."""
    best = judged.best_grade
    # Measures and results without scores may have changed other options.
    if best is None or best <= 1 or convention.gain != Convention().gain:
        return None
    return (
        f"grades up to {best:g} gain 2^grade - 1 here (up to {2**best - 1:g}), and trec_eval's gain is linear: "
        "--convention trec_eval_9"
    )


def of_unjudged_runs(returned: ResultCounts) -> str | None:
    """Which runs answered queries but none that is judged, so that every judged query counts as missing."""
    unjudged = [run for run in returned.runs if run.unjudged_queries and not run.judged_queries]
    if not unjudged:
        return None
    first = min(unjudged, key=lambda run: (run.dataset or "", run.run))
    of_dataset = f" dataset={first.dataset}" if first.dataset is not None else ""
    return (
        f"{len(unjudged)} run(s) answered no judged query, e.g. run={first.run}{of_dataset}, whose "
        f"{first.unjudged_queries:,} queries are all unjudged; check that both tables write query ids (and datasets) "
        "alike"
    )


def of_datasets(judged: JudgmentCounts, without_results: Sequence[str]) -> str | None:
    """Which judged datasets have no results, so that they are not scored."""
    if not without_results:
        return None
    name = without_results[0]
    return (
        f"{len(without_results)} dataset(s) judged but without results, e.g. {name} with {judged.queries[name]:,} "
        "queries; find out why the results are missing, or remove the judgments"
    )


def of_ties(returned: ResultCounts, convention: Convention) -> str | None:
    """Which runs give all results of a query the same score, so that the tie-breaking decides their order."""
    if not convention.needs_score:
        return None
    tied = [run for run in returned.runs if run.lists and run.tied_lists == run.lists]
    if not tied:
        return None
    return (
        f"{len(tied)} run(s) give all results of a query the same score, e.g. run={tied[0].run}, so their order is "
        f"that of ties={convention.ties}; if they have ranks: --set order=rank"
    )


def of_ranks(returned: ResultCounts, convention: Convention) -> str | None:
    """Which runs have ranks that contradict their scores, or that occur twice, where scores are the order."""
    if convention.order != "score":
        return None
    opposite = [run for run in returned.runs if run.ranked_lists and run.reversed_lists == run.ranked_lists]
    repeated = [run for run in returned.runs if run.repeated_lists]
    warnings = []
    if opposite:
        warnings.append(
            f"in every list of {len(opposite)} run(s), e.g. run={opposite[0].run}, score and rank contradict each "
            "other: the first rank has the lowest score"
        )
    if repeated:
        warnings.append(
            f"{len(repeated)} run(s) have the rank 1 twice in a list, e.g. run={repeated[0].run} in "
            f"{repeated[0].repeated_lists} of its lists"
        )
    return f"{'; '.join(warnings)}; scores decide the order, ranks with --set order=rank" if warnings else None


def of_large_scores(returned: ResultCounts, results: Source, convention: Convention) -> str | None:
    """Which runs have scores that are stored exactly, but are too large for doubles to distinguish them."""
    is_double = not results.is_text and dict(results.table.dtypes).get("score") in ("float", "double")
    if not convention.needs_score or is_double:
        return None
    large = [run for run in returned.runs if run.largest_score is not None and run.largest_score >= _LARGEST_EXACT]
    if not large:
        return None
    return (
        f"{len(large)} run(s) have scores of 2^53 ({_LARGEST_EXACT:,}) or more, e.g. run={large[0].run} has "
        f"{large[0].largest_score:.17g}; they are compared as doubles, so scores that differ little tie"
    )


def of_empty_runs(returned: ResultCounts) -> str | None:
    """Which runs have no results at all."""
    empty = [run for run in returned.runs if not run.rows]
    if not empty:
        return None
    return f"{len(empty)} run(s) have no results, e.g. run={empty[0].run}; they lack every query"


def of_judged_rates(rows: Iterable[Mapping[str, Any]], cutoff: Cutoff) -> str | None:
    """Which runs returned no judged document down to the cutoff, by rows of DATASET_SCORES."""
    unjudged = [row["run"] for row in rows if row["cutoff"] == cutoff and row["judged_rate"] == 0]
    if not unjudged:
        return None
    return (
        f"{len(unjudged)} run(s) returned no judged document within the cutoff {format_cutoff(cutoff)}, e.g. "
        f"run={unjudged[0]}; check that both tables write document ids alike"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

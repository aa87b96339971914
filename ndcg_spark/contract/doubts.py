"""Input that is hardly what was meant: the wrong file, the wrong column, scores that say nothing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.config import ResultsConfig
from ndcg_spark.contract.counts import Breach, JudgmentCounts, ResultCounts
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.read import Source

#: Nobody compares so many systems by less than two results of each; a column of scores or lengths looks like that.
_MOST_RUNS = 100
_RESULTS_OF_A_RUN = 2
#: From here on a double does not tell all whole numbers apart.
_MOST_EXACT = 2**53
#: The fields of a line of a TREC run.
_RUN_FIELDS = 6


def other_table(table: str, breaches: Sequence[Breach], rows: int) -> str:
    """A question for a message: whether a file of TREC lines that are all broken is the other table's; else empty."""
    lines = [breach.example.split() for breach in breaches if breach.reason == "broken_line" and breach.rows == rows]
    for fields in lines:
        if table == "judgments" and len(fields) == 6 and _is_number(fields[4]):
            return "; is this the results file?"
        if table == "results" and len(fields) == 4 and _is_number(fields[3]):
            return "; is this the judgments file?"
    return ""


def refuse_foreign_runs(counts: ResultCounts, results: Source, config: ResultsConfig) -> None:
    """InputError if there are so many runs of so few results that what names them cannot be the name of a run.

    What the user, or a folder, names the run is not doubted.
    """
    if config.run_from or "run" in config.columns or any(file.partition for file in results.files):
        return
    runs, rows = len(counts.runs), sum(run.rows for run in counts.runs)
    if runs > _MOST_RUNS and rows < _RESULTS_OF_A_RUN * runs:
        raise InputError(
            f"results: {runs:,} runs of {rows / runs:.1f} results each, e.g. run={counts.runs[0].run}, in "
            f"{results.place}; is this column (the sixth of TREC files) the name of the run? if so, say --run-from "
            "column; if not, give the name with --run NAME"
        )


def of_the_default(judged: JudgmentCounts, convention: Convention) -> str | None:
    """What surprises whoever comes from trec_eval, if nobody chose the convention: graded gains are exponential."""
    best = judged.best_grade
    # Measures and results without scores may have changed other options.
    if best is None or best <= 1 or convention.gain != Convention().gain:
        return None
    return (
        f"grades up to {best:g} gain 2^grade - 1 here (up to {2**best - 1:g}), and trec_eval's gain is linear: "
        "--convention trec_eval_9"
    )


def of_unjudged_runs(returned: ResultCounts) -> str | None:
    """Which runs answered queries and none that was judged, so that every judged query counts as missing."""
    strangers = [run for run in returned.runs if run.unjudged_queries and not run.judged_queries]
    if not strangers:
        return None
    first = min(strangers, key=lambda run: (run.dataset or "", run.run))
    of_dataset = f" dataset={first.dataset}" if first.dataset is not None else ""
    return (
        f"{len(strangers)} run(s) answered no judged query, e.g. run={first.run}{of_dataset}, whose "
        f"{first.unjudged_queries:,} queries are all unjudged; check that both tables write query ids (and datasets) "
        "alike"
    )


def of_ties(returned: ResultCounts, convention: Convention) -> str | None:
    """Which runs give all results of a query the same score, so that something else decides their order."""
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
    twice = [run for run in returned.runs if run.repeated_lists]
    said = []
    if opposite:
        said.append(
            f"in every list of {len(opposite)} run(s), e.g. run={opposite[0].run}, score and rank say the opposite: "
            "the first rank has the lowest score"
        )
    if twice:
        said.append(
            f"{len(twice)} run(s) have the rank 1 twice in a list, e.g. run={twice[0].run} in "
            f"{twice[0].repeated_lists} of its lists"
        )
    return f"{'; '.join(said)}; scores decide the order, ranks with --set order=rank" if said else None


def of_large_scores(returned: ResultCounts, results: Source, convention: Convention) -> str | None:
    """Which runs have scores that are stored exactly and are too large to be compared so."""
    is_double = not results.is_text and dict(results.table.dtypes).get("score") in ("float", "double")
    if not convention.needs_score or is_double:
        return None
    large = [run for run in returned.runs if run.largest_score is not None and run.largest_score >= _MOST_EXACT]
    if not large:
        return None
    return (
        f"{len(large)} run(s) have scores from 2^53 on, {_MOST_EXACT:,}: run={large[0].run} has "
        f"{large[0].largest_score:.17g}; they are compared as doubles, so scores that differ by little tie"
    )


def of_empty_runs(returned: ResultCounts) -> str | None:
    """Which runs are there and have no results at all."""
    empty = [run for run in returned.runs if not run.rows]
    if not empty:
        return None
    return f"{len(empty)} run(s) have no results, e.g. run={empty[0].run}; they lack every query"


def blank_in_id(breaches: Sequence[Breach]) -> str:
    """A question for a message: whether lines of a TREC run are broken by a blank in a document's id; else empty."""
    broken = (breach.example.split() for breach in breaches if breach.reason == "broken_line")
    found = any(len(fields) > _RUN_FIELDS and _is_number(fields[-2]) and _is_number(fields[-3]) for fields in broken)
    return "; is there a blank in a document's id? write ids without blanks, or CSV with a header" if found else ""


def of_judged_rates(rows: Iterable[Mapping[str, Any]], cutoff: int | None) -> str | None:
    """Which runs returned no judged document down to the cutoff, by rows of DATASET_SCORES."""
    none = [row["run"] for row in rows if row["cutoff"] == cutoff and row["judged_rate"] == 0]
    if not none:
        return None
    return (
        f"{len(none)} run(s) returned no judged document within the cutoff {cutoff or 'all'}, e.g. run={none[0]}; "
        "check that both tables write document ids alike"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

"""Input that is hardly what was meant: the wrong file, the wrong column, scores that say nothing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.config import ResultsConfig
from ndcg_spark.contract.counts import Breach, JudgmentCounts, ResultCounts
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.reading import Source

#: Nobody compares so many systems by less than two results of each; a column of scores or lengths looks like that.
_MOST_RUNS = 100
_RESULTS_OF_A_RUN = 2


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
    strangers = [run for run in returned.runs if not run.judged_queries]
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

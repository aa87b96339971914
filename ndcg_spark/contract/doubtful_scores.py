"""What the scores themselves show to be doubtful: sentences that warn of a probable mistake and change nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ndcg_spark.convention.convention import Convention, why_no_value
from ndcg_spark.convention.measures import MEASURES, Cutoff, MeasureSet, by_depth, format_cutoff, written


def about_judged_rates(rows: Iterable[Mapping[str, Any]], cutoff: Cutoff, advice: str) -> Iterator[str]:
    unjudged = [row["run"] for row in rows if row["cutoff"] == cutoff and row["judged_rate"] == 0]
    if unjudged:
        yield (
            f"{len(unjudged)} run(s) returned no judged document within the cutoff {format_cutoff(cutoff)}, e.g. "
            f"run={unjudged[0]}; {advice}"
        )


def about_no_values(rows: Iterable[Mapping[str, Any]], measures: MeasureSet) -> Iterator[str]:
    """Why measures have no value for any run of a dataset, from rows of DATASET_SCORES."""
    datasets: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        datasets.setdefault(row["dataset"], []).append(row)
    for dataset, own in datasets.items():
        where = f" in dataset={dataset}" if len(datasets) > 1 else ""
        convention = Convention.parse(own[0]["convention"])
        reasons: dict[str, list[str]] = {}
        for name, cutoff in measures.pairs or [("ndcg", row["cutoff"]) for row in own]:
            column = MEASURES[name].column
            if all(row[column] is None for row in own if row["cutoff"] == cutoff):
                alike = reasons.setdefault(why_no_value(column, convention), [])
                alike.append(written(name, cutoff))
        for reason, several in reasons.items():
            shown = ", ".join(dict.fromkeys(several))
            yield f"measures: no value for {shown}{where}: {reason}; check the grades"


def about_runs(rows: Sequence[Mapping[str, Any]], runs: Sequence[str]) -> Iterator[str]:
    """Sentences about probable mistakes that the rows of DATASET_SCORES show, of which `runs` should have some."""
    scored = {row["run"] for row in rows}
    if empty := [run for run in runs if run not in scored]:
        yield f"results: {len(empty)} run(s) have no rows, e.g. run={empty[0]}; check what should have filled the table"
    counts = ("queries", "missing_queries", "no_relevant_queries")
    if not any(row[count] for row in rows for count in counts):
        yield "judgments: no query is judged; check what should have filled the table"
    # Whatever the convention makes of missing queries, without documents there is no rate.
    elif all(row["judged_rate"] is None for row in rows):
        yield "results: no run has results for a judged query; write ids alike in both"
    elif few := [row for row in rows if _answered(row) < min(row["missing_queries"], row["unjudged_queries"])]:
        first, several = few[0], len({row["run"] for row in few})
        what = f"lacks {first['missing_queries']} and answered {first['unjudged_queries']} others; write ids alike"
        yield f"results: {several} run(s) lack over half of the judged queries, e.g. run={first['run']} {what} in both"
    deepest = max((row["cutoff"] for row in rows), key=by_depth)
    yield from about_judged_rates(rows, deepest, "write document ids in the same way")


def _answered(row: Mapping[str, Any]) -> int:
    """How many judged queries have results, at most, as of those without gain some may be missing."""
    options = Convention.parse(row["convention"])
    left_out = row["no_relevant_queries"] if options.no_relevant == "skip" else 0
    answered: int = row["queries"] + left_out - (row["missing_queries"] if options.missing_query == "zero" else 0)
    return answered

"""The two tables of a comparison as they were given: the scores of the runs, those of the baseline, what pairs them."""

import dataclasses
import datetime
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.comparison import pairing
from ndcg_spark.comparison.tallies import Row
from ndcg_spark.convention.cutoffs import order_of
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.text import did_you_mean


@dataclasses.dataclass(frozen=True)
class Sides:
    """The scores of the runs and of the baseline, of the columns of `pairing.scores`, and what pairs them."""

    runs: DataFrame
    baseline: DataFrame
    key: tuple[str, ...]
    same_night: bool


def sides_of(
    query_scores: DataFrame,
    baseline_scores: DataFrame | None,
    baseline_run: str | None,
    measures: Sequence[str],
    runs: Sequence[str] | None,
    cutoffs: Sequence[int | None] | None,
) -> Sides:
    """Both sides of a comparison, from tables QUERY_SCORES; ConfigurationError or InputError where there is none."""
    ours = pairing.only(pairing.scores(query_scores, measures, "query_scores"), runs, cutoffs)
    if baseline_scores is None and baseline_run is None:
        raise ConfigurationError("baseline: there is none; name a run, or give the scores of another night")
    if baseline_scores is None:
        every = pairing.only(pairing.scores(query_scores, measures, "query_scores"), None, cutoffs)
        is_baseline = F.col("run") == F.lit(baseline_run)
        key = (*pairing.KEY, "night")
        return Sides(ours.where(~is_baseline), every.where(is_baseline), key, same_night=True)
    theirs = pairing.scores(baseline_scores, measures, "baseline")
    if baseline_run is None:
        return Sides(ours, pairing.only(theirs, runs, cutoffs), (*pairing.KEY, "run"), same_night=False)
    return Sides(ours, pairing.only(theirs, [baseline_run], cutoffs), pairing.KEY, same_night=False)


def refuse_absent(
    rows: Sequence[Row], sides: Sides, baseline: str | None, cutoffs: Sequence[int | None] | None
) -> None:
    """ConfigurationError where a baseline or a cutoff is not there; InputError where the baseline has two nights."""
    alone = [row for row in rows if row["alone"]]
    if not alone:
        known = sorted({row["run"] for row in rows})
        if baseline is not None and known:
            near = did_you_mean(baseline, known)
            raise ConfigurationError(f"baseline: no run is called {baseline!r}{near}; there are {', '.join(known)}")
        raise ConfigurationError(
            "baseline: it has no scores to compare with; check the night, the runs and the cutoffs"
        )
    there = {row["cutoff"] or None for row in rows}
    absent = [str(cutoff or "all") for cutoff in cutoffs or () if cutoff not in there]
    if absent:
        known = [str(cutoff or "all") for cutoff in sorted(there, key=order_of)]
        raise ConfigurationError(f"cutoffs: no scores at {', '.join(absent)}; there are those at {', '.join(known)}")
    nights: dict[str, set[datetime.date]] = {}
    for row in alone:
        nights.setdefault(row["dataset"], set()).add(row["baseline_night"])
    several = [dates for dates in nights.values() if len(dates) > 1]
    if several and not sides.same_night:
        raise InputError(
            f"baseline: scores of {len(several[0])} nights, e.g. {min(several[0])} and {max(several[0])}; give those "
            "of one"
        )

"""Tables of comparisons: of runs, with the test, stars and flags in words; of judgments; and of
lists.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ndcg_spark.comparison.differences import MISSING_FLAGS, NO_SHARED_QUERIES
from ndcg_spark.comparison.over_datasets import COLUMNS as OVER
from ndcg_spark.comparison.over_datasets import fewest_datasets
from ndcg_spark.comparison.run_numbers import NO_VALUE, ONE_NUMBER
from ndcg_spark.convention.measures import CATALOG_COLUMNS, measure_at
from ndcg_spark.report.console import print_view
from ndcg_spark.report.human_words import human_table
from ndcg_spark.report.query_counts import note_on_unpaired
from ndcg_spark.schemas import AGREEMENTS, COMPARISONS, NEW, OLD
from ndcg_spark.tables import format as numbers
from ndcg_spark.tables.table import Table, answered_in_words, make_table
from ndcg_spark.tables.writers import View, as_json
from ndcg_spark.tolerance import DECIMALS
from ndcg_spark.voices import OPTIONS

if TYPE_CHECKING:
    import pandas as pd

    from ndcg_spark.comparison.runs import Comparison

Row = Mapping[str, Any]
Rows = Sequence[Row]

_MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
#: The conclusions in words, in the order in which they are counted.
CONCLUSIONS = (
    *("worse", "better", "lower", "higher", "same"),
    *("cannot tell", "unchanged", "not tested"),
)
#: What else decides besides the p value named before it: for stars, and for conclusions.
_STARRED = (
    "; * below 0.05, ** below 0.01, *** below 0.001 if the randomization test agrees; "
    "? if only one of the two tests is below 0.05, before or after adjustment"
)
_CONCLUDED = "; conclusions also need the randomization test to agree"
#: The headings of adjusted p values: that of the t test, and the larger of the two tests.
_P = {"p_adjusted": "p (adjusted)", "p_decides": "p (decides)"}
DECIDES = "p (decides): the larger p value of the t test and the randomization test, adjusted"
_CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini-Hochberg"}
#: Each flag in words, as shown next to a conclusion, and what it means.
FLAGS = {
    "run_missing": "run missing: it returned nothing here",
    "baseline_missing": "baseline missing: it returned nothing here",
    NO_SHARED_QUERIES: "no shared queries: no query is in both sets",
    "few_answered": (
        "answered few: one side has no results for at least 10 % more of the queries than the other"
    ),
    "below_min_queries": "too few queries: the slice is too small to be tested",
    "unchanged": "unchanged: no query has changed",
    "too_few": "at most one query: nothing can be tested",
    "no_variation": (
        "no variation: every query differs by the same amount; there is no interval, and p comes "
        "from random signs"
    ),
    "few_changed": "few changed: fewer than 10 queries have changed",
    "doubt": (
        "doubt: the t test and the randomization test disagree, before or after adjustment; "
        "nothing is concluded"
    ),
    "other_judgments": (
        "other judgments: the judgments of some queries differ, which also changes scores; "
        "nothing is concluded"
    ),
    "sides_disagree": (
        "sides disagree: the results under the old and the new judgments differ; "
        "nothing is concluded"
    ),
    ONE_NUMBER: "one number: it covers all lists of the run together, so it cannot be tested",
    NO_VALUE: "no value: a side has lists, but the measure has no value for them",
}
_DOUBTED = {"doubt", "other_judgments", "sides_disagree"}
#: The columns in which the rows of both sides of a comparison agree.
_COMPARED = ("dataset", "run", "baseline", "measure", "cutoff", "attribute", "value")
_ON_SIDES = (
    "side: both nights under the old judgments and under the new ones, over the queries that both "
    "judge; better or worse only if both sides agree; p: the larger of both sides, adjusted"
)
_MOVED = (
    "moved: the share of the total discount that moved, "
    "which limits how far any judgments could change DCG"
)
_QUERIES = ("run", "cutoff", "query_id", "entered", "left", "rbo", "moved_discount")


def print_compared(compared: "Comparison", style: str | None) -> None:
    tables, value = comparison_tables(compared), comparison_value(compared)
    value["means_of_sides"] = means_of_sides(compared.rows)
    print_view(View(tables, value, COMPARISONS.names, flat(compared.all_rows)), style)


def print_over_datasets(compared: "Comparison", style: str | None) -> None:
    rows = [_flat_over(row) for row in compared.over_datasets.rows]
    value = {"over_datasets": compared.over_datasets.rows}
    value["warnings"] = comparison_value(compared)["warnings"]
    print_view(View([over_datasets_table(compared)], value, OVER, rows), style)


def _flat_over(row: Row) -> dict[str, Any]:
    return {**row, "differences": as_json(row["differences"])}


def print_judgments(rows: Rows, style: str | None, ranked_by: str) -> None:
    notes = (
        [f"tau: over the runs, ranked by {ranked_by}"]
        if any(row["runs"] is not None for row in rows)
        else []
    )
    print_view(
        View([make_table(rows, AGREEMENTS.names, notes)], rows, AGREEMENTS.names, rows), style
    )


def print_lists(changes: "pd.DataFrame", queries: int, style: str | None) -> None:
    # Imported here, so that other comparisons do not wait for pyspark.
    from ndcg_spark.comparison.list_changes import most_changed, summarized

    frames = summarized(changes), most_changed(changes, queries)
    rows, most = (pa.Table.from_pandas(frame, preserve_index=False).to_pylist() for frame in frames)
    tables = [make_table(rows, (), [_MOVED]), *([make_table(most, _QUERIES)] if most else [])]
    print_view(View(tables, {"rows": rows, "queries": most}, list(rows[0]), rows), style)


def flat(rows: Rows) -> list[dict[str, Any]]:
    return [{**row, "flags": " ".join(row["flags"])} for row in rows]


def comparison_value(compared: "Comparison") -> dict[str, Any]:
    warnings = [notice.worded(OPTIONS) for notice in compared.warnings]
    warnings += compared.over_datasets.sentences
    value = {"comparisons": compared.rows, "queries": compared.queries, "warnings": warnings}
    value["over_datasets"] = compared.over_datasets.rows
    if compared.human is not None:
        value["human"] = compared.human.value()
    return value


def means_of_sides(rows: Rows) -> list[dict[str, Any]]:
    """Both differences of each comparison with two sides, and their mean.

    Only comparisons over all queries without weights are included.
    """
    by_side: dict[str | None, dict[tuple[Any, ...], Row]] = {OLD: {}, NEW: {}}
    for row in rows:
        is_whole = row["attribute"] is None and row["weight_effective_n"] is None
        if row["side"] in (OLD, NEW) and is_whole and row["difference"] is not None:
            by_side[row["side"]][_comparison_of(row)] = row
    means = []
    for key, old in by_side[OLD].items():
        new = by_side[NEW].get(key)
        if new is not None:
            names = ("dataset", "run", "baseline", "measure", "cutoff", "baseline_night")
            ends = {"old": old["difference"], "new": new["difference"]}
            ends["mean"] = (ends["old"] + ends["new"]) / 2
            queries = min(old["queries"], new["queries"])
            means.append({**{name: old[name] for name in names}, **ends, "queries": queries})
    return means


def _comparison_of(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _COMPARED)


def _sentences_on_sides(means: Rows) -> list[str]:
    """A sentence per dataset and measure: the change of each run, as the mean of both sides."""
    changes: dict[str, list[str]] = {}
    for row in means:
        since = f"the judgments have changed since {row['baseline_night']}"
        what = f"{row['dataset']}: {since}; over the {row['queries']:,} queries that both judge"
        what += f", the mean of both sides of {_measure(row)} is"
        pair = row["run"]
        if row["run"] != row["baseline"]:
            pair = f"{pair} against {row['baseline']}"
        changes.setdefault(what, []).append(f"{numbers.difference(row['mean'])} for {pair}")
    return [f"{what} {', '.join(found)}" for what, found in changes.items()]


def comparison_tables(compared: "Comparison") -> list[Table]:
    """One row per comparison by dataset, measure and attribute, worst first, then the queries that
    changed most.
    """
    rows = _worst_first(compared.rows)
    lines = [
        {
            "dataset": row["dataset"],
            "run": row["run"],
            "against": row["baseline"],
            "measure": _measure(row),
        }
        | {"slice": "" if row["attribute"] is None else f"{row['attribute']}={row['value']}"}
        | {"side": row["side"]}
        | compared_cells(row, counted=counted_heading(rows))
        for row in rows
    ]
    hidden = {
        name for name in ("measure", "slice", "side") if len({line[name] for line in lines}) < 2
    }
    if len({(row["run"], row["baseline"]) for row in rows}) == len({row["run"] for row in rows}):
        hidden.add("against")
    # Keeps lines to about a hundred characters.
    has_intervals = any(line["interval"] for line in lines)
    if has_intervals and len({"measure", "slice"} & hidden) < 2:
        hidden.add("baseline")
    names = [name for name in (lines[0] if lines else ()) if name not in hidden]
    sentences = [notice.worded(OPTIONS) for notice in compared.warnings]
    sentences += _sentences_on_sides(means_of_sides(rows))
    more = {"title": counts(compared.rows), "sentences": sentences}
    notes = comparison_notes(rows, compared.correction, compared.alpha)
    compared_table = make_table(lines, names, notes, ["mean", "baseline", "difference"], **more)
    tables = [compared_table]
    if compared.human is not None:
        tables.append(human_table(compared.human))
    if compared.over_datasets.rows or compared.over_datasets.sentences:
        tables.append(over_datasets_table(compared))
    if compared.queries:
        tables.append(_queries_table(compared.queries, hidden & {"against"}))
    return tables


def _queries_table(queries: Rows, hidden: set[str]) -> Table:
    """The queries that changed most."""
    lines = []
    for row in queries:
        line = {"dataset": row["dataset"], "run": row["run"], "against": row["baseline"]}
        line |= {"measure": _measure(row), "side": row["side"], "query": row["query_id"]}
        line |= {"before": row["baseline_score"], "nights": row["baseline_nights"]}
        lines.append({**line, "now": row["score"], "change": row["difference"]})
    unused = set(hidden)
    # The column is useless if each score comes from one night.
    if all(row["baseline_nights"] in (None, 1) for row in queries):
        unused.add("nights")
    if all(row["side"] is None for row in queries):
        unused.add("side")
    return make_table(lines, [name for name in lines[0] if name not in unused])


def over_datasets_table(compared: "Comparison") -> Table:
    """A row per run, baseline and measure, in which each dataset is one observation."""
    rows, sentences = compared.over_datasets
    rows = sorted(rows, key=_over_order)
    lines = []
    for row in rows:
        line = {"run": row["run"], "against": row["baseline"], "measure": _measure(row)}
        line |= {"side": row["side"], "datasets": row["datasets"], "mean": row["mean"]}
        line |= {"baseline": row["baseline_mean"], "difference": row["difference"]}
        line |= {"p": row["p_value"], _P["p_adjusted"]: row["p_adjusted"]}
        line["won/tied/lost"] = "/".join(str(row[name]) for name in ("wins", "ties", "losses"))
        lines.append({**line, "conclusion": row["conclusion"].replace("_", " ")})
    notes = []
    if rows:
        notes = _notes_over_datasets(rows, compared.correction, compared.alpha)
    return make_table(lines, (), notes, title="Over the datasets", sentences=sentences)


def _over_order(row: Row) -> tuple[Any, ...]:
    return _measure(row), round(row["difference"], DECIMALS), row["run"], row["side"] == NEW


def _notes_over_datasets(rows: Rows, correction: str, alpha: float) -> list[str]:
    sizes = {row["family_size"] for row in rows}
    adjusted = ""
    if correction in _CORRECTIONS and max(sizes) > 1:
        adjusted = f", adjusted for {max(sizes)} comparisons ({_CORRECTIONS[correction]})"
    notes = [f"p: two-sided Wilcoxon signed-rank test over the datasets{adjusted}"]
    differing = max(row["wins"] + row["losses"] for row in rows)
    fewest = fewest_datasets(alpha)
    if differing < fewest:
        least = numbers.p_value(2.0 ** (1 - differing) if differing else 1.0)
        what = f"{differing} datasets that differ cannot give a p value below {least}"
        notes.append(f"few datasets: {what}; at least {fewest} are needed for p below {alpha:g}")
    return notes


def _worst_first(rows: Rows) -> list[Row]:
    """The rows by dataset, measure and attribute, then by difference.

    Both sides of a comparison are kept together and sorted by their mean.
    """
    measures = list(dict.fromkeys(map(_measure, rows)))
    differences: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        known = differences.setdefault((_measure(row), *_comparison_of(row)), [])
        if row["difference"] is not None:
            known.append(row["difference"])

    def key(row: Row) -> tuple[Any, ...]:
        what = row["dataset"], measures.index(_measure(row)), row["attribute"] or ""
        known = differences[_measure(row), *_comparison_of(row)]
        difference = not known, round(sum(known) / max(len(known), 1), DECIMALS)
        which = row["run"], row["baseline"], row["value"] or ""
        return *what, difference, *which, row["side"] == NEW

    return sorted(rows, key=key)


def counted_heading(rows: Rows) -> str:
    """The heading of the query counts: a higher catalog measure is not a win."""
    is_of_catalog = all(row["measure"] in CATALOG_COLUMNS for row in rows)
    return "higher/tied/lower" if is_of_catalog else "won/tied/lost"


def compared_cells(
    row: Row, mean: str = "mean", p: str = "p_adjusted", counted: str = "won/tied/lost"
) -> dict[str, Any]:
    is_tested = "unchanged" not in row["flags"]
    has_interval = is_tested and row["interval_low"] is not None
    flags = ", ".join(_flag(flag, row) for flag in _shown_flags(row) if flag != "unchanged")
    return {
        mean: row["mean"],
        "baseline": row["baseline_mean"],
        "difference": row["difference"],
        "interval": _interval(row) if has_interval else None,
        _P[p]: row[p] if is_tested else None,
        counted: _counts_of_queries(row),
        "conclusion": f"{conclusion_in_words(row)} ({flags})"
        if flags
        else conclusion_in_words(row),
    }


def _counts_of_queries(row: Row) -> str | None:
    if row["wins"] is None:
        return None
    return "/".join(f"{row[name]:,}" for name in ("wins", "ties", "losses"))


def _interval(row: Row) -> str:
    low, high = (numbers.difference(row[end]) for end in ("interval_low", "interval_high"))
    return f"{low}, {high}"


def _shown_flags(row: Row) -> list[str]:
    """The flags of a row, or only that results are missing, which explains the others."""
    missing = [flag for flag in row["flags"] if flag in MISSING_FLAGS]
    return missing or list(row["flags"])


def _flag(flag: str, row: Row) -> str:
    return answered_in_words(row) if flag == "few_answered" else FLAGS[flag].partition(":")[0]


def _measure(row: Row) -> str:
    weighted = " weighted" if row.get("weight_effective_n") is not None else ""
    return f"{measure_at(row['measure'], row['cutoff'])}{weighted}"


def counts(rows: Rows) -> str:
    """The number of comparisons by measure and conclusion.

    Only comparisons like the first one are counted, which is over all queries if there are any.
    """
    like = [
        row
        for row in rows
        if all(row[name] == rows[0][name] for name in ("attribute", "weight_effective_n"))
    ]
    # Both sides of a comparison share one conclusion.
    like = [row for row in like if row["side"] != OLD]
    own = Counter((_measure(row), conclusion_in_words(row)) for row in like)

    def listed(measure: str) -> str:
        return ", ".join(
            f"{own[measure, word]:,} {word}" for word in CONCLUSIONS if (measure, word) in own
        )

    return "; ".join(
        f"{measure}: {listed(measure)}" for measure in dict.fromkeys(map(_measure, like))
    )


def conclusion_in_words(row: Row) -> str:
    return (
        "unchanged"
        if "unchanged" in row["flags"]
        else (row["conclusion"] or "not_tested").replace("_", " ")
    )


def stars(row: Row) -> str:
    """One, two or three stars if the deciding p value is below 0.05, 0.01 or 0.001; `?` if the
    tests disagree.
    """
    p = row["p_decides"]
    if p is None or _DOUBTED.intersection(row["flags"]):
        return "?" if "doubt" in row["flags"] else ""
    return next((sign for limit, sign in _MARKS if p < limit), "")


def significance_marks(compared: Rows) -> dict[tuple[str, str, str, int | None], str]:
    return {
        (row["dataset"], row["run"], row["measure"], row["cutoff"]): stars(row)
        for row in compared
        if row["attribute"] is None and row["weight_effective_n"] is None
    }


def comparison_notes(rows: Rows, correction: str, alpha: float) -> list[str]:
    notes = notes_on_tests(rows, correction, _CONCLUDED)
    if any(row["interval_low"] is not None for row in rows):
        what = (
            f"{numbers.level(alpha)} confidence interval of the mean difference, over the queries "
            "that both sides have"
        )
        notes.append(f"interval: {what}, not adjusted for the number of comparisons")
    notes += note_on_unpaired(rows)
    sizes: dict[str, list[float]] = {}
    for row in rows:
        is_unsure = conclusion_in_words(row) == "cannot tell" and not _DOUBTED.intersection(
            row["flags"]
        )
        if is_unsure and row["minimum_detectable"] is not None:
            sizes.setdefault(_measure(row), []).append(row["minimum_detectable"])
    if sizes:
        ranges = {
            measure: dict.fromkeys(map(numbers.score, (min(own), max(own))))
            for measure, own in sizes.items()
        }
        found = ", ".join(f"{' to '.join(ends)} in {measure}" for measure, ends in ranges.items())
        notes.append(
            f"cannot tell: a difference of {found} would be detected with 80 % power, "
            "without adjustment"
        )
    if any(row["side"] is not None for row in rows):
        notes.append(_ON_SIDES)
    return notes + [
        FLAGS[flag] for flag in dict.fromkeys(flag for row in rows for flag in _shown_flags(row))
    ]


def notes_on_answers(rows: Rows) -> list[str]:
    """A sentence for each run that returned nothing, and so has no stars, or that answered few
    queries.
    """
    notes = []
    for row in rows:
        if row["attribute"] is not None or row["weight_effective_n"] is not None:
            continue
        if "run_missing" in row["flags"]:
            notes.append(f"{row['run']} returned nothing and is not tested")
        if few := answered_in_words(row):
            notes.append(f"{row['run']}: {few}")
    return list(dict.fromkeys(notes))


def notes_on_tests(rows: Rows, correction: str, meaning: str = _STARRED) -> list[str]:
    sizes, adjusted = (
        sorted({row["family_size"] for row in rows if row["family_size"] is not None}),
        "",
    )
    if correction in _CORRECTIONS and max(sizes, default=0) > 1:
        adjusted = (
            f", adjusted for {' or '.join(map(str, sizes))} comparisons "
            f"({_CORRECTIONS[correction]})"
        )
    names = {
        "the run of the same name" if row["baseline"] == row["run"] else row["baseline"]
        for row in rows
    }
    dates = {str(row["baseline_night"])[:10] for row in rows if row["baseline_night"] is not None}
    against = (
        f"baseline: {', '.join(sorted(names))}{' of ' * bool(dates)}{', '.join(sorted(dates))}"
    )
    is_tested = any(row["p_value"] is not None for row in rows)
    return [
        *([against] if rows else []),
        *([f"p: two-sided paired t test{adjusted}{meaning}"] if is_tested else []),
    ]

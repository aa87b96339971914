"""Tables that compare runs, with the test, stars and flags in words; judgments; and lists."""

import math
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

#: The stars of a p value below a limit.
_MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
#: The columns in which a comparison must agree with the first one to be counted with it.
_LIKE_FIRST = ("attribute", "weight_effective_n")
#: The conclusions in words, in the order in which they are counted.
CONCLUSIONS = (
    *("worse", "better", "lower", "higher", "same"),
    *("cannot tell", "unchanged", "not tested"),
)
#: The end of the note on p values: what a star means, and what else a conclusion needs.
_STARRED = (
    "; * below 0.05, ** below 0.01, *** below 0.001 if the randomization test agrees; "
    "? if only one of the two tests is below 0.05, before or after adjustment"
)
_CONCLUDED = "; conclusions also need the randomization test to agree"
#: The headings of adjusted p values: the t test's, and the larger of the two tests'.
_P = {"p_adjusted": "p", "p_decides": "p (decides)"}
DECIDES = "p (decides): the larger p value of the t test and the randomization test, adjusted"
_CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini-Hochberg"}
#: Each flag in words, as shown next to a conclusion, and what it means.
FLAGS = {
    "run_missing": "run missing: it returned nothing here",
    "baseline_missing": "baseline missing: it returned nothing here",
    NO_SHARED_QUERIES: "no shared queries: no query is in both sets",
    "few_answered": (
        "answered few: one side has no results for at least 10% more of the queries than the other"
    ),
    "below_min_queries": "too few queries: the slice is too small to be tested",
    "few_effective": (
        "few effective queries: a few queries have most of the weight, so nothing is tested"
    ),
    "unchanged": "unchanged: no query has changed",
    "too_few": "at most one query: nothing can be tested",
    "no_variation": (
        "no variation: every query differs by the same amount; there is no interval, and p comes "
        "from random signs"
    ),
    "few_changed": "few changed: fewer than 10 queries have changed",
    "doubt": (
        "doubt: the t test and the randomization test disagree, before or after adjustment; "
        "no conclusion is drawn"
    ),
    "other_judgments": (
        "other judgments: the judgments of some queries differ, which also changes scores; "
        "no conclusion is drawn"
    ),
    "sides_disagree": (
        "sides disagree: the results under the old and the new judgments differ; "
        "no conclusion is drawn"
    ),
    ONE_NUMBER: "one number: it covers all lists of the run together, so it cannot be tested",
    NO_VALUE: "no value: a side has lists, but the measure has no value for them",
}
_DOUBTED = {"doubt", "other_judgments", "sides_disagree"}
#: The columns in which the rows for both sides of a comparison agree.
_COMPARED = ("dataset", "run", "baseline", "measure", "cutoff", "attribute", "value")
_MEANS_OF_SIDES = ("dataset", "run", "baseline", "measure", "cutoff", "baseline_night")
_ON_SIDES = (
    "side: both nights under the old judgments and under the new ones, over the queries that both "
    "judge; better or worse only if both sides agree; "
    "p: the larger of the two sides' p values, adjusted"
)
_MOVED = (
    "moved: the share of the total discount that moved, "
    "which limits how far any judgments could change DCG"
)
_QUERIES = ("run", "cutoff", "query_id", "entered", "left", "rbo", "moved_discount")


def print_compared(compared: "Comparison", style: str | None) -> None:
    value = comparison_value(compared)
    value["means_of_sides"] = means_of_sides(compared.rows)
    csv_rows = flat(compared.all_rows)
    print_view(View(comparison_tables(compared), value, COMPARISONS.names, csv_rows), style)


def print_over_datasets(compared: "Comparison", style: str | None) -> None:
    rows = []
    for row in compared.over_datasets.rows:
        rows.append({**row, "differences": as_json(row["differences"])})
    value = {"over_datasets": compared.over_datasets.rows}
    value["warnings"] = comparison_value(compared)["warnings"]
    print_view(View([over_datasets_table(compared)], value, OVER, rows), style)


def print_judgments(rows: Rows, style: str | None, ranked_by: str) -> None:
    """Print how two sets of judgments agree, from rows of AGREEMENTS."""
    notes = []
    if any(row["runs"] is not None for row in rows):
        notes.append(f"tau: over the runs, ranked by {ranked_by}")
    table = make_table(rows, AGREEMENTS.names, notes)
    print_view(View([table], rows, AGREEMENTS.names, rows), style)


def print_lists(changes: "pd.DataFrame", queries: int, style: str | None) -> None:
    """Print how the lists of two sides differ: a summary, and the queries that changed most."""
    # Imported here, so that other comparisons do not wait for pyspark.
    from ndcg_spark.comparison.list_changes import most_changed, summarized

    rows = _rows_of(summarized(changes))
    most = _rows_of(most_changed(changes, queries))
    tables = [make_table(rows, (), [_MOVED])]
    if most:
        tables.append(make_table(most, _QUERIES))
    print_view(View(tables, {"rows": rows, "queries": most}, list(rows[0]), rows), style)


def _rows_of(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pa.Table.from_pandas(frame, preserve_index=False).to_pylist()
    return rows


def flat(rows: Rows) -> list[dict[str, Any]]:
    """The COMPARISONS rows for CSV, which cannot contain lists."""
    return [{**row, "flags": " ".join(row["flags"])} for row in rows]


def comparison_value(compared: "Comparison") -> dict[str, Any]:
    """The JSON value of a comparison of runs."""
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
        is_of_side = row["side"] in (OLD, NEW)
        if is_of_side and _is_over_all_queries(row) and row["difference"] is not None:
            by_side[row["side"]][_comparison_of(row)] = row
    means = []
    for key, old in by_side[OLD].items():
        new = by_side[NEW].get(key)
        if new is not None:
            mean = {name: old[name] for name in _MEANS_OF_SIDES}
            mean |= {"old": old["difference"], "new": new["difference"]}
            mean["mean"] = (old["difference"] + new["difference"]) / 2
            mean["queries"] = min(old["queries"], new["queries"])
            means.append(mean)
    return means


def _is_over_all_queries(row: Row) -> bool:
    """Whether a comparison is over all queries, without weights."""
    return row["attribute"] is None and row["weight_effective_n"] is None


def _comparison_of(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _COMPARED)


def _sentences_on_sides(means: Rows) -> list[str]:
    """A sentence per dataset and measure: each run's change, as the mean of both sides."""
    changes: dict[str, list[str]] = {}
    for row in means:
        since = f"the judgments have changed since {row['baseline_night']}"
        beginning = f"{row['dataset']}: {since}; over the {row['queries']:,} queries that both "
        beginning += f"judge, the mean of both sides of {_measure(row)} is"
        pair = row["run"]
        if row["run"] != row["baseline"]:
            pair = f"{pair} against {row['baseline']}"
        change = f"{numbers.difference(row['mean'])} for {pair}"
        changes.setdefault(beginning, []).append(change)
    return [f"{beginning} {', '.join(ends)}" for beginning, ends in changes.items()]


def comparison_tables(compared: "Comparison") -> list[Table]:
    """The comparisons of runs, then other tables about them that apply."""
    tables = [_runs_table(compared)]
    if compared.human is not None:
        tables.append(human_table(compared.human))
    if compared.over_datasets.rows or compared.over_datasets.sentences:
        tables.append(over_datasets_table(compared))
    if compared.queries:
        has_one_baseline = _have_one_baseline(compared.rows)
        tables.append(_queries_table(compared.queries, {"against"} if has_one_baseline else set()))
    return tables


def _runs_table(compared: "Comparison") -> Table:
    """One row per comparison by dataset, measure and attribute, worst first."""
    rows = _worst_first(compared.rows)
    lines = []
    for row in rows:
        slice_name = ""
        if row["attribute"] is not None:
            slice_name = f"{row['attribute']}={row['value']}"
        line = {"dataset": row["dataset"], "run": row["run"], "against": row["baseline"]}
        line |= {"measure": _measure(row), "slice": slice_name, "side": row["side"]}
        lines.append({**line, **compared_cells(row, counted="queries")})
    hidden = _hidden_columns(rows, lines)
    names = [name for name in (lines[0] if lines else ()) if name not in hidden]
    sentences = [notice.worded(OPTIONS) for notice in compared.warnings]
    sentences += _sentences_on_sides(means_of_sides(rows))
    notes = comparison_notes(rows, compared.correction, compared.alpha)
    if any(line["queries"] is not None for line in lines):
        # The heading itself is short, so that the table fits a terminal.
        notes.insert(1, f"queries: {counted_heading(rows)}")
    kept = ["mean", "baseline", "difference"]
    title = counts(compared.rows)
    return make_table(lines, names, notes, kept, title=title, sentences=sentences)


def _hidden_columns(rows: Rows, lines: Rows) -> set[str]:
    """The columns that are the same in every line, or for which there is no space."""
    hidden = set()
    for name in ("measure", "slice", "side"):
        if len({line[name] for line in lines}) < 2:
            hidden.add(name)
    # Lines must not be much longer than a hundred characters.
    has_intervals = any(line["interval"] for line in lines)
    if has_intervals and not hidden.issuperset(["measure", "slice"]):
        hidden.add("baseline")
    if _have_one_baseline(rows):
        hidden.add("against")
    return hidden


def _have_one_baseline(rows: Rows) -> bool:
    """Whether each run is compared with only one other."""
    pairs = {(row["run"], row["baseline"]) for row in rows}
    return len(pairs) == len({row["run"] for row in rows})


def _queries_table(queries: Rows, hidden: set[str]) -> Table:
    """The queries that changed most."""
    # Within one night, nothing was before.
    are_nights = all(row["baseline_nights"] is not None for row in queries)
    before, now = ("before", "now") if are_nights else ("baseline", "this run")
    lines = []
    for row in queries:
        line = {"dataset": row["dataset"], "run": row["run"], "against": row["baseline"]}
        line |= {"measure": _measure(row), "side": row["side"], "query": row["query_id"]}
        line |= {before: row["baseline_score"], "nights": row["baseline_nights"]}
        lines.append({**line, now: row["score"], "change": row["difference"]})
    unused = set(hidden)
    # The column is useless if each score comes from one night.
    if all(row["baseline_nights"] in (None, 1) for row in queries):
        unused.add("nights")
    if all(row["side"] is None for row in queries):
        unused.add("side")
    return make_table(lines, [name for name in lines[0] if name not in unused])


def over_datasets_table(compared: "Comparison") -> Table:
    """A row per run, baseline and measure, in which each dataset is one observation."""
    rows = sorted(compared.over_datasets.rows, key=_over_order)
    sentences = compared.over_datasets.sentences
    lines = []
    for row in rows:
        line = {"run": row["run"], "against": row["baseline"], "measure": _measure(row)}
        line |= {"side": row["side"], "datasets": row["datasets"], "mean": row["mean"]}
        line |= {"baseline": row["baseline_mean"], "difference": row["difference"]}
        line |= {"p": row["p_value"], "p (adjusted)": row["p_adjusted"]}
        line["won/tied/lost"] = "/".join(str(row[name]) for name in ("wins", "ties", "losses"))
        lines.append({**line, "conclusion": row["conclusion"].replace("_", " ")})
    notes = []
    if rows:
        notes = _notes_over_datasets(rows, compared.correction, compared.alpha)
    return make_table(lines, (), notes, title="Over the datasets", sentences=sentences)


def _over_order(row: Row) -> tuple[Any, ...]:
    """A sort key: by measure, the largest loss first, the old side before the new one."""
    return _measure(row), round(row["difference"], DECIMALS), row["run"], row["side"] == NEW


def _notes_over_datasets(rows: Rows, correction: str, alpha: float) -> list[str]:
    """The test, and whether so few datasets can be significant."""
    sizes = {row["family_size"] for row in rows}
    adjusted = ""
    if correction in _CORRECTIONS and max(sizes) > 1:
        adjusted = f", adjusted for {max(sizes)} comparisons ({_CORRECTIONS[correction]})"
    notes = [f"p: two-sided Wilcoxon signed-rank test over the datasets{adjusted}"]
    differing = max(row["wins"] + row["losses"] for row in rows)
    fewest = fewest_datasets(alpha)
    if differing < fewest:
        # The test's smallest p value: all datasets differ in the same direction.
        least = numbers.p_value(2.0 ** (1 - differing) if differing else 1.0)
        what = f"{differing} datasets that differ cannot give a p value below {least}"
        notes.append(f"few datasets: {what}; at least {fewest} are needed for p below {alpha:g}")
    return notes


def _worst_first(rows: Rows) -> list[Row]:
    """The rows by dataset, measure and attribute, then by difference.

    Both sides of a comparison are kept together and sorted by their mean.
    """
    measures = list(dict.fromkeys(map(_measure, rows)))
    mean_differences = _mean_differences(rows)

    def key(row: Row) -> tuple[Any, ...]:
        group = (row["dataset"], measures.index(_measure(row)), row["attribute"] or "")
        # Comparisons without a difference come last.
        difference = mean_differences.get((_measure(row), *_comparison_of(row)), math.inf)
        names = (row["run"], row["baseline"], row["value"] or "")
        return (*group, difference, *names, row["side"] == NEW)

    return sorted(rows, key=key)


def _mean_differences(rows: Rows) -> dict[tuple[Any, ...], float]:
    """The mean difference of the sides of each comparison that has one, by measure."""
    differences: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        if row["difference"] is not None:
            of_sides = differences.setdefault((_measure(row), *_comparison_of(row)), [])
            of_sides.append(row["difference"])
    means = {}
    for comparison, of_sides in differences.items():
        means[comparison] = round(sum(of_sides) / len(of_sides), DECIMALS)
    return means


def counted_heading(rows: Rows) -> str:
    """The heading of the query counts: a higher catalog measure is not a win."""
    is_of_catalog = all(row["measure"] in CATALOG_COLUMNS for row in rows)
    return "higher/tied/lower" if is_of_catalog else "won/tied/lost"


def compared_cells(
    row: Row,
    mean: str = "mean",
    p: str = "p_adjusted",
    counted: str = "won/tied/lost",
) -> dict[str, Any]:
    """A COMPARISONS row's numbers and conclusion by heading.

    `mean`, `counted`: the headings of the mean and of the query counts. `p`: the column to show.
    """
    is_tested = "unchanged" not in row["flags"]
    has_interval = is_tested and row["interval_low"] is not None
    conclusion = conclusion_in_words(row)
    flags = [_flag_in_words(flag, row) for flag in _shown_flags(row) if flag != "unchanged"]
    if flags:
        conclusion += f" ({', '.join(flags)})"
    return {
        mean: row["mean"],
        "baseline": row["baseline_mean"],
        "difference": row["difference"],
        "interval": _interval(row) if has_interval else None,
        _P[p]: row[p] if is_tested else None,
        counted: _counts_of_queries(row),
        "conclusion": conclusion,
    }


def _counts_of_queries(row: Row) -> str | None:
    if row["wins"] is None:
        return None
    return f"{row['wins']:,}/{row['ties']:,}/{row['losses']:,}"


def _interval(row: Row) -> str:
    low = numbers.difference(row["interval_low"])
    high = numbers.difference(row["interval_high"])
    return f"{low}, {high}"


def _shown_flags(row: Row) -> list[str]:
    """A row's flags. If results are missing, only this is shown, as it explains the others."""
    missing = [flag for flag in row["flags"] if flag in MISSING_FLAGS]
    return missing or list(row["flags"])


def _flag_in_words(flag: str, row: Row) -> str:
    if flag == "few_answered":
        return answered_in_words(row)
    words, _, _ = FLAGS[flag].partition(":")
    return words


def _measure(row: Row) -> str:
    """`ndcg@10`, or `ndcg@10 weighted`."""
    measure = measure_at(row["measure"], row["cutoff"])
    is_weighted = row.get("weight_effective_n") is not None
    return f"{measure} weighted" if is_weighted else measure


def counts(rows: Rows) -> str:
    """The number of comparisons by measure and conclusion: `ndcg@10: 1 worse, 2 same`.

    Only comparisons of the same kind as the first one are counted: over all queries, if there are
    any.
    """
    counted: dict[str, Counter[str]] = {}
    for row in rows:
        is_like_first = all(row[name] == rows[0][name] for name in _LIKE_FIRST)
        # Both sides of a comparison share one conclusion.
        if is_like_first and row["side"] != OLD:
            counted.setdefault(_measure(row), Counter())[conclusion_in_words(row)] += 1
    texts = []
    for measure, by_word in counted.items():
        listed = [f"{by_word[word]:,} {word}" for word in CONCLUSIONS if word in by_word]
        texts.append(f"{measure}: {', '.join(listed)}")
    return "; ".join(texts)


def conclusion_in_words(row: Row) -> str:
    if "unchanged" in row["flags"]:
        return "unchanged"
    return str(row["conclusion"] or "not_tested").replace("_", " ")


def stars(row: Row) -> str:
    """The stars of the deciding p value; `?` if the tests disagree, and empty if it is not below
    0.05.
    """
    if "doubt" in row["flags"]:
        return "?"
    p = row["p_decides"]
    if p is None or _DOUBTED.intersection(row["flags"]):
        return ""
    for limit, sign in _MARKS:
        if p < limit:
            return sign
    return ""


def significance_marks(compared: Rows) -> dict[tuple[str, str, str, int | None], str]:
    """The stars of each comparison over all queries, by dataset, run, measure and cutoff."""
    marks = {}
    for row in compared:
        if _is_over_all_queries(row):
            marks[row["dataset"], row["run"], row["measure"], row["cutoff"]] = stars(row)
    return marks


def comparison_notes(rows: Rows, correction: str, alpha: float) -> list[str]:
    """What the columns of a comparison mean, and the flags in it."""
    notes = notes_on_tests(rows, correction, _CONCLUDED)
    if any(row["interval_low"] is not None for row in rows):
        what = f"{numbers.level(alpha)} confidence interval of the mean difference, over the "
        what += "queries that both sides have"
        notes.append(f"interval: {what}, not adjusted for the number of comparisons")
    notes += note_on_unpaired(rows)
    notes += _note_on_power(rows)
    if any(row["side"] is not None for row in rows):
        notes.append(_ON_SIDES)
    flags: list[str] = []
    for row in rows:
        flags += _shown_flags(row)
    return notes + [FLAGS[flag] for flag in dict.fromkeys(flags)]


def _note_on_power(rows: Rows) -> list[str]:
    """How large a difference would have been detected, if a comparison cannot tell."""
    sizes: dict[str, list[float]] = {}
    for row in rows:
        is_unsure = conclusion_in_words(row) == "cannot tell"
        is_doubted = bool(_DOUBTED.intersection(row["flags"]))
        if is_unsure and not is_doubted and row["minimum_detectable"] is not None:
            sizes.setdefault(_measure(row), []).append(row["minimum_detectable"])
    if not sizes:
        return []
    ranges = []
    for measure, own in sizes.items():
        # A single size, or several that look the same, are written once.
        ends = dict.fromkeys([numbers.score(min(own)), numbers.score(max(own))])
        ranges.append(f"{' to '.join(ends)} in {measure}")
    note = f"cannot tell: a difference of {', '.join(ranges)} would be detected with 80% power, "
    return [f"{note}without adjustment"]


def notes_on_answers(rows: Rows) -> list[str]:
    """A sentence for each run that returned nothing, or that answered few queries.

    A run that returned nothing has no stars.
    """
    notes = []
    for row in rows:
        if not _is_over_all_queries(row):
            continue
        if "run_missing" in row["flags"]:
            notes.append(f"{row['run']} returned nothing and is not tested")
        few = answered_in_words(row)
        if few:
            notes.append(f"{row['run']}: {few}")
    return list(dict.fromkeys(notes))


def notes_on_tests(rows: Rows, correction: str, meaning: str = _STARRED) -> list[str]:
    """What the runs are compared with, and how. `meaning`: the end of the note on p values."""
    notes = []
    if rows:
        notes.append(f"baseline: {_baselines_in_words(rows)}")
    if any(row["p_value"] is not None for row in rows):
        sizes = sorted({row["family_size"] for row in rows if row["family_size"] is not None})
        adjusted = ""
        if correction in _CORRECTIONS and max(sizes, default=0) > 1:
            numbers_of_tests = " or ".join(map(str, sizes))
            method = _CORRECTIONS[correction]
            adjusted = f", adjusted for {numbers_of_tests} comparisons ({method})"
        notes.append(f"p: two-sided paired t test{adjusted}{meaning}")
    return notes


def _baselines_in_words(rows: Rows) -> str:
    """`bm25`, or `the run with the same name on 2026-11-19`."""
    names = set()
    dates = set()
    for row in rows:
        is_same = row["baseline"] == row["run"]
        names.add("the run with the same name" if is_same else row["baseline"])
        if row["baseline_night"] is not None:
            dates.add(str(row["baseline_night"])[:10])
    baselines = ", ".join(sorted(names))
    return f"{baselines} on {', '.join(sorted(dates))}" if dates else baselines

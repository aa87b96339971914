"""Prints the scores of an evaluation, of queries and of presets, and explanations of a query."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from ndcg_spark.contract.doubtful_scores import about_attributes
from ndcg_spark.convention.convention import definition
from ndcg_spark.convention.measures import (
    CATALOG_COLUMNS,
    MEASURES,
    NDCG_ONLY,
    MeasureSet,
    by_depth,
    catalog_definitions,
    measure_heading,
    name_in_papers,
)
from ndcg_spark.explanation.query import (
    LINE,
    Explained,
    ExplainedBaseline,
    Explanation,
    Facts,
    changed_documents,
)
from ndcg_spark.nights.log import Night
from ndcg_spark.reference import Score
from ndcg_spark.report.comparisons import (
    comparison_tables,
    comparison_value,
    flat,
    notes_on_answers,
    notes_on_tests,
    significance_marks,
)
from ndcg_spark.report.console import print_view, printing
from ndcg_spark.report.night_tables import verdict_tables
from ndcg_spark.report.query_counts import differing_counts, notes_on_pairs
from ndcg_spark.schemas import COMPARISONS, DATASET_SCORES, QUERY_SCORES, TO_JUDGE, measure_first
from ndcg_spark.steps import report_step
from ndcg_spark.tables import format as numbers
from ndcg_spark.tables.macro import DATASETS, MacroMeans, macro_means
from ndcg_spark.tables.table import Marked, Table, cell_text, make_table, shown_value, sorted_runs
from ndcg_spark.tables.writers import View, aligned, as_json, print_csv
from ndcg_spark.text import masked, message
from ndcg_spark.tolerance import EQUAL
from ndcg_spark.voices import OPTIONS, Give, Notice

if TYPE_CHECKING:
    from ndcg_spark.job.compare_inputs import PresetScores
    from ndcg_spark.job.evaluate_inputs import EvaluationOutcome

Row = Mapping[str, Any]
_COUNTS = {
    "missing": "missing_queries",
    "no relevant": "no_relevant_queries",
    "unjudged": "unjudged_queries",
}
_WEIGHT = (
    "weight: the discount at the document's rank within the cutoff, summed over runs, "
    "or the change of this discount since the other night or from the other run"
)
_ALL_JUDGED = "every document that matters within the cutoff is judged"
_LOSSES = ("doc_id", "relevance", "where", "ideal_rank", "gain", "loss")
_ABSENT = ("doc_id", "relevance", "gain", "where")
_KEPT_ONLY = "only documents in the ideal ranking and in the run's list, if the night keeps them"
_TO_CUTOFF = (
    "a night keeps lists down to its deepest cutoff; a document without a rank may be below it"
)
_CHANGES = (
    "doc_id",
    "relevance",
    "baseline_rank",
    "rank",
    "moved",
    "baseline_contribution",
    "contribution",
    "change",
)
_STATUS = {
    "missing": "the run has no results for this query",
    "no_relevant": "no document for this query has a gain, so the convention determines its score",
}


def print_outcome(outcome: "EvaluationOutcome", style: str | None) -> None:
    """Print dataset scores, comparisons and verdicts.

    If runs are compared, CSV has only the rows of COMPARISONS.
    """
    compared = outcome.comparison
    macro = macro_means(outcome.dataset_scores, outcome.datasets_without_results)
    if style == "latex":
        tables = [_paper_table_of(outcome, macro)]
    else:
        tables = _tables_of(outcome, macro)
    tables += verdict_tables([verdict.as_json() for verdict in outcome.verdicts])
    value = dataclasses.asdict(dataclasses.replace(outcome, comparison=None))
    del value["comparison"]
    value["macro_means"] = macro.rows
    value["measures"] = outcome.measures.texts
    value["output"] = outcome.output and masked(outcome.output)
    if compared:
        value |= comparison_value(compared)
        columns: Sequence[str] = COMPARISONS.names
        rows: Sequence[Row] = list(flat(compared.rows))
    else:
        columns = _score_columns(outcome.measures, macro)
        rows = _score_rows(outcome.dataset_scores, outcome.slice_scores, outcome.measures, macro)
    print_view(View(tables, value, columns, rows), style)


def _tables_of(outcome: "EvaluationOutcome", macro: MacroMeans) -> list[Table]:
    measures = outcome.measures
    notes = _notes_on_means(outcome, macro)
    tables = [score_table(outcome.dataset_scores, notes, measures, macro.rows)]
    if outcome.slice_scores:
        tables.append(score_table(outcome.slice_scores, (), measures))
    if outcome.comparison:
        tables += comparison_tables(outcome.comparison)
    return tables


def _paper_table_of(outcome: "EvaluationOutcome", macro: MacroMeans) -> Table:
    """The scores for a paper, with stars for significant differences if runs are compared."""
    compared = outcome.comparison
    notes = _notes_on_means(outcome, macro)
    stars = {}
    if compared:
        notes += notes_on_tests(compared.rows, compared.correction)
        notes += notes_on_answers(compared.rows)
        notes += notes_on_pairs(compared.rows, outcome.dataset_scores)
        notes += [notice.worded(OPTIONS) for notice in compared.warnings]
        stars = significance_marks(compared.rows)
    return paper_table(outcome.dataset_scores, notes, outcome.measures, stars, macro.rows)


def _notes_on_means(outcome: "EvaluationOutcome", macro: MacroMeans) -> list[str]:
    notes = [definition(outcome.convention, outcome.formula, outcome.measures)]
    return [*notes, *catalog_definitions(outcome.measures), *macro.notes]


def _score_columns(measures: MeasureSet, macro: MacroMeans) -> Sequence[str]:
    """The columns of dataset scores in CSV."""
    columns = measure_first(DATASET_SCORES, measures.columns_of_means)
    return (*columns, DATASETS) if macro.rows else columns


def _score_rows(
    whole: Sequence[Row],
    sliced: Sequence[Row],
    measures: MeasureSet,
    macro: MacroMeans,
) -> list[Row]:
    """The rows of dataset scores in CSV: for all queries, over the datasets, and for slices."""
    rows: list[Row] = []
    for run in sorted_runs(whole, measures):
        rows += run
    return [*rows, *macro.rows, *sliced]


def print_sliced(
    nights: Sequence[Night],
    whole: Sequence[Row],
    sliced: Sequence[Row],
    attributes: pa.Table,
    style: str | None,
) -> None:
    """Print the scores of one date's nights with slices, as an evaluation with slices does."""
    for notice in about_attributes(sliced, attributes):
        report_step("warning", notice)
    measures = nights[0].measure_set
    without_results: set[str] = set()
    for night in nights:
        without_results.update(night.record["datasets_without_results"] or ())
    macro = macro_means(whole, without_results)
    conventions = {row["convention"]: row["formula"] for row in whole}
    notes = [definition(name, formula, measures) for name, formula in conventions.items()]
    notes += [*catalog_definitions(measures), *macro.notes]
    tables = [score_table(whole, notes, measures, macro.rows)]
    if sliced:
        tables.append(score_table(sliced, (), measures))
    columns = _score_columns(measures, macro)
    rows = _score_rows(whole, sliced, measures, macro)
    value = {"dataset_scores": whole, "slice_scores": sliced, "macro_means": macro.rows}
    print_view(View(tables, value, columns, rows), style)


def score_table(
    rows: Sequence[Row],
    notes: Iterable[str] = (),
    measure_set: MeasureSet = NDCG_ONLY,
    macro: Sequence[Row] = (),
) -> Table:
    """One row per dataset and run, or per slice if the rows have slices; the best first.

    The means over datasets come last.
    """
    rows_of_slices: dict[str | None, list[Row]] = {}
    for row in rows:
        slice_name = None
        if row.get("attribute") is not None:
            slice_name = f"{row['attribute']}={row['value']}"
        rows_of_slices.setdefault(slice_name, []).append(row)
    lines = []
    for slice_name, of_slice in rows_of_slices.items():
        for run in sorted_runs(of_slice, measure_set):
            lines.append({"slice": slice_name, **_line(run, rows, measure_set), DATASETS: None})
    for run in sorted_runs(macro, measure_set):
        line = _line(run, rows, measure_set)
        lines.append({"slice": None, **line, DATASETS: run[0][DATASETS]})
    return make_table(lines, (), notes, kept=_headings(rows, measure_set))


def _line(run: Sequence[Row], rows: Sequence[Row], measure_set: MeasureSet) -> dict[str, Any]:
    key = {"dataset": run[0]["dataset"], "run": run[0]["run"]}
    return {**key, **_scores(run, rows, measure_set, with_error=True)}


class _Column(NamedTuple):
    """A column of a paper's table: a measure, by its column, at a cutoff."""

    measure: str
    cutoff: int | None
    heading: str


def paper_table(
    rows: Sequence[Row],
    notes: Iterable[str] = (),
    measure_set: MeasureSet = NDCG_ONLY,
    marks: Mapping[tuple[str, str, str, int | None], str] | None = None,
    macro: Sequence[Row] = (),
) -> Table:
    """One row per dataset and run, with the means over datasets below.

    The best score in each column and dataset is marked, and so are scores that look the same. If
    the means of a dataset's runs cover different numbers of queries, the table also has these
    numbers. `marks`: the stars by dataset, run, measure column and cutoff.
    """
    columns = []
    for name, cutoff in _measures_shown(rows, measure_set):
        heading = name_in_papers(name, cutoff, measure_set.options)
        columns.append(_Column(MEASURES[name].column, cutoff, heading))
    counts = differing_counts(rows, [(column.measure, column.cutoff) for column in columns])
    lines = []
    for rows_of_run in sorted_runs(rows, measure_set) + sorted_runs(macro, measure_set):
        first = rows_of_run[0]
        line = {"dataset": first["dataset"], "run": first["run"]}
        for column in columns:
            line[column.heading] = _marked_score(rows_of_run, column, marks or {})
        for count in counts:
            line[count] = _largest(rows_of_run, count)
        lines.append(line)
    for column in columns:
        # A higher value for these is neither better nor worse.
        if column.measure not in CATALOG_COLUMNS:
            _mark_best(lines, column.heading)
    return make_table(lines, (), notes, kept=[column.heading for column in columns])


def _marked_score(
    run: Sequence[Row],
    column: _Column,
    marks: Mapping[tuple[str, str, str, int | None], str],
) -> Marked | None:
    """A run's score in a column, with its stars."""
    for row in run:
        if row["cutoff"] == column.cutoff and row.get(column.measure) is not None:
            marked = Marked(row[column.measure])
            key = (row["dataset"], row["run"], column.measure, column.cutoff)
            marked.stars = marks.get(key, "")
            return marked
    return None


def _mark_best(lines: Iterable[Row], heading: str) -> None:
    """Mark each dataset's best value in a column, and all values that look the same."""
    by_dataset: dict[str, list[Marked]] = {}
    for line in lines:
        if line[heading] is not None:
            by_dataset.setdefault(line["dataset"], []).append(line[heading])
    for values in by_dataset.values():
        best = numbers.score(max(values))
        for value in values:
            value.is_best = numbers.score(value) == best


def _measures_shown(
    rows: Iterable[Row],
    measure_set: MeasureSet,
) -> Sequence[tuple[str, int | None]]:
    """The requested measures with their cutoffs, or NDCG at every cutoff: `[("ndcg", 10)]`."""
    cutoffs = {row["cutoff"] for row in rows}
    return measure_set.pairs or [("ndcg", cutoff) for cutoff in sorted(cutoffs, key=by_depth)]


def _headings(rows: Iterable[Row], measure_set: MeasureSet) -> list[str]:
    return [measure_heading(name, cutoff) for name, cutoff in _measures_shown(rows, measure_set)]


def _scores(
    run: Sequence[Row],
    rows: Sequence[Row],
    measure_set: MeasureSet,
    *,
    with_error: bool = False,
) -> dict[str, Any]:
    """A run's scores and counts by heading. `rows`: all runs' rows for the cutoffs."""
    by_cutoff = {row["cutoff"]: row for row in run}
    headline = measure_set.headline(row["cutoff"] for row in rows)
    scores: dict[str, Any] = {}
    for name, cutoff in _measures_shown(rows, measure_set):
        row = by_cutoff.get(cutoff, {})
        scores[measure_heading(name, cutoff)] = shown_value(name, row.get(MEASURES[name].column))
        if with_error and name == "ndcg" and headline == (name, cutoff):
            scores["std error"] = row.get("ndcg_stderr")
    deepest: Row = run[-1] if run else {}
    scores["queries"] = deepest.get("queries")
    # The means of NDCG and of other measures can be over different queries.
    scores["relevant queries"] = None
    if measure_set.of_judgments:
        scores["relevant queries"] = _largest(run, "relevant_queries")
    scores["listed queries"] = _largest(run, "listed_queries") if _has_lists(measure_set) else None
    scores["lists"] = _largest(run, "lists") if measure_set.of_runs else None
    for heading, column in _COUNTS.items():
        scores[heading] = deepest.get(column)
    scores["judged rate"] = deepest.get("judged_rate")
    return scores


def _has_lists(measure_set: MeasureSet) -> bool:
    """Whether a catalog measure has values for queries."""
    return len(measure_set.of_catalog) > len(measure_set.of_runs)


def _largest(rows: Iterable[Row], count: str) -> int | None:
    return max((row.get(count) or 0 for row in rows), default=None)


def print_presets(
    compared: Sequence["PresetScores"],
    style: str | None,
    measures: MeasureSet = NDCG_ONLY,
) -> None:
    """Print a table for each dataset and run, with a row for each preset."""
    csv_rows: list[Row] = []
    json_values = []
    refusals = []
    for entry in compared:
        refused = None
        if entry.refused is not None:
            refused = entry.refused.worded(OPTIONS)
            refusals.append(f"{entry.preset} refuses: {message(refused)}")
        # A preset that refuses the input has a row without scores.
        for row in entry.rows or [{}]:
            csv_rows.append({**row, "preset": entry.preset, "refused": refused})
        value = {"preset": entry.preset, "rows": entry.rows}
        json_values.append({**value, "refused": refused, "rejected": entry.rejected})
    tables = _preset_tables(compared, measures, refusals)
    columns = ["preset", *measure_first(DATASET_SCORES, measures.columns_of_means), "refused"]
    print_view(View(tables, json_values, columns, csv_rows), style)


def _preset_tables(
    compared: Sequence["PresetScores"],
    measures: MeasureSet,
    notes: Sequence[str],
) -> list[Table]:
    """The tables by dataset and run, with the notes below the last one."""
    all_rows: list[Row] = []
    for entry in compared:
        all_rows += entry.rows
    keys = list(dict.fromkeys(map(_dataset_and_run, all_rows)))
    tables = []
    for key in keys:
        lines = []
        for entry in compared:
            run = [row for row in entry.rows if _dataset_and_run(row) == key]
            lines.append({"preset": entry.preset, **_scores(run, all_rows, measures)})
        kept = _headings(all_rows, measures)
        below = notes if key == keys[-1] else ()
        tables.append(make_table(lines, (), below, kept, title=" / ".join(key)))
    return tables


def _dataset_and_run(row: Row) -> tuple[str, str]:
    return row["dataset"], row["run"]


def print_query_scores(
    rows: Iterable[Row], style: str | None, measures: Sequence[str] = ()
) -> None:
    """Print rows of QUERY_SCORES as the engine returns them, without collecting them.

    JSON has one object per line.
    """
    if style is None:
        return
    columns = measure_first(QUERY_SCORES, measures)
    texts = ["dataset", "run", "query_id"]
    values = ["cutoff", "ndcg", *measures, "dcg", "ideal_dcg", "returned", "judged"]
    headings = [*texts, *values, "status"]
    with printing():
        if style == "csv":
            print_csv(columns, rows)
            return
        if style == "json":
            lines = _json_lines(rows, columns)
        else:
            right = range(len(texts), len(texts) + len(values))
            lines = aligned(headings, _cells(rows, headings), right)
        for line in lines:
            print(line)


def _json_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[str]:
    for row in rows:
        yield as_json({column: row[column] for column in columns})


def _cells(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[list[str]]:
    for row in rows:
        yield [cell_text(name, row[name]) for name in columns]


def print_check(checked: Mapping[str, Any], style: str | None) -> None:
    counts = []
    for name, count in checked["counts"].items():
        counts.append({"counted": name.replace("_", " "), "number": count})
    rates = make_table(checked["judged_rate"], ("dataset", "run", "cutoff", "judged_rate"))
    print_view(View([make_table(counts), rates], checked), style)


def print_documents(rows: Sequence[Mapping[str, Any]], style: str | None, most: int) -> None:
    """Print rows of TO_JUDGE. `most`: the number of rows that was requested."""
    notes = []
    if len(rows) == most:
        more = Give("documents", "N", then="lists more, if there are more")
        notes.append(Notice(f"the first {most:,}", more).worded(OPTIONS))
    notes.append(_WEIGHT if rows else _ALL_JUDGED)
    table = make_table(rows, TO_JUDGE.names, notes)
    print_view(View([table], rows, TO_JUDGE.names, rows), style)


def explanation_view(explained: Explained) -> View:
    tables: list[Table] = []
    values = []
    rows = []
    for one in explained.explanations:
        run = one.facts.run
        baseline = explained.baselines.get(run)
        tables += _tables(one, baseline)
        values.append(_value(one, baseline))
        for line in one.lines:
            rows.append({"run": run, **line})
    return View(tables, values, ("run", *LINE), rows)


class _Part(NamedTuple):
    """A table below the ranking, and the sentences above it."""

    title: str
    rows: Sequence[Row]
    names: Sequence[str]
    sentences: Sequence[str] = ()


def _tables(explanation: Explanation, baseline: ExplainedBaseline | None) -> list[Table]:
    """The ranking, and the other parts that have rows."""
    parts = list(_parts(explanation))
    if baseline is not None:
        parts.append(_changes_part(explanation.facts, baseline.facts, baseline.name))
    tables = [_ranking(explanation)]
    for part in parts:
        if part.rows:
            table = make_table(part.rows, part.names, title=part.title, sentences=part.sentences)
            tables.append(table)
    return tables


def _ranking(explanation: Explanation) -> Table:
    """The run's list next to the ideal ranking, by rank."""
    facts = explanation.facts
    rows = []
    for line in explanation.lines:
        shown = {**line, "tied": "tied" if line["tied"] else None}
        if line["doc_id"] is None:
            # There is nothing to show below the end of the list.
            shown = {name: "" if value is None else value for name, value in shown.items()}
        rows.append(shown)
    measure, score = measure_heading("ndcg", facts.cutoff), numbers.score(facts.score.ndcg)
    title = f"query {facts.query_id} in {facts.dataset}, run {facts.run}: {measure} {score}"
    # If nothing was returned, only the ideal ranking is shown.
    names = () if facts.returned else ("rank", "discount", "ideal_doc_id", "ideal_contribution")
    return make_table(rows, names, title=title, sentences=_sentences_on_score(explanation))


def _sentences_on_score(explanation: Explanation) -> list[str]:
    facts, score = explanation.facts, explanation.facts.score
    within = "in total" if facts.cutoff is None else "within the cutoff"
    returned = f"{score.returned} document(s) {within}, {score.judged} of them judged"
    dcg, ideal_dcg = numbers.score(score.dcg), numbers.score(score.ideal_dcg)
    sentences = [f"DCG {dcg} / ideal DCG {ideal_dcg}; {returned}"]
    if score.status in _STATUS:
        sentences.append(_STATUS[score.status])
    if not explanation.ideal_known:
        sentences.append(
            "the night does not keep the documents of the ideal ranking; explain the query from "
            "the inputs"
        )
    sentences.append(f"{facts.convention.label}: {facts.convention.formula}")
    return sentences


def _parts(explanation: Explanation) -> Iterator[_Part]:
    """The score's losses, and the documents that the ranking does not show."""
    facts = explanation.facts
    if facts.returned:
        total = math.fsum(loss["loss"] for loss in explanation.losses)
        formula = "gain * (discount at the ideal rank - discount at its rank)"
        sentence = f"{formula}; in total {numbers.score(total)} = ideal DCG - DCG"
        yield _Part("Losses by document", explanation.losses, _LOSSES, [sentence])
    limits = [] if facts.whole else [_KEPT_ONLY]
    yield _Part("Relevant documents outside the cutoff", explanation.absent, _ABSENT, limits)
    unjudged = [vars(row) for row in explanation.unjudged]
    yield _Part("Unjudged documents", unjudged, ("doc_id", "rank"))


def _changes_part(facts: Facts, baseline: Facts, against: str) -> _Part:
    """The documents that changed, and the sum of their changes."""
    moved = []
    for row in changed_documents(facts, [baseline]):
        # `moved_up` is a number of ranks, which a document that entered or left does not have.
        moved.append({**row, "moved": row["moved_up"] or row["what"].replace("_", " ")})
    measure = measure_heading("ndcg", facts.cutoff)
    sentences = [_sum_of_changes(measure, facts.score, baseline.score)]
    if not (facts.whole and baseline.whole):
        sentences.append(_TO_CUTOFF)
    return _Part(f"Compared with {against}", moved, _CHANGES, sentences)


def _sum_of_changes(measure: str, score: Score, before: Score) -> str:
    """A sentence on the sum of the changes of documents."""
    ndcg = f"{measure} {numbers.score(before.ndcg)} to {numbers.score(score.ndcg)}"
    dcg = f"DCG {numbers.score(before.dcg)} to {numbers.score(score.dcg)}"
    changed = f"{ndcg}, {dcg}; the changes sum to {numbers.difference(score.dcg - before.dcg)}"
    if abs(score.ideal_dcg - before.ideal_dcg) > EQUAL:
        ideal = f"{numbers.score(before.ideal_dcg)} to {numbers.score(score.ideal_dcg)}"
        changed += f"; ideal DCG {ideal}"
    return changed


def _value(explanation: Explanation, baseline: ExplainedBaseline | None) -> dict[str, Any]:
    """The JSON value of an explanation."""
    facts = explanation.facts
    value: dict[str, Any] = {
        "dataset": facts.dataset,
        "run": facts.run,
        "query_id": facts.query_id,
        "cutoff": facts.cutoff,
        **vars(facts.score),
        "convention": facts.convention.label,
        "formula": facts.convention.formula,
        "lines": explanation.lines,
        "losses": explanation.losses,
        "absent": explanation.absent,
        "ideal_known": explanation.ideal_known,
    }
    value["unjudged"] = [{"doc_id": row.doc_id, "rank": row.rank} for row in explanation.unjudged]
    if baseline is not None:
        value["baseline"] = {"run": baseline.name, **vars(baseline.facts.score)}
        value["changes"] = changed_documents(facts, [baseline.facts])
    return value

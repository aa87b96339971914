"""Prints scores: of an evaluation, by query and by preset. Also prints the explanation of one
query.
"""

import dataclasses
import itertools
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
    published,
    written,
)
from ndcg_spark.explanation.query import LINE, Explained, Explanation, Facts, changed_documents
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
from ndcg_spark.report.night_tables import verdict_table
from ndcg_spark.report.query_counts import differing_counts, notes_on_pairs
from ndcg_spark.schemas import COMPARISONS, DATASET_SCORES, QUERY_SCORES, TO_JUDGE, measure_first
from ndcg_spark.steps import report_step
from ndcg_spark.tables import format as numbers
from ndcg_spark.tables.macro import DATASETS, macro_means
from ndcg_spark.tables.table import Marked, Table, cell, make_table, shown_value, sorted_runs
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
_KEPT_ONLY = (
    "only documents in the ideal ranking and in the run's list, as far as the night keeps them"
)
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
    """Print dataset scores, comparisons and verdicts. CSV has only the rows of COMPARISONS if
    there are any.
    """
    compared, measures = outcome.comparison, outcome.measures
    columns: Sequence[str] = measure_first(DATASET_SCORES, measures.columns_of_means)
    runs = sorted_runs(outcome.dataset_scores, measures)
    rows: list[Row] = []
    for run in runs:
        rows += run
    macro = macro_means(outcome.dataset_scores, outcome.datasets_without_results)
    if macro.rows:
        rows += macro.rows
        columns = [*columns, DATASETS]
    rows += outcome.slice_scores
    notes = [definition(outcome.convention, outcome.formula, measures)]
    notes += [*catalog_definitions(measures), *macro.notes]
    if style == "latex":
        notes += notes_on_tests(compared.rows, compared.correction) if compared else []
        notes += notes_on_answers(compared.rows) if compared else []
        if compared:
            notes += notes_on_pairs(compared.rows, outcome.dataset_scores)
            notes += [notice.worded(OPTIONS) for notice in compared.warnings]
        marks = significance_marks(compared.rows) if compared else {}
        tables = [paper_table(outcome.dataset_scores, notes, measures, marks, macro.rows)]
    else:
        tables = [score_table(outcome.dataset_scores, notes, measures, macro.rows)]
        tables += [score_table(outcome.slice_scores, (), measures)] if outcome.slice_scores else []
        tables += comparison_tables(compared) if compared else []
    tables += [
        verdict_table(verdict.as_json(), len(outcome.verdicts) > 1) for verdict in outcome.verdicts
    ]
    value = dataclasses.asdict(dataclasses.replace(outcome, comparison=None))
    value["macro_means"] = macro.rows
    value["measures"] = measures.texts
    value["output"] = outcome.output and masked(outcome.output)
    del value["comparison"]
    if compared:
        value |= comparison_value(compared)
        columns = COMPARISONS.names
        rows = list(flat(compared.rows))
    print_view(View(tables, value, columns, rows), style)


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
    absent = set(itertools.chain.from_iterable(map(_datasets_without_results, nights)))
    macro = macro_means(whole, absent)
    conventions = {row["convention"]: row["formula"] for row in whole}
    notes = [definition(name, formula, measures) for name, formula in conventions.items()]
    notes += [*catalog_definitions(measures), *macro.notes]
    tables = [score_table(whole, notes, measures, macro.rows)]
    if sliced:
        tables.append(score_table(sliced, (), measures))
    columns: Sequence[str] = measure_first(DATASET_SCORES, measures.columns_of_means)
    rows: list[Row] = []
    for run in sorted_runs(whole, measures):
        rows += run
    if macro.rows:
        rows += macro.rows
        columns = [*columns, DATASETS]
    value = {"dataset_scores": whole, "slice_scores": sliced, "macro_means": macro.rows}
    print_view(View(tables, value, columns, [*rows, *sliced]), style)


def _datasets_without_results(night: Night) -> Sequence[str]:
    return night.record["datasets_without_results"] or ()


def score_table(
    rows: Sequence[Row],
    notes: Iterable[str] = (),
    measure_set: MeasureSet = NDCG_ONLY,
    macro: Sequence[Row] = (),
) -> Table:
    """One row per dataset and run, or per slice if the rows have slices; the best first.

    The means over datasets follow below.
    """
    slices: dict[str | None, list[Row]] = {}
    for row in rows:
        is_sliced = row.get("attribute") is not None
        slices.setdefault(f"{row['attribute']}={row['value']}" if is_sliced else None, []).append(
            row
        )
    lines = [
        {
            "slice": name,
            "dataset": run[0]["dataset"],
            "run": run[0]["run"],
            **_scores(run, rows, measure_set, True),
            DATASETS: None,
        }
        for name, own in slices.items()
        for run in sorted_runs(own, measure_set)
    ]
    for run in sorted_runs(macro, measure_set):
        key = {"slice": None, "dataset": run[0]["dataset"], "run": run[0]["run"]}
        scores = _scores(run, rows, measure_set, True)
        lines.append({**key, **scores, DATASETS: run[0][DATASETS]})
    return make_table(lines, (), notes, kept=_headings(rows, measure_set))


def paper_table(
    rows: Sequence[Row],
    notes: Iterable[str] = (),
    measure_set: MeasureSet = NDCG_ONLY,
    marks: Mapping[tuple[str, str, str, int | None], str] | None = None,
    macro: Sequence[Row] = (),
) -> Table:
    """One row per dataset and run, with the means over datasets below. The best score in each
    column and dataset is marked, and so are scores that look the same. If the means of a dataset's
    runs cover different numbers of queries, the table also has these numbers.
    """
    lines: list[dict[str, Any]] = []
    asked, options = _pairs(rows, measure_set), measure_set.options
    pairs = [
        (MEASURES[name].column, cutoff, published(name, cutoff, options)) for name, cutoff in asked
    ]
    counts = differing_counts(rows, [(column, cutoff) for column, cutoff, _ in pairs])
    for run in [*sorted_runs(rows, measure_set), *sorted_runs(macro, measure_set)]:
        line = {"dataset": run[0]["dataset"], "run": run[0]["run"]}
        for column, cutoff, heading in pairs:
            value = next((row.get(column) for row in run if row["cutoff"] == cutoff), None)
            line[heading] = None if value is None else Marked(value)
            if value is not None and marks:
                line[heading].stars = marks.get((line["dataset"], line["run"], column, cutoff), "")
        for count in counts:
            line[count] = _largest(run, count)
        lines.append(line)
    for column, _, heading in pairs:
        # A higher value of these is neither better nor worse.
        if column not in CATALOG_COLUMNS:
            _mark_best(lines, heading)
    return make_table(lines, (), notes, kept=[heading for *_, heading in pairs])


def _mark_best(lines: Iterable[Row], heading: str) -> None:
    """Mark the best value of each dataset in a column, and all values that look the same."""
    by_dataset: dict[str, list[Marked]] = {}
    for line in lines:
        if line[heading] is not None:
            by_dataset.setdefault(line["dataset"], []).append(line[heading])
    for values in by_dataset.values():
        best = numbers.score(max(values))
        for value in values:
            value.is_best = numbers.score(value) == best


def _pairs(rows: Iterable[Row], measure_set: MeasureSet) -> Sequence[tuple[str, int | None]]:
    cutoffs = {row["cutoff"] for row in rows}
    return measure_set.pairs or [("ndcg", cutoff) for cutoff in sorted(cutoffs, key=by_depth)]


def _headings(rows: Iterable[Row], measure_set: MeasureSet) -> list[str]:
    return [written(name, cutoff) for name, cutoff in _pairs(rows, measure_set)]


def _scores(
    run: Sequence[Row], rows: Sequence[Row], measure_set: MeasureSet, with_error: bool = False
) -> dict[str, Any]:
    at, deepest = {row["cutoff"]: row for row in run}, run[-1] if run else {}
    headline = measure_set.headline(row["cutoff"] for row in rows)
    scores: dict[str, Any] = {}
    for name, cutoff in _pairs(rows, measure_set):
        value = at.get(cutoff, {}).get(MEASURES[name].column)
        scores[written(name, cutoff)] = shown_value(name, value)
        if with_error and (name, cutoff) == headline == ("ndcg", cutoff):
            scores["std error"] = at.get(cutoff, {}).get("ndcg_stderr")
    # The means of NDCG and of other measures can be over different queries.
    relevant = _largest(run, "relevant_queries") if measure_set.of_judgments else None
    listed = _largest(run, "listed_queries") if _has_lists(measure_set) else None
    counts = {heading: deepest.get(column) for heading, column in _COUNTS.items()}
    rate = deepest.get("judged_rate")
    return {
        **scores,
        "queries": deepest.get("queries"),
        "relevant queries": relevant,
        "listed queries": listed,
        "lists": _largest(run, "lists") if measure_set.of_runs else None,
        **counts,
        "judged rate": rate,
    }


def _has_lists(measure_set: MeasureSet) -> bool:
    """Whether a catalog measure has values for queries."""
    return len(measure_set.of_catalog) > len(measure_set.of_runs)


def _largest(rows: Iterable[Row], count: str) -> int | None:
    return max((row.get(count) or 0 for row in rows), default=None)


def print_presets(
    compared: Sequence["PresetScores"], style: str | None, asked: MeasureSet = NDCG_ONLY
) -> None:
    all_rows: list[Row] = []
    rows: list[Row] = []
    entries = []
    refusals = []
    for entry in compared:
        refused = None
        if entry.refused is not None:
            refused = entry.refused.worded(OPTIONS)
            refusals.append(f"{entry.preset} refuses: {message(refused)}")
        all_rows.extend(entry.rows)
        named = {"preset": entry.preset, "refused": refused}
        rows.extend({**row, **named} for row in entry.rows or [{}])
        fields = {"rows": entry.rows, "refused": refused, "rejected": entry.rejected}
        entries.append({"preset": entry.preset, **fields})
    keys = list(dict.fromkeys((row["dataset"], row["run"]) for row in all_rows))
    kept = _headings(all_rows, asked)
    tables = []
    for key in keys:
        lines = []
        for entry in compared:
            run = [row for row in entry.rows if (row["dataset"], row["run"]) == key]
            lines.append({"preset": entry.preset, **_scores(run, all_rows, asked)})
        notes = refusals if key == keys[-1] else ()
        tables.append(make_table(lines, (), notes, kept, title=" / ".join(key)))
    columns = ["preset", *measure_first(DATASET_SCORES, asked.columns_of_means), "refused"]
    print_view(View(tables, entries, columns, rows), style)


def print_query_scores(
    rows: Iterable[Row], style: str | None, measures: Sequence[str] = ()
) -> None:
    """Print rows of QUERY_SCORES as the engine returns them, without collecting them. JSON has one
    object per line.
    """
    if style is None:
        return
    shown = measure_first(QUERY_SCORES, measures)
    names = [
        "dataset",
        "run",
        "query_id",
        "cutoff",
        "ndcg",
        *measures,
        "dcg",
        "ideal_dcg",
        "returned",
        "judged",
    ]
    with printing():
        if style == "csv":
            print_csv(shown, rows)
            return
        if style == "json":
            lines = _json_lines(rows, shown)
        else:
            headings = [*names, "status"]
            lines = aligned(headings, _cells(rows, headings), range(3, len(names)))
        for line in lines:
            print(line)


def _json_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[str]:
    for row in rows:
        yield as_json({column: row[column] for column in columns})


def _cells(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[list[str]]:
    for row in rows:
        yield [cell(name, row[name]) for name in columns]


def print_check(checked: Mapping[str, Any], style: str | None) -> None:
    counts = [
        {"counted": name.replace("_", " "), "number": count}
        for name, count in checked["counts"].items()
    ]
    rates = make_table(checked["judged_rate"], ("dataset", "run", "cutoff", "judged_rate"))
    print_view(View([make_table(counts), rates], checked), style)


def print_documents(rows: Sequence[Mapping[str, Any]], style: str | None, most: int) -> None:
    """Print rows of TO_JUDGE. `most`: the number of rows that was requested."""
    more = Give("documents", "N", then="lists more, if there are more")
    notes = [Notice(f"the first {most:,}", more).worded(OPTIONS)] if len(rows) == most else []
    table = make_table(rows, TO_JUDGE.names, [*notes, _WEIGHT if rows else _ALL_JUDGED])
    print_view(View([table], rows, TO_JUDGE.names, rows), style)


def explanation_view(explained: Explained) -> View:
    tables: list[Table] = []
    values = []
    rows = []
    for one in explained.explanations:
        run = one.facts.run
        baseline, against = explained.baselines.get(run, (None, ""))
        tables += _tables(one, baseline, against)
        values.append(_value(one, baseline, against))
        for line in one.lines:
            rows.append({"run": run, **line})
    return View(tables, values, ("run", *LINE), rows)


class _Part(NamedTuple):
    """A table below the ranking, and the sentences above it."""

    title: str
    rows: Sequence[Row]
    names: Sequence[str]
    sentences: Sequence[str] = ()


def _tables(explanation: Explanation, baseline: Facts | None, against: str) -> list[Table]:
    parts = [*_parts(explanation)]
    if baseline is not None:
        parts.append(_compared(explanation.facts, baseline, against))
    tables = [_ranking(explanation)]
    for title, rows, names, sentences in parts:
        if rows:
            tables.append(make_table(rows, names, title=title, sentences=sentences))
    return tables


def _ranking(explanation: Explanation) -> Table:
    facts = explanation.facts
    rows = []
    for line in explanation.lines:
        shown = {**line, "tied": "tied" if line["tied"] else None}
        if line["doc_id"] is None:
            # There is nothing to show below the end of the list.
            shown = {name: "" if value is None else value for name, value in shown.items()}
        rows.append(shown)
    measure, score = written("ndcg", facts.cutoff), numbers.score(facts.score.ndcg)
    title = f"query {facts.query_id} in {facts.dataset}, run {facts.run}: {measure} {score}"
    # If nothing was returned, the whole ideal ranking is lost.
    names = () if facts.returned else ("rank", "discount", "ideal_doc_id", "ideal_contribution")
    return make_table(rows, names, title=title, sentences=_said_of_score(explanation))


def _said_of_score(explanation: Explanation) -> list[str]:
    facts, score = explanation.facts, explanation.facts.score
    within = "in total" if facts.cutoff is None else "within the cutoff"
    returned = f"{score.returned} document(s) {within}, {score.judged} of them judged"
    dcg, ideal_dcg = numbers.score(score.dcg), numbers.score(score.ideal_dcg)
    said = [f"DCG {dcg} / ideal DCG {ideal_dcg}; {returned}"]
    if score.status in _STATUS:
        said.append(_STATUS[score.status])
    if not explanation.ideal_known:
        said.append(
            "the night does not keep the documents of the ideal ranking; explain the query from "
            "the inputs"
        )
    said.append(f"{facts.convention.label}: {facts.convention.formula}")
    return said


def _parts(explanation: Explanation) -> Iterator[_Part]:
    """The losses of the score, and the documents that the ranking does not show."""
    facts = explanation.facts
    lost = math.fsum(loss["loss"] for loss in explanation.losses)
    loss = "gain * (discount at the ideal rank - discount at its rank)"
    words = f"{loss}; in total {numbers.score(lost)} = ideal DCG - DCG"
    if facts.returned:
        yield _Part("Losses by document", explanation.losses, _LOSSES, [words])
    known = [] if facts.whole else [_KEPT_ONLY]
    yield _Part("Relevant documents outside the cutoff", explanation.absent, _ABSENT, known)
    yield _Part("Unjudged documents", list(map(vars, explanation.unjudged)), ("doc_id", "rank"))


def _compared(facts: Facts, baseline: Facts, against: str) -> _Part:
    """The documents that changed, and the sum of their changes."""
    moved = []
    for row in changed_documents(facts, [baseline]):
        moved.append({**row, "moved": row["moved_up"] or row["what"].replace("_", " ")})
    said = [_changed(written("ndcg", facts.cutoff), facts.score, baseline.score)]
    if not (facts.whole and baseline.whole):
        said.append(_TO_CUTOFF)
    return _Part(f"Compared with {against}", moved, _CHANGES, said)


def _changed(measure: str, score: Score, before: Score) -> str:
    """A sentence on the sum of the changes of documents."""
    ndcg = f"{measure} {numbers.score(before.ndcg)} to {numbers.score(score.ndcg)}"
    dcg = f"DCG {numbers.score(before.dcg)} to {numbers.score(score.dcg)}"
    changed = f"{ndcg}, {dcg}; the changes sum to {numbers.difference(score.dcg - before.dcg)}"
    if abs(score.ideal_dcg - before.ideal_dcg) > EQUAL:
        ideal = f"{numbers.score(before.ideal_dcg)} to {numbers.score(score.ideal_dcg)}"
        changed += f"; ideal DCG {ideal}"
    return changed


def _value(explanation: Explanation, baseline: Facts | None, against: str) -> dict[str, Any]:
    facts = explanation.facts
    value: dict[str, Any] = {
        name: getattr(facts, name) for name in ("dataset", "run", "query_id", "cutoff")
    }
    value |= vars(facts.score) | {
        "convention": facts.convention.label,
        "formula": facts.convention.formula,
    }
    value |= {
        name: getattr(explanation, name) for name in ("lines", "losses", "absent", "ideal_known")
    }
    value["unjudged"] = [{"doc_id": row.doc_id, "rank": row.rank} for row in explanation.unjudged]
    if baseline is not None:
        value["baseline"] = {"run": against, **vars(baseline.score)}
        value["changes"] = changed_documents(facts, [baseline])
    return value

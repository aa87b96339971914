"""The convention found for an earlier job's scores, in words and as a configuration."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ndcg_spark.convention.measures import format_cutoff, measure_heading
from ndcg_spark.convention.options import show
from ndcg_spark.errors import InputError
from ndcg_spark.scratch import write_whole
from ndcg_spark.search.found import ENOUGH_MEANS, Alternative, Difference, FoundConvention
from ndcg_spark.steps import report_step
from ndcg_spark.tables import format as numbers
from ndcg_spark.tables.table import Table, make_table
from ndcg_spark.tables.writers import View
from ndcg_spark.text import from_home
from ndcg_spark.voices import IN_ORDER, OPTIONS, Give

_COLUMNS = ("option", "value", "gives_the_same_scores", "separated_by")


def found_view(found: FoundConvention) -> View:
    """The command's output for a search."""
    tables = [make_table([], notes=list(_sentences(found)))]
    if found.means:
        tables.append(_means_table(found))
    if found.alternatives:
        tables.append(_alternatives_table(found))
    if found.first_difference is not None:
        tables.append(_difference_table(found, found.first_difference))
    rows = [_row(found, one) for one in found.alternatives]
    return View(tables, as_value(found), _COLUMNS, rows)


def as_value(found: FoundConvention) -> dict[str, Any]:
    """The result as JSON values."""
    alternatives = []
    for one in found.alternatives:
        alternatives.append({**one._asdict(), "value": _value_in_configuration(one)})
    difference = None
    if found.first_difference is not None:
        difference = found.first_difference._asdict()
        difference["ranks"] = [side._asdict() for side in found.first_difference.ranks]
    options = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    cutoffs = [format_cutoff(cutoff) for cutoff in found.cutoffs]
    return {
        **options,
        "convention": found.label,
        "options": found.convention.options(),
        "formula": found.convention.formula,
        "cutoffs": cutoffs,
        "presets": list(found.presets),
        "alternatives": alternatives,
        "first_difference": difference,
        "means": [one._asdict() for one in found.means],
        "notes": list(found.notes),
    }


def _sentences(found: FoundConvention) -> Iterator[str]:
    cutoffs = ", ".join(measure_heading("ndcg", cutoff) for cutoff in found.cutoffs)
    yield _answer(found, f"{found.label}, {cutoffs}")
    yield f"In words: {found.convention.formula}"
    what = f"{found.equal:,} of {found.compared:,} scores are equal to {found.tolerance:.1g}"
    if found.equal < found.compared:
        what += f"; the largest difference is {numbers.score(found.largest_difference)}"
    yield what
    if not found.is_near:
        yield _NOT_NEAR
    if not found.is_finished and found.verdict != "nearest":
        yield "The time limit was reached before others were compared with it on all rows."
    presets = [label for label in found.presets if label != found.label]
    if presets:
        yield f"Presets that give the same scores: {', '.join(presets)}"
    if found.alternatives:
        same = "Several conventions give the same scores on these data"
        yield f"{same}; this is the one nearest to standard."
    yield from found.notes
    if found.may_keep_order_of_rows:
        advice = IN_ORDER.text(OPTIONS)
        yield f"{numbers.capital_first(advice)}, and search again; {_WITH_RANKS}."


_WITH_RANKS = (
    "otherwise give the results a column rank, in pandas results['rank'] = "
    "results.groupby(['run', 'query_id']).cumcount() + 1"
)
_NOT_NEAR = (
    "It is not close: it gives fewer than half of the scores other than 0 and 1. Check that the "
    "scores come from these judgments and results. Then check whether the job has its own gain or "
    "discount."
)


def _answer(found: FoundConvention, label: str) -> str:
    """The verdict in a sentence."""
    if found.verdict == "exact":
        return f"The scores follow {label}."
    if found.verdict == "nearest" and not found.is_finished:
        early = f"The search was stopped early, after {found.tried:,} conventions"
        narrow = "Give the cutoffs, or an option that you know, to narrow the search"
        return f"{early}: none so far gives these scores. {narrow}. The nearest is {label}."
    if found.verdict == "nearest":
        return f"None of the conventions tried gives these scores. The nearest is {label}."
    sentence = f"The means are consistent with {label}."
    if not found.has_enough_means:
        few = numbers.count(found.compared, "mean")
        sentence += f" {few} may agree by coincidence: give {ENOUGH_MEANS}, or query scores."
    return sentence


def _means_table(found: FoundConvention) -> Table:
    """Each run's mean, in the given scores and with the convention."""
    rows = []
    for mean in found.means:
        rows.append(
            {
                "dataset": mean.dataset,
                "run": mean.run,
                "cutoff": format_cutoff(mean.cutoff),
                "queries of the job": mean.given_queries,
                "mean of the job": numbers.score(mean.given),
                "queries here": mean.queries,
                "mean here": "-" if mean.ours is None else numbers.score(mean.ours),
            }
        )
    names = list(rows[0])
    if len(found.cutoffs) < 2:
        names.remove("cutoff")
    notes = []
    if found.has_other_means:
        notes.append("The means differ: the queries or the scores behind them differ.")
    return make_table(rows, names, notes=notes, title="Means")


def _value_in_configuration(one: Alternative) -> str:
    """An alternative's value as a configuration would write it."""
    return format_cutoff(one.value) if one.option == "cutoff" else show(one.value)


def _now(found: FoundConvention, option: str) -> str:
    """An option's value in the found convention."""
    if option == "cutoff":
        return ", ".join(map(format_cutoff, found.cutoffs))
    return show(getattr(found.convention, option))


def _row(found: FoundConvention, one: Alternative) -> dict[str, Any]:
    """An alternative's row in CSV."""
    return {
        "option": one.option,
        "value": _now(found, one.option),
        "gives_the_same_scores": _value_in_configuration(one),
        "separated_by": one.separated_by,
    }


def _alternatives_table(found: FoundConvention) -> Table:
    """A row for each option for which a different value gives the same scores."""
    options: dict[str, list[str]] = {}
    for one in found.alternatives:
        options.setdefault(one.option, []).append(_value_in_configuration(one))
    separated = {one.option: one.separated_by for one in found.alternatives}
    rows = []
    for option, values in options.items():
        row = {
            "option": option,
            "here": _now(found, option),
            "gives the same": ", ".join(values),
            "told apart by": separated[option],
        }
        rows.append(row)
    notes = []
    if not all(one.on_all_rows for one in found.alternatives):
        notes.append("Some were compared only on a sample of the queries, because time ran out.")
    return make_table(rows, notes=notes, title="Values that these data cannot tell apart")


def _difference_table(found: FoundConvention, first: Difference) -> Table:
    """The first score that differs: the gains of the list and its ideal ranking."""
    measure = measure_heading("ndcg", first.cutoff)
    place = f"the mean of {first.run}"
    if first.query_id is not None:
        place = f"query {first.query_id} of {first.run}"
    given, ours = _number(first.given), _number(first.ours)
    sentence = f"{measure} is {given} in the scores, and {ours} with {found.label}"
    notes = []
    if first.refused:
        notes.append(f"The convention refuses the query: {first.refused}")
    rows = []
    dcg = ideal_dcg = 0.0
    for side in first.ranks:
        rows.append(
            {
                "rank": side.rank,
                "document": side.doc_id,
                "grade": side.relevance,
                "gain": side.gain,
                "ideal gain": side.ideal_gain,
                "discount": side.discount,
            }
        )
        dcg += (side.gain or 0.0) * side.discount
        ideal_dcg += (side.ideal_gain or 0.0) * side.discount
    if rows:
        notes.append(f"DCG is {dcg:.6g}, and ideal DCG is {ideal_dcg:.6g}.")
    title = f"The first score that differs: {place}"
    return make_table(rows, notes=notes, title=title, sentences=[sentence])


def _number(value: float | None) -> str:
    return "absent" if value is None else f"{value:.6g}"


def convention_toml(found: FoundConvention, scores: str) -> str:
    """The convention and the cutoffs in configuration format."""
    standard = type(found.convention)().options()
    lines = [f"# The convention of {json.dumps(scores)}, as found by ndcg-spark."]
    if found.verdict == "nearest":
        equal = f"{found.equal:,} of {found.compared:,}"
        lines.append(f"# It is the nearest of those tried and gives {equal} scores.")
    elif found.presets or found.alternatives:
        lines.append("# Others give the same scores; this is the one nearest to standard.")
    for mean in found.other_means:
        ours = "absent" if mean.ours is None else numbers.score(mean.ours)
        given = f"{numbers.score(mean.given)} in the scores"
        lines.append(f"# The mean of {json.dumps(mean.run)} is {given}, and {ours} here.")
    cutoffs = ", ".join(json.dumps(cutoff or "all") for cutoff in found.cutoffs)
    lines += [f"cutoffs = [{cutoffs}]", "", "[convention]", 'preset = "standard"']
    for option, value in found.convention.options().items():
        if value != standard[option]:
            lines.append(f"{option} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """An option's value in TOML. User gains are a table: `{ 1 = 0.5, 2 = 1.0 }`."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{grade} = {gain!r}" for grade, gain in value.items())
        return f"{{ {pairs} }}"
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def write_convention(
    found: FoundConvention,
    file: Path,
    scores: str,
    takes_nearest: bool = False,
) -> None:
    """Write the convention to a file.

    If no convention gives the scores, this raises InputError, or writes the nearest one if
    `takes_nearest`.
    """
    if found.verdict == "nearest" and not takes_nearest:
        what = f"no convention gives these scores, so {file} was not written"
        first = found.first_difference
        if first is not None and first.query_id is not None:
            what += "; look at the first query that differs"
        raise InputError(f"scores: {what}", Give("nearest", then="writes the nearest"))
    write_whole(from_home(file), convention_toml(found, scores).encode())
    sentence = f"{file}: {found.label}"
    if found.verdict == "nearest":
        sentence += f", the nearest, which gives {found.equal:,} of {found.compared:,} scores"
    elif found.presets or found.alternatives:
        sentence += ", the one nearest to standard among those that give the same scores"
    report_step("wrote", sentence)

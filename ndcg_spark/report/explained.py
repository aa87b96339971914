"""An explained query as people see it: rank by rank, then what was lost, what would help, and what nobody judged."""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

from ndcg_spark.explanation.diff import Change, compare
from ndcg_spark.explanation.model import Explanation, Facts, Loss, RankLine
from ndcg_spark.explanation.request import Explained
from ndcg_spark.report.sections import Section, print_sections
from ndcg_spark.report.streams import as_json
from ndcg_spark.sheets.sheet import Sheet, at, rounded, sheet

FORMATS = ("table", "json", "markdown", "html")


def print_explained(explained: Explained, style: str) -> None:
    """Print the explanations in the format."""
    if style == "json":
        print(as_json([_as_json(each, explained.baseline) for each in explained.explanations]))
    else:
        print_sections([part for each in explained.explanations for part in sections(each, explained.baseline)], style)


def sections(explanation: Explanation, baseline: Facts | None) -> list[Section]:
    """What there is to say about one run, without the parts that have nothing to say."""
    facts = explanation.facts
    parts = [Section(_title(facts), _head(explanation), _lines(explanation), is_first=True)]
    if explanation.losses:
        lost = math.fsum(each.loss for each in explanation.losses)
        words = f"gain * (discount at the ideal rank - discount at its rank); in all {lost:.4f} = ideal DCG - DCG"
        parts.append(Section("Lost, document by document", [words], _losses(explanation.losses)))
    if explanation.absent:
        parts.append(Section("Relevant, and not within the cutoff", [], _absent(explanation.absent)))
    if explanation.would_help:
        parts.append(Section("What would help most", ["one document at its ideal rank"], _help(explanation)))
    if explanation.unjudged:
        parts.append(Section("Not judged, and what that could change", [], _unjudged(explanation)))
    if baseline is not None:
        changes = compare(facts, baseline)
        parts.append(Section(f"Against {baseline.run}", _changed(facts, baseline), _changes(changes)))
    return parts


def _title(facts: Facts) -> str:
    ndcg = f"ndcg@{at(facts.cutoff)} {rounded(facts.score.ndcg)}"
    return f"query {facts.query_id} of {facts.dataset}, run {facts.run}: {ndcg}"


def _head(explanation: Explanation) -> list[str]:
    facts, score = explanation.facts, explanation.facts.score
    within = "in all" if facts.cutoff is None else "within the cutoff"
    said = [
        f"DCG {score.dcg:.4f} / ideal DCG {score.ideal_dcg:.4f}; {score.returned} document(s) {within}, "
        f"{score.judged} of them judged"
    ]
    if score.status == "missing":
        said.append("the run has no results for this query")
    if score.status == "no_relevant":
        said.append("no gain is to be had for this query, so the convention decides its score")
    if not explanation.ideal_known:
        said.append("the night does not keep what the ideal ranking is made of; explain it from the inputs to see that")
    return [*said, f"{facts.convention.label}: {facts.convention.formula}"]


def _lines(explanation: Explanation) -> Sheet:
    headings = ["rank", "document", "score", "tie", "grade", "gain", "discount", "adds"]
    headings += ["ideal document", "would add", "ndcg@rank"]
    numbers = [name for name in headings if name not in ("document", "tie", "ideal document")]
    return _sheet(headings, map(_line, explanation.lines), numbers)


def _line(line: RankLine) -> list[str]:
    if line.doc_id is None:
        own = ["", "", "", "", "", f"{line.discount:.4f}", ""]
    else:
        score = "-" if line.score is None else f"{line.score:g}"
        tie = "tied" if line.tied else ""
        own = [line.doc_id, score, tie, _grade(line.relevance), _gain(line.gain), f"{line.discount:.4f}"]
        own.append(rounded(line.contribution))
    ideal = ["", ""] if line.ideal_doc_id is None else [line.ideal_doc_id, rounded(line.ideal_contribution)]
    return [str(line.rank), *own, *ideal, rounded(line.ndcg)]


def _losses(losses: Iterable[Loss]) -> Sheet:
    rows = (
        [each.doc_id, _grade(each.relevance), each.where, _rank(each.ideal_rank), _gain(each.gain), _signed(each.loss)]
        for each in losses
    )
    headings = ["document", "grade", "where", "ideal rank", "gain", "loss"]
    return _sheet(headings, rows, ["grade", "ideal rank", "gain", "loss"])


def _absent(absent: Iterable[Loss]) -> Sheet:
    rows = ([each.doc_id, _grade(each.relevance), _gain(each.gain), each.where] for each in absent)
    return _sheet(["document", "grade", "gain", "where"], rows, ["grade", "gain"])


def _help(explanation: Explanation) -> Sheet:
    rows = (
        [
            *(each.doc_id, _grade(each.relevance), _rank(each.rank), _rank(each.ideal_rank)),
            *(rounded(each.ndcg), _signed(each.change)),
        ]
        for each in explanation.would_help
    )
    headings = ["document", "grade", "from rank", "to rank", "ndcg", "change"]
    return _sheet(headings, rows, headings[1:])


def _unjudged(explanation: Explanation) -> Sheet:
    facts = explanation.facts
    best, worst = (
        f"ndcg with grade {'-' if each is None else f'{each.relevance:g}'}" for each in (facts.best, facts.worst)
    )
    rows = (
        [each.doc_id, _rank(each.rank), rounded(each.ndcg_if_best), rounded(each.ndcg_if_worst)]
        for each in explanation.unjudged
    )
    return _sheet(["document", "rank", best, worst], rows, ["rank", best, worst])


def _changed(facts: Facts, baseline: Facts) -> list[str]:
    moved = f"ndcg@{at(facts.cutoff)} {rounded(baseline.score.ndcg)} to {rounded(facts.score.ndcg)}"
    dcg, before = facts.score.dcg, baseline.score.dcg
    return [f"{moved}, DCG {before:.4f} to {dcg:.4f}; the changes sum to {dcg - before:+.4f}"]


def _changes(changes: Iterable[Change]) -> Sheet:
    rows = (
        [
            *(each.doc_id, _grade(each.relevance), _rank(each.baseline_rank), _rank(each.rank), _move(each)),
            *(rounded(each.baseline_contribution), rounded(each.contribution), _signed(each.change)),
        ]
        for each in changes
    )
    headings = ["document", "grade", "rank before", "rank", "moved", "added before", "adds", "change"]
    return _sheet(headings, rows, headings[1:])


def _move(change: Change) -> str:
    if change.moved_up is None:
        return "new" if change.baseline_rank is None else "gone"
    return f"{change.moved_up:+d}" if change.moved_up else "0"


def _sheet(headings: Sequence[str], rows: Iterable[Iterable[str]], numbers: Sequence[str]) -> Sheet:
    return sheet(headings, rows, map(headings.index, numbers))


def _grade(relevance: float | None) -> str:
    return "unjudged" if relevance is None else f"{relevance:g}"


def _gain(gain: float | None) -> str:
    return "-" if gain is None else f"{gain:g}"


def _rank(rank: int | None) -> str:
    return "-" if rank is None else str(rank)


def _signed(value: float) -> str:
    return f"{value:+.4f}" if value else "0"


def _as_json(explanation: Explanation, baseline: Facts | None) -> dict[str, Any]:
    facts = explanation.facts
    found: dict[str, Any] = {
        **{name: getattr(facts, name) for name in ("dataset", "run", "query_id", "cutoff")},
        **dataclasses.asdict(facts.score),
        "convention": facts.convention.label,
        "formula": facts.convention.formula,
        "ideal_known": explanation.ideal_known,
        "best_grade": facts.best and facts.best.relevance,
        "worst_grade": facts.worst and facts.worst.relevance,
    }
    for name in ("lines", "losses", "absent", "would_help", "unjudged"):
        found[name] = [dataclasses.asdict(each) for each in getattr(explanation, name)]
    if baseline is not None:
        found["baseline"] = {"run": baseline.run, **dataclasses.asdict(baseline.score)}
        found["changes"] = [dataclasses.asdict(each) for each in compare(facts, baseline)]
    return found

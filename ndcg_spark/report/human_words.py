"""What a few human grades say about a machine judge's grades: sentences and a table."""

from typing import Any

from markupsafe import Markup

from ndcg_spark.comparison.corrected import FLAGS, MEASURE_IN_WORDS, Interval
from ndcg_spark.comparison.human_grades import HumanEstimate
from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.report.sentences import Sentence, sentence
from ndcg_spark.tables.format import count, difference, level, p_value, score, share
from ndcg_spark.tables.html import marked, name_markup
from ndcg_spark.tables.table import Table, make_table
from ndcg_spark.text import day

#: What people say about the judge, by the kind of sentence.
_SAID = {
    "confirmed": "{} confirm the judge: {} is {} {}, {}; the judge says {}.",
    "overstated": (
        "{} say that the judge overstates the difference: {} is {} {}, {}; the judge says {}."
    ),
    "understated": (
        "{} say that the judge understates the difference: {} is {} {}, {}; the judge says {}."
    ),
    "contradicted": "{} contradict the judge: {} is {} {}, {}; the judge says {}.",
}
_UNDECIDED = "{} do not show whether {} is better or worse{}: {}, {}; the judge says {}."
_DOUBTED = "{} do not show whether {} is better or worse{}: {}, {}, which excludes the judge's {}."
CONCLUDED = {"better": "better", "worse": "worse", "cannot_tell": "cannot tell"}
#: The conclusion on all queries, in a sentence.
_ON_ALL = {
    "better": "it is also better",
    "worse": "it is also worse",
    "cannot_tell": "it may be better or worse",
}
#: A note on the numbers, which are not NDCG.
WHAT_IT_IS = (
    "Both are differences at the judge's ideal: DCG from the grades divided by the ideal DCG of "
    "the judge's grades. They are not NDCG by people, and the gate's limits do not apply."
)


def judged_by_people(estimate: HumanEstimate) -> Sentence:
    """The sentence on a page: whether people agree with the judge, with the numbers."""
    own = estimate.corrected
    kind = kind_of(estimate)
    grades = f"Human grades for {count(own.graded, 'document')}"
    run = name_markup(estimate.pair.run)
    than = _than(estimate)
    by_judge = difference(own.machine)
    interval = _interval_in_words(estimate)
    if kind in _SAID:
        size = score(abs(own.difference))
        way = marked("{}{}", "lower" if own.difference < 0 else "higher", than)
        return sentence(kind, _SAID[kind], grades, run, size, way, interval, by_judge)
    text = _DOUBTED if kind == "doubted" else _UNDECIDED
    by_people = difference(own.difference)
    return sentence(kind, text, grades, run, than, by_people, interval, by_judge)


def kind_of(estimate: HumanEstimate) -> str:
    """Whether people confirm the judge, contradict it or cannot tell."""
    own = estimate.corrected
    low, high = own.these_queries.low, own.these_queries.high
    is_within = low is None or high is None or low <= own.machine <= high
    if estimate.conclusion == "cannot_tell":
        return "undecided" if is_within else "doubted"
    if own.machine * own.difference <= 0:
        return "contradicted"
    if is_within:
        return "confirmed"
    return "overstated" if abs(own.machine) > abs(own.difference) else "understated"


def is_judge_doubted(estimate: HumanEstimate) -> bool:
    """Whether the human grades show that the judge's difference cannot be trusted."""
    return kind_of(estimate) in ("contradicted", "doubted")


def _than(estimate: HumanEstimate) -> Markup:
    """` than bm25`, ` than on 19 November` or ` than bm25 on 19 November`."""
    pair = estimate.pair
    than = Markup("")
    if pair.run != pair.baseline:
        than = marked(" than {}", name_markup(pair.baseline))
    if pair.other != pair.night:
        on = day(pair.other.evaluated_on)
        than = marked("{} on {}", than or Markup(" than"), on)
    return than


def _interval_in_words(estimate: HumanEstimate) -> str:
    """`95% interval -0.1800 to -0.0600`, or why there is none."""
    own = estimate.corrected
    if "all_graded" in own.flags:
        return "and every document that moved is graded"
    interval = own.these_queries
    return f"{level(own.alpha)} interval {ends(interval)}"


def on_all_queries(estimate: HumanEstimate) -> Sentence:
    """What follows for queries that were not evaluated."""
    own = estimate.corrected
    if own.all_queries.low is None:
        return sentence("all_queries", "These grades say nothing about other queries.")
    conclusion = _ON_ALL[estimate.conclusion_on_all]
    text = "For all queries like these {:,}, {}: {} interval {}."
    values = (own.queries, conclusion, level(own.alpha), ends(own.all_queries))
    return sentence("all_queries", text, *values)


def doubts(estimate: HumanEstimate) -> list[Sentence]:
    """Caveats about the numbers."""
    own = estimate.corrected
    found = []
    if "few_errors" in own.flags:
        text = "People changed {} of {:,} grades; with fewer than 10, the interval is rough."
        found.append(sentence("few_errors", text, f"{own.errors:,}", own.graded))
    if "missing_grades" in own.flags:
        text = "{:,} of {:,} documents have no grade and are assumed to be missing at random."
        found.append(sentence("missing_grades", text, own.drawn - own.graded, own.drawn))
    if own.without_ideal:
        are = "is" if own.without_ideal == 1 else "are"
        text = "{} {} left out, because the judge finds nothing relevant there."
        queries = count(own.without_ideal, "query", "queries")
        found.append(sentence("without_ideal", text, queries, are))
    return found


def ends(interval: Interval) -> str:
    return f"{difference(interval.low)} to {difference(interval.high)}"


def human_table(estimate: HumanEstimate) -> Table:
    """A table with one row: the difference by the judge and by people."""
    own = estimate.corrected
    cutoff = format_cutoff(estimate.pair.cutoff)
    line: dict[str, Any] = {
        "run": estimate.pair.run,
        "against": _against(estimate),
        "judge": difference(own.machine),
        "people": difference(own.difference),
        "relative": share(own.relative(own.difference)),
        "interval": _cell(own.these_queries),
        "p": own.these_queries.p_value,
        "all queries": _cell(own.all_queries),
        "p (all)": _p(own.all_queries),
        "conclusion": CONCLUDED[estimate.conclusion],
    }
    marked_up = [judged_by_people(estimate), on_all_queries(estimate), *doubts(estimate)]
    sentences = [one.text.striptags() for one in marked_up]
    notes = [
        f"{MEASURE_IN_WORDS}: DCG from the grades divided by the judge's ideal DCG; not NDCG",
        "interval, p: about these queries; all queries, p (all): about all queries like these",
        *(FLAGS[flag] for flag in own.flags),
    ]
    title = f"Human grades: {MEASURE_IN_WORDS}, cutoff {cutoff}"
    return make_table([line], (), notes, title=title, sentences=sentences)


def _against(estimate: HumanEstimate) -> str:
    """What the run is compared with: `bm25`, `2026-11-19` or `bm25 on 2026-11-19`."""
    pair = estimate.pair
    if pair.other == pair.night:
        return pair.baseline
    night = pair.other.evaluated_on
    return night if pair.run == pair.baseline else f"{pair.baseline} on {night}"


def _cell(interval: Interval) -> str | None:
    if interval.low is None:
        return None
    return f"{difference(interval.low)}, {difference(interval.high)}"


def _p(interval: Interval) -> str | None:
    return None if interval.p_value is None else p_value(interval.p_value)

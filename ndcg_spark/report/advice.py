"""What to do next: an ordered list of rules, each of which returns a sentence or None."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from ndcg_spark.comparison.baselines import has_judgments_of
from ndcg_spark.comparison.judged_apart import Rates, are_apart, depends_on_judged, largest_gaps
from ndcg_spark.comparison.known_losses import PastLoss
from ndcg_spark.convention.measures import CATALOG_COLUMNS, RUN_COLUMNS
from ndcg_spark.gate.verdict import (
    FAIL,
    NOT_COMPARABLE,
    UNDECIDED,
    runs_to_accept,
    runs_without_baseline,
)
from ndcg_spark.nights.catalog_kinds import OTHER_ITEMS
from ndcg_spark.nights.log import Night
from ndcg_spark.report.human_words import is_judge_doubted
from ndcg_spark.report.night import NightPage
from ndcg_spark.report.outline import fails_night
from ndcg_spark.report.sentences import (
    Rule,
    Sentence,
    apply_rules,
    code,
    command_text,
    night_command,
    sentence,
    slice_name,
)
from ndcg_spark.report.words import (
    explains,
    falling,
    is_lost,
    is_unchanged,
    standing_out,
    warnings,
    worse_others,
)
from ndcg_spark.tables.format import count, share
from ndcg_spark.tables.html import joined, marked, name_markup
from ndcg_spark.text import ACCEPTED, GOOD, baseline_run, day

Row = Mapping[str, Any]
#: If at least this share of a loss is at unjudged ranks, it is worth having documents judged.
_UNJUDGED = 0.1
#: How many of the queries with the largest losses the page suggests opening.
_OPENED = 2
#: Reasons that changed judgments can cause: only queries that both sets judge are compared.
_OF_REJUDGED = ("few_queries", "missing_slice")
#: The kind of remedy for a result that accepting the night fixes.
_ACCEPT = "accept"
#: Reasons of results that are also kinds of remedies.
_CODES = ("few_queries", "below_min_value", "missing_slice", "not_measured", "missing_dataset")


def next_steps(page: NightPage) -> list[Sentence]:
    """What to do about a night; never empty."""
    found = apply_rules(RULES, page) + changes_of_gate(page)
    if found:
        return found
    if warnings(page):
        return [sentence("warnings", "Look at the warnings above.")]
    return [sentence("nothing", "There is nothing to do.")]


# How the night was evaluated, as far as the page knows.


def _file(page: NightPage) -> str | None:
    """The configuration file of the evaluation, if there was one."""
    file: str | None = page.record["configuration"].get("file")
    return file


def _is_overridden(page: NightPage) -> bool:
    """Whether arguments overrode the file, so that the file alone does not repeat the night."""
    return bool(page.record["configuration"].get("overridden"))


def _evaluate(page: NightPage, **more: str) -> Markup:
    """The command that evaluates the night again, after `: `; empty if the page cannot know it."""
    if not _file(page) or _is_overridden(page):
        return Markup("")
    options = {"config": _file(page), "date": page.night.evaluated_on}
    if page.output:
        options["output"] = page.output
    return marked(": {}", command_text("evaluate", [], {**options, **more}))


def _reason(page: NightPage) -> str | None:
    reason: str | None = page.verdict.get("reason")
    return reason


def _is_accepted(page: NightPage) -> bool:
    return bool(page.record["accepted"])


# If people have graded a sample.


def do_not_trust_judge(page: NightPage) -> Sentence | None:
    if page.human is None or not is_judge_doubted(page.human):
        return None
    text = (
        "Do not rely on the judge's grades: look at the documents that people graded "
        "differently, and fix the judge."
    )
    return sentence("do_not_trust_judge", text)


def have_more_graded(page: NightPage) -> Sentence | None:
    """Draw a sample twice as large, which includes the documents that are already graded."""
    human = page.human
    if human is None or human.conclusion != "cannot_tell" or not page.output:
        return None
    pair = human.pair
    options: dict[str, Any] = {"run": pair.run}
    if pair.other != pair.night:
        options["baseline-date"] = pair.other.evaluated_on
    if pair.run != pair.baseline or pair.other == pair.night:
        options["baseline"] = pair.baseline
    options |= {"cutoffs": pair.cutoff, "sample": 2 * human.documents, "seed": human.seed}
    asked = page.request.human
    if asked is not None and isinstance(asked.source, str | os.PathLike):
        options["human"] = str(asked.source)
    text = "Have a larger sample graded, which includes the documents already graded: {}"
    return sentence("have_more_graded", text, night_command(page, "judge-next", options))


# Before the scores of the night mean anything.


def send_to_authors(page: NightPage) -> Sentence | None:
    if _reason(page) != "not_verified":
        return None
    text = (
        "Send the file that the evaluation named to the authors of the engine, "
        "and evaluate the night again on a different engine{}"
    )
    return sentence("send_to_authors", text, _evaluate(page, engine="spark"))


def wait_for_missing(page: NightPage) -> Sentence | None:
    if _reason(page) not in ("missing_run", "missing_dataset"):
        return None
    text = "When the missing data has arrived, evaluate the night again{}"
    return sentence("wait_for_missing", text, _evaluate(page) or ".")


def find_out_why_silent(page: NightPage) -> Sentence | None:
    if page.unanswered is None:
        return None
    text = "Find out why {} returned nothing for {}: check its engine, time limits and export."
    queries = count(page.unanswered.now, "query", "queries")
    return sentence("find_out_why_silent", text, name_markup(page.run), queries)


def correct_ids(page: NightPage) -> Sentence | None:
    if not page.unknown_ids:
        return None
    runs = joined(map(name_markup, page.unknown_ids))
    text = "Write the document ids of {} as in the judgments, and evaluate the night again{}"
    return sentence("correct_ids", text, runs, _evaluate(page) or ".")


def make_copies(page: NightPage) -> Sentence | None:
    """Score the kept lists under the other night's judgments, if only these scores are missing."""
    refused = page.compared_with.refused
    if refused is None or refused.reason is not None or not page.output:
        return None
    text = "Score the kept lists of each night under the judgments of the other night: {}"
    commands = list(map(code, refused.commands))
    if not commands:
        # A link of a chain is missing, or a copy is damaged.
        commands = [command_text("rescore", [page.output], {"dataset": page.night.dataset})]
    return sentence("make_copies", text, joined(commands, ", "))


# Where to look.


def look_at_fall(page: NightPage) -> Sentence | None:
    """The run is falling although nothing fails."""
    found = falling(page)
    is_failed = page.verdict.get("verdict") == FAIL
    if found is None or is_failed or (page.row and page.row["conclusion"] == "worse"):
        return None
    text = "Find out what changed on {}: {} has been falling since then."
    return sentence("look_at_fall", text, day(found.since), name_markup(page.run))


def open_queries(page: NightPage) -> Sentence | None:
    worst = [query.query_id for query in page.ends[:_OPENED] if query.change < 0]
    if not worst or not is_lost(page):
        return None
    links = []
    for query in worst:
        label = page.request.labels.query(query)
        links.append(marked('<a href="#{}">{}</a>', page.anchors[query], label))
    return sentence("open_queries", "Open {}.", joined(links))


def look_at_slices(page: NightPage) -> Sentence | None:
    if page.baseline.is_first:
        return None
    worse = []
    whole = page.compared_with.difference(page.run)
    for row in standing_out(page):
        if row["conclusion"] == "worse" and _falls_more(row, whole):
            worse.append(row)
    if not worse:
        return None
    text = "Look at the queries with {}, which are worse."
    return sentence("look_at_slices", text, joined(map(slice_name, worse)))


def _falls_more(slice_row: Row, whole: float) -> bool:
    """Whether a slice clearly falls more than all queries, which may fall alike everywhere."""
    if whole >= 0:
        return True
    highest = slice_row["interval_high"]
    if highest is None:
        highest = slice_row["difference"]
    return bool(highest < whole)


def repair(page: NightPage) -> Sentence | None:
    """Evaluate a failed night again once its run is fixed."""
    verdict = page.verdict
    if verdict.get("verdict") != FAIL or _is_accepted(page):
        return None
    again = _evaluate(page) or Markup(".")
    if _is_overridden(page):
        again = Markup(" with the same arguments.")
    run = verdict["run"] or page.run
    text = "When {} is fixed, evaluate the night again{}"
    if _fails_by_catalog_alone(page):
        text = "If {} should not show different items from before, fix it and evaluate the night "
        text += "again{}"
    return sentence("repair", text, name_markup(run), again)


def _fails_by_catalog_alone(page: NightPage) -> bool:
    """Whether only catalog checks fail, which are neither better nor worse."""
    failed = filter(fails_night, page.results)
    return all(row["measure"] in CATALOG_COLUMNS for row in failed)


def judge_documents(page: NightPage) -> Sentence | None:
    """Have documents judged if much of a loss is at ranks that now hold unjudged documents."""
    moved = page.moved
    if moved is None or not page.output or not is_lost(page) or not explains(page):
        return None
    if moved.unjudged < _UNJUDGED:
        return None
    is_compared = page.baseline.run or _newest_with_same_judgments(page)
    what = "difference" if is_compared else "score"
    text = "Have the unjudged documents that affect the {} judged: {}, then evaluate the "
    text += "night again."
    return sentence("judge_documents", text, what, _judge_next(page, page.run))


def judge_alike(page: NightPage) -> Sentence | None:
    """Runs with a judged rate that is far from the judged rate of their baseline."""
    rates = _rates_apart(page)
    if not rates or not page.output:
        return None
    if judge_documents(page) is not None:
        # One request for judgments is enough.
        return None
    runs = largest_gaps(rates)
    shares = []
    commands = []
    for run in runs:
        own, _ = rates[run]
        shares.append(marked("{} for {}", share(own), name_markup(run)))
        commands.append(_judge_next(page, run))
    # All runs are compared with the same rate.
    _, before = rates[runs[0]]
    _, cutoff = page.metric
    own_shares = joined(shares)
    of_baseline = marked("judged down to rank {}: {} for the baseline", cutoff, share(before))
    text = "Have the unjudged documents of {} judged, because the difference may come from them "
    text += "({}, but {}): {}"
    names = joined(map(name_markup, runs))
    return sentence("judge_alike", text, names, of_baseline, own_shares, joined(commands, ", "))


def _rates_apart(page: NightPage) -> dict[str, Rates]:
    """The judged rates of each run and its baseline, if they are far apart: `{"als": (0.4, 0.9)}`.

    Runs whose documents `judge_aged` asks for are left out.
    """
    found: dict[str, Rates] = {}
    if page.over_change or not depends_on_judged(*page.metric):
        return found
    left_out = page.verdict.get("unjudged_runs", ())
    for run in page.compared:
        if run in left_out or run not in page.runs:
            continue
        own = page.scores[run, page.metric[1]]["judged_rate"]
        before = _rate_before(page, run)
        if own is not None and before is not None and are_apart((own, before)):
            found[run] = (own, before)
    return found


def _rate_before(page: NightPage, run: str) -> float | None:
    """The judged rate of what a run is compared with, if the page knows it."""
    baseline, cutoff = page.baseline.run, page.metric[1]
    if baseline and not page.baseline.nights:
        scores = page.scores.get((baseline, cutoff), {})
        rate: float | None = scores.get("judged_rate")
        return rate
    # For nights, the page knows only the rate of its own run.
    return page.judged_before if run == page.run else None


def _judge_next(page: NightPage, run: str) -> Markup:
    """The command that lists the unjudged documents that matter for a run's difference."""
    options = {"run": run}
    if page.baseline.run:
        options["baseline"] = page.baseline.run
    before = _newest_with_same_judgments(page)
    if before:
        options["baseline_date"] = before.evaluated_on
    return night_command(page, "judge-next", options)


def judge_aged(page: NightPage) -> Sentence | None:
    """Runs that score lower than on the accepted night only because fewer documents are judged."""
    runs = page.verdict.get("unjudged_runs", ())
    if not runs or not page.output:
        return None
    commands = [night_command(page, "judge-next", {"run": run}) for run in runs]
    text = "Get judgments for the new documents in the lists of {}: {}"
    return sentence("judge_aged", text, joined(map(name_markup, runs)), joined(commands, ", "))


def _newest_with_same_judgments(page: NightPage) -> Night | None:
    nights = page.baseline.nights
    return nights[-1] if nights and has_judgments_of(nights[-1], page.night) else None


def look_at_others(page: NightPage) -> Sentence | None:
    runs = worse_others(page)
    if not runs:
        return None
    end = Markup(".")
    if page.output:
        end = marked(": {}", joined([_report_of(page, run) for run in runs], ", "))
    are = "are" if len(runs) > 1 else "is"
    text = "Look at {}, which {} worse{}"
    return sentence("look_at_others", text, joined(map(name_markup, runs)), are, end)


def _report_of(page: NightPage, run: str) -> Markup:
    """The command that writes the page of this night for a different run."""
    baseline = page.baseline
    options = {"run": run, "html": "report.html"}
    if page.request.measure:
        options["measure"] = page.request.measure
    if baseline.run:
        options["baseline"] = baseline.run
    if len(baseline.nights) == 1 and not baseline.name:
        options["baseline_date"] = baseline.nights[0].evaluated_on
    return night_command(page, "report", options)


# How to learn more.


def judge_more_queries(page: NightPage) -> Sentence | None:
    row, baseline = page.row, page.baseline
    if not baseline.is_first and not baseline.run:
        return None
    if row is None or row["conclusion"] != "cannot_tell":
        return None
    if is_unchanged(page) or page.unanswered:
        return None
    text = "Judge more queries: these are too few to tell the runs apart."
    return sentence("judge_more_queries", text)


# Changed judgments.


def find_out_why_judgments_changed(page: NightPage) -> Sentence | None:
    kind = "find_out_why_judgments_changed"
    if page.verdict:
        if _reason(page) != "other_judgments" or _is_accepted(page):
            return None
        text = "Find out why the judgments changed before you accept the night."
        return sentence(kind, text)
    if "judgments" not in page.trend.points[-1].breaks:
        return None
    return sentence(kind, "Find out why the judgments changed.")


def restore_items(page: NightPage) -> Sentence | None:
    if _reason(page) != OTHER_ITEMS or _is_accepted(page):
        return None
    text = "If the items were not meant to change, evaluate the night again with the earlier "
    text += "table of items{}"
    return sentence("restore_items", text, _evaluate(page) or ".")


# Accepting the night.


def accepts_loss(page: NightPage) -> Sentence | None:
    if accept_night(page) is None:
        return None
    accepted = _accepted_runs(page) or page.runs
    losses = []
    for loss in page.outline.losses_before:
        if loss.run in accepted and not _has_recovered(page, loss.run, loss.date):
            losses.append(loss)
    if not losses:
        return None
    text = "Accepting this night also accepts {}."
    return sentence("accepts_loss", text, joined(map(_past_loss, losses)))


def _past_loss(loss: PastLoss) -> Markup:
    """A known loss: `the loss of 2 November in ltr (acknowledged)`."""
    known = " (acknowledged)" if loss.is_acknowledged else ""
    return marked("the loss of {} in {}{}", day(loss.date), name_markup(loss.run), known)


def _has_recovered(page: NightPage, run: str, date: str) -> bool:
    """Whether a run that failed on a date is known to be back at its earlier level."""
    nights = page.outline.about(run).baseline.nights
    if not nights or nights[-1].evaluated_on >= date:
        # The baseline is not from before the loss.
        return False
    margin = page.compared_with.options.margin
    return run in page.compared and page.compared_with.difference(run) >= -margin


def accept_night(page: NightPage) -> Sentence | None:
    file = _file(page)
    if not file or not page.output or not accepting_helps(page):
        return None
    exit_code = " (its exit code remains 5)" if page.verdict["verdict"] == FAIL else ""
    runs = _accepted_runs(page)
    of_runs = Markup("")
    if runs:
        of_runs = marked(" of {}", joined(map(name_markup, runs)))
    text = "If this is intended, accept the night as the new baseline{}{}: {}"
    return sentence("accept_night", text, of_runs, exit_code, _accept_command(page, runs))


def _accepted_runs(page: NightPage) -> list[str]:
    """The runs for which the page suggests accepting the night; empty for all runs."""
    if _new_beside_failed(page):
        return _failed_runs(page)
    return runs_to_accept(page.results)


def accept_new_runs(page: NightPage) -> Sentence | None:
    """Suggest accepting runs that only lack a baseline without the runs that failed."""
    if not _file(page) or not page.output or not accepting_helps(page):
        return None
    runs = _new_beside_failed(page)
    if not runs:
        return None
    text = "{} can be accepted without {}: {}"
    names = joined(map(name_markup, runs))
    failed = joined(map(name_markup, _failed_runs(page)))
    return sentence("accept_new_runs", text, names, failed, _accept_command(page, runs))


def _accept_command(page: NightPage, runs: Sequence[str]) -> Markup:
    """The command that accepts the night for `runs`, or for all runs if `runs` is empty."""
    options: dict[str, Any] = {"config": _file(page), "accept_baseline": "say why"}
    if runs:
        options["run"] = runs
    return night_command(page, "gate", options)


def _new_beside_failed(page: NightPage) -> list[str]:
    """The runs that only lack a baseline, if other runs failed for other reasons."""
    return runs_without_baseline(page.results) if _failed_runs(page) else []


def _failed_runs(page: NightPage) -> list[str]:
    """The runs with a failed check that does not only warn."""
    failed = {result["run"] for result in filter(fails_night, page.results)}
    return sorted(run for run in failed if run is not None)


def acknowledge(page: NightPage) -> Sentence | None:
    """Suggest acknowledging a loss, which then fails a night only if it grows."""
    file, verdict = _file(page), page.verdict
    if not file or not page.output or verdict.get("verdict") != FAIL or _is_accepted(page):
        return None
    if verdict.get("acknowledged") or page.record.get("acknowledged"):
        return None
    command = night_command(page, "gate", {"config": file, "acknowledge": "say why"})
    what = "change" if _fails_by_catalog_alone(page) else "loss"
    text = "If the {} is known and its fix has to wait, acknowledge it: {}"
    return sentence("acknowledge", text, what, command)


# Changes of the configuration that later nights need.


#: The change of the configuration for each kind of remedy, with a place for runs or nights.
_CHANGES = {
    "few_queries": "Judge more queries, or lower min_queries in the check or in the [gate].",
    "below_min_value": "If this is intended, lower min_value in the [gate] of the configuration.",
    "missing_slice": "Correct `slice` in the [gate] of the configuration, or the attributes of the "
    "queries.",
    "not_measured": "Correct what the checks of the gate below report as not measured; "
    "accepting the night does not help the next one.",
    "silent_slice": "If {} need not answer these queries, remove the slice from the [gate] of "
    "the configuration.",
    "named_run": "If {} is discontinued, remove its name from the [gate] of the configuration.",
    "missing_dataset": "If a dataset is discontinued, remove its name from the [gate] and its "
    "judgments from their table.",
    "other_night": "If this is intended, set `baseline` in the [gate] of the configuration to "
    "the date of this night instead of {}.",
    "other_run": "If this is intended, allow it in the [gate] of the configuration, or choose "
    "a different baseline than {}.",
}


def changes_of_gate(page: NightPage) -> list[Sentence]:
    """The changes of the configuration that the results need."""
    found = remedies(page)
    if page.unknown_ids:
        found.pop("not_measured", None)
    changes = []
    for kind, text in _CHANGES.items():
        if kind in found:
            changes.append(sentence(kind, text, joined(map(name_markup, found[kind]))))
    return changes


def accepting_helps(page: NightPage) -> bool:
    """Whether accepting the night changes the verdict on later ones."""
    if not _is_open(page):
        return False
    kinds = remedies(page).keys()
    if not kinds or _ACCEPT in kinds or "missing_dataset" in kinds:
        return True
    # Later nights then compare with this night, and so with its judgments.
    nights = page.baseline.nights
    is_rejudged = any(not has_judgments_of(night, page.night) for night in nights)
    return is_rejudged and any(kind in kinds for kind in _OF_REJUDGED)


def _is_open(page: NightPage) -> bool:
    """Whether the verdict is not a pass, and nobody has accepted the night."""
    return bool(page.verdict) and page.verdict["verdict"] != "pass" and not _is_accepted(page)


def remedies(page: NightPage) -> dict[str, list[str]]:
    """What would fix the results that decided, by kind of remedy, with runs or nights.

    For example `{"accept": [], "other_run": ["bm25"]}`.
    """
    if not _is_open(page):
        return {}
    words = (FAIL,) if page.verdict["verdict"] == FAIL else (UNDECIDED, NOT_COMPARABLE)
    deciding = []
    for row in page.results:
        if row["result"] in words and row["severity"] == FAIL:
            deciding.append(row)
    found: dict[str, list[str]] = {}
    # If nothing was measured, even the checks that only warn decide.
    for row in deciding or page.results:
        remedy = _remedy(row, page)
        names = found.setdefault(remedy.kind, [])
        if remedy.about is not None and remedy.about not in names:
            names.append(remedy.about)
    return found


class _Remedy(NamedTuple):
    """What would fix a result, and the run or the night that it is about."""

    kind: str
    about: str | None = None


def _remedy(row: Row, page: NightPage) -> _Remedy:
    reason, baseline = row["reason"], row["baseline"]
    if reason in _CODES and not _shares_no_query(row):
        return _Remedy(reason)
    if reason == "missing_run" and row["slice"] is not None:
        return _Remedy("silent_slice", row["run"])
    if reason == "missing_run" and row["check"] == "gate" and row["run"] in _runs_of_gate(page):
        return _Remedy("named_run", row["run"])
    if baseline in (None, GOOD, ACCEPTED, page.night.evaluated_on):
        return _Remedy(_ACCEPT)
    other = baseline_run(baseline)
    if other is not None:
        return _Remedy("other_run", other)
    return _Remedy("other_night", baseline)


def _shares_no_query(row: Row) -> bool:
    """Whether tonight's judgments share no query with the earlier ones, whatever min_queries is."""
    is_of_nights = baseline_run(row["baseline"] or "") is None
    is_of_queries = row["measure"] not in RUN_COLUMNS
    return row["reason"] == "few_queries" and is_of_nights and is_of_queries and not row["queries"]


def _runs_of_gate(page: NightPage) -> set[str]:
    """The runs that the gate names, in a check or as a baseline."""
    gate = page.night.gate
    named: set[str] = set()
    for check in gate.get("check", ()):
        named.update(check.get("runs") or ())
    for baseline in gate.get("baseline", ()):
        run = baseline_run(baseline)
        if run is not None:
            named.add(run)
    return named


#: The rules in the order in which the page shows them.
RULES: Sequence[Rule] = (
    do_not_trust_judge,
    have_more_graded,
    send_to_authors,
    wait_for_missing,
    find_out_why_silent,
    correct_ids,
    make_copies,
    look_at_fall,
    open_queries,
    look_at_slices,
    repair,
    judge_documents,
    judge_alike,
    judge_aged,
    look_at_others,
    judge_more_queries,
    find_out_why_judgments_changed,
    restore_items,
    accept_night,
    accept_new_runs,
    accepts_loss,
    acknowledge,
)

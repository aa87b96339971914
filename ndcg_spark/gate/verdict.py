"""A gate's decision as plain data, which the log keeps and commands print."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.readings import FIRST_READING
from ndcg_spark.convention.measures import CATALOG_COLUMNS
from ndcg_spark.errors import DONE, GATE_FAILED, NO_VERDICT
from ndcg_spark.gate.checked_mean import checked_mean
from ndcg_spark.nights.log import NOT_VERIFIED
from ndcg_spark.tables.format import difference
from ndcg_spark.text import GOOD, day, masked
from ndcg_spark.tolerance import DECIMALS
from ndcg_spark.voices import command_line

PASS, FAIL = "pass", "fail"
#: The mean changed by more than is allowed, but that may be due to chance.
UNDECIDED = "undecided"
#: Nothing comparable was measured.
NOT_COMPARABLE = "not_comparable"
#: The verdict of a night with a check that is undecided or not comparable.
NONE = "none"

#: Why a result is a failure: the mean fell or rose by more than is allowed.
DROPPED, ROSE = "dropped", "rose"

#: The reasons of results that pass later, once this night is accepted.
_FIRST_OF_ITS_KIND = (
    "new_run",
    "other_convention",
    "other_cutoff",
    "other_items",
    "other_judgments",
)

EXIT_CODES = {PASS: DONE, FAIL: GATE_FAILED, NONE: NO_VERDICT}


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of a check of one run against one baseline, or about something that is missing."""

    #: For example gate.check[1]; `gate` for missing runs or datasets.
    check: str
    severity: str
    result: str
    #: Why, as a code; None for a pass. FAIL: dropped, rose, below_min_value. UNDECIDED:
    #: may_be_chance, sides_disagree, unjudged_documents. NOT_COMPARABLE: no_baseline,
    #: other_convention, other_items, other_judgments, other_cutoff, missing_dataset, missing_run,
    #: missing_slice, new_run, not_measured, few_queries, not_verified.
    reason: str | None
    sentence: str
    run: str | None = None
    measure: str | None = None
    cutoff: str | None = None
    slice: str | None = None
    weighted: bool = False
    #: Its name in the configuration. None for `min_value`, whose `difference` is the distance to
    #: the minimum, and whose `allowed` is 0.
    baseline: str | None = None
    baseline_night: str | None = None
    mean: float | None = None
    baseline_mean: float | None = None
    difference: float | None = None
    #: How far it may fall, and how far it may rise; None if there is no such limit.
    allowed: float | None = None
    allowed_rise: float | None = None
    interval_low: float | None = None
    interval_high: float | None = None
    #: The larger of the two tests' p values, or the t test's p value if this test alone rules
    #: out a failure. It is adjusted for the number of hypotheses.
    p: float | None = None
    queries: int | None = None
    #: The first night of its baseline, if each run has its own nights.
    since: str | None = None
    #: The side, reading and numbers of each comparison, if several decide it together.
    sides: tuple[Mapping[str, Any], ...] = ()


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A gate's decision on a night."""

    dataset: str
    evaluated_on: str
    verdict: str
    #: The code of the first result that decided; None for a pass.
    reason: str | None
    sentence: str
    run: str | None
    #: The verdict's exit code, or 0 if the verdict is NONE and the night is accepted.
    exit_code: int
    results: tuple[Result, ...]
    warnings: tuple[str, ...] = ()
    #: Findings against the accepted night that neither pass nor fail.
    notes: tuple[str, ...] = ()
    #: name, nights (their dates) and evaluation_id (of the newest).
    baselines: tuple[Mapping[str, Any], ...] = ()
    #: The slices with most of the loss that decided: attribute, value, queries, of_queries, share.
    causes: tuple[Mapping[str, Any], ...] = ()
    #: Why somebody accepted this night as a baseline for later ones, and for which runs; None means
    #: all runs.
    accepted: str | None = None
    accepted_runs: tuple[str, ...] | None = None
    #: The acknowledged loss, if it is not worse: on, reason, until.
    acknowledged: Mapping[str, str] | None = None
    #: The slices that lost much, which are among the warnings.
    lost_slices: tuple[str, ...] = ()
    #: The slices that a check or such a warning names: attribute and value.
    named_slices: tuple[Mapping[str, str], ...] = ()
    #: The runs whose level falls, whatever the verdict: run, measure, cutoff, since, difference.
    falls: tuple[Mapping[str, Any], ...] = ()
    #: By how much each run changed across the change of judgments that starts with this night.
    changes: tuple[str, ...] = ()
    #: The runs that are lower than on the accepted night only if unjudged documents stay unjudged;
    #: they are among the notes.
    unjudged_runs: tuple[str, ...] = ()

    @property
    def is_baseline(self) -> bool:
        """Whether later nights may be compared with this one: it was accepted, or it is good."""
        return bool(self.accepted) or self.is_good

    @property
    def is_good(self) -> bool:
        """Whether every check measured something and none failed."""
        results = {result.result for result in self.results}
        return bool(results) and results <= {PASS, UNDECIDED}

    @property
    def runs_to_accept(self) -> list[str]:
        """The runs whose results did not pass; empty if something else is also wrong."""
        return runs_to_accept(list(map(vars, self.results)))

    def as_json(self) -> dict[str, Any]:
        return dict(json.loads(json.dumps(dataclasses.asdict(self))))

    def log_entries(self) -> dict[str, Any]:
        """The entries that the log keeps."""
        return {
            "verdict": self.as_json(),
            "accepted": self.accepted,
            "accepted_runs": None if self.accepted_runs is None else list(self.accepted_runs),
            "is_baseline": self.is_baseline,
        }


def checked_mean_of(result: Mapping[str, Any], run: str | None = None) -> str:
    """The mean that a result is about: `weighted ndcg@10 of hybrid for language=de`."""
    measure = f"{result['measure']}@{result['cutoff']}"
    return checked_mean(measure, result["weighted"], result["slice"], run)


def runs_to_accept(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """The runs whose results did not pass, except results that only warn.

    The list is empty if no run passed, or if a result that did not pass is not about a run.
    """
    runs = {result["run"] for result in results}
    not_passed = {result["run"] for result in filter(_is_open, results)}
    if None in not_passed or not_passed == runs:
        return []
    return sorted(not_passed)


def unverified_verdict(dataset: str, evaluated_on: str, reason: str) -> Verdict:
    """No verdict, because the engine and plain Python disagree about the night's scores.

    `reason`: why somebody published them nevertheless.
    """
    sentence = f"the scores were published although they are not verified: {reason}"
    result = Result("gate", FAIL, NOT_COMPARABLE, NOT_VERIFIED, sentence)
    return Verdict(
        dataset,
        evaluated_on,
        NONE,
        NOT_VERIFIED,
        sentence,
        run=None,
        exit_code=EXIT_CODES[NONE],
        results=(result,),
    )


def has_dated_baseline(result: Mapping[str, Any]) -> bool:
    """Whether a check compares with the night of a date.

    Accepting another night does not change such a baseline.
    """
    return result["baseline"] is not None and result["baseline"] == result["baseline_night"]


def how_to_accept(verdict: Mapping[str, Any], output: str, file: str | None) -> str | None:
    """How to make a night a baseline, with the command; None if it lacks anything else.

    The command accepts only this dataset and date, and only the runs that did not pass. `file`: the
    configuration file.
    """
    night = verdict["dataset"], verdict["evaluated_on"]
    if can_begin(verdict):
        return f"to make it the first baseline: {accept_command(output, file, *night)}"
    if not lacks_only_baseline(verdict):
        return None
    runs = runs_to_accept(verdict["results"])
    command = accept_command(output, file, *night, runs)
    return f"if this is intended, make it the new baseline: {command}"


def accept_command(
    output: str,
    file: str | None,
    dataset: str,
    evaluated_on: str,
    runs: Sequence[str] = (),
) -> str:
    """The command that accepts a night as a baseline for later ones, by default for all runs."""
    decision: dict[str, Any] = {"accept_baseline": "REASON"}
    if runs:
        decision["run"] = list(runs)
    return _gate_command(output, file, dataset, evaluated_on, decision)


def acknowledge_command(output: str, file: str | None, dataset: str, evaluated_on: str) -> str:
    """The command that acknowledges a night's loss as known."""
    return _gate_command(output, file, dataset, evaluated_on, {"acknowledge": "REASON"})


def _gate_command(
    output: str, file: str | None, dataset: str, evaluated_on: str, decision: Mapping[str, Any]
) -> str:
    night = {"config": file or "FILE", "date": evaluated_on, "dataset": dataset}
    return command_line("gate", [masked(output)], {**night, **decision})


def lacks_only_baseline(verdict: Mapping[str, Any]) -> bool:
    """Whether a night has no verdict only because no good night is comparable with it."""
    if verdict["verdict"] != NONE or verdict["accepted"] is not None:
        return False
    open_results = list(filter(_is_open, verdict["results"]))
    return bool(open_results) and all(map(_lacks_baseline, open_results))


def runs_without_baseline(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """The runs that did not pass only because no good night is comparable with them."""
    lacking: set[str] = set()
    others: set[str] = set()
    for result in filter(_is_open, results):
        kind = lacking if _lacks_baseline(result) else others
        kind.add(result["run"])
    return sorted(lacking - others)


def _is_open(result: Mapping[str, Any]) -> bool:
    """Whether a result is not a pass, and does not only warn."""
    return bool(result["result"] != PASS and result["severity"] == FAIL)


def _lacks_baseline(result: Mapping[str, Any]) -> bool:
    """Whether a result only says that the good nights are not comparable."""
    if result["baseline"] != GOOD:
        return False
    # Ids were renamed.
    shares_no_query = result["reason"] == "few_queries" and not result["queries"]
    return shares_no_query or result["reason"] in _FIRST_OF_ITS_KIND


def can_begin(verdict: Mapping[str, Any]) -> bool:
    """Whether a night lacks only a baseline, so that it could become the first one."""
    if verdict["reason"] != "no_baseline" or verdict["accepted"] is not None:
        return False
    lacking = set()
    for result in verdict["results"]:
        # A baseline that has a night exists, but cannot be read.
        if result["reason"] == "no_baseline" and result["baseline_night"] is None:
            lacking.add(result["baseline"])
    return GOOD in lacking or verdict["evaluated_on"] in lacking


def drop_of(result: Mapping[str, Any]) -> float:
    """A sort key for results: the largest drop comes first.

    Changes of catalog measures, which are unbounded, come after the drops and before the gains.
    """
    if result["measure"] in CATALOG_COLUMNS:
        return 0.0
    return round(result["difference"] or 0.0, DECIMALS)


def side_changes(sides: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The change on each side of a change of judgments: `{"old": -0.0043, "new": -0.0002}`.

    They are of the first reading of unjudged documents, as the result's difference is. The
    second reading only confirms a loss.
    """
    changes = {}
    for side in sides:
        is_known = side["side"] is not None and side["difference"] is not None
        if is_known and side["reading"] == FIRST_READING:
            changes[side["side"]] = side["difference"]
    return changes


def falls_in_words(verdict: Mapping[str, Any]) -> list[str]:
    """Sentences on runs whose level falls: `ltr has been falling since 15 October: -0.0204`."""
    sentences = []
    for fall in verdict.get("falls", ()):
        since, moved = day(fall["since"]), difference(fall["difference"])
        sentences.append(f"{fall['run']} has been falling since {since}: {moved}")
    return sentences


def worst_exit_code(verdicts: Iterable[Verdict]) -> int:
    """The exit code of several nights: a failed night outranks a night without a verdict."""
    codes = {verdict.exit_code for verdict in verdicts}
    return min(codes - {DONE}, default=DONE)

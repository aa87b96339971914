"""Find the convention that gives an earlier job's scores, from the same judgments and results.

Conventions are tried on lists that this process scores, which may be a sample. A convention that
gives the scores of these lists is checked on all rows with the engine. If a query's score
differs there, its lists are added to the sample, and the search continues.
"""

import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine import Engine
from ndcg_spark.job.like_inputs import (
    FEW_CUTOFFS,
    OldInputs,
    fetched,
    pair_of_score,
    read_old_inputs,
    scored_by_engine,
    whole_or_sampled,
)
from ndcg_spark.search.absences import Reading, readings
from ndcg_spark.search.finder import Deadline, Search, difference_of, is_telling
from ndcg_spark.search.found import (
    Alternative,
    Difference,
    FoundConvention,
    Verdict,
    sides_by_rank,
    why_refused,
)
from ndcg_spark.search.hints import hint_at_order_of_rows, run_means
from ndcg_spark.search.judges import Absent, Compared, Judge, ListJudge, ScoreJudge
from ndcg_spark.search.old_lists import OldList
from ndcg_spark.search.probes import NOTHING, separated_by
from ndcg_spark.search.space import Space, facts_of
from ndcg_spark.search.trials import Trial
from ndcg_spark.steps import LOGGER, report_step

#: How long a search may take, in seconds. The search for a convention that gives all scores ends
#: after the first fraction of that, the search for the nearest one after the second.
LIMIT = 60.0
_FOR_EXACT, _FOR_NEAREST = 0.6, 0.8
#: How many differing queries are added to the sample at once.
_JOINING = 20


def find_convention(
    engine: Engine,
    config: EvaluationConfig,
    scores: str,
    fixed: Mapping[str, Any] | None = None,
    limit: float = LIMIT,
    columns: Mapping[str, str] | None = None,
) -> FoundConvention:
    """The convention that gives these scores (a path) for the configured inputs.

    `fixed` are options that every convention to try has, and `columns` maps our column names to
    those of the scores. The search ends after `limit` seconds with the best convention so far.
    Raises InputError if the scores cannot be read or belong to other inputs.
    """
    for_exact = Deadline.after(_FOR_EXACT * limit)
    for_nearest = Deadline.after(_FOR_NEAREST * limit)
    for_all = Deadline.after(limit)
    inputs = read_old_inputs(engine, config, scores, columns or {}, fixed or {}, for_all)
    LOGGER.debug("fetching the lists that are compared")
    lists, is_whole = whole_or_sampled(inputs)
    searches = []
    for reading in readings(inputs.targets, lists):
        search = _ReadingSearch(inputs, reading, lists, is_whole, for_exact)
        found = search.exact()
        if found is not None:
            return found
        searches.append(search)
        if for_exact.is_over():
            break
    tried = sum(one.search.tried for one in searches)
    report_step("tried", f"{tried:,} conventions; looking for the nearest")
    found = searches[0].nearest(for_nearest)
    return dataclasses.replace(found, is_finished=not for_exact.has_passed, tried=tried)


class _ReadingSearch:
    """A search for the convention of the scores as they are read in one way."""

    def __init__(
        self,
        inputs: OldInputs,
        reading: Reading,
        lists: Sequence[OldList],
        is_whole: bool,
        deadline: Deadline,
    ) -> None:
        self.inputs = dataclasses.replace(inputs, targets=reading.targets)
        self.reading = reading
        self.lists = list(lists)
        self.is_whole = is_whole
        self.search = self._new_search(deadline)

    @property
    def absent(self) -> Absent:
        return self.reading.absent

    def _new_search(self, deadline: Deadline) -> Search:
        """A search that compares the lists, or all rows with the engine if there are no lists."""
        space = self._space()
        judge = self._engine_judge()
        if self.lists:
            judge = ListJudge(
                self.lists,
                self.inputs.targets,
                self.absent,
                is_whole=self.is_whole,
                cutoffs=space.cutoffs,
            )
        return Search(judge, space, deadline)

    def _engine_judge(self) -> Judge:
        """A judge that scores all rows with the engine."""
        inputs = self.inputs
        return ScoreJudge(
            inputs.targets, self.absent, lambda trial: scored_by_engine(inputs, trial)
        )

    def _space(self) -> Space:
        """The conventions to try."""
        inputs = self.inputs
        facts = facts_of(self.lists)
        cutoffs = inputs.cutoffs
        if not self.lists:
            has_scores = "score" in inputs.context.checked.results.columns
            facts = facts._replace(
                has_scores=has_scores,
                has_ranks=not has_scores,
                inert=frozenset(),
            )
            cutoffs = [cutoff for cutoff in cutoffs if cutoff in FEW_CUTOFFS] or cutoffs
        if inputs.targets.knows_cutoffs:
            cutoffs = (None,)
        return Space(facts, inputs.fixed, cutoffs)

    def exact(self) -> FoundConvention | None:
        """The convention that gives every score, if the search finds it."""
        # Conventions that give the scores of the compared lists.
        trials = self.search.exact()
        while trials:
            trial = trials.pop(0)
            compared = self._compared_on_all(trial)
            differing = [row for row in compared if row.differs]
            if not differing:
                return self._exact_result(trial, compared)
            if self.search.deadline.is_over():
                return None
            new_rows = self._not_in_sample(differing)
            if new_rows:
                self._add_lists(new_rows)
                trials = self.search.exact()
        return None

    def _add_lists(self, rows: Iterable[Compared]) -> None:
        """Add the lists of these scores to the sample, and start a new search."""
        queries = [pair_of_score(row.place, self.inputs).query for row in rows]
        self.lists += fetched(self.inputs, list(dict.fromkeys(queries)))
        tried = self.search.tried
        self.search = self._new_search(self.search.deadline)
        self.search.tried = tried

    def _not_in_sample(self, rows: Iterable[Compared]) -> list[Compared]:
        """The first scores of queries whose lists are not in the sample."""
        if self._compares_all():
            return []
        known = {(one.dataset, one.pair.query_id) for one in self.lists}
        new = []
        for row in rows:
            query = row.place.dataset, row.place.query_id
            if row.place.query_id is not None and query not in known:
                new.append(row)
        return new[:_JOINING]

    def _compared_on_all(self, trial: Trial) -> list[Compared]:
        """Every score next to the engine's, the first query first."""
        LOGGER.debug("scoring all rows under %s", trial.convention.label)
        begun = time.monotonic()
        rows = list(self._engine_judge().compared(trial))
        self.inputs.seconds_of_a_pass = time.monotonic() - begun
        return sorted(rows, key=_in_order)

    def _exact_result(self, trial: Trial, compared: Sequence[Compared]) -> FoundConvention:
        """The result for an exact trial, with other conventions that give the same scores."""
        targets, deadline = self.inputs.targets, self.inputs.deadline
        self.search.deadline = deadline
        verdict: Verdict = "exact" if targets.scores else "consistent"
        # These are searched for first, because scoring all rows may take the rest of the time.
        likely = self.search.alternatives(trial)
        presets = []
        for other in self.search.presets_like(trial):
            if self._is_same_on_all(other):
                presets.append(other.convention.label)
        alternatives = []
        for option, value, other in likely:
            is_checked = self._compares_all() or self.inputs.has_time()
            if not is_checked or self._is_same_on_all(other):
                needed = self._separated_by(option, trial, other)
                alternatives.append(Alternative(option, value, needed, is_checked))
        found = self._result(verdict, trial, compared)
        return dataclasses.replace(
            found,
            presets=presets,
            alternatives=alternatives,
            tried=self.search.tried,
            is_finished=not deadline.has_passed,
            notes=[*found.notes, *self._notes(trial)],
        )

    def _notes(self, trial: Trial) -> list[str]:
        """The notes about how the scores were read."""
        notes = [self.reading.note] if self.reading.note else []
        named = self.reading.named_cutoff
        if named is not None and named != trial.cutoff:
            notes.append(f"the job calls them ndcg@{named}, but they have the cutoff found here")
        return notes

    def _separated_by(self, option: str, trial: Trial, other: Trial) -> str:
        """What data would distinguish an exact trial from another one, in words."""
        targets, judge = self.inputs.targets, self.search.judge
        needed_data = separated_by(trial, other, targets.cutoffs if targets.knows_cutoffs else [])
        if needed_data == NOTHING or self.search.is_inert(option):
            # The trials have the same score for every list of the job.
            return needed_data
        if isinstance(judge, ListJudge):
            # If a list of the job distinguishes the two, its score is missing or has few digits.
            lacking_scores = judge.what_scores_lack(trial, other)
            if lacking_scores:
                return lacking_scores
        return needed_data

    def _compares_all(self) -> bool:
        """Whether trials are compared on all lists, in this process or by the engine."""
        return self.is_whole or not self.lists

    def _is_same_on_all(self, trial: Trial) -> bool:
        """Whether a trial that is exact for the judge is exact on all rows, if there is time."""
        if self._compares_all():
            return True
        if not self.inputs.has_time():
            return False
        return not any(row.differs for row in self._compared_on_all(trial))

    def nearest(self, deadline: Deadline) -> FoundConvention:
        """The convention that gives most of the scores, with the first score that differs."""
        self.search.deadline = deadline
        trial = self.search.nearest()
        compared = self._compared_on_all(trial)
        # If the engine refuses a convention, there is only one row, for the refusal.
        is_refused = len(compared) == 1 and bool(self.lists)
        if is_refused:
            compared = sorted(self.search.judge.compared(trial), key=_in_order)
        found = self._result("nearest", trial, compared)
        wrong = [row for row in compared if row.differs]
        hint = hint_at_order_of_rows(compared, self.lists, trial.convention)
        return dataclasses.replace(
            found,
            first_difference=self._difference(trial, wrong[0]) if wrong else None,
            is_near=self._is_near(compared),
            notes=[*found.notes, hint] if hint else found.notes,
            may_keep_order_of_rows=bool(hint),
        )

    def _is_near(self, compared: Iterable[Compared]) -> bool:
        """Whether the convention gives at least half of the scores that few conventions give."""
        rows = list(compared)
        telling = list(filter(is_telling, rows)) or rows
        unit = 2 * self.inputs.targets.tolerance
        near = [row for row in telling if not row.differs or difference_of(row) <= unit]
        return 2 * len(near) >= len(telling)

    def _difference(self, trial: Trial, row: Compared) -> Difference:
        """A score that differs, with its query's list."""
        place = row.place
        cutoff = place.cutoff if self.inputs.targets.knows_cutoffs else trial.cutoff
        found = Difference(place.dataset, place.run, place.query_id, cutoff, row.given, row.ours)
        if place.query_id is None:
            return found
        pair = pair_of_score(place, self.inputs)
        (old_list,) = [one for one in fetched(self.inputs, [pair.query]) if one.pair == pair]
        refused = why_refused(old_list, trial.convention, cutoff)
        if refused:
            return found._replace(refused=refused)
        return found._replace(ranks=sides_by_rank(old_list, trial.convention, cutoff))

    def _result(
        self,
        verdict: Verdict,
        trial: Trial,
        compared: Sequence[Compared],
    ) -> FoundConvention:
        """The result, with the number of scores that are equal."""
        targets = self.inputs.targets
        rows = [row for row in compared if row.given is not None or row.differs]
        differences = [difference_of(row) for row in rows if row.differs]
        return FoundConvention(
            verdict,
            trial.convention,
            targets.cutoffs if targets.knows_cutoffs else [trial.cutoff],
            compared=len(rows),
            equal=len(rows) - len(differences),
            largest_difference=max(differences, default=0.0),
            tolerance=targets.tolerance if targets.scores else targets.mean_tolerance,
            means=run_means(compared, targets, trial),
            notes=targets.notes,
        )


def _in_order(row: Compared) -> tuple[Any, ...]:
    place = row.place
    depth = place.cutoff is None, place.cutoff or 0
    return place.query_id is None, place.dataset, place.run, place.query_id or "", depth

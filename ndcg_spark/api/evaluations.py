"""The evaluations in a comparison, given alone or as {run: evaluation}, and what they share."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from ndcg_spark.api.scores import Scores, SparkScores
from ndcg_spark.convention.catalog import is_catalog_option
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import MEASURES, NDCG_ONLY, MeasureSet, arguments
from ndcg_spark.errors import ConfigurationError

#: What `evaluate` returns.
EvaluatedScores = Scores | SparkScores


def evaluations_in(table: Any) -> list[EvaluatedScores]:
    """The evaluations in an argument: one, those in a dictionary, or none."""
    if isinstance(table, EvaluatedScores):
        return [table]
    if not isinstance(table, Mapping):
        return []
    found = []
    for one in table.values():
        found.extend(evaluations_in(one))
    return found


def tables_of(given: Any, part: Literal["query_scores", "dataset_scores"] = "query_scores") -> Any:
    """The argument, with each evaluation replaced by one of its tables."""
    if isinstance(given, Mapping):
        return {name: tables_of(one, part) for name, one in given.items()}
    return getattr(given, part) if isinstance(given, EvaluatedScores) else given


def asked_measures(evaluations: Sequence[EvaluatedScores]) -> MeasureSet:
    """The measures that all evaluations have, in the order of the first; NDCG without
    evaluations.
    """
    if not evaluations:
        return NDCG_ONLY
    first = evaluations[0].measures
    common = list(first.pairs)
    for one in evaluations:
        common = [pair for pair in common if pair in one.measures.pairs]
    return MeasureSet(tuple(common), options=first.options)


def shared_attributes(evaluations: Sequence[EvaluatedScores]) -> pa.Table | None:
    """The attributes of the queries; ConfigurationError if the evaluations have different ones."""
    known: dict[Any, pa.Table] = {}
    for one in evaluations:
        if one.attributes is not None:
            # The order of the rows does not matter.
            rows = frozenset(map(str, one.attributes.to_pylist()))
            known.setdefault(rows, one.attributes)
    if len(known) > 1:
        what = f"the evaluations have {len(known)} different tables"
        raise ConfigurationError(f"attributes: {what}; give one with attributes=")
    return next(iter(known.values()), None)


def refuse_other_conventions(
    ours: Sequence[EvaluatedScores], theirs: Sequence[EvaluatedScores]
) -> None:
    """Raise ConfigurationError if evaluations have different conventions.

    Their scores are not comparable.
    """
    own = _conventions(ours)
    if len(own) > 1:
        raise ConfigurationError(
            f"query_scores: the runs have the conventions {own[0]} and {own[1]}; choose one"
        )
    both = _conventions([*ours, *theirs])
    if len(both) > 1:
        what = f"its convention is {both[1]}, but the scores have {both[0]}"
        raise ConfigurationError(f"baseline: {what}; choose one")


def _conventions(evaluations: Sequence[EvaluatedScores]) -> list[str]:
    """The labels of the different conventions. Presets with different names may be equal."""
    labels: dict[Convention, str] = {}
    for one in evaluations:
        labels.setdefault(Convention.parse(one.convention), one.convention)
    return list(labels.values())


def refuse_other_arguments(evaluations: Sequence[EvaluatedScores], columns: Iterable[str]) -> None:
    """Raise ConfigurationError for catalog measures with different arguments or items."""
    for column in columns:
        found = [_with_arguments(column, one.measures) for one in evaluations]
        known = list(dict.fromkeys(found))
        if len(known) > 1:
            what = f"the evaluations have {known[0]} and {known[1]}"
            raise ConfigurationError(f"measures: {what}; evaluate both with the same arguments")
        _refuse_other_items(evaluations, column)


def _refuse_other_items(evaluations: Sequence[EvaluatedScores], column: str) -> None:
    """Raise ConfigurationError if a measure looked its items up in different tables."""
    fingerprints = set()
    for one in evaluations:
        if column in one.measures.of_items:
            fingerprints.add(one.items_fingerprint)
    if len(fingerprints) > 1:
        what = f"the evaluations look up {column} in different tables of items"
        raise ConfigurationError(f"measures: {what}; evaluate both with the same items")


def _with_arguments(column: str, measures: MeasureSet) -> str:
    """A column with the arguments of its measure that are not part of the convention."""
    if column not in MEASURES:
        return column
    own = {}
    for option, value in measures.options.items():
        if is_catalog_option(option):
            own[option] = value
    return column + arguments(column, own)

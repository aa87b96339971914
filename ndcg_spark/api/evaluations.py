"""The evaluations that are compared, and what they have in common.

An argument is one evaluation, or a dictionary of them such as ``{"new": scores, "old": others}``.
"""

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
    """The evaluations in an argument; empty if it has none."""
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
    if isinstance(given, EvaluatedScores):
        return getattr(given, part)
    return given


def common_measures(evaluations: Sequence[EvaluatedScores]) -> MeasureSet:
    """The measures that all evaluations have, in the order of the first evaluation.

    NDCG if there is no evaluation.
    """
    if not evaluations:
        return NDCG_ONLY
    first = evaluations[0].measures
    common = list(first.pairs)
    for one in evaluations:
        common = [pair for pair in common if pair in one.measures.pairs]
    return MeasureSet(tuple(common), options=first.options)


def shared_attributes(evaluations: Sequence[EvaluatedScores]) -> pa.Table | None:
    """The attributes of the queries, or None. ConfigurationError if evaluations have different
    ones.
    """
    different: dict[frozenset[str], pa.Table] = {}
    for one in evaluations:
        if one.attributes is not None:
            # The order of the rows does not matter.
            rows = frozenset(map(str, one.attributes.to_pylist()))
            different.setdefault(rows, one.attributes)
    if len(different) > 1:
        what = f"the evaluations have {len(different)} different tables"
        raise ConfigurationError(f"attributes: {what}; give one with attributes=")
    return next(iter(different.values()), None)


def refuse_other_conventions(
    ours: Sequence[EvaluatedScores], theirs: Sequence[EvaluatedScores]
) -> None:
    """Raise ConfigurationError if evaluations have different conventions, because their scores are
    not comparable.
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
    """The labels of the different conventions. Two presets may be the same convention."""
    labels: dict[Convention, str] = {}
    for one in evaluations:
        labels.setdefault(Convention.parse(one.convention), one.convention)
    return list(labels.values())


def refuse_other_arguments(evaluations: Sequence[EvaluatedScores], columns: Iterable[str]) -> None:
    """Raise ConfigurationError for catalog measures with different arguments or items."""
    for column in columns:
        written = [_with_arguments(column, one.measures) for one in evaluations]
        different = list(dict.fromkeys(written))
        if len(different) > 1:
            what = f"the evaluations have {different[0]} and {different[1]}"
            raise ConfigurationError(f"measures: {what}; evaluate both with the same arguments")
        _refuse_other_items(evaluations, column)


def _refuse_other_items(evaluations: Sequence[EvaluatedScores], column: str) -> None:
    """Raise ConfigurationError if evaluations computed a measure with different tables of items."""
    fingerprints = set()
    for one in evaluations:
        if column in one.measures.of_items:
            fingerprints.add(one.items_fingerprint)
    if len(fingerprints) > 1:
        what = f"the evaluations look up {column} in different tables of items"
        raise ConfigurationError(f"measures: {what}; evaluate both with the same items")


def _with_arguments(column: str, measures: MeasureSet) -> str:
    """A catalog measure with its arguments, which are not part of the convention."""
    if column not in MEASURES:
        return column
    catalog_options = {}
    for option, value in measures.options.items():
        if is_catalog_option(option):
            catalog_options[option] = value
    return column + arguments(column, catalog_options)

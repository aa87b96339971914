"""The row of QUERY_SCORES that a list must have, and how much an engine's numbers may differ."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark import catalog_reference, reference
from ndcg_spark.catalog_reference import Item
from ndcg_spark.convention.convention import Convention, counted_grade
from ndcg_spark.convention.measures import COLUMNS, Cutoff, MeasureSet
from ndcg_spark.item_table import ItemTable
from ndcg_spark.reference import Ranking
from ndcg_spark.spot_check.judgments_hash import judgments_hash
from ndcg_spark.tolerance import EQUAL, ROUNDING

_NO_ITEMS: Mapping[str, Item] = {}


class Expected(NamedTuple):
    """A value from plain Python, and how much an engine's value may differ from it."""

    value: Any
    allowed: float = 0.0


class Definition(NamedTuple):
    """What an evaluation computes."""

    convention: Convention
    cutoffs: Sequence[Cutoff]
    measures: MeasureSet
    #: The items that catalog measures look up, if any.
    items: ItemTable | None = None


def expected_row(
    ranking: Ranking,
    definition: Definition,
    cutoff: Cutoff,
    weights: Sequence[float],
    highest: float,
    items: Mapping[str, Item] = _NO_ITEMS,
) -> dict[str, Expected]:
    """The columns of the row of QUERY_SCORES at a cutoff, except those that cannot be compared.

    `weights` are the discounts, `highest` is the highest grade that RBP and ERR use, and `items`
    are the known returned items.
    """
    convention = definition.convention
    score = reference.score_at(ranking, convention, cutoff, weights=weights)
    gains = ranking.gains[:cutoff]
    # The error of a sum depends on the size of its terms, which may be negative.
    own_sizes = [abs(document.gain) for document in ranking.documents]
    sizes = reference.averaged(ranking.documents, own_sizes, convention)[:cutoff]
    _, ideal_terms = reference.discounted_gains(ranking, convention, cutoff, weights)
    dcg_size = math.fsum(size * weight for size, weight in zip(sizes, weights, strict=False))
    ideal_size = math.fsum(map(abs, ideal_terms))
    row = {
        "status": Expected(score.status),
        "returned": Expected(score.returned),
        "judged": Expected(score.judged),
        "judged_discount_share": Expected(score.judged_discount_share, allowed_error(1.0)),
        "dcg": Expected(score.dcg, allowed_error(dcg_size)),
        "ideal_dcg": Expected(score.ideal_dcg, allowed_error(ideal_size)),
        "cg": Expected(math.fsum(gains), allowed_error(math.fsum(sizes))),
        "ndcg": Expected(score.ndcg, allowed_error(_ratio(dcg_size, score.ideal_dcg))),
        **_measures(ranking, definition, cutoff, highest, items),
    }
    if ideal_size > 0 and abs(score.ideal_dcg) < ROUNDING * ideal_size:
        # Terms that cancel out sum to 0 in one order, and almost to 0 in another.
        del row["status"], row["ndcg"]
    return row


def expected_hash(ranking: Ranking) -> Expected:
    """The column judgments_hash of QUERY_SCORES."""
    return Expected(judgments_hash(ranking.grades))


def is_same(expected: Expected, actual: Any) -> bool:
    """Whether an engine's value is close enough to the value from plain Python."""
    value, allowed = expected
    if value is None or actual is None or not isinstance(value, float):
        return bool(value == actual)
    # NaN is not close to any value.
    return bool(value == actual or abs(value - actual) <= allowed)


def _catalog_measures(
    ranking: Ranking, definition: Definition, cutoff: Cutoff, items: Mapping[str, Item]
) -> dict[str, Expected]:
    """The requested catalog measures that have a value for each list."""
    wanted, table = definition.measures, definition.items
    if table is None:
        return {}
    requested = []
    for name in wanted.beside_ndcg:
        if name not in wanted.of_judgments and cutoff in wanted.cutoffs_for(name):
            requested.append(name)
    shown = [document.doc_id for document in ranking.documents]
    values = catalog_reference.list_measures(
        shown, items, table.usage, wanted.options, cutoff, requested
    )
    return {name: Expected(value, allowed_error(value or 0.0)) for name, value in values.items()}


def _measures(
    ranking: Ranking,
    definition: Definition,
    cutoff: Cutoff,
    highest: float,
    items: Mapping[str, Item],
) -> dict[str, Expected]:
    """The columns of all measures other than NDCG; null if they were not requested."""
    convention, wanted = definition.convention, definition.measures
    row = dict.fromkeys(COLUMNS, Expected(None))
    row |= _catalog_measures(ranking, definition, cutoff, items)
    requested = [name for name in wanted.of_judgments if cutoff in wanted.cutoffs_for(name)]
    if not requested:
        return row
    values = reference.measures(ranking, convention, cutoff, highest)
    relevant = len(reference.relevant_documents(ranking, convention))
    for name in requested:
        measure = wanted.beside_ndcg[name]
        for column in measure.values:
            value = reference.value_after_rules(
                ranking, convention, values[column], measure.is_ratio, relevant
            )
            row[column] = Expected(value, allowed_error(value or 0.0))
    return row


def highest_grade(grades: Iterable[float], convention: Convention) -> float:
    """The highest grade that RBP and ERR use for a query, recomputed to check the engine's.

    `grades` are those of the query before duplicates are merged. A configured grade replaces them.
    """
    if isinstance(convention.max_grade, float):
        return convention.max_grade
    return max((counted_grade(grade, convention) for grade in grades), default=0.0)


def allowed_error(size: float) -> float:
    """How far off a sum may be if `size` is the sum of the absolute values of its terms."""
    return max(EQUAL * abs(size), ROUNDING)


def _ratio(size: float, divisor: float) -> float:
    return size / abs(divisor) if divisor else 0.0

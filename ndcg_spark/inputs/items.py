"""Reads and validates the table of items, or counts items in a table of interactions."""

from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.config import ItemsConfig
from ndcg_spark.convention.catalog import catalog_option
from ndcg_spark.convention.measures import MeasureSet
from ndcg_spark.errors import ConfigurationError, InputError, about
from ndcg_spark.inputs.query_tables import column, read_query_table
from ndcg_spark.item_table import IN_CATALOG, ItemTable, in_order
from ndcg_spark.schemas import ITEMS
from ndcg_spark.text import UNNAMED
from ndcg_spark.voices import Advice, Do, Either, Give, NameColumns, name_column

_COUNTS = ("popularity", "interactions")


def read_items(config: ItemsConfig, measures: MeasureSet) -> ItemTable:
    """Return the items that a configuration names, with everything that the measures need.

    Raise InputError if a table breaks its contract, or if it lacks something that a measure needs.
    """
    rows = None
    interactions = None
    if config.path:
        rows = read_query_table(config, "items")
    if config.interactions is not None:
        interactions = read_query_table(config.interactions, "interactions")
    return make_items(rows, interactions, config.users, measures)


def make_items(
    rows: pa.Table | None,
    interactions: pa.Table | None,
    users: int | None,
    measures: MeasureSet,
) -> ItemTable:
    """Return the items of a table, of interactions, or of both.

    `users` is the number of users in the training data. At least one table must be given.
    """
    if interactions is not None and users is not None:
        what = "interactions also give the number of users; leave users out"
        raise ConfigurationError(f"items: {what}")
    items = None if rows is None else item_rows(rows)
    if interactions is not None:
        table = _with_interactions(items, interaction_rows(interactions))
    else:
        table = ItemTable.of(items, users)
    refuse_lacking(table, measures)
    return table


def item_rows(table: pa.Table) -> pa.Table:
    """Return the columns of ITEMS that a table has, in their types and sorted by item.

    Raise InputError for a bad row.
    """
    with about("items"):
        has = table.column_names
        if "doc_id" not in has:
            what = f"it has {', '.join(has)}; give doc_id"
            raise InputError(what, _name_columns(["doc_id"], has))
        fields = [field for field in ITEMS if field.name in has]
        rows = pa.table({field.name: column(table, field.name, field.type) for field in fields})
        _refuse_bad_ids(rows, ["doc_id"])
        rows = in_order(rows)
        _refuse_repeated(rows)
        for name in _COUNTS:
            if name in rows.column_names:
                _refuse_bad_counts(rows, name)
        return rows


def interaction_rows(table: pa.Table) -> pa.Table:
    """Return the users and items of interactions, as text. Raise InputError for a bad row."""
    with about("interactions"):
        has = table.column_names
        missing = [name for name in ("query_id", "doc_id") if name not in has]
        if missing:
            what = f"it has {', '.join(has)}; give a user and an item"
            raise InputError(what, _name_columns(missing, has))
        rows = pa.table({name: column(table, name, pa.string()) for name in ("query_id", "doc_id")})
        _refuse_bad_ids(rows, rows.column_names)
        if not len(rows):
            raise InputError("it has no rows; give the interactions of the training data")
        return rows


def _name_columns(missing: Sequence[str], has: Collection[str]) -> Advice:
    """Return the advice for missing columns."""
    # If a name is blank, the first line may be a title above the names.
    if not all(map(str.strip, has)):
        return Do(words=UNNAMED)
    return NameColumns(tuple(missing))


def counted_interactions(rows: pa.Table) -> ItemTable:
    """Return the items of interactions, each with its number of users and number of uses."""
    pairs = rows.group_by(["query_id", "doc_id"]).aggregate([([], "count_all")])
    counted = pairs.group_by("doc_id").aggregate([([], "count_all"), ("count_all", "sum")])
    columns = {
        "doc_id": counted["doc_id"],
        "popularity": counted["count_all"].cast(pa.float64()),
        "interactions": counted["count_all_sum"].cast(pa.float64()),
    }
    users = len(pc.unique(rows["query_id"]))
    return ItemTable.of(pa.table(columns), users)


def _with_interactions(rows: pa.Table | None, interactions: pa.Table) -> ItemTable:
    """Return the items of a table and all used items, with the counts of interactions.

    Without a table, the catalog consists of the used items.
    """
    counted = counted_interactions(interactions)
    if rows is None:
        return counted
    given = [name for name in _COUNTS if name in rows.column_names]
    if given:
        with about("items"):
            what = f"the table has {' and '.join(given)}, which the interactions also give"
            raise InputError(f"{what}; leave out one of the two")
    counts = counted.rows.select(["doc_id", *_COUNTS])
    listed = rows.append_column(IN_CATALOG, pa.repeat(True, len(rows)))
    joined = listed.join(counts, keys="doc_id", join_type="full outer")
    known = pc.fill_null(joined[IN_CATALOG], False)
    at = joined.column_names.index(IN_CATALOG)
    return ItemTable.of(joined.set_column(at, IN_CATALOG, known), counted.users)


def _refuse_bad_ids(rows: pa.Table, names: Collection[str]) -> None:
    """Raise InputError for an id that is null or empty."""
    for name in names:
        is_empty = pc.fill_null(pc.equal(rows[name], ""), True)
        count = pc.sum(is_empty).as_py()
        if count:
            raise InputError(f"{count:,} row(s) with an empty {name}; remove them")


def _refuse_repeated(rows: pa.Table) -> None:
    """Raise InputError for an item with several rows. The rows are sorted by item."""
    # Neighbours are compared, because counting distinct ids takes as long as everything else here.
    ids = rows["doc_id"].combine_chunks()
    is_again = pc.equal(ids[1:], ids[:-1])
    repeated = pc.sum(is_again).as_py()
    if repeated:
        first = ids[pc.index(is_again, True).as_py()]
        what = f"{repeated:,} row(s) repeat the item of another row, e.g. doc_id={first}"
        raise InputError(f"{what}; give each item one row")


def _refuse_bad_counts(rows: pa.Table, name: str) -> None:
    """Raise InputError for a count that is negative or not a number. A null count is unknown."""
    counts = rows[name]
    good = pc.and_(pc.is_finite(counts), pc.greater_equal(counts, 0))
    bad = rows.filter(pc.invert(pc.fill_null(good, True)))
    if len(bad):
        example = f"doc_id={bad['doc_id'][0]} has {bad[name][0]}"
        what = f"{len(bad):,} row(s) whose {name} is not a count, e.g. {example}"
        raise InputError(f"{what}; give numbers of 0 or more")


def refuse_lacking(table: ItemTable, measures: MeasureSet) -> None:
    """Raise InputError if a measure needs a column or a number that the table lacks."""
    with about("items"):
        if measures.of_items and not len(table.rows):
            raise InputError("it has no rows; give the catalog's items")
        for measure in measures.of_items:
            needed = _column_of(measure, measures)
            # A column that the table lacks consists of nulls.
            if needed is not None and table.rows[needed].null_count == len(table.rows):
                ways = name_column("items", needed), Give("interactions", "FILE", words="give")
                raise InputError(f"{measure} needs the column {needed}", Either(ways))
            if table.users is None and _needs_users(measure, measures):
                raise InputError(
                    f"{measure} needs the number of users in the training data",
                    Give("items_users", "N", words="give"),
                )
        _refuse_more_than_users(table)


def _column_of(measure: str, measures: MeasureSet) -> str | None:
    """Return the column that a measure needs in addition to doc_id, or None."""
    if measure == "categories":
        return "category"
    if measure not in ("novelty", "popularity"):
        return None
    counted = catalog_option(measures.options, f"{measure}_of")
    return "popularity" if counted == "users" else "interactions"


def _needs_users(measure: str, measures: MeasureSet) -> bool:
    """Whether a measure needs the number of all users."""
    options = measures.options
    if measure == "novelty":
        return catalog_option(options, "novelty_of") == "users"
    if measure != "popularity":
        return False
    counts_users = catalog_option(options, "popularity_of") == "users"
    return counts_users and catalog_option(options, "popularity_scale") == "share"


def _refuse_more_than_users(table: ItemTable) -> None:
    """Raise InputError if an item has more users than there are."""
    if table.users is None:
        return
    most = pc.max(table.rows["popularity"]).as_py() or 0.0
    if most > table.users:
        what = f"an item has a popularity of {most:,.12g}, more than the {table.users:,} users"
        raise InputError(f"{what}; popularity counts users, interactions counts uses")

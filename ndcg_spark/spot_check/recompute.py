"""Recompute some lists of an evaluation in plain Python, from the rows of its inputs.

An engine that loses a row, reads a null as a number or sorts in the wrong order changes scores
silently. This module shares nothing with the engine except the files.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark import reference
from ndcg_spark.catalog_reference import Item
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.stored_rows import StoredRow, StoredRows, Stretch
from ndcg_spark.reference import Ranking
from ndcg_spark.spot_check import plain_rows
from ndcg_spark.spot_check.candidates import LISTS, DrawnFromScores, chosen_pairs
from ndcg_spark.spot_check.expected import (
    Definition,
    Expected,
    expected_hash,
    expected_row,
    highest_grade,
    is_same,
)
from ndcg_spark.spot_check.judgments_hash import SEED, signed, xxhash64
from ndcg_spark.spot_check.means import Means, columns_of_means, rows_to_compare
from ndcg_spark.spot_check.plain_rows import Judged, Listed, Pair, id_text

#: This process does not read whole tables with more rows than this. Instead, the engine finds the
#: rows of the lists.
LARGE = 2_000_000
#: Lists are drawn from this many files of an input: from this many consecutive rows of each, this
#: many rows.
_FILES, _STRETCH, _DRAWN = 4, 20_000, 30
#: About how many queries are drawn from a table that only an engine can read.
_QUERIES_OF_BUCKET = 40
#: The most runs whose lists are recomputed, for large results and for results that only an engine
#: can read.
_FEW_RUNS, _SOME_RUNS = 2, 5
#: The most lists that are read of those drawn from the scores, and of those drawn from the inputs,
#: for small and for large results.
_MOST_DRAWN, _MOST_OF_LARGE = 2 * LISTS, 30
#: The most rows that all recomputed lists have together.
_MOST_ROWS = 200_000
#: The most judged documents whose hashes are compared.
_MOST_HASHED = 5_000


class Bucket(NamedTuple):
    """Some queries at random: those whose hash divided by `buckets` has the remainder `number`."""

    number: int
    buckets: int

    @classmethod
    def at_random(cls, chance: random.Random, buckets: int) -> "Bucket":
        return cls(chance.randrange(1 << 30) % buckets, buckets)


class InputTable(NamedTuple):
    """An input table, which the engine and, if possible, this process can read."""

    name: str
    table: DataFrame
    #: None if only the engine can read the table.
    stored: StoredRows | None
    is_large: bool = False
    #: Reads at least the rows of these runs, or all rows if no run is given, in a way that is fast
    #: if a filter keeps few rows.
    lookup: Callable[[Collection[str]], DataFrame] | None = None

    def rows_of(self, runs: Collection[str] = ()) -> DataFrame:
        """The rows of these runs, or all rows if no run is given."""
        rows = self.table if self.lookup is None else self.lookup(runs)
        if not runs:
            return rows
        return rows.where(F.col("run").cast("string").isin(*sorted(runs)))


class Subject(NamedTuple):
    """The subject of a spot check: an evaluation's inputs, and what it computes."""

    judgments: InputTable
    results: InputTable
    exclude: InputTable | None
    definition: Definition
    #: The runs with their datasets, which are None if the tables do not name datasets.
    runs: Sequence[tuple[str | None, str]]
    #: The dataset's name if the tables do not name datasets.
    dataset: str
    #: The seed that decides which lists are drawn.
    seed: str
    #: Lists that are always recomputed.
    required: Sequence[Pair] = ()
    #: About how many queries there are.
    queries: int = 0
    #: The bucket of the fetched query scores, if there are too many to fetch all.
    bucket: Bucket | None = None

    @property
    def has_datasets(self) -> bool:
        return any(dataset is not None for dataset, _ in self.runs)


class Difference(NamedTuple):
    """A value on which the engine and plain Python disagree."""

    dataset: str
    run: str
    query_id: str | None
    cutoff: Cutoff
    column: str
    engine: Any
    python: Any


class Inputs(NamedTuple):
    """The rows of the drawn lists, after the rules of the input contract."""

    judged: Judged
    listed: Listed


class Outcome(NamedTuple):
    """The recomputed lists and their rows, and the differences."""

    lists: Sequence[Pair]
    differences: Sequence[Difference]
    inputs: Inputs


def recompute(
    subject: Subject,
    scores: StoredRows,
    means: Means,
    dataset_rows: Iterable[Mapping[str, Any]] | None,
) -> Outcome:
    """Recompute some lists and all means.

    `scores` are the files of QUERY_SCORES. `dataset_rows` are the rows of DATASET_SCORES, or None
    if the files have only some of the query scores.
    """
    chance = random.Random(subject.seed)  # noqa: S311  # which lists are checked is no secret
    drawn = _draw(subject, scores, means, chance)
    bucket = subject.bucket
    if bucket is None:
        bucket = Bucket.at_random(chance, max(1, subject.queries // _QUERIES_OF_BUCKET))
    rows = _read_rows(subject, [*subject.required, *drawn.from_scores, *drawn.from_inputs], bucket)
    inputs = _inputs(subject, rows)
    lists = _lists_to_recompute(subject, drawn, inputs)
    differences = list(_lost_rows(subject.judgments, rows, drawn.judgments, subject))
    differences += _lost_rows(subject.results, rows, drawn.results, subject)
    differences += _differing_lists(subject, lists, inputs, _actual_rows(scores, lists, subject))
    if dataset_rows is not None:
        differences += _differing_means(dataset_rows, means)
    return Outcome(lists, differences, inputs)


class _DrawnLists(NamedTuple):
    """The lists that were drawn at random, and the parts of the inputs that were looked at."""

    from_scores: list[Pair]
    from_inputs: list[Pair]
    judgments: list[Stretch]
    results: list[Stretch]


def _draw(subject: Subject, scores: StoredRows, means: Means, chance: random.Random) -> _DrawnLists:
    """Draw lists from the query scores and from the inputs. Adds all scores to the means."""
    from_scores = _drawn_from_scores(scores, means, subject, chance)
    judgments = _stretches(subject.judgments, chance)
    results = _stretches(subject.results, chance)
    from_inputs = _drawn_from_inputs(subject, judgments, results, chance)
    if subject.bucket is not None:
        from_inputs = [pair for pair in from_inputs if is_in_bucket(pair.query_id, subject.bucket)]
    runs = _runs_to_check(subject, [*from_inputs, *from_scores])
    most = _MOST_OF_LARGE if subject.results.is_large else _MOST_DRAWN
    from_scores = [pair for pair in from_scores if pair.run in runs]
    from_inputs = [pair for pair in from_inputs if pair.run in runs]
    return _DrawnLists(from_scores[:most], from_inputs[:most], judgments, results)


def _lists_to_recompute(subject: Subject, drawn: _DrawnLists, inputs: Inputs) -> list[Pair]:
    """Which lists to recompute: of those that are required or drawn, or that the engine found."""
    from_inputs = list(drawn.from_inputs)
    if subject.results.stored is None:
        # The engine has also found lists of the bucket's queries that were not drawn.
        known = {*subject.required, *drawn.from_scores, *drawn.from_inputs}
        from_inputs += [pair for pair in inputs.listed if pair not in known]
    judged = [pair for pair in from_inputs if pair.query in inputs.judged]
    required = [pair for pair in subject.required if _has_scores(pair, subject, inputs)]
    cutoffs = subject.definition.cutoffs
    lists = chosen_pairs(required, drawn.from_scores, judged, inputs.listed, cutoffs)
    return _within_budget(lists, inputs)


def _runs_to_check(subject: Subject, drawn: Sequence[Pair]) -> set[str]:
    """The runs whose lists are recomputed: all drawn runs, or those with the most drawn lists."""
    counts = Counter(pair.run for pair in drawn)
    # None stands for all runs.
    most = None
    if subject.results.is_large:
        most = _FEW_RUNS
    elif subject.results.stored is None:
        most = _SOME_RUNS
    return {run for run, _ in counts.most_common(most)}


def _has_scores(pair: Pair, subject: Subject, inputs: Inputs) -> bool:
    """Whether an evaluation has scores of a list, because its run and its query are known."""
    return (pair.dataset, pair.run) in subject.runs and pair.query in inputs.judged


def _drawn_from_scores(
    scores: StoredRows, means: Means, subject: Subject, chance: random.Random
) -> list[Pair]:
    """Draw lists from the files of query scores, and add the rows of the files to the means."""
    deepest = subject.definition.cutoffs[-1]
    drawn = DrawnFromScores(subject.has_datasets, chance)
    for table in scores.tables(columns_of_means(subject.definition.measures)):
        means.add(table)
        drawn.add(_at_cutoff(table, deepest))
    return drawn.pairs[:_MOST_DRAWN]


def _at_cutoff(table: pa.Table, cutoff: Cutoff) -> pa.Table:
    column = table["cutoff"]
    return table.filter(pc.is_null(column) if cutoff is None else pc.equal(column, cutoff))


def _stretches(table: InputTable, chance: random.Random) -> list[Stretch]:
    """Some consecutive rows of some files, if this process can read them."""
    return [] if table.stored is None else table.stored.stretches(chance, _FILES, _STRETCH)


def _drawn_from_inputs(
    subject: Subject,
    of_judgments: Iterable[Stretch],
    of_results: Iterable[Stretch],
    chance: random.Random,
) -> list[Pair]:
    """Draw lists that have a row in the results, and judged queries with a random run."""
    drawn = []
    known_runs = set(subject.runs)
    for row in _rows_at_random(of_results, chance):
        dataset = _dataset_of(row, subject)
        run = id_text(row.get("run"))
        query_id = id_text(row.get("query_id"))
        if run and query_id and (dataset, run) in known_runs:
            drawn.append(Pair(dataset, run, query_id))
    for row in _rows_at_random(of_judgments, chance):
        dataset = _dataset_of(row, subject)
        query_id = id_text(row.get("query_id"))
        runs = [run for its_dataset, run in subject.runs if its_dataset == dataset]
        if runs and query_id:
            drawn.append(Pair(dataset, chance.choice(runs), query_id))
    chance.shuffle(drawn)
    return drawn


def _rows_at_random(stretches: Iterable[Stretch], chance: random.Random) -> Iterator[StoredRow]:
    for stretch in stretches:
        yield from stretch.drawn(chance, _DRAWN)


def _dataset_of(row: StoredRow, subject: Subject) -> str | None:
    return id_text(row.get("dataset")) if subject.has_datasets else None


class DrawnRows(NamedTuple):
    """The rows of the drawn queries, as they are stored."""

    judgments: Sequence[StoredRow]
    results: Sequence[StoredRow]
    exclude: Sequence[StoredRow]
    #: The queries and the runs whose rows were read.
    queries: Collection[str]
    runs: Collection[str]


def _read_rows(subject: Subject, drawn: Sequence[Pair], bucket: Bucket) -> DrawnRows:
    """The rows of all drawn lists and, if only an engine can read the judgments, of the bucket's
    queries.
    """
    queries = {pair.query_id for pair in drawn}
    runs = {pair.run for pair in drawn}
    judgments = _rows(subject.judgments, queries, bucket)
    if subject.judgments.stored is None:
        # These include queries that were not drawn from the scores, because the scores may lack
        # their lists.
        for row in judgments:
            query = id_text(row.get("query_id"))
            if query:
                queries.add(query)
    if subject.results.stored is None or subject.results.is_large:
        results = _engine_rows(subject.results.rows_of(runs), _are_among(queries))
    else:
        results = subject.results.stored.of_lists((pair.run, pair.query_id) for pair in drawn)
    exclude = [] if subject.exclude is None else _rows(subject.exclude, queries)
    return DrawnRows(judgments, results, exclude, queries, runs)


def _rows(
    table: InputTable, queries: Collection[str], bucket: Bucket | None = None
) -> list[StoredRow]:
    """The rows of these queries, read by this process or found by the engine, with a simple filter.

    If only the engine can read the table, also the rows of the bucket's queries.
    """
    if table.stored is not None and not table.is_large:
        return table.stored.of_queries(queries)
    is_wanted = _are_among(queries)
    if bucket is not None and table.stored is None:
        is_wanted = is_wanted | _is_hashed_to(bucket)
    return _engine_rows(table.rows_of(), is_wanted)


def _are_among(queries: Collection[str]) -> Column:
    return F.col("query_id").cast("string").isin(*sorted(queries)) if queries else F.lit(False)


def _engine_rows(table: DataFrame, is_wanted: Column) -> list[StoredRow]:
    rows: list[StoredRow] = table.where(is_wanted).toArrow().to_pylist()
    return rows


def _inputs(subject: Subject, rows: DrawnRows) -> Inputs:
    """The rows after the rules of the input contract."""
    convention = subject.definition.convention
    datasets = {dataset for dataset, _ in subject.runs}
    excluded = plain_rows.excluded_documents(rows.exclude, datasets)
    judged = plain_rows.judged_documents(rows.judgments, convention)
    return Inputs(judged, plain_rows.returned_documents(rows.results, excluded, convention))


def make_bucket(seed: str, rows: int) -> Bucket:
    """A random bucket of queries with about 100,000 of these rows."""
    chance = random.Random(seed)  # noqa: S311  # which queries are checked is no secret
    return Bucket.at_random(chance, max(1, rows // 100_000))


def in_bucket(scores: DataFrame, bucket: Bucket) -> DataFrame:
    """The rows of a bucket's queries."""
    return scores.where(_is_hashed_to(bucket))


def is_in_bucket(query_id: str, bucket: Bucket) -> bool:
    """Whether a query is in a bucket, by the same hash as in Spark."""
    return signed(xxhash64(query_id.encode(), SEED)) % bucket.buckets == bucket.number


def _is_hashed_to(bucket: Bucket) -> Column:
    hashed = F.xxhash64(F.col("query_id").cast("string"))
    return F.pmod(hashed, F.lit(bucket.buckets)) == bucket.number


#: The columns of an input row that are not ids.
_VALUES = ("relevance", "score", "rank")


def _lost_rows(
    table: InputTable, rows: DrawnRows, stretches: Iterable[Stretch], subject: Subject
) -> Iterator[Difference]:
    """The rows of a large table that this process finds in the files, but the engine does not."""
    if not table.is_large:
        # This process read all rows itself, or cannot read any.
        return
    is_results = table is subject.results
    engine_rows = rows.results if is_results else rows.judgments
    found_by_engine = set(map(plain_rows.same_values, engine_rows))
    for stretch in stretches:
        for row in stretch.of_queries(rows.queries):
            run = id_text(row.get("run"))
            document = id_text(row.get("doc_id"))
            if document is None:
                # The list is empty or broken.
                continue
            if is_results and run not in rows.runs:
                # The engine did not look for this run.
                continue
            if plain_rows.same_values(row) not in found_by_engine:
                values = {name: row.get(name) for name in _VALUES}
                yield Difference(
                    dataset=id_text(row.get("dataset")) or subject.dataset,
                    run=run or "",
                    query_id=id_text(row.get("query_id")),
                    cutoff=None,
                    column=f"a row of {table.name} for document {document}",
                    engine=None,
                    python=values,
                )


def _within_budget(lists: Iterable[Pair], inputs: Inputs) -> list[Pair]:
    """The first lists, as many as can be scored quickly, but at least one."""
    kept: list[Pair] = []
    rows = 0
    for pair in lists:
        rows += len(inputs.listed.get(pair, ())) + len(inputs.judged.get(pair.query, ()))
        if kept and rows > _MOST_ROWS:
            break
        kept.append(pair)
    return kept


def _actual_rows(
    scores: StoredRows, lists: Iterable[Pair], subject: Subject
) -> dict[tuple[Pair, Cutoff], StoredRow]:
    """The rows of QUERY_SCORES for these lists, by list and cutoff."""
    wanted = set(lists)
    actual = {}
    for row in scores.of_queries({pair.query_id for pair in wanted}):
        dataset = row["dataset"] if subject.has_datasets else None
        pair = Pair(dataset, row["run"], row["query_id"])
        if pair in wanted:
            actual[pair, row["cutoff"]] = row
    return actual


def _differing_lists(
    subject: Subject,
    lists: Iterable[Pair],
    inputs: Inputs,
    actual: Mapping[tuple[Pair, Cutoff], StoredRow],
) -> Iterator[Difference]:
    """The differences between the scores of these lists and those from plain Python."""
    definition = subject.definition
    rankings = {}
    for pair in lists:
        ranking = _ranking(pair, inputs, definition)
        if ranking is None:
            place = _place(pair, subject)
            yield Difference(*place, None, "a document twice", "scored", "refused")
        else:
            rankings[pair] = ranking
    weights = _weights(rankings.values(), definition)
    items = _items(rankings.values(), definition)
    hashes = _first_hashes(rankings)
    for pair, ranking in rankings.items():
        grades = [grade for _, grade in inputs.judged.get(pair.query, ())]
        highest = highest_grade(grades, definition.convention)
        for cutoff in definition.cutoffs:
            place = _place(pair, subject)
            try:
                expected = expected_row(ranking, definition, cutoff, weights, highest, items)
            except InputError:
                yield Difference(*place, cutoff, "the query", "scored", "refused")
                continue
            if pair in hashes:
                expected["judgments_hash"] = hashes[pair]
            row = actual.get((pair, cutoff))
            for column, engine, python in _differing_columns(row, expected):
                yield Difference(*place, cutoff, column, engine, python)


def _place(pair: Pair, subject: Subject) -> tuple[str, str, str]:
    """The first fields of a Difference: the dataset, the run and the query_id."""
    return (pair.dataset or subject.dataset, pair.run, pair.query_id)


def _first_hashes(rankings: Mapping[Pair, Ranking]) -> dict[Pair, Expected]:
    """The judgments_hash of the first lists only, because hashing takes the most time."""
    hashes = {}
    documents = 0
    for pair, ranking in rankings.items():
        documents += len(ranking.grades)
        if documents > _MOST_HASHED:
            break
        hashes[pair] = expected_hash(ranking)
    return hashes


def _ranking(pair: Pair, inputs: Inputs, definition: Definition) -> Ranking | None:
    """The list, ranked in plain Python; None if it should have been refused."""
    depth = definition.cutoffs[-1]
    try:
        return reference.rank_documents(
            pair.query_id,
            inputs.judged.get(pair.query, ()),
            inputs.listed.get(pair, ()),
            definition.convention,
            depth,
        )
    except InputError:
        return None


def _items(rankings: Iterable[Ranking], definition: Definition) -> dict[str, Item]:
    """The known items of these lists."""
    if definition.items is None:
        return {}
    shown: set[str] = set()
    for ranking in rankings:
        shown.update(document.doc_id for document in ranking.documents)
    return definition.items.items(shown)


def _weights(rankings: Iterable[Ranking], definition: Definition) -> list[float]:
    """The discounts of all ranks of these lists and of their ideal rankings."""
    longest = 0
    for ranking in rankings:
        longest = max(longest, len(ranking.documents), len(ranking.judged))
    deepest = definition.cutoffs[-1]
    depth = longest if deepest is None else min(deepest, longest)
    return reference.discounts(depth, definition.convention.discount) if depth else []


def _differing_columns(
    row: Mapping[str, Any] | None, expected: Mapping[str, Expected]
) -> Iterator[tuple[str, Any, Any]]:
    """Each column that differs, with the value of the engine and the value of plain Python."""
    if row is None:
        yield "the row", None, {name: entry.value for name, entry in expected.items()}
        return
    for column, entry in expected.items():
        if not is_same(entry, row[column]):
            yield column, row[column], entry.value


def _differing_means(rows: Iterable[Mapping[str, Any]], means: Means) -> Iterator[Difference]:
    """The differences between rows of DATASET_SCORES and the recomputed means."""
    for key, row, expected in rows_to_compare(rows, means):
        for column, engine, python in _differing_columns(row, expected):
            name = f"the mean {column}"
            if key.attribute is not None:
                name += f" of {key.attribute}={key.value}"
            yield Difference(key.dataset, key.run, None, key.cutoff, name, engine, python)

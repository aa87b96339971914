"""What a random evaluation (`road_cases`) must publish, in plain Python from the rows as made.

The input contract is modelled from its guide: what a value means, which rule rejects a row, who is
judged, missing or left out. Scores are those of `ndcg_spark.reference`. Lists are ordered and
summed here once more: tolerances need the absolute terms, and the measures beside NDCG the order.
"""

import collections
import dataclasses
import itertools
import math
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reference_measures import measures as measures_of
from road_cases import Case, Row, Table

from ndcg_spark import Convention, reference
from ndcg_spark.convention.convention import counted_grade
from ndcg_spark.convention.measures import COLUMNS, MEASURES
from ndcg_spark.errors import InputError

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BLANKS = " \t\r\n\f"
_RATIOS = ("recall", "recall_cap", "ap", "bpref", "rprec")
#: A dataset, None if the tables name none, and a query.
Query = tuple[str | None, str]


def number(value: Any) -> float | None:
    """The nearest double; None for what is not finite, and for text that is no plain number."""
    if isinstance(value, str):
        text = value.strip(_BLANKS)
        value = float(text) if _NUMBER.fullmatch(text) else None
    if value is None:
        return None
    double = float(value)
    return double + 0.0 if math.isfinite(double) else None


def rank_of(value: Any) -> int | None:
    """What a rank means: a whole number of 32 bits, else None."""
    double = number(value)
    is_rank = double is not None and double == math.floor(double) and abs(double) < 2**31
    return int(double) if is_rank and double is not None else None


def convention_of(case: Case) -> Convention:
    """The convention that is used: results without scores are ranked by their ranks."""
    convention = case.convention
    if not convention.needs_score or "score" in case.results.columns:
        return convention
    ties = {"ties": "doc_id_desc"} if convention.ties == "rank" else {}
    return convention.replace(order="rank", score_precision="float64", **ties)


def _without_names(row: Row, names: Iterable[str]) -> str | None:
    return next((f"no_{name}" for name in names if name in row and row[name] in (None, "")), None)


def judgment_reason(row: Row, convention: Convention) -> str | None:
    """The rule that rejects a judgment; None for a good one."""
    if nameless := _without_names(row, ("dataset", "query_id", "doc_id")):
        return nameless
    grade = number(row["relevance"])
    if grade is None:
        return "relevance_is_no_number"
    if grade < 0 and convention.negative == "error":
        return "relevance_negative"
    gain = reference.gain(grade, convention)
    if (grade >= 0 or convention.negative == "keep") and (gain is None or abs(gain) > 1e300):
        return "relevance_without_gain"
    most = convention.max_grade
    if isinstance(most, float) and convention.min_relevance == "none" and grade > most:
        return "relevance_above_max_grade"
    return None


def result_reason(row: Row, convention: Convention) -> str | None:
    if nameless := _without_names(row, ("dataset", "run", "query_id", "doc_id")):
        return nameless
    if convention.needs_score and number(row.get("score")) is None:
        return "score_is_no_number"
    if convention.needs_rank and (rank_of(row.get("rank")) or 0) < 1:
        return "rank_is_no_rank"
    if not convention.needs_rank and _is_odd_rank(row.get("rank")):
        return "rank_is_no_number"
    return None


def _is_odd_rank(value: Any) -> bool:
    """Whether a rank is given and is no whole number."""
    is_given = value is not None and str(value).strip(" \t\r\n\f") != ""
    return is_given and rank_of(value) is None


@dataclasses.dataclass
class Inputs:
    """The good rows, by query and by list, and the counts of all others."""

    convention: Convention
    judged: dict[Query, list[tuple[str, float]]]
    lists: dict[tuple[str, Query], list[tuple[str, float | None, int | None]]]
    #: By dataset, its runs.
    runs: dict[str | None, list[str]]
    rejected: collections.Counter[tuple[str, str]]
    counts: dict[str, int]
    highest: float

    @property
    def refusal(self) -> str | None:
        """Why the input as a whole is refused."""
        if not self.judged or not self.lists:
            return "no good row"
        is_known = any(query in self.judged for _, query in self.lists)
        return None if is_known else "no judged query answered"


def read_inputs(case: Case) -> Inputs:
    convention = convention_of(case)
    rejected: collections.Counter[tuple[str, str]] = collections.Counter()
    judged: dict[Query, list[tuple[str, float]]] = {}
    lists: dict[tuple[str, Query], list[tuple[str, float | None, int | None]]] = {}
    for table in ("judgments", "results"):
        rejected[table, "broken_line"] += len(getattr(case, table).broken)
    for row in case.judgments.rows:
        if reason := judgment_reason(row, convention):
            rejected["judgments", reason] += 1
            continue
        grade = number(row["relevance"]) or 0.0
        judged.setdefault((row.get("dataset"), row["query_id"]), []).append((row["doc_id"], grade))
    excluded, removed = _excluded(case.exclude), 0
    for row in case.results.rows:
        if reason := result_reason(row, convention):
            rejected["results", reason] += 1
        elif excluded & {
            (row.get("dataset"), row["query_id"], row["doc_id"]),
            (row["query_id"], row["doc_id"]),
        }:
            removed += 1
        else:
            key = row["run"], (row.get("dataset"), row["query_id"])
            numbers = number(row.get("score")), rank_of(row.get("rank"))
            lists.setdefault(key, []).append((row["doc_id"], *numbers))
    grades = [grade for rows in judged.values() for _, grade in rows]
    best = counted_grade(max(grades, default=0.0), convention)
    highest = best if best > 0 else 1.0
    runs = _runs(case, judged, lists)
    counts = {"excluded_results": removed, **_counts(case, judged, lists, runs, rejected)}
    return Inputs(convention, judged, lists, runs, +rejected, counts, highest)


def _excluded(table: Table | None) -> set[tuple[str | None, ...]]:
    return {tuple(row[name] for name in table.columns) for row in table.rows} if table else set()


def _runs(
    case: Case, judged: Mapping[Query, Any], lists: Mapping[tuple[str, Query], Any]
) -> dict[str | None, list[str]]:
    """The runs of a dataset: those with a good row, or with any if it is judged, and empty ones."""
    datasets = {dataset for dataset, _ in judged}
    runs: dict[str | None, set[str]] = {}
    for run, (dataset, _) in lists:
        runs.setdefault(dataset, set()).add(run)
    for row in case.results.rows:
        dataset = row.get("dataset")
        if row["run"] and (dataset or "dataset" not in row) and dataset in datasets:
            runs.setdefault(dataset, set()).add(row["run"])
    for dataset in runs:
        runs[dataset] |= {*case.results.empty_runs}
    return {dataset: sorted(names) for dataset, names in runs.items()}


def _counts(
    case: Case,
    judged: Mapping[Query, Any],
    lists: Mapping[tuple[str, Query], Sequence[Any]],
    runs: Mapping[str | None, Sequence[str]],
    rejected: collections.Counter[tuple[str, str]],
) -> dict[str, int]:
    queries = collections.Counter(dataset for dataset, _ in judged)
    unjudged = {key: rows for key, rows in lists.items() if key[1] not in judged}
    pairs = sum(queries[dataset] * len(names) for dataset, names in runs.items())
    number_of_runs = sum(map(len, runs.values()))
    by_table = collections.Counter[str]()
    for (table, _), count in rejected.items():
        by_table[table] += count
    return {
        "judgments": len(case.judgments.rows) + len(case.judgments.broken),
        "judged_queries": len(judged),
        "results": len(case.results.rows) + len(case.results.broken),
        "runs": number_of_runs,
        "unjudged_queries": len(unjudged),
        "results_of_unjudged_queries": sum(map(len, unjudged.values())),
        "missing_queries": pairs - (len(lists) - len(unjudged)),
        "datasets_without_results": len({*queries} - {*runs} - {None}),
        "rejected_judgments": by_table["judgments"],
        "rejected_results": by_table["results"],
        "query_scores": pairs * len(case.all_cutoffs),
        "dataset_scores": number_of_runs * len(case.all_cutoffs),
    }


@dataclasses.dataclass(frozen=True)
class Item:
    """A document of a list that is scored: what it is ordered by, its gain, its grade if any."""

    doc_id: str
    key: float
    gain: float
    grade: float | None
    score: float | None


def merged(rows: Iterable[tuple[str, float]], convention: Convention) -> dict[str, float]:
    """The grade of each document of a query."""
    grades: dict[str, list[float]] = {}
    for document, grade in rows:
        grades.setdefault(document, []).append(grade)
    rule = convention.judgment_duplicates
    return {document: reference.merged_grade(given, rule) for document, given in grades.items()}


def at_precision(score: float, convention: Convention) -> float:
    if convention.score_precision != "float32":
        return score
    try:
        nearest: float = struct.unpack("f", struct.pack("f", score))[0]
    except OverflowError:
        return math.copysign(math.inf, score)
    return nearest + 0.0


def ranked(
    query: str,
    grades: Mapping[str, float],
    rows: Iterable[tuple[str, float | None, int | None]],
    convention: Convention,
) -> list[Item]:
    """The list that is scored, in its order; averaged ties are in the order of larger ids."""
    items: list[tuple[tuple[Any, ...], Item]] = []
    for document, score, rank in rows:
        given = grades.get(document)
        gain = None if given is None else reference.gain(given, convention)
        is_gone = (convention.unjudged == "drop" and gain is None) or (
            convention.negative == "drop" and (given or 0.0) < 0
        )
        if is_gone or (convention.exclude_query_as_document and document == query):
            continue
        by_rank = convention.order == "rank"
        key = float(rank or 0) if by_rank else -at_precision(score or 0.0, convention)
        worth = reference.unjudged_gain(convention) if gain is None else gain
        item = Item(document, key, worth, given, score)
        items.append((_place(item, rank, convention), item))
    seen: dict[str, Item] = {}
    for _, item in sorted(items, key=lambda pair: pair[0]):
        seen.setdefault(item.doc_id, item)
    return [*seen.values()]


def _descending(text: str) -> tuple[int, ...]:
    """A sort key by falling bytes of UTF-8; what a text begins with comes after it."""
    return (*(-byte for byte in text.encode()), 1)


def _place(item: Item, rank: int | None, convention: Convention) -> tuple[Any, ...]:
    ties, document = convention.ties, item.doc_id
    falling = _descending(document)
    if ties == "doc_id_asc":
        return item.key, document.encode()
    if ties == "rank":
        return item.key, rank or 0, falling
    if ties in ("worst", "best"):
        return item.key, item.gain if ties == "worst" else -item.gain, falling
    if ties.startswith("doc_id_num"):
        is_number = document.isascii() and document.isdecimal()
        value = int(document) if is_number else 0
        is_rising = ties.endswith("asc")
        return (
            item.key,
            not is_number,
            value if is_rising else -value,
            document.encode() if is_rising else falling,
        )
    return item.key, falling


def averaged(items: Sequence[Item], values: Sequence[float], convention: Convention) -> list[float]:
    """The values, or with averaged ties the means of their tie groups."""
    if convention.ties != "average":
        return [*values]
    means: list[float] = []
    pairs = zip(items, values, strict=True)
    for _, group in itertools.groupby(pairs, key=lambda pair: pair[0].key):
        of_group = [value for _, value in group]
        means += [math.fsum(of_group) / len(of_group)] * len(of_group)
    return means


@dataclasses.dataclass(frozen=True)
class Sums:
    """The sums of a list at a cutoff, each with that of its absolute terms."""

    dcg: tuple[float, float]
    cg: tuple[float, float]
    ideal_dcg: tuple[float, float]


def sums_of(
    items: Sequence[Item],
    judged_gains: Mapping[str, float],
    convention: Convention,
    cutoff: int | None,
) -> Sums:
    own = averaged(items, [item.gain for item in items], convention)
    absolute = averaged(items, [abs(item.gain) for item in items], convention)
    counting = judged_gains
    if convention.ideal == "retrieved":
        counting = {item.doc_id: item.gain for item in items}
    if convention.ideal == "retrieved_at_k":
        counting = {item.doc_id: item.gain for item in items[:cutoff]}
    ideal = [gain for _, gain in reference.ideal_ranking(counting, convention, cutoff, len(items))]
    depth = max(len(items), len(ideal), 1)
    weights = reference.discounts(depth, convention.discount)
    return Sums(
        (_sum(own[:cutoff], weights), _sum(absolute[:cutoff], weights)),
        (math.fsum(own[:cutoff]), math.fsum(absolute[:cutoff])),
        (_sum(ideal, weights), _sum(map(abs, ideal), weights)),
    )


def _sum(values: Iterable[float], weights: Sequence[float]) -> float:
    return math.fsum(value * weight for value, weight in zip(values, weights, strict=False))


@dataclasses.dataclass(frozen=True)
class Expected:
    """A row of QUERY_SCORES: its values, and by column how far each may be off."""

    values: dict[str, Any]
    tolerance: dict[str, float]


class RefusedError(Exception):
    """The evaluation is refused."""


@dataclasses.dataclass
class ExpectedList:
    """All that is expected of a run and a judged query."""

    items: list[Item]
    gains: dict[str, float]
    rows: dict[int | None, Expected]


def expected_list(case: Case, inputs: Inputs, run: str, query: Query) -> ExpectedList:
    convention = inputs.convention
    grades = merged(inputs.judged[query], convention)
    gains = {document: reference.gain(grade, convention) for document, grade in grades.items()}
    known = {document: gain for document, gain in gains.items() if gain is not None}
    rows = inputs.lists.get((run, query), [])
    items = ranked(query[1], grades, rows, convention)
    expected = {}
    for cutoff in case.all_cutoffs:
        sums = sums_of(items, known, convention, cutoff)
        values = _scores(query[1], inputs.judged[query], rows, convention, cutoff)
        values["cg"] = sums.cg[0]
        tolerance = _tolerances(sums, values)
        own = {name: grades[name] for name in known}
        highest = _highest(inputs, query)
        measured = _measures(case, inputs, cutoff, items, own, bool(rows), highest)
        expected[cutoff] = Expected({**values, **measured}, tolerance)
    return ExpectedList(items, known, expected)


def _scores(
    query: str,
    judged: Any,
    rows: Any,
    convention: Convention,
    cutoff: int | None,
) -> dict[str, Any]:
    try:
        return dataclasses.asdict(reference.score(query, judged, rows, convention, cutoff))
    except InputError as error:
        raise RefusedError(str(error)) from error


def _tolerances(sums: Sums, values: dict[str, Any]) -> dict[str, float]:
    """How far each sum may be off; infinite for a quotient whose denominator is rounding alone."""
    dcg, ideal = sums.dcg[1], sums.ideal_dcg[1]
    tolerance = {"dcg": 1e-9 * dcg, "cg": 1e-9 * sums.cg[1], "ideal_dcg": 1e-9 * ideal}
    tolerance = {name: max(value, 1e-12) for name, value in tolerance.items()}
    denominator = abs(values["ideal_dcg"])
    is_rounding = ideal > 0 and denominator < 1e-12 * ideal
    ratio = 1e-9 * dcg / denominator if denominator else 0.0
    tolerance["ndcg"] = math.inf if is_rounding else max(ratio, 1e-12)
    return tolerance


def _measures(
    case: Case,
    inputs: Inputs,
    cutoff: int | None,
    items: list[Item],
    grades: Mapping[str, float],
    answered: bool,
    highest: float,
) -> dict[str, float | None]:
    """Every measure beside NDCG that is asked for at a cutoff; None for all others."""
    names = {name for name, cutoffs in case.measures.values() if cutoff in cutoffs} - {"ndcg"}
    nothing: dict[str, float | None] = dict.fromkeys(COLUMNS)
    columns = [column for name in names for column in MEASURES[name].values]
    if not columns:
        return nothing
    c = inputs.convention
    counted = {document: counted_grade(grade, c) for document, grade in grades.items()}
    least = -math.inf if c.relevant_from == "judged" else float(c.relevant_from)
    without = not any(grade >= least for grade in counted.values())
    if (not answered and c.missing_query == "error") or (without and c.no_relevant == "error"):
        raise RefusedError("a query without results or relevant documents")
    values = _computed(inputs, counted, items, cutoff, least, highest)
    if not answered:
        values = dict.fromkeys(values, 0.0)
    if without:
        ratio = {"zero": 0.0, "one": 1.0}.get(c.no_relevant)
        values |= dict.fromkeys(_RATIOS, ratio)
    if (not answered and c.missing_query == "skip") or (without and c.no_relevant == "skip"):
        return nothing
    return nothing | {column: values[column] for column in columns}


def _highest(inputs: Inputs, query: Query) -> float:
    """The highest grade that RBP and ERR use: of a query, before its duplicates are merged."""
    c = inputs.convention
    if c.max_grade == "highest_of_query":
        given = [counted_grade(grade, c) for _, grade in inputs.judged[query]]
        return max([*given, 0.0]) or 1.0
    return float(inputs.highest if c.max_grade == "highest" else c.max_grade)


def _computed(
    inputs: Inputs,
    counted: Mapping[str, float],
    items: list[Item],
    cutoff: int | None,
    least: float,
    highest: float,
) -> dict[str, float]:
    c = inputs.convention
    if c.ties == "average":
        return _averaged_measures(counted, items, cutoff, least, highest, c)
    listed = [item.doc_id for item in items]
    rules: dict[str, Any] = {
        "highest": highest,
        "relevant_from": least,
        "persistence": c.rbp_persistence,
    }
    return {"bpref": 0.0, "rprec": 0.0, **measures_of(counted, listed, cutoff, **rules)}


def _averaged_measures(
    counted: Mapping[str, float],
    items: list[Item],
    cutoff: int | None,
    least: float,
    most: float,
    c: Convention,
) -> dict[str, float]:
    """The expectations over all orderings of equal scores, of measures that are sums over ranks."""
    grades = [counted.get(item.doc_id) for item in items]
    flags = {
        "relevant": [float(grade is not None and grade >= least) for grade in grades],
        "known": [float(grade is not None) for grade in grades],
        "unjudged": [float(grade is None) for grade in grades],
        "worth": [max(grade or 0.0, 0.0) / most for grade in grades],
    }
    means = {name: averaged(items, values, c)[:cutoff] for name, values in flags.items()}
    depth = cutoff or max(len(items), 1)
    p = c.rbp_persistence
    weights = [(1 - p) * p**at for at in range(len(items))]
    relevant = sum(grade >= least for grade in counted.values())
    unknown = _sum(means["unjudged"], weights)
    return {
        "precision": math.fsum(means["relevant"]) / depth,
        "recall": math.fsum(means["relevant"]) / relevant if relevant else 0.0,
        "recall_cap": math.fsum(means["relevant"]) / max(min(relevant, cutoff or relevant), 1),
        "rbp": _sum(means["worth"], weights),
        "rbp_residual": unknown + (p ** len(items) if cutoff is None and unknown else 0.0),
        "judged_share": math.fsum(means["known"]) / depth,
    }

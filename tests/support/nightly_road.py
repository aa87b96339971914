"""The road of a night, from files to published scores, walked by a random evaluation."""

import collections
import json
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from commands import command_line
from pyarrow import dataset
from road_cases import Case, make_case
from road_files import write_case
from road_oracle import (
    Expected,
    ExpectedList,
    Inputs,
    Query,
    RefusedError,
    expected_list,
    merged,
    read_inputs,
)

from ndcg_spark.convention.measures import COLUMNS

Row = dict[str, Any]
#: By run and query.
Lists = Mapping[tuple[str, Query], ExpectedList]
#: By column of DATASET_SCORES, its value and how far it may be off.
Means = dict[str, tuple[float | None, float]]
#: An attribute and its value, both None for all queries.
Slice = tuple[str | None, str | None]
DATE = "2026-11-20"
_EXACT = ("status", "returned", "judged")
_SUMS = ("dcg", "ideal_dcg", "cg", "ndcg")
#: What a mean or a measure may be off, relative to what it is made of, and at least.
_RELATIVE, _LEAST = 1e-9, 1e-12


def walk(seed: int, folder: Path) -> list[str]:
    """Evaluates the case of a seed, and returns what differs from plain Python."""
    case = make_case(seed)
    inputs = read_inputs(case)
    arguments = write_case(case, folder)
    if inputs.rejected:
        arguments += ["--max-rejected-fraction", "0.99"]
    arguments += ["--output", str(folder / "out"), "--date", DATE, "--format", "json"]
    with pytest.MonkeyPatch.context() as patch:
        _lower(case, patch)
        ended = command_line(*arguments, cwd=folder)
    lists, refusal = _expected(case, inputs)
    if refusal or ended.returncode:
        is_right = bool(refusal) and ended.returncode == 3
        said = ended.stdout if ended.returncode != 1 else f"{ended.stdout}{ended.stderr}"
        what = f"exit code {ended.returncode}, expected {refusal or 0}: {said[-3000:]}"
        return [] if is_right else [what]
    found = _Published(folder / "out", json.loads(ended.stdout), case)
    return [*_differences(case, inputs, lists, found)]


def _lower(case: Case, patch: pytest.MonkeyPatch) -> None:
    for (name, constant), value in case.lowered.items():
        module = import_module(f"ndcg_spark.{name}")
        if constant == "blocks":
            # Its size is a default, which is bound once.
            patch.setattr(module.blocks, "__defaults__", (value,))
        else:
            patch.setattr(module, constant, value)


def _expected(case: Case, inputs: Inputs) -> tuple[Lists, str | None]:
    """What is expected of every run and judged query; or why the evaluation is refused."""
    if inputs.refusal:
        return {}, inputs.refusal
    lists = {}
    try:
        for query in inputs.judged:
            for run in inputs.runs.get(query[0], []):
                lists[run, query] = expected_list(case, inputs, run, query)
    except RefusedError as error:
        return {}, str(error)
    return lists, None


class _Published:
    """The published tables, as pyarrow reads them, and what the command printed."""

    def __init__(self, output: Path, printed: dict[str, Any], case: Case) -> None:
        self.printed = printed
        tables = ["query_scores", "dataset_scores", "rejected_rows", "ranked_documents"]
        self.tables = {name: _rows(output / name) for name in tables}
        #: The published name of a table that names no datasets.
        self.default = case.dataset


def _rows(folder: Path) -> list[Row]:
    if not folder.is_dir():
        return []
    return dataset.dataset(folder, partitioning="hive").to_table().to_pylist()


def _differences(case: Case, inputs: Inputs, lists: Lists, found: _Published) -> Iterator[str]:
    yield from _count_differences(inputs, found)
    scores = _keyed(found.tables["query_scores"], ("dataset", "run", "query_id", "cutoff"))
    if len(scores) != len(found.tables["query_scores"]):
        yield "query_scores: a key comes twice"
    expected = {
        (query[0] or found.default, run, query[1], cutoff): row
        for (run, query), of in lists.items()
        for cutoff, row in of.rows.items()
    }
    if scores.keys() != expected.keys():
        yield f"query_scores: keys differ, e.g. {[*scores.keys() ^ expected.keys()][:3]}"
    for key in scores.keys() & expected.keys():
        for what in row_differences(scores[key], expected[key]):
            yield f"query_scores {key}: {what}"
    yield from _hash_differences(inputs, found)
    yield from _mean_differences(case, inputs, found)
    if case.documents:
        yield from _document_differences(case, lists, found)


def _keyed(rows: Iterable[Row], names: Sequence[str]) -> dict[tuple[Any, ...], Row]:
    return {tuple(row[name] for name in names): row for row in rows}


def _count_differences(inputs: Inputs, found: _Published) -> Iterator[str]:
    counts = found.printed["counts"]
    for name, value in inputs.counts.items():
        if counts[name] != value:
            yield f"counts: {name} is {counts[name]}, expected {value}"
    said = {(entry["table"], entry["reason"]): entry["rows"] for entry in found.printed["rejected"]}
    rows = found.tables["rejected_rows"]
    kept = collections.Counter((row["table"], row["reason"]) for row in rows)
    for name, counted in {"rejected": said, "rejected_rows": dict(kept)}.items():
        if counted != dict(inputs.rejected):
            yield f"{name}: {counted}, expected {dict(inputs.rejected)}"


def row_differences(row: Row, expected: Expected) -> Iterator[str]:
    wanted, tolerance = expected.values, expected.tolerance
    for name in _EXACT:
        # Where the ideal DCG is rounding alone, it may be 0.
        if row[name] != wanted[name] and not (name == "status" and tolerance["ndcg"] == math.inf):
            yield f"{name} is {row[name]}, expected {wanted[name]}"
    for name in _SUMS:
        if tolerance[name] < math.inf and not is_near(row[name], wanted[name], tolerance[name]):
            yield f"{name} is {row[name]}, expected {wanted[name]} within {tolerance[name]:.1e}"
    for name in COLUMNS:
        least = max(_LEAST, _RELATIVE * abs(wanted[name] or 0.0))
        if not is_near(row[name], wanted[name], least):
            yield f"{name} is {row[name]}, expected {wanted[name]}"


def is_near(value: float | None, expected: float | None, tolerance: float) -> bool:
    if value is None or expected is None:
        return value is expected
    return abs(value - expected) <= tolerance


def _hash_differences(inputs: Inputs, found: _Published) -> Iterator[str]:
    """Equal judgments have equal hashes, and different ones have different hashes."""
    by_hash: dict[int, set[frozenset[tuple[str, float]]]] = collections.defaultdict(set)
    by_judgments: dict[frozenset[tuple[str, float]], set[int]] = collections.defaultdict(set)
    own = {(key[0] or found.default, key[1]): rows for key, rows in inputs.judged.items()}
    for row in found.tables["query_scores"]:
        rows = own.get((row["dataset"], row["query_id"]), [])
        judgments = frozenset(merged(rows, inputs.convention).items())
        by_hash[row["judgments_hash"]].add(judgments)
        by_judgments[judgments].add(row["judgments_hash"])
    for groups in (by_hash, by_judgments):
        if several := [key for key, values in groups.items() if len(values) > 1]:
            yield f"judgments_hash: {several[0]} has {groups[several[0]]}"


def _slices(case: Case, inputs: Inputs, default: str) -> dict[tuple[str, str], set[Slice]]:
    """By published dataset and query, the slices that it is in."""
    rows = case.slices.rows if case.slices else []
    values: dict[tuple[str | None, ...], set[tuple[str, str]]] = collections.defaultdict(set)
    for row in rows:
        key = (row["dataset"], row["query_id"]) if "dataset" in row else (row["query_id"],)
        values[key].add((row["attribute"], row["value"]))
    attributes = {row["attribute"] for row in rows}
    slices: dict[tuple[str, str], set[Slice]] = {}
    for dataset_name, query in inputs.judged:
        own = values.get((dataset_name, query)) or values.get((query,)) or set()
        lacking = attributes - {attribute for attribute, _ in own}
        slices[dataset_name or default, query] = {
            (None, None),
            *own,
            *((name, "(none)") for name in lacking),
        }
    return slices


def _mean_differences(case: Case, inputs: Inputs, found: _Published) -> Iterator[str]:
    groups: dict[tuple[Any, ...], list[Row]] = collections.defaultdict(list)
    for dataset_name, runs in inputs.runs.items():
        for run in runs:
            for cutoff in case.all_cutoffs:
                groups[dataset_name or found.default, run, cutoff, None, None] = []
    slices = _slices(case, inputs, found.default)
    for row in found.tables["query_scores"]:
        for part in slices[row["dataset"], row["query_id"]]:
            groups[row["dataset"], row["run"], row["cutoff"], *part].append(row)
    names = ("dataset", "run", "cutoff", "attribute", "value")
    means = _keyed(found.tables["dataset_scores"], names)
    if means.keys() != groups.keys() or len(means) != len(found.tables["dataset_scores"]):
        yield f"dataset_scores: keys differ, e.g. {[*means.keys() ^ groups.keys()][:3]}"
    strange = [(run, query) for run, query in inputs.lists if query not in inputs.judged]
    unjudged = collections.Counter((query[0] or found.default, run) for run, query in strange)
    for key in means.keys() & groups.keys():
        expected = _means(groups[key], case, key[2])
        expected["unjudged_queries"] = unjudged[key[:2]] if key[3] is None else None, 0.0
        for name, (value, tolerance) in expected.items():
            if not is_near(means[key][name], value, tolerance):
                what = f"{name} is {means[key][name]}, expected {value} within {tolerance:.1e}"
                yield f"dataset_scores {key}: {what}"


def _means(rows: Sequence[Row], case: Case, cutoff: int | None) -> Means:
    """The columns of DATASET_SCORES by query scores."""
    counted = [row for row in rows if row["ndcg"] is not None]
    values = [row["ndcg"] for row in counted]
    dcg, ideal = ([row[name] for row in counted] for name in ("dcg", "ideal_dcg"))
    returned, judged = (sum(row[name] for row in rows) for name in ("returned", "judged"))
    expected: Means = {
        "queries": (len(counted), 0.0),
        "missing_queries": (sum(row["status"] == "missing" for row in rows), 0.0),
        "no_relevant_queries": (sum(row["status"] == "no_relevant" for row in rows), 0.0),
        "ndcg": _mean(values),
        "dcg": _mean(dcg),
        "judged_rate": (judged / returned if returned else None, _LEAST),
        **_pooled(dcg, ideal),
        **_deviation(values),
    }
    sizes = []
    for name in COLUMNS:
        own = [row[name] for row in rows if row[name] is not None]
        expected[name] = _mean(own)
        sizes.append(len(own))
    beside = [cutoffs for name, cutoffs in case.measures.values() if name != "ndcg"]
    is_computed = any(cutoff in cutoffs for cutoffs in beside)
    expected["relevant_queries"] = (max(sizes) if is_computed else None, 0.0)
    return expected


def _pooled(dcg: Sequence[float], ideal: Sequence[float]) -> Means:
    whole, parts = math.fsum(ideal), math.fsum(map(abs, ideal))
    if not parts:
        return {"ndcg_pooled": (None, 0.0)}
    if abs(whole) < 1e-12 * parts:
        # The divisor is rounding alone.
        return {}
    near = _RELATIVE * math.fsum(map(abs, dcg)) / abs(whole)
    return {"ndcg_pooled": (math.fsum(dcg) / whole, max(_LEAST, near))}


def _deviation(values: Sequence[float]) -> Means:
    if len(values) < 2:
        return {"ndcg_stddev": (None, 0.0), "ndcg_stderr": (None, 0.0)}
    largest = max(map(abs, values))
    if largest > 1e150:
        # Squares are too large for a double.
        return {}
    deviation, near = statistics.stdev(values), max(_LEAST, 1e-8 * largest)
    error = deviation / math.sqrt(len(values))
    return {"ndcg_stddev": (deviation, near), "ndcg_stderr": (error, near)}


def _mean(values: Sequence[float]) -> tuple[float | None, float]:
    if not values:
        return None, 0.0
    size = math.fsum(map(abs, values)) / len(values)
    return math.fsum(values) / len(values), max(_LEAST, _RELATIVE * size)


def _document_differences(case: Case, lists: Lists, found: _Published) -> Iterator[str]:
    """What differs in RANKED_DOCUMENTS, in the documents, their grades and what they add."""
    finite = [cutoff for cutoff in case.all_cutoffs if cutoff is not None]
    depth = max(finite, default=None)
    rows = _keyed(found.tables["ranked_documents"], ("dataset", "run", "query_id", "rank"))
    if len(rows) != len(found.tables["ranked_documents"]):
        yield "ranked_documents: a key comes twice"
    listed = {}
    for (run, query), of in lists.items():
        for rank, item in enumerate(of.items[:depth], 1):
            listed[query[0] or found.default, run, query[1], rank] = item
    returned = {key for key in rows if key[1] is not None}
    if returned != listed.keys():
        yield f"ranked_documents: keys differ, e.g. {[*returned ^ listed.keys()][:3]}"
    for key in returned & listed.keys():
        row, item = rows[key], listed[key]
        wanted = {"doc_id": item.doc_id, "score": item.score}
        wanted["relevance"] = item.grade
        for name, value in wanted.items():
            if row[name] != value:
                yield f"ranked_documents {key}: {name} is {row[name]!r}, expected {value!r}"
    yield from _added_differences(lists, rows, depth, found)


def _added_differences(
    lists: Lists,
    rows: Mapping[tuple[Any, ...], Row],
    depth: int | None,
    found: _Published,
) -> Iterator[str]:
    """Gains times discounts must sum to the DCG at the deepest cutoff."""
    sums: dict[tuple[Any, ...], list[float]] = collections.defaultdict(list)
    for (name, run, query, _), row in rows.items():
        sums[name, run, query].append(row["gain"] * row["discount"])
    for (run, query), of in lists.items():
        expected = of.rows.get(depth)
        if expected is not None:
            total = math.fsum(sums[query[0] or found.default, run, query[1]])
            if not is_near(total, expected.values["dcg"], expected.tolerance["dcg"]):
                wanted = expected.values["dcg"]
                yield f"ranked_documents {run} {query}: they add {total}, expected {wanted}"

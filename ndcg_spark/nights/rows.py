"""Checks the rows of the log when they are read, and refuses rows that no evaluation wrote."""

import datetime
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ndcg_spark.convention.parsing import parse_measure_set
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.schemas import EVALUATIONS

#: The columns of EVALUATIONS whose text is JSON.
JSON = EVALUATIONS.names[EVALUATIONS.names.index("options") :]

_STATUSES = ("published", "refused", "failed")
_VERDICTS = (None, "pass", "fail", "none")
#: The Python types of each column type.
_TYPES = {
    pa.string(): (str,),
    pa.int64(): (int,),
    pa.float64(): (int, float),
    pa.bool_(): (bool,),
}
#: The columns of a file of the log, with their types; `evaluated_on` is in its path.
_COLUMNS = {field.name: field.type for field in EVALUATIONS if field.name != "evaluated_on"}
#: The columns that a published evaluation must have.
_PUBLISHED = ("dataset", "number", "options", "configuration", "files")
_COUNTS = ("number", "revision", "exit_code", "seconds")
_TIMES = ("committed_at", "revised_at")

_NULL = type(None)
_TEXT = (str, _NULL)
_NUMBER = (int, float)
_MAYBE = (int, float, _NULL)
#: The key in a shape that stands for every key, and the suffix of a key that may be missing.
_ANY, _OPTIONAL = "*", "?"

_CHECK = {
    "cutoff?": (int, str, _NULL),
    "measure?": str,
    "datasets?": (list, _NULL),
    "runs?": (list, _NULL),
    "severity?": str,
}
_GATE = {
    "baseline?": [str],
    "nights?": int,
    "alpha?": _NUMBER,
    "check?": [_CHECK],
}
_RESULT = {
    "run": _TEXT,
    "severity": str,
    "result": str,
    "reason?": _TEXT,
    "sentence?": str,
    "check?": str,
    "measure?": _TEXT,
    "cutoff?": _TEXT,
    "slice?": _TEXT,
    "weighted?": bool,
    "baseline?": _TEXT,
    "baseline_night?": _TEXT,
    "mean?": _MAYBE,
    "baseline_mean?": _MAYBE,
    "difference?": _MAYBE,
    "allowed?": _MAYBE,
    "interval_low?": _MAYBE,
    "interval_high?": _MAYBE,
    "p?": _MAYBE,
    "queries?": (int, _NULL),
}
_FINDINGS = {
    "sentence?": str,
    "not_verified?": [list],
    "results?": [_RESULT],
    "warnings?": [str],
    "notes?": [str],
    "baselines?": [{"name": str, "nights": [str], "evaluation_id?": _TEXT}],
    "named_slices?": [{"attribute": str, "value": str}],
    "causes?": [{"attribute": str, "value": str, "share": _NUMBER, _ANY: (*_MAYBE, str)}],
}
#: The content of the JSON columns, as far as programs use it. A shape is a type, a tuple of types,
#: a tuple of a shape and None (the value may be null), a list with the shape of its entries, or an
#: object with the shape of each key, whose other keys may have any value.
_SHAPES: Mapping[str, Any] = {
    "options": {_ANY: (str, int, float, bool, _NULL)},
    "configuration": {
        "gate?": (_GATE, None),
        "measures?": ([str], None),
        "headline?": _TEXT,
        "documents?": (int, str, _NULL),
    },
    "inputs": {_ANY: dict},
    "datasets": [str],
    "datasets_without_results": [str],
    "versions": {_ANY: _TEXT},
    "counts": {_ANY: _MAYBE},
    "rejected": [dict],
    "steps": {_ANY: _NUMBER},
    "findings": _FINDINGS,
    "files": {_ANY: {_ANY: {"rows": int, "bytes": int, "crc32?": int}}},
    "means": [{"run": str, "cutoff": (int, _NULL), _ANY: _MAYBE}],
    "links": [
        {"run": str, "measure": str, "cutoff": (int, _NULL), "before": str, _ANY: (*_MAYBE, str)}
    ],
    "accepted_runs": [str],
    "acknowledged": {"reason": str, "until": str},
    "withdrawn": [str],
}


class DamagedRowError(ValueError):
    """A row that no evaluation wrote."""


def refuse_damaged_row(row: Mapping[str, Any]) -> None:
    """Raise DamagedRowError unless every value of a log row is one that an evaluation writes.

    Decoding may also raise other ValueErrors, or a RecursionError for deeply nested JSON.
    """
    for name, kind in _COLUMNS.items():
        if row.get(name) is not None:
            _require(_is_instance(row[name], _TYPES[kind]), f"{name} is not of type {kind}")
    _require(row.get("status") in _STATUSES, "the status is unknown")
    _require(row.get("verdict") in _VERDICTS, "the verdict is unknown")
    _require(_is_name(row.get("evaluation_id")), "the evaluation_id is not a name")
    for name in _COUNTS:
        number = row.get(name)
        _require(number is None or number >= 0, f"{name} is negative")
    for name in _TIMES:
        if row.get(name):
            # Raises ValueError for a text that is not a time.
            datetime.datetime.fromisoformat(row[name])
    _refuse_odd_json(row)
    if row["status"] == "published":
        _refuse_unusable(row)


def _refuse_odd_json(row: Mapping[str, Any]) -> None:
    """Raise DamagedRowError if a JSON column does not have its shape."""
    for name in JSON:
        if row.get(name) is None:
            continue
        value = json.loads(row[name])
        shape = _SHAPES.get(name, object)
        _require(_has_shape(value, shape), f"the JSON of {name} has a different shape")
        if name == "files":
            _require(_has_valid_files(value), "files has a negative number or an invalid name")


def _refuse_unusable(row: Mapping[str, Any]) -> None:
    """Raise DamagedRowError for a published row that lacks values that programs read."""
    for name in _PUBLISHED:
        _require(row.get(name) is not None, f"{name} is null")
    _require(row["number"] > 0, "number is not above 0")
    _require(row["dataset"] != "", "the dataset has no name")
    if row.get("verdict") is not None:
        findings = json.loads(row.get("findings") or "{}")
        _require("results" in findings, "the verdict has no results")
    configuration = json.loads(row["configuration"])
    try:
        parse_measure_set(configuration.get("measures") or (), configuration.get("headline"))
    except ConfigurationError as error:
        raise DamagedRowError(f"its measures are unknown: {error}") from error


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise DamagedRowError(problem)


def _is_instance(value: Any, kinds: tuple[type, ...]) -> bool:
    """Whether a value has one of these types; unlike in Python, a bool is not a number."""
    if isinstance(value, bool):
        return bool in kinds
    return isinstance(value, kinds)


def _is_name(value: Any) -> bool:
    """Whether a value can be part of a folder name."""
    return isinstance(value, str) and value not in ("", ".", "..") and "/" not in value


def _has_shape(value: Any, shape: Any) -> bool:
    """Whether a JSON value has one of the shapes that `_SHAPES` describes."""
    match shape:
        case type():
            return _is_instance(value, (shape,))
        case (inner, None):
            return value is None or _has_shape(value, inner)
        case tuple():
            return _is_instance(value, shape)
        case [inner]:
            return isinstance(value, list) and all(_has_shape(entry, inner) for entry in value)
        case _:
            return isinstance(value, dict) and all(_has_key(value, key, shape) for key in shape)


def _has_key(value: Mapping[str, Any], key: str, shape: Mapping[str, Any]) -> bool:
    """Whether an object has a key of its shape, which may be optional or stand for every key."""
    if key == _ANY:
        others = value.keys() - shape.keys()
        return all(_has_shape(value[name], shape[key]) for name in others)
    name = key.removesuffix(_OPTIONAL)
    if name not in value:
        return key.endswith(_OPTIONAL)
    return _has_shape(value[name], shape[key])


def _has_valid_files(tables: Mapping[str, Mapping[str, Mapping[str, int]]]) -> bool:
    """Whether the paths and numbers of the files can be those of an evaluation.

    `tables`: `{"query_scores": {"part-0.parquet": {"rows": 5, "bytes": 900}}}`.
    """
    for files in tables.values():
        for path, described in files.items():
            if not all(map(_is_name, path.split("/"))):
                return False
            if min(described.values()) < 0:
                return False
    return True

"""The problems of a configuration in sentences, each with the path of its key, and similar names."""

import re
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ndcg_spark.table_config import Strict
from ndcg_spark.text import did_you_mean

#: The path of a key: names, and places in lists.
Place = tuple[int | str, ...]

#: What TOML calls the types that pydantic names after Python's.
_TYPES = {"tuple_type": "list", "list_type": "list", "dict_type": "table", "model_type": "table"}


def problems_of(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """A sentence for each problem that pydantic finds in the settings of a model, with the path of its key."""
    return [_problem(entry["loc"], entry["type"], entry["msg"], entry.get("input"), model) for entry in error.errors()]


def _problem(place: Place, kind: str, message: str, value: object, model: type[BaseModel]) -> str:
    name = ".".join(map(str, place)) or "configuration"
    if kind == "extra_forbidden":
        return f"{name}: no such key{did_you_mean(str(place[-1]), _keys(place[:-1], model))}"
    if kind == "missing":
        option = f"--{place[0]} or " if place[0] in ("judgments", "results") else ""
        return f"{name}: missing; give {option}{name} in the configuration"
    if kind == "value_error":
        reason = message.removeprefix("Value error, ")
        return reason if reason.startswith(f"{name}: ") else f"{name}: {reason}"
    if kind in _TYPES:
        return f"{name}: input should be a {_TYPES[kind]}, not {value!r}"
    # The message of pydantic has the known words in quotes.
    near = did_you_mean(str(value), re.findall(r"'([^']+)'", message)) if kind == "literal_error" else ""
    return f"{name}: {message[0].lower()}{message[1:]}, not {value!r}{near}"


def _keys(place: Place, model: type[BaseModel]) -> list[str]:
    """The keys of the configuration, or of the table at this place in it, which may be in a list."""
    fields = model.model_fields
    for name in place:
        if isinstance(name, str):
            fields = _fields(fields[name].annotation) if name in fields else {}
    return list(fields)


def _fields(kind: Any) -> dict[str, FieldInfo]:
    """The keys of a table, whose type may be part of a union (`Table | None`) or of a list."""
    if isinstance(kind, type) and issubclass(kind, Strict):
        return kind.model_fields
    return next((fields for inner in get_args(kind) if (fields := _fields(inner))), {})

"""What is wrong with a configuration, in sentences that name the key by its path, and near names."""

import re
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ndcg_spark.table_config import Strict
from ndcg_spark.text import did_you_mean

#: The path of a key: names, and places in lists.
Place = tuple[int | str, ...]


def problems_of(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """A sentence for each problem that pydantic has found in the settings of a model, with the path of its key."""
    return [_problem(entry["loc"], entry["type"], entry["msg"], entry.get("input"), model) for entry in error.errors()]


def _problem(place: Place, kind: str, message: str, given: object, model: type[BaseModel]) -> str:
    name = ".".join(map(str, place)) or "configuration"
    if kind == "extra_forbidden":
        return f"{name}: no such key{did_you_mean(str(place[-1]), _keys(place[:-1], model))}"
    if kind == "missing":
        option = f"--{place[0]} or " if place[0] in ("judgments", "results") else ""
        return f"{name}: missing; give {option}{name} in the configuration"
    if kind == "value_error":
        reason = message.removeprefix("Value error, ")
        return reason if reason.startswith(f"{name}: ") else f"{name}: {reason}"
    # What pydantic says of a word has the words that it knows in quotes.
    near = did_you_mean(str(given), re.findall(r"'([^']+)'", message)) if kind == "literal_error" else ""
    return f"{name}: {message[0].lower()}{message[1:]}, not {given!r}{near}"


def _keys(place: Place, model: type[BaseModel]) -> list[str]:
    """The keys of the configuration, or of the table at this place in it; of one in a list, too."""
    fields = model.model_fields
    for name in place:
        if isinstance(name, str):
            fields = _fields(fields[name].annotation) if name in fields else {}
    return list(fields)


def _fields(kind: Any) -> dict[str, FieldInfo]:
    """The keys of a table, which may be one of several kinds of value (`Table | None`) or in a list of them."""
    if isinstance(kind, type) and issubclass(kind, Strict):
        return kind.model_fields
    return next((found for inner in get_args(kind) if (found := _fields(inner))), {})

"""Writes the tables of a random evaluation (`road_cases`) as files of every format."""

import csv
import dataclasses
import io
import json
import math
import random
import urllib.parse
from collections.abc import Callable, Iterable
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from input_files import gzipped
from road_cases import SHAPES, Case, Row, Table, lists_of

from ndcg_spark.convention.options import show

#: What other tools call our columns; each table has some of these.
_ALIASES = {
    "query_id": "qid",
    "doc_id": "docno",
    "relevance": "label",
    "score": "prediction",
    "run": "run_id",
}
_TYPES = {
    "text": [pa.string(), pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())],
    "double": [pa.float64()],
    "float": [pa.float32()],
    "int": [pa.int64()],
    "decimal": [pa.decimal128(25, 6)],
}
_PLAIN = {"text": [pa.string(), pa.large_string()]}
_SEPARATORS = {"csv": ",", "tsv": "\t"}
#: The endings of the files of a format.
_ENDINGS = {"trec": "txt", "json": "json"}


Writer = Callable[[list[Row], list[str]], pa.Table | str]


def write_case(case: Case, folder: Path) -> list[str]:
    """Writes the tables of a case, and returns the arguments of the command that evaluates it."""
    chance = random.Random(case.seed)  # noqa: S311  # it makes test data
    arguments = ["evaluate"]
    for name in ("judgments", "results", "exclude", "slices"):
        table: Table | None = getattr(case, name)
        if table is not None:
            path = folder / name
            path.mkdir()
            arguments += [f"--{name}", str(write_table(table, path, chance))]
    if case.results.run_from_file:
        arguments += ["--run-from", "file"]
    if case.results.format == "json" and "rank" in case.results.columns:
        arguments += ["--column", "results.rank=3"]
    for option, value in case.options.items():
        setting = ["--set", f"{option}={_shown(value)}"]
        arguments += ["--convention", value] if option == "preset" else setting
    arguments += ["--cutoffs", ",".join(str(cutoff or "all") for cutoff in case.cutoffs)]
    if case.measures:
        arguments += ["--measures", " ".join(case.measures)]
    if case.dataset != "default":
        arguments += ["--dataset", case.dataset]
    arguments += ["--documents", "all"] if case.documents else []
    return arguments


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        pairs = [f"{grade}: {gain}" for grade, gain in value.items()]
        return "{" + ", ".join(pairs) + "}"
    return f"{value}" if isinstance(value, list) else show(value)


def write_table(table: Table, folder: Path, chance: random.Random) -> Path:
    """Writes a table into a folder; returns what is given as its path."""
    given = {*table.folders} - {*table.in_both}
    given |= ({"run"} if table.run_from_file else set()) | ({"rank"} if table.has_lists else set())
    names = [name for name in table.columns if name not in given]
    parts = _parts(table, folder, chance)
    ending = _ENDINGS.get(table.format, table.format) + (".gz" if table.is_gzipped else "")
    write = _writer(table, names, chance)
    files = []
    for number, (place, rows) in enumerate(parts.items()):
        place.parent.mkdir(parents=True, exist_ok=True)
        files.append(place.with_name(f"{place.name}.{ending}"))
        content = write(rows, table.broken if number == 0 else [])
        if isinstance(content, pa.Table):
            _write_parquet(content, files[-1], chance)
            continue
        text = content.encode()
        files[-1].write_bytes(gzipped(text) if table.is_gzipped else text)
    # Given alone, the name of a folder does not count.
    is_alone = len(files) == 1 and not table.folders and chance.random() < 0.5
    return files[0] if is_alone else folder


def _parts(table: Table, folder: Path, chance: random.Random) -> dict[Path, list[Row]]:
    """The rows of every file, by its path without an ending."""
    parts: dict[Path, list[Row]] = {}
    lists = lists_of(table).values() if table.has_lists else [[row] for row in table.rows]
    for rows in lists:
        first = rows[0]
        place = folder.joinpath(*(f"{name}={_quoted(first[name])}" for name in table.folders))
        number = chance.randrange(table.files)
        file = first["run"] if table.run_from_file else f"part-{number:05}"
        parts.setdefault(place / file, []).extend(rows)
    for run in table.empty_runs:
        place = folder / f"run={run}" / "part-00000" if table.folders else folder / run
        parts[place] = []
    return parts


def _quoted(value: str) -> str:
    return urllib.parse.quote(value, safe="é ")


def _writer(table: Table, names: list[str], chance: random.Random) -> Writer:
    """A function that makes the content of a file of rows and of lines that are not rows."""
    aliases = _ALIASES if chance.random() < 0.3 and "attribute" not in names else {}
    called = {name: aliases.get(name, name) for name in names}
    if table.format in _SEPARATORS:
        return lambda rows, broken: _delimited(table, called, rows, broken)
    if table.format == "trec":
        return _trec
    if table.format == "jsonl":
        write = _json_lists if table.has_lists else _json_lines
        return lambda rows, broken: write(table, called, rows, broken)
    if table.format == "json":
        return lambda rows, _: _json_object(rows)
    kinds = _PLAIN if "attribute" in names and not SHAPES["categories in slices"] else _TYPES
    has_more = chance.random() < 0.3
    order = chance.sample(names, len(names))

    def write(rows: list[Row], _: list[str]) -> pa.Table:
        # Files may differ in how they store the same values.
        types = {name: chance.choice(_types(name, table, kinds)) for name in order}
        return _arrow(table, rows, types, called, has_more)

    return write


def _types(name: str, table: Table, kinds: dict[str, list[pa.DataType]]) -> list[pa.DataType]:
    kind = table.kinds[name]
    if kind == "int" and name.endswith("_id"):
        return [pa.int64(), pa.int64(), pa.uint64(), pa.decimal128(20, 0)]
    if kind == "int" and name == "rank":
        return [pa.int64(), pa.int32()]
    if kind in ("int", "decimal") and SHAPES["decimals beside other numbers"]:
        return [*kinds[kind], pa.decimal128(30, 6), pa.float64()]
    return kinds[kind]


def _arrow(
    table: Table,
    rows: list[Row],
    types: dict[str, pa.DataType],
    called: dict[str, str],
    has_more: bool,
) -> pa.Table:
    columns = {}
    lists = _ordered_lists(table, rows) if table.has_lists else []
    for name, kind in types.items():
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        if table.has_lists and name in ("doc_id", "relevance", "score"):
            values = [[_stored(row[name], name, kind) for row in listed] for listed in lists]
            columns[called[name]] = pa.array(values, pa.list_(plain))
            continue
        some = [listed[0] for listed in lists] if table.has_lists else rows
        values = [_stored(row[name], name, kind) for row in some]
        columns[called[name]] = pa.array(values, plain).cast(kind)
    if has_more:
        size = len(lists) if table.has_lists else len(rows)
        columns["title"] = pa.array([f"title {at}" for at in range(size)])
    return pa.table(columns)


def _ordered_lists(table: Table, rows: list[Row]) -> list[list[Row]]:
    lists = lists_of(dataclasses.replace(table, rows=rows)).values()
    return [sorted(listed, key=lambda row: row.get("rank", 0)) for listed in lists]


def _stored(value: Any, name: str, kind: pa.DataType) -> Any:
    """The value in the type of its column; an id is a number where its column is one."""
    if pa.types.is_floating(kind) and value is not None:
        return float(value)
    if pa.types.is_decimal(kind) and value is not None:
        return Decimal(value)
    is_number = pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    return int(value) if is_number and name.endswith("_id") and value is not None else value


def _write_parquet(table: pa.Table, path: Path, chance: random.Random) -> None:
    if SHAPES["footers of other writers"] and chance.random() < 0.3:
        footers = import_module("footers")
        footers.write(path, table, chance.choice([*footers.WRITERS]))
        return
    ids = [field for field in table.schema if field.name in ("query_id", "doc_id", "qid", "docno")]
    has_numbers = any("string" not in str(field.type) for field in ids)
    may_have = SHAPES["statistics of whole-number ids"] or not has_numbers
    pq.write_table(
        table,
        path,
        row_group_size=chance.choice([3, 50, 10_000]),
        write_statistics=may_have and chance.random() < 0.7,
        use_dictionary=chance.random() < 0.7,
        store_schema=chance.random() < 0.7,
        compression=chance.choice(["snappy", "zstd", "none"]),
        data_page_version=chance.choice(["1.0", "2.0"]),
        data_page_size=chance.choice([64, 1 << 20]),
    )


def text_of(value: Any) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def _delimited(table: Table, called: dict[str, str], rows: list[Row], broken: list[str]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=_SEPARATORS[table.format], lineterminator="\n")
    writer.writerow(called.values())
    for row in rows:
        writer.writerow([text_of(row[name]) for name in called])
    return stream.getvalue() + "".join(f"{line}\n" for line in broken)


def _trec(rows: list[Row], broken: list[str]) -> str:
    lines = []
    for row in rows:
        words = {name: text_of(value).strip(" ") for name, value in row.items()}
        if "run" in row:
            fields = [
                words["query_id"],
                "Q0",
                words["doc_id"],
                words["rank"],
                words["score"],
                words["run"],
            ]
        elif "relevance" in row:
            fields = [words["query_id"], "0", words["doc_id"], words["relevance"]]
        else:
            fields = [words["query_id"], words["doc_id"]]
        lines.append(" ".join(fields))
    return "".join(f"{line}\n" for line in [*lines, *broken])


def _json_value(value: Any, kind: str, is_id: bool) -> str:
    if value is None:
        return "null"
    if kind == "int" and is_id:
        return str(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no JSON")
    return json.dumps(value, ensure_ascii=False)


def _json_lines(table: Table, called: dict[str, str], rows: list[Row], broken: list[str]) -> str:
    lines = []
    for row in rows:
        members = []
        for ours, theirs in called.items():
            value = _json_value(row[ours], table.kinds[ours], ours.endswith("_id"))
            members.append(f"{json.dumps(theirs)}: {value}")
        lines.append("{" + ", ".join(members) + "}")
    return "".join(f"{line}\n" for line in [*lines, *broken])


def _json_lists(table: Table, called: dict[str, str], rows: list[Row], _: list[str]) -> str:
    lines = []
    for ordered in _ordered_lists(table, rows):
        members = []
        for ours, theirs in called.items():
            is_id = ours.endswith("_id")
            values = [_json_value(row[ours], table.kinds[ours], is_id) for row in ordered]
            is_list = ours in ("doc_id", "relevance", "score")
            text = f"[{', '.join(values)}]" if is_list else values[0]
            members.append(f"{json.dumps(theirs)}: {text}")
        lines.append("{" + ", ".join(members) + "}")
    return "".join(f"{line}\n" for line in lines)


def _json_object(rows: Iterable[Row]) -> str:
    queries: dict[str, list[str]] = {}
    for row in rows:
        name = next(name for name in ("relevance", "score", "rank") if name in row)
        value = _json_value(row[name], "", is_id=False)
        member = f"{json.dumps(row['doc_id'], ensure_ascii=False)}: {value}"
        queries.setdefault(row["query_id"], []).append(member)
    members = []
    for query, documents in queries.items():
        members.append(json.dumps(query) + ": {" + ", ".join(documents) + "}")
    return "{" + ",\n".join(members) + "}\n"

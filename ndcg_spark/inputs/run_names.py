"""The name of a run that its rows do not tell, or should not: that of its file."""

import dataclasses
from pathlib import PurePosixPath

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.run_files import unit_of

#: The ends of a file's name that tell its format and not its run.
_SUFFIXES = {".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".orc", ".run", ".trec", ".txt", ".res"}


def named_by_file(files: list[File], column: str, where: str) -> list[File]:
    """The files, each with its name as the value that a folder `column`=... would give to its rows.

    All files of one parallel write are named after their folder. InputError if two others have one name.
    """
    named = []
    units: dict[str, str] = {}
    for file in files:
        unit = unit_of(file.path)
        name = run_name(file.path)
        if units.setdefault(name, unit) != unit:
            raise InputError(
                f"{where}: two files give the run {name}, {units[name]} and {unit}; rename one of them, or evaluate "
                "them one by one with --run"
            )
        others = tuple(pair for pair in file.partition if pair[0] != column)
        named.append(dataclasses.replace(file, partition=(*others, (column, name))))
    return named


def of_files(files: list[File], run: str | None, dataset: str) -> tuple[tuple[str | None, str], ...]:
    """The runs that the folders of files name, each with its dataset if they name that too, in the files' order.

    `run` and `dataset` are the names of these folders; `run` is None if the configuration names the run.
    """
    found = (dict(file.partition) for file in files)
    pairs = ((given.get(dataset), given.get(run or "")) for given in found)
    return tuple(dict.fromkeys((of, name) for of, name in pairs if name))


def run_name(path: str) -> str:
    """The name of a file without .gz and the end that tells its format; of a part file, that of its folder."""
    place = PurePosixPath(path)
    if unit_of(path) != path:
        folders = [part for part in place.parent.parts if "=" not in part]
        return run_name(folders[-1]) if folders else place.name
    name = place.name.removeprefix("table:").removesuffix(".gz")
    stem, dot, _ = name.rpartition(".")
    known = dot and stem and PurePosixPath(name).suffix.lower() in _SUFFIXES
    return stem if known else name

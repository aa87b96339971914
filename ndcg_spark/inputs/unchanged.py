"""Whether files have changed while they were evaluated: whatever was checked must be what was scored."""

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.read import Source
from ndcg_spark.inputs.storage import unreadable

#: The size in bytes, and the time of the last change in nanoseconds (0 if the storage does not say); of a local file
#: also its inode, and when anything of it was changed last. None if the file does not exist.
Stamp = tuple[int, ...] | None


def stamps_of(sources: Iterable[Source]) -> dict[str, Stamp]:
    """The stamp of every file of the tables, by path. Files that this process cannot open have none."""
    return {path: stamp for each in sources for source in each.sources for path, stamp in _stamps(source).items()}


def refuse_changed(sources: Iterable[Source], before: Mapping[str, Stamp]) -> None:
    """InputError if a file has another size or time than before, or is gone."""
    for source in (source for each in sources for source in each.sources):
        changed = [path for path, stamp in _stamps(source).items() if stamp is None or stamp != before[path]]
        if changed:
            raise InputError(
                f"{source.name}: {len(changed)} file(s) changed during the evaluation, e.g. {changed[0]}; nothing "
                "was published, run again when they are complete"
            )


def _stamps(source: Source) -> dict[str, Stamp]:
    # The version of a table never changes, and what was copied of it is what is scored.
    files = [file for file in source.files if file.found and file.snapshot is None]
    stamps: dict[str, Stamp] = {}
    for system, of_system in itertools.groupby(files, key=lambda file: file.location(source.name)[0]):
        places = {file.location(source.name)[1]: file.path for file in of_system}
        try:
            found = system.get_file_info(list(places))
            stamps |= {path: _stamp(info, system) for path, info in zip(places.values(), found, strict=True)}
        except (OSError, pa.ArrowException) as error:
            raise unreadable(next(iter(places.values())), source.name, error) from error
    return stamps


def _stamp(info: fs.FileInfo, system: fs.FileSystem) -> Stamp:
    if info.type == fs.FileType.NotFound:
        return None
    if not isinstance(system, fs.LocalFileSystem):
        return info.size, info.mtime_ns or 0
    # A file of the same size and time may still be another: it has another number, or was changed since.
    try:
        found = Path(info.path).stat()
    except FileNotFoundError:
        # It was removed since it was listed.
        return None
    return info.size, info.mtime_ns or 0, found.st_ino, found.st_ctime_ns

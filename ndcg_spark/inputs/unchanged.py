"""Whether files have changed while they were evaluated: whatever was checked must be what was scored."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.read import Source

#: The size in bytes, and the time of the last change in nanoseconds (0 if the storage does not tell); of a local file
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
    by_system: dict[int, tuple[fs.FileSystem, dict[str, str]]] = {}
    # The version of a table never changes, and what was copied of it is what is scored.
    for file in (file for file in source.files if file.found and file.snapshot is None):
        system, place = file.located(source.name)
        by_system.setdefault(id(system), (system, {}))[1][place] = file.path
    stamps: dict[str, Stamp] = {}
    for system, paths in by_system.values():
        try:
            found = system.get_file_info(list(paths))
        except (OSError, pa.ArrowException) as error:
            example = next(iter(paths.values()))
            raise InputError(
                f"{source.name}: {example} cannot be looked at, {first_line(error)}; check its rights"
            ) from error
        stamps |= {
            path: _stamp(info, isinstance(system, fs.LocalFileSystem))
            for path, info in zip(paths.values(), found, strict=True)
        }
    return stamps


def _stamp(info: fs.FileInfo, is_local: bool) -> Stamp:
    if info.type == fs.FileType.NotFound:
        return None
    # Locally a file of the same size and time may still be another: it has another number, or was changed since.
    try:
        found = Path(info.path).stat() if is_local else None
    except FileNotFoundError:
        # It was removed since it was listed.
        return None
    return info.size, info.mtime_ns or 0, *((found.st_ino, found.st_ctime_ns) if found else ())

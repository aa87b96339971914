"""Whether the files of a table are still those that were looked at: a file may be replaced while it is evaluated."""

from collections.abc import Iterable, Mapping

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.files import storage
from ndcg_spark.inputs.reading import Source

#: Size in bytes and time of the last change, where the storage tells it; None for a file that is not there.
Stamp = tuple[int, int] | None


def stamps_of(sources: Iterable[Source]) -> dict[str, Stamp]:
    """The stamp of every file of the tables, by its path; none of files that this process cannot see."""
    return {path: stamp for source in sources if source.seen for path, stamp in _stamps(source).items()}


def refuse_changed(sources: Iterable[Source], before: Mapping[str, Stamp]) -> None:
    """InputError where a file has another size or time than before, or is gone: what was checked was not scored."""
    for source in sources:
        if source.seen:
            changed = [path for path, stamp in _stamps(source).items() if stamp is None or stamp != before[path]]
            if changed:
                raise InputError(
                    f"{source.name}: {len(changed)} file(s) changed during the evaluation, e.g. {changed[0]}; nothing "
                    "was published, run again when they are complete"
                )


def _stamps(source: Source) -> dict[str, Stamp]:
    if not source.files:
        return {}
    paths = [file.path for file in source.files]
    system, _ = storage(paths[0], source.name)
    places = [storage(path, source.name)[1] if "://" not in path else path.split("://", 1)[1] for path in paths]
    try:
        found = system.get_file_info(places)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{source.name}: {paths[0]} cannot be looked at, {first_line(error)}; check rights") from error
    return {path: _stamp(info) for path, info in zip(paths, found, strict=True)}


def _stamp(info: fs.FileInfo) -> Stamp:
    return None if info.type == fs.FileType.NotFound else (info.size, info.mtime_ns or 0)

"""Pipes, such as ``/dev/stdin`` and the shell's ``<(zcat ...)``, copied to a file, as input is read more than once."""

import os
import shutil
import stat
from pathlib import Path

from ndcg_spark.engine import Engine
from ndcg_spark.errors import EngineError, InputError
from ndcg_spark.inputs.storage import is_local, local

_PIECE = 1 << 20


def as_file(engine: Engine, path: str, where: str) -> str:
    """A temporary file with the content of the pipe of this name, which lives as long as the engine; else the path.

    Raises
    ------
    InputError
        The pipe cannot be read.
    EngineError
        There is no room for the file.
    """
    if not is_local(path) or not _is_pipe(path):
        return path
    if path not in engine.scratch.copies:
        try:
            target = engine.scratch.folder() / (Path(path).name if path.startswith("/dev/std") else "pipe")
            with Path(path).open("rb") as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy, _PIECE)
        except OSError as error:
            if error.filename == path:
                raise InputError(f"{where}: {path} cannot be read, {error.strerror}; check its rights") from error
            raise EngineError(
                f"{where}: {path} cannot be copied to a temporary file, {error}; make room, or set TMPDIR"
            ) from error
        engine.scratch.copies[path] = target
    return str(engine.scratch.copies[path])


def _is_pipe(path: str) -> bool:
    try:
        # A name below /proc stands for the pipe only as it is: its target is no path.
        return stat.S_ISFIFO(os.stat(path if path.startswith("/") else local(path)).st_mode)  # noqa: PTH116
    except (OSError, ValueError):
        return False

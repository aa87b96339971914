"""Temporary folders, removed when their work is done, or by the next process after a kill; and
files that become visible only when they are complete.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable
from pathlib import Path

PREFIX = "ndcg-spark-scratch-"


class Scratch:
    """The temporary folders of one piece of work, and other cleanups for its end, which is `remove`
    or the exit.
    """

    def __init__(self) -> None:
        self._root: Path | None = None
        self._cleanups = contextlib.ExitStack()
        self._close = weakref.finalize(self, _close, self._cleanups)

    def folder(self) -> Path:
        """A new empty folder that only this user can read; OSError if it cannot be made."""
        if self._root is None:
            remove_abandoned()
            made = Path(tempfile.mkdtemp(prefix=f"new-{PREFIX}"))
            # The system releases the lock when this process ends, even if it is killed. The folder
            # gets its name when it is locked, so no other process finds it before that.
            lock = os.open(made, os.O_RDONLY)
            with contextlib.suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._root = made.rename(made.with_name(made.name.removeprefix("new-")))
            self._cleanups.callback(shutil.rmtree, self._root, ignore_errors=True)
            self._cleanups.callback(os.close, lock)
        return Path(tempfile.mkdtemp(dir=self._root))

    def call_at_end(self, cleanup: Callable[[], object]) -> None:
        """Call `cleanup` when the work is done; exceptions are ignored."""
        self._cleanups.callback(cleanup)

    def remove(self) -> None:
        """Remove every folder with its content; links are removed, but not the files that they
        point to.
        """
        self._close()


def _close(cleanups: contextlib.ExitStack) -> None:
    with contextlib.suppress(Exception):
        cleanups.close()


def remove_abandoned() -> None:
    """Remove the folders of this user's processes that were killed. Links in them are not
    followed.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            stack.callback(os.close, root)
            # On a file system without locks we cannot tell whether a folder was abandoned, so it is
            # kept.
            fcntl.flock(root, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(root).st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)


def write_whole(file: Path, content: bytes) -> None:
    """Write a file so that readers see either the old content or the new. Raises OSError.

    After a failure, the old content is still there. Pipes and devices are written to directly.
    """
    if is_stream(file):
        file.write_bytes(content)
        return
    # A link stays a link.
    target = file.resolve()
    part = new_part(target)
    try:
        part.write_bytes(content)
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def is_stream(file: Path) -> bool:
    """Whether the file is written to, not replaced: a pipe, or a device such as /dev/stdout."""
    return file.is_relative_to("/dev") or (file.exists() and not (file.is_file() or file.is_dir()))


def new_part(file: Path) -> Path:
    """The path of a new file next to this one, which no pattern for pages or metrics matches."""
    return file.with_name(f".{uuid.uuid4().hex}.part")

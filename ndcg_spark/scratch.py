"""Temporary folders, and files that become visible only when they are complete.

A folder is removed when its work is done or, if the process was killed, by the next process.
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
    """The temporary folders of one piece of work, and other things to clean up at its end.

    The end is a call of `remove`, or the moment when nothing refers to this object any more.
    """

    def __init__(self) -> None:
        self._root: Path | None = None
        self._cleanups = contextlib.ExitStack()
        self._close = weakref.finalize(self, _close, self._cleanups)

    def folder(self) -> Path:
        """A new empty folder that only this user can read. Raises OSError if it cannot be made."""
        if self._root is None:
            self._root = self._make_root()
        return Path(tempfile.mkdtemp(dir=self._root))

    def _make_root(self) -> Path:
        """Make the locked folder that contains all others, and register its removal.

        The system releases the lock when this process ends, even if it is killed. Other processes
        look for the folder's final name, which it gets only after it is locked.
        """
        remove_abandoned()
        unlocked = Path(tempfile.mkdtemp(prefix=f"new-{PREFIX}"))
        lock = os.open(unlocked, os.O_RDONLY)
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        root = unlocked.rename(unlocked.with_name(unlocked.name.removeprefix("new-")))
        self._cleanups.callback(shutil.rmtree, root, ignore_errors=True)
        self._cleanups.callback(os.close, lock)
        return root

    def call_at_end(self, cleanup: Callable[[], object]) -> None:
        """Call `cleanup` when the work is done. Exceptions are ignored."""
        self._cleanups.callback(cleanup)

    def remove(self) -> None:
        """Remove all folders. Links in them are removed, but not the files that they point to."""
        self._close()


def _close(cleanups: contextlib.ExitStack) -> None:
    with contextlib.suppress(Exception):
        cleanups.close()


def remove_abandoned() -> None:
    """Remove the folders of this user's processes that were killed. Links are not followed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        # An OSError means that the folder is in use, or that the file system has no locks. In the
        # latter case nobody can tell whether it is in use. Both are kept.
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            stack.callback(os.close, root)
            fcntl.flock(root, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(root).st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)


def write_whole(file: Path, content: bytes) -> None:
    """Write a file so that readers see either the old content or the new content, even after a
    failure. Raises OSError.

    Pipes and devices are written to directly.
    """
    if is_stream(file):
        file.write_bytes(content)
        return
    # If the file is a link, its target is replaced, and not the link.
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
    """Whether the file is a pipe, or a device such as /dev/stdout, which cannot be replaced."""
    if file.is_relative_to("/dev"):
        return True
    is_ordinary = file.is_file() or file.is_dir()
    return file.exists() and not is_ordinary


def new_part(file: Path) -> Path:
    """The path of a new file next to this one.

    Its name is hidden and has its own ending, so that no program reads it as a page or as metrics.
    """
    return file.with_name(f".{uuid.uuid4().hex}.part")

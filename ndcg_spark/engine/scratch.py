"""Temporary folders that an engine reads from, which live as long as it is open."""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO

_PREFIX = "ndcg-spark-"
_LOCK = "lock"


class Scratch:
    """The temporary folders of one engine, and whatever else must be undone when its work is done.

    What `remove` is not called for goes when the process exits. A process that is killed leaves its folders behind;
    the next one removes them.
    """

    def __init__(self) -> None:
        self._root: Path | None = None
        self._undone: list[Callable[[], object]] = []
        #: By the name of a pipe, the file that its content was copied to, as a pipe can be read once.
        self.copies: dict[str, Path] = {}
        self._at_exit = weakref.finalize(self, _undo, self._undone)

    def folder(self) -> Path:
        """A new empty folder that only this user can read; OSError if it cannot be made."""
        if self._root is None:
            _remove_abandoned()
            self._root = Path(tempfile.mkdtemp(prefix=_PREFIX))
            self.later(_removing(str(self._root)))
            self.later(_locked(self._root).close)
        return Path(tempfile.mkdtemp(dir=self._root))

    def later(self, undo: Callable[[], object]) -> None:
        """Call `undo` when the engine's work is done; what it raises is ignored."""
        self._undone.append(undo)

    def remove(self) -> None:
        """Remove every folder with all that is in it; a link goes, and not the file that it leads to."""
        _undo(self._undone)
        self._root = None
        self.copies.clear()


def _undo(undone: list[Callable[[], object]]) -> None:
    while undone:
        with contextlib.suppress(Exception):
            undone.pop()()


def _removing(folder: str) -> Callable[[], object]:
    return lambda: shutil.rmtree(folder, ignore_errors=True)


def _locked(root: Path) -> IO[str]:
    """The lock of a folder, which the operating system gives up when this process ends, however it ends."""
    new = root / "new"
    lock = new.open("w", encoding="ascii")
    # Where the file system has no locks, nobody can tell that a folder was abandoned, and it stays.
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Only a lock that is held has this name, so nobody finds the folder between its making and its locking.
        new.rename(root / _LOCK)
    return lock


def _remove_abandoned() -> None:
    """Remove the folders of this user's processes that were killed.

    The temporary folder is everybody's: a link, a pipe or another user's folder may have such a name.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError), contextlib.ExitStack() as opened:
            root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            opened.callback(os.close, root)
            if os.fstat(root).st_uid != os.getuid():
                continue
            lock = os.open(_LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=root)
            opened.callback(os.close, lock)
            if stat.S_ISREG(os.fstat(lock).st_mode):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)

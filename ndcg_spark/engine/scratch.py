"""Temporary folders that an engine reads from, removed when it is closed."""

import contextlib
import fcntl
import functools
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
    """The temporary folders of one engine, and other cleanups for the end of its work.

    Without a call of `remove`, they are removed when the process exits. A process that is killed leaves its folders
    behind, and the next one removes them.
    """

    def __init__(self) -> None:
        self._root: Path | None = None
        self._cleanups: list[Callable[[], object]] = []
        #: The copy of each pipe, by the name of the pipe, which can be read only once.
        self.copies: dict[str, Path] = {}
        self._at_exit = weakref.finalize(self, _run, self._cleanups)

    def folder(self) -> Path:
        """A new empty folder that only this user can read; OSError if it cannot be made."""
        if self._root is None:
            _remove_abandoned()
            self._root = Path(tempfile.mkdtemp(prefix=_PREFIX))
            self.later(functools.partial(shutil.rmtree, self._root, ignore_errors=True))
            self.later(_locked(self._root).close)
        return Path(tempfile.mkdtemp(dir=self._root))

    def later(self, cleanup: Callable[[], object]) -> None:
        """Call `cleanup` when the engine's work is done; exceptions are ignored."""
        self._cleanups.append(cleanup)

    def remove(self) -> None:
        """Remove every folder with its content; links are removed, not the files that they point to."""
        _run(self._cleanups)
        self._root = None
        self.copies.clear()


def _run(cleanups: list[Callable[[], object]]) -> None:
    while cleanups:
        with contextlib.suppress(Exception):
            cleanups.pop()()


def _locked(root: Path) -> IO[str]:
    """The lock of a folder, which the operating system releases when this process ends, even if it is killed."""
    new = root / "new"
    lock = new.open("w", encoding="ascii")
    # On a file system without locks nothing tells that a folder was abandoned, so it stays.
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The file gets its name when it is locked, so no other process finds the folder before that.
        new.rename(root / _LOCK)
    return lock


def _remove_abandoned() -> None:
    """Remove the folders of this user's processes that were killed.

    Other users can create links, pipes and folders of such names, which must not be followed, opened or removed.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            stack.callback(os.close, root)
            if os.fstat(root).st_uid != os.getuid():
                continue
            lock = os.open(_LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=root)
            stack.callback(os.close, lock)
            if stat.S_ISREG(os.fstat(lock).st_mode):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)

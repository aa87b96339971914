"""Temporary folders that an engine reads from, which live as long as it is open."""

import shutil
import tempfile
import weakref
from pathlib import Path


class Scratch:
    """The temporary folders of one engine. What `remove` is not called for goes when the process exits."""

    def __init__(self) -> None:
        self._folders: list[str] = []
        #: By the name of a pipe, the file that its content was copied to, as a pipe can be read once.
        self.copies: dict[str, Path] = {}
        self._at_exit = weakref.finalize(self, _remove, self._folders)

    def folder(self) -> Path:
        """A new empty folder that only this user can read; OSError if it cannot be made."""
        folder = tempfile.mkdtemp(prefix="ndcg-spark-")
        self._folders.append(folder)
        return Path(folder)

    def remove(self) -> None:
        """Remove every folder with all that is in it; a link goes, and not the file that it leads to."""
        _remove(self._folders)


def _remove(folders: list[str]) -> None:
    while folders:
        shutil.rmtree(folders.pop(), ignore_errors=True)

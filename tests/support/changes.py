"""Every change of an output's storage, one by one: so that a test can stop, fail or kill after each of them.

What a storage does in several steps is taken apart: folders are made and files deleted one at a time, and a small file
is there empty and half written before it is whole.
"""

import contextlib
import errno
import os
import re
from collections.abc import Callable, Iterator
from unittest import mock

from pyarrow import fs

from ndcg_spark.nights import layout
from ndcg_spark.nights.layout import Store

#: Told after each change what it was: a word, a path in the output, and of a move where it went.
Told = Callable[[str], None]


class Killed(BaseException):
    """Stands for SIGKILL: what is killed changes nothing any more, in whatever `finally` or `except`."""


class Changes:
    """A pyarrow file system that makes one change after the other: it tells "" before each, and then what it was."""

    def __init__(self, system: fs.FileSystem, root: str, told: Told) -> None:
        self._system = system
        self._root = root.rstrip("/") + "/"
        self._told = told

    def __getattr__(self, name):
        return getattr(self._system, name)

    def create_dir(self, path, recursive=True):
        missing = []
        while not os.path.lexists(path):
            missing.append(path)
            path = path.rpartition("/")[0]
        if not os.path.isdir(path):  # noqa: PTH112  # as pyarrow has it
            self._system.create_dir(missing[0], recursive=True)
        for folder in reversed(missing):
            self._change("make", self._system.create_dir, folder)

    def move(self, source, target):
        self._change("move", self._system.move, source, target)

    def copy_file(self, source, target):
        self._change("copy", self._system.copy_file, source, target)

    def delete_dir(self, path):
        if self._system.type_name == "local":
            for info in self._system.get_file_info(fs.FileSelector(path)):
                (self.delete_dir if info.type == fs.FileType.Directory else self.delete_file)(info.path)
        self._change("remove", self._system.delete_dir, path)

    def delete_file(self, path):
        self._change("remove", self._system.delete_file, path)

    @contextlib.contextmanager
    def open_output_stream(self, path):
        """An object is there when it is whole."""
        parts = []
        yield mock.Mock(write=parts.append)
        self._change("write", self._put, path, parts=parts)

    def _put(self, path, parts):
        with self._system.open_output_stream(path) as stream:
            stream.write(b"".join(parts))

    def _change(self, kind, change, *paths, **more):
        self._told("")
        change(*paths, **more)
        self._told(f"{kind} {' -> '.join(path.removeprefix(self._root) for path in paths)}")


@contextlib.contextmanager
def told(then: Told) -> Iterator[None]:
    """Tell of every change that this process makes to any output; of one about to be made with no words."""
    # Of outputs that are open already, too.
    system = property(
        lambda store: Changes(store.__dict__["_system"], store._root, then),
        lambda store, given: store.__dict__.update(_system=given),
    )

    @contextlib.contextmanager
    def slowly(number, mode):
        def write(content):
            for part in (b"", content[: len(content) // 2], content[len(content) // 2 :]):
                then("")
                file.write(part)
                then("write a part")

        with open(number, mode, buffering=0) as file:  # noqa: PTH123
            yield mock.Mock(write=write, fileno=file.fileno)

    with (
        mock.patch.object(Store, "_system", system, create=True),
        # What only reads is pyarrow's, which takes no file system but its own.
        mock.patch.object(Store, "system", property(lambda store: store.__dict__["_system"])),
        mock.patch.object(layout, "open", slowly, create=True),
    ):
        yield


def killed(function: Callable[..., object], *arguments: object, after: int | str, **options: object) -> bool:
    """Whether the function was killed: after so many changes, or after one that the pattern is found in."""
    done: list[str] = []
    dead = False

    def then(change: str) -> None:
        nonlocal dead
        if dead:
            raise Killed
        if change:
            done.append(change)
            dead = len(done) == after if isinstance(after, int) else bool(re.search(after, change))
            if dead:
                raise Killed

    with told(then):
        try:
            function(*arguments, **options)
        except Killed:
            return True
    assert not dead, "what is killed does not return"
    assert done, "a kill was asked for where nothing changes"
    return False


def failing(function: Callable[..., object], *arguments: object, fails: Callable[[int, str], bool], **options: object):
    """What the function returns, and how many changes it made, while changes fail as on a disk that is full.

    `fails` is asked with the number of a change and what it is, before it is made (then it says nothing yet) and after.
    """
    number = 0

    def then(change: str) -> None:
        nonlocal number
        number += not change
        if fails(number, change):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with told(then):
        return function(*arguments, **options), number

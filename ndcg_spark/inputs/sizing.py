"""How much data an evaluation will read, told from the sizes of local files before any engine is there."""

import contextlib
import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ndcg_spark.inputs.storage import is_local, local

#: Bytes of input up to which an engine that starts faster is worth a slower one: some 4 M rows of Parquet.
LITTLE = 64_000_000
#: Compressed text has this many times its size in text.
_GZIPPED = 5


def is_little(paths: Iterable[str], most: int | None = None) -> bool:
    """Whether all paths are local files, folders or patterns of at most `most` bytes together, by default LITTLE.

    False where that cannot be told. What is wrong with a path is said when it is read.
    """
    left = LITTLE if most is None else most
    with contextlib.suppress(OSError, ValueError):
        for path in paths:
            if not is_local(path) or path.startswith("table:"):
                return False
            for size in _sizes(local(path)):
                left -= size
                if left < 0:
                    return False
        return True
    return False


def _sizes(place: str) -> Iterator[int]:
    """The size of every file that a path names."""
    for name in [place] if os.path.lexists(place) else glob.iglob(place, recursive=True):  # noqa: PTH207  # as it is
        below = (Path(folder, file) for folder, _, files in os.walk(name) for file in files)
        for file in below if Path(name).is_dir() else [Path(name)]:
            size = file.stat().st_size
            yield size * _GZIPPED if file.suffix == ".gz" else size

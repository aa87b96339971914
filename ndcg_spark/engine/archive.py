"""Java's class archive: Spark's classes as Java keeps them in memory, so that a Java machine need not read them again.

To find some 13,000 classes in 280 files, read and check them is 0.3 of an evaluation of little data. An archive is a
file of 180 MB, made once for a Java and a Spark by `scripts/class_archive.py`, and used by itself from then on.

Java does not test whether the classes in an archive are those of Spark, so whoever can write one can run code as its
user. Only a file that nobody else could have written is used. An archive of other files of Spark is ignored by Java.
"""

import hashlib
import os
import shutil
import stat
from pathlib import Path

import pyspark
from pyspark.find_spark_home import _find_spark_home

#: Nothing is said about an archive that is ignored: Java would write it to the standard output, which is for results.
_SILENT = "-Xshare:auto -Xlog:cds*=off,class+path*=off"
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def place() -> Path | None:
    """Where the archive for this Java and this Spark is, or would be; None if one of the two is not found."""
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else Path(shutil.which("java") or "java")
    told = [pyspark.__version__]
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        java = java.resolve(strict=True)
        jars = Path(_find_spark_home(), "jars")
        # Distributions replace Java in its place, and pip does so with Spark.
        for path in (java.parents[1] / "lib" / "server" / "libjvm.so", jars, *sorted(jars.glob("*.jar"))):
            found = path.stat()
            told.append(f"{path} {found.st_size} {found.st_mtime_ns}")
    except (OSError, RuntimeError, SystemExit):
        return None
    name = hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]
    return Path(cache, "ndcg-spark", f"classes-{name}.jsa")


def options() -> str:
    """The options by which Java uses the archive; empty if there is none, or if others could have written it."""
    path = place()
    # The options are one line of text, in which a path stands in quotes.
    if path is None or not is_own(path) or not str(path).isprintable() or {*'"\\'} & {*str(path)}:
        return ""
    return f'{_SILENT} "-XX:SharedArchiveFile={path.resolve()}"'


def is_own(path: Path) -> bool:
    """Whether a file is there, and nobody but this user and root can have written it or put it there."""
    try:
        path = path.resolve(strict=True)
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & _WRITABLE_BY_OTHERS:
            return False
        return all(_is_safe(folder.stat()) for folder in path.parents)
    except OSError:
        return False


def _is_safe(folder: os.stat_result) -> bool:
    """Whether nobody else can replace what this user has in a folder: in a sticky one, as /tmp is, nobody can."""
    if folder.st_uid not in (os.getuid(), 0):
        return False
    return not folder.st_mode & _WRITABLE_BY_OTHERS or bool(folder.st_mode & stat.S_ISVTX)

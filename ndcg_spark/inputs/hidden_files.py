"""Leaves out files whose name, or whose folder's name, begins with _ or a dot, as Spark does.

A warning gives the number of files among them that look like data, unlike the marker files and
temporary files that programs leave behind.
"""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from pyarrow import fs

from ndcg_spark.steps import report_step

_HIDDEN = re.compile(r"(^|/)(\.|_[^/=]*(/|$))")
#: The extensions of files with rows, before .gz. A name with _ and no extension may be TREC.
_DATA = {f".{kind}" for kind in ("parquet", "orc", "csv", "tsv", "jsonl", "ndjson", "json")}
_DATA |= {f".{kind}" for kind in ("run", "trec", "txt", "res", "qrels")}
#: The markers and file lists of Spark, Hadoop and Databricks, and the ._ companions from macOS.
_MARKS = re.compile(r"_SUCCESS|_(common_)?metadata|_(committed|started)_.*|_FAILURE|\._.*")
#: Folders that hold unfinished writes, table logs, and the files of other programs.
_FOLDERS = re.compile(
    r"_temporary.*|_delta_log|_spark_metadata|_staging.*|__.*|_logs|_schemas?|_checkpoints?|"
    r"_symlink_format_manifest|"
    r"\.(git|hive-staging.*|spark-staging.*|ipynb_checkpoints|cache|snapshot|hoodie|[Tt]rash.*)"
)


def is_hidden(path: str) -> bool:
    """Whether a path, relative to the given folder, has a name that begins with _ or a dot."""
    return bool(_HIDDEN.search(path))


def looks_like_data(path: str) -> bool:
    """Whether a hidden path, relative to the given folder, may be a file with rows."""
    *folders, name = path.strip("/").split("/")
    if _MARKS.fullmatch(name) or any(map(_FOLDERS.fullmatch, folders)):
        return False
    suffix = PurePosixPath(name.removesuffix(".gz")).suffix.lower()
    if not suffix:
        return not name.startswith(".")
    return suffix in _DATA


def hidden_data(infos: Sequence[fs.FileInfo], root: str) -> list[str]:
    """Return the hidden files below `root` that may be data."""
    left_out = []
    for info in infos:
        path = info.path.removeprefix(root)
        is_filled = info.type == fs.FileType.File and info.size
        if is_filled and is_hidden(path) and looks_like_data(path):
            left_out.append(info.path)
    return left_out


def warn_of_data(table: str, left_out: Sequence[str]) -> None:
    """Warn about files of a table that are left out but may be data."""
    if left_out:
        report_step(
            "warning",
            f"{table}: {len(left_out):,} file(s) left out, e.g. {min(left_out)}, because a name "
            "begins with _ or a dot; rename the files that contain data",
        )

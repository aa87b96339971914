"""The order in which Java searches Spark's files: those with most of the classes that an evaluation needs come first.

A Java machine loads some 13,000 classes to evaluate little data. For each it asks one file of 280 after the other, in
the order in which the file system happens to list them, which was a twentieth of all processor time: 23.3 s in place
of 24.5 for 100,000 results. With a class archive (see `archive`) nothing is searched.
"""

import os
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

#: The files that nine in ten classes come from, those with most of them first.
_FIRST = (
    *("spark-catalyst", "scala-library", "spark-core", "scala-reflect", "spark-sql-api", "spark-sql", "parquet-column"),
    *("log4j-core", "jackson-databind", "hadoop-client-api", "parquet-jackson", "janino", "parquet-encoding"),
    *("hadoop-client-runtime", "arrow-vector", "spark-network-common", "commons-compiler", "parquet-format-structures"),
    *("ivy", "netty-common", "antlr4-runtime", "jackson-module-scala", "parquet-hadoop", "netty-transport"),
    *("jackson-core", "spark-common-utils", "log4j-api"),
)


def first() -> str:
    """What stands before Spark's own class path: its settings, as ever, then the files above.

    Empty if they are not found, or if somebody else puts something there.
    """
    try:
        home = Path(_find_spark_home())
    except (OSError, SystemExit):
        return ""
    settings, jars = Path(os.environ.get("SPARK_CONF_DIR") or home / "conf"), home / "jars"
    if _is_taken(settings):
        return ""
    files = [file for name in _FIRST for file in sorted(jars.glob(f"{name}[-_][0-9]*.jar"))]
    places = [str(place) for place in (settings, *files) if place.exists()]
    # A path cannot be told from two where it has the character between them; a star stands for many files.
    return os.pathsep.join(places) if files and not {os.pathsep, "*"} & {*"".join(places)} else ""


def _is_taken(settings: Path) -> bool:
    """Whether the settings of Spark, or the arguments that PySpark starts it with, may put files before its own."""
    given = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    if any(word in given for word in ("extraClassPath", "driver-class-path", "properties-file")):
        return True
    try:
        return "extraClassPath" in (settings / "spark-defaults.conf").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return False
    except OSError:
        return True

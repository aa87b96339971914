"""The one engine of this process: the embedded one, or local classic Spark with `pytest --engine spark`."""

import contextlib
import functools
import itertools
import os
import sys
from collections.abc import Iterable
from typing import TypeVar

from pyspark.sql import SparkSession
from servers import QUICK_OPTIONS

from ndcg_spark.engine import Engine, open_engine

#: What `--engine` says, and whether `--thorough` was given.
choice = "embedded"
is_thorough = False
#: More options of the Java machine of classic Spark.
java_options = ""
_open = contextlib.ExitStack()
_Case = TypeVar("_Case")
_Other = TypeVar("_Other")


@functools.cache
def engine() -> Engine:
    if choice == "embedded":
        return _open.enter_context(open_engine("embedded"))
    session = _open.enter_context(_local_spark())
    return Engine(session, "spark", "Spark for tests", sees_local_files=True)


def on_spark(cases: Iterable[_Case], *few: _Case) -> list[_Case]:
    """All cases on the embedded engine; on classic Spark these few, as the others take their paths there."""
    every = [*cases]
    assert all(case in every for case in few), few
    return every if choice == "embedded" or is_thorough else [*few]


def many(embedded: int, classic: int, thorough: int) -> int:
    """How many random cases: a number for each engine, and with `--thorough` another for both."""
    if is_thorough:
        return thorough
    return embedded if choice == "embedded" else classic


def paired(cases: Iterable[_Case], others: Iterable[_Other]) -> list[tuple[_Case, _Other]]:
    """Each case with two of the others or more, and each of the others with some; with `--thorough` with all."""
    listed, listed_others = [*cases], [*others]
    if is_thorough:
        return list(itertools.product(listed, listed_others))
    pairs = []
    for at in range(max(len(listed), len(listed_others))):
        for place in (at, at + 1):
            pairs.append((listed[at % len(listed)], listed_others[place % len(listed_others)]))
    return list(dict.fromkeys(pairs))


def alternated(cases: Iterable[_Case], others: Iterable[_Other]) -> list[tuple[_Case, _Other]]:
    """Each case with one of the others, in turn; with `--thorough` with all."""
    listed, listed_others = [*cases], [*others]
    if is_thorough:
        return list(itertools.product(listed, listed_others))
    return list(zip(listed, itertools.cycle(listed_others), strict=False))


def close() -> None:
    _open.close()


def environment(**more: str) -> dict[str, str]:
    """The environment for a program that a test starts, which is not in pyspark's mode of Spark Connect as we are."""
    return {
        **{
            name: value
            for name, value in os.environ.items()
            if name != "SPARK_CONNECT_MODE_ENABLED"
        },
        **more,
    }


def _local_spark() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = f"{QUICK_OPTIONS} {java_options} -Xms1g -Xmn640m"
    return (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.log.level", "OFF")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.python.sql.dataFrameDebugging.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        # Three rows need no plan that adapts, no compiled code and no second partition.
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.default.parallelism", "1")
        # What fails while it is broadcast is a Py4JJavaError, without Spark's own class.
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.driver.extraJavaOptions", options)
        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        .getOrCreate()
    )

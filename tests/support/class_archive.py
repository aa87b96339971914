"""Writes the archive of Spark's classes that SPARK_CLASSES names, with which the Java machines of tests start sooner.

SPARK_CLASSES=FILE python tests/support/class_archive.py
"""

import os
from pathlib import Path

import sessions
from scored import scored
from tables import judgment, result


def main() -> None:
    """An evaluation loads the classes; Java writes them when it ends."""
    file = Path(os.environ["SPARK_CLASSES"])
    file.unlink(missing_ok=True)
    sessions.choice = "spark"
    sessions.java_options = f"-XX:ArchiveClassesAtExit={file} -Xlog:disable"
    session = sessions.engine().session
    scored(session, [judgment()], [result()], [1])
    scored(session, [judgment()], [result()], [1], road="parquet")
    session.stop()
    # Python's end ends Java, and does not wait for it.
    process = session.sparkContext._gateway.proc
    process.stdin.close()
    process.wait()


if __name__ == "__main__":
    main()
